# SPDX-License-Identifier: BSD-3-Clause
"""Random traffic against a model (progs/traffic.c): sizes, tags, wildcards, groups, orders of
posting, probes, cancels, persistent sends. Guards: a match that overtakes, a lost or doubled
message, a wrong byte or status each end the program with a line that says so."""

import random

import pytest

EACH_TRANSPORT = True


def total(cast):
    return sum(int(p.lines[-1].split()[2]) for p in cast)


def test_ten_thousand_messages(universe):
    cast = universe().go([2, 1, 1], "traffic", 1, 12, 900, timeout=120)
    assert total(cast) == 12 * 900


@pytest.mark.sanitize
@pytest.mark.parametrize("blocks", [[1], [1, 1], [3, 2]])
def test_shapes(universe, blocks):
    cast = universe().go(blocks, "traffic", 7, 4, 300, 300000)
    assert total(cast) == 4 * 300


@pytest.mark.parametrize(
    "settings",
    [
        dict(WAITIO_PROGRESS="thread"),
        dict(WAITIO_PROGRESS="poll"),
        dict(WAITIO_EAGER_MAX=0),
        dict(WAITIO_SHM_FETCH="on", WAITIO_SHM_EAGER_MAX=0),
        dict(WAITIO_SHM_FETCH="on", WAITIO_SHM_FETCH_MIN=1),
        dict(WAITIO_SHM_FETCH_MIN=1),
        dict(WAITIO_EAGER_MAX=0, WAITIO_LOCAL_COMPLETE_MAX=0, WAITIO_CHUNK=4096),
        dict(WAITIO_CHUNK=4096),
        dict(WAITIO_UNEXPECTED_MAX="1M", WAITIO_SEND_BUFFER_MAX="1M"),
        dict(WAITIO_MAX_CONNECTIONS=2),
        dict(WAITIO_SPIN=0),
        dict(WAITIO_TCP_SNDBUF=8192, WAITIO_TCP_RCVBUF=8192),
    ],
    ids=lambda s: ",".join(f"{k[7:].lower()}={v}" for k, v in s.items()),
)
def test_settings(universe, settings):
    """The same rules hold whatever the protocol's choices are."""
    largest = 60000 if "WAITIO_TCP_SNDBUF" in settings else 1 << 20  # such buffers are slow
    cast = universe(**settings).go([2, 2], "traffic", 3, 4, 300, largest, timeout=90)
    assert total(cast) == 4 * 300


@pytest.mark.parametrize("seed", [746800, 602046])
def test_probes_beyond_the_budget(universe, seed):
    """What is probed for comes although other messages that nobody has taken yet fill the window
    that its sender was given (these seeds once waited for ever)."""
    cast = universe(WAITIO_UNEXPECTED_MAX="1M", WAITIO_SEND_BUFFER_MAX="1M").go(
        [1, 1], "traffic", seed, 4, 300, 100000, timeout=60
    )
    assert total(cast) == 4 * 300


SOMETIMES = [
    dict(WAITIO_EAGER_MAX=0, WAITIO_SHM_EAGER_MAX=0),
    dict(WAITIO_SPIN=0),
    dict(WAITIO_MAX_CONNECTIONS=2),
    dict(WAITIO_SHM_RINGS=0),
    dict(WAITIO_SHM_RING=16384, WAITIO_SHM_INBOX=8192),
    dict(WAITIO_SHM_DEMOTE=0.01),
    dict(WAITIO_UNEXPECTED_MAX="1M", WAITIO_SEND_BUFFER_MAX="1M"),
    dict(WAITIO_LOCAL_COMPLETE_MAX=0),
    dict(WAITIO_SHM_FETCH="on"),
    dict(WAITIO_SHM_FETCH_MIN=1),
    dict(WAITIO_WRAP="check:fault=7"),
]


def test_many_seeds_and_settings(universe):
    """Settings that nobody thought of together: such a run found what the others had not.
    `make soak` goes on for as long as one likes."""
    for seed in range(1001, 1025):
        dice = random.Random(seed)
        settings = dict(WAITIO_PROGRESS=dice.choice(["service", "thread", "poll"]))
        for some in SOMETIMES:
            if dice.random() < 0.3:
                settings.update(some)
        print(seed, settings)  # shown when it fails
        largest = dice.choice([3000, 100000, 1 << 20, 4 << 20])
        blocks = dice.choice([[1, 1], [2, 2], [3, 2], [2, 1, 1]])
        universe(**settings).go(blocks, "traffic", seed, 4, 300, largest, timeout=100)


def test_large_messages(universe):
    universe().go([1, 1], "traffic", 5, 3, 400, 64 << 20, timeout=170)
