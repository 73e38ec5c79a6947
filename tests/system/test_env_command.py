# SPDX-License-Identifier: BSD-3-Clause
"""waitio env, and the front end of the C tools."""

import os
import shutil
import stat
import subprocess

import pytest

ODD = 'it\'s $HOME `x` \\ ! "q"'


def test_lines_for_one_block(waitio):
    status, out, _ = waitio(
        "env", "--npb", 3, "--pbid", 1, "--master-host", "node1", "--port", 7200,
        "--job-id", "j1", "--secret-file", "s", "--shell", "sh",
    )  # fmt: skip
    assert status == 0
    assert out.decode().splitlines() == [
        "export WAITIO_MASTER_HOST='node1';",
        "export WAITIO_MASTER_PORT='7200';",
        "export WAITIO_NPB='3';",
        "export WAITIO_PBID='1';",
        "export WAITIO_JOB_ID='j1';",
        f"export WAITIO_SECRET_FILE='{waitio.cwd}/s';",
    ]


def test_all_blocks_and_defaults(waitio):
    status, out, _ = waitio("env", "--npb", 2, env={"SHELL": "/bin/bash"})
    text = out.decode()
    assert status == 0 and text.count("# block") == 2
    assert text.count(f"WAITIO_MASTER_HOST='{os.uname().nodename}'") == 2
    assert "WAITIO_MASTER_PORT='7100'" in text and "JOB_ID" not in text


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "csh", "tcsh", "fish"])
def test_shells_take_the_lines_literally(waitio, shell):
    status, out, _ = waitio("env", "--npb", 1, "--pbid", 0, "--secret-file", ODD, "--shell", shell)
    assert status == 0
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = out.decode() + "printenv WAITIO_SECRET_FILE\n"
    done = subprocess.run(
        [shell], input=script, capture_output=True, text=True, timeout=10, check=False
    )
    assert done.stdout.rstrip("\n") == f"{waitio.cwd}/{ODD}"


def test_shell_is_taken_from_the_environment(waitio):
    for shell, start in (("/bin/tcsh", "setenv "), ("/usr/bin/fish", "set -gx "), ("x", "export ")):
        assert (
            waitio("env", "--npb", 1, env={"SHELL": shell})[1]
            .decode()
            .splitlines()[1]
            .startswith(start)
        )


def test_secret_file_is_made_private_and_never_overwritten(waitio):
    words = ["env", "--npb", 1, "--secret-file", "s", "--make-secret"]
    assert waitio(*words)[0] == 0
    path = waitio.cwd / "s"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text()
    assert len(before.strip()) == 64
    status, out, err = waitio(*words)
    assert (status, out) == (1, b"") and b"exists already" in err
    assert path.read_text() == before
    (waitio.cwd / "link").symlink_to(waitio.cwd / "target")
    assert waitio("env", "--npb", 1, "--secret-file", "link", "--make-secret")[0] == 1
    assert not (waitio.cwd / "target").exists()


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "--npb N is needed"),
        (["--npb", "0"], "between 1"),
        (["--npb", "2", "--pbid", "2"], "the ids are 0 to 1"),
        (["--npb", "2", "extra"], "extra"),
        (["--nbp", "2"], "did you mean '--npb'"),
        (["--npb", "1", "--port", "0"], "between 1 and 65535"),
        (["--npb", "1", "--job-id", ""], "--job-id is empty"),
        (["--npb", "1", "--job-id", "x" * 64], "--job-id"),
        (["--npb", "1", "--make-secret"], "needs --secret-file"),
        (["--npb", "1", "--shell", "cmd"], "known are"),
    ],
)
def test_wrong_use(waitio, words, text):
    status, out, err = waitio("env", *words)
    assert (status, out) == (2, b"") and text in err.decode()


@pytest.mark.parametrize("tool", ["info", "serv"])
def test_tools_are_found_and_get_their_arguments(waitio, tool):
    variable = "WAITIO_" + tool.upper()
    waitio.script("tool", f'echo "${{{variable}-gone}} $@"; exit 5')
    status, out, _ = waitio(tool, "-a", "b c", env={variable: str(waitio.cwd / "tool")})
    assert (status, out) == (5, b"gone -a b c\n")
    (waitio.cwd / "bin").mkdir()
    (waitio.cwd / "tool").rename(waitio.cwd / "bin" / f"waitio-{tool}")
    path = f"{waitio.cwd}/bin:" + waitio.env["PATH"]
    assert waitio(tool, "x", env={"PATH": path})[0] == 5


def test_missing_tool_is_explained(waitio):
    status, out, err = waitio("info", env={"PATH": "/nowhere"})
    assert (status, out) == (127, b"") and b"waitio-info" in err and b"WAITIO_INFO" in err
    status, _, err = waitio("info", env={"WAITIO_INFO": "/no/such"})
    assert status == 127 and b"WAITIO_INFO=/no/such" in err
