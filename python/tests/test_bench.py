# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark of the Python package runs and prints what it says; figures are not judged here."""

import json
import sys

import pytest
from surroundings import clean


def test_comparison_with_c(site, source, helpers, build_dir, tmp_path):
    if not (build_dir / "bench" / "bench_pt2pt").exists():
        pytest.skip("the benchmark programs are not built (WAITIO_BENCH)")
    words = ["--build", build_dir, "--rounds", 1, "--scale", 500, "--max", 65536, "--type", "shm"]
    words += ["--json", tmp_path / "out.json"]
    script = source / "bench" / "compare.py"
    out = helpers.command(sys.executable, script, *words, env=clean(PYTHONPATH=site))
    assert "us more than C" in out
    found = json.loads((tmp_path / "out.json").read_text())["shm"]
    for way in ("C", "Python", "objects"):
        sizes = [row["bytes"] for row in found[way] if row["metric"] == "half_rtt"]
        assert sizes == [8, 256, 1024, 2048, 4096, 5120, 8192, 16384, 65536], way
        assert all(row["value"] > 0 for row in found[way])
