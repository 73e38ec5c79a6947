# SPDX-License-Identifier: BSD-3-Clause
"""Receives of objects that nobody waits for: withdrawn at once, without the garbage collector."""

import pytest

# Each leaves a receive of an object behind; the exception, where there is one, is still being
# handled when the next message comes, so that its traceback keeps what it can keep.
WAYS = {
    "dropped": "request = world.irecv(1 - me); del request; after()",
    "dropped unnamed": "world.irecv(1 - me); after()",
    "cancelled": "request = world.irecv(1 - me); request.cancel(); after()",
    "timed out": """
try:
    world.irecv(1 - me).wait(0.05)
except waitio.TimeoutError as error:
    kept = error
    after()
""",
    "recv interrupted": """
soon()
try:
    world.recv(1 - me)
except KeyboardInterrupt as error:
    kept = error
    after()
""",
    "wait interrupted": """
soon()
try:
    world.irecv(1 - me).wait()
except KeyboardInterrupt as error:
    kept = error
    after()
""",
    "sendrecv interrupted": """
soon()
try:
    world.sendrecv("mine", me, 7, 1 - me)
except KeyboardInterrupt as error:
    kept = error
    assert world.recv(me, 7) == "mine"
    after()
""",
    "await cancelled": """
async def give_up():
    task = asyncio.ensure_future(wait_for_it())
    await asyncio.sleep(0.05)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError as error:
        kept = error
        after()
async def wait_for_it():
    return await world.irecv(1 - me)
asyncio.run(give_up())
""",
    "await timed out": """
async def give_up():
    try:
        await asyncio.wait_for(wait_for_it(), 0.05)
    except asyncio.TimeoutError as error:
        kept = error
        after()
async def wait_for_it():
    return await world.irecv(1 - me)
asyncio.run(give_up())
""",
    "failed in between": """
def work():
    request = world.irecv(1 - me)
    raise LookupError
try:
    work()
except LookupError:
    pass
after()
""",
}

START = """
gc.disable()
def soon():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
def after():
    world.Send(b"", 1 - me, 9)       # now the other one sends
    found = world.recv(1 - me, 5)
    assert found == "the next", found
    print("got it", flush=True)
"""


@pytest.mark.parametrize("way", WAYS)
def test_the_next_object_is_not_swallowed(universe, way):
    cast = universe.passes(
        f"{START}\nif me == 0:\n"
        + "".join(f"    {line}\n" for line in WAYS[way].strip().splitlines())
        + """
else:
    world.Recv(bytearray(0), 0, 9)
    world.send("the next", 0, 5)
"""
    )
    assert "got it" in cast[0].lines


def test_what_has_begun_to_arrive_is_received_for_the_sender(universe):
    """A large object whose receive is dropped after its first message came: the sender ends."""
    universe.passes("""
        class Loud:
            def __reduce__(self): return (print, ("unpickled",))
        if me == 0:
            for how in range(3):
                request = world.irecv(1)
                world.Send(b"", 1, 9)
                while request.status is None and not request.done:
                    request._cores()[0].wait()
                    request._step()
                if how == 1:
                    request.cancel()
                del request
                assert world.recv(1, 6) == "small"
            assert world.recv(1) == "after"
        else:
            for how in range(3):
                world.Recv(bytearray(0), 0, 9)
                request = world.isend([Loud(), np.ones(3_000_000), "x" * 300_000], 0)
                world.send("small", 0, 6)
                request.wait(20)
            world.send("after", 0)
    """)


def test_requests_of_objects_are_freed_without_the_collector(alone):
    alone.passes(
        """
        import weakref
        gc.disable()
        sent = weakref.ref(world.isend("x", 0))
        assert sent() is None
        assert world.recv() == "x"
        request = world.irecv()
        gone = weakref.ref(request)
        del request
        assert gone() is None
        assert not world.Iprobe()
        """,
        blocks=[1],
    )
