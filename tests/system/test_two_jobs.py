# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs on one host that nobody has told of others do not meet, whenever they start."""

import pytest
from jobs import MPIS, mpiexec


@pytest.mark.parametrize("mpi", MPIS)
def test_jobs_without_settings_do_not_meet(mpi, build_dir, launcher):
    line = mpiexec(mpi, (2, [build_dir / "bin" / "waitio-info", "--peers", "--timeout", "40"]))
    jobs = [launcher.start(line) for _ in range(4)]
    for job in jobs:
        done = launcher.wait(job)
        assert done.returncode == 0, done.all()
        assert done.stdout.count("universe of 2 processes in 1 PBs") == 2, done.all()
