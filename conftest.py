# SPDX-License-Identifier: BSD-3-Clause
"""Every test here runs with the plugins suite.py, jobs.py and ways.py of tests/support."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "tests" / "support"))
pytest_plugins = ["suite", "jobs", "ways"]
