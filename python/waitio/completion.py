# SPDX-License-Identifier: BSD-3-Clause
"""`waitio completion SHELL`: what makes a shell complete the command's words.

The scripts ask `waitio completion --words N -- WORDS...` for candidates, so that they never have to
be made again. Options are those of the help texts; where there is none to offer the shell's own
completion (files, programs) takes over.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

from waitio import cplcmd, stagecmd
from waitio.commands import LATE
from waitio.errors import UsageError, WaitioError, nearest
from waitio.options import Choice
from waitio.tools import find_tool

HELP = """usage: waitio completion bash|zsh|fish

Print what makes the shell complete the words of waitio. To have it in every session:

  bash    waitio completion bash >> ~/.bashrc
  zsh     waitio completion zsh > ~/.zfunc/_waitio     (a folder of $fpath, before compinit)
  fish    waitio completion fish > ~/.config/fish/completions/waitio.fish
"""

SCRIPTS = {
    "bash": r"""_waitio() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$(waitio completion --words "$COMP_CWORD" -- \
        "${COMP_WORDS[@]:1}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _waitio waitio
""",
    "zsh": r"""#compdef waitio
_waitio() {
    local -a found
    found=(${(f)"$(waitio completion --words $((CURRENT - 1)) -- "${(@)words[2,-1]}" 2>/dev/null)"})
    if (( $#found )); then compadd -a found; else _default; fi
}
if [ "$funcstack[1]" = "_waitio" ]; then _waitio "$@"; else compdef _waitio waitio; fi
""",
    "fish": r"""function __waitio_words
    set -l words (commandline -opc) (commandline -ct)
    waitio completion --words (math (count $words) - 1) -- $words[2..-1] 2>/dev/null
end
complete -c waitio -a '(__waitio_words)'
""",
}

# Where the help text of a subcommand is, in the package or in a program of the C library.
TEXTS = {
    "run": "waitio.runargs",
    "env": "waitio.envcmd",
    **LATE,
    "clean": "waitio.clean",
    "completion": "waitio.completion",
    **{f"stage {word}": module for word, module in stagecmd.COMMANDS.items()},
}


def _help_text(command: str, tools: dict[str, str]) -> str:
    if command in tools:
        path = find_tool(tools[command])
        if path is None:
            return ""
        run = subprocess.run([path, "--help"], capture_output=True, timeout=5, check=False)
        return run.stdout.decode("utf-8", "replace")
    try:
        return str(getattr(importlib.import_module(TEXTS[command]), "HELP", ""))
    except (KeyError, ImportError):
        return ""


def _values(command: str, option: str) -> list[str]:
    """Return the words that an option of a command of the package takes, if they are a few."""
    module = importlib.import_module(TEXTS[command]) if command in TEXTS else None
    for table in ("BLOCK_OPTIONS", "RUN_OPTIONS", "OPTIONS"):
        for row in getattr(module, table, ()):
            if option in row.names and isinstance(row.convert, Choice):
                return list(row.convert.known)
    return []


def _option_values(command: str, before: str, current: str) -> list[str]:
    """Return what may stand for `current`, behind the word `before` or as --option=value."""
    name, equals, begun = current.partition("=")
    if equals and name.startswith("-"):
        return [f"{name}={value}" for value in _values(command, name) if value.startswith(begun)]
    return [value for value in _values(command, before) if value.startswith(current)]


def _options(text: str, current: str) -> list[str]:
    """Return the options that a help text names and that begin as `current` does."""
    found = re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", text)
    return sorted({w for w in (*found, "--help") if w.startswith(current)})


def candidates(
    position: int, words: Sequence[str], commands: Sequence[str], tools: dict[str, str]
) -> list[str]:
    """Return what may stand at `position` (from 1) of the words behind `waitio`."""
    current = words[position - 1] if 0 < position <= len(words) else ""
    options = current.startswith("-")
    if position <= 1 or (position == 2 and words[0] == "help"):
        return [c for c in commands if c.startswith(current)]
    second: dict[str, Iterable[str]] = {
        "completion": SCRIPTS,
        "cpl": cplcmd.TOOLS,
        "stage": stagecmd.COMMANDS,
    }
    if position == 2 and words[0] in second and not options:
        return [word for word in second[words[0]] if word.startswith(current)]
    name = " ".join(words[:2]) if " ".join(words[:2]) in TEXTS else words[0]
    values = _option_values(name, words[position - 2], current)
    return values if values or not options else _options(_help_text(name, tools), current)


def main(words: list[str], commands: Sequence[str], tools: dict[str, str]) -> int:
    """Print a script, or candidates for one."""
    if words[:1] == ["--words"]:
        try:
            found = candidates(int(words[1]), words[3:], commands, tools)
        except (ValueError, IndexError, OSError, WaitioError, subprocess.SubprocessError):
            return 1  # a shell that is completing wants no message
        sys.stdout.write("".join(f"{w}\n" for w in found))
        return 0
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(HELP)
        return 0 if words else 2
    if words[0] not in SCRIPTS or len(words) > 1:
        raise UsageError(
            f"waitio completion: '{' '.join(words)}' is no shell known here; known are "
            f"{', '.join(SCRIPTS)}{nearest(words[0], tuple(SCRIPTS))}"
        )
    sys.stdout.write(SCRIPTS[words[0]])
    return 0
