# SPDX-License-Identifier: BSD-3-Clause
"""The staging demonstration: its solver against closed forms and a benchmark, and a small run of
the whole, with a late reader, a killed one and what comes in its place."""

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
            pytest.skip(f"the Python package {name} is not installed (make setup)")


@pytest.fixture
def solver(waitio, build_dir):
    """Run the solver alone; returns (status, what it said). It writes into `solver.folder`."""
    program = build_dir / "bin" / "flow_solver"
    if not program.exists():
        pytest.skip("flow_solver is not built: Open MPI is needed")

    def run(ranks=1, **settings):
        words = [f"{key}={value}" for key, value in settings.items()]
        status, out, err = waitio(
            "run", "--mpi", "openmpi", "-n", ranks, program, *words, timeout=150
        )
        return status, (out + err).decode()

    run.folder = waitio.cwd
    return run


@pytest.fixture
def app(monkeypatch):
    need("numpy")
    for folder in ("flow", "tsunami"):
        monkeypatch.syspath_prepend(str(APPS / folder))
    return lambda name: importlib.import_module(f"flow.{name}")


def test_a_channel_has_the_profile_of_poiseuille(solver):
    """And no mass is lost between walls."""
    import numpy as np

    force, viscosity, ny = 1e-6, 0.05, 21
    status, said = solver(
        nx=3, ny=ny, nz=2, speed=0, force=force, viscosity=viscosity, diameter=0, steps=12000,
        every=6000,
    )  # fmt: skip
    assert status == 0, said
    y = np.arange(ny) + 0.5
    expected = force / (2 * viscosity) * y * (ny - y)
    found = np.loadtxt(solver.folder / "profile.csv")
    assert abs(found - expected).max() < 0.003 * expected.max()
    record = np.genfromtxt(solver.folder / "solver.csv", delimiter=",", names=True)
    assert abs(record["mass"] / (3 * ny * 2) - 1).max() < 1e-11


def test_the_cylinder_sheds_vortices_as_the_benchmark(solver, app):
    """Frequency, lift and drag of case 2D-2 (Schaefer and Turek 1996), on a coarse lattice."""
    import numpy as np

    status, said = solver(nz=1, nx=130, steps=7500, every=20, ramp=600)
    assert status == 0, said
    record = np.genfromtxt(solver.folder / "solver.csv", delimiter=",", names=True)
    late = record[len(record) * 4 // 5 :]
    strouhal = 10 / (0.06 * app("results").period(late["step"], late["lift"]))
    scale = 2 / (0.06**2 * 10)
    assert 0.28 < strouhal < 0.315  # 0.295 to 0.305
    assert 0.85 < scale * late["lift"].max() < 1.15  # 0.99 to 1.01
    assert 3.0 < scale * late["drag"].mean() < 3.7  # 3.23 at its largest
    gained = record["mass"] - record["mass"][0] - (record["entered"] - record["entered"][0])
    assert abs(gained / record["mass"]).max() < 1e-10


def test_the_same_bits_on_any_number_of_processes(solver):
    words = dict(nx=40, ny=21, nz=6, diameter=5, x=9.3, y=10.1, steps=300, every=100, ramp=50)
    words.update(height=4, periodic=0)
    found = []
    for ranks in (1, 3):
        status, said = solver(ranks, **words)
        assert status == 0, said
        found.append((solver.folder / "profile.csv").read_text())
    assert found[0] == found[1]


def test_wrong_settings_are_named(solver):
    for words, message in (
        ({"speed": 3}, "a speed of 0.2 at most"),
        ({"nx": 0}, "'nx=0' is no setting of the solver, or out of range"),
    ):
        status, said = solver(**words)
        assert status == 2 and message in said, said


def test_readers_that_come_late_and_die_do_not_stop_the_solver(
    build_dir, waitio, tmp_path, python_package
):
    need("numpy", "matplotlib", "netCDF4", "PIL")
    if not (build_dir / "bin" / "flow_solver").exists():
        pytest.skip("flow_solver is not built: Open MPI is needed")
    if not shutil.which("mpiexec.openmpi"):
        pytest.skip("openmpi is not installed")
    places = [python_package, APPS / "flow", APPS / "tsunami"]
    env = dict(waitio.env, PYTHONPATH=":".join(map(str, places)), NO_COLOR="1")
    env["PATH"] = f"{build_dir / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "flow.demo", "--small", "--folder", tmp_path / "flow"],
        env=env, capture_output=True, text=True, timeout=170, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "FAIL " not in said and done.stdout.count("\nok   ") == 6, said
    assert "the probe has died" in said and "SIGKILL" in said, said
    run = tmp_path / "flow" / "run"
    solver = json.loads((run / "solver.json").read_text())
    assert solver["handed_on"] == 120
    statistics = json.loads((run / "statistics.json").read_text())
    assert statistics["seen"][0][0] >= 0.4 * 120 - 3 and statistics["seen"][-1][0] == 119
    text = (tmp_path / "flow" / "report.html").read_text()
    assert not re.search(r'(src|srcset|href)="(?!data:)', text), "the report needs other files"
    import netCDF4

    with netCDF4.Dataset(run / "flow.nc") as file:
        assert file["velocity"].dimensions == ("time", "component", "x", "y", "z")
        assert len(file["step"]) >= 2 and not file["step"][:].mask.any()
        assert all(number % 20 == 0 for number in file["step"][:])


def test_the_guide_quotes_the_sources():
    """What docs/guide/staging-demo.md shows is in the programs, word by word."""
    text = (ROOT / "docs" / "guide" / "staging-demo.md").read_text()
    files = [p for p in (APPS / "flow").rglob("*") if p.suffix in (".c", ".py")]
    sources = "".join(p.read_text() for p in files)
    quotes = re.findall(r"^```(?:python|c)\n(.*?)^```$", text, re.M | re.S)
    assert len(quotes) == 5
    for quote in quotes:
        assert quote in sources, f"not in the sources any more:\n{quote}"
