# SPDX-License-Identifier: BSD-3-Clause
"""Every row of runs_table.py is a test: a program, a way, a shape."""

import os
import pathlib
import re
import sys

import pytest
from surroundings import ROOT

sys.path.append(str(pathlib.Path(__file__).parent))
import runs_table as table  # noqa: E402


def sanitizer():
    """What the build is for."""
    build = pathlib.Path(os.environ.get("WAITIO_BUILD_DIR", ROOT / "build" / "release"))
    cache = build / "CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    return "".join(re.findall(r"(?m)^WAITIO_SANITIZE:\w+=(.*)$", text))


ROWS = [
    pytest.param(run, id=run.name, marks=pytest.mark.sanitize if run.way == "messages" else ())
    for run in table.rows(sanitizer())
]


@pytest.mark.parametrize("run", ROWS)
def test_run(ways, run):
    done = ways.play(run)
    assert set(done.statuses) == {run.status}, done.all()
    assert run.says in done.out + done.err, done.all()
    assert "still alive" not in done.out and "FAILED" not in done.out, done.all()
    processes = sum(int(n) for n in re.findall(r"\d+", run.shape))
    assert done.oks() == (processes if run.status == 0 else 0), done.all()


def test_each_promise_of_the_table_is_a_promise():
    page = (ROOT / "docs" / "design" / "promises.md").read_text()
    for promise in table.TABLE:
        assert f"\n| {promise} |" in page, promise


def test_the_rows_have_names_of_their_own():
    names = [run.name for run in table.rows()]
    assert sorted(set(names)) == sorted(names)


def test_sanitizers_leave_out_what_shows_nothing_to_them():
    """Each algorithm runs once under the address sanitizer, none by force under the other one;
    there a program without threads of its own runs once."""
    most = max(len(values) for values in table.algorithms().values())
    for sanitizer, forced in (("address,undefined", range(most)), ("thread", [0])):
        rows = table.rows(sanitizer)
        assert {run.way for run in rows} == {"messages"}
        assert sorted({run.algorithm for run in rows}) == list(forced)
        assert len([run for run in rows if run.algorithm]) == len(forced) - 1
    again = [run.program for run in rows if run not in table.TABLE[table.THREADS]]
    assert len(again) == len(set(again)) > 20
