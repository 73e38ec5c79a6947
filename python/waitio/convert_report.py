# SPDX-License-Identifier: BSD-3-Clause
"""What `waitio convert` has to say about a place in a source file, and why a name is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Why the library lacks a name, and what to do. The first pattern that fits the name without MPI_.
ADVICE = (
    (
        r"win_|win$|put(_c)?$|get(_c)?$|r?accumulate|r?get_accumulate|fetch_and_op"
        r"|compare_and_swap|rput|rget|lock_|mode_no|replace$|no_op$",
        "one-sided communication",
        "send and receive instead, or keep this part on plain MPI",
    ),
    (
        r"file|mode_|seek_|register_datarep|max_datarep|datarep|displacement|conversion_fn",
        "MPI's file interface",
        "use ordinary files, or keep this part on plain MPI",
    ),
    (
        r"comm_(spawn|connect|accept|join|get_parent)|.*_port|.*publish_name"
        r"|lookup_name|argvs?_null|errcodes_ignore|max_port",
        "dynamic processes",
        "blocks join at start: give them to waitio run",
    ),
    (r"t_", "MPI's tools interface", "see waitio-info(1) and WAITIO_STATS"),
    (
        r"session|max_pset|.*from_group|group_from_session|max_stringtag",
        "MPI-4's sessions",
        "use the calls of MPI-3",
    ),
    (
        r"p(send|recv|ready|arrived)",
        "MPI-4's partitioned messages",
        "use persistent messages",
    ),
    (
        r"request_[cf]2[cf]",
        "requests as integers",
        "copy the request itself: it is the same in C and in Fortran; or build by renaming",
    ),
    (
        r"comm_type_hw",
        "splitting by parts of a machine",
        "split by MPI_COMM_TYPE_SHARED",
    ),
    (
        r"errors_abort|.*_errhandler_fn",
        "errhandlers of MPI-4, and of MPI-2 as they were first named",
        "use MPI_ERRORS_ARE_FATAL, and the names of MPI-3",
    ),
    (
        r"cxx_|integer16|real2$|2(double_)?complex",
        "this datatype",
        "use a type of C or of Fortran of the same size, or MPI_BYTE",
    ),
    (
        r".*f08|f_(status|source|tag|error)|async_protects|subarrays_supported",
        "module mpi_f08 and what belongs to it",
        "use the module mpi, or mpif.h",
    ),
)


@dataclass(frozen=True, order=True)
class Finding:
    """One thing the user has to look at. A note is no failure."""

    path: str
    line: int
    name: str
    why: str
    remedy: str
    note: bool = False

    def __str__(self) -> str:
        kind = "note: " if self.note else ""
        return f"{self.path}:{self.line}: {kind}{self.name}: {self.why}; {self.remedy}"


def missing(path: str, line: int, name: str) -> Finding:
    """The finding for a name of MPI's that the conversion library lacks."""
    bare = re.sub(r"(?i)^p?mpi_", "", name)
    if name[:1] in "Pp":
        return Finding(
            path,
            line,
            name,
            "the profiling interface has no such name (it is for C)",
            "call the function without its P",
        )
    for pattern, what, remedy in ADVICE:
        if re.match(f"(?i)(?:{pattern})", bare):
            return Finding(path, line, name, f"the conversion library does not have {what}", remedy)
    why = "the conversion library has no such name"
    return Finding(path, line, name, why, "replace it by hand, or keep this part on plain MPI")
