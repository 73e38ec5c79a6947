# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a file holds, the converter ends, and running it again changes nothing more."""

import pathlib
import random

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

BITS = [
    "&", "!", "'", '"', "\n", "     &", "!$ ", "!$omp ", "MPI_Send", "(", ")", "%", ",", ";", "::",
    "\t", "\r", "end\n", "subroutine x\n", "integer :: ", "\xe9", "7Habc", "mpi_", "type t\n",
    "=>", "*", "/*", "*/", "\\\n", 'R"(', '#include "mpif.h"\n', "use mpi\n", "include 'mpif.h'\n",
]  # fmt: skip


def damaged(rng, text):
    """Some of a text, with pieces put in, taken out and doubled."""
    start = rng.randrange(len(text))
    text = text[start : start + rng.randint(20, 1500)]
    for _ in range(rng.randint(0, 25)):
        at, other = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
        piece = rng.choice([rng.choice(BITS), "", text[other : other + 30]])
        text = text[:at] + piece + text[at + (0 if piece else rng.randint(1, 6)) :]
    return text or "x"


@pytest.mark.parametrize("name", ["a.f", "a.f90", "a.c", "a.cc"])
def test_damaged_sources(convert, name):
    rng = random.Random(name)
    kind = "c" if name.startswith("a.c") else "f*"
    found = sorted((ROOT / "examples" / "convert").glob(f"*.{kind}"))
    found += sorted((ROOT / "tests" / "convert").glob(f"*.{kind}"))
    texts = [path.read_text() for path in found]
    for _ in range(150):
        text = damaged(rng, rng.choice(texts))
        convert(name, text.encode("latin-1"))
        assert convert.status in (0, 1)
