# SPDX-License-Identifier: BSD-3-Clause
"""Upper-case calls: what memory they take, what they refuse, what they report."""

import pytest


def test_every_contiguous_buffer_arrives(universe):
    universe.passes("""
        import array
        table = np.zeros(7, dtype=[("a", "<i4"), ("b", "<f8", (3,))])
        table["a"] = range(7)
        pairs = [  # what is sent, what it is received into
            (np.arange(24.0).reshape(4, 6), np.empty((4, 6))),
            (np.asfortranarray(np.arange(24.0).reshape(4, 6)), np.empty((4, 6), order="F")),
            (np.arange(60, dtype="i2").reshape(3, 4, 5), np.empty((3, 4, 5), "i2")),
            (np.array(3.5), np.array(0.0)),
            (np.empty((0, 5)), np.empty((0, 5))),
            (table, np.zeros_like(table)),
            (np.array(["2020-01-01"], "M8[D]"), np.empty(1, "M8[D]")),
            (np.arange(5, dtype=">i8"), np.empty(5, ">i8")),
            (np.array([True, False]), np.empty(2, bool)),
            (b"some bytes", bytearray(10)),
            (bytearray(b"more"), bytearray(4)),
            (memoryview(b"0123456789")[2:5], memoryview(bytearray(3))),
            (array.array("d", [1, 2]), array.array("d", [0, 0])),
            (np.arange(100_000), np.empty(100_000, "i8")),
            (np.arange(1_000_000.0), np.empty(1_000_000)),
        ]
        for tag, (out, into) in enumerate(pairs):
            if me == 0:
                world.Send(out, 1, tag)
                world.Isend(out, 1, tag).Wait()
            else:
                for status in (world.Recv(into, 0, tag), world.Irecv(into, 0, tag).wait()):
                    assert (status.source, status.tag) == (0, tag)
                    assert status.count == memoryview(into).nbytes if tag != 6 else 8
                if isinstance(into, np.ndarray):
                    assert np.array_equal(into, out), tag
                    into.fill(0) if into.dtype.names is None and tag != 6 else None
                else:
                    assert bytes(into) == bytes(out), tag
        universe.finalize()
    """)


def test_memory_order_is_what_travels(universe):
    """A Fortran-ordered array arrives as its memory lies: the transposed of a C-ordered one."""
    universe.passes("""
        if me == 0:
            world.Send(np.asfortranarray(np.arange(6.0).reshape(2, 3)), 1)
        else:
            c = np.empty((3, 2))
            world.Recv(c)
            assert np.array_equal(c, np.arange(6.0).reshape(2, 3).T)
    """)


@pytest.mark.parametrize(
    ("call", "made", "kind", "words"),
    [
        ("Recv", "bytes(8)", "BufferError", "read-only|bytearray"),
        ("Recv", "np.broadcast_to(np.zeros(1), 3)", "BufferError", "strides (0,)"),
        ("Recv", "frozen", "BufferError", "read-only|writable array"),
        ("Send", "'text'", "TypeError", "not str|lower-case"),
        ("Send", "[1, 2]", "TypeError", "not int|lower-case"),
        ("Send", "None", "TypeError", "not NoneType"),
        ("Send", "Cuda()", "BufferError", "device|copy to the host first"),
        ("Recv", "Cuda()", "BufferError", "device|copy to the host first"),
        ("Send", "OnDevice()", "BufferError", "device|copy to the host first"),
        ("Send", "Broken()", "BufferError", "__dlpack__ says: no"),
    ],
)
def test_refused_memory(alone, call, made, kind, words):
    texts = words.split("|")
    alone.passes(
        f"""
        class Cuda:
            __cuda_array_interface__ = {{}}
        class OnDevice:
            def __dlpack__(self): raise AssertionError("not to be called")
            def __dlpack_device__(self): return (2, 0)
        class Broken:
            def __dlpack__(self, **kw): raise BufferError("no")
            def __dlpack_device__(self): return (1, 0)
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        for call in (world.{call}, world.I{call.lower()}):
            try:
                call({made}, 0)
            except (waitio.{kind} if hasattr(waitio, "{kind}") else {kind}) as error:
                assert all(text in str(error) for text in {texts}), error
            else:
                raise SystemExit("it was taken")
        # Nothing is left over: a message to oneself works.
        request = world.Irecv(bytearray(1), 0)
        world.Send(b"x", 0)
        assert request.wait().count == 1
        """,
        blocks=[1],
    )


def test_dlpack(alone):
    alone.passes(
        """
        class Tensor:  # as PyTorch's: no buffer protocol
            def __init__(self, array): self.array = array
            def __dlpack__(self, **kw): return self.array.__dlpack__(**kw)
            def __dlpack_device__(self): return self.array.__dlpack_device__()
        into = Tensor(np.zeros(4))
        request = world.Irecv(into, 0)
        world.Send(Tensor(np.arange(4.0)), 0)
        request.wait()
        assert into.array.tolist() == [0, 1, 2, 3]
        """,
        blocks=[1],
    )


def test_bad_arguments(alone):
    alone.passes(
        """
        def refused(kind, call, *args, **kwargs):
            try:
                call(*args, **kwargs)
            except kind as error:
                assert isinstance(error, (waitio.Error, TypeError, OverflowError)), error
                return error
            raise SystemExit(f"{call} {args} was taken")
        error = refused(waitio.RankError, world.Send, b"", 1)
        assert error == waitio.ERR_RANK and error.name == "RANK" and "rank 1" in str(error)
        assert isinstance(error, ValueError) and "0 to the group's size" in error.remedy
        refused(waitio.RankError, world.Recv, bytearray(1), -5)
        refused(waitio.TagError, world.Isend, b"", 0, -1)
        refused(waitio.TagError, world.Irecv, bytearray(1), 0, -7)
        refused(TypeError, world.Send, b"", "0")
        refused(waitio.TagError, world.Send, b"", 0, 2**40)
        refused(TypeError, world.Recv, bytearray(1), status=7)
        refused(TypeError, waitio.Group)
        refused(TypeError, waitio.Request)
        group = waitio.Group.world(gid=3)
        group.free()
        group.free()
        assert isinstance(refused(waitio.GroupError, group.Send, b"", 0), waitio.Error)
        import pickle
        again = pickle.loads(pickle.dumps(error))
        assert again == error.code and str(again) == str(error)
        """,
        blocks=[1],
    )


def test_truncation_names_sizes_and_peer(universe):
    universe.passes("""
        if me == 0:
            world.Send(np.arange(10.0), 1, 3)
            world.Send(np.arange(300_000.0), 1, 3)
            world.Send(b"fits", 1, 4)
        else:
            small = np.zeros(4)
            for n in (80, 2_400_000):
                try:
                    world.Recv(small, 0, 3)
                except waitio.TruncateError as error:
                    assert f"{n} bytes" in str(error) and "32 bytes" in str(error), error
                    assert error.peer == (0, 0, 0) and str(error.peer) == "PB 0 rank 0"
                else:
                    raise SystemExit("no error")
                assert small.tolist() == [0, 1, 2, 3]
            wrong = np.zeros(1, "f4")  # the other side's type: too few bytes are no error
            assert world.Recv(wrong, 0, 4).count == 4
            status = waitio.Status()
            assert status.Get_count(4) == 0
    """)


def test_probe_and_status(universe):
    universe.passes("""
        if me == 0:
            assert world.Iprobe(1, 9) is None
            try:
                world.Probe(1, 9, timeout=0.05)
            except waitio.TimeoutError as error:
                assert isinstance(error, TimeoutError) and error.peer.pb == 1
            else:
                raise SystemExit("no timeout")
            world.Send(b"go", 1)
            status = waitio.Status()
            found = world.Probe(waitio.ANY_SOURCE, 8, status)
            assert (found.source, found.tag, found.count) == (1, 8, 24)
            assert (status.Get_source(), status.Get_tag(), status.Get_count(8)) == (1, 8, 3)
            try:
                status.Get_count(7)
            except ValueError as error:
                assert "24 bytes" in str(error)
            else:
                raise SystemExit("24 bytes are items of 7")
            assert world.Iprobe().count == 24
            into = np.zeros(5)
            got = world.Recv(into, status=status)
            assert got.count == status.count == 24 and not status.Is_cancelled()
            assert into.tolist() == [1, 2, 3, 0, 0]
        else:
            world.Recv(bytearray(2), 0)
            world.Send(np.array([1.0, 2.0, 3.0]), 0, 8)
    """)


def test_sendrecv_round_a_ring(universe):
    universe.passes(
        """
        for n in (1, 200_000):
            mine, other = np.full(n, float(me)), np.zeros(n)
            status = world.Sendrecv(mine, (me + 1) % 3, 5, other, (me - 1) % 3, 5)
            assert status.source == (me - 1) % 3 and (other == (me - 1) % 3).all()
        """,
        blocks=[1, 2],
    )


def test_large_arrays_are_not_copied(universe):
    """The counters tell: nothing of 16 MiB passes through a buffer of the library's process."""
    universe.passes("""
        n = 2 * 1024 * 1024
        data = np.arange(float(n)) if me == 0 else np.zeros(n)
        world.Sendrecv(b"", 1 - me, 1, bytearray(0), 1 - me, 1)  # the link exists
        request = world.Irecv(data, 0, 2) if me == 1 else None
        world.Sendrecv(b"", 1 - me, 1, bytearray(0), 1 - me, 1)  # the receive is posted
        before = waitio.counter("copied_bytes")
        if me == 0:
            world.Send(data, 1, 2)
        else:
            request.Wait()
            assert data[-1] == n - 1
        copied = waitio.counter("copied_bytes") - before
        assert copied < 4096, f"{copied} bytes were copied"
        assert waitio.counters()["send_msgs"] >= 2
        """)
