# SPDX-License-Identifier: BSD-3-Clause
"""WaitIO without netCDF-C builds. A build of everything would take minutes: only the files that the
option chooses are compiled. (What happens at run time: tests/coupler/test_weights_run.py.)"""

import subprocess


def run(words, patient, code=0, **more):
    done = subprocess.run(
        [str(w) for w in words],
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
        **more,
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def stores(folder):
    """Functions of files that an object defines."""
    (path,) = folder
    out = subprocess.run(
        ["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[2] for line in out.splitlines() if " T wio_store_" in line}


def test_the_files_that_the_option_chooses_build(source_dir, tmp_path, patient):
    build = tmp_path / "build"
    parts = ("NETCDF", "MPI_LIBRARIES", "FORTRAN", "TESTS", "BENCH")
    off = [f"-DWAITIO_{part}=OFF" for part in parts]
    run(["cmake", "-S", source_dir, "-B", build, *off], patient)
    cache = (build / "CMakeCache.txt").read_text()
    assert "NETCDF_LIBRARY" not in cache
    for target in ("wio_weights_store", "wio_weights_late"):
        run(["cmake", "--build", build, "--target", target], patient)
    none = stores(build.glob("**/store_none.c.o"))
    assert none == stores(build.glob("**/store_late.c.o")), none
    assert {"wio_store_open", "wio_store_create", "wio_store_get"} <= none
    assert not stores(build.glob("**/store.c.o"))  # is empty
    assert "waitio_netcdf" not in run(["cmake", "--build", build, "--target", "help"], patient)
