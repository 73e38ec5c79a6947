# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified MPI programs as several jobs of different MPIs, with one MPI_COMM_WORLD: the answers
of one job, deaths, what is said. tests/runs has the programs that check themselves."""

import re
import subprocess
import sys
import time

import pytest
from jobs import MPIS, mpiexec
from ways import shape_of


@pytest.fixture
def span(waitio, build_dir, ways):
    """Run a program in jobs; returns (status, lines of the ranks, all text)."""

    def run(name, shape, *words, options=(), env=None, timeout=60, how=()):
        line = ["run", "--span", "--timeout", f"{timeout}s", *how]
        for number, (mpi, count) in enumerate(shape_of(shape)):
            program = ways.unmodified(mpi, name, *options)
            line += [":"] if number else []
            line += ["-n", count, "--mpi", mpi, "--name", f"job{number}", program, *words]
        where = {"WAITIO_SPAN_LIB": str(build_dir / "lib"), **(env or {})}
        status, out, err = waitio(*line, env=where, timeout=timeout + 20)
        text = out.decode(errors="replace")
        lines = sorted(re.sub(r"^\[[^]]*\] ", "", line) for line in text.splitlines())
        return status, lines, text + err.decode(errors="replace")

    return run


@pytest.fixture
def alone(waitio, ways):
    """Run a program as one job of one MPI; returns its lines."""

    def run(name, count, *words, options=(), mpi="mpich"):
        line = mpiexec(mpi, (count, [ways.unmodified(mpi, name, *options), *words]))
        done = subprocess.run(
            [str(word) for word in line],
            env=waitio.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted(done.stdout.splitlines())

    return run


def all_well(result, shape):
    status, lines, text = result
    assert status == 0, text
    assert len(lines) == sum(count for _, count in shape_of(shape)), text
    return lines


@pytest.mark.parametrize("shape", ["2o+2m", "1o+3m", "2o+1m+2o"])
def test_messages_groups_and_parts(span, alone, shape):
    lines = all_well(span("p2p.c", shape), shape)
    assert lines == alone("p2p.c", len(lines))


@pytest.mark.parametrize("how", [1, 2, 3], ids=["mpif.h", "mpi", "mpi_f08"])
def test_fortran(span, alone, how):
    options = [f"-DHOW={how}", "-fallow-argument-mismatch"]
    lines = all_well(span("faces.F90", "2o+2m", options=options), "2o+2m")
    assert lines == alone("faces.F90", 4, options=options)


def test_cxx(span, alone):
    lines = all_well(span("cxx.cpp", "2o+2m"), "2o+2m")
    assert lines == alone("cxx.cpp", 4)


@pytest.mark.parametrize("how", ["kill", "abort", "exit", "finalize"])
@pytest.mark.parametrize("shape", ["2o+2m", "3m+1o"])
def test_a_death_ends_all_jobs(span, how, shape):
    """Of the last process: it leads the job that it is alone in."""
    begin = time.monotonic()
    status, _, text = span("death.c", shape, how, timeout=40)
    assert status not in (0, 124), text
    assert time.monotonic() - begin < 35


def test_a_rank_that_ends_before_init_ends_the_run_and_is_named(span, build_dir):
    # MPICH's launcher does not end a job whose rank ends before MPI_Init.
    begin = time.monotonic()
    env = {"WAITIO_SERV": str(build_dir / "bin" / "waitio-serv")}
    status, _, text = span("death.c", "1o+2m", "early", env=env, timeout=40)
    assert status not in (0, 124), text
    assert time.monotonic() - begin < 35
    assert "rank 1 of block 'job1' ended without ever joining" in text
    assert re.search(r"job1 .*rank 1 never joined.*<- first failure", text), text


def test_who_asks_for_codes_is_told_of_a_death(span):
    status, _, text = span("death.c", "2o+2m", "told", timeout=40)
    assert status not in (0, 124) and "told" in text


def test_receives_from_anybody_end_with_a_death_until_it_is_acknowledged(span):
    status, _, text = span("death.c", "2o+1m", "anybody", timeout=40, how=["--keep-going"])
    assert status not in (0, 124), text
    assert "went on" in text and "wrong" not in text, text


def test_finalize_waits_for_all_and_long_waits_say_for_whom(span):
    env = {"WAITIO_WARN_WAIT": "0.1"}
    result = span("late.c", "2o+2m", env=env)
    assert result[0] == 0 and result[1] == ["ok"] * 4, result[2]
    assert re.search(r" 0.0\].* MPI_Comm_dup has waited .* inside the other", result[2])
    assert re.search(r" 0.0\].* MPI_Finalize has waited .*: receive from PB 1 rank 1", result[2])


def test_a_program_that_is_linked_with_the_library(waitio, build_dir, ways):
    line = ["run"]
    for mpi in MPIS:
        folder = build_dir / "lib"
        link = ["-Wl,--no-as-needed", f"-L{folder}", f"-Wl,-rpath,{folder}"]
        program = ways.unmodified(mpi, "errors.c", *link, f"-lwaitio_span_{mpi}")
        line += [":"] if len(line) > 1 else []
        line += ["-n", 2, "--mpi", mpi, program]
    status, out, err = waitio(*line, timeout=60)
    assert (status, out.count(b"ok")) == (0, 4), out + err


def test_one_job_is_left_to_its_mpi(span, alone):
    for shape in ("3o", "3m"):
        lines = all_well(span("p2p.c", shape), shape)
        assert lines == alone("p2p.c", 3)


def test_another_mpi_than_the_librarys(waitio, build_dir, ways):
    # The launcher of Open MPI gives MPICH's processes no rank: each would compute alone.
    program = ways.unmodified("mpich", "p2p.c")
    status, _, err = waitio(
        "run", "--span", "-n", 2, "--launcher", "mpiexec.openmpi -n {n}", program,
        ":", "-n", 1, "--mpi", "mpich", program,
        env={"WAITIO_SPAN_LIB": str(build_dir / "lib")}, timeout=60,
    )  # fmt: skip
    assert status != 0
    assert b"to MPICH 0 of 1" in err


def test_what_is_needed_is_said(waitio, ways, tmp_path):
    program = ways.unmodified("mpich", "p2p.c")
    status, _, err = waitio("run", "--span", "-n", 2, program, ":", program)
    assert status == 2 and b"say --mpi FLAVOUR" in err
    status, _, err = waitio(
        "run", "--span", "--mpi", "mpich", program, env={"WAITIO_SPAN_LIB": str(tmp_path)}
    )
    assert status == 127 and b"there is no libwaitio_span_mpich.so for MPICH" in err
    script = waitio.script("nothing", "true")
    status, _, err = waitio("run", "--span", script)
    assert status == 2 and b"nothing tells which MPI" in err


# Functions that take no communicator, group, request or message: files, windows (those that may
# block are looked for below), the tools' interface, conversions of handles, functions that are
# constants.
ELSEWHERE = re.compile(
    r"MPI_(T_|File_|Win_|Register_datarep|[A-Z0-9]+(_|$)|\w+_[cf]2[cf]$|\w+_f08|WT)"
)


def exported(library):
    done = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    names = (line.split()[-1].partition("@")[0] for line in done.stdout.splitlines())
    return {name for name in names if re.match(r"P?MPIX?_[A-Z]", name)}


@pytest.mark.parametrize("mpi", MPIS)
def test_every_function_of_the_mpi_has_its_place(
    source_dir, build_dir, ways, need, monkeypatch, mpi
):
    need("nm", "ldd")
    monkeypatch.syspath_prepend(source_dir / "tools/gen")
    from emit import span as emitter
    from tables import load_table

    table = load_table(source_dir / "spec", "span.toml")
    calls = (source_dir / "spec/mpi-4.0-calls.txt").read_text()
    names = ("waitio_mpi.h", "waitio_mpi_large.h")
    headers = "".join((source_dir / "include" / name).read_text() for name in names)
    plan = emitter.Plan(calls, table, headers)
    told = subprocess.run(
        ["ldd", ways.unmodified(mpi, "p2p.c")], capture_output=True, text=True
    ).stdout
    vendor = exported(re.search(r"=> (\S*/lib(?:mpi|mpich)\.so\S*)", told).group(1))
    ours = exported(build_dir / "lib" / f"libwaitio_span_{mpi}.so")
    lost = []
    for name in sorted(vendor):
        if name.startswith("PMPI") or name in table["extensions"] or ELSEWHERE.match(name):
            continue
        standard = re.sub("^MPIX?_", "", name)
        way = plan.ways.get(standard, "unknown")
        if way not in ("harmless", "vendor") and not {name, "P" + name} <= ours:
            lost.append(f"{name} ({way})")
    assert not lost, "neither wrapped nor explained: " + ", ".join(lost)
    wrapped = {f"MPI_{f.name}" for f in plan.of("wrapped", "hand", "refused", "blocking")}
    assert not {name for name in wrapped & vendor if not {name, "P" + name} <= ours}


def answer(text):
    """heat3d's answer: its times differ."""
    found = re.findall(r"(?m)^(?:\[\S+\] )?(\w+) +([-+.E\d]+)$", text)
    return {key: float(value) for key, value in found if "time" not in key}


def test_heat3d_gives_the_same_numbers(waitio, build_dir):
    exe = {mpi: build_dir / "bin" / f"heat3d_{mpi}" for mpi in MPIS}
    if not all(path.exists() for path in exe.values()):
        pytest.skip("heat3d was not built with both MPIs")
    box = ["nx=10", "ny=10", "nz=10"]
    line = ["run", "--span", "--tagging", "none", "-n", 2, "--mpi", "openmpi"]
    line += [exe["openmpi"], *box]
    line += [":", "-n", 1, "--mpi", "mpich", exe["mpich"], *box]
    status, out, err = waitio(*line, env={"WAITIO_SPAN_LIB": str(build_dir / "lib")}, timeout=60)
    assert status == 0, err
    words = ["mpiexec.mpich", "-n", "3", exe["mpich"], *box]
    one = subprocess.run(words, env=waitio.env, capture_output=True, text=True, check=True)
    spanned, single = answer(out.decode()), answer(one.stdout)
    assert spanned.keys() == single.keys() and len(single) > 2
    for key, value in single.items():
        assert spanned[key] == pytest.approx(value, rel=1e-9), key


def test_mpi4py(waitio, source_dir, build_dir, tmp_path):
    pytest.importorskip("mpi4py")
    pytest.importorskip("numpy")
    script = source_dir / "tests/span/with_mpi4py.py"
    # Debian's MPICH goes by a name of its own; mpi4py's wheel asks for the common one.
    found = subprocess.run(
        ["sh", "-c", "ls /usr/lib/*/libmpich.so.12"], capture_output=True, text=True, check=False
    ).stdout.split()
    if found:
        (tmp_path / "libmpi.so.12").symlink_to(found[0])
    mpich = ["--env", "MPI4PY_MPIABI=mpich", "--env", f"LD_LIBRARY_PATH={tmp_path}"]
    openmpi = ["--env", "MPI4PY_MPIABI=openmpi"]
    status, out, err = waitio(
        "run", "--span", "-n", 2, "--mpi", "openmpi", *openmpi, sys.executable, script,
        ":", "-n", 2, "--mpi", "mpich", *mpich, sys.executable, script,
        env={"WAITIO_SPAN_LIB": str(build_dir / "lib")}, timeout=60,
    )  # fmt: skip
    if b"cannot load MPI library" in err:
        pytest.skip("mpi4py does not load both MPIs")
    assert status == 0, err
    lines = sorted(line.partition("] ")[2] for line in out.decode().splitlines())
    assert [line.split(":")[0] for line in lines] == [f"{rank} of 4" for rank in range(4)]
    assert lines[1] == "1 of 4: [6, 4] hello 0 2 (0, 2)"
