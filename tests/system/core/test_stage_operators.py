# SPDX-License-Identifier: BSD-3-Clause
"""Staging: operators and derived variables (progs/stage_ops.c checks every element)."""

import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.sanitize

LIBRARIES = {"zstd": "libzstd.so.1", "zfp": "libzfp.so.1"}
NAMES = {"zstd": ["libzstd.so.1", "libzstd.so"], "zfp": ["libzfp.so.1", "libzfp.so"]}


def need(operator):
    """Skip where the operator's library is not installed."""
    name = LIBRARIES[operator.split()[0]]
    found = subprocess.run(
        ["python3", "-c", f"import ctypes; ctypes.CDLL('{name}')"], capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip(f"{name} is not installed")


def cast(run, writers, readers, operator, *, write=(), read=(), env=None):
    told = operator.replace("none", "")
    return [
        [
            run.process(0, r, writers, 2, "stage_ops", "write", "flow", f"op={operator}", *write)
            for r in range(writers)
        ],
        [
            run.process(1, r, readers, 2, "stage_ops", "read", "flow", f"op={told}", *read, env=env)
            for r in range(readers)
        ],
    ]


def numbers(process, what):
    return [float(line.split()[1]) for line in process.lines if line.startswith(what + " ")]


@pytest.mark.parametrize("route", ["shm", "socket"])
@pytest.mark.parametrize(
    ("operator", "error", "smaller"),
    [
        ("none", 0, 1),
        ("zstd", 0, 0.9),
        ("zstd level=3 shuffle=0", 0, 1),
        ("zfp accuracy=1e-3", 1e-3, 0.5),
        ("zfp rate=16", 1, 0.6),
    ],
)
def test_what_is_read(universe, route, operator, error, smaller):
    """M x N, copied and from the program's memory; what was to become smaller has."""
    if operator != "none":
        need(operator)
    run = universe(WAITIO_COMM_TYPE=route)
    queue = "queue=-1" if route == "shm" else "queue=2"
    write = (queue, "steps=6")
    writers, readers = cast(run, 3, 2, operator, write=write, read=(f"error={error}",))
    run.all_end(writers + readers)
    assert all(len(numbers(p, "step")) == 6 for p in readers)
    for w in writers:
        raw, packed = numbers(w, "raw")[0], numbers(w, "packed")[0]
        assert (raw > 0) == (operator != "none") and packed <= smaller * raw


def test_packed_steps_need_less_memory(universe):
    """Nobody reads: all steps stay in the queue, packed."""
    need("zfp")
    most = {}
    elements = 60 * 90 * 40
    for operator, settle in (("none", 0), ("zfp accuracy=1", elements * 12)):
        run = universe()
        words = (f"op={operator}", "queue=8", "steps=6", "readers=0", f"settle={settle}")
        (writer,) = run.go([1], "stage_ops", "write", "flow", *words)
        most[operator] = numbers(writer, "most")[0]
    assert most["none"] == 6 * elements * 20
    # One step as it was put, u and v of the others; what is packed is a few percent.
    assert most["zfp accuracy=1"] < elements * (20 + 5 * 9), most


def test_memory_max_holds_with_operators_and_derived_variables(universe):
    need("zstd")
    run = universe()
    block = 60 * 90 * 40
    writers, readers = cast(run, 1, 1, "zstd", write=(f"memory={block * 19}", "steps=1"))
    writers[0].ended(3)
    assert "variable 'speed'" in "\n".join(writers[0].lines), writers[0].story()
    assert "memory_max" in "\n".join(writers[0].lines)
    readers[0].ended()  # there was no step
    assert not numbers(readers[0], "step")


def broken(folder, operator):
    """A folder in which the operator's library cannot be loaded from."""
    for name in NAMES[operator]:
        (folder / name).write_text("no library")
    return {"LD_LIBRARY_PATH": str(folder)}


@pytest.mark.parametrize("operator", ["zstd", "zfp accuracy=0.1"])
def test_a_reader_without_the_library_hears_what_to_install(universe, operator, tmp_path):
    need(operator)
    name = operator.split()[0]
    run = universe()
    writers, readers = cast(run, 1, 1, operator, env=broken(tmp_path, name))
    readers[0].ended(3)
    text = "\n".join(readers[0].lines)
    assert f"stream 'flow', step 0: variable 'T': the operator {name} needs its library" in text
    assert f"apt-get install lib{name}1" in text
    run.all_end(writers)  # the reader has left


def test_a_block_that_cannot_be_undone_is_named(universe, tmp_path):
    """A library that does not undo stands for corrupted bytes."""
    need("zstd")
    cc = shutil.which("cc") or pytest.skip("no C compiler")
    source = tmp_path / "z.c"
    source.write_text(
        "#include <stddef.h>\n"
        "size_t ZSTD_compressBound(size_t n) { return n + 999; }\n"
        "size_t ZSTD_compress(void *a, size_t b, const void *c, size_t d, int e)"
        "{ (void)a; (void)b; (void)c; (void)d; (void)e; return 0; }\n"
        "size_t ZSTD_decompress(void *a, size_t b, const void *c, size_t d)"
        "{ (void)a; (void)b; (void)c; (void)d; return 7; }\n"
        "unsigned ZSTD_isError(size_t n) { (void)n; return 0; }\n"
    )
    subprocess.run([cc, "-shared", "-fPIC", "-o", tmp_path / "libzstd.so.1", source], check=True)
    run = universe()
    writers, readers = cast(run, 2, 1, "zstd", env={"LD_LIBRARY_PATH": str(tmp_path)})
    readers[0].ended(3)
    text = "\n".join(readers[0].lines)
    named = r"stream 'flow', step 0: variable '(T|speed)', block of writer [01]: the packed chunk "
    assert re.search(named, text), readers[0].story()
    assert "is corrupted: its operator cannot undo it" in text
    run.all_end(writers)


def test_wrong_calls_are_named(universe):
    universe().go([1], "stage_ops", "check", "alone")
