#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the network who wants into a run, or to disturb it, while it works.

    tests/faults/attacker.py [--seconds 20] [--seed 1] [--build build/release]

Four processes join and exchange messages (tests/system/progs/traffic.c). Meanwhile the rendezvous
and the ports of all members are attacked by somebody who has read what they said to each other, but
does not know the secret: joins, replays, impersonates a member (of a link that is to be made anew,
too), reflects, exhausts (silent and dripping connections), confuses (garbage, frames, lengths,
changed handshakes). Nobody may be let in, every message must arrive, and the processes may not
grow. Exit status 1 otherwise.
"""

import argparse
import collections
import os
import random
import socket
import struct
import sys
import threading
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import intruder  # noqa: E402
import soak  # noqa: E402
from storm import Mix  # noqa: E402

CALM = Mix(bytes=0, seconds=0, stalls=0, outages=0)
GROWN_KIB = 16 << 10
SILENT = 40  # connections at once
HANDS = 3  # of the attacker, for each port
MENDS = 1 << 31  # in `extra`: a link is to be made anew
BOOT_WORDS = dict(purpose=intruder.BOOT, run=intruder.BOOT_RUN)


def answers(s, limit=3):
    """Types of the other side's messages until it is silent or closes."""
    s.settimeout(0.5)
    kinds = []
    try:
        while len(kinds) < limit:
            kind, _ = intruder.message(s)
            if kind is None:
                break
            kinds.append(kind)
    except OSError:
        pass
    return kinds


class Attack:
    """All attacks on one port, one after the other, by chance."""

    def __init__(self, name, port, seed, said=None):
        """@param said  how honest dialers of this port have begun; None: it is the rendezvous"""
        self.name, self.port, self.said = name, port, said
        self.chance = random.Random(f"{seed}/{name}")
        self.done = collections.Counter()
        self.let_in = []
        self.closing = False
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(HANDS)]

    def start(self):
        for t in self.threads:
            t.start()

    def whole(self):
        """Honest dialers' words, as far as they are complete."""
        return [bytes(x) for x in self.said or [] if len(x) == 96]

    def words(self):
        if self.said is None:
            return BOOT_WORDS
        return dict(purpose=intruder.LINK, run=self.chance.choice(self.whole())[16:32])

    def hello(self, extra=0, rank=None):
        w = self.words()
        rank = self.chance.randrange(4) if rank is None else rank
        text = intruder.greeting(w["purpose"], w["run"], rank, extra)
        return intruder.prefix(intruder.HELLO, 56) + text

    def call(self, *messages):
        """What the other side ends while it is said counts, too."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        try:
            for m in messages:
                s.sendall(m)
        except OSError:
            pass
        return s

    # ---- the attacks; each returns what the other side said ----

    def joins(self):
        with self.call(self.hello(), intruder.proof()) as s:
            return answers(s)

    def mends(self):
        """Takes the place of a member whose connection is to be made anew."""
        with self.call(self.hello(MENDS | self.chance.randrange(1, 200)), intruder.proof()) as s:
            return answers(s)

    def replays(self):
        if not self.said:
            return self.joins()
        with self.call(self.chance.choice(self.whole())) as s:
            return answers(s)

    def reflects(self):
        """Gives the acceptor's own proof back."""
        with self.call(self.hello()) as s:
            kind, data = intruder.message(s)
            if kind == intruder.CHALLENGE:
                s.sendall(intruder.prefix(intruder.PROOF, 40) + data[56:88])
            return [kind, *answers(s)]

    def changes(self):
        """An honest handshake with a changed byte, or cut short."""
        said = bytearray(self.chance.choice(self.whole()) if self.said else self.hello())
        said[self.chance.randrange(len(said))] ^= 1 << self.chance.randrange(8)
        with self.call(bytes(said[: self.chance.randrange(1, len(said) + 1)])) as s:
            if self.chance.random() < 0.5:
                s.shutdown(socket.SHUT_WR)
            return answers(s)

    def confuses(self):
        frame = struct.pack("<HBBBBHIIII", 0x4957, 4, 1, 0, 0, 0, 1 << 24, 1, 0, 0) + bytes(40)
        data = self.chance.choice(
            [
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(64),
                frame * 10,
                self.hello() + frame * 5,
                intruder.prefix(intruder.READY, 8),
                intruder.prefix(intruder.HELLO, 65535) + os.urandom(2000),
                intruder.hello(**self.words(), version=99),
                b"WIOH" + os.urandom(500),
                os.urandom(self.chance.randrange(1, 3000)),
            ]
        )
        with self.call(data) as s:
            return answers(s)

    def exhausts(self):
        """Connections that say nothing, or a byte now and then, many at once."""
        held = []
        try:
            for _ in range(SILENT):
                held.append(self.call())
            for i, s in enumerate(held):
                if i % 3 == 0:
                    s.send(self.hello()[: self.chance.randrange(1, 56)])
            time.sleep(self.chance.random())
        finally:
            for s in held:
                s.close()
        return []

    def _run(self):
        ways = [
            self.joins, self.mends, self.replays, self.reflects, self.changes, self.confuses,
            self.exhausts,
        ]  # fmt: skip
        while not self.closing:
            if self.said is not None and not self.whole():
                time.sleep(0.05)
                continue
            way = self.chance.choice(ways)
            try:
                kinds = way()
            except OSError:  # nobody listens: it has not begun, or has ended
                time.sleep(0.02)
                continue
            self.done[way.__name__] += 1
            if intruder.READY in kinds:
                self.let_in.append(way.__name__)


def memory_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Siege(soak.Soak):
    """A run under attack."""

    attacks = ()

    def listen(self, one, here):
        """The first one waits for the others: a second for the attacker alone."""
        if not self.attacks:
            self.attacks = [Attack("rendezvous", self.port, self.seed)]
            self.attacks[0].start()
            time.sleep(1.0)
        super().listen(one, here)

    def watch(self, show):
        for storm in self.storms:
            self.attacks.append(Attack(storm.name, storm.there[1], self.seed, storm.said))
        before = {m.name: memory_kib(m.child.pid) for m in self.members}
        for a in self.attacks[1:]:
            a.start()
        most, end = 0, time.monotonic() + self.seconds * 0.8
        while time.monotonic() < end and all(m.child.poll() is None for m in self.members):
            grown = [memory_kib(m.child.pid) - before[m.name] for m in self.members]
            most = max([most, *grown])
            time.sleep(0.2)
        for a in self.attacks:
            a.closing = True
        wrong = super().watch(show)
        let_in = [f"{a.name}: {way}" for a in self.attacks for way in a.let_in]
        self.most = most
        if let_in:
            return f"let in: {let_in}"
        # Random traffic needs memory by itself; what strangers may take is small beside it.
        if most > GROWN_KIB + 4 * self.largest // 1024:
            return f"a process grew by {most} KiB"
        return wrong

    def report(self, wrong, took):
        done = sum((a.done for a in self.attacks), collections.Counter())
        text = ", ".join(f"{n} {way}" for way, n in sorted(done.items()))
        head = f"attacker: {sum(done.values())} attacks ({text}), nobody was let in"
        return "\n".join([head, super().report(wrong, took)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=str(soak.ROOT / "build" / "release"))
    args = parser.parse_args()
    wrong, text = Siege(args.build, args.seed, args.seconds, CALM, 100000).run()
    print(text)
    return 1 if wrong is not None else 0


if __name__ == "__main__":
    sys.exit(main())
