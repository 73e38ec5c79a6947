# SPDX-License-Identifier: BSD-3-Clause
"""WaitIO's calls in one MPI job (WAITIO_COMM_TYPE=mpi), under each MPI that there is: messages,
what goes wrong, and what happens at the end. The programs of the conversion library are in
tests/runs."""

import re
import shutil
import subprocess

import pytest
from jobs import MPIS, mpiexec, need, other


@pytest.fixture(params=MPIS)
def mpi(request, launcher):
    """Name of an MPI with its emulator; the test runs once for each."""
    need(f"mpiexec.{request.param}")
    launcher.library(f"waitio_emulator_{request.param}")
    return request.param


@pytest.fixture
def job(build_dir, launcher):
    """job(mpi, (COUNT, WORDS[, ENV]), ..., limit=S, **env): one mpiexec with a context for each."""

    def run(mpi, *contexts, limit=60, **env):
        parts = []
        for count, (name, *words), *more in contexts:
            program = build_dir / "tests" / name.format(mpi=mpi)
            if not program.exists():
                pytest.skip(f"{program} was not built")
            parts.append((count, [program, *words], *more))
        return launcher.run(mpiexec(mpi, *parts), limit, **{"WAITIO_COMM_TYPE": "mpi", **env})

    return run


EMULATED = "system/mpi_emulated.{mpi}"


def fine(done, word, count):
    assert done.returncode == 0, done.all()
    assert done.stdout.count(word) == count, done.all()
    assert done.stderr == "" or "waitio" not in done.stderr, done.all()


# ---- programs that know nothing of it ----


@pytest.mark.in_turn("mpi")
@pytest.mark.parametrize(
    "program",
    [
        ["system/mpi_ring.{mpi}", 40],
        ["system/ring", 40, "no-finalize"],
        ["system/mpi_ring.{mpi}", 40, "no-finalize"],
        ["system/ring", 40],
        ["system/traffic", 5, 3, 300, 300000],
        ["system/traffic", 6, 2, 200, 3000000],
    ],
    ids=lambda words: "-".join(str(w).replace("/", "_").replace(".{mpi}", "") for w in words),
)
def test_messages(job, mpi, program):
    """With and without MPI_Init in the program; with and without waitio_finalize."""
    word = "ring ok" if "ring" in program[0] else "traffic ok"
    # mpi_ring takes MPI_COMM_WORLD for its block, so it has to be the only one.
    contexts = [(3, program)] if "mpi_ring" in program[0] else [(2, program), (1, program)]
    fine(job(mpi, *contexts), word, 3)


def test_more_processes_than_processors(job, mpi):
    """Waits give the processor away: no time slices are burnt."""
    ring = ["system/ring", 30]
    fine(job(mpi, (5, ring), (4, ring), (3, ring)), "ring ok", 12)


# ---- promises ----


def test_short_sends_are_over_before_anybody_answers(job, mpi):
    fine(job(mpi, (2, [EMULATED, "first"]), (3, [EMULATED, "first"])), "first ok", 5)


def test_everybody_sends_before_receiving(job, mpi):
    fine(job(mpi, (2, [EMULATED, "swap"]), (1, [EMULATED, "swap"])), "swap ok", 3)


def test_what_is_sent_has_left_although_its_sender_waits_in_mpi(job, mpi):
    fine(job(mpi, (1, [EMULATED, "apart"]), (2, [EMULATED, "apart"])), "apart ok", 3)


@pytest.mark.parametrize("end", [[], ["no-finalize"]], ids=["finalize", "no-finalize"])
def test_what_nobody_receives_does_not_disturb_the_end_of_mpi(job, mpi, end):
    unread = [EMULATED, "unread", *end]
    done = job(mpi, (1, unread), (2, unread))
    fine(done, "unread ok", 3)
    assert "WARN" not in done.stderr, done.all()  # of UCX


def test_thread_multiple(job, mpi):
    fine(job(mpi, (2, [EMULATED, "swap", "threads"]), (1, [EMULATED, "swap"])), "swap ok", 3)


def test_sending_to_who_has_left(job, mpi):
    fine(job(mpi, (1, [EMULATED, "late"]), (2, [EMULATED, "late"])), "late ok", 3)


def test_mpi_finalize_first(job, mpi):
    fine(job(mpi, (2, [EMULATED, "order"]), (2, [EMULATED, "order"])), "order ok", 4)


@pytest.mark.alone
def test_a_waiting_process_sleeps(job, mpi):
    done = job(mpi, (1, [EMULATED, "idle"]), (1, [EMULATED, "idle"]))
    fine(done, "idle ok", 2)
    spent = float(re.search(r"^idle ([0-9.]+)", done.stdout, re.M).group(1))
    assert spent < 0.5, f"{spent} s of processor time for a wait of 1 s"


@pytest.mark.alone
def test_service_thread_answers_where_mpi_allows_it(job, mpi):
    """Without MPI_THREAD_MULTIPLE a program that computes answers when it calls again."""
    both = (1, [EMULATED, "busy", "threads"]), (1, [EMULATED, "busy", "threads"])
    done = job(mpi, *both)
    fine(done, "busy ok", 2)
    took = float(re.search(r"^busy ([0-9.]+)", done.stdout, re.M).group(1))
    alone = (1, [EMULATED, "busy"]), (1, [EMULATED, "busy"])
    done = job(mpi, *alone)
    fine(done, "busy ok", 2)
    waited = float(re.search(r"^busy ([0-9.]+)", done.stdout, re.M).group(1))
    assert waited > 1.4, "a transfer went on while nobody called MPI"
    assert took < 1.3, f"the sender waited {took} s for a program that computes"


def test_a_death_ends_the_job(job, mpi):
    """The launcher ends all others: nobody waits for ever."""
    done = job(mpi, (2, [EMULATED, "die"]), (1, [EMULATED, "die"]), limit=40)
    assert done.returncode != 0, done.all()
    assert "die ok" not in done.stdout


# ---- blocks ----


RING = ["system/ring", 5]


def test_blocks_by_variable(job, mpi):
    blocks = (1, RING, {"WAITIO_PBID": "1"}), (2, RING, {"WAITIO_PBID": "0"})
    done = job(mpi, *blocks, WAITIO_NPB="2", WAITIO_LOG="p2p:info")
    assert done.returncode == 0, done.all()
    assert len(re.findall(r"joined: 3 processes in 2 PBs, I am PB 0", done.stderr)) == 2, done.all()
    assert len(re.findall(r"joined: 3 processes in 2 PBs, I am PB 1", done.stderr)) == 1, done.all()


@pytest.mark.parametrize(
    ("contexts", "env", "text"),
    [
        (((1, RING), (1, RING)), {"WAITIO_NPB": "3"}, "is 3, but the number of contexts"),
        (
            ((1, RING, {"WAITIO_PBID": "0"}), (1, RING)),
            {},
            "set it in all contexts of mpiexec, or in none",
        ),
        (
            ((1, RING, {"WAITIO_NPB": "2"}), (1, RING, {"WAITIO_NPB": "4"})),
            {},
            "set the same in all contexts",
        ),
        (
            ((1, RING, {"WAITIO_PBID": "2"}), (1, RING, {"WAITIO_PBID": "0"})),
            {},
            "is in PB 2, but there are only 2",
        ),
    ],
    ids=["npb", "some", "differ", "gap"],
)
def test_blocks_that_disagree(job, mpi, contexts, env, text):
    """Every process says the same, and none waits."""
    done = job(mpi, *contexts, limit=40, **env)
    assert done.returncode != 0, done.all()
    assert text in done.stderr, done.all()


# ---- the wrong library, or none ----


@pytest.mark.parametrize("program", ["system/mpi_ring.{mpi}", "system/ring"])
def test_library_of_another_mpi(job, mpi, program):
    """The program has another MPI, or the launcher is of another one."""
    need(f"mpiexec.{other(mpi)}")
    done = job(mpi, (2, [program, 5]), WAITIO_PLUGINS=f"emulator_{other(mpi)}")
    assert done.returncode != 0, done.all()
    if "mpi_ring" in program:
        assert f"libwaitio_emulator_{other(mpi)}.so was built for" in done.stderr, done.all()
        assert "WAITIO_PLUGINS" in done.stderr
    else:
        assert "the launcher has started 2 processes" in done.stderr, done.all()


def test_no_library(job, mpi, build_dir, tmp_path):
    """A libwaitio without emulators beside it."""
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("libwaitio.so.0",):
        shutil.copy((build_dir / "lib" / name).resolve(), lib / name)
    done = job(mpi, (2, RING), LD_PRELOAD=str(lib / "libwaitio.so.0"))
    assert done.returncode != 0, done.all()
    assert "there is none beside libwaitio" in done.stderr, done.all()
    assert "WAITIO_MPI=" in done.stderr, done.all()


def test_only_some_contexts_ask_for_mpi(job, mpi):
    """Nobody hangs: those who wait in MPI and those at the rendezvous give up in time."""
    done = job(
        mpi,
        (1, RING),
        (1, RING, {"WAITIO_COMM_TYPE": "socket", "WAITIO_NPB": "2", "WAITIO_PBID": "1"}),
        limit=60,
        WAITIO_INIT_TIMEOUT="3",
    )
    assert done.returncode != 0, done.all()
    assert "is WAITIO_COMM_TYPE=mpi set in all its contexts" in done.stderr, done.all()


def test_the_benchmark_runs(job, mpi):
    # Few turns: on busy processors MPICH needs a time slice for each.
    bench = ["../bench/emulator.{mpi}", 1, 400]
    done = job(mpi, (1, bench), (1, bench), WAITIO_COMM_TYPE=None)
    assert done.returncode == 0, done.all()
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [r[0] for r in rows] == ["bytes", "8", "1024", "65536", "1048576", "8388608"]
    for row in rows[1:]:
        bare, least, floor, plain, ratio = map(float, row[1:6])
        assert min(bare, least, floor, plain) > 0, row
        assert ratio >= 0, row  # 0.000: the floor met a crowd


def test_info_lists_what_could_be_loaded(mpi, build_dir):
    info = subprocess.run(
        [build_dir / "bin" / "waitio-info"], capture_output=True, text=True, timeout=60, check=True
    )
    assert f"libwaitio_emulator_{mpi}.so: transport mpi for" in info.stdout
