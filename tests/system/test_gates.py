# SPDX-License-Identifier: BSD-3-Clause
"""The lint script finds what it is there to find, and the test runner counts what it reports."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"


def findings(tmp_path, name, text):
    """What check_layers.py says about a tree that holds just this file."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "check_layers.py", tmp_path / "scripts")
    target = tmp_path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "scripts" / "check_layers.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # Keep git from finding a repository above the temporary folder.
        env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
    )
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("src/base/a.c", '#include "p2p/p2p.h"\n', "must not include p2p/p2p.h"),
        ("src/wire/a.h", '#include "auth/auth.h"\n', "must not include auth/auth.h"),
        ("src/transport/tcp/a.c", '#include "group/group.h"\n', "must not include group/group.h"),
        ("src/base/a.c", '#include "waitio.h"\n', "public header"),
        ("src/p2p/a.c", "int f(void) { close(3); }\n", "close() outside src/os"),
        ("src/p2p/a.c", "void *f(void) { return malloc(3); }\n", "malloc() outside src/os"),
        ("src/os/a.c", "void f(char *a) { strcpy(a, a); }\n", "strcpy() is not used"),
        ("tools/a.c", "int f(char *a) { return atoi(a); }\n", "atoi() is not used"),
        ("src/os/a.c", "int x;\n" * 1001, "the limit is 1000"),
    ],
)
def test_rule_is_enforced(tmp_path, name, code, says):
    assert says in findings(tmp_path, name, LICENCE + code)


def test_missing_licence_line_is_found(tmp_path):
    assert "no licence line" in findings(tmp_path, "src/os/a.c", "int x;\n")


@pytest.mark.parametrize(
    "code",
    [
        '#include "base/base.h"\n#include "waitio_errors.h"\n',
        "/* malloc(3) and strcpy(a) */ // close(3)\n",
        'const char *f(void) { return "close(3)"; }\n',
        "void f(struct ops *o) { o->close(o); wio_os_close(3); }\n",
        "struct ops {\n    int (*send)(int);\n    int close(int fd);\n};\n",
    ],
)
def test_allowed_code_passes(tmp_path, code):
    assert findings(tmp_path, "src/wire/a.c", LICENCE + code) == ""


def load_runner():
    spec = importlib.util.spec_from_file_location("run_tests", SCRIPTS / "run_tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runner_adds_up_cases_and_reasons(tmp_path, capsys):
    runner = load_runner()
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
    assert "FAILED unit/a::two" in out
    assert "unit/a::three: no network" in out
    assert "unit/a::four: too young" in out
    assert out.splitlines()[-1] == "1 passed, 1 failed, 2 skipped"


def test_runner_fails_when_nothing_ran(capsys):
    runner = load_runner()
    assert runner.report(runner.Tally()) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_program_that_dies_outside_of_its_cases_is_a_failure(tmp_path):
    """Every case passed, then the sanitizer ended the program: one failure more."""
    runner = load_runner()
    (tmp_path / "unit.a.g.xml").write_text('<testsuite><testcase name="one"/></testsuite>')
    case = runner.ET.fromstring(
        '<testcase name="unit/a" status="fail"><failure/><system-out>leak</system-out></testcase>'
    )
    tally = runner.Tally()
    runner.add_ctest_case(case, str(tmp_path), tally)
    assert (tally.passed, len(tally.failed)) == (1, 1)


def test_runner_stops_what_hangs(tmp_path):
    runner = load_runner()
    assert runner.run(["sleep", "60"], {"PATH": "/usr/bin:/bin"}, 0.2) == 124
