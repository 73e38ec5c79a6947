# SPDX-License-Identifier: BSD-3-Clause
# Generated from spec/ by tools/gen/gen_spec.py: do not edit.
"""Codes of the library's errors: name, short text and remedy."""

from __future__ import annotations

# code: (name, message, remedy)
ERRORS: dict[int, tuple[str, str, str]] = {
    -1: (
        "ARG",
        "invalid argument",
        "check the named argument against the documentation of the call",
    ),
    -2: (
        "NOMEM",
        "out of memory",
        "give the process more memory or lower WAITIO_MEMORY_MAX, WAITIO_SEND_BUFFER_MAX and "
        "WAITIO_UNEXPECTED_MAX",
    ),
    -3: (
        "GROUP",
        "invalid group",
        "pass a group made by waitio_create_group and not yet freed; a NULL group usually means "
        "that its creation failed",
    ),
    -4: (
        "RANK",
        "rank out of range",
        "ranks run from 0 to the group's size minus 1; use WAITIO_ANY_SOURCE for any source",
    ),
    -5: (
        "TAG",
        "tag out of range",
        "tags run from 0 to 2147483647; use WAITIO_ANY_TAG for any tag in a receive",
    ),
    -6: (
        "REQUEST",
        "invalid request",
        "wait only on the variable that isend or irecv filled, once; copies become stale after the"
        " wait",
    ),
    -7: (
        "TRUNCATE",
        "message longer than the receive buffer",
        "post a receive at least as long as the message; probe tells the size beforehand",
    ),
    -8: (
        "PEER",
        "peer has died, left or cannot be reached",
        "look at the peer's own output for the first error; operations with other peers go on",
    ),
    -9: (
        "TIMEOUT",
        "timed out",
        "start the missing programs, or raise WAITIO_INIT_TIMEOUT",
    ),
    -10: (
        "CONFIG",
        "missing or malformed setting",
        "correct the named variable; `waitio info` lists all of them with their ranges",
    ),
    -11: (
        "JOIN",
        "refused by the rendezvous",
        "the text names the clash (duplicate rank, sizes that disagree, another run's id); correct"
        " the job script",
    ),
    -12: (
        "AUTH",
        "authentication failed",
        "every program of a run needs the same secret: the same cookie file, or one "
        "WAITIO_SECRET_FILE for systems with different homes",
    ),
    -13: (
        "VERSION",
        "protocol versions differ",
        "link every program of the run with the same WaitIO release",
    ),
    -14: (
        "NOROUTE",
        "no transport connects the two processes",
        "make WAITIO_COMM_TYPE of both sides overlap, or correct WAITIO_NETDEV / WAITIO_ADVERTISE",
    ),
    -15: (
        "LIMIT",
        "a limit of the system or of the configuration is reached",
        "raise the named limit (for descriptors: ulimit -n, or lower WAITIO_MAX_CONNECTIONS)",
    ),
    -16: (
        "STATE",
        "call not allowed now",
        "call between waitio_init and waitio_finalize",
    ),
    -17: (
        "FORK",
        "called in a forked child",
        "only the process that joined may communicate; start children before waitio_init, or let "
        "them exec",
    ),
    -18: (
        "SYSTEM",
        "a system call failed",
        "the text names the call and the system's reason",
    ),
    -19: (
        "UNSUPPORTED",
        "not supported",
        "use what the text names instead",
    ),
    -20: (
        "CANCELLED",
        "request was cancelled",
        "none needed: the receive was withdrawn by waitio_cancel",
    ),
    -21: (
        "PROTOCOL",
        "malformed data from a peer",
        "a version mismatch or a defect: report it with WAITIO_LOG=debug output of both sides",
    ),
    -22: (
        "BUSY",
        "another operation is still in progress",
        "wait for the named request first",
    ),
    -23: (
        "REVOKED",
        "the communicator takes no more collectives",
        "a member failed in an earlier one: make a communicator of the survivors with "
        "WAITIO_MPI_Comm_create_group, or end; point-to-point messages with survivors go on",
    ),
}
