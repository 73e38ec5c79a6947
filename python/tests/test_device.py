# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in device memory, with tests/fakecuda in the place of CUDA's driver: there the processor
cannot read device memory, and work on streams waits until somebody waits for it. With
WAITIO_TEST_CUDA=true they use the true driver and device 0, as far as they need no faults."""

import os
import pathlib
import re
import textwrap

import pytest

TRUE = os.environ.get("WAITIO_TEST_CUDA") == "true"
needs_fake = pytest.mark.skipif(TRUE, reason="asks the library that stands in for CUDA's driver")

HEAD = f"""\
sys.path.append({str(pathlib.Path(__file__).parent)!r})
from device_arrays import *
def refused(kind, words, call, *args):
    try:
        call(*args)
    except kind as error:
        assert all(word in str(error) for word in words.split("|")), error
        return error
    raise SystemExit(f"{{call}} was not refused")
def copies():
    return tuple(waitio.counter(f"{{way}}_bytes") for way in ("device_to_host", "host_to_device"))
def since(before):
    return tuple(b - a for a, b in zip(before, copies()))
"""


class Devices:
    """A universe whose processes find the driver that stands in for CUDA's."""

    def __init__(self, universe, library):
        self.universe, self.library = universe, library

    def env(self, more):
        return {**({} if TRUE else {"LD_LIBRARY_PATH": str(self.library)}), **(more or {})}

    def play(self, code, env=None, **words):
        text = HEAD + textwrap.dedent(code)
        return self.universe.play(text, env=self.env(env), **words)

    def passes(self, code, env=None, **words):
        text = HEAD + textwrap.dedent(code) + "\nassert not FAKE or cuda.fake_depth() == 0\n"
        return self.universe.passes(text, env=self.env(env), **words)


@pytest.fixture(scope="session")
def fake_cuda(build_dir):
    """Folder of the library that stands in for CUDA's driver."""
    folder = build_dir / "tests" / "fakecuda"
    if not (folder / "libcuda.so.1").exists():
        pytest.skip(f"this build has no {folder}/libcuda.so.1 (builds with sanitizers)")
    return folder


@pytest.fixture
def devices(universe, fake_cuda):
    """Over each transport."""
    return Devices(universe, fake_cuda)


@pytest.fixture
def device(alone, fake_cuda):
    """For what does not depend on the transport."""
    return Devices(alone, fake_cuda)


def test_the_processor_cannot_read_what_is_on_the_device(device):
    """Else the other tests would not notice an array that is not staged."""
    cast = device.play("ctypes.string_at(Cuda(np.zeros(4)).address, 1)", blocks=[1])
    cast[0].child.wait(60)
    assert cast[0].child.returncode == -11


def test_every_kind_of_array_arrives(devices):
    devices.passes("""
        arrays = [
            np.arange(24.0).reshape(4, 6), np.asfortranarray(np.arange(24.0).reshape(4, 6)),
            np.arange(60, dtype="i2").reshape(3, 4, 5), np.array(3.5), np.empty((0, 5)),
            np.array([True, False]), np.arange(3) * 1j, np.arange(70_000, dtype="u1"),
            np.arange(1_000_000.0), np.arange(6, dtype="f4").reshape(1, 6, 1),
        ]
        for make in (Cuda, Tensor, lambda a: Tensor(a, versioned=True)):
            for tag, array in enumerate(arrays):
                before = copies()
                if me == 0:
                    out = make(array)
                    world.Send(out, 1, tag)
                    world.Isend(out, 1, tag).Wait()
                    world.Ssend(out, 1, tag)
                    world.Issend(out, 1, tag).wait()
                    world.Send(array, 1, tag)  # host to device
                    world.Send(out, 1, tag)  # device to host
                    assert since(before) == (5 * array.nbytes, 0)
                else:
                    for receive in (
                        lambda into: world.Recv(into, 0, tag),
                        lambda into: world.Irecv(into, 0, tag).wait(),
                        lambda into: world.Irecv(into, 0, tag).Wait() and None,
                        lambda into: waitio.waitall([world.Irecv(into, 0, tag)])[0],
                        lambda into: world.Recv(into, 0, tag),
                    ):
                        into = make(np.zeros_like(array))
                        status = receive(into)
                        assert status is None or status.count == array.nbytes
                        assert np.array_equal(into.get(), array)
                    into = np.zeros_like(array)
                    world.Recv(into, 0, tag)
                    assert np.array_equal(into, array)
                    assert since(before) == (0, 5 * array.nbytes)
        out = into = None
        gc.collect()
        assert Tensor.live() == 0, "capsules are held"
    """)


def test_sendrecv(devices):
    devices.passes("""
        for n in (1, 200_000):
            mine, other = Cuda(np.full(n, float(me))), Tensor(np.zeros(n))
            status = world.Sendrecv(mine, 1 - me, 5, other, 1 - me, 5)
            assert status.source == 1 - me and (other.get() == 1 - me).all()
    """)


def test_every_way_to_complete(devices):
    """What arrived is on the device when the request says that it is over."""
    devices.passes("""
        async def wait(request):
            return await request
        def until(call):
            while True:
                found = call()
                if found and found[0] is not False and found != (None, None) and found != ([], []):
                    return
        ways = [
            lambda r: r.wait(), lambda r: r.Wait(), lambda r: r.wait(timeout=30),
            lambda r: until(r.test), lambda r: until(lambda: (r.Test(),)),
            lambda r: waitio.waitany([None, r]), lambda r: waitio.waitall([r, None]),
            lambda r: waitio.waitsome([r]), lambda r: until(lambda: waitio.testall([r])),
            lambda r: until(lambda: waitio.testany([r])),
            lambda r: until(lambda: waitio.testsome([r])), lambda r: asyncio.run(wait(r)),
        ]
        for n in (3, 100_000):
            for tag, way in enumerate(ways):
                if me == 0:
                    world.Recv(bytearray(1), 1, 99)
                    world.Send(Cuda(np.full(n, tag + 1.0)), 1, tag)
                else:
                    into = Cuda(np.zeros(n))
                    request = world.Irecv(into, 0, tag)
                    assert request.test() == (False, None)
                    world.Send(b"x", 0, 99)
                    way(request)
                    assert request.done and (into.get() == tag + 1).all(), tag
    """)


def test_only_what_arrived_is_copied(devices):
    """A short message, one that is too long, a receive that was withdrawn, a peer that died."""
    devices.passes("""
        if me == 0:
            world.Send(np.arange(2.0), 1, 1)
            world.Send(np.arange(10.0), 1, 2)
            world.Send(np.arange(300_000.0), 1, 2)
            world.Recv(bytearray(1), 1, 9)
            os._exit(0)
        for receive in (world.Recv, lambda *words: world.Irecv(*words).wait()):
            into = Cuda(np.full(4, 7.0))
            if receive is world.Recv:
                before = copies()
                assert receive(into, 0, 1).count == 16
                assert since(before) == (0, 16) and into.get().tolist() == [0, 1, 7, 7]
            before = copies()
            refused(waitio.TruncateError, "32 bytes", receive, into, 0, 2)
            assert since(before) == (0, 32) and into.get().tolist() == [0, 1, 2, 3]
        into = Cuda(np.full(4, 7.0))
        before = copies()
        request = world.Irecv(into, 0, 3)
        request.cancel()
        assert request.wait().cancelled and since(before) == (0, 0)
        request = world.Irecv(into, 0, 4)
        world.Send(b"x", 0, 9)
        refused(waitio.PeerError, "", request.wait)
        refused(waitio.PeerError, "", world.Recv, into, 0, 5)
        assert since(before) == (0, 0) and into.get().tolist() == [7] * 4
    """)


def test_only_what_arrived_of_typed_messages_is_copied(devices):
    """The same for memory that is given with a count and a datatype, and for probed messages."""
    devices.passes("""
        D = waitio.DOUBLE
        pairs = np.zeros(3, np.dtype([("a", "f8"), ("b", "i4"), ("gap", "i4")]))
        if me == 0:
            for _ in range(4):
                world.Send(np.arange(2.0), 1, 1)
            for _ in range(2):
                world.Send(np.arange(10.0), 1, 2)
            world.Send([pairs, 2, waitio.DOUBLE_INT], 1, 3)
            world.Recv(bytearray(1), 1, 9)
            os._exit(0)
        for receive in (
            lambda into: world.Recv([into, 4, D], 0, 1),
            lambda into: world.Irecv([into, D], 0, 1).wait(),
            lambda into: world.Mprobe(0, 1).Recv(into),
            lambda into: world.Mprobe(0, 1).Recv([into, 3, D]),
        ):
            into, before = Cuda(np.full(4, 7.0)), copies()
            assert receive(into).count == 16
            assert since(before) == (0, 16) and into.get().tolist() == [0, 1, 7, 7]
        into, before = Cuda(np.full(4, 7.0)), copies()
        refused(waitio.TruncateError, "", world.Recv, [into, D], 0, 2)
        assert since(before) == (0, 32) and into.get().tolist() == [0, 1, 2, 3]
        into, before = Cuda(np.full(4, 7.0)), copies()
        refused(waitio.TruncateError, "", world.Irecv([into, 3, D], 0, 2).wait)
        assert since(before) == (0, 24) and into.get().tolist() == [0, 1, 2, 7]
        pairs["a"] = pairs["b"] = pairs["gap"] = 5  # the gap is brought from the device first
        found, before = Cuda(pairs), copies()
        assert world.Recv([found, 3, waitio.DOUBLE_INT], 0, 3).count == 24
        assert since(before) == (48, 32)
        assert found.get().tolist() == [(0, 0, 5), (0, 0, 5), (5, 5, 5)]
        into, before = Cuda(np.full(4, 7.0)), copies()
        request = world.Irecv([into, D], 0, 4)
        request.cancel()
        assert request.wait().cancelled
        world.Irecv([into, D], 0, 4)  # dropped
        request = world.Irecv([into, D], 0, 5)
        world.Send(b"x", 0, 9)
        refused(waitio.PeerError, "", request.wait)
        assert waitio._core._orphans() == 0
        assert since(before) == (0, 0) and into.get().tolist() == [7] * 4
    """)


def test_types_that_reach_beyond_their_extent(devices):
    """Columns, one beginning next to the other."""
    devices.passes("""
        column = waitio.DOUBLE.Create_vector(4, 1, 5).Create_resized(0, 8)
        # As large as what it holds, and yet with a gap in front, and within.
        late = waitio.DOUBLE.Create_hindexed([1, 1], [8, 24]).Create_resized(0, 16)
        table = np.arange(20.0).reshape(4, 5)
        if me == 0:
            world.Send([Cuda(table), 5, column], 1, 1)
            world.Send(np.ones(8), 1, 2)
            world.Send(np.ones(2), 1, 3)
        else:
            turned, into, row = np.zeros((5, 4)), Cuda(table), Cuda(np.arange(4.0))
            world.Recv(turned, 0, 1)
            assert np.array_equal(turned, table.T)
            world.Recv([into, 2, column], 0, 2)
            table[:, :2] = 1
            assert np.array_equal(into.get(), table)
            world.Recv([row, 1, late], 0, 3)
            assert row.get().tolist() == [0, 1, 2, 1]
    """)


def test_collectives(devices):
    """The same calls on host memory give the same results."""
    devices.passes(
        """
        size = world.size
        full = np.arange(4.0 * size) + 10 * me
        part = full[:4].copy()
        def both(call):
            results = []
            for make in (np.array, Cuda, Tensor):
                made = []
                def array(host):
                    made.append(make(np.asfortranarray(host)))
                    return made[-1]
                call(array)
                results.append([m if make is np.array else m.get() for m in made])
            for other in results[1:]:
                for a, b in zip(results[0], other):
                    assert np.array_equal(a, b), (call, a, b)
        IP, root = waitio.IN_PLACE, me == 1
        both(lambda a: world.Bcast(a(full), 1))
        both(lambda a: world.Reduce(a(full), a(np.zeros(4 * size)) if root else None, root=1))
        both(lambda a: world.Reduce(*((IP, a(full)) if root else (a(full), None)), root=1))
        for call in (world.Allreduce, world.Scan, world.Exscan):
            both(lambda a: call(a(full), a(np.full(4 * size, 0.5))))
            both(lambda a: call(IP, a(full)))
        both(lambda a: world.Allreduce(a(full), a(full), waitio.MAX))
        both(lambda a: world.Reduce_scatter(a(full), a(np.full(5, 0.5))))
        both(lambda a: world.Reduce_scatter(IP, a(full)))
        both(lambda a: world.Reduce_scatter(
            a(full), a(np.full(9, 0.5)), [1, 3] + [4 * size - 4] + [0] * (size - 3)))
        both(lambda a: world.Reduce_scatter_block(a(full), a(np.full(5, 0.5))))
        both(lambda a: world.Reduce_scatter_block(IP, a(3 - full)))
        both(lambda a: world.Gather(a(part), a(full) if root else None, root=1))
        both(lambda a: world.Gather(IP, a(full), 1) if root else world.Gather(a(part), None, 1))
        both(lambda a: world.Scatter(a(full) if root else None, a(part), 1))
        both(lambda a: world.Scatter(a(full), IP, 1) if root else world.Scatter(None, a(part), 1))
        both(lambda a: world.Allgather(a(part), a(full)))
        both(lambda a: world.Allgather(IP, a(full)))
        both(lambda a: world.Alltoall(a(full), a(np.zeros(4 * size))))
        both(lambda a: world.Alltoall(IP, a(full)))
        # Gaps between the parts, parts that do not lie in order, members without one.
        counts = [1, 0, 3, 2][:size]
        places = [9, 0, 4, 1][:size]
        mine = np.full(counts[me], 1.0 + me)
        wide = np.full(12, 0.5)
        both(lambda a: world.Gatherv(a(mine), [a(wide), counts, places] if root else None, 1))
        both(lambda a: world.Allgatherv(a(mine), [a(wide), (counts, places)]))
        both(lambda a: world.Allgatherv(a(mine), [a(wide), counts]))
        both(lambda a: world.Scatterv(
            [a(np.arange(12.0)), counts, places] if root else None, a(mine), 1))
        one, even = [1] * size, [2 * r for r in range(size)]
        both(lambda a: world.Alltoallv([a(full), one], [a(wide), one, even]))
        """,
        blocks=[2, 1],
    )


def test_collectives_copy_what_they_use(devices):
    devices.passes(
        """
        big = Cuda(np.arange(1000.0))
        into = Cuda(np.full(1000, 0.5))
        def copied(n_in, n_out, call, *args):
            before = copies()
            call(*args)
            assert since(before) == (8 * n_in, 8 * n_out), since(before)
        here = int(me == 0)
        copied(5 * here, 5 * (1 - here), world.Bcast, [into if me else big, 5], 0)
        copied(3, 3, world.Allreduce, [big, 3], [into, 3])
        copied(3, 3, world.Allreduce, waitio.IN_PLACE, [into, 3])
        copied(2, 6 * here, world.Gather, [big, 2], [into, 6])
        copied(1, 3, world.Allgatherv, [big, 1], [into, [1, 1, 1], [0, 100, 200]])
        copied(2, 2 * int(me != 0), world.Exscan, [big, 2], [into, 2])
        copied(0, 0, world.Barrier)
        # A type with a gap between its parts keeps what the gap holds.
        pairs = np.zeros(2, np.dtype([("a", "f8"), ("b", "i4"), ("gap", "i4")]))
        pairs["gap"] = 5
        pairs["a"], pairs["b"] = me, me
        found = Cuda(pairs)
        world.Allreduce([Cuda(pairs), "missing"][:1] + [waitio.DOUBLE_INT],
                        [found, waitio.DOUBLE_INT], waitio.MAXLOC)
        assert found.get().tolist() == [(2.0, 2, 5)] * 2
        """,
        blocks=[2, 1],
    )


def test_started_collectives(devices):
    """Completed by waiting, testing, awaiting, or by the next call after an interrupt."""
    devices.passes("""
        for way in range(4):
            into = Cuda(np.zeros(1000))
            request = world.Iallreduce(Cuda(np.full(1000, 1.0 + me)), into)
            if way == 0:
                request.Wait()
            elif way == 1:
                while not request.Test():
                    pass
            elif way == 2:
                async def wait():
                    await request
                asyncio.run(wait())
            else:
                waitio.waitall([request, world.Ibarrier()])
            assert (into.get() == 3).all()
        # Nobody waits for it, and both arrays are the request's alone.
        kept = Cuda(np.zeros(1000))
        request = world.Iallreduce(Cuda(np.full(1000, 1.0 + me)), kept)
        del request
        world.Barrier()
        while waitio._core._orphans():
            world.Barrier()
        assert (kept.get() == 3).all()
    """)


def test_persistent_requests(devices):
    """The send buffer is copied again at every start, and its work waited for."""
    devices.passes("""
        stream = new_stream()
        for make in (lambda a: Cuda(a, stream=stream), lambda a: Tensor(a, stream=stream)):
            array = make(np.zeros(1000, "u1"))
            before = copies()
            if me == 0:
                sends = [world.Send_init(array, 1, 1), world.Ssend_init(array, 1, 1)]
                assert since(before) == (0, 0)
                for round in range(3):
                    for send in sends:
                        fill_on(stream, array, 10 + round)
                        send.Start()
                        send.wait()
                assert since(before) == (6000, 0)
                for send in sends:
                    send.Free()
            else:
                receive = world.Recv_init(array, 0, 1)
                for round in range(6):
                    receive.Start()
                    assert receive.wait().count == 1000
                    assert (array.get() == 10 + round // 2).all()
                assert since(before) == (0, 6000)
                receive.Free()
            send = receive = None
        # What it says about itself changed: no round with the wrong memory.
        array = Cuda(np.zeros(4))
        request = world.Send_init(array, 1 - me, 2)
        array.changes["shape"] = (2,)
        refused(waitio.BufferError, "16 bytes now|had 32", request.Start)
        array.changes["shape"] = (4,)
        other = Cuda(np.full(4, 1.0 + me))
        array.changes["data"] = (other.address, False)  # moved, of the same size
        receive = Cuda(np.zeros(4))
        into = world.Irecv(receive, 1 - me, 2)
        request.Start()
        waitio.waitall([request, into])
        assert receive.get().tolist() == [2.0 - me] * 4
    """)


def test_work_on_streams_is_waited_for(devices):
    devices.passes("""
        own = new_stream()
        for stream in (LEGACY, PER_THREAD, own):
            if me == 0:
                out = Cuda(np.zeros(100, "u1"), stream=stream)
                fill_on(stream, out, stream % 200)
                world.Send(out, 1)
                out = Tensor(np.zeros(100, "u1"), stream=stream)
                fill_on(stream, out, stream % 200)
                world.Send(out, 1)
            else:
                for make in (Cuda, Tensor):
                    into = make(np.zeros(100, "u1"), stream=stream)
                    fill_on(stream, into, 9)  # a write that is not to come after the message
                    world.Recv(into, 0)
                    wait_for(stream)
                    assert (into.get() == stream % 200).all(), stream
        before = FAKE and calls("cuStreamSynchronize")
        if me == 0:  # None: nothing to wait for
            world.Send(Cuda(np.zeros(1)), 1)
            assert not FAKE or calls("cuStreamSynchronize") == before + 1  # that of set()
        else:
            world.Recv(bytearray(8), 0)
    """)


@pytest.mark.parametrize(
    ("call", "made", "words"),
    [
        ("Send", "Cuda(a, strides=(48, 8))", "strides (48, 8)|shape (4, 3)|ascontiguousarray"),
        ("Recv", "Cuda(a, strides=(48, 8))", "strides (48, 8)|into a contiguous array"),
        ("Send", "Cuda(a, strides=(-24, 8))", "strides (-24, 8)|not contiguous"),
        ("Send", "Cuda(a, strides=(8,))", "shape is (4, 3)|strides are (8,)"),
        ("Send", "Cuda(a, mask=a)", "mask|one by one"),
        ("Recv", "Cuda(a, data=(8, True))", "read-only|writable array"),
        ("Send", "Cuda(a, data=...)", "lacks 'data'"),
        ("Send", "Cuda(a, shape=...)", "lacks 'shape'"),
        ("Send", "Cuda(a, typestr=...)", "lacks 'typestr'"),
        ("Send", "Cuda(a, data=7)", "data 7|(address, read-only)"),
        ("Send", "Cuda(a, data=(None, False))", "address is 0x0"),
        ("Send", "Cuda(a, data=(-8, False))", "address is -0x8"),
        ("Send", "Cuda(a, data=(4096, False))", "does not know its address 0x1000"),
        ("Recv", "Cuda(a, data=(4096, False))", "CUDA_ERROR_INVALID_VALUE (1)"),
        ("Send", "Cuda(a, typestr='f')", "typestr 'f'"),
        ("Send", "Cuda(a, typestr='|O8')", "Python objects"),
        ("Send", "Cuda(a, shape=(4, -3))", "shape (4, -3)"),
        ("Send", "Cuda(a, shape=7)", "shape 7"),
        ("Send", "Cuda(a, shape=(2**40, 2**40))", "larger than any memory"),
        ("Send", "Cuda(a, stream=0)", "stream 0|legacy default"),
        ("Send", "Cuda(a, stream='x')", "stream 'x'"),
        ("Send", "Odd(None)", "is a NoneType, not a dict"),
        ("Send", "Odd(OSError('gone'))", "says: gone"),
        ("Send", "Tensor(a, strides=(6, 1))", "strides (48, 8)|contiguous()"),
        ("Send", "Tensor(a, bits=4)", "4 bits|view them as bytes"),
        ("Recv", "Tensor(a, versioned=True, flags=1)", "read-only|writable tensor"),
        ("Recv", "Tensor(a, versioned=True, flags=2)", "gives a copy"),
        ("Send", "Tensor(a, versioned=True, version=2)", "version 2, not 1"),
        ("Send", "Tensor(a, device_type=10)", "device (DLPack's kind 10)|copy to the host first"),
        ("Recv", "Tensor(a, device_type=10)", "device (DLPack's kind 10)|receive into a host"),
        ("Send", "Broken(a)", "__dlpack__ says: no"),
        ("Send", "Strange(a)", "gives no tensor"),
    ],
)
def test_refused_arrays(device, call, made, words):
    device.passes(
        f"""
        class Odd:
            def __init__(self, found): self.found = found
            @property
            def __cuda_array_interface__(self):
                if isinstance(self.found, Exception):
                    raise self.found
                return self.found
        class Broken(Tensor):
            def __dlpack__(self, stream=None): raise RuntimeError("no")
        class Strange(Tensor):
            def __dlpack__(self, stream=None): return 7
        a = np.zeros((4, 3))
        before = copies()
        for name in ("{call}", "I{call.lower()}", "{call}_init"):
            refused(waitio.BufferError, {words!r}, getattr(world, name), {made}, 0)
        refused(waitio.BufferError, {words!r}, world.Bcast, {made}, {0 if call == "Send" else 1})\
            if {call == "Send"} else None
        assert since(before) == (0, 0)
        gc.collect()
        assert Tensor.live() == 0
        request = world.Irecv(bytearray(1), 0)
        world.Send(b"x", 0)
        assert request.wait().count == 1
        """,
        blocks=[1],
    )


@needs_fake
def test_failures_of_the_driver(devices):
    """Each names the call, CUDA's error and its number; the next operation works."""
    devices.passes("""
        def failing(which, code=700, nth=""):
            os.environ["FAKE_CUDA_FAIL"] = f"{which}={code}{nth}"
        if me == 0:
            out = Cuda(np.arange(4.0))
            for which, name in (("cuMemcpyDtoH_v2", "cuMemcpyDtoH"),
                                ("cuCtxPushCurrent_v2", "cuCtxPushCurrent"),
                                ("cuCtxPopCurrent_v2", "cuCtxPopCurrent")):
                failing(which)
                for call_ in (world.Send, world.Isend, world.Ssend):
                    error = refused(waitio.SystemError, f"{name} returns CUDA_ERROR_ILLEGAL_ADDRESS"
                                    "|(700)|copying 32 bytes from|Cuda", call_, out, 1)
                    assert isinstance(error, OSError)
                del os.environ["FAKE_CUDA_FAIL"]
                while cuda.fake_depth():  # what the failing pop left
                    call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
            failing("cuStreamSynchronize", 999)
            out.changes["stream"] = 1
            refused(waitio.SystemError, "waiting for the work|CUDA_ERROR_UNKNOWN (999)", world.Send,
                    out, 1)
            failing("cuPointerGetAttribute", 123456)
            refused(waitio.BufferError, "returns 123456", world.Send, out, 1)
            request = None
            del os.environ["FAKE_CUDA_FAIL"]
            request = world.Send_init(out, 1, 8)
            failing("cuMemcpyDtoH_v2")
            refused(waitio.SystemError, "CUDA_ERROR_ILLEGAL_ADDRESS", request.Start)
            del os.environ["FAKE_CUDA_FAIL"]
            request.Start()
            request.wait()
            for i in range(6):
                world.Recv(bytearray(1), 1, 99)
                world.Send(out, 1, 1)
        else:
            into = Cuda(np.zeros(4))
            world.Recv(into, 0, 8)
            assert into.get().tolist() == [0, 1, 2, 3]
            into.set(np.full(4, 7.0))
            for which, name in (("cuMemcpyHtoD_v2", "cuMemcpyHtoD"),
                                ("cuStreamSynchronize", "cuStreamSynchronize")):
                world.Send(b"x", 0, 99)
                failing(which)
                refused(waitio.SystemError, f"{name} returns CUDA_ERROR_ILLEGAL_ADDRESS (700)|to",
                        world.Recv, into, 0, 1)
                del os.environ["FAKE_CUDA_FAIL"]
                request = world.Irecv(into, 0, 1)
                world.Send(b"x", 0, 99)
                failing(which)
                for call_ in (request.wait, request.Wait, request.test):
                    refused(waitio.SystemError, f"{name} returns", call_)
                assert request.done and "failed" in repr(request)
                del os.environ["FAKE_CUDA_FAIL"]
            # Both fail: the operation's failure is told, the copy's is its cause.
            small = Cuda(np.zeros(2))
            world.Send(b"x", 0, 99)
            failing("cuMemcpyHtoD_v2")
            error = refused(waitio.TruncateError, "16 bytes", world.Recv, small, 0, 1)
            assert isinstance(error.__cause__, waitio.SystemError)
            del os.environ["FAKE_CUDA_FAIL"]
            world.Send(b"x", 0, 99)
            world.Recv(into, 0, 1)
            assert into.get().tolist() == [0, 1, 2, 3]
        total = Cuda(np.zeros(4))
        failing("cuMemcpyHtoD_v2")
        refused(waitio.SystemError, "ILLEGAL_ADDRESS (700)", world.Allreduce, np.ones(4), total)
        del os.environ["FAKE_CUDA_FAIL"]
        world.Allreduce(np.ones(4), total)
        assert total.get().tolist() == [2] * 4
    """)


@needs_fake
@pytest.mark.parametrize(
    ("fail", "words"),
    [
        ("cuInit=100", "device|CUDA_ERROR_NO_DEVICE (100)|copy to the host first"),
        (None, "device|libcuda.so.1|copy to the host first"),
    ],
)
def test_without_a_driver(alone, fake_cuda, tmp_path, fail, words):
    """The refusal names the device and the remedy; host arrays need no driver."""
    library = fake_cuda
    if fail is None:
        (tmp_path / "libcuda.so.1").write_text("no library")  # hides a true one
        library = tmp_path
    head = re.sub(r"from device_arrays .*\n", "", HEAD)
    alone.passes(
        head
        + textwrap.dedent(
            f"""
            class Array:
                __cuda_array_interface__ = dict(shape=(1,), typestr="<f8", data=(4096, False))
            class OnDevice:
                def __dlpack__(self): raise AssertionError("not to be called")
                def __dlpack_device__(self): return (2, 0)
            request = world.Irecv(np.zeros(3), 0)
            world.Send(np.zeros(3), 0)
            request.wait()
            assert "waitio.device" not in sys.modules
            assert "libcuda" not in open("/proc/self/maps").read(), "the driver was loaded"
            for made in (Array(), OnDevice()):
                for call in (world.Send, world.Irecv):
                    refused(waitio.BufferError, {words!r}, call, made, 0)
            """
        ),
        blocks=[1],
        env={"LD_LIBRARY_PATH": str(library), "FAKE_CUDA_FAIL": fail or ""},
    )


@needs_fake
def test_other_devices_and_pointers_without_a_context(device):
    device.passes(
        """
        array = Cuda(np.arange(3.0), device=1)
        into = Cuda(np.zeros(3), device=0)
        request = world.Irecv(into, 0)
        world.Send(array, 0)
        request.wait()
        assert into.get().tolist() == [0, 1, 2]
        # Memory of a stream's pool names no context: its device's primary one is used, and let go.
        held = cuda.fake_retained(1)
        for result in (0, 1):
            call("fake_hide_context", Address(array.address), result)
            request = world.Irecv(array, 0)
            assert cuda.fake_retained(1) == held + 1
            world.Send(np.full(3, 5.0 + result), 0)
            request.wait()
            assert array.get().tolist() == [5 + result] * 3 and cuda.fake_retained(1) == held
        os.environ["FAKE_CUDA_FAIL"] = "cuDevicePrimaryCtxRetain=2"
        refused(waitio.SystemError, "cuDevicePrimaryCtxRetain returns CUDA_ERROR_OUT_OF_MEMORY (2)",
                world.Send, array, 0)
        del os.environ["FAKE_CUDA_FAIL"]
        """,
        blocks=[1],
    )


def test_requests_hold_the_array(devices):
    """Until they are over, then no longer; dropped ones go on and land."""
    devices.passes("""
        import weakref
        if me == 0:
            n = 1_000_000  # waits for the receiver
            array = Cuda(np.arange(float(n)))
            gone = weakref.ref(array)
            request = world.Isend(array, 1, 1)
            del array
            gc.collect()
            assert gone() is not None and not request.done
            world.Send(b"x", 1, 9)
            request.wait()
            gc.collect()
            assert gone() is None
            world.Recv(bytearray(1), 1, 9)
            world.Send(np.full(3, 5.0), 1, 2)
            large = world.Isend(np.full(n, 6.0), 1, 3)
            world.Send(b"x", 1, 8)
            large.wait()
            world.Recv(bytearray(1), 1, 10)
        else:
            array = Cuda(np.zeros(1_000_000))
            world.Recv(bytearray(1), 0, 9)
            request = world.Irecv(array, 0, 1)
            seen = weakref.ref(array)
            del array
            gc.collect()
            assert seen() is not None
            request.wait()
            assert seen() is None
            small, large = Cuda(np.zeros(3)), Cuda(np.zeros(1_000_000))
            requests = [world.Irecv(small, 0, 2), world.Irecv(large, 0, 3)]
            world.Send(b"x", 0, 9)
            world.Recv(bytearray(1), 0, 8)  # what was sent before it has matched
            del requests
            until = time.monotonic() + 30
            while waitio._core._orphans() and time.monotonic() < until:
                time.sleep(0.01)
            assert small.get().tolist() == [5] * 3, small.get()
            assert (large.get() == 6).all()
            world.Send(b"x", 0, 10)
    """)


def test_requests_in_cycles(devices):
    """The garbage collector leaves array and request alone until the operation is over."""
    devices.passes("""
        import weakref
        class Array(np.ndarray):
            pass
        class Model:
            pass
        n = 300_000  # a send of so much waits for the receiver
        def start(array, sends):
            if sends:
                return world.Isend(array, 1, 5)
            return world.Iallreduce(np.full(n, 1.0 + me), array)
        def value(array):
            return np.asarray(array if isinstance(array, Array) else array.get())
        makers = (lambda: np.full(n, 3.0).view(Array), lambda: Cuda(np.full(n, 3.0)))
        for make, direct, sends in [(m, d, s) for m in makers for d in (1, 0) for s in (1, 0)]:
            if me == 1:
                world.Recv(bytearray(1), 0, 9)
                found = np.zeros(n)
                world.Recv(found, 0, 5) if sends else start(found, sends).wait()
                assert (found == 3).all()
                continue
            array, model = make(), Model()
            seen = weakref.ref(array)
            if direct:
                array.request = start(array, sends)
            else:
                model.array, model.request, model.me = array, start(array, sends), model
            del array, model
            gc.collect()
            assert seen() is not None
            assert waitio._core._orphans() == (0 if direct else 1)
            world.Send(b"x", 1, 9)
            kept = seen()
            if direct:
                kept.request.wait()
            until = time.monotonic() + 30
            while waitio._core._orphans() and time.monotonic() < until:
                time.sleep(0.001)
            assert (value(kept) == 3).all()
            del kept
            gc.collect()
            assert seen() is None, "it is held still"
    """)


@needs_fake
def test_a_failure_that_nobody_waits_for_is_printed(device):
    cast = device.passes(
        """
        into = Cuda(np.zeros(3))
        request = world.Irecv(into, 0)
        world.Send(np.ones(3), 0)
        os.environ["FAKE_CUDA_FAIL"] = "cuMemcpyHtoD_v2=700"
        seen = []
        sys.unraisablehook = lambda found: seen.append(found.exc_value)
        world.Iprobe(0, 55)  # lets the message match
        del request
        assert len(seen) == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS" in str(seen[0]), seen
        del os.environ["FAKE_CUDA_FAIL"]
        """,
        blocks=[1],
    )
    assert len(cast) == 1


def test_control_c_leaves_the_array_alone(devices):
    devices.passes("""
        array = Cuda(np.full(3, 7.0))
        if me == 0:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            refused(KeyboardInterrupt, "", world.Recv, array, 1, 1)
            assert array.get().tolist() == [7] * 3 and copies() == (0, 0)
            world.Send(b"x", 1, 2)
            world.Recv(array, 1, 1)
            assert array.get().tolist() == [1] * 3
        else:
            world.Recv(bytearray(1), 0, 2)
            world.Send(np.ones(3), 0, 1)
    """)


def test_finalize_with_pending_requests(devices):
    """They end; nothing is copied to arrays whose message did not come."""
    devices.passes("""
        array = Cuda(np.full(3, 7.0))
        kept = world.Irecv(array, 1 - me, 1)
        dropped = world.Irecv(array, 1 - me, 2)
        persistent = world.Recv_init(array, 1 - me, 3)
        del dropped
        world.Barrier()
        universe.finalize()
        refused(waitio.StateError, "finalize", kept.wait)
        assert array.get().tolist() == [7] * 3 and waitio._core._staging() == (0, 0)
        refused(waitio.StateError, "", world.Send, array, 0)
    """)


def test_a_forked_child(device):
    """It is refused before CUDA is asked, and its end does not harm the parent's request."""
    device.passes(
        """
        import warnings
        warnings.simplefilter("ignore")
        array = Cuda(np.zeros(3))
        request = world.Irecv(array, 0)
        persistent = world.Recv_init(array, 0, 9)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                refused(waitio.ForkError, "forked", world.Send, array, 0)
                del request, persistent
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        world.Send(np.ones(3), 0)
        request.wait()
        assert array.get().tolist() == [1] * 3
        """,
        blocks=[1],
    )


def test_host_memory_is_used_again(device):
    """A small number of pieces is kept, however many were in use and of whatever size."""
    device.passes(
        """
        staging = waitio._core._staging
        array = Cuda(np.arange(200_000.0))
        into = Cuda(np.zeros(200_000))
        for i in range(50):
            request = world.Irecv(into, 0)
            world.Send(array, 0)
            request.wait()
        assert staging() == (2, 2 << 21), staging()
        requests = [world.Irecv(Cuda(np.zeros(1 + 5000 * i)), 0, 7) for i in range(40)]
        assert staging()[0] <= 8
        for request in requests:
            request.cancel()
        waitio.waitall(requests)
        assert staging()[0] == 8
        requests = [world.Irecv(Cuda(np.zeros(3 << 20)), 0, 7) for i in range(8)]
        for request in requests:
            request.cancel()
        waitio.waitall(requests)
        del request, requests
        pieces, held = staging()
        assert pieces == 5 and held == 5 * 24 << 20, (pieces, held)
        # A small array does not take a large piece.
        request = world.Irecv(Cuda(np.zeros(3)), 0, 7)
        assert staging()[0] == 5
        request.cancel()
        request.wait()
        """,
        blocks=[1],
    )


def test_memory_does_not_grow(device):
    device.passes(
        """
        import resource
        array, into = Cuda(np.arange(1000.0)), Tensor(np.zeros(1000))
        def rounds(n):
            for i in range(n):
                request = world.Irecv(array, 0)
                world.Send(array, 0)
                request.wait()
        rounds(2000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rounds(20_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 512, f"{grown} KiB"
        """,
        blocks=[1],
    )
