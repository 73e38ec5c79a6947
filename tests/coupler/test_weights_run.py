# SPDX-License-Identifier: BSD-3-Clause
"""Tables from weight files, and from weights that are made at the start: each result is, to the
last bit, the sum that the file of `waitio cpl weights` says, for any number of processes."""

import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import classic
import pytest
from test_faces import fortran
from vectors import PAIRS, pair, var

FILL = 2147483647.0
WAYS = [(1, 1, "block"), (3, 2, "cyclic"), (2, 4, "last")]


class Stage:
    """Grids, weights and runs in one folder."""

    def __init__(self, troupe, folder):
        self.troupe, self.folder = troupe, folder
        source = troupe.source_dir / "tests" / "coupler" / "cells.c"
        self.program = [troupe.compile("mpich", source, "-lm")]

    def speak(self, language):
        """Run a program of another language."""
        troupe = self.troupe
        if language == "fortran":
            self.program = [fortran(troupe, "mpich", "cells.f90")]
        elif language == "python":
            pytest.importorskip("numpy")
            self.program = [sys.executable, troupe.source_dir / "tests" / "coupler" / "cells.py"]
        return {
            "PYTHONPATH": str(troupe.source_dir / "python" / "h3ou"),
            "H3OU_LIB": str(troupe.build_dir / "lib" / "h3ou"),
        }

    def tool(self, *words):
        line = [str(self.troupe.build_dir / "bin" / "waitio"), "cpl", *map(str, words)]
        env = self.troupe.environment()
        done = subprocess.run(
            line, cwd=self.folder, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        if "built without netCDF" in done.stderr:
            pytest.skip("built without netCDF (Debian: apt-get install libnetcdf-dev)")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def grid(self, name, masked=None):
        """A grid as a file, and as a text for the program."""
        path = self.folder / f"{name}.nc"
        self.tool("grid", name, "-o", path)
        v, _ = classic.read(path)
        n = len(v["grid_center_lon"])
        corners = len(v["grid_corner_lon"]) // n
        if masked:
            v["grid_imask"] = [0 if masked(i, v) else 1 for i in range(n)]
            self.mask(path, v["grid_imask"])
        dims = v["grid_dims"] if len(v["grid_dims"]) == 2 else [0, 0]
        lines = [f"0 {corners} {dims[0]} {dims[1]} {int(dims[0] > 0)} {n}"]
        for i in range(n):
            where = [v["grid_center_lon"][i], v["grid_center_lat"][i]]
            where += v["grid_corner_lon"][corners * i : corners * (i + 1)]
            where += v["grid_corner_lat"][corners * i : corners * (i + 1)]
            lines.append(f"{i + 1} {v['grid_imask'][i]} 1 " + " ".join(map(repr, where)))
        text = self.folder / f"{name}.cells"
        text.write_text("\n".join(lines) + "\n")
        return text

    @staticmethod
    def mask(path, mask):
        """Change the mask in a file: it is stored as 4-byte numbers, all 1 before."""
        data = path.read_bytes()
        old = (1).to_bytes(4, "big") * len(mask)
        assert data.count(old) == 1
        path.write_bytes(data.replace(old, b"".join(m.to_bytes(4, "big") for m in mask)))

    def run(
        self, source, target, way, how, *, keys="", add="", code=0, layers=1, env=None, more=None
    ):
        """{(layer, index): value} of compB. `add`: what follows in the configuration."""
        n_a, n_b, share = way
        if how[0] == "file":
            how = ["file", self.folder / how[1]]
        conf = self.folder / "c.conf"
        conf.write_text(
            pair(*PAIRS["AB"]).replace(" /", f"{keys} /")
            + var("vA", "yA", 10, layer=layers, **(more or {}))
            + add
        )
        words = [
            [*self.program, component, conf, cells, share, *how]
            for component, cells in (("compA", source), ("compB", target))
        ]
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        done = self.troupe.run(
            self.troupe.one_job("mpich", [(n_a, words[0]), (n_b, words[1])]),
            WAITIO_JOB_ID=f"cells{os.getpid()}",
            CELLS_OUT=str(out),
            **(env or {}),
        )
        text = done.stdout + done.stderr
        assert (done.returncode == 0) == (code == 0), text
        if code:
            return text
        found = {}
        for line in "".join(p.read_text() for p in out.iterdir()).splitlines():
            word, layer, index, value = line.split()
            assert (int(layer), int(index)) not in found
            if word == "BITS":
                (number,) = struct.unpack(">d", bytes.fromhex(value))
            else:
                assert word == "GET"
                number = float.fromhex(value)
            found[int(layer), int(index)] = number
        return found


@pytest.fixture
def stage(troupe, tmp_path):
    return Stage(troupe, tmp_path)


def expected(path, layers=1):
    """What a weight file says, added in the order of the sources."""
    v, attributes = classic.read(path)
    rows = {i: [] for i in range(1, len(v["waitio_method"]) + 1)}
    for source, target, weight in zip(v["src_address"], v["dst_address"], v["remap_matrix"]):
        rows[target].append((source, weight))
    fixed = attributes["waitio_method"].get("fixed_value", [0])[0]
    found = {}
    for layer in range(layers):
        for target, row in rows.items():
            total = 0.0
            for source, weight in sorted(row):
                total += weight * math.sin(source + layer)
            empty = fixed if v["waitio_method"][target - 1] == 7 else FILL
            found[layer, target] = total if row else empty
    return found


def ocean(i, v):
    """A continent, and a lake in it."""
    lon, lat = v["grid_center_lon"][i], v["grid_center_lat"][i]
    lon = (lon + 180) % 360 - 180
    return abs(lon) < 60 and abs(lat) < 40 and not (abs(lon) < 8 and abs(lat) < 8)


CASES = [
    ("conservative", "cs12", "r36x18", None),
    ("conservative norm=destarea min-coverage=0.5", "ico9", "cs8", ocean),
    ("conservative,nearest", "cs12", "r36x18", ocean),
    ("conservative2", "cs10", "ico7", None),
    ("bilinear,distance neighbours=3 power=2", "r40x20", "cs8", ocean),
    ("barycentric,nearest max-distance=20", "ico8", "r24x12", ocean),
    ("distance neighbours=9", "cs6", "ico9", ocean),
    ("conservative,fixed:271.35", "cs12", "r36x18", ocean),
]


def options(method):
    """The same for the tool."""
    methods, *settings = method.split()
    words = ["-m", methods]
    for setting in settings:
        name, value = setting.split("=")
        words += [f"--{name}", value]
    return words


@pytest.mark.parametrize("method, source, target, masked", CASES, ids=[c[0] for c in CASES])
def test_made_at_the_start_and_from_a_file(stage, method, source, target, masked):
    cells = [stage.grid(source, masked), stage.grid(target)]
    stage.tool("weights", f"{source}.nc", f"{target}.nc", *options(method), "-o", "w.nc")
    wanted = expected(stage.folder / "w.nc", layers=2)
    for way in WAYS:
        assert stage.run(*cells, way, ["method", method], layers=2) == wanted, way
    for way in WAYS[1:]:
        assert stage.run(*cells, way, ["file", "w.nc"], layers=2) == wanted, way


def test_the_configuration_says_where_weights_come_from(stage):
    cells = [stage.grid("cs6"), stage.grid("r24x12")]
    stage.tool("weights", "cs6.nc", "r24x12.nc", "--format", "esmf", "-o", "esmf.nc")
    stage.tool("weights", "cs6.nc", "r24x12.nc", "-o", "w.nc")
    wanted = expected(stage.folder / "w.nc")
    keys = f", weight_file='{stage.folder}/esmf.nc'"
    assert stage.run(*cells, (2, 3, "cyclic"), ["conf"], keys=keys) == wanted
    keys = ", weight_method='conservative'"
    assert stage.run(*cells, (2, 3, "cyclic"), ["conf"], keys=keys) == wanted
    text = stage.run(*cells, (2, 1, "block"), ["both"], keys=keys, code=1)
    assert "the configuration takes it from weights made by 'conservative'" in text, text


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
def test_cells_and_methods_by_the_calls_of_each_language(stage, language):
    """Cells by calls; the table by a call or by weight_method: that of `waitio cpl weights`."""
    cells = [stage.grid("r20x10", ocean), stage.grid("cs5")]
    env = stage.speak(language)
    method = "bilinear,conservative,nearest norm=destarea"
    stage.tool("weights", "r20x10.nc", "cs5.nc", *options(method), "-o", "w.nc")
    wanted = expected(stage.folder / "w.nc")
    for way in WAYS:
        assert stage.run(*cells, way, ["method", method], env=env) == wanted, way
    assert stage.run(*cells, WAYS[1], ["file", "w.nc"], env=env) == wanted
    keys = f", weight_method='{method}'"
    assert stage.run(*cells, WAYS[2], ["conf"], keys=keys, env=env) == wanted


def test_cells_that_are_too_few(stage):
    """A program gives one cell less than its grid has points."""
    cells = [stage.grid("cs2"), stage.grid("cs3")]
    env = stage.speak("fortran")
    text = stage.run(
        *cells, (1, 2, "block"), ["method", "nearest"], code=1, env={**env, "FEWER": "1"}
    )
    assert "component 'compA' gives 23 cells for grid 'gA', which has 24 points" in text, text
    text = stage.run(*cells, (1, 1, "block"), ["method", "nearest", "sizes"], code=1, env=env)
    assert "h3ou_def_grid_cells of grid 'g" in text, text
    assert ": lat has the size 23, not 24" in text or ": lat has the size 53, not 54" in text, text


def rows_of(path):
    """{target: {source: weight}} of a weight file, and areas of both grids."""
    v, _ = classic.read(path)
    rows = {i: {} for i in range(1, len(v["waitio_method"]) + 1)}
    for source, target, weight in zip(v["src_address"], v["dst_address"], v["remap_matrix"]):
        rows[target][source] = weight
    return rows, v["src_grid_area"], v["dst_grid_area"]


def beyond(found, rows, field):
    """Targets with a value that none of their sources, nor of these cells' neighbours, reaches."""
    bad = []
    for target, row in rows.items():
        low, high = min(field[s] for s in row), max(field[s] for s in row)
        if not low - 1e-13 <= found[0, target] <= high + 1e-13:
            bad.append(target)
    return bad


LIMITED = "conservative2 limiter=barth-jespersen"


@pytest.mark.parametrize(
    "source, target", [("cs8", "r48x24"), ("ico6", "cs14"), ("r36x18", "ico5")]
)
def test_a_limiter_makes_no_new_extremes_and_conserves(stage, source, target):
    """Of a field that is rough everywhere; alike for any number of processes."""
    cells = [stage.grid(source), stage.grid(target)]
    stage.tool("weights", f"{source}.nc", f"{target}.nc", "-m", "conservative2", "-o", "w.nc")
    rows, areas, target_areas = rows_of(stage.folder / "w.nc")
    field = {s: math.sin(s) for s in range(1, len(areas) + 1)}
    plain = stage.run(*cells, WAYS[1], ["method", "conservative2"])
    found = stage.run(*cells, WAYS[0], ["method", LIMITED], layers=2)
    assert beyond(plain, rows, field)  # without a limiter there are
    assert not beyond(found, rows, field)
    given = math.fsum(a * field[i] for i, a in enumerate(areas, 1))
    got = math.fsum(a * found[0, i] for i, a in enumerate(target_areas, 1))
    assert abs(got - given) < 1e-12 * math.fsum(areas)
    for way in WAYS[1:]:
        assert stage.run(*cells, way, ["method", LIMITED], layers=2) == found, way
    keys = f", weight_method='{LIMITED}'"
    assert stage.run(*cells, WAYS[1], ["conf"], keys=keys, layers=2) == found


def test_a_limiter_leaves_smooth_fields_alone_and_steps_between_their_values(stage):
    cells = [stage.grid("cs12"), stage.grid("r72x36")]
    env = {"CELLS_FIELD": "lat"}
    plain = stage.run(*cells, WAYS[1], ["method", "conservative2"], env=env)
    found = stage.run(*cells, WAYS[1], ["method", LIMITED], env=env)
    first = stage.run(*cells, WAYS[1], ["method", "conservative"], env=env)
    same = [i for i in plain if abs(found[i] - plain[i]) < 1e-14]
    assert len(same) > 0.7 * len(plain), len(same)
    stage.tool("grid", "r72x36", "-o", "t.nc")
    v, _ = classic.read(stage.folder / "t.nc")
    true = [math.sin(math.radians(lat)) for lat in v["grid_center_lat"]]

    def error(of):
        return math.fsum(abs(of[0, i] - x) for i, x in enumerate(true, 1)) / len(true)

    assert error(found) < 0.3 * error(first), (error(found), error(first), error(plain))
    env = {"CELLS_FIELD": "step"}
    plain = stage.run(*cells, WAYS[1], ["method", "conservative2"], env=env)
    found = stage.run(*cells, WAYS[1], ["method", LIMITED], env=env)
    assert min(plain.values()) < -0.01 and max(plain.values()) > 1.01
    assert min(found.values()) > -1e-14 and max(found.values()) < 1 + 1e-14
    assert set(found.values()) - {0.0, 1.0}  # and not all of it is flat


def test_a_limiter_with_a_fallback_masks_and_a_value(stage):
    """Rows of other methods are as they are without it."""
    cells = [stage.grid("cs8", ocean), stage.grid("r36x18")]
    stack = "conservative2,nearest max-distance=6"
    plain = stage.run(*cells, WAYS[1], ["method", stack])
    found = stage.run(*cells, WAYS[1], ["method", f"{stack} limiter=barth-jespersen"])
    stage.tool("weights", "cs8.nc", "r36x18.nc", *options(stack), "-o", "w.nc")
    v, _ = classic.read(stage.folder / "w.nc")
    other = [i for i, m in enumerate(v["waitio_method"], 1) if m != 6]
    assert len(other) > 5 and FILL in plain.values()
    for i in other:
        assert found[0, i] == plain[0, i]
    fixed = "conservative2,fixed:7.5 limiter=barth-jespersen"
    found = stage.run(*cells, WAYS[2], ["method", fixed])
    assert [found[0, i] for i in other if plain[0, i] == FILL].count(7.5) > 5


def test_a_limiter_is_refused_where_it_cannot_work(stage):
    cells = [stage.grid("cs2"), stage.grid("cs3")]
    text = stage.run(
        *cells, (1, 1, "block"), ["method", "conservative limiter=barth-jespersen"], code=1
    )
    assert "limiter is for conservative2, which is none of the methods" in text, text
    text = stage.run(*cells, (1, 1, "block"), ["method", "conservative2 limiter=van-leer"], code=1)
    assert "limiter=van-leer is no setting" in text, text
    keys = f", weight_method='{LIMITED}'"
    more = {"remap": "'send'"}
    text = stage.run(*cells, (1, 2, "block"), ["conf"], keys=keys, code=1, more=more)
    assert "needs all sources: the receiver remaps" in text, text
    text = stage.run(*cells, (1, 2, "block"), ["method", LIMITED], code=1, more=more)
    assert "its weights have a limiter, which the receiver applies, but 'vA'" in text, text
    other = OTHER.format(key=f", weight_method='{LIMITED}'")
    text = stage.run(*cells, (2, 1, "block"), ["conf"], code=1, more=more, add=other)
    for component in ("compA", "compB"):  # without a tag it goes by the only table, which is 2
        assert f"component '{component}', process 0: table 2 from grid 'gA'" in text, text
    assert "c.conf:2); take out remap = 'send'" in text, text
    text = stage.run(
        *cells, (1, 2, "block"), ["method", LIMITED], code=1, env={"CELLS_MASKED": "5"}
    )
    assert "table 1 from grid 'gA' of 'compA' to grid 'gB' of 'compB': its weights" in text, text
    assert "a limiter, which needs all sources, but index 5 of the source grid" in text, text


OTHER = pair(*PAIRS["AB"], 2).replace(" /", "{key} /") + var("vA", "zA", 10)


def test_a_limiter_in_one_table_and_the_sender_remaps_by_another(stage):
    """Each variable goes by its own table; those without a tag by the first."""
    cells = [stage.grid("cs6"), stage.grid("r24x12")]
    more, other = {"remap": "'send'"}, OTHER.format(key=f", weight_method='{LIMITED}'")
    wanted = stage.run(*cells, WAYS[1], ["method", "conservative"])
    for way in WAYS:
        found = stage.run(*cells, way, ["method", "conservative"], more=more, add=other)
        assert found == wanted, way


def test_without_netcdf_files_are_errors_and_methods_work(stage):
    """Libraries as a build with WAITIO_NETCDF=OFF has them: the one that reads files is missing."""
    cells = [stage.grid("cs4"), stage.grid("r12x6")]
    stage.tool("weights", "cs4.nc", "r12x6.nc", "-o", "w.nc")
    bare = stage.folder / "bare"
    bare.mkdir()
    for name in ("libwaitio.so.0", "libwaitio_cpl.so.0"):
        shutil.copy(stage.troupe.build_dir / "lib" / name, bare / name)
    env = {"LD_LIBRARY_PATH": str(bare)}
    wanted = expected(stage.folder / "w.nc")
    assert stage.run(*cells, WAYS[1], ["method", "conservative"], env=env) == wanted
    text = stage.run(*cells, (1, 2, "block"), ["file", "w.nc"], code=1, env=env)
    for component in ("compA", "compB"):
        assert f"waitio coupler: component '{component}'" in text, text
    assert "this WaitIO was built without netCDF; install netCDF-C" in text, text


def change(path, variable, values):
    """Other numbers in a weight file: {position: value}."""
    v, _ = classic.read(path)
    old = v[variable]
    form = "d" if isinstance(old[0], float) else "i"
    new = [values.get(i, x) for i, x in enumerate(old)]
    data = path.read_bytes()
    packed = struct.pack(f">{len(old)}{form}", *old)
    assert data.count(packed) == 1
    path.write_bytes(data.replace(packed, struct.pack(f">{len(new)}{form}", *new)))


@pytest.mark.parametrize(
    "variable, values, says",
    [
        ("src_address", {7: 9999}, "w.nc', link 8: source 9999 to target"),
        ("dst_address", {0: 0}, "w.nc', link 1: source"),
        ("remap_matrix", {40: math.nan}, "w.nc', link 41 (source"),
    ],
)
def test_bad_entries_of_a_file_are_named(stage, variable, values, says):
    cells = [stage.grid("cs4"), stage.grid("r12x6")]
    stage.tool("weights", "cs4.nc", "r12x6.nc", "-o", "w.nc")
    change(stage.folder / "w.nc", variable, values)
    text = stage.run(*cells, (2, 2, "block"), ["file", "w.nc"], code=1)
    for component in ("compA", "compB"):
        assert f"waitio coupler: component '{component}'" in text, text
    assert says in text, text


def test_a_file_for_other_grids(stage):
    cells = [stage.grid("cs4"), stage.grid("r12x6")]
    stage.grid("cs3")
    stage.tool("weights", "cs3.nc", "r12x6.nc", "-o", "w.nc")
    text = stage.run(*cells, (2, 2, "block"), ["file", "w.nc"], code=1)
    assert "grid 'gA' of component 'compA' has the index 96, but '" in text
    assert "w.nc' is for a source grid of 54 cells" in text
    lines = cells[0].read_text().splitlines()
    lines[0] = lines[0].rsplit(" ", 1)[0] + " 95"
    stage.tool("weights", "cs4.nc", "r12x6.nc", "-o", "w.nc")
    short = stage.folder / "short.cells"
    short.write_text("\n".join(lines[:-1]) + "\n")
    text = stage.run(short, cells[1], (2, 2, "block"), ["file", "w.nc"], code=1)
    assert "w.nc', link " in text and "owns the index 96 of grid 'gA'" in text, text
    text = stage.run(*cells, (1, 2, "block"), ["file", "none.nc"], code=1)
    assert "none.nc' as netCDF" in text, text


def test_what_cannot_be_made(stage):
    cells = [stage.grid("cs4"), stage.grid("r12x6")]
    text = stage.run(*cells, (2, 2, "block"), ["method", "bilinear"], code=1)
    assert "bilinear" in text and "logically rectangular" in text, text
    text = stage.run(*cells, (1, 2, "block"), ["method", "nearst"], code=1)
    assert "'nearst' is no method" in text, text
    text = stage.run(
        *cells, (1, 1, "block"), ["method", "nearest"], code=1, env={"CELLS_NONE": "1"}
    )
    assert "has not said where the points of its grid" in text, text
    lines = cells[0].read_text().splitlines()
    words = lines[5].split()
    words[3] = "nan"
    lines[5] = " ".join(words)
    cells[0].write_text("\n".join(lines) + "\n")
    text = stage.run(*cells, (2, 1, "block"), ["method", "conservative"], code=1)
    assert "grid 'gA' of component 'compA', process 0: cell 5 (centre nan" in text, text
