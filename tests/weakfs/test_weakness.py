# SPDX-License-Identifier: BSD-3-Clause
"""Each weakness of weakfs really happens, and ends when its option says."""

import ctypes
import errno
import fcntl
import os
import select
import struct
import time

import clients
import patience
import pytest

PAGE = 4096


def write(path, data, at=None):
    """Write and close. @param at: into the file that is there"""
    fd = os.open(path, os.O_WRONLY | (os.O_CREAT | os.O_TRUNC if at is None else 0), 0o644)
    try:
        return os.pwrite(fd, data, at or 0)
    finally:
        os.close(fd)


def until(what, seconds=20):
    """Look until it is so."""
    limit = patience.Limit(seconds)
    while not what():
        assert limit.left() > 0, "it never came"
        time.sleep(0.002)


def exists(path):
    """By a lookup, not by a listing."""
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def test_two_clients_see_one_directory(weak):
    with weak() as (a, b):
        os.mkdir(a.path / "d")
        write(a.path / "d" / "f", b"1" * 10000)
        assert (b.path / "d" / "f").read_bytes() == b"1" * 10000
        os.rename(b.path / "d" / "f", b.path / "g")
        assert os.listdir(a.path / "d") == [] and os.stat(a.path / "g").st_size == 10000


def test_new_entries_come_late(weak):
    with weak(b={"entry_ms": 1500}) as (a, b):
        os.listdir(b.path)
        missed = 0
        for n in range(10):
            write(a.path / f"f{n}", b"x")
            missed += not exists(b.path / f"f{n}")
        assert missed > 0 and b.counts()["hidden"] >= missed
        until(lambda: all(exists(b.path / f"f{n}") for n in range(10)))
        until(lambda: len(os.listdir(b.path)) == 10)


def test_of_two_creations_the_second_is_seen_first(weak):
    with weak(b={"entry_ms": 300}) as (a, b):
        seen = 0
        for n in range(20):
            os.mkdir(a.path / f"d{n}")
            write(a.path / f"d{n}" / "first", b"x")
            write(a.path / f"d{n}" / "second", b"x")
            until(lambda n=n: exists(b.path / f"d{n}"))
            until(lambda n=n: any(exists(b.path / f"d{n}" / name) for name in ("first", "second")))
            # The second is asked for before the first: this order cannot come from the looks.
            second = exists(b.path / f"d{n}" / "second")
            seen += second and not exists(b.path / f"d{n}" / "first")
        assert seen > 0


def test_listing_misses_what_a_lookup_finds(weak):
    with weak(b={"entry_ms": 800}) as (a, b):
        missed = 0
        for n in range(10):
            write(a.path / f"f{n}", b"x")
            until(lambda n=n: exists(b.path / f"f{n}"))
            missed += f"f{n}" not in os.listdir(b.path)
        assert missed > 0 and b.counts()["unlisted"] > 0
        until(lambda: len(os.listdir(b.path)) == 10)


def test_removed_entries_stay_for_a_while(weak):
    with weak(b={"entry_ms": 1500}) as (a, b):
        for n in range(10):
            write(a.path / f"f{n}", b"x")
        until(lambda: all(exists(b.path / f"f{n}") for n in range(10)))
        until(lambda: len(os.listdir(b.path)) == 10)
        held = [os.open(b.path / f"f{n}", os.O_RDONLY) for n in range(10)]
        for n in range(10):
            os.unlink(a.path / f"f{n}")
        listed = len(os.listdir(b.path))
        there = sum(exists(b.path / f"f{n}") for n in range(10))
        for fd in held:
            os.close(fd)
        assert listed > 0 and there > 0
        # An open finds that it is gone, and a new file can take the name.
        with pytest.raises(FileNotFoundError):
            for n in range(10):
                os.close(os.open(b.path / f"f{n}", os.O_RDONLY))
        write(b.path / "f0", b"new")
        assert (b.path / "f0").read_bytes() == b"new"
        until(lambda: os.listdir(b.path) == ["f0"])


def test_a_renamed_file_has_two_names_or_none(weak):
    with weak(b={"entry_ms": 500}) as (a, b):
        states = set()
        for n in range(12):
            write(a.path / f"old{n}", b"x")
            until(lambda n=n: exists(b.path / f"old{n}"))
            keep = os.open(b.path / f"old{n}", os.O_RDONLY)
            os.rename(a.path / f"old{n}", a.path / f"new{n}")
            limit = patience.Limit(20)
            while (exists(b.path / f"old{n}"), exists(b.path / f"new{n}")) != (False, True):
                states.add((exists(b.path / f"old{n}"), exists(b.path / f"new{n}")))
                assert limit.left() > 0
            os.close(keep)
        assert (False, False) in states and (True, True) in states


@pytest.mark.parametrize("ms", [700, -1])
def test_sizes_are_old(weak, ms):
    with weak(b={"attr_ms": ms}) as (a, b):
        write(a.path / "f", b"x" * 100)
        assert os.stat(b.path / "f").st_size == 100
        old = 0
        for n in range(2, 8):
            reader = os.open(b.path / "f", os.O_RDONLY)
            write(a.path / "f", b"x" * 100 * n)
            old += os.fstat(reader).st_size < 100 * n
            if ms > 0:
                until(lambda n=n, fd=reader: os.fstat(fd).st_size == 100 * n)
            else:
                assert os.fstat(reader).st_size == 100 * (n - 1)
                assert os.pread(reader, 1000, 0) == b"x" * 100 * (n - 1)
            again = os.open(b.path / "f", os.O_RDONLY)  # an open always asks
            assert os.fstat(again).st_size == 100 * n
            os.close(again)
            os.close(reader)
        assert old > 0 and b.counts()["stale_sizes"] > 0


def test_data_read_once_is_old_until_the_next_open(weak):
    with weak(b={"page_ms": -1}) as (a, b):
        write(a.path / "f", b"1" * PAGE * 2)
        reader = os.open(b.path / "f", os.O_RDONLY)
        assert os.pread(reader, PAGE, 0) == b"1" * PAGE
        write(a.path / "f", b"2" * PAGE * 2, at=0)
        assert os.pread(reader, PAGE, 0) == b"1" * PAGE
        assert os.pread(reader, PAGE, PAGE) == b"2" * PAGE  # not read before: a mixture
        assert b.counts()["stale_pages"] > 0
        os.close(reader)
        assert (b.path / "f").read_bytes() == b"2" * PAGE * 2


def test_an_open_may_take_the_whole_file(weak):
    with weak(b={"page_ms": -1, "attr_ms": -1, "snapshot": 1}) as (a, b):
        write(a.path / "f", b"1" * PAGE * 3)
        reader = os.open(b.path / "f", os.O_RDONLY)
        write(a.path / "f", b"2" * PAGE * 4, at=0)
        assert os.pread(reader, PAGE * 4, 0) == b"1" * PAGE * 3
        os.close(reader)
        assert (b.path / "f").read_bytes() == b"2" * PAGE * 4


def test_the_end_of_a_file_reads_as_zeros_when_it_grows(weak):
    with weak(b={"page_ms": -1}) as (a, b):
        write(a.path / "f", b"1" * 100)
        reader = os.open(b.path / "f", os.O_RDONLY)
        assert os.pread(reader, 1000, 0) == b"1" * 100
        write(a.path / "f", b"1" * 50, at=100)
        assert os.pread(reader, 1000, 0) == b"1" * 100 + b"\0" * 50
        os.close(reader)


def test_written_data_waits_for_close_or_fsync(weak):
    with weak(write_ms=-1) as (a, b):
        for end in (os.fsync, os.close):
            path = f"{end.__name__}"
            fd = os.open(a.path / path, os.O_RDWR | os.O_CREAT)
            os.write(fd, b"x" * 100)
            assert os.fstat(fd).st_size == os.stat(a.path / path).st_size == 100
            assert os.pread(fd, 1000, 0) == b"x" * 100  # its own client sees it
            assert (b.path / path).read_bytes() == b""
            end(fd)
            assert (b.path / path).read_bytes() == b"x" * 100
            if end is os.fsync:
                os.close(fd)
        assert a.counts()["held"] > 0


def test_written_data_goes_by_itself_in_the_end(weak):
    with weak(write_ms=200) as (a, b):
        fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"x" * 100)
        until(lambda: (b.path / "f").read_bytes() == b"x" * 100)
        os.close(fd)


def test_the_end_of_a_message_is_seen_before_its_beginning(weak):
    torn = 0
    with weak(write_ms=-1, early=30) as (a, b):
        fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        for n in range(40):
            data = bytes([1 + n]) * PAGE * 4
            os.pwrite(fd, data, n * len(data))
            got = (b.path / "f").read_bytes()[n * len(data) :].ljust(len(data), b"\0")
            torn += got[:PAGE] != data[:PAGE] and data[:1] in got
        os.close(fd)
        assert torn > 0
        assert a.counts()["reordered"] > 0
        assert (b.path / "f").read_bytes() == b"".join(bytes([1 + n]) * PAGE * 4 for n in range(40))


def test_appends_of_two_clients_overwrite_each_other(weak):
    with weak(attr_ms=-1, page_ms=-1, write_ms=-1) as (a, b):
        write(a.path / "f", b"")
        fds = [os.open(c.path / "f", os.O_WRONLY | os.O_APPEND) for c in (a, b)]
        for _ in range(10):
            for fd, what in zip(fds, (b"a", b"b")):
                os.write(fd, what * 10)
        for fd in fds:
            os.close(fd)
        assert len((a.path / "f").read_bytes()) < 200


def lock(path, how):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        if how == "flock":
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        return error.errno
    return fd


def test_locks_hold_within_a_client_or_do_nothing_or_fail(weak):
    with weak("local") as (a, b):
        mine = lock(a.path / "f", "flock")
        other = lock(b.path / "f", "flock")  # another client: no lock to be seen
        assert mine > 2 and other > 2
        assert lock(a.path / "f", "flock") == errno.EAGAIN
        os.close(mine)
        os.close(other)
    with weak("none", locks="none") as (a, b):
        fds = [lock(a.path / "f", how) for how in ("flock", "flock", "lockf")]
        assert len(set(fds)) == 3
        wanted = struct.pack("hhllhh", fcntl.F_WRLCK, 0, 0, 0, 0, 0)
        seen = fcntl.fcntl(fds[0], fcntl.F_GETLK, wanted)
        assert struct.unpack("hhllhh", seen)[0] == fcntl.F_UNLCK
        for fd in fds:
            os.close(fd)
    with weak("error", locks="error") as (a, b):
        assert lock(a.path / "f", "flock") == lock(a.path / "f", "lockf") == errno.ENOLCK


def test_inotify_tells_nothing_of_the_other_client(weak):
    libc = ctypes.CDLL(None, use_errno=True)
    with weak() as (a, b):
        fd = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(fd, bytes(b.path), 0xFFF) >= 0
        write(a.path / "f", b"x")
        assert os.listdir(a.path) == ["f"]
        assert select.select([fd], [], [], 0.3)[0] == []
        write(b.path / "g", b"x")
        assert select.select([fd], [], [], 10)[0] == [fd]
        os.close(fd)


def test_a_file_that_another_client_removed_is_stale(weak):
    with weak(b={"estale": 1}) as (a, b):
        write(a.path / "f", b"x" * PAGE)
        reader = os.open(b.path / "f", os.O_RDONLY)
        os.unlink(a.path / "f")
        with pytest.raises(OSError) as error:
            os.pread(reader, 10, 0)
        assert error.value.errno == errno.ESTALE
        os.close(reader)
        write(b.path / "own", b"x")
        reader = os.open(b.path / "own", os.O_RDONLY)
        os.unlink(b.path / "own")
        assert os.pread(reader, 10, 0) == b"x"
        os.close(reader)


def fails(call, *args):
    try:
        call(*args)
    except OSError as error:
        return error.errno
    return 0


def test_errors_come_where_they_are_ordered(weak):
    with weak() as (a, b):
        a.fail("ENOSPC@write:3")
        fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        got = [fails(os.write, fd, b"x" * 10) for _ in range(5)]
        assert got == [0, 0, errno.ENOSPC, 0, 0]
        a.fail("EDQUOT@fsync:2+/EIO@close:1")
        assert [fails(os.fsync, fd) for _ in range(3)] == [0, errno.EDQUOT, errno.EDQUOT]
        assert fails(os.close, fd) == errno.EIO
        a.fail("EIO@create:1/EIO@mkdir:1/EIO@unlink:1/EIO@rename:1/EIO@open:1/EIO@read:1")
        assert fails(write, a.path / "g", b"") == errno.EIO
        assert fails(os.mkdir, a.path / "d") == errno.EIO
        assert fails(os.unlink, a.path / "f") == errno.EIO
        assert fails(os.rename, a.path / "f", a.path / "h") == errno.EIO
        assert fails((a.path / "f").read_bytes) == errno.EIO
        assert fails((a.path / "f").read_bytes) == errno.EIO
        assert (b.path / "f").read_bytes() == b"x" * 40
        a.fail("EIO@write:%50")
        fd = os.open(a.path / "f", os.O_WRONLY)
        got = {fails(os.write, fd, b"x") for _ in range(100)}
        assert got == {0, errno.EIO}
        a.fail("none")
        os.close(fd)
        assert fails(a.fail, "EWHAT@write:1") == fails(a.fail, "EIO@write:x") == errno.EINVAL


def test_a_late_write_fails_at_fsync_and_its_data_is_lost(weak):
    with weak(write_ms=-1) as (a, b):
        a.fail("ENOSPC@flush:1")
        fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        assert os.write(fd, b"x" * PAGE) == PAGE
        assert fails(os.fsync, fd) == errno.ENOSPC
        assert fails(os.fsync, fd) == 0
        os.close(fd)
        assert (b.path / "f").read_bytes() != PAGE * b"x"


def test_writes_may_take_a_part(weak):
    with weak(shorts=50) as (a, b):
        fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        took = [os.write(fd, b"x" * 1000) for _ in range(50)]
        os.close(fd)
        assert 0 < min(took) < 1000 == max(took)
        assert (b.path / "f").read_bytes() == b"x" * sum(took)


def test_the_seed_decides(weak):
    def story(name, seed):
        with weak(name, seed=seed, shorts=50) as (a, _):
            fd = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
            took = [os.write(fd, b"x" * 1000) for _ in range(30)]
            os.close(fd)
            return took

    assert story("one", 5) == story("two", 5) != story("three", 6)


def test_nothing_stays_when_a_test_fails(build_dir, tmp_path):
    """Also when the mount is in use and one server was killed."""
    with pytest.raises(ValueError), clients.weak_pair(build_dir, tmp_path / "fs") as (a, b):
        used = os.open(a.path / "f", os.O_WRONLY | os.O_CREAT)
        b.process.kill()
        b.process.wait()
        raise ValueError
    assert fails(os.close, used) in (0, errno.ENOTCONN, errno.ECONNABORTED)
    with open("/proc/self/mounts") as mounts:
        assert str(tmp_path) not in mounts.read()
    assert a.process.returncode is not None and b.process.returncode is not None
