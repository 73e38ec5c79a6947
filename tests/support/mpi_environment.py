# SPDX-License-Identifier: BSD-3-Clause
"""The environment of programs that a test starts under MPI launchers."""

import os


def mpi_environment(folder, build_dir, **more):
    """Nothing of another run or launcher; `folder` is the home; the build's commands come first."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("WAITIO_", "PMI", "OMPI_"))}
    return {
        **clean,
        "HOME": str(folder),
        "PATH": f"{build_dir / 'bin'}:{os.environ['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        **more,
    }
