# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the coupler share: puppets (puppet.c) for each MPI, and how they are started."""

import pathlib
import sys

import pytest
from jobs import Jobs, blocks, mpiexec, need

sys.path.append(str(pathlib.Path(__file__).resolve().parent))  # vectors.py


class Troupe:
    """Puppets in one MPI job, or in a job each."""

    def __init__(self, source_dir, build_dir, launcher):
        self.source_dir, self.build_dir, self.launcher = source_dir, build_dir, launcher
        self.environment = launcher.environment

    def need(self, mpi):
        if not (self.build_dir / "lib" / "h3ou" / mpi / "libh3ouc.so").exists():
            pytest.skip(f"libh3ouc is not built for {mpi}: it was not found")
        need(f"mpiexec.{mpi}")

    def compile(self, mpi, source, *flags):
        """The program of a source."""
        self.need(mpi)
        h3ou = self.build_dir / "lib" / "h3ou" / mpi
        words = ["-g", "-O1", *flags, f"-L{h3ou}", f"-Wl,-rpath,{h3ou}"]
        words += [f"-I{self.source_dir / d}" for d in ("include", "include/h3ou", "src")]
        words += self.launcher.link("h3ouc", "waitio_cpl", "waitio")
        return self.launcher.compile(mpi, source, *words)

    def puppet(self, mpi):
        return self.compile(mpi, self.source_dir / "tests" / "coupler" / "puppet.c", "-std=gnu11")

    def one_job(self, mpi, parts):
        """parts: (processes, words) by component."""
        return [str(word) for word in mpiexec(mpi, *parts)]

    def jobs(self, parts):
        """parts: (processes, MPI, words) by component."""
        return [str(word) for word in blocks(*((mpi, n, words) for n, mpi, words in parts))]

    def run(self, line, limit=60, cwd=None, **env):
        """Once more where MPICH's launcher has dropped all that failing processes wrote."""
        from waitio.ports import free_port  # see surroundings.py

        if "WAITIO_JOB_ID" in env:  # one job, joined by hand: beside others, with other secrets
            env.setdefault("WAITIO_MASTER_PORT", str(free_port()))
        done = self.launcher.run(line, limit, cwd, **env)
        if line[0] == "mpiexec.mpich" and done.returncode and not done.stdout + done.stderr:
            done = self.launcher.run(line, limit, cwd, **env)
        return done


@pytest.fixture(scope="session")
def troupe(source_dir, build_dir, made_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("troupe")
    folder.chmod(0o700)
    return Troupe(source_dir, build_dir, Jobs(build_dir, made_dir, folder))
