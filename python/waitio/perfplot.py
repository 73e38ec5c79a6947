# SPDX-License-Identifier: BSD-3-Clause
"""Draw what `waitio perf` found; needs matplotlib, which nothing else here does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from waitio.errors import WaitioError

KINDS = (".png", ".svg", ".pdf")


def check(path: str) -> None:
    """Refuse before anything is measured what could not be drawn afterwards."""
    if os.path.splitext(path)[1] not in KINDS:
        raise WaitioError(f"--plot '{path}': the name must end in {', '.join(KINDS)}", 2)
    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK):
        raise WaitioError(f"--plot '{path}': cannot write in '{folder}'")
    try:
        import matplotlib  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise WaitioError(
            "--plot needs matplotlib: install it for this Python (pip install matplotlib, or the"
            " package python3-matplotlib), or keep the results (--json FILE) and draw them where it"
            " is installed (waitio perf --from FILE --plot FILE)"
        ) from None


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


def _curves(axes: Any, runs: Sequence[dict[str, Any]], mode: str, key: str, scale: float) -> None:
    for label, sizes, values in _series(runs, mode, key):
        axes.plot(sizes, [value * scale for value in values], marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    _size_axis(axes, [size for _, sizes, _ in _series(runs, mode, key) for size in sizes])
    axes.grid(True, which="major", alpha=0.4)
    axes.legend(fontsize="small", frameon=False)


def _size_axis(axes: Any, sizes: Sequence[int]) -> None:
    """Sizes as one says them: 64 KiB, not 2^16; not more than nine of them."""
    every = sorted(set(sizes))
    shown = every[:: (len(every) + 8) // 9] or every
    axes.set_xticks(shown)
    axes.set_xticks([], minor=True)
    axes.set_xticklabels([_size(size) for size in shown], fontsize="small")
    axes.set_xlabel("message size")


BUSY = 2.0  # times the median: a mean above it comes from other work on the machine


def busy(runs: Sequence[dict[str, Any]]) -> bool:
    """Was a mean far above its median, as when other programs take the processors?"""
    return any(
        row["half_rtt_worst_mean"] > BUSY * row["half_rtt_median"] > 0
        for run in runs
        for row in run["results"]
        if row["mode"] == "latency"
    )


def _latency(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    _curves(axes, runs, "latency", "half_rtt_median", 1e6)
    medians = _series(runs, "latency", "half_rtt_median")
    means = _series(runs, "latency", "half_rtt_worst_mean")
    for at, ((_, sizes, low), (_, _, high)) in enumerate(zip(medians, means)):
        axes.fill_between(
            sizes, [v * 1e6 for v in low], [v * 1e6 for v in high], alpha=0.2, color=f"C{at}", lw=0
        )
    axes.set_title("Half round trip: median, shaded up to the worst stream's mean")
    if busy(runs):
        axes.text(
            0.98, 0.03, "the machine was busy: a mean is far above the median",
            transform=axes.transAxes, ha="right", va="bottom", fontsize="small", color="C3",
        )  # fmt: skip
    axes.set_ylabel("microseconds")


def _pingpong(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    _curves(axes, runs, "latency", "bandwidth", 1e-6)
    axes.set_title("Bandwidth of the ping-pong, all streams")
    axes.set_ylabel("MB/s")


def _bandwidth(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    _curves(axes, runs, "bandwidth", "bandwidth", 1e-6)
    axes.set_title("One-way bandwidth, all streams")
    axes.set_ylabel("MB/s")


def _bars(axes: Any, names: list[str], groups: dict[str, list[float]]) -> None:
    width = 0.8 / max(1, len(groups))
    for at, (label, values) in enumerate(groups.items()):
        axes.bar([i + at * width for i in range(len(names))], values, width, label=label)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(names))])
    axes.set_xticklabels(names, fontsize="small")
    if len(groups) > 1:  # one kind of bar is what the title says
        axes.legend(fontsize="small", frameon=False)


def _size(size: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or size % 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"


def _rows(runs: Sequence[dict[str, Any]], mode: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{_label(run, row['streams'])}, {_size(row['bytes'])}".replace(", ", "\n"), row)
        for run in runs
        for row in run["results"]
        if row["mode"] == mode
    ]


def _rate(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    rows = _rows(runs, "rate")
    _bars(axes, [name for name, _ in rows], {"all streams": [r["rate"] / 1e6 for _, r in rows]})
    axes.set_title("Message rate, 64 under way")
    axes.set_ylabel("million messages a second")


def _overlap(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    rows = _rows(runs, "overlap")
    groups = {
        f"{side} computes": [row[side]["over_longer"] for _, row in rows]
        for side in ("sender", "receiver")
    }
    _bars(axes, [name for name, _ in rows], groups)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_title("Transfer and computation at once")
    axes.set_ylabel("time / the longer of the two")


def _load(axes: Any, runs: Sequence[dict[str, Any]]) -> None:
    rows = _rows(runs, "load")
    groups = {
        f"{phase}, {what}": [row[phase][f"half_rtt_{what}"] * 1e6 for _, row in rows]
        for phase in ("idle", "load")
        for what in ("median", "worst")
    }
    _bars(axes, [name for name, _ in rows], groups)
    axes.set_yscale("log")
    axes.set_title("8 bytes beside a transfer to the same peer")
    axes.set_ylabel("half round trip, microseconds")


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
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

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
        figure.savefig(path)
    except OSError as error:
        raise WaitioError(f"--plot '{path}': {error.strerror}") from None
    finally:
        pyplot.close(figure)
