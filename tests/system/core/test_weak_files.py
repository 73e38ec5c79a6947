# SPDX-License-Identifier: BSD-3-Clause
"""Programs that share only a directory of a weak file system: each is a client of its own, as on
nodes that mount one NFS (tests/weakfs). They join there, exchange messages, and notice deaths."""

import contextlib
import time

import clients
import patience
import pytest

SIZES = (1, 8, 3000, 100_000, 1_500_000)
QUICK = dict(WAITIO_FILE_HEARTBEAT=0.2, WAITIO_FILE_SILENCE=4)


class Pair:
    """Two clients, and a universe of two programs, one on each."""

    def __init__(self, universe, mounts, **env):
        self.mounts = mounts
        self.u = universe(
            WAITIO_COMM_TYPE="file", WAITIO_MASTER_HOST=None, WAITIO_MASTER_PORT=None, **env
        )
        self.cast = [
            self.u.process(pb, 0, 1, 2, "actor", env=dict(WAITIO_SCRATCH_DIR=mounts[pb].path))
            for pb in (0, 1)
        ]

    def join(self):
        self.u.joined(self.cast, timeout=60)
        return self.cast

    def traffic(self, tag=5):
        """Messages of all sizes, both ways at once."""
        a, b = self.cast
        for size in SIZES:
            self.u.exchange(a, 0, b, 1, size, tag)

    def leave(self):
        """Both end in order, and nothing is left."""
        self.u.leave(*self.cast, timeout=40)
        back = self.mounts[0].path.parent / "back"
        assert [str(p.relative_to(back)) for p in back.rglob("*")] == []


@pytest.fixture
def pair(universe, build_dir, tmp_path):
    """pair("close-to-open", WAITIO_...=...): by tests/weakfs, or "sshfs"."""
    with contextlib.ExitStack() as stack:

        def make(weakness, **env):
            folder = tmp_path / "mounts"
            if weakness == "sshfs":
                two = clients.sshfs_pair(folder)
            else:
                two = clients.weak_pair(build_dir, folder, **clients.WEAK[weakness])
            return Pair(universe, stack.enter_context(two), **env)

        yield make


@pytest.mark.parametrize("weakness", [*clients.WEAK, "sshfs"])
def test_programs_join_and_exchange(pair, weakness):
    p = pair(weakness)
    p.join()
    p.traffic()
    p.traffic()
    p.leave()


@pytest.mark.parametrize("weakness", ["worst", "sshfs"])
def test_a_living_peer_is_not_taken_for_dead(pair, weakness):
    """Neither while it is silent for longer than the silence, nor before its signs show."""
    p = pair(weakness, **{**QUICK, "WAITIO_FILE_SILENCE": 2})
    a, b = p.join()
    b.ok("irecv 9 0 0 8 99")  # its link is made now
    time.sleep(5)
    a.ok("isend 9 0 1 8 99 4")
    b.ok("wait 9 4")
    a.ok("wait 9 0")
    p.traffic()
    time.sleep(3)
    p.traffic()
    p.leave()


@pytest.mark.parametrize("weakness", ["strong", "worst", "sshfs"])
def test_a_death_is_noticed(pair, weakness):
    """By the counter, since neither client sees the locks of the other."""
    p = pair(weakness, **QUICK)
    a, b = p.join()
    p.traffic()
    a.ok("irecv 9 0 1 8 99")
    a.begin("wait 9 0")
    time.sleep(1)
    began = b.kill()
    a.failed("PEER", timeout=20)
    assert a.seen_at - began < patience.scaled(8)
    a.do("finalize", timeout=40)


@pytest.mark.parametrize("rule", ["ENOSPC@fsync:1+", "EDQUOT@fsync:1+", "ENOSPC@flush:1+"])
def test_a_disk_that_is_found_full_late(pair, rule):
    """The write succeeds, its sync does not: the sender waits until there is space, and writes what
    was lost again. Guard: where the position goes on before the sync, the message never comes."""
    p = pair("close-to-open")
    a, b = p.join()
    p.traffic()
    p.mounts[0].fail(rule)
    b.ok("irecv 9 0 0 300000 99")
    b.begin("wait 9 4")
    a.ok("isend 9 0 1 300000 99 4")
    a.logs("no space for", "WAITIO_FILE_FULL_WAIT=600 s")
    time.sleep(0.5)
    p.mounts[0].fail("none")
    assert b.was_ok(b.answer(30), "wait")[-1] == "-1"
    a.ok("wait 9 0")
    p.traffic()
    p.leave()


def test_a_full_disk_without_waiting_is_an_error(pair):
    p = pair("close-to-open", WAITIO_FILE_FULL_WAIT=0)
    a, b = p.join()
    p.traffic()
    p.mounts[0].fail("ENOSPC@flush:1+")
    b.ok("irecv 9 0 0 300000 99")
    line = a.do("isend 9 0 1 300000 99 4")
    if line.startswith("ok"):
        line = a.do("wait 9 0")
    assert "WAITIO_FILE_FULL_WAIT=0 s" in line, line
    p.mounts[0].fail("none")
    b.fails("wait 9 4", "PEER", timeout=30)


@pytest.mark.parametrize("call", ["fsync", "flush"])
def test_an_error_that_comes_late_ends_the_link(pair, call):
    p = pair("close-to-open")
    a, b = p.join()
    p.traffic()
    p.mounts[0].fail(f"EIO@{call}:1+")
    b.ok("irecv 9 0 0 300000 99")
    line = a.do("isend 9 0 1 300000 99 4")
    if line.startswith("ok"):
        line = a.do("wait 9 0")
    assert line.startswith("error") and "cannot write" in line, line
    p.mounts[0].fail("none")
    if call == "flush":
        b.fails("wait 9 4", "PEER", timeout=30)
    else:  # everything came through, and then the sync said no
        b.do("wait 9 4", timeout=30)
        b.ok("irecv 9 0 0 8 99")
        b.fails("wait 9 4", "PEER", timeout=30)


def test_errors_now_and_then_lose_nothing(pair):
    """One page in a hundred that is written late finds no space, as one write in twenty does."""
    p = pair("close-to-open")
    p.join()
    p.traffic()
    for mount in p.mounts:
        mount.fail("ENOSPC@flush:%1/EDQUOT@write:%5")
    for _ in range(3):
        p.traffic()
    assert all(mount.counts()["faults"] > 0 for mount in p.mounts)
    for mount in p.mounts:
        mount.fail("none")
    p.leave()


def test_clean_leaves_living_ones(pair, waitio):
    """Its own client sees neither locks nor, at once, names: the counters decide."""
    p = pair("worst", **QUICK)
    a, b = p.join()
    p.traffic()
    words = ("clean", "--remove", "--silence", 1, "--watch", 2)
    for mount in p.mounts:
        lines = waitio.lines(*words, mount.path)
        assert any("alive: 2 of 2 processes" in line for line in lines), lines
    p.traffic()
    a.kill()
    b.kill()
    time.sleep(2)
    lines = waitio.lines(*words, p.mounts[0].path)
    assert any(line.startswith("removed 1 of 1") for line in lines), lines


@pytest.mark.parametrize("weakness", ["strong", "sshfs"])
def test_nobody_removes_what_others_use_through_a_network(pair, waitio, weakness):
    """The directory is on a disk of this machine, where no lock of a client is seen. Guard:
    where a lock that is not seen is an end at the first look, the files of living ones go."""
    p = pair(weakness)
    a, b = p.join()
    p.traffic()
    back = p.mounts[0].path.parent / "back"
    lines = waitio.lines("clean", "--remove", back)
    assert any("alive: 2 of 2 processes" in line for line in lines), lines
    words = ("run", "--route", "file", "--scratch", back, "--job-id", p.u.mark)
    status, _, err = waitio(*words, "sh", "-c", "exit 3", timeout=60)
    assert status == 3 and b"is left, for a process of the run may still live" in err, err
    p.traffic()
    a.kill()
    b.kill()
    lines = waitio.lines("clean", "--remove", back)
    assert any(line.startswith("removed 1 of 1") for line in lines), lines


def test_the_setting_forces_it(universe):
    """On any file system: as on a weak one."""
    forced = dict(WAITIO_COMM_TYPE="file", WAITIO_FILE_SYSTEM="close-to-open")
    u = universe(**forced, WAITIO_LOG="file:info")
    a, b = u.actors([1, 1])
    for size in SIZES:
        u.exchange(a, 0, b, 1, size)
    u.leave(a, b)
    assert "files are synced and opened again" in a.err()
    u = universe(WAITIO_COMM_TYPE="file", WAITIO_FILE_SYSTEM="sometimes")
    u.process(0, 0, 1, 1, "actor").fails("init 5", "CONFIG", "WAITIO_FILE_SYSTEM", "close-to-open")
