#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Add what a built library newly exports to spec/symbols.txt, with the version in the making.

Run it when a new public function is meant to be there, and look at the difference before a commit.
Names that vanished are only reported: removing one from the list is a decision of its own.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "spec", "symbols.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="?", default=f"{ROOT}/build/release/lib/libwaitio.so")
    args = parser.parse_args()
    with open(os.path.join(ROOT, "CMakeLists.txt")) as handle:
        since = re.search(r"VERSION (\d+\.\d+)\.\d+", handle.read()).group(1)
    with open(LIST) as handle:
        lines = handle.read().splitlines()
    head = [line for line in lines if line.startswith("#")]
    known = dict(line.split() for line in lines if line.strip() and not line.startswith("#"))
    out = subprocess.run(
        ["nm", "-D", "--defined-only", args.library], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split() for line in out.splitlines()]
    exported = {f[2].split("@")[0] for f in fields if len(f) == 3 and f[1] in "TWVBDR"}
    for name in sorted(set(known) - exported):
        print(f"{name} is listed but not exported")
    for name in sorted(exported - set(known)):
        print(f"{name} is new in {since}")
        known[name] = since
    with open(LIST, "w") as handle:
        handle.write("\n".join(head + [f"{n:32s} {known[n]}" for n in sorted(known)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
