# SPDX-License-Identifier: BSD-3-Clause
"""The record of a run of pytest: one JSON object a line, written by suite.py."""

import json
import os


def read(path):
    """What a record says: {test: [lines of it]}, in order."""
    found = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    row = json.loads(line)
                except ValueError:  # the run died while it wrote
                    continue
                found.setdefault(row["test"], []).append(row)
    return found
