# SPDX-License-Identifier: BSD-3-Clause
"""Find and run the programs that belong to the C library: waitio-serv, -info, -perf, -relay."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from waitio.errors import WaitioError


def _folders() -> list[str]:
    """Return where an installation puts programs, as seen from this package and this command."""
    package = os.path.dirname(os.path.abspath(__file__))
    command = os.path.dirname(os.path.realpath(sys.argv[0])) if sys.argv and sys.argv[0] else ""
    folders = [os.path.join(package, "bin"), command]
    above = package
    for _ in range(5):
        above = os.path.dirname(above)
        folders += [os.path.join(above, "libexec", "waitio"), os.path.join(above, "bin")]
    return [folder for folder in folders if folder]


def _variable(name: str) -> str:
    """Return the variable that may name a tool's program."""
    if name == "waitio-relay":  # WAITIO_RELAY names the relays of a run
        return "WAITIO_RELAY_PROGRAM"
    return name.upper().replace("-", "_")


def find_tool(name: str) -> str | None:
    """Return the path of a tool: its variable (WAITIO_SERV ...), beside the package, PATH."""
    variable = _variable(name)
    given = os.environ.get(variable)
    if given:
        path = shutil.which(given)
        if path is None:
            raise WaitioError(f"{variable}={given}: no such program", 127)
        return path
    for folder in (*_folders(), *os.get_exec_path()):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK) and not _leads_here(path):
            return path
    return None


def _leads_here(path: str) -> bool:
    """Is it the script that pip makes for one of the functions below?"""
    try:
        with open(path, "rb") as file:
            return b"waitio.tools" in file.read(1024)
    except OSError:
        return False


def _as_command(name: str) -> int:
    try:
        return exec_tool(name, sys.argv[1:])
    except WaitioError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return error.status


def info() -> int:
    """Be the command waitio-info of an installation by pip."""
    return _as_command("waitio-info")


def perf() -> int:
    """Be the command waitio-perf of an installation by pip."""
    return _as_command("waitio-perf")


def serv() -> int:
    """Be the command waitio-serv of an installation by pip."""
    return _as_command("waitio-serv")


def relay() -> int:
    """Be the command waitio-relay of an installation by pip."""
    return _as_command("waitio-relay")


def exec_tool(name: str, words: Sequence[str]) -> int:
    """Become the tool; returns only by raising an error."""
    path = find_tool(name)
    if path is None:
        variable = _variable(name)
        raise WaitioError(
            f"'{name}' is not installed beside this command and not in PATH; build and install the"
            f" C library, or name the program in {variable}",
            127,
        )
    os.environ.pop(_variable(name), None)
    try:
        os.execv(path, [path, *words])
    except OSError as error:
        raise WaitioError(f"cannot start '{path}': {error.strerror}", 126) from None
