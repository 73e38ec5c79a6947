# SPDX-License-Identifier: BSD-3-Clause
"""asyncio: the loop sleeps on a descriptor, and is told at once."""

import pytest


def test_an_await_is_told(universe):
    """It looks no more by itself than once, and every answer comes after it went to sleep."""
    universe.passes("""
        from waitio import aio
        aio.TICK = aio.SHORTEST = aio.LONGEST = 1000
        looks = []
        look = aio._Watcher._look
        aio._Watcher._look = lambda self: (looks.append(1), look(self))[1]
        async def ask():
            out, into = bytearray(8), bytearray(8)
            spent = []
            for i in range(30):
                request = world.Irecv(into, 1, 1)
                began = time.perf_counter()
                await world.Isend(out, 1, 1)
                await request
                spent.append(time.perf_counter() - began - 0.02)
            return sorted(spent)
        if me == 0:
            world.Sendrecv(b"", 1, 9, bytearray(1), 1, 9)
            spent = asyncio.run(ask())
            print("median", spent[15], "s,", len(looks), "looks")
        else:
            into = bytearray(8)
            world.Sendrecv(b"", 0, 9, bytearray(1), 0, 9)
            for i in range(30):
                world.Recv(into, 0, 1)
                time.sleep(0.02)  # by then it sleeps
                world.Send(into, 0, 1)
    """)


def test_a_sleeping_loop_uses_no_processor(alone):
    alone.passes(
        """
        async def main():
            request = world.irecv(0, 1)
            task = asyncio.ensure_future(wait(request))
            await asyncio.sleep(0.3)
            began, turns = time.process_time(), time.thread_time()
            await asyncio.sleep(1)
            assert time.process_time() - began < 0.1, time.process_time() - began
            world.send("an end", 0, 1)
            assert await task == "an end"
        async def wait(request):
            return await request
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_loops_in_several_threads(universe):
    universe.passes("""
        failures = []
        async def talk(tag):
            other = 1 - me
            for i in range(60):
                into = bytearray(8)
                request = world.Irecv(into, other, tag)
                if i % 20 == 7:
                    await asyncio.sleep(0.01 * me)  # the other one sleeps meanwhile
                await world.Isend(i.to_bytes(8, "big"), other, tag)
                await request
                assert int.from_bytes(into, "big") == i
            async for message in world.messages(other, 50 + tag, count=1):
                assert message.data == b"end"
        async def send_end(tag):
            await world.Isend(b"end", 1 - me, 50 + tag)
        async def both(tag):
            await asyncio.wait_for(asyncio.gather(talk(tag), send_end(tag)), 60)
        def run(tag):
            try:
                asyncio.run(both(tag))
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=run, args=(tag,)) for tag in range(4)]
        for t in threads: t.start()
        world.Sendrecv(b"", 1 - me, 99, bytearray(0), 1 - me, 99)  # one that waits in C beside
        for t in threads: t.join()
        assert not failures, failures
    """)


def test_finalize_by_another_thread_ends_awaits(alone):
    alone.passes(
        """
        async def main():
            loop = asyncio.get_running_loop()
            tasks = [asyncio.ensure_future(take(r)) for r in (
                world.Irecv(bytearray(4), 0), world.irecv(0), world.Ibarrier())]
            tasks.append(asyncio.ensure_future(collect()))
            await asyncio.sleep(0.1)
            done = loop.run_in_executor(None, waitio.finalize)
            for failure in await asyncio.wait_for(asyncio.gather(*tasks), 10):
                assert failure is None or isinstance(failure, waitio.StateError), failure
            await done
        async def take(request):
            try:
                await request
            except waitio.Error as error:
                assert "finalize" in str(error), error
                return error
        async def collect():
            try:
                async for message in world.messages(0, 7):
                    raise SystemExit("a message")
            except waitio.Error as error:
                return error
            raise SystemExit("an end without an error")
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_iteration_in_a_cancelled_task_loses_nothing(alone):
    alone.passes(
        """
        async def main():
            messages = world.messages(0, 3)
            for i in range(30):
                task = asyncio.ensure_future(messages.__anext__())
                await asyncio.sleep(0)
                world.Send(bytes([i]), 0, 3)
                await asyncio.sleep(0.0005 * (i % 4))
                task.cancel()
                try:
                    message = await task
                except asyncio.CancelledError:
                    message = await asyncio.wait_for(messages.__anext__(), 10)
                assert message.data[0] == i, i
        asyncio.run(main())
        """,
        blocks=[1],
    )


@pytest.mark.parametrize("progress", ["poll", "thread"])
def test_every_kind_of_progress(make_universe, progress):
    """Without the library's thread there is no descriptor; the loop looks now and then."""
    u = make_universe(WAITIO_PROGRESS=progress)
    u.passes("""
        async def main():
            for i in range(20):
                found = world.irecv(1 - me, i)
                await world.isend([i, me], 1 - me, i)
                assert await found == [i, 1 - me]
                await asyncio.sleep(0.002 * me)
        asyncio.run(asyncio.wait_for(main(), 30))
    """)


def test_descriptors_go_with_their_loops(alone):
    alone.passes(
        """
        async def main():
            request = world.irecv(0)
            world.send(1, 0)
            task = asyncio.ensure_future(wait(world.irecv(0, 9)))
            await asyncio.sleep(0)
            assert await request == 1
            task.cancel()
        async def wait(request):
            return await request
        asyncio.run(main())
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(50):
            asyncio.run(main())
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= before + 1
        """,
        blocks=[1],
    )


AWAITS = """
        from waitio import aio
        async def told(send, tag):
            request = universe.world.irecv(0, tag)
            threading.Timer(0.05, lambda: send("told", 0, tag)).start()  # by then it sleeps
            return await asyncio.wait_for(wait(request), 30)
        async def wait(request):
            return await request
"""
# Only the descriptor can end an await then.
NO_PAUSES = """
        aio.TICK = aio.SHORTEST = aio.LONGEST = 1000
"""


def test_a_loop_that_outlives_rejoin(alone):
    """Rejoin in the loop, and by another thread while awaits sleep."""
    alone.passes(
        AWAITS
        + NO_PAUSES
        + """
        async def main():
            for i in range(3):
                assert await told(universe.world.send, 1) == "told"
                universe.rejoin(30)
            for i in range(3):
                assert await told(universe.world.send, 1) == "told"
                old = asyncio.ensure_future(wait(universe.world.irecv(0, 9)))
                await asyncio.sleep(0.02)
                await asyncio.get_running_loop().run_in_executor(None, universe.rejoin, 30)
                try:
                    await asyncio.wait_for(old, 30)
                except waitio.Error as error:
                    assert isinstance(error, (waitio.StateError, waitio.RequestError)), error
                else:
                    raise SystemExit("a message of a universe that was left")
            assert await told(universe.world.send, 1) == "told"
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_a_loop_without_awaits_rests(alone):
    """What happens while nothing is awaited wakes it once at most; awaits after that are told."""
    alone.passes(
        AWAITS
        + NO_PAUSES
        + """
        looks = []
        look = aio._Watcher._look
        aio._Watcher._look = lambda self: (looks.append(1), look(self))[1]
        async def main():
            for i in range(3):
                assert await told(universe.world.send, 1) == "told"
                del looks[:]
                universe.world.send("not awaited", 0, 2)
                await asyncio.sleep(0.2)
                assert len(looks) < 5, len(looks)
                if i == 1:
                    universe.rejoin(30)
                    await asyncio.sleep(0.2)
                    assert len(looks) < 5, len(looks)
        asyncio.run(main())
        """,
        blocks=[1],
    )


def test_rejoin_by_another_thread_at_the_worst_moment(alone):
    """Between the watcher's look which universe this is and the use of its descriptor."""
    alone.passes(
        AWAITS
        + """
        class Late:
            stale = []
            def __getattr__(self, name):
                return getattr(waitio._core, name)
            def _joined(self):
                return self.stale.pop() if self.stale else waitio._core._joined()
        aio._core = Late()
        failures = []
        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda _, what: failures.append(what))
            assert await told(universe.world.send, 1) == "told"
            Late.stale.append(waitio._core._joined())
            universe.rejoin(30)
            assert await told(universe.world.send, 1) == "told"
            assert not Late.stale and not failures, failures
        asyncio.run(main())
        """,
        blocks=[1],
    )
