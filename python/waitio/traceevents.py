# SPDX-License-Identifier: BSD-3-Clause
# Generated from spec/ by tools/gen/gen_spec.py: do not edit.
"""Numbers and names in traces."""

from __future__ import annotations

SEND = 1
RECEIVE = 2
WAIT = 3
COLLECTIVE = 4
PHASE_BEGIN = 5
PHASE_END = 6
LIFE = 7
LINK = 8
GREETED = 9

WAIT_TEXT: dict[int, str] = {
    0: "wait for any of several",
    1: "probe",
    2: "wait for a while",
    3: "wait for what was started",
}

LIFE_TEXT: dict[int, str] = {
    0: "joining",
    1: "finalize: delivering what was sent",
    2: "finalize: goodbyes",
}

FLAG_TEXT: dict[int, str] = {
    1: "failed",
    2: "cancelled",
    4: "started",
}

STATE_TEXT: dict[int, str] = {
    0: "did not leave",
    1: "left",
    2: "aborted",
}

COLLECTIVE_TEXT: dict[int, str] = {
    0: "Barrier",
    1: "Bcast",
    2: "Reduce",
    3: "Allreduce",
    4: "Reduce_scatter",
    5: "Scan",
    6: "Exscan",
    7: "Gather",
    8: "Scatter",
    9: "Allgather",
    10: "Alltoall",
    11: "Neighbor_allgather",
    12: "Neighbor_alltoall",
}
