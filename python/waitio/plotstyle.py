# SPDX-License-Identifier: BSD-3-Clause
"""The style of all pictures: `waitio perf --plot`, the benchmarks' and the tsunami report's.

Colours are Okabe and Ito's, which the colour-blind tell apart. Sizes read 64 KiB. A curve is a
median inside a band. Bars carry their names and values, not a legend. Names of curves stand above
the panels. matplotlib is needed only when something is drawn.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

BLACK, GREY, BLUE, ORANGE = "#000000", "#8a8a8a", "#0072B2", "#D55E00"
GREEN, SKY, YELLOW, PURPLE = "#009E73", "#56B4E9", "#E69F00", "#CC79A7"
COLORS = (BLUE, ORANGE, GREEN, YELLOW, SKY, PURPLE, GREY)
RC = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.dpi": 100,
    "svg.hashsalt": "waitio",  # the same picture is the same file
}
BUSY = 2.0  # times the median: a mean above it comes from other work on the machine
BUSY_TEXT = "machine was busy: a mean is far above the median"


def available() -> bool:
    """Is matplotlib installed?"""
    try:
        import matplotlib  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        return False
    return True


def pyplot() -> Any:
    """Return matplotlib.pyplot, in this style and without a window."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(RC)
    from matplotlib import pyplot as plt  # type: ignore[import-not-found,unused-ignore]

    return plt


def size(count: float) -> str:
    """Say a number of bytes: 64 KiB, 1.5 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:g} {unit}"
        count /= 1024
    return f"{count:g} GiB"


def busy(pairs: Iterable[tuple[float, float]]) -> bool:
    """Is one of these (median, mean) pairs torn apart, as when other programs run?"""
    return any(mean > BUSY * median > 0 for median, mean in pairs)


def note_busy(axes: Any) -> None:
    """Write the warning into a panel."""
    axes.text(
        0.98, 0.03, BUSY_TEXT, transform=axes.transAxes, ha="right", va="bottom",
        fontsize="small", color=ORANGE,
    )  # fmt: skip


def _spread_out(sizes: Iterable[int], most: int) -> list[int]:
    """Leave out sizes that stand too close on a logarithmic axis for `most` words."""
    every = sorted(set(sizes))
    least = math.log2(every[-1] / every[0]) / most
    shown: list[int] = []
    for one in every:
        if not shown or math.log2(one / shown[-1]) >= least:
            shown.append(one)
    return shown


def size_axis(axis: Any, sizes: Iterable[int], most: int = 9) -> None:
    """Let a logarithmic x or y axis show these numbers of bytes, those that have room, in words."""
    shown = _spread_out(sizes, most)
    axis.set_ticks(shown, labels=[size(one) for one in shown], fontsize="small")
    axis.set_ticks([], minor=True)


def plain_axis(axis: Any) -> None:
    """Let a logarithmic axis show 0.1, 1, 10 instead of powers."""
    axis.set_major_formatter("{x:g}")


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, and the ends of the band that the middle half of the values fill."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def curve(
    axes: Any,
    x: Sequence[float],
    middle: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    **style: Any,
) -> None:
    """Draw a median and, shaded, the band from low to high around it."""
    (line,) = axes.plot(x, middle, **{"marker": "o", "markersize": 4, "lw": 1.5, **style})
    axes.fill_between(x, low, high, alpha=0.18, color=line.get_color(), lw=0)


def sizes_panel(axes: Any, sizes: Iterable[int], title: str, unit: str) -> None:
    """Make a panel of curves over message sizes, both axes logarithmic."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    size_axis(axes.xaxis, sizes)
    plain_axis(axes.yaxis)
    axes.set(title=title, xlabel="message size", ylabel=unit)
    axes.grid(True, which="major", color="#dddddd", lw=0.8)


def names_above(figure: Any, axes: Any, columns: int = 4, title: str | None = None) -> None:
    """Name the curves of one panel above all panels, and what all of it is."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, min(columns, len(labels)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, title=title)


def _name_groups(axes: Any, groups: Sequence[tuple[str, float]]) -> None:
    """Write (name, place) below the names of the bars."""
    below = axes.secondary_xaxis(-0.13)
    below.set_xticks([at for _, at in groups], labels=[name for name, _ in groups])
    below.tick_params(length=0, labelsize="small")
    below.spines["bottom"].set_visible(False)


def bars(axes: Any, groups: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> None:
    """Draw groups (name, [(name of a bar, value)]); names stand below, values on the bars.

    A bar's colour is that of its place in the group.
    """
    ticks: list[tuple[float, str]] = []
    middles: list[tuple[str, float]] = []
    left = 0.0
    for name, members in groups:
        for at, (what, value) in enumerate(members):
            drawn = axes.bar(left + at, value, 0.85, color=COLORS[at % len(COLORS)])
            axes.bar_label(drawn, fmt="%.3g", fontsize="small", padding=1)
            ticks.append((left + at, what))
        middles.append((name, left + (len(members) - 1) / 2))
        left += len(members) + 0.6
    axes.set_xticks([x for x, _ in ticks], labels=[what for _, what in ticks], fontsize="small")
    axes.set_xlim(-0.8, max(left - 0.4, 3.2))  # a single bar is no wall
    if any(name for name, _ in middles):
        _name_groups(axes, middles)


def _apart(places: Sequence[float], least: float) -> list[float]:
    """Move places (increasing) up until they are so far from each other."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + least) if moved else place)
    return moved


def stacks(axes: Any, names: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Draw a stack for each name; the parts are named beside the last stack, in their colours."""
    base = [0.0] * len(names)
    middles = []
    for at, (_, values) in enumerate(parts):
        axes.bar(range(len(names)), values, 0.7, bottom=base, color=COLORS[at % len(COLORS)])
        middles.append(base[-1] + values[-1] / 2)
        base = [b + v for b, v in zip(base, values)]
    axes.set_xticks(range(len(names)), labels=names)
    axes.set_xlim(-0.5, len(names) + 0.15)
    middles[0] = max(middles[0], 0.03 * max(base))  # a name stands above the axis
    for at, place in enumerate(_apart(middles, 0.06 * max(base))):
        axes.text(
            len(names) - 0.6, place, parts[at][0], color=COLORS[at % len(COLORS)],
            va="center", fontsize="small",
        )  # fmt: skip


def save(figure: Any, path: Any, **options: Any) -> None:
    """Write the picture and close it. An SVG has no date: equal pictures, equal files."""
    if str(path).endswith(".svg"):
        options.setdefault("metadata", {"Date": None})
    try:
        figure.savefig(path, **options)
    finally:
        pyplot().close(figure)
