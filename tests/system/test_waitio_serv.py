# SPDX-License-Identifier: BSD-3-Clause
"""waitio-serv as job scripts use it: publish, serve in the background, find, refuse, clean up."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import patience
import pytest
from surroundings import clean

from waitio.ports import free_port

JOIN = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.waitio_last_error.restype = ctypes.c_char_p
rc = lib.waitio_init(int(sys.argv[2]))
n = ctypes.c_int(-1)
lib.waitio_pb_size(ctypes.byref(n))
print(rc, n.value, lib.waitio_last_error().decode() if rc else "", flush=True)
if len(sys.argv) > 3:
    sys.stdin.read()
lib.waitio_finalize()
"""


class Site:
    """A user with a home, a job id and a port."""

    def __init__(self, build_dir, home):
        self.tool = str(build_dir / "bin" / "waitio-serv")
        self.library = str(build_dir / "lib" / "libwaitio.so")
        self.home = home
        self.env = clean(HOME=home, COUPLER_JOB_ID="7")
        self.env["WAITIO_MASTER_PORT"] = str(free_port())
        self.env["WAITIO_MASTER_HOST"] = "127.0.0.1"

    def run(self, *args, **env):
        return subprocess.run(
            [self.tool, *args],
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def publication(self):
        return pathlib.Path(self.home) / ".waitio" / "serv-7"

    def daemon_pid(self):
        for line in self.publication().read_text().splitlines():
            if line.startswith("pid "):
                return int(line.split()[1])
        return 0

    def program(self, pbid, npb, timeout=20, stays=False):
        """Joins and leaves; with stays it leaves when its standard input is closed."""
        env = self.env | {"WAITIO_PBID": str(pbid), "WAITIO_NPB": str(npb)}
        env |= {"WAITIO_RANK": "0", "WAITIO_NPROCS": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", JOIN, self.library, str(timeout), *(["stays"] if stays else [])],
            env=env,
            stdin=subprocess.PIPE if stays else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def running(self, blocks):
        """The programs of a universe that has formed, in the order in which they joined: the first
        one leads the host."""
        programs = []
        for i in range(blocks):
            programs.append(self.program(i, blocks, stays=True))
            time.sleep(0.3)
        for p in programs:
            assert p.stdout.readline().split()[:2] == ["0", str(blocks)]
        return programs


def ended(pid):
    """Gone, or dead and not yet collected (in a container without an init)."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def site(build_dir, tmp_path):
    s = Site(build_dir, tmp_path)
    yield s
    s.run("-k")


def test_blocks_meet_at_a_daemon_in_any_order(site):
    started = time.monotonic()
    assert site.run("-d", "-m", "localhost").returncode == 0
    assert time.monotonic() - started < patience.scaled(5)
    found = site.run("-c")
    assert (found.returncode, found.stdout) == (0, "localhost\n")
    pid = site.daemon_pid()
    late = site.program(1, 2)
    time.sleep(0.5)
    first = site.program(0, 2)
    for p in (late, first):
        assert p.communicate(timeout=30)[0].split()[:2] == ["0", "2"]
    assert wait_for(lambda: ended(pid), 3), "the daemon ends with its universe"
    assert wait_for(lambda: not site.publication().exists(), 1), "still published"


def test_the_daemon_lives_as_long_as_the_last_process(site):
    """Whoever leads the host may leave first; nobody has to say goodbye."""
    assert site.run("-d", "-m", "localhost").returncode == 0
    pid = site.daemon_pid()
    programs = site.running(3)
    time.sleep(6)
    assert not ended(pid) and site.publication().exists()
    assert programs[0].communicate(timeout=10)[0] == ""
    assert not wait_for(lambda: ended(pid), 1), "two are left"
    late = site.program(0, 3, timeout=1)
    text = late.communicate(timeout=10)[0]
    assert text.split()[0] == "-9" and "already complete" in text
    programs[1].kill()
    programs[1].wait(timeout=10)
    assert not wait_for(lambda: ended(pid), 1), "one is left"
    programs[2].kill()
    programs[2].wait(timeout=10)
    assert wait_for(lambda: ended(pid), 2)
    assert not site.publication().exists()


def test_a_running_universe_keeps_its_job_id(site):
    assert site.run("-d", "-m", "localhost").returncode == 0
    pid = site.daemon_pid()
    programs = site.running(2)
    again = site.run("-d", "-m", "localhost")
    assert again.returncode == 1
    assert f"pid {pid}" in again.stderr and "programs still run" in again.stderr
    missing = site.run("-c", "--timeout", "0.3")
    assert missing.returncode == 1 and "is complete" in missing.stderr
    for p in programs:
        p.kill()
        p.wait(timeout=10)
    assert site.run("-d", "-m", "localhost").returncode == 0, "free as soon as they are gone"


def test_a_daemon_can_be_ended_under_its_universe(site):
    assert site.run("-d", "-m", "localhost").returncode == 0
    pid = site.daemon_pid()
    programs = site.running(2)
    assert site.run("-k").returncode == 0
    assert wait_for(lambda: ended(pid), 3)
    for p in programs:
        assert p.poll() is None
        assert p.communicate(timeout=15)[0] == "" and p.returncode == 0


def test_the_next_run_follows_at_once(site):
    for _ in range(2):
        done = site.run("-d", "-m", "localhost")
        assert done.returncode == 0, done.stderr
        blocks = [site.program(i, 2) for i in range(2)]
        for p in blocks:
            assert p.communicate(timeout=30)[0].split()[:2] == ["0", "2"]


def test_a_live_daemon_keeps_its_job_id_and_port(site):
    assert site.run("-d", "-m", "localhost").returncode == 0
    again = site.run("-d", "-m", "localhost")
    assert again.returncode == 1
    assert f"pid {site.daemon_pid()}" in again.stderr and "job id '7' is held" in again.stderr
    other = site.run("-d", "-m", "localhost", COUPLER_JOB_ID="8")
    assert other.returncode == 1 and "is taken" in other.stderr
    assert site.run("-k").returncode == 0
    assert not site.publication().exists()
    assert site.run("-d", "-m", "localhost").returncode == 0


def test_stale_and_missing_publications(site):
    missing = site.run("-c", "--timeout", "0.3")
    assert missing.returncode == 1 and "nothing was published" in missing.stderr
    assert site.run("-d", "-m", "localhost").returncode == 0
    os.kill(site.daemon_pid(), signal.SIGKILL)
    stale = site.run("-c", "--timeout", "0.5")
    assert stale.returncode == 1 and "no rendezvous of this job waits" in stale.stderr
    assert site.run("-d", "-m", "localhost").returncode == 0, "a dead daemon holds nothing"


def test_publish_only(site):
    assert site.run("-m", "somewhere-ib0").returncode == 0
    found = site.run("-c")
    assert (found.returncode, found.stdout) == (0, "somewhere-ib0\n")
    assert site.publication().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "waitio-serv 1\nhost a b\n", "rubbish\x00\xff" * 50])
def test_rubbish_for_a_publication(site, text):
    site.publication().parent.mkdir(mode=0o700)
    site.publication().write_text(text)
    site.publication().chmod(0o600)
    found = site.run("-c", "--timeout", "0.3")
    assert found.returncode == 1 and "waitio-serv -k" in found.stderr
    assert site.run("-k").returncode in (0, 1)


def test_a_publication_others_can_write_is_not_believed(site):
    assert site.run("-m", "somewhere").returncode == 0
    site.publication().chmod(0o666)
    found = site.run("-c", "--timeout", "0.3")
    assert found.returncode == 1 and "written by others" in found.stderr


def test_an_idle_daemon_ends(site):
    assert site.run("-d", "-m", "localhost", WAITIO_SERV_IDLE="1").returncode == 0
    pid = site.daemon_pid()
    assert wait_for(lambda: ended(pid), 5)
    assert not site.publication().exists()


def test_foreground_for_launchers(site):
    with subprocess.Popen(
        [site.tool, "--foreground", "-m", "127.0.0.1", "-p", "0", "--print-port", "--with-stdin"],
        env=site.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as serv:
        site.env["WAITIO_MASTER_PORT"] = serv.stdout.readline().strip()
        blocks = [site.program(i, 2) for i in range(2)]
        for p in blocks:
            assert p.communicate(timeout=30)[0].split()[:2] == ["0", "2"]
        serv.stdin.close()
        assert serv.wait(timeout=5) == 0


@pytest.mark.parametrize("args", [[], ["-d"], ["-x"], ["-m"], ["--foreground", "-p", "99999"]])
def test_wrong_usage(site, args):
    done = site.run(*args)
    assert done.returncode == 2 and "usage:" in done.stderr
