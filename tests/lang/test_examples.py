# SPDX-License-Identifier: BSD-3-Clause
"""The examples, built the way their first lines say against an installed copy, and run."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

EXAMPLES = {
    "c/pingpong.c": (["cc", "-O2", "-Wall", "-Wextra", "-Werror"], "waitio", (1, 1)),
    "c/groups.c": (["cc", "-O2", "-Wall", "-Wextra", "-Werror"], "waitio", (3, 2)),
    "fortran/exchange.f90": (["gfortran", "-O2", "-Wall", "-std=f2018"], "waitio_fortran", (1, 1)),
    "fortran/staging.f90": (
        ["gfortran", "-O2", "-Wall", "-std=f2018"],
        "waitio_stage_fortran",
        (2, 1),
    ),
    "fortran/old_style.f": (["gfortran", "-O2", "-std=legacy"], "waitio", (2, 1)),
}


def pkg_config(install_dir, package):
    folder = next(install_dir.glob("**/pkgconfig"))
    if not (folder / f"{package}.pc").exists():
        pytest.skip(f"{package} was not built (no Fortran compiler)")
    env = dict(os.environ, PKG_CONFIG_PATH=str(folder))
    done = subprocess.run(
        ["pkg-config", "--cflags", "--libs", package],
        env=env,
        text=True,
        capture_output=True,
        timeout=20,
        check=True,
    )
    return done.stdout.split()


def build(source, install_dir, tmp_path):
    command, package, _ = EXAMPLES[source]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    program = tmp_path / pathlib.Path(source).stem
    flags = pkg_config(install_dir, package)
    libdir = next(install_dir.glob("**/libwaitio.so")).parent
    done = subprocess.run(
        [
            *command,
            str(ROOT / "examples" / source),
            "-o",
            str(program),
            *flags,
            f"-Wl,-rpath,{libdir}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("source", sorted(EXAMPLES))
def test_example_builds_and_runs(source, launcher, install_dir, tmp_path):
    program = build(source, install_dir, tmp_path)
    for who, done in launcher.by_hand(*((count, [program]) for count in EXAMPLES[source][2])):
        assert done.returncode == 0, f"{who}: {done.all()}"


def test_every_example_is_tested():
    found = {
        str(p.relative_to(ROOT / "examples"))
        for folder in ("c", "fortran")
        for p in (ROOT / "examples" / folder).iterdir()
        if p.is_file() and p.suffix != ".md"
    }
    assert found == set(EXAMPLES)


@pytest.mark.skipif(
    not shutil.which("mpicc.openmpi") or not shutil.which("mpicc.mpich"),
    reason="needs Open MPI and MPICH",
)
def test_demo_checks_its_numbers(build_dir):
    """Three blocks, two MPI implementations: the demo itself compares every number."""
    env = dict(os.environ, WAITIO_BUILD_DIR=str(build_dir))
    done = subprocess.run(
        ["sh", str(ROOT / "examples" / "demo" / "run.sh")],
        env=env,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok") == 3, done.stdout
