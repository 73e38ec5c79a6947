#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to keep sent messages for a connection that may break (WAITIO_RESUME_TIMEOUT).

Pairs of runs over loopback, with and without; a ratio is formed within a pair, and the table shows
the median over the pairs. Wanted: at most 3 % of throughput, 5 % of latency.

    bench/resume.py [--build build/release] [--rounds 9] [--scale 4] [--tls] [--other BUILD]

--other compares with another build, whose links are not resumed, in place of the same one.
"""

import argparse
import os
import pathlib
import statistics
import sys

from place import HERE, Place, parse, waitio_pair

SIZES = "8,1024,8192,65536,1048576,8388608"
STREAMS = "8,1024,65536,1048576"
MOST = 8 << 20
WANTED = {"half_rtt": 0.05, "rate": 0.03, "stream": 0.03}


def measure(args, place, build, seconds):
    program = str(build / "bench" / "bench_pt2pt")
    commands = [[program, str(cpu), str(args.scale), str(MOST)] for cpu in place.cpus]
    extra = {
        "WAITIO_RESUME_TIMEOUT": str(seconds),
        "WAITIO_TLS": str(int(args.tls)),
        "BENCH_BYTES": SIZES,
        "BENCH_STREAMS": STREAMS,
    }
    values = parse(waitio_pair(args, place, commands, extra))
    values.pop("transport", None)
    return values


def cost(key, kept, plain):
    """The part that is lost: of time for round trips, of messages per second for the rest."""
    return kept / plain - 1 if key[0] == "half_rtt" else 1 - kept / plain


def report(pairs):
    worst = 0
    print(f"{'':10} {'bytes':>8} {'without':>12} {'cost':>7}   range of the pairs")
    for key in pairs[0][0]:
        costs = sorted(cost(key, kept[key], plain[key]) for plain, kept in pairs)
        middle = statistics.median(costs)
        plain = statistics.median(p[key] for p, _ in pairs)
        shown = f"{plain * 1e6:9.2f} us" if key[0] == "half_rtt" else f"{plain / 1e6:8.3f} M/s"
        mark = "" if middle <= WANTED[key[0]] else "  more than wanted"
        worst += mark != ""
        spread = f"{costs[0]:+.1%} ... {costs[-1]:+.1%}"
        print(f"{key[0]:10} {key[1]:8} {shown} {middle:+7.1%}   {spread}{mark}")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    release = HERE.parent / "build" / "release"
    parser.add_argument("--build", type=pathlib.Path, default=release)
    parser.add_argument("--other", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=int, default=4)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--fifo", action="store_true", help="before all others (chrt, as root)")
    args = parser.parse_args()
    args.transport, args.cc = "tcp", ""
    place = Place((os.cpu_count() or 1) < 2, False, args.fifo)
    pairs = []
    for i in range(args.rounds + 1):
        both = [(args.other or args.build, 0), (args.build, 60)]
        found = [measure(args, place, *one) for one in (both if i % 2 == 0 else both[::-1])]
        if i > 0:  # the first pair warms up
            pairs.append(found if i % 2 == 0 else found[::-1])
    sys.exit(1 if report(pairs) else 0)


if __name__ == "__main__":
    main()
