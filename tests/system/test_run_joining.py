# SPDX-License-Identifier: BSD-3-Clause
"""waitio run and blocks that do not join as they were started: a block that has ended without
joining, a block of another size than -n says."""

import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def actor(build_dir):
    path = build_dir / "tests" / "system" / "actor"
    if not path.exists():
        pytest.fail(f"no {path}: build the target system_programs")
    return str(path)


@pytest.fixture
def serv(build_dir):
    return {"WAITIO_SERV": str(build_dir / "bin" / "waitio-serv")}


@pytest.mark.parametrize("how", ["serv", "embedded"])
def test_a_block_that_ends_without_joining_ends_those_who_wait(waitio, actor, serv, how):
    talk = waitio.script("talk", f"(echo 'init 300'; cat) | exec {actor}")
    status, out, err = waitio(
        "run", "--grace", 5, "--rendezvous", how, talk, ":", "--name", "none", "true",
        env=serv, timeout=25,
    )  # fmt: skip
    text = err.decode()
    assert status == 1, text
    assert "block 'none' (exit status 0) ended without ever joining" in text
    assert "1 process came; missing: PB 1: nobody came (size unknown)" in text
    assert "never joined  " in text and "<- first failure" in text
    assert "ended: block 'none' ended without joining" in text
    assert b"ok" not in out


def test_a_block_that_ends_after_joining_disturbs_nobody(waitio, actor, serv):
    """One leaves after the universe has formed; the other works on for longer than the watch
    needs to notice that the rendezvous has ended."""
    short = waitio.script("short", f"(echo 'init 30'; echo finalize; echo 'exit 0') | {actor}")
    words = "echo 'init 30'; echo finalize; sleep 4; echo 'exit 0'"
    long = waitio.script("long", f"({words}) | {actor}")
    status, _, err = waitio("run", short, ":", long, env=serv, timeout=30)
    assert status == 0, err.decode()
    assert err == b""


def test_blocks_that_never_use_the_library_are_left_alone(waitio, serv):
    status, _, err = waitio("run", "sleep", 4, ":", "true", env=serv)
    assert (status, err) == (0, b"")


def test_with_keep_going_it_is_said_and_nobody_is_ended(waitio, actor, serv):
    talk = waitio.script("talk", f"(echo 'init 6'; sleep 8) | exec {actor}")
    status, out, err = waitio(
        "run", "--keep-going", talk, ":", "--name", "none", "sh", "-c", "exit 3",
        env=serv, timeout=25,
    )  # fmt: skip
    text = err.decode()
    assert status == 3, text
    assert "block 'none' (exit status 3) ended without ever joining" in text
    assert "they are left waiting" in text
    assert b"joining timed out" in out, "it waited to the end of its own time"


def test_the_state_of_a_rendezvous_that_nobody_serves(build_dir):
    env = {**os.environ, "WAITIO_MASTER_HOST": "127.0.0.1", "WAITIO_MASTER_PORT": "1"}
    done = subprocess.run(
        [build_dir / "bin" / "waitio-serv", "--state"],
        env=env, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("nobody: ")


def test_a_block_of_another_size_than_n_is_refused_by_name(waitio, actor, serv, need):
    """The launcher line starts three processes where -n says four."""
    need("mpiexec.openmpi")
    talk = waitio.script("talk", f"echo 'init 30' | {actor}; exit 1")
    status, out, err = waitio(
        "run", "-n", 4, "--name", "ocean", "--launcher", "mpiexec.openmpi -n 3",
        talk, env=serv,
    )  # fmt: skip
    assert status == 1, err.decode()
    text = out.decode()
    assert "block 'ocean' (PB 0) was started by waitio run with -n 4" in text
    assert re.search(r"rank [012] of 3 \(by ", text), text


@pytest.mark.parametrize(
    "program, launcher",
    [("openmpi", "mpich"), ("mpich", "openmpi")],
)
def test_a_program_under_the_launcher_of_another_mpi_is_refused(
    waitio, build_dir, need, program, launcher
):
    need(f"mpiexec.{launcher}")
    path = build_dir / "tests" / "system" / f"mpi_barrier.{program}"
    if not path.exists():
        pytest.skip(f"{path} was not built")
    status, out, err = waitio("run", "-n", 2, "--mpi", launcher, path)
    text = err.decode()
    assert (status, out) == (2, b""), text
    assert f"Say --mpi {program}" in text and "is linked with lib" in text
    assert waitio("run", "--dry-run", "-n", 2, "--mpi", program, path)[0] == 0
    dry = waitio("run", "--dry-run", "--launcher", f"mpiexec.{launcher} -n {{n}}", path)
    assert dry[0] == 0 and b"# warning: " in dry[1], "a line of one's own is only warned of"
    several = waitio("run", "--dry-run", "-n", 2, path)
    assert several[0] == 0 and b"started as 2 plain processes" in several[1]
    one = waitio("run", "--dry-run", path)
    assert one[0] == 0 and b"warning" not in one[1], "one process alone is rank 0 of 1 in earnest"


def test_a_program_that_reaches_mpi_by_way_of_a_library_is_known(waitio, need):
    need("mpicc.openmpi", "mpiexec.mpich")
    (waitio.cwd / "lib.c").write_text("#include <mpi.h>\nint f(void) { return MPI_Init(0, 0); }\n")
    (waitio.cwd / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    subprocess.run(
        "mpicc.openmpi -shared -fPIC -o libf.so lib.c && cc -o p main.c -L. -lf -Wl,-rpath,$PWD",
        shell=True, cwd=waitio.cwd, check=True, timeout=60,
    )  # fmt: skip
    status, _, err = waitio("run", "-n", 2, "--mpi", "mpich", "./p")
    assert status == 2 and b"is linked with lib" in err and b"Say --mpi openmpi" in err


FAKE_MPI4PY = """
class rc:
    def __init__(self, **options): pass
class MPI:
    @staticmethod
    def get_vendor(): return "Open MPI", (4, 1, 4)
"""


@pytest.mark.parametrize("how", ["script", "shebang", "-c", "-m"])
def test_python_is_asked_what_mpi4py_is_made_for(waitio, need, how):
    need("mpiexec.mpich")
    (waitio.cwd / "mpi4py.py").write_text(FAKE_MPI4PY)
    text = "from mpi4py import MPI\n"
    (waitio.cwd / "prog.py").write_text(
        f"#!/usr/bin/env {os.path.basename(sys.executable)}\n{text}"
    )
    (waitio.cwd / "prog.py").chmod(0o755)
    (waitio.cwd / "other.py").write_text("print('no MPI here')\n")
    words = {
        "script": [sys.executable, "-u", "-W", "ignore", "prog.py"],
        "shebang": ["./prog.py"],
        "-c": [sys.executable, "-c", text],
        "-m": [sys.executable, "-m", "prog"],
    }[how]
    path = os.pathsep.join([str(waitio.cwd), waitio.env["PYTHONPATH"]])
    env = {"PYTHONPATH": path, "PATH": os.path.dirname(sys.executable) + ":" + waitio.env["PATH"]}
    command = ["run", "--dry-run", "-n", 2, "--mpi", "mpich"]
    status, out, err = waitio(*command, *words, env=env)
    if how == "-m":  # nobody has looked into the module
        assert status == 0 and b"# warning: " in out and b"made for Open MPI" in out
    else:
        assert status == 2 and b"made for Open MPI" in err, err
    status, out, _ = waitio("run", "--dry-run", "--mpi", "auto", *words, env=env)
    assert status == 0 and b"(openmpi, " in out
    assert b"warning" not in waitio(*command, sys.executable, "other.py", env=env)[1]


def test_counters_of_a_run_are_summed_up_by_block(waitio, build_dir, serv):
    """WAITIO_STATS=1 under `waitio run`: no table per process, one of the run, without zeros."""
    ring = build_dir / "tests" / "system" / "ring"
    words = ["run", "--name", "a", "-n", 2, ring, 10, ":", "--name", "b", ring, 10]
    status, _, err = waitio(*words, env={**serv, "WAITIO_STATS": "1"}, timeout=60)
    text = err.decode()
    assert status == 0 and "statistics of" not in text, text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[1:]}
    assert rows["a"] == ["b", "all"] and rows["processes"] == ["2", "1", "3"]
    assert rows["send_msgs"] == ["msgs", "20", "10", "30"], text
    assert all(any(int(n) for n in row[1:]) for row in list(rows.values())[1:]), text
    own = {**serv, "WAITIO_STATS": "1", "WAITIO_STATS_FILE": "mine.%r"}
    assert waitio(*words, env=own, timeout=60)[2] == b""
    assert "WaitIO statistics of PB 1 rank 0" in (waitio.cwd / "mine.2").read_text()
    assert waitio(*words, env=serv, timeout=60)[2] == b""
