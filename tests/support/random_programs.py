# SPDX-License-Identifier: BSD-3-Clause
"""Random legal MPI programs (tests/random): built for each way to run them, and run."""

import pathlib
import re
import subprocess

from jobs import MPIS, ROOT, blocks, mpiexec

FOLDER = ROOT / "tests" / "random"
# The jobs of each way: MPI ("": none) and processes.
WAYS = {
    "openmpi": [("openmpi", 4)],
    "mpich": [("mpich", 4)],
    "rename": [("", 2), ("", 1), ("", 2)],
    "hybrid": [("openmpi", 2), ("mpich", 2), ("", 1)],
    "hybrid-messages": [("openmpi", 2), ("mpich", 2), ("", 1)],
    "span-openmpi": [("openmpi", 2), ("openmpi", 2)],
    "span-mpich": [("mpich", 2), ("mpich", 2)],
    "span-mixed": [("openmpi", 2), ("mpich", 2)],
    "span-mixed-inside": [("openmpi", 2), ("mpich", 3)],
    "emulator-openmpi": [("openmpi", 2), ("openmpi", 2)],
    "emulator-mpich": [("mpich", 2), ("mpich", 2)],
}
SETTINGS = {
    "hybrid": {"WAITIO_HYBRID_INSIDE": "mpi"},
    "hybrid-messages": {"WAITIO_HYBRID_INSIDE": "messages", "WAITIO_INSIDE": "auto"},
    "span-mixed-inside": {"WAITIO_HYBRID_INSIDE": "mpi"},
    "emulator-openmpi": {"WAITIO_COMM_TYPE": "mpi"},
    "emulator-mpich": {"WAITIO_COMM_TYPE": "mpi"},
}


class HungError(Exception):
    """A run did not end; what it has printed."""


class RandomPrograms:
    """Builds the program for a way, and runs it."""

    def __init__(self, launcher):
        self.launcher = launcher

    def build(self, way, mpi):
        """The program of one job of a way."""
        words = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra"]
        sources = sorted(FOLDER.glob("*.c"))
        if way.startswith("span") or way == mpi:
            if way != mpi:
                self.launcher.library(f"waitio_span_{mpi}")
            return self.launcher.compile(mpi, sources, *words)
        words += [f"-I{ROOT / 'include'}", "-DRANDOM_RENAME"]
        libraries = ["waitio"]
        if way.startswith("hybrid"):
            words += ["-DRANDOM_HYBRID", *([] if mpi else ["-DRANDOM_NO_MPI"])]
            if mpi:
                libraries = [self.launcher.library(f"waitio_hybrid_{mpi}"), "waitio"]
        if way.startswith("emulator"):
            self.launcher.library(f"waitio_emulator_{mpi}")
            mpi = ""  # it is the library's business
        return self.launcher.compile(mpi, sources, *words, *self.launcher.link(*libraries))

    def words(self, way, *options):
        """The command line of a run."""
        jobs = WAYS[way]
        parts = [(mpi, n, [self.build(way, mpi), *options]) for mpi, n in jobs]
        if way in MPIS or way.startswith("emulator"):
            return mpiexec(jobs[0][0], *[(n, words) for _, n, words in parts])
        return blocks(*parts, options=["--span"] if way.startswith("span") else [], timeout="1h")

    def run(self, way, seeds, *options, limit=60, **env):
        """Run the seeds "A:B" in one start; returns what has ended, or raises HungError."""
        trace = pathlib.Path(self.launcher.folder) / "trace"
        trace.mkdir(exist_ok=True)
        for old in trace.iterdir():
            old.unlink()
        if way in MPIS or way.startswith("span"):
            options = ["--vendor", ",".join(str(n) for _, n in WAYS[way]), *options]
        words = self.words(way, "--trace", str(trace), "--seeds", seeds, *options)
        settings = {"WAITIO_SPAN_LIB": self.launcher.lib, **SETTINGS.get(way, {}), **env}
        child = self.launcher.start(words, **settings)
        try:
            return self.launcher.wait(child, limit)
        except subprocess.TimeoutExpired as end:
            parts = [end.stdout or b"", end.stderr or b""]
            raise HungError("\n".join(p.decode(errors="replace") for p in parts)) from None

    def places(self):
        """What each process did last, by its trace."""
        folder = pathlib.Path(self.launcher.folder) / "trace"
        return {path.name: path.read_text().strip() for path in sorted(folder.glob("rank*"))}

    def seed(self):
        """The seed that the run has come to, or None."""
        found = [re.match(r"seed (\d+) ", place) for place in self.places().values()]
        return max((int(m.group(1)) for m in found if m), default=None)


def processes(way):
    return sum(n for _, n in WAYS[way])
