# SPDX-License-Identifier: BSD-3-Clause
"""What lies around the messages, between unlike machines: connections that are made anew, that are
encrypted, that go through a relay. Their numbers, too, have to be read the same on both sides."""

import importlib.util
import pathlib

import pytest

path = pathlib.Path(__file__).resolve().parents[1] / "faults" / "proxy.py"
spec = importlib.util.spec_from_file_location("waitio_test_interop_proxy", path)
faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(faults)

PAIRS = [("native", "s390x"), ("s390x", "native"), ("aarch64", "native")]
TCP = dict(WAITIO_COMM_TYPE="socket")


@pytest.mark.parametrize("names", [("s390x", "native"), ("native", "s390x")], ids="-".join)
def test_broken_connections_are_made_anew(mixed, names):
    """Guard: a link's number, or the number of the last message that came, in the machine's own
    order: the peer does not know the link, or sends again from somewhere else."""
    u = mixed([*names, "aarch64"], WAITIO_LOG="info", WAITIO_RESUME_TIMEOUT=60)
    policy = faults.CutAgain(3, 130000, reset=True)
    with faults.Spoiled(u, policy, "traffic", 11, 2, 150, 60000) as s:
        s.u.all_end(s.cast, 150)
        assert policy.cuts > 3
        assert any("resumed after" in p.story() for p in s.cast)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_encrypted(mixed, names):
    """Guard: the proof's key or the lengths of records in the machine's own order."""
    cast = mixed(names, WAITIO_TLS=1, **TCP).go([2, 1], "traffic", 11, 2, 150, 200000, timeout=150)
    assert sum(int(p.lines[-1].split()[2]) for p in cast) == 2 * 150


@pytest.mark.parametrize("where", ["s390x", "native"])
def test_through_a_relay(mixed, machine, where):
    """The members' own addresses lead nowhere; the relay runs on another machine than one of them.
    Guard: the relay's messages in the machine's own order."""
    u = mixed(["native", "s390x"], WAITIO_NETDEV="127.0.0.1", **TCP)
    relay = u.run([*machine(where).words("waitio-relay"), "--port", 0, "--print-port"], "relay")
    u.set(WAITIO_RELAY=f"127.0.0.1:{relay.answer(60)}", WAITIO_ADVERTISE="127.99.0.1")
    a, b = u.actors([1, 1], timeout=60)
    for size in (10, 70000, 1 << 20):
        u.exchange(a, 0, b, 1, size)
    b.ok("dump")
    assert "through relay 127.0.0.1" in b.err(), b.story()
    u.leave(a, b)
    relay.child.terminate()
    relay.ended(0, 30)
