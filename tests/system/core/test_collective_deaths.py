# SPDX-License-Identifier: BSD-3-Clause
"""A member dies in the middle of a collective: no survivor hangs. The short form of
tests/faults/collective_deaths.py; other rounds in every run, named by their seed when one fails."""

import os
import sys

import pytest
import seeds

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "faults"))
import collective_deaths  # noqa: E402

BUILD = os.environ.get("WAITIO_BUILD_DIR", os.path.join(collective_deaths.ROOT, "build/release"))


@pytest.mark.sanitize
@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_survivors_are_told(transport):
    wrong = []
    seed = seeds.seed()
    failures, _ = collective_deaths.campaign(20, seed, BUILD, [transport], wrong.append)
    assert failures == 0, "\n".join(wrong)
