# SPDX-License-Identifier: BSD-3-Clause
"""The tsunami demonstration: the physics of its ocean against closed forms, the whole of it coarse
and short with its own checks, and what happens when a block dies or something is missing."""

import importlib
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import patience
import pytest

from waitio.ports import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
APP = ROOT / "apps" / "tsunami"
GRAVITY, RADIUS = 9.81, 6371e3


def need_modules(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the Python package {name} is not installed (make setup)")


def app_module(name):
    """A module of the application."""
    if str(APP) not in sys.path:
        sys.path.append(str(APP))
    return importlib.import_module(f"tsunami.{name}")


@pytest.fixture(scope="module")
def tsunami():
    """The modules of the application."""
    need_modules("numpy", "matplotlib")
    names = "files", "interpolation", "learner", "sensors", "world"
    return types.SimpleNamespace(**{name: app_module(name) for name in names})


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


@pytest.mark.parametrize("cell", [(5, 20), (1, 100), (-1, 20)])
def test_a_station_on_the_wrong_side_of_the_edge_is_named(ocean, tsunami, cell):
    status, said = ocean(canal(tsunami, 100, 1000.0), cells=[cell])
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


def test_sensors_are_noisy_lose_samples_and_fail(tsunami):
    import numpy as np

    times = np.arange(2000.0)
    config = {"seed": 1, "noise": 0.02, "lost": 0.1, "failures": [[2, 500, 700]]}
    said = tsunami.sensors.what_sensors_say(np.ones((2000, 4)), times, config)
    assert np.isnan(said[500:700, 2]).all() and not np.isnan(said[700:, 2]).all()
    rest = said[:, [0, 1, 3]]
    assert abs(np.isnan(rest).mean() - 0.1) < 0.02
    assert abs(np.nanstd(rest) - 0.02) < 0.002 and abs(np.nanmean(rest) - 1) < 0.002


def test_network_follows_the_recording(tsunami, tmp_path):
    """Between two maps heights go along a straight line; dry cells are no stations."""
    import numpy as np

    maps = np.zeros((2, 2, 3), np.float32)
    maps[0, 1], maps[1, 1] = (1, 2, 3), (3, 2.5, 1)
    with open(tmp_path / "x.maps", "wb") as out:
        np.array([3, 2, 2], "i4").tofile(out)
        for k in (0, 1):
            np.array([300.0 * k]).tofile(out)
            maps[k].tofile(out)
    network = tsunami.sensors.Network(tmp_path / "x", 50, seed=1)
    assert set(network.cells) == {3, 4, 5}
    for moment, row in ((0.0, (1, 2, 3)), (75.0, (1.5, 2.125, 2.5)), (300.0, (3, 2.5, 1))):
        expected = np.array([0, 0, 0, *row])[network.cells]
        assert np.allclose(network.heights(moment, noise=0.0), expected)


@pytest.fixture
def demo(waitio, build_dir, python_package, tmp_path_factory):
    """Run the demonstration in its small form; returns (status, stdout, stderr)."""
    need_modules("numpy", "matplotlib")
    if not (build_dir / "bin" / "tsunami_ocean").exists():
        pytest.skip("tsunami_ocean is not built: gfortran and Open MPI are needed")
    # The recording is the same for all.
    home = tmp_path_factory.getbasetemp() / "tsunami"
    env = dict(waitio.env, PYTHONPATH=f"{python_package}:{APP}", NO_COLOR="1")
    env["PATH"] = f"{build_dir / 'bin'}:{os.environ['PATH']}"

    def run(*words, timeout=150, **extra):
        done = subprocess.run(
            [sys.executable, "-m", "tsunami.demo", "--small", "--folder", home, *map(str, words)],
            env={**env, **extra},
            capture_output=True,
            text=True,
            timeout=patience.scaled(timeout),
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


RESULTS = ("event.series", "event.maps", "free.series")


def results(home):
    """What a run has computed, to the last bit."""
    numpy = importlib.import_module("numpy")
    with numpy.load(home / "run" / "assim.npz") as saved:
        learned = {name: saved[name].tobytes() for name in saved.files}
    return learned, [(home / "run" / name).read_bytes() for name in RESULTS]


def route_of(home):
    """What the report of a run says of its route."""
    return app_module("way").saved_text(home / "run")


@pytest.fixture
def ordinary(demo, tmp_path_factory):
    """A folder with results, words and report of the ordinary route, made once."""
    need_mpis("openmpi", "mpich")
    need_modules("mpi4py", "numpy")
    kept = tmp_path_factory.getbasetemp() / "tsunami-ordinary"
    if not kept.exists():
        status, out, err = demo("--speed", 6000)
        assert status == 0, out + err
        shutil.copytree(demo.home / "run", kept / "run")
        shutil.copy(demo.home / "report.html", kept)
        (kept / "said").write_text(out)
    return kept


def test_demo_is_good_and_writes_a_report(demo, ordinary):
    out = (ordinary / "said").read_text()
    assert "without MPI" not in out and "Route: auto. WaitIO took the quickest way" in out, out
    assert out.count("ok  ") == 4 and "FAIL" not in out, out
    text = (ordinary / "report.html").read_text()
    assert text.count('<img alt="') == text.count("<source media=") == 4
    assert text.count("data:image/png;base64,") == 8
    assert not re.search(r'(src|srcset|href)="(?!data:)', text), "the report needs other files"
    assert 'content="width=device-width, initial-scale=1"' in text
    assert text.index('<p class="blocks">') < text.index("An earthquake lifts")
    assert route_of(ordinary) in text and route_of(ordinary).startswith("Route: auto. ")
    for block in ("ocean", "gauges", "assim"):
        assert f"waits for {block}" in text
    assert f"report: {demo.home / 'report.html'}" in out


class Onlooker(threading.Thread):
    """Looks from outside at the network of each program of a run while it runs."""

    BLOCKS = {"tsunami_ocean": "ocean", "tsunami.gauges": "gauges", "tsunami.assim": "assim"}

    def __init__(self, mark):
        super().__init__(daemon=True)
        self.mark, self.over = mark, threading.Event()
        self.seen = {}  # block: {(namespace, devices)}

    def run(self):
        while not self.over.wait(0.2):
            for pid in patience.pids():
                try:
                    self._look(pid)
                except OSError:
                    continue

    def _look(self, pid):
        words = [w.decode(errors="replace") for w in patience.words_of(pid, "cmdline")]
        block = self.BLOCKS.get(pathlib.Path(words[0]).name)
        if words[1:2] == ["-m"]:  # Python itself, not the shell that starts it
            block = self.BLOCKS.get(words[2])
        marks = patience.words_of(pid, "environ")
        if block is None or self.mark not in marks or b"WAITIO_NPB=3" not in marks:
            return
        space = os.readlink(f"/proc/{pid}/ns/net")
        rows = pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
        counts = {row.partition(":")[0].strip(): row.partition(":")[2].split() for row in rows}
        # A kernel may give each namespace others, which are down: no byte goes by them.
        devices = {name for name, row in counts.items() if name == "lo" or row[0] + row[8] != "00"}
        self.seen.setdefault(block, set()).add((space, tuple(sorted(devices))))


def test_demo_by_files_alone_computes_the_same_bits(demo, ordinary, waitio):
    """As root each program is without a network; an onlooker sees that, too."""
    onlooker = Onlooker(waitio.mark)
    onlooker.start()
    try:
        status, out, err = demo("--no-report", "--speed", 6000, "--route", "file")
    finally:
        onlooker.over.set()
        onlooker.join()
    assert status == 0, out + err
    assert out.count("ok  ") == 4 and "FAIL" not in out, out
    assert results(demo.home) == results(ordinary)
    text = route_of(demo.home)
    assert "Route: file. All messages between the programs went by files in " in text
    assert list((demo.home / "scratch").iterdir()) == []
    if os.geteuid() != 0 or "not isolated" in out:
        assert "They ran in one network namespace, not isolated: " in text
        pytest.skip("no network namespaces here: it ran over files in the network as it is")
    assert "in a network namespace of its own without any link to another" in text
    assert sorted(onlooker.seen) == ["assim", "gauges", "ocean"], onlooker.seen
    spaces = [space for found in onlooker.seen.values() for space, _ in found]
    assert len(set(spaces)) == len(spaces) == 3, "each program has its own, all its processes one"
    assert os.readlink("/proc/self/ns/net") not in spaces
    assert {devices for found in onlooker.seen.values() for _, devices in found} == {("lo",)}


def test_demo_by_the_hybrid_route_computes_the_same_bits(demo, ordinary):
    status, out, err = demo("--no-report", "--speed", 6000, "--route", "hybrid")
    assert status == 0, out + err
    assert results(demo.home) == results(ordinary)
    count = re.search(r"Route: hybrid\. ([\d,]+) messages of more than 65536 bytes", out)
    assert count and int(count[1].replace(",", "")) > 100, out
    assert count[0] in route_of(demo.home)


def test_without_root_the_demo_says_that_it_is_not_isolated(demo, ordinary, tmp_path):
    """Here a program that may not make namespaces."""
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import os\nos.geteuid = lambda: 1000\n")
    path = f"{tmp_path}:{demo.env['PYTHONPATH']}"
    extra = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = ("--no-report", "--speed", 6000, "--route", "file")
    status, out, err = demo(*words, PYTHONPATH=path, **extra)
    assert status == 0, out + err
    said = "They ran in one network namespace, not isolated: only root can give each program"
    assert said in out and said in route_of(demo.home)
    assert results(demo.home) == results(ordinary)


def test_an_unknown_route_is_named(demo):
    status, _, err = demo("--route", "pigeon")
    assert status == 2 and "'pigeon'" in err and "'file'" in err, err
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(  # not as a part of `make test`, which would say so
        ["make", "demo", "ROUTE=pigeon"], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert (
        "there is no route 'pigeon'; known are auto (the ordinary way), file, hybrid" in done.stderr
    )


def test_islands_that_are_none_are_noticed(demo, tmp_path):
    """The demonstration believes nobody who says that he is alone."""
    way = app_module("way")
    one = {"namespace": "net:[1]", "devices": ["lo"]}
    found = way.Way("auto", tmp_path, {})
    found.islands = {"ocean": one, "gauges": dict(one, namespace="net:[2]"), "assim": one}
    with pytest.raises(way.DemoError, match="not every program had a network namespace"):
        found._check_islands()
    found.islands["assim"] = {"namespace": "net:[3]", "devices": ["lo", "eth0"]}
    with pytest.raises(way.DemoError, match="assim had network devices"):
        found._check_islands()


def test_devices_that_are_down_do_not_count():
    """In a new namespace even the loopback is down; some kernels give it more of that kind."""
    reason = app_module("way").no_islands(os.environ | {"PYTHONPATH": str(APP)})
    if reason:
        pytest.skip(reason)
    program = (
        "from tsunami import island; island.leave_network(); print(island.devices());"
        "island.raise_loopback(); print(island.devices())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=APP, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[]\n['lo']\n", "")


def test_demo_without_assimilation_fails_its_checks(demo):
    need_mpis("openmpi")
    status, out, err = demo("--no-assimilation", "--no-mpi4py", "--no-report", "--speed", 6000)
    assert status == 1, out + err
    assert "FAIL error at the towns, assimilated / free run: 1.00" in out, out


def test_network_at_the_papers_rate(demo):
    need_mpis("openmpi")
    status, out, err = demo("--network", 3)
    assert status == 0, out + err
    assert re.search(r"300 samples of 2000 stations in \d", out), out


def remote_lines(demo, home):
    """What `--blocks remote` prints, as [secret, ocean, gauges, assim], for this host and a free
    port; only names, port and scp differ."""
    status, text, err = demo("--blocks", "remote")
    assert (status, err) == (0, "")
    port = str(free_port())
    assert "a-node1" in text and "7100" in text and "scp -p" in text
    text = text.replace("a-node1", socket.gethostname()).replace("7100", port)
    text = text.replace("tsunami-1", f"test-{port}")
    text = re.sub(r"scp -p (\S+) cluster-b:(\S+)", rf"cp -p \1 {home}/b/\2", text)
    # The package is installed on a real cluster, which has more cores, too.
    site = demo.env["PYTHONPATH"].split(":")[0]
    text = text.replace("PYTHONPATH=", f"PYTHONPATH={site}:")
    return re.split(r"(?m)^# [1-4]\. .*$", text)[1:]


def cluster_env(demo, home, mpi):
    """A home of its own, and mpiexec of this MPI."""
    env = {**app_module("launch").environment(demo.home), **demo.env}
    env = {k: v for k, v in env.items() if not k.startswith("WAITIO_")}
    tools = home / f"bin-{mpi}"
    tools.mkdir(parents=True)
    script = tools / "mpiexec"
    script.write_text(f'#!/bin/sh\nexec mpiexec.{mpi} "$@"\n')
    script.chmod(0o755)
    env.update(HOME=str(home), PATH=f"{tools}:{demo.home / 'bin'}:{env['PATH']}")
    return env


def run_together(scripts, folder, limit):
    """Run (environment, shell lines) side by side; [(status, output)]. When one fails all end."""
    started = []
    for k, (env, lines) in enumerate(scripts):
        with open(folder / f"said{k}", "w") as out:
            options = {"stdout": out, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
            words = ["sh", "-ec", lines]
            started.append(subprocess.Popen(words, env=env, start_new_session=True, **options))
    until = time.monotonic() + limit
    while time.monotonic() < until and any(c.poll() is None for c in started):
        if any(c.poll() for c in started):
            break
        time.sleep(0.1)
    for child in started:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    return [(c.wait(), (folder / f"said{k}").read_text()) for k, c in enumerate(started)]


def test_lines_of_blocks_remote_work(demo, tmp_path):
    """Two homes stand for two clusters."""
    need_mpis("openmpi", "mpich")
    need_modules("mpi4py")
    status, out, err = demo("--prepare-only", "--speed", 6000)
    assert status == 0, out + err
    secret, ocean, gauges, assim = remote_lines(demo, tmp_path)
    on_a = cluster_env(demo, tmp_path / "a", "openmpi")
    on_b = cluster_env(demo, tmp_path / "b", "mpich")
    subprocess.run(["sh", "-ec", secret], env=on_a, check=True, timeout=30)
    blocks = [(on_a, ocean), (on_b, gauges), (on_b, assim)]
    found = run_together(blocks, tmp_path, limit=120)
    assert [status for status, _ in found] == [0, 0, 0], found
    status, out, err = demo("--report-only")
    assert status == 0 and "report.html" in out, out + err


def gauges_of(mark):
    """Process id of the gauges of this test."""
    for pid in patience.pids():
        words = patience.words_of(pid, "cmdline")
        if b"tsunami.gauges" in words and mark in patience.words_of(pid, "environ"):
            return pid
    return None


def kill_gauges_during_the_event(words, waitio, env, cwd=None):
    """Start, wait for the event to run, kill the gauges; returns (status, output)."""
    child = subprocess.Popen(
        [str(w) for w in words],
        env=env,
        cwd=cwd,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    waitio.started.append(child)
    said = []
    for line in child.stdout:
        said.append(line)
        if re.search(r"ocean .* event, cycle [1-9]|@ event [1-9]", line):
            break
    victim = gauges_of(waitio.mark)
    assert victim, "".join(said)
    os.kill(victim, signal.SIGKILL)
    rest, _ = child.communicate(timeout=60)
    return child.returncode, "".join(said) + rest


def test_killed_gauges_end_the_run_with_a_reason(demo, waitio):
    """`waitio run` ends the others; without its help, as on two clusters, they do so alone."""
    need_mpis("openmpi", "mpich")
    need_modules("mpi4py")
    slow = [sys.executable, "-m", "tsunami.demo", "--small", "--speed", 80]
    status, said = kill_gauges_during_the_event([*slow, "--folder", demo.home], waitio, demo.env)
    assert status == 2, said
    # On a busy machine assim, which loses the gauges, may be seen to end some milliseconds earlier.
    assert re.search(r"waitio run tsunami.toml ended with status (137|1)\b", said), said
    assert re.search(r"(gauges|assim) .*<- first failure", said), said
    assert re.search(r"gauges +1 +exit status 137 \(SIGKILL\)", said), said

    folder = demo.home / "run"
    env = {**app_module("launch").environment(demo.home), **demo.env}
    env["PATH"] = f"{demo.home / 'bin'}:{demo.env['PATH']}"
    words = ["waitio", "run", "--keep-going", "tsunami.toml"]
    status, said = kill_gauges_during_the_event(words, waitio, env, folder)
    assert status in (137, 1), said
    # assim lost the gauges, then the ocean lost assim.
    assert re.search(r"\[assim 0\] assim: PB 1 rank 0: connection .* lost", said), said
    assert re.search(r"\[ocean \d\].*PB 2 rank 0", said), said


def test_without_mpi4py_the_demo_says_so_and_goes_on(demo, tmp_path):
    need_mpis("openmpi", "mpich")
    hidden = tmp_path / "mpi4py.py"
    hidden.write_text("raise ImportError('hidden by a test')\n")
    path = f"{tmp_path}:{demo.env['PYTHONPATH']}"
    status, out, err = demo("--no-report", "--speed", 6000, PYTHONPATH=path)
    assert status == 0, out + err
    assert "mpi4py does not load MPICH (ImportError: hidden by a test)" in out
    assert "pip install mpi4py" in out and "assim runs as one process, without MPI" in out


def test_what_is_missing_is_named(demo, tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    status, out, err = demo(PATH=str(tmp_path))
    assert status == 2 and out == ""
    for thing in ("the command waitio", "the program tsunami_ocean", "Open MPI's launcher"):
        assert thing in err, err


def test_torch_learns_from_a_running_simulation(demo):
    need_modules("torch", "numpy")
    example = ROOT / "examples" / "python" / "torch_forecast.py"
    block = [sys.executable, example]
    done = subprocess.run(
        ["waitio", "run", "--name", "wave", *block, ":", "--name", "learn", *block],
        env=demo.env,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    network, persistence = re.search(
        r"network ([\d.]+), of persistence ([\d.]+)", done.stdout
    ).groups()
    assert float(network) < 0.5 * float(persistence)


def test_torch_is_named_where_it_is_missing(demo, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError(\"No module named 'torch'\")\n")
    path = f"{tmp_path}:{demo.env['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "python" / "torch_forecast.py"],
        env={**demo.env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "No module named 'torch'; install it with: pip install torch" in done.stderr


def test_the_guide_quotes_the_sources():
    """What docs/guide/tsunami.md shows is in the programs, word by word."""
    text = (ROOT / "docs" / "guide" / "tsunami.md").read_text()
    sources = "".join(p.read_text() for p in [*APP.glob("ocean/*.f90"), *APP.glob("tsunami/*.py")])
    quotes = re.findall(r"^```(?:fortran|python)\n(.*?)^```$", text, re.M | re.S)
    assert len(quotes) >= 8
    for quote in quotes:
        assert quote in sources, f"not in the sources any more:\n{quote}"
