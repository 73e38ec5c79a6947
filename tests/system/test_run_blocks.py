# SPDX-License-Identifier: BSD-3-Clause
"""waitio run: blocks of every kind get their processes, names, variables and folders."""

import re
import shlex
import stat
import subprocess
import sys

import pytest

RANKS = 'echo "$WAITIO_PBID/$WAITIO_NPB ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"'


def test_three_blocks_of_three_kinds(waitio, need):
    need("mpiexec.openmpi", "mpiexec.mpich")
    ocean = waitio.script("ocean", RANKS)
    atmos = waitio.script("atmos", RANKS)
    sensor = waitio.script("sensor.sh", 'echo "$WAITIO_PBID/$WAITIO_NPB $WAITIO_RANK"')
    lines = waitio.lines(
        "run", "-n", 4, "--mpi", "openmpi", ocean, ":", "-n", 2, "--mpi", "mpich", atmos, ":",
        sensor,
    )  # fmt: skip
    assert lines == [
        "[atmos 0] 1/3 0",
        "[atmos 1] 1/3 1",
        "[ocean 0] 0/3 0",
        "[ocean 1] 0/3 1",
        "[ocean 2] 0/3 2",
        "[ocean 3] 0/3 3",
        "[sensor.sh 0] 2/3 0",
    ]


def test_n_without_mpi_starts_plain_processes(waitio):
    lines = waitio.lines("run", "-np", 3, "sh", "-c", "echo $WAITIO_RANK of $WAITIO_NPROCS")
    assert lines == ["[sh 0] 0 of 3", "[sh 1] 1 of 3", "[sh 2] 2 of 3"]


def test_names_are_made_unique(waitio):
    lines = waitio.lines("run", "echo", "1", ":", "--name", "x", "echo", "2", ":", "echo", "3")
    assert lines == ["[echo 0] 1", "[echo-2 0] 3", "[x 0] 2"]


def test_identity_of_the_callers_surroundings_does_not_leak(waitio, need):
    need("mpiexec.openmpi", "mpiexec.mpich")
    outer = {"WAITIO_RANK": "7", "WAITIO_NPROCS": "9", "WAITIO_PBID": "5", "WAITIO_NPB": "8",
             "COUPLER_JOB_ID": "1", "WAITIO_LOG": "debug"}  # fmt: skip
    show = (
        "echo ${WAITIO_RANK-no} ${WAITIO_NPROCS-no} $WAITIO_PBID ${COUPLER_JOB_ID-no} $WAITIO_LOG"
    )
    lines = waitio.lines(
        "run", "--mpi", "openmpi", "sh", "-c", show, ":", "--mpi", "mpich", "sh", "-c", show, ":",
        "sh", "-c", show, env=outer,
    )  # fmt: skip
    assert lines == [
        "[sh 0] no no 0 no debug",
        "[sh-2 0] no no 1 no debug",
        "[sh-3 0] 0 1 2 no debug",
    ]


@pytest.mark.parametrize("outer", ["openmpi", "mpich"])
def test_a_launcher_around_the_command_does_not_confuse_the_blocks(waitio, need, outer):
    need("mpiexec.openmpi", "mpiexec.mpich")
    words = ["--color", "never", "-n", "2", "--mpi", "openmpi", "sh", "-c", RANKS, ":"]
    words += ["-n", "2", "--mpi", "mpich", "sh", "-c", RANKS, ":", "sh", "-c", "echo $WAITIO_RANK"]
    inner = waitio.script("inner", shlex.join([sys.executable, "-m", "waitio", "run", *words]))
    done = subprocess.run(
        ["mpiexec." + outer, "-n", "1", inner],
        env=waitio.env, cwd=waitio.cwd, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "[sh 0] 0/3 0",
        "[sh 1] 0/3 1",
        "[sh-2 0] 1/3 0",
        "[sh-2 1] 1/3 1",
        "[sh-3 0] 0",
    ]


def test_all_blocks_share_one_fresh_rendezvous(waitio, need):
    need("mpiexec.mpich")
    show = "echo $WAITIO_MASTER_HOST $WAITIO_MASTER_PORT $WAITIO_JOB_ID $WAITIO_SECRET_FILE"
    words = ["run", "--mpi", "mpich", "-n", 2, "sh", "-c", show, ":", "sh", "-c", show]
    first, second = ({line.split("] ")[1] for line in waitio.lines(*words)} for _ in range(2))
    assert len(first) == len(second) == 1
    host, port, job, secret = first.pop().split()
    assert host == "127.0.0.1" and 1024 < int(port) < 65536
    again = second.pop().split()
    assert again[2] != job and again[3] != secret


def test_secret_is_private_and_goes_away(waitio):
    show = 'f=$WAITIO_SECRET_FILE; stat -c "%a %U" $f $(dirname $f); cat $f'
    status, out, _ = waitio("run", "sh", "-c", show)
    words = out.decode().replace("[sh 0] ", "").split()
    assert status == 0 and words[0] == "600" and words[2] == "700"
    assert re.fullmatch(r"[0-9a-f]{64}", words[4])
    assert waitio.folders() == []


def test_env_wdir_and_odd_values(waitio, need):
    need("mpiexec.openmpi")
    (waitio.cwd / "sub dir").mkdir()
    show = 'echo "$A|$B"; pwd'
    value = "x y;$HOME'\"=,"
    lines = waitio.lines(
        "run", "--env", f"A={value}", "--env", "B=", "--wdir", "sub dir", "sh", "-c", show, ":",
        "--mpi", "openmpi", "--env", f"A={value}", "--wdir", "sub dir", "sh", "-c", show,
    )  # fmt: skip
    folder = waitio.cwd / "sub dir"
    assert lines == sorted(
        [f"[sh 0] {value}|", f"[sh 0] {folder}", f"[sh-2 0] {value}|", f"[sh-2 0] {folder}"]
    )


def test_env_goes_to_its_block_only(waitio):
    lines = waitio.lines("run", "--env", "A=1", "sh", "-c", "echo $A", ":", "sh", "-c", "echo .$A")
    assert lines == ["[sh 0] 1", "[sh-2 0] ."]


def test_free_launcher_line(waitio, need):
    need("mpiexec.mpich")
    lines = waitio.lines(
        "run", "-n", 2, "--launcher", "mpiexec.mpich -n {n}", "sh", "-c", "echo r$PMI_RANK", ":",
        "--launcher", "env X={name}{pbid} {cmd} tail", "echo",
    )  # fmt: skip
    assert lines == ["[echo 0] tail", "[sh 0] r0", "[sh 1] r1"] or lines == [
        "[echo] tail",
        "[sh 0] r0",
        "[sh 1] r1",
    ]


def test_mpi_args_and_mpiexec(waitio, need):
    need("mpiexec.mpich")
    lines = waitio.lines(
        "run", "--mpi", "mpich", "--mpiexec", "mpiexec.mpich", "--mpi-args", "-genv X 'a b'",
        "sh", "-c", 'echo "$X"',
    )  # fmt: skip
    assert lines == ["[sh 0] a b"]


def test_auto_takes_what_is_installed_for_a_script(waitio, need):
    need("mpiexec")
    lines = waitio.lines("run", "--mpi", "auto", "-n", 2, "sh", "-c", RANKS)
    assert lines == ["[sh 0] 0/1 0", "[sh 1] 0/1 1"]


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_auto_knows_a_program_by_its_libraries(waitio, need, flavour, tmp_path):
    need(f"mpicc.{flavour}", f"mpiexec.{flavour}")
    source = tmp_path / "p.c"
    source.write_text("#include <mpi.h>\nint main(void){MPI_Init(0,0);MPI_Finalize();return 0;}\n")
    subprocess.run([f"mpicc.{flavour}", "-o", tmp_path / "p", source], check=True, timeout=60)
    status, out, _ = waitio("run", "--dry-run", "--mpi", "auto", "./p")
    assert status == 0 and f"({flavour}," in out.decode()


def test_stdin_reaches_only_the_named_block(waitio, need):
    need("mpiexec.mpich")
    words = [
        "run",
        "--stdin",
        "b",
        "--name",
        "a",
        "cat",
        ":",
        "--name",
        "b",
        "--mpi",
        "mpich",
        "cat",
    ]
    status, out, _ = waitio(*words, stdin=b"one\ntwo\n")
    assert (status, out) == (0, b"[b 0] one\n[b 0] two\n")


def test_embedded_or_service(waitio):
    served = waitio.script(
        "waitio-serv",
        'echo "$@ $WAITIO_NPB $WAITIO_JOB_ID $WAITIO_SERV_DIR" > served\n'
        "exec python3 -c 'import os,socket;s=socket.socket();"
        's.bind(("127.0.0.1",int(os.environ["WAITIO_MASTER_PORT"])));s.listen();s.accept();'
        "s.accept()'",
    )
    (waitio.cwd / "served.path").write_text(served)
    env = {"WAITIO_SERV": str(waitio.cwd / "waitio-serv")}
    lines = waitio.lines("run", "sh", "-c", "echo ${WAITIO_SERV-gone} $WAITIO_JOB_ID", env=env)
    words = (waitio.cwd / "served").read_text().split()
    assert words[:4] == ["--foreground", "-m", "127.0.0.1", "1"]
    assert lines == [f"[sh 0] gone {words[4]}"]
    (waitio.cwd / "served").unlink()
    waitio.lines("run", "--rendezvous", "embedded", "true", env=env)
    assert not (waitio.cwd / "served").exists()


def test_service_that_fails_stops_the_run(waitio):
    waitio.script("waitio-serv", "echo no such device >&2; exit 9")
    env = {"WAITIO_SERV": str(waitio.cwd / "waitio-serv")}
    status, out, err = waitio("run", "echo", "started", env=env)
    assert status == 1 and out == b""
    assert b"ended with status 9" in err and b"no such device" in err


def test_output_to_files(waitio, need):
    need("mpiexec.mpich")
    status, out, err = waitio(
        "run", "--output", "logs/deep", "-n", 2, "--mpi", "mpich", "--name", "m",
        "sh", "-c", "echo $PMI_RANK; echo e >&2; printf tail", ":", "sh", "-c", "echo x",
    )  # fmt: skip
    assert (status, out, err) == (0, b"", b"")
    found = {p.name: p.read_bytes() for p in (waitio.cwd / "logs/deep").iterdir()}
    assert found == {
        "m.0.out": b"0\ntail",
        "m.1.out": b"1\ntail",
        "m.0.err": b"e\n",
        "m.1.err": b"e\n",
        "sh.0.out": b"x\n",
    }
    assert stat.S_ISDIR((waitio.cwd / "logs").stat().st_mode)


def test_tee_shows_and_writes(waitio):
    lines = waitio.lines("run", "--output", "logs", "--tee", "echo", "x")
    assert lines == ["[echo 0] x"]
    assert (waitio.cwd / "logs/echo.0.out").read_bytes() == b"x\n"
