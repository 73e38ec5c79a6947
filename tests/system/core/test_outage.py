# SPDX-License-Identifier: BSD-3-Clause
"""WAITIO_RESUME_TIMEOUT between two hosts (network namespaces): the network goes and comes back, an
address changes, something in between forgets a connection."""

import subprocess
import time

import patience
import pytest
from namespaces import Net, couple, joined

RESUME = dict(WAITIO_RESUME_TIMEOUT=60, WAITIO_LOG="info", WAITIO_MASTER_HOST="10.99.7.1")


@pytest.fixture
def net(root_only):
    made = Net()
    for side, n in (("a", 1), ("b", 2)):  # one address each, so that the test knows the way
        made.ip(side, "addr", "del", f"fd99:7::{n}/64", "dev", "w")
    yield made
    made.close()


def linked(u, net):
    """Two actors with a link that both have used."""
    a, b = joined(u, couple(u, net, "actor"))
    u.exchange(a, 0, b, 1, 1000)
    return a, b


def resumed(*cast):
    return sum(p.count("link_resumes") for p in cast)


def test_an_outage(universe, net):
    """Four seconds without a network, in the middle of a transfer: within a second of its return
    the transfer goes on, and nobody hears of it. Guard: TCP alone would wait longer."""
    u = universe(**RESUME)
    a, b = linked(u, net)
    net.pull()
    a.ok("isend 3 0 1 3000000 7 5")
    b.ok("irecv 3 0 0 3000000 7")
    b.begin("wait 3 5")
    time.sleep(4)
    plug = net.hand(word="up")
    back = time.monotonic()
    plug()
    assert b.was_ok(b.answer(30))[-1] == "-1"
    assert b.seen_at - back < patience.scaled(1.0), f"resumed after {b.seen_at - back:.2f} s"
    a.ok("wait 3 0")
    assert resumed(a, b) >= 1
    u.exchange(a, 0, b, 1, 200000, tag=8)
    u.leave(a, b)


def test_an_address_changes(universe, net):
    """b has another address when it dials again: the old one is nobody's."""
    u = universe(**RESUME)
    a, b = linked(u, net)
    net.ip("b", "addr", "add", "10.99.7.12/24", "dev", "w")
    net.ip("b", "addr", "del", "10.99.7.2/24", "dev", "w")
    net.ip("b", "addr", "replace", "10.99.7.12/24", "dev", "w")  # secondary ones go with the first
    for k in range(3):
        b.ok(f"isend {4 + k} 0 0 400000 {7 + k} 3")
    for k in range(3):
        a.ok(f"irecv {4 + k} 0 1 400000 {7 + k}")
        assert a.ok(f"wait {4 + k} 3", timeout=30)[-1] == "-1"
    u.exchange(a, 0, b, 1, 100000, tag=11)
    assert resumed(a, b) >= 1
    a.ok("dump")
    assert "10.99.7.12" in a.err()
    u.leave(a, b)


@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_a_forgotten_idle_connection(universe, net, both):
    """What a firewall does that has forgotten an idle connection: the next bytes are answered by a
    reset, or both ends get one. Here the kernel is told to forget a socket."""
    u = universe(**RESUME)
    a, b = linked(u, net)
    time.sleep(0.3)
    sides = [("b", "10.99.7.1")] + ([("a", "10.99.7.2")] if both else [])
    for side, other in sides:
        words = [*net.inside(side), "ss", "-K", "dst", other]
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode != 0 or other not in done.stdout:
            pytest.skip(f"ss -K does not work here: {done.stderr.strip() or 'nothing was closed'}")
    u.exchange(a, 0, b, 1, 5000, tag=7)
    assert resumed(a, b) >= 1
    u.leave(a, b)


def test_a_killed_peer_is_dead_at_once(universe, net):
    """Its host answers that nobody listens any more: not the whole WAITIO_RESUME_TIMEOUT."""
    u = universe(**RESUME)
    a, b = linked(u, net)
    a.ok("irecv 3 0 1 100 7")
    a.begin("wait 3 0")
    died = b.kill()
    a.failed("PEER", "PB 1 rank 0", timeout=30)
    assert a.seen_at - died < patience.scaled(1.0), a.seen_at - died
    a.kill()


def test_a_host_that_dies_is_dead_in_time(universe, net):
    """Nothing answers any more: an error after WAITIO_RESUME_TIMEOUT, here 3 s."""
    u = universe(**{**RESUME, "WAITIO_RESUME_TIMEOUT": 3})
    a, b = linked(u, net)
    net.pull()
    a.ok("isend 3 0 1 3000000 7 5")
    pulled = time.monotonic()
    a.begin("wait 3 0")
    a.failed("PEER", "PB 1 rank 0", "WAITIO_RESUME_TIMEOUT", timeout=40)
    took = a.seen_at - pulled
    assert 2.5 < took < patience.scaled(6), f"noticed after {took:.1f} s"
    a.kill()
    b.kill()
