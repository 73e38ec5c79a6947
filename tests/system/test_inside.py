# SPDX-License-Identifier: BSD-3-Clause
"""Messages inside an MPI job by its MPI, while the universe forms as usual (WAITIO_INSIDE): blocks
under different MPIs and without one, storms over both ways, deaths, threads, what goes wrong."""

import re
import shutil

import pytest
from jobs import MPIS, blocks, mpiexec, need, other
from surroundings import rendezvous


@pytest.fixture
def two_mpis(launcher):
    """Both are there."""
    for name in MPIS:
        need(f"mpiexec.{name}")
        launcher.library(f"waitio_emulator_{name}")


@pytest.fixture(params=MPIS)
def mpi(request, two_mpis):
    """The MPI of block 0; the test runs once for each."""
    return request.param


def fine(done, word, count):
    assert done.returncode == 0, done.all()
    assert len(re.findall(rf"\b{word} ok: ", done.stdout)) == count, done.all()


@pytest.fixture
def universe(launcher, build_dir):
    """universe((MPI, COUNT, WORDS[, ENV]), ..., **env): blocks of one universe; MPI "": none. WORDS
    are those behind the program `inside`, or, if the first one is a path, a whole command."""

    def run(*parts, launcher_words=(), **env):
        line = []
        for mpi, count, words, *more in parts:
            setting = more[0] if more else {} if mpi else {"WAITIO_INSIDE": "auto"}
            command = ["env", *(f"{k}={v}" for k, v in setting.items())] if setting else []
            if "/" not in str(words[0]):
                name = f"mpi_inside.{mpi}" if mpi else "inside"
                command.append(build_dir / "tests" / "system" / name)
            line.append((mpi, count, [*command, *words], launcher_words if not line else ()))
        return launcher.run(blocks(*line, timeout="50s"), **env)

    return run


def mixed(mpi, *words, shape=(3, 2, 1)):
    """Block 0 under one MPI, block 1 under the other, block 2 without."""
    what, *rest = words
    kinds = [(mpi, "0"), (other(mpi), "1"), ("", "-")]
    return [(m, n, [what, job, *rest]) for (m, job), n in zip(kinds, shape, strict=True) if n > 0]


# ---- storms ----


@pytest.mark.in_turn("mpi")
@pytest.mark.parametrize("level", ["single", "serialized", "multiple"])
def test_storm_over_both_ways(universe, mpi, level):
    """Wildcards, probes and exact receives over MPI and shared memory at once; the counters tell
    that what is inside, and nothing else, went by MPI."""
    done = universe(*mixed(mpi, "storm", 60), WAITIO_INSIDE="mpi", MPI_LEVEL=level)
    fine(done, "storm", 6)


@pytest.mark.in_turn("mpi")
@pytest.mark.parametrize("setting", ["auto", "mpi"])
def test_storm_beside_tcp(universe, mpi, setting):
    shape = mixed(mpi, "storm", 60, shape=(2, 2, 1))
    fine(universe(*shape, WAITIO_INSIDE=setting, WAITIO_COMM_TYPE="socket"), "storm", 5)


@pytest.mark.in_turn("mpi")
@pytest.mark.parametrize("setting", ["auto", "off"])
def test_shared_memory_stays_where_it_is_quicker(universe, mpi, setting):
    shape = mixed(mpi, "storm", 20, shape=(2, 2, 1))
    fine(universe(*shape, WAITIO_INSIDE=setting, EXPECT_NONE="1"), "storm", 5)


def test_contract_holds(universe, mpi):
    """WAITIO_WRAP=check watches the transport from both sides."""
    fine(universe(*mixed(mpi, "storm", 30), WAITIO_INSIDE="mpi", WAITIO_WRAP="check"), "storm", 6)


def test_programs_that_know_nothing_of_it(universe, build_dir, mpi):
    """Random messages against a model; without MPI in the program, the library begins it."""
    traffic = [str(build_dir / "tests" / "system" / "traffic"), 7, 3, 200, 3000000]
    shape = [("", 1, traffic), (mpi, 2, traffic), (other(mpi), 2, traffic)]
    done = universe(*shape, WAITIO_INSIDE="mpi", WAITIO_LOG="p2p:info")
    assert done.returncode == 0, done.all()
    assert done.stdout.count("traffic ok") == 5, done.all()
    assert (
        len(re.findall("2 of 5 processes, this one included, are in one MPI job", done.stderr)) == 4
    )


def test_two_blocks_in_one_job(launcher, build_dir, mpi):
    """Of one mpiexec, by the variables that name block and rank; a third block has its own job."""
    program = build_dir / "tests" / "system" / f"mpi_inside.{mpi}"
    rank = "OMPI_COMM_WORLD_RANK" if mpi == "openmpi" else "PMI_RANK"
    by_rank = (
        f"case ${rank} in [01]) export WAITIO_PBID=0 WAITIO_RANK=${rank};; "
        f"*) export WAITIO_PBID=1 WAITIO_RANK=$((${rank} - 2));; esac; "
        f"export WAITIO_NPROCS=2; exec {program} storm 0,1"
    )
    inside = f"mpiexec.{mpi} -n 4 sh -c '{by_rank}'"
    across = f"WAITIO_PBID=2 WAITIO_INSIDE=auto {build_dir}/tests/system/inside storm -"
    done = launcher.run(
        ["sh", "-c", f"{inside} & {across}; there=$?; wait $! && exit $there"],
        **rendezvous(3, WAITIO_INSIDE="mpi", WAITIO_INIT_TIMEOUT=40),
    )
    fine(done, "storm", 5)


# ---- threads, fork, the end ----


@pytest.mark.parametrize("level", ["funneled", "multiple"])
def test_a_thread_waits_across_while_another_waits_inside(universe, mpi, level):
    """The one that polls may not call MPI, where it is for one thread only."""
    shape = mixed(mpi, "turn", shape=(2, 1, 1))
    fine(universe(*shape, WAITIO_INSIDE="mpi", MPI_LEVEL=level), "turn", 4)


@pytest.mark.parametrize("what", ["order", "fork"])
@pytest.mark.parametrize("kind", ["auto", "socket"])
def test_ends_and_children(universe, mpi, what, kind):
    done = universe(*mixed(mpi, what), WAITIO_INSIDE="mpi", WAITIO_COMM_TYPE=kind)
    fine(done, what, 6)


# ---- deaths ----


def times(text):
    died = [float(t) for t in re.findall(r"died at ([0-9.]+)", text)]
    told = re.findall(r"told at ([0-9.]+): rank \d+, (inside|across)", text)
    assert len(died) == 1, text
    return [(float(t) - died[0], where) for t, where in told]


@pytest.mark.parametrize("kind", ["auto", "socket"])
def test_a_death_is_told_by_another_way(universe, two_mpis, kind):
    """A launcher that leaves the others alone: MPI tells them nothing."""
    done = universe(
        *mixed("openmpi", "die"),
        launcher_words=["--enable-recovery"],
        WAITIO_INSIDE="mpi",
        WAITIO_COMM_TYPE=kind,
    )
    told = times(done.stdout)
    assert sorted(where for _, where in told) == ["across"] * 3 + ["inside"] * 2, done.all()
    assert max(after for after, _ in told) < 2, done.all()
    assert len(re.findall("die ok", done.stdout)) == 5, done.all()


def test_a_death_ends_the_job(universe, mpi):
    """As MPI's launchers do by default; the other blocks hear of it."""
    done = universe(*mixed(mpi, "die"), WAITIO_INSIDE="mpi")
    assert done.returncode != 0, done.all()
    told = [after for after, where in times(done.stdout) if where == "across"]
    assert len(told) == 3, done.all()
    assert max(told) < 2, done.all()


# ---- what goes wrong ----


def test_a_process_without_mpi(universe):
    done = universe(("", 2, ["storm", "-"], {}), WAITIO_INSIDE="mpi")
    assert done.returncode != 0, done.all()
    assert "this process was not started by an MPI, and uses none" in done.stderr, done.all()
    assert "take WAITIO_INSIDE=auto" in done.stderr


def test_auto_does_without(universe):
    done = universe(("", 2, ["storm", "-"], {}), WAITIO_INSIDE="auto", WAITIO_LOG="config:info")
    fine(done, "storm", 2)
    assert "no messages by MPI: WAITIO_INSIDE: this process uses no MPI" in done.stderr, done.all()


def test_auto_leaves_mpi_to_the_program(universe, build_dir, mpi):
    """A program that is linked with MPI and joins before MPI_Init, or without it: WaitIO does not
    begin MPI."""
    program = build_dir / "tests" / "system" / f"mpi_inside.{mpi}"
    done = universe(
        (mpi, 2, [str(program), "storm", "0"]),
        WAITIO_INSIDE="auto",
        MPI_LEVEL="none",
        EXPECT_NONE="1",
    )
    fine(done, "storm", 2)
    assert "the program has not called MPI_Init: call it before waitio_init" in done.stderr, (
        done.all()
    )


def test_library_of_another_mpi(universe, mpi):
    words = {"WAITIO_PLUGINS": f"emulator_{other(mpi)}"}
    done = universe((mpi, 2, ["storm", "0"], words), WAITIO_INSIDE="mpi")
    assert done.returncode != 0, done.all()
    assert f"libwaitio_emulator_{other(mpi)}.so was built for" in done.stderr, done.all()


@pytest.mark.parametrize("setting", ["auto", "mpi"])
def test_no_library(universe, build_dir, tmp_path, mpi, setting):
    """A libwaitio without emulators beside it."""
    lib = tmp_path / "lib"
    lib.mkdir()
    shutil.copy((build_dir / "lib" / "libwaitio.so.0").resolve(), lib / "libwaitio.so.0")
    done = universe(
        (mpi, 2, ["storm", "0"], {"LD_PRELOAD": str(lib / "libwaitio.so.0")}),
        WAITIO_INSIDE=setting,
        WAITIO_LOG="config:info",
        EXPECT_NONE="1",
    )
    assert (done.returncode == 0) == (setting == "auto"), done.all()
    assert "there is none beside libwaitio" in done.stderr, done.all()


@pytest.mark.parametrize("second", ["off", "auto"])
def test_not_all_of_the_job_take_part(launcher, build_dir, mpi, second):
    """Nobody hangs: in time each gets an error that names the setting."""
    program = build_dir / "tests" / "system" / f"mpi_inside.{mpi}"
    words = [program, "storm", "0"]
    parts = [(1, words, {"WAITIO_INSIDE": setting}) for setting in ("mpi", second)]
    done = launcher.run(mpiexec(mpi, *parts), WAITIO_INIT_TIMEOUT="3")
    assert done.returncode != 0, done.all()
    text = "the same WAITIO_INSIDE" if second == "off" else "have different values of WAITIO_INSIDE"
    assert text in done.stderr, done.all()


def test_block_of_several_jobs(launcher, build_dir, mpi):
    """WAITIO_INSIDE=mpi promises something for the whole block."""
    program = build_dir / "tests" / "system" / f"mpi_inside.{mpi}"
    alone = f"mpiexec.{mpi} -n 1 {program} storm 0"
    line = " & ".join(f"WAITIO_RANK={rank} {alone}" for rank in (0, 1))
    done = launcher.run(
        ["sh", "-c", f"({line}; wait)"],
        WAITIO_PBID="0",
        WAITIO_NPROCS="2",
        **rendezvous(1, WAITIO_INSIDE="mpi", WAITIO_INIT_TIMEOUT=20),
    )
    assert "is not in the same MPI job as this process" in done.stderr, done.all()
    assert "take WAITIO_INSIDE=auto" in done.stderr


# ---- what it says ----


def test_info_says_which_way_each_goes(universe, build_dir, mpi):
    info = [str(build_dir / "bin" / "waitio-info"), "--peers"]
    done = universe((mpi, 2, info), ("", 1, info), WAITIO_INSIDE="mpi")
    assert done.returncode == 0, done.all()
    assert len(re.findall(r"PB 0 rank [01].* mpi .*rank [01] of the MPI job", done.stdout)) == 2
    assert re.search(r"PB 1 rank 0.* shm ", done.stdout), done.all()
