# SPDX-License-Identifier: BSD-3-Clause
"""WAITIO_COMM_TYPE=hybrid: large messages by file, others by the usual way, in one order; and
processes of which some are reached by file only."""

import pytest
from namespaces import Net, couple, joined

MIB = 1 << 20


def hybrid(universe, threshold=3000, **env):
    return universe(WAITIO_COMM_TYPE="hybrid", WAITIO_HYBRID_THRESHOULD=threshold, **env)


@pytest.mark.parametrize("mode", ["truncate", "probe", "any", "order", "cancel", "persistent"])
def test_calls(universe, tmp_path, mode):
    """Guard: if matching went by where the data comes, a small message would overtake a large."""
    hybrid(universe).go([1, 1], "sizes", mode)
    left = [p.name for p in tmp_path.iterdir() if p.name.startswith(".waitio-file")]
    assert mode == "truncate" or left == []


@pytest.mark.parametrize("threshold", [1, 4096, "1T"])
def test_sizes_and_counters(universe, threshold):
    """What is above the threshold goes by file, and nothing else does."""
    u = hybrid(universe, threshold)
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 10)
    by_file = 1 if threshold == 1 else 0  # of 10 bytes
    for size in (1, 4096, 4097, 70000, 3 * MIB):
        u.exchange(a, 0, b, 1, size)
        by_file += threshold != "1T" and size > int(threshold)
        assert a.count("side_msgs") == b.count("side_msgs") == by_file, size
    assert (a.count("file_writes") > 0) == (threshold != "1T")
    u.leave(a, b)


def test_threshold_0_is_file(universe):
    u = hybrid(universe, 0)
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 8)
    assert a.count("file_writes") > 0 and a.count("side_msgs") == a.count("links") - 1 == 0
    a.ok("dump")
    assert ": file, " in a.err() and "shm" not in a.err()
    u.leave(a, b)


@pytest.mark.parametrize("name", ["WAITIO_HYBRID_THRESHOULD", "WAITIO_HYBRID_THRESHOLD"])
def test_both_spellings(universe, name):
    u = universe(WAITIO_COMM_TYPE="hybrid", **{name: 100})
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 101)
    assert a.count("side_msgs") == 1 and "warn" not in a.err()
    u.leave(a, b)


def test_the_route_is_told(universe, build_dir):
    """waitio info --peers and the dump name both ways."""
    u = hybrid(universe)
    place = dict(WAITIO_NPB=2, WAITIO_RANK=0, WAITIO_NPROCS=1)
    words = [build_dir / "bin" / "waitio-info", "--peers"]
    cast = [u.run(words, f"info{pb}", dict(place, WAITIO_PBID=pb)) for pb in (0, 1)]
    u.all_end(cast)
    line = next(t for t in cast[0].lines if t.split()[:4] == ["PB", "1", "rank", "0"])
    assert " shm " in line and "messages above 3000 bytes: files in " in line
    u = hybrid(universe)
    a, b = u.actors([1, 1])
    u.exchange(a, 0, b, 1, 5000)
    a.ok("dump")
    assert "large messages by file: PB 1 rank 0: READY" in a.err()
    u.leave(a, b)


@pytest.mark.parametrize("who", ["sender", "receiver"])
def test_death_in_the_middle(universe, who):
    """Killed while data is under way by file: the other one is told, and can leave."""
    u = hybrid(universe, WAITIO_MAXFILE_SIZE_PER_PROC=MIB)
    a, b, other = u.actors([1, 1, 1])
    u.exchange(a, 0, b, 1, 10)
    u.exchange(a, 0, other, 2, 10)
    u.exchange(b, 1, other, 2, 10)
    a.ok(f"isend 3 0 1 {200 * MIB} 7 0")
    b.ok(f"irecv 3 0 0 {200 * MIB} 7")
    dies, lives = (a, b) if who == "sender" else (b, a)
    counter = "tx_bytes" if who == "sender" else "rx_bytes"
    dies.ok(f"suicide {counter} {20 * MIB}")
    dies.begin("wait 3 0")
    lives.begin("wait 3 0")
    dies.dies()
    lives.failed("PEER", timeout=20)
    rank = 1 if who == "sender" else 0
    u.exchange(lives, rank, other, 2, 50000)
    u.leave(lives, other)


def test_two_hosts(universe, root_only):
    """By TCP and by file only: two network namespaces share no memory. Envelopes keep their order
    over both, and so do messages from either side at once."""
    net = Net()
    try:
        u = universe(
            WAITIO_COMM_TYPE="hybrid", WAITIO_HYBRID_THRESHOLD=3000, WAITIO_MASTER_HOST="10.99.7.1"
        )
        a, b = joined(u, couple(u, net, "actor"))
        sizes = [10, 70000, 3000, 3001, 2 * MIB, 1]
        for n, size in enumerate(sizes):
            a.ok(f"isend {n} 0 1 {size} 7 {n}")
            b.ok(f"isend {n} 0 0 {size} 7 {n}")
        for n, size in enumerate(sizes):
            a.ok(f"irecv {10 + n} 0 1 {size} 7")
            b.ok(f"irecv {10 + n} 0 0 {size} 7")
        for n in range(len(sizes)):
            for p in (a, b):
                assert p.ok(f"wait {10 + n} {n}")[-1] == "-1"
                p.ok(f"wait {n} 0")
        assert a.count("side_msgs") == b.count("side_msgs") == 3  # each one its own
        a.ok("dump")
        assert "tcp link to PB 1 rank 0" in a.err() and "shm" not in a.err(), a.err()
        u.leave(a, b)
    finally:
        net.close()


def test_file_only_and_socket_only_live_together(universe):
    """PB 0 can do both. PB 1 and PB 2 have no way in common: the error names both settings."""
    u = universe()
    types = ("hybrid", "file", "socket")
    cast = [
        u.process(pb, 0, 1, 3, "actor", env=dict(WAITIO_COMM_TYPE=t, WAITIO_SCRATCH_DIR=u.folder))
        for pb, t in enumerate(types)
    ]
    a, f, s = u.joined(cast)
    u.exchange(a, 0, f, 1, 70000)
    u.exchange(a, 0, s, 2, 70000)
    u.exchange(a, 0, s, 2, MIB)
    assert a.count("side_msgs") == 0  # PB 2 has no files: all by socket
    line = f.do("isend 1 0 2 100 1 5")
    if line.startswith("ok"):
        line = f.do("wait 1 0")
    assert line.split()[:2] == ["error", "-14"], line
    assert "we allow file, it allows tcp" in line and "WAITIO_COMM_TYPE" in line, line
    u.leave(a, f, s)
