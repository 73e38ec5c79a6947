# SPDX-License-Identifier: BSD-3-Clause
"""`waitio info` about messages through files: the settings, the file system, and what is wrong with
the scratch directory."""

import os
import subprocess

import pytest
from surroundings import clean

NOBODY = 65534


@pytest.fixture
def files(build_dir):
    """Run waitio-info; returns {first word of a row: rest}, problems as a list."""

    def run(as_user=None, **env):
        change = {} if as_user is None else {"user": as_user, "group": as_user, "extra_groups": []}
        done = subprocess.run(
            [str(build_dir / "bin" / "waitio-info")],
            env=clean(**env), capture_output=True, text=True, timeout=60, check=False, **change,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        part = done.stdout.partition("\nMessages through files")[2].partition("\n\n")[0]
        rows = [line[2:].split("  ", 1) for line in part.splitlines()[1:]]
        found = {row[0]: row[-1].strip() for row in rows}
        found["title"] = part.splitlines()[0]
        found["problem"] = [row[-1].strip() for row in rows if row[0] == "problem"]
        return found

    return run


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir(mode=0o700)
    return folder


def test_settings_and_file_system(files, scratch):
    said = files(
        WAITIO_COMM_TYPE="file", WAITIO_SCRATCH_DIR=scratch, WAITIO_JOB_ID="j7",
        WAITIO_MAXFILE_SIZE_PER_PROC="1M", WAITIO_FILE_HEARTBEAT="0.5", WAITIO_FILE_SILENCE="9",
    )  # fmt: skip
    assert said["title"] == " (used)" and said["problem"] == []
    assert said["directory"] == str(scratch)
    assert said["run"] == f"{scratch}/.waitio-file-j7 (not made yet)"
    assert said["joining"] == "in the directory: no connection is needed"
    assert said["signs of life"].startswith("each 0.5 s; ") and " 9 s " in said["signs of life"]
    assert said["file system"].endswith("each process writes at most 1.0 MiB")
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", scratch], capture_output=True, text=True, check=True
    ).stdout.strip()
    names = {"ext2/ext3": "ext4", "tmpfs": "tmpfs", "overlayfs": "overlay"}
    if kind in names:
        assert said["file system"].startswith(names[kind] + ", ")
        assert said["consistency"].startswith("POSIX's rules")
    said = files(WAITIO_SCRATCH_DIR=scratch, WAITIO_FILE_SYSTEM="close-to-open")
    assert said["consistency"].startswith("close-to-open: ")


def test_what_uses_files_and_where_they_meet(files, scratch):
    said = files(WAITIO_SCRATCH_DIR=scratch)
    assert "would use them" in said["title"] and "joining" not in said
    said = files(WAITIO_COMM_TYPE="file", WAITIO_SCRATCH_DIR=scratch, WAITIO_MASTER_HOST="n1")
    assert said["joining"].startswith("at n1 port 7100: a connection is needed (WAITIO_MASTER")
    said = files(
        WAITIO_COMM_TYPE="hybrid", WAITIO_SCRATCH_DIR=scratch, WAITIO_HYBRID_THRESHOULD="7K"
    )
    assert "of more than 7168 bytes" in said["large messages"]
    assert said["joining"] == "at 127.0.0.1 port 7100: a connection is needed"


def test_a_directory_that_is_not_there(files, scratch):
    (problem,) = files(WAITIO_SCRATCH_DIR=scratch / "nowhere")["problem"]
    assert problem == "it cannot be used: No such file or directory; set WAITIO_SCRATCH_DIR"
    (scratch / "file").touch()
    (problem,) = files(WAITIO_SCRATCH_DIR=scratch / "file")["problem"]
    assert "Not a directory" in problem


def test_loose_permissions(files, scratch):
    env = dict(WAITIO_SCRATCH_DIR=scratch, WAITIO_JOB_ID="j", WAITIO_MAXFILE_SIZE_PER_PROC="64K")
    scratch.chmod(0o777)
    (problem,) = files(**env)["problem"]
    assert problem.startswith("mode 777: others may remove or rename")
    scratch.chmod(0o1777)
    assert files(**env)["problem"] == []
    run = scratch / ".waitio-file-j"
    run.mkdir(mode=0o700)
    assert files(**env)["run"].endswith("/.waitio-file-j (there)")
    run.chmod(0o750)
    (problem,) = files(**env)["problem"]
    assert f"{run} belongs to user {os.geteuid()} and has mode 750: it must be ours" in problem
    run.rmdir()
    run.symlink_to(scratch)
    (problem,) = files(**env)["problem"]
    assert "symbolic links are not followed" in problem


def test_directories_of_others(files, scratch):
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    run = scratch / ".waitio-file-j"
    run.mkdir(mode=0o700)
    os.chown(run, NOBODY, NOBODY)
    env = dict(WAITIO_SCRATCH_DIR=scratch, WAITIO_JOB_ID="j", WAITIO_MAXFILE_SIZE_PER_PROC="64K")
    (problem,) = files(**env)["problem"]
    assert f"belongs to user {NOBODY}" in problem


def test_a_directory_that_another_user_may_not_write(files):
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    try:
        said = files(as_user=NOBODY, WAITIO_SCRATCH_DIR="/etc")
    except PermissionError:
        pytest.skip("another user cannot reach the programs of this build")
    assert any(f"user {NOBODY} may not make files in it" in p for p in said["problem"]), said


def test_a_file_system_without_room(files, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "waitio-test", small]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        said = files(WAITIO_SCRATCH_DIR=small)
        assert said["file system"].startswith("tmpfs, 256.0 KiB free")
        assert "less is free than one process may write" in said["problem"][0]
        (small / "full").write_bytes(bytes(240 << 10))
        assert files(WAITIO_SCRATCH_DIR=small)["problem"][0].startswith("it is full: ")
    finally:
        subprocess.run(["umount", small], check=True)
