# SPDX-License-Identifier: BSD-3-Clause
"""Runs with a configuration in YAML: the published vectors, and what only YAML says."""

import subprocess
import time

import pytest
import vectors
from test_mistakes import check as check_error
from test_vectors import check, gets, write
from vectors import two

STEPS = {"steps_a": "3600 3600", "steps_b": "3600 3600"}


@pytest.fixture
def to_yaml(build_dir, tmp_path):
    """Configurations of scenarios turned into YAML, with words before and parts replaced."""
    program = str(build_dir / "bin" / "waitio-coupling")

    def turn(name, before="", *replaced):
        path = tmp_path / f"{name}.conf"
        done = subprocess.run(
            [program, "convert", str(path)], capture_output=True, text=True, timeout=60
        )
        if "built without libyaml" in done.stderr:
            pytest.skip("built without libyaml (Debian: apt-get install libyaml-dev)")
        assert done.returncode == 0, done.stderr
        text = before + done.stdout
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)

    return turn


def start(troupe, folder, names, ways, **env):
    """A component under each of two MPIs, or both in one job."""
    (mpi_a, n_a), (mpi_b, n_b) = ways
    words = [
        [troupe.puppet(mpi), c, folder, *names] for c, mpi in (("compA", mpi_a), ("compB", mpi_b))
    ]
    if mpi_a == mpi_b:
        line = troupe.one_job(mpi_a, [(n_a, words[0]), (n_b, words[1])])
    else:
        line = troupe.jobs([(n_a, mpi_a, words[0]), (n_b, mpi_b, words[1])])
    return troupe.run(line, **env)


def test_the_published_vectors(troupe, tmp_path, to_yaml):
    """All of them, to the last number, across two jobs."""
    names = [s.name for s in vectors.GOOD]
    write(tmp_path, vectors.GOOD, "cyclic")
    for name in names:
        to_yaml(name)
    out = tmp_path / "out"
    out.mkdir()
    ways = (("mpich", 2), ("openmpi", 2))
    done = start(troupe, tmp_path, names, ways, PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    check(vectors.GOOD, gets(out))


# What stands before, what is replaced, and what both sides say.
MISTAKES = {
    "processes": (
        "",
        ("compB:\n", "compB:\n    processes: 3\n"),
        "component 'compB' has processes: 3, but runs with 2; change one of the two",
    ),
    "step": (
        "",
        ("compA:\n", "compA:\n    step: 30min\n"),
        "component 'compA' makes a step of 3600 s at 0 s, but the configuration says step: 1800 s",
    ),
    "end": (
        "calendar: {start: 2026-01-01, stop: 2026-01-01T01:00}\n",
        ("compA:\n", "compA:\n"),
        "makes a step of 3600 s at 3600 s, beyond the end of the run, 3600 s after its start",
    ),
    "grid": (
        "",
        ("grids: [gB]", "grids: [g]"),
        "component 'compB' has no grid 'gB' in components",
    ),
    "field": (
        "",
        ("compA:\n", "compA:\n    puts: [wind]\n"),
        "component 'compA' puts no 'vA', as components says",
    ),
    "key": ("", ("interval: 1h", "intervall: 1h"), "(did you mean 'interval'?)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_named_on_both_sides(troupe, tmp_path, patient, to_yaml, mistake):
    """What the file says of the components, and the programs do not do."""
    before, replaced, says = MISTAKES[mistake]
    write(tmp_path, [two("c", (3600,), **STEPS)], "block")
    to_yaml("c", before, replaced)
    mpis = ("mpich", "mpich") if list(MISTAKES).index(mistake) % 2 == 0 else ("openmpi", "mpich")
    since = time.monotonic()
    done = start(troupe, tmp_path, ["c"], [(mpi, 2) for mpi in mpis])
    check_error(done, says, time.monotonic() - since, patient)


def test_what_the_file_says_is_done(troupe, tmp_path, to_yaml):
    """Right processes, steps, fields and an end: a run like any other."""
    write(tmp_path, [two("c", (3600,), **STEPS)], "block")
    more = "    step: 1h\n    processes: 2\n"
    to_yaml(
        "c",
        "calendar: {start: 2026-01-01, stop: 2026-01-01T02:00}\n",
        ("compA:\n", f"compA:\n{more}    puts: vA\n"),
        ("compB:\n", f"compB:\n{more}    gets: [yA]\n"),
    )
    done = start(troupe, tmp_path, ["c"], (("mpich", 2), ("mpich", 2)))
    assert done.returncode == 0, done.stdout + done.stderr
