# SPDX-License-Identifier: BSD-3-Clause
"""Two clients of one directory: by tests/weakfs, or by sshfs, a network file system of others.

with weak_pair(build_dir, folder, attr_ms=300) as (a, b): a.path and b.path show one directory.
Whatever happens in between, both are unmounted and their processes have ended afterwards.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

import patience
import pytest

SFTP = "/usr/lib/openssh/sftp-server"

# What real ones do, and worse. Milliseconds at most; -1: until the file is opened or closed.
WEAK = {
    "strong": {},
    "late names": {"entry_ms": 150},
    "late sizes": {"attr_ms": 400},
    "late data": {"write_ms": 300, "early": 30},
    "old pages": {"page_ms": -1, "attr_ms": 200},
    "close-to-open": {"attr_ms": -1, "page_ms": -1, "write_ms": -1, "early": 30, "snapshot": 1},
    "worst": {
        "entry_ms": 150,
        "attr_ms": -1,
        "page_ms": -1,
        "write_ms": -1,
        "early": 30,
        "estale": 1,
        "locks": "none",
    },
}


class Client:
    """One mount, and the process that serves it."""

    def __init__(self, path, command):
        self.path = path
        path.mkdir()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        limit = patience.Limit(20)
        while not os.path.ismount(path):
            if self.process.poll() is not None or limit.left() <= 0:
                said = self.process.stdout.read() if self.process.poll() is not None else b"nothing"
                self.close()
                raise RuntimeError(f"{command[0]} did not mount {path}: {said.decode()}")

    def close(self):
        """Unmount, also when the server is dead or stopped and the mount is in use."""
        self.process.terminate()
        if patience.wait(self.process, patience.Limit(10)) is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        if _is_mount(self.path):
            tool = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
            subprocess.run([*tool, str(self.path)], timeout=patience.scaled(20), check=False)
        assert not _is_mount(self.path), f"{self.path} is still mounted"

    def counts(self):
        """How often each weakness of a weakfs came to bear."""
        words = os.getxattr(self.path, "user.weakfs").decode().split()
        return {name: int(n) for name, n in (word.split("=") for word in words)}

    def fail(self, rules):
        """Have calls fail: "ENOSPC@write:3", "EIO@flush:%10/EDQUOT@close:1", "none"."""
        os.setxattr(self.path, "user.weakfs", rules.encode())


def _is_mount(path):
    """As the kernel says: a look at a mount without a server fails."""
    with open("/proc/self/mounts") as mounts:
        return any(line.split()[1] == str(path) for line in mounts)


@contextlib.contextmanager
def _pair(folder, command):
    folder = pathlib.Path(folder).resolve()
    back = folder / "back"
    back.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        clients = []
        for name in ("a", "b"):
            clients.append(Client(folder / name, command(folder / name, back, name)))
            stack.callback(clients[-1].close)
        yield tuple(clients)


def _need_fuse(program, package):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no access to /dev/fuse here")
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        pytest.skip("fusermount3 is not installed (Debian package fuse3)")
    if not os.access(program, os.X_OK):
        pytest.skip(f"{program} is not there (Debian package {package})")


def weak_pair(build_dir, folder, seed=1, b=None, **weakness):
    """Two clients of a weakfs over folder/back. @param b what is other for the second one"""
    program = build_dir / "tests" / "weakfs" / "weakfs"
    _need_fuse(program, "libfuse3-dev, before the build")

    def command(path, back, name):
        words = {**weakness, **((b or {}) if name == "b" else {}), "back": back}
        words["seed"] = 2 * seed + (name == "b")
        return [str(program), str(path), "-o", ",".join(f"{k}={v}" for k, v in words.items())]

    return _pair(folder, command)


def sshfs_pair(folder, seconds=1):
    """Two clients of an sftp-server, by sshfs. The server runs at the other end of a pipe, without
    ssh. @param seconds  how long names and attributes are kept: joining and deaths wait for that
    several times; sshfs's default is 20"""
    sshfs = shutil.which("sshfs") or "sshfs"
    _need_fuse(sshfs, "sshfs")
    if not os.access(SFTP, os.X_OK):
        pytest.skip(f"{SFTP} is not there (Debian package openssh-sftp-server)")

    def command(path, back, name):
        serve = folder / "serve.sh"
        serve.write_text(f"#!/bin/sh\nexec {SFTP}\n")
        serve.chmod(0o755)
        options = f"ssh_command={serve},idmap=user,dcache_timeout={seconds}"
        return [sshfs, f"local:{back}", str(path), "-f", "-o", options]

    return _pair(folder, command)
