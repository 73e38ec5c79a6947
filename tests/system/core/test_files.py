# SPDX-License-Identifier: BSD-3-Clause
"""Messages through files (WAITIO_COMM_TYPE=file): programs run as over sockets, leaving nothing."""

import os
import shutil
import subprocess

import pytest


@pytest.mark.parametrize("mode", ["truncate", "probe", "any", "order"])
@pytest.mark.parametrize("eager", [None, 0])
def test_calls(universe, tmp_path, mode, eager):
    asks = {} if eager is None else dict(WAITIO_EAGER_MAX=0, WAITIO_LOCAL_COMPLETE_MAX=0)
    universe(WAITIO_COMM_TYPE="file", **asks).go([1, 1], "sizes", mode)
    left = [p.name for p in tmp_path.iterdir() if p.name.startswith(".waitio-file")]
    assert mode == "truncate" or left == []


def test_threads_do_not_keep_each_other_awake(universe, tmp_path):
    """Ten shout at one, with more processes than processors. Guard: when events for the program, or
    its time to look, wake the service thread again and again, it wakes a hundred times as often."""
    u = universe(
        WAITIO_COMM_TYPE="file",
        WAITIO_UNEXPECTED_MAX=1 << 20,
        WAITIO_STATS=1,
        WAITIO_STATS_FILE=str(tmp_path / "stats.%r"),
    )
    u.go([1, 10], "flood", "credit", 3000)
    woken = [
        int(line.split()[1])
        for path in tmp_path.glob("stats.*")
        for line in path.read_text().splitlines()
        if line.split()[:1] == ["service_wakeups"]
    ]
    assert len(woken) == 11 and max(woken) < 10000, woken


# ---- joining by the directory alone ----


@pytest.fixture
def islands():
    """Three network namespaces without any link: words that start a program in each."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command")
    names = [f"wt-isle-{os.getpid()}-{k}" for k in range(3)]
    made = []
    try:
        for name in names:
            done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"cannot make network namespaces here: {done.stderr}")
            made.append(name)
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=True)


def exchange(cast):
    """Each rank of three sends to the next one."""
    for p in cast:
        p.begin("init 30")
    for p in cast:
        p.was_ok(p.answer(60), "init")
        p.ok("group 0 0")
    for k, p in enumerate(cast):
        p.ok(f"isend 1 0 {(k + 1) % 3} 100000 {k} 5")
        p.ok(f"irecv 2 0 {(k + 2) % 3} 100000 {(k + 2) % 3}")
    for p in cast:
        assert p.ok("wait 2 5")[-1] == "-1"  # as sent, to the last byte
        p.ok("wait 1 5")


def test_programs_that_share_only_a_directory(universe, tmp_path, islands):
    """No loopback device is up there, and no warning is said about the way."""
    u = universe(**universe.alone)
    cast = [u.process(pb, 0, 1, 3, "actor", before=islands[pb]) for pb in (0, 1, 2)]
    exchange(cast)
    u.leave(*cast)
    assert not any("warn" in p.err() for p in cast), [p.err() for p in cast]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".waitio-file")] == []


def test_two_runs_in_one_directory(universe, tmp_path):
    """Different job ids keep them apart, whatever else is the same."""
    runs = [universe(**universe.alone) for _ in range(2)]
    casts = [[u.process(pb, 0, 1, 3, "actor") for pb in (2, 0, 1)] for u in runs]
    for cast in casts:
        exchange([cast[1], cast[2], cast[0]])
    for u, cast in zip(runs, casts, strict=True):
        u.leave(*cast)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".waitio-file")] == []


def test_missing_block_is_named_with_what_it_needs(universe, tmp_path):
    u = universe(**universe.alone, WAITIO_INIT_TIMEOUT=2)
    a = u.process(1, 0, 1, 2, "actor")
    a.fails("init 2", "TIMEOUT", str(tmp_path), timeout=20)
    b = u.process(0, 0, 1, 2, "actor")
    b.fails("init 2", "TIMEOUT", "PB 1: nobody came", timeout=20)
