#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long messages over two devices: two network namespaces (as root) with two veth pairs, whose rates
a token bucket (tc tbf) limits. Prints what each device alone carries, and both together.

    bench/stripe.py [--build build/release] [--rates 2000,2000] [--bytes 67108864] [--count 4]
                    [--rounds 3] [--lanes N] [--tls]

Rates are in Mbit/s, 0: without limit. Run it with unequal ones, too: --rates 1000,3000.
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


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=10)


class Namespaces:
    """a and b with the devices w1 (10.97.1.1, .2) and w2 (10.97.2.1, .2)."""

    def __init__(self, rates):
        self.rates = rates
        self.name = [f"ws{os.getpid() % 100000}{side}" for side in "ab"]

    def __enter__(self):
        for n in self.name:
            ip("netns", "add", n)
            ip("-n", n, "link", "set", "lo", "up")
        for i, rate in enumerate(self.rates, 1):
            one, other = f"{self.name[0]}{i}", f"{self.name[1]}{i}"
            ip("link", "add", one, "type", "veth", "peer", "name", other)
            for end, (dev, ns) in enumerate(zip((one, other), self.name, strict=True), 1):
                ip("link", "set", dev, "netns", ns, "name", f"w{i}")
                ip("-n", ns, "addr", "add", f"10.97.{i}.{end}/24", "dev", f"w{i}")
                ip("-n", ns, "link", "set", f"w{i}", "up")
                if rate == "0":
                    continue
                tbf = ["rate", f"{rate}mbit", "burst", "256kb", "latency", "20ms"]
                subprocess.run(
                    ["tc", "-n", ns, "qdisc", "add", "dev", f"w{i}", "root", "tbf", *tbf],
                    check=True, timeout=10,
                )  # fmt: skip
        return self

    def __exit__(self, *_):
        for n in self.name:
            subprocess.run(["ip", "netns", "del", n], check=False, timeout=10)

    def start(self, side, *words, env):
        words = ["ip", "netns", "exec", self.name[side], *map(str, words)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})


def throughput(net, args, secret, device, **more):
    """Bytes per second from a to b over these devices."""
    master = f"10.97.{device.split(',')[0][1:]}.1"
    env = {
        "WAITIO_SECRET_FILE": secret, "WAITIO_MASTER_HOST": master, "WAITIO_NPB": "2",
        "WAITIO_RANK": "0", "WAITIO_NPROCS": "1", "WAITIO_COMM_TYPE": "socket",
        "WAITIO_JOB_ID": f"bench-stripe-{os.getpid()}", "WAITIO_NETDEV": device,
        "WAITIO_TLS": "1" if args.tls else "0", **more,
    }  # fmt: skip
    program = args.build.resolve() / "bench" / "bench_stripe"
    both = [
        net.start(pb, program, args.bytes, args.count, env={**env, "WAITIO_PBID": str(pb)})
        for pb in (0, 1)
    ]
    try:
        text, _ = both[0].communicate(timeout=LIMIT_S)
        if both[0].wait() != 0 or both[1].wait(10) != 0:
            raise RuntimeError("bench_stripe failed")
    finally:
        for p in both:
            if p.poll() is None:
                p.kill()
            p.wait(10)
            p.stdout.close()
    return next(row["value"] for row in map(json.loads, text.splitlines()) if "value" in row)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build" / "release")
    parser.add_argument("--rates", type=lambda text: text.split(","), default=["2000", "2000"])
    parser.add_argument("--bytes", type=int, default=64 << 20)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lanes", default="0", help="WAITIO_LANES for both together")
    parser.add_argument("--tls", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench/stripe.py: network namespaces need root")
    found = {"w1": [], "w2": [], "w1,w2": []}
    with tempfile.NamedTemporaryFile("w") as secret, Namespaces(args.rates) as net:
        secret.write("0123456789abcdef0123456789abcdef\n")
        secret.flush()
        for _ in range(args.rounds):
            for device, values in found.items():
                more = {"WAITIO_LANES": args.lanes} if "," in device else {}
                values.append(throughput(net, args, secret.name, device, **more))
    middle = {device: statistics.median(values) for device, values in found.items()}
    for device, value in middle.items():
        print(f"{device:6} {value / 1e6:8.1f} MB/s")
    both = middle["w1,w2"]
    alone = middle["w1"], middle["w2"]
    print(f"both: {both / max(alone):.2f} of the quicker one, {both / sum(alone):.2f} of the sum")


if __name__ == "__main__":
    main()
