# SPDX-License-Identifier: BSD-3-Clause
"""bench/run.py: small runs of every kind give well-formed results, and it refuses to compare what
is not what it says."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def bench(source_dir, build_dir, tmp_path):
    """Run it small; returns (status, stdout, stderr, data of the JSON file)."""
    if not (build_dir / "bench" / "floor_shm").exists():
        pytest.skip("the benchmark programs are not built (WAITIO_BENCH)")

    def run(*words, env=None):
        out = tmp_path / "r.json"
        out.unlink(missing_ok=True)
        small = ["--rounds", "1", "--scale", "200", "--max", "8192", "--json", str(out)]
        command = [sys.executable, str(source_dir / "bench/run.py"), "--build", str(build_dir)]
        done = subprocess.run(
            [*command, *small, *words],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        data = json.loads(out.read_text()) if out.exists() else None
        return done.returncode, done.stdout, done.stderr, data

    return run


def check(data, names):
    (found,) = data
    assert set(names) <= set(found)
    for name, rows in found.items():
        keys = [(r["metric"], r["bytes"]) for r in rows]
        if name != "memcpy":
            sizes = (8, 256, 1024, 2048, 4096, 5120, 8192)
            more = () if name.startswith("UCX") else ("stream", "both")
            rest = [(metric, size) for metric in more for size in sizes]
            assert keys == [*(("half_rtt", size) for size in sizes), ("rate", 8), *rest]
        for row in rows:
            low, high = (1e-9, 1) if row["metric"] in ("half_rtt", "both") else (10, 1e10)
            assert low < row["value"] < high, (name, row)


def test_tcp_against_the_raw_floor(bench):
    status, out, err, data = bench()
    assert status == 0, err
    check(data, ["raw spin", "raw block", "waitio"])
    assert out.splitlines()[0] == "| measurement | raw spin | raw block | waitio |"
    assert re.search(r"^\| half round trip, 8 B \| [\d.]+ us \| x[\d.]+ \(", out, re.M)


def test_peers_over_tcp(bench):
    status, out, err, data = bench("--peers")
    assert status == 0, err
    check(data, ["waitio"])
    for name, program in (("Open MPI", "mpicc.openmpi"), ("MPICH", "mpicc.mpich")):
        assert (f"{name} (tcp)" in data[0]) == bool(shutil.which(program)), err
    if not shutil.which("ucx_perftest"):
        assert "no ucx_perftest" in err
    assert "| waitio against | raw spin |" in out


def test_peers_have_the_scheduling_of_the_others(source_dir, monkeypatch, tmp_path):
    """Without it --fifo would shut other load out for WaitIO only."""
    monkeypatch.syspath_prepend(str(source_dir / "bench"))
    import peers

    started = []

    class Args:
        transport, max, scale, one_core = "shm", 8, 200, False

    class Place:
        cpus, prefix = (0, 1), ["chrt", "-f", "1"]

    class Done:
        returncode = 0
        stdout = ""

    def call(words, **kwargs):
        started.append(words)
        return Done()

    monkeypatch.setattr(peers.shutil, "which", lambda name: name)
    monkeypatch.setattr(peers.subprocess, "run", call)
    monkeypatch.setattr(peers, "run_one", lambda words, env: started.append(words) or "")
    monkeypatch.setattr(peers, "run_all", lambda commands, envs: started.extend(commands) or "")
    some = peers.Peers(Args, Place, None, tmp_path)
    started.clear()
    for name in ("Open MPI (shm)", "Open MPI (shm, no CMA)", "MPICH (shm)", "ZeroMQ (ipc)"):
        some.run(name)
    assert len(started) == 5  # ZeroMQ has two
    for words in started:
        at = words.index("chrt")
        assert words[at : at + 3] == Place.prefix and "peer_" in words[at + 3]


def test_absent_peers_are_named_and_skipped(bench, tmp_path):
    for name in ("ip", "taskset", "sh"):
        if shutil.which(name):
            (tmp_path / name).symlink_to(shutil.which(name))
    status, _, err, data = bench("--peers", "--one-core", env={"PATH": str(tmp_path)})
    assert status == 0, err
    assert set(data[0]) == {"raw block", "waitio"}
    for text in ("no mpicc.openmpi", "no ZeroMQ", "ucx_perftest only spins", "MPICH only spins"):
        assert text in err


def test_a_peer_that_does_not_use_tcp_is_found_out(source_dir, monkeypatch):
    monkeypatch.syspath_prepend(str(source_dir / "bench"))
    import peers

    class Args:
        transport, max, scale = "tcp", 8192, 200

    class Net:
        seen = iter((0, 1000, 0, 10**9))

        def moved(self):
            return next(self.seen)

    some = peers.Peers.__new__(peers.Peers)
    some.args, some.net, some.found = Args, Net(), {"x": dict}
    with pytest.raises(RuntimeError, match="does not use TCP"):
        some.run("x")
    assert some.run("x") == {}


@pytest.mark.parametrize("kind", ["spin", "yield", "futex", "memcpy"])
def test_floor_over_shared_memory(build_dir, kind):
    exe = build_dir / "bench" / "floor_shm"
    if not exe.exists():
        pytest.skip("the benchmark programs are not built (WAITIO_BENCH)")
    cpu = "0" if kind in ("yield", "futex") else "-1"
    word = f"t{os.getpid()}{kind}"
    sides = [
        subprocess.Popen(
            [str(exe), kind, side, word, "-", cpu, "100", "2097152"], stdout=subprocess.PIPE
        )
        for side in "01"
    ]
    try:
        out = sides[0].communicate(timeout=60)[0]
        assert sides[1].wait(timeout=30) == 0 and sides[0].returncode == 0
    finally:
        for side in sides:
            side.kill()
            side.communicate()
    found = {}
    for row in map(json.loads, out.splitlines()):
        found.setdefault(row["metric"], {})[row["bytes"]] = row["value"]
    some = [1024, 2048, 4096, 5120, 8192, 16384, 65536, 262144, 1048576]
    if kind == "memcpy":
        assert {m: list(rows) for m, rows in found.items()} == {"half_rtt": some}
    else:
        assert list(found["half_rtt"]) == list(found["both"]) == [8, 256, *some]
    assert all(1e-10 < v < 1 for v in found["half_rtt"].values())
    assert not list(p for p in os.listdir("/dev/shm") if word in p)


def test_another_transport_than_asked_for_is_refused(source_dir, build_dir, monkeypatch):
    monkeypatch.syspath_prepend(str(source_dir / "bench"))
    import run

    class Args:
        transport, max, scale, build = "shm", 8, 1, build_dir

    class Place:
        cpus = (0, 1)

    line = '{"metric": "rate", "bytes": 8, "value": 5}\n{"transport": "%s"}\n'
    monkeypatch.setattr(run, "waitio_pair", lambda *words: line % "tcp")
    with pytest.raises(RuntimeError, match="used tcp although shm was asked for"):
        run.run_waitio(Args, Place)
    monkeypatch.setattr(run, "waitio_pair", lambda *words: line % "shm")
    assert run.run_waitio(Args, Place) == {("rate", 8): 5}


@pytest.mark.parametrize("mode", ["overlap", "load"])
def test_modes_of_waitio_perf(bench, mode):
    status, out, err, data = bench(f"--{mode}", "--max", "16777216")
    assert status == 0, err
    (found,) = data[mode]
    assert found["transport"] == "tcp"
    for progress in ("service", "thread"):
        assert found[progress]["mode"] == mode and found[progress]["bytes"] == 16777216
        assert f"| {progress} | " in out


def test_first_messages_and_buffers_in_turn(bench):
    status, out, err, data = bench("--transport", "shm", "--first", "--turn")
    assert status == 0, err
    (found,) = data["first"]
    assert list(found) == ["8", "1024", "4096", "8192"]
    for size, programs in found.items():
        assert list(programs) == ["raw ring", "waitio"]
        assert all(0 < value < 1 for pair in programs.values() for value in pair), size
    assert re.search(
        r"^(near|far): a word takes \d+ ns between the processors; 1 rounds$", out, re.M
    )
    assert re.search(r"^\| 8 KiB \| [\d.]+ us, x[\d.]+ \(", out, re.M)


def test_rounds_belong_to_their_placement(source_dir, monkeypatch):
    """A round in which the processors were moved is left out and made again."""
    monkeypatch.syspath_prepend(str(source_dir / "bench"))
    import placement

    class Args:
        transport, one_core, rounds = "shm", False, 3

    seen = iter([60e-9, 65e-9, 60e-9, 250e-9, 250e-9, 240e-9, 70e-9, 60e-9])
    monkeypatch.setattr(placement, "flag", lambda args, place: next(seen))
    made = iter(range(9))
    rounds = placement.Rounds(Args, None)
    rounds.make(lambda: next(made))
    assert rounds.of == {"near": [0, 3], "far": [2]} and rounds.dropped == 1
    assert rounds.heading("far") == ("far: a word takes 245 ns between the processors; 1 rounds\n")
    always = iter([60e-9, 250e-9] * 6)
    monkeypatch.setattr(placement, "flag", lambda args, place: next(always))
    with pytest.raises(RuntimeError, match="changed in every round"):
        placement.Rounds(Args, None).make(lambda: 0)


def test_offsets_of_buffers(bench):
    status, out, err, data = bench("--transport", "shm", "--offsets", "--max", "65536")
    assert status == 0, err
    ((row,),) = data["offsets"]
    assert row["bytes"] == 65536 and 1e-7 < row["best"] <= row["worst"] < 1
    assert {row["from"], row["to"]} <= set(range(4096))
    assert re.search(r"^\| 64 KiB \| [\d.]+ us \| x[\d.]+ \(", out, re.M)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--netns", "--peers"], "leave one out"),
        (["--netns", "--transport", "shm"], "share no memory"),
        (["--rounds", "0"], "1 or more"),
    ],
)
def test_wrong_use(bench, words, text):
    status, _, err, _ = bench(*words)
    assert status == 2 and text in err


def test_perf_between_hosts(source_dir, build_dir, monkeypatch):
    """waitio-perf takes network namespaces for hosts, as the library does."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command")
    monkeypatch.syspath_prepend(str(source_dir / "bench"))
    import place

    class Args:
        transport, cc = "tcp", "cubic"

    try:
        there = place.Place(False, True, False)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"cannot make network namespaces here: {error}")
    tool = str(build_dir / "bin" / "waitio-perf")
    words = [tool, "--pairs", "nodes", "--sizes", "8,1M", "--rounds", "10", "--quiet"]
    try:
        out = place.waitio_pair(Args, there, [words, words])
        within = [tool, "--pairs", "within", "--rounds", "1", "--quiet"]
        with pytest.raises(RuntimeError, match=r"\[2, 2\]"):  # one host each: no pair
            place.waitio_pair(Args, there, [within, within])
    finally:
        there.close()
    assert "in 2 blocks on 2 hosts, pairs across hosts" in out
    assert re.search(r"stream 1: PB 0 rank 0 on \S+ and PB 1 rank 0 on \S+: tcp\n", out)
    assert len(re.findall(r"^ +1 +(?:8 B|1 MiB) +10 ", out, re.M)) == 2


def test_memory_against_peers(source_dir, build_dir, tmp_path):
    """Four processes: no ring, and a ring for every peer."""
    if not (build_dir / "bench" / "bench_memory").exists():
        pytest.skip("the benchmark programs are not built (WAITIO_BENCH)")
    out = tmp_path / "memory.json"
    subprocess.run(
        [
            sys.executable,
            str(source_dir / "bench/memory.py"),
            "--build",
            str(build_dir),
            "--counts",
            "4",
            "--rounds",
            "8",
            "--json",
            str(out),
        ],
        check=True,
        timeout=120,
        stdout=subprocess.DEVNULL,
    )
    rows = {r["mode"]: r for r in json.loads(out.read_text())}
    assert rows["saving only"]["rings"] == 0 and rows["fast only"]["rings"] == 3
    assert 0 < rows["saving only"]["shm_bytes"] < rows["fast only"]["shm_bytes"]
    assert rows["TCP"]["shm_bytes"] == 0 and rows["TCP"]["link_bytes"] > 0
