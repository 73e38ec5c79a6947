# SPDX-License-Identifier: BSD-3-Clause
"""`waitio env`: export lines for blocks that go through a scheduler each by itself."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from typing import Any

from waitio.blocks import check_job_id
from waitio.errors import UsageError
from waitio.options import Option, choice, help_text, parse, whole
from waitio.ports import port_for
from waitio.routes import DIRECTORY, Route
from waitio.routes import OPTIONS as OPTIONS_OF_ROUTE
from waitio.rundir import write_secret

MASTER = ("WAITIO_MASTER_HOST", "WAITIO_MASTER_PORT")
OPTIONS = (
    Option(("--npb",), "npb", "number of blocks (required)", "N", whole(1, 1048576)),
    Option(
        ("--pbid",),
        "pbid",
        "the block to print for (default: all, one after the other)",
        "ID",
        whole(0, 1048575),
    ),
    Option(("--master-host",), "master_host", "host of the rendezvous (default: this one)", "HOST"),
    Option(
        ("--master-port", "--port"), "port", "its TCP port (default 7100)", "PORT", whole(1, 65535)
    ),
    *OPTIONS_OF_ROUTE,
    Option(
        ("--print-port",),
        "print_port",
        "print only a port that fits --job-id, outside the range\n"
        + " " * 30
        + "that the system gives to outgoing connections",
    ),
    Option(("--job-id",), "job_id", "id that the blocks of this run share", "ID"),
    Option(
        ("--secret-file",),
        "secret_file",
        "file with the job secret (default: the cookie\n" + " " * 30 + "$HOME/.waitio/cookie)",
        "FILE",
    ),
    Option(("--make-secret",), "make_secret", "make that file, mode 0600; it must not exist yet"),
    Option(
        ("--shell",),
        "shell",
        "sh, csh or fish (default: from $SHELL)",
        "SHELL",
        choice("sh", "bash", "zsh", "ksh", "dash", "csh", "tcsh", "fish"),
    ),
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio env --npb N [--pbid ID] [OPTIONS]
       waitio env --print-port --job-id ID

Print the lines that give a block its WAITIO_* variables, for job scripts:

  eval "$(waitio env --npb 2 --pbid 0 --job-id $SLURM_JOB_ID --master-host node1)"

{help_text(OPTIONS)}
"""


def shell_kind(given: str) -> str:
    """Return "sh", "csh" or "fish" for a shell's name or path."""
    name = os.path.basename(given or os.environ.get("SHELL", "sh"))
    if name in ("csh", "tcsh"):
        return "csh"
    return "fish" if name == "fish" else "sh"


def quote(value: str, kind: str) -> str:
    """Quote a value so that the shell takes it literally."""
    if "\n" in value or "\0" in value:
        raise UsageError(f"waitio env: {value!r}: a value must fit in one line")
    if kind == "fish":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    text = value.replace("'", "'\\''")
    # csh looks for history even inside quotes.
    return "'" + (text.replace("!", "\\!") if kind == "csh" else text) + "'"


def line(name: str, value: str, kind: str) -> str:
    """Return the line that sets and exports a variable."""
    word = quote(value, kind)
    if kind == "csh":
        return f"setenv {name} {word};"
    if kind == "fish":
        return f"set -gx {name} {word};"
    return f"export {name}={word};"


def no_line(name: str, kind: str) -> str:
    """Return the line that takes a variable away, whether it is set or not."""
    return {"csh": f"unsetenv {name};", "fish": f"set -e {name};"}.get(kind, f"unset {name};")


def variables(values: dict[str, Any], pbid: int) -> dict[str, str]:
    """Return the variables of one block."""
    route = values.get("route", "auto")
    result = {}
    if route != "auto":
        scratch = values.get("scratch") or os.environ.get(DIRECTORY, ".")
        result.update(Route(route, os.path.abspath(scratch)).variables())
    if route != "file":
        host = values.get("master_host") or socket.gethostname()
        result.update(zip(MASTER, (host, str(values.get("port", 7100)))))
    result["WAITIO_NPB"] = str(values["npb"])
    result["WAITIO_PBID"] = str(pbid)
    if "job_id" in values:
        result["WAITIO_JOB_ID"] = values["job_id"]
    if "secret_file" in values:
        result["WAITIO_SECRET_FILE"] = os.path.abspath(values["secret_file"])
    return result


def render(values: dict[str, Any]) -> str:
    """Return the text for one block, or for all with a comment before each."""
    kind = shell_kind(values.get("shell", ""))
    one = "pbid" in values
    lines: list[str] = []
    for pbid in [values["pbid"]] if one else range(values["npb"]):
        if not one:
            lines.append(f"# block {pbid}")
        if values.get("route") == "file":  # set in the job's script, they would be used
            lines += [no_line(name, kind) for name in MASTER]
        lines += [line(name, value, kind) for name, value in variables(values, pbid).items()]
    return "\n".join(lines) + "\n"


def _print_port(values: dict[str, Any]) -> int:
    if not values.get("job_id"):
        raise UsageError("waitio env: --print-port needs --job-id ID, from which the port is made")
    check_job_id(values["job_id"])
    sys.stdout.write(f"{port_for(values['job_id'])}\n")
    return 0


def _check_route(values: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    route = values.get("route", "auto")
    if "scratch" in values and route == "auto":
        raise UsageError("waitio env: --scratch needs --route file or hybrid")
    for key, option in (("master_host", "--master-host"), ("port", "--master-port")):
        if route == "file" and key in values:
            raise UsageError(
                f"waitio env: {option} and --route file: over files the blocks meet in the"
                " directory, without any connection; leave one of the two out"
            )


def main(words: Sequence[str]) -> int:
    """Run `waitio env`."""
    values, rest = parse(words, OPTIONS, "waitio env")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if rest:
        raise UsageError(f"waitio env: what is '{rest[0]}' for? (waitio env --help)")
    if values.get("print_port"):
        return _print_port(values)
    if "npb" not in values:
        raise UsageError("waitio env: --npb N is needed: how many blocks has the run?")
    if values.get("pbid", 0) >= values["npb"]:
        raise UsageError(
            f"waitio env: --pbid {values['pbid']}: with --npb {values['npb']} the ids are 0 to"
            f" {values['npb'] - 1}"
        )
    if values.get("job_id") == "":
        raise UsageError("waitio env: --job-id is empty; is the variable behind it set?")
    check_job_id(values.get("job_id", ""))
    if values.get("make_secret") and "secret_file" not in values:
        raise UsageError("waitio env: --make-secret needs --secret-file FILE")
    _check_route(values)
    text = render(values)
    if values.get("make_secret"):
        write_secret(values["secret_file"])
    sys.stdout.write(text)
    return 0
