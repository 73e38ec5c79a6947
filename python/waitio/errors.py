# SPDX-License-Identifier: BSD-3-Clause
"""Errors the command shows to its user, and the search for the name they meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WaitioError(Exception):
    """Something the user can act on; `status` is the exit status of the command."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class UsageError(WaitioError):
    """The command line or the job file is wrong; nothing was started."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 2)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'X'?)" for the known name closest to `name`, or nothing."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{found[0]}'?)" if found else ""
