# SPDX-License-Identifier: BSD-3-Clause
"""Many threads at once, with the interpreter's lock and, where it has none, without."""

import os
import sysconfig

import pytest

FREE = sysconfig.get_config_var("Py_GIL_DISABLED") == 1
SLOW = os.environ.get("WAITIO_TEST_SLOW") == "1"
MORE = 10 if SLOW else 1

# In front of each program: threads that start together, and whose failures are failures.
TOGETHER = """
import random
sys.setswitchinterval(1e-5)
other = 1 - me

def together(calls, limit=120):
    start, failures = threading.Barrier(len(calls)), []
    def one(call):
        start.wait(30)
        try:
            call()
        except BaseException:
            failures.append(sys.exc_info()[1])
            sys.excepthook(*sys.exc_info())
    threads = [threading.Thread(target=one, args=(call,), daemon=True) for call in calls]
    for t in threads: t.start()
    for t in threads: t.join(limit)
    assert not any(t.is_alive() for t in threads), "threads hang"
    assert not failures, failures
"""


def text(code):
    return TOGETHER + code


def test_the_extension_does_not_bring_the_lock_back(alone):
    """Programs run with -W error: the interpreter's warning would be one."""
    if not FREE:
        pytest.skip("this interpreter has a lock (no free-threaded build)")
    alone.passes(
        """
        assert not sys._is_gil_enabled(), "loading the package has enabled the lock"
        """,
        blocks=[1],
    )


def test_threads_exchange_everything_at_once(universe):
    """Small and large messages, objects, dropped requests, iteration, awaiting."""
    universe.passes(
        text(f"""
n = {20 * MORE}

def arrays(t):
    def run():
        into = np.zeros(20_000)
        for i in range(n):
            size = (1, 300, 20_000)[i % 3]
            request = world.Irecv(into[:size], other, t)
            world.Send(np.full(size, float(i + t)), other, t)
            assert request.wait().count == 8 * size and (into[:size] == i + t).all()
            world.Sendrecv(np.full(size, float(i)), other, t, into[:size], other, t)
            assert (into[:size] == i).all()
    return run

def objects(t):
    def run():
        for i in range(n):
            request = world.irecv(other, t)
            world.send([t, i, np.full(3000, i)], other, t)
            a, b, c = request.wait()
            assert (a, b) == (t, i) and (c == i).all() and len(c) == 3000
    return run

def dropped(t):
    def run():
        for i in range(n):
            world.Isend(np.full(10_000, float(i)), other, t)
            world.Irecv(np.zeros(10), other, 99)  # withdrawn
            if i % 10 == 0:
                gc.collect()
        into = np.zeros(10_000)
        for i in range(n):
            world.Recv(into, other, t)
            assert (into == i).all()
    return run

def looking():
    for i in range(20 * n):
        assert waitio.counters() and world.Iprobe(other, 95) is None
        group = waitio.Group.block(i % 2)
        assert group.size == 1 and world.locate(i % 2) == (i % 2, 0)
        group.free()

def iteration():
    requests = [world.Isend(np.full(100, float(i)), other, 96) for i in range(n)]
    for i, message in enumerate(world.messages(other, 96, count=n)):
        assert (np.frombuffer(message.data) == i).all()
    waitio.waitall(requests)

def awaiting(t):
    async def run():
        for i in range(n):
            request = world.irecv(other, t)
            await world.isend((t, i), other, t)
            assert await request == (t, i)
    return lambda: asyncio.run(run())

together([arrays(1), arrays(2), *map(objects, (3, 4, 5)),
          dropped(90), dropped(91), dropped(92), looking, iteration, awaiting(6), awaiting(7)])
world.Barrier()
until = time.monotonic() + 30  # the last answers are on their way
while waitio._core._orphans() and time.monotonic() < until:
    time.sleep(0.001)
assert waitio._core._orphans() == 0
"""),
        timeout=170,
    )


def test_threads_make_collectives_of_groups_of_their_own(universe):
    universe.passes(
        text(f"""
n = {20 * MORE}
groups = [world.Dup() for i in range(3)]

def collectives(k):
    def run():
        group, into = groups[k], np.zeros(500)
        for i in range(n):
            group.Allreduce(np.full(500, float(i)), into)
            assert (into == 2 * i).all()
            group.Ibarrier().wait()
            assert group.allgather(i) == [i, i]
    return run

def messages():
    into = np.zeros(3000)
    for i in range(n):
        world.Sendrecv(np.full(3000, float(i)), other, 1, into, other, 1)
        assert (into == i).all()

together([*map(collectives, range(3)), messages])
world.Barrier()
"""),
        timeout=170,
    )


def test_many_threads_drop_requests(universe):
    """The list of operations that nobody waits for is everybody's."""
    universe.passes(
        text("""
def drop(t):
    def run():
        for i in range(150):
            world.Isend(np.full(9_000, float(t)), other, t)
    return run

def receive(t):
    def run():
        into = np.zeros(9_000)
        for i in range(150):
            world.Recv(into, other, t)
            assert (into == t).all()
            waitio._core._orphans()
    return run

together([drop(t) for t in range(6)])
assert waitio._core._orphans() > 0
world.Barrier()
together([receive(t) for t in range(6)])
world.Barrier()
until = time.monotonic() + 30
while waitio._core._orphans() and time.monotonic() < until:
    time.sleep(0.001)
assert waitio._core._orphans() == 0
"""),
    )


def test_an_operator_drops_requests(universe):
    """It is called while a dropped reduction is tested, and another thread drops one meanwhile."""
    universe.passes(
        text("""
called, dropped = threading.Event(), threading.Event()

def drop():
    world.Irecv(bytearray(1), other, 7)

def add(a, b):
    if me == 0 and not called.is_set():
        drop()
        called.set()
        assert dropped.wait(20)
    return a + b

def beside():
    assert called.wait(20)
    drop()
    dropped.set()

def move():
    world.Iallreduce(np.ones(3), total, op)
    world.Send(b"", 1, 9)
    while waitio._core._orphans():
        pass

op, total = waitio.Op.Create(add, True), np.zeros(3)
if me == 0:
    together([move, beside])
else:
    world.Recv(bytearray(0), 0, 9)
    world.Iallreduce(np.ones(3), total, op).wait()
assert (total == 2).all()
world.Barrier()
""")
    )


def test_many_threads_join_and_one_leaves(universe):
    """Joining by the first call of any thread; then every call may meet a finalize."""
    for _ in range(3 * MORE):
        universe.passes(
            "universe = waitio\nme = int(os.environ['WAITIO_PBID'])\n"
            + text("""
worlds = []
together([lambda: worlds.append(waitio.Group.world()) for i in range(8)])
assert len(worlds) == 8 and all(w.size == 2 for w in worlds)
world = worlds[0]
done = []

def busy(k):
    into, pending = np.zeros(300), []
    calls = [
        lambda: world.Send(np.zeros((1, 2000)[k % 2]), other, 50),
        lambda: world.isend([k] * 3000, other, 51),
        lambda: pending.append(world.Irecv(into, other, 52)),
        lambda: world.Probe(other, 53, timeout=0.01),
        lambda: world.Iprobe(other, 53),
        lambda: waitio.Group.ranks({0: [0], 1: [0]}).locate(0),
        waitio.counters,
        lambda: waitio.waitany([world.Irecv(np.zeros(1), other, 54)], timeout=0.01),
        lambda: world.Issend(b"x", other, 55),
        lambda: world.Iallreduce(into, np.zeros(300)) if k == 0 else None,
        lambda: world.Recv_init(into, other, 56).Start(),
        lambda: asyncio.run(awaited()),
        pending.clear,
    ]
    async def awaited():
        await asyncio.wait_for(asyncio.ensure_future(one()), 0.01)
    async def one():
        return await world.Irecv(np.zeros(1), other, 57)
    def run():
        chance = random.Random(k)
        while True:
            try:
                chance.choice(calls)()
            except (waitio.TimeoutError, asyncio.TimeoutError):
                pass
            except waitio.StateError as error:
                assert "left" in str(error) or "finalize" in str(error), error
                break
            except waitio.PeerError:  # the other process has left
                break
        done.append(k)
    return run

def leave():
    time.sleep(0.3)
    waitio.finalize()

together([busy(k) for k in range(8)] + [leave])
assert len(done) == 8
assert waitio._core._orphans() >= 0
gc.collect()
"""),
            joined=False,
            env={"MALLOC_PERTURB_": "165"},  # what is freed is overwritten
        )


def test_two_threads_complete_one_request(universe):
    """They ought not to: all but one are told so, or find that it is over. Nothing breaks."""
    universe.passes(
        text(f"""
for i in range({100 * MORE}):
    into = np.zeros((1, 5000)[i % 2])
    request = world.Irecv(into, other, 1)
    persistent = world.Recv_init(np.zeros(1), other, 2)
    persistent.Start()
    told = []
    def complete(k):
        def run():
            for r in (request, persistent):
                try:
                    if k % 2:
                        r.wait(30)
                    else:
                        waitio.waitany([r, None, r], 30)
                    assert r.done and r.Test() and "pending" not in repr(r)
                    if r is persistent:
                        r.Free()
                except waitio.Error as error:
                    assert error == waitio.ERR_BUSY and "another thread" in str(error), error
                    told.append(r)
        return run
    calls = [complete(k) for k in range(4)]
    def send():
        world.Send(np.full(len(into), 7.0), other, 1)
        world.Send(np.zeros(1), other, 2)
    together([*calls, send], 40)
    assert (into == 7).all() and request.done and persistent.done
    assert told.count(request) < 4 and told.count(persistent) < 4
request = world.Irecv(np.zeros(1), other, 8)
thread = threading.Thread(target=request.Wait)
thread.start()
until = time.monotonic() + 20
while not waitio._core._inside() and time.monotonic() < until:
    time.sleep(0.001)
for call in (request.wait, request.Wait, lambda: waitio.waitany([request])):
    try:
        call()
    except waitio.BusyError as error:
        assert "another thread" in str(error)
    else:
        raise SystemExit("two wait for one")
assert not request.Test() and not request.done
world.Barrier()
world.Send(np.zeros(1), other, 8)
thread.join(20)
request.Wait()
assert request.done
"""),
        timeout=120,
    )


def test_a_group_is_freed_while_others_use_it(universe):
    universe.passes(
        text(f"""
for i in range({30 * MORE}):
    group = world.Dup()
    def use():
        into = np.zeros(100)
        try:
            while True:
                group.Irecv(into, other, 3)
                group.Iprobe(other, 4)
                group.locate(0)
        except waitio.GroupError as error:
            assert "freed" in str(error), error
    def free():
        time.sleep(0.005)
        group.free()
    together([use, use, use, free], 30)
    try:
        group.rank and group.Send(b"", other)
    except waitio.GroupError:
        pass
    assert "freed" in repr(group)
world.Barrier()
"""),
        env={"MALLOC_PERTURB_": "165"},  # what is freed is overwritten
        timeout=120,
    )


def test_nothing_is_freed_under_a_call(alone):
    """Threads that queue before the library's lock while another one finalizes."""
    for _ in range(5 * MORE):
        alone.passes(
            TOGETHER
            + """
def busy():
    memory = bytearray(5000)
    while True:
        try:
            world.Isend(memory, 0, 1)
            world.Iprobe(0, 9)
            waitio.counter("send_msgs")
        except waitio.StateError:
            break

def leave():
    time.sleep(0.1)
    waitio.finalize()

together([busy] * 8 + [leave], 40)
""",
            blocks=[1],
            env={"MALLOC_PERTURB_": "165"},  # what is freed is overwritten
        )


def test_finalize_right_after_a_send_has_begun(universe):
    """It delivers the message, so the send that it ends holds its memory until then.

    On one processor the thread that leaves comes first: it gets the interpreter's lock when the
    send lets go of it, and keeps it until the library has the message.
    """
    sender, receiver = universe.play(
        """
        memory, begin = bytearray(b"x" * (1 << 20)), threading.Event()
        def leave():
            begin.wait()
            until = time.monotonic() + 10
            while not waitio.counter("send_msgs") and time.monotonic() < until:
                pass
            waitio.finalize()
        if me == 0:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            thread = threading.Thread(target=leave)
            thread.start()
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
            sys.setswitchinterval(60)
            begin.set()
            until = time.monotonic() + 0.02
            while time.monotonic() < until:
                pass
            try:
                world.Send(memory, 1, 1)
            except waitio.StateError as error:
                assert "left" in str(error), error
            try:
                memory.append(0)
            except BufferError:
                print("held", flush=True)
            else:
                print("let go of", flush=True)
            thread.join()
            memory.append(0)  # finalize is over
        else:
            sys.stdin.readline()
            into = bytearray(len(memory))
            world.Recv(into, 0, 1)
            assert into == memory
        """
    )
    assert sender.answer(60) == "held"
    receiver.begin("receive")
    universe.all_end([sender, receiver])


LEAVING = (
    TOGETHER
    + """
from waitio import _core
slept = []

class Time:  # as finalize sees it
    monotonic = staticmethod(time.monotonic)
    @staticmethod
    def sleep(seconds):
        slept.append(_core._inside())
        time.sleep(seconds)

_core.time = Time
ended = []
def blocked(call):
    def run():
        try:
            call()
        except waitio.StateError:
            ended.append(call)
    return run

def leave():
    until = time.monotonic() + 20
    while _core._inside() < 3 and time.monotonic() < until:
        time.sleep(0.001)
    waitio.finalize()
    assert _core._inside() == 0

together([leave, *map(blocked, (
    lambda: world.Recv(bytearray(1), 0), world.Probe,
    lambda: waitio.waitany([world.Irecv(bytearray(1), 0, 6)])))])
assert len(ended) == 3, ended
print(sum(slept))
"""
)


def test_finalize_waits_until_nobody_is_inside(alone):
    """Now and then all have come out before it looks for the first time: then once more."""
    for _ in range(5):
        (process,) = alone.passes(LEAVING, blocks=[1])
        if int(process.lines[-1]) > 0:
            return
    raise AssertionError("finalize has never found anybody inside")
