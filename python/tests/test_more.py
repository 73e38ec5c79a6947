# SPDX-License-Identifier: BSD-3-Clause
"""What programs that come from mpi4py look for: arrays with gaps, datatypes, operators, matched
probes, groups of groups."""

import pytest
from jobs import mpiexec


def test_arrays_with_gaps_need_no_copy(universe):
    universe.passes("""
        base = np.arange(2 * 30 * 40.0).reshape(2, 30, 40)
        views = {
            "column": base[0, :, 3], "step": base[0, 4, ::3], "backwards": base[0, 2, ::-2],
            "block": base[1, 5:9, 7:11], "three": base[:, ::7, 1::5], "turned": base[:, ::-1, ::-3],
            "axes": base.transpose(2, 0, 1)[::2], "field": np.zeros(9, "i4,f8")["f1"],
            "one": base[:1, :1, ::39], "none": base[:, :, 40:40:2][::2],
            "bytes": base.view("u1")[..., ::3],
            "dates": np.arange(20).astype("M8[s]")[::3],
        }
        for tag, (name, view) in enumerate(views.items()):
            if me == 0:
                for call in (world.Send, world.Ssend):
                    call(view, 1, tag)
                world.Isend(view, 1, tag).wait()
                world.Send(np.ascontiguousarray(view), 1, tag)
                world.Issend(view, 1, tag).wait()
            else:
                flat = np.zeros(view.shape, view.dtype)
                for _ in range(3):  # what has gaps there is received without
                    flat[...] = 0
                    status = world.Recv(flat, 0, tag)
                    assert status.count == flat.nbytes, (name, status)
                    assert np.array_equal(flat, view), name
                # and into gaps, which leave what lies between alone
                for i in range(2):
                    target = np.zeros(tuple(2 * n for n in view.shape), view.dtype)
                    into = target[tuple(slice(None, None, 2) for _ in view.shape)]
                    if i == 0:
                        status = world.Recv(into, 0, tag)
                    else:
                        status = world.Irecv(into, 0, tag).wait()
                    assert status.source == 0 and status.tag == tag and status.count == flat.nbytes
                    assert np.array_equal(into, view), name
                    into[...] = np.zeros((), view.dtype)
                    assert not target.view("u1").any(), name
        if me == 0:
            for bad in (np.broadcast_to(np.zeros(3), (4, 3)), np.lib.stride_tricks.as_strided(
                    np.zeros(3), (4, 3), (0, 8))):
                try:
                    world.Irecv(bad, 1)
                except waitio.BufferError as error:
                    pass
                else:
                    raise SystemExit("received into one place several times")
            try:
                world.Send(np.empty((4, 4), object)[::2, ::2], 1)
            except waitio.BufferError as error:
                assert "references" in str(error), error
            else:
                raise SystemExit("objects with gaps were sent")
    """)


def test_gaps_where_they_are_refused(alone):
    alone.passes(
        """
        for call, words in (
            (lambda: world.Send_init(np.arange(9)[::-1], 0), ("(-8,)", "ascontiguousarray")),
            (lambda: world.Recv_init(np.zeros((4, 4))[::2], 0), ("(64, 8)", "copy from it")),
            (lambda: world.Bcast(np.zeros((4, 4))[:, ::2]), ("strides (32, 16)",)),
        ):
            try:
                call()
            except waitio.BufferError as error:
                assert all(w in str(error) for w in words), error
            else:
                raise SystemExit("gaps were taken")
        """,
        blocks=[1],
    )


def test_large_arrays_with_gaps_are_not_copied_by_the_package(alone):
    alone.passes(
        """
        import tracemalloc
        field = np.arange(2_000_000.0).reshape(1000, 2000)
        into = np.zeros((1000, 2000))
        tracemalloc.start()
        request = world.Irecv(into[:, ::2], 0)
        world.Send(field[:, 1::2], 0)
        request.wait()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        assert (into[:, ::2] == field[:, 1::2]).all() and not into[:, 1::2].any()
        """,
        blocks=[1],
    )


def test_pending_messages_with_gaps(universe):
    """Dropped, cancelled, timed out, too short, awaited, among others."""
    universe.passes("""
        array = np.zeros((50, 50))
        column = array[:, 1]
        request = world.Irecv(column, 1 - me, 1)
        assert "receive" in repr(request) and not request.done
        request.cancel()
        assert request.wait().cancelled
        request = world.Irecv(column, 1 - me, 1)
        try:
            request.wait(0.05)
        except waitio.TimeoutError:
            pass
        del request
        try:
            world.Isend(column, 1 - me, 7).cancel()
        except waitio.UnsupportedError:
            pass
        world.Recv(bytearray(400), 1 - me, 7)
        world.Barrier()
        world.Send(np.full(50, 2.0), 1 - me, 1)
        world.Recv(column, 1 - me, 1)
        assert (column == 2).all()
        world.Send(np.ones(51), 1 - me, 2)
        try:
            world.Recv(column, 1 - me, 2)
        except waitio.TruncateError as error:
            assert error.peer is None or error.peer.pb == 1 - universe.pb
        else:
            raise SystemExit("too long a message was taken")
        async def both():
            receive = world.Irecv(column, 1 - me, 3)
            await world.Isend(array[3], 1 - me, 3)
            await receive
        asyncio.run(both())
        requests = [world.Irecv(array[:, i], 1 - me, i) for i in range(3, 9)]
        requests += [world.Isend(np.full(50, float(i)), 1 - me, i) for i in range(3, 9)]
        requests.append(world.Ibarrier())
        requests.append(world.irecv(1 - me, 99))
        requests.append(world.isend("x", 1 - me, 99))
        waitio.waitall(requests)
        assert all((array[:, i] == i).all() for i in range(3, 9))
        assert waitio._core._orphans() == 0
    """)


def test_datatypes_that_are_made(universe):
    universe.passes("""
        D, I = waitio.DOUBLE, waitio.INT
        grid = np.arange(48.0).reshape(6, 8)
        record = np.dtype([("n", "i4"), ("x", "f8", (2,)), ("name", "S3")], align=True)
        kinds = {
            "vector": (D.Create_vector(6, 2, 8), lambda g: g[:, :2]),
            "hvector": (D.Create_hvector(3, 1, 128), lambda g: g[::2, 0]),
            "contiguous": (D.Create_contiguous(5), lambda g: g.ravel()[:5]),
            "indexed": (D.Create_indexed([2, 1], [3, 40]), lambda g: g.ravel()[[3, 4, 40]]),
            "hindexed": (D.Create_hindexed([1, 1], [8, 88]), lambda g: g.ravel()[[1, 11]]),
            "subarray": (D.Create_subarray([6, 8], [2, 3], [1, 4]), lambda g: g[1:3, 4:7]),
            "fortran": (D.Create_subarray([8, 6], [3, 2], [4, 1], waitio.ORDER_FORTRAN),
                        lambda g: g[1:3, 4:7]),
            "struct": (waitio.Datatype.Create_struct([1, 2], [16, 64], [D, "d"]),
                       lambda g: g.ravel()[[2, 8, 9]]),
        }
        for tag, (name, (kind, part)) in enumerate(kinds.items()):
            kind = kind.Commit()
            assert kind.Get_size() == part(grid).nbytes, name
            if me == 0:
                world.Send([grid, 1, kind], 1, tag)
                world.Isend((grid, kind), 1, tag) if name in ("vector", "subarray") else None
            else:
                flat = np.zeros(part(grid).shape)
                status = world.Recv(flat, 0, tag)
                assert np.array_equal(flat, part(grid)), name
                if name in ("vector", "subarray"):
                    into = np.zeros((6, 8))
                    world.Irecv([into, 1, kind], 0, tag).wait()
                    assert np.array_equal(part(into), part(grid)), name
                    assert into.sum() == part(grid).sum()
            if name in ("vector", "hvector"):  # in collectives, too
                copy = grid.copy() if me == 0 else np.zeros((6, 8))
                world.Bcast([copy, 1, kind], 0)
                assert np.array_equal(part(copy), part(grid))
        kind = waitio.Datatype.from_dtype(record)
        assert kind.extent == record.itemsize and kind.size == 4 + 16 + 3
        records = np.zeros(4, record)
        if me == 0:
            records["n"], records["x"], records["name"] = range(4), 0.5, b"abc"
            world.Send([records, kind], 1, 50)
        else:
            assert world.Recv([records, 4, kind], 0, 50).count == 4 * 23
            assert records["n"].tolist() == [0, 1, 2, 3] and (records["x"] == 0.5).all()
            assert (records["name"] == b"abc").all()
        column = D.Create_vector(6, 1, 8).Create_resized(0, 8)  # columns one beside the other
        assert column.Get_extent() == (0, 8) and column.Get_true_extent() == (0, 328)
        turned = np.zeros((8, 6))
        request = world.Irecv(turned, me, 60)
        world.Send([grid, 8, column], me, 60)
        request.wait()
        assert np.array_equal(turned, grid.T)
        for wrong in (lambda: world.Send([grid, 2, D.Create_vector(6, 2, 8)], 1 - me),
                      lambda: world.Send([np.zeros(3), D.Create_contiguous(4)], 1 - me),
                      lambda: D.Create_indexed([1], [1, 2]), lambda: D.Create_vector(1.5, 1, 1),
                      lambda: D.Create_contiguous(-1), lambda: waitio.Datatype.from_dtype("O")):
            try:
                wrong()
            except (waitio.ArgumentError, TypeError):
                pass
            else:
                raise SystemExit("wrong datatypes were taken")
        import pickle
        assert pickle.loads(pickle.dumps(waitio.DOUBLE)) is waitio.DOUBLE
        for _ in range(5000):
            D.Create_vector(3, 1, 2)  # freed as they go
    """)


def test_operators_of_the_program(universe):
    universe.passes(
        """
        n, other = world.size, 1 - me
        def longest(a, b):
            assert isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
            return np.where(abs(a) > abs(b), a, b)
        op = waitio.Op.Create(longest, commute=True)
        for size in (1, 7, 5000, 300_000):
            mine = np.full(size, -1.0 - me) * (-1) ** me
            out = np.zeros(size)
            world.Allreduce(mine, out, op)
            assert (out == n * (-1) ** n).all(), out
        first = waitio.Op.Create(lambda a, b: a)  # not commutative: of the lowest rank
        out = np.zeros(100, "i4")
        world.Allreduce(np.full(100, me, "i4"), out, first)
        assert (out == 0).all()
        def in_place(a, b):  # composes x -> p x + q, with p + qi: not commutative
            b.imag[:] = a.real * b.imag + a.imag
            b.real[:] = a.real * b.real
        op = waitio.Op.Create(in_place)
        world.Reduce(np.full(3, 2 + me + 5j * me), out := np.zeros(3, "c16"), op, n - 1)
        if me == n - 1:
            p, q = 1, 0
            for r in reversed(range(n)):
                p, q = (2 + r) * p, (2 + r) * q + 5 * r
            assert (out == p + 1j * q).all(), (out, p, q)
        hypot = waitio.Op.Create(np.hypot, True)
        world.Allreduce(np.full(4, 3.0), out := np.zeros(4), hypot)
        assert np.allclose(out, 3 * n**0.5)
        request = world.Iallreduce(np.full(4, 3.0), out := np.zeros(4), waitio.Op.Create(np.hypot))
        gc.collect()
        request.wait()
        assert np.allclose(out, 3 * n**0.5)
        assert world.allreduce([me], waitio.Op.Create(lambda a, b: a + b)) == list(range(n))
        def fails(a, b):
            raise LookupError("no such operator")
        bad = waitio.Op.Create(fails, True)
        failed = 0
        for i in range(2):
            try:
                world.Allreduce(np.ones(3), np.zeros(3), bad)
            except LookupError as error:
                assert "no such" in str(error)
                failed += 1
        assert world.allreduce(failed) >= 2
        world.Allreduce(np.ones(2), out := np.zeros(2), waitio.Op.Create(lambda a, b: a + b))
        assert (out == n).all()
        try:
            many = [waitio.Op.Create(np.add) for _ in range(40)]
        except waitio.LimitError as error:
            assert "32" in str(error)
        for _ in range(100):
            waitio.Op.Create(np.add)
        world.Barrier()
        """,
        blocks=[2, 1],
    )


def test_an_operator_that_fails_spoils_no_other_reduction(universe):
    """Not one beside, nor one after it, also where nobody waits for the one that fails."""
    universe.passes("""
        def add(a, b):
            if (a < 0).any():
                raise LookupError("less than 0")
            return a + b
        op = waitio.Op.Create(add, True)
        totals = np.zeros((2, 3))
        def start(i):
            return world.Iallreduce(np.full(3, 2.0 * i - 1), totals[i], op)
        raised = [False, False]
        for i, request in enumerate([start(0), start(1)]):
            try:
                request.wait()
            except LookupError:
                raised[i] = True
        assert raised[1] or (totals[1] == 2).all(), "wrong in silence"
        assert world.allreduce(raised[0]) >= 1
        for _ in range(3):
            start(0)  # dropped
            while waitio._core._orphans():
                pass
            start(1).wait()
            assert (totals[1] == 2).all()
            totals[:] = 0
    """)


def test_operators_while_threads_send(alone):
    """The library calls the operator in whichever thread moves the reduction on."""
    alone.passes(
        """
        op = waitio.Op.Create(lambda a, b: a + b, True)
        halt = threading.Event()
        def chatter():
            while not halt.is_set():
                world.Sendrecv(b"x" * 100, me, 5, bytearray(100), me, 5)
        thread = threading.Thread(target=chatter, daemon=True)
        thread.start()
        for i in range(200):
            out = np.zeros(50)
            world.Allreduce(np.full(50, float(me + i)), out, op)
            assert (out == world.size * i + 1).all()
        halt.set()
        thread.join()
        """,
        blocks=[1, 1],
    )


def test_reduce_scatter_block(universe):
    universe.passes(
        """
        n = world.size
        mine, part = np.arange(4.0 * n) + me, np.zeros(4)
        want = (n * np.arange(4.0 * n) + n * (n - 1) / 2)[4 * me : 4 * me + 4]
        world.Reduce_scatter_block(mine, part)
        assert np.array_equal(part, want)
        part[:] = 0
        world.Ireduce_scatter_block(mine, part, waitio.SUM).wait()
        assert np.array_equal(part, want)
        world.Reduce_scatter_block(waitio.IN_PLACE, mine)
        assert np.array_equal(mine[:4], want)
        for wrong in (np.zeros(4 * n + 1),):
            try:
                world.Reduce_scatter_block(wrong, part)
            except waitio.BufferError as error:
                assert "multiple" in str(error)
            else:
                raise SystemExit("no multiple")
        """,
        blocks=[2, 1],
    )


def test_requests_in_mpi4py_s_way(universe):
    universe.passes("""
        R, other = waitio.Request, 1 - me
        into = np.zeros((4, 3))
        statuses = [waitio.Status() for _ in range(8)]
        requests = [world.Irecv(into[i], other, i) for i in range(4)]
        requests += [world.Isend(np.full(3, i + 1.0), other, i) for i in range(4)]
        assert R.Waitall(requests, statuses) is True
        assert [s.tag for s in statuses[:4]] == [0, 1, 2, 3] and into[3, 0] == 4
        assert R.Testall(requests) and R.Waitall([])
        status = waitio.Status()
        requests = [world.Irecv(into[0], other, 5), None, world.irecv(other, 6)]
        assert R.Testany(requests) == (None, False) and not R.Testall(requests)
        assert R.Testsome(requests) == []
        world.Barrier()
        world.send("thing", other, 6)
        found = R.Waitany(requests, status)
        assert found == 2 and status.tag == 6, (found, status, requests)
        requests[2] = None
        world.Barrier()
        world.Send(np.ones(3), other, 5)
        assert R.Waitsome(requests, [status]) == [0] and status.tag == 5
        assert R.Waitsome([None]) is None and R.Waitany([None]) is None
        assert R.Testany([None]) == (None, True)
        persistent = [world.Send_init(np.ones(3), other), world.Recv_init(into[1], other)]
        R.Startall(persistent)
        R.Waitall(persistent)
        assert 0 < waitio.Wtick() < 1
        before = waitio.Wtime()
        time.sleep(0.02)
        assert 0.015 < waitio.Wtime() - before < 10
    """)


def test_probes_that_take_the_message(universe):
    universe.passes("""
        other = 1 - me
        sizes = (0, 10, 70_000, 3_000_000)
        if me == 0:
            for size in sizes:
                world.Send(np.full(size, 7, "u1"), 1, 3)
            world.send({"large": np.arange(100_000)}, 1, 4)
            world.send("small", 1, 4)
            for i in range(40):
                world.Send(np.array([i]), 1, 8)
            world.Isend(np.ones(500_000), 1, 9).wait()  # thrown away there
            world.send("last", 1, 4)
        else:
            status = waitio.Status()
            for size in sizes:
                message = world.Mprobe(0, 3, status)
                found = (message.source, message.tag, message.count)
                assert found == (0, 3, size) and status.tag == 3
                if size == 70_000:
                    try:
                        message.Recv(bytearray(10))
                    except waitio.TruncateError:
                        pass
                    gaps = np.zeros((size, 2), "u1")
                    assert message.Recv(gaps[:, 1]).count == size and gaps.sum() == 7 * size
                else:
                    into = np.zeros(size, "u1")
                    request = message.Irecv(into)
                    assert request.wait().count == size and (into == 7).all()
                try:
                    message.Recv(bytearray(5_000_000))
                except waitio.RequestError as error:
                    assert "already" in str(error)
                else:
                    raise SystemExit("received twice")
            assert (world.mprobe(0, 4).recv()["large"] == np.arange(100_000)).all()
            world.probe(0, 4)
            assert world.iprobe(0, 4) is True and world.iprobe(0, 44) is False
            assert world.improbe(0, 4).recv(status) == "small" and status.tag == 4
            seen, threads = [], []
            def take():
                while len(seen) < 40:
                    message = world.Improbe(0, 8)
                    if message is not None:
                        found = np.zeros(1, int)
                        message.Recv(found)
                        seen.append(int(found[0]))
            threads = [threading.Thread(target=take) for _ in range(3)]
            for t in threads: t.start()
            for t in threads: t.join(60)
            assert sorted(seen) == list(range(40))
            message = world.Mprobe(0, 9)
            assert "count=4000000" in repr(message)
            del message
            assert world.recv(0, 4) == "last"
            assert world.Improbe(0, 77) is None
            try:
                world.Mprobe(0, 77, timeout=0.05)
            except waitio.TimeoutError:
                pass
            else:
                raise SystemExit("no timeout")
        world.Barrier()
    """)


def test_groups_of_groups(universe):
    universe.passes(
        """
        here = world.Split_type(waitio.COMM_TYPE_PB)
        assert here.size == universe.nprocs[universe.pb] and here.rank == universe.pb_rank
        host = world.Split_type(waitio.COMM_TYPE_SHARED, -me)
        assert host.size == world.size and host.rank == world.size - 1 - me
        assert world.Split_type(None) is None
        ranks = [2, 0]
        if me in ranks:
            pair = world.Create_group(ranks, 5)
            assert pair.size == 2 and pair.rank == ranks.index(me)
            assert pair.allgather(me) == ranks
        assert host.allreduce(1) == world.size
        """,
        blocks=[2, 1],
    )


def test_abort_of_a_group(universe):
    cast = universe.play("""
        if me == 0:
            world.Recv(bytearray(1), 1)
            world.Abort(7)
        else:
            world.Send(b"x", 0)
            try:
                world.Recv(bytearray(1), 0)
            except waitio.PeerError:
                print("told", flush=True)
    """)
    cast[0].ended(7)
    cast[1].ended(0)
    assert "told" in cast[1].lines


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_with_a_block_that_an_mpi_has_started(universe, helpers, flavour):
    """Two processes by mpiexec and one without: gaps, an operator, a matched probe, a group."""
    import sys

    path = universe.script("""
        op = waitio.Op.Create(lambda a, b: np.maximum(a, b), True)
        world.Allreduce(np.full(9, float(me)), out := np.zeros(9), op)
        assert (out == 2).all()
        field = np.arange(12.0).reshape(3, 4) + 100 * me
        left, right = (me - 1) % 3, (me + 1) % 3
        into = np.zeros((3, 4))
        request = world.Irecv(into[:, 0], left)
        world.Send(field[:, 3], right)
        request.wait()
        assert into[:, 0].tolist() == [3 + 100 * left, 7 + 100 * left, 11 + 100 * left]
        sending = world.isend({"from": me}, right, 4)
        assert world.mprobe(left, 4).recv() == {"from": left}
        sending.wait()
        assert world.Split_type(waitio.COMM_TYPE_PB).size == universe.nprocs[universe.pb]
        print("fine", flush=True)
    """)
    env = dict(WAITIO_NPB="2", PYTHONPATH=universe.site, PYTHONUNBUFFERED="1")
    line = mpiexec(flavour, (2, [sys.executable, path]))
    first = universe.run(line, "mpi", {**env, "WAITIO_PBID": "0"})
    second = universe.python(path, 1, 0, 1, 2)
    universe.all_end([first, second], 60)
    assert "".join(first.lines).count("fine") == 2 and "fine" in second.lines
