# SPDX-License-Identifier: BSD-3-Clause
"""waitio.coupler: grids, fields and steps from Python, and what is refused by name."""

import signal
import textwrap

import pytest

CONF = """\
&h3ou_var comp_put='atmos', comp_get='ocean', grid_put='air', grid_get='sea' /
&h3ou_var var_put='wind', var_get='wind', intvl=3600, lag=-1, flag='SNP' /
&h3ou_var var_put='rain', var_get='rain', intvl=7200, lag=-1, flag='AVR', layer=2 /
&h3ou_var comp_put='ocean', comp_get='atmos', grid_put='sea', grid_get='air' /
&h3ou_var var_put='sst', var_get='sst', intvl=3600, lag=1, flag='SNP' /
"""
# Component by block; both run the same text, which may ask for `atmos`.
HEAD = """\
from waitio.coupler import *
atmos = os.environ["WAITIO_PBID"] == "0"
me = "atmos" if atmos else "ocean"
def identity(c, n):
    i = np.arange(1, n + 1)
    both = dict(send_index=i, recv_index=i) if c.rank == 0 else {}
    c.map("atmos", "air", "ocean", "sea", **(both if atmos else {}))
    c.map("ocean", "sea", "atmos", "air", **({} if atmos else both))
def refused(kind, text, call, *args, **words):
    try:
        call(*args, **words)
    except kind as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError(f"not refused: {text}")
"""


def play(u, body, blocks=(1, 1), conf=CONF):
    (u.folder / "coupling.conf").write_text(conf)
    return u.play(HEAD + textwrap.dedent(body), blocks, joined=False)


def passes(u, body, blocks=(1, 1), conf=CONF):
    u.all_end(play(u, body, blocks, conf), 60)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3)])
def test_fields_by_index_arrive_in_the_steps_that_the_schedule_says(alone, blocks):
    """Snapshots, a mean with layers, lag 1; global indices in an odd order, by process."""
    passes(
        alone,
        """
        with Coupler(me, "coupling.conf", start="2026-01-01") as c:
            assert c.components == {"atmos": c.size if atmos else c.components["atmos"],
                                    "ocean": c.components["ocean"] if atmos else c.size}
            mine = np.arange(1, 13)[::-1][c.rank :: c.size]
            g = c.grid("air" if atmos else "sea", mine)
            identity(c, 12)
            with c.run():
                assert c.puts == (("wind", "rain") if atmos else ("sst",))
                if atmos:
                    c.put("wind", mine * 1.0)
                    c.put("rain", np.stack([mine, mine + 0.5]))
                for step in c.steps(3600, 4):
                    assert step.time == c.time == 3600 * (step.number - 1)
                    assert step.date == np.datetime64("2026-01-01") + np.timedelta64(step.time, "s")
                    if atmos:
                        assert (c.get("sst") == 1000 * step.number + mine).all()
                        c.put("wind", 1000.0 * step.number + mine)
                        c.put("rain", 1000.0 * step.number + np.stack([mine, mine + 0.5]))
                    else:
                        assert (c.get("wind") == 1000 * (step.number - 1) + mine).all()
                        rain = c.get("rain")
                        assert c.fresh("rain") == (step.number % 2 == 1) and c.fresh("wind")
                        mean = 0 if step.number < 3 else 1500
                        assert (rain == mean + np.stack([mine, mine + 0.5])).all()
                        out = np.empty(len(mine))
                        assert c.get("wind", out=out) is out and out[0] == c.get("wind")[0]
                        c.put("sst", (1000 * step.number + mine).astype(np.float32))
        """,
        blocks,
    )


@pytest.mark.parametrize("kind", ["rectilinear", "curvilinear", "unstructured"])
def test_grids_of_coordinates_in_every_partition(alone, kind):
    """Each process gets its share of the points; values are functions of place."""
    passes(
        alone,
        f"kind = {kind!r}\n"
        + textwrap.dedent("""\
        import datetime
        lon, lat = np.linspace(0, 315, 8), np.linspace(-60, 60, 5)
        lat2, lon2 = np.meshgrid(lat, lon, indexing="ij")
        words = dict(part=(np.s_[:2], np.s_[2:])[int(os.environ["WAITIO_RANK"])]) if atmos else {}
        if kind == "curvilinear":
            lon, lat = lon2, lat2
        if kind == "unstructured":
            lon, lat = lon2.ravel(), lat2.ravel()
            words["kind"] = kind
        with Coupler(me, "coupling.conf") as c:
            g = c.grid("air" if atmos else "sea", lon=lon, lat=lat, **words)
            assert len(g.shape) == (1 if kind == "unstructured" else 2) and g.lon.shape == g.shape
            identity(c, 40)
            mine = 10 * g.lat + g.lon
            with c.run():
                if atmos:
                    c.put("wind", mine), c.put("rain", np.stack([mine, mine]))
                for step in c.steps(datetime.timedelta(hours=1), until=7200):
                    if atmos:
                        assert (c.get("sst") == mine + step.number).all()
                        c.put("wind", mine + step.number)
                        c.put("rain", np.stack([mine, mine]))
                    else:
                        assert (c.get("wind") == mine + step.number - 1).all()
                        c.put("sst", mine + step.number)
        """),
        (2, 3),
    )


def test_masks_and_missing_values(alone):
    """Points that are not there take no part; NaN there is no mistake, and comes back."""
    passes(
        alone,
        """
        mask = np.ones((4, 3), bool)
        mask[1, 1] = mask[3, :] = False
        with Coupler(me, "coupling.conf") as c:
            g = c.grid("air" if atmos else "sea", lon=[0, 1, 2], lat=[0, 1, 2, 3], mask=mask)
            assert g.points == (5, 3)[c.rank] and g.shape == (2, 3)
            there = np.flatnonzero(mask) + 1
            first = c.rank == 0 and atmos
            c.map("atmos", "air", "ocean", "sea",
                  **(dict(send_index=there, recv_index=there) if first else {}))
            c.map("ocean", "sea", "atmos", "air",  # one point only
                  **(dict(send_index=[1], recv_index=[1]) if first else {}))
            field = np.where(g.mask, g.lat * 10 + g.lon, np.nan)
            with c.run():
                if atmos:
                    c.put("wind", field), c.put("rain", np.stack([field, field]))
                c.step(3600)
                if atmos:
                    expected = np.where(g.mask, -1.0, np.nan)
                    if c.rank == 0:
                        expected[0, 0] = 77
                    got = c.get("sst", fill=-1)
                    assert np.array_equal(got, expected, equal_nan=True), got
                    c.put("wind", field), c.put("rain", np.stack([field, field]))
                else:
                    assert np.array_equal(c.get("wind"), field, equal_nan=True)
                    warm = np.where(g.mask, 77, np.nan)
                    warm[0, 0] = np.nan
                    refused(MissingValueError, f"1 of {g.points} numbers", c.put, "sst", warm)
                    c.put("sst", warm, nan_is_fill=True)
                    warm[0, 0] = 77
                    c.put("sst", warm)
        """,
        (2, 2),
    )


def test_nan_becomes_the_fill_value_of_the_variable(alone):
    """Guard: with FILL the mean of the point without value is that, and get replaces nothing."""
    mean = "var_put='rain', var_get='rain', intvl=7200, lag=-1, flag='AVR', layer=2"
    conf = CONF.replace(mean, mean.replace(", layer=2", ", fill=-5"))
    conf = conf.replace(
        "&h3ou_var comp_put='ocean'",
        "&h3ou_var var_put='wind', var_get='gust', intvl=3600, lag=-1, flag='SNP', fill=7 /\n"
        "&h3ou_var comp_put='ocean'",
    )
    passes(
        alone,
        """
        with Coupler(me, "coupling.conf") as c:
            c.grid("air" if atmos else "sea", [1, 2])
            identity(c, 2)
            with c.run():
                assert c.field("rain", gets=not atmos).fill == -5
                assert c.field("sst", gets=atmos).fill == FILL
                if atmos:
                    refused(MissingValueError, "different fill values", c.put, "wind",
                            [1, np.nan], nan_is_fill=True)
                    c.put("wind", [1, 2], nan_is_fill=True)
                    c.put("rain", [1, np.nan], nan_is_fill=True)
                else:
                    c.put("sst", [1, 2])
                for step in c.steps(3600, 3):
                    if atmos:
                        c.put("wind", [1, 2])
                        c.put("rain", [step.number, np.nan], nan_is_fill=True)
                    else:
                        rain = c.get("rain")
                        assert (rain == [[1, -5], [1, -5], [1.5, -5]][step.number - 1]).all(), rain
                        if step.number == 3:
                            assert (c.get("rain", fill=0) == [1.5, 0]).all()
                        c.put("sst", [1, 2])
        """,
        conf=conf,
    )


def test_what_is_refused_by_name_leaves_the_run_alone(alone):
    passes(
        alone,
        """
        import inspect
        assert list(inspect.signature(Coupler.map).parameters)[1:5] == [
            "send_component", "send_grid", "recv_component", "recv_grid"]
        assert str(inspect.signature(Coupler.put)).startswith("(self, name: 'str', data: 'Any'")
        with Coupler(me, "coupling.conf") as c:
            three = np.arange(3.0)
            refused(FieldError, "say kind=", c.grid, "x", lon=three, lat=three)
            refused(ShapeError, "make no grid", c.grid, "x", lon=three, lat=np.ones((3, 3)))
            refused(DtypeError, "integers", c.grid, "x", three)
            refused(FieldError, "found 0 .. 2", c.grid, "x", [0, 1, 2])
            refused(waitio.StateError, "before the run", c.put, "sst", three)
            c.grid("air" if atmos else "sea", np.arange(1, 7).reshape(2, 3))
            refused(FieldError, "one length", c.map, "a", "b", "c", "d", send_index=[1],
                    recv_index=[1, 2])
            refused(waitio.ArgumentError, "come together", c.map, "a", "b", "c", "d", coef=[1],
                    send_index=[1])
            identity(c, 6)
            with c.run():
                if atmos:
                    wind = np.arange(6.0).reshape(2, 3)
                    refused(ShapeError, "another order", c.put, "wind", wind.T)
                    refused(ShapeError, "no layers", c.put, "wind", np.stack([wind, wind]))
                    refused(ShapeError, "layer = 2", c.put, "rain", wind)
                    refused(DtypeError, "complex128", c.put, "wind", wind * 1j)
                    refused(DtypeError, "bool", c.put, "wind", wind > 1)
                    refused(TypeError, "<U", c.put, "wind", [["a"] * 3] * 2)
                    refused(DtypeError, "masked", c.put, "wind", np.ma.masked_equal(wind, 1))
                    refused(MissingValueError, "6 of 6", c.put, "wind", wind * np.nan)
                    refused(ValueError, "puts no 'snow'", c.put, "snow", wind)
                    refused(ValueError, "gets no 'wind'", c.get, "wind")
                    refused(TypeError, "whole seconds", c.step, 0.5)
                    c.put("wind", np.asfortranarray(wind))
                    c.put("rain", [wind.tolist(), (wind + 1).tolist()])
                for step in c.steps([3600]):
                    if atmos:
                        refused(DtypeError, "out=", c.get, "sst", out=np.empty((3, 2)).T)
                        assert (c.get("sst") == 5).all()
                        c.put("wind", wind), c.put("rain", np.stack([wind, wind]))
                    else:
                        assert (c.get("wind") == np.arange(6.0).reshape(2, 3)).all()
                        c.put("sst", np.full((2, 3), 5, np.int32))
            refused(waitio.StateError, "closed", c.step, 3600)
        """,
    )


def test_xarray_names_decide_about_the_order(alone, helpers):
    helpers.needs("xarray")
    passes(
        alone,
        """
        import xarray
        lat = ("y", np.linspace(-60, 60, 4), {"units": "degrees_north"})
        lon = ("x", np.linspace(0, 300, 6), {"standard_name": "longitude"})
        whole = xarray.DataArray(np.arange(24.0).reshape(4, 6), dims=("y", "x"),
                                 coords={"phi": lat, "lam": lon, "y": np.arange(4)})
        with Coupler(me, "coupling.conf", start="2026-01-01") as c:
            g = c.grid("air" if atmos else "sea", whole)
            mine = whole.isel(y=slice(2 * c.rank, 2 * c.rank + 2)) if atmos else whole
            assert g.dims == ("y", "x") and g.shape == mine.shape
            identity(c, 24)
            with c.run():
                if atmos:
                    refused(DimensionError, "not that of the grid", c.put, "wind",
                            mine.assign_coords(phi=("y", mine.phi.values[::-1])))
                    refused(DimensionError, "has the dimensions", c.put, "wind",
                            mine.rename(x="z"))
                    refused(DimensionError, "one of its layers", c.put, "rain", mine)
                    c.put("wind", mine.T)
                    both = xarray.concat([mine, mine + 100], "height")
                    c.put("rain", both.transpose("x", "height", "y"))
                for step in c.steps(3600, 2):
                    if atmos:
                        got = c.get("sst")
                        assert got.dims == ("y", "x") and (got == -mine).all()
                        assert got.time.values == np.datetime64("2026-01-01") + np.timedelta64(
                            step.time, "s") and got.attrs["fresh"]
                        assert (got.phi == mine.phi).all() and (got.lam == mine.lam).all()
                        c.put("wind", mine), c.put("rain", both)
                    else:
                        rain = c.get("rain")
                        assert rain.dims == ("layer", "y", "x") and float(rain[1, 0, 1]) == 101
                        assert rain.attrs["fresh"] == (step.number == 1)
                        assert rain.time.values == np.datetime64("2026-01-01")
                        assert (c.get("wind") == mine).all()
                        c.put("sst", -mine)
        """,
        (2, 1),
    )


def test_xarray_curvilinear_and_unstructured(alone, helpers):
    helpers.needs("xarray")
    passes(
        alone,
        """
        import xarray
        lon2, lat2 = np.meshgrid(np.linspace(0, 300, 6), np.linspace(-60, 60, 4))
        if atmos:  # two dimensions, the second one first in the latitude's own order
            whole = xarray.Dataset(coords={"lon": (("j", "i"), lon2), "lat": (("j", "i"), lat2)})
        else:
            whole = xarray.Dataset(coords={"clon": ("cell", lon2.ravel()),
                                           "clat": ("cell", lat2.ravel())})
        with Coupler(me, "coupling.conf") as c:
            part = dict(i=slice(0, 3) if c.rank == 0 else slice(3, 6)) if atmos else None
            g = c.grid("air" if atmos else "sea", whole, part=part)
            refused(DimensionError, "no dimension 'k'", c.grid, "x", whole, part=dict(k=slice(1)))
            bare = whole.drop_vars(whole.coords)
            refused(DimensionError, "no coordinate is a", c.grid, "x", bare)
            identity(c, 24)
            field = xarray.DataArray(10 * g.lat + g.lon, dims=g.dims, coords=g.coords)
            with c.run():
                if atmos:
                    c.put("wind", field), c.put("rain", xarray.concat([field, field], "z"))
                c.step(3600)
                if atmos:
                    assert (c.get("sst") == field).all()
                    c.put("wind", field), c.put("rain", xarray.concat([field, field], "z"))
                else:
                    got = c.get("wind")
                    assert (got == field).all() and got.dims == ("cell",)
                    assert got.time.values == np.timedelta64(0)
                    c.put("sst", field)
        """,
        (2, 1),
    )


def test_tensors_without_a_copy(alone, helpers):
    helpers.needs("torch")
    passes(
        alone,
        """
        import torch
        from waitio.coupler import fields
        with Coupler(me, "coupling.conf") as c:
            c.grid("air" if atmos else "sea", np.arange(1, 5).reshape(2, 2))
            identity(c, 4)
            t = torch.arange(4, dtype=torch.float64).reshape(2, 2)
            with c.run():
                if atmos:
                    same = fields.outgoing(t, c.field("wind"), False)
                    assert np.shares_memory(same, t.numpy())
                    refused(DtypeError, "detach", c.put, "wind", t.clone().requires_grad_())
                    c.put("wind", t.float().T), c.put("rain", torch.stack([t, t]))
                c.step(3600)
                if atmos:
                    c.put("wind", t), c.put("rain", torch.stack([t, t]))
                    into = torch.zeros(2, 2, dtype=torch.float64)
                    assert c.get("sst", out=into) is into and (into == t).all()
                else:
                    assert (torch.from_numpy(c.get("wind")) == t.T).all()
                    c.put("sst", t)
        """,
    )


def ends_with(cast, texts):
    """Every process ends with a status that is not 0 and says its text."""
    for process, text in zip(cast, texts):
        assert process.ended(None, 30) != 0, process.story()
        texts_of_it = (text,) if isinstance(text, str) else text
        assert any(one in process.err() for one in texts_of_it), process.story()


def test_an_exception_of_one_component_ends_all_by_name(alone):
    cast = play(
        alone,
        """
        with Coupler(me, "coupling.conf") as c:
            c.grid("air" if atmos else "sea", [1, 2])
            identity(c, 2)
            with c.run():
                if atmos:
                    c.put("wind", np.zeros(2)), c.put("rain", np.zeros((2, 2)))
                for step in c.steps(3600):
                    if not atmos:
                        raise ArithmeticError("the ocean boils")
                    c.get("sst")
        """,
    )
    text = "ArithmeticError: the ocean boils"
    ends_with(cast, [f"component 'ocean', process 0: {text}", text])


def test_control_c_ends_a_wait_and_all_components(alone):
    """The atmosphere waits for an ocean that computes on and on."""
    cast = play(
        alone,
        """
        with Coupler(me, "coupling.conf") as c:
            c.grid("air" if atmos else "sea", [1, 2])
            identity(c, 2)
            with c.run():
                if atmos:
                    c.put("wind", np.zeros(2)), c.put("rain", np.zeros((2, 2)))
                print("ready", flush=True)
                c.step(3600)
                if not atmos:
                    while True:
                        time.sleep(0.1)
                        c.get("wind")
        """,
    )
    for process in cast:
        alone.says(process, "ready")
    cast[0].signal(signal.SIGINT)
    # The other hears of the wait that ended, or of the exception: whichever comes first.
    heard = ("component 'atmos' was interrupted", "component 'atmos', process 0: KeyboardInterrupt")
    ends_with(cast, ["KeyboardInterrupt", heard])
