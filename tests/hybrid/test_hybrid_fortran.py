# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid communicators in Fortran: external procedures, module waitio_hybrid with all kinds of
handles, and blocks of unlike style beside each other."""

import pathlib

import pytest
from jobs import MPIS, blocks

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def build(launcher, build_dir, source_dir):
    """Compiles a program of this folder for an MPI, or for none."""

    def compiled(name, mpi, *flags, check=True):
        libraries, folders = ["waitio_fortran", "waitio"], ["shared"]
        if mpi:
            hybrid = f"waitio_hybrid_fortran_{mpi}"
            libraries = [launcher.library(hybrid), f"waitio_hybrid_{mpi}", *libraries]
            folders.append(f"hybrid_{mpi}")
        sources = [HERE / f"{name}.F90"] + ([HERE / "hybrid_check.f90"] if check else [])
        words = [*flags, "-std=legacy", "-w", "-g", f"-I{source_dir}/include"]
        words += [f"-I{source_dir}/fortran", *(f"-I{build_dir}/modules/{f}" for f in folders)]
        return launcher.compile(mpi, sources, *words, *launcher.link(*libraries))

    return compiled


@pytest.fixture
def run(launcher):
    """Runs blocks (mpi, processes, program) as one universe."""

    def ran(*parts, **settings):
        line = blocks(*((mpi, count, [program]) for mpi, count, program in parts))
        return launcher.run(line, 100, WAITIO_HYBRID_INSIDE="mpi", **settings)

    return ran


@pytest.mark.parametrize("old", MPIS)
def test_old_style_modules_and_a_plain_program_are_one_universe(build, run, old):
    new = "mpich" if old == "openmpi" else "openmpi"
    parts = [
        (old, 3, build("hybrid_old", old)),
        (new, 2, build("hybrid_modules", new)),
        ("", 1, build("hybrid_old", "", "-DPLAIN")),
    ]
    done = run(*parts)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 6, done.stdout


@pytest.mark.parametrize("mpi", MPIS)
def test_every_form_of_the_generic_names(build, run, mpi):
    program = build("hybrid_faces", mpi, check=False)
    done = run((mpi, 2, program), (mpi, 2, program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 4, done.stdout


@pytest.mark.parametrize("mpi", MPIS)
def test_a_call_before_mpi_init_ends_a_program_that_does_not_look(build, run, mpi):
    done = run((mpi, 1, build("hybrid_too_early", mpi, check=False)), WAITIO_ERRORS="return")
    assert done.returncode != 0 and "goes on" not in done.stdout, done.stdout
    assert "MPI_Init() has not been called" in done.stderr, done.stderr
    assert "pass ierr to handle errors" in done.stderr, done.stderr


@pytest.mark.parametrize("mpi", MPIS)
def test_and_gives_its_code_to_one_that_looks(build, run, mpi):
    program = build("hybrid_too_early", mpi, "-DLOOKS", check=False)
    done = run((mpi, 1, program), WAITIO_ERRORS="return")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split("ierr ")[1].split()[0]) < 0, done.stdout
