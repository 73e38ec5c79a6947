# SPDX-License-Identifier: BSD-3-Clause
"""Collectives on arrays and on objects."""

import signal
import time

import patience
import pytest

SHAPES = [[1], [1, 2], [3, 1]]


@pytest.mark.parametrize("blocks", SHAPES, ids=str)
def test_every_collective_moves_what_it_should(universe, blocks):
    """Against NumPy; in the blocking and in the started form."""
    universe.passes(
        """
        n = world.size
        def both(name, *args, **kwargs):
            "Yield after each form."
            getattr(world, name)(*args, **kwargs)
            yield "blocking"
            request = getattr(world, "I" + name.lower())(*args, **kwargs)
            assert isinstance(request.wait(timeout=60), waitio.Status)
            yield "started"

        mine = np.arange(4.0) + 10 * me
        every = np.arange(4.0) + 10 * np.arange(n)[:, None]
        for root in range(n):
            here = me == root
            data = mine.copy() if here else np.zeros(4)
            for form in both("Bcast", data, root):
                assert np.array_equal(data, every[root]), form
                data[:] = mine
            into = np.zeros((n, 4)) if here else None
            for form in both("Gather", mine, into, root):
                assert not here or np.array_equal(into, every), form
            part = np.zeros(4)
            for form in both("Scatter", every if here else None, part, root):
                assert np.array_equal(part, mine), form
            total = np.zeros(4) if here else None
            for form in both("Reduce", mine, total, waitio.SUM, root):
                assert not here or np.array_equal(total, every.sum(0)), form
            counts = [r % 3 for r in range(n)]
            places = [3 * r for r in range(n)]
            sparse = np.full(3 * n, -1) if here else None
            some = np.full(counts[me], me)
            for form in both("Gatherv", some, [sparse, counts, places, "l"], root):
                if here:
                    for r in range(n):
                        assert sparse[3 * r : 3 * r + counts[r]].tolist() == [r] * counts[r]
                        assert (sparse[3 * r + counts[r] : 3 * r + 3] == -1).all()
            got = np.full(counts[me], -7)
            for form in both("Scatterv", [sparse, (counts, places)] if here else None, got, root):
                assert (got == me).all(), form
        full = np.zeros((n, 4))
        for form in both("Allgather", mine, full):
            assert np.array_equal(full, every), form
        for form in both("Alltoall", np.arange(n) + 100 * me, swapped := np.zeros(n, int)):
            assert swapped.tolist() == [100 * r + me for r in range(n)], form
        total = np.zeros(4)
        for op, fold in ((waitio.SUM, np.sum), (waitio.MAX, np.max), (waitio.MIN, np.min),
                         (waitio.PROD, np.prod)):
            for form in both("Allreduce", mine, total, op):
                assert np.array_equal(total, fold(every, axis=0)), (form, op)
        for form in both("Scan", mine, total):
            assert np.array_equal(total, every[: me + 1].sum(0)), form
        if me > 0:
            want = every[:me].sum(0)
        for form in both("Exscan", mine, total):
            assert me == 0 or np.array_equal(total, want), form
        long = np.arange(3.0 * n) * (me + 1)
        third = np.zeros(3)
        for form in both("Reduce_scatter", long, third):
            assert np.array_equal(third, np.arange(3.0 * n)[3 * me : 3 * me + 3] * n * (n + 1) / 2)
        shares = [r + 1 for r in range(n)]
        part = np.zeros(me + 1)
        whole = np.arange(float(sum(shares)))
        for form in both("Reduce_scatter", whole, part, shares, waitio.MAX):
            assert np.array_equal(part, whole[sum(shares[:me]) :][: me + 1]), form
        rows = np.zeros(sum(shares))
        for form in both("Allgatherv", np.full(me + 1, me + 0.5), [rows, shares]):
            assert rows.tolist() == [r + 0.5 for r in range(n) for _ in range(r + 1)], form
        out = np.repeat(np.arange(n), shares) + 100 * me
        into = np.zeros(n * (me + 1), int)
        for form in both("Alltoallv", [out, shares], [into, [me + 1] * n]):
            assert into.tolist() == [100 * r + me for r in range(n) for _ in range(me + 1)], form
        for form in both("Barrier"):
            pass
        """,
        blocks=blocks,
    )


def test_in_place(universe):
    universe.passes(
        """
        n, IN = world.size, waitio.IN_PLACE
        a = np.full(3, me + 1.0)
        world.Allreduce(IN, a)
        assert (a == n * (n + 1) / 2).all()
        a[:] = me
        if me == 1:
            world.Reduce(IN, a, waitio.MAX, root=1)
            assert (a == n - 1).all()
        else:
            world.Reduce(a, None, waitio.MAX, root=1)
        b = np.full(n, -1)
        b[me] = me
        world.Allgather(IN, b)
        assert b.tolist() == list(range(n))
        if me == 0:
            c = np.full(n, 7)
            c[0] = 0
            world.Gather(IN, c)
            assert c.tolist() == list(range(n))
            world.Scatter(c, IN)
        else:
            world.Gather(np.array([me]), None)
            got = np.zeros(1, int)
            world.Scatter(None, got)
            assert got[0] == me
        d = np.arange(n) + 10 * me
        world.Alltoall(IN, d)
        assert d.tolist() == [10 * r + me for r in range(n)]
        e = np.full(2, me + 1)
        world.Scan(IN, e)
        assert (e == (me + 1) * (me + 2) // 2).all()
        f = np.arange(2 * n)
        world.Reduce_scatter(IN, f)
        assert f[:2].tolist() == [2 * me * n, (2 * me + 1) * n]
        for call in (lambda: world.Bcast(IN), lambda: world.Allreduce(a, IN),
                     lambda: world.Reduce(IN, None, root=(me + 1) % n),
                     lambda: world.Allgather(a, IN), lambda: world.Scatter(IN, a, root=me)):
            try:
                call()
            except TypeError as error:
                assert "IN_PLACE" in str(error), error
            else:
                raise SystemExit("IN_PLACE was taken where it has no meaning")
        assert repr(IN) == "waitio.IN_PLACE"
        """,
        blocks=[1, 2],
    )


def test_types_and_operators(alone):
    """Every type that MPI has, with every operator that is defined for it."""
    alone.passes(
        """
        n = world.size
        folds = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum,
                 "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
                 "LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor}
        integers = "i1 i2 i4 i8 u1 u2 u4 u8".split()
        cases = {**{t: folds for t in integers}, **{
            t: ("SUM", "PROD", "MAX", "MIN") for t in ("f4", "f8", "longdouble")},
            **{t: ("SUM", "PROD") for t in ("c8", "c16")}, "?": ("LAND", "LOR", "LXOR")}
        for kind, names in cases.items():
            every = [(np.array([r + 1, 2, r % 2, 3])).astype(kind) for r in range(n)]
            if kind.startswith("c"):
                every = [a + 1j * i for i, a in enumerate(every)]
                every = [a.astype(kind) for a in every]
            for name in names:
                want = every[0]
                for other in every[1:]:
                    want = folds[name](want, other).astype(kind)
                got = np.zeros_like(every[0])
                world.Allreduce(every[me], got, getattr(waitio, name))
                assert np.array_equal(got, want), (kind, name, got, want)
        pairs = np.zeros(2, dtype=np.dtype([("value", "f8"), ("index", "i4")], align=True))
        pairs["value"], pairs["index"] = [5.0, -me], me
        best = np.zeros_like(pairs)
        world.Allreduce([pairs, waitio.DOUBLE_INT], [best, waitio.DOUBLE_INT], waitio.MINLOC)
        assert best["index"].tolist() == [0, n - 1] and best["value"].tolist() == [5.0, 1.0 - n]
        raw = bytearray(np.full(3, me, "f4").tobytes())  # memory that does not tell its type
        summed = bytearray(12)
        world.Allreduce([raw, "f"], [summed, 3, waitio.FLOAT])
        assert np.frombuffer(summed, "f4").tolist() == [n * (n - 1) / 2] * 3
        # What has no type travels as bytes.
        table = np.zeros(3, dtype=[("a", "<i4"), ("b", "S3")])
        table["a"], table["b"] = me, b"xyz"
        for out in (table, np.array(["2020-01-01"], "M8[D]"), np.arange(3, dtype="f2"),
                    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.empty((0, 2)),
                    np.array(2.5), memoryview(b"abcd")):
            into = np.zeros((n, *out.shape), getattr(out, "dtype", "u1"))
            world.Allgather(out, into)
            assert all(into[r].tobytes() == (out if r == me or out is not table else into[r])
                       .tobytes(order="A") for r in range(n))
        assert int(waitio.SUM) and waitio.DOUBLE.extent == 8 and waitio.SUM.name == "SUM"
        assert "DOUBLE" in repr(waitio.DOUBLE) and "MAX" in repr(waitio.MAX)
        """,
        blocks=[1, 2],
    )


def test_refused(alone):
    """Each with its reason and a remedy; what comes later is not harmed."""
    alone.passes(
        """
        def refused(kind, words, call, *args, **kwargs):
            try:
                call(*args, **kwargs)
            except kind as error:
                assert all(w in str(error) for w in words.split("|")), error
            else:
                raise SystemExit(f"{call} {args} was taken")
        a, i = np.zeros(4), np.zeros(4, int)
        E, B = waitio.Error, waitio.BufferError
        refused(B, "strides (16,)|ascontiguousarray", world.Bcast, np.zeros(8)[::2])
        refused(B, "strides", world.Allreduce, np.zeros((4, 4))[:, :2], np.zeros((4, 2)))
        refused(B, "read-only", world.Allreduce, a, b"12345678" * 4)
        refused(E, ">f8|newbyteorder", world.Allreduce, a.astype(">f8"), a)
        refused(E, ">i2|newbyteorder", world.Bcast, np.zeros(2, ">i2"))
        refused(B, "float64|int64|the same type", world.Allreduce, a, i)
        refused(B, "4 elements are sent|3", world.Allreduce, a, np.zeros(3))
        refused(B, "float16|SUM is not defined", world.Allreduce, a.astype("f2"), a.astype("f2"))
        table = np.zeros(2, "i4,f8")
        refused(B, "MAX is not defined|DOUBLE_INT", world.Allreduce, table, table, waitio.MAX)
        refused(E, "", world.Allreduce, a.astype(complex), a.astype(complex), waitio.MAX)
        refused(E, "", world.Allreduce, a, a.copy(), waitio.BAND)
        refused(E, "root 5", world.Bcast, a, 5)
        refused(TypeError, "send buffer, not None", world.Allreduce, None, a)
        refused(TypeError, "receive buffer, not None", world.Gather, a, None)
        refused(TypeError, "not str", world.Bcast, "text")
        refused(TypeError, "not int", world.Bcast, [1, 2])
        refused(TypeError, "datatype is needed", world.Bcast, [a, "what"])
        refused(TypeError, "[array, count, datatype]", world.Bcast, [])
        refused(TypeError, "", world.Allreduce, a, a.copy(), "SUM")
        refused(TypeError, "constants", waitio.Datatype)
        refused(TypeError, "constants", waitio.Op)
        refused(B, "count 9 of 4", world.Bcast, [a, 9])
        refused(B, "count -1", world.Bcast, [a, -1])
        refused(B, "31 bytes|DOUBLE", world.Bcast, [bytearray(31), waitio.DOUBLE])
        refused(B, "2 counts for 1", world.Gatherv, a, [np.zeros(9), [1, 1]])
        refused(B, "displacement 7|beyond its 9", world.Gatherv, a, [np.zeros(9), [4], [7]])
        refused(B, "-4", world.Gatherv, a, [np.zeros(9), [-4]])
        refused(B, "ends in 'v'", world.Gather, a, [np.zeros(4), [4]])
        refused(B, "recvcounts are 3", world.Reduce_scatter, a, a.copy(), [3])
        refused(B, "4 elements come, it has 2", world.Reduce_scatter, a, np.zeros(2), [4])
        huge = np.lib.stride_tricks.as_strided(np.zeros(1, "u1"), (2**31,), (1,))
        group = world.Dup()
        group.free()
        refused(waitio.GroupError, "freed", group.Bcast, a)
        request = world.Iallreduce(a, a.copy())
        refused(waitio.UnsupportedError, "cannot be cancelled", world.Ibarrier().cancel)
        request.wait()
        world.Allreduce(a, b := np.ones(4))
        assert (b == 0).all()
        """,
        blocks=[1],
    )


def test_a_limit_of_counts_is_named(alone):
    alone.passes(
        """
        import mmap
        try:
            big = mmap.mmap(-1, 2**31, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
        except OSError:
            raise SystemExit(0)  # no room for addresses here
        try:
            world.Bcast(big)
        except waitio.LimitError as error:
            assert "2147483648 elements" in str(error) and "2147483647" in str(error), error
            assert "parts" in str(error)
        else:
            raise SystemExit("it was taken")
        """,
        blocks=[1],
    )


def test_members_that_differ_get_an_error(universe):
    universe.passes("""
        a = np.zeros(4 + me)
        other = world.Dup()
        try:
            world.Bcast(a, 0)
        except waitio.Error as error:
            assert me == 1 and "differ between its members" in str(error), error
            try:
                world.Barrier()
            except waitio.RevokedError as error:
                assert isinstance(error, waitio.PeerError)
            else:
                assert False, "a group whose members disagree takes more collectives"
        else:
            assert me == 0
        total = np.zeros(1)
        other.Allreduce(np.ones(1), total)
        assert total[0] == 2
    """)


def test_a_dropped_one_is_finished_before_its_process_leaves(alone):
    """The other member needs this one's second half of it, and joins in late."""
    alone.passes(
        """
        import time
        total = np.zeros(300_000)
        if me == 0:
            world.Iallreduce(np.ones(300_000), total)
            gc.collect()
        else:
            time.sleep(2.5)  # the other one is in finalize by then
            world.Iallreduce(np.ones(300_000), total).wait()
            assert (total == 2).all()
        waitio.finalize()
        """,
        blocks=[1, 1],
    )


def test_a_dropped_one_that_nobody_joins_keeps_nobody(universe):
    universe.passes(
        """
        if me == 0:
            world.Ibarrier()
            gc.collect()
        else:
            try:
                world.recv(0, 7)
            except waitio.PeerError as error:
                assert "finalized" in str(error)
            else:
                raise AssertionError("received something")
        waitio.finalize()
        """,
        blocks=[1, 1],
        env={"WAITIO_LINGER": "0.3"},
    )


def test_started_ones_overlap_and_move_while_others_wait(universe):
    """Deadlock-free: a receive waits for what depends on a started collective."""
    universe.passes(
        """
        n = world.size
        totals = [np.zeros(50_000) for _ in range(5)]
        requests = [world.Iallreduce(np.full(50_000, float(me + i)), totals[i]) for i in range(5)]
        assert "collective" in repr(requests[0])
        if me == 0:
            into = np.zeros(1)
            world.Recv(into, n - 1, 3)  # sent when the collectives are over there
        else:
            waitio.waitall(reversed(requests))
            if me == n - 1:
                world.Send(np.ones(1), 0, 3)
        while any(not r.test()[0] for r in requests):
            pass
        for i in range(5):
            assert (totals[i] == n * (n - 1) / 2 + n * i).all()
        seen = []
        requests = [world.Ibarrier(), world.Iallgather(np.ones(1), np.zeros(n)), None]
        pending = list(requests)
        while True:
            index, status = waitio.waitany(pending)
            if index is None:
                break
            pending[index] = None
            seen.append(index)
        assert sorted(seen) == [0, 1]

        async def main():
            total = np.zeros(3)
            await asyncio.gather(*(wait(world.Ibarrier()) for _ in range(3)),
                                 wait(world.Iallreduce(np.ones(3), total)))
            assert (total == n).all()
        async def wait(request):
            return await request
        asyncio.run(main())
        # Dropped ones go on; their memory is held.
        for _ in range(20):
            world.Iallreduce(np.full(30_000, 1.0), np.zeros(30_000))
            world.Ibcast(np.zeros(10), 0)
        gc.collect()
        world.Barrier()
        waitio.finalize()
        """,
        blocks=[1, 2],
    )


def test_groups_made_together(universe):
    universe.passes(
        """
        n = world.size
        twin = world.Dup()
        if me == 0:
            twin.Send(b"twin", 1, 5)
            world.Send(b"base", 1, 5)
        elif me == 1:
            into = bytearray(4)
            world.Recv(into, 0, 5)
            assert into == b"base"
            twin.Recv(into, 0, 5)
            assert into == b"twin"
        part = world.Split(me % 2, -me)
        assert part.size == (n + 1 - me % 2) // 2 and part.locate(part.rank) == world.locate(me)
        assert part.translate([0], world)[0] >= part.translate([part.size - 1], world)[0]
        total = np.zeros(1)
        part.Allreduce(np.ones(1), total)
        assert total[0] == part.size
        if part.size > 1:  # large objects travel in it, too
            thing = np.full(20_000, float(me))
            got = part.sendrecv(thing, (part.rank + 1) % part.size, 0, waitio.ANY_SOURCE)
            assert got.size == 20_000 and got[0] in range(n)
        assert (world.Split(None if me else 1) is None) == (me != 0)
        block = universe.block()
        assert block.allreduce(1) == block.size
        heads = universe.group(lambda pb, rank: rank == 0)
        if heads.rank >= 0:
            heads.Allreduce(np.array([1.0]), total)
            assert total[0] == universe.npb
        else:
            try:
                heads.Barrier()
            except waitio.Error as error:
                assert "no member" in str(error) or "not a member" in str(error), error
            else:
                raise SystemExit("a barrier of others")
        for group in (part, twin):
            group.free()
        world.Barrier()
        """,
        blocks=[1, 3],
    )


def test_objects(universe):
    universe.passes(
        """
        n = world.size
        field = np.arange(30_000.0)
        for root in range(n):
            thing = {"from": root, "field": field * root, "odd": field[::2]}
            got = world.bcast(thing if me == root else None, root)
            assert got["from"] == root and np.array_equal(got["field"], field * root)
            got["field"][0] = 1  # one's own, writable
            assert world.gather([me] * me, root) == (
                [[r] * r for r in range(n)] if me == root else None)
            assert world.scatter([f"for {r}" for r in range(n)] if me == root else None, root) == (
                f"for {me}")
            assert world.reduce(f"{me}", root=root) == (
                "".join(map(str, range(n))) if me == root else None)
        assert world.bcast(None) is None and world.bcast(b"") == b""
        assert world.allgather({me}) == [{r} for r in range(n)]
        assert world.alltoall([(me, r) for r in range(n)]) == [(r, me) for r in range(n)]
        assert world.allreduce(me, waitio.MAX) == n - 1
        assert world.allreduce([me], lambda a, b: a + b) == list(range(n))
        assert world.allreduce((float(-me), me), waitio.MINLOC) == (1.0 - n, n - 1)
        assert world.scan(1) == me + 1 and world.exscan(1) == (me or None)
        assert world.allreduce(True, waitio.LXOR) == (n % 2 == 1)
        block = universe.block()
        for call in (lambda objects: block.scatter(objects, block.rank), block.alltoall):
            try:
                call([1] * (block.size + 1))
            except ValueError as error:
                assert f"{block.size} members, not {block.size + 1}" in str(error)
            else:
                raise SystemExit("one object too many was taken")
        """,
        blocks=[1, 2],
    )


def test_no_objects_without_authentication(make_universe):
    u = make_universe(WAITIO_SECRET="none")
    u.passes(
        """
        for call in (world.bcast, world.gather, world.allgather, world.allreduce, world.alltoall,
                     world.scatter, world.reduce, world.scan, world.exscan):
            try:
                call([1])
            except waitio.PickleError as error:
                assert "allow_pickle" in str(error)
            else:
                raise SystemExit(f"{call} exchanged objects")
        world.barrier()
        """,
        blocks=[1],
    )


CALLS = {
    "Barrier": "world.Barrier()",
    "Allreduce": "world.Allreduce(np.ones(3), total)",
    "allreduce": "world.allreduce(1)",
    "wait": "world.Iallreduce(np.ones(3), total).wait()",
    "Split": "world.Split(0)",
}


@pytest.mark.alone  # an interrupt is there within a second
@pytest.mark.parametrize("call", CALLS)
def test_interrupt_in_a_collective(universe, call):
    """Control-C ends it at once; the next call on the group comes after it (not those on objects,
    which are made of several)."""
    first, second = universe.play(f"""
        total = np.zeros(3)
        if me == 0:
            world.Recv(bytearray(1), 1, 9)
            print("waiting", flush=True)
            try:
                {CALLS[call]}
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            else:
                raise SystemExit("no interrupt")
            if "{call}" == "Split":
                try:
                    waitio.finalize()
                except waitio.StateError as error:
                    assert "Split" in str(error), error
                else:
                    raise SystemExit("finalized under a Split")
        else:
            world.Send(b"x", 0, 9)
            world.Recv(bytearray(1), 0, 8)
            if "{call}" != "allreduce":
                {CALLS[call]}
        if me == 0:
            world.Send(b"x", 1, 8)
        if "{call}" in ("Barrier", "Allreduce", "wait"):
            world.Allreduce(np.ones(3), total)
            assert (total == 2).all()
        else:
            time.sleep(1)
    """)
    universe.says(first, "waiting")
    time.sleep(0.4)
    began = time.monotonic()
    first.signal(signal.SIGINT)
    universe.says(first, "interrupted")
    assert time.monotonic() - began < patience.scaled(1.0)
    universe.all_end([first, second], 40)


def test_a_group_that_is_split_stays(universe):
    """A signal ends the wait for the split, and the program drops the group; the split goes on."""
    universe.passes("""
        import weakref

        def interrupt():
            while not any(t.name == "waitio" for t in threading.enumerate()):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        group = world.Dup()
        seen = weakref.ref(group)
        if me == 0:
            threading.Thread(target=interrupt).start()
            try:
                group.Split(0)
            except KeyboardInterrupt:
                pass
            del group
            gc.collect()
            stayed = seen() is not None
            world.Send(b"", 1, 9)
            until = time.monotonic() + 30
            while seen() is not None and time.monotonic() < until:
                time.sleep(0.001)
            assert stayed and seen() is None
        else:
            world.Recv(bytearray(0), 0, 9)
            assert group.Split(0).size == 2
        world.Barrier()
    """)


def test_pending_at_finalize_and_in_a_child(alone):
    """Nobody else takes part: finalize ends it, a forked child is told."""
    alone.passes(
        """
        if me == 0:
            import multiprocessing, warnings
            warnings.simplefilter("ignore")
            request = world.Ibarrier()
            def child():
                for call in (world.Barrier, request.wait, request.test, world.Dup,
                             lambda: world.bcast(1)):
                    try:
                        call()
                    except waitio.ForkError:
                        continue
                    os._exit(3)
                os._exit(0)
            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            process.join(20)
            assert process.exitcode == 0, process.exitcode
            waitio.finalize()
            try:
                request.wait()
            except waitio.StateError as error:
                assert "finalize" in str(error)
            else:
                raise SystemExit("a barrier of one of two")
        else:
            world.Isend(b"x", 1)
        """,
        blocks=[1, 1],
    )
