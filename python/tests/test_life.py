# SPDX-License-Identifier: BSD-3-Clause
"""Joining and leaving, exit, fork, threads, deaths, memory."""

import os

import patience
import pytest

SLOW = os.environ.get("WAITIO_TEST_SLOW") == "1"


def test_implied_joining_and_finalize(universe):
    universe.passes(
        """
        assert not waitio.initialized()
        try:
            waitio.finalize()
        except waitio.StateError as error:
            assert "not joined" in str(error)
        world = waitio.Group.world()
        assert waitio.initialized() and world.size == 3
        universe = waitio.Universe()
        assert (universe.npb, universe.nprocs, universe.size) == (2, (1, 2), 3)
        assert universe.rank == world.rank and universe.world.gid == 0
        assert (universe.pb, universe.pb_rank) == world.locate(world.rank)
        assert "PB" in repr(universe) and waitio.library_version()[0] >= 0
        world.Sendrecv(b"x", (world.rank + 1) % 3, 0, bytearray(1), (world.rank - 1) % 3)
        waitio.init()
        waitio.finalize()
        assert not waitio.initialized()
        universe.finalize()  # harmless
        for call in (waitio.init, waitio.finalize, waitio.Group.world, waitio.counters,
                     lambda: world.Send(b"", 0), lambda: world.locate(0), world.Probe):
            try:
                call()
            except waitio.StateError as error:
                assert "left" in str(error) or "finalize" in str(error), error
            else:
                raise SystemExit(f"{call} after finalize")
        world.free()
        """,
        blocks=[1, 2],
        joined=False,
    )


def test_the_with_block_finalizes(alone):
    alone.passes(
        """
        with waitio.Universe(30) as universe:
            assert waitio.initialized()
        assert not waitio.initialized()
        """,
        blocks=[1],
        joined=False,
    )


def test_joining_fails_with_reasons(alone):
    path = alone.script(
        """
        try:
            waitio.Universe(1)
        except waitio.TimeoutError as error:
            assert "PB 1" in str(error), error
            assert "WAITIO_ERRORS" not in os.environ
        else:
            raise SystemExit("joined alone")
        """,
        joined=False,
    )
    process = alone.python(
        path, 0, 0, 1, 2, env={"WAITIO_INIT_TIMEOUT": "1", "WAITIO_ERRORS": None}
    )
    process.ended(0)


def test_exceptions_are_not_printed_too(make_universe):
    u = make_universe(WAITIO_ERRORS=None)
    (process,) = u.passes(
        """
        try:
            world.Send(b"", 99)
        except waitio.RankError:
            pass
        assert "WAITIO_ERRORS" not in os.environ
        """,
        blocks=[1],
    )
    assert process.err() == ""


@pytest.mark.parametrize("how", ["falls off", "sys.exit()", "raise RuntimeError('a bug')"])
def test_exit_without_finalize(universe, how):
    """What was sent arrives, pending receives and requests in cycles do no harm."""
    code = f"""
        if me == 0:
            requests = [world.Isend(np.full(n, 1.0), 1, 1) for n in (10, 1_000_000)]
            requests += [world.Irecv(np.zeros(1000), 1, 9), world.irecv(1, 9)]
            requests += [world.Ibarrier(), world.Iallreduce(np.ones(50_000), np.zeros(50_000))]
            loop = [requests]
            loop.append(loop)
            {how if how != "falls off" else "pass"}
        else:
            for n in (10, 1_000_000):
                into = np.zeros(n)
                world.Recv(into, 0, 1)
                assert (into == 1).all()
    """
    first, second = universe.play(code)
    second.ended(0)
    first.ended(1 if "raise" in how else 0)
    assert ("a bug" in first.err()) == ("raise" in how)
    assert "Fatal" not in first.err()


def test_the_collector_does_not_free_memory_in_use(universe):
    """A request in a cycle is trash before its operation is over."""
    universe.passes("""
        def start(what):
            request = what()
            cycle = [request]
            cycle.append(cycle)

        n = 400_000
        gc.disable()
        if me == 0:
            start(lambda: world.Isend(np.full(n, 1.0), 1, 1))
            start(lambda: world.Iallreduce(np.full(n, 1.0), np.zeros(n)))
            gc.collect()
            assert waitio._core._orphans() == 2
            others = [np.full(n, 2.0) for i in range(20)]
            world.send("go", 1, 2)
            world.recv(1, 2)
        else:
            world.recv(0, 2)
            into, total = np.zeros(n), np.zeros(n)
            world.Recv(into, 0, 1)
            world.Iallreduce(np.full(n, 1.0), total).wait()
            world.send("done", 0, 2)
            assert (into == 1).all() and (total == 2).all()
    """)


def test_a_dead_peer_is_an_error_with_its_name(universe):
    first, second = universe.play(
        """
        async def pending_of(request):
            return await request

        if me == 0:
            world.Recv(bytearray(1), 1)
            print("linked", flush=True)
            pending = world.irecv(1)
            try:
                world.Recv(bytearray(1), 1)
            except waitio.PeerError as error:
                assert error.code == waitio.ERR_PEER and error.peer == (1, 1, 0), error.peer
                assert isinstance(error, ConnectionError) and "PB 1 rank 0" in str(error)
                assert error.remedy
            else:
                raise SystemExit("no error")
            try:
                asyncio.run(asyncio.wait_for(pending_of(pending), 30))
            except waitio.PeerError as error:
                assert error.peer.pb == 1
            else:
                raise SystemExit("no error from the await")
            try:
                next(world.messages(1))
            except waitio.PeerError:
                pass
            else:
                raise SystemExit("a message from the dead")
        else:
            world.Send(b"x", 0)
            time.sleep(100)
    """
    )
    universe.says(first, "linked")
    second.kill()
    first.ended(0)


@pytest.mark.parametrize(
    "call",
    [
        "world.Reduce(np.ones(600_000), np.empty(600_000), root=2)",
        "world.Ireduce(np.ones(600_000), np.empty(600_000), root=2).wait()",
        "world.allreduce([me] * 1000)",
    ],
    ids=["Reduce", "Ireduce", "allreduce"],
)
def test_a_death_in_a_collective_is_an_exception_everywhere(universe, call):
    """A survivor that has caught the error stays alive without a call: it holds nobody up."""
    cast = universe.play(
        f"""
        def die():
            print("dies", time.monotonic(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if me == 3:
            threading.Timer(0.3, die).start()
        try:
            while True:
                {call}
        except waitio.PeerError:
            print("told", time.monotonic(), flush=True)
        try:
            world.Barrier()
        except waitio.RevokedError:
            print("refused", flush=True)
        sys.stdin.read()
        os._exit(0)
        """,
        blocks=[3, 2],
    )
    died = float(universe.says(cast.pop(3), "dies").split()[1])
    for p in cast:
        told = float(universe.says(p, "told").split()[1])
        assert told - died < patience.scaled(2)
        universe.says(p, "refused")


def test_forked_children_get_errors(universe):
    """As in a data loader: the child computes, and may not communicate; the parent goes on."""
    universe.passes("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        pending = world.Irecv(bytearray(4), 1 - me, 3)
        objects = world.irecv(1 - me, 4)

        def child():
            calls = {
                "Send": lambda: world.Send(b"x", 1 - me),
                "Recv": lambda: world.Recv(bytearray(1)),
                "send": lambda: world.send({}, 1 - me),
                "wait": pending.wait, "Test": pending.Test, "cancel": pending.cancel,
                "wait of an object": objects.wait,
                "waitall": lambda: waitio.waitall([pending]),
                "waitany": lambda: waitio.waitany([pending, objects]),
                "Probe": world.Probe, "world": waitio.Group.world, "init": waitio.init,
                "finalize": waitio.finalize, "counters": waitio.counters,
                "Universe": waitio.Universe,
            }
            for name, call in calls.items():
                try:
                    call()
                except waitio.ForkError as error:
                    assert "spawn" in str(error) or "fork" in str(error), error
                else:
                    raise AssertionError(f"{name} in a forked child")
            assert not waitio.initialized()
            return float(np.arange(10.0).sum())

        pid = os.fork()
        if pid == 0:
            try:
                child()
                gc.collect()
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            sys.exit(0)  # the whole end of an interpreter
        assert os.waitpid(pid, 0)[1] == 0
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.apply(child) == 45.0
        world.Send(b"rest", 1 - me, 3)
        world.send("objects", 1 - me, 4)
        assert pending.wait().count == 4 and objects.wait() == "objects"
    """)


def test_a_spawned_child_is_a_process_of_its_own(alone):
    alone.passes(
        """
        import subprocess
        code = "import waitio; assert not waitio.initialized()"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0
        """,
        blocks=[1],
    )


def test_waits_of_threads_do_not_stop_others(universe):
    universe.passes("""
        counted = 0
        def blocked():
            world.Recv(bytearray(1), 1 - me, 50)
        thread = threading.Thread(target=blocked)
        thread.start()
        time.sleep(0.1)
        began = time.monotonic()
        for i in range(100):
            world.Sendrecv(b"x", 1 - me, 1, bytearray(1), 1 - me, 1)
            counted += 1
        assert time.monotonic() - began < 20
        world.Send(b"x", 1 - me, 50)
        thread.join(20)
        assert not thread.is_alive() and counted == 100
    """)


def test_finalize_while_a_thread_waits(alone):
    """The thread gets an error, and the library is not freed under it."""
    alone.passes(
        """
        found = []
        def blocked(call):
            try:
                call()
            except waitio.StateError as error:
                found.append(str(error))
        threads = [threading.Thread(target=blocked, args=(call,)) for call in (
            lambda: world.Recv(bytearray(1), 0), lambda: world.recv(0, 4), world.Probe,
            lambda: waitio.waitany([world.Irecv(bytearray(1), 0, 6)]))]
        for t in threads: t.start()
        time.sleep(0.2)
        waitio.finalize()
        for t in threads: t.join(20)
        assert len(found) == 4, found
        """,
        blocks=[1],
    )


def test_memory_does_not_grow(universe):
    """10^6 messages under WAITIO_TEST_SLOW=1, fewer otherwise."""
    messages = 1_000_000 if SLOW else 60_000
    universe.passes(
        f"""
        def resident():
            with open("/proc/self/status") as lines:
                return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

        def rounds(n):
            out, into = np.zeros(8), np.zeros(8)
            for i in range(n):
                if i % 8 == 0:  # one of each kind
                    world.sendrecv(i, 1 - me, 2, 1 - me, 2)
                elif i % 8 == 1:
                    requests = [world.Irecv(into, 1 - me, 3), world.Isend(out, 1 - me, 3)]
                    waitio.waitall(requests)
                elif i % 8 == 2:
                    world.Isend(out, 1 - me, 4)
                    next(world.messages(1 - me, 4))
                else:
                    world.Sendrecv(out, 1 - me, 1, into, 1 - me, 1)

        rounds({messages} // 4)
        gc.collect()
        before = resident()
        rounds({messages} * 3 // 4)
        gc.collect()
        grown = resident() - before
        assert grown < 1500, f"{{grown}} KiB more"
        """,
        timeout=900 if SLOW else 120,
    )


def test_memory_of_collectives_and_awaits_does_not_grow(universe):
    rounds = 250_000 if SLOW else 6_000
    universe.passes(
        f"""
        def resident():
            with open("/proc/self/status") as lines:
                return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

        other, out, into, all_ = 1 - me, np.zeros(8), np.zeros(8), np.zeros((2, 8))
        persistent = [world.Send_init(out, other, 6), world.Recv_init(into, other, 6)]

        async def rounds(n):
            for i in range(n):
                kind = i % 5
                if kind == 0:
                    world.Allreduce(out, into)
                elif kind == 1:
                    await world.Iallgather(out, all_)
                elif kind == 2:
                    request = world.irecv(other, 4)
                    await world.isend(i, other, 4)
                    assert await request == i
                elif kind == 3:
                    waitio.startall(persistent)
                    for request in persistent:
                        await request
                else:
                    world.Ibarrier()  # dropped
                if i % 100 == 50:
                    world.Split(0).free()
            world.Barrier()

        asyncio.run(rounds({rounds} // 3))
        gc.collect()
        before = resident()
        asyncio.run(rounds({rounds}))
        gc.collect()
        grown = resident() - before
        assert grown < 1500, f"{{grown}} KiB more"
        """,
        timeout=900 if SLOW else 120,
    )


def test_a_dead_block_is_started_again(universe):
    """The survivor joins again; what it has of before is refused, and freed in silence."""
    code = """
        if "{who}" == "victim":
            world.send("here", 0, 1)
            time.sleep(60)
        old = world.Irecv(np.zeros(3), 1, 5)
        if {lives}:
            assert world.recv(1, 1) == "here"
            print("here", flush=True)
            try:
                world.recv(1, 2)
            except waitio.PeerError:
                universe.rejoin(60)
            else:
                raise SystemExit("nobody died")
            for call in (lambda: world.Send(b"x", 1), world.Barrier, world.Dup):
                try:
                    call()
                except waitio.GroupError as error:
                    assert "has left (waitio.rejoin)" in str(error), error
                else:
                    raise SystemExit("followed")
            try:
                old.wait()
            except waitio.RequestError as error:
                assert "universe that was left" in str(error), error
            else:
                raise SystemExit("the request was followed")
        fresh = universe.world
        del world
        gc.collect()
        assert fresh.allreduce(me + 1) == 3
        into = np.zeros(4)
        fresh.Sendrecv(np.full(4, 1.0 + me), 1 - me, 3, into, 1 - me, 3)
        assert (into == 2 - me).all()
        universe.rejoin(60)
        assert universe.world.allreduce(1) == 2
    """
    (survivor, victim) = (
        universe.python(universe.script(code.format(who=who, lives=lives)), pb, 0, 1, 2)
        for pb, (who, lives) in enumerate((("survivor", 1), ("victim", 0)))
    )
    universe.says(survivor, "here")
    victim.kill()
    again = universe.python(universe.script(code.format(who="new", lives=0)), 1, 0, 1, 2)
    universe.all_end([survivor, again], 60)


def test_rejoin_needs_a_universe(alone):
    alone.passes(
        """
        try:
            waitio.rejoin(1)
        except waitio.StateError as error:
            assert "not joined yet" in str(error), error
        else:
            raise SystemExit("joined")
        waitio.init(20)
        waitio.finalize()
        waitio.rejoin(20)
        assert waitio.initialized() and waitio.Group.world().size == 1
        """,
        blocks=[1],
        joined=False,
    )


def test_rejoin_with_the_settings_that_were_given(universe):
    """Block ids and numbers that are in no variable; whichever call of the package joins again."""
    universe.passes(
        """
        mine, blocks = (int(os.environ.pop(n)) for n in ("WAITIO_PBID", "WAITIO_NPB"))

        class Comm:
            rank, size = 0, 1

        for name in ("WAITIO_RANK", "WAITIO_NPROCS"):
            del os.environ[name]
        first = waitio.Universe(60, pb=mine, npb=blocks, comm=Comm())
        for again in (first.rejoin, waitio.Universe().rejoin, waitio.rejoin):
            again(60)
            assert (first.pb, first.npb, first.pb_rank) == (mine, 2, 0)
            assert first.world.allreduce(1) == 2
        assert not {"WAITIO_PBID", "WAITIO_NPB", "WAITIO_RANK", "WAITIO_NPROCS"} & {*os.environ}
        """,
        joined=False,
    )


def test_all_objects_see_the_new_universe(alone):
    alone.passes(
        """
        first, second = waitio.Universe(60), waitio.Universe()
        old = first.world
        second.rejoin(60)
        assert first.world is not old and first.world.allreduce(1) == 1
        old = first.world
        waitio.rejoin(60)
        assert first.world is not old and second.world.allreduce(first.size) == 1
        """,
        blocks=[1],
        joined=False,
    )


def test_objects_that_travel_in_parts_after_rejoin(universe):
    """Large arrays and long pickles have a group of their own beside the program's."""
    universe.passes("""
        large = [np.arange(50_000.0), "x" * 20_000]
        for _ in range(3):
            world = waitio.Group.world()
            found = world.sendrecv([me, *large], 1 - me, 5, 1 - me, 5)
            assert found[0] == 1 - me and found[2] == large[1]
            assert np.array_equal(found[1], large[0])
            waitio.rejoin(60)
    """)


def test_rejoin_after_control_c(universe):
    """C goes on and meets the others; the next call finds that out, and stays with them."""
    universe.passes(
        """
        import signal

        if me == 1:
            time.sleep(2)  # the other one is interrupted by then
            waitio.rejoin(60)
        else:
            timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
            timer.start()
            try:
                waitio.rejoin(60)
            except KeyboardInterrupt:
                assert not waitio.initialized()
            else:
                raise SystemExit("not interrupted")
            while not waitio.initialized():
                try:
                    waitio.rejoin(60)
                except waitio.BusyError as error:
                    assert "signal interrupted" in str(error), error
                    time.sleep(0.05)
        assert waitio.Group.world().allreduce(1) == 2
        waitio.rejoin(60)
        assert waitio.Group.world().allreduce(2) == 4
        """
    )


def test_rejoin_does_not_wait_for_who_does_not_receive(make_universe):
    u = make_universe(WAITIO_LINGER="1")
    u.passes(
        """
        if me == 0:
            request = world.Isend(np.ones(200_000), 1, 1)
        else:
            try:
                world.Recv(np.ones(1), 0, 2)
            except waitio.PeerError:
                pass
            else:
                raise SystemExit("received")
        waitio.rejoin(60)
        assert waitio.Group.world().allreduce(1) == 2
        """
    )
