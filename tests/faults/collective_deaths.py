#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kill one member in the middle of collectives, again and again; nobody else may hang.

    tests/faults/collective_deaths.py [--rounds 500] [--seed 1] [--build build/release]

Every round is a universe of 3 to 6 processes in two or three blocks that repeats one collective
(kind, size, blocking or not, algorithm, transport by chance), or makes communicators. One process
kills itself at some moment, sometimes two or three do. Every other one must get an error within
2 s of that, must be refused the next collective, and stays alive without calling the library, so
that it holds up whoever counts on it.
Prints one line a failure and a summary; exit status 1 when a round failed.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))

import patience  # noqa: E402
from surroundings import algorithms, clean, member, rendezvous  # noqa: E402

KINDS = [
    "BCAST",
    "REDUCE",
    "ALLREDUCE",
    "GATHER",
    "SCATTER",
    "ALLGATHER",
    "ALLTOALL",
    "SCAN",
    "REDUCE_SCATTER",
    "BARRIER",
]
SHAPES = [[1, 2], [2, 2], [3, 2], [1, 4], [2, 2, 1], [3, 3], [5, 1]]
# Forms of colldeath.c beside the plain one, and the kinds in which every process hears from others.
FORMS = {1: [2], 2: [2, 5, 6, 9], 3: [6], 4: [9], 5: [9], 6: [9]}
NAMES = ["", "persistent ", "between groups: ", "ring: ", "parts: ", "halves: ", "merged: "]
PEER, REVOKED = -8, -23
TOLD_S = 2.0


def refused(then, form):
    """Was the next collective refused, or ended when the word of the death came meanwhile?"""
    if form == 5 and int(then[1]) == PEER:  # of three communicators another one may fail now
        return True
    return int(then[1]) == REVOKED or (
        int(then[1]) == PEER and "failed in a collective of this communicator" in then[2]
    )


class Round:
    """One universe with one death."""

    def __init__(self, chance, build, rows, transports):
        self.build = build
        self.shape = chance.choice(SHAPES)
        self.size = sum(self.shape)
        self.kind = chance.randrange(len(KINDS))
        self.bytes = 8 << chance.randrange(21)
        self.blocking = chance.random() < 0.6
        self.victims = chance.sample(
            range(self.size), chance.choice([1, 1, 1, 2, min(3, self.size - 1)])
        )
        self.call = chance.choice([0, 1, 2, 5, 20])
        per_call = 5 + self.bytes // 1000
        self.delays = [chance.choice([0, chance.randrange(1, 4 * per_call)]) for _ in self.victims]
        self.transport = chance.choice(transports)
        self.form = chance.choice([0, 0, 0, 0, 1, 2, 3, 4, 5, 6])
        if self.form:
            self.kind = chance.choice(FORMS[self.form])
        self.variable = f"WAITIO_COLL_{KINDS[self.kind]}"
        self.algorithm = chance.choice(["auto", chance.choice(rows[self.variable])])

    def __str__(self):
        return (
            f"{NAMES[self.form]}{'' if self.blocking else 'I'}{KINDS[self.kind]} {self.bytes} B "
            f"{self.shape} {self.transport} {self.algorithm}, ranks {self.victims} die "
            f"{self.delays} us into call {self.call}"
        )

    def start(self, home):
        env = rendezvous(
            len(self.shape),
            WAITIO_ERRORS="return",
            WAITIO_COMM_TYPE=self.transport,
            WAITIO_LOG="error",
        )
        env = clean(HOME=home, **env)
        env[self.variable] = self.algorithm
        command = [os.path.join(self.build, "tests", "system", "colldeath"), str(self.kind)]
        command += [str(self.bytes), str(int(self.blocking)), ",".join(map(str, self.victims))]
        command += [str(self.call), ",".join(map(str, self.delays)), str(self.form)]
        started = []
        for pbid, count in enumerate(self.shape):
            for rank in range(count):
                mine = {**env, **member(pbid, rank, count)}
                out = open(os.path.join(home, f"out{len(started)}"), "w+b")
                started.append(
                    (
                        out,
                        subprocess.Popen(
                            command,
                            env=mine,
                            stdin=subprocess.PIPE,
                            stdout=out,
                            stderr=subprocess.STDOUT,
                        ),
                    )
                )
        return started

    def run(self):
        """Return (what went wrong or None, seconds from the death to the last error)."""
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o700)
            started = self.start(home)
            try:
                texts = self.watch(started)
                return self.judge(texts)
            finally:
                for _, p in started:
                    p.stdin.close()
                for out, p in started:
                    try:
                        p.wait(timeout=patience.scaled(10))
                    except subprocess.TimeoutExpired:
                        p.kill()
                        p.wait()
                    out.close()

    def watch(self, started):
        limit = patience.Limit(15)
        while True:
            texts = []
            for out, _ in started:
                # The process writes through the same open file: a seek here would move its place.
                text = os.pread(out.fileno(), os.fstat(out.fileno()).st_size, 0)
                texts.append(text.decode(errors="replace"))
            done = sum("then " in t or "died " in t for t in texts)
            if done == self.size or limit.left() <= 0:
                return texts
            if (
                any(
                    p.poll() is not None
                    for i, (_, p) in enumerate(started)
                    if "died " not in texts[i]
                )
                and limit.left() > 2
            ):
                limit.base = 0.5 + time.monotonic() - limit.began
            time.sleep(0.005)

    def judge(self, texts):
        died = [re.search(r"^died ([\d.]+)$", text, re.M) for text in texts]
        if not any(died):
            return f"no victim has died: {texts[self.victims[0]]!r}", 0.0
        when = max(float(found[1]) for found in died if found)
        last = 0.0
        for i, text in enumerate(texts):
            if died[i]:  # another may have learnt of the first death before its own
                continue
            failed = re.search(r"^failed ([\d.]+) (-?\d+) (.*)$", text, re.M)
            then = re.search(r"^then (-?\d+) (.*)$", text, re.M)
            if not failed:
                return f"rank {i} hangs: {text!r}", last
            late = float(failed[1]) - when
            last = max(last, late)
            if late > patience.scaled(TOLD_S):
                return f"rank {i} was told after {late:.2f} s: {failed[3]}", last
            if int(failed[2]) not in (PEER, REVOKED) or not then or not refused(then, self.form):
                return f"rank {i}: {text!r}", last
        return None, last


def campaign(rounds, seed, build, transports, show=print):
    """Return (failures, the longest time to an error)."""
    rows, failures, longest = algorithms(), 0, 0.0
    for i in range(rounds):
        one = Round(random.Random(seed * 1000003 + i), build, rows, transports)
        wrong, last = one.run()
        longest = max(longest, last)
        if wrong:
            failures += 1
            show(f"round {i} (seed {seed}): {one}: {wrong}")
    return failures, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--transports", default="shm,socket")
    args = parser.parse_args()
    failures, longest = campaign(
        args.rounds, args.seed, os.path.abspath(args.build), args.transports.split(",")
    )
    print(f"{args.rounds} rounds, {failures} failed; the last error came {longest:.3f} s after")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
