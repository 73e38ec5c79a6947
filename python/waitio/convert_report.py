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
        r".*keyval|.*_attr|attr_|tag_ub|wtime_is_global|host$|io$|dup_fn|null_(copy|delete)_fn",
        "attributes",
        "keep such data in variables; tags go up to 2147483647",
    ),
    (r"info_", "hints", "leave them out: hints never change results"),
    (r"t_", "MPI's tools interface", "see waitio-info(1) and WAITIO_STATS"),
    (
        r"err_|.*errhandler|errors_abort|error_",
        "error classes and handlers of its own",
        "0 is success, others are WAITIO_ERR_ codes; waitio_last_error() has the text",
    ),
    (r".*_(set|get)_name$|max_object_name", "names of objects", "leave the call out"),
    (r".*_[xc]$", "calls with large counts", "describe large buffers by derived types"),
    (
        r"type_create_(darray|f90)|type_get_(envelope|contents)|combiner|distribute|type_match",
        "these datatype calls",
        "describe the type by vector, indexed, struct or subarray",
    ),
    (
        r"(un)?pack_external",
        "the external32 format",
        "WAITIO_MPI_Pack is portable between machines",
    ),
    (r"i?mprobe|i?mrecv|message", "matched probes", "probe, then receive by source and tag"),
    (
        r"pcontrol|get_library_version|max_library",
        "such questions about the library",
        "waitio_get_version() tells the version",
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
