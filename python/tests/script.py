# SPDX-License-Identifier: BSD-3-Clause
"""tests/lang/script.md in Python, to be mixed with the C and Fortran programs of that folder."""

import numpy as np

import waitio


def everybody_to_everybody(world: waitio.Group) -> None:
    """Point 1."""
    me, n = world.rank, world.size
    others = [r for r in range(n) if r != me]
    into, i = np.zeros((n, 100)), np.arange(100)
    requests = [world.Irecv(into[r], r, 10 + r) for r in others]
    requests += [world.Isend(1000.0 * me + r + i / 1024, r, 10 + me) for r in others]
    for r, status in zip(others, waitio.waitall(requests)):
        assert (status.source, status.tag, status.count) == (r, 10 + r, 800)
        assert np.array_equal(into[r], 1000.0 * r + me + i / 1024)


def ring(world: waitio.Group) -> None:
    """Point 2."""
    me, n = world.rank, world.size
    left, found = (me - 1) % n, np.full(1, -1, "i4")
    world.Isend(np.full(1, me * me, "i4"), (me + 1) % n).wait()
    world.Irecv(found, left, 0).wait()
    assert found[0] == left * left


def reductions(world: waitio.Group) -> None:
    """Points 3 to 5."""
    me, n = world.rank, world.size
    seven = np.arange(7, dtype="i4") * 3 + 1 if me == n - 1 else np.zeros(7, "i4")
    world.Bcast(seven, n - 1)
    assert seven.tolist() == [3 * i + 1 for i in range(7)]
    total = np.zeros(5)
    world.Reduce(me + np.arange(5.0), total, waitio.SUM, 1 % n)
    if me == 1 % n:
        assert np.array_equal(total, n * (n - 1) / 2 + n * np.arange(5))
    most = np.zeros(3, "i4")
    world.Allreduce(np.arange(me * 7 % 5, me * 7 % 5 + 3, dtype="i4"), most, waitio.MAX)
    assert most[0] == max(r * 7 % 5 for r in range(n))
    quarters = np.zeros(3, "f4")
    world.Allreduce((me + np.arange(3) / 4).astype("f4"), quarters)
    assert np.array_equal(quarters, (n * (n - 1) / 2 + n * np.arange(3) / 4).astype("f4"))


def gathers(world: waitio.Group) -> None:
    """Points 6 to 8."""
    me, n = world.rank, world.size
    mine = np.array([10 * me, 10 * me + 1], "i4")
    every, whole = np.zeros((n, 2), "i4"), 10 * np.arange(n)[:, None] + [0, 1]
    world.Gather(mine, every if me == 0 else None)
    assert me != 0 or np.array_equal(every, whole)
    world.Allgather(mine, every)
    assert np.array_equal(every, whole)
    third = np.zeros(3)
    world.Scatter(np.arange(3.0 * n) / 2 if me == 0 else None, third)
    assert np.array_equal(third, (3 * me + np.arange(3)) / 2)
    counts, places = [r % 3 for r in range(n)], [3 * r for r in range(n)]
    part, room = np.zeros(me % 3, "i4"), np.arange(3 * n, dtype="i4")
    world.Scatterv([room, counts, places] if me == 0 else None, part)
    assert part.tolist() == [3 * me + i for i in range(me % 3)]
    part[:] = 100 * me + np.arange(me % 3)
    world.Gatherv(part, [room, counts, places] if me == 0 else None)
    for r in range(n if me == 0 else 0):
        assert room[3 * r : 3 * r + r % 3].tolist() == [100 * r + i for i in range(r % 3)]


def other_groups(universe: waitio.Universe) -> None:
    """Points 10 and 11."""
    heads, mine = universe.group(lambda pb, rank: rank == 0), universe.block()
    total = np.zeros(1, "i4")
    if universe.pb_rank == 0:
        heads.Allreduce(np.array([universe.pb], "i4"), total)
        assert total[0] == universe.npb * (universe.npb - 1) // 2
    assert heads.rank == (universe.pb if universe.pb_rank == 0 else -1)
    mine.Allreduce(np.ones(1, "i4"), total)
    assert total[0] == mine.size


def main() -> None:
    """All of it."""
    universe = waitio.Universe(60)
    world = universe.world
    everybody_to_everybody(world)
    ring(world)
    reductions(world)
    gathers(world)
    world.Barrier()
    other_groups(universe)
    print("ok", flush=True)


if __name__ == "__main__":
    main()
