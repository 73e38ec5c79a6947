# SPDX-License-Identifier: BSD-3-Clause
"""The results of `waitio perf` and `waitio iotest`: kept in a file, taken from it, drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from waitio.errors import UsageError, WaitioError
from waitio.options import Option

RESULT_OPTIONS = (
    Option(("--json",), "json", "write the results there", "FILE"),
    Option(
        ("--plot",), "plot", "draw them (by its name: .png, .svg, .pdf); needs matplotlib", "FILE"
    ),
    Option(("--from",), "load", "measure nothing: take the results of an earlier --json", "FILE"),
    Option(("-h", "--help"), "help", "show this text"),
)

Row = dict[str, Any]


@dataclass(frozen=True)
class ResultFile:
    """The JSON files of one subcommand, and what draws them."""

    where: str
    head: dict[str, Any]  # begins a file; its first entry, the format, must be the same
    rows: str  # the entry that has the results
    check: Callable[[str], None]  # refuses what could not be drawn
    draw: Callable[[Sequence[Row], str], None]

    def load(self, path: str) -> list[Row]:
        """Read the results of an earlier --json."""
        mark, number = next(iter(self.head.items()))
        try:
            with open(path, encoding="utf-8") as handle:
                data = json.load(handle)
            rows = data[self.rows]
            if data[mark] != number or not isinstance(rows, list):
                raise ValueError("another format")
            return rows
        except OSError as error:
            raise WaitioError(f"--from '{path}': {error.strerror}") from None
        except (ValueError, LookupError, TypeError):
            text = f"--from '{path}': not a file that {self.where} --json wrote"
            raise WaitioError(text) from None

    def save(self, path: str, rows: Sequence[Row]) -> None:
        """Write the results for a later --from."""
        try:
            with open(path, "w", encoding="utf-8") as handle:
                json.dump({**self.head, self.rows: rows}, handle, indent=1)
                handle.write("\n")
        except OSError as error:
            raise WaitioError(f"--json '{path}': {error.strerror}") from None

    def serve(
        self, values: dict[str, Any], measure: Callable[[dict[str, Any]], tuple[int, list[Row]]]
    ) -> int:
        """Measure, or take what was measured, as the options say; keep and draw it.

        Returns the exit status.
        """
        if "plot" in values:
            self.check(values["plot"])
        if "load" in values:
            if "plot" not in values:
                raise UsageError(f"{self.where}: --from FILE draws with --plot FILE: say where to")
            status, rows = 0, self.load(values["load"])
        else:
            status, rows = measure(values)
        if "json" in values and rows:
            self.save(values["json"], rows)
        if "plot" in values and rows:
            self.draw(rows, values["plot"])
        return status
