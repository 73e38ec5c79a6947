# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the Python package share: the package as pip installs it, against an installed
copy of the library, and universes of real processes, over each transport."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import types

import patience
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "python"
SITE = os.environ.get("WAITIO_PYTHON_SITE")  # an installed package, instead of building one
SLOW = os.environ.get("WAITIO_TEST_SLOW") == "1"

PREAMBLE = """\
import asyncio, gc, os, signal, sys, threading, time
import numpy as np
import waitio
"""
JOINED = """\
universe = waitio.Universe(30)
world, me = universe.world, universe.rank
"""


def _load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


players = _load(ROOT / "tests" / "system" / "core" / "conftest.py", "waitio_test_players")


def command(*words, **kwargs):
    """Run a command that must succeed; return what it printed."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def needs(*modules):
    """Skip where scripts/setup.sh could not install a Python package."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the Python package {module} is not installed (make setup)")


@pytest.fixture(scope="session")
def source():
    """Folder of the package's sources."""
    return SOURCE


def pip(*words, **kwargs):
    """pip of the interpreter that runs the tests, without a network."""
    quiet = ("-q", "--disable-pip-version-check", "--no-deps", "--no-input")
    return command(sys.executable, "-m", "pip", *words[:1], *quiet, *words[1:], **kwargs)


def settings(*texts):
    """Settings of the build, as every pip of today takes them."""
    return [word for text in texts for word in ("--config-settings", text)]


@pytest.fixture(scope="session")
def site(request):
    """Folder with the installed package."""
    return pathlib.Path(SITE) if SITE else request.getfixturevalue("python_package")


class Universe(players.Universe):
    """A run whose processes are Python programs given as text."""

    site = None

    def script(self, code, joined=True):
        text = textwrap.dedent(code)
        path = self.folder / f"script{len(list(self.folder.glob('script*.py')))}.py"
        path.write_text(PREAMBLE + (JOINED if joined else "") + text)
        return path

    def play(self, code, blocks=(1, 1), joined=True, env=None):
        """Start the same program in all processes of all blocks."""
        path = self.script(code, joined)
        return [
            self.python(path, pb, rank, n, len(blocks), env=env)
            for pb, n in enumerate(blocks)
            for rank in range(n)
        ]

    def python(self, path, pb, rank, nprocs, npb, *args, env=None):
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=npb, WAITIO_RANK=rank, WAITIO_NPROCS=nprocs)
        place.update(PYTHONPATH=self.site, PYTHONUNBUFFERED=1, PYTHONFAULTHANDLER=1)
        place.update(env or {})
        return self.run([sys.executable, "-W", "error", path, *args], f"python.{pb}.{rank}", place)

    @staticmethod
    def says(process, text, timeout=30.0):
        """Wait until the process has printed a line with this text."""
        limit = patience.Limit(timeout)
        while limit.left() > 0:
            line = process.answer(timeout)
            if text in line:
                return line
        raise AssertionError(f"no line with {text!r}: {process.story()}")

    def passes(self, code, blocks=(1, 1), joined=True, env=None, timeout=60):
        """The same, and every process must end well. Returns them."""
        cast = self.play(code, blocks, joined, env)
        self.all_end(cast, timeout)
        return cast


@pytest.fixture
def make_universe(site, build_dir, tmp_path):
    """Makes universes; settings are environment variables."""
    made = []
    Universe.site = str(site)

    def make(**env):
        u = Universe(build_dir / "tests" / "system", tmp_path, **env)
        made.append(u)
        return u

    yield make
    for u in made:
        u.close()


@pytest.fixture(params=["socket", "shm"])
def universe(make_universe, request):
    """A universe over each transport."""
    return make_universe(WAITIO_COMM_TYPE=request.param)


@pytest.fixture
def alone(make_universe):
    """A universe for what does not depend on the transport."""
    return make_universe()


def mpiexec(flavour):
    """The command of an MPI, or skip."""
    path = shutil.which(f"mpiexec.{flavour}")
    if path is None:
        pytest.skip(f"mpiexec.{flavour} is not installed")
    return path


@pytest.fixture(scope="session")
def helpers():
    """Functions of this file that test modules use."""
    return types.SimpleNamespace(
        command=command, pip=pip, needs=needs, mpiexec=mpiexec, settings=settings
    )
