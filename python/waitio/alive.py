# SPDX-License-Identifier: BSD-3-Clause
"""The sign of life of a process that exchanges messages through files (docs/design/file.md)."""

from __future__ import annotations

import fcntl
import functools
import os
import socket
import struct
from dataclasses import dataclass

from waitio.privatedir import NotOursError

RECORD = struct.Struct("<QIIQQQ4xI")  # magic, version, locked, token, beat, host, checksum
MAGIC = int.from_bytes(b"OIFSALV1", "little")
VERSION = 1

# File systems whose locks every process that sees them sees, too.
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay", "zfs", "ramfs"}

F_OFD_GETLK = 36
FLOCK = struct.Struct("@hhqqi0q")  # l_type, l_whence, l_start, l_len, l_pid (64 bits)


@dataclass(frozen=True)
class Sign:
    """What an `alive` file says, and whether somebody holds its lock."""

    beat: int
    locked: bool  # its process says that it holds one
    lock_seen: bool
    host: int = 0  # identity of the host on which the lock was taken; 0: not said

    @property
    def here_host(self) -> bool:
        """Whether that is this host: elsewhere the lock need not be seen from here."""
        return self.host == host_identity()


def _hash(state: int, word: int) -> int:
    """Return the hash of another word (wio_hash64 in src/base/base.h)."""
    ones = (1 << 64) - 1
    x = state ^ (word + 0x9E3779B97F4A7C15 + (state << 6) + (state >> 2)) & ones
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ones
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ones
    return x ^ x >> 31


@functools.cache
def host_identity() -> int:
    """Return the number by which the library knows this host and its network namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.readline().strip()
    except OSError:
        boot = socket.gethostname()
    try:
        net = os.readlink("/proc/self/ns/net")
    except OSError:
        net = ""
    text = f"{boot}/{net}".encode()
    state = _hash(0x686F7374, len(text))
    for at in range(0, len(text), 8):
        state = _hash(state, int.from_bytes(text[at : at + 8], "little"))
    return state or 1


def _crc32c(data: bytes) -> int:
    """Return the checksum of the record."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _is_locked(fd: int) -> bool:
    """Ask the system; where it does not tell, nobody has."""
    ask = FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(fd, F_OFD_GETLK, ask)
    except OSError:
        return False
    return bool(FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)


def _look(folder: int, name: str, most: int) -> tuple[bytes, bool] | None:
    """Read a file and ask for its lock; None: it is gone. One that cannot be read tells nothing of
    its process, which may live."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            return os.pread(fd, most, 0), struct.calcsize("P") == 8 and _is_locked(fd)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotOursError(f"{name} in it cannot be read: {error.strerror}") from None


def read_sign(folder: int, name: str, locks: bool) -> Sign | None:
    """Read the file; None when it is gone. @param locks  they are seen here"""
    found = _look(folder, name, RECORD.size)
    if found is None:
        return None
    data, seen = found
    if len(data) != RECORD.size:
        return Sign(-1, False, seen)
    magic, version, locked, _, beat, host, crc = RECORD.unpack(data)
    if magic != MAGIC or version != VERSION or crc != _crc32c(data[:-4]):
        return Sign(-1, False, seen)
    return Sign(beat, bool(locked) and locks, seen, host)


def whole_sign(folder: int, name: str, locks: bool) -> Sign | None:
    """Read another sign of life, whose bytes change while its process runs; None: it is gone."""
    found = _look(folder, name, 4096)
    if found is None:
        return None
    data, seen = found
    return Sign(int.from_bytes(data, "little"), locks, seen)


def locks_are_seen(folder: int) -> bool:
    """Tell whether a lock that is not seen is not held: on a file system of this machine."""
    if struct.calcsize("P") != 8:
        return False
    number = os.fstat(folder).st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                words = line.split()
                if words[2] == device:
                    return words[words.index("-") + 1] in LOCAL
    except (OSError, ValueError, IndexError):
        pass
    return False
