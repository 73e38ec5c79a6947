# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the installed providers share: a copy of the installation, and commands in it."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def prefix(install_dir, tmp_path):
    """A copy of the installed tree, with a blank in its path."""
    return shutil.copytree(install_dir, tmp_path / "else where", symlinks=True)


@pytest.fixture
def run(prefix, tmp_path, patient):
    """Runs a command without anything of the build in its environment; returns what it prints."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("WAITIO_", "PYTHON", "PMI", "OMPI_"))
    }
    env.update(
        HOME=str(tmp_path),
        PKG_CONFIG_PATH=str(libdir(prefix) / "pkgconfig"),
        LD_LIBRARY_PATH=str(libdir(prefix)),
        OMPI_FC="gfortran",
        MPICH_FC="gfortran",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )

    def ran(*words, good=True):
        done = subprocess.run(
            [str(w) for w in words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=patient(100),
            check=False,
        )
        assert (done.returncode == 0) == good, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout if good else done.stdout + done.stderr

    return ran


def libdir(prefix):
    return next(prefix.glob("**/libwaitio.so")).parent


@pytest.fixture
def starts(run, prefix):
    """Runs a program as two processes of an MPI; each must say that it is right."""

    def ran(mpi, program):
        words = ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
        line = ["run", "--timeout", "60s", "-n", 2, "--mpi", mpi, *words, program]
        out = run(prefix / "bin" / "waitio", *line)
        assert out.count("ok: process ") == 2, out

    return ran
