# SPDX-License-Identifier: BSD-3-Clause
"""Joining from an mpi4py communicator: it gives rank and size, and nothing is sent over it."""

import glob
import sys

import pytest


def test_rank_and_size_from_a_communicator(alone):
    """Any object with mpi4py's attributes or calls will do."""
    code = """
        class Modern:
            rank, size = int(sys.argv[1]), 2
        class Old:
            def Get_rank(self): return int(sys.argv[1])
            def Get_size(self): return 2
        before = dict(os.environ)
        comm = Modern() if sys.argv[1] == "0" else Old()
        universe = waitio.Universe(30, comm=comm, pb=int(sys.argv[2]), npb=2)
        assert dict(os.environ) == before
        assert (universe.pb, universe.pb_rank) == (int(sys.argv[2]), int(sys.argv[1]))
        assert universe.nprocs == (2, 2)
    """
    path = alone.script(code, joined=False)
    nothing = dict.fromkeys(("WAITIO_PBID", "WAITIO_NPB", "WAITIO_RANK", "WAITIO_NPROCS"))
    cast = [
        alone.python(path, pb, rank, 2, 2, rank, pb, env=nothing)
        for pb in (0, 1)
        for rank in (0, 1)
    ]
    alone.all_end(cast)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_mpi4py_couples_with_a_plain_program(make_universe, helpers, flavour):
    helpers.needs("mpi4py")
    u = make_universe()
    env = {"WAITIO_PBID": 0, "WAITIO_NPB": 2, "PYTHONPATH": u.site}
    if flavour == "mpich":
        # Debian's MPICH goes by a name of its own; mpi4py's wheel asks for the common one.
        found = sorted(glob.glob("/usr/lib/*/libmpich.so.12"))
        if found:
            (u.folder / "libmpi.so.12").symlink_to(found[0])
        env.update(MPI4PY_MPIABI="mpich", LD_LIBRARY_PATH=u.folder)
    path = u.script(
        """
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            print("no MPI:", error)
            raise SystemExit(0)
        comm = MPI.COMM_WORLD
        universe = waitio.Universe(30, comm=comm)
        assert universe.pb_rank == comm.rank and universe.nprocs == (comm.size, 1)
        total = comm.allreduce(comm.rank)
        if comm.rank == 0:
            universe.world.send(total, comm.size)
        comm.barrier()
        """,
        joined=False,
    )
    mpi = u.run([helpers.mpiexec(flavour), "-n", 2, sys.executable, path], f"{flavour}.mpi", env)
    plain = u.python(u.script("assert world.recv(0) == 1"), 1, 0, 1, 2)
    try:
        mpi.ended(0, timeout=60)
        mpi.reader.join(5)
        if any("no MPI" in line for line in mpi.lines):
            pytest.skip(f"mpi4py does not load {flavour}: {mpi.lines[-1]}")
        plain.ended(0)
    finally:
        mpi.child.poll() is None and mpi.child.terminate()
