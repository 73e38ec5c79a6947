# SPDX-License-Identifier: BSD-3-Clause
"""Faults of processes and of the system in each state of the protocol: the short form of
tests/faults/campaign.py; a trial that fails is named by seed and number."""

import os
import sys

import pytest
import seeds

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "faults"))
import campaign  # noqa: E402

BUILD = os.environ.get("WAITIO_BUILD_DIR", str(campaign.ROOT / "build" / "release"))


@pytest.mark.sanitize
@pytest.mark.parametrize("kind, trials", [("kill", 16), ("stop", 4), ("system", 16)])
def test_every_state_is_ready_for_it(kind, trials):
    """Guards: without the end of the stream a death is not told; with a clock for the silent, one
    that was stopped is taken for dead; an error that is dropped in src/ is an answer that never
    comes."""
    wrong = []
    seed = seeds.seed()
    first = seed % len(campaign.STATES)
    failures, _, _ = campaign.campaign(kind, trials, seed, BUILD, wrong.append, first)
    assert failures == 0, "\n".join(wrong)
