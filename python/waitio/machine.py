# SPDX-License-Identifier: BSD-3-Clause
"""What machine this is: figures mean little without it."""

from __future__ import annotations

import os
import platform
import re


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor and how many of it this process may use."""
    name = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
            name = found[1].strip() if found else ""
    except OSError:
        pass
    return f"{name or platform.machine() or 'unknown processor'}, {cores()} processors"
