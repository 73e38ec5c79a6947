# SPDX-License-Identifier: BSD-3-Clause
"""bench/coll.py and bench/heat3d.py: small runs of every kind give well-formed results."""

import json
import shutil
import subprocess
import sys

import pytest

HAVE_MPI = shutil.which("mpicc.openmpi") and shutil.which("mpiexec.openmpi")


def run(source_dir, build_dir, script, out, *words):
    command = [sys.executable, str(source_dir / "bench" / script), "--build", str(build_dir)]
    done = subprocess.run(
        [*command, "--rounds", "1", "--json", str(out), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())


@pytest.fixture
def coll(source_dir, build_dir, tmp_path):
    if not (build_dir / "bench" / "bench_coll").exists():
        pytest.skip("the benchmark programs are not built (WAITIO_BENCH)")
    return lambda *words: run(
        source_dir, build_dir, "coll.py", tmp_path / "r.json", "--ms", "1", *words
    )


def keys(rows):
    return [(r["op"], r["bytes"]) for r in rows]


def test_against_open_mpi(coll):
    out, data = coll("--procs", "2", "--ops", "barrier,bcast,alltoall,hub", "--sizes", "8,4096")
    (found,) = data["2"]
    assert set(found) == {"WaitIO", "Open MPI"} if HAVE_MPI else {"WaitIO"}
    for rows in found.values():
        assert keys(rows) == [("barrier", 0)] + [
            (op, n) for op in ("bcast", "alltoall", "hub") for n in (8, 4096)
        ]
        assert all(1e-8 < r["value"] < 1 for r in rows)
    assert "| bcast, 4 KiB | " in out


def test_against_the_papers_algorithms(coll):
    _, data = coll("--papers")
    (found,) = data["8"]
    assert set(found) == {"WaitIO", "2l over TCP", "bt over TCP", "bare counters"}
    for rows in found.values():
        assert keys(rows) == [("bcast", 8), ("reduce", 8), ("allreduce", 8)]
        assert all(1e-8 < r["value"] < 1 for r in rows)


def test_operations_apart(coll):
    """The bare counters have no barrier behind each of theirs: they are left out."""
    _, data = coll("--papers", "--apart", "--root", "0", "--ops", "reduce")
    (found,) = data["8"]
    assert set(found) == {"WaitIO", "2l over TCP", "bt over TCP"}
    assert all(1e-8 < r["value"] < 1 for rows in found.values() for r in rows)


def test_every_row_of_the_table(coll):
    out, data = coll("--rows", "--procs", "4", "--ops", "reduce", "--sizes", "200000")
    (found,) = data["reduce 4"]
    assert {"auto", "trees", "pb", "linear", "2l", "bt"} <= set(found)
    assert "reduce, 4 processes" in out


def test_heat3d(source_dir, build_dir, tmp_path):
    if not ((build_dir / "bin" / "heat3d_openmpi").exists() and HAVE_MPI):
        pytest.skip("heat3d was not built with Open MPI")
    out, data = run(source_dir, build_dir, "heat3d.py", tmp_path / "h.json", "--cells", "6")
    (found,) = data["6"]
    assert found["WaitIO"]["iterations"] == found["Open MPI"]["iterations"] > 1
    assert "| 6³ | solver | " in out
