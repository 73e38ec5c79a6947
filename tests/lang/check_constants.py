#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The constants of waitio_mpi.h, waitio_mpif.h and module waitio agree; the include file's lines fit."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])


def main():
    problems = []
    c_text = (ROOT / "include" / "waitio_mpi.h").read_text()
    c = {n: int(v) for n, v in re.findall(r"#define (WAITIO_MPI_\w+) (\d+)\b", c_text)}
    lines = (ROOT / "include" / "waitio_mpif.h").read_text().splitlines()
    fortran = {}
    for number, line in enumerate(lines, 1):
        if len(line) > 72:
            problems.append(f"waitio_mpif.h:{number}: {len(line)} columns")
        if line and line[0] != "!" and line[:6].strip():
            problems.append(f"waitio_mpif.h:{number}: a statement begins before column 7")
        found = re.search(r"parameter ?:: ?(\w+)=(-?\d+)", line)
        if found:
            fortran[found[1]] = int(found[2])
    for name, value in c.items():
        if 524289 <= value < 600000 and fortran.get(name) != value:
            problems.append(f"{name} is {value} in C and {fortran.get(name)} in Fortran")
    modern = (ROOT / "fortran" / "waitio.f90").read_text()
    for name, value in re.findall(r"parameter :: WAITIO_(\w+) = (5\d+)", modern):
        if c.get(f"WAITIO_MPI_{name}") != int(value):
            problems.append(f"module waitio: WAITIO_{name} is {value}")
    if len(fortran) < 50 or len(c) < 40:
        problems.append("too few constants found: this check has gone blind")
    print("\n".join(problems) or f"{len(fortran)} constants agree")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
