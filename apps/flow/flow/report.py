# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, and its figures beside it."""

import base64
import functools

from tsunami.report import box, page, picture, verdict

from flow import figures
from waitio import plotstyle

COLOURS = {
    "flow": plotstyle.BLACK,
    "render": plotstyle.ORANGE,
    "statistics": plotstyle.BLUE,
    "probe": plotstyle.GREEN,
    "spare": plotstyle.PURPLE,
    "output": plotstyle.GREY,
}


def diagram(plan):
    about = {
        "flow": f"C, Open MPI, {plan.solver} processes, {plan.nx} × {plan.ny} × {plan.nz} cells",
        "render": "Python, the newest step each time",
        "statistics": f"Python, {plan.statistics} processes, comes late",
        "probe": "Python, is killed",
        "spare": "comes for it",
        "output": "<code>waitio stage write</code>, netCDF",
    }
    block = {name: box(name, COLOURS[name], text) for name, text in about.items()}
    readers = "".join(block[name] for name in about if name != "flow")
    return f'<p class="blocks">{block["flow"]}<span class="arrow">steps →</span>{readers}</p>'


def words(results):
    plan, times = results.plan, results.times
    died, missed, seconds = results.gap()
    late = results.statistics["seen"]
    handed = times["bytes"] / 1e6
    return f"""
<h1>Flow around a cylinder, watched while it is computed</h1>
{diagram(plan)}
<p>A lattice Boltzmann solver (D3Q19) computes {plan.steps} steps of the flow around a cylinder in
a channel, Reynolds number {plan.reynolds:.0f}, and hands on velocity and density after each
{plan.every} of them: {times["handed_on"]} steps of a stream. Five programs read it, each in its own
way. None of them can stop the solver: a full queue discards the oldest step.</p>
<p>The solver computed for {times["seconds"]:.1f} s. Of these it spent
<b>{times["staging"]:.2f} s ({results.lost():.1%})</b> handing on, at most
{times["longest"] * 1000:.0f} ms for one step. The first of its processes sent {handed:.0f} MB;
{times["discarded"]} steps were given up because nobody had read them in time.
The statistics came at step {late[0][0] if late else "-"}. The probe was killed at step {died};
{seconds:.2f} s later the spare went on, and {max(missed, 0)} steps were not measured.</p>"""


def film(results):
    data = base64.b64encode((results.folder / "vorticity.webp").read_bytes()).decode()
    return (
        "<h2>While it was computed</h2><figure>"
        f'<img alt="Film of the vorticity" src="data:image/webp;base64,{data}"><figcaption>'
        f"Vorticity in the middle plane: {results.render['frames']} pictures that <b>render</b> "
        "drew during the run.</figcaption></figure>"
    )


def sections(results):
    """(title, file, what draws it, caption, alternative text)"""
    bind = functools.partial
    return [
        (
            "The last step", "instant", bind(figures.instant, results),
            "A vortex leaves the cylinder on one side, then on the other.",
            "Vorticity and streamlines behind the cylinder",
        ),
        (
            "Mean and fluctuations", "averages", bind(figures.averages, results),
            "By <b>statistics</b>, from when the flow had developed. Its processes cut the domain "
            "along y, the solver along x.",
            "Mean velocity and fluctuations",
        ),
        (
            "Forces, and a probe that died", "signals", bind(figures.signals, results),
            "<b>spare</b> waited for the death of <b>probe</b>, read its file, opened the stream, "
            "and went on.",
            "Force coefficients and the velocity at a point over time",
        ),
        (
            "Who read what when", "readers", bind(figures.readers, results),
            "Each line is a step that a program has read.",
            "When each reader has read a step",
        ),
    ]  # fmt: skip


def write(results, found):
    """Write report.html and the figures; returns its path."""
    folder = results.folder.parent
    parts = [words(results), verdict(found, ".2g", "g"), film(results)]
    for title, name, draw, caption, alt in sections(results):
        parts += [f"<h2>{title}</h2>", picture(folder, name, draw, caption, alt)]
    parts.append(
        "<p>The benchmark is case 2D-2 of Schäfer and Turek 1996 (Notes on Numerical Fluid "
        "Mechanics 52, 547–566). Fields: <code>run/flow.nc</code>, which <b>output</b> wrote.</p>"
    )
    return page(folder, "Staging a flow over WaitIO", parts)
