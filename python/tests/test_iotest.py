# SPDX-License-Identifier: BSD-3-Clause
"""waitio iotest: every way runs between unequal numbers of processes, wrong data and full disks are
told, wrong use is explained."""

import json
import os
import subprocess
import sys

import pytest
from surroundings import clean


@pytest.fixture
def iotest(site, tmp_path):
    """Run the command; returns (status, stdout, stderr)."""

    def start(*words, **more):
        done = subprocess.run(
            [sys.executable, "-m", "waitio", "iotest", *map(str, words)],
            env=clean(PYTHONPATH=site, **more),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
        left = [p.name for p in tmp_path.iterdir() if p.name.startswith(".waitio")]
        assert not left, left
        return done.returncode, done.stdout, done.stderr

    start.cwd = tmp_path
    return start


SMALL = ("--rounds", 2, "--steps", 2)


def test_table_json_and_plot(iotest, helpers):
    helpers.needs("matplotlib")
    words = ("--procs", "2x3,3x1", "--bytes", "64,100K", "--ways", "stage,two-sided,file")
    status, out, err = iotest(*SMALL, *words, "--json", "r.json", "--plot", "r.png")
    assert (status, err) == (0, ""), err
    data = json.loads((iotest.cwd / "r.json").read_text())
    rows = data["rows"]
    cases = [(r["writers"], r["readers"], r["bytes"], r["way"]) for r in rows]
    assert cases == [
        (m, n, size, way)
        for m, n in ((2, 3), (3, 1))
        for size in (64, 102400)
        for way in ("stage", "two-sided", "file")
    ]
    for row in rows:
        step = row["step"]
        assert 0 < step["low"] <= step["median"] <= step["high"] < 60
        assert row["bytes_per_s"] == row["bytes"] * row["writers"] / step["median"]
        assert 0 < row["writers_lose"]["median"] < 60 and row["rounds"] == 2
    table = out[out.index("writers readers way") :].splitlines()[1:]
    assert [tuple(line.split()[:3]) for line in table] == [
        (str(m), str(n), way) for m, n, _, way in cases
    ]
    assert rows[0]["processors"][0] in out.splitlines()[0]
    assert "push" not in out  # only where all ways are meant
    assert (iotest.cwd / "r.png").read_bytes().startswith(b"\x89PNG")
    assert iotest("--from", "r.json", "--plot", "again.svg")[0] == 0
    assert b"3 writers, 1 readers" in (iotest.cwd / "again.svg").read_bytes()


def test_computing_takes_its_time(iotest):
    words = ("--procs", "1x1", "--bytes", "8K", "--ways", "stage", "--compute", "0,30ms")
    status, _, err = iotest(*SMALL, *words, "--json", "r.json", "--queue", 0)
    assert status == 0, err
    idle, busy = json.loads((iotest.cwd / "r.json").read_text())["rows"]
    assert (idle["compute"], busy["compute"]) == (0, 0.03)
    # A step that comes late makes the next one shorter, as the reader sees it.
    assert busy["step"]["median"] > 0.025


def test_ways_that_are_not_there_are_named(iotest):
    status, out, err = iotest("--procs", "1x1", "--bytes", "8", *SMALL)
    assert status == 0, err
    assert "push and pull are no ways of their own" in out
    if "not measured: bp5, sst" in out:
        status, _, err = iotest("--ways", "sst")
        assert status == 1 and "sst: the Python package adios2 is not installed" in err
    else:
        assert " bp5 " in out and " sst " in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--bytes", "3"), "'3' is no number of bytes from 8 to 16G"),
        (("--procs", "2x0"), "'2x0' is no WRITERSxREADERS"),
        (("--ways", "push"), "push and pull are no ways of their own"),
        (("--ways", "stag"), "did you mean 'stage'?"),
        (("--compute", "2 days"), "a duration is a number"),
        (("flow",), "only options are taken"),
        (("--plot", "r.gif"), "must end in .png"),
        (("--dir", "/no/such"), "--dir '/no/such': No such file"),
        (("--from", "x"), "say where to"),
    ],
)
def test_wrong_use_is_explained(iotest, words, text):
    status, out, err = iotest(*words)
    assert status in (1, 2) and text in err, err
    assert out == ""


def test_a_full_disk_is_told_with_stream_step_variable_and_process(iotest, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "full", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system")
    try:
        words = ("--procs", "1x1", "--bytes", "1500K", "--ways", "file", "--dir", small)
        status, _, err = iotest(*words)
        left = list(small.iterdir())
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert status == 1
    assert "stream 'iotest-0', step 1, variable 'x': writer 0: " in err, err
    assert "No space left on device after" in err and "of 1536000 bytes: make room there" in err
    assert not left


CHECKED = """
from waitio.iotestways import Place
from waitio.iotestwork import Data

def place(writes, rank):
    return Place(None, 0, writes, rank, 3, 2, each=1000, queue=2, limit=1, folder="")

writers, reader = [Data(place(True, r)) for r in range(3)], Data(place(False, 1))
for step in range(3):
    for writer in writers:
        writer.stamp(step)
    for w, a, b in reader.place.pieces():
        reader.array[a - 1500 : b - 1500] = writers[w].array[a - w * 1000 : b - w * 1000]
    reader.check(step)
for bad in (3, 0):
    try:
        reader.check(bad)
    except Exception as error:
        print(error)
"""


def test_wrong_data_is_told(site):
    """The check of a reader, without processes: data of step 2 is taken for others."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKED],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "stream 'iotest-0', step 3, variable 'x': reader 1: element 0 of those" in lines[0]
    assert "step 0, variable 'x': reader 1: " in lines[1] and len(lines) == 2
