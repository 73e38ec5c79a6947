# SPDX-License-Identifier: BSD-3-Clause
"""Staging: M writers and N readers in jobs of their own (progs/stage.c checks every element)."""

import random

import pytest

pytestmark = pytest.mark.sanitize

TIMEOUT, PEER = -9, -8


def stage(run, writers, *readers, write=(), read=()):
    """Start writers and groups of readers; `read` may be a list for each group."""
    blocks = len(readers) + 1
    reads = read if read and not isinstance(read[0], str) else [read] * len(readers)
    cast = [
        [
            run.process(0, r, writers, blocks, "stage", "write", "flow", *write)
            for r in range(writers)
        ]
    ]
    for pb, (n, words) in enumerate(zip(readers, reads), 1):
        cast.append(
            [run.process(pb, r, n, blocks, "stage", "read", "flow", *words) for r in range(n)]
        )
    return cast


def steps(process):
    return [int(line.split()[1]) for line in process.lines if line.startswith("step ")]


def flat(cast):
    return [p for block in cast for p in block]


def test_every_shape_of_jobs(universe):
    """M x N, cut along any dimension on either side, all routes of a seed."""
    dice = random.Random(17)
    for route in ("shm", "socket"):
        m, n = dice.randint(1, 4), dice.randint(1, 4)
        run = universe(WAITIO_COMM_TYPE=route)
        size = [f"n{axis}={dice.randint(1, 12)}" for axis in "xyz"]
        cast = stage(
            run,
            m,
            n,
            write=(f"split={dice.randrange(3)}", *size),
            read=(f"split={dice.randrange(3)}",),
        )
        run.all_end(flat(cast))
        assert all(steps(p) == [0, 1, 2, 3, 4] for p in cast[1])


@pytest.mark.parametrize(("writers", "readers"), [(1, 1), (5, 2), (2, 5), (10, 10)])
def test_trees(universe, writers, readers):
    """Ten writers and ten readers have two levels in their trees."""
    run = universe()
    cast = stage(run, writers, readers, write=("split=1", "steps=3"), read=("split=2",))
    run.all_end(flat(cast))
    assert all(steps(p) == [0, 1, 2] for p in cast[1])


def test_plans_are_made_once_while_shapes_stay(universe):
    run = universe()
    cast = stage(run, 2, 2, write=("steps=6", "reshape=3"), read=("blocks=0",))
    run.all_end(flat(cast))
    assert all("reused 4" in p.lines for p in cast[1])


def test_large_blocks_go_straight(universe):
    """Beyond all thresholds of messages; the writers wait for their readers."""
    run = universe()
    size = ("nx=64", "ny=64", "nz=64", "steps=3")
    cast = stage(run, 2, 2, write=("queue=-1", *size), read=("split=1", "blocks=0"))
    run.all_end(flat(cast))
    assert all(steps(p) == [0, 1, 2] for p in cast[1])


def pushes(process):
    return next(int(line.split()[1]) for line in process.lines if line.startswith("pushes "))


@pytest.mark.parametrize("queue", [-1, 1, 3])
def test_steps_go_straight_while_nothing_changes(universe, queue):
    """Until a shape changes, and again after that: at most two steps of nine are asked for."""
    run = universe()
    words = (f"queue={queue}", "steps=20", "reshape=9")
    cast = stage(run, 3, 2, write=words, read=("blocks=0", "split=1"))
    run.all_end(flat(cast))
    assert all(steps(p) == list(range(20)) for p in cast[1])
    assert all(pushes(p) >= 2 * 5 for p in cast[1]), [p.lines for p in cast[1]]


def test_another_group_comes_while_steps_go_straight(universe):
    run = universe()
    cast = stage(
        run,
        2,
        2,
        1,
        write=("steps=40", "pause=20", "queue=3"),
        read=[("blocks=0",), ("late=400",)],
    )
    run.all_end(flat(cast))
    assert all(steps(p) == list(range(40)) for p in cast[1])
    late = steps(cast[2][0])
    assert late == list(range(late[0], 40))
    assert pushes(cast[1][0]) > 0


def test_a_group_leaves_while_steps_go_straight(universe):
    """The writers go on, and a late group finds what is kept."""
    run = universe()
    cast = stage(
        run,
        3,
        3,
        1,
        write=("steps=40", "pause=20", "queue=3"),
        read=[("blocks=0", "leave=12"), ("late=600",)],
    )
    run.all_end(flat(cast))
    assert [steps(p) for p in cast[1]] == [list(range(12))] * 3
    late = steps(cast[2][0])
    assert late == list(range(late[0], 40))


@pytest.mark.parametrize("side", ["write", "read"])
@pytest.mark.parametrize("who", [0, 1])
def test_deaths_while_steps_go_straight(universe, side, who):
    run = universe()
    death = {side: ("die=9", f"who={who}")}
    words = {"write": ("steps=40", "pause=10"), "read": ("blocks=0",)}
    cast = stage(run, 2, 2, **{k: words[k] + death.get(k, ()) for k in words})
    mine, others = (cast[0], cast[1]) if side == "write" else (cast[1], cast[0])
    mine[who].dies()
    mine[1 - who].ended(3)
    assert f"error {PEER} stream 'flow'" in "\n".join(mine[1 - who].lines)
    for p in others:
        p.ended(3 if side == "write" else 0)


def test_several_groups_of_readers(universe):
    run = universe()
    cast = stage(run, 2, 1, 2, write=("readers=2",), read=[("split=1",), ("first=1", "stride=2")])
    run.all_end(flat(cast))
    assert steps(cast[1][0]) == [0, 1, 2, 3, 4]
    assert [steps(p) for p in cast[2]] == [[1, 3], [1, 3]]


# ---- groups that share the steps

SHARES = pytest.mark.parametrize("share", [1, 2], ids=["round_robin", "on_demand"])


def shared(run, share, m, *readers, n=12, queue=3, write=(), read=()):
    """All groups have come before the first step."""
    words = (f"share={share}", f"readers={len(readers)}", f"steps={n}", f"queue={queue}", *write)
    return stage(run, m, *readers, write=words, read=read)


@SHARES
def test_each_step_goes_to_one_group(universe, share):
    """Guard: with the rule for all groups each gets each."""
    run = universe()
    cast = shared(run, share, 2, 1, 2, 1, read=("pause=5",))
    run.all_end(flat(cast))
    got = [steps(block[0]) for block in cast[1:]]
    assert sorted(sum(got, [])) == list(range(12))
    assert all(steps(p) == steps(block[0]) for block in cast[1:] for p in block)
    if share == 1:
        assert sorted(got) == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]


def test_who_asks_more_gets_more(universe):
    """Guard: if a group asked ahead, the slow one would hold steps back."""
    run = universe()
    cast = shared(run, 2, 1, 1, 1, n=40, read=[("pause=200",), ()])
    run.all_end(flat(cast))
    slow, quick = (steps(block[0]) for block in cast[1:])
    assert sorted(slow + quick) == list(range(40)) and len(quick) > 4 * len(slow), (slow, quick)


@SHARES
@pytest.mark.parametrize("way", ["die", "leave"])
def test_what_a_group_has_not_read_goes_to_another(universe, share, way):
    """One leaves after two steps, or is killed when it has begun a step; none is lost. Guard: if
    its steps stayed its own the stream would never end."""
    run = universe()
    cast = shared(run, share, 2, 1, 1, n=20, read=[(f"{way}s_in=2", "pause=3"), ("pause=3",)])
    run.all_end(cast[0] + cast[2])
    one, other = steps(cast[1][0]), steps(cast[2][0])
    assert len(one) == 2 and sorted(one + other) == list(range(20)), (one, other)


@SHARES
def test_the_end_waits_for_who_may_still_die(universe, share):
    """A group that is through hears of the end only when the other has read its last step: that
    one is killed in it."""
    run = universe()
    cast = shared(run, share, 1, 1, 1, n=2, read=("pause=300", "die=1"))
    status = [p.child.wait(30) for p in flat(cast)]
    assert status[0] == 0 and -9 in status[1:], status
    assert sorted(steps(cast[1][0]) + steps(cast[2][0])) == [0]


@SHARES
def test_groups_that_select_steps_share_them(universe, share):
    run = universe()
    reads = [("first=4", "stride=4"), ("last=7",)]
    cast = shared(run, share, 1, 1, 1, write=("pause=10",), read=reads)
    run.all_end(flat(cast))
    one, other = (steps(block[0]) for block in cast[1:])
    assert set(one) <= {4, 8} and 8 in one and set(other) <= set(range(8))
    assert sorted(one + other) == [0, 1, 2, 3, 4, 5, 6, 7, 8]


@SHARES
@pytest.mark.parametrize("full", [0, 1], ids=["block", "discard"])
def test_the_latest_of_shared_steps(universe, share, full):
    """Guard: steps that were passed over would come afterwards, the newest first."""
    run = universe()
    pace = (f"full={full}", "pause=5")
    cast = shared(run, share, 1, 1, 1, n=30, queue=8, write=pace, read=("which=1", "pause=60"))
    run.all_end(flat(cast))
    one, other = (steps(block[0]) for block in cast[1:])
    assert one == sorted(one) and other == sorted(other), (one, other)
    got = one + other
    assert len(set(got)) == len(got) and 29 in got and len(got) < 30


def test_a_selection_ends(universe):
    run = universe()
    cast = stage(run, 1, 1, read=("first=1", "last=2"))
    run.all_end(flat(cast))
    assert steps(cast[1][0]) == [1, 2]


def test_openmpi_writers_and_mpich_readers(universe):
    run = universe()
    w = run.mpi("openmpi", 0, 3, 2, "stage", "write", "flow", "split=2")
    r = run.mpi("mpich", 1, 2, 2, "stage", "read", "flow", "split=1")
    run.all_end([w, r])
    assert sorted(steps(r)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_late_reader_gets_what_is_kept(universe):
    run = universe()
    writer = run.process(
        0, 0, 1, 2, "stage", "write", "flow", "readers=0", "steps=50", "pause=50", "queue=3"
    )
    reader = run.process(1, 0, 1, 2, "stage", "read", "flow", "late=1500")
    run.all_end([writer, reader])
    seen = steps(reader)
    assert 0 < seen[0] < 49, seen
    assert seen == list(range(seen[0], 50))


def test_a_reader_leaves_and_the_writers_go_on(universe):
    run = universe()
    cast = stage(run, 2, 2, 1, write=("readers=2", "steps=8"), read=[("leave=2",), ()])
    run.all_end(flat(cast))
    assert [steps(p) for p in cast[1]] == [[0, 1]] * 2
    assert steps(cast[2][0]) == list(range(8))


@pytest.mark.parametrize("who", [0, 1])
def test_a_killed_reader_stops_nobody_else(universe, who):
    """Nor does it where the errors of other calls end the program."""
    run = universe(WAITIO_ERRORS=None if who else "abort")
    cast = stage(
        run,
        2,
        2,
        1,
        write=("readers=2", "steps=8"),
        read=[("die=2", f"who={who}"), ()],
    )
    cast[1][who].dies()
    cast[1][1 - who].ended(3)
    assert f"error {PEER} stream 'flow'" in "\n".join(cast[1][1 - who].lines)
    run.all_end(cast[0] + cast[2])
    assert steps(cast[2][0]) == list(range(8))


@pytest.mark.parametrize("who", [0, 1, 9])
def test_readers_hear_at_once_that_a_writer_was_killed(universe, who):
    """Also of one far from the first: its parent in the tree tells."""
    run = universe()
    cast = stage(run, 10, 2, write=("die=2", f"who={who}", "steps=5"), read=("limit=60",))
    died = cast[0][who].dies()
    for reader in cast[1]:
        reader.ended(3)
        told = [line for line in reader.lines if line.startswith(f"error {PEER} stream 'flow'")]
        assert told, reader.story()
        if reader is cast[1][0]:
            assert f"writer {who} " in told[0], reader.story()
        assert reader.seen_at == 0 or reader.seen_at - died < 10


def test_a_full_queue_ends_at_its_limit(universe):
    run = universe()
    cast = stage(
        run, 1, 1, write=("limit=1", "queue=1", "steps=9"), read=("pause=4000", "limit=20")
    )
    cast[0][0].ended(3)
    text = "\n".join(cast[0][0].lines)
    assert f"error {TIMEOUT} stream 'flow', step 1: the queue holds 2 steps" in text
    cast[1][0].ended(3)
    assert "writer 0 has" in "\n".join(cast[1][0].lines)


@pytest.mark.parametrize("full", [1, 2])
def test_queues_that_discard_do_not_wait_for_readers(universe, full):
    run = universe()
    cast = stage(
        run,
        2,
        1,
        write=("queue=2", f"full={full}", "steps=30", "pause=10"),
        read=("pause=60", "blocks=0"),
    )
    run.all_end(flat(cast))
    seen = steps(cast[1][0])
    lost = int(next(s for s in cast[0][0].lines if s.startswith("discarded")).split()[1])
    most = int(next(s for s in cast[0][0].lines if s.startswith("most")).split()[1])
    assert seen == sorted(set(seen))
    assert lost > 0 and len(seen) + lost == 30
    assert full == 2 or 29 in seen, seen
    assert most <= (4 if full == 1 else 3) * (13 * 7 * 5 * 8 + 8 + 8)


def test_the_latest_step(universe):
    run = universe()
    cast = stage(
        run,
        1,
        1,
        write=("queue=10", "steps=12"),
        read=("which=1", "pause=100", "blocks=0"),
    )
    run.all_end(flat(cast))
    seen = steps(cast[1][0])
    assert seen[-1] == 11 and len(seen) < 12, seen


def test_wrong_calls_are_named(universe):
    run = universe()
    run.go([1], "stage", "check", "alone")
