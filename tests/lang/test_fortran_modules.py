# SPDX-License-Identifier: BSD-3-Clause
"""Module waitio refuses at compile time what its types do not allow."""

import pathlib
import shutil
import subprocess

import pytest

FORTRAN = pathlib.Path(__file__).resolve().parents[2] / "fortran"
MODULES = ["waitio_types.f90", *sorted(FORTRAN.glob("gen/*.f90")), "waitio.f90"]
STRICT = ["-std=f2018", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-fcheck=all", "-c"]

PROGRAM = """
program use_it
    use waitio
    implicit none
    type(waitio_group) :: world
    type(waitio_datatype) :: row
    type(waitio_request) :: req
    real, asynchronous :: a(4), b(4)
    a = 0
    b = 0
    {statement}
end program use_it
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    folder = tmp_path_factory.mktemp("modules")
    for name in MODULES:
        done = compiled(folder, FORTRAN / name)
        assert done.returncode == 0, done.stderr
    return folder


def compiled(folder, source):
    return subprocess.run(
        ["gfortran", *STRICT, f"-J{folder}", f"-I{FORTRAN}", str(source), "-o", f"{folder}/use.o"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "statement",
    [
        "call waitio_mpi_isend(a, 4, WAITIO_MPI_REAL, 0, 1, world, req)",
        "call waitio_mpi_wait(req)",
        "call waitio_mpi_allreduce(a, a, 4, WAITIO_MPI_REAL, WAITIO_MPI_SUM, world)",
        "call waitio_mpi_type_vector(2, 1, 2, WAITIO_MPI_REAL, row)",
    ],
)
def test_right_calls_compile(modules, tmp_path, statement):
    source = tmp_path / "use.f90"
    source.write_text(PROGRAM.format(statement=statement))
    done = compiled(modules, source)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        # a number for a type, a type for an operator, no request, a real for a rank, too few
        "call waitio_mpi_isend(a, 4, 524314, 0, 1, world, req)",
        "call waitio_mpi_allreduce(a, a, 4, WAITIO_MPI_REAL, WAITIO_MPI_REAL, world)",
        "call waitio_mpi_isend(a, 4, WAITIO_MPI_REAL, 0, 1, world)",
        "call waitio_mpi_send(a, 4, WAITIO_MPI_REAL, 0.5, 1, world)",
        "call waitio_mpi_type_vector(2, 1, WAITIO_MPI_REAL, row)",
        "call waitio_mpi_type_commit(world)",
    ],
)
def test_wrong_calls_do_not(modules, tmp_path, statement):
    source = tmp_path / "use.f90"
    source.write_text(PROGRAM.format(statement=statement))
    done = compiled(modules, source)
    assert done.returncode != 0
    assert "Error" in done.stderr
