# SPDX-License-Identifier: BSD-3-Clause
"""waitio run: failures spread, signals arrive, nobody survives, the status tells why."""

import os
import shutil
import signal
import subprocess
import time

import patience
import pytest

LOOP = "while :; do sleep 0.05; done"
KINDS = {"plain": [], "openmpi": ["--mpi", "openmpi"], "mpich": ["--mpi", "mpich"]}


@pytest.fixture(params=list(KINDS))
def kind(request, need):
    """Options for each way of starting a block."""
    if KINDS[request.param]:
        need("mpiexec." + request.param)
    return KINDS[request.param]


def read_until(child, *wanted):
    """Read lines until each wanted one was seen."""
    missing = list(wanted)
    while missing:
        line = child.stdout.readline().decode().rstrip("\n")
        assert line or child.poll() is None, f"ended before it printed {missing}"
        if line in missing:
            missing.remove(line)


def test_failure_ends_the_others(waitio, kind):
    begin = time.monotonic()
    status, _, err = waitio("run", "-n", 2, *kind, "sleep", "60", ":", "sh", "-c", "exit 7")
    assert status == 7 and time.monotonic() - begin < patience.scaled(8)
    text = err.decode()
    assert "exit status 7" in text and "<- first failure" in text
    assert "ended: block 'sh' failed" in text


def test_failing_mpi_block_gives_its_status(waitio, kind):
    status, _, err = waitio("run", "-n", 2, *kind, "sh", "-c", "exit 5", ":", "sleep", "60")
    assert status == 5, err.decode()


def test_death_by_signal_is_128_and_the_signal(waitio, kind):
    status, _, err = waitio("run", *kind, "sh", "-c", "kill -SEGV $$", ":", "sleep", "60")
    assert status == 128 + signal.SIGSEGV, err.decode()
    assert b"SIGSEGV" in err


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_signal_of_one_rank_is_told_from_the_launchers_own_killing(waitio, need, number):
    need("mpiexec.mpich")
    code = f"[ $PMI_RANK = 1 ] && kill -{int(number)} $$; exec sleep 30"
    assert waitio("run", "-n", 3, "--mpi", "mpich", "sh", "-c", code)[0] == 128 + number


# MPICH's launcher waits for its other ranks unless they have called MPI_Init: keep them short.
@pytest.mark.parametrize("status", [1, 5, 9, 11])
def test_exit_status_of_one_rank(waitio, kind, status):
    code = (
        f"[ ${{PMI_RANK-${{OMPI_COMM_WORLD_RANK-$WAITIO_RANK}}}} = 1 ] && exit {status}; sleep 0.3"
    )
    assert waitio("run", "-n", 2, *kind, "sh", "-c", code)[0] == status


def test_keep_going(waitio):
    # The last one waits until the first one's status has been asked for: a zombie can be signalled.
    last = "until [ -s pid ]; do sleep 0.02; done; while kill -0 $(cat pid); do sleep 0.02; done"
    status, out, err = waitio(
        "run", "--keep-going", "sh", "-c", "echo $$ >pid; exit 4", ":",
        "sh", "-c", "sleep 0.5; echo done", ":", "sh", "-c", f"{last} 2>/dev/null; exit 6",
    )  # fmt: skip
    assert status == 4 and out == b"[sh-2 0] done\n"
    assert b"exit status 6" in err


def test_one_failing_process_ends_its_block_even_when_others_keep_going(waitio):
    code = "[ $WAITIO_RANK = 1 ] && exit 3; sleep 60"
    status, _, err = waitio("run", "--keep-going", "-n", 3, "sh", "-c", code, ":", "echo", "x")
    assert status == 3 and b"rank 1: exit status 3" in err


def test_silence_when_all_is_well_and_summary_on_wish(waitio):
    assert waitio("run", "true", ":", "true") == (0, b"", b"")
    status, _, err = waitio("run", "--summary", "true", ":", "true")
    assert status == 0 and err.count(b" ok ") == 2


def test_signals_reach_every_rank(waitio, kind):
    code = (
        f"trap 'echo one' USR1; trap 'echo two' USR2; trap 'echo bye; exit 0' TERM; echo up; {LOOP}"
    )
    words = ["-n", 2, *kind, "--name", "a", "sh", "-c", code]
    child = waitio.start("run", *words, ":", "--name", "b", "sh", "-c", code)
    everyone = [f"[{who}] " for who in ("a 0", "a 1", "b 0")]
    read_until(child, *(who + "up" for who in everyone))
    child.send_signal(signal.SIGUSR1)
    read_until(child, *(who + "one" for who in everyone))
    child.send_signal(signal.SIGUSR2)
    read_until(child, *(who + "two" for who in everyone))
    child.send_signal(signal.SIGTERM)
    read_until(child, *(who + "bye" for who in everyone))
    assert child.wait(timeout=10) == 0


def test_interrupt_ends_with_130(waitio, kind):
    child = waitio.start("run", "-n", 2, *kind, "sh", "-c", f"echo up; {LOOP}")
    read_until(child, "[sh 0] up", "[sh 1] up")
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=10) == 130
    assert b"interrupted by SIGINT" in child.stderr.read()


# The command; a signal comes while it starts the process with this number.
IN_POPEN = """import os, subprocess, sys
from waitio import cli
number, at = int(sys.argv.pop(1)), int(sys.argv.pop(1))
started, popen = [], subprocess.Popen
def slow(*words, **options):
    child = popen(*words, **options)
    started.extend([child] * options.get("start_new_session", False))  # a process of a block
    if len(started) == at:
        os.kill(os.getpid(), number)
    return child
subprocess.Popen = slow
sys.exit(cli.main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("at", [1, 2])
def test_signal_while_a_process_is_being_started(waitio, number, at):
    """It reaches that process too, and those behind it are not started."""
    words = ["run", "-n", 3, "--name", "a", "sh", "-c", f"touch a$WAITIO_RANK; {LOOP}"]
    words += [":", "--name", "b", "sh", "-c", f"touch b; {LOOP}"]
    child = waitio.start(int(number), at, *words, program=("-c", IN_POPEN))
    _, err = child.communicate(timeout=20)
    assert child.returncode == 128 + number, err.decode()
    lines = err.decode().splitlines()
    assert [line.split() for line in lines if "never started" in line] == [
        ["b", "1", "never", "started", "-"]
    ]
    started = {path.name for path in waitio.cwd.iterdir()}
    assert started <= {"a0", "a1"}, started
    assert "killed" not in err.decode()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_signal_while_a_launcher_is_being_started(waitio, need, mpi):
    need("mpiexec." + mpi)
    words = ["run", "-n", 2, "--mpi", mpi, "sh", "-c", LOOP]
    child = waitio.start(int(signal.SIGTERM), 1, *words, program=("-c", IN_POPEN))
    _, err = child.communicate(timeout=20)
    assert child.returncode == 128 + signal.SIGTERM, err.decode()


# A launcher to which SIGTERM comes before it knows its processes. As hydra: none of them is started
# any more, or they are, and their end is not told. As Open MPI's: it fails without a word.
IDLE_MPIEXEC = """#!/bin/sh
case "$*" in *version*) exec {mpiexec} "$@";; esac
while case $1 in */python*) false;; esac; do shift; done
started() {{ for PMI_RANK in 0 1; do export PMI_RANK; "$@" & done; wait; }}
trap '{then} "$@"; exit 0' TERM
echo up
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("then", [":", "started", "exit 1;"])
def test_launcher_to_which_a_signal_came_early(waitio, need, then):
    need("mpiexec.mpich")
    idle = waitio.cwd / "mpiexec.mpich"
    idle.write_text(IDLE_MPIEXEC.format(mpiexec=shutil.which("mpiexec.mpich"), then=then))
    idle.chmod(0o755)
    words = ["run", "-n", 2, "--mpi", "mpich", "--mpiexec", idle, "sh", "-c", LOOP]
    child = waitio.start(*words)
    read_until(child, "[sh] up")
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == 128 + signal.SIGTERM


def test_status_when_the_processes_that_were_started_end_well(waitio):
    words = ["run", "-n", 2, "sh", "-c", "exit 0"]
    child = waitio.start(int(signal.SIGHUP), 1, *words, program=("-c", IN_POPEN))
    child.communicate(timeout=20)
    assert child.returncode == 128 + signal.SIGHUP


def test_nohup(waitio):
    """The shell that started the run may go; Ctrl-C and SIGTERM end it as always."""
    code = "echo up; until [ -e go ]; do sleep 0.05; done; echo done"
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    child = waitio.start("run", "-n", 2, "sh", "-c", code, preexec_fn=ignore)
    read_until(child, "[sh 0] up", "[sh 1] up")
    child.send_signal(signal.SIGHUP)
    (waitio.cwd / "go").touch()
    read_until(child, "[sh 0] done", "[sh 1] done")
    assert child.wait(timeout=20) == 0
    child = waitio.start("run", "sh", "-c", f"echo up; {LOOP}", preexec_fn=ignore)
    read_until(child, "[sh 0] up")
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == 128 + signal.SIGTERM


def test_signal_of_long_ago_does_not_stand_for_the_end(waitio):
    """Programs that have caught it and go on get SIGTERM as always when the run has to end."""
    fails = "trap 'touch caught' HUP; echo up; until [ -e go ]; do sleep 0.05; done; exit 9"
    other = f"trap 'touch too' HUP; trap 'echo asked; exit 0' TERM; echo up; {LOOP}"
    words = ["run", "--grace", "2", "--name", "a", "sh", "-c", fails]
    child = waitio.start(*words, ":", "--name", "b", "sh", "-c", other)
    read_until(child, "[a 0] up", "[b 0] up")
    child.send_signal(signal.SIGHUP)
    waitio.wait_for(lambda: {"caught", "too"} <= {path.name for path in waitio.cwd.iterdir()})
    time.sleep(2.1)  # the grace of that signal
    (waitio.cwd / "go").touch()
    read_until(child, "[b 0] asked")
    assert child.wait(timeout=20) == 9


def test_interrupt_leaves_time_to_finish(waitio):
    """A block that dies of the same Ctrl-C brings no SIGTERM upon one that still saves."""
    saves = f"trap 'until [ -e go ]; do sleep 0.05; done; echo saved; exit 0' INT; echo up; {LOOP}"
    words = ["run", "--grace", "60", "--name", "a", "sh", "-c", f"echo $$ >pid; echo up; {LOOP}"]
    child = waitio.start(*words, ":", "--name", "b", "sh", "-c", saves)
    read_until(child, "[a 0] up", "[b 0] up")
    child.send_signal(signal.SIGINT)
    pid = (waitio.cwd / "pid").read_text().strip()
    waitio.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))  # the run has noticed its end
    (waitio.cwd / "go").touch()
    read_until(child, "[b 0] saved")
    assert child.wait(timeout=20) == 130


def test_second_interrupt_kills_what_ignores_the_first(waitio, kind):
    child = waitio.start("run", *kind, "sh", "-c", f"trap '' INT TERM; echo up; {LOOP}")
    read_until(child, "[sh 0] up")
    child.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=10) == 130
    assert b"second interrupt" in child.stderr.read()


def test_term_is_followed_by_kill_after_the_grace(waitio, kind):
    deaf = f"trap '' TERM; touch deaf; {LOOP}"
    code = "while [ ! -e deaf ]; do sleep 0.05; done; exit 9"
    status, _, err = waitio("run", "--grace", "1", *kind, "sh", "-c", deaf, ":", "sh", "-c", code)
    took = time.time() - (waitio.cwd / "deaf").stat().st_mtime
    assert status == 9 and 1 < took < patience.scaled(8)
    assert b"killed after the grace of 1 s" in err


def test_timeout(waitio, kind):
    begin = time.monotonic()
    status, _, err = waitio("run", "--timeout", "0.7s", *kind, "sleep", "60")
    assert status == 124 and 0.6 < time.monotonic() - begin < patience.scaled(8)
    assert b"--timeout" in err


def test_grandchildren_end_with_the_run(waitio, kind):
    # In the background, in a session of its own, with a closed or inherited output.
    code = "setsid sleep 300 & (sleep 300 >/dev/null 2>&1 &) ; echo up; [ -e never ]"
    status, out, _ = waitio("run", *kind, "sh", "-c", code)
    assert status == 1 and b"up" in out
    assert waitio.left() == []


def test_orphans_without_any_environment_end_too(waitio):
    mark = "61.98765"
    status, _, _ = waitio(
        "run", "sh", "-c", f"setsid env -i /bin/sleep {mark} >/dev/null 2>&1 & exit 0"
    )
    assert status == 0
    lines = [line for line in os.popen("ps -eo args") if line.strip() == f"/bin/sleep {mark}"]
    assert lines == []


def test_a_later_rank_may_outlive_the_first_one(waitio):
    """A launcher with a count of its own, so that -n is not given, starts them in turn."""
    launcher = waitio.script("launcher", 'WAITIO_RANK=0 "$@"; WAITIO_RANK=1 "$@"')
    # Longer than the time after which what the first one has left would be killed.
    code = "[ $WAITIO_RANK = 0 ] || sleep 3; echo done"
    lines = waitio.lines("run", "--launcher", launcher, "sh", "-c", code)
    assert lines == ["[sh 0] done", "[sh] done"]


def test_what_ranks_leave_to_a_waiting_launcher_ends(waitio):
    """Also if the last rank has gone before the run looks who it is."""
    last = 'kill -STOP $PPID; WAITIO_RANK=1 "$@"; kill -CONT $PPID'
    waits = "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done"
    launcher = waitio.script("launcher", f'WAITIO_RANK=0 "$@"; {last}; {waits}')
    code = "[ $WAITIO_RANK = 0 ] || { sleep 300 >/dev/null 2>&1 & echo $! >pid; }; echo done"
    status, out, err = waitio("run", "--launcher", launcher, "sh", "-c", code)
    assert status == 0 and out.count(b"done") == 2, err.decode()


def test_nothing_survives_a_killed_runner(waitio, kind):
    code = f"trap '' TERM HUP; sleep 300 & echo up $WAITIO_SECRET_FILE; {LOOP}"
    child = waitio.start("run", "-n", 1, *kind, "sh", "-c", code)
    line = child.stdout.readline().decode()
    secret = line.split()[-1]
    assert os.path.exists(secret)
    child.kill()
    child.wait()
    waitio.wait_for(lambda: not waitio.left())
    waitio.wait_for(lambda: not os.path.exists(secret))


def test_secret_for_other_machines_goes_with_a_killed_runner(waitio):
    """It lies under the user's home, where those machines see it."""
    waitio.script("ssh", 'for line; do :; done; exec sh -c "$line"')
    env = {"PATH": f"{waitio.cwd}:{waitio.env['PATH']}"}
    code = "echo $WAITIO_SECRET_FILE; sleep 300"
    words = ["run", "--hosts", "elsewhere", "--master-host", "localhost", "sh", "-c", code]
    child = waitio.start(*words, env=env)
    secret = child.stdout.readline().decode().split()[-1]
    assert secret.startswith(str(waitio.home)) and os.path.exists(secret)
    child.kill()
    child.wait()
    waitio.wait_for(lambda: not waitio.left())
    waitio.wait_for(lambda: not waitio.folders())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_secret_goes_away_after_a_signal(waitio, number):
    # A loop: dash loses an interrupt that meets it just before it becomes its last command.
    child = waitio.start("run", "sh", "-c", f"echo $WAITIO_SECRET_FILE; {LOOP}")
    secret = child.stdout.readline().decode().split()[-1]
    assert os.path.exists(secret)
    child.send_signal(number)
    assert child.wait(timeout=10) == 128 + number
    assert not os.path.exists(secret)


def test_children_that_were_there_before_are_left_alone(waitio):
    # `sleep 5 & exec waitio run ...` makes the sleep a child of the command.
    words = "sleep 30 >/dev/null 2>&1 & echo $!; exec python3 -m waitio run true"
    done = subprocess.run(
        ["sh", "-c", words], env=waitio.env, cwd=waitio.cwd, capture_output=True, timeout=20,
        check=False,
    )  # fmt: skip
    pid = int(done.stdout)
    try:
        assert done.returncode == 0
        os.kill(pid, 0)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_program_that_vanishes_is_reported_by_name(waitio, need):
    need("mpiexec.mpich")
    status, _, err = waitio("run", "--mpi", "mpich", "./nothere")
    assert status == 127 and b"nothere" in err
