# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges that go at once, from Fortran (now.f90): lag 0, and outside the steps."""

import time

import pytest
from test_faces import fortran
from test_mistakes import check
from vectors import PAIRS, pair, var

CONF = (
    pair(*PAIRS["AB"])
    + var("flat", "flat", 7200, 0)
    + var("deep", "deep", 7200, 0, layer=3)
    + var("slow", "slow", 14400)
)


def start(troupe, tmp_path, way, numbers, *mistake):
    conf = tmp_path / "coupling.conf"
    conf.write_text(CONF)
    mpis = ("openmpi", "mpich") if way == "two jobs" else ("mpich", "mpich")
    parts = [
        (n, mpi, [fortran(troupe, mpi, "now.f90"), c, conf, *mistake])
        for n, mpi, c in zip(numbers, mpis, ("compA", "compB"))
    ]
    if way == "one job":
        return troupe.run(troupe.one_job("mpich", [(n, w) for n, _, w in parts]))
    return troupe.run(troupe.jobs(parts))


WAYS = [("one job", (1, 1)), ("one job", (2, 3)), ("two jobs", (2, 1))]


@pytest.mark.parametrize("way, numbers", WAYS)
def test_fortran_exchanges_at_once(troupe, tmp_path, way, numbers):
    done = start(troupe, tmp_path, way, numbers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok comp") == sum(numbers), done.stdout + done.stderr


MISTAKES = {
    "unput": "component 'compA' sends 'slow' immediately, but has never put it",
    "unwanted": "component 'compA' receives from component 'compB' immediately, but",
    "stranger": "send_data_immediately: 'compA' is not the own component",
    "lag": "h3ou_send_data_immediately: time_lag is -1, 0 or 1",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_go_at_once_is_named_on_both_sides(troupe, tmp_path, patient, mistake):
    since = time.monotonic()
    way = "two jobs" if mistake in ("stranger", "unwanted") else "one job"
    done = start(troupe, tmp_path, way, (2, 1), mistake)
    check(done, MISTAKES[mistake], time.monotonic() - since, patient)
