#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults of processes and of the system, each in each state of the protocol.

    tests/faults/campaign.py [kill|stop|system] [--trials 500] [--seed 1] [--build build/release]

kill    SIGKILL, also to one that is stopped: the other is told within 2 s, a third goes on.
stop    SIGSTOP, later SIGCONT: nobody may take it for dead, everything succeeds.
system  the n-th call of a kind fails (memory, sockets, descriptors, half a read, ...): every
        operation ends, with the right data or with an error that says something; nobody crashes,
        hangs, or hears of what does not concern him.

A trial is a universe of three actors (tests/system/progs/actor.c): 0, its peer 1, and 2, who looks
on. States go by turns; all else is chosen by chance, and again the same for the same seed and
trial. Prints a line for each trial that failed, and a summary. Exit status 1 when one failed.
"""

import argparse
import collections
import importlib.util
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]

import patience  # noqa: E402

spec = importlib.util.spec_from_file_location(
    "waitio_campaign_core", ROOT / "tests" / "system" / "core" / "conftest.py"
)
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)

TOLD_S = 2.0  # a killed peer is reported within this time
QUIET_S = 0.5  # so long nobody answers: where somebody was told, no more will come
END_S = 12.0  # by then everything has ended
BIG = 48 << 20
PEER, REVOKED = -8, -23
TOLD = (PEER, REVOKED, -9, -21, -22)  # a finalize may also reach WAITIO_LINGER
OTHER = {0: 1, 1: 0}

# What the peers do, as (actor, command): `first` is answered, then the fault comes, while `then` is
# under way; `last` completes it. "contact" in first: they have exchanged messages.
State = collections.namedtuple("State", "first then last env")


def state(first=(), then=(), last=(), **env):
    return State(list(first), list(then), list(last), env)


CONTACT = [(0, "contact")]
LITTLE = dict(WAITIO_UNEXPECTED_MAX=1 << 20, WAITIO_SEND_BUFFER_MAX=1 << 20)
STATES = {
    "before contact": state(
        then=[(0, "irecv 1 0 1 100 1"), (0, "wait 1 5")],
        last=[(1, "isend 1 0 0 100 1 5"), (1, "wait 1 0")],
    ),
    "dialling": state(
        then=[(0, "isend 1 0 1 3000000 1 5"), (0, "wait 1 0")],
        last=[(1, "irecv 1 0 0 3000000 1"), (1, "wait 1 5")],
    ),
    "idle": state(
        CONTACT,
        then=[(0, "irecv 1 0 1 100 1"), (0, "wait 1 5")],
        last=[(1, "isend 1 0 0 100 1 5"), (1, "wait 1 0")],
    ),
    "any source": state(
        [*CONTACT, (0, "contact 2")],
        then=[(0, "irecv 1 0 -1 100 1"), (0, "wait 1 5")],
        last=[(1, "isend 1 0 0 100 1 5"), (1, "wait 1 0")],
    ),
    "probing": state(
        CONTACT,
        then=[(0, "probe 0 1 1")],
        last=[
            (1, "isend 1 0 0 100 1 5"), (1, "wait 1 0"),
            (0, "irecv 1 0 1 100 1"), (0, "wait 1 5"),
        ],
    ),
    "eager": state(
        CONTACT,
        then=[x for i in range(20) for x in ((0, f"isend {i} 0 1 9000 {i} 5"), (0, f"wait {i} 0"))],
        last=[
            x for i in range(20) for x in ((1, f"irecv {i} 0 0 9000 {i}"), (1, f"wait {i} 5"))
        ],
    ),
    "no credit": state(
        CONTACT,
        then=[(0, f"isend {i} 0 1 60000 {i} 5") for i in range(50)]
        + [(0, f"wait {i} 0") for i in range(50)],
        last=[x for i in range(50) for x in ((1, f"irecv 1 0 0 60000 {i}"), (1, "wait 1 5"))],
        **LITTLE,
    ),
    "rendezvous": state(
        CONTACT,
        then=[(0, "isend 1 0 1 2000000 1 5"), (0, "wait 1 0")],
        last=[(1, "irecv 1 0 0 2000000 1"), (1, "wait 1 5")],
    ),
    "transfer to it": state(
        [*CONTACT, (1, f"irecv 1 0 0 {BIG} 1")],
        then=[(1, "wait 1 5"), (0, f"isend 1 0 1 {BIG} 1 5"), (0, "wait 1 0")],
    ),
    "transfer from it": state(
        [*CONTACT, (0, f"irecv 1 0 1 {BIG} 1")],
        then=[(0, "wait 1 5"), (1, f"isend 1 0 0 {BIG} 1 5"), (1, "wait 1 0")],
    ),
    "synchronous": state(
        CONTACT,
        then=[(0, "ssend 0 1 100 1"), (0, "irecv 1 0 1 100 2"), (0, "wait 1 5")],
        last=[
            (1, "irecv 1 0 0 100 1"), (1, "wait 1 0"),
            (1, "isend 2 0 0 100 2 5"), (1, "wait 2 0"),
        ],
    ),
    "collective": state(
        CONTACT, then=[(0, "sum 0 1"), (2, "sum 0 1")], last=[(1, "sum 0 1")]
    ),
    "broken connection": state(
        [*CONTACT, (0, "cut")],
        then=[(0, "irecv 1 0 1 100 1"), (0, "wait 1 5")],
        last=[(1, "isend 1 0 0 100 1 5"), (1, "wait 1 0")],
        WAITIO_RESUME_TIMEOUT=20, WAITIO_COMM_TYPE="socket",
    ),
    "broken transfer": state(
        [*CONTACT, (0, f"irecv 1 0 1 {BIG} 1")],
        then=[(0, "wait 1 5"), (1, f"isend 1 0 0 {BIG} 1 5"), (1, "wait 1 0"), (0, "cut")],
        WAITIO_RESUME_TIMEOUT=20, WAITIO_COMM_TYPE="socket",
    ),
    "we finalize": state(
        CONTACT,
        then=[(0, "isend 1 0 1 3000000 1 5"), (0, "finalize")],
        last=[(1, "irecv 1 0 0 3000000 1"), (1, "wait 1 5")],
    ),
    "it finalizes": state(
        CONTACT,
        then=[(0, "irecv 9 0 1 100 9"), (1, "isend 1 0 0 3000000 1 5"), (1, "finalize"),
              (0, "echo")],
        last=[(0, "irecv 1 0 1 3000000 1"), (0, "wait 1 5")],
    ),
}  # fmt: skip
TRANSPORTS = [
    dict(WAITIO_COMM_TYPE="socket"),
    dict(WAITIO_COMM_TYPE="socket", WAITIO_RESUME_TIMEOUT=20),
    dict(WAITIO_COMM_TYPE="socket", WAITIO_TLS=1),
    dict(WAITIO_COMM_TYPE="socket", WAITIO_PROGRESS="poll"),
    dict(WAITIO_COMM_TYPE="shm"),
    dict(WAITIO_COMM_TYPE="hybrid", WAITIO_HYBRID_THRESHOULD=60000),
    dict(WAITIO_COMM_TYPE="file"),
]
SYSTEM = {  # kind of call: what it may answer (errno; negative: so many bytes)
    "memory": [12],
    "socket": [24, 23, 105],
    "connect": [101, 99, 110],
    "accept": [24, 103, 12],
    "send": [104, 32, 105, 110, -1, -7],
    "recv": [104, 110, 12, -1, -7],
    "epoll": [12, 28],
}


class WrongError(Exception):
    """What a trial has shown."""


class Cast:
    """Three actors; commands are given at once, answers are collected later."""

    def __init__(self, build, folder, env, fault=None, whose=0):
        self.u = core.Universe(pathlib.Path(build).resolve() / "tests" / "system", folder, **env)
        programs = ["actor"] * 3
        special = [{}, {}, {}]
        if fault:
            programs[whose] = "faulty"
            special[whose] = dict(WT_FAULT=fault)
        self.a = [self.u.process(pb, 0, 1, 3, programs[pb], env=special[pb]) for pb in range(3)]
        self.u.joined(self.a)
        self.asked = [[], [], []]  # commands that are not answered
        self.answers = [[], [], []]  # (command, answer, when)

    def cut(self):
        """Break the connections between 0 and 1, by the kernel."""
        for p in self.a[:2]:
            try:
                ports = p.ports() - {self.u.port}
            except FileNotFoundError:
                continue  # a fault has ended it
            for port in ports:
                words = ["ss", "-K", "-t", "state", "established", f"( sport = {port} )"]
                subprocess.run(words, capture_output=True, check=False, timeout=10)

    def tell(self, steps):
        for who, command in steps:
            if command == "contact":
                self.u.exchange(self.a[0], 0, self.a[1], 1, 10, 600)
            elif command == "contact 2":
                self.u.exchange(self.a[0], 0, self.a[2], 2, 10, 601)
            elif command == "cut":
                self.cut()
            elif command == "echo":
                time.sleep(0.05)
            else:
                self.a[who].begin(command)
                self.asked[who].append(command)

    def take(self, who, timeout):
        """The next answer of an actor, or None where none comes in time."""
        try:
            line = self.a[who].answer_within(timeout)
        except core.EndedError as e:
            raise WrongError(f"process {who} has ended: {e}") from None
        if line is None:
            return None
        command = self.asked[who].pop(0)
        self.answers[who].append((command, line, self.a[who].seen_at))
        check(who, command, line)
        return line

    def collect(self, whose, limit):
        """Answers until none is due, or nobody has answered for so long. @return: all came"""
        quiet = patience.Limit(limit)
        while any(self.asked[w] for w in whose):
            for w in whose:
                while self.asked[w] and self.take(w, 0.01) is not None:
                    quiet = patience.Limit(limit)
            if quiet.left() <= 0:
                return False
        return True

    def errors(self, who):
        return [a for a in self.answers[who] if a[1].startswith("error")]


def check(who, command, line):
    """An answer is a success with the right contents, or an error with a text."""
    words = line.split()
    if words[:1] == ["ok"]:
        if command.startswith("wait") and len(words) == 6 and words[5] != "-1":
            raise WrongError(f"process {who}: {command}: wrong data: {line}")
        return
    if words[:1] != ["error"] or len(words) < 4:
        raise WrongError(f"process {who}: {command}: {line!r}")


def others_go_on(c, a=0, b=2):
    c.u.exchange(c.a[a], a, c.a[b], b, 3000, 700)


# ---- the three kinds of trial ----


def kill(c, chance):
    """Process 1 dies, soon or in a while, perhaps when it is stopped. @return when"""
    time.sleep(chance.choice([0, chance.random() * 0.02, chance.random() * 0.3]))
    if chance.random() < 0.3:
        c.a[1].stop()
        time.sleep(chance.random() * 0.3)
    died = time.monotonic()
    c.a[1].kill()
    return died


def killed(c, s, name, chance):
    """@return seconds from the death to the last error"""
    c.tell(s.first)
    if not c.collect((0, 1, 2), END_S):
        raise WrongError("what comes before the fault is not answered")
    c.tell(s.then)
    died = kill(c, chance)
    if name == "any source":  # a living one can still satisfy it
        c.tell([(2, "isend 1 0 0 100 1 5"), (2, "wait 1 0")])
    asks = name != "we finalize"
    if asks:  # what was completed before the death cannot fail any more
        c.tell([(0, "irecv 20 0 1 10 77"), (0, "wait 20 0")])
    if not c.collect((0, 2), END_S):
        raise WrongError(f"not answered: {c.asked[0]} {c.asked[2]}")
    told = [a for w in (0, 2) for a in c.errors(w)]
    if asks and not c.answers[0][-1][1].startswith(f"error {PEER} "):
        raise WrongError(f"0 was told {c.answers[0][-1]}")
    if any(int(a[1].split()[1]) not in (PEER, REVOKED) for a in told):
        raise WrongError(f"told otherwise: {told}")
    last = max(c.answers[w][-1][2] for w in (0, 2) if c.answers[w])
    if last - died > patience.scaled(TOLD_S):
        raise WrongError(f"told after {last - died:.2f} s")
    if asks:
        others_go_on(c)
        c.u.leave(c.a[0], c.a[2])
    return max(0.0, last - died)


def stopped(c, s, name, chance):
    c.tell(s.first)
    if not c.collect((0, 1, 2), END_S):
        raise WrongError("what comes before the fault is not answered")
    c.tell(s.then)
    time.sleep(chance.random() * 0.02)
    c.a[1].stop()
    time.sleep(1.2 + chance.random())  # longer than WAITIO_CONNECT_TIMEOUT
    c.a[1].resume()
    c.tell(s.last)
    if not c.collect((0, 1, 2), END_S):
        raise WrongError(f"not answered: {c.asked}")
    bad = [a for w in range(3) for a in c.errors(w)]
    if bad:
        raise WrongError(f"errors: {bad}")
    return 0.0


def play(c, s):
    """All of a state at once, without counting on success."""
    for _, command in s.first:
        if command == "contact":
            for w in (0, 1):
                c.tell([(w, f"irecv 31 0 {OTHER[w]} 10 600")])
                c.tell([(w, f"isend 30 0 {OTHER[w]} 10 600 5"), (w, "wait 31 5"), (w, "wait 30 0")])
    c.tell([x for x in s.first if not x[1].startswith("contact")])
    c.tell(s.then)
    c.tell(s.last)


def all_told(c):
    """Everything was answered, or somebody knows that something failed. Where nobody does, a dial
    may be tried again for WAITIO_CONNECT_TIMEOUT."""
    for patiently in (QUIET_S, END_S):
        if c.collect((0, 1, 2), patiently) or any(c.errors(w) for w in range(3)):
            return
    raise WrongError(f"nobody was told, and this is not answered: {c.asked}")


def system_fails(c, s, name, whose):
    """What is asked for succeeds or fails; then the one with the fault is killed, and the others
    must have been told, or be told now."""
    c.a[whose].signal(core.signal.SIGUSR1)
    play(c, s)
    all_told(c)
    c.a[whose].kill()
    if name == "any source" and whose == 1:  # a living one can still satisfy it
        c.tell([(2, "isend 1 0 0 100 1 5"), (2, "wait 1 0")])
    rest = [w for w in range(3) if w != whose]
    c.asked[whose] = []
    if not c.collect(rest, END_S):
        raise WrongError(f"not answered after its end: {[c.asked[w] for w in rest]}")
    others = [a for w in rest for a in c.errors(w)]
    if any(int(a[1].split()[1]) not in TOLD for a in others):
        raise WrongError(f"others were told otherwise: {others}")
    if not any(a[0] == "finalize" for w in rest for a in c.answers[w]):
        others_go_on(c, *rest)
        c.u.leave(*[c.a[w] for w in rest])
    return 0.0


class Trial:
    """One universe and one fault. What it is follows from seed and number."""

    def __init__(self, kind, seed, number):
        self.kind, self.chance = kind, random.Random(f"{seed}/{kind}/{number}")
        names = [n for n in STATES if self.may(n)]
        self.name = names[number % len(names)]
        self.env = dict(self.chance.choice(TRANSPORTS))
        if kind == "system":
            self.env = dict(self.chance.choice(TRANSPORTS[:3]), WAITIO_CONNECT_TIMEOUT=3)
        self.env.update(STATES[self.name].env)
        if kind == "system" and "WAITIO_RESUME_TIMEOUT" in self.env:
            self.env["WAITIO_RESUME_TIMEOUT"] = 5  # a fault of 1000 calls is told before END_S
        if kind == "stop":
            # Who makes no more calls would have to answer: poll does not promise that.
            self.env.pop("WAITIO_PROGRESS", None)
            self.env.update(WAITIO_CONNECT_TIMEOUT=1, WAITIO_LINGER=30)
        self.whose = self.chance.randrange(2)
        what = self.chance.choice(sorted(SYSTEM))
        times = self.chance.choice([1, 1, 1, 2, 5, 1000])
        nth = self.chance.choice([1, 2, 3, 5, 8, self.chance.randrange(1, 60)])
        self.fault = f"{what}:{nth}:{times}:{self.chance.choice(SYSTEM[what])}"

    def may(self, name):
        if name.startswith("broken") and (os.geteuid() != 0 or shutil.which("ss") is None):
            return False
        return not (self.kind == "stop" and name in ("we finalize", "it finalizes"))

    def __str__(self):
        env = " ".join(f"{k[7:]}={v}" for k, v in sorted(self.env.items()) if k not in LITTLE)
        fault = f", process {self.whose} {self.fault}" if self.kind == "system" else ""
        return f"{self.kind} in '{self.name}' ({env}{fault})"

    def run(self, build):
        """@return (what is wrong or None, seconds until told)"""
        with tempfile.TemporaryDirectory(prefix="waitio-campaign-") as home:
            env = dict(self.env, WAITIO_SCRATCH_DIR=home)
            c = None
            try:
                system = self.kind == "system"
                c = Cast(build, pathlib.Path(home), env, system and self.fault, self.whose)
                s = STATES[self.name]
                if system:
                    return None, system_fails(c, s, self.name, self.whose)
                one = killed if self.kind == "kill" else stopped
                return None, one(c, s, self.name, self.chance)
            except (WrongError, AssertionError) as e:
                stories = "\n".join(p.story() for p in c.a) if c else ""
                return f"{e}\n{stories}", 0.0
            finally:
                if c:
                    c.u.close()


def campaign(kind, trials, seed, build, show=print, first=0):
    """@return (failures, seconds until told of each trial, how often each state was played)"""
    failures, times, played = 0, [], collections.Counter()
    for i in range(first, first + trials):
        one = Trial(kind, seed, i)
        wrong, took = one.run(build)
        played[one.name] += 1
        times.append(took)
        if wrong:
            failures += 1
            show(f"trial {i} of seed {seed}: {one}: {wrong}")
    return failures, times, played


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=["kill", "stop", "system"], default="kill")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    args = parser.parse_args()
    began = time.monotonic()
    failures, times, played = campaign(
        args.kind,
        args.trials,
        args.seed,
        os.path.abspath(args.build),
        lambda text: print(text, flush=True),
        args.first,
    )
    told = ""
    if args.kind == "kill":
        worst = max(range(len(times)), key=times.__getitem__)
        told = (
            f"; told after {statistics.median(times):.3f} s (median), {times[worst]:.3f} s at most "
            f"({Trial(args.kind, args.seed, args.first + worst)}), "
            f"{sum(t > TOLD_S for t in times)} later than {TOLD_S:g} s"
        )
    print(
        f"{args.kind}: seed {args.seed}, {args.trials} trials in {len(played)} states, "
        f"{failures} failed, {time.monotonic() - began:.0f} s{told}"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
