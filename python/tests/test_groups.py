# SPDX-License-Identifier: BSD-3-Clause
"""Groups: made locally, by rank lists and filters; translation of ranks."""


def test_groups_and_ranks(alone):
    alone.passes(
        """
        def refused(call, *args, **kwargs):
            try:
                call(*args, **kwargs)
            except waitio.Error as error:
                return str(error)
            raise SystemExit(f"{call} {args} was taken")

        assert len(world) == world.size == world.Get_size() == 6
        assert world.rank == world.Get_rank() == universe.rank
        assert [world.locate(r) for r in range(6)] == [
            (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
        assert world.find(2, 1) == 4 and world.to_universe(4) == world.from_universe(4) == 4

        block = universe.block()
        assert block.size == universe.nprocs[universe.pb] and block.rank == universe.pb_rank
        assert universe.block(2).size == 3

        kings = universe.group(lambda pb, rank: rank == 0)
        assert kings.size == 3 and kings.rank == (universe.pb if universe.pb_rank == 0 else -1)
        assert [kings.locate(r) for r in range(3)] == [(0, 0), (1, 0), (2, 0)]

        turned = waitio.Group.where(lambda pb, rank: True, order=[2, 0], gid=5)
        assert turned.gid == 5 and turned.size == 4 and turned.locate(3) == (0, 0)
        assert turned.find(1, 0) == -1

        picked = universe.group({2: [2, 0], 0: [0]})
        assert [picked.locate(r) for r in range(3)] == [(2, 2), (2, 0), (0, 0)]
        assert picked.translate([0, 1, 2], world) == [5, 3, 0]
        assert world.translate(range(6), picked) == [2, -1, -1, 1, -1, 0]

        if kings.rank >= 0:  # messages in them, and only members
            got = bytearray(1)
            kings.Sendrecv(bytes([kings.rank]), (kings.rank + 1) % 3, 0, got)
            assert got[0] == (kings.rank - 1) % 3
            assert kings.sendrecv([kings.rank] * 9999, (kings.rank + 1) % 3)[0] == got[0]
        else:
            assert "no member" in refused(kings.Send, b"", 0)
        # The same processes under another gid are another message space.
        other = waitio.Group.world(gid=1)
        if me == 0:
            other.Send(b"other", 1)
            world.Send(b"world", 1)
        elif me == 1:
            into = bytearray(5)
            world.Recv(into)
            assert into == b"world"
            other.Recv(into)
            assert into == b"other"

        with universe.block(0) as short:
            assert short.size == 1
        assert "freed" in refused(short.Send, b"", 0) and "freed" in repr(short)
        assert "rank 9" in refused(world.locate, 9)
        assert "PB 7" in refused(universe.group, {7: [0]})
        assert "rank 5 of PB 1" in refused(universe.group, {1: [5]})
        assert "twice" in refused(waitio.Group.where, lambda p, r: True, order=[1, 1])
        assert "PB 3" in refused(waitio.Group.where, lambda p, r: True, order=[3])
        refused(universe.block, 3)
        assert universe.group({}).size == 0 and universe.group({}).rank == -1
        try:
            universe.group(lambda pb, rank: 1 / 0)
        except ZeroDivisionError:
            pass
        else:
            raise SystemExit("the filter's error was lost")
        """,
        blocks=[1, 2, 3],
    )
