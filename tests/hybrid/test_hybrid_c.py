# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid communicators from end to end: the suites of collectives run on one whose blocks are under
different MPIs, or without MPI, and give the results of the sequential reference."""

import re

import pytest
from hybrid_programs import Programs

# Blocks of a universe: the MPI, or "" for processes without, and how many.
SHAPES = {
    "3+2": [("openmpi", 3), ("mpich", 2)],
    "2+2+plain": [("mpich", 2), ("openmpi", 2), ("", 1)],
    "one block": [("openmpi", 4)],
    "four blocks": [("openmpi", 1), ("", 2), ("mpich", 2), ("openmpi", 2)],
}


@pytest.fixture
def programs(source_dir, build_dir, tmp_path):
    return Programs(source_dir, build_dir, tmp_path)


def assert_ok(done, shape):
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"(?m)\bok$", done.stdout)) == sum(n for _, n in shape), done.stdout


@pytest.mark.parametrize("program", ["coll_random", "coll_all", "coll_long"])
@pytest.mark.parametrize("shape", SHAPES)
def test_collectives_give_the_reference(programs, source_dir, patient, shape, program):
    """The providers do the parts inside; reductions of the program's operators fold by messages."""
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, patient, env), SHAPES[shape])


@pytest.mark.parametrize("program", ["coll_random", "coll_all"])
def test_errors_may_be_returned(programs, source_dir, patient, program):
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_ERRORS": "return"}
    assert_ok(programs.run(SHAPES["3+2"], source, patient, env), SHAPES["3+2"])


def test_the_machine_chooses_by_itself(programs, source_dir, patient):
    source = source_dir / "tests" / "lang" / "coll_random.c"
    env = {"WAITIO_LOG": "warn,mpi:debug"}
    done = programs.run(SHAPES["3+2"], source, patient, env)
    assert_ok(done, SHAPES["3+2"])
    # Each member of a block has measured three sizes both ways, and says so.
    said = re.findall(r"inside the block, (\d+) bytes .* us, messages [\d.]+ us", done.stderr)
    assert sorted(set(said), key=int) == ["8", "32768", "524288"], done.stderr


@pytest.mark.parametrize("shape", ["one block", "3+2"])
def test_blocking_and_started_collectives_in_any_order(programs, source_dir, patient, shape):
    """The order of calls on two communicators differs between members."""
    source = source_dir / "tests" / "hybrid" / "mixed_order.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, patient, env), SHAPES[shape])


def test_blocking_calls_of_mpi_where_all_say_so(programs, source_dir, patient):
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_HYBRID_BLOCKING": "1"}
    source = source_dir / "tests" / "lang" / "coll_random.c"
    assert_ok(programs.run(SHAPES["3+2"], source, patient, env), SHAPES["3+2"])
    source = source_dir / "tests" / "hybrid" / "mixed_order.c"
    done = programs.run(SHAPES["3+2"], source, patient, env)
    assert done.returncode != 0
    assert "WAITIO_HYBRID_BLOCKING=1 says that there are none: unset it" in done.stderr
