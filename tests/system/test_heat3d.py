# SPDX-License-Identifier: BSD-3-Clause
"""heat3d, heat conduction by finite elements: the answer against closed forms, one block against
several, WaitIO against plain MPI, wrong input."""

import math
import re
import shutil
import subprocess

import pytest

MPIS = ("openmpi", "mpich")
# Two launchers of unequal size, and the same number of processes as one block.
SHAPES = {"one block": [("", 3)], "two MPIs": [("openmpi", 2), ("mpich", 1)]}


@pytest.fixture
def heat3d(waitio, build_dir):
    """Run the program with run-time checks under `waitio run`, a list of (mpi, processes)."""
    program = build_dir / "bin" / "heat3d_checked"
    if not program.exists():
        pytest.skip("heat3d is not built: there is no Fortran compiler")

    def run(shape, *words):
        line = []
        for mpi, count in shape:
            if mpi and not shutil.which(f"mpiexec.{mpi}"):
                pytest.skip(f"{mpi} is not installed")
            line += [":"] if line else []
            line += ["-n", count, *(["--mpi", mpi] if mpi else []), program, *words]
        status, out, err = waitio("run", *line, timeout=60)
        return status, re.sub(r"(?m)^\[[^]]*\] ", "", out.decode()), err.decode()

    run.cwd, run.program = waitio.cwd, program
    return run


@pytest.fixture
def plain(waitio, build_dir):
    """Run the program built with an MPI, under that MPI's launcher."""

    def run(mpi, count, *words):
        program, launcher = build_dir / "bin" / f"heat3d_{mpi}", shutil.which(f"mpiexec.{mpi}")
        if not (program.exists() and launcher):
            pytest.skip(f"heat3d was not built with {mpi}")
        done = subprocess.run(
            [launcher, *(["--oversubscribe"] if mpi == "openmpi" else []), "-n", str(count)]
            + [program, *words],
            env=waitio.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def answer(result):
    """What was printed, as numbers; the run must have gone well."""
    status, out, err = result
    assert status == 0, out + err
    found = {k: float(v) for k, v in re.findall(r"(?m)^(\w+) +([-+.E\d]+)$", out)}
    found.update({k: float(most) for k, most in re.findall(r"(?m)^(\S+) +\S+ +(\d+\.\d{6})$", out)})
    return found


def box(n):
    return [f"nx={n}", f"ny={n}", f"nz={n}"]


def same(a, b):
    """Equal but for the order of three additions."""
    assert (a["iterations"], a["nodes"]) == (b["iterations"], b["nodes"])
    assert math.isclose(a["norm"], b["norm"], rel_tol=1e-12)
    assert math.isclose(a["error"], b["error"], rel_tol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_halving_the_elements_quarters_the_error(heat3d, shape):
    coarse, fine = (answer(heat3d(SHAPES[shape], *box(n))) for n in (6, 12))
    assert (coarse["nodes"], coarse["elements"], fine["processes"]) == (7**3, 6**3, 3)
    assert coarse["iterations"] > 8
    order = math.log2(coarse["error"] / fine["error"])
    assert 1.8 < order < 2.2, order


def test_linear_temperature_is_met_exactly(heat3d):
    found = answer(heat3d([("", 4)], "nx=5", "ny=4", "nz=7", "solution=linear", "tol=1e-13"))
    assert found["nodes"] == 6 * 5 * 8
    assert found["iterations"] > 5
    assert found["error"] < 1e-11


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_cutting_does_not_change_the_answer(heat3d, count):
    words = ("nx=3", "ny=5", "nz=4")
    same(answer(heat3d([("", count)], *words)), answer(heat3d([("", 1), ("", 2)], *words)))


@pytest.mark.parametrize("mpi", MPIS)
def test_plain_mpi_gives_the_same_answer(heat3d, plain, mpi):
    one = answer(plain(mpi, 3, *box(10)))
    assert one["error"] < 2e-3
    for shape in SHAPES.values():
        same(one, answer(heat3d(shape, *box(10))))


def test_times_add_up(heat3d):
    found = answer(heat3d([("", 2)], *box(12)))
    parts = [found[k] for k in ("send/recv", "allreduce", "computing")]
    assert all(p > 0 for p in (*parts, found["assembly"]))
    assert max(parts) <= found["solver"] <= sum(parts) + 1e-5


WRONG = [
    (["nx=0"], 2, "nx=0: give a whole number"),
    (["ny=2.5"], 2, "ny=2.5: give a whole number"),
    (["nz="], 2, "nz=: give a whole number"),
    (["nx=1000", "ny=1000", "nz=1000"], 2, "more than 100000000 nodes"),
    (["tol=-1"], 2, "tol=-1: give a positive number"),
    (["tol=1,2"], 2, "tol=1,2: give a positive number"),
    (["solution=cubic"], 2, "there are sine and linear"),
    (["n=3"], 2, "unknown key 'n'; the keys are nx"),
    (["8"], 2, "'8' is not of the form key=value"),
    ([*box(1), "tol=1e-3"], 2, "9 processes for 8 nodes"),
    ([*box(6), "maxit=2"], 1, "not converged: residual"),
    ([*box(6), "check=1e-6"], 1, "is above check= 1.00E-06"),
]


@pytest.mark.parametrize("words, status, text", WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_input_is_told_once(heat3d, words, status, text):
    ended, _, err = heat3d([("", 9 if "processes" in text else 2)], *words)
    assert ended == status
    assert len(re.findall(r"heat3d: .*" + re.escape(text), err)) == 1, err


def test_blocks_with_different_settings_are_told(waitio, heat3d):
    status, _, err = waitio("run", heat3d.program, "nx=4", ":", heat3d.program, "nx=5")
    assert status == 2
    assert b"different settings" in err
