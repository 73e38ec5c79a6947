# SPDX-License-Identifier: BSD-3-Clause
"""Test programs with hybrid communicators: built for each MPI, run as blocks of one universe."""

from jobs import ROOT, blocks


class Programs:
    """Builds test programs for each MPI, and runs them as blocks of one universe."""

    def __init__(self, launcher):
        self.launcher = launcher

    def build(self, mpi, source, *flags):
        hybrid = [self.launcher.library(f"waitio_hybrid_{mpi}")] if mpi else []
        words = ["-std=gnu11", "-g", "-O1", f"-I{ROOT / 'include'}", f"-I{source.parent}"]
        words += ["-DHYBRID" if mpi else "-DHYBRID_PLAIN", *flags]
        words += self.launcher.link(*hybrid, "waitio")
        return self.launcher.compile(mpi, source, *words)

    def run(self, shape, source, env=None, words=(), limit=100, flags=()):
        parts = [(mpi, n, [self.build(mpi, source, *flags), *words]) for mpi, n in shape]
        return self.launcher.run(blocks(*parts), limit, **(env or {}))
