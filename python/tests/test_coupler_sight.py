# SPDX-License-Identifier: BSD-3-Clause
"""What a coupled run shows of itself: report, advice, timeline, progress."""

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from waitio import cpltrace, progress, tracerun, traceview
from waitio.errors import UsageError, WaitioError

CONF = """\
&h3ou_var comp_put='atmos', comp_get='ocean', grid_put='air', grid_get='sea' /
&h3ou_var var_put='wind', var_get='wind', intvl=3600, lag=-1, flag='SNP' /
&h3ou_var comp_put='ocean', comp_get='atmos', grid_put='sea', grid_get='air' /
&h3ou_var var_put='sst', var_get='sst', intvl=3600, lag={lag}, flag='SNP', layer=2 /
"""
# The ocean computes five times as long as the atmosphere.
MODELS = """\
from waitio.coupler import *
atmos = os.environ["WAITIO_PBID"] == "0"
with Coupler("atmos" if atmos else "ocean", "coupling.conf") as c:
    index = np.arange(1, 13)[c.rank :: c.size]
    c.grid("air" if atmos else "sea", index)
    every = np.arange(1, 13)
    both = dict(send_index=every, recv_index=every) if atmos and c.rank == 0 else {}
    c.map("atmos", "air", "ocean", "sea", **both)
    c.map("ocean", "sea", "atmos", "air", **both)
    with c.run():
        for step in range(11):
            if step:
                c.step(3600)
                c.get("sst" if atmos else "wind")
                time.sleep(0.004 if atmos else 0.02)
                if BREAKS and step == 5 and not atmos:
                    raise ArithmeticError("it boils")
            if atmos:
                c.put("wind", np.ones(index.size))
            else:
                c.put("sst", np.ones((2, index.size)))
"""


def play(u, blocks=(1, 1), lag=-1, breaks=False, **env):
    (u.folder / "coupling.conf").write_text(CONF.format(lag=lag))
    code = f"BREAKS = {breaks}\n{MODELS}"
    return u.play(code, blocks, joined=False, env=env)


def test_the_report_says_who_waits_and_what_helps(alone):
    """One block's setting is enough. In each of 10 steps the atmosphere waits for 16 ms."""
    where = alone.folder / "report"
    (alone.folder / "coupling.conf").write_text(CONF.format(lag=-1))
    script = alone.script(f"BREAKS = False\n{MODELS}", joined=False)
    cast = [alone.python(script, 0, 0, 1, 2)]
    cast += [alone.python(script, 1, r, 2, 2, env=dict(WAITIO_CPL_REPORT=where)) for r in range(2)]
    alone.all_end(cast, 60)
    found = json.loads((alone.folder / "report.json").read_text())
    atmos, ocean = found["components"]
    assert (atmos["name"], atmos["processes"], ocean["processes"]) == ("atmos", 1, 2)
    assert found["model_seconds"] == 36000
    assert list(atmos["waits_for"]) == ["ocean"] and atmos["waits_for"]["ocean"] > 0.1
    for part in (atmos, ocean):
        whole = part["computes"] + part["waits"] + part["exchanges"]
        assert whole == pytest.approx(part["seconds"], rel=1e-3) and part["exchanges"] >= 0
    assert 0.04 < atmos["computes"] < atmos["waits"] + atmos["computes"] <= atmos["seconds"]
    assert ocean["computes"] > 0.4  # of both processes
    wind, sst = found["exchanges"]
    assert (wind["from"], wind["to"], wind["get"], sst["get"]) == ("atmos", "ocean", "wind", "sst")
    assert wind["times"] == sst["times"] == 10 and wind["messages"] == sst["messages"] == 20
    # A head of eight numbers for each message, then 12 points; sst has two layers.
    assert wind["bytes"] == 8 * (20 * 8 + 10 * 12) and sst["bytes"] == 8 * (20 * 8 + 20 * 12)
    assert 0.1 < sst["waited"] <= atmos["waits_for"]["ocean"] * 1.001
    text = (alone.folder / "report").read_text()
    advice = re.search(
        r"^atmos waits (\d+) % of its time for ocean: give ocean more processes, about (\d+) "
        r"instead of 2 if it scales$",
        text,
        re.M,
    )
    assert advice and int(advice[1]) >= 5 and 3 <= int(advice[2]) <= 12, text  # busy machines, too
    assert advice[0] in found["advice"]
    assert re.search(r"^atmos -> ocean: wind +3600 s +10 +20 ", text, re.M), text


def test_a_serial_lag_is_named_as_the_reason(alone):
    cast = play(alone, lag=1, WAITIO_CPL_REPORT="-")
    alone.all_end(cast, 60)
    text = cast[0].err()  # the first process that was asked writes
    assert "with lag = 1 (coupling.conf:4) it runs after it; with lag = -1 both compute" in text
    assert "WaitIO coupler: 2 components" in text and cast[1].err() == ""


def events_of(folder):
    trace, lost = cpltrace.merge(str(folder))
    assert lost == 0
    return trace["traceEvents"]


def in_step_order(events, pid, tid):
    """The steps of a process follow each other without gaps."""
    mine = [e for e in events if (e["pid"], e["tid"]) == (pid, tid)]
    steps = [e for e in mine if e.get("cat") == "step"]
    assert [e["name"] for e in steps] == [f"step at {3600 * i} s" for i in range(10)]
    for a, b in zip(steps, steps[1:]):
        assert a["ts"] >= 0 and a["ts"] + a["dur"] == pytest.approx(b["ts"], abs=1)


def messages_arrive_after_they_were_sent(events, count):
    """Both ends of each message are there, and the clocks agree."""
    arrows = {}
    for e in events:
        if e.get("cat") == "message":
            arrows.setdefault(e["id"], {})[e["ph"]] = e
    assert len(arrows) == count
    for both in arrows.values():
        assert both["f"]["ts"] > both["s"]["ts"] - 1000, both
        assert both["f"]["pid"] != both["s"]["pid"]


def test_one_timeline_of_all_components(alone, tmp_path, capsys):
    folder = tmp_path / "events"
    folder.mkdir()
    alone.all_end(play(alone, (1, 2), WAITIO_CPL_TRACE=folder), 60)
    assert len(list(folder.iterdir())) == 3
    assert cpltrace.main([str(folder), "-o", str(tmp_path / "trace.json")]) == 0
    assert "events; open it" in capsys.readouterr().out
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert events == events_of(folder)
    names = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "process_name"}
    assert names == {(0, "atmos"), (1, "ocean")}
    for pid, tid in ((0, 0), (1, 0), (1, 1)):
        in_step_order(events, pid, tid)
    waits = [e for e in events if e.get("cat") == "wait" and e["pid"] == 0]
    assert {e["name"] for e in waits} >= {"wait for ocean: sst"}
    assert sum(e["dur"] for e in waits) > 1e5  # microseconds
    messages_arrive_after_they_were_sent(events, 40)


def test_steps_stand_among_the_messages_of_the_run(alone, tmp_path):
    """WAITIO_TRACE on the same folder: `waitio trace` shows both, on the same rows and clock."""
    alone.all_end(play(alone, (1, 2), WAITIO_CPL_TRACE=tmp_path, WAITIO_TRACE=tmp_path), 60)
    run, faults = tracerun.load(str(tmp_path))
    assert not faults and len(run.processes) == 3
    shown = list(traceview.events(run, str(tmp_path)))
    steps = [e for e in shown if e.get("cat") == "step"]
    assert {(e["pid"], e["tid"]) for e in steps} == {(0, 4), (1, 4), (2, 4)}
    last = max(p.ends for p in run.processes) * 1e6
    assert all(e["ts"] > 0 and e["ts"] + e["dur"] <= last for e in steps)
    waits = [e for e in shown if e.get("cat") == "wait" and e["pid"] == 0]
    theirs = sum(e["dur"] for e in waits if e["tid"] == 4)
    ours = sum(e["dur"] for e in waits if e["tid"] == 1)
    assert 1e5 < theirs < ours * 1.1  # the coupler's waits are waits for messages


def test_a_run_that_fails_leaves_its_timeline(alone, tmp_path):
    cast = play(alone, breaks=True, WAITIO_CPL_TRACE=tmp_path)
    for process in cast:
        assert process.ended(None, 30) != 0
    steps = [e for e in events_of(tmp_path) if e.get("cat") == "step"]
    assert {e["pid"] for e in steps} == {0, 1} and 8 <= len(steps) <= 9


def test_clocks_are_moved_in_straight_lines():
    """A clock that is 5 s ahead, and gains 1 s in 100 s."""
    to_rank_0 = cpltrace._aligned([[1000.0, 5.0], [1100.0, 6.0]])
    assert to_rank_0(1000.0) == 995.0 and to_rank_0(1050.0) == pytest.approx(1044.5)
    assert cpltrace._aligned([[7.0, 2.0], [7.0, 2.0]])(9.0) == 7.0


def test_what_the_trace_command_refuses(tmp_path):
    with pytest.raises(WaitioError, match="no timelines"):
        cpltrace.main([str(tmp_path)])
    with pytest.raises(UsageError, match="one folder"):
        cpltrace.main([])
    (tmp_path / "cpl.0.0.json").write_text("{}")
    with pytest.raises(WaitioError, match=r"cpl\.0\.0\.json' is no timeline"):
        cpltrace.main([str(tmp_path)])


def running(u, words, code, **kinds):
    """Start `waitio run` with two blocks."""
    (u.folder / "coupling.conf").write_text(CONF.format(lag=-1))
    path = u.script(f"BREAKS = False\n{code}", joined=False)
    env = {k: v for k, v in u.env.items() if not k.startswith("WAITIO_")}
    env.update(PYTHONPATH=u.site, TERM="xterm")
    line = [sys.executable, "-m", "waitio", "run", "--timeout", "60s", *words]
    line += [sys.executable, path, ":", sys.executable, path]
    return subprocess.Popen(line, cwd=u.folder, env=env, stdin=subprocess.DEVNULL, **kinds)


def test_progress_in_plain_lines(alone):
    child = running(alone, ["--progress"], MODELS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = child.communicate(timeout=60)
    line = b"model time at the end: atmos 10:00:00 (step 10), ocean 10:00:00 (step 10)"
    assert child.returncode == 0 and err == b"waitio run: " + line + b"\n", err


def test_progress_on_a_terminal_makes_way_for_output(alone):
    """The line is there while the models wait, goes before what they print, and at the end."""
    code = MODELS.replace("    if step:\n", "    if step == 2 and c.rank == 0:\n"
                          "                while not os.path.exists('go'):\n"
                          "                    time.sleep(0.01)\n"
                          "                print('gone', flush=True)\n"
                          "            if step:\n")  # fmt: skip
    main, other = pty.openpty()
    child = running(alone, ["--progress"], code, stdout=other, stderr=other)
    os.close(other)
    text, since = b"", time.monotonic()
    while time.monotonic() - since < 60:
        try:
            data = os.read(main, 4096)
        except OSError:  # nobody has the other end any more
            break
        text += data
        if b"\r\x1b[Katmos 00:00:00 (step 1), ocean 00:00:00 (step 1)" in text:
            (alone.folder / "go").touch()
    os.close(main)
    assert child.wait(timeout=20) == 0, text
    assert re.search(rb"\(step 1\)\r\x1b\[K(\x1b\[\d+m)?\[", text), text
    assert text.rstrip().endswith(b"atmos 10:00:00 (step 10), ocean 10:00:00 (step 10)"), text


def test_model_times_are_read_as_they_are(tmp_path):
    (tmp_path / "cpl.0").write_text("1047600 582 an atmosphere\n")
    (tmp_path / "cpl.1").write_text("")  # of a file system that is late
    (tmp_path / "cpl.2.new").write_text("1 1 x\n")
    assert progress.read(str(tmp_path)) == {"an atmosphere": (1047600, 582)}
    assert progress.model_time(1047600) == "12 d 03:00:00" and progress.model_time(59) == "00:00:59"
