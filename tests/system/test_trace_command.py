# SPDX-License-Identifier: BSD-3-Clause
"""`waitio trace` with files made here: of machines with other clocks, and broken ones."""

import json
import random
import struct

import pytest

from waitio import cpltrace, trace, traceview, tracewaits
from waitio import traceevents as what
from waitio.errors import UsageError, WaitioError
from waitio.tracefile import HEAD, MAGIC, NOBODY, RECORD, read
from waitio.tracerun import load

UNIVERSE = bytes(range(16))
EPOCH = 1_700_000_000_000_000_000  # wall clock at the origin of true time
UP = 100_000_000_000  # ns that the machines have been up then
MAIN = 77


class Machine:
    """A clock of its own: `ahead` seconds ahead, `drift` per second, ticks of `tick` seconds."""

    def __init__(self, name, ahead=0.0, drift=0.0, tick=0.4e-9, order="<"):
        self.name, self.ahead, self.drift, self.tick, self.order = name, ahead, drift, tick, order

    def ns(self, true):
        """What its system clock has counted at a true time."""
        return UP + round((true * (1 + self.drift) + self.ahead) * 1e9)

    def ticks(self, true):
        return round(self.ns(true) * 1e-9 / self.tick)

    def point(self, true):
        return self.ticks(true), self.ns(true), EPOCH - UP + self.ns(true)


def record(
    kind, start, end=0, middle=0, waited=0, *, size=8, peer=NOBODY, envelope=0, tag=0, flags=0
):
    return (start, middle, end, waited, size, peer, envelope, tag, 9, kind, flags, MAIN)


def save(
    folder,
    machine,
    rank,
    size,
    events,
    *,
    span=(0.0, 10.0),
    slots=64,
    written=None,
    state=1,
    **head,
):
    """Write the trace of a process; times of events are true seconds. One block each process."""
    packed = {}
    for number, event in enumerate(events, 1):
        times = [machine.ticks(t) if t else 0 for t in event[:4]]
        fields = struct.pack(machine.order + RECORD, *times, *event[4:], number)
        packed[number % slots] = fields
    last = len(events) if written is None else written
    raw = struct.pack(
        machine.order + HEAD,
        MAGIC[machine.order],
        0x01020304,
        head.get("version", 1),
        4096,
        64,
        slots,
        last,
        head.get("universe", UNIVERSE),
        sum(machine.name.encode()),
        *machine.point(span[0]),
        *machine.point(span[1]),
        rank,
        size,
        rank,
        size,
        0,
        1,
        state,
        MAIN,
        1000 + rank,
        machine.name.encode(),
        b"0.1.0",
    )
    raw = raw.ljust(4096, b"\0") + b"".join(packed.get(s, bytes(64)) for s in range(slots))
    path = folder / f"waitio.00010203.{rank}.trace"
    path.write_bytes(raw)
    return path


def talk(folder, a, b, latency=20e-6, answers=True, rounds=50):
    """Rank 0 on a sends to rank 1 on b, which answers, for ten seconds."""
    mine, yours = [], []
    for number in range(1, rounds + 1):
        at = 10.0 * number / (rounds + 1)
        there = latency * (1 + (number * 7 % 5))  # it varies, and is at times the least
        mine.append(record(what.SEND, at, at, peer=1, envelope=number, tag=number))
        yours.append(
            record(what.RECEIVE, at - 1e-3, at + there, waited=at - 5e-4, peer=0, envelope=number)
        )
        if not answers:
            continue
        back = at + 1e-3
        yours.append(record(what.SEND, back, back, peer=0, envelope=number))
        mine.append(record(what.RECEIVE, back, back + latency, peer=1, envelope=number))
    save(folder, a, 0, 2, mine, slots=256)
    save(folder, b, 1, 2, yours, slots=256)


def transit(run):
    """How long messages took, in seconds."""
    return [
        run.of[s.receiver.universe, s.receiver.rank].at(s.receive.end)
        - run.of[s.sender.universe, s.sender.rank].at(s.send.start)
        for s in run.messages()
    ]


@pytest.mark.parametrize(
    ("ahead", "drift"), [(0.0, 0.0), (3600.25, 0.0), (-0.004, 0.0), (0.1, 50e-6), (-7.0, -20e-6)]
)
@pytest.mark.parametrize("orders", ["<<", "<>"])
def test_clocks_of_machines_are_aligned(tmp_path, ahead, drift, orders):
    """Guard: by their own clocks messages would take an hour, or come before they were sent."""
    a = Machine("a", order=orders[0])
    b = Machine("bb", ahead, drift, tick=1e-8, order=orders[1])
    talk(tmp_path, a, b)
    run, faults = load(str(tmp_path))
    assert not faults
    times = transit(run)
    assert len(times) == 100
    # The quickest takes 20 us each way; what a line does not follow of the drift is far below that.
    assert all(5e-6 < t < 120e-6 for t in times), (min(times), max(times))
    (clock,) = run.clocks.report()
    assert clock["ahead_s"] == pytest.approx(ahead, abs=2e-3)
    assert clock["unsure_s"] < 50e-6 and clock["messages"] == 100


def test_one_direction_goes_by_the_clocks_themselves(tmp_path):
    """... but no message comes before it was sent."""
    talk(tmp_path, Machine("a"), Machine("bb", ahead=-0.5), answers=False)
    run, _ = load(str(tmp_path))
    assert min(transit(run)) == pytest.approx(0.0, abs=1e-6)
    assert "by its own word" in trace._clock_text(run.clocks.report()[0])
    talk(tmp_path, Machine("a"), Machine("bb", ahead=0.5), answers=False)
    run, _ = load(str(tmp_path))
    assert min(transit(run)) == pytest.approx(0.5, abs=1e-3)


def test_clocks_are_compared_over_a_third_machine(tmp_path):
    """a and c never talk; b talks to both."""
    machines = [Machine("a"), Machine("bb", 1.0), Machine("ccc", -2.0)]
    events = [[], [], []]
    for number in range(1, 30):
        at = number / 3
        for x, y in ((0, 1), (1, 0), (1, 2), (2, 1)):
            events[x].append(record(what.SEND, at, at, peer=y, envelope=number))
            events[y].append(record(what.RECEIVE, at, at + 1e-5, peer=x, envelope=number))
    for rank, machine in enumerate(machines):
        save(tmp_path, machine, rank, 3, events[rank], slots=256)
    run, _ = load(str(tmp_path))
    assert all(t == pytest.approx(1e-5, abs=1e-6) for t in transit(run))
    assert [c["ahead_s"] for c in run.clocks.report()] == pytest.approx([1.0, -2.0], abs=1e-5)


def test_greetings_compare_clocks_without_messages(tmp_path):
    a, b = Machine("a"), Machine("bb", 0.25)
    link, greeted = what.LINK, what.GREETED
    save(tmp_path, a, 0, 2, [record(link, 1.0, peer=1), record(greeted, 1.0001, peer=1)])
    save(tmp_path, b, 1, 2, [record(link, 1.0, peer=0), record(greeted, 1.0001, peer=0)])
    run, _ = load(str(tmp_path))
    (clock,) = run.clocks.report()
    assert clock["ahead_s"] == pytest.approx(0.25, abs=1e-6)
    assert clock["unsure_s"] == pytest.approx(1e-4, abs=1e-6)


def test_the_command_writes_a_timeline_and_a_table(tmp_path, capsys):
    talk(tmp_path, Machine("a"), Machine("bb", 3.0))
    out = tmp_path / "out.json"
    assert trace.main([str(tmp_path), "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert "clock of bb: +3000000.0 us" in text and "who waited for whom" in text
    shown = json.loads(out.read_text())["traceEvents"]
    begins = {e["id"]: e for e in shown if e["ph"] == "s"}
    ends = {e["id"]: e for e in shown if e["ph"] == "f"}
    assert begins.keys() == ends.keys() and len(begins) == 100
    assert min(ends[n]["ts"] - begins[n]["ts"] for n in begins) >= 0
    names = {e["args"]["name"] for e in shown if e["name"] == "process_name"}
    assert names == {"PB 0 rank 0 (rank 0, a)", "PB 1 rank 0 (rank 1, bb)"}
    for pid in (0, 1):
        for tid in (1, 2, 3):
            row = [e for e in shown if e["ph"] == "X" and (e["pid"], e["tid"]) == (pid, tid)]
            apart_or_nested(row)


def test_the_table_for_programs(tmp_path, capsys):
    talk(tmp_path, Machine("a"), Machine("bb", 3.0))
    assert trace.main([str(tmp_path), "--json", "-o", "none"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["waits"]
    assert (row["waiter"], row["awaited"], row["waits"]) == ("PB 1 rank 0", "PB 0 rank 0", 50)
    assert row["seconds"] == pytest.approx(50 * 5.6e-4, rel=0.02)
    assert row["late"] == pytest.approx(50 * 5e-4, rel=0.02)
    assert [p["state"] for p in found["processes"]] == ["left", "left"]
    assert found["notes"] == found["left_out"] == []


def apart_or_nested(row):
    """As the viewer needs the pieces of a row."""
    around = []
    for event in sorted(row, key=lambda e: (e["ts"], -e["dur"])):
        while around and around[-1] <= event["ts"] + 1e-3:
            around.pop()
        end = event["ts"] + event["dur"]
        assert not around or end <= around[-1] + 2e-3, (event, around)
        around.append(end)


def test_pieces_of_a_row_lie_within_each_other():
    piece = traceview.Piece
    random.seed(3)
    for _ in range(200):
        pieces = []
        for _ in range(20):
            begin = random.randrange(50)
            pieces.append(piece(begin, begin + random.randrange(20), "x", "y", {}))
        row = [{"ts": p.begin, "dur": p.end - p.begin} for p in traceview.nested(pieces)]
        assert len(row) == 20
        apart_or_nested(row)


def test_a_thread_that_only_joined_is_no_row(tmp_path):
    """As with Python, whose init() and finalize() wait in threads of their own."""
    helper = 5
    life = [(*record(what.LIFE, t, t + 0.5)[:-1], helper) for t in (1.0, 9.0)]
    save(tmp_path, Machine("a"), 0, 1, [life[0], record(what.WAIT, 2.0, 3.0, tag=1), life[1]])
    path = tmp_path / "waitio.00010203.0.trace"
    raw = bytearray(path.read_bytes())
    raw[140:144] = struct.pack("<I", helper)  # the thread that joined
    path.write_bytes(raw)
    run, _ = load(str(tmp_path))
    shown = [e for e in traceview.events(run, str(tmp_path)) if e["ph"] == "X"]
    assert [(e["name"], e["tid"]) for e in shown] == [("joining", 1), ("probe", 1), ("joining", 1)]


def test_phases_that_do_not_end_in_order(tmp_path):
    def phase(kind, at, name):
        raw = name.encode().ljust(48, b"\0")
        fields = struct.unpack("<qqqQIIiI", raw)
        return (at, *fields, kind, 0, MAIN)

    begin, end = what.PHASE_BEGIN, what.PHASE_END
    events = [phase(begin, 1.0, "outer"), phase(begin, 2.0, "inner"), phase(end, 3.0, "outer")]
    events += [phase(end, 4.0, "inner"), phase(begin, 5.0, "open")]
    machine = Machine("a")
    path = save(tmp_path, machine, 0, 1, [])
    raw = bytearray(path.read_bytes())
    for number, event in enumerate(events, 1):
        packed = struct.pack("<" + RECORD, machine.ticks(event[0]), *event[1:], number)
        raw[4096 + 64 * number : 4160 + 64 * number] = packed
    raw[32:40] = struct.pack("<Q", len(events))
    path.write_bytes(raw)
    run, _ = load(str(tmp_path))
    shown = [e for e in traceview.events(run, str(tmp_path)) if e.get("cat") == "phase"]
    assert [(e["name"], round(e["ts"] / 1e6), round(e["dur"] / 1e6)) for e in shown] == [
        ("outer", 0, 2),
        ("inner", 1, 1),
        ("open", 4, 5),
    ]
    assert shown[1]["args"] == {"not ended by itself": True}
    assert shown[2]["args"] == {"never ended": True}


# ---- what may lie in such a folder -----------------------------------------------------------


def good(folder, rank=0, size=1):
    events = [record(what.RECEIVE, t, t + 0.5, waited=t, peer=0, envelope=t) for t in range(1, 9)]
    return save(folder, Machine("a"), rank, size, events)


def refused(path, *words):
    with pytest.raises(WaitioError) as caught:
        read(str(path))
    for word in (str(path), *words):
        assert word in str(caught.value), caught.value


def test_files_that_are_no_traces(tmp_path):
    path = tmp_path / "waitio.0.0.trace"
    for raw in (b"", b"x", b"#!/bin/sh\n" * 1000, bytes(5000), b"\xff" * 5000):
        path.write_bytes(raw)
        refused(path)
    path.unlink()
    refused(path, "No such file")
    with pytest.raises(WaitioError, match="WAITIO_TRACE"):
        load(str(tmp_path))


@pytest.mark.parametrize(
    ("at", "value", "word"),
    [
        (12, 2, "version 2"),
        (16, 1, "head of 1"),
        (16, 1 << 31, "head of"),
        (20, 48, "records of 48"),
        (24, 0, "ring of 0"),
        (24, 63, "ring of 63"),
        (112, 5, "rank 5 of 1"),
        (116, 0, "rank 0 of 0"),
        (124, 0, "PB 0 of 0"),
        (132, 0, "PB 0 of 1"),
    ],
)
def test_heads_that_cannot_be(tmp_path, at, value, word):
    path = good(tmp_path)
    raw = bytearray(path.read_bytes())
    raw[at : at + 4] = struct.pack("<I", value)
    path.write_bytes(raw)
    refused(path, word)


def test_a_bad_file_among_good_ones_is_named(tmp_path, capsys):
    good(tmp_path, 0, 3)
    good(tmp_path, 1, 3)
    bad = tmp_path / "waitio.00010203.2.trace"
    bad.write_bytes(b"garbage")
    assert trace.main([str(tmp_path), "-o", "none"]) == 0
    shown = capsys.readouterr()
    assert f"left out: '{bad}'" in shown.err and "7 bytes" in shown.err
    assert "1 of 3 processes left no trace here" in shown.out


def test_every_length_is_read_or_refused(tmp_path):
    """A copy that was cut off: what is there is shown, and that it is not all."""
    path = good(tmp_path)
    whole = path.read_bytes()
    for length in [*range(0, 300, 7), 4095, *range(4096, 4096 + 64 * 10, 13), len(whole)]:
        path.write_bytes(whole[:length])
        if length < 248:
            refused(path)
            continue
        found = read(str(path))
        assert len(found.records) == max(0, min(8, (length - 4096) // 64 - 1))
        assert found.cut == (length < 4096 + 64 * 9)
        assert found.lost == 8 - len(found.records)


def test_random_damage_never_breaks_the_command(tmp_path, capsys):
    """Each is refused by name, or what is left is shown."""
    random.seed(11)
    path = good(tmp_path, 1, 2)
    good(tmp_path, 0, 2)
    whole = path.read_bytes()[: 4096 + 64 * 10]
    read_some = 0
    for _ in range(300):
        raw = bytearray(whole)
        for _ in range(random.randrange(1, 30)):
            where = random.choice((random.randrange(248), 4096 + random.randrange(640)))
            raw[where] = random.choice((0, 255, random.randrange(256)))
        path.write_bytes(raw)
        assert trace.main([str(tmp_path), "-o", str(tmp_path / "out.json"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        read_some += len(found["processes"]) == 2
        json.loads((tmp_path / "out.json").read_text())
    assert 20 < read_some < 300


def test_the_oldest_of_a_full_ring_may_be_half_overwritten(tmp_path):
    """The process was killed while it wrote over it."""
    events = [record(what.SEND, 1 + n, 1 + n, peer=0, envelope=n + 1) for n in range(8)]
    path = save(tmp_path, Machine("a"), 0, 1, events, slots=4, state=0)
    found = read(str(path))
    assert [r.number for r in found.records] == [6, 7, 8] and found.lost == 5


def test_what_the_command_refuses(tmp_path):
    with pytest.raises(UsageError, match="one folder"):
        trace.main([])
    with pytest.raises(UsageError, match="one folder"):
        trace.main(["a", "b"])
    with pytest.raises(WaitioError, match="known are process, block"):
        trace.main([str(tmp_path), "--by", "host"])
    good(tmp_path)
    with pytest.raises(WaitioError, match="cannot write"):
        trace.main([str(tmp_path), "-o", str(tmp_path / "no" / "x")])


def test_the_table_of_many_is_one_of_blocks(tmp_path):
    for rank in range(9):
        good(tmp_path, rank, 9)
    run, _ = load(str(tmp_path))
    assert tracewaits.many(run)
    rows = tracewaits.table(run, True)
    assert {(r.waiter, r.awaited) for r in rows} == {(f"PB {n}", "PB 0") for n in range(9)}
    assert all(r.share == pytest.approx(4.0 / 9.0, rel=0.01) for r in rows)


def test_steps_of_a_coupler_stand_among_the_messages(tmp_path):
    """Its times are those of the same clock; they are moved as the messages are."""
    machine = Machine("bb", 2.0)
    talk(tmp_path, Machine("a"), machine)
    seconds = machine.ns(5.0) * 1e-9
    head = {"waitio coupler": 1, "component": "ocean", "number": 0, "process": 0, "rank": 0}
    head.update({"universe rank": 1, "lost": 0, "clock": [[1, 0], [1, 0]]})
    step = {"what": "step", "from": seconds, "to": seconds + 0.5, "model": 60}
    (tmp_path / "cpl.0.0.json").write_text(json.dumps([head, step]))
    run, _ = load(str(tmp_path))
    (shown,) = [e for e in traceview.events(run, str(tmp_path)) if e.get("cat") == "step"]
    at = next(
        s for s in run.messages() if s.send.what == 25
    )  # sent at 10 * 25 / 51 s: the step begins a little later
    sent = run.of[at.sender.universe, 0].at(at.send.start)
    assert shown["pid"] == 1 and shown["ts"] / 1e6 - sent == pytest.approx(5.0 - 250 / 51, abs=1e-3)
    assert cpltrace.read_all(str(tmp_path))[0][0]["component"] == "ocean"
