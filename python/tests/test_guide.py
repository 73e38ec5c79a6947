# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/guide/python.md and coupler-python.md run, and print what the pages say."""

import pathlib
import re
import sys

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def runs(page):
    """(files written above it, command, what it prints) of each `waitio run` of the page."""
    files, found = {}, []
    for kind, text in FENCE.findall((GUIDE / page).read_text()):
        if kind == "" and text.startswith("! "):
            files[text.split()[1]] = text
        elif kind == "python":
            files[re.match(r"# (\w+\.py)\n", text).group(1)] = text
        elif kind == "sh" and text.startswith("waitio run"):
            found.append([dict(files), text.strip(), []])
        elif kind == "text":
            found[-1][2] += text.splitlines()
    return found


PAGES = {"python.md": 8, "coupler-python.md": 2}  # and how many runs there are at least
RUNS = [run for page in PAGES for run in runs(page)]


@pytest.mark.parametrize("page", PAGES)
def test_every_program_is_run(page):
    found = runs(page)
    commands = " ".join(command for _, command, _ in found)
    for name in found[-1][0]:
        assert f"python {name}" in commands or name.endswith(".conf"), f"{name} is not run"
    assert len(found) >= PAGES[page] and all(lines for _, _, lines in found)


@pytest.mark.parametrize(("files", "said", "lines"), RUNS, ids=[r[1].split()[-1] for r in RUNS])
def test_programs_print_what_the_page_says(make_universe, helpers, files, said, lines):
    u = make_universe()
    if "mpi4py" in "".join(files[n] for n in re.findall(r"(\w+\.py)", said)):
        helpers.needs("mpi4py")
        helpers.mpiexec("openmpi")
    if "xarray" in "".join(files[n] for n in re.findall(r"(\w+\.py)", said)):
        helpers.needs("xarray")
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
