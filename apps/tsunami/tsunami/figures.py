# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the report, in the style of waitio.plotstyle; the sea is red (high) to blue (low)
with white at rest. Most come in two shapes: wide, and narrow for a phone."""

import matplotlib.patheffects
import numpy as np
from matplotlib.colors import LightSource, LinearSegmentedColormap
from matplotlib.patches import Patch

from tsunami import files, world
from waitio.plotstyle import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, YELLOW, pyplot

NARROW = 5.0  # inches, which a phone shows at about the size of its own text
BLOCK = {"ocean": BLUE, "gauges": YELLOW, "assim": GREEN}
LAND = LinearSegmentedColormap.from_list("land", ["#b5ae97", "#8d8266", "#c9c2b2"])
LIMIT = 1.0  # m, ends of the colour map
SOUTH_PART = (-126.0, -122.25, 48.0, 49.3)  # where waves go within three hours

plt = pyplot()


class Land:
    """Topography with the light from the north-west, to lie behind the sea."""

    def __init__(self):
        lon, lat, topo = world.sample_data()
        dlon, dlat = lon[1] - lon[0], lat[1] - lat[0]
        rows = np.linspace(0, len(lat) - 1, 4 * len(lat))
        columns = np.linspace(0, len(lon) - 1, 4 * len(lon))
        fine = world.bilinear(np.maximum(topo, 0), rows, columns)
        light = LightSource(azdeg=315, altdeg=40)
        self.picture = light.shade(
            fine[::-1],
            cmap=LAND,
            blend_mode="soft",
            vmin=0,
            vmax=2200,
            vert_exag=1.0,
            dx=600,
            dy=600,
        )
        self.extent = (
            lon[0] - dlon / 2, lon[-1] + dlon / 2, lat[0] - dlat / 2, lat[-1] + dlat / 2,
        )  # fmt: skip

    def draw(self, axes, window=SOUTH_PART):
        axes.imshow(self.picture, extent=self.extent, interpolation="bilinear", zorder=0)
        axes.set_xlim(window[:2])
        axes.set_ylim(window[2:])
        axes.set_aspect(1 / np.cos(np.radians(sum(window[2:]) / 2)))


def draw_sea(axes, grid, height, limit):
    edges_x = grid.west + grid.dlon * np.arange(grid.shape[1] + 1)
    edges_y = grid.south + grid.dlat * np.arange(grid.shape[0] + 1)
    return axes.pcolormesh(
        edges_x, edges_y, np.where(grid.wet, height, np.nan), cmap="RdBu_r",
        vmin=-limit, vmax=limit, zorder=1, rasterized=True,
    )  # fmt: skip


def degrees(axes, left, bottom):
    axes.set_xticks([-126, -125, -124, -123], ["126°W", "125°W", "124°W", "123°W"])
    axes.set_yticks([48, 48.5, 49], ["48°N", "48.5°N", "49°N"])
    axes.tick_params(labelleft=left, labelbottom=bottom, labelsize=8, length=2)


def name_towns(axes, size=7.5):
    where = {  # points beside the dot, and the side of the text that is there
        "Tofino": (5, 3, "left"),
        "Bamfield": (5, 3, "left"),
        "Port Renfrew": (2, 5, "left"),
        "Neah Bay": (-3, -10, "right"),
        "Sooke": (-4, 4, "right"),
        "Port Angeles": (5, -9, "center"),
        "Victoria": (2, 5, "left"),
        "Port Townsend": (0, 5, "center"),
    }
    halo = [matplotlib.patheffects.withStroke(linewidth=2.2, foreground="white")]
    for town, (lon, lat) in world.TOWNS.items():
        axes.plot(lon, lat, "o", color=BLACK, ms=3.2, mec="white", mew=0.6, zorder=4)
        x, y, side = where[town]
        axes.annotate(
            town,
            (lon, lat),
            (x, y),
            textcoords="offset points",
            fontsize=size,
            ha=side,
            zorder=5,
            path_effects=halo,
        )


def show_sensors(axes, grid, outcome):
    cells = outcome.config["cells"][: outcome.sensors]
    axes.plot(
        [grid.lon[i] for j, i in cells], [grid.lat[j] for j, i in cells],
        "^", color="none", mec=BLACK, ms=3.5, mew=0.7, zorder=3,
    )  # fmt: skip


def name_all(axes, grid, outcome, size=7.5):
    """Everything that has a name, in one map: towns, and what the triangles are."""
    show_sensors(axes, grid, outcome)
    name_towns(axes, size)
    axes.text(
        0.99, 0.98, f"△ {outcome.sensors} gauges on the sea floor", transform=axes.transAxes,
        ha="right", va="top", fontsize=size,
    )  # fmt: skip


def runs(outcome):
    """(title, maps, grid) of what is compared."""
    here = outcome.folder
    return [
        (
            "truth (a recorded simulation)",
            outcome.recording / "truth",
            outcome.recording / "grid.bin",
        ),
        ("free run,\nfrom the first report", here / "free", here / "grid.bin"),
        ("the same simulation\nwith the gauges", here / "event", here / "grid.bin"),
    ]


def map_at(axes, land, run, minute):
    """Draw a run's sea at a moment; returns the picture and the moment (min) that there is."""
    _, path, grid_path = run
    grid = files.Grid.load(grid_path)
    times, heights = files.load_maps(path)
    k = int(np.argmin(abs(times - 60 * minute)))
    land.draw(axes)
    return draw_sea(axes, grid, heights[k], LIMIT), times[k] / 60


def color_bar(figure, picture, axes, **options):
    bar = figure.colorbar(picture, ax=axes, pad=0.01, extend="both", **options)
    bar.set_label("height above rest (m)")


def maps(outcome, minutes=(5, 20, 40, 70), narrow=False):
    """Rows: what happened, the free run, the assimilated run. Columns: moments; narrow: the second
    of them."""
    land = Land()
    if narrow:
        return maps_narrow(outcome, land, minutes[1])
    figure, axes = plt.subplots(
        3, len(minutes), figsize=(3.15 * len(minutes) + 1.0, 5.3), layout="constrained"
    )
    figure.get_layout_engine().set(h_pad=0.02, hspace=0.02)
    grid = files.Grid.load(outcome.folder / "grid.bin")
    for row, run in enumerate(runs(outcome)):
        for column, minute in enumerate(minutes):
            at = axes[row, column]
            sea, moment = map_at(at, land, run, minute)
            degrees(at, column == 0, row == 2)
            if row == 0:
                at.set_title(f"after {moment:.0f} min", fontsize=10)
            if column == 0:
                at.set_ylabel(run[0], fontsize=9)
    name_all(axes[0, -1], grid, outcome)
    color_bar(figure, sea, axes, shrink=0.8)
    return figure


def maps_narrow(outcome, land, minute):
    figure, axes = plt.subplots(3, 1, figsize=(NARROW, 8.2), layout="constrained")
    for row, (at, run) in enumerate(zip(axes, runs(outcome))):
        sea, moment = map_at(at, land, run, minute)
        degrees(at, True, row == 2)
        at.set_title(run[0].replace("\n", " "))
    name_all(axes[0], files.Grid.load(outcome.folder / "grid.bin"), outcome)
    figure.suptitle(f"after {moment:.0f} min", fontsize=11)
    color_bar(figure, sea, axes, orientation="horizontal", shrink=0.8)
    return figure


def summary(outcome, minute=20, towns=("Bamfield", "Victoria")):
    """The picture of the README: three maps of one moment, and two towns."""
    figure = plt.figure(figsize=(11, 4.9), layout="constrained")
    grid = files.Grid.load(outcome.folder / "grid.bin")
    land = Land()
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.0, 1.08))
    axes = top.subplots(1, 3)
    for k, (at, run) in enumerate(zip(axes, runs(outcome))):
        sea, moment = map_at(at, land, run, minute)
        degrees(at, k == 0, True)
        at.set_title(run[0].replace("\n", " "))
    name_all(axes[0], grid, outcome, 7)
    color_bar(top, sea, axes, shrink=0.85)
    top.suptitle(f"The sea {moment:.0f} minutes after the earthquake", fontsize=11)
    curves = bottom.subplots(1, 2, sharex=True)
    for at, town in zip(curves, towns):
        draw_town(at, outcome, town)
        at.set_xlabel("minutes after the earthquake")
    handles, labels = curves[0].get_legend_handles_labels()
    bottom.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def draw_town(axes, outcome, town):
    minutes = outcome.times / 60
    lead = outcome.plan.lead * outcome.plan.cycle / 60
    k = list(world.TOWNS).index(town)
    s = outcome.sensors + k
    axes.axhline(0, color="#dddddd", lw=0.8, zorder=0)
    axes.plot(
        minutes, outcome.truth[:, s], color=BLACK, lw=2.8, label="truth (a recorded simulation)"
    )
    axes.plot(minutes, outcome.free[:, s], color=GREY, lw=1.4, ls="--", label="free run")
    axes.plot(minutes, outcome.event[:, s], color=SKY, lw=1.7, label="simulation with the gauges")
    label = f"learned forecast, made {lead:.0f} min before"
    due = minutes + lead
    axes.plot(due, outcome.forecasts[:, k], color=ORANGE, lw=1.5, ls=(0, (4, 1)), label=label)
    axes.set_title(town, fontweight="bold")
    axes.set_xlim(0, minutes[-1])
    axes.set_ylabel("height (m)")


def town_curves(outcome, narrow=False):
    shape, size = ((8, 1), (NARROW, 14)) if narrow else ((4, 2), (11.5, 9))
    figure, axes = plt.subplots(
        *shape, figsize=size, sharex=True, layout="constrained", squeeze=False
    )
    for town, at in zip(world.TOWNS, axes.T.flat):
        draw_town(at, outcome, town)
    for at in axes[-1]:
        at.set_xlabel("minutes after the earthquake")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=1 if narrow else 4)
    return figure


def errors(outcome, narrow=False):
    shape, size = ((2, 1), (NARROW, 7.4)) if narrow else ((1, 2), (11.5, 3.8))
    figure, (left, right) = plt.subplots(*shape, figsize=size, layout="constrained")
    minutes = outcome.times / 60
    for heights, color, style, label in (
        (outcome.free, GREY, "--", "free run"),
        (outcome.event, BLUE, "-", "assimilated"),
    ):
        for part, width, where in (
            (slice(None, outcome.sensors), 1.2, "sensors"),
            (slice(outcome.sensors, None), 2.4, "towns (not assimilated)"),
        ):
            error = np.sqrt(np.mean((heights - outcome.truth)[:, part] ** 2, axis=1))
            left.plot(minutes, error, color=color, ls=style, lw=width, label=f"{label}, {where}")
    left.set(
        xlabel="minutes after the earthquake", ylabel="root mean square error (m)", ylim=(0, None)
    )
    left.set_xlim(0, minutes[-1])
    left.legend(fontsize=8.5)
    truth, learned, stays, nothing = outcome.ahead()
    place = np.arange(len(world.TOWNS))
    lead = outcome.plan.lead * outcome.plan.cycle / 60
    for line, (forecast, color, label) in enumerate(
        (
            (learned, ORANGE, "learned"),
            (stays, GREY, "persistence: it stays as it is"),
            (nothing, SKY, "no forecast: the sea at rest"),
        )
    ):
        error = np.sqrt(np.mean((forecast - truth) ** 2, axis=0))
        right.bar(place + 0.27 * (line - 1), error, 0.27, color=color)
        right.text(  # the names of the bars, in their colours
            1, 0.98 - 0.09 * line, label, color=color, transform=right.transAxes,
            ha="right", va="top", fontsize=9,
        )  # fmt: skip
    right.set_xticks(place, list(world.TOWNS), rotation=30, ha="right", fontsize=9)
    right.set_ylabel(f"error of a forecast\n{lead:.0f} min ahead (m)")
    return figure


ACTIVITIES = {  # what a process does: (label, colour, opacity)
    "ocean": ("ocean computes", BLOCK["ocean"], 1.0),
    "assim": ("assim analyses, learns", BLOCK["assim"], 1.0),
    "send": ("sends", BLACK, 1.0),
    "wait ocean": ("waits for ocean", BLOCK["ocean"], 0.3),
    "wait gauges": ("waits for gauges", BLOCK["gauges"], 0.35),
    "wait assim": ("waits for assim", BLOCK["assim"], 0.3),
    "sleep": ("gauges: until the next sample", "#ececec", 1.0),
}


def activity(interval):
    """Key in ACTIVITIES of what a process did."""
    if interval.what == "wait":
        return f"wait {interval.block}"
    if interval.what == "sleep":
        return "sleep"
    return {"compute": "ocean", "learn": "assim", "analyse": "assim"}.get(interval.what, "send")


def shares(intervals, edges):
    """Part of each piece of time that went into each activity."""
    width = edges[1] - edges[0]
    found = {name: np.zeros(len(edges) - 1) for name in ACTIVITIES}
    for i in intervals:
        first = max(0, int((i.start - edges[0]) / width))
        last = min(len(edges) - 2, int((i.end - edges[0]) / width))
        for k in range(first, last + 1):
            inside = min(i.end, edges[k + 1]) - max(i.start, edges[k])
            found[activity(i)][k] += max(0.0, inside) / width
    return found


def draw_lanes(axes, traces, begin, end, pieces):
    """A lane for each process; where a piece of time holds several activities they are stacked."""
    edges = np.linspace(begin, end, pieces + 1)
    for lane, who in enumerate(traces):
        base = np.full(pieces, lane + 0.4)
        for name, part in shares(traces[who], edges).items():
            top = base - 0.8 * part
            _, color, opacity = ACTIVITIES[name]
            axes.stairs(top, edges, baseline=base, fill=True, color=color, alpha=opacity, lw=0)
            base = top
    axes.set_yticks(range(len(traces)), [f"{block} {rank}" for block, rank in traces])
    axes.set_ylim(len(traces) - 0.5, -0.5)
    axes.set_xlim(begin, end)
    axes.set_xlabel("seconds since the start")


def timeline(traces, narrow=False):
    end = max(i[-1].end for i in traces.values() if i)
    gauges = next(i for (block, _), i in traces.items() if block == "gauges")
    moments = [i.start for i in gauges if i.what == "stream"]
    middle = moments[len(moments) // 2]
    width = max(0.02, 10 * (moments[-1] - moments[0]) / len(moments))
    size = (NARROW, 6.6) if narrow else (11.5, 5.8)
    figure, (whole, zoom) = plt.subplots(2, 1, figsize=size, layout="constrained")
    draw_lanes(whole, traces, 0, end, 120 if narrow else 300)
    whole.set_title("the whole run (line: the earthquake)")
    whole.axvline(moments[0], color=ORANGE, lw=1.5)
    draw_lanes(zoom, traces, middle, middle + width, 400 if narrow else 1000)
    zoom.set_title("a few cycles of the event")
    zoom.ticklabel_format(axis="x", useOffset=False)
    handles = [
        Patch(color=color, alpha=a, lw=0, label=label) for label, color, a in ACTIVITIES.values()
    ]
    columns = 2 if narrow else 4
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)
    return figure
