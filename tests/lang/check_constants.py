#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Constants of waitio_mpi.h, waitio_mpif.h and module waitio agree; include lines are legal."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])


def read_include():
    """Return the constants of waitio_mpif.h, and what is wrong with its lines."""
    problems, constants = [], {}
    lines = (ROOT / "include" / "waitio_mpif.h").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > 72:
            problems.append(f"waitio_mpif.h:{number}: {len(line)} columns")
        if line and line[0] != "!" and line[:6].strip():
            problems.append(f"waitio_mpif.h:{number}: a statement begins before column 7")
        found = re.search(r"parameter ?:: ?(\w+)=(-?\d+)", line)
        if found:
            constants[found[1]] = int(found[2])
    return constants, problems


def compare(c, fortran):
    for name, value in c.items():
        if 524289 <= value < 600000 and fortran.get(name) != value:
            yield f"{name} is {value} in C and {fortran.get(name)} in Fortran"
    modern = (ROOT / "fortran" / "waitio.f90").read_text()
    for name, value in re.findall(r"parameter :: WAITIO_(\w+) = (5\d+)", modern):
        if c.get(f"WAITIO_MPI_{name}") != int(value):
            yield f"module waitio: WAITIO_{name} is {value}"
    if len(fortran) < 50 or len(c) < 40:
        yield "too few constants found: this check has gone blind"


def main():
    text = (ROOT / "include" / "waitio_mpi.h").read_text()
    c = {n: int(v) for n, v in re.findall(r"#define (WAITIO_MPI_\w+) (\d+)\b", text)}
    fortran, problems = read_include()
    problems += compare(c, fortran)
    print("\n".join(problems) or f"{len(fortran)} constants agree")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
