# SPDX-License-Identifier: BSD-3-Clause
"""Leaving with unfinished business: messages that nobody will ever receive, threads still
inside."""

import pytest

EACH_TRANSPORT = True


@pytest.mark.sanitize
@pytest.mark.parametrize("blocks", [[1], [1, 1], [2, 1]])
@pytest.mark.parametrize("mode", ["finalize", "exit", "threads"])
def test_nobody_waits_for_answers_that_never_come(universe, blocks, mode):
    """Guard: both sides wait in finalize for the other's confirmation, for ever."""
    # Threads that never end keep what libcrypto holds for them: no leak of ours.
    leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if mode == "threads" else {}
    for p in universe(WAITIO_ERRORS="return", **leaks).go(blocks, "leavers", mode):
        assert p.lines == ["leavers ok"]
