# SPDX-License-Identifier: BSD-3-Clause
"""waitio run over files: the blocks meet and talk in a directory, the run is watched as over the
network, and what killed processes leave in the directory goes with the run."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess

import patience
import pytest

from waitio import launchers
from waitio.blocks import Block

BY = ["--route", "file"]


@pytest.fixture
def programs(build_dir):
    path = build_dir / "tests" / "system"
    if not (path / "actor").exists():
        pytest.fail(f"no {path}/actor: build the target system_programs")
    return path


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def serv(build_dir):
    return {"WAITIO_SERV": str(build_dir / "bin" / "waitio-serv")}


def left(scratch):
    return [path.name for path in scratch.iterdir()]


def joined(actor):
    """A shell line: an actor that joins and then waits for ever."""
    return f"mkfifo in$$; exec <>in$$; echo 'init 60' >&0; exec {actor}"


# ---- the way ----


@pytest.mark.parametrize("how", ["option", "environment", "environment of all blocks", "job file"])
def test_blocks_talk_through_the_directory(waitio, programs, scratch, how):
    """No master host is set, whatever the surroundings say; nothing is left behind."""
    show = waitio.script(
        "show",
        f"echo ${{WAITIO_MASTER_HOST-none}} $WAITIO_COMM_TYPE $WAITIO_SCRATCH_DIR >>seen;"
        f"exec {programs}/ring 50",
    )
    env = {"WAITIO_MASTER_HOST": "no-such-host.invalid", "WAITIO_STATS": "1"}
    blocks = ["-n", 2, show, ":", "--name", "b", show]
    if how == "option":
        words = [*BY, "--scratch", "scratch", *blocks]
    elif how == "environment":
        env.update(WAITIO_COMM_TYPE="file", WAITIO_SCRATCH_DIR="scratch")
        words = blocks
    elif how == "environment of all blocks":
        own = ["--env", "WAITIO_COMM_TYPE=file"]
        words = ["--scratch", "scratch", *own, "-n", 2, show, ":", *own, "--name", "b", show]
    else:
        (waitio.cwd / "job.toml").write_text(
            f'[run]\nroute = "file"\nscratch = "scratch"\n'
            f'[[block]]\nn = 2\ncommand = "{show}"\n[[block]]\nname = "b"\ncommand = "{show}"\n'
        )
        words = ["job.toml"]
    status, out, err = waitio("run", *words, env=env, timeout=60)
    assert status == 0, (out + err).decode()
    seen = (waitio.cwd / "seen").read_text().splitlines()
    assert seen == [f"none file {scratch}"] * 3
    rows = {line.split()[0]: line.split()[1:] for line in err.decode().splitlines()[1:]}
    assert int(rows["file_writes"][-1]) > 0 and "tx_syscalls" not in rows, err.decode()
    assert left(scratch) == []


def test_under_two_mpis(waitio, programs, scratch, need):
    need("mpiexec.openmpi", "mpiexec.mpich")
    ring = [programs / "ring", 20]
    env = {"WAITIO_MASTER_HOST": "no-such-host.invalid"}
    status, out, err = waitio(
        "run", *BY, "--scratch", scratch, "-n", 2, "--mpi", "openmpi", *ring, ":",
        "-n", 2, "--mpi", "mpich", "--name", "b", *ring, ":", "--name", "c", *ring,
        env=env, timeout=60,
    )  # fmt: skip
    assert status == 0, (out + err).decode()
    assert b"could not find environment variable" not in err and left(scratch) == []


def test_hybrid_meets_by_a_connection(waitio, programs, scratch):
    ring = [programs / "ring", 20]
    env = {"WAITIO_STATS": "1", "WAITIO_HYBRID_THRESHOULD": "8"}
    words = ["--route", "hybrid", "--scratch", scratch, "-n", 2, *ring, ":", "--name", "b", *ring]
    dry = waitio("run", "--dry-run", *words)
    assert b"WAITIO_COMM_TYPE=hybrid" in dry[1] and b"WAITIO_MASTER_HOST=127.0.0.1" in dry[1]
    status, out, err = waitio("run", *words, env=env, timeout=60)
    assert status == 0, (out + err).decode()
    assert left(scratch) == []


def test_dry_run_says_where_they_meet(waitio, scratch):
    words = ["run", "--dry-run", *BY, "--scratch", scratch, "--job-id", "a/b", "true"]
    status, out, _ = waitio(*words)
    place = f"rank 0 of the first block in {scratch}/.waitio-file-a%2fb"
    assert status == 0 and place in out.decode() and b"MASTER" not in out, out.decode()


@pytest.mark.parametrize(
    "words, text",
    [
        (["--route", "files", "true"], "--route 'files': known are auto, file, hybrid"),
        ([*BY, "--scratch", "nowhere", "true"], "/nowhere' does not exist; --scratch DIR"),
        ([*BY, "--scratch", "file", "true"], "/file' is no directory"),
        (["--scratch", ".", "true"], "--scratch .: no message goes by file; say --route"),
        ([*BY, "--master-host", "h", "true"], "--master-host and --route file: "),
        ([*BY, "--master-port", "99", "true"], "--master-port and --route file: "),
        ([*BY, "--rendezvous", "serv", "true"], "--rendezvous serv and --route file: "),
        ([*BY, "--env", "WAITIO_COMM_TYPE=shm", "true"], "block 'true': WAITIO_COMM_TYPE=shm, but"),
    ],
)
def test_what_does_not_fit_is_named(waitio, words, text):
    (waitio.cwd / "file").touch()
    status, out, err = waitio("run", *words)
    assert (status, out) == (2, b"") and text in err.decode(), err.decode()


def two(waitio, first, second, *words):
    """The words of a run of two blocks, each with a scratch directory and a working directory."""
    blocks = []
    for place, wdir in (first, second):
        (waitio.cwd / wdir).mkdir(exist_ok=True)
        own = ["--env", f"WAITIO_SCRATCH_DIR={place}"] if place else []
        blocks.append([*own, "--wdir", wdir, "sh", "-c", "echo $WAITIO_SCRATCH_DIR >>../seen"])
    return ["run", *BY, *words, "--name", "a", *blocks[0], ":", "--name", "b", *blocks[1]]


@pytest.mark.parametrize(
    "first, second, option, text",
    [
        ("scratch", "../scratch", "", "block 'a': WAITIO_SCRATCH_DIR=scratch, which is '{}/u/"),
        ("../scratch", "../w", "", "block 'a': WAITIO_SCRATCH_DIR=../scratch, which is '{}/s"),
        ("../scratch", "", "", "but others meet in '{}'"),
        ("../scratch", "../scratch", "w", "--scratch {}/w: they would not find each other"),
    ],
)
def test_blocks_that_would_meet_in_different_directories(
    waitio, scratch, first, second, option, text
):
    """Guard: without the check they wait until the time limit for joining."""
    (waitio.cwd / "u" / "scratch").mkdir(parents=True)
    words = two(waitio, (first, "u"), (second, "w"), *(["--scratch", option] if option else []))
    status, out, err = waitio(*words, timeout=30)
    assert (status, out) == (2, b"") and text.format(waitio.cwd) in err.decode(), err.decode()


def test_one_directory_by_different_words(waitio, scratch):
    """Relative to each block's working directory; a link is another name of the same."""
    (waitio.cwd / "link").symlink_to(scratch)
    words = two(waitio, ("../scratch", "u"), ("../link", "w"), "--scratch", "scratch")
    assert waitio(*words, timeout=30)[0] == 0
    assert (waitio.cwd / "seen").read_text().splitlines() == [str(scratch)] * 2


def test_a_directory_that_cannot_be_written(waitio, scratch):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    scratch.chmod(0o500)
    status, _, err = waitio("run", *BY, "--scratch", scratch, "true")
    assert status == 2 and b"cannot be written" in err


def test_with_a_master_host_of_their_own_choice_they_meet_there(waitio, programs, scratch):
    """WAITIO_COMM_TYPE=file says how messages go; the option says where the blocks meet."""
    env = {"WAITIO_COMM_TYPE": "file", "WAITIO_SCRATCH_DIR": str(scratch)}
    words = ["run", "--master-host", "127.0.0.1", programs / "ring", 5]
    assert b"WAITIO_MASTER_HOST=127.0.0.1" in waitio("run", "--dry-run", *words[1:], env=env)[1]
    assert waitio(*words, ":", "--name", "b", programs / "ring", 5, env=env, timeout=60)[0] == 0


def test_a_program_of_another_mpi_is_refused_over_files_too(waitio, programs, scratch, need):
    need("mpiexec.mpich")
    path = programs / "mpi_barrier.openmpi"
    if not path.exists():
        pytest.skip(f"{path} was not built")
    status, _, err = waitio("run", *BY, "--scratch", scratch, "-n", 2, "--mpi", "mpich", path)
    assert status == 2 and b"Say --mpi openmpi" in err, err


def test_env_prints_the_variables(waitio, scratch):
    words = ["env", "--npb", 2, "--pbid", 1, "--shell", "sh", *BY]
    status, out, _ = waitio(*words, "--scratch", scratch)
    assert status == 0 and b"export WAITIO_MASTER" not in out
    assert f"export WAITIO_SCRATCH_DIR='{scratch}';" in out.decode()
    status, _, err = waitio(*words, "--master-host", "h")
    assert status == 2 and b"--master-host and --route file" in err
    status, _, err = waitio("env", "--npb", 2, "--scratch", scratch)
    assert status == 2 and b"--scratch needs --route" in err


@pytest.mark.parametrize(
    "shell, before, after",
    [
        ("sh", "export WAITIO_MASTER_HOST=h", "echo ${WAITIO_MASTER_HOST-none} $WAITIO_NPB"),
        (
            "csh",
            "setenv WAITIO_MASTER_HOST h",
            "if ( ! $?WAITIO_MASTER_HOST ) echo none $WAITIO_NPB",
        ),
        (
            "fish",
            "set -gx WAITIO_MASTER_HOST h",
            "set -q WAITIO_MASTER_HOST; or echo none $WAITIO_NPB",
        ),
    ],
)
def test_env_takes_the_master_host_away(waitio, scratch, shell, before, after):
    """Set earlier in a job's script it would have the blocks wait for a connection."""
    _, out, _ = waitio("env", "--npb", 2, "--pbid", 1, "--shell", shell, *BY)
    lines = out.decode().splitlines()
    word = {"sh": "unset", "csh": "unsetenv", "fish": "set -e"}[shell]
    assert lines[:2] == [f"{word} WAITIO_MASTER_{what};" for what in ("HOST", "PORT")]
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: the lines were only read")
    script = "\n".join([before, *lines, after])
    done = subprocess.run(
        [shell, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("none 2\n", "")


# ---- watching ----


def test_a_block_that_ends_without_joining_ends_those_who_wait_in_a_directory(
    waitio, programs, scratch, serv
):
    talk = waitio.script("talk", f"(echo 'init 300'; cat) | exec {programs}/actor")
    status, out, err = waitio(
        "run", *BY, "--scratch", scratch, "--grace", 5, talk, ":", "--name", "none", "true",
        env=serv, timeout=40,
    )  # fmt: skip
    text = err.decode()
    assert status == 1, text
    assert "block 'none' (exit status 0) ended without ever joining" in text
    assert "1 process came; missing: PB 1: nobody came (size unknown)" in text
    assert "ended: block 'none' ended without joining" in text
    assert b"ok" not in out and left(scratch) == []


def test_a_block_that_ends_after_joining_disturbs_nobody(waitio, programs, scratch, serv):
    actor = programs / "actor"
    short = waitio.script("short", f"(echo 'init 30'; echo finalize; echo 'exit 0') | {actor}")
    words = "echo 'init 30'; echo finalize; sleep 4; echo 'exit 0'"
    long = waitio.script("long", f"({words}) | {actor}")
    status, _, err = waitio(
        "run", *BY, "--scratch", scratch, short, ":", long, env=serv, timeout=40
    )
    assert (status, err) == (0, b""), err.decode()


def test_the_state_of_a_rendezvous_in_a_directory(waitio, programs, scratch, serv):
    """`waitio-serv --state`, which the watch asks."""
    env = {**serv, "WAITIO_COMM_TYPE": "file", "WAITIO_SCRATCH_DIR": str(scratch)}
    env.update(WAITIO_JOB_ID="j", WAITIO_NPB="2", WAITIO_PBID="0")
    env.update(WAITIO_RANK="0", WAITIO_NPROCS="1")

    def state():
        status, out, err = waitio("serv", "--state", env=env)
        assert status == 0, err.decode()
        return out.decode()

    assert re.fullmatch(r"nobody: nobody has made .*/.waitio-file-j yet\n", state())
    actor = subprocess.Popen(
        [programs / "actor"], env={**waitio.env, **env}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        actor.stdin.write("init 60\n")
        actor.stdin.flush()
        waitio.wait_for((scratch / ".waitio-file-j" / "rendezvous" / "here").exists)
        said = waitio.wait_for(lambda: (text := state()).startswith("forming 1") and text, 20)
        assert said == "forming 1: 1 process came; missing: PB 1: nobody came (size unknown)\n"
        actor.send_signal(signal.SIGSTOP)
        assert state().startswith("nobody: "), "it may go on: the watch asks again"
    finally:
        actor.kill()
        actor.communicate()
    assert state() == "nobody: who served there has died\n"


def test_the_state_in_a_directory_that_is_not_closed(waitio, scratch, serv):
    (scratch / ".waitio-file-j").mkdir()
    (scratch / ".waitio-file-j").chmod(0o755)
    env = {**serv, "WAITIO_COMM_TYPE": "file", "WAITIO_SCRATCH_DIR": str(scratch)}
    status, out, _ = waitio("serv", "--state", env={**env, "WAITIO_JOB_ID": "j"})
    assert status == 0 and out.startswith(b"other: ") and b"has mode 755" in out, out


def test_model_times_are_shown(waitio, scratch):
    """What a component notes of its progress (src/coupler/sight.c), noted by a shell."""
    note = 'echo "3600 7 ocean" >"$WAITIO_CPL_PROGRESS/cpl.0"'
    words = ["run", *BY, "--scratch", scratch, "--progress", "sh", "-c", note]
    status, _, err = waitio(*words)
    assert status == 0 and b"model time at the end: ocean 01:00:00 (step 7)" in err, err


# ---- cleaning up ----


def actors(waitio, programs):
    """Process ids of the actors of this test."""
    for pid in patience.pids():
        try:
            its = pathlib.Path(f"/proc/{pid}/exe").samefile(programs / "actor")
            if its and waitio.mark in patience.words_of(pid, "environ"):
                yield pid
        except OSError:
            continue


def test_what_killed_processes_leave_goes_with_the_run(waitio, programs, scratch, serv):
    stay = waitio.script("stay", joined(programs / "actor"))
    child = waitio.start("run", *BY, "--scratch", scratch, stay, ":", stay, env=serv)
    waitio.wait_for(lambda: len(list(scratch.glob(".waitio-file-run-*/??/*"))) == 2, 30)
    for pid in actors(waitio, programs):
        os.kill(pid, signal.SIGKILL)
    _, err = child.communicate(timeout=patience.scaled(30))
    assert child.returncode == 128 + signal.SIGKILL, err.decode()
    assert left(scratch) == [] and b"is left" not in err, err.decode()


def test_so_it_does_where_blocks_take_different_ways(waitio, programs, scratch, serv):
    """One by files, one large messages only; they meet by a connection."""
    words = []
    for kind in ("file", "hybrid"):
        own = [f"WAITIO_COMM_TYPE={kind}", "WAITIO_SCRATCH_DIR=../scratch"]
        (waitio.cwd / kind).mkdir()
        start = ["sh", "-c", joined(programs / "actor")]
        words += ["--env", own[0], "--env", own[1], "--wdir", kind, *start, ":"]
    child = waitio.start("run", *words[:-1], env=serv)
    waitio.wait_for(lambda: len(list(scratch.glob(".waitio-file-run-*/??/*"))) == 2, 30)
    for pid in actors(waitio, programs):
        os.kill(pid, signal.SIGKILL)
    child.communicate(timeout=patience.scaled(30))
    assert left(scratch) == []


def started_elsewhere(waitio, programs, told):
    """Two actors that this test starts with the variables of a block, as ssh would do."""
    mine = {k: v for k, v in told.items() if k.startswith("WAITIO_") and "RUN" not in k}
    secret = waitio.cwd / "secret"  # by its own they would be known as processes of the run
    secret.write_bytes(pathlib.Path(told["WAITIO_SECRET_FILE"]).read_bytes())
    secret.chmod(0o600)
    mine.update(WAITIO_SECRET_FILE=str(secret), WAITIO_RANK="0", WAITIO_NPROCS="1", WAITIO_NPB="2")
    return [
        subprocess.Popen(
            [programs / "actor"], env={**waitio.env, **mine, "WAITIO_PBID": str(pbid)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for pbid in (0, 1)
    ]  # fmt: skip


def tell(actors, command):
    for actor in actors:
        actor.stdin.write(f"{command}\n")
        actor.stdin.flush()
    for actor in actors:
        assert actor.stdout.readline().startswith("ok")


def test_a_launcher_line_may_lead_elsewhere(waitio, programs, scratch):
    """Guard: where its processes are taken for ours, the files of living ones go."""
    note = waitio.script("note", "env -0 >new; mv new env; while [ ! -e go ]; do sleep 0.1; done")
    child = waitio.start(
        "run", *BY, "--scratch", scratch, "--grace", 0, "--launcher", f"{note} {{cmd}}", "true"
    )
    waitio.wait_for((waitio.cwd / "env").exists, 30)
    told = dict(row.split("=", 1) for row in (waitio.cwd / "env").read_text().split("\0") if row)
    cast = started_elsewhere(waitio, programs, told)
    try:
        tell(cast, "init 60")
        (waitio.cwd / "go").touch()
        _, err = child.communicate(timeout=patience.scaled(30))
        assert child.returncode == 0 and b"is left, for a process of the run may" in err, err
        tell(cast, "finalize")
        assert left(scratch) == []
    finally:
        for actor in cast:
            actor.kill()
            actor.communicate()


def test_only_what_is_known_to_be_here_is_sure():
    block = Block(["true"], mpi="openmpi", n=2)
    assert launchers.stays_here(block) and launchers.stays_here(Block(["true"]))
    for change in (
        {"launcher": "ssh host {cmd}", "mpi": "none"},
        {"mpi": "auto"},  # perhaps srun
        {"mpi": "slurm"},
        {"mpi_args": ["--hostfile", "hosts"]},
        {"mpiexec": "over-there"},
        {"hosts": ["elsewhere"]},
    ):
        assert not launchers.stays_here(dataclasses.replace(block, **change)), change


def test_the_true_reason_is_told(waitio, scratch):
    """A directory with a file of somebody in it is left; nothing lives in it."""
    (scratch / ".waitio-file-same").mkdir(mode=0o700)
    (scratch / ".waitio-file-same" / "notes").touch()
    words = ["run", *BY, "--scratch", scratch, "--job-id", "same", "sh", "-c", "exit 3"]
    status, _, err = waitio(*words)
    said = f"{scratch}/.waitio-file-same is left: notes in it is no name of WaitIO\n"
    assert status == 3 and said in err.decode() and b"still live" not in err, err


def test_the_guard_of_a_killed_runner_cleans_the_directory(waitio, programs, scratch, serv):
    stay = waitio.script("stay", joined(programs / "actor"))
    child = waitio.start("run", *BY, "--scratch", scratch, stay, ":", stay, env=serv)
    waitio.wait_for(lambda: len(list(scratch.glob(".waitio-file-run-*/??/*"))) == 2, 30)
    child.kill()
    child.wait()
    waitio.wait_for(lambda: not left(scratch), 30)


def test_a_living_run_with_the_same_id_is_left_alone(waitio, programs, scratch, serv):
    """Two runs that were given one job id: the one that ends does not take the other's files."""
    words = ["run", *BY, "--scratch", scratch, "--job-id", "same"]
    stay = waitio.script("stay", joined(programs / "actor"))
    first = waitio.start(*words, "--grace", 0, stay, ":", stay, env=serv)
    run = scratch / ".waitio-file-same"
    waitio.wait_for(lambda: len(list(run.glob("??/*"))) == 2, 30)
    waitio.wait_for(lambda: not (run / "rendezvous").exists(), 30)
    status, _, err = waitio(*words, "sh", "-c", "exit 3", env=serv)
    text = err.decode()
    assert status == 3 and f"{run} is left" in text, text
    assert f"waitio clean --remove {scratch}" in text
    assert len(list(run.glob("??/*"))) == 2
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=patience.scaled(30))
    waitio.wait_for(lambda: not left(scratch), 10)


# ---- going on ----


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--resume", "--job-id", "x", "true"], "say --route file, too"),
        ([*BY, "--resume", "true"], "--resume needs --job-id ID"),
        ([*BY, "--env", "WAITIO_FILE_RESUME=1", "true"], "WAITIO_FILE_RESUME=1 needs --job-id ID"),
    ],
)
def test_run_that_could_not_go_on_is_refused(waitio, words, wrong):
    status, _, err = waitio("run", *words)
    assert status == 2 and wrong in err.decode()
