# SPDX-License-Identifier: BSD-3-Clause
"""Staging in Fortran (tests/lang/stage_f.f90), with C (progs/stage.c) on the other side."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _fortran(programs):
    if not (programs / "stage_f").exists():
        pytest.skip("no Fortran compiler, or tests/lang is not built")


def block(run, pb, n, program, *words):
    """The processes of a block of two."""
    return [run.process(pb, r, n, 2, program, *words) for r in range(n)]


def test_fortran_writers_and_c_readers(universe):
    run = universe()
    cast = block(run, 0, 3, "stage_f", "write", "flow")
    cast += block(run, 1, 2, "stage", "read", "flow", "split=1")
    run.all_end(cast)
    assert "end 5" in cast[-1].lines


def test_c_writers_and_fortran_readers(universe):
    run = universe()
    cast = block(run, 0, 2, "stage", "write", "flow", "split=2")
    cast += block(run, 1, 3, "stage_f", "read", "flow")
    run.all_end(cast)
    assert all("ok" in p.lines for p in cast[2:])


def test_fortran_on_both_sides(universe):
    run = universe(WAITIO_COMM_TYPE="socket")
    cast = block(run, 0, 2, "stage_f", "write", "flow")
    cast += block(run, 1, 2, "stage_f", "read", "flow")
    run.all_end(cast)


@pytest.mark.parametrize(("writers", "readers"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_blocks_of_unlike_mpis(universe, writers, readers):
    run = universe()
    w = run.mpi(writers, 0, 3, 2, "stage_f", "write", "flow")
    r = run.mpi(readers, 1, 2, 2, "stage_f", "read", "flow")
    run.all_end([w, r])
    assert r.lines.count("ok") == 2


def test_wrong_calls_are_named(universe):
    universe().go([1], "stage_f", "check", "alone")
