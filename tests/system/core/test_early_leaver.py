# SPDX-License-Identifier: BSD-3-Clause
"""One member finalizes, the others go on with collectives: see progs/early_leaver.c. Before, each
survivor waited until another one finalized, too."""

import time

import patience
import pytest

EACH_TRANSPORT = True
CALLS = [("b", 100000), ("r", 100000), ("a", 8), ("s", 100000), ("x", 80), ("i", 8), ("z", 8)]


@pytest.mark.parametrize("leaver", [0, 2, 4])
@pytest.mark.parametrize("call, count", CALLS)
def test_all_survivors_learn_that_a_member_has_finalized(universe, call, count, leaver):
    u = universe(WAITIO_LOG="warn")
    args = ("early_leaver", call, str(count), str(leaver))
    members = [u.process(b, i, n, 2, *args) for b, n in ((0, 3), (1, 2)) for i in range(n)]
    members[leaver].ended(0, timeout=20)
    left = time.monotonic()
    survivors = [p for k, p in enumerate(members) if k != leaver]
    for p in survivors:
        assert p.answer() == "learnt"
    assert time.monotonic() - left < patience.scaled(2)
    for p in survivors:
        p.child.stdin.close()
    for p in survivors:
        p.ended(0, timeout=20)
