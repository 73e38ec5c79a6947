# SPDX-License-Identifier: BSD-3-Clause
"""Messages between healthy processes: every size, call, way of progress, and much at once."""

import pytest

EACH_TRANSPORT = True

MIB = 1 << 20


@pytest.mark.parametrize("progress", ["service", "thread", "poll"])
def test_sizes(universe, progress):
    """0 B to 64 MiB, one byte around every power of two."""
    largest = 64 * MIB if progress == "service" else 4 * MIB
    universe(WAITIO_PROGRESS=progress).go([1, 1], "sizes", "sizes", largest)


@pytest.mark.sanitize
@pytest.mark.parametrize("mode", ["persistent", "truncate", "probe", "cancel", "any", "order"])
def test_calls(universe, mode):
    """The calls around a message, between two blocks of one process."""
    for p in universe().go([1, 1], "sizes", mode):
        assert p.lines == [f"{mode} ok"] and p.err() == ""


@pytest.mark.parametrize("mode", ["truncate", "order", "any"])
def test_calls_with_rendezvous_only(universe, mode):
    """No message goes without asking: the other half of the protocol does the same."""
    universe(WAITIO_EAGER_MAX=0, WAITIO_LOCAL_COMPLETE_MAX=0).go([1, 1], "sizes", mode)


def test_calls_in_small_pieces(universe):
    """The smallest piece size: long messages are many pieces."""
    u = universe(WAITIO_CHUNK=4096, WAITIO_EAGER_MAX=65536)
    u.go([1, 1], "sizes", "sizes", 2 * MIB)
    universe(WAITIO_CHUNK=4096).go([1, 1], "sizes", "order")


def test_crc(universe):
    universe(WAITIO_CRC=1).go([1, 1], "sizes", "sizes", 2 * MIB)


@pytest.mark.sanitize
@pytest.mark.parametrize("blocks", [[1], [2, 1]])
def test_self(universe, blocks):
    """Messages to oneself, alone in the world (no network at all) and in company."""
    universe().go(blocks, "sizes", "self")


def test_truncation_tells_both_sizes(universe):
    """Guard: without the room check in the receiver the third actor's memory would be
    overwritten."""
    a, b = universe().actors([1, 1])
    for size in (1000, 300000, 5 * MIB):
        a.ok(f"isend 1 0 1 {size} 5 77")
        b.ok(f"irecv 2 0 0 {size // 3} 5")
        b.fails("wait 2 0", "TRUNCATE", str(size), str(size // 3))
        a.ok("wait 1 0")


def test_beyond_4_gib(universe):
    """One message of more than 4 GiB: needs two buffers of that size."""
    with open("/proc/meminfo") as info:
        free = next(int(line.split()[1]) for line in info if line.startswith("MemAvailable"))
    if free < 12 << 20:
        pytest.skip(f"needs 12 GiB of free memory, {free >> 20} GiB are")
    universe().go([1, 1], "sizes", "big", timeout=170)


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("progress", ["service", "thread", "poll"])
def test_threads(universe, progress):
    """8 threads in each of 3 processes; one more is blocked in a wait all the time.

    Guard: a wait that keeps the lock while it sleeps makes this hang."""
    universe(WAITIO_PROGRESS=progress).go([2, 1], "threads", 8, 150)


def test_threads_share_a_process(universe):
    """8 threads of one process talk to themselves."""
    universe().go([1], "threads", 8, 200)


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("progress", ["service", "poll"])
def test_thousands_in_flight(universe, progress):
    universe(WAITIO_PROGRESS=progress).go([2, 1], "flood", "inflight", 10000)


@pytest.mark.sanitize
def test_unexpected_flood(universe):
    """Messages long before their receives, taken in the opposite order."""
    universe().go([1, 2], "flood", "unexpected", 3000, 8)


def test_unexpected_flood_of_longer_ones(universe):
    universe().go([1, 2], "flood", "unexpected", 400, 20000)


def test_send_pool_is_bounded(universe):
    """Guard: without the limit in the sender pool_max exceeds WAITIO_SEND_BUFFER_MAX."""
    universe(WAITIO_SEND_BUFFER_MAX=MIB, WAITIO_UNEXPECTED_MAX=MIB).go([1, 1], "flood", "pool")


@pytest.mark.in_turn("universe")
@pytest.mark.parametrize("size", [3000, 30000])
@pytest.mark.parametrize("blocks", [[1, 1], [1, 4]])
def test_unexpected_memory_is_bounded(universe, blocks, size):
    """Guard: a receiver that gives credit without a budget exceeds WAITIO_UNEXPECTED_MAX."""
    universe(WAITIO_UNEXPECTED_MAX=MIB).go(blocks, "flood", "credit", size)


@pytest.mark.only_socket  # the shares are above the routes
def test_a_hundred_shouting_senders(universe):
    """Guard: as above; the share of each of so many may shrink to the floor, never the sum grow."""
    universe(WAITIO_UNEXPECTED_MAX=MIB).go([1, 100], "flood", "credit", 3000, timeout=150)


@pytest.mark.only_socket
@pytest.mark.parametrize("progress", ["service", "poll"])
@pytest.mark.parametrize("cap", [1, 3])
def test_connection_cap(universe, cap, progress):
    """12 processes, all with all. Guard: without the cap links exceed it and the program says so;
    without order across links it finds wrong contents."""
    u = universe(WAITIO_MAX_CONNECTIONS=cap, WAITIO_PROGRESS=progress)
    u.go([4, 8], "flood", "all2all", 12, timeout=120)


@pytest.mark.only_socket
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_connection_cap_random_exchange(universe, cap):
    """12 processes, 8 B to 1 MiB, in any order. Guard: a soft cap ends with up to 11 links; links
    closed before their turn, or places held by dials for ever, end in the time limit."""
    u = universe(WAITIO_MAX_CONNECTIONS=cap)
    u.go([4, 8], "flood", "exchange", 6, timeout=120)


@pytest.mark.only_socket
@pytest.mark.sanitize
def test_connection_cap_small_exchange(universe):
    u = universe(WAITIO_MAX_CONNECTIONS=1)
    u.go([2, 3], "flood", "exchange", 4, timeout=120)


@pytest.mark.only_socket
def test_memory_per_peer(universe):
    universe().go([4, 4], "flood", "idle")


def test_the_log_names_the_route_on_both_sides(universe):
    """Also where the other one came first."""
    a, b = universe(WAITIO_LOG="p2p:debug").actors([1, 1])
    b.ok("irecv 1 0 0 10 1")
    a.ok("isend 1 0 1 10 1 3")
    b.ok("wait 1 3")
    assert "link to PB 1 rank 0 by " in a.err() and "(it has connected)" not in a.err()
    assert "link to PB 0 rank 0 by " in b.err() and "(it has connected)" in b.err()


@pytest.mark.sanitize
def test_bad_arguments(universe):
    """Every wrong argument of every call: its code, its words, no harm."""
    (p,) = universe().go([1], "errors", "args")
    assert p.lines == ["errors ok"]


def test_calls_outside_the_universe(universe):
    (p,) = universe().go([1], "errors", "late")
    assert p.lines == ["late ok"]


def test_errors_are_printed_by_default(universe):
    """Old programs ignore return codes: one line on stderr each, and no flood of them."""
    (a,) = universe(WAITIO_ERRORS=None).actors([1])
    for _ in range(80):
        a.fails("isend 1 0 7 8 1", "RANK")
    lines = a.err().splitlines()
    assert "WAITIO_ERR_RANK" in lines[0] and "7" in lines[0] and "PB 0 rank 0" in lines[0]
    assert 40 < len(lines) < 60 and "not printed" in lines[-1]


def test_a_death_ends_the_program_by_default(universe):
    """As in MPI: programs that ignore codes must not go on with data that never came. Guard:
    without `ends_program` the code is returned and the actor stays."""
    a, b, c = universe(WAITIO_ERRORS=None).actors([1, 1, 1])
    a.ok("irecv 1 0 2 10 1")
    a.begin("wait 1 0")
    b.ok("irecv 2 0 1 10 1")
    b.begin("wait 2 0")
    c.kill()
    assert a.ended(None) == 1
    assert "WAITIO_ERR_PEER" in a.err() and "PB 2 rank 0" in a.err()
    assert "waitio_set_errors" in a.err()


def test_a_message_too_long_ends_the_program_by_default(universe):
    a, b = universe(WAITIO_ERRORS=None).actors([1, 1])
    a.ok("irecv 1 0 1 10 1")
    b.ok("isend 1 0 0 100 1 9")
    a.begin("wait 1 0")
    assert a.ended(None) == 1
    assert "WAITIO_ERR_TRUNCATE" in a.err()


def test_a_program_may_look_at_codes(universe):
    """The program's word goes before the environment's."""
    for errors in (None, "abort"):
        a, b = universe(WAITIO_ERRORS=errors).actors([1, 1])
        a.ok("errors 1")
        a.ok("irecv 1 0 1 10 1")
        b.kill()
        a.fails("wait 1 0", "PEER", "PB 1 rank 0")
        a.fails("isend 1 0 7 8 1", "RANK")
        assert "WAITIO_ERR" not in a.err()


def test_errors_may_end_the_process(universe):
    (a,) = universe(WAITIO_ERRORS="abort").actors([1])
    a.begin("isend 1 0 7 8 1")
    assert a.ended(None) != 0
    assert "WAITIO_ERR_RANK" in a.err()


def test_long_wait_is_reported(universe):
    """Guard: without the report nothing is on stderr."""
    a, b = universe(WAITIO_WARN_WAIT=1).actors([1, 1])
    a.ok("irecv 1 0 1 100 31337")
    a.begin("wait 1 9")
    a.silent(1.5)
    b.ok("isend 1 0 0 100 31337 9")
    a.was_ok(a.answer())
    text = a.err()
    assert "31337" in text and "PB 1 rank 0" in text and "no matching message" in text
    a.ok("isend 1 0 1 4000000 5 9")  # a send whose receiver does not come
    a.begin("wait 1 0")
    a.silent(1.5)
    assert "4000000 bytes" in a.err() and "asked to send" in a.err()
    b.ok("irecv 1 0 0 4000000 5")
    b.ok("wait 1 9")
    a.was_ok(a.answer())


def test_statistics_at_finalize(universe):
    u = universe(WAITIO_STATS=1)
    a, b = u.actors([1, 1])
    for _ in range(3):
        a.ok("isend 1 0 1 1000 5 9")
        b.ok("irecv 1 0 0 1000 5")
        b.ok("wait 1 9")
    u.leave(a, b)
    rows = {line.split()[0]: line.split()[1] for line in a.err().splitlines() if line[:2] == "  "}
    assert rows["send_msgs"] == "3" and rows["send_bytes"] == "3000", a.err()
    assert "PB 0 rank 0" in a.err()
    assert all(int(value) > 0 for value in rows.values()), "zeros are left out"


def test_dump_tells_what_is_pending(universe):
    a, _ = universe().actors([1, 1])
    a.ok("irecv 1 0 1 100 31337")
    a.ok("dump")
    assert "31337" in a.err() and "universe of 2 processes" in a.err()


def test_transport_that_is_not_built_warns_and_works(universe):
    cast = universe(WAITIO_COMM_TYPE="verbs").go([1, 1], "ring", 5)
    assert all("verbs" in p.err() for p in cast)
