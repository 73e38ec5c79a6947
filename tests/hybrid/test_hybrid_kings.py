# SPDX-License-Identifier: BSD-3-Clause
"""Several processes of each block carry long messages of hybrid communicators to the next block."""

import os
import re
import shutil
import subprocess

import pytest
from jobs import mpiexec
from ways import shape_of

PIECE = 512 * 1024
BYTES = 4 * 1500001  # of kings.c


@pytest.fixture
def kings(ways):
    """Runs kings.c; returns what each process sent across a border: kind -> {rank: bytes}."""

    def ran(shape, root, good=True, **env):
        env = {"WAITIO_HYBRID_INSIDE": "mpi", **env}
        done = ways.hybrid("kings", shape, words=[root], **env)
        if not good:
            assert done.statuses != [0]
            return done.err
        assert done.statuses == [0], done.all()
        assert done.oks() == sum(n for _, n in shape_of(shape)), done.all()
        sent = {kind: {} for kind in range(6)}
        for rank, kind, n in re.findall(r"crossed (\d) (\d) (\d+)", done.out):
            sent[int(kind)][int(rank)] = int(n)
        return sent

    return ran


def crossed_once(sent, borders, n):
    """Each border is crossed once each way, and by a word for each lane that says it is ready."""
    pieces = -(-BYTES // PIECE)
    words = 8 * borders * min(2 * n, pieces)
    for kind, by in sent.items():
        ways = 2 if kind % 3 == 2 else 1
        assert sum(by.values()) == borders * ways * BYTES + words, (kind, by)


def carriers(by):
    """Those who sent pieces, not words only."""
    return {rank for rank, n in by.items() if n >= PIECE}


@pytest.mark.parametrize("root", [0, 2])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_so_many_of_each_block_carry(kings, n, root):
    """The root leads its block when there is one king; else it hands pieces to the others first."""
    sent = kings("3o+3m", root, WAITIO_HYBRID_KINGS=str(n))
    crossed_once(sent, 1, n)
    here = {1: {root}, 2: {0, 1}, 3: {0, 1, 2}}[n]
    there = {1: {3}, 2: {3, 4}, 3: {3, 4, 5}}[n]
    both = {1: {0, 3}}.get(n, here | there)
    for first in (0, 3):  # the communicator, and its duplicate
        assert carriers(sent[first]) == here
        assert carriers(sent[first + 1]) == there
        assert carriers(sent[first + 2]) == both


@pytest.mark.parametrize("shape", ["3m+2o+1", "3+3m"])
def test_blocks_without_mpi_take_part(kings, shape):
    counts = [n for _, n in shape_of(shape)]
    sent = kings(shape, 1, WAITIO_HYBRID_KINGS="8")
    n = min(count for count in counts if count > 1)
    crossed_once(sent, len(counts) - 1, n)
    assert len(carriers(sent[0])) == sum(min(n, count) for count in counts[:-1])


def test_they_can_be_named(kings):
    sent = kings("3o+3m", 0, WAITIO_HYBRID_KINGS="2", WAITIO_HYBRID_KING_RANKS="1-2")
    crossed_once(sent, 1, 2)
    assert carriers(sent[0]) == {1, 2}
    assert carriers(sent[2]) == {1, 2, 4, 5}
    # One of them, and not the root.
    sent = kings("3o+3m", 0, WAITIO_HYBRID_KINGS="1", WAITIO_HYBRID_KING_RANKS="host:2")
    crossed_once(sent, 1, 1)
    assert carriers(sent[0]) == {2}
    assert carriers(sent[1]) == {5}


def test_within_a_host_there_is_one(kings):
    sent = kings("3o+3m", 0)
    crossed_once(sent, 1, 1)
    assert carriers(sent[2]) == {0, 3}


def test_a_wrong_name_is_an_error_everywhere(kings):
    errors = kings("3o+3m", 0, good=False, WAITIO_HYBRID_KING_RANKS="0,x")
    assert "WAITIO_HYBRID_KING_RANKS=0,x: give ranks in the block such as 0,4,8-11" in errors


class Hosts:
    """Four network namespaces on a bridge, each behind a slow link of its own: separate hosts as
    far as the library can tell, the first two of one block, the others of the next."""

    def __init__(self, tag):
        self.bridge, self.names = f"{tag}b", [f"{tag}{i}" for i in range(1, 5)]
        self.ip("netns", "add", self.bridge)
        self.ip("-n", self.bridge, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", self.bridge, "link", "set", "bridge", "up")
        for i, name in enumerate(self.names, 1):
            self.ip("netns", "add", name)
            link = ["link", "add", "w", "netns", name, "type", "veth"]
            self.ip(*link, "peer", "name", f"w{i}", "netns", self.bridge)
            self.ip("-n", self.bridge, "link", "set", f"w{i}", "master", "bridge", "up")
            self.ip("-n", name, "addr", "add", f"10.99.8.{i}/24", "dev", "w")
            self.ip("-n", name, "link", "set", "w", "up")
            self.ip("-n", name, "link", "set", "lo", "up")
            shaped = "root tbf rate 500mbit burst 256kb latency 50ms".split()
            self.made("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "w", *shaped)

    def made(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode != 0:
            self.close()
            pytest.skip(f"cannot make hosts here: {' '.join(words)}: {done.stderr}")

    def ip(self, *words):
        self.made("ip", *words)

    def close(self):
        for name in (self.bridge, *self.names):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.fixture
def hosts():
    if os.geteuid() != 0 or shutil.which("tc") is None or shutil.which("mpiexec.mpich") is None:
        pytest.skip("needs root, tc and mpiexec.mpich")
    made = Hosts(f"wk{os.getpid() % 100000}")
    yield made
    made.close()


def test_across_hosts_the_quickest_number_is_taken(ways, launcher, hosts, source_dir):
    """Two hosts of each block have a slow link each: all members find the same, by their times."""
    program = ways.with_provider("mpich", source_dir / "tests" / "hybrid" / "kings.c")
    env = dict(
        WAITIO_MASTER_HOST="10.99.8.1",
        WAITIO_MASTER_PORT="7100",
        WAITIO_NPB="2",
        WAITIO_HYBRID_INSIDE="mpi",
        WAITIO_LOG="warn,mpi:debug",
    )
    children = []
    for pb in range(2):
        names = hosts.names[2 * pb : 2 * pb + 2]
        line = mpiexec("mpich", *((1, ["ip", "netns", "exec", name, program]) for name in names))
        children.append(launcher.start(line, **env, WAITIO_PBID=pb))
    done = [launcher.wait(child) for child in children]
    out = "".join(d.stdout + d.stderr for d in done)
    assert [d.returncode for d in done] == [0, 0], out
    chosen = re.findall(r"long messages of a hybrid communicator: (\d+) kings", out)
    times = dict(
        re.findall(r"(\d) kings of each block, .* to all and back: ([\d.]+) us$", out, re.M)
    )
    assert len(chosen) == 4 and len(set(chosen)) == 1, out
    assert set(times) == {"1", "2"}, out
    worth = float(times["2"]) < 7 / 8 * float(times["1"])
    assert chosen[0] == ("2" if worth else "1"), out
