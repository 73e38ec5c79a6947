# SPDX-License-Identifier: BSD-3-Clause
"""The report: one HTML file that needs nothing else, and its figures as files beside it. On a phone
it shows the figures' narrow shapes, and nothing is wider than the screen."""

import base64
import collections
import functools
import html

from tsunami import figures, trace, way, world
from waitio import plotstyle

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; -webkit-text-size-adjust: 100%; overflow-wrap: break-word }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
p, li { max-width: 52rem } figure { margin: 1rem 0 } img { max-width: 100%; height: auto }
figcaption { color: #555; font-size: .92rem; max-width: 60rem }
table { border-collapse: collapse; margin: .8rem 0 } th, td { padding: .25rem .9rem .25rem 0;
        text-align: left; border-bottom: 1px solid #ddd } td.n, th.n { text-align: right;
        font-variant-numeric: tabular-nums }
.good { color: #00664b; font-weight: 600 } .bad { color: #b03a00; font-weight: 700 }
.blocks { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: center; max-width: none }
.blocks b { display: block } .block { border-left: .4rem solid; padding-left: .5rem;
        font-size: .85rem; line-height: 1.25 } .arrow { color: #555; font-size: .85rem }
@media (max-width: 40rem) { body { margin: 1rem auto; padding: 0 .7rem } h1 { font-size: 1.4rem }
        table { width: 100%; font-size: .78rem; line-height: 1.3 }
        th, td { padding-right: .4rem; overflow-wrap: anywhere } }
"""


def summary(outcome, path):
    """The picture for the README."""
    plotstyle.save(figures.summary(outcome), path, dpi=110)


def as_data(figure, path):
    """Save a figure; its text for a page."""
    plotstyle.save(figure, path, dpi=110)
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def picture(folder, name, draw, caption, alt):
    """A figure in the shape that suits the screen; draw(narrow=...) draws it."""
    wide = as_data(draw(narrow=False), folder / f"{name}.png")
    narrow = as_data(draw(narrow=True), folder / f"{name}-narrow.png")
    return (
        f'<figure><picture><source media="(max-width: 40rem)" srcset="{narrow}">'
        f'<img alt="{html.escape(alt)}" src="{wide}"></picture>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def box(name, colour, text):
    """A block of the run, in the diagram."""
    return f'<span class="block" style="border-color: {colour}"><b>{name}</b>{text}</span>'


def page(folder, title, parts):
    """Write report.html; returns its path."""
    path = folder / "report.html"
    path.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style>{''.join(parts)}</html>",
        encoding="utf-8",
    )
    return path


def diagram(traces):
    """The blocks and what they exchange, in one line that wraps on a narrow screen."""
    ranks = collections.Counter(block for block, _ in traces)
    assim = "Python, MPICH" if ranks["assim"] > 1 else "Python"
    kinds = {"gauges": "Python, no MPI", "assim": assim, "ocean": "Fortran, Open MPI"}
    block = {
        name: box(
            name,
            figures.BLOCK[name],
            f"{kind}, {ranks[name]} process{'es' if ranks[name] != 1 else ''}",
        )
        for name, kind in kinds.items()
    }
    arrow = '<span class="arrow">{}</span>'.format
    return (
        f'<p class="blocks">{block["gauges"]}{arrow("readings →")}{block["assim"]}'
        f"{arrow('← sea surface<br>correction →')}{block['ocean']}</p>"
    )


def table(head, rows, numbers=()):
    """Columns whose index is in numbers are set flush right; cells are HTML."""

    def line(tag, cells):
        return "<tr>%s</tr>" % "".join(
            f"<{tag}{' class=n' if k in numbers else ''}>{cell}</{tag}>"
            for k, cell in enumerate(cells)
        )

    return "<table>%s%s</table>" % (line("th", head), "".join(line("td", row) for row in rows))


def amount(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{size} B"
        size /= 1024
    return f"{size:.1f} GiB"


NAMES = {
    "lesson": "heights at the stations, of scenarios",
    "state": "the sea surface",
    "increment": "its correction",
    "stream": "what the sensors say",
}


def traffic(traces):
    """Who sent what to whom: messages, bytes, time in send calls, of all processes of a block."""
    sums = collections.OrderedDict()
    for (block, _), intervals in traces.items():
        for i in intervals:
            if i.what in NAMES:
                entry = sums.setdefault((block, i.block, i.what), [0, 0, 0.0])
                entry[0] += 1
                entry[1] += i.size
                entry[2] += i.end - i.start
    rows = [
        (f"{a} → {b}", NAMES[what], f"{n:,}", amount(size), f"{seconds:.2f}")
        for (a, b, what), (n, size, seconds) in sums.items()
    ]
    head = ("blocks", "what", "exchanges", "bytes", "seconds in sending calls")
    return table(head, rows, numbers=(2, 3, 4))


def waits(traces):
    """Seconds that each process waited for each block, and did something itself."""
    rows = []
    for (block, rank), intervals in traces.items():
        spent = collections.Counter()
        for i in intervals:
            busy = i.what if i.what in ("sleep", "wait") else "busy"
            spent["for " + i.block if busy == "wait" else busy] += i.end - i.start
        cells = [spent[k] for k in ("busy", "for ocean", "for gauges", "for assim", "sleep")]
        rows.append((f"{block} {rank}", *(f"{c:.1f}" if c else "–" for c in cells)))
    head = (
        "process",
        "busy (s)",
        "waits for ocean",
        "waits for gauges",
        "waits for assim",
        "asleep",
    )
    return table(head, rows, numbers=(1, 2, 3, 4, 5))


def verdict(found, value=".2f", limit=".2f"):
    """The checks; value and limit are the formats of their numbers."""
    rows = [
        (
            html.escape(c.text, quote=False),
            format(c.value, value),
            format(c.limit, limit),
            '<span class="good">holds</span>'
            if c.good
            else '<span class="bad">does not hold</span>',
        )
        for c in found
    ]
    return table(("check", "value", "at most", ""), rows, numbers=(1, 2))


def words(outcome, numbers, traces):
    plan = outcome.plan
    lead = plan.lead * plan.cycle / 60
    percent = 100 * (1 - numbers["event_towns"] / numbers["free_towns"])
    return f"""
<h1>Tsunami early forecast in three programs</h1>
{diagram(traces)}
<p>An earthquake lifts the sea floor off Vancouver Island. The first report has it too small and in
a wrong place, and so is the <b>free run</b> of the simulation. Three programs, launched apart, do
better: <b>ocean</b> (Fortran, Open MPI) simulates the waves, <b>gauges</b> (a plain process) plays
what {outcome.sensors} sensors on the sea floor measure, with noise and gaps, <b>assim</b> (Python,
MPICH) corrects the running simulation with it every {plan.cycle:.0f} s and forecasts the sea at
{len(world.TOWNS)} towns {lead:.0f} minutes ahead, with a model that it learned from
{plan.scenarios} scenarios of the same simulation. They exchange messages over WaitIO.</p>
<p>At the towns, whose gauges nobody sees, the error of the simulation falls by
<b>{percent:.0f} %</b>
({numbers["free_towns"]:.2f} m to {numbers["event_towns"]:.2f} m). The learned forecast is
{numbers["learned"]:.2f} m wrong on average (root mean square), where &ldquo;it stays
as it is&rdquo; is {numbers["persistence"]:.2f} m wrong.</p>"""


def write(outcome, numbers, found):
    """Write report.html and the figures; returns its path."""
    folder = outcome.folder.parent
    traces = trace.load(outcome.folder)
    traces = {who: traces[who] for block in figures.BLOCK for who in traces if who[0] == block}
    lead = outcome.plan.lead * outcome.plan.cycle / 60
    parts = [
        words(outcome, numbers, traces),
        verdict(found),
        "<h2>The sea</h2>",
        picture(
            folder, "maps", functools.partial(figures.maps, outcome),
            "Height of the sea on the topography: red is above, blue below rest. One map names all:"
            " triangles are the gauges on the sea floor, dots the towns of the next figure.",
            "Maps of the sea surface at several times",
        ),
        "<h2>At the towns</h2>",
        picture(
            folder, "towns", functools.partial(figures.town_curves, outcome),
            "The simulation is corrected at the sensors only; the towns are its own. The forecast "
            f"(dashed orange) is drawn when it is due, and was made {lead:.0f} minutes earlier.",
            "Heights at eight towns over time",
        ),
        picture(
            folder, "errors", functools.partial(figures.errors, outcome),
            "First: error of the simulation, free and assimilated. Second: error of forecasts "
            f"{lead:.0f} minutes ahead.",
            "Errors over time and by town",
        ),
        "<h2>Who waited for whom</h2>",
        picture(
            folder, "timeline", functools.partial(figures.timeline, traces),
            "The ocean first runs scenarios, from which assim learns; the gauges wait for their "
            "event. Then real time (fast forward) sets the pace: all wait for the next sample.",
            "What each process did over time",
        ),
        waits(traces),
        "<h2>What travelled</h2>",
        traffic(traces),
        f"<p>{way.saved_text(outcome.folder)}</p>",
        f"<p>The event was played {outcome.plan.speed:.0f} times faster than it happened. What the "
        "ocean spends in its own MPI counts as busy.</p>",
        "<p>Sea and land: the sample data <code>topobathy.npz</code> of Matplotlib. Nothing here "
        "is a forecast of real events.</p>",
    ]  # fmt: skip
    return page(folder, "Tsunami early forecast over WaitIO", parts)
