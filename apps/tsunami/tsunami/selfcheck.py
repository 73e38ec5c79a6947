# SPDX-License-Identifier: BSD-3-Clause
"""The course of a demonstration that is a test: results, checks, report, exit status. apps/climate
and apps/flow run so."""

import dataclasses
import pathlib
import sys
import time

from tsunami.launch import DemoError


@dataclasses.dataclass
class Check:
    """Something that must hold: a value of at most limit."""

    text: str
    value: float
    limit: float

    @property
    def good(self):
        return self.value <= self.limit  # not so for nan


def run(name, folder, results_of, write=None):
    """Get results, judge them, write the report unless there is no `write`; returns the status.

    results_of(folder) starts the programs, or raises DemoError; write(results, checks) returns the
    path of the report."""
    began = time.monotonic()
    home = pathlib.Path(folder).resolve()
    home.mkdir(parents=True, exist_ok=True)
    try:
        results = results_of(home)
    except DemoError as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    found = results.checks()
    for check in found:
        word = "ok  " if check.good else "FAIL"
        print(f"{word} {check.text}: {check.value:.2g} of {check.limit:g}")
    if write:
        path = write(results, found)
        print(f"report: {path}  (after {time.monotonic() - began:.0f} s)")
    return 0 if all(check.good for check in found) else 1
