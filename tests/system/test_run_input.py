# SPDX-License-Identifier: BSD-3-Clause
"""waitio run: command lines and job files, right and wrong; what --dry-run shows."""

import shlex
import subprocess

import pytest

WRONG = [
    ([], 2, "no program"),
    (["--frobnicate", "true"], 2, "unknown option '--frobnicate'"),
    (["--keep-gong", "true"], 2, "did you mean '--keep-going'"),
    (["-n", "0", "true"], 2, "between 1 and"),
    (["-n", "x", "true"], 2, "-n 'x'"),
    (["-n"], 2, "-n needs a value"),
    (["--grace", "-1", "true"], 2, "--grace '-1'"),
    (["--grace", "soon", "true"], 2, "a duration"),
    (["--keep-going=yes", "true"], 2, "takes no value"),
    (["--mpi", "openmp", "true"], 2, "did you mean 'openmpi'"),
    (["--env", "1A=x", "true"], 2, "NAME=VALUE"),
    (["--env", "WAITIO_PBID=3", "true"], 2, "WAITIO_PBID is set by waitio run"),
    (["--env", "A", "true"], 2, "NAME=VALUE"),
    (["true", ":", ":", "true"], 2, "block 1: no program"),
    (["true", ":", "--keep-going", "true"], 2, "before the first block"),
    (["--name", "a", "true", ":", "--name", "a", "true"], 2, "blocks 0 and 1 are both named 'a'"),
    (["--name", "../a", "true"], 2, "a block's name"),
    (["--wdir", "nowhere", "true"], 2, "'nowhere' does not exist"),
    (["--stdin", "cta", "cat"], 2, "the blocks are cat"),
    (["--tee", "true"], 2, "--tee needs --output"),
    (["--launcher", "x {m}", "true"], 2, "unknown '{m}'"),
    (["--launcher", "'x", "true"], 2, "--launcher"),
    (["--launcher", "x", "--mpi", "mpich", "true"], 2, "exclude each other"),
    (["--mpi-args", "-x", "true"], 2, "need --mpi"),
    (["--hosts", "a,,b", "true"], 2, "comma list"),
    (["--hosts", "a", "--mpi", "fujitsu", "--mpiexec", "true", "true"], 2, "-vcoordfile"),
    (["--mpi", "mpich", "--mpiexec", "nompi", "true"], 127, "no such program"),
    (["--job-id", "a b", "true"], 2, "--job-id"),
    (["--rendezvous", "serv", "true"], 127, "waitio-serv"),
    (["no-such-program-here"], 127, "is not in PATH"),
    (["./nothing"], 127, "does not exist"),
    (["./data"], 126, "not an executable"),
    (["data"], 127, "did you mean './data'"),
    (["--file", "none.toml"], 2, "none.toml"),
    (["--file", "none.toml", "true"], 2, "a block on the command line"),
]


@pytest.mark.parametrize("words, status, text", WRONG, ids=[" ".join(w[0]) or "-" for w in WRONG])
def test_wrong_command_lines(waitio, words, status, text):
    (waitio.cwd / "data").touch()
    got, out, err = waitio("run", *words, timeout=20)
    assert (got, out) == (status, b""), err
    assert text in err.decode() and b"Traceback" not in err


def test_help_names_every_option(waitio):
    status, out, _ = waitio("run", "--help")
    text = out.decode()
    assert status == 0
    for option in ("-n, -np", "--mpi", "--launcher", "--name", "--env", "--wdir", "--host, --hosts",
                   "--output", "--stdin", "--keep-going", "--grace", "--timeout", "--summary",
                   "--dry-run", "--master-host", "--file"):  # fmt: skip
        assert option in text
    assert waitio("--help")[0] == 0 and waitio("--version")[1].startswith(b"waitio ")
    assert waitio()[0] == 2 and waitio("rnu")[2].endswith(
        b"(did you mean 'run'?); see waitio --help\n"
    )


def test_program_arguments_are_left_alone(waitio):
    words = ["-n", "--help", "--env", "A", "--", "-np=3", ""]
    assert waitio.lines("run", "printf", "<%s>", *words) == [
        "[printf 0] " + "".join(f"<{w}>" for w in words)
    ]
    assert waitio.lines("run", "--separator", "/", "echo", ":", "/", "echo", "b") == [
        "[echo 0] :",
        "[echo-2 0] b",
    ]


def test_dry_run_lines_work_in_a_shell(waitio):
    (waitio.cwd / "d").mkdir()
    status, out, _ = waitio(
        "run", "--dry-run", "--env", "A=x y'z", "--wdir", "d", "-n", 2, "sh", "-c",
        'echo "$A $WAITIO_RANK $WAITIO_NPROCS $WAITIO_NPB"; pwd',
    )  # fmt: skip
    assert status == 0 and "embedded" in out.decode()
    done = subprocess.run(["sh"], input=out, capture_output=True, check=True, timeout=10)
    folder = str(waitio.cwd / "d")
    assert done.stdout.decode().splitlines() == ["x y'z 0 2 1", folder, "x y'z 1 2 1", folder]


FLAVOURS = {
    "mpich": "-n 4 -hosts a,b ./p x",
    "intel": "-n 4 -hosts a,b ./p x",
    "mvapich": "-n 4 -hosts a,b ./p x",
    "slurm": "-n 4 --export=ALL --kill-on-bad-exit=1 --exact -w a,b ./p x",
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_dry_run_for_launchers_that_may_not_be_here(waitio, flavour):
    launcher = waitio.script("fake", "exit 1")
    status, out, err = waitio(
        "run", "--dry-run", "-n", 4, "--mpi", flavour, "--mpiexec", launcher, "--hosts", "a,b",
        "--tagging", "none", "./p", "x", ":", "true",
    )  # fmt: skip
    assert status == 0, err
    line = next(line for line in out.decode().splitlines() if "fake" in line)
    assert line.split("fake ", 1)[1] == FLAVOURS[flavour]
    assert "WAITIO_MASTER_HOST=a " in line  # where rank 0 of the first block runs


def test_dry_run_openmpi_exports_every_variable(waitio):
    launcher = waitio.script("fake", "exit 1")
    status, out, _ = waitio(
        "run", "--dry-run", "--mpi", "openmpi", "--mpiexec", launcher, "--host", "a:2",
        "--env", "OMP_NUM_THREADS=2", "./p", ":", "true", env={"WAITIO_LOG": "info"},
    )  # fmt: skip
    assert status == 0
    words = shlex.split(next(x for x in out.decode().splitlines() if "fake" in x))
    exported = {b for a, b in zip(words, words[1:]) if a == "-x"}
    assert exported >= {"OMP_NUM_THREADS", "WAITIO_LOG", "WAITIO_PBID", "WAITIO_NPB",
                        "WAITIO_MASTER_HOST", "WAITIO_MASTER_PORT", "WAITIO_JOB_ID",
                        "WAITIO_SECRET_FILE"}  # fmt: skip
    assert "--tag-output" in words and words[words.index("--host") + 1] == "a:2"


def test_dry_run_remote_plain_process_goes_by_ssh(waitio):
    status, out, _ = waitio("run", "--dry-run", "-n", 2, "--hosts", "far,localhost", "./p", "a b")
    text = out.decode()
    assert status == 0
    line = next(x for x in text.splitlines() if "ssh" in x)
    assert "BatchMode=yes far " in line and "WAITIO_RANK=0" in line and "exec env" in line
    assert "PRIVATE-FOLDER" in line and "./p 'a b'" in text


JOB = """
[run]
keep_going = true
grace = 2
timeout = "1m"
env = { COMMON = "c", N = 3 }

[[block]]
command = ["sh", "-c", "echo $COMMON $N $OWN $WAITIO_RANK; basename $PWD"]
name = "first"
n = 2
env = { OWN = "o", N = 4 }
wdir = "work"

[[block]]
command = "sh -c 'echo $COMMON; exit 3'"

[[block]]
command = "sh -c 'sleep 0.4; echo late'"
name = "late"
"""


def test_job_file(waitio, need):
    pytest.importorskip("tomllib")
    folder = waitio.cwd / "case"
    (folder / "work").mkdir(parents=True)
    (folder / "job.toml").write_text(JOB)
    for words in (["case/job.toml"], ["--file", "case/job.toml"]):
        status, out, err = waitio("run", *words)
        assert status == 3, err
        assert sorted(out.decode().splitlines()) == [
            "[first 0] c 4 o 0",
            "[first 0] work",
            "[first 1] c 4 o 1",
            "[first 1] work",
            "[late 0] late",
            "[sh 0] c",
        ]


def test_command_line_wins_over_the_job_file(waitio):
    pytest.importorskip("tomllib")
    (waitio.cwd / "j.toml").write_text('[run]\noutput = "a"\n[[block]]\ncommand = "echo x"\n')
    assert waitio.lines("run", "--output", "b", "j.toml") == []
    assert (waitio.cwd / "b/echo.0.out").exists() and not (waitio.cwd / "a").exists()


WRONG_FILES = [
    ("[[block]\n", "not valid TOML"),
    ("", "no [[block]]"),
    ("[[block]]\nn = 2\n", "block 0: 'command' is missing"),
    ("[[blok]]\ncommand='true'\n", "unknown table 'blok' (did you mean 'block'?)"),
    ("[[block]]\ncomand='true'\n", "unknown key 'comand' (did you mean 'command'?)"),
    ("[run]\nkeep_goin=true\n[[block]]\ncommand='true'\n", "did you mean 'keep_going'?"),
    ("[run]\nkeep_going=1\n[[block]]\ncommand='true'\n", "true or false is needed"),
    ("[run]\ngrace='x'\n[[block]]\ncommand='true'\n", "a duration"),
    ("[run]\ngrace=-1\n[[block]]\ncommand='true'\n", "grace = -1"),
    ("[run]\ngrace=nan\n[[block]]\ncommand='true'\n", "grace = nan"),
    ("[run]\nmaster_port=70000\n[[block]]\ncommand='true'\n", "between 1 and 65535"),
    ("[[block]]\ncommand='true'\nn=0\n", "between 1 and"),
    ("[[block]]\ncommand='true'\nn='4'\n", "a whole number"),
    ("[[block]]\ncommand='true'\nn=true\n", "a whole number"),
    ("[[block]]\ncommand=[]\n", "names no program"),
    ("[[block]]\ncommand=[1]\n", "a list of strings"),
    ('[[block]]\ncommand="a \'b"\n', "quotation"),
    ("[[block]]\ncommand='true'\nmpi='mpic'\n", "did you mean 'mpich'"),
    ("[[block]]\ncommand='true'\nenv={'a b'='x'}\n", "'a b' cannot name"),
    ("[[block]]\ncommand='true'\nenv={A=[1]}\n", "must be a string or a number"),
    ("[[block]]\ncommand='true'\nenv='A=1'\n", "a table is needed"),
    ("[[block]]\ncommand='true'\nhosts=['a b']\n", "host names"),
    ("[[block]]\ncommand='true'\nname='a/b'\n", "a block's name"),
    ("[[block]]\ncommand='true'\nwdir='no'\n", "does not exist"),
    ("[block]\ncommand='true'\n", "no [[block]]"),
    ("run=1\n[[block]]\ncommand='true'\n", "a table is needed"),
    ("\xff", "not valid TOML"),
]


@pytest.mark.parametrize("text, message", WRONG_FILES, ids=[w[1] for w in WRONG_FILES])
def test_wrong_job_files(waitio, text, message):
    pytest.importorskip("tomllib")
    (waitio.cwd / "j.toml").write_bytes(text.encode("latin-1"))
    status, out, err = waitio("run", "j.toml")
    assert (status, out) == (2, b"")
    assert message in err.decode() and b"j.toml" in err and b"Traceback" not in err
