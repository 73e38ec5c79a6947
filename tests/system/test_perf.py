# SPDX-License-Identifier: BSD-3-Clause
"""waitio perf and waitio-perf: every mode runs, its figures are plausible and consistent, the pairs
are those asked for, wrong use is explained before or instead of measuring."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

SMALL = ("--rounds", "12", "--quiet")


@pytest.fixture
def perf(waitio, build_dir):
    """`waitio perf` with the tool of this build; returns (status, stdout, stderr) as text."""
    env = {"WAITIO_PERF": str(build_dir / "bin" / "waitio-perf")}

    def run(*words, **more):
        status, out, err = waitio("perf", *words, env={**env, **more}, timeout=120)
        return status, out.decode(), err.decode()

    run.cwd, run.waitio, run.tool = waitio.cwd, waitio, env["WAITIO_PERF"]
    return run


def results(perf, *words, **more):
    """Measure; returns the runs of the JSON file and what was printed."""
    path = perf.cwd / "r.json"
    status, out, err = perf(*SMALL, "--json", path, *words, **more)
    assert status == 0, out + err
    data = json.loads(path.read_text())
    assert data["format"] == 1
    return data["runs"], out


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


@pytest.mark.sanitize
def test_latency_by_size(perf):
    (run,), out = results(perf, "--sizes", "1,8,64K-256K")
    assert [r["bytes"] for r in run["results"]] == [1, 8, 65536, 131072, 262144]
    for row in run["results"]:
        assert (row["mode"], row["streams"], row["rounds"]) == ("latency", 1, 12)
        assert 1e-8 < row["half_rtt_median"] < 1 and 1e-8 < row["half_rtt_worst_mean"] < 1
        assert near(row["bandwidth"], row["bytes"] / row["half_rtt_worst_mean"])
    assert len(re.findall(r"^ +1 +(1 B|8 B|\d+ KiB) +12 .* us .* us .* MB/s$", out, re.M)) == 5


def test_large_messages_go_round_less_often(perf):
    (run,), out = results(perf, "--sizes", "8,32M", "--rounds", "40")
    assert [r["rounds"] for r in run["results"]] == [40, 10]
    assert re.search(r"32 MiB +10 ", out)


@pytest.mark.sanitize
def test_bandwidth_and_rate(perf):
    (run,), _ = results(perf, "--mode", "bandwidth,rate", "--sizes", "8,1M")
    assert [r["mode"] for r in run["results"]] == ["bandwidth"] * 2 + ["rate"] * 2
    assert [r["window"] for r in run["results"]] == [64, 16, 64, 16]
    for row in run["results"]:
        key = row["mode"]
        assert near(row[key], row[key + "_worst"])  # one stream: the worst is all
        assert 1 < row[key + "_median"] < 1e12
    # 64 small messages at a time are faster than one after the other.
    for _ in range(5):  # other programs may disturb one half of a run
        (run,), _ = results(perf, "--mode", "latency,rate", "--sizes", "8", "--rounds", "300")
        trip, rate = (row for row in run["results"])
        if rate["rate_median"] > 1 / (2 * trip["half_rtt_median"]):
            break
    else:
        raise AssertionError((trip, rate))


@pytest.mark.sanitize
def test_overlap_of_both_sides(perf):
    for _ in range(5):  # the computation takes longer where other programs disturb it
        (run,), out = results(perf, "--mode", "overlap", "--sizes", "4M")
        (row,) = run["results"]
        for side in ("sender", "receiver"):
            v = row[side]
            longer = max(v["transfer"], v["compute"])
            assert 1e-6 < v["transfer"] < 5 and 1e-6 < v["compute"] < 5
            assert near(v["over_longer"], v["both"] / longer)
            assert near(v["over_sum"], v["both"] / (v["transfer"] + v["compute"]))
            assert re.search(rf"4 MiB +{side} ", out)
        # The computation cannot have been skipped.
        if all(v["both"] > 0.5 * v["compute"] for v in (row["sender"], row["receiver"])):
            break
    else:
        raise AssertionError(row)


@pytest.mark.sanitize
def test_latency_under_load(perf):
    (run,), out = results(perf, "--mode", "load", "--sizes", "256M", "--rounds", "50")
    (row,) = run["results"]
    assert row["idle"]["pings"] == 50 and row["load"]["pings"] >= 1
    for phase in ("idle", "load"):
        v = row[phase]
        assert 1e-8 < v["half_rtt_median"] <= v["half_rtt_p99"] <= v["half_rtt_worst"] < 10
    assert 1e6 < row["bandwidth_alone"] < 1e12
    assert near(row["piece_256k"], 262144 / row["bandwidth_alone"])
    growth = row["load"]["half_rtt_median"] - row["idle"]["half_rtt_median"]
    assert near(row["growth_pieces"], growth / row["piece_256k"])
    assert "the median grew by" in out


@pytest.mark.sanitize
def test_transfer_too_short_for_a_ping_is_said(perf):
    _, out = results(perf, "--mode", "load", "--sizes", "1")
    assert "no ping came back before the transfer was through" in out


@pytest.mark.sanitize
def test_the_transport_in_use_is_named(perf):
    (run,), out = results(perf, "--sizes", "8", "--transport", "tcp")
    assert run["comm_type"] == "socket"
    assert [pair["transport"] for pair in run["pairs"]] == ["tcp"]
    assert re.search(r"stream 1: PB 0 rank 0 and PB 1 rank 0 on \S+: tcp$", out, re.M)


@pytest.mark.sanitize
def test_streams(perf):
    (run,), out = results(perf, "--sizes", "8", "--streams", "1-2")
    assert [r["streams"] for r in run["results"]] == [1, 2]
    assert (run["blocks"], run["processes"], len(run["pairs"])) == (2, 4, 2)
    assert [p["second"] for p in run["pairs"]] == ["PB 1 rank 0", "PB 1 rank 1"]
    assert "stream 2: PB 0 rank 1 and PB 1 rank 1" in out


@pytest.mark.sanitize
def test_one_block_against_two_blocks(perf):
    runs, out = results(perf, "--blocks", "1,2", "--sizes", "8,1K")
    assert [(r["blocks"], r["processes"]) for r in runs] == [(1, 2), (2, 2)]
    assert [r["pairing"] for r in runs] == ["within blocks", "across blocks"]
    table = out[out.index("1 block ") :]
    for row in (0, 1):
        first, second = (r["results"][row]["half_rtt_worst_mean"] for r in runs)
        assert f"{first * 1e6:.2f} us" in table and f"x{second / first:5.2f}" in table


@pytest.mark.sanitize
def test_blocks_of_a_job_file(perf):
    (perf.cwd / "job.toml").write_text(
        '[run]\nenv = { WAITIO_PROGRESS = "poll" }\n'
        '[[block]]\nn = 2\ncommand = ["./no-such"]\n'
        '[[block]]\nname = "x"\ncommand = "a b"\n[[block]]\ncommand = ["./c"]\n'
    )
    (run,), _ = results(perf, "--file", "job.toml", "--streams", "max", "--sizes", "8")
    assert (run["blocks"], run["progress"]) == (3, "poll")
    assert [(p["first"], p["second"]) for p in run["pairs"]] == [
        ("PB 0 rank 0", "PB 1 rank 0"),
        ("PB 0 rank 1", "PB 2 rank 0"),
    ]
    status, _, err = perf("--file", "job.toml", "-n", "2")
    assert status == 2 and "leave out -n" in err


@pytest.mark.sanitize
def test_blocks_of_two_mpis(perf, need):
    need("mpiexec.openmpi", "mpiexec.mpich")
    (run,), out = results(perf, "--mpi", "openmpi,mpich", "--streams", "2", "--sizes", "8")
    assert (run["blocks"], run["processes"]) == (2, 4)
    assert out.startswith("WaitIO ")


@pytest.mark.sanitize
def test_inside_an_existing_run(perf):
    block = ["-n", "2", perf.tool, *SMALL, "--sizes", "8", "--streams", "max"]
    status, out, err = perf.waitio("run", *block, "--json", "in.json", ":", *block)
    assert (status, err) == (0, b""), err
    (run,) = json.loads((perf.cwd / "in.json").read_text())["runs"]
    assert run["results"][0]["streams"] == 2 and b"[waitio-perf 0] WaitIO " in out
    # `waitio perf` as a block's program is the tool.
    words = [sys.executable, "-m", "waitio", "perf", *SMALL, "--sizes", "8"]
    words = ["--env", f"WAITIO_PERF={perf.tool}", *words]
    status, out, _ = perf.waitio("run", *words, ":", *words)
    assert status == 0 and b"latency: half round trip" in out
    status, _, err = perf(*SMALL, "--plot", "x.png", WAITIO_PBID="0")
    assert status == 2 and "exists already" in err


@pytest.mark.sanitize
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--mode", "speed"], "'speed': unknown mode; known are latency"),
        (["--mode", ""], "unknown mode"),
        (["--mode", "latency,"], "unknown mode"),
        (["--sizes", "8,x"], "'x' is no size"),
        (["--sizes", "2T"], "is no size"),
        (["--streams", "0"], "is no number or range of streams"),
        (["--pairs", "far"], "--pairs 'far': known are within, across"),
        (["--transport", "pigeon"], "--transport 'pigeon': known are"),
        (["--rounds", "0"], "a whole number from 1"),
        (["--rounds", "1e3"], "a whole number from 1"),
        (["--blocks", "0"], "it must lie between"),
        (["--streams", "max"], "say how many processes a block has"),
        (["--from", "r.json"], "say where to"),
        (["--plot", "r.bmp"], "must end in .png"),
        (["extra"], "only options are taken"),
        (["--bloks", "2"], "did you mean '--blocks'?"),
    ],
)
def test_wrong_use(perf, words, text):
    status, out, err = perf(*words)
    assert (status, out) == (2, "") and text in err, err
    assert "waitio run" not in err, "something was started"


@pytest.mark.sanitize
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--blocks", "1", "-n", "1"], "no pair to measure: two processes are needed"),
        (["--blocks", "1", "--pairs", "across"], "there is only one block"),
        (["--pairs", "within"], "no two processes of one block share a host"),
        (["--pairs", "nodes"], "all processes are on one host"),
        (["--streams", "3", "-n", "2"], "the 4 processes make only 2 pairs"),
    ],
)
def test_too_few_processes(perf, words, text):
    status, out, err = perf(*SMALL, *words)
    assert (status, out) == (2, "") and text in err, err


@pytest.mark.sanitize
def test_unequal_options_are_named(perf):
    a, b = [perf.tool, *SMALL, "--mode", "rate"], [perf.tool, *SMALL, "--mode", "load"]
    status, out, err = perf.waitio("run", *a, ":", *b)
    assert (status, out) == (2, b"")
    assert re.search(rb"PB 0 rank 0 .*'--mode rate .* PB 1 rank 0 with '--mode load ", err)


def test_a_run_that_never_meets_says_so_once(perf):
    env = {k: v for k, v in perf.waitio.env.items()}
    env.update(WAITIO_NPB="2", WAITIO_PBID="1", WAITIO_MASTER_HOST="127.0.0.1")
    env.update(WAITIO_MASTER_PORT="9")
    done = subprocess.run(
        [perf.tool, "--timeout", "1"], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "joining timed out" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.sanitize
def test_results_that_cannot_be_written(perf):
    status, _, err = perf(*SMALL, "--sizes", "8", "--json", "no/such/dir.json")
    assert status == 1 and "--json 'no/such/dir.json'" in err
    block = [perf.tool, *SMALL, "--sizes", "8", "--json", "no/such/dir.json"]
    status, _, err = perf.waitio("run", *block, ":", *block)
    assert status == 1 and b"waitio-perf: --json 'no/such/dir.json': No such file" in err


@pytest.mark.sanitize
def test_progress(perf):
    """Lines where nobody looks, a bar on a terminal, nothing when quiet."""
    words = ("perf", "--sizes", "8,64", "--rounds", "3")
    env = {"WAITIO_PERF": perf.tool}
    status, out, err = perf.waitio(*words, env=env)
    assert (status, err) == (0, b"1/2 latency, 8 B, 1 stream\n2/2 latency, 64 B, 1 stream\n")
    assert b"stream 1:" in out and b"1/2" not in out
    assert perf.waitio(*words, "--quiet", env=env)[2] == b""
    ours, theirs = pty.openpty()
    child = perf.waitio.start(*words, env=env, stderr=theirs)
    os.close(theirs)
    child.communicate(timeout=60)
    seen = os.read(ours, 65536)
    os.close(ours)
    assert b"[..........##########] " not in seen
    assert b"\r\x1b[K[....................] 1/2 latency" in seen
    assert b"[##########..........] 2/2 latency" in seen and seen.endswith(b"\r\x1b[K")


def test_plot_without_matplotlib_says_what_to_install(perf):
    hidden = perf.cwd / "hide"
    hidden.mkdir()
    (hidden / "matplotlib.py").write_text("raise ImportError('hidden')\n")
    path = f"{hidden}:{perf.waitio.env['PYTHONPATH']}"
    status, out, err = perf(*SMALL, "--plot", "r.png", PYTHONPATH=path)
    assert (status, out) == (1, "") and "pip install matplotlib" in err


@pytest.fixture(scope="session")
def drawing_python():
    """An interpreter that has matplotlib."""
    for python in (sys.executable, "/usr/bin/python3", "python3"):
        done = subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False)
        if done.returncode == 0:
            return python
    pytest.skip("matplotlib is not installed")


def test_plots(perf, drawing_python):
    results(perf, "--mode", "all", "--sizes", "8,4K", "--blocks", "1,2")
    for name, start in (("r.png", b"\x89PNG"), ("r.svg", b"<?xml")):
        done = subprocess.run(
            [drawing_python, "-m", "waitio", "perf", "--from", "r.json", "--plot", name],
            env=perf.waitio.env,
            cwd=perf.cwd,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert (perf.cwd / name).read_bytes().startswith(start)
    (perf.cwd / "bad.json").write_text('{"format": 2, "runs": []}')
    done = subprocess.run(
        [drawing_python, "-m", "waitio", "perf", "--from", "bad.json", "--plot", "b.png"],
        env=perf.waitio.env,
        cwd=perf.cwd,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and b"not a file that waitio perf --json wrote" in done.stderr


def test_plots_say_sizes_in_words_and_when_the_machine_was_busy(perf, drawing_python):
    """Texts are text in this picture: of a quiet machine, then of one whose mean is far away."""
    pairs = [{"transport": "shm"}]
    row = {"mode": "latency", "streams": 1, "bandwidth": 1e9, "half_rtt_median": 1e-6}
    rate = {"mode": "rate", "streams": 1, "bytes": 8, "rate": 1e6}
    for mean, busy in ((1.2e-6, False), (9e-6, True)):
        rows = [{**row, "bytes": n, "half_rtt_worst_mean": mean} for n in (8, 65536, 1 << 20)]
        run = {"blocks": 2, "pairs": pairs, "results": [*rows, rate]}
        code = (
            "import matplotlib; matplotlib.rcParams['svg.fonttype'] = 'none'\n"
            f"from waitio import perfplot; perfplot.draw([{run!r}], 'texts.svg')"
        )
        call = [drawing_python, "-c", code]
        done = subprocess.run(
            call, env=perf.waitio.env, cwd=perf.cwd, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        text = (perf.cwd / "texts.svg").read_text()
        assert ">64 KiB<" in text and ">1 MiB<" in text and ">8 B<" in text
        assert ("machine was busy" in text) == busy
        assert "all streams<" not in text.split("Message rate")[-1]  # no legend of one kind


def test_manual_page_and_help_name_every_option(perf, source_dir, monkeypatch):
    monkeypatch.syspath_prepend(str(source_dir / "python"))
    from waitio import perf as package

    page = (source_dir / "docs/man/waitio-perf.1.md").read_text()
    status, help_text, _ = perf("--help")
    assert status == 0
    for option in package.OPTIONS:
        for name in option.names:
            assert name in help_text, name
        assert any(re.search(rf"`{re.escape(n)}[` ]", page) for n in option.names), option.names
    done = subprocess.run([perf.tool, "--help"], capture_output=True, text=True, check=True)
    for name in re.findall(r"--[a-z]+", done.stdout):
        assert re.search(rf"`{name}[` ]", page), name
