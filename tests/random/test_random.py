# SPDX-License-Identifier: BSD-3-Clause
"""Random legal MPI programs in each way that a program can run: a few seeds. `make random` runs
as many as one likes."""

import re

import pytest
from random_programs import WAYS, RandomPrograms, processes
from seeds import seed

SEEDS = 6


@pytest.fixture
def programs(launcher):
    return RandomPrograms(launcher)


@pytest.mark.parametrize("way", WAYS)
def test_every_byte_is_what_the_model_says(programs, way):
    first = seed()
    done = programs.run(way, f"{first}:{first + SEEDS}", limit=100)
    assert done.returncode == 0, done.all()
    assert done.stdout.count("ok: rank ") == processes(way), done.all()


def test_a_wrong_byte_is_found_and_its_place_told(programs):
    done = programs.run("rename", "3:9", "--spoil", "40", limit=100)
    assert done.returncode != 0, done.all()
    assert "1 of " in done.stderr and "bytes are wrong, the first at" in done.stderr, done.all()
    again = re.search(r"again: --seeds (\d+) --steps", done.stderr)
    assert again and int(again.group(1)) in range(3, 9), done.all()
