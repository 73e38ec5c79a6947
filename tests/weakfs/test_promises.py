# SPDX-License-Identifier: BSD-3-Clause
"""What no weakness takes away: POSIX within one client; what was closed before an open is read."""

import os
import random
import time

import clients
import pytest

MAX = 300_000


class Pair:
    """A file of a client and what it has to hold; each call is done to both."""

    def __init__(self, path, chance):
        self.path, self.chance, self.data, self.fds = path, chance, bytearray(), []
        self.open()

    def open(self):
        self.fds.append(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def fd(self):
        return self.chance.choice(self.fds)

    def write(self):
        at, n = self.chance.randrange(MAX), self.chance.randrange(1, 40_000)
        data = self.chance.randbytes(n)
        assert os.pwrite(self.fd(), data, at) == n
        self.data.extend(bytes(max(0, at + n - len(self.data))))
        self.data[at : at + n] = data

    def append(self):
        data = self.chance.randbytes(self.chance.randrange(1, 9000))
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, data[:100])
        os.write(fd, data[100:])
        os.close(fd)
        self.data.extend(data)

    def read(self):
        at, n = self.chance.randrange(MAX), self.chance.randrange(60_000)
        assert os.pread(self.fd(), n, at) == self.data[at : at + n]

    def truncate(self):
        n = self.chance.randrange(MAX)
        os.ftruncate(self.fd(), n)
        self.data = self.data[:n].ljust(n, b"\0")

    def size(self):
        assert os.fstat(self.fd()).st_size == os.stat(self.path).st_size == len(self.data)

    def sync(self):
        os.fsync(self.fd())

    def reopen(self):
        os.close(self.fds.pop(self.chance.randrange(len(self.fds))))
        self.open()
        if len(self.fds) < 3:
            self.open()

    def rename(self):
        new = self.path.with_name(f"n{self.chance.randrange(10**9)}")
        os.rename(self.path, new)
        self.path = new
        assert os.listdir(new.parent) == [new.name]

    def close(self):
        for fd in self.fds:
            os.close(fd)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("weakness", clients.WEAK)
def test_one_client_is_as_posix_says(weak, weakness, seed):
    """Random calls against a model, on one client while the other one looks on."""
    chance = random.Random(seed)
    with weak(seed=seed, **clients.WEAK[weakness]) as (a, b):
        (a.path / "d").mkdir()
        pair = Pair(a.path / "d" / "f", chance)
        calls = [pair.write, pair.append, pair.read, pair.read, pair.truncate, pair.size]
        calls += [pair.sync, pair.reopen, pair.rename]
        for n in range(400):
            chance.choice(calls)()
            if n % 40 == 0:
                os.listdir(b.path)
        pair.size()
        pair.close()
        assert pair.path.read_bytes() == pair.data
        with (a.path / "d" / "new").open("xb") as file:  # exclusive
            with pytest.raises(FileExistsError):
                (a.path / "d" / "new").open("xb")
            os.unlink(a.path / "d" / "new")
            file.write(b"a removed file can be written")
            file.flush()
            assert os.fstat(file.fileno()).st_nlink == 0
        os.unlink(pair.path)
        os.rmdir(a.path / "d")
        assert os.listdir(a.path) == []


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("weakness", clients.WEAK)
def test_what_was_closed_or_synced_is_read_by_a_later_open(weak, weakness, seed):
    """Close-to-open, both ways in turn, while other opens of the file stay."""
    chance = random.Random(seed)
    with weak(seed=seed, **clients.WEAK[weakness]) as pair:
        (pair[0].path / "f").write_bytes(b"")
        inode = os.stat(pair[0].path / "f").st_ino
        while not all(client.path.joinpath("f").exists() for client in pair):
            time.sleep(0.002)  # names may come late
        held = [os.open(client.path / "f", os.O_RDONLY) for client in pair]
        for n in range(30):
            data = chance.randbytes(chance.randrange(1, 50_000))
            writer = os.open(pair[n % 2].path / "f", os.O_WRONLY | os.O_TRUNC)
            at = 0
            while at < len(data):
                at += os.write(writer, data[at : at + chance.randrange(1, 20_000)])
            os.fsync(writer) if n % 3 == 0 else os.close(writer)
            for fd in held:
                os.pread(fd, 5000, 0)
            assert (pair[1 - n % 2].path / "f").read_bytes() == data
            if n % 3 == 0:
                os.close(writer)
        for fd in held:
            os.close(fd)
        assert os.stat(pair[0].path / "f").st_ino == inode


def test_exclusive_creation_is_won_by_one(weak):
    with weak(**clients.WEAK["worst"]) as (a, b):
        for n in range(20):
            won = 0
            for client in (a, b) if n % 2 else (b, a):
                try:
                    os.close(os.open(client.path / f"l{n}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                    won += 1
                except FileExistsError:
                    assert (client.path / f"l{n}").exists()
            assert won == 1
