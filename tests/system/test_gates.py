# SPDX-License-Identifier: BSD-3-Clause
"""The lint script finds what it is there to find."""

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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a](b.md)\n", "there is no b.md"),
        ("# One\n\n[a](#two)\n", "has no heading #two"),
        ("![a](b.svg)\n", "there is no b.svg"),
        ("{doc}`other page <b>`\n", "there is no page b"),
        ("```\n[a](b.md)\n# two\n```\n[a](#two)\n", "a.md:5: a.md has no heading #two"),
        ("# The `b` & c: d\n\n[a](#the-b--c-d) [b](a.md#the-b--c-d) `[a](b.md)`\n", ""),
    ],
)
def test_link_that_leads_nowhere_is_found(tmp_path, text, says):
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "check_links.py", tmp_path / "scripts")
    (tmp_path / "a.md").write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    words = [sys.executable, tmp_path / "scripts" / "check_links.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if says else 0), done.stderr
    assert says in done.stdout and bool(done.stdout) == bool(says)


@pytest.mark.parametrize("link", ["b.html", "#two", "sub/c.html#two"])
def test_link_that_leads_nowhere_on_the_site_is_found(tmp_path, link):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(f'<p id="one"><a href="#one">x</a><a href="{link}">x</a>')
    (tmp_path / "sub" / "c.html").write_text('<a href="../a.html#one">x</a>')
    words = [sys.executable, SCRIPTS / "check_links.py", "--site", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("\n") == 1 and link in done.stdout
