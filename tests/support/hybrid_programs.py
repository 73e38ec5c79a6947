# SPDX-License-Identifier: BSD-3-Clause
"""Test programs with hybrid communicators: built for each MPI, run as blocks of one universe."""

import shutil
import subprocess

import pytest
from mpi_environment import mpi_environment


class Programs:
    """Builds test programs for each MPI, and runs them as blocks of one universe."""

    def __init__(self, source_dir, build_dir, folder):
        self.source_dir, self.build_dir, self.folder = source_dir, build_dir, folder

    def build(self, mpi, source, *flags):
        program = self.folder / f"{source.stem}_{mpi or 'plain'}"
        lib = self.build_dir / "lib"
        if mpi and not (lib / f"libwaitio_hybrid_{mpi}.so").exists():
            pytest.skip(f"libwaitio_hybrid_{mpi} is not built: no {mpi} was found")
        words = [f"mpicc.{mpi}" if mpi else "cc", "-std=gnu11", "-g", "-O1", str(source)]
        words += [f"-I{self.source_dir / 'include'}", f"-I{source.parent}", "-o", str(program)]
        words += ["-DHYBRID" if mpi else "-DHYBRID_PLAIN", *flags, f"-L{lib}"]
        words += [f"-lwaitio_hybrid_{mpi}"] if mpi else []
        subprocess.run([*words, "-lwaitio", f"-Wl,-rpath,{lib}"], check=True, timeout=120)
        return program

    def run(self, shape, source, patient, env=None, words=(), limit=100, flags=()):
        line = []
        for mpi, count in shape:
            if mpi and shutil.which(f"mpiexec.{mpi}") is None:
                pytest.skip(f"no mpiexec.{mpi}")
            line += [":"] if line else []
            line += ["-n", str(count), *(["--mpi", mpi] if mpi else [])]
            line += ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
            line += [str(self.build(mpi, source, *flags)), *map(str, words)]
        return subprocess.run(
            ["waitio", "run", "--timeout", "60s", *line],
            env=mpi_environment(self.folder, self.build_dir, **(env or {})),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patient(limit),
            check=False,
        )
