#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every call of waitio_mpi.h has its Fortran faces: an external procedure in libwaitio, a procedure
of module waitio_mpif90 and one of module waitio; each call of waitio_mpi_large.h has the latter;
and whatever these bind to exists.

check_faces.py ROOT. Reads the header with expressions of its own, not with the generator's.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])

# C calls without a face of the same name, and what a Fortran program does.
ELSEWHERE = {
    "waitio_create_universe": "WMPI_Create_universe; waitio_group_universe",
    "waitio_create_pbgroup": "WMPI_Create_pbgroup; waitio_group_pb",
    "waitio_create_hybrid": "WMPI_Create_hybrid",
    "waitio_create_universe_pbhead": "WMPI_Create_universe_pbhead; waitio_group_pbheads",
    "waitio_mpi_comm_world": "constant; function waitio_mpi_comm_world",
    "waitio_mpi_comm_self": "constant; function waitio_mpi_comm_self",
    "waitio_mpi_group_empty": "constant; function waitio_mpi_group_empty",
    "waitio_mpi_request_null": "a fresh request is null",
    "waitio_mpi_recv_status": "WAITIO_MPI_Recv",
    "waitio_mpi_aint_add": "Fortran adds integers",
    "waitio_mpi_aint_diff": "Fortran subtracts integers",
    "waitio_mpi_dup_fn": "waitio_mpi_comm_dup_fn",
    "waitio_mpi_pcontrol": "an external procedure; it does nothing",
    "waitio_mpi_wtime": "waitio_wtime in module waitio",
    "waitio_mpi_wtick": "a constant of the machine",
    "waitio_mpi_waitany_for": "for bindings of interpreted languages: WAITIO_MPI_Waitany",
    "waitio_mpi_op_create_with": "for bindings, whose function needs a state: WAITIO_MPI_Op_create",
    "waitio_mpi_blocking_next": "for bindings of interpreted languages: the blocking calls",
}
# MPI-1's calls with default integers: external procedures; the modules have MPI-2's.
NOT_IN_MODULES = {"waitio_mpi_keyval_create", "waitio_mpi_attr_put", "waitio_mpi_attr_get"}
# Variables of module waitio whose addresses mean something.
PLACES = {f"waitio_cfi_{name}" for name in ("in_place", "bottom", "unweighted", "weights_empty")}
# Turn handles of C into those of Fortran and back: for C.
FOR_C = re.compile(r"_(c2f|f2c)$")


def header_calls(header):
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / header).read_text(), flags=re.S)
    text = re.sub(r"^typedef .*?;", "", text, flags=re.M | re.S)
    names = re.findall(r"^\w[\w ]*?\**\b(waitio_\w+|WAITIO_MPI_\w+)\(", text, flags=re.M)
    return {n.lower() for n in names if not FOR_C.search(n)}


def procedures(*patterns):
    """Lower-case names of procedures and generic interfaces, and the names they bind to."""
    paths = [path for pattern in patterns for path in (ROOT / "fortran").glob(pattern)]
    raw = "".join(path.read_text() for path in paths)
    text = re.sub(r" +", " ", raw.replace("&\n", " ")).lower()
    names = re.findall(r"^ *(?:[\w()]+ )?(?:subroutine|function) (\w+)", text, flags=re.M)
    names += re.findall(r"^ *interface (\w+)", text, flags=re.M)
    return set(names), set(re.findall(r"name='(\w+)'", raw))


def defined_in_c():
    names = set()
    begins = re.compile(r"^(?:\w[\w ]*\**|FACE\(|FORTRAN\()(waitio_cfi\w+)", re.M)
    for path in (ROOT / "fortran").rglob("*.c"):
        names |= set(begins.findall(path.read_text()))
    return names


def symbols():
    lines = (ROOT / "spec" / "symbols.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def main():
    calls, exported = header_calls("waitio_mpi.h"), symbols()
    large = header_calls("waitio_mpi_large.h")
    modern, modern_links = procedures("waitio.f90", "gen/*.f90")
    loose, loose_links = procedures("waitio_mpif90.f90", "gen/*.inc")
    blind = len(calls) < 140 or len(large) < 100
    problems = ["too few calls found: this check has gone blind"] if blind else []
    # MPI has wide counts in Fortran with strict types alone.
    problems += [f"{name} is missing in module waitio" for name in sorted(large - modern)]
    for name in sorted(calls - set(ELSEWHERE)):
        for where, there in (
            ("libwaitio (src/mpi/fortran)", name + "_" in exported),
            ("module waitio", name in modern),
            ("module waitio_mpif90", name in loose),
        ):
            if not there and not (where.startswith("module") and name in NOT_IN_MODULES):
                problems.append(f"{name} is missing in {where}")
    problems += [f"{n} is not a call of the header" for n in sorted(set(ELSEWHERE) - calls)]
    bodies = defined_in_c() | exported | {"strlen"} | PLACES
    for link in sorted((modern_links | loose_links) - bodies):
        problems.append(f"an interface binds to {link}, which is not defined")
    print("\n".join(problems) or f"{len(calls) + len(large)} calls have their faces")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
