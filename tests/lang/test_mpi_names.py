# SPDX-License-Identifier: BSD-3-Clause
"""The names of MPI 4.0: each is there, or left out for a reason that the reference page gives; a
Fortran constant that is left out is no variable without a type."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/gen"))

from emit import leftout, rename  # noqa: E402


@pytest.fixture(scope="module")
def sources():
    return rename.Sources(
        (ROOT / "include/waitio_mpi.h").read_text()
        + (ROOT / "include/waitio_mpi_large.h").read_text(),
        (ROOT / "include/waitio_mpif.h").read_text(),
        {line.split()[0] for line in (ROOT / "spec/symbols.txt").read_text().splitlines() if line},
        (ROOT / "spec/mpi-4.0-names.txt").read_text(),
    )


def test_each_name_is_there_or_left_out_for_a_reason(sources):
    all_of_mpi = leftout.names_of(sources.mpi_names)
    assert len(all_of_mpi["c"]) > 1000 and len(all_of_mpi["fortran"]) > 250
    lacking = leftout.c_lacks(sources)
    assert {"Win_create", "File_open"} < set(lacking) and "Send" not in lacking
    rows = leftout.advice()
    without = [n for n in lacking + leftout.fortran_lacks(sources) if not leftout.reason(n, rows)]
    assert without == [], "convert_report.py: ADVICE: names without a reason"
    page = (ROOT / "docs/reference/mpi_left_out.rst").read_text()
    assert [n for n in lacking if f"``MPI_{n}``" not in page] == []


def test_a_new_gap_is_noticed(sources):
    """The list is compared with the header, not with itself."""
    fewer = rename.Sources(
        sources.header.replace("WAITIO_MPI_Bcast(", "bcast("),
        sources.include,
        sources.symbols,
        sources.mpi_names,
    )
    with pytest.raises(ValueError, match="MPI_Bcast"):
        leftout.listed(fewer)


PASTE = """#include "waitio_mpi_rename.h"
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
"""


def preprocessed(lines):
    """Each line as the compiler would read it, behind the header."""
    text = PASTE + "".join(f"@ {line}\n" for line in lines)
    command = ["cc", "-E", "-P", "-xc", f"-I{ROOT}/include", "-"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line[2:] for line in done.stdout.splitlines() if line.startswith("@ ")]


def test_names_that_a_program_pastes_mean_the_same():
    """The first part of a pasted name is replaced before: MPI_Send and _init must not become ours
    of the other interface, whose requests are larger."""
    header = (ROOT / "include/waitio_mpi_rename.h").read_text()
    names = set(re.findall(r"^#define (P?MPI_[A-Z][a-z]\w*) ", header, flags=re.M))
    pairs = [(n, n[:i]) for n in sorted(names) for i in range(5, len(n)) if n[:i] in names]
    assert ("MPI_Send_init", "MPI_Send") in pairs and len(pairs) > 100
    want = preprocessed(whole for whole, _ in pairs)
    got = preprocessed(f"JOIN({part}, {whole[len(part) :]})" for whole, part in pairs)
    wrong = [pair for pair, a, b in zip(pairs, want, got, strict=True) if a != b]
    assert wrong == []


FIXED = """      program old
      include 'mpif.h'
      dimension a(4)
      {}
      end
"""


def compiled(tmp_path, statement):
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    source = tmp_path / "old.f"
    source.write_text(FIXED.format(statement))
    command = ["gfortran", f"-I{ROOT}/fortran/rename", str(source), "-o", str(tmp_path / "old")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr.lower()


def test_a_constant_that_is_there_compiles(tmp_path):
    code, text = compiled(tmp_path, "i = MPI_ANY_TAG + MPI_INTEGER_KIND")
    assert code == 0, text


@pytest.mark.parametrize(
    "statement",
    [
        "i = MPI_MODE_CREATE",
        "i = ior(MPI_MODE_CREATE, 1)",
        "if (i .eq. MPI_MODE_CREATE) i = 1",
        "call exit(MPI_MODE_CREATE)",
    ],
)
def test_a_missing_constant_is_an_error_without_implicit_none(tmp_path, statement):
    code, text = compiled(tmp_path, statement)
    assert code != 0 and "mpi_mode_create" in text


@pytest.mark.parametrize("statement", ["i = MPI_WIN_NULL", "call MPI_Comm_rank(MPI_WIN_NULL, i)"])
def test_so_it_is_in_the_module(tmp_path, statement, build_dir):
    folder = next(build_dir.glob("modules/rename_*"), None)
    if folder is None or shutil.which("gfortran") is None:
        pytest.skip("no Fortran modules in this build")
    source = tmp_path / "new.f90"
    source.write_text(f"program new\n    use mpi\n    {statement}\nend program new\n")
    command = ["gfortran", f"-I{folder}", "-c", str(source), "-o", str(tmp_path / "new.o")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "rror" in done.stderr and "new.f90:3" in done.stderr
    good = source.read_text().replace("MPI_WIN_NULL", "MPI_COMM_WORLD")
    source.write_text(good)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
