# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the report; draw(narrow=True) draws for a phone."""

import numpy as np

from flow.render import vorticity
from waitio import plotstyle
from waitio.plotstyle import BLUE, GREEN, ORANGE, PURPLE

plt = plotstyle.pyplot()
NARROW = 5.2


def axes_of(narrow, rows, wide_height, narrow_height):
    size = (NARROW, narrow_height) if narrow else (11.5, wide_height)
    figure, axes = plt.subplots(rows, 1, figsize=size, layout="constrained", squeeze=False)
    return figure, axes[:, 0]


def plane(axes, results, values, limits, colors, title):
    plan = results.plan
    shown = np.ma.array(values, mask=results.body)
    drawn = axes.imshow(
        shown.T, origin="lower", extent=(0, plan.nx, 0, plan.ny), cmap=colors, vmin=limits[0],
        vmax=limits[1], interpolation="bilinear", aspect="equal",
    )  # fmt: skip
    axes.set_facecolor("#555555")  # what is masked: the cylinder
    axes.set(title=title, ylabel="y")
    return drawn


def streamlines(axes, results, u, v):
    plan = results.plan
    x, y = np.arange(plan.nx) + 0.5, np.arange(plan.ny) + 0.5
    axes.streamplot(
        x, y, np.where(results.body, 0, u).T, np.where(results.body, 0, v).T, color="#333333",
        linewidth=0.5, arrowsize=0.5, density=(2.2, 0.9),
    )  # fmt: skip
    axes.set(xlim=(0, plan.nx), ylim=(0, plan.ny))


def instant(results, narrow=False):
    """The last step: vorticity, and streamlines over the speed."""
    last = np.load(results.folder / "render.npz")
    plan = results.plan
    figure, axes = axes_of(narrow, 2, 6.2, 4.2)
    curl = vorticity(last["u"], last["v"]) * plan.diameter / plan.speed
    drawn = plane(axes[0], results, curl, (-6, 6), "RdBu_r", "vorticity × D/U")
    figure.colorbar(drawn, ax=axes[0], shrink=0.8)
    speed = np.hypot(last["u"], last["v"]) / plan.speed
    drawn = plane(axes[1], results, speed, (0, 2.2), "viridis", "speed / U, and streamlines")
    streamlines(axes[1], results, last["u"], last["v"])
    figure.colorbar(drawn, ax=axes[1], shrink=0.8)
    axes[1].set_xlabel("x (cells)")
    return figure


def averages(results, narrow=False):
    """What the late program has made of many steps."""
    speed = results.plan.speed
    figure, axes = axes_of(narrow, 2, 6.2, 4.2)
    drawn = plane(axes[0], results, results.mean[0] / speed, (-0.4, 2), "RdYlBu_r", "mean of u / U")
    figure.colorbar(drawn, ax=axes[0], shrink=0.8)
    title = "fluctuations of v (root mean square) / U"
    drawn = plane(axes[1], results, results.rms[1] / speed, (0, 0.9), "magma", title)
    figure.colorbar(drawn, ax=axes[1], shrink=0.8)
    axes[1].set_xlabel("x (cells)")
    return figure


def signals(results, narrow=False):
    """Lift by the solver; velocity by the probe, and by the one that came for it."""
    figure, axes = axes_of(narrow, 2, 4.6, 5.2)
    s, p, plan = results.solver, results.probe, results.plan
    axes[0].plot(s["step"], results.coefficient(s["lift"]), color=BLUE, lw=1, label="lift")
    axes[0].plot(s["step"], results.coefficient(s["drag"]), color=ORANGE, lw=1, label="drag")
    axes[0].set(title="force coefficients, by the solver", ylim=(-2, 5), xlim=(0, plan.steps))
    axes[0].legend(ncols=2, loc="lower left")
    died = results.gap()[0]
    for name, color, chosen in (
        ("the probe, until it was killed", GREEN, p["step"] <= died),
        ("the one that came for it", PURPLE, p["step"] > died),
    ):
        axes[1].plot(
            p["time"][chosen], p["velocity"][chosen] / plan.speed, color=color, lw=1, label=name
        )
    axes[1].set(
        title="v / U behind the cylinder", xlabel="steps of the lattice", xlim=(0, plan.steps)
    )
    axes[1].legend(loc="lower left", ncols=1 if narrow else 2)
    return figure


def readers(results, narrow=False):
    """When each program has read a step."""
    figure, axes = axes_of(narrow, 1, 2.4, 2.8)
    probe, died = results.probe, results.gap()[0]
    begin = results.render["seen"][0][1]
    clock = probe["clock"]
    lanes = (
        ("render", ORANGE, [when for _, when in results.render["seen"]]),
        ("statistics", BLUE, [when for _, when in results.statistics["seen"]]),
        ("probe", GREEN, clock[probe["step"] <= died]),
        ("spare", PURPLE, clock[probe["step"] > died]),
    )
    for row, (_, color, when) in enumerate(lanes):
        axes[0].vlines(np.asarray(when) - begin, row - 0.35, row + 0.35, color=color, lw=0.8)
    axes[0].set_yticks(range(len(lanes)), [name for name, _, _ in lanes])
    axes[0].invert_yaxis()
    axes[0].set_xlabel("seconds")
    return figure
