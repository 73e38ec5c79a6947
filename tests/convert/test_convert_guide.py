# SPDX-License-Identifier: BSD-3-Clause
"""The commands of docs/guide/convert.md do what the page says."""

import pathlib
import re
import shutil
import subprocess

import pytest
from surroundings import environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "convert.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def script():
    """All commands in one shell, and what each group of them must print."""
    commands, expected = [], []
    for kind, text in FENCE.findall(PAGE.read_text()):
        if kind == "sh":
            commands.append(text)
        elif kind == "text":
            expected.append((len(commands) - 1, text.splitlines()))
    return commands, expected


def test_commands_of_the_page(install_dir, tmp_path):
    for program in ("gfortran", "cc", "mpiexec.openmpi", "mpiexec.mpich"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")
    if not list(install_dir.glob("**/waitio_mpi_rename.pc")):
        pytest.skip("built without the Fortran interface")
    commands, expected = script()
    assert len(commands) >= 6 and len(expected) >= 4
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    (home / "waitio").symlink_to(install_dir)
    lib = next(install_dir.glob("**/libwaitio.so")).parent
    shutil.copytree(ROOT / "examples" / "convert", work)
    text = "set -e\n" + "".join(f"{c}echo '=== {i}'\n" for i, c in enumerate(commands))
    text = text.replace("$HOME/waitio/lib", f"$HOME/waitio/{lib.relative_to(install_dir)}")
    done = subprocess.run(
        ["bash", "-c", text], cwd=work, env=environment(home), text=True, timeout=150, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    parts = re.split(r"=== \d+\n", done.stdout)
    for at, lines in expected:
        for line in lines:
            assert line in parts[at].splitlines(), f"{line!r} is not in:\n{parts[at]}"


def test_the_report_shown_is_one_of_ours(convert):
    shown = re.search(r"(?m)^solver\.c:\d+: .*$", PAGE.read_text())[0]
    path = convert.file("solver.c", "\n" * 119 + "int r = MPI_Win_create(1);\n")
    assert convert.run("--check", path) == 1
    assert convert.report.splitlines()[0].replace(str(path), "solver.c") == shown
