# SPDX-License-Identifier: BSD-3-Clause
"""waitio run and blocks that do not join as they were started: a block that has ended without
joining, a block of another size than -n says."""

import os

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
    import subprocess

    env = {**os.environ, "WAITIO_MASTER_HOST": "127.0.0.1", "WAITIO_MASTER_PORT": "1"}
    done = subprocess.run(
        [build_dir / "bin" / "waitio-serv", "--state"],
        env=env, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("nobody: ")
