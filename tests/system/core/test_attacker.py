# SPDX-License-Identifier: BSD-3-Clause
"""A run under attack from the network: the short form of tests/faults/attacker.py."""

import os
import random
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "faults"))
import attacker  # noqa: E402

BUILD = os.environ.get("WAITIO_BUILD_DIR", str(attacker.soak.ROOT / "build" / "release"))


def test_nobody_is_let_in_and_nothing_is_lost():
    """Guard: a proof that is not looked at, a nonce that comes twice, strangers without a limit."""
    siege = attacker.Siege(BUILD, random.randrange(10**6), 3, attacker.CALM, 100000)
    wrong, text = siege.run()
    assert wrong is None, text
    assert sum(sum(a.done.values()) for a in siege.attacks) > 20, text
