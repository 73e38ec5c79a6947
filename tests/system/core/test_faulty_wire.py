# SPDX-License-Identifier: BSD-3-Clause
"""A proxy (tests/faults/proxy.py) between the processes: what TCP may do must not be noticed,
what breaks a connection must be told, and nothing may ever be delivered wrong."""

import importlib.util
import pathlib
import re

import pytest

path = pathlib.Path(__file__).resolve().parents[2] / "faults" / "proxy.py"
spec = importlib.util.spec_from_file_location("waitio_test_proxy", path)
faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(faults)


@pytest.mark.parametrize(
    "policy",
    [
        faults.Split(1),
        faults.Split(2, largest=7, often=0.0005),
        faults.Delay(0.002),
        faults.Together(0.01),
    ],
    ids=["pieces", "crumbs", "delay", "together"],
)
def test_pieces_at_any_byte(universe, policy):
    """Partial reads at any byte of handshake, header and payload. Guard: a reader that takes one
    recv for one frame fails at once."""
    largest = (
        3000 if isinstance(policy, faults.Split) and getattr(policy, "largest", 0) == 7 else 200000
    )
    with faults.Spoiled(universe(), policy, "traffic", 11, 2, 150, largest) as s:
        s.u.all_end(s.cast, 90)
        assert s.used() > 0


def test_stall(universe):
    """A stream that stops for 3 s in the middle of a message goes on."""
    with faults.Spoiled(universe(), faults.Stall(1000000, 3.0), "actor") as s:
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
    """Without WAITIO_RESUME_TIMEOUT: in the handshake, in a header, in the middle of a payload:
    both ends get an error soon, the third goes on."""
    u = universe(WAITIO_CONNECT_TIMEOUT=3)
    with faults.Spoiled(u, faults.Cut(after, reset), "actor") as s:
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


@pytest.mark.parametrize("after", [150, 70000])
def test_half_closed_connection_is_a_peer_error(universe, after):
    """One direction ends without a goodbye, the other one is still open: both are told."""
    with faults.Spoiled(
        universe(WAITIO_CONNECT_TIMEOUT=3), faults.HalfClose(after, False), "actor"
    ) as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 5000000 1 5")
        b.ok("irecv 1 0 0 5000000 1")
        a.begin("wait 1 0")
        b.begin("wait 1 5")
        b.failed("PEER", "PB 0 rank 0", timeout=30)
        a.failed("PEER", "PB 1 rank 0", timeout=30)
        for p in s.cast:
            p.kill()


def test_half_closed_connections_are_made_anew(universe):
    u = universe(WAITIO_LOG="info", WAITIO_RESUME_TIMEOUT=30)
    with faults.Spoiled(u, faults.HalfClose(60000, False), "traffic", 11, 2, 150, 20000) as s:
        u.all_end(s.cast, 90)
        assert any("resumed after" in p.story() for p in s.cast)


def test_frames_of_another_release_are_refused(universe):
    """The version in the first frame behind the handshake, HELLO and PROOF or CHALLENGE and READY,
    is another one: whoever reads it says both versions and the remedy, the other one who it was."""
    with faults.Spoiled(universe(WAITIO_CONNECT_TIMEOUT=3), faults.Corrupt(98), "actor") as s:
        a, b, c = s.cast
        a.ok("isend 1 0 1 100000 1 5")
        b.ok("irecv 1 0 0 100000 1")
        a.begin("wait 1 0")
        b.begin("wait 1 5")
        lines = [a.answer(20), b.answer(20)]
        assert all(line.startswith("error") for line in lines), lines
        told = "\n".join(lines) + a.err() + b.err()
        versions = re.search(r"frames of protocol version (\d+), this release speaks (\d+)", told)
        assert versions and int(versions[1]) == int(versions[2]) ^ 16, told  # the bit that changed
        assert "release" in told, told
        for p in s.cast:
            p.kill()


@pytest.mark.parametrize("seed", [1, 2])
def test_broken_connections_are_made_anew(universe, seed):
    """Connections that end after a random number of bytes, with or without a reset: every message
    of random traffic arrives once and unchanged, and nobody hears of the breaks."""
    u = universe(WAITIO_LOG="info", WAITIO_RESUME_TIMEOUT=30)
    policy = faults.CutAgain(seed, 400000, reset=seed % 2 == 1)
    with faults.Spoiled(u, policy, "traffic", 11, 4, 150, 200000) as s:
        u.all_end(s.cast, 90)
        print(policy.cuts, "cuts")
        assert policy.cuts > 3
        assert any("resumed after" in p.story() for p in s.cast)


@pytest.mark.parametrize("after", [150, 400, 70000])
def test_connections_that_always_break_are_a_peer_error(universe, after):
    """Each new connection breaks before a message is through: WAITIO_RESUME_TIMEOUT ends that."""
    u = universe(WAITIO_CONNECT_TIMEOUT=3, WAITIO_RESUME_TIMEOUT=2)
    with faults.Spoiled(u, faults.Cut(after, True), "actor") as s:
        a, b, _ = s.cast
        a.ok("isend 1 0 1 5000000 1 5")
        b.ok("irecv 1 0 0 5000000 1")
        a.begin("wait 1 0")
        a.failed("PEER", "PB 1 rank 0", timeout=30)
        for p in s.cast:
            p.kill()


@pytest.mark.parametrize("at", [1000, 300000, 1500000])
def test_changed_payload_is_noticed_with_crc(universe, at):
    """WAITIO_CRC=1: a turned bit ends the link, no wrong byte is delivered. Guard: without the
    check the receiver's comparison of contents fails (last word of its answer)."""
    with faults.Spoiled(universe(WAITIO_CRC=1), faults.Corrupt(at), "actor") as s:
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
    with faults.Spoiled(universe(WAITIO_CONNECT_TIMEOUT=3), faults.Corrupt(at), "actor") as s:
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
