# SPDX-License-Identifier: BSD-3-Clause
"""Each process of a component is killed in each phase: all others name the component within
seconds, and end."""

import time

import pytest
from test_ensembles import start
from vectors import PAIRS, Scenario, identity, pair, var

FOUR = "3600 3600 3600 3600"


def ring(where, rank):
    """A to B, B to C, C to A: nobody is without a partner."""
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600)
    conf += pair("compB", "compC", "gB", "gC") + var("vB", "yB", 3600)
    conf += pair("compC", "compA", "gC", "gA") + var("vC", "yC", 3600)
    parts = {}
    for me, after, before in (("A", "B", "C"), ("B", "C", "A"), ("C", "A", "B")):
        out = f"table comp{me} g{me} comp{after} g{after} 1 {identity(4)}\n"
        back = f"table comp{before} g{before} comp{me} g{me} 1\n"
        # one order for all, or they would wait for each other in a circle
        tables = back + out if me == "B" else out + back
        tables = back + out if me == "C" else tables
        parts[f"comp{me}"] = (
            f"grid g{me} 1 2 3 4\n{tables}put v{me} 0 1\nget y{before}\nsteps {FOUR}\n"
        )
    parts["compB"] = f"trouble die 2 {where} {rank}\n" + parts["compB"]
    return Scenario("ring", conf, parts)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("where", ["grid", "table", "start", "step", "get", "put", "close"])
def test_a_death_is_named_to_all(troupe, tmp_path, patient, where, rank):
    parts = [(1, "mpich", "compA"), (2, "mpich", "compB"), (2, "openmpi", "compC")]
    jobs = start(troupe, tmp_path, ring(where, rank), parts)
    since = None
    try:
        texts = []
        limit = time.monotonic() + patient(40)
        while jobs[1].poll() is None:
            assert time.monotonic() < limit, "compB does not end"
            time.sleep(0.02)
        since = time.monotonic()
        for job in jobs:
            texts.append(job.communicate(timeout=patient(20))[0])
        took = time.monotonic() - since
    finally:
        for job in jobs:
            job.kill()
            job.communicate()
    for text, job in ((texts[0], jobs[0]), (texts[2], jobs[2])):
        assert job.returncode != 0, texts
        assert "component 'compB'" in text and "has died or left" in text, texts
    # named within 2 s; then the answers of all are awaited for 2 s, and the sender for 3 s at most
    assert took < patient(7), took
