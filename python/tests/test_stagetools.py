# SPDX-License-Identifier: BSD-3-Clause
"""waitio ls, waitio dump and waitio stage watch, as blocks beside a program that writes."""

import base64
import itertools
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request

import patience
import pytest
from surroundings import clean

WRITER = """
import os, sys, time
import numpy as np
from waitio.stage import Writer
rank = int(os.environ["WAITIO_RANK"])
n = int(os.environ["WAITIO_NPROCS"])
with Writer("flow", full=FULL) as flow:
    flow.attribute("T/units", "K")
    flow.attribute("levels", [1.5, 2])
    for i in range(STEPS):
        with flow.step():
            T = np.add.outer(np.arange(3 * n), np.arange(8) / 10)[3 * rank : 3 * rank + 3] + i
            flow.put("T", T.astype("f4"), shape=(3 * n, 8), start=(3 * rank, 0))
            flow.put("part", np.full(rank + 1, rank, "i8"), local=True)
            flow.put("time", 0.5 * i)
            flow.put("note", f"step {i}")
            if i == 2:
                flow.put("late", np.arange(3) + 1j, shape=(3 * n,), start=(3 * rank,))
"""


@pytest.fixture
def run(site, tmp_path):
    """Run two writers beside a block of the command; returns (status, its lines, stderr)."""

    def start(*words, steps=3, full="block", writer=WRITER, more=()):
        text = writer.replace("STEPS", str(steps)).replace("FULL", repr(full))
        (tmp_path / "sim.py").write_text(textwrap.dedent(text))
        python = [sys.executable, "-W", "error"]
        done = subprocess.run(
            [sys.executable, "-m", "waitio", "run", "--timeout", "60", *more]
            + ["--name", "sim", "-n", "2", *python, "sim.py"]
            + [":", "--name", "tool", *python, "-m", "waitio", *map(str, words)],
            env=clean(PYTHONPATH=site),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
        mark = "[tool 0] "
        lines = [s[len(mark) :] for s in done.stdout.splitlines() if s.startswith(mark)]
        return done.returncode, lines, done.stderr

    return start


def test_ls_shows_a_step_with_its_blocks(run):
    status, lines, err = run("ls", "flow", "-l", "-b")
    assert (status, err) == (0, "")
    assert [" ".join(line.split()) for line in lines] == [
        "stream 'flow', step 0",
        "float32 T 6 x 8 2 blocks, 0 ... 5.7",
        "block 0: writer 0, [0:3, 0:8]",
        "block 1: writer 1, [3:6, 0:8]",
        "int64 part local 2 blocks, 0 ... 1",
        "block 0: writer 0, shape 1",
        "block 1: writer 1, shape 2",
        "float64 time = 0.0",
        'string note = "step 0"',
        'attribute T/units = "K"',
        "attribute levels = [1.5, 2.0]",
    ]


def test_ls_follows_a_stream_and_shows_what_changes(run):
    status, lines, err = run("ls", "--all", "flow", steps=4)
    assert (status, err) == (0, "")
    at = lines.index("stream 'flow', step 2")
    assert (
        " ".join(lines[at + 1].split()) == "complex128 late 6 2 blocks" or "late" in lines[at + 1]
    )
    assert lines[at + 2 :] == [
        "stream 'flow', step 3",
        "  late is not there any more",
        "stream 'flow' has ended: 4 steps, to step 3",
    ]


def test_ls_as_json(run):
    status, lines, err = run("ls", "flow", "--json", "--long", "--steps", "1:3")
    assert (status, err) == (0, "")
    found = [json.loads(line) for line in lines]
    assert [f["step"] for f in found] == [1, 2]
    var = found[1]["variables"]["T"]
    assert (var["shape"], var["blocks"], var["type"]) == ([6, 8], 2, "float32")
    assert var["least"] == 2 and abs(var["largest"] - 7.7) < 1e-6
    assert found[1]["attributes"] == {"T/units": "K", "levels": [1.5, 2.0]}
    assert found[1]["variables"]["note"]["value"] == "step 2"


def test_dump_prints_a_box_with_its_indices(run):
    words = ("dump", "flow", "-v", "T", "-v", "time", "--box", "2:4,1:8", "--steps", "1:3")
    status, lines, err = run(*words, "--format", "%.2f", "--columns", 5)
    assert (status, err) == (0, "")
    first = lines.index("stream 'flow', step 2")
    assert lines[0] == "stream 'flow', step 1"
    assert lines[first + 1 :] == [
        "  float32 T [6 x 8]",
        "    (2,1) 4.10 4.20 4.30 4.40 4.50",
        "    (2,6) 4.60 4.70",
        "    (3,1) 5.10 5.20 5.30 5.40 5.50",
        "    (3,6) 5.60 5.70",
        "  float64 time = 1.00",
    ]


def test_dump_of_blocks(run):
    status, lines, err = run("dump", "flow", "-v", "part", "-v", "note", "--steps", 0)
    assert (status, err) == (0, "")
    assert lines == [
        "stream 'flow', step 0",
        "  int64 part, block 0 of writer 0 [1]",
        "    (0) 0",
        "  int64 part, block 1 of writer 1 [2]",
        "    (0) 1 1",
        '  string note = "step 0"',
    ]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (
            ("dump", "flow", "-v", "Time"),
            1,
            "no step had the variable 'Time' (did you mean 'time'?)",
        ),
        (("dump", "flow", "-v", "T", "--box", "3:9,:"), 2, "there is no 3:9; variable 'T' has the"),
        (("dump", "flow", "-v", "T", "--box", "3"), 2, "--box has 1 ranges, but variable 'T' has"),
        (("ls", "flow", "--steps", "7:9"), 1, "'flow' has ended without a step that was asked for"),
        (("dump", "--steps", "2:1", "flow"), 2, "these are no steps"),
        (("dump", "flow", "--format", "%q"), 2, "the format of one number is needed"),
    ],
)
def test_what_is_refused(run, words, status, text):
    found, _, err = run(*words)
    assert found == status, err
    assert text in err, err


@pytest.mark.parametrize("most", [8, 50, 100, 1000, 10_000])
def test_large_boxes_travel_in_pieces(source, monkeypatch, most):
    """In the order of their elements, none twice, none larger than it may be."""
    monkeypatch.syspath_prepend(str(source))
    from waitio import stagetool

    start, count = (2, 0, 5, 1), (1, 4, 3, 7)
    seen = []
    for first, size in stagetool.pieces((start, count), 8, most):
        assert 0 < math.prod(size) * 8 <= max(most, 8)
        seen += itertools.product(*(range(a, a + n) for a, n in zip(first, size)))
    assert seen == list(itertools.product(*(range(a, a + n) for a, n in zip(start, count))))
    assert list(stagetool.pieces(((0, 0), (3, 0)), 8, most)) == []
    assert [stagetool.steps(t) for t in ("3", "2:5", "2:", ":5")] == [
        (3, 3), (2, 4), (2, None), (0, 4)
    ]  # fmt: skip


def test_what_is_missing_is_named(source):
    """Outside a run, as several processes, and without the extension: nothing waits."""
    cases = [
        ({}, 2, "a run takes no blocks later on. Start it with the run: waitio run ./simulation :"),
        ({"WAITIO_PBID": "1", "WAITIO_NPROCS": "3"}, 2, "one process is enough for it, not 3"),
        ({"WAITIO_PBID": "1"}, 127, "holds the `waitio` command only. Install the package"),
    ]
    for command in (["ls"], ["dump"], ["stage", "watch"]):
        for more, status, text in cases:
            done = subprocess.run(
                [sys.executable, "-m", "waitio", *command, "flow"],
                env=clean(PYTHONPATH=source, **more),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == status and text in done.stderr, (command, done)


# ---- watch --------------------------------------------------------------------------------------

ENDLESS = """
import os, time
import numpy as np
from waitio.stage import Writer
rank = int(os.environ["WAITIO_RANK"])
y, x = np.mgrid[0:40, 0:1100]
slowest = 0.0
with Writer("flow") as flow:  # a full queue waits for the readers
    flow.attribute("T/units", "K")
    i = 0
    mine = flow.universe.block()
    while not mine.bcast(os.path.exists("stop"), root=0):
        begin = time.monotonic()
        with flow.step():
            T = (y * 1100.0 + x)[20 * rank : 20 * rank + 20] + i
            T[0, 0] = np.nan
            flow.put("T", T, shape=(40, 1100), start=(20 * rank, 0))
            V = np.full((3, 2, 5), rank) + 10 * np.arange(3)[:, None, None]
            flow.put("V", V, shape=(3, 4, 5), start=(0, 2 * rank, 0))
            flow.put("hole", np.zeros(3), shape=(9,), start=(3 * rank,))
            flow.put("time", 0.5 * i)
            flow.put("bad", float("nan"))
        slowest = max(slowest, time.monotonic() - begin)
        i += 1
        time.sleep(0.01)
print("slowest", slowest, "pid", os.getpid(), flush=True)
"""


class Watch:
    """A run with a watch in it, which is asked as a page does."""

    def __init__(self, site, folder, *words):
        (folder / "sim.py").write_text(ENDLESS)
        python = [sys.executable, "-W", "error"]
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "waitio", "run", "--timeout", "90", "--name", "sim", "-n", "2"]
            + [*python, "sim.py", ":", "--name", "tool", *python, "-m", "waitio", "stage"]
            + ["watch", "flow", "--every", "20ms", *words],
            env=clean(PYTHONPATH=site),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.address = self.process.stdout.readline().split()[-1]

    def ask(self, what="state", **words):
        query = "?" + urllib.parse.urlencode(words) if words else ""
        with urllib.request.urlopen(self.address + what + query, timeout=30) as answer:
            return answer.read()

    def state(self, until, **words):
        """Ask until the answer is as wanted."""
        limit = patience.Limit(30)
        while limit.left() > 0:
            found = json.loads(self.ask(**words))
            if until(found):
                return found
            time.sleep(0.02)
        raise AssertionError(f"never came: {found}")

    def end(self):
        (self.folder / "stop").touch()
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out


@pytest.fixture
def watch(site, tmp_path):
    """Starts runs with a watch, and ends them."""
    started = []

    def start(*words):
        started.append(Watch(site, tmp_path, *words))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()  # waitio run ends its blocks
            one.process.communicate(timeout=30)


def points(picture):
    np = pytest.importorskip("numpy")
    data = np.frombuffer(base64.b64decode(picture["data"]), "u1")
    return data.reshape(picture["height"], picture["width"])


class Array:
    """A variable that is not in a stream."""

    kind, name = "global", "x"

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.most = 0

    def get(self, start=None, count=None):
        if start is None:
            return self.array
        part = self.array[tuple(slice(a, a + n) for a, n in zip(start, count))]
        self.most = max(self.most, part.nbytes)
        return part


@pytest.mark.parametrize("shape", [(9000,), (1500, 700), (3, 1030, 20), (2, 3, 4, 5)])
def test_pictures_of_large_arrays_are_made_in_pieces(source, monkeypatch, shape):
    np = pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(source))
    from waitio import stagefield, stagetool

    monkeypatch.setattr(stagetool, "PIECE", 10_000)
    array = np.random.default_rng(7).permutation(math.prod(shape)).reshape(shape) * 1.0
    variable = Array(array)
    found = stagefield.picture(variable)
    plane = array[tuple(n // 2 for n in shape[:-2])]
    most = 512 if len(shape) > 1 else 2048
    thin = np.atleast_2d(plane[tuple(slice(None, None, -(-n // most)) for n in plane.shape)])
    assert (found["height"], found["width"]) == thin.shape
    want = np.rint((thin - thin.min()) * 254 / (thin.max() - thin.min()))
    assert np.array_equal(points(found), want)
    assert found["extent"] == (0, array.size - 1) and found["whole"]
    assert variable.most <= 10_000
    assert found["at"] == [n // 2 for n in shape[:-2]]
    monkeypatch.setattr(stagefield, "WHOLE", 100)
    few = stagefield.picture(variable)
    assert few["whole"] == (len(shape) < 3) and few["extent"] == (plane.min(), plane.max())


def test_watch_shows_pictures_and_curves(watch):
    run = watch()
    found = run.state(lambda s: s["picture"] and len(s["curve"]) > 2)
    picture, step = found["picture"], found["picture"]["step"]
    assert found["variable"] == "T" and found["variables"][0]["units"] == "K"
    assert picture["extent"] == [1.0 + step, 40 * 1100 - 1.0 + step] and picture["whole"]
    pixels = points(picture)
    assert pixels.shape == (40, 367)  # every third column
    assert pixels[0, 0] == 255 and pixels[20, 0] == 255  # no numbers
    assert pixels[0, 1] == 0 and pixels[39, 366] == 254 and (pixels[1:20, 5] < 130).all()
    steps = [point[0] for point in found["curve"]]
    assert steps == sorted(set(steps))
    assert all(low == n + 1 and high == n + 43999 for n, low, high in found["curve"])
    # What a page has already got does not travel again.
    again = run.state(lambda s: s["picture"], after=step)
    assert again["picture"]["step"] != step or "data" not in again["picture"]

    found = run.state(lambda s: s["picture"], variable="V")
    assert found["picture"]["at"] == [1] and found["picture"]["extent"] == [0, 21]
    assert points(found["picture"]).tolist() == [[0] * 5] * 2 + [[254] * 5] * 2
    found = run.state(lambda s: s["curve"], variable="time")
    assert all(low == high == 0.5 * n for n, low, high in found["curve"])
    assert found["values"]["bad"] == "nan"
    # A part that nobody has put is told, and nothing else suffers.
    holed = run.state(lambda s: "'hole'" in s["note"], variable="hole")["step"]
    run.state(lambda s: s["picture"]["step"] > holed + 5)
    status, out = run.end()
    assert status == 0, out
    assert "slowest" in out and "'hole'" not in out


def test_watch_never_stops_the_run(watch):
    """Not by a page that does not read, not by people who know no key."""
    run = watch("-v", "V")
    run.state(lambda s: s["picture"] and s["variable"] == "V")
    host, port = urllib.parse.urlsplit(run.address).netloc.split(":")
    assert host == "127.0.0.1"
    silent = [socket.create_connection((host, int(port))) for _ in range(3)]
    silent[0].sendall(
        f"GET {urllib.parse.urlsplit(run.address).path}state HTTP/1.0\r\n\r\n".encode()
    )
    silent[1].sendall(b"GET /")
    for address in (f"http://{host}:{port}/", f"http://{host}:{port}/wrong/state"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address, timeout=30)
    step = run.state(lambda s: True)["step"]
    run.state(lambda s: s["step"] > step + 20)
    status, out = run.end()
    for one in silent:
        one.close()
    assert status == 0, out


def test_watch_says_that_the_stream_has_ended(watch):
    run = watch("--keep")
    run.state(lambda s: s["picture"])
    (run.folder / "stop").touch()
    found = run.state(lambda s: s["note"])
    assert found["note"] == "the stream has ended"
    for _ in range(2):  # until the writers have ended
        pid = run.process.stdout.readline().split()[-1]
        limit = patience.Limit(30)
        while os.path.exists(f"/proc/{pid}") and limit.left() > 0:
            time.sleep(0.01)
    assert run.state(lambda s: True)["note"] == "the stream has ended"
    run.process.send_signal(signal.SIGINT)
    status, out = run.end()
    assert status == 0, out


def test_the_page_paints(watch):
    """Its script, in a page of stand-ins (needs node)."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    run = watch()
    page = run.ask("").decode()
    assert "http://" not in page and "https://" not in page  # nothing from elsewhere
    script = page[page.index("<script>") + 8 : page.index("</script>")]
    state = run.state(lambda s: s["picture"] and len(s["curve"]) > 2)
    line = {**state, "picture": {**state["picture"], "width": 3, "height": 1, "data": "AH//"}}
    scalar = run.state(lambda s: s["curve"], variable="time")
    code = STAND_INS + f"const states = {json.dumps([state, line, scalar])};\n{script}"
    done = subprocess.run(
        ["node", "-"], input=code, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    pictures, lines, texts = json.loads(done.stdout)
    assert [367, 40] in pictures and [255, 1] in pictures
    assert lines > 5
    assert texts["stream"] == "flow" and texts["title"] == "value over steps"
    assert run.end()[0] == 0


STAND_INS = """
const seen = {pictures: [], lines: 0}, parts = {};
const pen = {
  createImageData: (w, h) => ({w, h, data: new Uint8ClampedArray(4 * w * h)}),
  putImageData: image => {
    if (image.data.some((v, i) => i % 4 === 3 && v !== 255)) throw new Error("holes");
    seen.pictures.push([image.w, image.h]);
  },
  measureText: () => ({width: 9}), clearRect() {}, fillRect() {}, fillText() {}, beginPath() {},
  stroke() {},
  lineTo: (x, y) => { if (!isFinite(x + y)) throw new Error("nowhere"); seen.lines++; },
};
const part = () => ({
  style: {}, getContext: () => pen, width: 960, height: 220, append() {}, addEventListener() {},
  replaceChildren() {},
});
globalThis.document = {
  getElementById: id => parts[id] ??= part(), createElement: part, title: "",
};
let asked = 0;
globalThis.fetch = async () => ({json: async () => states[asked++]});
globalThis.setTimeout = again => { if (asked < states.length) again(); else report(); };
function report() {
  const texts = Object.fromEntries(Object.entries(parts).map(([k, v]) => [k, v.textContent]));
  console.log(JSON.stringify([seen.pictures, seen.lines, texts]));
}
"""
