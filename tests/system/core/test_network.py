# SPDX-License-Identifier: BSD-3-Clause
"""Two network namespaces joined by a veth pair: separate hosts as far as the library can tell.
IPv4, IPv6, device choice, and a cable that is pulled."""

import os
import pathlib
import time

import patience
import pytest
from namespaces import Net, couple, joined


@pytest.fixture
def net(root_only):
    made = Net()
    yield made
    made.close()


@pytest.mark.parametrize("master", ["10.99.7.1", "fd99:7::1"])
def test_two_hosts(universe, net, master):
    """The address a process publishes first is that of its route to the rendezvous."""
    u = universe(WAITIO_MASTER_HOST=master)
    u.all_end(couple(u, net, "sizes", "order"), 60)
    u = universe(WAITIO_MASTER_HOST=master)
    u.all_end(couple(u, net, "traffic", 3, 3, 300, 1 << 20, sides="aab"), 60)


@pytest.mark.parametrize("netdev", ["w", "10.99.7.0/24", "fd99:7::/64"])
def test_device_choice(universe, net, netdev):
    """By name, by subnet. The link of the second process is where the choice says."""
    u = universe(WAITIO_MASTER_HOST="10.99.7.1", WAITIO_NETDEV=netdev)
    a, b = joined(u, couple(u, net, "actor"))
    a.ok("isend 1 0 1 1000 1 5")
    b.ok("irecv 1 0 0 1000 1")
    assert b.ok("wait 1 5")[-1] == "-1"
    a.ok("dump")
    assert ("fd99:7::2" if ":" in netdev else "10.99.7.2") in a.err()
    u.leave(a, b)


def test_no_route_to_another_host(universe, net):
    """One that publishes its loopback only cannot be reached from elsewhere: the error says how to
    correct that."""
    u = universe(WAITIO_MASTER_HOST="10.99.7.1")
    a, b = joined(u, couple(u, net, "actor", env={1: dict(WAITIO_NETDEV="lo")}))
    line = a.do("isend 1 0 1 100 1 5")
    if line.startswith("ok"):
        line = a.do("wait 1 0")
    assert line.split()[:2] == ["error", "-14"] and "WAITIO_NETDEV" in line, line
    u.leave(a, b)


def pull_while_pending(universe, net, pending, **env):
    """The cable is pulled while a waits for far. @return seconds until a was told; b and a go
    on."""
    u = universe(WAITIO_MASTER_HOST="10.99.7.1", **env)
    a, b, far = joined(u, couple(u, net, "actor", sides="aab"))
    for x, y, rx, ry in ((a, far, 0, 2), (b, far, 1, 2)):
        x.ok(f"isend 1 0 {ry} 10 1 3")
        y.ok(f"irecv 1 0 {rx} 10 1")
        y.ok("wait 1 3")
    full = pending == "full"
    if pending in ("transfer", "full"):  # in the middle of one: far stops reading after a while
        far.ok("irecv 1 0 0 400000000 1")
        far.ok("stopat rx_bytes 20000000")
        far.begin("wait 1 0")
        pending = "isend 1 0 2 400000000 1 0"
    a.ok(pending)
    a.begin("wait 1 0")
    pull = net.hand()
    if "400000000" in pending:
        far.stops()
        if full:
            time.sleep(1.0)  # the window is closed
        else:
            far.resume()
    else:
        time.sleep(0.5)
    pulled = time.monotonic()
    pull()
    a.failed("PEER", "PB 2 rank 0", timeout=70)
    took = a.seen_at - pulled
    a.ok("isend 2 0 1 100000 1 5")
    b.ok("irecv 2 0 0 100000 1")
    assert b.ok("wait 2 5")[-1] == "-1"
    far.kill()
    a.begin("finalize")
    b.begin("finalize")
    a.answer(30)
    b.answer(30)
    return took


PENDING = ["transfer", "full", "isend 1 0 2 30000000 1 5", "irecv 1 0 2 100 1"]
PENDING_IDS = ["transfer", "full", "asked", "receive"]


@pytest.mark.parametrize("pending", PENDING, ids=PENDING_IDS)
def test_unreachable(universe, net, pending):
    """No acknowledgement from the host for WAITIO_CONNECT_TIMEOUT (default 30 s, here 4 s) is an
    error; others go on. Guards: without the probe of the host (liveness.c) the wait for a transfer
    never ends, without keepalive (sockopt.c) the two others."""
    took = pull_while_pending(universe, net, pending, WAITIO_CONNECT_TIMEOUT=4)
    assert 2.5 < took < patience.scaled(12), f"noticed after {took:.1f} s"


def test_unreachable_by_default(universe, net):
    """The same with the default, for the hardest of them: the kernel sends its probes ever more
    rarely. test_silence_limit_in_use shows that all have the same limit."""
    took = pull_while_pending(universe, net, "full")
    assert 20 < took < patience.scaled(40), f"noticed after {took:.1f} s"


def keepalive_due(pid, port):
    """Seconds until the kernel asks the other host of the connections of this port."""
    with open(f"/proc/{pid}/net/tcp") as lines:
        rows = [line.split() for line in list(lines)[1:]]
    ends = [(r[1], r[2]) for r in rows]
    timers = [r[5] for r, e in zip(rows, ends) if f":{port:04X}" in e[0] + e[1] and r[3] == "01"]
    timers = [t for t in timers if t.startswith("02:")]  # others have something unacknowledged
    return [int(t[3:], 16) / os.sysconf("SC_CLK_TCK") for t in timers]


@pytest.mark.parametrize(("setting", "limit"), [(None, 30), (12, 12)])
def test_silence_limit_in_use(universe, setting, limit):
    """What the table says is what the connections have: the kernel first asks a silent host after a
    third of the limit. (The 30 s themselves are waited for in make check-all.)"""
    table = (pathlib.Path(__file__).resolve().parents[3] / "spec" / "config.toml").read_text()
    (row,) = [line for line in table.splitlines() if '"WAITIO_CONNECT_TIMEOUT"' in line]
    assert 'default = "30"' in row
    u = universe(WAITIO_CONNECT_TIMEOUT=setting, WAITIO_COMM_TYPE="socket")
    a, b = u.actors([1, 1])
    a.ok("isend 1 0 1 10 1 3")
    b.ok("irecv 1 0 0 10 1")
    b.ok("wait 1 3")
    (port,) = b.ports() - {u.port}
    end = time.monotonic() + 5
    while len(due := keepalive_due(a.pid, port)) < 2:  # both ends are ours
        assert time.monotonic() < end, "no keepalive timers"
        time.sleep(0.05)
    assert all(limit / 3 - 3 < s <= limit / 3 for s in due), due
    u.leave(a, b)


def test_short_interruption_is_survived(universe, net):
    """Three seconds without a cable, less than the limit: slow, not dead."""
    u = universe(WAITIO_MASTER_HOST="10.99.7.1", WAITIO_CONNECT_TIMEOUT=20)
    a, b = joined(u, couple(u, net, "actor"))
    a.ok("isend 1 0 1 10 1 3")
    b.ok("irecv 1 0 0 10 1")
    b.ok("wait 1 3")
    net.pull()
    a.ok("isend 1 0 1 3000000 1 5")
    a.begin("wait 1 0")
    b.ok("irecv 1 0 0 3000000 1")
    b.begin("wait 1 5")
    time.sleep(3)
    net.plug()
    assert b.was_ok(b.answer(30))[-1] == "-1"
    a.was_ok(a.answer(30))
    u.leave(a, b)


def test_stopped_for_longer_than_the_limit(universe, net):
    """Its host acknowledges, it does not read: alive, however long (TCP_INFO, not a user
    timeout)."""
    u = universe(WAITIO_MASTER_HOST="10.99.7.1", WAITIO_CONNECT_TIMEOUT=2)
    a, b = joined(u, couple(u, net, "actor"))
    b.ok("irecv 1 0 0 400000000 1")
    b.ok("stopat rx_bytes 20000000")
    b.begin("wait 1 5")
    a.ok("isend 1 0 1 400000000 1 5")
    a.begin("wait 1 0")
    b.stops()
    a.silent(7.0)
    b.resume()
    a.was_ok(a.answer(30))
    assert b.was_ok(b.answer(30))[-1] == "-1"
    u.leave(a, b)


@pytest.mark.parametrize("rings", [0, 64])
def test_two_hosts_with_two_processes_each(universe, net, rings):
    """Memory within each host, TCP between them, wildcards over both."""
    u = universe(
        WAITIO_MASTER_HOST="10.99.7.1",
        WAITIO_COMM_TYPE="auto",
        WAITIO_LOG="p2p:debug",
        WAITIO_SHM_RINGS=rings,
        WAITIO_SHM_PROMOTE=2,
    )
    cast = couple(u, net, "traffic", 9, 5, 500, 1 << 20, sides="abab")
    u.all_end(cast, 90)
    assert sum(int(p.lines[-1].split()[2]) for p in cast) == 5 * 500
    for p in cast:
        story = p.err()
        assert "same host, same user" in story, p.story()  # the one beside it
        assert "10.99.7." in story, p.story()  # those on the other host


HYBRID = dict(
    WAITIO_COMM_TYPE="hybrid",
    WAITIO_HYBRID_THRESHOULD=3000,
    WAITIO_MASTER_HOST="10.99.7.1",
    WAITIO_CONNECT_TIMEOUT=2,
)


@pytest.mark.parametrize("first", ["one that cannot connect", "one that can", "both"])
def test_a_connection_works_one_way_only(universe, net, first):
    """Separate namespaces; the second process publishes its loopback only. Guard: the two do not
    agree on which link carries the messages, and wait for ever."""
    u = universe(**HYBRID)
    a, b = joined(u, couple(u, net, "actor", env={1: dict(WAITIO_NETDEV="lo")}))
    one, other = ((a, 0), (b, 1)) if first == "one that cannot connect" else ((b, 1), (a, 0))
    if first != "both":
        one[0].ok(f"isend 5 0 {other[1]} 100 9 4")
        other[0].ok(f"irecv 5 0 {one[1]} 100 9")
        assert other[0].ok("wait 5 4", timeout=40)[-1] == "-1"
        one[0].ok("wait 5 0")
    for size in (8, 2999, 50000, 2 << 20):
        u.exchange(a, 0, b, 1, size)
    u.leave(a, b)


def test_no_connection_at_all(universe, net):
    """The cable is pulled after joining: all goes by file."""
    u = universe(**HYBRID)
    a, b = joined(u, couple(u, net, "actor"))
    for side in "ab":
        net.pull(side)
    for size in (8, 2999, 50000, 2 << 20):
        u.exchange(a, 0, b, 1, size)
    a.ok("dump")
    assert ": file, " in a.err()
    u.leave(a, b)
