# SPDX-License-Identifier: BSD-3-Clause
"""Requests: waiting for one, all, any; time limits; dropped ones; asyncio; signals."""

import signal
import time

import patience
import pytest


def test_waits_for_all_and_any(universe):
    universe.passes("""
        if me == 0:
            world.Recv(bytearray(1), 1, 99)
            for tag in (2, 0, 1):
                world.Send(np.full(3, float(tag)), 1, tag)
            world.send({"tag": 3}, 1, 3)
        else:
            into = [np.zeros(3) for _ in range(3)]
            requests = [world.Irecv(into[tag], 0, tag) for tag in range(3)]
            requests += [world.irecv(0, 3), None]
            assert waitio.testall(requests) == (False, None)
            assert waitio.testany(requests) == (None, None)
            assert requests[0].test() == (False, None) and not requests[0].Test()
            assert "pending" in repr(requests[0]) and "pending" in repr(requests[3])
            for wait in (waitio.waitany, waitio.waitall):
                try:
                    wait(requests, timeout=0.05)
                except waitio.TimeoutError as error:
                    assert "0.05" in str(error) or wait is waitio.waitall
                else:
                    raise SystemExit("no timeout")
            assert not any(r.done for r in requests if r)
            world.Send(b"x", 0, 99)
            index, status = waitio.waitany(requests[:3])
            assert status.tag == index and into[index].tolist() == [index] * 3
            results = waitio.waitall(requests)
            assert [r.tag for r in results[:3]] == [0, 1, 2]
            assert results[3] == {"tag": 3} and results[4] is None
            assert requests[3].status.source == 0
            assert waitio.testall(requests)[1][3] == {"tag": 3}
            assert waitio.waitany([None]) == (None, None) and waitio.waitall([]) == []
            assert requests[0].Wait() and requests[0].wait().tag == 0  # again: the same
    """)


def test_a_failure_among_many(universe):
    """All are over before the first failure is raised; each request keeps its own."""
    universe.passes("""
        if me == 0:
            for tag in range(3):
                world.Send(b"12345678", 1, tag)
        else:
            room = [bytearray(8), bytearray(2), bytearray(8)]
            requests = [world.Irecv(room[tag], 0, tag) for tag in range(3)]
            try:
                waitio.waitall(requests)
            except waitio.TruncateError as error:
                assert "8 bytes" in str(error)
            else:
                raise SystemExit("no error")
            assert all(r.done for r in requests) and "failed" in repr(requests[1])
            assert requests[2].wait().count == 8
            for call in (requests[1].wait, requests[1].Test):
                try:
                    call()
                except waitio.TruncateError:
                    pass
                else:
                    raise SystemExit("the failure was forgotten")
    """)


def test_cancel(universe):
    universe.passes("""
        if me == 0:
            request = world.Irecv(bytearray(8), 1, 5)
            request.cancel()
            status = request.wait()
            assert status.cancelled and status.Is_cancelled()
            request.cancel()  # over already
            objects = world.irecv(1, 5)
            objects.Cancel()
            try:
                objects.wait()
            except waitio.CancelledError:
                pass
            else:
                raise SystemExit("an object came")
            sending = world.Isend(np.zeros(1_000_000), 1, 6)
            sending.Cancel()  # it waits for its receive
            assert sending.wait().cancelled
            world.Send(b"5", 1, 5)
        else:
            world.Recv(bytearray(1), 0, 5)
    """)


def test_wait_with_a_time_limit(universe):
    universe.passes("""
        if me == 0:
            into = bytearray(3)
            request = world.Irecv(into, 1)
            began = time.monotonic()
            try:
                request.wait(timeout=0.1)
            except waitio.TimeoutError as error:
                assert error.code == waitio.ERR_TIMEOUT and "0.1 s" in str(error), error
            assert 0.1 <= time.monotonic() - began < 5
            assert not request.done
            world.Send(b"go", 1)
            assert request.wait(timeout=30).count == 3 and into == b"yes"
        else:
            world.Recv(bytearray(2))
            world.Send(b"yes", 0)
    """)


def test_requests_hold_their_buffers(universe):
    """The arrays are dropped while the library still reads and writes them."""
    universe.passes("""
        import weakref
        n = 500_000
        if me == 0:
            requests = [world.Isend(np.full(n, float(i)), 1, i) for i in range(5)]
            gc.collect()
            junk = [np.full(n, -1.0) for _ in range(5)]
            waitio.waitall(requests)
        else:
            class Array(np.ndarray):
                pass
            into = np.zeros(n).view(Array)
            alive = weakref.ref(into)
            request = world.Irecv(into, 0, 0)
            del into
            gc.collect()
            assert alive() is not None
            request.wait()
            assert alive() is None, "the buffer is held beyond the end"
            for i in range(1, 5):
                into = np.zeros(n)
                world.Recv(into, 0, i)
                assert (into == i).all(), i
    """)


def test_dropped_requests(universe):
    """A dropped send is delivered from memory that is held; a dropped receive is withdrawn."""
    universe.passes("""
        from waitio import _core
        n = 500_000
        if me == 0:
            for i in range(20):
                world.Isend(np.full(n, float(i)), 1, i)
            gc.collect()
            assert _core._orphans() == 20
            junk = [np.full(n, -1.0) for _ in range(20)]
            world.Recv(bytearray(0), 1, 97)  # the receives that must not take it are withdrawn
            world.Send(b"", 1, 98)
            world.Recv(bytearray(0), 1, 99)
            until = time.monotonic() + 30
            while _core._orphans() and time.monotonic() < until:
                time.sleep(0.001)
            assert _core._orphans() == 0
        else:
            for _ in range(100):
                world.Irecv(bytearray(0), 0, 98)
            assert _core._orphans() == 0
            world.Send(b"", 0, 97)
            world.Recv(bytearray(0), 0, 98)
            into = np.zeros(n)
            for i in range(20):
                world.Recv(into, 0, i)
                assert (into == i).all(), i
            world.Send(b"", 0, 99)
    """)


def test_await(universe):
    universe.passes("""
        ticks = 0

        async def tick():
            global ticks
            while True:
                ticks += 1
                if ticks == 20 and me == 1:
                    await world.isend("it goes on", 0, 30)
                await asyncio.sleep(0.001)

        async def main():
            other = 1 - me
            ticking = asyncio.ensure_future(tick())
            into = np.zeros(300_000)
            if me == 0:
                # The other one waits: its loop must go on.
                assert await asyncio.wait_for(world.irecv(other, 30), 20) == "it goes on"
                await asyncio.gather(*(world.Isend(np.full(300_000, float(t)), other, t)
                                       for t in range(4)))
                assert await world.irecv(other) == ["answer"]
                status = await world.Irecv(into, other, 8)
                assert status.tag == 8
                try:
                    await world.Irecv(bytearray(1), other, 9)
                except waitio.TruncateError as error:
                    assert error.peer.pb == 1
                else:
                    raise SystemExit("no error")
            else:
                rooms = [np.zeros(300_000) for _ in range(4)]
                requests = [world.Irecv(room, other, t) for t, room in enumerate(rooms)]
                done = await asyncio.gather(*requests)
                assert [s.tag for s in done] == [0, 1, 2, 3]
                assert all((room == t).all() for t, room in enumerate(rooms))
                await world.isend(["answer"], other)
                await world.Isend(into, other, 8)
                await world.Isend(b"too long", other, 9)
            # A task that is cancelled leaves its request under way.
            request = world.Irecv(bytearray(3), other, 20)
            try:
                await asyncio.wait_for(request_of(request), 0.05)
            except asyncio.TimeoutError:
                assert not request.done
            await world.Isend(b"end", other, 20)
            assert (await request).count == 3
            ticking.cancel()

        async def request_of(request):
            world.Iprobe()
            await asyncio.sleep(0)
            return await request if me == 2 else await asyncio.sleep(1)

        asyncio.run(main())
        asyncio.run(asyncio.wait_for(asyncio.sleep(0), 1))  # another loop of the same process
    """)


def test_a_cancelled_await_leaves_the_request(alone):
    alone.passes(
        """
        async def main():
            into = bytearray(3)
            request = world.Irecv(into, 0)
            async def wait():
                await request
            try:
                await asyncio.wait_for(wait(), 0.05)
            except asyncio.TimeoutError:
                pass
            assert not request.done
            world.Send(b"abc", 0)
            assert (await request).count == 3 and into == b"abc"
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_finalize_with_pending_awaits(alone):
    alone.passes(
        """
        async def main():
            tasks = [asyncio.ensure_future(take(world.Irecv(bytearray(4), 0))),
                     asyncio.ensure_future(take(world.irecv(0)))]
            await asyncio.sleep(0.05)
            waitio.finalize()
            for failure in await asyncio.wait_for(asyncio.gather(*tasks), 10):
                assert isinstance(failure, waitio.StateError), failure
                assert "finalize" in str(failure)
        async def take(request):
            try:
                return await request
            except waitio.Error as error:
                return error
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_iteration_over_messages(universe):
    universe.passes("""
        if me == 0:
            for i in range(5):
                world.Send(np.full(1000 * i, i, "u1"), 1, i)
            world.Recv(bytearray(0), 1)
            for i in range(5):
                world.Send(bytes([i]), 1, 7)
            world.Recv(bytearray(0), 1)
        else:
            found = list(world.messages(0, count=5))
            assert [m.tag for m in found] == [0, 1, 2, 3, 4] and {m.source for m in found} == {0}
            for i, message in enumerate(found):
                assert np.frombuffer(message.data, "u1").tolist() == [i] * 1000 * i
            assert list(world.messages(timeout=0.05)) == []
            assert list(world.messages(count=0)) == []
            world.Send(b"", 0)

            async def main():
                return [m async for m in world.messages(0, 7, timeout=5.0, count=5)]

            assert [m.data[0] for m in asyncio.run(main())] == [0, 1, 2, 3, 4]

            async def none():
                return [m async for m in world.messages(timeout=0.05)]

            assert asyncio.run(none()) == []
            world.Send(b"", 0)
    """)


WAITS = {
    "Recv": "world.Recv(bytearray(1), 0)",
    "Irecv": "world.Irecv(bytearray(1), 0).wait()",
    "recv": "world.recv(0)",
    "waitall": "waitio.waitall([world.Irecv(bytearray(1), 0), world.irecv(0)])",
    "waitany": "waitio.waitany([world.Irecv(bytearray(1), 0), world.irecv(0)])",
    "Probe": "world.Probe()",
    "messages": "next(world.messages())",
    "Send": "world.Send(np.zeros(2_000_000), 0)",
    "await": "asyncio.run(asyncio.wait_for(take(), 60))",
}


@pytest.mark.alone  # an interrupt is there within a second
@pytest.mark.parametrize("call", WAITS)
def test_interrupt_ends_a_wait_at_once(alone, call):
    """Control-C in every blocking call; the process can go on communicating."""
    (process,) = alone.play(
        f"""
        async def take():
            return await world.Irecv(bytearray(1), 0)
        print("waiting", flush=True)
        try:
            {WAITS[call]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        gc.collect()
        if "{call}" == "Send":
            world.Recv(np.zeros(2_000_000), 0)  # what was under way arrives whole
        into = bytearray(5)
        request = world.Irecv(into, 0)
        world.Send(b"still", 0)
        request.wait()
        assert into == b"still"
        """,
        blocks=[1],
    )
    alone.says(process, "waiting")
    time.sleep(0.3)  # it has gone to sleep
    began = time.monotonic()
    process.signal(signal.SIGINT)
    alone.says(process, "interrupted")
    assert time.monotonic() - began < patience.scaled(1.0)
    process.ended(0)


@pytest.mark.alone  # an interrupt is there within a second
def test_interrupt_while_joining(alone):
    """Nobody else comes: the wait for them ends at control-C, not at its timeout."""
    alone.set(WAITIO_INIT_TIMEOUT="100")
    path = alone.script(
        """
        print("joining", flush=True)
        try:
            waitio.init(100)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
        joined=False,
    )
    process = alone.python(path, 0, 0, 1, 2)
    alone.says(process, "joining")
    time.sleep(0.5)
    began = time.monotonic()
    process.signal(signal.SIGINT)
    alone.says(process, "interrupted")
    assert time.monotonic() - began < patience.scaled(1.0)
    process.ended(0, timeout=20)
