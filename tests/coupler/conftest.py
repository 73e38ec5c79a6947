# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the coupler share: puppets (puppet.c) for each MPI, and how they are started."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from mpi_environment import mpi_environment

sys.path.append(str(pathlib.Path(__file__).resolve().parent))  # vectors.py

MPIS = ("openmpi", "mpich")


class Troupe:
    """Puppets in one MPI job, or in a job each."""

    def __init__(self, source_dir, build_dir, folder):
        self.source_dir, self.build_dir, self.folder = source_dir, build_dir, folder
        self.programs = {}

    def need(self, mpi):
        if not (self.build_dir / "lib" / "h3ou" / mpi / "libh3ouc.so").exists():
            pytest.skip(f"libh3ouc is not built for {mpi}: it was not found")
        if shutil.which(f"mpiexec.{mpi}") is None:
            pytest.skip(f"no mpiexec.{mpi}")

    def compile(self, mpi, source, *flags, compiler="mpicc"):
        """The program of a source, built once for each MPI."""
        self.need(mpi)
        key = (mpi, str(source), flags)
        if key in self.programs:
            return self.programs[key]
        lib = self.build_dir / "lib"
        program = self.folder / f"{source.stem}{len(self.programs)}.{mpi}"
        libs = [
            f"-L{lib / 'h3ou' / mpi}",
            f"-L{lib}",
            *flags,
            "-lh3ouc",
            "-lwaitio_cpl",
            "-lwaitio",
        ]
        words = [f"{compiler}.{mpi}", "-g", "-O1", str(source), "-o", str(program)]
        words += [f"-I{self.source_dir / d}" for d in ("include", "include/h3ou", "src")]
        words += [*libs, f"-Wl,-rpath,{lib / 'h3ou' / mpi}:{lib}"]
        subprocess.run(words, check=True, timeout=120, env=self.environment())
        self.programs[key] = program
        return program

    def puppet(self, mpi):
        return self.compile(mpi, self.source_dir / "tests" / "coupler" / "puppet.c", "-std=gnu11")

    def environment(self, **more):
        return mpi_environment(self.folder, self.build_dir, **more)

    def one_job(self, mpi, parts):
        """parts: (processes, words) by component."""
        line = ["--oversubscribe"] if mpi == "openmpi" else []
        for i, (n, words) in enumerate(parts):
            line += [":"] if i else []
            line += ["-n", str(n), *map(str, words)]
        return [f"mpiexec.{mpi}", *line]

    def jobs(self, parts):
        """parts: (processes, MPI, words) by component."""
        line = []
        for i, (n, mpi, words) in enumerate(parts):
            line += [":"] if i else []
            line += ["-n", str(n), "--mpi", mpi]
            line += ["--mpi-args", "--oversubscribe"] if mpi == "openmpi" else []
            line += map(str, words)
        return ["waitio", "run", "--timeout", "60s", *line]

    def run(self, line, patient, limit=60, cwd=None, **env):
        """Once more where MPICH's launcher has dropped all that failing processes wrote."""
        done = self.once(line, patient, limit, cwd, **env)
        if line[0] == "mpiexec.mpich" and done.returncode and not done.stdout + done.stderr:
            done = self.once(line, patient, limit, cwd, **env)
        return done

    def once(self, line, patient, limit, cwd, **env):
        return subprocess.run(
            line,
            cwd=cwd or self.folder,
            env=self.environment(**env),
            capture_output=True,
            text=True,
            timeout=patient(limit),
            check=False,
        )


@pytest.fixture(scope="session")
def troupe(source_dir, build_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("troupe")
    folder.chmod(0o700)
    return Troupe(source_dir, build_dir, folder)
