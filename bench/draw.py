# SPDX-License-Identifier: BSD-3-Clause
"""Latency and bandwidth by size of every implementation, as a picture."""

import statistics

import place  # noqa: F401  (finds the Python package)

from waitio import plotstyle

available = plotstyle.available
NAMES = {"waitio": "WaitIO", "waitio (Python)": "WaitIO from Python"}
OURS = {"waitio": plotstyle.BLACK, "waitio (Python)": plotstyle.ORANGE}
OTHERS = (plotstyle.BLUE, plotstyle.SKY, plotstyle.GREEN, plotstyle.PURPLE, plotstyle.YELLOW)
TRANSPORTS = {"shm": "shared memory", "tcp": "TCP"}
SHORT = 65536  # bytes, the largest of the left panel


def curves(rounds, names):
    """{name: [(bytes, seconds of every round)]} of the half round trips."""
    return {
        name: [(k[1], [r[name][k] for r in rounds]) for k in rounds[0][name] if k[0] == "half_rtt"]
        for name in names
    }


def busy(found):
    return plotstyle.busy(
        (statistics.median(values), statistics.mean(values))
        for rows in found.values()
        for _, values in rows
    )


def style_of(name, others):
    """Ours are thick, floors dashed and grey, the rest coloured in turn."""
    if name in OURS:
        return {"label": NAMES[name], "color": OURS[name], "lw": 2.6, "zorder": 3}
    if name.startswith("raw"):
        dashes = "--" if name.endswith(("ring", "spin", "futex")) else ":"
        return {"label": f"{name} (floor)", "color": plotstyle.GREY, "ls": dashes}
    label = name.replace(" (shm)", "").replace(" (tcp)", "").replace("shm, ", "")
    return {"label": label, "color": OTHERS[others.index(name) % len(OTHERS)]}


def processor():
    """The processor's name, as far as the system knows it."""
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.split(":", 1)[1].strip() for line in info if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else "unknown processor"


def draw_curves(axes, found, of, most):
    """A curve for each program, of what of(bytes, seconds) gives, up to so many bytes."""
    others = [n for n in found if n not in OURS and not n.startswith("raw")]
    for name, rows in found.items():
        shown = [row for row in rows if row[0] <= most]
        bands = zip(*(plotstyle.quartiles([of(n, s) for s in values]) for n, values in shown))
        plotstyle.curve(axes, [n for n, _ in shown], *bands, **style_of(name, others))


def draw(rounds, names, path, transport):
    """Median over the rounds; the band holds the middle half of them. memcpy, which no two
    processes take part in, is left to the table."""
    found = curves(rounds, [n for n in names if n != "memcpy"])
    every = {size for rows in found.values() for size, _ in rows}
    pyplot = plotstyle.pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    draw_curves(left, found, lambda n, s: s * 1e6, SHORT)
    draw_curves(right, found, lambda n, s: n / s * 1e-9, max(every))
    short = [size for size in every if size <= SHORT]
    plotstyle.sizes_panel(left, short, "Half round trip of short messages", "microseconds")
    plotstyle.sizes_panel(right, every, "Bandwidth of the ping-pong", "GB/s")
    right.set_yscale("linear")
    right.set_ylim(0, None)
    title = f"Two processes over {TRANSPORTS[transport]}; {processor()}"
    plotstyle.names_above(figure, left, title=title)
    if busy(found):
        plotstyle.note_busy(left)
    plotstyle.save(figure, path)
