# SPDX-License-Identifier: BSD-3-Clause
"""The providers as they are installed: found by pkg-config and by CMake in C and Fortran, in a tree
that was moved; an installation without any MPI."""

import shutil
import subprocess

import pytest

MPIS = ["openmpi", "mpich"]

FORTRAN = """
program main
    use mpi_f08
    use waitio_mpif90
    use waitio_hybrid
    implicit none
    type(WAITIO_MPI_Comm) :: comm
    integer :: me
    call MPI_Init()
    call waitio_hybrid_create(MPI_COMM_WORLD, 0, comm)
    call WAITIO_MPI_Comm_rank(comm, me)
    call WAITIO_MPI_Barrier(comm)
    call WAITIO_MPI_Finalize()
    call MPI_Finalize()
    print '(a,i0)', 'ok: process ', me
end program main
"""

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(use {language})
find_package(waitio 0.1 REQUIRED COMPONENTS {component})
add_executable(main main.{suffix})
target_link_libraries(main PRIVATE waitio::{component})
"""


def need(prefix, mpi, *tools):
    if not (next(prefix.glob("**/libwaitio.so")).parent / f"libwaitio_hybrid_{mpi}.so").exists():
        pytest.skip(f"libwaitio_hybrid_{mpi} was not built")
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")


def source_of(prefix, language, tmp_path):
    suffix = "c" if language == "C" else "f90"
    selftest = prefix / "share" / "waitio" / "hybrid" / "waitio_hybrid_selftest.c"
    (tmp_path / f"main.{suffix}").write_text(selftest.read_text() if language == "C" else FORTRAN)
    return suffix


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("language", ["C", "Fortran"])
def test_pkg_config(prefix, run, starts, tmp_path, mpi, language):
    compiler = f"mpicc.{mpi}" if language == "C" else f"mpifort.{mpi}"
    need(prefix, mpi, compiler, f"mpiexec.{mpi}", "pkg-config")
    suffix = source_of(prefix, language, tmp_path)
    package = f"waitio_hybrid_{mpi}" if language == "C" else f"waitio_hybrid_fortran_{mpi}"
    flags = run("pkg-config", "--cflags", "--libs", package).strip()
    run("sh", "-c", f"{compiler} -o main main.{suffix} {flags}")
    starts(mpi, tmp_path / "main")


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("language", ["C", "Fortran"])
def test_cmake_components(prefix, run, starts, tmp_path, mpi, language):
    compiler = f"mpicc.{mpi}" if language == "C" else f"mpifort.{mpi}"
    need(prefix, mpi, compiler, f"mpiexec.{mpi}")
    suffix = source_of(prefix, language, tmp_path)
    component = f"hybrid_{mpi}" if language == "C" else f"hybrid_fortran_{mpi}"
    text = CMAKE.format(language=language, component=component, suffix=suffix)
    (tmp_path / "CMakeLists.txt").write_text(text)
    run(
        *("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}"),
        f"-DCMAKE_{language}_COMPILER={compiler}",
    )
    run("cmake", "--build", "out")
    starts(mpi, tmp_path / "out" / "main")


def test_cmake_names_a_component_that_is_not_there_and_the_remedy(prefix, run, tmp_path):
    text = CMAKE.format(language="C", component="hybrid_nompi", suffix="c")
    (tmp_path / "CMakeLists.txt").write_text(text)
    said = run("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}", good=False)
    said = " ".join(said.split())
    assert "libwaitio_hybrid_nompi" in said and "waitio build-hybrid MPICC" in said, said


def test_without_mpi_all_else_is_configured_and_the_sources_are_installed(
    source_dir, tmp_path, patient
):
    """What `make install` does on a machine without MPI, as far as MPI has a part in it."""
    off = ("TESTS", "BENCH", "FORTRAN", "MPI_LIBRARIES")
    done = subprocess.run(
        ["cmake", "-S", source_dir, "-B", tmp_path / "out", *(f"-DWAITIO_{n}=OFF" for n in off)],
        capture_output=True,
        text=True,
        timeout=patient(100),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    script = (tmp_path / "out" / "cmake_install.cmake").read_text()
    assert "share/waitio/hybrid" in script and "libwaitio_hybrid_" not in script
