# SPDX-License-Identifier: BSD-3-Clause
"""Events of traces: numbers for C, names for `waitio trace`, the reference page."""

import re

from tables import SpecError

from emit.c_files import comment, head
from emit.docs import page, rst

NAMED = ("wait", "life", "flag", "state", "collective")


def _check(table):
    codes = [row["code"] for row in table["event"]]
    if codes != list(range(1, len(codes) + 1)):
        raise SpecError(f"trace: the codes of events are {codes}, not 1, 2, ...")
    for row in table["event"]:
        if not re.fullmatch("[a-z_]+", row["name"]):
            raise SpecError(f"trace event {row['name']}: the name must be small letters")


def _values(table, kind):
    """What the rows of a table are in the files (flags are bits), in C, and for people."""
    for number, row in enumerate(table[kind]):
        value = 1 << number if kind == "flag" else number
        yield value, row["name"].upper(), row.get("text", row["name"])


def header(table):
    """src/base/timeline_gen.h"""
    _check(table)
    out = [head("trace.toml")]
    out.append(
        "/** @file timeline_gen.h  The numbers in records of traces. */\n"
        "#ifndef WIO_TIMELINE_GEN_H\n#define WIO_TIMELINE_GEN_H\n\nenum wio_event_kind {\n"
    )
    for row in table["event"]:
        out.append(comment(row["doc"], "    "))
        out.append(f"    WIO_EVENT_{row['name'].upper()} = {row['code']},\n")
    out.append("};\n")
    for kind in NAMED:
        out.append(f"\nenum wio_event_{kind} {{\n")
        for value, name, _ in _values(table, kind):
            out.append(f"    WIO_EVENT_{kind.upper()}_{name} = {value},\n")
        out.append("};\n")
    out.append("\n#endif\n")
    return "".join(out)


def module(table):
    """python/waitio/traceevents.py"""
    out = [
        "# SPDX-License-Identifier: BSD-3-Clause\n"
        "# Generated from spec/ by tools/gen/gen_spec.py: do not edit.\n"
        '"""Numbers and names in traces."""\n\n'
        "from __future__ import annotations\n\n"
    ]
    for row in table["event"]:
        out.append(f"{row['name'].upper()} = {row['code']}\n")
    for kind in NAMED:
        out.append(f"\n{kind.upper()}_TEXT: dict[int, str] = {{\n")
        for value, _, text in _values(table, kind):
            out.append(f'    {value}: "{text}",\n')
        out.append("}\n")
    return "".join(out)


def reference(table):
    """docs/reference/trace.rst"""
    out = [
        page(
            "Events of traces",
            "trace.toml",
            "What the files of ``WAITIO_TRACE`` contain; ``waitio trace`` reads them. Each is a\n"
            "head of 4096 bytes and records of 64 bytes in the byte order of its machine.",
        ),
        ".. list-table::\n   :header-rows: 1\n   :widths: 8 20 72\n\n",
        "   * - Kind\n     - Name\n     - Meaning\n",
    ]
    for row in table["event"]:
        out.append(f"   * - {row['code']}\n     - ``{row['name']}``\n     - {rst(row['doc'])}\n")
    for kind in NAMED:
        out.append(f"\n{kind}:\n\n")
        out.extend(f"* {value}: {text}\n" for value, _, text in _values(table, kind))
    return "".join(out)
