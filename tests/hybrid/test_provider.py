# SPDX-License-Identifier: BSD-3-Clause
"""The provider for MPI by itself, under each MPI: the table of waitio_inside.h, datatypes taken
apart, threads, and what a program is told that meets the wrong library."""

import pytest
from jobs import MPIS, mpiexec, need, other
from surroundings import member, rendezvous

KINDS = {"openmpi": "Open MPI", "mpich": "MPICH"}


@pytest.fixture(params=MPIS)
def mpi(request):
    need(f"mpicc.{request.param}", f"mpiexec.{request.param}")
    return request.param


class Provider:
    """Compiles a test with the provider's sources, and runs it under its MPI."""

    def __init__(self, source_dir, launcher):
        self.source, self.launcher = source_dir, launcher

    def compile(self, mpi, name, *flags, own=True, check=True):
        sources = [self.source / "tests" / "hybrid" / f"{name}.c"]
        words = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra"]
        words += [f"-I{self.source / 'include'}", f"-I{self.source / 'src'}", *flags]
        if own:
            sources += sorted((self.source / "src" / "hybrid").glob("*.c"))
            words += [f'-DWAITIO_MPI_NAME="{mpi}"', f'-DWAITIO_MPI_KIND="{KINDS[mpi]}"']
            words += ['-DWAITIO_MPI_RELEASE="0"']
        words += self.launcher.link("waitio", "pthread")
        return self.launcher.compile(mpi, sources, *words, check=check)

    def run(self, mpi, n, program, *words, **env):
        done = self.launcher.run(mpiexec(mpi, (n, [program, *words])), 100, **env)
        assert done.returncode == 0, done.all()
        return done.stdout.splitlines()


@pytest.fixture
def provider(source_dir, launcher):
    return Provider(source_dir, launcher)


# More processes than cores wait for each other's time slices: few sizes there.
PROCESSES = {
    1: (0, 1, 8, 61, 1000, 1048579),
    2: (8, 0, 1, 61, 1000, 1048579),
    3: (61, 8),
    5: (61,),
}


# Five processes under MPICH spin for half a minute, and show what three do.
GROUPS = [("openmpi", n) for n in PROCESSES] + [("mpich", n) for n in PROCESSES if n < 5]


@pytest.mark.parametrize(("mpi", "n"), GROUPS, indirect=["mpi"])
def test_every_operation(provider, mpi, n):
    program = provider.compile(mpi, "provider_table")
    out = provider.run(mpi, n, program, *PROCESSES[n])
    assert sum(line.startswith("ok ") for line in out) == n, out


@pytest.mark.parametrize("n", [1, 2, 3])
def test_data_beyond_a_count(provider, mpi, n):
    """The ways of data too long for an int, with a lower limit."""
    program = provider.compile(mpi, "provider_table", "-DWIO_HYBRID_MOST=60")
    out = provider.run(mpi, n, program, 61, *((0, 1000) if n < 3 else ()))
    assert sum(line.startswith("ok ") for line in out) == n, out


@pytest.mark.parametrize(("mpi", "n"), GROUPS, indirect=["mpi"])
def test_operators_that_the_library_brings(provider, mpi, n):
    """In the order of the ranks, whatever MPI's algorithms are: short ones and long ones."""
    program = provider.compile(mpi, "provider_folds")
    out = provider.run(mpi, n, program, *((0, 1, 61, 10007) if n < 4 else (61,)))
    assert "".join(out).count("ok") == n, out


def test_their_data_beyond_a_count(provider, mpi):
    program = provider.compile(mpi, "provider_folds", "-DWIO_HYBRID_MOST=60")
    assert "".join(provider.run(mpi, 2, program, 61)).count("ok") == 2


@pytest.mark.parametrize("level", ["single", "funneled", "serialized", "multiple"])
def test_threads(provider, mpi, level):
    program = provider.compile(mpi, "provider_threads")
    assert len(provider.run(mpi, 2, program, level)) == 2


def test_datatypes_are_taken_apart(provider, mpi):
    link = provider.launcher.link(provider.launcher.library(f"waitio_hybrid_{mpi}"))
    program = provider.compile(mpi, "provider_types", *link, own=False)
    alone = {**rendezvous(1), **member(0, 0, 1)}
    assert provider.run(mpi, 1, program, 400, **alone) == ["ok"]


def test_another_mpis_library_does_not_link(provider, mpi):
    link = provider.launcher.link(provider.launcher.library(f"waitio_hybrid_{other(mpi)}"))
    done = provider.compile(mpi, "provider_types", *link, own=False, check=False)
    assert done.returncode != 0
    assert f"waitio_hybrid_type_{mpi}" in done.stderr


def test_another_mpi_is_refused_by_name(provider, mpi):
    library = provider.launcher.library(f"waitio_hybrid_{other(mpi)}")
    link = [f"-DOTHERS_NAME=waitio_hybrid_type_{other(mpi)}", "-Wl,--allow-shlib-undefined"]
    link += provider.launcher.link(library)
    program = provider.compile(mpi, "wrong_mpi", *link, own=False)
    text = " ".join(provider.run(mpi, 1, program))
    assert text.startswith("-13: "), text
    for word in (KINDS[mpi], KINDS[other(mpi)], f"lib{library}", "waitio build-hybrid"):
        assert word in text, text
