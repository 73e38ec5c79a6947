# SPDX-License-Identifier: BSD-3-Clause
"""A member of a hybrid communicator is killed in the middle of collectives: all others end within
seconds, also those that are inside their block's MPI, and nobody computes with wrong data.

The launchers are told to leave a block alone that has lost a process: as they come they end it, and
nothing would be left to look at."""

import re

import pytest
from jobs import MPIS, mpiexec
from surroundings import rendezvous

TOLD_S = 2.0
KINDS = ["bcast", "reduce", "allreduce", "barrier", "gather", "allgather", "scatter", "iallreduce"]
PEER, REVOKED = -8, -23


@pytest.fixture
def blocks(ways, launcher, source_dir, tmp_path):
    """Three processes under each MPI; returns what they said, and the output of the launchers."""
    source = source_dir / "tests" / "hybrid" / "hybrid_death.c"
    keep = {
        "openmpi": ["--enable-recovery", "--mca", "orte_enable_recovery", "1"],
        "mpich": ["-disable-auto-cleanup"],
    }

    def run(limit, errors, *words, **more):
        env = rendezvous(
            2,
            WAITIO_HYBRID_INSIDE="mpi",
            WAITIO_ERRORS=errors,
            WAITIO_HYBRID_BLOCKING=int(errors == "abort"),
            **more,
        )
        children = []
        for pb, mpi in enumerate(MPIS):
            part = (3, [ways.with_provider(mpi, source), *words])
            line = mpiexec(mpi, part, options=keep[mpi])
            children.append(launcher.start(line, **env, WAITIO_PBID=pb))
        done = [launcher.wait(child, limit) for child in children]
        said = "".join(f.read_text() for f in sorted(tmp_path.glob("said.*")))
        return said, "".join(d.stdout + d.stderr for d in done)

    return run


def others(victim):
    """Ranks that must hear of it. MPICH ends the processes of a block that has lost one as soon as
    they enter it, whatever its launcher is told: from those an error may come, or nothing."""
    return {r for r in range(6) if r != victim and (victim < 3 or r < 3)}


def told(result, victim):
    """When the victim died, and what the others said: rank -> (time, code)."""
    text, out = result
    died = re.search(r"(?m)^died (\S+)$", text)
    assert died, out
    failed = re.findall(r"(?m)^failed (\d) (\S+) (-?\d+) ", text)
    said = {int(rank): (float(t), int(code)) for rank, t, code in failed}
    assert others(victim) <= set(said), text + out
    assert {code for _, code in said.values()} <= {PEER, REVOKED}, text + out
    then = dict(re.findall(r"(?m)^then (\d) (-?\d+)$", text))
    assert {then.get(str(r)) for r in others(victim)} == {str(REVOKED)}, text + out
    return float(died[1]), said


# The victim leads its block, or does not, under each MPI in turn; it is the root of every sixth
# call in any case.
@pytest.mark.parametrize(
    ("kind", "victim"), [(k, v) for i, k in enumerate(KINDS) for v in ((3, 2) if i % 2 else (0, 4))]
)
def test_all_members_get_an_error(blocks, patient, victim, kind):
    died, said = told(blocks(60, "return", victim, KINDS.index(kind), 1000, 20), victim)
    assert max(t for t, _ in said.values()) - died < patient(TOLD_S), said


@pytest.mark.parametrize("victim", [1, 3])
def test_long_messages_end_too(blocks, patient, victim):
    """Pieces are on their way in both lanes."""
    told(blocks(60, "return", victim, KINDS.index("allreduce"), 300000, 5), victim)


# With two kings of each block they are ranks 0 and 1, 3 and 4.
@pytest.mark.parametrize(
    ("kind", "victim"), [("bcast", 1), ("reduce", 4), ("allreduce", 1), ("iallreduce", 4)]
)
def test_the_second_king_dies(blocks, patient, victim, kind):
    words = (victim, KINDS.index(kind), 600000, 5)
    died, said = told(blocks(60, "return", *words, WAITIO_HYBRID_KINGS="2"), victim)
    assert max(t for t, _ in said.values()) - died < patient(TOLD_S), said


@pytest.mark.parametrize("victim", [0, 4])
@pytest.mark.parametrize("kind", ["bcast", "allreduce"])
def test_who_blocks_in_mpi_is_ended(blocks, patient, victim, kind):
    """By default errors end the program. The service thread ends it when MPI does not return."""
    text, out = blocks(60, "abort", victim, KINDS.index(kind), 10, 50)
    assert text.startswith("died ") and text.count("\n") == 1, text + out
    named = re.findall(r"waitio: PB (\d) rank \d: .* failed \(-\d+\): ", out)
    assert len(named) >= len(others(victim)), out
