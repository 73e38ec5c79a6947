# SPDX-License-Identifier: BSD-3-Clause
"""Latency and bandwidth by size of every implementation, as a picture."""

import statistics


def available():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def curves(rounds, names):
    """Medians over the rounds: {name: ([bytes], [seconds])}."""
    found = {}
    for name in names:
        keys = [k for k in rounds[0][name] if k[0] == "half_rtt"]
        medians = [statistics.median(r[name][k] for r in rounds) for k in keys]
        found[name] = ([k[1] for k in keys], medians)
    return found


def draw(rounds, names, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), layout="constrained")
    for name, (sizes, seconds) in curves(rounds, names).items():
        style = {"marker": "o", "markersize": 4, "label": name}
        if name.startswith("waitio"):
            style.update(linewidth=2.5, color="black")
        left.plot(sizes, [s * 1e6 for s in seconds], **style)
        right.plot(sizes, [n / s * 1e-9 for n, s in zip(sizes, seconds)], **style)
    for axes, title, unit in (
        (left, "half round trip", "microseconds"),
        (right, "bandwidth of the ping-pong", "GB/s"),
    ):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(title)
        axes.set_xlabel("message size (bytes)")
        axes.set_ylabel(unit)
        axes.grid(True, alpha=0.4)
    left.legend(fontsize="small")
    figure.savefig(path)
    pyplot.close(figure)
