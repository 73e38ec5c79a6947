# SPDX-License-Identifier: BSD-3-Clause
"""What WAITIO_TRACE leaves: of runs that end well, of killed processes, where there is no room."""

import resource
import time

import pytest

from waitio import traceevents as what
from waitio import traceview, tracewaits
from waitio.tracefile import NOBODY
from waitio.tracerun import load

MIB = 1 << 20
LEFT, ABORTED, INSIDE = 1, 2, 0
ALLREDUCE = 3


def run_of(folder):
    """What lies there; no file may be bad."""
    run, faults = load(str(folder))
    assert not faults
    return run


def records(process, kind):
    return [r for r in process.trace.records if r.kind == kind]


def arrows(run, folder):
    """Both ends of each arrow that the viewer gets."""
    ends = {}
    for event in traceview.events(run, str(folder)):
        if event["ph"] in "sf":
            ends.setdefault(event["id"], {})[event["ph"]] = event
    assert all(set(both) == {"s", "f"} for both in ends.values())
    return list(ends.values())


SIZES = (8, 100_000, 3 * MIB)


def play(universe, folder, transport):
    """A send of each protocol, a wildcard, a message that comes late, a collective, a phase."""
    u = universe(WAITIO_TRACE=folder, WAITIO_COMM_TYPE=transport)
    a, b = u.actors([1, 1])
    a.ok("phase first")
    for number, size in enumerate(SIZES):
        a.ok(f"isend 1 0 1 {size} {number} 7")
        b.ok(f"irecv 2 0 {0 if number else -1} {size} {number}")
        b.ok("wait 2 7")
        a.ok("wait 1 0")
    a.ok("phaseend first")
    b.ok("irecv 2 0 0 8 50")
    b.begin("wait 2 7")
    time.sleep(0.3)
    a.ok("isend 1 0 1 8 50 7")
    b.was_ok(b.answer(), "wait")
    a.ok("wait 1 0")
    for p in (a, b):
        p.begin("sum 0 3")
    for p in (a, b):
        p.was_ok(p.answer(), "sum")
    u.leave(a, b)
    return run_of(folder)


@pytest.mark.sanitize
@pytest.mark.parametrize("transport", ["socket", "shm"])
def test_messages_and_arrows(universe, tmp_path, transport):
    folder = tmp_path / "new"
    run = play(universe, folder, transport)
    first, second = run.processes
    assert [(p.trace.state, p.trace.name) for p in run.processes] == [
        (LEFT, "PB 0 rank 0"),
        (LEFT, "PB 1 rank 0"),
    ]
    sends = records(first, what.SEND)
    sent = [r for r in sends if r.space == sends[0].space]  # without those of the collective
    assert [r.bytes for r in sent] == [*SIZES, 8]
    got = [s for s in run.messages() if s.receiver is second.trace and s.send in sent]
    assert [s.receive.bytes for s in got] == [*SIZES, 8]
    assert [s.send.what for s in got] == [s.receive.what for s in got] == [0, 1, 2, 50]
    assert got[0].receive.peer == 0  # the wildcard knows whose message it was
    shown = arrows(run, folder)
    assert len(shown) == len(list(run.messages())) >= 6
    assert min(both["f"]["ts"] - both["s"]["ts"] for both in shown) >= 0


def test_collectives_and_phases(universe, tmp_path):
    run = play(universe, tmp_path / "t", "shm")
    first = run.processes[0]
    (sum_here,) = [r for r in records(first, what.COLLECTIVE) if r.what == ALLREDUCE]
    assert sum_here.envelope == 2 and sum_here.end
    names = {e["name"] for e in traceview.events(run, str(tmp_path)) if e["ph"] == "X"}
    assert {"first", "joining", "finalize: goodbyes", what.COLLECTIVE_TEXT[ALLREDUCE]} <= names


def test_a_late_sender_is_told_from_a_slow_message(universe, tmp_path):
    rows = tracewaits.table(play(universe, tmp_path / "t", "shm"), False)
    (row,) = [r for r in rows if (r.waiter, r.awaited) == ("PB 1 rank 0", "PB 0 rank 0")]
    assert row.longest >= 0.28 and row.late >= 0.28 and row.open == 0


@pytest.fixture(params=["socket", "shm", "file"])
def killed(universe, tmp_path, request):
    """What is left where rank 1 was killed in a wait and rank 0 aborted."""
    u = universe(
        WAITIO_TRACE=tmp_path / "t", WAITIO_COMM_TYPE=request.param, WAITIO_SCRATCH_DIR=tmp_path
    )
    a, b = u.actors([1, 1])
    a.ok("isend 1 0 1 8 1 7")
    b.ok("irecv 2 0 0 8 1")
    b.ok("wait 2 7")
    b.ok("phase last")
    b.ok("irecv 3 0 0 8 2")
    b.begin("wait 3 0")
    time.sleep(0.3)
    b.kill()
    a.begin("abort 3")
    a.ended(3)
    return run_of(tmp_path / "t")


def test_a_killed_process_leaves_what_it_waited_for(killed, tmp_path):
    """Guard: without records that are completed later the last wait would be missing."""
    assert [p.trace.state for p in killed.processes] == [ABORTED, INSIDE]
    (open_one,) = [r for r in records(killed.processes[1], what.RECEIVE) if not r.end]
    assert open_one.waited and open_one.what == 2 and open_one.peer == 0
    (row,) = [r for r in tracewaits.table(killed, False) if r.open]
    assert (row.waiter, row.awaited, row.open) == ("PB 1 rank 0", "PB 0 rank 0", 1)
    assert "1 had not ended" in tracewaits.as_text([row])


def test_the_viewer_shows_the_last_wait_and_phase(killed, tmp_path):
    shown = [e for e in traceview.events(killed, str(tmp_path)) if e["ph"] == "X" and e["pid"] == 1]
    (wait,) = [e for e in shown if e["args"].get("never ended") and e["cat"] == "wait"]
    assert wait["name"] == "wait for PB 0 rank 0"
    assert [e["name"] for e in shown if e["cat"] == "phase"] == ["last"]


def waits(folder):
    """The kinds of waits that ended, and by whom."""
    return {
        (r.what, r.peer)
        for p in run_of(folder).processes
        for r in records(p, what.WAIT)
        if r.end and r.peer != NOBODY
    }


@pytest.mark.sanitize
def test_a_probe_that_waits(universe, tmp_path):
    """It has no message of its own to stand in."""
    folder = tmp_path / "t"
    u = universe(WAITIO_TRACE=folder)
    a, b = u.actors([1, 1])
    b.begin("probe 0 -1 5")
    time.sleep(0.2)
    a.ok("isend 1 0 1 8 5 7")
    b.was_ok(b.answer(), "probe")
    b.ok("irecv 2 0 0 8 5")
    b.ok("wait 2 7")
    a.ok("wait 1 0")
    u.leave(a, b)
    assert waits(folder) == {(1, 0)}
    (row,) = [r for r in tracewaits.table(run_of(folder), False) if r.longest > 0.15]
    assert (row.waiter, row.awaited) == ("PB 1 rank 0", "PB 0 rank 0")


def test_waits_for_any_of_several(universe, tmp_path):
    folder = tmp_path / "t"
    universe(WAITIO_TRACE=folder).go([1, 1], "sizes", "any")
    assert {kind for kind, _ in waits(folder)} == {0}


def test_two_universes_in_one_folder(universe, tmp_path):
    """Each has its names; nothing of one is taken for something of the other."""
    folder = tmp_path / "t"
    universe(WAITIO_TRACE=folder).go([1, 1], "ring", 20)
    universe(WAITIO_TRACE=folder).go([2, 1], "ring", 20)
    run = run_of(folder)
    assert len(run.universes) == 2 and sorted(p.number for p in run.processes) == list(range(5))
    assert all(s.sender.universe == s.receiver.universe for s in run.messages())
    assert len(list(run.messages())) >= 20 * 5
    assert any(run.universes[0][:8] in row.waiter for row in tracewaits.table(run, False))


def test_joining_again_is_another_universe(universe, tmp_path):
    folder = tmp_path / "t"
    u = universe(WAITIO_TRACE=folder)
    a, b = u.actors([1, 1])
    for p in (a, b):
        p.begin("rejoin 30")
    for p in (a, b):
        p.was_ok(p.answer(60), "rejoin")
        p.begin("finalize")
    for p in (a, b):
        p.was_ok(p.answer(), "finalize")
    run = run_of(folder)
    assert len(run.universes) == 2 and [p.trace.state for p in run.processes] == [LEFT] * 4


def test_blocks_of_two_mpis(universe, tmp_path):
    """Open MPI and MPICH: one timeline, in which every message has both ends."""
    folder = tmp_path / "t"
    u = universe(WAITIO_TRACE=folder)
    u.all_end(
        [u.mpi("openmpi", 0, 2, 2, "mpi_ring", 30), u.mpi("mpich", 1, 2, 2, "mpi_ring", 30)], 60
    )
    run = run_of(folder)
    assert [p.trace.name for p in run.processes] == [
        f"PB {b} rank {r}" for b in (0, 1) for r in (0, 1)
    ]
    sends = sum(len(records(p, what.SEND)) for p in run.processes)
    assert len(list(run.messages())) == sends >= 30 * 4
    assert {tracewaits.table(run, True)[0].waiter} <= {"PB 0", "PB 1"}


def test_threads_have_rows_of_their_own(universe, tmp_path):
    folder = tmp_path / "t"
    universe(WAITIO_TRACE=folder).go([1, 1], "threads", 4, 30)
    run = run_of(folder)
    rows = {
        e["args"]["name"] for e in traceview.events(run, str(folder)) if e["name"] == "thread_name"
    }
    assert len([r for r in rows if r.startswith("thread ")]) >= 3, rows


@pytest.mark.sanitize
def test_a_small_bound(universe, tmp_path):
    """The newest stay; what was pending when its record went is not mixed up with another one."""
    folder = tmp_path / "t"
    u = universe(WAITIO_TRACE=folder, WAITIO_TRACE_MAX=4096)
    a, b = u.actors([1, 1])
    b.ok("irecv 2 0 0 8 999")
    for number in range(100):
        a.ok(f"isend 1 0 1 8 {number} 7")
        b.ok(f"irecv 3 0 0 8 {number}")
        b.ok("wait 3 7")
        a.ok("wait 1 0")
    a.ok("isend 1 0 1 8 999 7")
    b.ok("wait 2 7")
    u.leave(a, b)
    run = run_of(folder)
    assert all(p.trace.lost >= 30 and len(p.trace.records) == 63 for p in run.processes)
    sent = [r.what for r in records(run.processes[0], what.SEND)]
    assert sent[-1] == 999 and 99 in sent and 0 not in sent
    assert all(s.send.what == s.receive.what for s in run.messages())
    assert all(p.stat().st_size == 8192 for p in folder.iterdir())


@pytest.mark.parametrize("transport", ["socket", "shm", "file", "hybrid"])
@pytest.mark.parametrize("bound", ["4K", "64M"])
def test_random_messages(universe, tmp_path, transport, bound):
    """Wildcards, cancelled and persistent receives, probes: records of others are never changed."""
    folder = tmp_path / "t"
    env = dict(WAITIO_TRACE=folder, WAITIO_TRACE_MAX=bound, WAITIO_SCRATCH_DIR=tmp_path)
    u = universe(WAITIO_COMM_TYPE=transport, WAITIO_HYBRID_THRESHOULD=5000, **env)
    u.go([2, 1], "traffic", 5, 2, 150, 100000)
    run = run_of(folder)
    assert all(s.send.what == s.receive.what for s in run.messages())
    assert all(s.send.bytes == s.receive.bytes for s in run.messages())
    sends = [r for p in run.processes for r in records(p, what.SEND)]
    if bound != "4K":
        assert len(list(run.messages())) == len(sends) and all(r.end for r in sends)


def warned(u, *words):
    """The run goes on without a trace, and says why."""
    for p in u.go([1, 1], "ring", 20):
        assert "no trace will be written: WAITIO_TRACE" in p.err(), p.story()
        for word in words:
            assert word in p.err(), p.story()


def test_a_folder_that_cannot_be_made(universe, tmp_path):
    deep = tmp_path / "no" / "where"
    warned(universe(WAITIO_TRACE=deep), str(deep), "No such file or directory")


def test_a_file_in_the_place_of_the_folder(universe, tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    warned(universe(WAITIO_TRACE=path), str(path), "Not a directory")
    assert path.read_text() == "mine"


def test_a_full_disk(universe, small):
    """The space is taken at the start: later a full disk would end the process by a signal."""
    warned(universe(WAITIO_TRACE=small), str(small), "No space left on device")
    assert not list(small.iterdir())


def test_a_limit_on_files(universe, tmp_path):
    """ulimit -f: writing more would end the process by a signal."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 * MIB, limits[1]))
    try:
        u = universe(WAITIO_TRACE=tmp_path / "t", WAITIO_COMM_TYPE="socket")
        cast = u.start([1, 1], "ring", 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    u.all_end(cast)
    assert all("File too large" in p.err() for p in cast), cast[0].story()


def test_a_child_of_a_fork_writes_nothing(universe, tmp_path):
    """It has the mapping, too, but is no member."""
    folder = tmp_path / "t"
    u = universe(WAITIO_TRACE=folder)
    a, b = u.actors([1, 1])
    a.ok("irecv 1 0 1 8 5")
    a.ok("fork")
    b.ok("isend 2 0 0 8 5 7")
    a.ok("wait 1 7")
    b.ok("wait 2 0")
    u.leave(a, b)
    run = run_of(folder)
    assert [len(records(p, what.LIFE)) for p in run.processes] == [3, 3]
