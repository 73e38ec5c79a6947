#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random traffic between processes of several jobs, whose connections break all the time.

    tests/faults/soak.py [--minutes 10] [--seed 1] [--build build/release] [--tls] [--crc]

Four processes in three blocks, started apart as separate jobs are, send each other messages of
all sizes, tags and kinds (tests/system/progs/traffic.c). Between any two of them stands a proxy
that splits, delays, holds, stalls and ends connections (storm.py). Resuming is on. Every message's
content and the order of MPI are checked; a message that is lost, doubled, reordered or altered
ends the run. Prints what was done and the verdict. Exit status 1 on the first loss, with the seed
and the round.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "faults")]

import patience  # noqa: E402
from storm import Mix, Storm  # noqa: E402
from surroundings import clean, member, rendezvous  # noqa: E402

SHAPE = [2, 1, 1]
MESSAGES = 400  # a round
SILENT_S = 90.0  # so long without a word of progress: it hangs


class Member:
    """One process and what it prints."""

    def __init__(self, name, words, env, folder):
        self.name, self.out = name, open(folder / f"{name}.out", "w+b")
        self.child = subprocess.Popen(
            words,
            env=env,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=self.out,
            stderr=subprocess.STDOUT,
        )

    def text(self):
        size = os.fstat(self.out.fileno()).st_size
        return os.pread(self.out.fileno(), size, 0).decode(errors="replace")

    def number(self, pattern):
        found = re.findall(pattern, self.text())
        return int(found[-1]) if found else 0

    def ports(self):
        """TCP ports at which it listens."""
        inodes, found = set(), set()
        folder = f"/proc/{self.child.pid}"
        try:
            for fd in os.listdir(f"{folder}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"{folder}/fd/{fd}")
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
            with open(f"{folder}/net/tcp") as lines:
                sockets = [line.split() for line in list(lines)[1:]]
        except OSError:  # it has just ended
            return found
        for word in sockets:
            if word[3] == "0A" and word[9] in inodes:
                found.add(int(word[1].rpartition(":")[2], 16))
        return found

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.out.close()


class Soak:
    """One run."""

    def __init__(self, build, seed, seconds, mix=None, largest=4 << 20, **env):
        self.build, self.seed, self.seconds = pathlib.Path(build).resolve(), seed, seconds
        self.mix, self.largest, self.settings = mix or Mix(), largest, env
        self.members, self.storms = [], []
        self.port, self.received = 0, 0

    def environment(self, home):
        shared = rendezvous(
            len(SHAPE),
            WAITIO_INIT_TIMEOUT=int(patience.scaled(60)),
            WAITIO_COMM_TYPE="socket",
            WAITIO_NETDEV="127.0.0.1",
            WAITIO_RESUME_TIMEOUT=60,
            WAITIO_CONNECT_TIMEOUT=60,
            WAITIO_LINGER=30,
        )
        self.port = int(shared["WAITIO_MASTER_PORT"])
        return clean(HOME=home, **{**shared, **self.settings})

    def start(self, folder):
        """Every member is reached through a storm of its own."""
        env = self.environment(str(folder))
        words = [self.build / "tests" / "system" / "traffic", self.seed, 1 << 30, MESSAGES]
        words = [str(w) for w in [*words, self.largest, self.seconds]]
        for pb, nprocs in enumerate(SHAPE):
            for rank in range(nprocs):
                here = f"127.0.{1 + random.SystemRandom().randrange(250)}.{1 + len(self.members)}"
                place = {**member(pb, rank, nprocs), "WAITIO_ADVERTISE": here}
                one = Member(f"{pb}.{rank}", words, {**env, **place}, folder)
                self.members.append(one)
                self.listen(one, here)
        for one in self.members:
            one.child.stdin.write(b"go\n")
            one.child.stdin.flush()

    def listen(self, one, here):
        limit = patience.Limit(30)
        while not (ports := one.ports() - {self.port}):
            if one.child.poll() is not None or limit.left() <= 0:
                raise RuntimeError(f"{one.name} does not listen: {one.text()}")
            time.sleep(0.01)
        for port in ports:
            there = ("127.0.0.1", port)
            self.storms.append(Storm(one.name, (here, port), there, self.seed, self.mix))

    def messages(self):
        """Received by all so far."""
        if self.members and not self.members[0].out.closed:
            self.received = sum(m.number(r": (\d+) messages") for m in self.members)
        return self.received

    def kills(self):
        return sum(s.kills for s in self.storms)

    def watch(self, show):
        """Wait for the end. @return what is wrong, or None"""
        began = told = heard = time.monotonic()
        before = 0
        while True:
            status = [m.child.poll() for m in self.members]
            bad = [m for m, s in zip(self.members, status) if s not in (None, 0)]
            if bad:
                time.sleep(1.0)  # the others may have their say
                return "\n".join(f"{m.name} ended with {m.child.poll()}" for m in bad)
            if all(s == 0 for s in status):
                return None
            now, messages = time.monotonic(), self.messages()
            if messages != before or now - began < self.mix.seconds:
                before, heard = messages, now
            if now - heard > patience.scaled(SILENT_S):
                return f"no progress for {now - heard:.0f} s"
            if now - told > 30:
                told = now
                show(f"{now - began:5.0f} s: {messages} messages, {self.kills()} kills")
            time.sleep(0.05)

    def report(self, wrong, took):
        """One line of figures, and on a failure all that is needed to repeat it."""
        resumes = sum(m.number(r"resumes (\d+)") for m in self.members)
        resent = sum(m.number(r"resent (\d+)") for m in self.members)
        lines = [
            f"soak: seed {self.seed}, {took:.0f} s, {len(self.members)} processes in "
            f"{len(SHAPE)} blocks: {self.messages()} messages, "
            f"{sum(s.bytes for s in self.storms)} bytes on the wire, "
            f"{sum(s.connections for s in self.storms)} connections, {self.kills()} killed, "
            f"{sum(s.outages for s in self.storms)} outages, "
            f"{resumes // 2} resumed, {resent} messages sent again"
        ]
        if wrong is None:
            lines.append("soak: nothing lost, doubled, reordered or altered")
        else:
            lines.append(f"soak: FAILED: {wrong}")
            for m in self.members:
                lines.append(f"--- {m.name}:\n{m.text()[-3000:]}")
        return "\n".join(lines)

    def stacks(self):
        """Of those that still run."""
        living = [m.child.pid for m in self.members if m.child.poll() is None]
        return "\n".join("\n".join(patience.stack(pid)) for pid in living)

    def run(self, show=print):
        """@return (what is wrong or None, report)"""
        with tempfile.TemporaryDirectory(prefix="waitio-soak-") as home:
            os.chmod(home, 0o700)
            began = time.monotonic()
            try:
                self.start(pathlib.Path(home))
                wrong = self.watch(show)
                text = self.report(wrong, time.monotonic() - began)
                if wrong is not None:
                    text += "\n" + self.stacks()
                return wrong, text
            finally:
                for m in self.members:
                    m.end()
                for s in self.storms:
                    s.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--tls", action="store_true", help="encrypt the connections")
    parser.add_argument("--crc", action="store_true", help="checksums of the payloads, too")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(10**6)
    env = dict(WAITIO_TLS="1" if args.tls else "0", WAITIO_CRC="1" if args.crc else "0")
    options = (" --tls" if args.tls else "") + (" --crc" if args.crc else "")
    print(f"soak: {args.minutes:g} minutes, seed {seed}", flush=True)
    soak = Soak(os.path.abspath(args.build), seed, args.minutes * 60, **env)
    wrong, text = soak.run(lambda line: print(line, flush=True))
    print(text)
    if wrong is not None:
        print(f"again: tests/faults/soak.py --minutes {args.minutes:g} --seed {seed}{options}")
    return 1 if wrong is not None else 0


if __name__ == "__main__":
    sys.exit(main())
