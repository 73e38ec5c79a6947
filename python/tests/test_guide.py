# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/guide/python.md run, and print what the page says."""

import pathlib
import re
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "python.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def runs():
    """(programs written above it, command, what it prints) of each `waitio run` of the page."""
    files, found = {}, []
    for kind, text in FENCE.findall(PAGE.read_text()):
        if kind == "python":
            files[re.match(r"# (\w+\.py)\n", text).group(1)] = text
        elif kind == "sh" and text.startswith("waitio run"):
            found.append([dict(files), text.strip(), []])
        elif kind == "text":
            found[-1][2] += text.splitlines()
    return found


RUNS = runs()


def test_every_program_is_run():
    commands = " ".join(command for _, command, _ in RUNS)
    for name in RUNS[-1][0]:
        assert f"python {name}" in commands, f"{name} is not run"
    assert len(RUNS) >= 8 and all(lines for _, _, lines in RUNS)


@pytest.mark.parametrize(("files", "said", "lines"), RUNS, ids=[r[1].split()[-1] for r in RUNS])
def test_programs_print_what_the_page_says(make_universe, helpers, files, said, lines):
    u = make_universe()
    if "mpi4py" in "".join(files[n] for n in re.findall(r"(\w+\.py)", said)):
        helpers.needs("mpi4py")
        helpers.mpiexec("openmpi")
    for name, text in files.items():
        (u.folder / name).write_text(text)
    folder = u.folder / "bin"
    folder.mkdir()
    (folder / "waitio").write_text(f'#!/bin/sh\nexec {sys.executable} -m waitio "$@"\n')
    (folder / "waitio").chmod(0o755)
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python").chmod(0o755)
    env = {k: v for k, v in u.env.items() if not k.startswith("WAITIO_")}
    env.update(PATH=f"{folder}:{env['PATH']}", PYTHONPATH=u.site, PYTHONWARNINGS="error")
    out = helpers.command("sh", "-c", said, cwd=u.folder, env=env, timeout=120)
    for line in lines:
        assert line in out.splitlines(), f"{line!r} is not in:\n{out}"
