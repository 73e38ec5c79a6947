#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a relay costs: three network namespaces (as root), of which the middle one sees both others.

Raw bytes through waitio-relay beside a bare forwarder by splice(2) (bench/floor_relay.c), round
trips of 8 bytes beside the sum of their two legs, and WaitIO's own messages through the relay.

    bench/relay.py [--build build/release] [--rounds 3] [--cpus A,R,B] [--spin US]

--cpus binds what runs in each namespace to one processor.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 170
SIDES = {"a": "10.98.1.1", "b": "10.98.2.1"}
MIDDLE = {"a": "10.98.1.254", "b": "10.98.2.254"}


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=10)


class Namespaces:
    def __init__(self, cpus):
        self.cpus = dict(zip("arb", cpus, strict=True)) if cpus else {}
        tag = f"wb{os.getpid() % 100000}"
        self.name = {side: tag + side for side in "arb"}

    def __enter__(self):
        for n in self.name.values():
            ip("netns", "add", n)
            ip("-n", n, "link", "set", "lo", "up")
        for side in "ab":
            one, other = f"{self.name[side]}0", f"{self.name[side]}1"
            ip("link", "add", one, "type", "veth", "peer", "name", other)
            for dev, ns, addr in ((one, side, SIDES[side]), (other, "r", MIDDLE[side])):
                ip("link", "set", dev, "netns", self.name[ns])
                ip("-n", self.name[ns], "addr", "add", f"{addr}/24", "dev", dev)
                ip("-n", self.name[ns], "link", "set", dev, "up")
        return self

    def __exit__(self, *_):
        for n in self.name.values():
            subprocess.run(["ip", "netns", "del", n], check=False, timeout=10)

    def start(self, side, *words, env=None, out=subprocess.PIPE):
        if side in self.cpus:
            words = ["taskset", "-c", self.cpus[side], *words]
        words = ["ip", "netns", "exec", self.name[side], *map(str, words)]
        return subprocess.Popen(words, stdout=out, text=True, env={**os.environ, **(env or {})})


def numbers(text):
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        if row.get("metric") in ("rtt", "stream", "half_rtt"):
            found[row["metric"], row["bytes"]] = row["value"]
    return found


def pair(net, middle, first, second):
    """Start what stands between, the answering and the measuring program; the last one's rows."""
    started = []
    try:
        if middle is not None:
            started.append(net.start("r", *middle))
            if "--print-port" in middle:
                started[0].stdout.readline()
        started.append(net.start(*second[:1], *second[1], env=second[2]))
        measuring = net.start(*first[:1], *first[1], env=first[2])
        started.append(measuring)
        text, _ = measuring.communicate(timeout=LIMIT_S)
        if measuring.returncode != 0:
            raise RuntimeError(f"{first[1]} ended with {measuring.returncode}")
        return numbers(text)
    finally:
        for p in started:
            if p.poll() is None:
                p.terminate()
            p.wait(10)
            p.stdout.close()


def measure(build, net, secret, spin):
    env = {"WAITIO_SECRET_FILE": secret}
    raw, pt2pt = build / "bench" / "bench_relay", build / "bench" / "bench_pt2pt"
    relay = ["env", f"WAITIO_SECRET_FILE={secret}", build / "bin" / "waitio-relay",
             "--port", "7201", "--print-port", *spin]  # fmt: skip
    floor = [build / "bench" / "floor_relay", "7202", SIDES["b"], "7203"]

    def raw_pair(how, port, side0, host0, side1, host1, middle, port1=None):
        return pair(
            net, middle,
            (side0, [raw, how, "0", host0, port], env),
            (side1, [raw, how, "1", host1, port1 or port], env),
        )  # fmt: skip

    found = {
        "through waitio-relay": raw_pair(
            "relay", "7201", "a", MIDDLE["a"], "b", MIDDLE["b"], relay
        ),
        "through bare splice": raw_pair(
            "bare", "7202", "a", MIDDLE["a"], "b", SIDES["b"], floor, "7203"
        ),
        "leg a": raw_pair("bare", "7204", "a", MIDDLE["a"], "r", MIDDLE["a"], None),
        "leg b": raw_pair("bare", "7205", "r", SIDES["b"], "b", SIDES["b"], None),
    }

    def blocks(side0, side1, master, middle, relays):
        common = {**env, "WAITIO_MASTER_HOST": master, "WAITIO_NPB": "2", "WAITIO_RANK": "0",
                  "WAITIO_NPROCS": "1", "WAITIO_COMM_TYPE": "socket",
                  "WAITIO_JOB_ID": f"bench-relay-{os.getpid()}"}  # fmt: skip
        who = [
            (side, [pt2pt, "-1", "4", "8388608"],
             {**common, "WAITIO_PBID": str(pb), "WAITIO_RELAY": where})
            for pb, (side, where) in enumerate(zip((side0, side1), relays))
        ]  # fmt: skip
        return pair(net, middle, *who)

    through = [f"{MIDDLE[s]}:7201" for s in "ab"]
    found["WaitIO through waitio-relay"] = blocks("a", "b", SIDES["a"], relay, through)
    found["WaitIO leg a"] = blocks("a", "r", SIDES["a"], None, ["", ""])
    found["WaitIO leg b"] = blocks("r", "b", MIDDLE["b"], None, ["", ""])
    return found


def middle_of(rounds, name, key):
    return statistics.median(r[name][key] for r in rounds)


def report(rounds):
    raw = {n: middle_of(rounds, n, ("rtt", 8)) * 1e6 for n in rounds[0] if "WaitIO" not in n}
    stream = {
        n: middle_of(rounds, n, ("stream", 1 << 20)) / 1e9 for n in rounds[0] if "WaitIO" not in n
    }
    for n in raw:
        print(f"{n:30} {raw[n]:8.1f} us per 8 B round trip {stream[n]:8.2f} GB/s")
    waitio = {n: r for n, r in rounds[0].items() if "WaitIO" in n}
    for n in waitio:
        small = 2 * middle_of(rounds, n, ("half_rtt", 8)) * 1e6
        big = (8 << 20) / middle_of(rounds, n, ("half_rtt", 8 << 20)) / 1e9
        print(f"{n:30} {small:8.1f} us per 8 B round trip {big:8.2f} GB/s (8 MiB)")
    legs = [2 * middle_of(rounds, f"WaitIO leg {s}", ("half_rtt", 8)) * 1e6 for s in "ab"]
    small = 2 * middle_of(rounds, "WaitIO through waitio-relay", ("half_rtt", 8)) * 1e6
    ratio = stream["through waitio-relay"] / stream["through bare splice"]
    over = raw["through waitio-relay"] - raw["leg a"] - raw["leg b"]
    print(f"stream: {ratio:.2f} of the bare forwarder (at least 0.85 wanted)")
    print(f"round trip: sum of the legs {over:+.1f} us, WaitIO's {small - sum(legs):+.1f} us")
    print("            (at most +3 wanted)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpus", type=lambda text: text.split(","), default=[])
    parser.add_argument("--spin", help="of the relay, in microseconds")
    args = parser.parse_args()
    spin = ["--spin", args.spin] if args.spin else []
    if os.geteuid() != 0:
        sys.exit("bench/relay.py: network namespaces need root")
    with tempfile.NamedTemporaryFile("w") as secret, Namespaces(args.cpus) as net:
        secret.write("0123456789abcdef0123456789abcdef\n")
        secret.flush()
        rounds = [measure(args.build.resolve(), net, secret.name, spin) for _ in range(args.rounds)]
    report(rounds)


if __name__ == "__main__":
    main()
