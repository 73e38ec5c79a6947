# SPDX-License-Identifier: BSD-3-Clause
"""Counters of a run: with WAITIO_STATS=1 every process leaves a file, and `waitio run` adds up."""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from waitio import summary
from waitio.blocks import Block

ON = ("1", "on", "yes", "true")
# Rows of which the largest tells more than the sum.
LARGEST = "_max"


def file_variables(
    blocks: Sequence[Block], environ: Mapping[str, str], folder: str
) -> dict[str, str]:
    """Return the variable that makes the processes leave their counters, if somebody wants them."""
    surroundings = [environ, *(block.env for block in blocks)]
    if any("WAITIO_STATS_FILE" in env for env in surroundings):
        return {}
    if not any(env.get("WAITIO_STATS", "").lower() in ON for env in surroundings):
        return {}
    return {"WAITIO_STATS_FILE": os.path.join(folder, "stats.%r")}


def _read(path: str) -> tuple[int, dict[str, int], dict[str, str]]:
    """Return the block, the counters and their units of one process; block -1: no such file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    head = re.match(r"WaitIO statistics of PB (\d+) ", lines[0] if lines else "")
    rows = [line.split() for line in lines[1:] if re.fullmatch(r"  \w+ +\d+ \w+", line)]
    return (
        int(head.group(1)) if head else -1,
        {name: int(value) for name, value, _ in rows},
        {name: unit for name, _, unit in rows},
    )


def table(folder: str, blocks: Sequence[Block]) -> list[str]:
    """Return the lines that sum up the counters of every block; [] if no process left any."""
    sums: list[dict[str, int]] = [defaultdict(int) for _ in blocks]
    units: dict[str, str] = {}
    count = [0] * len(blocks)
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "stats.*"))):
        pbid, counters, more = _read(path)
        if not 0 <= pbid < len(blocks):
            continue
        count[pbid] += 1
        units.update(more)
        for name, value in counters.items():
            old = sums[pbid][name]
            sums[pbid][name] = max(old, value) if name.endswith(LARGEST) else old + value
    if not any(count):
        return []
    rows: list[tuple[str, ...]] = [("", "", *(block.name for block in blocks), "all")]
    rows.append(("processes", "", *map(str, count), str(sum(count))))
    for name, unit in units.items():
        values = [block[name] for block in sums]
        whole = max(values) if name.endswith(LARGEST) else sum(values)
        rows.append((name, unit, *map(str, values), str(whole)))
    return summary.table(rows, right=range(2, len(blocks) + 3))
