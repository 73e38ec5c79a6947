# SPDX-License-Identifier: BSD-3-Clause
"""waitio run: lines stay whole, bytes stay what they are, streams stay apart."""

import collections
import os
import pty
import re
import subprocess
import termios
import time

import pytest

from waitio import output
from waitio.errors import WaitioError

WRITER = """import os, sys
names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "WAITIO_RANK")
me = [os.environ[name] for name in names if name in os.environ][0]
for i in range(2000):
    line = f"{me} {i} " + "x" * (i % 97) + "\\n"
    # torn in the middle: two writes for one line
    cut = i % len(line)
    os.write(1 + i % 2, line[:cut].encode()); os.write(1 + i % 2, line[cut:].encode())
"""


@pytest.mark.parametrize("mpi", [[], ["--mpi", "openmpi"], ["--mpi", "mpich"]])
def test_four_writers_of_2000_lines_never_mix(waitio, need, mpi):
    if mpi:
        need("mpiexec." + mpi[1])
    (waitio.cwd / "w.py").write_text(WRITER)
    status, out, err = waitio(
        "run", "-n", 2, *mpi, "python3", "w.py", ":", "-n", 2, "--name", "b", "python3", "w.py"
    )
    assert status == 0
    seen = collections.defaultdict(list)
    for number, text in ((0, out), (1, err)):
        for line in text.decode().splitlines():
            found = re.fullmatch(r"\[(\w+) (\d)\] (\d) (\d+) (x*)", line)
            assert found, line
            name, rank, own, count, filling = found.groups()
            assert rank == own and len(filling) == int(count) % 97 and int(count) % 2 == number
            seen[name, rank, number].append(int(count))
    assert len(seen) == 8
    for (_, _, number), counts in seen.items():
        assert counts == list(range(number, 2000, 2))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_launcher_tags_are_understood(waitio, need, mpi):
    need("mpiexec." + mpi)
    lines = waitio.lines(
        "run", "--tagging", "launcher", "-n", 3, "--mpi", mpi, "sh", "-c", "echo [9] hi; echo 7: x"
    )
    expected = [f"[sh {rank}] {text}" for rank in range(3) for text in ("7: x", "[9] hi")]
    assert lines == sorted(expected)


def test_bytes_that_are_no_utf8_pass(waitio):
    text = b"caf\xe9 \xff\xfe\x00\x1b[0m \xc3\x28\r\n"
    (waitio.cwd / "bytes").write_bytes(text)
    status, out, _ = waitio("run", "cat", "bytes")
    assert (status, out) == (0, b"[cat 0] " + text)
    status, out, _ = waitio("run", "echo", b"\xe9".decode("utf-8", "surrogateescape"))
    assert (status, out) == (0, b"[echo 0] \xe9\n")
    status, out, _ = waitio("run", "--dry-run", "echo", b"\xe9".decode("utf-8", "surrogateescape"))
    assert status == 0 and b"\xe9" in out


def test_unfinished_last_line_and_streams_apart(waitio):
    status, out, err = waitio("run", "sh", "-c", "printf part; printf wrong >&2; exit 0")
    assert (status, out, err) == (0, b"[sh 0] part\n", b"[sh 0] wrong\n")


def test_empty_lines_and_a_long_line(waitio):
    code = "import sys; sys.stdout.write('\\n\\n' + 'y' * 3000000 + '\\nend\\n')"
    status, out, _ = waitio("run", "--name", "p", "python3", "-c", code)
    assert status == 0
    assert out == b"[p 0] \n[p 0] \n[p 0] " + b"y" * 3000000 + b"\n[p 0] end\n"


@pytest.mark.parametrize("mpi", [[], ["--mpi", "openmpi"], ["--mpi", "mpich"]])
def test_lines_appear_when_they_are_written(waitio, need, mpi):
    if mpi:
        need("mpiexec." + mpi[1])
    child = waitio.start(
        "run", *mpi, "sh", "-c", "echo now; while [ ! -e go ]; do sleep 0.05; done"
    )
    assert child.stdout.readline() == b"[sh 0] now\n"
    assert child.poll() is None
    (waitio.cwd / "go").touch()
    assert child.wait(timeout=10) == 0


def terminal_output(waitio, *words, env=None):
    """Run with a terminal as standard output; returns what appeared there."""
    main, other = pty.openpty()
    child = waitio.start("run", *words, "echo", "hi", stdout=other, env=env)
    os.close(other)
    text = b""
    while True:
        try:
            data = os.read(main, 1024)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(main)
    assert child.wait(timeout=10) == 0
    return text


def test_colour_only_on_a_terminal(waitio):
    term = {"TERM": "xterm", "NO_COLOR": ""}
    assert re.fullmatch(rb"\x1b\[\d+m\[echo 0\]\x1b\[0m hi\r\n", terminal_output(waitio, env=term))
    plain = b"[echo 0] hi\r\n"
    assert terminal_output(waitio, env={**term, "NO_COLOR": "1"}) == plain
    assert terminal_output(waitio, env={**term, "TERM": "dumb"}) == plain
    assert terminal_output(waitio, "--color", "never", env=term) == plain
    assert waitio("run", "echo", "hi", env=term)[1] == b"[echo 0] hi\n"
    assert waitio("run", "--color", "always", "echo", "hi")[1].startswith(b"\x1b[")


def test_pasting_more_than_a_pipe_holds(waitio):
    """A program that reads late gets all that was typed. Guard: 64 KiB came, the rest was lost."""
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(theirs)
    mode[3] &= ~termios.ECHO  # nobody reads that here
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    child = waitio.start("run", "--stdin", "sh", "sh", "-c", "sleep 1; wc -c", stdin=theirs)
    os.close(theirs)
    text = memoryview((b"x" * 79 + b"\n") * 2500 + b"\x04")
    while text:
        text = text[os.write(ours, text) :]
    out, _ = child.communicate(timeout=20)
    os.close(ours)
    assert out.split() == [b"[sh", b"0]", b"200000"]


def test_reader_that_goes_away_ends_the_run(waitio):
    child = waitio.start("run", "sh", "-c", "while :; do echo y; done")
    assert child.stdout.readline() == b"[sh 0] y\n"
    child.stdout.close()
    assert child.wait(timeout=20) == 141


def test_reader_that_goes_away_before_a_launcher_has_ended(waitio):
    """Both its streams have something left when it is collected: it has stopped the run before."""
    last = "kill -STOP $PPID; echo y; echo y >&2"
    goes_on = "(sleep 0.2; kill -CONT $PPID) >/dev/null 2>&1 &"
    code = f"trap '{last}; {goes_on} exit 0' TERM; while echo y; do sleep 0.05; done"
    words = ["run", "--tagging", "launcher", "--launcher", waitio.script("launcher", code), "true"]
    child = waitio.start(*words, stderr=subprocess.STDOUT)
    assert child.stdout.readline() == b"[true] y\n"
    child.stdout.close()
    child.stdout = None
    assert child.wait(timeout=20) == 141


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_full_disk_ends_the_run_as_any_failure_does(waitio, stream):
    """The other block gets SIGTERM, and its time; the command says which stream had no room."""
    begins = f"until [ -e ready ]; do sleep 0.05; done; echo y >/dev/{stream}; sleep 300"
    saves = "trap 'sleep 0.3; echo >saved; exit 0' TERM; echo >ready; while :; do sleep 0.05; done"
    with open("/dev/full", "wb") as full:
        words = ["sh", "-c", begins, ":", "sh", "-c", saves]
        child = waitio.start("run", *words, **{stream: full})
        out, err = child.communicate(timeout=20)
    assert child.returncode == 1 and (waitio.cwd / "saved").exists()
    if stream == "stdout":
        says = "waitio: standard output: No space left on device: what comes from here on is lost;"
        assert err.decode().splitlines()[-1].startswith(says) and b"Trace" not in err, err.decode()
    assert not out


@pytest.mark.parametrize("room", ["full", "closed"])
def test_last_output_of_a_run_may_be_what_nobody_takes(waitio, room):
    """What is read when the block has ended counts as what came before."""
    late = "trap 'echo y; exit 0' TERM; echo >ready; while :; do sleep 0.05; done"
    code = f"({late}) & until [ -e ready ]; do sleep 0.05; done"
    with open("/dev/full", "wb") as full:
        into = {"stdout": full} if room == "full" else {}
        child = waitio.start("run", "sh", "-c", code, **into)
        if room == "closed":
            child.stdout.close()
        assert child.wait(timeout=20) == (1 if room == "full" else 141)
    err = child.stderr.read().decode()
    assert ("standard output: No space left on device" in err) == (room == "full"), err
    assert "Traceback" not in err


def test_measurements_say_it_too(waitio):
    with open("/dev/full", "wb") as full:
        child = waitio.start("iotest", "--ways", "two-sided", stdout=full)
        err = child.communicate(timeout=20)[1].decode()
    assert child.returncode == 1 and err.startswith("waitio: standard output: No space left"), err
    child = waitio.start("iotest", "--ways", "two-sided")
    child.stdout.close()
    assert child.wait(timeout=20) == 141 and b"Traceback" not in child.stderr.read()


def test_files_that_fail_when_they_are_closed(tmp_path):
    """As on NFS; the others are closed nevertheless."""
    files = output.Files(str(tmp_path))
    for label in ("a.0", "b.0"):
        files.write(1, label, b"x")
    bad, good = files._open.values()
    os.close(bad)
    with pytest.raises(WaitioError, match="--output '.*': a.0: Bad file descriptor"):
        files.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(good)


def test_slow_reader_loses_nothing(waitio):
    count = 60000
    child = waitio.start("run", "-n", 2, "seq", "-w", count, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    out = child.communicate(timeout=30)[0].splitlines()
    assert child.returncode == 0 and len(out) == 2 * count
    assert [line for line in out if line.startswith(b"[seq 0]")][-1] == b"[seq 0] %d" % count


def test_output_folder_that_cannot_be_made(waitio):
    (waitio.cwd / "file").touch()
    status, out, err = waitio("run", "--output", "file", "echo", "x")
    assert status == 1 and out == b"" and b"--output 'file'" in err
