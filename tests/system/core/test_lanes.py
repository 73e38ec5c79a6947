# SPDX-License-Identifier: BSD-3-Clause
"""Links over several devices (WAITIO_NETDEV=w1,w2): two network namespaces with two veth pairs."""

import contextlib
import os
import re
import subprocess
import time

import pytest
from namespaces import ip, numbers

LONG = 8 << 20


class Pairs:
    """a and b with w1 (10.97.1.1, 10.97.1.2) and w2 (10.97.2.1, 10.97.2.2)."""

    def __init__(self):
        tag = f"wl{os.getpid() % 100000}x{next(numbers)}"
        self.name = {side: tag + side for side in "ab"}
        for n in self.name.values():
            ip("netns", "add", n)
            ip("-n", n, "link", "set", "lo", "up")
        for i in (1, 2):
            ends = f"{tag}{i}", f"{tag}{i}p"
            ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for k, (end, side) in enumerate(zip(ends, "ab", strict=True), 1):
                ip("link", "set", end, "netns", self.name[side], "name", f"w{i}")
                ip("-n", self.name[side], "addr", "add", f"10.97.{i}.{k}/24", "dev", f"w{i}")
                ip("-n", self.name[side], "link", "set", f"w{i}", "up")

    def inside(self, side):
        return ["ip", "netns", "exec", self.name[side]]

    def limit(self, mbit):
        """A token bucket on both devices of a."""
        for i in (1, 2):
            words = ["tc", "-n", self.name["a"], "qdisc", "add", "dev", f"w{i}", "root", "tbf",
                     "rate", f"{mbit}mbit", "burst", "256kb", "latency", "20ms"]  # fmt: skip
            done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
            if done.returncode != 0:
                pytest.skip(f"this kernel limits no rates: {done.stderr}")

    def sent(self, device):
        """Bytes that a has sent by it."""
        path = f"/sys/class/net/{device}/statistics/tx_bytes"
        out = subprocess.run(
            [*self.inside("a"), "cat", path], capture_output=True, text=True, timeout=10, check=True
        )
        return int(out.stdout)

    def close(self):
        for n in self.name.values():
            ip("netns", "del", n, check=False)


@pytest.fixture
def net(root_only):
    with contextlib.closing(Pairs()) as made:
        yield made


@pytest.fixture
def pair(universe, net):
    def make(env_a=None, env_b=None, **env):
        u = universe(
            WAITIO_MASTER_HOST="10.97.1.1", WAITIO_COMM_TYPE="socket", WAITIO_STATS=1,
            **{"WAITIO_NETDEV": "w1,w2", **env},
        )  # fmt: skip
        cast = [
            u.process(i, 0, 1, 2, "actor", before=net.inside(side), env=more)
            for i, (side, more) in enumerate(zip("ab", (env_a, env_b), strict=True))
        ]
        return u, *u.joined(cast)

    return make


def count(process, counter):
    """From the table that it has written at its end."""
    found = re.search(rf"^\s+{counter}\s+(\d+)", process.err(), re.MULTILINE)
    return int(found[1]) if found else 0


def test_both_devices_carry_long_messages(pair, net):
    """Short ones go by the first device, of long ones each carries its part."""
    net.limit(1600)
    u, a, b = pair(env_a={"WAITIO_LOG": "debug"})
    for size in (1, 1000, 70000, LONG, LONG + 1, 3):
        u.exchange(a, 0, b, 1, size)
    a.ok("dump")
    assert "several connections for long messages" in a.err()
    before = net.sent("w2")
    for _ in range(4):
        u.exchange(a, 0, b, 1, LONG)
    share = (net.sent("w2") - before) / (4 * LONG)
    assert 0.3 < share < 0.7
    u.leave(a, b)
    for p in (a, b):
        assert count(p, "stripe_msgs") == 6
        assert count(p, "lane_opens") == 1
        assert count(p, "lane_breaks") == 0


def fail_under_traffic(u, net, a, b):
    """The second device goes down while it carries a long message, and comes up again."""
    for _ in range(2):  # the first one opens the lane
        u.exchange(a, 0, b, 1, LONG)
    a.ok(f"irecv 1 0 1 {4 * LONG} 5")
    b.ok(f"irecv 1 0 0 {4 * LONG} 5")
    before, end = net.sent("w2"), time.monotonic() + 12
    for p, other in ((a, 1), (b, 0)):
        p.ok(f"isend 2 0 {other} {4 * LONG} 5 3")
        p.begin("wait 1 3")
    while net.sent("w2") - before < LONG / 10 and time.monotonic() < end:
        pass
    ip("-n", net.name["b"], "link", "set", "w2", "down")
    for p in (a, b):
        assert p.was_ok(p.answer())[-1] == "-1"
        p.ok("wait 2 0")
    u.exchange(a, 0, b, 1, LONG)
    ip("-n", net.name["b"], "link", "set", "w2", "up")


@pytest.mark.parametrize("who", ["ab", "a"])
def test_a_device_fails_and_returns(pair, net, who):
    """Nothing is lost, no peer fails; it is used again. One side alone may name the devices."""
    u, a, b = pair(env_b={} if "b" in who else {"WAITIO_NETDEV": None})
    net.limit(200)  # the long transfer takes most of a second
    end = time.monotonic() + 60
    while a.count("lane_breaks") == 0:  # on a busy machine all may be sent before
        assert time.monotonic() < end, "no lane has broken in a minute"
        fail_under_traffic(u, net, a, b)
    before, end = net.sent("w2"), time.monotonic() + 12
    while net.sent("w2") - before < LONG / 10 and time.monotonic() < end:
        u.exchange(a, 0, b, 1, 2 << 20)
    assert net.sent("w2") - before >= LONG / 10
    u.leave(a, b)
    assert count(a, "lane_breaks") >= 1 and count(a, "lane_opens") >= 2
    assert count(a, "stripe_again") + count(b, "stripe_again") > 0


def test_the_first_device_fails(pair, net):
    """With WAITIO_RESUME_TIMEOUT the link itself moves to the other device."""
    u, a, b = pair(WAITIO_RESUME_TIMEOUT=20)
    u.exchange(a, 0, b, 1, LONG)
    ip("-n", net.name["b"], "link", "set", "w1", "down")
    before = net.sent("w2")
    u.exchange(a, 0, b, 1, LONG)
    u.exchange(a, 0, b, 1, 100)
    assert net.sent("w2") - before > LONG / 2
    u.leave(a, b)
    assert count(a, "link_resumes") >= 1


@pytest.mark.parametrize(
    ("env", "lanes"),
    [
        ({"WAITIO_TLS": "1"}, 1),
        ({"WAITIO_LANES": "1"}, 0),
        ({"WAITIO_LANES": "5", "WAITIO_CRC": "1"}, 4),
        ({"WAITIO_MAX_CONNECTIONS": "1"}, 0),
        ({"WAITIO_NETDEV": "w1"}, 0),
        ({"WAITIO_WRAP": "check:fault=7"}, 1),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else None,
)
def test_settings(pair, env, lanes):
    """Encrypted, switched off, several on each device, no places, one device, torn system calls."""
    u, a, b = pair(**env)
    for size in (10, LONG, 1000, LONG - 5):
        u.exchange(a, 0, b, 1, size)
    u.leave(a, b)
    assert count(a, "lane_opens") == count(b, "lane_opens") == lanes
    assert (count(a, "stripe_bytes") > 0) == (lanes > 0)
