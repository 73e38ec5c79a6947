# SPDX-License-Identifier: BSD-3-Clause
"""A network file system of others, in user space: the fixture that transports are tested on."""

import os
import time

import clients
import patience


def test_two_clients_of_an_sftp_server(tmp_path):
    with clients.sshfs_pair(tmp_path, seconds=2) as (a, b):
        data = bytes(range(256)) * 1000
        (a.path / "f").write_bytes(data)
        assert (b.path / "f").read_bytes() == data
        assert (tmp_path / "back" / "f").read_bytes() == data
        reader = os.open(b.path / "f", os.O_RDONLY)
        with (a.path / "f").open("ab") as file:
            file.write(b"more")
        # What is cached is old: the reason to test on it.
        assert os.fstat(reader).st_size == len(data)
        os.close(reader)
        limit = patience.Limit(30)
        while (b.path / "f").stat().st_size == len(data):
            assert limit.left() > 0, "the new size never came"
            time.sleep(0.02)
        os.rename(b.path / "f", b.path / "g")
        assert (tmp_path / "back" / "g").read_bytes() == data + b"more"
    with open("/proc/self/mounts") as mounts:
        assert str(tmp_path) not in mounts.read()
