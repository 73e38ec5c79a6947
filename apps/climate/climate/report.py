# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, and its figures beside it."""

import functools

from tsunami.report import box, page, picture, table, verdict

from climate import figures, world


def diagram(plan):
    """The blocks and what they exchange, in one line that wraps on a narrow screen."""
    about = {
        "atmos": f"Fortran, Open MPI, {plan.atmos} processes, {plan.nx} × {plan.ny} cells",
        "ocean": f"C, MPICH, {plan.ocean} processes, 6 × {plan.cube} × {plan.cube} cells",
        "learn": "Python, learns the heat flux",
        "output": "Python, writes CF-netCDF",
    }
    block = {name: box(name, figures.BLOCK[name], text) for name, text in about.items()}
    arrow = '<span class="arrow">{}</span>'.format
    return (
        f'<p class="blocks">{block["atmos"]}{arrow("heat →<br>← sea surface")}{block["ocean"]}'
        f"{arrow('means of ' + str(plan.lesson) + ' days →')}{block['learn']}"
        f"{arrow('monthly means →')}{block['output']}</p>"
    )


def words(results):
    plan, last = results.plan, results.learned[-1]
    exchanges = len(results.ocean) - 2
    return f"""
<h1>A coupled climate in four programs</h1>
{diagram(plan)}
<p>A toy climate of {plan.days / 360:.3g} years: a layer of air over land, with sun, seasons,
prescribed winds and large eddies, and the upper 60 m of the sea, with ice. The atmosphere is on
longitudes and latitudes, the ocean on a cubed sphere; land is where Natural Earth has it. Four
programs, started by one <code>waitio run</code>, exchange fields over WaitIO's coupler: heat goes
down and is conservatively remapped, the sea's temperature and brightness go up, every day.</p>
<p>The ocean compared what it got with what the atmosphere gave in each of {exchanges} exchanges.
The largest difference was <b>{results.worst():.1e}</b> of what was exchanged. At the
last lesson the network was {last["network"]:.1f} W/m² wrong (root mean square) at the fifth of the
sea that it
never learned from, a linear law {last["linear"]:.1f} W/m², the mean of the other cells
{last["mean"]:.0f} W/m².</p>"""


def time_table(results):
    rows = [
        (name, f"{seconds:.1f}", f"{seconds - waited:.1f}", f"{waited:.1f}")
        for name, seconds, waited in results.times()
    ]
    return table(("process", "seconds", "computes", "in the coupler"), rows, numbers=(1, 2, 3))


def sections(results):
    """(title, file, what draws it, caption, alternative text)"""
    land = world.land_of_degrees()
    bind = functools.partial
    return [
        (
            "Surface temperature", "temperature", bind(figures.temperature, results, land),
            "Monthly means of the last year. The atmosphere's surface is land and what it got of "
            "the sea; grey is land on the ocean's grid.",
            "Maps of the surface temperature on both grids in January and July",
        ),
        (
            "Heat into the sea", "heat", bind(figures.heat, results, land),
            "The same heat on both grids, red into the sea. Cells that the coast divides have "
            "the heat for each square metre of their sea.",
            "Maps of the heat into the sea on both grids in January and July",
        ),
        (
            "Seasons", "seasons", bind(figures.seasons, results),
            "Means over zones: all surface, and dashed the sea alone, which lags and varies less. "
            "The run starts from a guess, so the first year differs.",
            "Temperatures of three zones and sea ice over time",
        ),
        (
            "Where the energy is", "budget", bind(figures.budget, results),
            "What is on its way is the heat that the atmosphere gave on the last day and the ocean "
            "gets on the next. Both differences are rounding.",
            "Energy gained by sea, air and land, and errors of the budget",
        ),
        (
            "What was learned", "learning", bind(figures.learning, results),
            "Before each lesson the network predicts the heat at the cells that are held out, "
            "then it learns from the others.",
            "Errors over time, and predicted against true heat",
        ),
        (
            "Who computes, who waits", "times", bind(figures.timings, results),
            "All processes shared this machine.",
            "Seconds of each process",
        ),
    ]  # fmt: skip


def write(results, found):
    """Write report.html and the figures; returns its path."""
    folder = results.folder.parent
    parts = [words(results), verdict(found, ".2g", "g")]
    for title, name, draw, caption, alt in sections(results):
        parts += [f"<h2>{title}</h2>", picture(folder, name, draw, caption, alt)]
    parts += [
        time_table(results),
        "<p>Fields: <code>run/atmos.nc</code>, <code>run/ocean.nc</code>. Land: Natural Earth, "
        "public domain. A toy model; nothing here is a forecast.</p>",
    ]
    return page(folder, "A coupled climate over WaitIO", parts)
