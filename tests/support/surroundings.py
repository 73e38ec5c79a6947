# SPDX-License-Identifier: BSD-3-Clause
"""The environment in which tests start programs: nothing of another run is in it, and whoever is
started by hand has the variables that a launcher would give. Standard library only: the programs of
tests/faults use it, too, where there is no pytest."""

import itertools
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))
FOREIGN = ("WAITIO_", "COUPLER_", "OMPI_", "PRTE_", "PMI", "MPI_", "MPICH_", "HYDRA_", "SLURM_")
_runs = itertools.count()


def clean(*foreign, **more):
    """The environment, without anything of another run or launcher; None removes.

    @param foreign  beginnings of names that are left out besides
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith((*FOREIGN, *foreign))}
    return {k: str(v) for k, v in {**env, **more}.items() if v is not None}


def environment(home, *folders, **more):
    """For programs of MPI, too; the commands of `folders` come first."""
    ours = dict(
        HOME=str(home),
        PATH=os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_mpi_yield_when_idle="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
    )
    return clean(**{**ours, **more})


def rendezvous(npb, **more):
    """Variables that all processes of a universe have that is started by hand."""
    from waitio.ports import free_port  # here: the runner of tests works without our package

    ours = dict(
        WAITIO_MASTER_HOST="127.0.0.1",
        WAITIO_MASTER_PORT=free_port(),
        WAITIO_JOB_ID=f"test{os.getpid()}-{next(_runs)}",
        WAITIO_NPB=npb,
        WAITIO_INIT_TIMEOUT=60,
    )
    return {k: str(v) for k, v in {**ours, **more}.items() if v is not None}


def member(pbid, rank, nprocs):
    """Variables of one process of it."""
    return dict(WAITIO_PBID=str(pbid), WAITIO_RANK=str(rank), WAITIO_NPROCS=str(nprocs))


def forced(index):
    """The variables WAITIO_COLL_*, each set to its value number `index`, counted modulo how many it
    has; 0 is "auto"."""
    return {name: words[index % len(words)] for name, words in algorithms().items()}


def algorithms():
    """{variable: values}, "auto" first."""
    text = (ROOT / "spec" / "config.toml").read_text(encoding="utf-8")
    rows = re.findall(r'name = "(WAITIO_COLL_\w+)".*values = \[([^]]*)\]', text)
    assert rows, "no WAITIO_COLL_ variables found"
    return {name: re.findall(r'"(\w+)"', words) for name, words in rows}
