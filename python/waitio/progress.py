# SPDX-License-Identifier: BSD-3-Clause
"""`--progress`: how far each component of a coupled run is in model time.

The first process of each component keeps a line in a file of the run's folder
(src/coupler/sight.c). On a terminal one line is kept up to date below the output; elsewhere a line
is written now and again.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sys
import time

# Seconds between two looks, on a terminal and elsewhere.
LIVE, PLAIN = 0.5, 10.0
HOUR, DAY = 3600, 86400


def model_time(seconds: int) -> str:
    """Return "12 d 03:00:00"."""
    days, rest = divmod(seconds, DAY)
    clock = f"{rest // HOUR:02d}:{rest % HOUR // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


def read(folder: str) -> dict[str, tuple[int, int]]:
    """Return (model time, number of the step) by component, by name."""
    found = {}
    for path in glob.glob(os.path.join(glob.escape(folder), "cpl.*")):
        if not re.fullmatch(r"cpl\.\d+", os.path.basename(path)):
            continue
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            match = re.fullmatch(r"(\d+) (\d+) (.+)\n", file.read())
            if match:
                found[match[3]] = (int(match[1]), int(match[2]))
    return dict(sorted(found.items()))


class Progress:
    """The display of one run."""

    def __init__(self, folder: str) -> None:
        """Look at the terminal; nothing is shown before a component has begun."""
        self.folder = folder
        self.live = os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        self.pause = LIVE if self.live else PLAIN
        self.next = time.monotonic() + self.pause
        self._last = ""
        self._drawn = False

    def _line(self) -> str:
        components = read(self.folder).items()
        parts = [f"{name} {model_time(at)} (step {step})" for name, (at, step) in components]
        return ", ".join(parts)

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def tick(self, now: float) -> None:
        """Show it if it is time."""
        if now < self.next:
            return
        self.next = now + self.pause
        line = self._line()
        if not line:
            return
        if self.live:
            width = 0
            with contextlib.suppress(OSError):
                width = os.get_terminal_size(2).columns
            line = line[: width - 1] if width > 1 else line  # 0: it does not say
            self._write(f"\r\x1b[K{line}")
            self._drawn = True
        elif line != self._last:
            self._write(f"waitio run: model time: {line}\n")
        self._last = line

    def clear(self) -> None:
        """Other output comes: take the line away; the next look brings it back."""
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def end(self) -> None:
        """Say how far all came."""
        self.clear()
        line = self._line()
        if line:
            self._write(f"waitio run: model time at the end: {line}\n")
