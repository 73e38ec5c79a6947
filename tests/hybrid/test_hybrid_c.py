# SPDX-License-Identifier: BSD-3-Clause
"""What hybrid communicators do besides giving right results (tests/runs has the programs that show
those): which way messages go, what the machine chooses, who folds, and what is refused."""

import re

import pytest
from ways import shape_of

INSIDE = {"WAITIO_HYBRID_INSIDE": "mpi"}


def assert_ok(done, shape):
    assert done.statuses == [0], done.all()
    assert done.oks() == sum(n for _, n in shape_of(shape)), done.all()


@pytest.mark.in_turn("shape")
@pytest.mark.parametrize("program", ["coll_random", "coll_all"])
@pytest.mark.parametrize("shape", ["3o+2m", "2m+2o+1"])
def test_messages_inside_go_by_mpi(ways, shape, program):
    """One setting for the whole run; TCP is what MPI is quicker than. The providers' operations and
    the transport share MPI."""
    env = {"WAITIO_INSIDE": "auto", "WAITIO_COMM_TYPE": "socket", "WAITIO_STATS": "1"}
    env |= {"WAITIO_HYBRID_INSIDE": "messages" if program == "coll_random" else "mpi"}
    done = ways.hybrid(program, shape, **env)
    assert_ok(done, shape)
    row = re.search(r"outside_msgs +msgs((?: +\d+)+)", done.err)
    assert row is not None, done.err
    for (mpi, _), count in zip(shape_of(shape), row.group(1).split(), strict=False):
        assert (int(count) > 0) == bool(mpi), done.err


def test_the_machine_chooses_by_itself(ways):
    done = ways.hybrid("coll_random", "3o+2m", WAITIO_LOG="warn,mpi:debug")
    assert_ok(done, "3o+2m")
    # Each member of a block has measured three sizes both ways, and says so.
    said = re.findall(r"inside the block, (\d+) bytes .* us, messages [\d.]+ us", done.err)
    assert sorted(set(said), key=int) == ["8", "32768", "524288"], done.err


def test_who_promised_to_block_only_and_starts_one_is_told(ways):
    done = ways.hybrid("mixed_order", "3o+2m", WAITIO_HYBRID_BLOCKING="1", **INSIDE)
    assert done.statuses != [0]
    assert "WAITIO_HYBRID_BLOCKING=1 says that there are none: unset it" in done.err


@pytest.mark.parametrize(
    ("shape", "blocking"),
    [("3o+2m", "0"), ("2m+2o+1", "0"), ("1o+2+2m+2o", "0"), ("3m", "0"), ("3o+2m", "1")],
)
def test_operators_of_the_program(ways, shape, blocking):
    """In the order of the ranks; inside a block its MPI calls them."""
    env = {**INSIDE, "WAITIO_HYBRID_KINGS": "2", "WAITIO_HYBRID_BLOCKING": blocking}
    flags = ["-DNO_STARTED"] if blocking == "1" else []
    done = ways.hybrid("operators", shape, flags=flags, **env)
    assert_ok(done, shape)
    folds = {int(r): int(n) for r, n in re.findall(r"folds (\d+) (\d+)", done.out)}
    rank = 0
    for mpi, n in shape_of(shape):
        for _ in range(n):
            assert (folds[rank] >= 20) == (mpi != "" and n > 1), folds
            rank += 1


def test_operators_of_the_program_by_messages(ways):
    done = ways.hybrid("operators", "3o+2m", WAITIO_HYBRID_INSIDE="messages")
    assert_ok(done, "3o+2m")
    assert set(re.findall(r"folds \d (\d+)", done.out)) == {"0"}, done.out
