# SPDX-License-Identifier: BSD-3-Clause
"""The style of all pictures, and who draws with it: sizes in words, medians with bands, bars that
carry no legend, a note when the machine was busy; and the page of the tsunami demonstration."""

import importlib
import importlib.util
import pathlib
import re
import types

import pytest

from waitio import plotstyle

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET, TORN = [1.0, 1.1, 0.9, 1.0, 1.05], [1.0, 1.1, 0.9, 1.0, 30.0]


@pytest.fixture
def plt():
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed (make setup)")
    pyplot = plotstyle.pyplot()
    pyplot.rcParams["svg.fonttype"] = "none"  # texts are text
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def bench(plt, monkeypatch):
    """A module of the benchmarks."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module


@pytest.fixture
def tsunami(plt, monkeypatch):
    """The modules of the demonstration that draw."""
    monkeypatch.syspath_prepend(str(ROOT / "apps" / "tsunami"))
    names = "figures", "report", "trace"
    return types.SimpleNamespace(**{n: importlib.import_module(f"tsunami.{n}") for n in names})


def texts(axes):
    return [text.get_text() for text in axes.texts]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize(
    "count, said",
    [(8, "8 B"), (1023, "1023 B"), (65536, "64 KiB"), (1536, "1.5 KiB"), (1 << 20, "1 MiB"),
     (64 << 20, "64 MiB"), (1 << 30, "1 GiB"), (1 << 41, "2048 GiB")],
)  # fmt: skip
def test_sizes_in_words(count, said):
    assert plotstyle.size(count) == said


def test_the_band_holds_the_middle_half_and_a_torn_mean_is_noticed():
    assert plotstyle.quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, 2.0, 4.0)
    assert plotstyle.quartiles([7.0]) == (7.0, 7.0, 7.0)
    assert not plotstyle.busy([(1.0, 1.9), (0.0, 5.0)])
    assert plotstyle.busy([(1.0, 1.0), (1.0, 2.1)])


def test_an_axis_shows_the_sizes_that_have_room(plt):
    _, axes = plt.subplots()
    sizes = [8, 1024, 8192, 65536, 262144, 1 << 20, 8 << 20, 64 << 20]
    plotstyle.sizes_panel(axes, sizes, "title", "unit")
    assert ticks(axes.xaxis) == ["8 B", "1 KiB", "8 KiB", "64 KiB", "1 MiB", "8 MiB", "64 MiB"]
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_a_curve_is_a_median_inside_its_band(plt):
    _, axes = plt.subplots()
    plotstyle.curve(axes, [1, 2], [10, 20], [9, 15], [11, 40], color=plotstyle.BLUE)
    (band,) = axes.collections
    assert list(axes.lines[0].get_ydata()) == [10, 20]
    heights = {y for _, y in band.get_paths()[0].vertices}
    assert heights == {9, 15, 11, 40}


def test_bars_carry_names_and_values_but_no_legend(plt):
    _, axes = plt.subplots()
    plotstyle.bars(axes, [("shm", [("idle", 1.5), ("busy", 30.0)]), ("tcp", [("idle", 2.0)])])
    assert ticks(axes.xaxis) == ["idle", "busy", "idle"]
    assert texts(axes) == ["1.5", "30", "2"]
    assert ticks(axes.child_axes[0].xaxis) == ["shm", "tcp"]
    assert axes.get_legend() is None


def test_parts_of_stacks_are_named_apart_from_each_other(plt):
    _, axes = plt.subplots()
    plotstyle.stacks(axes, ["a", "b"], [("thin", [1, 1]), ("thinner", [0, 0]), ("thick", [99, 99])])
    places = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert list(places) == ["thin", "thinner", "thick"] and axes.get_legend() is None
    assert places["thin"] >= 2 and places["thinner"] - places["thin"] >= 5.9
    assert places["thick"] == 50.5


def test_the_same_picture_is_the_same_file(plt, tmp_path):
    for name in "ab":
        figure, axes = plt.subplots()
        plotstyle.curve(axes, [1, 2], [1, 2], [1, 1], [2, 2])
        plotstyle.save(figure, tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert not plt.get_fignums()


def test_nobody_else_sets_a_style():
    """Whoever draws, draws in this one."""
    style = re.compile(r"rcParams|matplotlib\.use\(|#[0-9a-f]{2}72B2", re.I)
    for folder in ("bench", "python/waitio", "apps", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "plotstyle.py":
                assert not style.search(path.read_text()), path


def rounds_of(values):
    """Of every program, for each of these values, what a round of bench/run.py found."""
    names = "raw ring", "memcpy", "waitio", "waitio (Python)", "Open MPI (shm)", "MPICH (shm)"
    keys = [("half_rtt", n) for n in (8, 65536, 1 << 20)]
    return [
        {name: {**{k: v * 1e-6 for k in keys}, ("rate", 8): 1e6} for name in names} for v in values
    ]


@pytest.mark.parametrize("values, torn", [(QUIET, False), (TORN, True)])
def test_benchmarks_are_drawn_in_the_style(bench, tmp_path, values, torn):
    rounds = rounds_of(values)
    bench("draw").draw(rounds, list(rounds[0]), tmp_path / "r.svg", "shm")
    text = (tmp_path / "r.svg").read_text()
    for word in ("WaitIO", "WaitIO from Python", "Open MPI", "raw ring (floor)", "64 KiB", "1 MiB"):
        assert f">{word}<" in text, word
    assert "over shared memory" in text and "memcpy" not in text
    assert (plotstyle.BUSY_TEXT in text) == torn


@pytest.mark.parametrize("values, torn", [(QUIET, False), (TORN, True)])
def test_heat3d_is_drawn_without_a_legend(bench, tmp_path, values, torn):
    heat3d = bench("heat3d")
    of = {part: 0.01 for part in heat3d.PARTS}
    found = {
        16: [
            {name: {**of, "computing": v, "iterations": 3} for name in ("Open MPI", "WaitIO")}
            for v in values
        ]
    }
    heat3d.plot(found, tmp_path / "h.svg")
    text = (tmp_path / "h.svg").read_text()
    for word in ("allreduce", "computing", "send/recv", "Open MPI", "WaitIO"):
        assert text.count(f">{word}<") == 1, word
    assert 'id="legend' not in text
    assert (plotstyle.BUSY_TEXT in text) == torn


def test_memory_is_drawn_in_words(bench, tmp_path):
    memory = bench("memory")
    results = {
        (n, mode): {"median": n << 20, "least": n << 19, "most": n << 21}
        for mode in memory.MODES
        for n in (2, 8, 64)
    }
    memory.draw(results, tmp_path / "m.svg")
    text = (tmp_path / "m.svg").read_text()
    for word in ("8 MiB", "32 MiB", "63", "default", "memory of one process"):
        assert f">{word}<" in text, word


def test_report_has_a_line_of_blocks_and_two_shapes_of_each_figure(tsunami, plt, tmp_path):
    traces = {("ocean", 0): [], ("ocean", 1): [], ("gauges", 0): [], ("assim", 0): []}
    line = tsunami.report.diagram(traces)
    assert re.findall(r"<b>(\w+)</b>([^<]+)<", line) == [
        ("gauges", "Python, no MPI, 1 process"),
        ("assim", "Python, 1 process"),
        ("ocean", "Fortran, Open MPI, 2 processes"),
    ]
    assert "Python, MPICH, 2 processes" in tsunami.report.diagram({**traces, ("assim", 1): []})
    shapes = []

    def draw(narrow):
        shapes.append(narrow)
        return plt.figure(figsize=(tsunami.figures.NARROW if narrow else 11, 2))

    page = tsunami.report.picture(tmp_path, "x", draw, "caption", 'a "b"')
    assert shapes == [False, True] and 'alt="a &quot;b&quot;"' in page
    assert re.search(r'<source media="\(max-width: \d+rem\)" srcset="data:image/png;', page)
    sheet = tsunami.report.STYLE
    assert "img { max-width: 100%" in sheet and "@media (max-width: 40rem)" in sheet
    assert "overflow-x" not in sheet, "nothing scrolls sideways"


@pytest.fixture
def outcome(tsunami, plt, monkeypatch):
    """What the maps need of a run, without one."""
    import numpy as np

    grid = types.SimpleNamespace(lon=[-126, -125], lat=[48, 49])
    monkeypatch.setattr(tsunami.figures.files.Grid, "load", lambda path: grid)
    monkeypatch.setattr(tsunami.figures, "Land", lambda: None)
    monkeypatch.setattr(
        tsunami.figures, "map_at", lambda at, land, run, m: (at.imshow(np.eye(2)), m)
    )
    here = pathlib.Path("nowhere")
    heights = np.zeros((3, 10))
    return types.SimpleNamespace(
        folder=here, recording=here, sensors=2, config={"cells": [(0, 0), (1, 1)]},
        times=np.array([0.0, 60.0, 120.0]), truth=heights, free=heights, event=heights,
        forecasts=heights, plan=types.SimpleNamespace(lead=30, cycle=60),
    )  # fmt: skip


@pytest.mark.parametrize("shape", ["wide", "narrow", "summary"])
def test_one_map_has_all_the_names(tsunami, outcome, shape):
    if shape == "summary":
        figure = tsunami.figures.summary(outcome)
    else:
        figure = tsunami.figures.maps(outcome, narrow=shape == "narrow")
    titles = [axes.get_title(loc="left") + axes.get_ylabel() for axes in figure.axes]
    assert sum("truth (a recorded simulation)" in title for title in titles) == 1
    named = [axes for axes in figure.axes if "Tofino" in texts(axes)]
    assert len(named) == 1
    assert set(texts(named[0])) == {*tsunami.figures.world.TOWNS, "△ 2 gauges on the sea floor"}
    assert sum(len(texts(axes)) for axes in figure.axes) == len(texts(named[0]))
    if shape == "narrow":
        assert figure.get_figwidth() == tsunami.figures.NARROW
