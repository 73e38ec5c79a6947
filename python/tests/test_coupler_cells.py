# SPDX-License-Identifier: BSD-3-Clause
"""Cells and weights from Python: the coupler's table is, to the last bit, that of `waitio cpl
weights`, for grids of indices, of coordinates with bounds, and of xarray."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

CONF = """\
&h3ou_var comp_put='fine', comp_get='coarse', grid_put='a', grid_get='b'{key} /
&h3ou_var var_put='heat', var_get='heat', intvl=10, lag=-1, flag='SNP' /
"""
# Both run the same text. `make` defines the grid, and gives the global index of each point.
HEAD = """\
import math
from waitio.coupler import *
fine = os.environ["WAITIO_PBID"] == "0"
me = "fine" if fine else "coarse"
def play(make, **words):
    with Coupler(me, "coupling.conf") as c:
        index = make(c)
        if words:
            c.map("fine", "a", "coarse", "b", **words)
        with c.run():
            if fine:
                c.put("heat", np.vectorize(math.sin)(index))
            c.step(10)
            if not fine:
                got = c.get("heat")
                with open(f"out.{c.rank}", "w") as out:
                    for i, v in zip(np.ravel(index), np.ravel(np.asarray(got))):
                        print(i, float(v).hex(), file=out)
def edges(low, high, n):
    return np.array([low + (high - low) / n * i for i in range(n + 1)])
def centres(e):
    return np.array([0.5 * (a + b) for a, b in zip(e[:-1], e[1:])])
"""
WAYS = [(1, 1), (2, 3)]


@pytest.fixture
def weights(build_dir, tmp_path):
    """{target index: value} of sin(source index), by the tool's own file."""
    import classic

    def make(source, target, *words):
        line = [str(build_dir / "bin" / "waitio"), "cpl"]
        for name in (source, target):
            done = subprocess.run(
                [*line, "grid", name, "-o", f"{name}.nc"],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if "built without netCDF" in done.stderr:
                pytest.skip("built without netCDF (Debian: apt-get install libnetcdf-dev)")
            assert done.returncode == 0, done.stderr
        subprocess.run(
            [*line, "weights", f"{source}.nc", f"{target}.nc", *words, "-o", "w.nc"],
            cwd=tmp_path,
            capture_output=True,
            timeout=120,
            check=True,
        )
        v, _ = classic.read(tmp_path / "w.nc")
        rows = {}
        for s, t, w in zip(v["src_address"], v["dst_address"], v["remap_matrix"]):
            rows.setdefault(t, []).append((s, w))
        return rows

    return make


def expected(rows):
    import math

    found = {}
    for target, row in rows.items():
        total = 0.0
        for source, weight in sorted(row):
            total += weight * math.sin(source)
        found[target] = total
    return found


def run(u, body, blocks, key=""):
    """{target index: value} of a run."""
    for old in u.folder.glob("out.*"):
        old.unlink()
    (u.folder / "coupling.conf").write_text(CONF.format(key=key))
    u.all_end(u.play(HEAD + textwrap.dedent(body), blocks, joined=False), 60)
    found = {}
    for path in u.folder.glob("out.*"):
        for line in path.read_text().splitlines():
            index, value = line.split()
            assert int(index) not in found
            found[int(index)] = float.fromhex(value)
    return found


BY_POINTS = """\
import pathlib, sys
sys.path.append({support!r})
import classic
def make(c):
    v, _ = classic.read(pathlib.Path("../r20x10.nc" if fine else "../cs5.nc"))
    n = len(v["grid_center_lon"])
    mine = np.arange(1, n + 1)[::-1][c.rank :: c.size]  # in an odd order
    def of(name):
        return np.array(v[name]).reshape(n, -1)[mine - 1]
    c.grid("a" if fine else "b", mine)
    c.cells("a" if fine else "b", of("grid_center_lon"), of("grid_center_lat"),
            corner_lon=of("grid_corner_lon"), corner_lat=of("grid_corner_lat"),
            shape=(10, 20) if fine else None, periodic=fine)
    return mine
"""


@pytest.mark.parametrize("blocks", WAYS)
def test_cells_by_point(alone, weights, blocks):
    """A table by a call, by the configuration, and by the file itself."""
    wanted = expected(weights("r20x10", "cs5", "-m", "bilinear,conservative"))
    support = pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"
    make = BY_POINTS.format(support=str(support))
    key = ", weight_method='bilinear,conservative'"
    assert run(alone, make + "play(make, method='bilinear,conservative')", blocks) == wanted
    assert run(alone, make + "play(make)", blocks, key) == wanted
    assert run(alone, make + "play(make, weight_file='../w.nc')", blocks) == wanted


BY_BOUNDS = """\
def make(c):
    nx, ny = (36, 18) if fine else (20, 10)
    lon, lat = edges(-180 / nx, 360 - 180 / nx, nx), edges(-90, 90, ny)
    g = c.grid("a" if fine else "b", lon=centres(lon), lat=centres(lat), lon_bounds={lon},
               lat_bounds=lat)
    assert g.cells.periodic and g.cells.corner_lon.shape == (g.points, 4)
    return g.index.reshape(g.shape)
"""


@pytest.mark.parametrize("lon", ["lon", "np.stack([lon[:-1], lon[1:]], axis=1)"])
@pytest.mark.parametrize("method", ["conservative", "conservative2", "bilinear,distance"])
def test_bounds_of_coordinates(alone, weights, lon, method):
    """Longitudes and latitudes with bounds make the cells; values are near those of the tool, whose
    grids (with a centre at longitude 0) differ in the last bits of their corners."""
    wanted = expected(weights("r36x18", "r20x10", "-m", method))
    body = BY_BOUNDS.format(lon=lon) + f"play(make, method={method!r})"
    found = run(alone, body, (2, 3))
    assert found.keys() == wanted.keys()
    assert max(abs(found[i] - wanted[i]) for i in wanted) < 1e-12
    assert run(alone, body, (1, 2)) == found


def test_bounds_of_xarray(alone, weights, helpers):
    helpers.needs("xarray")
    wanted = expected(weights("r36x18", "r20x10", "-m", "conservative"))
    body = """\
    import xarray
    def make(c):
        nx, ny = (36, 18) if fine else (20, 10)
        lon, lat = edges(-180 / nx, 360 - 180 / nx, nx), edges(-90, 90, ny)
        def two(e):
            return np.stack([e[:-1], e[1:]], axis=1)
        whole = xarray.Dataset(
            {"lat_bnds": (("lat", "nv"), two(lat)), "lon_bnds": (("lon", "nv"), two(lon))},
            coords={"lat": ("lat", centres(lat), {"units": "degrees_north", "bounds": "lat_bnds"}),
                    "lon": ("lon", centres(lon), {"units": "degrees_east", "bounds": "lon_bnds"})})
        g = c.grid("a" if fine else "b", whole)
        return g.index.reshape(g.shape)
    play(make, method="conservative")
    """
    found = run(alone, body, (2, 2))
    assert found.keys() == wanted.keys()
    assert max(abs(found[i] - wanted[i]) for i in wanted) < 1e-12


def test_an_unstructured_grid_in_radians(alone, helpers):
    """As ICON has its grids; the other one has the same points in degrees. Bounds that cannot be
    used are named when a method needs them."""
    helpers.needs("xarray")
    body = """\
    import xarray
    def make(c):
        n = 200
        x, y = 360 * (0.618 * np.arange(n) % 1), 170 * (np.arange(n) / n - 0.5)
        if not fine:
            return c.grid("b", lon=x, lat=y, kind="unstructured").index
        unit = {"units": "radian", "bounds": "vertices"}
        around = np.zeros((2, n, 4))
        whole = xarray.Dataset({"vertices": (("time", "cell", "v"), around)}, coords={
            "clon": ("cell", np.radians(x), unit), "clat": ("cell", np.radians(y), unit)})
        g = c.grid("a", whole)
        try:
            c.map("fine", "a", "coarse", "b", method="nearest,conservative norm=destarea")
        except FieldError as error:
            for word in ("conservative needs corners of grid 'a'", "'vertices'", "'time'"):
                assert word in str(error), str(error)
        else:
            raise AssertionError("not refused")
        return g.index
    play(make, method="nearest")
    """
    import math

    assert run(alone, body, (2, 2)) == {i: math.sin(i) for i in range(1, 201)}


def test_curvilinear_corners_and_vertices(alone, weights):
    """Corners of each cell, or the vertices between them: the same cells."""
    wanted = expected(weights("r36x18", "r20x10", "-m", "conservative"))
    body = """\
    def make(c):
        nx, ny = (36, 18) if fine else (20, 10)
        lon, lat = edges(-180 / nx, 360 - 180 / nx, nx), edges(-90, 90, ny)
        y, x = np.meshgrid(lat, lon, indexing="ij")
        around = [np.stack([e[:-1, :-1], e[:-1, 1:], e[1:, 1:], e[1:, :-1]], -1) for e in (x, y)]
        cy, cx = np.meshgrid(centres(lat), centres(lon), indexing="ij")
        g = c.grid("a" if fine else "b", lon=cx, lat=cy, periodic=True,
                   lon_bounds=x if fine else around[0], lat_bounds=y if fine else around[1])
        return g.index.reshape(g.shape)
    play(make, method="conservative")
    """
    found = run(alone, body, (2, 3))
    assert found.keys() == wanted.keys()
    assert max(abs(found[i] - wanted[i]) for i in wanted) < 1e-12


def test_what_is_refused_by_name(alone):
    body = """\
    def refused(kind, text, call, *args, **words):
        try:
            call(*args, **words)
        except kind as error:
            assert text in str(error), str(error)
        else:
            raise AssertionError(f"not refused: {text}")
    def make(c):
        name = "a" if fine else "b"
        refused(ShapeError, "lon_bounds has shape (3,): for 3 values (4,)", c.grid, name,
                lon=[0, 1, 2], lat=[0, 1], lon_bounds=[0, 1, 2], lat_bounds=[0, 1, 2])
        refused(FieldError, "come together", c.grid, name, lon=[0, 1, 2], lat=[0, 1],
                lon_bounds=[0, 1, 2, 3])
        refused(waitio.ArgumentError, "are for coordinates", c.grid, name, [1], periodic=True)
        refused(waitio.ArgumentError, "not defined here", c.cells, name, [0], [0])
        c.grid(name, [1, 2])
        refused(ShapeError, "lon has 3 values, this process 2 points", c.cells, name, [0, 1, 2],
                [0, 1])
        refused(ShapeError, "corners have the shape", c.cells, name, [0, 1], [0, 1],
                corner_lon=[0, 1], corner_lat=[0, 1])
        refused(FieldError, "come together", c.cells, name, [0, 1], [0, 1],
                corner_lon=[[0] * 3] * 2)
        refused(FieldError, "is none of degrees", c.cells, name, [0, 1], [0, 1], unit="miles")
        refused(DtypeError, "numbers", c.cells, name, ["a", "b"], [0, 1])
        c.cells(name, [0, 1], [0, 1])
        refused(waitio.ArgumentError, "one of the three", c.map, "fine", "a", "coarse", "b",
                method="nearest", weight_file="w.nc")
        return np.array([1, 2])
    play(make, method="nearest")
    """
    found = run(alone, body, (1, 1))
    import math

    assert found == {1: math.sin(1), 2: math.sin(2)}
