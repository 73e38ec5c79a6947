# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the report, in the style of waitio.plotstyle, wide and narrow for a phone."""

import numpy as np
from matplotlib.collections import PolyCollection

from waitio.plotstyle import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, YELLOW, pyplot

NARROW = 5.0  # inches, which a phone shows at about the size of its own text
BLOCK = {"atmos": ORANGE, "ocean": BLUE, "learn": GREEN, "output": YELLOW}
LAND_GREY = "#d9d6cc"
WARM, HEAT = (-30, 30), (-250, 250)

plt = pyplot()


def cells_of(grid, chosen):
    """Corners (cell, 4, 2) of the chosen cells, and for each its number. A cell on the edge of the
    map is drawn on both sides; one around a pole would cover the map, so it reaches up to it."""
    lon = (grid.corner_lon[chosen] + 180) % 360 - 180
    lat = grid.corner_lat[chosen]
    middle = (grid.lon[chosen] + 180) % 360 - 180
    lon = middle[:, None] + (lon - middle[:, None] + 180) % 360 - 180
    pole = abs(lat) > 89.9999
    lon = np.where(pole & (pole.sum(1) == 1)[:, None], middle[:, None], lon)
    corners = np.stack([lon, lat], -1)
    numbers = np.flatnonzero(chosen)
    east, west = lon.max(1) > 180, lon.min(1) < -180
    shift = np.array([360.0, 0.0])
    all_corners = np.concatenate([corners, corners[east] - shift, corners[west] + shift])
    return all_corners, np.concatenate([numbers, numbers[east], numbers[west]])


def coast(axes, land):
    edges = np.arange(-180, 181), np.arange(-90, 91)
    axes.contour(
        edges[0][:-1] + 0.5, edges[1][:-1] + 0.5, land, [0.5], colors=BLACK, linewidths=0.5
    )


def draw_map(axes, grid, values, limits, colors, land, title):
    """Each cell in its colour; cells without a value are grey."""
    there = ~np.ma.getmaskarray(values)
    corners, numbers = cells_of(grid, there)
    axes.set_facecolor(LAND_GREY)
    cells = PolyCollection(corners, cmap=colors, antialiaseds=False, linewidths=0, rasterized=True)
    cells.set_array(values.filled(0)[numbers])
    cells.set_clim(*limits)
    axes.add_collection(cells)
    coast(axes, land)
    axes.set(xlim=(-180, 180), ylim=(-90, 90), aspect="equal", title=title)
    axes.set_xticks([-120, 0, 120], ["120°W", "0°", "120°E"], fontsize=8)
    axes.set_yticks([-60, 0, 60], ["60°S", "0°", "60°N"], fontsize=8)
    return cells


def season(results, month):
    """January is month 0; of the last year there is."""
    months = results.plan.days // results.plan.month
    return month + 12 * ((months - 1 - month) // 12) if months > month else months - 1


def map_rows(results, names, colors, limits, label, land, narrow):
    """Two grids x January and July."""
    months = [("January", season(results, 0)), ("July", season(results, 6))]
    shape, size = ((4, 1), (NARROW, 11.5)) if narrow else ((2, 2), (11.5, 6.2))
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained")
    axes = axes.reshape(2, 2) if narrow else axes
    for row, (who, name, grid, where) in enumerate(names):
        values = results.field(who, name)
        for column, (text, month) in enumerate(months):
            title = f"{text}, {where}"
            cells = draw_map(axes[row, column], grid, values[month], limits, colors, land, title)
    where = "bottom" if narrow else "right"
    bar = figure.colorbar(cells, ax=axes, shrink=0.8, extend="both", location=where, pad=0.02)
    bar.set_label(label)
    return figure


def temperature(results, land, narrow=False):
    names = [
        ("atmos", "t_surface", results.air, "on the atmosphere's grid"),
        ("ocean", "sst", results.sea, "on the ocean's grid"),
    ]
    return map_rows(results, names, "RdYlBu_r", WARM, "surface temperature (°C)", land, narrow)


def heat(results, land, narrow=False):
    names = [
        ("atmos", "heat", results.air, "as the atmosphere gave it"),
        ("ocean", "heat_in", results.sea, "as the ocean got it"),
    ]
    return map_rows(results, names, "RdBu_r", HEAT, "heat into the sea (W/m²)", land, narrow)


def mean_over(values, area, chosen):
    """Mean over cells by area, for each month."""
    weight = area * chosen
    return (values * weight).sum(1) / (weight * ~np.ma.getmaskarray(values)).sum(1)


def names_above(axes, columns):
    """The legend of a panel, where it hides no curve."""
    axes.legend(
        fontsize=8, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2,
        columnspacing=1.0,
    )  # fmt: skip


def seasons(results, narrow=False):
    shape, size = ((2, 1), (NARROW, 7.4)) if narrow else ((1, 2), (11.5, 3.8))
    figure, (left, right) = plt.subplots(*shape, figsize=size, layout="constrained")
    air, sea = results.air, results.sea
    t, sst, ice = (
        results.field(*w) for w in (("atmos", "t_surface"), ("ocean", "sst"), ("ocean", "ice"))
    )
    years = (np.arange(len(t)) + 0.5) * results.plan.month / 360
    for name, color, low, high in (
        ("30°N to 90°N", ORANGE, 30, 90), ("30°S to 30°N", GREEN, -30, 30),
        ("90°S to 30°S", BLUE, -90, -30),
    ):  # fmt: skip
        there = (air.lat > low) & (air.lat < high)
        wet = (sea.lat > low) & (sea.lat < high) & sea.wet
        left.plot(years, mean_over(t, results.air_area, there), color=color, lw=2, label=name)
        mean = mean_over(sst, results.sea_area, wet)
        left.plot(years, mean, color=color, lw=1.2, ls="--", label=f"{name}, sea")
    left.set(xlabel="years", ylabel="surface temperature (°C)", xlim=(0, results.plan.days / 360))
    names_above(left, 2 if narrow else 3)
    area = results.sea_area * 6371**2 / 1e6  # million km2
    for name, color, north in (("Arctic", ORANGE, True), ("Antarctic", BLUE, False)):
        part = (sea.lat > 0) == north
        right.plot(years, (ice * area * part).sum(1), color=color, lw=2, label=name)
    right.set(xlabel="years", ylabel="sea ice (million km²)", ylim=(0, None))
    right.set_xlim(0, results.plan.days / 360)
    right.legend()
    return figure


def budget(results, narrow=False):
    shape, size = ((2, 1), (NARROW, 7.4)) if narrow else ((1, 2), (11.5, 3.8))
    figure, (left, right) = plt.subplots(*shape, figsize=size, layout="constrained")
    gain, space, rest = results.energy()
    years = results.atmos["day"] / 360
    for name, color in (("sea", BLUE), ("air", ORANGE), ("land", GREEN), ("on its way", GREY)):
        left.plot(years, gain[name] / 1e6, color=color, label=name)
    left.plot(years, space / 1e6, color=BLACK, lw=1, ls="--", label="from space")
    left.set(xlabel="years", ylabel="energy gained (MJ per m² of the globe)")
    left.legend(fontsize=8.5)
    exchanged = 86400 * np.cumsum(results.ocean["exchanged_W_m2"])[2:]
    tiny = 1e-18
    right.semilogy(
        years[2:], np.maximum(results.ocean["error"][2:], tiny), color=BLUE, lw=0.8,
        label="heat given and got, each day",
    )  # fmt: skip
    right.semilogy(
        years[2:], np.maximum(abs(rest[2:]) / exchanged, tiny), color=ORANGE, lw=1,
        label="energy that is in no store",
    )  # fmt: skip
    right.axhline(1e-12, color=BLACK, lw=1, ls="--", label="limit")
    right.set(xlabel="years", ylabel="relative to what was exchanged", ylim=(tiny, 1e-10))
    right.legend(fontsize=8.5, loc="upper right")
    return figure


def learning(results, narrow=False):
    shape, size = ((2, 1), (NARROW, 8.4)) if narrow else ((1, 2), (11.5, 3.9))
    figure, (left, right) = plt.subplots(*shape, figsize=size, layout="constrained")
    learned = results.learned
    years = learned["day"] / 360
    for name, color, label in (
        ("mean", GREY, "mean of the other cells"),
        ("linear", SKY, "linear law"),
        ("network", GREEN, "network"),
    ):
        left.plot(years, learned[name], color=color, lw=1.6, label=label)
    left.set(xlabel="years", ylabel="error where nothing is learned (W/m²)", ylim=(0, None))
    names_above(left, 3)
    last = np.load(results.folder / "learn.npz")
    for test, color, size, label in ((False, SKY, 2, "learned from"), (True, GREEN, 5, "held out")):
        at = last["test"] == test
        right.plot(last["truth"][at], last["guess"][at], ".", color=color, ms=size, label=label)
    ends = [last["truth"].min(), last["truth"].max()]
    right.plot(ends, ends, color=BLACK, lw=0.8)
    right.set(xlabel="heat into the sea (W/m²), last lesson", ylabel="the network says (W/m²)")
    right.legend(markerscale=2)
    return figure


def timings(results, narrow=False):
    times = results.times()
    size = (NARROW, 3.4) if narrow else (11.5, 2.8)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    for row, (name, seconds, waited) in enumerate(times):
        color = BLOCK[name.split()[0]]
        axes.barh(row, seconds - waited, color=color)
        axes.barh(row, waited, left=seconds - waited, color=color, alpha=0.3)
    axes.set_yticks(range(len(times)), [name for name, _, _ in times])
    axes.invert_yaxis()
    axes.set_xlabel("seconds; pale: in the coupler, which waits for others")
    return figure
