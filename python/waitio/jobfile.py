# SPDX-License-Identifier: BSD-3-Clause
"""Job files: a run described in TOML, read strictly.

Every unknown key, wrong type and value out of range is named with its place in the file.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import Any, Callable

from waitio.blocks import FLAVOURS, MAX_PROCS, Block, check_name
from waitio.errors import UsageError, nearest
from waitio.options import seconds

Check = Callable[[Any], Any]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string is needed")
    if "\0" in value:
        raise ValueError("a string cannot hold a zero byte")
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")
    return value


def _count(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("a whole number is needed")
        if not low <= value <= high:
            raise ValueError(f"it must lie between {low} and {high}")
        return int(value)

    return check


def _duration(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError('a number of seconds or a string like "10m" is needed')
    return seconds(value if isinstance(value, str) else repr(value))


def _one_of(*known: str) -> Check:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"known are {', '.join(known)}{nearest(str(value), known)}")
        return str(value)

    return check


def _words(value: Any) -> list[str]:
    """Accept a list of strings, or one string in shell notation."""
    if isinstance(value, str):
        value = shlex.split(value)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError("a list of strings (or one string) is needed")
    if any("\0" in word for word in value):
        raise ValueError("a word cannot hold a zero byte")
    return value


def _command(value: Any) -> list[str]:
    words = _words(value)
    if not words or not words[0]:
        raise ValueError("it names no program")
    return words


def _hosts(value: Any) -> list[str]:
    hosts = value.split(",") if isinstance(value, str) else _words(value)
    hosts = [host.strip() for host in hosts]
    if not all(hosts) or any(host.startswith("-") or " " in host for host in hosts):
        raise ValueError("host names are needed")
    return hosts


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError('a table is needed, as in env = { NAME = "value" }')
    result = {}
    for name, item in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"'{name}' cannot name an environment variable")
        if isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise ValueError(f"the value of {name} must be a string or a number")
        result[name] = _text(str(item))
    return result


def _name(value: Any) -> str:
    return check_name(_text(value))


RUN_KEYS: dict[str, Check] = {
    "keep_going": _switch,
    "grace": _duration,
    "timeout": _duration,
    "output": _text,
    "tee": _switch,
    "color": _one_of("auto", "always", "never"),
    "summary": _switch,
    "progress": _switch,
    "stdin": _text,
    "master_host": _text,
    "master_port": _count(1, 65535),
    "job_id": _text,
    "rendezvous": _one_of("auto", "serv", "embedded"),
    "route": _one_of("auto", "file", "hybrid"),
    "scratch": _text,
    "resume": _switch,
    "tagging": _one_of("auto", "direct", "launcher", "none"),
    "span": _switch,
    "env": _variables,
}

BLOCK_KEYS: dict[str, Check] = {
    "command": _command,
    "name": _name,
    "n": _count(1, MAX_PROCS),
    "mpi": _one_of(*FLAVOURS),
    "launcher": _text,
    "mpiexec": _text,
    "mpi_args": _words,
    "env": _variables,
    "wdir": _text,
    "hosts": _hosts,
}


def _parse(path: str) -> dict[str, Any]:
    try:
        import tomllib as toml
    except ImportError:
        try:
            import tomli as toml  # type: ignore[no-redef,import-not-found,unused-ignore]
        except ImportError:
            raise UsageError(
                f"{path}: reading a job file needs Python 3.11, or the package tomli"
                " (python3 -m pip install --user tomli)"
            ) from None
    try:
        with open(path, "rb") as file:
            return dict(toml.load(file))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None


def _table(where: str, table: Any, keys: dict[str, Check]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: a table is needed")
    result = {}
    for key, value in table.items():
        if key not in keys:
            raise UsageError(f"{where}: unknown key '{key}'{nearest(key, keys)}")
        try:
            result[key] = keys[key](value)
        except ValueError as error:
            raise UsageError(f"{where}: {key} = {value!r}: {error}") from None
    return result


def _blocks(path: str, tables: Any, common_env: dict[str, str]) -> list[Block]:
    if not isinstance(tables, list) or not tables:
        raise UsageError(f"{path}: no [[block]]: every block of the run is one such table")
    blocks = []
    folder = os.path.dirname(os.path.abspath(path))
    for number, table in enumerate(tables):
        where = f"{path}: block {number}"
        values = _table(where, table, BLOCK_KEYS)
        if "command" not in values:
            raise UsageError(f"{where}: 'command' is missing")
        # Relative folders count from the job file, so that it runs from anywhere.
        values["wdir"] = os.path.join(folder, values.get("wdir", ""))
        values["env"] = {**common_env, **values.get("env", {})}
        blocks.append(Block(**values))
    return blocks


def load(path: str) -> tuple[list[Block], dict[str, Any]]:
    """Read a job file; return its blocks and the settings of the run it gives."""
    table = _parse(path)
    for key in table:
        if key not in ("run", "block"):
            raise UsageError(f"{path}: unknown table '{key}'{nearest(key, ('run', 'block'))}")
    settings = _table(f"{path}: [run]", table.get("run", {}), RUN_KEYS)
    common_env = settings.pop("env", {})
    if settings.get("scratch"):  # a folder, as wdir
        settings["scratch"] = os.path.join(os.path.dirname(path), settings["scratch"])
    return _blocks(path, table.get("block"), common_env), settings
