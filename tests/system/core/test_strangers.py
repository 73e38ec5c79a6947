# SPDX-License-Identifier: BSD-3-Clause
"""Crowds at a listening port, held by other processes: members still join and exchange, and the
victim's memory and descriptors stay bounded. Guard: without the limit of the number of strangers
(rendezvous: 1024, messages: 64) each costs about 2 KiB and a descriptor."""

import socket
import time

import patience

CROWD = 5000  # each of two: the limit of descriptors may be 20,000
MEMORY_KIB = 8 << 10
DESCRIPTORS = 1200


def wait_for(port):
    end = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < end, f"nobody listens on port {port}"
            time.sleep(0.02)


def all_exchange(cast):
    """Everybody with everybody, after the groups are made. The last one begins: whoever sends
    first dials, and the crowd comes to the first one."""
    for a in cast:
        a.ok("group 0 0")
    n = 0
    for i, a in reversed(list(enumerate(cast))):
        for j, b in enumerate(cast):
            if i != j:
                n += 1
                a.ok(f"isend 1 0 {j} 100000 {n} 5")
                b.ok(f"irecv 1 0 {i} 100000 {n}")
                assert b.ok("wait 1 5", timeout=60)[-1] == "-1"
                a.ok("wait 1 5", timeout=60)


def bounded(a, before, crowds):
    held = [c.held() for c in crowds]
    assert min(held) == CROWD, f"the crowd itself failed: {held}"
    grown = a.memory_kib() - before
    assert grown < MEMORY_KIB, f"{sum(held)} strangers cost {grown} KiB"
    assert a.descriptors() < DESCRIPTORS, f"{a.descriptors()} descriptors are open"


def test_at_the_rendezvous(universe, crowd):
    u = universe(WAITIO_INIT_TIMEOUT=90, WAITIO_COMM_TYPE="socket")
    a = u.process(0, 0, 1, 3, "actor")
    a.begin("init 90")
    wait_for(u.port)
    before = a.memory_kib()
    crowds = [crowd(u.port, CROWD) for _ in range(2)]
    b = u.process(1, 0, 1, 3, "actor")
    b.begin("init 90")  # comes in the thick of it
    bounded(a, before, crowds)
    c = u.process(2, 0, 1, 3, "actor")
    c.begin("init 90")  # comes when all are there
    cast = [a, b, c]
    for x in cast:
        x.was_ok(x.answer(60), "init")
    assert a.memory_kib() - before < MEMORY_KIB
    all_exchange(cast)
    u.leave(*cast)


def test_at_a_member(universe, crowd):
    """They come before the universe has formed, wait in the backlog, and more come after."""
    u = universe(WAITIO_INIT_TIMEOUT=90, WAITIO_COMM_TYPE="socket")
    a, b = u.process(0, 0, 1, 3, "actor"), u.process(1, 0, 1, 3, "actor")
    a.begin("init 90")
    wait_for(u.port)
    b.begin("init 90")
    while not (ports := a.ports() - {u.port}):
        time.sleep(0.02)
    before = a.memory_kib()
    (port,) = ports
    crowds = [crowd(port, CROWD) for _ in range(2)]
    c = u.process(2, 0, 1, 3, "actor")
    c.begin("init 90")
    cast = [a, b, c]
    for x in cast:
        x.was_ok(x.answer(60), "init")
    all_exchange(cast)
    bounded(a, before, crowds)
    limit = patience.Limit(20)  # the last of them may still be in the backlog
    while (met := a.count("strangers")) < CROWD and limit.left() > 0:
        time.sleep(0.05)
    assert met >= CROWD
    u.leave(*cast)


def test_who_is_turned_away_is_told(universe):
    """A member that was too slow in a crowd must not take the listener for dead."""
    u = universe(WAITIO_COMM_TYPE="socket")
    a, b = u.actors([1, 1])
    (port,) = a.ports() - {u.port}
    silent = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(70)]
    heard = 0
    end = time.monotonic() + 9  # before their ten seconds are over
    while heard == 0 and time.monotonic() < end:
        for s in silent:
            s.settimeout(0.01)
            try:
                said = s.recv(500)
            except (TimeoutError, OSError):
                continue
            heard += b"come again" in said
    assert heard > 0, "nobody was told"
    for s in silent:
        s.close()
    all_exchange([a, b])
    u.leave(a, b)


def test_slow_lorises(universe, crowd):
    """More of them than there are places, at both ports: members come in between. Where nobody
    needs their places they are gone all the same after 10 s. Guards: the choice who goes first
    (make_room, make_slot), the deadlines (housekeeping in server.c,
    expire_strangers)."""
    joined = universe(WAITIO_COMM_TYPE="socket")
    x, y = joined.actors([1, 1])
    (port,) = x.ports() - {joined.port}
    few_at_member = crowd(port, 5, "drip")
    u = universe(WAITIO_INIT_TIMEOUT=90, WAITIO_COMM_TYPE="socket")
    a = u.process(0, 0, 1, 2, "actor")
    a.begin("init 90")
    wait_for(u.port)
    few_at_rendezvous = crowd(u.port, 5, "drip")
    for few in (few_at_member, few_at_rendezvous):
        assert few.held() == 5
        assert 5 < few.lived() < patience.scaled(16)
    assert crowd(u.port, 1200, "drip").held() == 1200
    assert crowd(port, 200, "drip").held() == 200
    b = u.process(1, 0, 1, 2, "actor")
    b.begin("init 90")
    began = time.monotonic()
    all_exchange([x, y])
    for p in (a, b):
        p.was_ok(p.answer(30), "init")
    all_exchange([a, b])
    assert time.monotonic() - began < patience.scaled(5), (
        "members waited until the lorises were gone"
    )
    u.leave(a, b)
    joined.leave(x, y)
