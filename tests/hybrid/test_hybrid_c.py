# SPDX-License-Identifier: BSD-3-Clause
"""Hybrid communicators from end to end: the suites of collectives run on one whose blocks are under
different MPIs, or without MPI, and give the results of the sequential reference."""

import re

import pytest

# Blocks of a universe: the MPI, or "" for processes without, and how many.
SHAPES = {
    "3+2": [("openmpi", 3), ("mpich", 2)],
    "2+2+plain": [("mpich", 2), ("openmpi", 2), ("", 1)],
    "one block": [("openmpi", 4)],
    "one block of MPICH": [("mpich", 3)],
    "four blocks": [("openmpi", 1), ("", 2), ("mpich", 2), ("openmpi", 2)],
}


def assert_ok(done, shape):
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"(?m)\bok$", done.stdout)) == sum(n for _, n in shape), done.stdout


@pytest.mark.parametrize("program", ["coll_random", "coll_all", "coll_long"])
@pytest.mark.parametrize("shape", SHAPES)
def test_collectives_give_the_reference(programs, source_dir, shape, program):
    """The providers do the parts inside."""
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, env), SHAPES[shape])


@pytest.mark.parametrize("program", ["coll_random", "coll_all"])
@pytest.mark.parametrize("shape", ["3+2", "2+2+plain"])
def test_messages_inside_go_by_mpi(programs, source_dir, shape, program):
    """One setting for the whole run; TCP is what MPI is quicker than. The providers' operations and
    the transport share MPI."""
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_INSIDE": "auto", "WAITIO_COMM_TYPE": "socket", "WAITIO_STATS": "1"}
    env |= {"WAITIO_HYBRID_INSIDE": "messages" if program == "coll_random" else "mpi"}
    done = programs.run(SHAPES[shape], source, env)
    assert_ok(done, SHAPES[shape])
    row = re.search(r"outside_msgs +msgs((?: +\d+)+)", done.stderr)
    assert row is not None, done.stderr
    for (mpi, _), count in zip(SHAPES[shape], row.group(1).split(), strict=False):
        assert (int(count) > 0) == bool(mpi), done.stderr


@pytest.mark.parametrize("program", ["coll_random", "coll_all"])
def test_errors_may_be_returned(programs, source_dir, program):
    source = source_dir / "tests" / "lang" / f"{program}.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_ERRORS": "return"}
    assert_ok(programs.run(SHAPES["3+2"], source, env), SHAPES["3+2"])


def test_the_machine_chooses_by_itself(programs, source_dir):
    source = source_dir / "tests" / "lang" / "coll_random.c"
    env = {"WAITIO_LOG": "warn,mpi:debug"}
    done = programs.run(SHAPES["3+2"], source, env)
    assert_ok(done, SHAPES["3+2"])
    # Each member of a block has measured three sizes both ways, and says so.
    said = re.findall(r"inside the block, (\d+) bytes .* us, messages [\d.]+ us", done.stderr)
    assert sorted(set(said), key=int) == ["8", "32768", "524288"], done.stderr


@pytest.mark.parametrize("shape", ["one block", "3+2"])
def test_blocking_and_started_collectives_in_any_order(programs, source_dir, shape):
    """The order of calls on two communicators differs between members."""
    source = source_dir / "tests" / "hybrid" / "mixed_order.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, env), SHAPES[shape])


@pytest.mark.parametrize("shape", ["one block", "2+2+plain"])
def test_communicators_are_made_while_a_collective_is_under_way(programs, source_dir, shape):
    source = source_dir / "tests" / "hybrid" / "pending.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi"}
    assert_ok(programs.run(SHAPES[shape], source, env), SHAPES[shape])


@pytest.mark.parametrize("blocking", ["0", "1"])
@pytest.mark.parametrize("shape", ["3+2", "one block of MPICH", "2+2+plain"])
def test_what_a_provider_must_not_decide(programs, source_dir, shape, blocking):
    source = source_dir / "tests" / "hybrid" / "order.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_HYBRID_BLOCKING": blocking}
    flags = ["-DNO_STARTED"] if blocking == "1" else []
    assert_ok(programs.run(SHAPES[shape], source, env, flags=flags), SHAPES[shape])


def test_blocking_calls_of_mpi_where_all_say_so(programs, source_dir):
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_HYBRID_BLOCKING": "1"}
    source = source_dir / "tests" / "lang" / "coll_random.c"
    assert_ok(programs.run(SHAPES["3+2"], source, env), SHAPES["3+2"])
    source = source_dir / "tests" / "hybrid" / "mixed_order.c"
    done = programs.run(SHAPES["3+2"], source, env)
    assert done.returncode != 0
    assert "WAITIO_HYBRID_BLOCKING=1 says that there are none: unset it" in done.stderr


@pytest.mark.parametrize(
    ("shape", "blocking"),
    [
        ("3+2", "0"),
        ("2+2+plain", "0"),
        ("four blocks", "0"),
        ("one block of MPICH", "0"),
        ("3+2", "1"),
    ],
)
def test_operators_of_the_program(programs, source_dir, shape, blocking):
    """In the order of the ranks; inside a block its MPI calls them."""
    source = source_dir / "tests" / "hybrid" / "operators.c"
    env = {"WAITIO_HYBRID_INSIDE": "mpi", "WAITIO_HYBRID_KINGS": "2"}
    env["WAITIO_HYBRID_BLOCKING"] = blocking
    flags = ["-DNO_STARTED"] if blocking == "1" else []
    done = programs.run(SHAPES[shape], source, env, flags=flags)
    assert_ok(done, SHAPES[shape])
    folds = {int(r): int(n) for r, n in re.findall(r"folds (\d+) (\d+)", done.stdout)}
    rank = 0
    for mpi, n in SHAPES[shape]:
        for _ in range(n):
            assert (folds[rank] >= 20) == (mpi != "" and n > 1), folds
            rank += 1


def test_operators_of_the_program_by_messages(programs, source_dir):
    source = source_dir / "tests" / "hybrid" / "operators.c"
    done = programs.run(SHAPES["3+2"], source, {"WAITIO_HYBRID_INSIDE": "messages"})
    assert_ok(done, SHAPES["3+2"])
    assert set(re.findall(r"folds \d (\d+)", done.stdout)) == {"0"}, done.stdout
