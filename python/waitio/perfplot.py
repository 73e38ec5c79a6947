# SPDX-License-Identifier: BSD-3-Clause
"""Draw what `waitio perf` found; needs matplotlib, which nothing else here does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from waitio import plotstyle
from waitio.errors import WaitioError
from waitio.plotstyle import size

KINDS = (".png", ".svg", ".pdf")


def check(path: str) -> None:
    """Refuse before anything is measured what could not be drawn afterwards."""
    if os.path.splitext(path)[1] not in KINDS:
        raise WaitioError(f"--plot '{path}': the name must end in {', '.join(KINDS)}", 2)
    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK):
        raise WaitioError(f"--plot '{path}': cannot write in '{folder}'")
    if not plotstyle.available():
        raise WaitioError(
            "--plot needs matplotlib: install it for this Python (pip install matplotlib, or the"
            " package python3-matplotlib), or keep the results (--json FILE) and draw them where it"
            " is installed (waitio perf --from FILE --plot FILE)"
        )


def _label(run: dict[str, Any], streams: int) -> str:
    transports = sorted({pair["transport"] for pair in run["pairs"][:streams]})
    plural = "s" if run["blocks"] != 1 else ""
    text = f"{run['blocks']} block{plural}, {'+'.join(transports)}"
    return text + (f", {streams} streams" if streams != 1 else "")


def _series(
    runs: Sequence[dict[str, Any]], mode: str, key: str
) -> list[tuple[str, list[int], list[float]]]:
    """Return a curve over the sizes for each run and number of streams."""
    curves: dict[tuple[int, int], tuple[str, list[int], list[float]]] = {}
    for number, run in enumerate(runs):
        for row in run["results"]:
            if row["mode"] == mode:
                streams = row["streams"]
                curve = curves.setdefault((number, streams), (_label(run, streams), [], []))
                curve[1].append(row["bytes"])
                curve[2].append(row[key])
    return list(curves.values())


def _panel(
    axes: Any,
    runs: Sequence[dict[str, Any]],
    mode: str,
    keys: tuple[str, str],
    scale: float,
    words: tuple[str, str],
) -> None:
    """Draw a curve for each run and number of streams, with a band up to the second key."""
    middles, ends = (_series(runs, mode, key) for key in keys)
    for at, ((label, sizes, middle), (_, _, end)) in enumerate(zip(middles, ends)):
        color = plotstyle.COLORS[at % len(plotstyle.COLORS)]
        low, high = [v * scale for v in middle], [v * scale for v in end]
        plotstyle.curve(axes, sizes, low, low, high, color=color, label=label)
    plotstyle.sizes_panel(axes, [n for _, sizes, _ in middles for n in sizes], *words)
    if len(middles) > 1:
        axes.legend(fontsize="small")
    elif middles:
        axes.set_title(f"{words[0]}; {middles[0][0]}")


def busy(runs: Sequence[dict[str, Any]]) -> bool:
    """Was a mean far above its median, as when other programs take the processors?"""
    return plotstyle.busy(
        (row["half_rtt_median"], row["half_rtt_worst_mean"])
        for run in runs
        for row in run["results"]
        if row["mode"] == "latency"
    )


def _latency(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    words = "Half round trip: median, shaded up to the worst mean", "microseconds"
    _panel(axes, runs, "latency", ("half_rtt_median", "half_rtt_worst_mean"), 1e6, words)
    if busy(runs):
        plotstyle.note_busy(axes)


def _pingpong(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    words = "Bandwidth of the ping-pong, all streams", "MB/s"
    _panel(axes, runs, "latency", ("bandwidth", "bandwidth"), 1e-6, words)


def _bandwidth(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    words = "One-way bandwidth, all streams", "MB/s"
    _panel(axes, runs, "bandwidth", ("bandwidth", "bandwidth"), 1e-6, words)


def _rows(runs: Sequence[dict[str, Any]], mode: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{_label(run, row['streams'])}, {size(row['bytes'])}", row)
        for run in runs
        for row in run["results"]
        if row["mode"] == mode
    ]


def _rate(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    bars = [(name.replace(", ", "\n"), row["rate"] / 1e6) for name, row in _rows(runs, "rate")]
    plotstyle.bars(axes, [("", bars[at : at + 1]) for at in range(len(bars))])
    axes.set(title="Message rate, 64 under way", ylabel="million messages a second")


def _overlap(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    groups = [
        (name, [(f"{s}\ncomputes", row[s]["over_longer"]) for s in ("sender", "receiver")])
        for name, row in _rows(runs, "overlap")
    ]
    plotstyle.bars(axes, groups)
    axes.axhline(1, color=plotstyle.BLACK, lw=0.8)
    axes.set(title="Transfer and computation at once", ylabel="time / the longer of the two")


def _load(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    phases = (("idle", "idle"), ("load", "beside it"))
    groups = [
        (
            name,
            [
                (f"{says},\n{what}", row[phase][f"half_rtt_{what}"] * 1e6)
                for phase, says in phases
                for what in ("median", "worst")
            ],
        )
        for name, row in _rows(runs, "load")
    ]
    plotstyle.bars(axes, groups)
    axes.set_yscale("log")
    plotstyle.plain_axis(axes.yaxis)
    axes.set(title="8 B beside a transfer to the same peer", ylabel="half round trip, microseconds")


PANELS = (
    ("latency", _latency),
    ("latency", _pingpong),
    ("bandwidth", _bandwidth),
    ("rate", _rate),
    ("overlap", _overlap),
    ("load", _load),
)


def draw(runs: Sequence[dict[str, Any]], path: str) -> None:
    """Draw a panel for each mode that was measured."""
    check(path)
    pyplot = plotstyle.pyplot()
    measured = {row["mode"] for run in runs for row in run["results"]}
    panels = [panel for mode, panel in PANELS if mode in measured]
    if not panels:
        raise WaitioError(f"--plot '{path}': there are no results to draw")
    columns = min(2, len(panels))
    lines = (len(panels) + columns - 1) // columns
    figure, grid = pyplot.subplots(
        lines, columns, squeeze=False, figsize=(6.4 * columns, 4.4 * lines), layout="constrained"
    )
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes, panel in zip(grid.flat, panels):
        panel(axes, runs)
    try:
        plotstyle.save(figure, path)
    except OSError as error:
        raise WaitioError(f"--plot '{path}': {error.strerror}") from None
