# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/python run as their first lines say."""

import ast
import importlib.util
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import patience
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
SAID = {
    "pingpong": r"1048576 bytes: +[\d.]+ us one way",
    "stream": r"3000 values, mean -?\d\.\d+",
    "collectives": r"6000 values in 2 blocks: 1\.\d+ \+- \d\.\d+",
    "ensemble": r"2 members, spread 0\.250 -> 0\.01\d",
    "go_on": r"heat in the rod: 0x1\.[0-9a-f]+p\+\d",
}


def test_every_example_is_here():
    elsewhere = {"torch_forecast"}
    assert {p.stem for p in FOLDER.glob("*.py")} - elsewhere == set(SAID)
    table = (FOLDER.parent / "README.md").read_text()
    for name in SAID:
        assert f"(python/{name}.py)" in table, f"examples/README.md does not show {name}.py"


def shell(u, helpers, said, cwd):
    """Run a command of `waitio` and `python`; return what it printed."""
    folder = u.folder / "bin"
    folder.mkdir()
    for word, run in (("waitio", "-m waitio"), ("python", "")):
        (folder / word).write_text(f'#!/bin/sh\nexec {sys.executable} {run} "$@"\n')
        (folder / word).chmod(0o755)
    env = {k: v for k, v in u.env.items() if not k.startswith("WAITIO_")}
    env.update(PATH=f"{folder}:{env['PATH']}", PYTHONPATH=u.site, PYTHONWARNINGS="error")
    return helpers.command("sh", "-c", said, cwd=cwd, env=env, timeout=120)


@pytest.mark.parametrize("name", SAID)
def test_runs_as_it_says(make_universe, helpers, name):
    text = (FOLDER / f"{name}.py").read_text()
    if "mpi4py" in text:
        helpers.needs("mpi4py")
        helpers.mpiexec("openmpi")
    lines = ast.get_docstring(ast.parse(text)).replace("\\\n", " ").splitlines()
    said = next(line.strip() for line in lines if line.startswith("    waitio run"))
    out = shell(make_universe(), helpers, said, FOLDER)
    assert re.search(SAID[name], out), out


def begin_anew(folder):
    for left in [*folder.glob("rod-*"), *folder.glob(".waitio-file-*")]:
        shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.mark.parametrize("victims", [(0,), (1,), (0, 1)])
def test_goes_on_after_kills_at_random_times(make_universe, tmp_path, victims):
    """The bits are those of the run that nobody kills."""
    rng = random.Random(sum(victims))
    u = make_universe(
        WAITIO_COMM_TYPE="file",
        WAITIO_SCRATCH_DIR=str(tmp_path),
        WAITIO_FILE_HEARTBEAT="0.05",
        WAITIO_FILE_RESUME="1",
    )

    def start():
        return [u.python(FOLDER / "go_on.py", pb, 0, 1, 2, str(tmp_path)) for pb in (0, 1)]

    def saved():
        path = tmp_path / "rod-0.npz"
        return path.stat().st_mtime_ns if path.exists() else 0

    def computes(cast):
        """Wait for the next checkpoint, or the end."""
        old, limit = saved(), patience.Limit(10)
        while saved() == old and cast[0].child.poll() is None and limit.left() > 0:
            time.sleep(0.005)

    whole = start()
    computes(whole)
    begun = time.monotonic()
    u.all_end(whole, 60)
    took = time.monotonic() - begun  # so the kills come within the steps on each machine
    kills = 0
    for _ in range(12):
        cast = start()
        computes(cast)
        time.sleep(rng.random() * took / 3)
        fell = [v for v in victims if cast[v].child.poll() is None]
        for v in victims:
            cast[v].child.kill()
        limit = patience.Limit(3)
        while limit.left() > 0 and any(p.child.poll() is None for p in cast):
            time.sleep(0.01)
        for p in cast:  # a queue ends those that wait for the killed ones while joining
            p.child.kill()
            p.child.wait()
        if any(p.child.returncode == 0 for p in cast) or cast[0].lines:
            begin_anew(tmp_path)  # too late, at its very end: nothing is left to go on from
        else:
            kills += len(fell)
        if kills >= 4:
            break
    cast = start()
    u.all_end(cast, 60)
    assert kills > 0
    assert cast[0].lines == whole[0].lines
    assert re.fullmatch(SAID["go_on"], whole[0].lines[0])
    assert list(tmp_path.glob(".waitio-file-*/resume*")) == []


def test_waitio_run_goes_on_by_the_same_command(make_universe, helpers, tmp_path):
    """A secret outlives the killed run, and goes with the one that ends well."""
    u = make_universe()
    env = {k: v for k, v in u.env.items() if not k.startswith("WAITIO_")}
    env.update(PYTHONPATH=u.site, HOME=str(tmp_path))
    program = [sys.executable, str(FOLDER / "go_on.py")]
    run = [sys.executable, "-m", "waitio", "run", "--route", "file"]
    blocks = [*program, ":", *program]

    def heat(words):
        out = helpers.command(*words, cwd=tmp_path, env=env, timeout=120)
        return re.search(SAID["go_on"], out).group()

    whole = heat([*run, *blocks])
    again = [*run, "--job-id", "rod", "--resume", *blocks]
    child = subprocess.Popen(again, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    limit = patience.Limit(30)
    while not (tmp_path / "rod-0.npz").exists() and limit.left() > 0:
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    text = child.communicate(timeout=60)[1]
    assert child.returncode != 0 and "the same command goes on" in text, text
    kept = tmp_path / ".waitio" / "resume"
    assert (tmp_path / "rod-0.npz").exists()
    assert [path.stat().st_mode & 0o777 for path in kept.iterdir()] == [0o600]
    assert heat(again) == whole
    assert not list(kept.iterdir()) and not list(tmp_path.glob(".waitio-file-*"))


def test_a_coarse_model_learns_from_a_fine_one(make_universe, helpers):
    """The correction learned on line makes the free run better, and conserves the mean."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip(
            "PyTorch is not installed: with CUDA's libraries it takes 5 GB, setup leaves it"
        )
    folder = FOLDER.parent / "coupled_learning"
    said = re.search(r"^waitio run .*", (folder / "README.md").read_text(), re.M).group()
    out = shell(make_universe(), helpers, said, folder)
    plain, corrected = map(float, re.search(r"run: (\S+) as it is, (\S+) corr", out).groups())
    assert 0.03 < plain < 0.1 and corrected < 0.5 * plain, out
    assert float(re.search(r"changed the mean by (\S+)", out).group(1)) < 1e-12, out
