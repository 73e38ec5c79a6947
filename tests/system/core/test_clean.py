# SPDX-License-Identifier: BSD-3-Clause
"""`waitio clean`: what killed runs have left in a scratch directory goes, nothing else."""

import errno
import fcntl
import importlib.util
import os
import shutil
import struct
import sys
import threading
import time

import pytest

from waitio import clean, leftovers, privatedir

LIVE = "alive: 2 of 2 processes"


def run_dir(u):
    return f".waitio-file-{u.mark}"


def actors(universe, **env):
    u = universe(WAITIO_COMM_TYPE="file", **env)
    cast = u.actors([1, 1])
    a, b = cast
    a.ok("isend 60 0 1 100000 600 3")
    b.ok("irecv 61 0 0 100000 600")
    b.ok("wait 61 3")
    a.ok("wait 60 0")
    return u, cast


def dead(universe, **env):
    u, cast = actors(universe, **env)
    for process in cast:
        process.kill()
    return u


def test_dead_ones_go_and_living_ones_stay(universe, waitio, tmp_path):
    """Two universes in one directory; a stopped process lives."""
    gone = dead(universe)
    u, (a, b) = actors(universe)
    b.stop()
    lines = waitio.lines("clean", tmp_path)
    assert f"{run_dir(u)}: {LIVE}" in lines
    assert any(line.startswith(f"{run_dir(gone)}: dead: 2 processes") for line in lines)
    assert any("--remove removes them" in line for line in lines)
    assert (tmp_path / run_dir(gone)).exists()
    env = {"WAITIO_SCRATCH_DIR": str(tmp_path)}
    lines = waitio.lines("clean", "--remove", "--watch", 0, env=env)
    assert any(line.startswith("removed 1 of 1") for line in lines)
    assert not (tmp_path / run_dir(gone)).exists()
    b.resume()
    u.leave(a, b)
    assert waitio.lines("clean", tmp_path) == [f"nothing to remove in {tmp_path}"]


def test_one_job_id_for_a_dead_and_a_living_universe(universe, waitio, tmp_path):
    dead(universe, WAITIO_JOB_ID="same")
    u, cast = actors(universe, WAITIO_JOB_ID="same")
    lines = waitio.lines("clean", "--remove", "--watch", 0, tmp_path)
    assert ".waitio-file-same: alive: 2 of 4 processes" in lines
    assert len(list((tmp_path / ".waitio-file-same").glob("*/*"))) == 4
    u.leave(*cast)
    waitio.lines("clean", "--remove", "--watch", 0, tmp_path)
    assert not (tmp_path / ".waitio-file-same").exists()


def left_alone(waitio, tmp_path, text):
    """It is named, with the reason, and as it was."""
    before = sorted(tmp_path.rglob("*"))
    lines = waitio.lines("clean", "--remove", "--silence", 0, "--watch", 0, tmp_path)
    assert any("left alone" in line and text in line for line in lines), lines
    assert sorted(tmp_path.rglob("*")) == before


def test_directories_of_others_are_named_and_left(universe, waitio, tmp_path):
    path = tmp_path / run_dir(dead(universe))
    path.chmod(0o770)
    left_alone(waitio, tmp_path, "has mode 770")
    path.chmod(0o700)
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another user")
    os.chown(path, 65534, 65534)
    left_alone(waitio, tmp_path, "belongs to user 65534")
    os.chown(path, 0, 0)
    folder = next(path.glob("*/*"))
    os.chown(folder, 65534, 65534)
    left_alone(waitio, tmp_path, "belongs to user 65534")


def test_a_symbolic_link_in_place_of_a_run(waitio, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "data").write_text("of years")
    (tmp_path / ".waitio-file-link").symlink_to(precious)
    left_alone(waitio, tmp_path, ".waitio-file-link is no directory")


@pytest.mark.parametrize("place", ["", "*", "*/*"])
@pytest.mark.parametrize("name", ["ff", "0123456789abcdef", "k00000001-0123456789abcdef", "notes"])
def test_what_does_not_belong_there(universe, waitio, tmp_path, place, name):
    """A symbolic link, whatever it is called, keeps the whole directory."""
    path = tmp_path / run_dir(dead(universe))
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "data").write_text("of years")
    folder = next(path.glob(place)) if place else path
    if (folder / name).exists():  # by chance one of the run's own
        name = "fe" if name == "ff" else "other"
    (folder / name).symlink_to(precious)
    left_alone(waitio, tmp_path, name)


def sign_of_life(source_dir):
    path = source_dir / "python" / "waitio" / "alive.py"
    spec = importlib.util.spec_from_file_location("waitio_alive", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["waitio_alive"] = module
    spec.loader.exec_module(module)

    def record(beat, locked=0):
        head = struct.pack("<QIIQQ12x", module.MAGIC, 1, locked, 7, beat)
        return head + struct.pack("<I", module._crc32c(head))

    return record


def lock(fd):
    """As a process holds the lock of its sign of life."""
    fcntl.fcntl(fd, 37, struct.pack("@hhqqi0q", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK


def killed(tmp_path, source_dir, job="x"):
    """What a killed process leaves that had a lock; its sign of life."""
    folder = tmp_path / f".waitio-file-{job}" / "07" / "0000000000000007"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent, folder.parent.parent):
        part.chmod(0o700)
    (folder / "alive").write_bytes(sign_of_life(source_dir)(1, 1))
    return folder / "alive"


@pytest.fixture
def judged(tmp_path, source_dir):
    """A run that was judged dead some time ago, and what is needed to go on."""
    alive = killed(tmp_path, source_dir)
    scratch = os.open(tmp_path, os.O_RDONLY)
    run = leftovers.Run(".waitio-file-x")
    run.look(scratch, 75)
    assert not run.dead and run.in_doubt(75), "nothing is dead at the first look"
    run.look(scratch, 75)
    assert run.dead
    yield run, scratch, alive
    os.close(scratch)


def test_a_run_that_lives_again_is_not_removed(judged, monkeypatch):
    """Nor is it given another name for a moment."""
    run, scratch, alive = judged
    monkeypatch.setattr(os, "rename", lambda *how, **more: pytest.fail(f"renamed: {how}"))
    with open(alive, "r+b") as held:
        lock(held)
        with pytest.raises(privatedir.NotOursError, match="lives after all"):
            run.take_away(scratch, 75)
    assert alive.exists()


@pytest.mark.parametrize("taken", [False, True])
def test_who_comes_while_it_is_removed_keeps_its_files(judged, monkeypatch, taken):
    """Guard: without the look after the new name is given, the files of a living one go."""
    run, scratch, alive = judged
    rename, held = os.rename, open(alive, "r+b")  # noqa: SIM115

    def late(old, new, **how):
        rename(old, new, **how)
        if old == ".waitio-file-x":
            lock(held)
            if taken:
                os.mkdir(old, 0o700, dir_fd=how["dst_dir_fd"])

    monkeypatch.setattr(os, "rename", late)
    with held, pytest.raises(privatedir.NotOursError, match="lives after all") as said:
        run.take_away(scratch, 75)
    names = sorted(path.name for path in alive.parents[3].glob(".waitio-file-*"))
    assert alive.exists() != taken and names[0] == ".waitio-file-x"
    assert len(names) == 1 + taken and (f"now called {names[-1]}" in str(said.value)) == taken
    if taken:  # the next one finds it by that name
        assert leftovers.RUN_NAME.fullmatch(names[1])
        again = leftovers.Run(names[1])
        again.look(scratch, 75)
        again.look(scratch, 75)
        again.take_away(scratch, 75)
        assert not (alive.parents[3] / names[1]).exists()


def test_one_that_somebody_else_removes_is_no_failure(judged):
    run, scratch, alive = judged
    shutil.rmtree(alive.parents[2])
    run.take_away(scratch, 75)
    assert run.gone


def test_a_run_that_cannot_be_looked_at_does_not_end_the_command(
    tmp_path, source_dir, monkeypatch, capsys
):
    bad = killed(tmp_path, source_dir, "bad").parents[2].stat().st_ino
    killed(tmp_path, source_dir, "good")
    listdir = os.listdir

    def stale(fd):
        if isinstance(fd, int) and os.fstat(fd).st_ino == bad:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return listdir(fd)

    monkeypatch.setattr(os, "listdir", stale)
    assert clean.main(["--remove", "--watch", "0", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert ".waitio-file-bad: left alone: it cannot be looked at: Stale file handle" in out
    assert "removed 1 of 1" in out and not (tmp_path / ".waitio-file-good").exists()


def test_names_that_are_none_of_waitio(waitio, tmp_path, source_dir):
    """They neither end the command nor reach the terminal as they are."""
    alive = killed(tmp_path, source_dir)
    strange = b".waitio-file-\xff\x1b[31m"
    os.mkdir(os.path.join(os.fsencode(tmp_path), strange))
    status, out, err = waitio("clean", "--watch", 0, tmp_path)
    assert (status, err) == (0, b"") and b"1 dead" in out and b"31m" not in out, out
    with open(os.fsencode(alive.parent) + b"/note\xff\x1b[31m", "wb"):
        pass
    status, out, err = waitio("clean", "--watch", 0, tmp_path)
    assert (status, err) == (0, b"") and b"\x1b" not in out and b"\xff" not in out
    assert rb"note\udcff\x1b[31m is no file of WaitIO" in out, out


def test_a_sign_of_life_names_its_host(universe, tmp_path, source_dir):
    sign_of_life(source_dir)
    module = sys.modules["waitio_alive"]
    u, cast = actors(universe)
    path = next((tmp_path / run_dir(u)).glob("*/*/alive"))
    folder = os.open(path.parent, os.O_RDONLY)
    sign = module.read_sign(folder, "alive", True)
    assert sign.here_host and sign.locked and sign.lock_seen and sign.beat > 0
    data = bytearray(path.read_bytes())
    data[32] ^= 1
    data[-4:] = struct.pack("<I", module._crc32c(bytes(data[:-4])))
    (path.parent / ".alive").write_bytes(data)
    assert not module.read_sign(folder, ".alive", True).here_host
    os.close(folder)
    os.unlink(path.parent / ".alive")
    u.leave(*cast)


def test_without_locks_the_counter_and_the_silence_decide(waitio, tmp_path, source_dir):
    record = sign_of_life(source_dir)
    folder = tmp_path / ".waitio-file-x" / "07" / "0000000000000007"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent, folder.parent.parent):
        part.chmod(0o700)
    alive, stop = folder / "alive", threading.Event()
    alive.write_bytes(record(1))

    def beat():
        old = time.time() - 1000  # whatever the clock of its host says
        for n in range(2, 10**6):
            with open(alive, "r+b") as file:
                file.write(record(n))
            os.utime(alive, (old, old))
            if stop.wait(0.02):
                return

    os.utime(folder, (1, 1))
    words = ["clean", "--remove", tmp_path]
    thread = threading.Thread(target=beat)
    thread.start()
    try:
        lines = waitio.lines("clean", "--watch", 1, "--remove", tmp_path)
        assert ".waitio-file-x: alive: 1 of 1 processes" in lines
    finally:
        stop.set()
        thread.join()
    assert folder.exists()
    os.utime(alive)  # its last sign is a moment ago
    assert ".waitio-file-x: alive: 1 of 1 processes" in waitio.lines(*words)
    lines = waitio.lines("clean", "--silence", "10ms", "--watch", "50ms", "--remove", tmp_path)
    assert any(line.startswith("removed 1 of 1") for line in lines)
    assert not folder.parent.parent.exists()


def test_usage(waitio, tmp_path):
    assert waitio("clean", "--help")[0] == 0
    status, _, err = waitio("clean", tmp_path / "nowhere")
    assert status == 1 and b"cannot look into" in err and b"nowhere" in err
    status, _, err = waitio("clean", tmp_path, env={"WAITIO_FILE_SILENCE": "soon"})
    assert status == 2 and b"WAITIO_FILE_SILENCE=soon" in err
    assert waitio("clean", "a", "b")[0] == 2


def rendezvous(tmp_path):
    """What the rendezvous of a run without connections leaves; the file that its service locks."""
    run = tmp_path / ".waitio-file-met"
    box = run / "rendezvous" / "00000000000000aa" / "00000000000000bb"
    box.mkdir(parents=True)
    (box.parent / "in").mkdir()
    for part in (run, run / "rendezvous", box.parent, box.parent / "in", box):
        part.chmod(0o700)
    here = run / "rendezvous" / "here"
    files = (here, box / "alive", box.parent / "in" / "00000000000000bb-00000001")
    for file in (*files, box / ".00000000000000bb-00000002"):
        file.write_bytes(b"x")
    return here


def test_a_rendezvous_lives_while_its_lock_is_held(waitio, tmp_path):
    here = rendezvous(tmp_path)
    with open(here, "r+b") as held:
        lock(held)
        lines = waitio.lines("clean", "--remove", "--silence", 0, "--watch", 0, tmp_path)
        assert any("alive: 0 of 0 processes, and their rendezvous" in line for line in lines)
        assert here.exists()
    words = ("clean", "--remove", "--watch", 0, tmp_path)
    assert any("removed 1 of 1" in line for line in waitio.lines(*words))
    assert list(tmp_path.iterdir()) == [] or not here.parent.exists()


def test_what_does_not_belong_into_a_rendezvous(waitio, tmp_path):
    here = rendezvous(tmp_path)
    (here.parent / "notes").write_text("of somebody")
    left_alone(waitio, tmp_path, "rendezvous/notes")


def test_a_run_that_was_killed_while_joining_by_the_directory(universe, waitio, tmp_path):
    """The folder where processes meet goes with the rest, and stays while one of them lives."""
    u = universe(
        WAITIO_COMM_TYPE="file",
        WAITIO_MASTER_HOST=None,
        WAITIO_SCRATCH_DIR=tmp_path,
        WAITIO_LOG="boot:info",
    )
    cast = [u.process(pb, 0, 1, 3, "actor") for pb in (0, 1)]
    for process in cast:
        process.begin("init 60")
    waitio.wait_for(lambda: any("2 processes came" in p.err() for p in cast), 20)
    run = tmp_path / run_dir(u)
    cast[0].kill()
    words = ("clean", "--remove", "--watch", 0, tmp_path)
    status, out, _ = waitio(*words)
    assert status == 0 and b"alive: 1 of 2 processes" in out and (run / "rendezvous").is_dir(), out
    cast[1].kill()
    status, out, err = waitio(*words)
    assert (status, err) == (0, b"") and b"removed 1 of 1" in out, out
    assert not run.exists()
