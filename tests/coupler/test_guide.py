# SPDX-License-Identifier: BSD-3-Clause
"""The programs of the guide run as it shows them, and the old header suits its users."""

import re
import subprocess

import pytest
from test_faces import fortran


def blocks(source_dir):
    """The code blocks of the guide, by language; the first one is the configuration."""
    text = (source_dir / "docs" / "guide" / "coupler.md").read_text()
    found = re.findall(r"```(\w*)\n(.*?)```", text, re.S)
    code = {}
    for language, body in found:
        code.setdefault(language, body)
    return code


def test_the_tutorial_runs(troupe, tmp_path, patient, source_dir):
    code = blocks(source_dir)
    (tmp_path / "coupling.conf").write_text(code[""])
    (tmp_path / "atmosphere.f90").write_text(code["fortran"])
    (tmp_path / "ocean.c").write_text(code["c"])
    troupe.need("openmpi")
    atmosphere = fortran(troupe, "openmpi", tmp_path / "atmosphere.f90")
    ocean = troupe.compile("mpich", tmp_path / "ocean.c", "-std=c11")
    line = ["waitio", "run", "--timeout", "60s", "-n", "1", "--mpi", "openmpi", atmosphere]
    line += [":", "-n", "1", "--mpi", "mpich", ocean]
    done = subprocess.run(
        [str(w) for w in line],
        cwd=tmp_path,
        env=troupe.environment(),
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Fresh in each second step: sst of ocean points 1; (2 + 3)/2; (4 + 5)/2; 6.
    assert len(re.findall(r"step +\d+: sst", done.stdout)) == 4, done.stdout
    assert re.search(r"step +1: sst +14.000 +15.500 +17.500 +19.000", done.stdout), done.stdout
    assert "step 1: wind 5.000 .. 5.000" in done.stdout


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_the_old_header_in_c_and_cpp(troupe, tmp_path, mpi):
    """Twice, with all warnings; coupling_end with one argument and with two."""
    troupe.need(mpi)
    text = "#include <h3ouc.h>\n#include <h3ouc.h>\nint main(void)\n{\n    int t[6] = {0};\n"
    text += "    h3ouc_coupling_end(t);\n    h3ouc_coupling_end(t, 0);\n    return 0;\n}\n"
    flags = ["-Wall", "-Wextra", "-Wno-cast-function-type", "-c", "-o", "use.o"]
    flags += [f"-I{troupe.source_dir / 'include' / 'h3ou'}"]
    for compiler, name, standards in (
        ("mpicc", "use.c", ("c99", "c11", "c17")),
        ("mpicxx", "use.cc", ("c++11", "c++17")),
    ):
        (tmp_path / name).write_text(text)
        for standard in standards:
            words = [f"{compiler}.{mpi}", f"-std={standard}", *flags, name]
            subprocess.run(words, cwd=tmp_path, check=True, env=troupe.environment())
