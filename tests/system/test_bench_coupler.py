# SPDX-License-Identifier: BSD-3-Clause
"""bench/coupler.py runs, and its tables have what they promise."""

import re
import subprocess
import sys

import pytest


def bench(source_dir, build_dir, patient, *words):
    if not (build_dir / "bench" / "bench_coupler").exists():
        pytest.skip("the benchmarks are not built")
    line = [sys.executable, str(source_dir / "bench" / "coupler.py"), "--build", str(build_dir)]
    line += ["--rounds", "1", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=patient(120), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_windows_against_raw_bytes(source_dir, build_dir, patient):
    out = bench(source_dir, build_dir, patient, "--windows", "100", "--bare", "--scatter")
    assert out.count("| nearest | four entries | bare messages |") == 2
    assert len(re.findall(r"(?m)^\| 100 numbers \|( [^|]* us[^|]*\|){6,7}$", out)) == 2, out


def test_setup_and_start(source_dir, build_dir, patient):
    out = bench(source_dir, build_dir, patient, "--setup", "--points", "200")
    assert re.search(r"(?m)^\| 16 \+ 16 \| 200 \|( [\d.]+ [um]s [^|]*\|){2}$", out), out
