# SPDX-License-Identifier: BSD-3-Clause
"""The ways in which a test program runs in blocks: by WaitIO's messages, in a block's MPI with a
hybrid communicator, unmodified over several MPI jobs, over one MPI job, or by an MPI alone.

A shape says how many processes each block has, and under which MPI: "3o+2m+1" are three processes
under Open MPI, two under MPICH, one without MPI.

Programs without MPI are built with the library (tests/lang/CMakeLists.txt): every build can run
them, also those for sanitizers. The others are compiled when the first test of a run needs them
(Jobs.compile), each for the MPIs of its shapes. CMake would build all of them for both in every
build, whoever wants the library only, and once more for each change of a header."""

import re
import typing

import pytest
from jobs import blocks, mpiexec
from surroundings import ROOT, forced

LANG = ROOT / "tests" / "lang"
LETTERS = {"o": "openmpi", "m": "mpich", "": ""}


def shape_of(text):
    """[(MPI or "", processes)] of "3o+2m+1"."""
    parts = re.findall(r"(\d+)([om]?)(?:\+|$)", text)
    assert "+".join(n + letter for n, letter in parts) == text, f"{text!r} is no shape"
    return [(LETTERS[letter], int(n)) for n, letter in parts]


class Outcome(typing.NamedTuple):
    """How a run has ended."""

    statuses: list  # of the processes, or of their launcher
    out: str
    err: str

    def all(self):
        return f"status {self.statuses}\n{self.out}\n{self.err}"

    def oks(self):
        """Processes that have said that all is well. A launcher may run their lines together."""
        return len(re.findall(r"(?m)(?:^|[ \]]|(?<=ok))ok(?=ok|$)", self.out))


def of_job(done):
    return Outcome([done.returncode], done.stdout, done.stderr)


class Ways:
    """Builds and runs programs. Each way is a method with the same parameters:

    @param program  its name, or one for each block, "a+b"
    @param shape    blocks
    @param words    for the program
    @param flags    for its compiler, where this class compiles it
    """

    def __init__(self, launcher, build_dir):
        self.launcher, self.build_dir = launcher, build_dir

    # ---- programs ----

    def built(self, name):
        """One that CMake has built."""
        path = self.build_dir / "tests" / "lang" / name
        sources = {source.suffix for source in LANG.glob(f"{name}.*")}
        if not path.exists() and sources != {".c"}:
            pytest.skip(f"{path} was not built: no Fortran compiler, or a build without Fortran")
        return path

    def with_provider(self, mpi, source, *flags):
        """A program with hybrid communicators, for an MPI or for a block without."""
        hybrid = [self.launcher.library(f"waitio_hybrid_{mpi}")] if mpi else []
        words = ["-std=gnu11", "-g", "-O1", f"-I{ROOT / 'include'}", f"-I{source.parent}"]
        words += ["-DHYBRID" if mpi else "-DHYBRID_PLAIN", *flags]
        words += self.launcher.link(*hybrid, "waitio")
        return self.launcher.compile(mpi, source, *words)

    def unmodified(self, mpi, name, *flags):
        """A program of an MPI, with nothing of WaitIO in it: of tests/span, or of tests/lang with
        the names that MPI has."""
        self.launcher.library(f"waitio_span_{mpi}")
        source = ROOT / "tests" / "span" / name
        if not source.exists():
            text = (LANG / name).read_text()
            text = text.replace("WAITIO_MPI_", "MPI_").replace("waitio_mpi.h", "mpi.h")
            text = re.sub(r"comm (!=|==) NULL", r"comm \1 MPI_COMM_NULL", text)
            source = self.launcher.given("span-" + name, text)
        words = ["-O1", "-w", "-I", ROOT / "tests", "-I", LANG, "-DMPI_PROGRAM", *flags]
        return self.launcher.compile(mpi, source, *words)

    # ---- ways ----

    def messages(self, program, shape, words=(), flags=(), limit=60, **env):
        """Processes without MPI, started by hand."""
        parts = [(n, [self.built(name), *words]) for name, (_, n) in parted(program, shape)]
        done = self.launcher.by_hand(*parts, limit=limit, **env)
        said = "".join(f"{who}:\n{one.stdout}" for who, one in done)
        return Outcome([one.returncode for _, one in done], said, "")

    def hybrid(self, program, shape, words=(), flags=(), limit=100, **env):
        """Blocks under several MPIs, with one hybrid communicator of all."""
        parts = []
        for name, (mpi, n) in parted(program, shape):
            folder = "hybrid" if (ROOT / "tests" / "hybrid" / f"{name}.c").exists() else "lang"
            source = ROOT / "tests" / folder / f"{name}.c"
            parts.append((mpi, n, [self.with_provider(mpi, source, *flags), *words]))
        return of_job(self.launcher.run(blocks(*parts), limit, **env))

    def span(self, program, shape, words=(), flags=(), limit=60, **env):
        """Jobs of several MPIs with one MPI_COMM_WORLD."""
        parts = [
            (mpi, n, [self.unmodified(mpi, f"{name}.c", *flags), *words])
            for name, (mpi, n) in parted(program, shape)
        ]
        line = blocks(*parts, options=["--span"], timeout=f"{limit}s")
        env = {"WAITIO_SPAN_LIB": self.launcher.lib, **env}
        return of_job(self.launcher.run(line, limit + 20, **env))

    def emulator(self, program, shape, words=(), flags=(), limit=100, **env):
        """One MPI job, whose contexts are the blocks; messages go by MPI."""
        mpi, parts = shape_of(shape)[0][0], []
        self.launcher.library(f"waitio_emulator_{mpi}")
        for name, (other, n) in parted(program, shape):
            assert other == mpi, f"{shape}: one job has one MPI"
            parts.append((n, [self.built(name), *words]))
        env = {"WAITIO_COMM_TYPE": "mpi", **env}
        return of_job(self.launcher.run(mpiexec(mpi, *parts), limit, **env))

    def beside(self, program, shape, words=(), flags=(), limit=90, **env):
        """Blocks under several MPIs, whose programs use MPI and the conversion library."""
        parts = []
        for name, (mpi, n) in parted(program, shape):
            link = [f"-I{ROOT / 'include'}", *self.launcher.link("waitio")]
            made = self.launcher.compile(mpi, LANG / f"{name}.c", "-std=c11", *flags, *link)
            parts.append((mpi, n, [made, *words]))
        return of_job(self.launcher.run(blocks(*parts), limit, **env))

    def mpi(self, program, shape, words=(), flags=(), limit=120, **env):
        """By an MPI alone: what is checked about the conversion library holds for MPI, too."""
        [(mpi, n)] = shape_of(shape)
        made = self.launcher.compile(mpi, LANG / f"{program}.c", "-std=c11", *flags)
        return of_job(self.launcher.run(mpiexec(mpi, (n, [made, *words])), limit, **env))

    def play(self, run):
        """A row of tests/runs/runs_table.py."""
        env = {**(forced(run.algorithm) if run.algorithm else {}), **run.env}
        way = getattr(self, run.way)
        return way(run.program, run.shape, run.words, run.flags, run.limit, **env)


def parted(program, shape):
    """[(name, (MPI, processes))] of the blocks."""
    parts, names = shape_of(shape), program.split("+")
    names = names * len(parts) if len(names) == 1 else names
    return list(zip(names, parts, strict=True))


@pytest.fixture
def ways(launcher, build_dir):
    """Builds and runs test programs: a Ways."""
    return Ways(launcher, build_dir)
