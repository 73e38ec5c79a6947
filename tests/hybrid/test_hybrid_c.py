# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid communicators from end to end: the suites of collectives run on one whose blocks are under
different MPIs, or without MPI, and give the results of the sequential reference."""

import os
import re
import shutil
import subprocess

import pytest

# Blocks of a universe: the MPI, or "" for processes without, and how many.
SHAPES = {
    "3+2": [("openmpi", 3), ("mpich", 2)],
    "2+2+plain": [("mpich", 2), ("openmpi", 2), ("", 1)],
    "one block": [("openmpi", 4)],
    "four blocks": [("openmpi", 1), ("", 2), ("mpich", 2), ("openmpi", 2)],
}


class Programs:
    """Builds test programs for each MPI, and runs them as blocks of one universe."""

    def __init__(self, source_dir, build_dir, folder):
        self.source_dir, self.build_dir, self.folder = source_dir, build_dir, folder

    def build(self, mpi, source, *flags):
        program = self.folder / f"{source.stem}_{mpi or 'plain'}"
        lib = self.build_dir / "lib"
        if mpi and not (lib / f"libwaitio_hybrid_{mpi}.so").exists():
            pytest.skip(f"libwaitio_hybrid_{mpi} is not built: no {mpi} was found")
        words = [f"mpicc.{mpi}" if mpi else "cc", "-std=gnu11", "-g", "-O1", str(source)]
        words += [f"-I{self.source_dir / 'include'}", f"-I{source.parent}", "-o", str(program)]
        words += ["-DHYBRID" if mpi else "-DHYBRID_PLAIN", *flags, f"-L{lib}"]
        words += [f"-lwaitio_hybrid_{mpi}"] if mpi else []
        subprocess.run([*words, "-lwaitio", f"-Wl,-rpath,{lib}"], check=True, timeout=120)
        return program

    def run(self, shape, source, patient, env=None, words=(), limit=100):
        line = []
        for mpi, count in shape:
            if mpi and shutil.which(f"mpiexec.{mpi}") is None:
                pytest.skip(f"no mpiexec.{mpi}")
            line += [":"] if line else []
            line += ["-n", str(count), *(["--mpi", mpi] if mpi else [])]
            line += ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
            line += [str(self.build(mpi, source)), *map(str, words)]
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("WAITIO_", "PMI", "OMPI_"))
        }
        clean.update(
            HOME=str(self.folder),
            PATH=f"{self.build_dir / 'bin'}:{os.environ['PATH']}",
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_mpi_yield_when_idle="1",
            **(env or {}),
        )
        return subprocess.run(
            ["waitio", "run", "--timeout", "60s", *line],
            env=clean,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patient(limit),
            check=False,
        )


@pytest.fixture
def programs(source_dir, build_dir, tmp_path):
    return Programs(source_dir, build_dir, tmp_path)


def assert_ok(done, shape):
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"(?m)\bok$", done.stdout)) == sum(n for _, n in shape), done.stdout


@pytest.mark.parametrize("program", ["coll_random", "coll_all", "coll_long"])
@pytest.mark.parametrize("shape", SHAPES)
def test_collectives_give_the_reference(programs, source_dir, patient, shape, program):
    """The providers do the parts inside; reductions of the program's operators fold by messages."""
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, patient, env), SHAPES[shape])


@pytest.mark.parametrize("program", ["coll_random", "coll_all"])
def test_nothing_blocks_in_mpi_where_errors_are_returned(programs, source_dir, patient, program):
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_ERRORS": "return"}
    assert_ok(programs.run(SHAPES["3+2"], source, patient, env), SHAPES["3+2"])


def test_the_machine_chooses_by_itself(programs, source_dir, patient):
    source = source_dir / "tests" / "lang" / "coll_random.c"
    env = {"WAITIO_LOG": "warn,mpi:debug"}
    done = programs.run(SHAPES["3+2"], source, patient, env)
    assert_ok(done, SHAPES["3+2"])
    # Each member of a block has measured three sizes both ways, and says so.
    said = re.findall(r"inside the block, (\d+) bytes .* us, messages [\d.]+ us", done.stderr)
    assert sorted(set(said), key=int) == ["8", "32768", "524288"], done.stderr
