# SPDX-License-Identifier: BSD-3-Clause
"""Waits with a time limit."""

import pytest

EACH_TRANSPORT = True


@pytest.mark.sanitize
def test_waits_end_in_time_and_those_of_many_calls_are_reported(universe):
    u = universe(WAITIO_WARN_WAIT="0.3")
    first, _ = u.go([1, 1], "timed")
    assert "wait has waited" in first.err()
    assert "test has waited" in first.err()
    assert "no matching message has arrived" in first.err()
