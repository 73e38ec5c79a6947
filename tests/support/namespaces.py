# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces of tests: made with the ip command, by root."""

import itertools
import os
import subprocess

import pytest

numbers = itertools.count()


def ip(*words, check=True):
    """Call ip(8); skip the test where namespaces cannot be made."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=10, check=False)
    if check and done.returncode != 0:
        pytest.skip(f"cannot make network namespaces here: ip {' '.join(words)}: {done.stderr}")


class Net:
    """Namespaces a and b; inside each the device w to the other, and lo."""

    def __init__(self):
        tag = f"wt{os.getpid() % 100000}x{next(numbers)}"
        self.name = {"a": tag + "a", "b": tag + "b"}
        for n in self.name.values():
            ip("netns", "add", n)
        ip("link", "add", tag + "0", "type", "veth", "peer", "name", tag + "1")
        for side, dev, n in (("a", tag + "0", 1), ("b", tag + "1", 2)):
            ns = self.name[side]
            ip("link", "set", dev, "netns", ns, "name", "w")
            self.ip(side, "addr", "add", f"10.99.7.{n}/24", "dev", "w")
            self.ip(side, "addr", "add", f"fd99:7::{n}/64", "dev", "w", "nodad")
            self.ip(side, "link", "set", "lo", "up")
            self.ip(side, "link", "set", "w", "up")

    def ip(self, side, *words):
        ip("-n", self.name[side], *words)

    def inside(self, side):
        return ["ip", "netns", "exec", self.name[side]]

    def hand(self, side="b", word="down"):
        """A hand at the cable: call it to pull, or to plug in (word "up"). What it takes
        to start a command, which may be longer than a transfer, is behind it."""
        words = ["ip", "-n", self.name[side], "-batch", "-"]
        waiting = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)

        def pull():
            waiting.communicate(f"link set w {word}\n", timeout=10)
            assert waiting.returncode == 0

        return pull

    def pull(self, side="b"):
        self.hand(side)()

    def plug(self, side="b"):
        self.ip(side, "link", "set", "w", "up")
        n = 1 if side == "a" else 2  # addresses of IPv6 are lost with the link
        self.ip(side, "addr", "replace", f"fd99:7::{n}/64", "dev", "w", "nodad")

    def close(self):
        for n in self.name.values():
            ip("netns", "del", n, check=False)


def couple(u, net, program, *args, sides="ab", env=None):
    return [
        u.process(
            pb, 0, 1, len(sides), program, *args, before=net.inside(side), env=(env or {}).get(pb)
        )
        for pb, side in enumerate(sides)
    ]


def joined(u, cast):
    for a in cast:
        a.begin("init 30")
    for a in cast:
        a.was_ok(a.answer(40), "init")
        a.ok("group 0 0")
    return cast
