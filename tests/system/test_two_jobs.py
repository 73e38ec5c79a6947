# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs on one host that nobody has told of others do not meet, whenever they start."""

import subprocess

import pytest

from tests.support import patience
from tests.support.mpi_environment import mpi_environment

LAUNCHERS = {
    "openmpi": ["mpiexec.openmpi", "--oversubscribe"],
    "mpich": ["mpiexec.mpich"],
}


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_jobs_without_settings_do_not_meet(mpi, build_dir, tmp_path):
    env = mpi_environment(tmp_path, build_dir)
    words = [
        *LAUNCHERS[mpi],
        "-n",
        "2",
        str(build_dir / "bin" / "waitio-info"),
        "--peers",
        "--timeout",
        "40",
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    jobs = [subprocess.Popen(words, env=env, **pipes) for _ in range(4)]
    try:
        for job in jobs:
            text, _ = job.communicate(timeout=patience.scaled(60))
            assert job.returncode == 0, text
            assert text.count("universe of 2 processes in 1 PBs") == 2, text
    finally:
        for job in jobs:
            job.kill()
