# SPDX-License-Identifier: BSD-3-Clause
"""The tsunami demonstration: the physics of its ocean against closed forms, the whole of it coarse
and short with its own checks, and what happens when a block dies or something is missing."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
APP = ROOT / "apps" / "tsunami"
GRAVITY, RADIUS = 9.81, 6371e3


def need_modules(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the Python package {name} is not installed (make setup)")


@pytest.fixture(scope="module")
def tsunami():
    """The modules of the application."""
    need_modules("numpy", "matplotlib")
    sys.path.insert(0, str(APP))
    try:
        from tsunami import files, interpolation, learner, world

        yield type(
            "Modules",
            (),
            {"files": files, "interpolation": interpolation, "learner": learner, "world": world},
        )
    finally:
        sys.path.remove(str(APP))


@pytest.fixture(scope="module")
def site(build_dir, tmp_path_factory):
    """The Python package, for PYTHONPATH."""
    need_modules("Cython", "scikit_build_core", "pip")
    folder = tmp_path_factory.mktemp("tsunami-site")
    done = subprocess.run(
        [ROOT / "scripts" / "python_site.sh", build_dir, folder, sys.executable],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def ocean(waitio, build_dir, tsunami):
    """Run the ocean alone; returns (status, what it said)."""
    program = build_dir / "bin" / "tsunami_ocean"
    if not program.exists():
        pytest.skip("tsunami_ocean is not built: gfortran and Open MPI are needed")

    def run(sea, surface=None, cells=(), ranks=1, **settings):
        folder = waitio.cwd
        sea.save(folder / "grid.bin")
        if surface is not None:
            surface.astype("f8").tofile(folder / "source.bin")
            settings["source"] = "source.bin"
        tsunami.files.write_cells(folder / "stations.txt", cells)
        tsunami.files.write_settings(folder / "run.nml", stations="stations.txt", **settings)
        status, out, err = waitio(
            "run", "--mpi", "openmpi", "-n", ranks, program, "run.nml", timeout=60
        )
        return status, (out + err).decode()

    run.folder = waitio.cwd
    return run


def canal(tsunami, cells, depth):
    """A row along the equator of cells of 0.01 degrees (1112 m), between two rows of land."""
    import numpy as np

    depths = np.zeros((3, cells))
    depths[1] = depth
    return tsunami.files.Grid(0.0, -0.015, 0.01, 0.01, depths)


def test_a_wave_runs_at_the_square_root_of_gh(ocean, tsunami):
    import numpy as np

    grid, depth = canal(tsunami, 400, 1000.0), 1000.0
    dx = np.radians(0.01) * RADIUS
    x = np.arange(400) * dx
    hump = np.exp(-(((x - 100 * dx) / (12 * dx)) ** 2))
    source = np.tile(hump, (3, 1))
    said = ocean(grid, source, [(1, 200), (1, 300)], duration=2500.0, cycle=10.0)
    assert said[0] == 0, said
    times, heights = tsunami.files.load_series(ocean.folder / "run")
    arrivals = times[np.argmax(heights, axis=0)]
    for cell, arrival in zip((200, 300), arrivals):
        expected = (cell - 100) * dx / np.sqrt(GRAVITY * depth)
        assert abs(arrival - expected) < 0.01 * expected + 10, (cell, arrival, expected)
    # Half of it runs to each side.
    assert np.allclose(heights.max(0), 0.5, atol=0.01)


def test_an_open_edge_lets_the_wave_out(ocean, tsunami):
    import numpy as np

    grid = canal(tsunami, 200, 1000.0)
    hump = np.exp(-(((np.arange(200) - 100) / 10.0) ** 2))
    left = {}
    for open_sea in (True, False):
        status, said = ocean(
            grid,
            np.tile(hump, (3, 1)),
            duration=2000.0,
            cycle=50.0,
            map_every=2000.0,
            open_sea=open_sea,
        )
        assert status == 0, said
        left[open_sea] = abs(tsunami.files.load_maps(ocean.folder / "run")[1][-1]).max()
    assert left[True] < 0.02 and left[False] > 0.3, left


def test_no_water_is_lost_between_walls(ocean, tsunami):
    """On real sea floor, weighted with the area of cells on the sphere."""
    import numpy as np

    grid = tsunami.world.make_grid(1)
    source = tsunami.world.HIDDEN.surface(grid)
    status, said = ocean(
        grid, source, duration=7200.0, cycle=60.0, map_every=1800.0, open_sea=False, ranks=2
    )
    assert status == 0, said
    _, maps = tsunami.files.load_maps(ocean.folder / "run")
    area = np.cos(np.radians(grid.lat))[:, None]
    volumes = (maps.astype(float) * area).sum((1, 2))
    assert len(maps) == 5 and abs(maps[-1] - maps[0]).max() > 0.3
    assert np.allclose(volumes, volumes[0], atol=2e-6 * abs(maps).sum((1, 2)).max())


def test_a_sea_at_rest_stays_at_rest(ocean, tsunami):
    """Whatever its level, over real sea floor and coasts."""
    import numpy as np

    grid = tsunami.world.make_grid(1)
    source = np.where(grid.wet, 0.5, 0.0)
    status, said = ocean(
        grid, source, duration=3600.0, cycle=60.0, map_every=3600.0, open_sea=False
    )
    assert status == 0, said
    maps = tsunami.files.load_maps(ocean.folder / "run")[1]
    assert (maps[-1] == np.where(grid.wet, np.float32(0.5), 0)).all()


def test_any_number_of_processes_gives_the_same_bits(ocean, tsunami):
    grid = tsunami.world.make_grid(1)
    source = tsunami.world.HIDDEN.surface(grid)
    found = {}
    for ranks in (1, 4):
        status, said = ocean(
            grid, source, [(10, 20)], ranks, duration=3600.0, cycle=60.0, map_every=1800.0
        )
        assert status == 0, said
        found[ranks] = [(ocean.folder / f"run.{x}").read_bytes() for x in ("series", "maps")]
    assert found[1] == found[4]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 1}, r"a time step of 60.000 s is unstable, at most \d+\.\d+ s: .* at least \d+"),
        ({"grid": "nowhere.bin"}, "grid nowhere.bin: .*No such file"),
        ({"source": "nowhere.bin"}, "field nowhere.bin: .*No such file"),
        ({"duration": -1.0}, "run.nml: duration, cycle and map_every must be above 0"),
        ({"colour": 1}, "settings run.nml: .*colour"),
        ({"coupled": True}, "coupled runs have three blocks, in this order: ocean, gauges, assim"),
    ],
)
def test_wrong_settings_are_named(ocean, tsunami, settings, message):
    status, said = ocean(canal(tsunami, 100, 1000.0), ranks=2, **settings)
    assert status == 2, said
    assert re.search(message, said), said


def test_a_station_on_the_wrong_side_of_the_edge_is_named(ocean, tsunami):
    status, said = ocean(canal(tsunami, 100, 1000.0), cells=[(5, 20)])
    assert status == 2 and "a station lies outside of the grid" in said


def test_interpolation_meets_one_sensor_and_forgets_the_far_away(tsunami):
    import numpy as np

    oi = tsunami.interpolation.Interpolation([[0, 0], [40, 0]], background=0.3, error=0.03)
    # One sensor: the textbook's weight, b2 / (b2 + e2).
    gain = 0.3**2 / (0.3**2 + 0.03**2)
    weights = oi.weights(np.array([1.0, np.nan]))
    places = np.array([[0, 0], [15, 0], [60, 0]])
    found = oi.covariance(places) @ weights
    assert np.allclose(found[0], gain) and found[2] == 0
    assert 0.2 * gain < found[1] < np.exp(-1) * gain
    assert (oi.weights(np.full(2, np.nan)) == 0).all()


def test_learner_finds_a_linear_law(tsunami):
    """The target is a station of 4 samples ago; another law would not be found so exactly."""
    import numpy as np

    random = np.random.default_rng(1)
    source = np.cumsum(random.normal(size=400)) * 0.1
    target = np.concatenate([np.zeros(4), source[:-4]])
    learner = tsunami.learner.Learner(2, [1], lead=3, history=6, every=1, ridge=1e-6)
    errors = []
    for k in range(400):
        if k >= 200 and k + 3 < 400:
            learner.look([source[k], target[k]])
            errors.append(learner.forecast()[0] - target[k + 3])
        else:
            learner.look([source[k], target[k]])
    assert learner.samples == 397
    assert np.abs(errors).max() < 1e-3


@pytest.fixture
def demo(waitio, build_dir, site, tmp_path_factory):
    """Run the demonstration in its small form; returns (status, stdout, stderr)."""
    need_modules("numpy", "matplotlib")
    if not (build_dir / "bin" / "tsunami_ocean").exists():
        pytest.skip("tsunami_ocean is not built: gfortran and Open MPI are needed")
    # The recording is the same for all.
    home = tmp_path_factory.getbasetemp() / "tsunami"
    env = dict(waitio.env, PYTHONPATH=f"{site}:{APP}", NO_COLOR="1")
    env["PATH"] = f"{build_dir / 'bin'}:{os.environ['PATH']}"

    def run(*words, timeout=150, **extra):
        done = subprocess.run(
            [sys.executable, "-m", "tsunami.demo", "--small", "--folder", home, *map(str, words)],
            env={**env, **extra},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout, done.stderr

    run.home, run.env = home, env
    return run


def need_mpis(*names):
    for name in names:
        if not shutil.which(f"mpiexec.{name}"):
            pytest.skip(f"{name} is not installed")


def test_demo_is_good_and_writes_a_report(demo):
    need_mpis("openmpi", "mpich")
    need_modules("mpi4py")
    status, out, err = demo()
    assert status == 0, out + err
    assert "without MPI" not in out, out
    assert out.count("ok  ") == 4 and "FAIL" not in out, out
    text = (demo.home / "report.html").read_text()
    assert text.count("data:image/png;base64,") == 4
    assert not re.search(r'(src|href)="(?!data:)', text), "the report needs other files"
    for block in ("ocean", "gauges", "assim"):
        assert f"waits for {block}" in text
    assert f"report: {demo.home / 'report.html'}" in out


def test_demo_without_assimilation_fails_its_checks(demo):
    need_mpis("openmpi")
    status, out, err = demo("--no-assimilation", "--no-mpi4py", "--no-report")
    assert status == 1, out + err
    assert "FAIL error at the towns, assimilated / free run: 1.00" in out, out


def test_network_at_the_papers_rate(demo):
    need_mpis("openmpi")
    status, out, err = demo("--network", 3)
    assert status == 0, out + err
    assert re.search(r"300 samples of 2000 stations in \d", out), out


def test_blocks_remote_prints_lines(demo):
    status, out, err = demo("--blocks", "remote")
    assert (status, err) == (0, "")
    for pbid, program in enumerate(("tsunami_ocean ocean.nml", "tsunami.gauges", "tsunami.assim")):
        assert f"--pbid {pbid} " in out and program in out
    done = subprocess.run(["sh", "-n"], input=out, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
