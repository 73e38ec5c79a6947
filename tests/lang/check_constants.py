#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Constants of waitio_mpi.h, waitio_mpif.h and module waitio agree; include lines are legal;
waitio_mpi_rename.h has every name of waitio_mpi.h and waitio_mpi_large.h."""

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
        if name != "WAITIO_MPI_H" and fortran.get(name) != value:
            yield f"{name} is {value} in C and {fortran.get(name)} in Fortran"
    modern = (ROOT / "fortran" / "waitio.f90").read_text()
    for name, value in re.findall(r"parameter :: WAITIO_(\w+) = (5\d+)", modern):
        if c.get(f"WAITIO_MPI_{name}") != int(value):
            yield f"module waitio: WAITIO_{name} is {value}"
    if len(fortran) < 50 or len(c) < 40:
        yield "too few constants found: this check has gone blind"


# Not MPI's, or members of MPI's own structure.
NOT_RENAMED = {"", "H", "DEFTAG", "SOURCE", "TAG", "ERROR", "COMM_TYPE_PB"}


# The numbers of INT and DOUBLE in the published interface, types of their own by renaming.
OWN_TYPES = {"INTEGER", "DOUBLE_PRECISION"}


def compare_renamed(header):
    """Every WAITIO_MPI_ name has its MPI_ name in waitio_mpi_rename.h, and no others are there."""
    rename = (ROOT / "include" / "waitio_mpi_rename.h").read_text()
    pairs = dict(re.findall(r"#define MPI_(\w+) WAITIO_MPI_(\w+)", rename))
    names = set(re.findall(r"\bWAITIO_MPI_(\w*)", header)) - NOT_RENAMED
    # Calls with requests, which are integers by renaming.
    pairs.update(re.findall(r"#define MPI_(\w+) waitio_rename_(\w+)$", rename, re.M))
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    integers = set(re.findall(r"WAITIO_MPI_(\w+)\([^;]*?\bWAITIO_MPI_Request\b", code))
    integers |= {"Request", "Request_c2f", "Request_f2c"}
    names |= {"Request_c2f", "Request_f2c"}
    for name in sorted(integers & set(pairs)):
        if pairs[name] != name.lower():
            yield f"MPI_{name} has a request and is renamed to {pairs[name]}"
        pairs[name] = name
    if "#define MPI_REQUEST_NULL ((waitio_rename_request)0)" not in rename:
        yield "MPI_REQUEST_NULL is no constant"
    for kind, name, group in (
        ("Comm", "COMM_WORLD", "world"),
        ("Comm", "COMM_SELF", "self"),
        ("Group", "GROUP_EMPTY", "empty"),
    ):
        if f"#define MPI_{name} ((WAITIO_MPI_{kind})&waitio_{group}_group_)" not in rename:
            yield f"MPI_{name} is no constant"
    names -= {"REQUEST_NULL", "COMM_WORLD", "COMM_SELF", "GROUP_EMPTY"}
    own = set(re.findall(r"#define MPI_(\w+) waitio_mpi_\w+_type\n", rename))
    yield from (f"MPI_{name} is not a type of its own" for name in sorted(OWN_TYPES ^ own))
    names -= OWN_TYPES
    yield from (f"waitio_mpi_rename.h lacks MPI_{name}" for name in sorted(names - set(pairs)))
    yield from (f"MPI_{name} is renamed to nothing" for name in sorted(set(pairs) - names))
    yield from (f"MPI_{a} is renamed to WAITIO_MPI_{b}" for a, b in pairs.items() if a != b)


def main():
    text = (ROOT / "include" / "waitio_mpi.h").read_text()
    c = {n: int(v) for n, v in re.findall(r"#define (WAITIO_MPI_\w+) \(?(-?\d+)\)?$", text, re.M)}
    codes = (ROOT / "include" / "waitio_errors.h").read_text()
    code = {n: int(v) for n, v in re.findall(r"#define (WAITIO_ERR_\w+) \(?(-?\d+)", codes)}
    c.update(
        {n: code[v] for n, v in re.findall(r"#define (WAITIO_MPI_ERR_\w+) (WAITIO_ERR_\w+)", text)}
    )
    fortran, problems = read_include()
    problems += compare(c, fortran)
    large = (ROOT / "include" / "waitio_mpi_large.h").read_text()
    problems += compare_renamed(text + large)
    print("\n".join(problems) or f"{len(fortran)} constants agree")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
