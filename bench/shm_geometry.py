#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which size of the ring for long messages suits the caches of this machine?

Half round trips between two processes, every message through the ring (WAITIO_SHM_FETCH=off), for
each WAITIO_SHM_RING and each size of a message; and the same of the bare ring (bench/floor_shm.c).
Rounds are interleaved; the tables show medians, near and far processors apart.

  bench/shm_geometry.py
  bench/shm_geometry.py --rings 512K,2M --stream     messages one after the other, too
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import draw
import placement
from place import HERE, Place
from run import run_floor, run_waitio

RINGS = "64K,256K,512K,1M,2M,4M,8M"
SIZES = (4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1 << 20, 4 << 20, 8 << 20)
UNITS = {"K": 10, "M": 20}


def size_of(text):
    """Bytes of 512K or 2M."""
    if text[-1:] in UNITS and text[:-1].isdigit():
        return int(text[:-1]) << UNITS[text[-1]]
    if text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no size: a number, with K or M behind it")


def rings(text):
    found = [size_of(word) for word in text.split(",")]
    for ring in found:
        if ring < 16384 or ring & (ring - 1):
            raise argparse.ArgumentTypeError(f"{ring}: a power of two from 16K on is needed")
    return found


def one_round(args, place):
    """{("waitio" or "raw ring", ring): measurements}."""
    found = {}
    for ring in args.rings:
        os.environ.update(WAITIO_SHM_RING=str(ring), FLOOR_RING=str(ring))
        found["waitio", ring] = run_waitio(args, place)
        if ring <= 8 << 20:  # floor_shm has no longer one
            found["raw ring", ring] = run_floor("floor_shm", "spin", args, place)
    return found


def table(rounds, name, metric):
    """Rings by message sizes: us of a message."""
    lengths = [ring for who, ring in rounds[0] if who == name]
    sizes = [size for what, size in rounds[0][name, lengths[0]] if what == metric]
    lines = [
        f"| {name}, ring | " + " | ".join(map(draw.plotstyle.size, sizes)) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for ring in lengths:
        values = [statistics.median(r[name, ring][metric, size] for r in rounds) for size in sizes]
        cells = [f"{(1 / v if metric == 'stream' else v) * 1e6:.2f}" for v in values]
        lines.append(f"| {draw.plotstyle.size(ring)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--rings", type=rings, default=rings(RINGS), help=f"sizes of the ring: {RINGS}")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--scale", type=int, default=1, help="divide the number of messages")
    p.add_argument("--max", type=int, default=0, help="largest message in bytes; 0 = 8 MiB")
    p.add_argument("--stream", action="store_true", help="also messages one after the other")
    p.add_argument("--fifo", action="store_true", help="real-time scheduling (root)")
    args = p.parse_args()
    if args.rounds < 1 or args.scale < 1 or args.max < 0:
        p.error("--rounds and --scale are 1 or more, --max is 0 or more")
    args.max = args.max or SIZES[-1]
    args.transport, args.one_core, args.cc = "shm", False, "cubic"
    return args


def main():
    args = arguments()
    wanted = ",".join(str(size) for size in SIZES if size <= args.max)
    os.environ.update(
        WAITIO_SHM_FETCH="off", BENCH_BYTES=wanted, BENCH_STREAMS=wanted if args.stream else ""
    )
    place = Place(False, False, args.fifo)
    rounds = placement.Rounds(args, place)
    try:
        rounds.make(lambda: one_round(args, place))
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
    finally:
        place.close()
    print(draw.processor() + "; us of half a round trip")
    for which, some in rounds.of.items():
        print("\n" + rounds.heading(which))
        for name in ("waitio", "raw ring"):
            print(table(some, name, "half_rtt") + "\n")
            if args.stream:
                print("one after the other:\n" + table(some, name, "stream") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
