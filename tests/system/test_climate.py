# SPDX-License-Identifier: BSD-3-Clause
"""The coupled demonstration, coarse and short: heat is conserved, a damaged weight is noticed, and
numbers do not depend on how many processes there are."""

import importlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
APPS = ROOT / "apps"


def need(*modules):
    for name in modules:
        if importlib.util.find_spec(name) is None:
            pytest.skip(
                f"the Python package {name} is not installed (scripts/setup.sh demo-coupled)"
            )


@pytest.fixture
def demo(build_dir, waitio, tmp_path):
    """Run the demonstration in its small form; returns (status, stdout, stderr)."""
    need("numpy", "matplotlib", "netCDF4")
    for mpi in ("openmpi", "mpich"):
        if not shutil.which(f"mpiexec.{mpi}"):
            pytest.skip(f"{mpi} is not installed")
    for program in ("climate_atmos", "climate_ocean"):
        if not (build_dir / "bin" / program).exists():
            pytest.skip(f"{program} is not built: gfortran, both MPIs and netCDF-C are needed")
    places = [APPS / "climate", APPS / "tsunami", ROOT / "python", ROOT / "python" / "h3ou"]
    env = dict(waitio.env, PYTHONPATH=":".join(map(str, places)), NO_COLOR="1")
    env.update(
        PATH=f"{build_dir / 'bin'}:{os.environ['PATH']}", H3OU_LIB=build_dir / "lib" / "h3ou"
    )

    def run(name, *words):
        done = subprocess.run(
            [sys.executable, "-m", "climate.demo", "--small", "--folder", tmp_path / name]
            + [str(word) for word in words],
            env=env,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout, done.stderr

    run.home = tmp_path
    return run


@pytest.fixture
def world():
    need("numpy", "netCDF4")
    if str(APPS / "climate") not in sys.path:
        sys.path.append(str(APPS / "climate"))
    return importlib.import_module("climate.world")


def records(folder):
    return {name: (folder / "run" / name).read_bytes() for name in ("atmos.csv", "ocean.csv")}


def fields(folder, name):
    import netCDF4

    with netCDF4.Dataset(folder / "run" / name) as file:
        return {key: file[key][:].tobytes() for key in file.variables}


def test_demo_is_good_and_the_same_for_any_number_of_processes(demo):
    status, out, err = demo("two")
    assert status == 0, out + err
    assert out.count("ok  ") == 4 and "FAIL" not in out, out
    text = (demo.home / "two" / "report.html").read_text()
    assert text.count('<img alt="') == text.count("<source media=") == 6
    assert not re.search(r'(src|srcset|href)="(?!data:)', text), "the report needs other files"
    status, out, err = demo("other", "--atmos", 1, "--ocean", 3, "--no-report")
    assert status == 0, out + err
    two, other = demo.home / "two", demo.home / "other"
    assert records(two) == records(other)
    for name in ("atmos.nc", "ocean.nc"):
        assert fields(two, name) == fields(other, name)
    assert (two / "run" / "learn.csv").read_bytes() == (other / "run" / "learn.csv").read_bytes()
    days = len((two / "run" / "ocean.csv").read_text().splitlines()) - 2  # head, day 0
    assert days == json.loads((two / "run" / "plan.json").read_text())["days"] == 120


def test_a_damaged_weight_ends_the_run_and_is_named(demo):
    status, out, err = demo("damaged", "--models-only", "--days", 60, "--damage", 1e-6)
    assert status == 2, out + err
    assert "ocean: day 2: the atmosphere gave" in err and "more than 1e-12" in err, err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--days", 45), "--days 45: two or more whole months of 30 days"),
        (("--atmos", 40), "--atmos 40: from 1 to 18 processes have cells"),
    ],
)
def test_wrong_settings_are_named(demo, words, message):
    status, out, err = demo("wrong", "--models-only", *words)
    assert status == 2 and message in err, out + err


def test_neighbours_on_the_cubed_sphere(world, build_dir, tmp_path):
    """Who is beside me has me beside it, over a side of the same length; 4 for every cell."""
    import netCDF4
    import numpy as np

    words = [build_dir / "bin" / "waitio", "cpl", "grid", "cs6", "-o", tmp_path / "sea.nc"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if "netCDF" in done.stderr:
        pytest.skip("WaitIO is built without netCDF-C")
    assert done.returncode == 0, done.stderr
    world.complete_sea(tmp_path / "sea.nc")
    with netCDF4.Dataset(tmp_path / "sea.nc") as file:
        beside, link = file["neighbour"][:].data - 1, file["link"][:].data
        wet = file["grid_imask"][:].data
    cells = np.arange(6 * 36)
    assert all(len({*row, cell}) == 5 for cell, row in zip(cells, beside))
    for cell in cells:
        for k, other in enumerate(beside[cell]):
            (back,) = np.flatnonzero(beside[other] == cell)
            assert link[other, back] == link[cell, k] > 0
    assert 0.6 < wet.mean() < 0.8


def test_land_is_where_it_is(world):
    land = world.land_of_degrees()
    for name, lon, lat, expected in (
        ("Chad", 18, 15, True), ("Siberia", 100, 60, True), ("South Pole", 0, -89, True),
        ("Pacific", -150, 0, False), ("North Pole", 0, 89, False), ("Tasman Sea", 160, -38, False),
    ):  # fmt: skip
        assert land[lat + 90, lon + 180] == expected, name


def test_network_learns_what_a_linear_law_cannot(world):
    import numpy as np

    surrogate = importlib.import_module("climate.surrogate")
    random = np.random.default_rng(5)
    x = random.normal(size=(2000, 2))
    y = x[:, 0] * x[:, 1]
    network, linear = surrogate.Network(2, seed=3), surrogate.Linear(2)
    network.learn(x[:1500], y[:1500], 1500)
    linear.learn(x[:1500], y[:1500])
    errors = [np.sqrt(np.mean((m.predict(x[1500:]) - y[1500:]) ** 2)) for m in (network, linear)]
    assert errors[0] < 0.15 and errors[1] > 0.7, errors


def test_gradients_are_those_of_differences(world):
    import numpy as np

    surrogate = importlib.import_module("climate.surrogate")
    network = surrogate.Network(3, hidden=(4, 5))
    x, y = np.random.default_rng(2).normal(size=(7, 3)), np.arange(7.0)

    def loss():
        return 0.5 * np.mean((network.predict(x) - y) ** 2)

    for layer, slope in zip(network.layers, network.gradients(x, y)):
        at = (0,) * layer.ndim
        kept = layer[at]
        layer[at] = kept + 1e-5
        above = loss()
        layer[at] = kept - 1e-5
        assert abs((above - loss()) / 2e-5 - slope[at]) < 1e-8 * max(1, abs(slope[at])) + 1e-9
        layer[at] = kept


def test_the_guide_quotes_the_sources():
    """What docs/guide/coupled-demo.md shows is in the programs, word by word."""
    text = (ROOT / "docs" / "guide" / "coupled-demo.md").read_text()
    app = APPS / "climate"
    sources = "".join(p.read_text() for p in app.rglob("*") if p.suffix in (".c", ".f90", ".py"))
    quotes = re.findall(r"^```(?:fortran|python|c)\n(.*?)^```$", text, re.M | re.S)
    assert len(quotes) == 4
    for quote in quotes:
        assert quote in sources, f"not in the sources any more:\n{quote}"


def test_fields_have_what_the_cf_conventions_ask_for(demo):
    """Units, standard names, cell methods, and bounds that hold the coordinates."""
    import netCDF4
    import numpy as np

    status, out, err = demo("cf", "--no-report", "--days", 60)
    assert status in (0, 1), out + err  # the network has learned little in 60 days
    for name, cells in (("atmos.nc", ("lat", "lon")), ("ocean.nc", ("cell",))):
        with netCDF4.Dataset(demo.home / "cf" / "run" / name) as file:
            assert file.Conventions == "CF-1.8" and file["time"].calendar == "360_day"
            assert file["time_bounds"][:].tolist() == [[0, 30], [30, 60]]
            assert file["time"][:].tolist() == [15, 45]
            sphere = 4 * np.pi * 6.371e6**2
            assert abs(file["cell_area"][:].sum() / sphere - 1) < 1e-12
            fields = [v for v in file.variables.values() if v.dimensions == ("time", *cells)]
            assert len(fields) == {"atmos.nc": 5, "ocean.nc": 3}[name]
            for field in fields:
                assert field.units and field.standard_name and field.cell_methods
                assert field[:].count() > 0 and abs(field[:]).max() < 2000
