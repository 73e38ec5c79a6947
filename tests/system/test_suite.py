# SPDX-License-Identifier: BSD-3-Clause
"""The test runner counts what it reports, whatever a test does; limits grow with the load."""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def part(monkeypatch):
    """part(NAME): a module of the runner."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    monkeypatch.syspath_prepend(SUPPORT)
    return lambda name: importlib.import_module("runner." + name)


@pytest.fixture
def patience():
    return load(SUPPORT / "patience.py")


def test_runner_adds_up_cases_and_reasons(part, tmp_path, capsys):
    runner = part("tally")
    (tmp_path / "a.xml").write_text(
        '<testsuites><testsuite name="g"><testcase name="one"/>'
        '<testcase name="two"><failure>1 != 2</failure></testcase>'
        '<testcase name="three"><skipped message="no network"/></testcase>'
        '<testcase name="four"><skipped/></testcase>'
        "</testsuite></testsuites>"
    )
    tally = runner.Tally()
    output = "skipped fourteen: too old\nskipped four: too young\n"  # of a program with cmocka
    assert runner.read_cases(tmp_path / "a.xml", tally, "unit/a", output) == (4, 1)
    assert runner.report(tally) == 1
    out = capsys.readouterr().out
    assert "FAILED unit/a::two\n    1 != 2\n    skipped fourteen: too old\n" in out
    assert "unit/a::three: no network" in out
    assert "unit/a::four: too young" in out
    assert out.splitlines()[-1] == "1 passed, 1 failed, 2 skipped"


def test_many_skipped_tests_of_one_reason_are_one_line(part):
    skipped = [(f"a::{i}", "too old") for i in range(4)] + [("a::x", "too new"), ("b::y", "")]
    assert list(part("tally").skipped_lines(skipped)) == [
        "a (4 tests): too old",
        "a::x: too new",
        "b::y: no reason given",
    ]


def test_runner_fails_when_nothing_ran(part, capsys):
    runner = part("tally")
    assert runner.report(runner.Tally()) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_program_that_dies_outside_of_its_cases_is_a_failure(part, tmp_path):
    """Every case passed, then the sanitizer ended the program: one failure more."""
    (tmp_path / "unit.a.g.xml").write_text('<testsuite><testcase name="one"/></testsuite>')
    case = part("ctests").ET.fromstring(
        '<testcase name="unit/a" status="fail"><failure/><system-out>leak\n'
        "the load of the machine was 3.25\n</system-out></testcase>"
    )
    tally = part("tally").Tally()
    part("ctests").add_case(case, str(tmp_path), tally)
    assert (tally.passed, len(tally.failed)) == (1, 1)
    assert tally.loads == {"unit/a": 3.25}


def test_progress_of_an_interrupted_ctest_is_counted(part, tmp_path):
    text = (
        "      Start  1: unit/a\n"
        " 1/4 Test  #1: unit/a ...........................   Passed    0.01 sec\n"
        " 2/4 Test  #2: lang/b ...........................***Failed    1.20 sec\n"
        " 3/4 Test  #3: unit/c ...........................***Skipped   0.00 sec\n"
        "      Start  4: unit/d\n"
    )
    tally = part("tally").Tally()
    for case in part("ctests").cases_from_log(text):
        part("ctests").add_case(case, str(tmp_path), tally)
    assert tally.passed == 1
    assert [name for name, _ in tally.failed] == ["lang/b"]
    assert [name for name, _ in tally.skipped] == ["unit/c"]


BAD_DAYS = """\
import os, pathlib, signal, subprocess, time
import pytest


def test_first():
    pass


def test_hangs(tmp_path):
    (tmp_path / "program.err").write_text("waiting for rank 7")
    subprocess.run(["sleep", "4711"])


def test_kills():
    os.kill(os.getpid(), signal.SIGKILL)


def test_stuck():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    pathlib.Path("stuck").touch()
    time.sleep(4712)


def test_skips():
    pytest.skip("no such machine")


def test_listed():
    pass


def test_last():
    pass
"""


@pytest.fixture
def checkout(tmp_path):
    """A tree with the runner and one file of tests that have a bad day."""
    for name in ("conftest.py", "pytest.ini", "scripts/run_tests.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts" / "runner", tmp_path / "scripts" / "runner")
    shutil.copytree(SUPPORT, tmp_path / "tests" / "support")
    (tmp_path / "tests" / "test_days.py").write_text(BAD_DAYS)
    (tmp_path / "tests" / "long.txt").write_text(
        "# listed\n   9.0 tests/test_days.py::test_listed\n"
    )
    return tmp_path


def start(checkout, *words, limit="1"):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WT_", "PYTEST"))}
    env.update(WT_TEST_LIMIT=limit, WT_TEST_GRACE="0.5")
    return subprocess.Popen(
        [sys.executable, checkout / "scripts" / "run_tests.py", "--build", "b", *words],
        env=env,
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_run_goes_on_and_reports_whatever_a_test_does(checkout):
    child = start(checkout, "--suite", "python")
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "3 passed, 3 failed, 1 skipped", out
    assert child.returncode == 1
    told = out.partition("\nFAILED ")[2]
    assert "test_hangs reached its time limit (1 s x" in told
    assert "state S" in told and ": sleep 4711" in told  # the process that it waits for
    assert "waiting for rank 7" in told  # and what that wrote
    assert "test_kills\n    the interpreter ended with status -9 in this test" in told
    assert "test_stuck\n    the interpreter ended with status 70 in this test" in told
    assert "in test_stuck" in told  # where it was stuck
    assert "test_skips: no such machine" in out


def test_files_are_shared_among_two_runs(checkout):
    """Each test runs once, wherever; a run that dies goes on with the file it had."""
    (checkout / "tests" / "test_days.py").unlink()
    for i in range(6):
        (checkout / "tests" / f"test_part{i}.py").write_text(
            "import os, signal, time, pathlib\n"
            "def test_one(): time.sleep(0.2)\n"
            f"def test_two():\n    {i} != 4 or os.kill(os.getpid(), signal.SIGKILL)\n"
            "def test_three():\n"
            f"    with open({str(checkout / 'who')!r}, 'a') as out:\n"
            f"        print({i}, os.getpid(), file=out)\n"
        )
    (checkout / "tests" / "test_part0_time.py").write_text(
        "import pytest\n@pytest.mark.alone\ndef test_alone():\n"
        f"    assert len(open({str(checkout / 'who')!r}).readlines()) == 6\n"
    )
    child = start(checkout, "--suite", "python", "-j", "2", limit="60")
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "18 passed, 1 failed, 0 skipped", out
    rows = [line.split() for line in (checkout / "who").read_text().splitlines()]
    assert sorted(row[0] for row in rows) == ["0", "1", "2", "3", "4", "5"]
    assert len({row[1] for row in rows}) >= 2, "one run did it all"
    assert "test_part4.py::test_two" in out


def test_a_run_that_dies_while_it_takes_a_file_has_not_taken_it(tmp_path, monkeypatch):
    """Guard: a file without content would be nobody's, and its tests would not run."""
    module = load(SUPPORT / "suite.py")

    def of(record):
        found = object.__new__(module.Suite)
        found.share, found.path, found.lane = str(tmp_path), record, "all"
        return found

    class Dying:
        def __init__(self, *how, **more):
            self.file = open(*how, **more)

        def __enter__(self):
            return self

        def __exit__(self, *what):
            self.file.close()

        def write(self, text):
            raise SystemExit(text)

    with monkeypatch.context() as patch:
        patch.setattr(module, "open", Dying, raising=False)
        with pytest.raises(SystemExit):
            of("one").claim("test_x.py")
    assert of("two").claim("test_x.py") and of("two").claim("test_x.py")
    assert not of("one").claim("test_x.py")


def test_short_suite_leaves_out_what_is_listed(checkout):
    child = start(checkout, "--suite", "long", "-k", "test_")
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped", out
    child = start(checkout, "--suite", "short", "-k", "first or listed or last")
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "2 passed, 0 failed, 0 skipped", out


def test_run_that_is_ended_reports_what_it_has(checkout):
    child = start(checkout, "--suite", "python", "-k", "first or stuck", limit="600")
    while not (checkout / "stuck").exists():
        assert child.poll() is None, child.stdout.read()
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "1 passed, 2 failed, 0 skipped", out
    assert "ended by SIGTERM" in out and "was under way when the run was ended" in out


def test_c_test_that_hangs_is_shown_and_ended(tmp_path, patience):
    script = tmp_path / "hangs.sh"
    script.write_text("#!/bin/sh\necho begun\nsleep 4713 &\nsetsid sleep 4714 &\nwait\n")
    script.chmod(0o755)
    words = [sys.executable, SUPPORT / "limited.py", "unit/x", "1", script]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 124
    assert "unit/x reached its time limit (1 s x" in done.stdout
    assert ": sleep 4713" in done.stdout and ": sleep 4714" in done.stdout
    for pid in patience.pids():
        words = patience.words_of(pid, "cmdline")[:2]
        assert words not in ([b"sleep", b"4713"], [b"sleep", b"4714"])


@pytest.mark.parametrize(
    ("code", "status"), [("exit 0", 0), ("exit 77", 77), ("exit 3", 3), ("kill -ABRT $$", 134)]
)
def test_status_of_a_c_test_is_passed_on(code, status):
    words = [sys.executable, SUPPORT / "limited.py", "unit/x", "60", "/bin/sh", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("SIGABRT" in done.stdout) == (status == 134)


def test_limit_grows_with_the_load(patience, monkeypatch):
    now, load = [0.0], [0.0]
    monkeypatch.setattr(os, "getloadavg", lambda: (load[0], 0, 0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    limit = patience.Limit(100, clock=lambda: now[0])
    assert limit.left() == 100
    now[0], load[0] = 100.0, 6.0
    assert limit.left() == 200  # twice as much again: three processes for each core
    now[0], load[0] = 299.0, 0.5
    assert limit.left() == 1  # the highest load counts
    load[0] = 1000.0
    assert limit.left() == 100 * patience.MOST - 299


def test_short_suite_has_every_guard_and_every_file_then_the_quickest(part):
    part("tally")  # finds the modules
    classify = importlib.import_module("classify_tests")
    here = "tests/system/test_"
    cost = {"unit/a": 1, "unit/b": 30, "model/c": 9}
    cost |= {f"{here}d.py::{name}": s for name, s in (("slow", 40), ("dies[tcp]", 2), ("x", 3))}
    cost |= {f"{here}e.py::Dies_late": 8, "python/tests/test_f.py::dies": 1, f"{here}g.py::y": 50}
    rows = [
        {"name": "one", "tests": ["pytest dies and not late", "ctest unit/"]},
        {"name": "two", "tests": ["pytest late or Tcp", "ctest model"]},
        {"name": "three", "tests": ["build unit/a"]},
    ]
    must, lost = classify.cover(list(cost), cost, rows)
    assert must == {f"{here}d.py::dies[tcp]", "model/c"} and not lost
    _, lost = classify.cover(list(cost), cost, [{"name": "four", "tests": ["pytest nothing"]}])
    assert lost == ["four"]
    whole = must | {"python/tests/test_f.py::dies", f"{here}e.py::Dies_late", f"{here}g.py::y"}
    setup = {f"{here}d.py": 5}
    assert classify.choose(cost, setup, must, 0) == (whole, 75)
    assert classify.choose(cost, setup, must, 79) == (whole | {"unit/a", f"{here}d.py::x"}, 79)


@pytest.mark.parametrize(
    ("ways", "sizes", "wanted"),
    [
        ("abcd", "xy", "ax by cx dy"),
        ("ab", "wxyz", "aw ay bx bz"),
        ("abc", "x", "ax bx cx"),
        ("a", "xy", "ax ay"),
    ],
)
def test_parameters_that_take_turns_leave_out_no_value(checkout, ways, sizes, wanted):
    (checkout / "tests" / "test_days.py").write_text(
        "import pytest\n@pytest.mark.in_turn('way')\n"
        f"@pytest.mark.parametrize('way', list({ways!r}))\n"
        f"@pytest.mark.parametrize('size', list({sizes!r}))\n"
        "def test_it(way, size): open('ran', 'a').write(f'{way}{size} ')\n"
        "def test_other(): pass\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_days.py"]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert sorted((checkout / "ran").read_text().split()) == wanted.split()


def test_times_of_tests_are_kept_apart_from_the_setup_of_their_file(checkout):
    """Whichever test comes first pays for it."""
    (checkout / "tests" / "test_days.py").write_text(
        "import pytest, time\n@pytest.fixture(scope='module')\ndef slow(): time.sleep(0.7)\n"
        "def test_a(slow): pass\ndef test_b(slow): time.sleep(0.3)\n"
    )
    start(checkout, "--suite", "python", limit="60").communicate()
    kept = json.loads((checkout / "b" / "test-results" / "seconds.json").read_text())
    file = "tests/test_days.py"
    assert kept[file] > 0.6 > kept[f"{file}::test_b"] > 0.2 > kept[f"{file}::test_a"]


STAGES = """
    . {root}/scripts/stages.sh
    stage counts sh -c 'echo 2 passed, 0 failed, 3 skipped'
    stage inner sh -c 'echo 7 passed, 0 failed, 0 skipped
        echo --- unsteady tests: ; echo "    unit/u: late"
        echo --- failed tests: ; echo "    unit/x: 1 != 2"; echo "    again: make it"
        echo 4 passed, 1 failed, 0 skipped; exit 1'
    stage silent true
    stage dies sh -c 'echo 5 passed, 0 failed, 0 skipped; exit 9'
    stage wrong sh -c 'echo the reason; exit 1'
    budget=1
    stage endless sh -c 'trap "echo 6 passed, 1 failed, 0 skipped; exit 1" TERM
        sleep 600 & wait'
    sum_up
"""


def test_stages_are_added_up_and_go_on_after_a_failure(tmp_path):
    began = time.monotonic()
    words = ["bash", "-u", "-c", STAGES.format(root=ROOT)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    told = done.stdout.splitlines()
    assert told[-1] == "18 passed, 4 failed, 3 skipped", done.stdout
    end = "\n".join(told[-40:]).partition("=== endless: status")[2]
    assert "skipped in counts: 3" in end
    assert "unsteady in inner:\n    unit/u: late\n" in end
    assert "failed in inner:\n    unit/x: 1 != 2\n    again: make it\n" in end
    assert "failed in wrong:\n    the reason\n    again: sh -c echo the reason; exit 1\n" in end
    assert "failed in endless:" in end and "times: counts 0 s, inner 0 s" in end
    assert time.monotonic() - began < 300


UNSTEADY = """\
import pathlib
import pytest

HERE = pathlib.Path(__file__).parent


def test_passes():
    with open(HERE / "order", "a") as out:
        out.write("other ")


def test_unsteady():
    with open(HERE / "order", "a") as out:
        out.write("unsteady ")
    count = (HERE / "order").read_text().split().count("unsteady")
    assert count > 1, "too early"


def test_wrong():
    assert 1 == 2, "never right"
"""


def test_what_fails_runs_again_alone_and_is_told(checkout):
    days = checkout / "tests" / "test_days.py"
    days.write_text(UNSTEADY)
    other = UNSTEADY.replace("test_unsteady", "test_more").replace("test_wrong", "no_test")
    (checkout / "tests" / "test_other.py").write_text(other.replace('"order"', '"order2"'))
    child = start(checkout, "--suite", "python", limit="60")
    out, _ = child.communicate()
    lines = out.splitlines()
    assert lines[-1] == "4 passed, 1 failed, 0 skipped", out
    assert (checkout / "tests" / "order").read_text() == "other unsteady unsteady "
    rows = {
        row["name"]: row
        for row in json.loads((checkout / "test-results" / "unsteady.json").read_text())
    }
    assert set(rows) == {"tests/test_days.py::test_unsteady", "tests/test_other.py::test_more"}
    row = rows["tests/test_days.py::test_unsteady"]
    assert row["line"] == "AssertionError: too early" and row["load"] >= 0
    assert "\nUNSTEADY tests/test_days.py::test_unsteady\n" in out  # and all that it said
    end = out[out.index("--- unsteady tests") :]
    assert "test_days.py::test_unsteady: AssertionError: too early (load " in end
    wrong = "tests/test_days.py::test_wrong"
    assert f"--- failed tests:\n    {wrong}: AssertionError: never right\n" in end
    assert f"again: make test TESTS=\"--only '{wrong}'\"" in end
    child = start(
        checkout, "--only", wrong, "--only", "tests/test_days.py::test_passes", limit="60"
    )
    out, _ = child.communicate()
    assert out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped", out


def test_which_failures_get_a_second_try(part, monkeypatch):
    again, tally = part("again"), part("tally").Tally()
    names = ["unit/a::one", "unit/a::two", "t/test_b.py::x", "ctest", "t/test_c.py::y"]
    for name in names:
        tally.add(name, "failed", "why", 1.5)
    tried, now = [], [0.0]

    def passes(args, env, unit):
        tried.append(unit)
        now[0] += again.MOST_S + 1 if "test_b" in unit else 1
        return True

    class Args:
        build = "nowhere"

    monkeypatch.setattr(part("ctests"), "names", lambda build: {"unit/a": set()})
    again.run(Args, {}, tally, 4, lambda: now[0], passes)
    assert tried == [] and len(tally.failed) == 5  # so many are no accident
    again.run(Args, {}, tally, 5, lambda: now[0], passes)
    assert tried == ["unit/a", "t/test_b.py::x"]  # then the time was over
    assert [name for name, _ in tally.failed] == ["ctest", "t/test_c.py::y"]
    assert [row["name"] for row in tally.unsteady] == names[:3]
    assert tally.passed == 3 and tally.unsteady[0]["load"] == 1.5


def test_many_failures_are_told_in_few_lines(part):
    failed = [(f"unit/x::case{i}", "E   1 != 2\nmore") for i in range(90)]
    lines = list(part("tally").failed_lines(failed, "check-asan"))
    assert len(lines) <= 27 and lines[0] == "unit/x::case0: 1 != 2"
    assert lines[-1] == "again, each: make check-asan TESTS=\"--only 'NAME'\""


def test_parts_of_a_suite_are_alike_and_leave_nothing_out(part):
    parts = load(SUPPORT / "parts.py")
    units = {f"unit/{i}": float(i % 7) for i in range(40)} | {"unit/long": 30.0}
    found = [parts.part_of(units, f"{k}/3") for k in (1, 2, 3)]
    assert set().union(*found) == set(units) and sum(map(len, found)) == len(units)
    sums = [sum(units[name] for name in names) for names in found]
    assert max(sums) - min(sums) <= 6
    for wrong in ("0/3", "4/3", "x"):
        with pytest.raises(ValueError):
            parts.part_of(units, wrong)


def test_a_slice_takes_whole_files(checkout):
    rows = ""
    for i in range(4):
        text = "def test_one(): pass\ndef test_two(): pass\ndef test_three(): pass\n"
        (checkout / "tests" / f"test_part{i}.py").write_text(text)
        rows += "".join(f"1.0 tests/test_part{i}.py::test_{name}\n" for name in ("one", "two"))
    (checkout / "tests" / "long.txt").write_text(rows + "1.0 tests/test_gone.py::test_one\n")
    for which in ("1/2", "2/2"):
        out, _ = start(checkout, "--suite", "long", "--slice", which, limit="60").communicate()
        assert out.splitlines()[-1] == "4 passed, 0 failed, 0 skipped", out


def test_only_files_that_name_its_mark_are_read_for_a_suite(part):
    files = part("pytests").files
    args = type("", (), {"length": "all", "slice": None})
    everything = files(args, ["tests", "python/tests"], "")
    assert "tests/runs/test_runs.py" in everything and "python/tests/test_threads.py" in everything
    marked = files(args, ["tests", "python/tests"], "sanitize")
    assert "tests/runs/test_runs.py" in marked and len(marked) < len(everything) / 2


@pytest.fixture
def everything(tmp_path):
    """A checkout in which make check-all runs nothing but says what it would."""
    (tmp_path / "scripts").mkdir()
    for name in ("check_all.sh", "stages.sh", "stamps.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "scripts" / "run_tests.py").write_text(
        "import os, sys\nprint('ran', *sys.argv[1:])\n"
        "rows = os.environ.get('ROWS')\n"
        "if rows:\n    os.makedirs('build/test-results', exist_ok=True)\n"
        "    open('build/test-results/unsteady.json', 'w').write(rows)\n"
        "bad = os.environ.get('BAD') == sys.argv[4]\n"
        "print(2, 'passed,', int(bad), 'failed, 0 skipped')\nsys.exit(bad)\n"
    )
    for name in ("build.sh", "setup.sh", "fuzz_smoke.sh"):
        (tmp_path / "scripts" / name).write_text("#!/bin/sh\necho 1 passed, 0 failed, 0 skipped\n")
        (tmp_path / "scripts" / name).chmod(0o755)
    (tmp_path / ".gitignore").write_text("build\n.venv\n")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    def run(part="", **env):
        return subprocess.run(
            ["bash", "scripts/check_all.sh", part],
            cwd=tmp_path,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_check_all_runs_in_parts_and_knows_which_have_passed(everything, tmp_path):
    done = everything("long")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "4 passed, 0 failed, 0 skipped"
    assert done.stdout.count("ran --build build/release --suite long --slice") == 2
    assert everything(STATUS="1").returncode == 1
    assert "there is no such part; parts are long-1" in everything("nothing").stderr
    assert "there is no such share" in everything("7/6").stderr
    for k in range(1, 7):
        done = everything(f"{k}/6", BAD="tsan")
        assert done.returncode == ("tsan" in done.stdout), done.stdout
    done = everything(STATUS="1")
    assert done.returncode == 1 and "tsan       failed in" in done.stdout, done.stdout
    assert everything("tsan").returncode == 0
    done = everything(STATUS="1")
    assert done.returncode == 0 and done.stdout.count(" passed in ") == 6, done.stdout
    (tmp_path / "new.c").write_text("")
    done = everything(STATUS="1")
    assert done.returncode == 1 and "not everything is committed" in done.stdout


def test_more_than_five_unsteady_tests_in_all_parts_are_a_failure(everything):
    rows = json.dumps([{"name": f"unit/{i}", "line": "late", "load": 1.0} for i in range(3)])
    assert everything("long-1", ROWS=rows).returncode == 0
    done = everything("long", ROWS=rows)
    assert done.returncode == 1 and "6 unsteady tests, more than 5" in done.stdout
    assert "6 unsteady tests" in everything(STATUS="1").stdout
