# SPDX-License-Identifier: BSD-3-Clause
"""`waitio ls`: what a stream has."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from waitio import stagetool
from waitio.errors import WaitioError
from waitio.options import Option, help_text
from waitio.summary import table

if TYPE_CHECKING:
    from waitio.stage import Step, Variable

WHERE = "waitio ls"
OPTIONS = (
    Option(("-l", "--long"), "long", "with the least and the largest value; reads all data"),
    Option(("-b", "--blocks"), "blocks", "with the blocks, and which writer has put them"),
    Option(("-a", "--all"), "all", "follow the stream to its end, show what changes"),
    Option(("--steps",), "steps", "only these: 3, 2:5 (2, 3, 4), 2:", "A:B", stagetool.steps),
    Option(("--json",), "json", "a JSON object in a line for each step"),
    stagetool.LIMIT,
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio ls STREAM [OPTIONS]

A block of a run that shows what a stream has: arrays with types and shapes, values, attributes.
It looks at one step, and leaves; with --all it stays to the end.

  waitio run ./flow : ./analysis : waitio ls flow

Like every reader it counts as one that the writers wait for (readers=). A step that is looked at is
kept meanwhile. When it fails, its status is 1, which ends a run without --keep-going.

{help_text(OPTIONS)}
"""


def described(step: Step, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a step has, as JSON has it."""
    variables = {}
    for name in step:
        value = step[name]
        variables[name] = _array(value, values) if hasattr(value, "blocks") else _value(value)
    attributes = {
        name: value if isinstance(value, str) else value.tolist()
        for name, value in step.attributes.items()
    }
    return {"step": step.number, "variables": variables, "attributes": attributes}


def _value(value: Any) -> dict[str, Any]:
    kind = "string" if isinstance(value, str) else str(value.dtype)
    plain = value if isinstance(value, str) else value.item()
    return {"kind": "scalar", "type": kind, "value": plain}


def _array(variable: Variable, values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": variable.kind, "type": str(variable.dtype)}
    if variable.kind == "global":
        found["shape"] = list(variable.shape)
    places = [variable.where(i) for i in range(variable.blocks)]
    found["blocks"] = variable.blocks
    if values.get("blocks"):
        found["places"] = [
            {"writer": writer, "start": list(start), "count": list(count)}
            for writer, start, count in places
        ]
    if values.get("long"):
        extent = stagetool.whole_extent(variable)
        found["least"], found["largest"] = extent or (None, None)
    return found


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    if found["kind"] == "scalar":
        value = found["value"]
        return found["type"], name, "", f"= {json.dumps(value, ensure_ascii=False, default=str)}"
    number = found["blocks"]
    many = f"{number} block{'s' if number != 1 else ''}"
    shape = stagetool.shape_text(found["shape"]) if "shape" in found else "local"
    if found.get("least") is not None:
        many += f", {found['least']:.6g} ... {found['largest']:.6g}"
    return found["type"], name, shape, many


def _places(found: Mapping[str, Any]) -> list[str]:
    lines = []
    for number, place in enumerate(found.get("places", ())):
        ends = ", ".join(f"{a}:{a + n}" for a, n in zip(place["start"], place["count"]))
        where = f"shape {stagetool.shape_text(place['count'])}"
        where = where if found["kind"] == "local" else f"[{ends}]"
        lines.append(f"      block {number}: writer {place['writer']}, {where}")
    return lines


def _news(found: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a step has that `known`, one before it, had not, or otherwise."""
    before = {name: _stable(v) for name, v in known["variables"].items()}
    told = known["attributes"]
    return {
        "variables": {
            name: v for name, v in found["variables"].items() if _stable(v) != before.get(name)
        },
        "attributes": {
            name: value
            for name, value in found["attributes"].items()
            if name not in told or told[name] != value
        },
        "gone": [name for name in before if name not in found["variables"]],
    }


def shown(stream: str, found: Mapping[str, Any], known: Mapping[str, Any] | None) -> list[str]:
    """Return the lines of a step; of a later one only what differs from `known`."""
    news = found if known is None else _news(found, known)
    rows = [_row(name, v) for name, v in news["variables"].items()]
    lines = []
    for text, value in zip(table(rows) if rows else [], news["variables"].values()):
        lines += ["  " + text, *_places(value)]
    for name, value in news["attributes"].items():
        lines.append(f"  attribute {name} = {json.dumps(value, ensure_ascii=False, default=str)}")
    lines += [f"  {name} is not there any more" for name in news.get("gone", ())]
    first = known is None
    return [f"stream '{stream}', step {found['step']}", *lines] if lines or first else []


def _stable(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Leave out what differs in each step."""
    return {k: v for k, v in (found or {}).items() if k not in ("value", "least", "largest")}


def _look(stream: str, values: Mapping[str, Any]) -> int:
    known: dict[str, Any] | None = None
    number = 0
    follow = "all" in values or "steps" in values
    with stagetool.reader(stream, dict(values)) as flow:
        for step in flow:
            number += 1
            found = described(step, values)
            if "json" in values:
                lines = [json.dumps(found, ensure_ascii=False, default=str)]
            else:
                lines = shown(stream, found, None if "long" in values else known)
            flow.end_step()
            sys.stdout.write("".join(line + "\n" for line in lines))
            sys.stdout.flush()
            known = found
            if not follow:
                return 0
    if known is None:
        raise WaitioError(f"{WHERE}: stream '{stream}' has ended without a step that was asked for")
    if "json" not in values:
        sys.stdout.write(f"stream '{stream}' has ended: {number} steps, to step {known['step']}\n")
    return 0


def main(words: Sequence[str]) -> int:
    """Run the subcommand; return its exit status."""
    return stagetool.command(words, OPTIONS, WHERE, HELP, _look)
