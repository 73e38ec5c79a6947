# SPDX-License-Identifier: BSD-3-Clause
"""What `waitio convert` has to say about a place in a source file, and why a name is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Why the library lacks a name, and what to do. The first pattern that fits the name without MPI_.
ADVICE = (
    (
        r"win_|put$|get$|r?accumulate|r?get_accumulate|fetch_and_op|compare_and_swap|rput|rget"
        r"|alloc_mem|free_mem|lock_|mode_no",
        "one-sided communication",
        "send and receive instead, or keep this part on plain MPI",
    ),
    (
        r"file|mode_|seek_|register_datarep|max_datarep|datarep|display",
        "MPI's file interface",
        "use ordinary files, or keep this part on plain MPI",
    ),
    (
        r"comm_(spawn|connect|accept|join|disconnect|get_parent)|.*_port|.*publish_name"
        r"|lookup_name|argvs?_null|errcodes_ignore|universe_size|appnum",
        "dynamic processes",
        "blocks join at start: give them to waitio run",
    ),
    (
        r"intercomm|comm_remote|comm_test_inter|root$",
        "intercommunicators",
        "use one communicator of both sides",
    ),
    (
        r"graph|i?neighbor|dist_graph|unweighted|weights_empty",
        "graph topologies",
        "send to the neighbours by their ranks",
    ),
    (
        r"type_.*(keyval|_attr|copy|delete)|type_(dup|null)_",
        "attributes of types",
        "keep such data in variables",
    ),
    (r"t_", "MPI's tools interface", "see waitio-info(1) and WAITIO_STATS"),
    (
        r"err_|add_error|errors_abort",
        "this class of errors",
        "0 is success, others are WAITIO_ERR_ codes; waitio_last_error() has the text",
    ),
    (r".*_c$", "MPI-4's calls with large counts", "describe large buffers by derived types"),
    (
        r"session|p(send|recv|ready|arrived)|(all|barrier|bcast|gather|scatter|reduce|scan|exscan).*_init$",
        "MPI-4's sessions, partitioned messages and persistent collectives",
        "use the calls of MPI-3",
    ),
    (r"grequest", "generalized requests", "keep the state of your operation yourself"),
    (
        r"request_[cf]2[cf]",
        "requests as integers",
        "copy the request itself: it is the same in C and in Fortran",
    ),
    (
        r"type_get_(envelope|contents)|combiner",
        "calls that take types apart",
        "keep what the type was made of",
    ),
    (
        r"(un)?pack_external",
        "the external32 format",
        "WAITIO_MPI_Pack is portable between machines",
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
            path, line, name, "there is no profiling interface", "call the function without its P"
        )
    for pattern, what, remedy in ADVICE:
        if re.match(f"(?i)(?:{pattern})", bare):
            return Finding(path, line, name, f"the conversion library does not have {what}", remedy)
    why = "the conversion library has no such name"
    return Finding(path, line, name, why, "replace it by hand, or keep this part on plain MPI")
