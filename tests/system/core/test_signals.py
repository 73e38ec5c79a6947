# SPDX-License-Identifier: BSD-3-Clause
"""exit() called by a signal handler, as warnings of batch systems provoke it: whatever the process
was doing in the library, it ends."""

import signal
import time

import pytest


@pytest.mark.parametrize("progress", ["service", "poll"])
def test_exit_in_a_handler_during_a_wait(universe, progress):
    """The wait that was interrupted never goes on: leaving drives the transports in its place, what
    was sent arrives. Guard: without the change of places in wio_universe_leave it hangs (poll), or
    gives its peer up after WAITIO_LINGER."""
    u = universe(WAITIO_PROGRESS=progress)
    a, b = u.actors([1, 1])
    a.ok("onterm 7")
    a.ok("irecv 1 0 1 10 1")
    a.ok("isend 2 0 1 5000000 2 5")
    a.begin("wait 1 0")
    a.silent(0.5)
    a.signal(signal.SIGTERM)
    time.sleep(0.3)
    b.ok("irecv 2 0 0 5000000 2")
    assert b.ok("wait 2 5")[-1] == "-1"
    b.begin("finalize")
    assert a.ended(None, timeout=15) == 7
    b.was_ok(b.answer())
    assert "signal handler" not in a.err()


@pytest.mark.parametrize("errors", ["return", "default"])
def test_exit_in_a_handler_in_the_middle_of_a_call(universe, errors):
    """Nothing can be saved: one line, and the end. Guard: without the question who holds the lock
    some of these wait for themselves."""
    cast = []
    while len(cast) < 40 and not any("signal handler" in p.err() for p in cast):
        u = universe(WAITIO_ERRORS=errors)
        some = [u.actors([1])[0] for _ in range(4)]
        for p in some:
            p.ok("onterm 9")
            p.ok("storm 0")
        time.sleep(0.1)
        for p in some:
            p.signal(signal.SIGTERM)
        for p in some:
            assert p.ended(None, timeout=15) == 9, p.story()
        cast += some
    said = [p.err().count("signal handler") for p in cast]
    assert max(said) == 1, [p.err() for p in cast]
