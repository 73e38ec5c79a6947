# SPDX-License-Identifier: BSD-3-Clause
"""Python's view of the error table."""

import textwrap

HEAD = '''# SPDX-License-Identifier: BSD-3-Clause
# Generated from spec/ by tools/gen/gen_spec.py: do not edit.
"""Codes of the library's errors: name, short text and remedy."""

from __future__ import annotations

# code: (name, message, remedy)
ERRORS: dict[int, tuple[str, str, str]] = {
'''


def _literal(text, indent):
    """The text as one string or as several that Python joins, within 100 columns."""
    room = 100 - indent - 3
    pieces = [text] if len(text) <= room else textwrap.wrap(text, room, drop_whitespace=False)
    quoted = ['"' + p.replace("\\", "\\\\").replace('"', '\\"') + '"' for p in pieces]
    return ("\n" + " " * indent).join(quoted)


def errors_module(spec):
    """python/waitio/errortable.py"""
    lines = [HEAD]
    for error in spec.errors:
        lines.append(f"    {error['code']}: (\n")
        for field in ("name", "message", "remedy"):
            lines.append(f"        {_literal(error[field], 8)},\n")
        lines.append("    ),\n")
    lines.append("}\n")
    return "".join(lines)
