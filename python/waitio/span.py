# SPDX-License-Identifier: BSD-3-Clause
"""Start MPI programs so that their jobs share one MPI_COMM_WORLD (`waitio run --span`).

A library for the MPI of each program is loaded before the others. It is named to the program alone,
by `env` in front of it: a launcher that loaded it itself would take part in the run.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Sequence

from waitio import mpicheck
from waitio.blocks import Block
from waitio.errors import UsageError, WaitioError

# Names of our libraries' MPIs, the most fitting first. MPICH's descendants have its interface, but
# another name of the library.
LIBRARIES = {
    "openmpi": ("openmpi",),
    "mpich": ("mpich", "craympich"),
    "intel": ("intelmpi",),
    "mvapich": ("mvapich", "mvapich2"),
}


def _folders() -> list[str]:
    """Return where an installation puts libraries, as seen from this package."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    above = os.path.dirname(os.path.abspath(__file__))
    folders = []
    for _ in range(5):
        above = os.path.dirname(above)
        folders += [above, os.path.join(above, "lib"), os.path.join(above, "lib64")]
        folders += [os.path.join(above, multiarch)] if multiarch else []
    return folders


def library(flavour: str) -> str:
    """Return the path of the span library for an MPI, or explain what is missing."""
    given = os.environ.get("WAITIO_SPAN_LIB")
    folders = [given] if given else _folders()
    for mpi in LIBRARIES[flavour]:
        for folder in folders:
            path = os.path.join(folder, f"libwaitio_span_{mpi}.so")
            if os.path.isfile(path):
                return path
    name = mpicheck.NAMES[flavour]
    where = f"in WAITIO_SPAN_LIB={given}" if given else "beside this command"
    raise WaitioError(
        f"--span: there is no libwaitio_span_{LIBRARIES[flavour][0]}.so for {name} {where}: build"
        " WaitIO with -DWAITIO_MPI=/path/of/its/mpicc",
        127,
    )


def _flavour(block: Block) -> str:
    where = f"block '{block.name}': --span"
    if block.plain and block.n > 1:
        raise UsageError(
            f"{where}: its {block.n} processes are started one by one, so for their MPI each is"
            " alone: say --mpi FLAVOUR"
        )
    made = mpicheck.made_for(block)
    flavour = block.mpi if block.mpi in LIBRARIES else made.flavour if made else ""
    if not flavour:
        raise UsageError(
            f"{where}: nothing tells which MPI '{block.command[0]}' is made for: say --mpi"
            f" {', '.join(LIBRARIES)}; a program that is linked with its MPI statically cannot span"
        )
    return flavour


def prepare(blocks: Sequence[Block]) -> None:
    """Put what loads the library in front of the program of every block."""
    for block in blocks:
        loaded = [library(_flavour(block))]
        others = block.env.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
        loaded += [others] if others else []
        block.before = ["env", "LD_PRELOAD=" + ":".join(loaded)]
