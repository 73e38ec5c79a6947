# SPDX-License-Identifier: BSD-3-Clause
"""bench/hybrid.py runs, and its tables have what they promise."""

import os
import re
import shutil
import subprocess
import sys

import pytest


def bench(source_dir, build_dir, patient, *words):
    for mpi in ("openmpi", "mpich"):
        if not (build_dir / "lib" / f"libwaitio_hybrid_{mpi}.so").exists():
            pytest.skip(f"libwaitio_hybrid_{mpi} is not built")
        if shutil.which(f"mpiexec.{mpi}") is None:
            pytest.skip(f"no mpiexec.{mpi}")
    if not (build_dir / "bench" / "bench_coll").exists():
        pytest.skip("the benchmarks are not built")
    line = [sys.executable, str(source_dir / "bench" / "hybrid.py"), "--build", str(build_dir)]
    line += ["--rounds", "1", "--ms", "1", "--procs", "1", "--sizes", "8", "--ops", "bcast", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=patient(120), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_block_against_its_mpi(source_dir, build_dir, patient):
    out = bench(source_dir, build_dir, patient, "--inside")
    for mpi in ("Open MPI", "MPICH"):
        assert f"| operation | {mpi} | hybrid | as chosen |" in out
    assert len(re.findall(r"(?m)^\| bcast, 8 B \| [\d.]+ \ws", out)) == 2, out


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_two_blocks_in_two_namespaces(source_dir, build_dir, patient):
    if shutil.which("ip") is None:
        pytest.skip("no ip command")
    out = bench(source_dir, build_dir, patient)
    assert "| operation | sum | hybrid | messages | bt over TCP |" in out
    assert re.search(r"(?m)^\| bcast, 8 B \|( [\d.]+ \ws[^|]*\|){4}$", out), out
