# SPDX-License-Identifier: BSD-3-Clause
"""The rows of tests/guards*.toml: a guard of the library, and the tests that fail without it.

Python 3.9 or later; below 3.11 the package tomli is needed.
"""

import pathlib
import re

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load():
    rows = []
    for path in sorted((ROOT / "tests").glob("guards*.toml")):
        rows += tomllib.loads(path.read_text())["guard"]
    return rows


def parts_of(entry):
    """(kind, place, words) of "ctest REGEX" or "pytest [FOLDER or FILE] WORDS".

    The words are those of pytest's -k, without brackets; the place is tests/system if not said.
    """
    kind, _, words = entry.partition(" ")
    place = "tests/system"
    if kind == "pytest" and "/" in words.partition(" ")[0]:
        place, _, words = words.partition(" ")
    return kind, place, words


def named_by(entry, names):
    """The tests that an entry of a row means. @param names  all, as CTest and pytest give them"""
    kind, place, words = parts_of(entry)
    if kind == "ctest":
        return [name for name in names if "::" not in name and re.search(words, name)]
    if kind != "pytest":  # a static assertion: the build shows it
        return []

    def has(name, term):
        word = term.removeprefix("not ")
        return (word.lower() in name.lower()) == (word == term)

    return [
        name
        for name in names
        if name.startswith(place)
        and any(all(has(name, t) for t in c.split(" and ")) for c in words.split(" or "))
    ]
