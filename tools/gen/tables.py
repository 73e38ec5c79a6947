# SPDX-License-Identifier: BSD-3-Clause
"""Read and validate the tables in spec/."""

import os
import re

try:
    import tomllib
except ImportError:  # Python below 3.11
    import tomli as tomllib

CONFIG_TYPES = ("int", "size", "seconds", "bool", "enum", "string")
COUNTER_KINDS = ("counter", "gauge", "max")
COUNTER_UNITS = ("msgs", "bytes", "events", "peers")
SUFFIXES = {"K": 10, "M": 20, "G": 30, "T": 40}


class SpecError(Exception):
    """A table breaks a rule; the text names the row."""


class Spec:
    """The three tables: errors, variables (config) and counters, each a list of dicts."""

    def __init__(self, errors, variables, counters):
        self.errors = errors
        self.variables = variables
        self.counters = counters


def load_spec(folder):
    spec = Spec(
        load(folder, "errors.toml", "error"),
        load(folder, "config.toml", "var"),
        load(folder, "counters.toml", "counter"),
    )
    for row in spec.errors:
        check_error(row)
    for row in spec.variables:
        check_variable(row)
    for row in spec.counters:
        check_counter(row)
    unique(spec.errors, "name")
    unique(spec.errors, "code")
    unique(spec.variables, "name")
    unique(spec.variables, "field")
    unique(spec.counters, "name")
    return spec


def load_table(folder, name):
    with open(os.path.join(folder, name), "rb") as handle:
        return tomllib.load(handle)


def load(folder, name, key):
    return load_table(folder, name)[key]


def need(row, what, *fields):
    for field in fields:
        if field not in row:
            raise SpecError(f"{what} {row.get('name', row)}: '{field}' is missing")


def unique(rows, field):
    seen = set()
    for row in rows:
        if row[field] in seen:
            raise SpecError(f"{field} {row[field]} appears twice")
        seen.add(row[field])


def check_error(row):
    need(row, "error", "name", "code", "message", "remedy")
    if not re.fullmatch(r"[A-Z][A-Z0-9]*", row["name"]):
        raise SpecError(f"error {row['name']}: the name must be capitals and digits")
    if len("WAITIO_ERR_" + row["name"]) > 31:
        raise SpecError(f"error {row['name']}: longer than the 31 characters of Fortran 90")
    if not -999 <= row["code"] <= -1:
        raise SpecError(f"error {row['name']}: code {row['code']} is not in -999 .. -1")


def parse_size(text):
    text = text.upper()
    return int(text[:-1]) << SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text)


def check_variable(row):
    need(row, "variable", "name", "field", "type", "default", "since", "doc")
    name = row["name"]
    if not re.fullmatch(r"WAITIO_[A-Z0-9_]+", name):
        raise SpecError(f"variable {name}: not a WAITIO_ name")
    if row["type"] not in CONFIG_TYPES:
        raise SpecError(f"variable {name}: type {row['type']} is none of {CONFIG_TYPES}")
    if row["type"] == "enum" and row["default"] not in row.get("values", []):
        raise SpecError(f"variable {name}: default {row['default']} is none of its values")
    if row["type"] == "bool" and row["default"] not in ("0", "1"):
        raise SpecError(f"variable {name}: default of a bool is 0 or 1")
    if row["type"] in ("int", "seconds"):
        float(row["default"])
    if row["type"] == "size":
        parse_size(row["default"])


def check_counter(row):
    need(row, "counter", "name", "unit", "kind", "doc")
    if row["kind"] not in COUNTER_KINDS or row["unit"] not in COUNTER_UNITS:
        raise SpecError(f"counter {row['name']}: kind {row['kind']} or unit {row['unit']} unknown")


def is_unset(row):
    """Whether the default means "not set" rather than a value."""
    return row["default"] == "" or (
        row["type"] in ("int", "seconds") and row["default"] == "-1" and row.get("min", -1) >= 0
    )


def range_text(row):
    """The accepted values in words, as documentation and error messages say it."""
    kind = row["type"]
    if kind == "enum":
        return ", ".join(row["values"])
    if kind == "bool":
        return "0 or 1"
    if kind == "string":
        return "text of at most 511 bytes"
    unit = {"int": "", "size": " bytes", "seconds": " seconds"}[kind]
    low, high = row.get("min"), row.get("max")
    zero = ", or 0" if row["default"] == "0" and low is not None and low > 0 else ""
    if low is not None and high is not None:
        return f"{low} to {high}{unit}{zero}"
    if low is not None:
        return f"at least {low}{unit}{zero}"
    if high is not None:
        return f"at most {high}{unit}"
    return "a number" + unit
