# SPDX-License-Identifier: BSD-3-Clause
"""An intercommunicator between two blocks that run under different MPIs."""

import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).with_name("two_mpis.c")


@pytest.mark.parametrize("first", ["openmpi", "mpich"])
def test_blocks_of_two_mpis_talk_by_an_intercommunicator(first, install_dir, tmp_path):
    mpis = [first, "mpich" if first == "openmpi" else "openmpi"]
    for mpi in mpis:
        for tool in (f"mpicc.{mpi}", f"mpiexec.{mpi}"):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}")
    lib = next(install_dir.glob("**/libwaitio.so")).parent
    include = next(install_dir.glob("**/waitio_mpi.h")).parent
    words = ["waitio", "run", "--timeout", "60s"]
    for mpi, count in zip(mpis, (3, 2)):
        program = tmp_path / mpi
        build = [f"mpicc.{mpi}", "-std=c11", "-Wall", str(SOURCE), "-o", str(program)]
        build += [f"-I{include}", f"-L{lib}", "-lwaitio", f"-Wl,-rpath,{lib}"]
        subprocess.run(build, check=True, timeout=60)
        words += [":"] if len(words) > 4 else []
        words += ["-n", str(count), "--mpi", mpi]
        words += ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
        words.append(str(program))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WAITIO_", "PMI"))}
    env.update(
        HOME=str(tmp_path),
        PATH=f"{install_dir / 'bin'}:{os.environ['PATH']}",
        LD_LIBRARY_PATH=str(lib),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    done = subprocess.run(
        words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 5
