# SPDX-License-Identifier: BSD-3-Clause
"""Streams as Datasets of xarray, lazily, decoded as the CF conventions say; and in files."""

import textwrap

import pytest

PREAMBLE = """
import numpy as np, warnings
warnings.simplefilter("default")  # of libraries
from waitio.stage import Reader, Writer, steps
block, rank = int(os.environ["WAITIO_PBID"]), int(os.environ["WAITIO_RANK"])
nprocs = int(os.environ["WAITIO_NPROCS"])
whole = np.arange(12 * 10, dtype="f4").reshape(12, 10)

def write(n=3, **more):
    with Writer("s", **more) as flow:
        for name, text in {"title": "a test", "T/dimensions": "lat lon", "T/units": "K",
                           "lat/dimensions": "lat", "lat/units": "degrees_north",
                           "time/units": "days since 2026-01-01",
                           "P/dimensions": "lat, lon"}.items():
            flow.attribute(name, text)
        flow.attribute("P/scale_factor", 0.5)
        for i in range(n):
            with flow.step():
                a, b = 12 * rank // nprocs, 12 * (rank + 1) // nprocs
                flow.put("T", whole[a:b] + i, shape=whole.shape, start=(a, 0))
                flow.put("P", whole[a:b].astype("i2"), shape=whole.shape, start=(a, 0))
                flow.put("lat", np.linspace(-55, 55, 12)[a:b], shape=(12,), start=(a,))
                flow.put("part", np.arange(rank + 1.0), local=True)
                flow.put("time", 1.5 * i)
                flow.put("note", f"step {i}")

def refused(error, text, call, *args, **keys):
    try:
        call(*args, **keys)
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)
"""
READS = """
if block == 0:
    write()
else:
    import xarray as xr
"""


def play(universe, blocks, code, **more):
    return universe.passes(PREAMBLE + textwrap.dedent(code), blocks, joined=False, **more)


def test_each_open_is_the_next_step(alone, helpers):
    helpers.needs("xarray")
    play(
        alone,
        (2, 1),
        'done = __file__ + ".done"'
        + READS
        + """
    ds = xr.open_dataset("s", engine="waitio")
    assert dict(ds.sizes) == {"lat": 12, "lon": 10}, ds
    assert ds.attrs["title"] == "a test" and ds["T"].attrs["units"] == "K"
    assert ds["T"].dims == ("lat", "lon") and ds["T"].dtype == "f4"
    assert ds["time"].values == np.datetime64("2026-01-01") and "time" in ds.coords
    assert ds["step"] == 0 and ds["note"] == "step 0" and "part" not in ds
    assert ds["P"].dtype.kind == "f" and np.array_equal(ds["P"], whole * 0.5)
    assert np.array_equal(ds["T"].sel(lat=55.0), whole[-1])
    assert np.array_equal(ds["T"][::-3, [1, 7]], whole[::-3, [1, 7]])
    lost = ds["T"]
    ds = xr.open_dataset("s", engine="waitio")
    assert ds["step"] == 1 and float(ds["T"].max()) == whole.max() + 1
    refused(waitio.StateError, "stream 's', step 0: variable 'T' was not fetched", lost.load)
    ds.close()
    assert xr.open_dataset("s", engine="waitio")["step"] == 2
    refused(EOFError, "stream 's'", xr.open_dataset, "s", engine="waitio")
    # The writers' close may still go on: then the new reader is told of the end once more.
    ended = (waitio.TimeoutError, EOFError)
    refused(ended, "stream 's'", xr.open_dataset, "s", engine="waitio", limit=0.1)
    open(done, "w").close()
if block == 0:  # a writer that has left would be named as such
    import time
    end = time.monotonic() + 30
    while not os.path.exists(done) and time.monotonic() < end:
        time.sleep(0.01)
    """,
    )


def test_only_what_is_needed_travels(alone, helpers):
    helpers.needs("xarray")
    play(
        alone,
        (1, 1),
        """
        if block == 0:
            write(1)
        else:
            import pickle
            from waitio.stage import backend
            source = backend.Source("s")
            ds = backend.chunked(source, source.next(None), None)
            start = source.reader.count("bytes")  # the coordinate has come
            assert ds["T"][3:5, 4:6].values.tolist() == whole[3:5, 4:6].tolist()
            assert source.reader.count("bytes") == start + 4 * 4
            refused(TypeError, "by this process only", pickle.dumps, ds["T"])
            source.close()
        """,
    )


def test_dask_has_a_chunk_for_each_block(alone, helpers):
    helpers.needs("xarray", "dask")
    play(
        alone,
        (3, 1),
        READS
        + """
    kept = []
    for ds in steps("s", chunks={}):
        assert ds["T"].chunks == ((4, 4, 4), (10,)), ds["T"].chunks
        assert float((ds["T"] * 2).sum()) == 2 * float((whole + int(ds["step"])).sum(dtype="f4"))
        kept.append(ds["T"].persist())
    assert [float(d.min()) for d in kept] == [0, 1, 2]
    assert float((kept[2] - kept[0]).mean()) == 2
    """,
    )


def test_names_of_dimensions_must_fit(alone, helpers):
    helpers.needs("xarray")
    play(
        alone,
        (1, 1),
        """
        if block == 0:
            with Writer("s") as flow:
                flow.attribute("x/dimensions", "a b")
                with flow.step():
                    flow.put("x", np.zeros(3))
        else:
            import xarray as xr
            refused(waitio.ArgumentError, "attribute 'x/dimensions' is 'a b'", xr.open_dataset,
                    "s", engine="waitio")
        """,
    )


# ---- waitio stage write --------------------------------------------------------------------------


def written(universe, block, path, code="", *, extra=(), status=0, env=None, writers=2, steps=3):
    """Write the stream by a block of `waitio stage write`; returns its processes."""
    path_of = universe.script(PREAMBLE + f"write({steps})\n" + code, joined=False)
    cast = [universe.python(path_of, 0, r, writers, 2) for r in range(writers)]
    runner = universe.folder / "command.py"
    runner.write_text(
        "import sys, warnings\nfrom waitio.cli import main\n"
        "warnings.simplefilter('default')  # of libraries\nsys.exit(main(sys.argv[1:]))\n"
    )
    blocks = []
    for rank in range(block):
        words = ("stage", "write", "s", "--to", path, *extra)
        blocks.append(universe.python(runner, 1, rank, block, 2, *words, env=env))
    for process in blocks:
        process.ended(status)
    universe.all_end(cast)
    return blocks


def check(path, engine, n=3):
    import numpy as np
    import xarray as xr

    whole = np.arange(120, dtype="f4").reshape(12, 10)
    with xr.open_dataset(path, engine=engine) as ds:
        assert dict(ds.sizes) == {"time": n, "lat": 12, "lon": 10}
        assert ds["T"].dims == ("time", "lat", "lon") and ds["lat"].dims == ("lat",)
        assert np.array_equal(ds["T"], whole + np.arange(n)[:, None, None])
        assert np.array_equal(ds["P"][0], whole * 0.5)
        assert ds["T"].attrs["units"] == "K" and ds.attrs["title"] == "a test"
        days = np.datetime64("2026-01-01T00") + np.arange(n) * np.timedelta64(36, "h")
        assert np.array_equal(ds["time"].values, days)
        assert ds["step"].values.tolist() == list(range(n))
        assert ds["note"].values.tolist() == [f"step {i}" for i in range(n)]


def test_netcdf(alone, helpers, tmp_path):
    helpers.needs("xarray", "netCDF4")
    blocks = written(alone, 1, tmp_path / "out.nc")
    check(tmp_path / "out.nc", "netcdf4")
    assert "left out" in blocks[0].err() and "'part'" in blocks[0].err()
    assert blocks[0].lines == [f"{tmp_path / 'out.nc'}: 3 steps of stream 's'"]


def test_netcdf_a_file_for_each_step(alone, helpers, tmp_path):
    helpers.needs("xarray", "netCDF4")
    written(alone, 2, tmp_path / "out.{step}.nc", extra=("--variables", "T,P,lat,note"))
    names = sorted(p.name for p in tmp_path.glob("*.nc"))
    assert names == [f"out.{i:06d}.nc" for i in range(3)]
    check(tmp_path / names[0], "netcdf4", 1)


@pytest.mark.parametrize("processes", [1, 3])
def test_zarr(alone, helpers, tmp_path, processes):
    helpers.needs("xarray", "zarr")
    written(alone, processes, tmp_path / "out.zarr")
    check(tmp_path / "out.zarr", "zarr")


def test_what_write_refuses(alone, helpers, tmp_path):
    helpers.needs("netCDF4")
    (tmp_path / "out.nc").write_text("")
    (block,) = written(alone, 1, tmp_path / "out.nc", status=1)
    assert "out.nc' is there already; --overwrite" in block.err(), block.err()


def test_one_netcdf_file_has_one_writer(alone, helpers, tmp_path):
    helpers.needs("netCDF4")
    for block in written(alone, 2, tmp_path / "out.nc", status=1):
        assert "2 processes cannot write one netCDF file" in block.err(), block.err()


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_a_full_disk_ends_the_block_and_not_the_simulation(alone, helpers, tmp_path, kind):
    """RLIMIT_FSIZE is a disk that is full for this process: the writers end well."""
    helpers.needs("netCDF4" if kind == "nc" else "zarr")
    limit = tmp_path / "sitecustomize.py"
    limit.write_text(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (%d, %d))\n"
        % ((40000, 40000) if kind == "nc" else (300, 300))
    )
    env = {"PYTHONPATH": f"{tmp_path}:{alone.site}", "PYTHONDONTWRITEBYTECODE": 1}
    (block,) = written(alone, 1, tmp_path / f"out.{kind}", status=1, env=env, steps=60)
    assert "stream 's', step " in block.err() and "process 0: cannot write" in block.err()


def test_the_manual_page_names_every_option(source):
    from waitio import stagewrite

    page = (source.parent / "docs" / "man" / "waitio-stage-write.1.md").read_text()
    for option in stagewrite.OPTIONS:
        assert f"`{option.show()}`" in page or f"`{option.names[0]}`" in page, option.names
