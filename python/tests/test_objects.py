# SPDX-License-Identifier: BSD-3-Clause
"""Lower-case calls: Python objects."""


def test_objects_arrive_as_they_were(universe):
    universe.passes("""
        import datetime, fractions, pickle
        big = np.arange(400_000.0).reshape(400, 1000)
        objects = [
            None, 0, "text" * 10_000, b"", b"x" * 70_000, [1, (2, {3})], {"a": {"b": big}},
            np.asfortranarray(big), big[::2, ::3], np.float32(2), datetime.date(2020, 1, 2),
            fractions.Fraction(1, 3), [np.full(n, float(n)) for n in (0, 1, 511, 512, 100_000)],
            [np.full(600, float(i)) for i in range(700)],  # many parts: a long table
            bytearray(range(256)) * 100, ValueError("an error"), waitio.PeerError("gone"),
        ]
        def same(a, b):
            if isinstance(a, np.ndarray):
                return a.dtype == b.dtype and np.array_equal(a, b)
            if isinstance(a, (list, tuple)):
                return len(a) == len(b) and all(map(same, a, b))
            if isinstance(a, dict):
                return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
            if isinstance(a, Exception):
                return type(a) is type(b) and str(a) == str(b)
            return type(a) is type(b) and a == b
        status = waitio.Status()
        if me == 0:
            for i, thing in enumerate(objects):
                world.send(thing, 1, i)
            for thing in objects:
                world.send(thing, 1)
            for i, thing in enumerate(objects):
                assert same(world.sendrecv(thing, 1, i, 1, i), thing)
        else:
            for i, thing in enumerate(objects):
                assert same(world.recv(0, i, status), thing), thing
                assert (status.source, status.tag) == (0, i)
            for thing in objects:
                assert same(world.recv(), thing), thing
            for i, thing in enumerate(objects):
                assert same(world.sendrecv(thing, 0, i, 0, i), thing)
        copy = world.sendrecv(big, 1 - me)
        copy[0, 0] = 7  # received arrays are the receiver's own, and writable
    """)


def test_posted_in_any_order(universe):
    """Parts of large objects find their own, whoever is waited for first."""
    universe.passes("""
        if me == 0:
            waitio.waitall([world.isend(np.full(200_000, float(i)), 1, 4) for i in range(6)])
        else:
            requests = [world.irecv(0, 4) for _ in range(6)]
            for i in (5, 3, 4, 0, 2, 1):
                assert (requests[i].wait() == i).all(), i
    """)


def test_threads_exchange_objects_at_once(universe):
    universe.passes("""
        failures = []
        def talk(tag):
            try:
                for i in range(20):
                    found = world.sendrecv([tag, i, np.full(5000, i)], 1 - me, tag, 1 - me, tag)
                    assert found[:2] == [tag, i] and (found[2] == i).all(), found
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=talk, args=(tag,)) for tag in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failures, failures
    """)


def test_large_arrays_in_objects_are_not_copied_into_the_pickle(alone):
    """The memory that a send takes beyond the arrays themselves is small."""
    alone.passes(
        """
        import tracemalloc
        n = 4_000_000
        thing = {"field": np.zeros(n)}
        request = world.irecv(0)
        tracemalloc.start()
        sending = world.isend(thing, 0)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        found = request.wait()
        assert tracemalloc.get_traced_memory()[1] < 8 * n + 1_000_000
        sending.wait()
        """,
        blocks=[1],
    )


def test_what_is_no_object(universe):
    universe.passes("""
        if me == 0:
            for size in (3, 24, 100, 9000):
                world.Send(bytes(size), 1)
            world.send("an object", 1)
            try:
                world.send(lambda: 0, 1)
            except Exception as error:
                assert "pickle" in str(error).lower()
            else:
                raise SystemExit("a lambda was sent")
            world.send("after it", 1)
        else:
            for size in (3, 24, 100, 9000):
                try:
                    world.recv(0)
                except waitio.ProtocolError as error:
                    assert f"{size} bytes" in str(error) and "Recv" in str(error), error
                else:
                    raise SystemExit("bytes were unpickled")
            assert world.recv(0) == "an object" and world.recv(0) == "after it"
    """)


def test_unpickling_that_fails(alone):
    alone.passes(
        """
        class Bomb:
            def __reduce__(self): return (int, ("no number",))
        request = world.irecv(0)
        world.send(Bomb(), 0)
        for _ in range(2):
            try:
                request.wait()
            except ValueError as error:
                assert "no number" in str(error)
            else:
                raise SystemExit("no error")
        """,
        blocks=[1],
    )


def test_no_objects_without_authentication(make_universe):
    u = make_universe(WAITIO_SECRET="none")
    u.passes(
        """
        for call in (world.send, world.isend):
            try:
                call({}, 0)
            except waitio.PickleError as error:
                assert "WAITIO_SECRET=none" in str(error) and "allow_pickle" in str(error)
                assert isinstance(error, waitio.AuthError)
            else:
                raise SystemExit("an object was sent")
        for call in (world.recv, world.irecv):
            try:
                call(0)
            except waitio.PickleError:
                pass
            else:
                raise SystemExit("an object would have been received")
        request = world.Irecv(bytearray(2), 0)
        world.Send(b"ok", 0)  # buffers go
        request.wait()
        waitio.allow_pickle()
        request = world.irecv(0)
        world.send({"now": 1}, 0)
        assert request.wait() == {"now": 1}
        waitio.allow_pickle(None)
        try:
            world.send({}, 0)
        except waitio.PickleError:
            pass
        else:
            raise SystemExit("the default did not come back")
        """,
        blocks=[1],
    )


def test_objects_can_be_switched_off(alone):
    alone.passes(
        """
        universe = waitio.Universe(30, allow_pickle=False)
        try:
            universe.world.send({}, 0)
        except waitio.PickleError:
            pass
        else:
            raise SystemExit("an object was sent")
        """,
        blocks=[1],
        joined=False,
    )


def test_the_send_of_an_object_is_not_cancelled(universe):
    """Its head has gone; without the rest its receiver would wait for good."""
    universe.passes("""
        if me == 0:
            sending = world.isend(np.arange(200_000), 1, 4)
            try:
                sending.cancel()
            except waitio.UnsupportedError as error:
                assert "object" in str(error), error
            else:
                raise SystemExit("a part of an object was cancelled")
            sending.wait()
            sending.cancel()  # over already
        else:
            assert world.recv(0, 4).sum() == 199_999 * 100_000
    """)
