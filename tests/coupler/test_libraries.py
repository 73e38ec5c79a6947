# SPDX-License-Identifier: BSD-3-Clause
"""What the coupler's libraries export and need, and how a program is built from an installed copy
as old makefiles do it."""

import re
import shutil
import subprocess

import pytest
from test_faces import CONF


def names(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[2] for line in out.splitlines() if line.split()[1] in "TDBR"}


def needed(library):
    out = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split("[")[1].rstrip("]") for line in out.splitlines() if "(NEEDED)" in line}


def declared(header):
    """Functions of a C header, without types of functions."""
    text = re.sub(r"/\*.*?\*/|\btypedef [^;{]*;", "", header.read_text(), flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    return set(re.findall(r"\b(\w+)\s*\([^;{}]*\)\s*;", text))


def test_the_coupler_exports_what_its_header_says(source_dir, build_dir):
    calls = declared(source_dir / "include" / "waitio_cpl.h")
    assert "waitio_cpl_open" in calls
    assert names(build_dir / "lib" / "libwaitio_cpl.so") == calls


def test_the_coupler_stands_on_public_calls(build_dir):
    """It needs libwaitio and the C library, and of libwaitio only what every program may call."""
    library = build_dir / "lib" / "libwaitio_cpl.so"
    assert not any("mpi" in name for name in needed(library)), needed(library)
    out = subprocess.run(
        ["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    used = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    assert not [name for name in used if name.startswith("wio_")], used


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_the_c_face_exports_its_calls_only(troupe, source_dir, build_dir, mpi):
    troupe.need(mpi)
    exported = names(build_dir / "lib" / "h3ou" / mpi / "libh3ouc.so")
    published = {name for name in exported if name.startswith("h3ouc_")}
    assert published == declared(source_dir / "include" / "h3ou" / "h3ouc.h")
    behind = declared(source_dir / "src" / "h3ou" / "face.h") - {"interpolate_data_"}
    assert exported - published == behind  # what Fortran and Python call


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("language", ["c", "fortran"])
def test_old_makefiles_find_all(troupe, install_dir, tmp_path, patient, mpi, language):
    """-lh3ou -ljcup4, -lh3ouc -lh3openp; nothing else of ours on the command line."""
    troupe.need(mpi)
    prefix = shutil.copytree(install_dir, tmp_path / "prefix", symlinks=True)
    libs = next(prefix.glob(f"**/h3ou/{mpi}"))
    if language == "fortran" and not (libs / "libh3ou.so").exists():
        pytest.skip("libh3ou is not built: no Fortran compiler")
    source = (
        troupe.source_dir / "tests" / "coupler" / ("faces.c" if language == "c" else "faces.F90")
    )
    words = ["-lh3ouc", "-lh3openp"] if language == "c" else ["-lh3ou", "-ljcup4"]
    compiler = "mpicc" if language == "c" else "mpifort"
    line = [f"{compiler}.{mpi}", source, "-o", "old", "-I", prefix / "include" / "h3ou", "-L", libs]
    subprocess.run(
        [str(w) for w in [*line, *words]], cwd=tmp_path, check=True, env=troupe.environment()
    )
    conf = tmp_path / "coupling.conf"
    conf.write_text(CONF)
    parts = [(1, ["./old", c, "coupling.conf"]) for c in ("compA", "compB")]
    done = subprocess.run(
        [str(w) for w in troupe.one_job(mpi, parts)],
        cwd=tmp_path,
        env=troupe.environment(LD_LIBRARY_PATH=str(libs)),
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok comp") == 2
