# SPDX-License-Identifier: BSD-3-Clause
"""What coordinates say of themselves: units, bounds, and whether longitudes go around the globe."""

import pytest

HEAD = """\
from waitio.coupler import DimensionError, FieldError, ShapeError, cells, grids
def refused(kind, words, call, *args, **more):
    try:
        call(*args, **more)
    except kind as error:
        assert all(word in str(error) for word in words), str(error)
    else:
        raise AssertionError(f"not refused: {words}")
def two(edges):
    return np.stack([edges[:-1], edges[1:]], axis=1)
def whole(what, **words):
    return grids.from_xarray("a", what, (0, 1), **words)
"""


@pytest.fixture
def says(alone, helpers):
    """Run a text in one process."""
    import textwrap

    def run(body):
        helpers.needs("xarray")
        alone.passes(HEAD + "import xarray\n" + textwrap.dedent(body), (1,), joined=False)

    return run


def test_units_of_coordinates(says):
    """Radians are radians, in a Dataset, a DataArray or an array with attributes; what is neither
    is refused by name, and so are two units in one grid."""
    says("""
    def icon(units, lat_units=None, **more):
        points = {"clon": ("cell", [0.1, 0.2, 3.0], {"units": units} if units else {}),
                  "clat": ("cell", [-1.5, 0.0, 1.5], {"units": lat_units or units or ""})}
        return xarray.Dataset(coords={**points, **more})
    for units in ("radian", "radians", "rad", "Radian"):
        assert whole(icon(units)).cells.unit == "radians"
    for units in ("degrees", "degree", "deg", "degrees_east", "degree_E", None):
        assert whole(icon(units, "degree_north")).cells.unit == "degrees"
    g = icon("radian")
    field = xarray.DataArray(np.zeros(3), dims="cell", coords=g.coords)
    assert whole(field).cells.unit == "radians"
    def by_arrays(lon, lat, **more):
        return grids.from_arrays("a", lon, lat, (0, 1), kind="unstructured", **more)
    assert by_arrays(g.clon, g.clat).cells.unit == "radians"
    assert by_arrays(g.clon.values, g.clat.values).cells.unit == "degrees"
    class Variable:  # as netCDF4 has them
        units, name = "radian", "clon"
        def __array__(self, dtype=None, copy=None):
            return np.array([0.1, 0.2, 3.0])
    refused(FieldError, ["'lat' is in degrees", "'clon' in radians"], by_arrays, Variable(),
            [0, 0, 0])
    assert by_arrays(Variable(), Variable()).cells.unit == "radians"
    for units in ("m", "degrees_west", "degC", "1", "gon"):
        refused(FieldError, ["'clon'", repr(units), "cells("], whole, icon(units))
        refused(FieldError, ["'clat'", repr(units), "cells("], whole, icon("radian", units))
    refused(FieldError, ["'clat'", "degrees_north", "'clon' in radians"], whole,
            icon("radian", "degrees_north"))
    def cornered(units):
        around = np.ones((3, 4))
        g = icon("radian", clon_vertices=(("cell", "v"), around, {"units": units} if units else {}),
                 clat_vertices=(("cell", "v"), around))
        g.clon.attrs["bounds"], g.clat.attrs["bounds"] = "clon_vertices", "clat_vertices"
        return g
    for units in ("radian", None):
        g = whole(cornered(units)).cells
        assert g.unit == "radians" and g.corner_lon.shape == (3, 4)
    refused(FieldError, ["'clon_vertices'", "degrees_east", "'clon' in radians"], whole,
            cornered("degrees_east"))
    refused(FieldError, ["'clon_vertices'", "'km'", "cells("], whole, cornered("km"))
    """)


def test_longitudes_that_go_around(says):
    """In single precision, with jumps by whole turns, either way, in radians; no others do."""
    says("""
    ways = {"double": np.float64, "single": np.float32}
    def close(lon, edges, unit="degrees"):
        return cells.closes(lon, None, unit) and all(
            cells.closes(lon, b, unit) for b in (edges, two(edges)) if b is not None)
    for n in (3, 4, 36, 432, 1080, 1440, 7200, 10800, 43200):
        for start in (0.0, -180.0, -180.0 / n, 20.5):
            edges = start + 360.0 / n * np.arange(n + 1)
            lon = (edges[1:] + edges[:-1]) / 2
            for way in ways.values():
                where = (n, start, way)
                assert close(lon.astype(way), edges.astype(way)), where
                half = way(180 / n)
                apart = np.stack([lon.astype(way) - half, lon.astype(way) + half], 1)
                assert cells.closes(lon.astype(way), apart), where
                assert close(lon[::-1].astype(way), edges[::-1].astype(way)), where
                assert cells.closes(lon[::-1], two(edges)[::-1].astype(way)), where
                turned = ((lon + 180) % 360 - 180).astype(way)
                assert close(turned, (edges % 360).astype(way)), where
                assert close(np.radians(lon).astype(way), np.radians(edges).astype(way),
                             "radians"), where
                if n > 4:
                    assert not cells.closes(lon[:-1].astype(way), None), where
                    assert not cells.closes(lon[:-1].astype(way), edges[:-1].astype(way)), where
                    assert not cells.closes(lon[:-1].astype(way), two(edges)[:-1].astype(way))
    assert cells.closes(np.r_[0:180, -180:0], None)
    assert cells.closes(np.r_[0:180, -180:0], two(np.arange(361) - 0.5) % 360)
    assert not cells.closes(np.arange(361), None)  # one longitude twice
    assert not cells.closes(np.arange(180), None)
    assert not cells.closes(np.arange(720) % 360, None)  # twice around
    assert not cells.closes(np.radians(np.arange(36) * 10), None)  # degrees they are not
    steps = np.array([10, 20] * 12)
    assert cells.closes(np.cumsum(steps), None) and not cells.closes(np.cumsum(steps[2:]), None)
    """)


def test_the_seam_of_grids(says):
    """What a grid makes of its longitudes: with (lon, lat) they are not the last dimension."""
    says("""
    lon, lat = np.arange(-180, 180, 10).astype(np.float32), np.arange(-85, 90, 10)
    g = grids.from_arrays("a", (lon + 360) % 360, lat, (0, 1))
    assert g.cells.periodic and (g.cells.ny, g.cells.nx) == (18, 36)
    there = {"lon": lon, "lat": lat}
    field = xarray.DataArray(np.zeros((36, 18)), dims=("lon", "lat"), coords=there)
    assert not whole(field).cells.periodic
    assert whole(field.T).cells.periodic
    turn = field.T.assign_coords(lon=("lon", np.radians(lon), {"units": "radian"}),
                                 lat=("lat", np.radians(lat), {"units": "radian"}))
    assert whole(turn).cells.periodic and whole(turn).cells.unit == "radians"
    """)


def test_bounds_that_do_not_fit(says):
    """Bounds with a time, as open_mfdataset makes them, hinder nobody who needs no corners."""
    says("""
    lon, lat = np.arange(0, 360, 30), np.arange(-80, 90, 20)
    def world(lon_bounds, lat_bounds=(("lat", "bnds"), two(np.arange(-90, 91, 20)))):
        return xarray.Dataset(
            {"lon_bnds": lon_bounds, "lat_bnds": lat_bounds},
            coords={"lon": ("lon", lon, {"bounds": "lon_bnds"}),
                    "lat": ("lat", lat, {"bounds": "lat_bnds"})})
    edges = two(np.arange(-15, 360, 30))
    good = whole(world((("lon", "bnds"), edges)))
    assert good.cells.corner_lon.shape == (108, 4) and good.lacks is None
    assert whole(world((("bnds", "lon"), edges.T))).cells.corner_lon.shape == (108, 4)
    timed = world((("time", "lon", "bnds"), np.stack([edges] * 5)))
    bad = whole(timed)
    assert bad.cells.corner_lon is None and bad.cells.periodic and bad.points == 108
    for word in ("'lon'", "'lon_bnds'", "('time', 'lon', 'bnds')", "isel"):
        assert word in bad.lacks, bad.lacks
    assert whole(timed.isel(time=0)).lacks is None
    assert "4 corners: 2 make" in whole(world((("lon", "v"), np.zeros((12, 4))))).lacks
    assert "a Dataset has them" in whole(timed.lon_bnds.isel(bnds=0, time=0)
                                         .expand_dims(lat=timed.lat)).lacks
    own = whole(timed, bounds=(np.arange(-15, 360, 30), np.arange(-90, 91, 20)))
    assert own.cells.corner_lon.shape == (108, 4) and own.lacks is None
    """)


def test_parts_by_mappings(says):
    """Slices, and positions for one dimension; with bounds, too. Others are named."""
    says("""
    lon, lat = np.arange(0, 360, 30), np.arange(-80, 90, 20)
    field = xarray.Dataset(
        {"lon_bnds": (("lon", "bnds"), two(np.arange(-15, 360, 30))),
         "lat_bnds": (("lat", "bnds"), two(np.arange(-90, 91, 20)))},
        coords={"lon": ("lon", lon, {"bounds": "lon_bnds"}),
                "lat": ("lat", lat, {"bounds": "lat_bnds"})})
    for take in (slice(2, 5), [2, 3, 4], np.array([2, 3, 4]), (np.arange(9) % 8 > 1) & (lat < 10)):
        g = whole(field, part={"lat": take})
        assert g.shape == (3, 12) and g.index[0, ] == 25 and g.coords["lat"].shape == (3,)
        assert g.cells.corner_lat.shape == (36, 4) and g.cells.corner_lat[0].min() == -50
    assert whole(field, part={"lon": [0, 11], "lat": slice(0, 2)}).index.tolist() == [1, 12, 13, 24]
    for bad in (3, [[1, 2]], "x", None):
        refused(ShapeError, ["a slice for each dimension", repr(bad)], whole, field,
                part={"lat": bad})
    refused(ShapeError, ["for one of them"], whole, field, part={"lat": [1], "lon": [2]})
    refused(ShapeError, ["positions 0 .. 8", "9"], whole, field, part={"lat": [0, 9]})
    refused(ShapeError, ["9 booleans"], whole, field, part={"lat": [True, False]})
    """)
