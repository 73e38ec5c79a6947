# SPDX-License-Identifier: BSD-3-Clause
"""Peers that die or stop, in every phase. Killed: everything with it fails within 2 s,
everything with others goes on. Stopped: nothing fails, all continues. Guards: without the close
detection in the transport the `failed(..., timeout)` calls time out; with a detector that takes
silence for death the SIGSTOP tests get an error where they demand silence."""

import time

import patience
import pytest

EACH_TRANSPORT = True

KILLED_S = 2.0
BIG = 64 << 20


def trio(universe, **env):
    """Survivor (PB 0), victim (PB 1), bystander (PB 2); all know each other."""
    u = universe(**env)
    s, v, b = u.actors([1, 1, 1])
    return u, s, v, b


def contact(a, ra, b, rb):
    """One message each way. Both are in a call until the link stands, as WAITIO_PROGRESS=poll
    needs."""
    for x, other in ((a, rb), (b, ra)):
        x.ok(f"irecv 61 0 {other} 10 600")
        x.ok(f"isend 60 0 {other} 10 600 3")
        x.begin("wait 61 3")
    for x, other in ((a, rb), (b, ra)):
        assert x.was_ok(x.answer()) == ["10", str(other), "600", "0", "-1"]
        x.ok("wait 60 0")


def others_go_on(u, s, b):
    """Survivor and bystander still work, and leave cleanly."""
    contact(s, 0, b, 2)
    for size in (100, 100000, 3000000):
        s.ok(f"isend 62 0 2 {size} 601 4")
        b.ok(f"irecv 63 0 0 {size} 601")
        assert b.ok("wait 63 4")[-1] == "-1"
        s.ok("wait 62 0")
    started = time.monotonic()
    u.leave(s, b)
    assert time.monotonic() - started < patience.scaled(4)


def soon(s, died, limit=KILLED_S):
    late = s.seen_at - died
    assert late < patience.scaled(limit), f"the error came {late:.1f} s after the death"


@pytest.mark.sanitize
def test_idle(universe):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    died = v.kill()
    time.sleep(0.5)
    s.do("irecv 1 0 1 10 1")
    s.fails("wait 1 0", "PEER", "PB 1 rank 0", timeout=5)
    soon(s, died)
    s.do("isend 2 0 1 3000000 1 5")
    s.fails("wait 2 0", "PEER", "PB 1 rank 0", timeout=1)
    others_go_on(u, s, b)


@pytest.mark.sanitize
def test_receive_pending(universe):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    s.ok("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    time.sleep(0.3)
    died = v.kill()
    s.failed("PEER", "PB 1 rank 0", timeout=5)
    soon(s, died)
    others_go_on(u, s, b)


def test_any_source_waits_for_the_living(universe):
    """A dead member does not fail a receive that a living one can satisfy; when all are dead it
    fails."""
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    contact(s, 0, b, 2)
    s.ok("irecv 1 0 -1 10 1")
    v.kill()
    s.begin("wait 1 7")
    s.silent(1.0)
    b.ok("isend 1 0 0 10 1 7")
    assert s.was_ok(s.answer())[1] == "2"
    s.ok("irecv 1 0 -1 10 1")
    s.begin("wait 1 7")
    died = b.kill()
    s.failed("PEER", timeout=5)
    soon(s, died)
    u.leave(s)


@pytest.mark.only_socket
def test_a_link_that_the_cap_has_closed(universe):
    """Who waits for a process without a link dials it soon: only a dial can tell that it died."""
    u = universe(WAITIO_MAX_CONNECTIONS=2)
    s, v, b, c = u.actors([1, 1, 1, 1])
    contact(s, 0, v, 1)
    for other, rank in ((b, 2), (c, 3)):
        contact(s, 0, other, rank)
        contact(v, 1, other, rank)
    s.ok("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    died = v.kill()
    s.failed("PEER", "PB 1 rank 0", timeout=10)
    soon(s, died)
    contact(s, 0, b, 2)
    u.leave(s, b, c)


def use_up_credit_and_pool(s):
    """Sends from universe rank 0 to 1, tag = number: 200 of 4000 bytes, which are complete, and as
    many of 60000 as it takes: the last one, in slot 9, is not. How many there are."""
    before = s.count("eager_msgs")
    for i in range(200):
        s.ok(f"isend 1 0 1 4000 {i} 5")
        s.ok("wait 1 0")
    for i in range(60):
        s.ok(f"isend 9 0 1 60000 {200 + i} 5")
        if s.count("pool_waits") > 0:
            break
        s.ok("wait 9 0")
    assert s.count("eager_msgs") - before > 10
    assert s.count("credit_waits") > 0 and s.count("pool_waits") > 0
    return 201 + i


@pytest.mark.sanitize
def test_eager(universe):
    """Many small messages to somebody who never receives, until no credit is left."""
    u, s, v, b = trio(universe, WAITIO_UNEXPECTED_MAX=1 << 20, WAITIO_SEND_BUFFER_MAX=1 << 20)
    contact(s, 0, v, 1)
    use_up_credit_and_pool(s)
    s.begin("wait 9 0")
    s.silent(0.3)
    died = v.kill()
    s.failed("PEER", timeout=5)
    soon(s, died)
    others_go_on(u, s, b)


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("size", [2 << 20, BIG])
def test_sender_waits_in_rendezvous(universe, size):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    s.ok(f"isend 1 0 1 {size} 1 5")
    assert s.count("rndv_msgs") == 1
    s.begin("wait 1 0")
    s.silent(0.3)
    died = v.kill()
    s.failed("PEER", timeout=5)
    soon(s, died)
    others_go_on(u, s, b)


@pytest.mark.sanitize
def test_receiver_meets_the_request_of_a_dead_sender(universe):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    v.ok(f"isend 1 0 0 {BIG} 1 5")
    assert v.count("rndv_msgs") == 1
    s.ok("probe 0 1 1")  # the request is here
    v.kill()
    time.sleep(0.3)
    s.do(f"irecv 1 0 1 {BIG} 1")
    s.fails("wait 1 0", "PEER", timeout=5)
    others_go_on(u, s, b)


def test_what_had_arrived_is_delivered(universe):
    """Messages that are here completely outlive their sender."""
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    for i in range(5):
        v.ok(f"isend {i} 0 0 1000 {i} {i + 1}")
    v.ok("isend 9 0 0 10 9 9")
    s.ok("probe 0 1 9")
    v.kill()
    time.sleep(0.5)
    for i in range(5):
        s.ok(f"irecv 1 0 1 1000 {i}")
        assert s.ok(f"wait 1 {i + 1}")[-1] == "-1"
    s.do("irecv 1 0 1 1000 77")
    s.fails("wait 1 0", "PEER")
    others_go_on(u, s, b)


@pytest.mark.sanitize
def test_receiver_dies_in_the_middle_of_a_transfer(universe):
    u, s, v, b = trio(universe, WAITIO_SHM_FETCH="off")
    contact(s, 0, v, 1)
    v.ok(f"irecv 1 0 0 {BIG * 8} 1")
    v.ok(f"suicide rx_bytes {BIG}")
    v.begin("wait 1 0")
    s.ok(f"isend 1 0 1 {BIG * 8} 1 0")
    s.begin("wait 1 0")
    died = v.dies()
    s.failed("PEER", timeout=5)
    soon(s, died)
    assert s.count("tx_bytes") > BIG
    others_go_on(u, s, b)


@pytest.mark.sanitize
def test_sender_dies_in_the_middle_of_a_transfer(universe):
    u, s, v, b = trio(universe, WAITIO_SHM_FETCH="off")
    contact(s, 0, v, 1)
    s.ok(f"irecv 1 0 1 {BIG * 8} 1")
    s.begin("wait 1 0")
    v.ok(f"isend 1 0 0 {BIG * 8} 1 0")
    v.ok(f"suicide tx_bytes {BIG}")
    v.begin("wait 1 0")
    died = v.dies()
    s.failed("PEER", timeout=5)
    soon(s, died)
    assert s.count("rx_bytes") > BIG // 2
    others_go_on(u, s, b)


def test_while_we_finalize(universe):
    """Finalize waits for a living peer that does not answer; its death ends the wait."""
    u, s, v, b = trio(universe, WAITIO_LINGER=60)
    contact(s, 0, v, 1)
    v.stop()
    s.ok("isend 1 0 1 3000000 1 5")  # v owes an answer
    s.begin("finalize")
    s.silent(1.0)
    died = v.kill()
    s.answer(timeout=5)
    soon(s, died)
    b.ok("finalize")


@pytest.mark.sanitize
def test_it_dies_while_it_finalizes(universe):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    s.ok("irecv 1 0 1 10 1")
    s.ok(f"isend 2 0 1 {BIG} 2 5")
    v.ok(f"isend 2 0 0 {BIG} 2 5")  # unfinished business: its finalize has to wait
    v.begin("finalize")
    v.silent(0.5)  # it is inside
    died = v.kill()
    s.fails("wait 1 0", "PEER", timeout=5)
    soon(s, died)
    s.fails("wait 2 0", "PEER", timeout=5)
    others_go_on(u, s, b)


def test_peer_that_died_before_any_contact(universe):
    """Nobody ever had a connection to it: after WAITIO_DIAL_AFTER the receiver looks for itself."""
    u, s, v, b = trio(universe, WAITIO_DIAL_AFTER=1)
    v.kill()
    s.ok("irecv 1 0 1 10 1")
    s.fails("wait 1 0", "PEER", "PB 1 rank 0", timeout=10)
    others_go_on(u, s, b)


def test_send_to_a_peer_that_died_before_any_contact(universe):
    u, s, v, b = trio(universe)
    v.kill()
    s.do(f"isend 1 0 1 {BIG} 1 5")
    s.fails("wait 1 0", "PEER", timeout=10)
    others_go_on(u, s, b)


def test_default_dial_after_is_one_second(universe):
    u, s, v, b = trio(universe)
    died = v.kill()
    s.ok("irecv 1 0 1 10 1")
    s.fails("wait 1 0", "PEER", timeout=12)
    assert 0.5 < s.seen_at - died < patience.scaled(2)
    others_go_on(u, s, b)


def test_abort_is_told_to_the_others(universe):
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    s.ok("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    v.begin("abort 3")
    assert v.ended(None) == 3
    s.failed("PEER", "abort", timeout=5)
    others_go_on(u, s, b)


def test_peer_that_left_in_order(universe):
    """Finalized: what it sent is there, later operations with it say that it left."""
    u, s, v, b = trio(universe)
    contact(s, 0, v, 1)
    v.ok("isend 1 0 0 1000 1 5")
    v.begin("finalize")
    s.ok("irecv 1 0 1 1000 1")
    assert s.ok("wait 1 5")[-1] == "-1"
    v.was_ok(v.answer())
    s.do("irecv 1 0 1 10 2")
    s.fails("wait 1 0", "PEER", "finalized", timeout=5)
    v.begin("exit 0")
    v.ended()
    others_go_on(u, s, b)


# ---- stopped, not dead ----


def begin_all_phases(pairs):
    """What the first halves want from the second halves, which are stopped by now."""
    waits = {
        0: "isend 1 0 6 100 1 5",  # no contact yet
        1: "irecv 1 0 7 100 1",  # idle
        2: "isend 1 0 8 3000000 1 5",  # rendezvous
        3: f"isend 1 0 9 {BIG} 1 5",  # transfer to it
        4: f"irecv 1 0 10 {BIG} 1",  # transfer from it
    }
    for i, command in waits.items():
        pairs[i][0].ok(command)
        pairs[i][0].begin("wait 1 5" if "irecv" in command else "wait 1 0")
    pairs[5][0].ok("isend 1 0 11 100 1 5")
    pairs[5][0].ok("wait 1 0")  # local completion, and then away: must wait for the peer
    pairs[5][0].begin("finalize")
    pairs[0][0].was_ok(pairs[0][0].answer())  # completes locally although nobody answers
    pairs[0][0].ok("irecv 2 0 6 100 2")
    pairs[0][0].begin("wait 2 5")


def end_all_phases(pairs):
    """The second halves live again and do their part: everything succeeds."""
    for i, command in ((0, "100"), (2, "3000000"), (5, "100")):
        v, rs = pairs[i][2], pairs[i][1]
        v.ok(f"irecv 2 0 {rs} {command} 1")
        assert v.ok("wait 2 5")[-1] == "-1"
    pairs[0][2].ok("isend 2 0 0 100 2 5")
    pairs[1][2].ok("isend 2 0 1 100 1 5")
    pairs[3][2].ok("wait 1 5", timeout=30)
    pairs[4][2].ok("wait 1 0", timeout=30)
    for i in (0, 1, 2, 3, 4):
        assert pairs[i][0].was_ok(pairs[i][0].answer(30))[-1] == "-1"


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("progress", ["service", "poll"])
def test_stopped_in_every_phase(universe, progress):
    """Six pairs, each in another phase; all second halves are stopped for longer than death takes
    to be noticed, then go on. Every operation must be pending meanwhile and succeed afterwards."""
    u = universe(
        WAITIO_PROGRESS=progress,
        WAITIO_UNEXPECTED_MAX=2 << 20,
        WAITIO_LINGER=30,
        WAITIO_CONNECT_TIMEOUT=1,  # less than they are stopped
    )
    cast = u.actors([6, 6])
    pairs = [(cast[i], i, cast[6 + i], 6 + i) for i in range(6)]
    for s, rs, v, rv in pairs[1:]:
        contact(s, rs, v, rv)
    pairs[3][2].ok(f"irecv 1 0 3 {BIG} 1")  # has promised a buffer for a transfer
    pairs[4][2].ok(f"isend 1 0 4 {BIG} 1 5")
    for _, _, v, _ in pairs:
        v.stop()
    begin_all_phases(pairs)
    time.sleep(2.5)
    for i in (0, 1, 2, 3, 5):
        pairs[i][0].silent(0.01)
    for _, _, v, _ in pairs:
        v.resume()
    end_all_phases(pairs)
    rest = [a for a in cast if a is not pairs[5][0]]
    for a in rest:
        a.begin("finalize")
    for a in [pairs[5][0], *rest]:
        a.was_ok(a.answer(40), "finalize")


def test_stopped_when_no_credit_is_left(universe):
    """Small messages until the sender has to wait for a receiver that is stopped."""
    u = universe(
        WAITIO_UNEXPECTED_MAX=1 << 20, WAITIO_SEND_BUFFER_MAX=1 << 20, WAITIO_CONNECT_TIMEOUT=1
    )
    s, v = u.actors([1, 1])
    contact(s, 0, v, 1)
    v.stop()
    sent = use_up_credit_and_pool(s)
    s.begin("wait 9 0")
    s.silent(2.0)
    v.resume()
    for i in range(sent):
        v.ok(f"irecv 1 0 0 60000 {i}")
        assert v.ok("wait 1 5")[-1] == "-1"
    s.was_ok(s.answer())
    u.leave(s, v)


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("who", ["sender", "receiver"])
def test_stopped_in_the_middle_of_a_transfer(universe, who):
    """It stops itself when part of the data has moved; the other one waits, however long."""
    u = universe(WAITIO_CONNECT_TIMEOUT=1)
    a, b = u.actors([1, 1])
    contact(a, 0, b, 1)
    v, s = (a, b) if who == "sender" else (b, a)
    counter = "tx_bytes" if who == "sender" else "rx_bytes"
    b.ok(f"irecv 1 0 0 {BIG * 8} 1")
    v.ok(f"stopat {counter} {BIG}")
    b.begin("wait 1 5")
    a.ok(f"isend 1 0 1 {BIG * 8} 1 5")
    a.begin("wait 1 0")
    v.stops()
    s.silent(2.0)
    v.resume()
    a.was_ok(a.answer(30))
    assert b.was_ok(b.answer(30))[-1] == "-1"
    u.leave(a, b)


def test_stopped_while_it_finalizes(universe):
    """In the middle of its leaving: the other waits, takes what it has sent, and both end."""
    u = universe(WAITIO_CONNECT_TIMEOUT=1, WAITIO_LINGER=30)
    s, v = u.actors([1, 1])
    contact(s, 0, v, 1)
    v.ok("isend 1 0 0 3000000 1 5")
    v.begin("finalize")
    v.silent(0.3)  # it is inside
    v.stop()
    s.ok("irecv 1 0 1 3000000 1")
    s.begin("wait 1 5")
    s.silent(2.0)
    v.resume()
    assert s.was_ok(s.answer())[-1] == "-1"
    v.was_ok(v.answer())
    u.leave(s)


def test_computing_is_not_dead(universe):
    """Without the library's attention, and without a service thread, for longer than anything
    waits."""
    u = universe(WAITIO_PROGRESS="poll", WAITIO_CONNECT_TIMEOUT=1)
    a, b = u.actors([1, 1])
    b.begin("sleep 3")  # no contact yet: not even the handshake is answered
    a.ok("isend 1 0 1 3000000 1 5")
    a.begin("wait 1 0")
    a.silent(2.2)
    b.was_ok(b.answer())
    b.ok("irecv 1 0 0 3000000 1")
    b.ok("wait 1 5")
    a.was_ok(a.answer())


# ---- fork and exit ----


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("progress", ["service", "poll"])
def test_fork(universe, progress):
    """The child's calls return an error; its exit disturbs nobody."""
    u = universe(WAITIO_PROGRESS=progress, ASAN_OPTIONS="detect_leaks=0")  # threads of the parent
    a, b = u.actors([1, 1])
    contact(a, 0, b, 1)
    a.ok("irecv 1 0 1 100 1")
    for _ in range(3):
        assert a.ok("fork") == ["0"], a.story()
    contact(a, 0, b, 1)
    b.ok("isend 1 0 0 100 1 5")
    assert a.ok("wait 1 5")[-1] == "-1"
    u.leave(a, b)


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("progress", ["service", "thread", "poll"])
@pytest.mark.parametrize("how", ["exit 0", "finalize"])
@pytest.mark.parametrize("linked", [True, False])
def test_leaving_with_messages_in_flight(universe, how, progress, linked):
    """Plain exit, and finalize: what was sent arrives, large and small, known peer or not.

    Guard: without the exit handler (or its wait) the receiver gets PEER."""
    u = universe(WAITIO_PROGRESS=progress)
    a, b = u.actors([1, 1])
    if linked:
        contact(a, 0, b, 1)
    for i in range(20):
        a.ok(f"isend {i} 0 1 {50000 if i < 19 else 5000000} {i} {i + 1}")
        if i < 19:
            a.ok(f"wait {i} 0")
    a.begin(how)
    time.sleep(0.5)
    for i in range(20):
        b.ok(f"irecv 1 0 0 5000000 {i}")
        assert b.ok(f"wait 1 {i + 1}")[-1] == "-1"
    b.begin("finalize")
    if how == "finalize":
        a.was_ok(a.answer())
        a.begin("exit 0")
    a.ended()
    b.was_ok(b.answer())


def test_unresponsive_peer_is_given_up_at_finalize(universe):
    """A stopped peer that owes an answer bounds finalize by WAITIO_LINGER; living ones are not
    hurried."""
    u = universe(WAITIO_LINGER=2)
    a, b, c = u.actors([1, 1, 1])
    contact(a, 0, b, 1)
    b.stop()
    a.ok("isend 1 0 1 3000000 1 5")
    a.begin("finalize")
    started = time.monotonic()
    a.failed("TIMEOUT", "WAITIO_LINGER", timeout=15)
    assert 1.5 < time.monotonic() - started < patience.scaled(8)
    b.kill()
    c.ok("finalize")
