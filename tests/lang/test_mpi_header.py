# SPDX-License-Identifier: BSD-3-Clause
"""waitio_mpi.h beside mpi.h of both implementations, in both orders, in C and C++."""

import pathlib
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
C_FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

USE = """
int use(void);
int use(void)
{
    MPI_Status theirs;
    WAITIO_MPI_Status ours;
    WAITIO_MPI_Request req = WAITIO_MPI_REQUEST_NULL;
    WAITIO_MPI_Comm comm = WAITIO_MPI_COMM_NULL;
    double x = 0;
    theirs.MPI_SOURCE = 0;
    ours.MPI_SOURCE = theirs.MPI_SOURCE;
    ours.WAITIO_MPI_TAG = 1;
    return MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF) + WAITIO_MPI_Wait(&req, &ours)
         + WAITIO_MPI_Send(&x, 1, WAITIO_MPI_DOUBLE, 0, 0, comm)
         + waitio_mpi_send(&x, 1, WAITIO_MPI_DOUBLE_PRECISION, 0, 0, comm);
}
"""


@pytest.mark.parametrize("order", ["mpi first", "waitio first", "all"])
@pytest.mark.parametrize(
    "compiler",
    ["mpicc.openmpi -std=c11", "mpicc.mpich -std=c99", "mpicxx.openmpi", "mpicxx.mpich -std=c++17"],
)
def test_both_headers_in_one_file(compiler, order, tmp_path):
    command = compiler.split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    headers = {
        "mpi first": ["mpi.h", "waitio_mpi.h"],
        "waitio first": ["waitio_mpi.h", "mpi.h"],
        "all": ["waitio.h", "mpi.h", "waitio_mpi.h"],
    }[order]
    cxx = command[0].startswith("mpicxx")
    source = tmp_path / ("use.cc" if cxx else "use.c")
    source.write_text("".join(f"#include <{h}>\n" for h in headers) + USE)
    # The C++ bindings of old MPI headers do not survive pedantic warnings themselves.
    flags = ["-Wall"] if cxx else C_FLAGS
    done = subprocess.run(
        [*command, *flags, f"-I{INCLUDE}", "-c", str(source), "-o", str(tmp_path / "use.o")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "plain_mpi.c",
        "more_calls.c",
        "mpi_objects.c",
        "mpi_topology.c",
        "mpi_inter.c",
        "mpi_types.c",
        "mpi_grequest.c",
        "mpi_handles.c",
        "mpi_profile.c",
        "mpi_external.c",
        "mpi_large.c",
    ],
)
@pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])
def test_the_renamed_program_is_an_mpi_program(compiler, program, tmp_path):
    """What the conversion library runs by renaming is built by MPI as it stands."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = pathlib.Path(__file__).with_name(program)
    # An MPI's special pointers, such as MPI_STATUSES_IGNORE, look to gcc like arrays without room.
    special = ["-Wno-stringop-overflow", "-Wno-stringop-overread"]
    done = subprocess.run(
        [
            compiler,
            *C_FLAGS,
            *special,
            "-std=c11",
            "-c",
            str(source),
            "-o",
            str(tmp_path / "plain.o"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["free", "fixed"])
def test_include_file_in_both_forms_and_strict_modes(form, tmp_path):
    """The include file alone, also with lines cut at column 72 and the strictest standard."""
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    source = tmp_path / ("use.f90" if form == "free" else "use.f")
    source.write_text(
        "      module use_it\n      implicit none\n      include 'waitio_mpif.h'\n"
        "      end module use_it\n"
    )
    # Common blocks, which give WAITIO_MPI_IN_PLACE its address, are obsolescent in Fortran 2018.
    flags = ["-std=gnu", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    done = subprocess.run(
        [
            "gfortran",
            *flags,
            f"-I{INCLUDE}",
            f"-J{tmp_path}",
            "-c",
            str(source),
            "-o",
            str(tmp_path / "use.o"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
