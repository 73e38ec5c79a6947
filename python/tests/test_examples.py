# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/python run as their first lines say."""

import ast
import pathlib
import re
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
SAID = {
    "pingpong": r"1048576 bytes: +[\d.]+ us one way",
    "stream": r"3000 values, mean -?\d\.\d+",
    "collectives": r"6000 values in 2 blocks: 1\.\d+ \+- \d\.\d+",
    "ensemble": r"2 members, spread 0\.250 -> 0\.01\d",
}


def test_every_example_is_here():
    elsewhere = {"torch_forecast"}
    assert {p.stem for p in FOLDER.glob("*.py")} - elsewhere == set(SAID)
    table = (FOLDER.parent / "README.md").read_text()
    for name in SAID:
        assert f"(python/{name}.py)" in table, f"examples/README.md does not show {name}.py"


@pytest.mark.parametrize("name", SAID)
def test_runs_as_it_says(make_universe, helpers, name):
    u = make_universe()
    text = (FOLDER / f"{name}.py").read_text()
    if "mpi4py" in text:
        helpers.needs("mpi4py")
        helpers.mpiexec("openmpi")
    lines = ast.get_docstring(ast.parse(text)).replace("\\\n", " ").splitlines()
    said = next(line.strip() for line in lines if line.startswith("    waitio run"))
    folder = u.folder / "bin"
    folder.mkdir()
    for word, run in (("waitio", "-m waitio"), ("python", "")):
        (folder / word).write_text(f'#!/bin/sh\nexec {sys.executable} {run} "$@"\n')
        (folder / word).chmod(0o755)
    env = {k: v for k, v in u.env.items() if not k.startswith("WAITIO_")}
    env.update(PATH=f"{folder}:{env['PATH']}", PYTHONPATH=u.site, PYTHONWARNINGS="error")
    out = helpers.command("sh", "-c", said, cwd=FOLDER, env=env, timeout=120)
    assert re.search(SAID[name], out), out
