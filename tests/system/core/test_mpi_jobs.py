# SPDX-License-Identifier: BSD-3-Clause
"""Real MPI jobs side by side: Open MPI, MPICH and a plain process, coupled by WaitIO."""

import pytest


def test_openmpi_mpich_and_a_plain_process(universe):
    u = universe()
    cast = [
        u.mpi("openmpi", 0, 2, 3, "mpi_ring", 60),
        u.mpi("mpich", 1, 2, 3, "mpi_ring", 60),
        u.process(2, 0, 1, 3, "ring", 60),
    ]
    u.all_end(cast, 90)
    assert sum(line.startswith("ring ok") for p in cast for line in p.lines) == 5


def test_plain_process_is_the_master(universe):
    """PB 0 without MPI and without a launcher's variables: a process alone is a block of one."""
    u = universe()
    cast = [
        u.process(0, 0, 1, 3, "ring", 30, env=dict(WAITIO_RANK=None, WAITIO_NPROCS=None)),
        u.mpi("openmpi", 1, 2, 3, "mpi_ring", 30),
        u.mpi("mpich", 2, 2, 3, "mpi_ring", 30),
    ]
    u.all_end(cast, 90)


def test_programs_without_mpi_under_mpiexec(universe):
    """Rank and size come from the launcher even if the program is no MPI program."""
    u = universe()
    cast = [
        u.mpi("mpich", 0, 2, 2, "traffic", 2, 3, 300, 300000),
        u.mpi("openmpi", 1, 2, 2, "traffic", 2, 3, 300, 300000),
    ]
    u.all_end(cast, 90)


def test_exit_without_finalize(universe):
    """Old programs go from the last send straight to MPI_Finalize and exit."""
    u = universe()
    cast = [
        u.mpi("openmpi", 0, 2, 3, "mpi_ring", 20, "no-finalize"),
        u.mpi("mpich", 1, 1, 3, "mpi_ring", 20, "no-finalize"),
        u.process(2, 0, 1, 3, "ring", 20, "no-finalize"),
    ]
    u.all_end(cast, 90)


@pytest.mark.parametrize("flavours", [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_barrier_while_small_messages_are_on_their_way(universe, flavours):
    """The deadlock that the service thread exists for; see progs/mpi_barrier.c."""
    u = universe()
    cast = [
        u.mpi(flavours[0], 0, 2, 2, "mpi_barrier"),
        u.mpi(flavours[1], 1, 1, 2, "mpi_barrier"),
    ]
    u.all_end(cast, 60)


def test_barrier_needs_the_service_thread(universe):
    """The guard taken out: without the thread the same program hangs, so the test above can
    fail."""
    u = universe(WAITIO_PROGRESS="poll")
    cast = [u.mpi("openmpi", 0, 2, 2, "mpi_barrier"), u.mpi("mpich", 1, 1, 2, "mpi_barrier")]
    with pytest.raises(AssertionError, match="not all ended"):
        u.all_end(cast, 6)
