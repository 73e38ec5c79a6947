# SPDX-License-Identifier: BSD-3-Clause
"""A block dies; the survivors join again (waitio_rejoin), and a new process takes its place."""

import os
import time

import patience
import pytest

EACH_TRANSPORT = True


def meet(cast, fresh=(), timeout=60.0):
    """All of these meet anew, new processes for the first time; the group of everybody is 0."""
    for a in cast:
        a.begin("init 30" if a in fresh else "rejoin 30")
    for a in cast:
        a.was_ok(a.answer(timeout), "rejoin")
    for a in cast:
        a.ok("group 0 0")


def works(u, cast):
    """Messages of all protocols between all, and a collective."""
    for a, actor in enumerate(cast):
        for b in range(a):
            for size in (8, 20_000, 300_000):
                u.exchange(actor, a, cast[b], b, size)
    for a, actor in enumerate(cast):
        actor.begin(f"sum 0 {10**a}")
    for actor in cast:
        assert actor.was_ok(actor.answer()) == [str(sum(10**a for a in range(len(cast))))]


def replace(u, cast, victim, blocks):
    """Kill an actor; the others learn of it and join again with a new one in its place."""
    pb, rank = place_of(victim, blocks)
    cast[victim].kill()
    for i, a in enumerate(cast):
        if i != victim:
            a.ok(f"irecv 3 0 {victim} 8 9")
            a.fails("wait 3 0", "PEER")
    cast[victim] = u.process(pb, rank, blocks[pb], len(blocks), "actor")
    meet(cast, fresh=[cast[victim]])


def place_of(universe_rank, blocks):
    for pb, n in enumerate(blocks):
        if universe_rank < n:
            return pb, universe_rank
        universe_rank -= n
    raise AssertionError


@pytest.mark.sanitize
@pytest.mark.parametrize("victim", [0, 1, 2], ids=["master", "middle", "last"])
def test_a_new_process_takes_the_place_of_the_dead_one(universe, victim):
    """Whoever dies, also the process at which all met."""
    u = universe()
    blocks = [1, 1, 1]
    cast = u.actors(blocks)
    works(u, cast)
    replace(u, cast, victim, blocks)
    for i, a in enumerate(cast):
        assert a.ok("who") == [str(i), "3", str(i), "3"]
    works(u, cast)
    u.leave(*cast)


@pytest.mark.sanitize
def test_again_and_again(universe):
    """A block of several processes is replaced as a whole; nothing adds up."""
    u = universe()
    blocks = [2, 1, 1]
    cast = u.actors(blocks)
    open_before = None
    for turn, victim in enumerate([3, 2, 3, 2]):
        replace(u, cast, victim, blocks)
        works(u, cast)
        now = cast[1].descriptors()
        assert open_before is None or now <= open_before, f"turn {turn}: {open_before} -> {now}"
        open_before = now
    u.leave(*cast)


def test_nobody_has_to_die(universe):
    """All join again, also one that has left by itself before."""
    u = universe()
    cast = u.actors([1, 1])
    for a in cast:
        a.begin("finalize")
    for a in cast:
        a.was_ok(a.answer())
    cast[0].fails("sum 0 1", "STATE", "waitio_rejoin() joins it again")
    cast[0].fails("init 5", "STATE", "waitio_rejoin() joins it again")
    meet(cast)
    works(u, cast)
    meet(cast)
    works(u, cast)
    u.leave(*cast)


def test_what_was_sent_before_arrives(universe):
    """Leaving delivers; who has not received when it leaves itself has lost the message."""
    u = universe()
    cast = u.actors([1, 1])
    cast[0].ok("isend 1 0 1 2000 7 3")
    cast[0].begin("rejoin 30")
    cast[1].ok("irecv 1 0 0 2000 7")
    assert cast[1].ok("wait 1 3")[-1] == "-1"
    cast[1].begin("rejoin 30")
    for a in cast:
        a.was_ok(a.answer(60))
        a.ok("group 0 0")
    cast[1].ok("irecv 1 0 0 2000 7")
    assert cast[1].ok("test 1 0") == ["pending"]
    cast[0].ok("isend 1 0 1 2000 7 4")
    assert cast[1].ok("wait 1 4")[-1] == "-1"
    u.leave(*cast)


def test_nobody_waits_for_a_buffered_send_that_is_not_received(universe):
    """Both join again; or one does, and the other one still receives it."""
    u = universe()
    cast = u.actors([1, 1])
    for i, a in enumerate(cast):
        a.ok(f"bsend 0 {1 - i} 200000 7")
        a.ok(f"bsend 0 {i} 200000 7")
    meet(cast, timeout=15)
    works(u, cast)
    cast[0].ok("bsend 0 1 200000 7")
    cast[0].begin("rejoin 30")
    cast[1].ok("irecv 1 0 0 200000 7")
    assert cast[1].ok("wait 1 0")[0] == "200000"
    cast[1].begin("rejoin 30")
    for a in cast:
        a.was_ok(a.answer(30))
        a.ok("group 0 0")
    works(u, cast)
    u.leave(*cast)


def test_nobody_waits_for_who_does_not_receive(universe):
    """The peer waits itself, for what never comes: WAITIO_LINGER ends it, or the time limit. Guard:
    where a send that only waits for a receive counts as movement, a synchronous one takes 20 s."""
    far, near = "isend 1 0 1 300000 7 0", "ssend 0 1 8 7"
    for send, linger, limit in ((far, 1, 300), (near, 1, 300), (far, 30, 2)):
        u = universe(WAITIO_LINGER=linger, WAITIO_INIT_TIMEOUT=None)
        cast = u.actors([1, 1])
        cast[0].ok(send)
        cast[1].ok("irecv 1 0 0 8 9")
        cast[1].begin("wait 1 0")
        cast[0].begin(f"rejoin {limit}")
        cast[1].failed("PEER", timeout=12)
        if limit < linger:
            cast[0].failed("TIMEOUT", timeout=15)
            cast[0].begin("rejoin 30")
        cast[1].begin("rejoin 30")
        for a in cast:
            a.was_ok(a.answer(30), "rejoin")
            a.ok("group 0 0")
        works(u, cast)
        u.leave(*cast)


@pytest.mark.sanitize
def test_what_is_of_before_is_refused(universe):
    """Groups by name, requests, persistent ones; freeing what is left of a group is allowed."""
    u = universe()
    cast = u.actors([1, 1])
    a = cast[0]
    a.ok("group 1 5")
    a.ok("irecv 1 0 1 8 1")
    a.ok("precv 2 0 1 8 1")
    for x in cast:
        x.begin("rejoin 30")
    for x in cast:
        x.was_ok(x.answer(60))
    # Not the groups that are made now, at whatever address they lie.
    for g in (2, 3, 4, 5):
        a.ok(f"group {g} {g}")
    for g in (0, 1):
        text = "universe that this process has left (waitio_rejoin)"
        a.fails(f"isend 3 {g} 1 8 1 0", "GROUP", text)
        a.fails(f"irecv 3 {g} 1 8 1", "GROUP", text)
        a.fails(f"sum {g} 1", "GROUP", text)
        a.ok(f"forget {g}")
    a.fails("wait 1 0", "REQUEST", "universe that was left")
    a.fails("start 2", "REQUEST", "universe that was left")
    a.fails("release 2", "REQUEST")
    for x in cast:
        x.ok("group 0 0")
    works(u, cast)
    u.leave(*cast)


def test_who_is_missing_is_told(universe):
    """Nobody starts the dead block again: the survivor says who is missing, and may try again."""
    u = universe(WAITIO_INIT_TIMEOUT=None)
    cast = u.actors([1, 1, 1])
    cast[2].kill()
    for a in cast[:2]:
        a.begin("rejoin 2")
    for a in cast[:2]:
        a.failed("TIMEOUT", "PB 2: nobody came", timeout=30)
    cast[0].fails("irecv 1 0 1 8 1", "TIMEOUT", "joining again failed", "PB 2: nobody came")
    cast[2] = u.process(2, 0, 1, 3, "actor")
    meet(cast, fresh=[cast[2]])
    works(u, cast)
    u.leave(*cast)


def test_a_thread_that_waits_keeps_its_process_where_it_is(universe):
    """Nothing is changed then; when the wait is over the process can join again."""
    u = universe()
    cast = u.actors([1, 1])
    a, b = cast
    a.ok("irecv 1 0 1 8 1")
    a.ok("waiter 1")
    time.sleep(patience.scaled(0.5))  # it waits by then
    a.fails("rejoin 1", "BUSY", "another thread waits in a WaitIO call")
    b.ok("isend 1 0 0 8 1 3")
    b.ok("wait 1 0")
    assert a.ok("joiner") == ["0"]
    u.exchange(a, 0, b, 1, 100)
    meet(cast)
    works(u, cast)
    # A wait that finalize ends is out of the old universe when the process joins again.
    a.ok("irecv 1 0 1 8 1")
    a.ok("waiter 1")
    time.sleep(0.2)
    b.begin("finalize")
    a.ok("finalize")
    b.was_ok(b.answer())
    assert a.ok("joiner")[0] != "0"
    meet(cast)
    works(u, cast)
    u.leave(*cast)


@pytest.mark.sanitize
def test_a_thread_in_an_operator_is_inside(universe):
    """It comes back to the universe, which must be there then."""
    u = universe()
    cast = u.actors([1, 1])
    a, b = cast
    b.ok("thinker 0 0 1")
    a.ok("thinker 0 2 1")
    a.fails("rejoin 1", "BUSY", "another thread waits in a WaitIO call")
    for x in cast:
        assert x.ok("joiner") == ["0"]
    meet(cast)
    works(u, cast)
    u.leave(*cast)


@pytest.mark.only_socket
def test_a_thread_in_an_operator_outlives_finalize(universe):
    """Finalize does not wait for the operator; who joins again has to."""
    u = universe()
    cast = u.actors([1, 1])
    a, b = cast
    b.ok("thinker 0 0 1")
    a.ok("thinker 0 8 1")
    assert b.ok("joiner") == ["0"]
    b.begin("finalize")
    a.ok("finalize")
    b.was_ok(b.answer())
    a.fails("rejoin 1", "BUSY", "another thread waits in a WaitIO call")
    a.ok("joiner")
    meet(cast)
    works(u, cast)
    u.leave(*cast)


def test_a_thread_in_finalize_has_to_come_out(universe):
    """The other one waits there for a message to be received."""
    u = universe()
    cast = u.actors([1, 1])
    a, b = cast
    a.ok("isend 1 0 1 300000 7 0")
    a.ok("leaver")
    time.sleep(patience.scaled(0.5))  # it is in there by then
    a.fails("rejoin 1", "BUSY", "another thread is in waitio_finalize()")
    b.ok("irecv 1 0 0 300000 7")
    b.ok("wait 1 0")
    b.begin("finalize")
    assert a.ok("joiner") == ["0"]
    b.was_ok(b.answer())
    meet(cast)
    works(u, cast)
    u.leave(*cast)


def test_before_joining_there_is_nothing_to_join_again(universe):
    (a,) = universe().actors([1], joined=False)
    a.fails("rejoin 1", "STATE", "has not joined yet", "waitio_init()")
    a.ok("init 20")
    a.ok("rejoin 20")
    a.ok("group 0 0")
    assert a.ok("sum 0 7") == ["7"]


def test_a_forked_child_cannot(universe):
    (a,) = universe().actors([1])
    a.ok("irecv 1 0 0 8 1")
    a.ok("rejoin 20")
    a.ok("group 0 0")
    a.ok("irecv 1 0 0 8 1")
    assert a.ok("fork") == ["0"]


def test_no_file_and_no_process_is_left(universe, tmp_path):
    """Of the universes in between nothing stays in memory of the system or in the directory."""
    u = universe()
    before = set(os.listdir("/dev/shm"))
    cast = u.actors([1, 1])
    for _ in range(3):
        meet(cast)
        works(u, cast)
    u.leave(*cast)
    mine = {n for n in set(os.listdir("/dev/shm")) - before if u.mark in n}
    assert not mine
    assert not list(tmp_path.glob(".waitio-file-*/*/*"))


@pytest.mark.only_socket
@pytest.mark.parametrize("last", ["openmpi", "mpich", None])
def test_blocks_under_two_mpis_go_on(universe, last):
    """Their own MPI goes on; the block that dies, a process or a job, comes back as a new one."""
    u = universe(WAITIO_COMM_TYPE=None)

    def third(*words):
        if last is None:
            return u.process(2, 0, 1, 3, "rejoin", 40, *words)
        return u.mpi(last, 2, 2, 3, "mpi_rejoin", 40, *words)

    flavours = ("openmpi", "mpich")
    survivors = [u.mpi(name, pb, 2, 3, "mpi_rejoin", 40) for pb, name in enumerate(flavours)]
    for when in (7, 20):
        victim = third(when)
        assert victim.ended(None, timeout=60) != 0
    cast = [*survivors, third()]
    u.all_end(cast, 90)
    told = [line for p in cast for line in p.lines if line.startswith("rejoin ok")]
    assert len(told) == 4 + (2 if last else 1)
    assert sum(line.endswith("again 2") for line in told) == 4, told


@pytest.mark.only_socket
def test_two_die_at_once(universe):
    """The survivor meets both new processes; whom it waits for is no third's business."""
    u = universe()
    cast = u.actors([1, 1, 1])
    for victim in (0, 2):
        cast[victim].kill()
    cast[1].ok("irecv 3 0 0 8 9")
    cast[1].fails("wait 3 0", "PEER")
    for pb in (0, 2):
        cast[pb] = u.process(pb, 0, 1, 3, "actor")
    meet(cast, fresh=[cast[0], cast[2]])
    works(u, cast)
    u.leave(*cast)


@pytest.mark.only_socket
def test_a_death_while_all_meet(universe):
    """The new process dies before all have met: the others are told, and try once more."""
    u = universe()
    cast = u.actors([1, 1, 1])
    cast[2].kill()
    cast[2] = u.process(2, 0, 1, 3, "actor")
    cast[0].begin("rejoin 60")
    cast[2].begin("init 60")
    cast[0].silent(1.0)
    cast[2].kill()
    cast[0].failed("PEER", "PB 2", timeout=30)
    cast[2] = u.process(2, 0, 1, 3, "actor")
    meet(cast, fresh=[cast[2]])
    works(u, cast)
    u.leave(*cast)
