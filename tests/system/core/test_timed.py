# SPDX-License-Identifier: BSD-3-Clause
"""Waits with a time limit."""

import time

import pytest

EACH_TRANSPORT = True


@pytest.mark.sanitize
def test_waits_end_in_time_and_those_of_many_calls_are_reported(universe):
    u = universe(WAITIO_WARN_WAIT="0.3")
    first, _ = u.go([1, 1], "timed")
    assert "wait has waited" in first.err()
    assert "test has waited" in first.err()
    assert "no matching message has arrived" in first.err()


def reports(p):
    return [line for line in p.err().splitlines() if "has waited" in line]


def test_a_long_wait_names_what_is_held_and_is_not_repeated(universe):
    """The tag differs: the report shows the message that came instead. Nothing changes for several
    WAITIO_WARN_WAIT: it is said once. Another message comes: it is said again."""
    u = universe(WAITIO_WARN_WAIT="0.5")
    a, b, c = u.actors([1, 1, 1])
    c.ok("isend 1 0 0 30 8 3")
    c.ok("wait 1 0")
    b.ok("isend 1 0 0 100 7 3")
    b.ok("wait 1 0")
    a.ok("irecv 1 0 1 100 5")
    a.begin("wait 1 3")
    a.logs("has waited")
    (line,) = reports(a)
    assert "receive from PB 1 rank 0, tag 5, 100 bytes" in line
    held = line.partition("held unexpectedly: ")[2]
    assert held.startswith(
        "2 messages: tag 7, 100 bytes, from PB 1 rank 0; tag 8, 30 bytes, from PB 2"
    )
    time.sleep(3.5)
    assert len(reports(a)) == 1, reports(a)
    b.ok("isend 2 0 0 70 9 3")
    b.ok("wait 2 0")
    a.logs("tag 9, 70 bytes, from PB 1 rank 0")
    assert len(reports(a)) == 2
    b.ok("isend 3 0 0 100 5 3")
    assert a.answer().split()[:2] == ["ok", "100"]


def test_who_listens_while_others_talk_does_not_wait(universe):
    """A receive that is tested now and then, as for an alarm: no long wait while messages come."""
    u = universe(WAITIO_WARN_WAIT="0.2")
    a, b = u.actors([1, 1])
    a.ok("irecv 9 0 -1 100 77")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        b.ok("isend 1 0 0 8 5 3")
        b.ok("wait 1 0")
        a.ok("irecv 1 0 1 8 5")
        a.ok("wait 1 3")
        a.ok("test 9")
    assert reports(a) == []
    b.ok("isend 2 0 0 100 77 3")
    b.ok("wait 2 0")
    assert a.ok("wait 9 3")[0] == "100"
