# SPDX-License-Identifier: BSD-3-Clause
"""Staging, call by call: the test says which process does what, and when (progs/stage_actor.c)."""

import signal

import patience
import pytest

pytestmark = pytest.mark.sanitize

OK, END, NOT_READY = 0, 1, 2


def cast_of(run, *blocks):
    """Processes of the blocks, which have joined: a list for each block."""
    cast = [
        [run.process(pb, r, n, len(blocks), "stage_actor") for r in range(n)]
        for pb, n in enumerate(blocks)
    ]
    together([p for block in cast for p in block], "join")
    return cast


def together(processes, command, timeout=60.0):
    """A collective call: all begin it, then all have ended it."""
    for p in processes:
        p.begin(command)
    for p in processes:
        p.was_ok(p.answer(timeout), command)


def opens(writers, *groups, write="", read="limit=30", name="flow"):
    """Writers that wait for these groups of readers."""
    readers = [p for group in groups for p in group]
    for p in writers:
        p.begin(f"open write {name} readers={len(groups)} {write}")
    for p in readers:
        p.begin(f"open read {name} {read}")
    for p in (*writers, *readers):
        p.was_ok(p.answer(60), "open")


def put(writers, rows=4, marks=None):
    """A step; `marks`: what the writers say besides, from now on."""
    for p, mark in zip(writers, marks or [0] * len(writers)):
        p.ok(f"put {rows} {mark}")
    together(writers, "end")


def begins(readers, limit=30):
    """They begin a step. @return its status and number, which are those of all"""
    for p in readers:
        p.begin(f"begin {limit}")
    found = [p.was_ok(p.answer(limit + 60), "begin") for p in readers]
    assert all(f == found[0] for f in found)
    return tuple(int(word) for word in found[0])


def read(readers, step):
    """They read the whole of this step, which comes next."""
    assert begins(readers) == (OK, step)
    for p in readers:
        p.ok("get")
    together(readers, "end")


def until_count(process, name, wanted):
    """Wait until a number of the stream is this one."""
    limit = patience.Limit(30)
    while int(process.ok(f"count {name}")[0]) != wanted:
        assert limit.left() > 0, f"{name} does not become {wanted}: {process.story()}"


def ends(writers, readers):
    """The writers close the stream, and the readers hear of it; both are through."""
    for p in writers:
        p.begin("close 30")
    assert begins(readers)[0] == END
    for p in writers:
        p.was_ok(p.answer(60), "close")


# ---- streams of one name, one after the other


def test_a_stream_does_not_hear_the_leaving_of_the_last_one(universe):
    """The reader closes when nobody awaits its word any more. Guard: the next stream took it for
    one of its own group, and gave that no steps."""
    (writer,), (reader,) = cast_of(universe(), 1, 1)
    for _ in range(3):
        opens([writer], [reader])
        put([writer])
        read([reader], 0)
        ends([writer], [reader])
        reader.ok("close")


def test_a_stream_does_not_hear_the_steps_of_the_last_one(universe):
    """The reader leaves steps unread that were pushed to it. Guard: they came in the next stream,
    which failed."""
    (writer,), (reader,) = cast_of(universe(), 1, 1)
    for _ in range(2):
        opens([writer], [reader], write="queue=9")
        for step in range(5):
            put([writer])
            read([reader], step)
        assert int(writer.ok("count pushes")[0]) > 0
        for _ in range(2):
            put([writer])
        reader.ok("close")
        writer.ok("close")


def test_a_stream_does_not_hear_the_data_of_the_last_one(universe):
    """It comes when its reader has given it up. Guard: the next stream took it, and had wrong
    elements."""
    (writer,), (reader,) = cast_of(universe(), 1, 1)
    opens([writer], [reader], write="queue=9")
    put([writer])
    read([reader], 0)
    put([writer])
    writer.ok(f"halt before data {signal.SIGSTOP.value}")
    assert begins([reader]) == (OK, 1)
    reader.ok("get")
    reader.fails("end 0.2", "TIMEOUT", "has not sent it")
    writer.stops()
    reader.fails("close", "TIMEOUT")
    writer.resume()
    writer.ok("close")
    opens([writer], [reader], write="queue=9")
    put([writer])
    read([reader], 0)


# ---- readers that stop or die in the middle of a message

MANY = 120  # so many pieces do not fit behind the head of a request


def in_the_middle(writer, reader, number):
    """A reader that has sent the head of a request, and not its body, gets this signal."""
    put([writer])
    assert begins([reader]) == (OK, 0)
    reader.ok(f"get {MANY}")
    reader.ok(f"halt before body {number.value}")
    reader.begin("end 1")


def test_a_reader_dies_in_the_middle_of_a_request(universe):
    """Guard: the writer did not hear the requests of others any more."""
    (writer,), (one,), (other,) = cast_of(universe(), 1, 1, 1)
    opens([writer], [one], [other], write="queue=9")
    in_the_middle(writer, one, signal.SIGKILL)
    one.dies()
    read([other], 0)
    for step in range(1, 4):
        put([writer])
        read([other], step)
    ends([writer], [other])


def test_a_reader_stops_in_the_middle_of_a_request(universe):
    """Guard: the writer's thread waited for the rest, and its close for the thread. When the reader
    goes on, what it sends is not taken for the rest of a request to the next stream."""
    (writer,), (one,), (other,) = cast_of(universe(), 1, 1, 1)
    opens([writer], [one], [other], write="queue=9")
    in_the_middle(writer, one, signal.SIGSTOP)
    one.stops()
    read([other], 0)
    for step in range(1, 4):
        put([writer])
        read([other], step)
    writer.fails("close 0.5", "TIMEOUT", "had not been read by all")
    other.ok("close")
    one.resume()
    one.failed("TIMEOUT", "has not sent it")
    one.fails("close", "TIMEOUT")
    opens([writer], [one], write="queue=9")
    put([writer], rows=8)
    assert begins([one]) == (OK, 0)
    one.ok(f"get {MANY}")
    one.ok("end")
    ends([writer], [one])


# ---- the end of a stream whose data is under way

LONG = 2 << 20  # rows that are on their way for as long as the other side does not go on
IN_USE = "data is still under way: arrays"


@pytest.mark.parametrize(("queue", "route"), [(-1, "socket"), (1, "shm")])
def test_a_writer_closes_while_its_data_is_under_way(universe, queue, route):
    """The reader stops when it has asked. Afterwards it gets all; the close says so when that comes
    from the program's array. Guard: the memory was freed, and the writer died."""
    (writer,), (reader,) = cast_of(universe(WAITIO_COMM_TYPE=route), 1, 1)
    opens([writer], [reader], write=f"queue={queue}")
    writer.ok(f"put {LONG}")
    writer.begin("end 0.2")
    assert begins([reader]) == (OK, 0)
    ended = writer.answer()
    assert ended.startswith("ok" if queue > 0 else "error")
    reader.ok("get")
    reader.ok(f"halt after request {signal.SIGSTOP.value}")
    reader.begin("end")
    reader.stops()
    until_count(writer, "plans", 1)
    text = writer.fails("close 0.2", "TIMEOUT", "had not been read by all")
    assert (IN_USE in text) == (queue < 0), text
    reader.resume()
    together([writer], "leave")
    reader.was_ok(reader.answer(40), "end")


@pytest.mark.parametrize("m", [1, 2])
def test_a_reader_closes_while_its_data_is_under_way(universe, m):
    """A writer stops when it has begun to send. What comes afterwards finds its place, which is the
    program's array, or with two writers memory of the stream. Guard: that was freed."""
    writers, (reader,) = cast_of(universe(WAITIO_COMM_TYPE="socket"), m, 1)
    opens(writers, [reader], write="queue=1")
    put(writers, rows=LONG)
    writers[0].ok(f"halt after data {signal.SIGSTOP.value}")
    assert begins([reader]) == (OK, 0)
    reader.ok("get")
    reader.begin(f"end {patience.scaled(1):.1f}")
    writers[0].stops()
    reader.failed("TIMEOUT", "writer 0 (and maybe others) has not sent it")
    reader.fails("close 0.2", "TIMEOUT", "has not sent it", IN_USE)
    writers[0].resume()
    together([*writers, reader], "leave")


# ---- opening that is given up


def test_a_reader_that_has_given_up_does_not_count(universe):
    """All that it said has waited for the writer. Guard: the writer did not wait for another one,
    and what it put then was lost."""
    for route in ("shm", "socket"):
        (writer,), (reader,) = cast_of(universe(WAITIO_COMM_TYPE=route), 1, 1)
        opens([writer], [reader])
        ends([writer], [reader])
        reader.ok("close")
        for _ in range(3):
            reader.fails("open read flow limit=0.05", "TIMEOUT", "no block has opened it")
        writer.fails("open write flow readers=1 limit=0.2", "TIMEOUT", "there are 0")
        opens([writer], [reader])
        put([writer])
        read([reader], 0)
        ends([writer], [reader])


def test_a_stream_that_has_ended(universe):
    """Who opens it when its writers have left hears so at once; another block that lives may still
    open it. Guard: the reader waited for its whole limit."""
    for bystander in (False, True):
        cast = cast_of(universe(), 1, 1, *([1] if bystander else []))
        (writer,), (reader,) = cast[:2]
        writer.ok("open write flow limit=30")
        put([writer])
        writer.ok("close")
        writer.ok("leave")
        if bystander:
            reader.begin("open read flow limit=30")
            cast[2][0].ok("open write flow readers=1 limit=30")
            reader.was_ok(reader.answer(60), "open")
        else:
            reader.fails("open read flow limit=300", "PEER", "nobody is left who could write it")


def test_writers_give_up_opening(universe):
    """A group that came hears of it. Then they open the stream again. Guards: the group waited
    without end; what one writer said to the other made the next open fail."""
    writers, (one,), (other,) = cast_of(universe(), 2, 1, 1)
    for _ in range(2):
        writers[0].begin("open write flow readers=2 limit=30")
        one.ok("open read flow limit=30")
        writers[1].begin(f"open write flow readers=2 limit={patience.scaled(0.5):.1f}")
        writers[1].failed("TIMEOUT", "2 groups of readers were to come; after")
        writers[0].failed("TIMEOUT", "writer 1 has given up opening the stream: 2 groups of")
        one.fails("begin 30", "TIMEOUT", "writer 1 has given up opening the stream")
        one.fails("close", "TIMEOUT")
    opens(writers, [one], [other])
    put(writers)
    for p in (one, other):
        read([p], 0)


# ---- groups that die


@pytest.mark.parametrize("who", [0, 1])
def test_what_is_new_outlives_the_group_that_gets_steps_straight(universe, who):
    """One writer says something new in a step, and tells it to the first writer; the other one has
    pushed that step to a group that dies, so it is given up. Guard: a later group did not hear what
    was new."""
    writers, (one,), (other,) = cast_of(universe(), 2, 1, 1)
    marks = [int(who == 0), int(who == 1)]
    opens(writers, [one], write="queue=9")
    put(writers, marks=marks)
    read([one], 0)
    for step in range(1, 4):
        put(writers)
        read([one], step)
    assert int(writers[1 - who].ok("count pushes")[0]) > 0
    put(writers)
    put(writers, marks=[2 * mark for mark in marks])
    put(writers)
    one.kill()
    until_count(writers[1 - who], "queued_bytes", 0)
    put(writers)
    other.ok("open read flow")
    assert begins([other]) == (OK, 7)
    assert other.ok("get")[0] == "2"
    other.ok("end")
    for step in range(8, 12):  # nothing is new in these
        put(writers)
        read([other], step)
    assert int(other.ok("count plans")[0]) <= 2
