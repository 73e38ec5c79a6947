# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that would do something else than they say; how failures read."""

import pytest


def test_references_are_not_sent(universe):
    """Addresses of Python objects mean nothing elsewhere: whoever used them would crash."""
    universe.passes("""
        import ctypes
        bad = [
            np.array([1, "two", None], dtype=object),
            np.empty((2, 2), dtype=object),
            np.zeros(3, dtype=[("x", "f8"), ("thing", "O")]),
            np.zeros(2, dtype=[("at", "M8[s]"), ("thing", "O")]),
            np.zeros(2, dtype=[("inner", [("n", "i4"), ("deep", "O", (2,))])]),
            memoryview(np.array([None], dtype=object)),
            (ctypes.py_object * 2)(1, 2),
        ]
        n, other = world.size, 1 - me
        for thing in bad:
            calls = [
                lambda: world.Send(thing, other), lambda: world.Isend(thing, other),
                lambda: world.Ssend(thing, other), lambda: world.Recv(thing),
                lambda: world.Irecv(thing), lambda: world.Send_init(thing, other),
                lambda: world.Recv_init(thing), lambda: world.Bcast(thing),
                lambda: world.Sendrecv(b"", me, 0, thing), lambda: world.Gather(thing, None, other),
                lambda: world.Bcast([thing, waitio.BYTE]), lambda: world.Allgather(thing, thing),
            ]
            for call in calls:
                try:
                    call()
                except waitio.BufferError as error:
                    assert "references to Python objects" in str(error), error
                else:
                    raise SystemExit(f"{thing!r} was taken")
        # Names of fields with such letters, and elements without a format, are fine.
        for fine in (np.zeros(3, dtype=[("OO", "f8"), ("b", "i4")]),
                     np.array(["2020-01-01"], "M8[s]"), np.array(["text"]), np.zeros(2, "V7")):
            into = np.zeros_like(fine)
            world.Sendrecv(fine, other, 0, into, other)
            assert into.tobytes() == fine.tobytes()
    """)


@pytest.mark.parametrize("bad", ["1.5", "1.0", "np.float64(1)", "'1'", "None", "2j"])
def test_numbers_that_are_no_integers_are_refused(alone, bad):
    alone.passes(
        f"""
        bad = {bad}
        memory = bytearray(4)
        calls = [
            lambda: world.Send(memory, bad), lambda: world.Send(memory, 0, bad),
            lambda: world.Isend(memory, bad), lambda: world.Isend(memory, 0, bad),
            lambda: world.Ssend(memory, bad), lambda: world.Issend(memory, 0, bad),
            lambda: world.Recv(memory, bad), lambda: world.Recv(memory, 0, bad),
            lambda: world.Irecv(memory, bad), lambda: world.Irecv(memory, tag=bad),
            lambda: world.Send_init(memory, bad), lambda: world.Recv_init(memory, 0, bad),
            lambda: world.Ssend_init(memory, 0, bad), lambda: world.Probe(bad, timeout=0),
            lambda: world.Iprobe(bad), lambda: world.Iprobe(0, bad),
            lambda: world.Sendrecv(memory, 0, 0, memory, bad),
            lambda: world.Sendrecv(memory, 0, bad, memory),
            lambda: world.send(1, bad), lambda: world.send(1, 0, bad), lambda: world.isend(1, bad),
            lambda: world.recv(bad), lambda: world.recv(0, bad), lambda: world.irecv(bad),
            lambda: world.sendrecv(1, 0, 0, bad), lambda: world.messages(bad),
            lambda: world.Bcast(memory, bad), lambda: world.bcast(1, bad),
            lambda: world.Reduce(np.ones(1), np.ones(1), root=bad), lambda: world.gather(1, bad),
            lambda: world.Scatter(memory, memory, bad), lambda: world.Gatherv(memory, memory, bad),
            lambda: world.Split(0, bad), lambda: world.locate(bad), lambda: world.find(bad, 0),
            lambda: world.to_universe(bad), lambda: world.from_universe(bad),
            lambda: waitio.Group.world(bad), lambda: waitio.Group.block(bad),
            lambda: waitio.Group.ranks({{0: [bad]}}),
        ]
        for i, call in enumerate(calls):
            try:
                call()
            except TypeError as error:
                assert "integer" in str(error), error
            else:
                raise SystemExit(f"call {{i}} took {{bad!r}}")
        while world.Iprobe():
            world.Recv(bytearray(10_000))
        """,
        blocks=[1],
    )


def test_integers_of_all_kinds_are_taken(alone):
    alone.passes(
        """
        for rank in (0, np.int64(0), np.uint8(0), False):
            request = world.Irecv(bytearray(3), rank, np.int32(3))
            world.Send(b"abc", rank, np.int16(3))
            assert request.wait().count == 3
        for tag in (2**40, -5, 2**31, 2**80, -2**80):
            for call in (lambda: world.Send(b"", 0, tag), lambda: world.Irecv(bytearray(1), 0, tag),
                         lambda: world.send(1, 0, tag), lambda: world.recv(0, tag)):
                try:
                    call()
                except waitio.TagError as error:
                    assert str(tag) in str(error), error
                else:
                    raise SystemExit(f"tag {tag}")
        for rank in (2**40, -5, 2**32, 2**80):
            for call in (lambda: world.Send(b"", rank), lambda: world.Irecv(bytearray(1), rank),
                         lambda: world.Bcast(bytearray(1), rank)):
                try:
                    call()
                except waitio.RankError as error:
                    assert str(rank) in str(error), error
                else:
                    raise SystemExit(f"rank {rank}")
        """,
        blocks=[1],
    )


def test_messages_name_things_as_python_does(alone):
    alone.passes(
        """
        import re, traceback
        def fails(call):
            try:
                call()
            except Exception as error:
                text = traceback.format_exc()
                assert ".px" not in text and text.count("<waitio>") <= 1, text
                for words in (str(error), getattr(error, "remedy", "")):
                    assert not re.search("waitio_(i?send|i?recv|wait|init)|WAITIO_MPI", words)
                    assert "WAITIO_ANY" not in words, words
                return error
            raise SystemExit("no failure")
        error = fails(lambda: world.Send(b"", waitio.ANY_SOURCE))
        assert "waitio.ANY_SOURCE" in error.remedy
        assert "waitio.ANY_TAG" in fails(lambda: world.Send(b"", 0, -9)).remedy
        fails(lambda: world.recv(7))
        fails(lambda: world.Bcast(bytearray(1), 3))
        fails(lambda: world.Allreduce(np.ones(2, "f8"), np.ones(2, "i4")))
        fails(lambda: world.send(lambda: 0, 0))
        fails(lambda: waitio.waitall([world.irecv(0)], 0.01))
        fails(lambda: world.locate(5))
        fails(lambda: world.Recv(b"constant"))
        for code in range(-22, 0):
            error = waitio.exceptions.from_code(code, "")
            assert not re.search("waitio_[a-z]|WAITIO_MPI|WAITIO_ANY", str(error) + error.remedy)
        """,
        blocks=[1],
    )


SIGNATURES = """
import inspect, waitio, waitio.aio
seen, without = 0, []
for name in waitio.__all__:
    thing = getattr(waitio, name)
    members = [(name, thing)]
    if inspect.isclass(thing):
        members = [(f"{name}.{m}", getattr(thing, m)) for m in vars(thing) if m[0] != "_"]
        if not issubclass(thing, (tuple, Exception)) and name not in ("Datatype", "Op", "phase"):
            assert members, name
    for path, member in members:
        if not inspect.isroutine(member):
            continue
        seen += 1
        try:
            signature = inspect.signature(member)
        except ValueError as error:
            without.append(f"{path}: {error}")
        else:
            assert "..." not in str(signature), (path, signature)
assert not without, without
assert seen > 100, seen
assert list(inspect.signature(waitio.Group.Send).parameters) == ["self", "buf", "dest", "tag"]
recv = inspect.signature(waitio.Group.Recv).parameters
assert recv["source"].default == waitio.ANY_SOURCE and recv["tag"].default == waitio.ANY_TAG
assert recv["status"].default is None
assert inspect.signature(waitio.waitall).parameters["timeout"].default is None
print("ok")
"""


def test_signatures(alone):
    (process,) = alone.passes(SIGNATURES, blocks=[1], joined=False)
    assert "ok" in process.lines
