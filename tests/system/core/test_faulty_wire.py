# SPDX-License-Identifier: BSD-3-Clause
"""A proxy (tests/faults/proxy.py) between the processes: what TCP may do must not be noticed,
what breaks a connection must be told, and nothing may ever be delivered wrong."""

import importlib.util
import pathlib
import time

import pytest

path = pathlib.Path(__file__).resolve().parents[2] / "faults" / "proxy.py"
spec = importlib.util.spec_from_file_location("waitio_test_proxy", path)
faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(faults)


class Spoiled:
    """Three processes; PB 0 and 1 publish addresses at which proxies listen."""

    def __init__(self, u, policy, program, *args):
        self.u, self.proxies, self.cast = u, [], []
        u.set(WAITIO_COMM_TYPE="socket")
        for pb in (1, 0):
            here = f"127.0.0.{77 + pb}"
            p = u.process(
                pb,
                0,
                1,
                3,
                program,
                *args,
                env=dict(WAITIO_NETDEV="127.0.0.1", WAITIO_ADVERTISE=here),
            )
            if program == "actor":
                p.begin("init 30")
            for port in self.ports(p):
                self.proxies.append(faults.Proxy((here, port), ("127.0.0.1", port), policy))
            self.cast.insert(0, p)
        self.cast.append(u.process(2, 0, 1, 3, program, *args))
        if program == "actor":
            self.cast[2].begin("init 30")
            for p in self.cast:
                p.was_ok(p.answer(40), "init")
            for p in self.cast:
                p.ok("group 0 0")

    def ports(self, p):
        deadline = time.monotonic() + 10
        while True:
            found = p.ports() - {self.u.port}
            if found:
                return found
            assert time.monotonic() < deadline, p.story()
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        for p in self.proxies:
            p.close()

    def used(self):
        return sum(p.connections for p in self.proxies)


@pytest.mark.parametrize(
    "policy",
    [faults.Split(1), faults.Split(2, largest=7, often=0.0005), faults.Delay(0.002)],
    ids=["pieces", "crumbs", "delay"],
)
def test_pieces_at_any_byte(universe, policy):
    """Partial reads at any byte of handshake, header and payload. Guard: a reader that takes one
    recv for one frame fails at once."""
    largest = (
        3000 if isinstance(policy, faults.Split) and getattr(policy, "largest", 0) == 7 else 200000
    )
    with Spoiled(universe(), policy, "traffic", 11, 2, 150, largest) as s:
        s.u.all_end(s.cast, 90)
        assert s.used() > 0


def test_stall(universe):
    """A stream that stops for 3 s in the middle of a message goes on."""
    with Spoiled(universe(), faults.Stall(1000000, 3.0), "actor") as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 5000000 1 5")
        a.begin("wait 1 0")
        b.ok("irecv 1 0 0 5000000 1")
        assert b.ok("wait 1 5", timeout=30)[-1] == "-1"
        a.was_ok(a.answer(30))
        assert s.used() > 0
        s.u.leave(*s.cast)


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "truncate"])
@pytest.mark.parametrize("after", [20, 150, 400, 70000, 2000000])
def test_broken_connection_is_a_peer_error(universe, after, reset):
    """In the handshake, in a header, in the middle of a payload: both ends get an error soon,
    the third goes on. (A later release resumes the connection; until then this is the promise.)"""
    u = universe(WAITIO_CONNECT_TIMEOUT=3)
    with Spoiled(u, faults.Cut(after, reset), "actor") as s:
        a, b, c = s.cast
        a.ok("isend 1 0 1 5000000 1 5")
        b.ok("irecv 1 0 0 5000000 1")
        a.begin("wait 1 0")
        b.begin("wait 1 5")
        a.failed("PEER", "PB 1 rank 0", timeout=30)
        if after >= 400:  # before that it never learnt that somebody came
            b.failed("PEER", "PB 0 rank 0", timeout=10)
            c.ok("irecv 3 0 2 10 1")
        for p in s.cast:
            p.kill()


@pytest.mark.parametrize("at", [1000, 300000, 1500000])
def test_changed_payload_is_noticed_with_crc(universe, at):
    """WAITIO_CRC=1: a turned bit ends the link, no wrong byte is delivered. Guard: without the
    check the receiver's comparison of contents fails (last word of its answer)."""
    with Spoiled(universe(WAITIO_CRC=1), faults.Corrupt(at), "actor") as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 3000000 1 5")
        b.ok("irecv 1 0 0 3000000 1")
        a.begin("wait 1 0")
        b.begin("wait 1 5")
        line = b.answer(20)
        assert line.startswith("error"), line
        assert int(line.split()[1]) in (-8, -21), line
        assert a.answer(20).startswith("error")
        for p in s.cast:
            p.kill()


@pytest.mark.parametrize("at", [2, 10, 60, 100])
def test_changed_handshake_is_refused(universe, at):
    """A turned bit in the handshake: refused, never accepted; the dialer ends with an error."""
    with Spoiled(universe(WAITIO_CONNECT_TIMEOUT=3), faults.Corrupt(at), "actor") as s:
        a, b, _ = s.cast
        line = a.do("isend 1 0 1 100000 1 5")
        if line.startswith("ok"):
            line = a.do("wait 1 0", timeout=30)
        assert line.startswith("error"), line
        b.ok("irecv 1 0 0 100 1")
        line = b.do("test 1 0")
        assert line == "ok pending" or line.startswith("error"), line
        for p in s.cast:
            p.kill()
