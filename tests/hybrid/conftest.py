# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of hybrid communicators share: a copy of the installation, and commands in it."""

import shutil

import pytest
from jobs import Jobs, blocks, once


@pytest.fixture(scope="session")
def moved(install_dir, made_dir):
    """A copy of the installed tree, with a blank in its path; nobody writes to it."""

    def make(folder):
        shutil.copytree(install_dir, folder, symlinks=True, dirs_exist_ok=True)

    return once(made_dir / "else where", make)


@pytest.fixture
def prefix(moved):
    """The installed tree that a test uses."""
    return moved


@pytest.fixture
def run(prefix, build_dir, made_dir, tmp_path):
    """Runs a command without anything of the build in its environment; returns what it prints."""
    room = Jobs(
        build_dir,
        made_dir,
        tmp_path,
        commands=[],
        PYTHONPATH=None,
        PKG_CONFIG_PATH=libdir(prefix) / "pkgconfig",
        LD_LIBRARY_PATH=libdir(prefix),
        OMPI_FC="gfortran",
        MPICH_FC="gfortran",
    )

    def ran(*words, good=True):
        done = room.run(words, limit=100)
        assert (done.returncode == 0) == good, f"{words}\n{done.all()}"
        return done.stdout if good else done.stdout + done.stderr

    yield ran
    room.close()


def libdir(prefix):
    return next(prefix.glob("**/libwaitio.so")).parent


@pytest.fixture
def starts(run, prefix):
    """Runs a program as two processes of an MPI; each must say that it is right."""

    def ran(mpi, program):
        words = blocks((mpi, 2, [program]))
        out = run(prefix / "bin" / words[0], *words[1:])
        assert out.count("ok: process ") == 2, out

    return ran
