# SPDX-License-Identifier: BSD-3-Clause
"""Phases of Python programs, and what `waitio trace` makes of a run of them."""

import json

from waitio import trace, traceview
from waitio.tracerun import load


def test_phases(alone, tmp_path):
    folder = tmp_path / "t"
    alone.passes(
        """
        with waitio.phase("a step of the ocean, with a name of far more than 47 bytes"):
            with waitio.phase("inner"):
                got = bytearray(8)
                world.Sendrecv(bytes(8), 1 - me, 0, got, 1 - me)
        try:
            with waitio.phase("broken"):
                raise KeyError
        except KeyError:
            pass
        """,
        env={"WAITIO_TRACE": folder},
    )
    run, faults = load(str(folder))
    assert not faults and len(run.processes) == 2
    shown = list(traceview.events(run, str(folder)))
    phases = [e for e in shown if e.get("cat") == "phase" and e["pid"] == 0]
    assert [e["name"] for e in phases] == [
        "a step of the ocean, with a name of far more th",
        "inner",
        "broken",
    ]
    assert not any(e["args"] for e in phases)
    assert sum(e["ph"] == "s" for e in shown) == sum(e["ph"] == "f" for e in shown) >= 2
    assert trace.main([str(folder), "-o", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text())["traceEvents"]


def test_phases_without_a_trace_or_a_universe(alone):
    alone.passes(
        """
        with waitio.phase("before joining"):
            assert not waitio.initialized()
        universe = waitio.Universe(30)
        with waitio.phase("untraced"):
            pass
        try:
            waitio.phase("")
        except waitio.ArgumentError as error:
            assert "a phase needs a name" in str(error)
        else:
            raise SystemExit("not refused")
        waitio.finalize()
        with waitio.phase("after leaving"):
            pass
        """,
        joined=False,
    )
