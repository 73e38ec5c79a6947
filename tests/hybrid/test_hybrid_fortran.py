# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid communicators in Fortran: external procedures, module waitio_hybrid with all kinds of
handles, and blocks of unlike style beside each other."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
MPIS = ["openmpi", "mpich"]


def tools(*names):
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"no {name}")


@pytest.fixture
def build(build_dir, source_dir, tmp_path):
    """Compiles a program of this folder for an MPI, or for none."""

    def compiled(name, mpi, *flags, check=True):
        lib, modules = build_dir / "lib", build_dir / "modules"
        if mpi and not (lib / f"libwaitio_hybrid_fortran_{mpi}.so").exists():
            pytest.skip(f"libwaitio_hybrid_fortran_{mpi} is not built")
        tools("gfortran", *([f"mpifort.{mpi}", f"mpiexec.{mpi}"] if mpi else []))
        program = tmp_path / f"{name}_{mpi or 'plain'}"
        words = [f"mpifort.{mpi}" if mpi else "gfortran", *flags, "-std=legacy", "-w", "-g"]
        sources = [HERE / f"{name}.F90"] + ([HERE / "hybrid_check.f90"] if check else [])
        words += [*map(str, sources), "-o", str(program), f"-J{tmp_path}"]
        words += [f"-I{modules}/shared", f"-I{source_dir}/include", f"-I{source_dir}/fortran"]
        words += [f"-I{modules}/hybrid_{mpi}"] if mpi else []
        words += [f"-L{lib}", f"-Wl,-rpath,{lib}"]
        words += [f"-lwaitio_hybrid_fortran_{mpi}", f"-lwaitio_hybrid_{mpi}"] if mpi else []
        env = {**os.environ, "OMPI_FC": "gfortran", "MPICH_FC": "gfortran"}
        subprocess.run([*words, "-lwaitio_fortran", "-lwaitio"], check=True, timeout=120, env=env)
        return program

    return compiled


@pytest.fixture
def run(build_dir, tmp_path, patient):
    """Runs blocks (mpi, processes, program) as one universe."""

    def ran(*blocks, **settings):
        line = []
        for mpi, count, program in blocks:
            line += [":"] if line else []
            line += ["-n", str(count), *(["--mpi", mpi] if mpi else [])]
            line += ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
            line.append(str(program))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("WAITIO_", "PMI", "OMPI_"))}
        env.update(
            HOME=str(tmp_path),
            PATH=f"{build_dir / 'bin'}:{os.environ['PATH']}",
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_mpi_yield_when_idle="1",
            WAITIO_HYBRID_INSIDE="mpi",
            **settings,
        )
        return subprocess.run(
            ["waitio", "run", "--timeout", "60s", *line],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=patient(100),
            check=False,
        )

    return ran


@pytest.mark.parametrize("old", MPIS)
def test_old_style_modules_and_a_plain_program_are_one_universe(build, run, old):
    new = "mpich" if old == "openmpi" else "openmpi"
    blocks = [
        (old, 3, build("hybrid_old", old)),
        (new, 2, build("hybrid_modules", new)),
        ("", 1, build("hybrid_old", "", "-DPLAIN")),
    ]
    done = run(*blocks)
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
