# SPDX-License-Identifier: BSD-3-Clause
"""A signal handler that calls the library in the middle of another call: see progs/handler.c."""

import pytest


@pytest.mark.parametrize("way", ["alone", "beside"])
def test_a_call_in_a_signal_handler_ends_the_process_with_the_reason(universe, way):
    u = universe(WAITIO_COMM_TYPE="shm")
    caller, peer = (u.process(i, 0, 1, 2, "handler", way) for i in range(2))
    caller.ended(1, timeout=30)
    assert "a signal handler has called WaitIO in the middle of another call" in caller.story()
    assert "Set a flag in the handler" in caller.story()
    peer.ended(0, timeout=30)
