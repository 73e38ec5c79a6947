# SPDX-License-Identifier: BSD-3-Clause
"""Who ended how and when, as a table."""

from __future__ import annotations

import signal
from collections.abc import Sequence


def signal_name(number: int) -> str:
    """Return "SIGTERM" for 15; a number without a name stays a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def how(status: int) -> str:
    """Describe an exit status in the shell's convention (128 + signal)."""
    if status == 0:
        return "ok"
    if 128 < status < 128 + 65:
        return f"exit status {status} ({signal_name(status - 128)})"
    return f"exit status {status}"


def table(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> list[str]:
    """Align rows in columns; those listed in `right` to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
