# SPDX-License-Identifier: BSD-3-Clause
"""Draw what `waitio iotest` found: throughput by bytes and ways, and what the writers lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waitio import perfplot, plotstyle
from waitio.errors import WaitioError

check = perfplot.check


def _keys(rows: Sequence[dict[str, Any]]) -> list[tuple[int, int, float]]:
    found = {(row["writers"], row["readers"], row["compute"]) for row in rows}
    return sorted(found)


def _title(key: tuple[int, int, float]) -> str:
    writers, readers, compute = key
    more = f", {compute * 1e3:g} ms of computing" if compute else ""
    return f"{writers} writers, {readers} readers{more}"


def _panel(axes: Any, rows: Sequence[dict[str, Any]], what: str) -> None:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    for at, way in enumerate(ways):
        mine = sorted((row for row in rows if row["way"] == way), key=lambda row: int(row["bytes"]))
        color = plotstyle.COLORS[at % len(plotstyle.COLORS)]
        sizes = [row["bytes"] for row in mine]
        middle, low, high = zip(*(_values(row, what) for row in mine))
        plotstyle.curve(axes, sizes, middle, low, high, color=color, label=way)


def _values(row: dict[str, Any], what: str) -> tuple[float, float, float]:
    """Return the median and the ends of the band around it."""
    if what == "GB/s":
        step, moved = row["step"], row["bytes"] * row["writers"] / 1e9
        return moved / step["median"], moved / step["high"], moved / step["low"]
    lost = row["writers_lose"]
    return lost["median"] * 1e3, lost["low"] * 1e3, lost["high"] * 1e3


def draw(rows: Sequence[dict[str, Any]], path: str) -> None:
    """Draw a column for each pair of numbers of processes and each time of computing."""
    check(path)
    pyplot = plotstyle.pyplot()
    keys = _keys(rows)
    if not keys:
        raise WaitioError(f"--plot '{path}': there are no results to draw")
    figure, grid = pyplot.subplots(
        2,
        len(keys),
        squeeze=False,
        sharey="row",
        figsize=(4.2 * len(keys) + 0.8, 7.0),
        layout="constrained",
    )
    for column, key in enumerate(keys):
        mine = [row for row in rows if (row["writers"], row["readers"], row["compute"]) == key]
        for axes, what, unit in (
            (grid[0][column], "GB/s", "GB/s of all writers"),
            (grid[1][column], "lost", "writers lose in a step, ms"),
        ):
            _panel(axes, mine, what)
            plotstyle.sizes_panel(
                axes, [row["bytes"] for row in mine], _title(key), unit if column == 0 else ""
            )
            axes.set_xlabel("bytes of each writer in a step")
    places = sorted({text for row in rows for text in row["processors"]})
    plotstyle.names_above(figure, grid[0][0], columns=6, title="; ".join(places))
    try:
        plotstyle.save(figure, path)
    except OSError as error:
        raise WaitioError(f"--plot '{path}': {error.strerror}") from None
