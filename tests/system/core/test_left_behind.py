# SPDX-License-Identifier: BSD-3-Clause
"""Who is left behind by another: see progs/left_behind.c. Guards: a child that keeps the sockets, a
receive that finalize forgets, a member that tells of a death only when it waits."""

import signal
import time

import patience
import pytest

EACH_TRANSPORT = True


def blocks(universe, n, way, **env):
    u = universe(WAITIO_ERRORS=None, **env)
    return [u.process(i, 0, 1, n, "left_behind", way) for i in range(n)]


@pytest.mark.sanitize
def test_a_wait_ends_when_another_thread_finalizes(universe):
    for p in blocks(universe, 2, "finalize"):
        p.ended(0, timeout=20)


@pytest.mark.parametrize("how", ["fork", "vfork", "spawn", "system", "popen"])
def test_a_forked_child_does_not_hide_a_death(universe, how):
    """The child lives for 20 s, whatever call has made it. One that runs another program has none
    of the library's descriptors: only fork tells the library of a child."""
    victim, peer = blocks(universe, 2, how)
    victim.ended(-signal.SIGKILL, timeout=20)
    died = time.monotonic()
    peer.ended(0, timeout=20)
    assert time.monotonic() - died < patience.scaled(2)


def test_a_member_that_computes_tells_of_a_death(universe):
    """The member in the middle computes for 20 s."""
    victim, _, last = blocks(universe, 3, "away", WAITIO_COLL_SCAN="chain")
    victim.ended(-signal.SIGKILL, timeout=20)
    died = time.monotonic()
    last.ended(0, timeout=20)
    assert time.monotonic() - died < patience.scaled(2)
