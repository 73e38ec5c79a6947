# SPDX-License-Identifier: BSD-3-Clause
"""Relays: three network namespaces, of which only the one in the middle sees both others. What is
started in a and b can meet and talk through waitio-relay in r only."""

import os
import pathlib
import re
import subprocess
import sys
import time

import patience
import pytest
from namespaces import ip, numbers

FORWARDER = pathlib.Path(__file__).resolve().parents[2] / "support" / "one_way.py"


class Between:
    """a (10.98.1.1) - r (10.98.1.254, 10.98.2.254) - b (10.98.2.1); r forwards no packets."""

    HOST = {"a": "10.98.1.1", "b": "10.98.2.1"}

    def __init__(self):
        tag = f"wr{os.getpid() % 100000}x{next(numbers)}"
        self.name = {side: tag + side for side in "arb"}
        for n in self.name.values():
            ip("netns", "add", n)
            ip("-n", n, "link", "set", "lo", "up")
        for i, side in ((1, "a"), (2, "b")):
            ip("link", "add", f"{tag}{i}", "type", "veth", "peer", "name", f"{tag}{i}r")
            self.device(side, f"{tag}{i}", "w", f"10.98.{i}.1/24")
            self.device("r", f"{tag}{i}r", f"w{i}", f"10.98.{i}.254/24")
        forward = ["sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward"]
        subprocess.run([*self.inside("r"), *forward], check=False, timeout=10)

    def device(self, side, made, name, address):
        ns = self.name[side]
        ip("link", "set", made, "netns", ns, "name", name)
        ip("-n", ns, "addr", "add", address, "dev", name)
        ip("-n", ns, "link", "set", name, "up")

    def inside(self, side):
        return ["ip", "netns", "exec", self.name[side]]

    def close(self):
        for n in self.name.values():
            ip("netns", "del", n, check=False)


@pytest.fixture
def net(root_only):
    made = Between()
    yield made
    made.close()


@pytest.fixture
def relay_program(build_dir):
    path = build_dir / "bin" / "waitio-relay"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


class Run:
    """A universe with a process on each side, and relays between."""

    def __init__(self, universe, net, program, relays=1, names=None, **env):
        self.net, self.program = net, program
        ports = range(7201, 7201 + relays)
        env.setdefault("WAITIO_COMM_TYPE", "socket")
        self.u = universe(WAITIO_MASTER_HOST="10.98.1.1", **env)
        where = names or {s: f"10.98.{i}.254" for i, s in ((1, "a"), (2, "b"))}
        self.names = {s: ",".join(f"{h}:{p}" for p in ports) for s, h in where.items()}
        self.relays = [self.relay(p) for p in ports]

    def relay(self, port, *args, env=None):
        words = [*self.net.inside("r"), self.program, "--port", port, "--print-port", *args]
        p = self.u.run(words, "relay", {"WAITIO_LOG": "debug", **(env or {})})
        assert p.answer() == str(port)
        return p

    def actor(self, pb, npb, side, env=None):
        return self.u.process(
            pb, 0, 1, npb, "actor",
            before=self.net.inside(side),
            env={"WAITIO_RELAY": self.names[side], **(env or {})},
        )  # fmt: skip

    def pair(self, sides="ab", env=None):
        return self.u.joined([self.actor(i, len(sides), s, env) for i, s in enumerate(sides)])

    def end(self):
        for r in self.relays:
            if r.child.poll() is None:
                r.child.terminate()
                r.ended(0, 10)


@pytest.fixture
def run(universe, net, relay_program):
    return lambda *args, **env: Run(universe, net, relay_program, *args, **env)


TLS = pytest.mark.parametrize("tls", [0, 1], ids=["plain", "tls"])


@TLS
def test_two_networks_meet_and_talk(run, tls):
    """Nothing but the relay is seen by both: joining, messages both ways of all sizes, leaving.
    Encryption is between the processes: the relay needs none."""
    r = run(WAITIO_TLS=tls)
    a, b = r.pair()
    for size in (1, 8, 1000, 70000, 3 << 20):
        r.u.exchange(a, 0, b, 1, size)
    b.ok("dump")
    assert "through relay 10.98.2.254:7201" in b.err()
    r.u.leave(a, b)
    r.end()
    assert "links" in r.relays[0].err()


def test_who_sees_only_the_relay_serves(run):
    """The rendezvous is on the side that joins from behind, too: b serves, a calls."""
    r = run()
    r.u.set(WAITIO_MASTER_HOST="10.98.2.1")
    b = r.actor(0, 2, "b")
    a = r.actor(1, 2, "a")
    r.u.joined([b, a])
    r.u.exchange(b, 0, a, 1, 100000)
    r.u.leave(a, b)


def test_many_with_two_relays(run):
    """Pairs share the relays: each carries some."""
    r = run(relays=2)
    cast = r.pair("aabb")
    for i in (0, 1):
        for k in (2, 3):
            r.u.exchange(cast[i], i, cast[k], k, 50000)
    r.u.leave(*cast)
    r.end()
    for relay in r.relays:
        links = int(re.search(r"relay ends: \d+ calls, (\d+) links", relay.err())[1])
        assert links >= 1, relay.story()


def test_info_prints_the_route(run, build_dir):
    """waitio-info --peers joins as the program would and says through which relay."""
    r = run()
    info = build_dir / "bin" / "waitio-info"
    if not info.exists():
        pytest.skip(f"{info} is not built")
    cast = []
    for pb, side in enumerate("ab"):
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=2, WAITIO_RANK=0, WAITIO_NPROCS=1)
        env = {**place, "WAITIO_RELAY": r.names[side]}
        words = [*r.net.inside(side), info, "--peers", "30"]
        cast.append(r.u.run(words, "info", env))
    r.u.all_end(cast, 40)
    for p, side in zip(cast, "ab"):
        assert any(f"through relay {r.names[side]}" in line for line in p.lines), p.story()
    words = [*r.net.inside("a"), info]
    p = r.u.run(words, "info", {"WAITIO_RELAY": f"{r.names['a']},10.98.1.254:1"})
    p.ended()
    text = "\n".join(p.lines)
    assert "10.98.1.254:7201" in text and "of 1024 links in use" in text, text
    assert "Connection refused" in text, text


def test_wrong_secret(run, tmp_path):
    """A relay with another secret: both sides say so, at once and by name."""
    r = run()
    other = tmp_path / "other"
    other.write_text("0123456789abcdef0123456789abcdef\n")
    other.chmod(0o600)
    bad = r.relay(7301, env=dict(WAITIO_SECRET_FILE=other))
    r.names["b"] = "10.98.2.254:7301"
    a, b = r.actor(0, 2, "a"), r.actor(1, 2, "b")
    a.begin("init 30")
    b.fails("init 30", "AUTH", "relay 10.98.2.254:7301")
    bad.logs("refused")
    assert "secret" in bad.err(), bad.story()


@pytest.mark.parametrize("relays, resume", [(1, 0), (2, 20)])
def test_target_dies(run, relays, resume):
    """Its link tells, and so do the relays to who dials, now or later: within 2 s, by name."""
    r = run(relays=relays, WAITIO_RESUME_TIMEOUT=resume)
    a, b, c = r.pair("abb")
    r.relays[0].logs("universe rank 2 of")
    r.u.exchange(a, 0, b, 1, 1000)
    a.ok("irecv 1 0 1 1000 7")
    a.begin("wait 1 0")
    died = b.kill()
    a.failed("PEER", "PB 1 rank 0")
    assert a.seen_at - died < patience.scaled(2), a.seen_at - died
    died = c.kill()
    line = a.do("isend 2 0 2 100000 7 3")
    if line.startswith("ok"):
        line = a.do("wait 2 0")
    assert line.startswith("error") and "PB 2 rank 0" in line, line
    assert a.seen_at - died < patience.scaled(2.5), a.seen_at - died
    assert "left or died" in line, line


def test_relay_dies(run):
    """Killed with a link full of messages: the other relay takes it, and nothing is lost."""
    r = run(relays=2, WAITIO_RESUME_TIMEOUT=20)
    a, b = r.pair("ab")
    r.u.exchange(a, 0, b, 1, 1000)  # ranks 0 and 1: the second relay
    n, size = 24, 3 << 20
    for k in range(n):
        b.ok(f"isend {10 + k} 0 0 {size} {k} {k}")
        if k == n // 2:
            r.relays[1].kill()
    for k in range(n):
        a.ok(f"irecv {10 + k} 0 1 {size} {k}")
    for k in range(n):
        assert a.ok(f"wait {10 + k} {k}", timeout=30)[-1] == "-1"
    for k in range(n):
        b.ok(f"wait {10 + k} 0")
    a.ok("dump")
    assert "through relay 10.98.1.254:7201" in a.err()
    assert a.count("link_resumes") + b.count("link_resumes") >= 1
    r.u.leave(a, b)


def test_relay_dies_without_resuming(run):
    """Killed with a link: a named error, no hang; the next dial goes through the other relay."""
    r = run(relays=2)
    a, b, c = r.pair("abb")
    r.u.exchange(a, 0, b, 1, 1000)  # ranks 0 and 1: the second relay
    a.ok("irecv 1 0 1 1000 7")
    a.begin("wait 1 0")
    died = r.relays[1].kill()
    a.failed("PEER", "through relay 10.98.1.254:7202")
    assert a.seen_at - died < patience.scaled(2)
    r.relays[1].ended(None)
    # Ranks 0 and 2 begin with the first relay, and 1 and 2 need none; b and a by the other one:
    r.u.exchange(a, 0, c, 2, 200000)


def test_only_relay_dies(run):
    """Nobody takes the link: an error that names the relay, after WAITIO_RESUME_TIMEOUT."""
    r = run(WAITIO_RESUME_TIMEOUT=1)
    a, b = r.pair("ab")
    r.u.exchange(a, 0, b, 1, 1000)
    a.ok("irecv 1 0 1 1000 7")
    a.begin("wait 1 0")
    died = r.relays[0].kill()
    a.failed("PEER", "relay 10.98.1.254:7201", "Connection refused")
    assert a.seen_at - died < patience.scaled(3)


def test_dial_takes_the_next_relay(run):
    """The relay of this pair is not there (yet): the next one carries the link."""
    r = run(relays=2)
    a, b = r.pair("ab")
    r.relays[1].kill()
    r.u.exchange(a, 0, b, 1, 200000)
    a.ok("dump")
    assert "through relay 10.98.1.254:7201" in a.err()
    r.u.leave(a, b)


def test_no_relay_left(run):
    """All relays are dead when the first message is to go: an error that names them."""
    r = run(WAITIO_CONNECT_TIMEOUT=2)
    a, b = r.pair("ab")
    r.relays[0].kill()
    line = a.do("isend 1 0 1 100000 7 3")
    if line.startswith("ok"):
        line = a.do("wait 1 0", timeout=30)
    assert line.startswith("error") and "relay 10.98.1.254:7201" in line, line
    assert "Connection refused" in line, line


def test_relay_comes_late(run):
    """Processes may start before the relay."""
    r = run(relays=0)
    r.names = {"a": "10.98.1.254:7201", "b": "10.98.2.254:7201"}
    a, b = r.actor(0, 2, "a"), r.actor(1, 2, "b")
    for x in (a, b):
        x.begin("init 30")
    b.silent(1)
    r.relay(7201)
    for x in (a, b):
        x.was_ok(x.answer(30), "init")
        x.ok("group 0 0")
    r.u.exchange(a, 0, b, 1, 1000)
    r.u.leave(a, b)


def test_slow_reader(run):
    """A receiver that is stopped: the relay holds little, and all arrives when it goes on."""
    r = run(WAITIO_EAGER_MAX="1G", WAITIO_EAGER_MAX_FAR="1G")
    a, b = r.pair()
    r.u.exchange(a, 0, b, 1, 10)
    size = 64 << 20
    before = r.relays[0].memory_kib()
    b.stop()
    a.ok(f"isend 3 0 1 {size} 9 3")
    time.sleep(1)
    assert r.relays[0].memory_kib() - before < 4096
    b.resume()
    b.ok(f"irecv 3 0 0 {size} 9")
    assert b.ok("wait 3 3", timeout=60)[-1] == "-1"
    a.ok("wait 3 0")
    r.u.leave(a, b)


def test_stopped_target_is_no_dead_one(run):
    """Who does not answer the relay because it is stopped is waited for."""
    r = run(WAITIO_CONNECT_TIMEOUT=2)
    a, b = r.pair()
    b.stop()
    a.ok("isend 3 0 1 500000 9 3")
    a.begin("wait 3 0")
    a.silent(3.5)
    b.resume()
    b.ok("irecv 3 0 0 500000 9")
    assert b.ok("wait 3 3")[-1] == "-1"
    a.was_ok(a.answer())
    r.u.leave(a, b)


def test_relay_ends_in_order(run):
    """SIGTERM: it says what it did, and leaves nothing."""
    r = run()
    a, b = r.pair()
    r.u.exchange(a, 0, b, 1, 1000)
    r.end()
    assert re.search(r"relay ends: \d+ calls, \d+ links, \d+ bytes", r.relays[0].err())


class Tunnel:
    """What ssh -L or -R is: one port, connections in one direction. b sees localhost only."""

    def __init__(self, u, net, side, listen, to, *piece):
        # The socket of the listener is made in the one namespace, those to the relay in another.
        where = [net.name[side], *listen, net.name["r"], *to, *piece]
        words = [sys.executable, FORWARDER, *map(str, where)]
        self.p = u.run(words, "tunnel")
        assert self.p.answer() == "listening"


def test_through_a_tunnel(run, net):
    """b has no network at all but a port of its own host, forwarded one way to the relay."""
    r = run(names={"a": "10.98.1.254", "b": "127.0.0.1"})
    ip("-n", net.name["b"], "link", "set", "w", "down")
    Tunnel(r.u, net, "b", ("127.0.0.1", 7201), ("127.0.0.1", 7201))
    a, b = r.pair()
    for size in (1, 100000, 2 << 20):
        r.u.exchange(a, 0, b, 1, size)
    r.u.leave(a, b)


def test_relay_loses_its_way_to_a_stopped_peer(run, net):
    """What one relay says of a peer does not end a link that another one can carry."""
    r = run(relays=2, names={"a": "10.98.1.254", "b": "127.0.0.1"}, WAITIO_RESUME_TIMEOUT=20)
    ip("-n", net.name["b"], "link", "set", "w", "down")
    ways = [Tunnel(r.u, net, "b", ("127.0.0.1", p), ("127.0.0.1", p)) for p in (7201, 7202)]
    a, b = r.pair()
    r.u.exchange(a, 0, b, 1, 1000)  # ranks 0 and 1: the second relay
    a.ok("irecv 1 0 1 1000 7")
    a.begin("wait 1 0")
    b.stop()  # else it dials by the other relay at once
    ways[1].p.kill()
    r.relays[1].logs("has gone")
    a.silent(1)
    b.resume()
    b.ok("isend 2 0 0 1000 7 7")
    a.was_ok(a.answer())
    a.ok("dump")
    assert "through relay 10.98.1.254:7201" in a.err()
    r.u.leave(a, b)


def test_byte_by_byte(run, net):
    """All that b says and hears comes byte by byte: requests, answers, handshakes, data."""
    r = run(names={"a": "10.98.1.254", "b": "127.0.0.1"})
    ip("-n", net.name["b"], "link", "set", "w", "down")
    Tunnel(r.u, net, "b", ("127.0.0.1", 7201), ("127.0.0.1", 7201), 1)
    a, b = r.pair()
    r.u.exchange(a, 0, b, 1, 5000)
    r.u.leave(a, b)


def test_addresses_that_swallow_packets(run, net):
    """With a route that leads nowhere the relay is asked after half a second, and first for the
    next peer of that network."""
    r = run()
    for side, i, k in (("a", 2, 1), ("b", 1, 2)):
        route = ("route", "add", f"10.98.{i}.0/24", "via", f"10.98.{k}.254")
        ip("-n", net.name[side], *route)
    a, b, c = r.pair("abb")
    began = time.monotonic()
    r.u.exchange(a, 0, b, 1, 1000)
    first = time.monotonic() - began
    began = time.monotonic()
    r.u.exchange(a, 0, c, 2, 1000)
    second = time.monotonic() - began
    assert 0.4 < first < patience.scaled(3), first
    assert second < first and second < patience.scaled(0.4), (first, second)
    r.u.leave(a, b, c)


def test_full_relay(run):
    """A relay with all links in use refuses by name; the next one takes the pair."""
    r = run(relays=0)
    r.names = {s: f"10.98.{i}.254:7201,10.98.{i}.254:7202" for i, s in ((1, "a"), (2, "b"))}
    r.relays = [r.relay(7201, "--links", 2), r.relay(7202)]
    cast = r.pair("aabb")
    for i in (0, 1):
        for k in (2, 3):
            r.u.exchange(cast[i], i, cast[k], k, 5000)
    r.u.leave(*cast)
    r.end()
    counts = [int(re.search(r"calls, (\d+) links", x.err())[1]) for x in r.relays]
    assert sum(counts) >= 5 and counts[1] >= 2, counts


def test_relay_starts_again(run):
    """Processes register anew at a relay that comes back; new links go through it."""
    r = run()
    a, b = r.pair("ab")
    r.relays[0].kill()
    again = r.relay(7201)
    again.logs("is registered")
    r.u.exchange(a, 0, b, 1, 100000)
    r.u.leave(a, b)


def test_host_loses_its_cable(run, net):
    """Its peer hears of it within WAITIO_CONNECT_TIMEOUT and a bit, though the relay lives."""
    r = run(WAITIO_CONNECT_TIMEOUT=3)
    a, b = r.pair("ab")
    r.u.exchange(a, 0, b, 1, 1000)
    began = time.monotonic()
    ip("-n", net.name["b"], "link", "set", "w", "down")
    a.ok("isend 1 0 1 50000000 7 3")
    a.begin("wait 1 0")
    a.failed("PEER", "PB 1 rank 0", timeout=30)
    assert a.seen_at - began < patience.scaled(12), a.seen_at - began


def test_call_to_a_host_without_its_cable(run, net):
    """Dialled when its host is silent already: the relay notices that nobody acknowledges."""
    r = run(WAITIO_CONNECT_TIMEOUT=3)
    a, b = r.pair("ab")
    r.relays[0].logs("universe rank 1 of")
    began = time.monotonic()
    ip("-n", net.name["b"], "link", "set", "w", "down")
    a.ok("isend 1 0 1 50000000 7 3")
    a.begin("wait 1 0")
    a.failed("PEER", "PB 1 rank 0", "left or died", timeout=30)
    assert a.seen_at - began < patience.scaled(12), a.seen_at - began


def test_strangers(run, net):
    """Silent ones, and ones that send something else, keep nobody from a link."""
    r = run()
    words = [
        *net.inside("a"), sys.executable, "-c",
        "import socket,time\n"
        "s=[socket.create_connection(('10.98.1.254',7201)) for _ in range(400)]\n"
        "g=socket.create_connection(('10.98.1.254',7201))\n"
        "g.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
        "g.settimeout(10)\ntry: said=g.recv(100)\nexcept ConnectionResetError: said=b''\n"
        "print('end' if said==b'' else 'answer', flush=True)\n"
        "time.sleep(60)\n",
    ]  # fmt: skip
    p = r.u.run(words, "strangers")
    assert p.answer() == "end"
    a, b = r.pair()
    r.u.exchange(a, 0, b, 1, 100000)
    r.u.leave(a, b)
    assert r.relays[0].descriptors() < 400
