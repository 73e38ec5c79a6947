# SPDX-License-Identifier: BSD-3-Clause
"""Universes whose blocks run on unlike machines: this one, and others emulated by qemu's user mode.
build.sh cross builds for them; a test that needs what is not installed is skipped with the name."""

import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CORE = HERE.parent / "system" / "core" / "conftest.py"
WANTED = os.environ.get("WAITIO_TEST_INTEROP") == "1"


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and not WANTED:
            reason = "cross builds take minutes: make interop, or WAITIO_TEST_INTEROP=1"
            item.add_marker(pytest.mark.skip(reason=reason))


def load_core():
    """What tests/system/core plays universes with."""
    spec = importlib.util.spec_from_file_location("waitio_test_core", CORE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


core = load_core()


class Machine:
    """Where the programs of one architecture lie and what runs them."""

    def __init__(self, name, build):
        self.name = name
        self.build = build
        self.runner = []
        if name != "native":
            self.build = build / "interop" / name / "b"
            self.runner = [f"qemu-{name}", "-L", f"/usr/{name}-linux-gnu"]

    def words(self, program):
        for folder in ("tests/system", "tests/lang", "bin"):
            path = self.build / folder / program
            if path.exists():
                return [*self.runner, path]
        raise AssertionError(f"{program} is not built for {self.name} in {self.build}")


class Mixed(core.Universe):
    """A universe with a machine for each block."""

    def __init__(self, machines, folder, **env):
        super().__init__(None, folder, **env)
        self.machines = machines

    def process(self, pb, rank, nprocs, npb, program, *args, env=None, before=()):
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=npb, WAITIO_RANK=rank, WAITIO_NPROCS=nprocs)
        place.update(env or {})
        machine = self.machines[pb]
        words = [*before, *machine.words(program), *args]
        return self.run(words, f"{program}.{machine.name}.{pb}.{rank}", place)


@pytest.fixture(scope="session")
def machine(build_dir):
    """machine(NAME): built for, once; skips where the tools for it are missing."""
    made = {}

    def find(name):
        if name in made:
            return made[name]
        if name != "native":
            for tool in (f"{name}-linux-gnu-gcc", f"qemu-{name}", "apt-get", "ninja", "cmake"):
                if shutil.which(tool) is None:
                    pytest.skip(f"{tool} is not installed (scripts/setup.sh interop)")
            done = subprocess.run(
                ["sh", HERE / "build.sh", build_dir, name],
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        made[name] = Machine(name, build_dir)
        return made[name]

    return find


@pytest.fixture
def mixed(machine, tmp_path):
    """mixed([NAME of each block's machine], **env) makes universes."""
    made = []

    def make(names, **env):
        env.setdefault("WAITIO_INIT_TIMEOUT", "60")
        u = Mixed([machine(name) for name in names], tmp_path, **env)
        made.append(u)
        return u

    yield make
    for u in made:
        u.close()
