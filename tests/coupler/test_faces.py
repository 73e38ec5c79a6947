# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the published style, in Fortran and C, as partners in one job and in two."""

import sys

import pytest
from vectors import PAIRS, pair, var

CONF = (
    "&h3ou_coupling log_level='SILENT', debug_mode=.false., stop_step=0 /\n"
    + pair(*PAIRS["AB"])
    + var("flatA", "flatA", 3600)
    + var("deepA", "deepA", 7200, layer=3)
    + pair(*PAIRS["BA"])
    + var("flatB", "flatB", 3600)
    + var("deepB", "deepB", 7200, layer=3)
)


def fortran(troupe, mpi, name):
    if not (troupe.build_dir / "lib" / "h3ou" / mpi / "libh3ou.so").exists():
        pytest.skip("libh3ou is not built: no Fortran compiler")
    modules = troupe.build_dir / "modules" / "h3ou" / mpi
    source = troupe.source_dir / "tests" / "coupler" / name
    return troupe.compile(mpi, source, f"-I{modules}", "-lh3ou")


def program(troupe, mpi, language):
    if language == "c":
        source = troupe.source_dir / "tests" / "coupler" / "faces.c"
        return troupe.compile(mpi, source, "-std=gnu11")
    return fortran(troupe, mpi, "faces.F90")


LANGUAGES = [("fortran", "fortran"), ("fortran", "c"), ("c", "fortran"), ("c", "c")]


@pytest.mark.parametrize("way", ["one job", "two jobs"])
@pytest.mark.parametrize("languages", LANGUAGES, ids="-".join)
def test_published_calls(troupe, tmp_path, way, languages):
    conf = tmp_path / "coupling.conf"
    conf.write_text(CONF)
    i = LANGUAGES.index(languages)
    numbers = ((2, 2), (1, 2), (3, 2), (1, 1))[i]
    texts = ["texts"] if languages == ("fortran", "fortran") else []
    parts = []
    for component, language, n, mpi in zip(
        ("compA", "compB"),
        languages,
        numbers,
        ("openmpi", "mpich") if way == "two jobs" else (("mpich", "openmpi")[i % 2],) * 2,
    ):
        parts.append((n, mpi, [program(troupe, mpi, language), component, conf, *texts]))
    if way == "one job":
        line = troupe.one_job(parts[0][1], [(n, words) for n, _, words in parts])
    else:
        line = troupe.jobs(parts)
    done = troupe.run(line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok comp") == sum(numbers), done.stdout + done.stderr


@pytest.mark.parametrize("languages", [("python", "c"), ("fortran", "python")], ids="-".join)
@pytest.mark.parametrize("way", ["one job", "two jobs"])
def test_python_is_a_partner(troupe, tmp_path, way, languages):
    pytest.importorskip("numpy")
    conf = tmp_path / "coupling.conf"
    conf.write_text(CONF)
    source = troupe.source_dir / "tests" / "coupler" / "faces.py"
    mpis = ("openmpi", "mpich") if way == "two jobs" else ("mpich", "mpich")
    parts = []
    for n, component, language, mpi in zip((2, 1), ("compA", "compB"), languages, mpis):
        troupe.need(mpi)
        words = [sys.executable, source]
        if language != "python":
            words = [program(troupe, mpi, language)]
        parts.append((n, mpi, [*words, component, conf]))
    if way == "one job":
        line = troupe.one_job("mpich", [(n, words) for n, _, words in parts])
    else:
        line = troupe.jobs(parts)
    module = troupe.source_dir / "python" / "h3ou"
    done = troupe.run(line, PYTHONPATH=str(module), H3OU_LIB=str(troupe.build_dir / "lib" / "h3ou"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok comp") == 3, done.stdout + done.stderr


def test_a_name_may_be_put_and_got(troupe, tmp_path):
    """Two variables of one name, with layers and grids of their own."""
    conf = tmp_path / "coupling.conf"
    conf.write_text(
        pair(*PAIRS["AB"])
        + var("x", "x", 3600)
        + pair("compB", "compA", "hB", "hA")
        + var("x", "x", 3600, layer=3)
    )
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "same.c")
    line = troupe.one_job("mpich", [(1, [program, c, conf]) for c in ("compA", "compB")])
    done = troupe.run(line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 2, done.stdout + done.stderr


@pytest.mark.parametrize("numbers", [(1, 1), (2, 2), (1, 3)])
def test_a_program_may_interpolate_itself(troupe, tmp_path, numbers):
    conf = tmp_path / "coupling.conf"
    conf.write_text(pair(*PAIRS["AB"]) + var("vA", "yA", 3600, grid_intpl_tag=3))
    mpi = ("openmpi", "mpich")[numbers == (2, 2)]
    parts = [
        (n, [fortran(troupe, mpi, "hook.f90"), c, conf])
        for n, c in zip(numbers, ("compA", "compB"))
    ]
    done = troupe.run(troupe.one_job(mpi, parts))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok comp") == sum(numbers)


@pytest.mark.parametrize(
    "parts, pairs",
    [
        ([(1, "compA", 1), (2, "compB", 1)], ["compA with", *["compB with"] * 2]),
        (
            [(2, "compA", 2), (4, "compB", 2)],
            [
                "compA0000 with compB0000",
                "compA0001 with compB0001",
                *["compB0000 with compA0000", "compB0001 with compA0001"] * 2,
            ],
        ),
        (
            [(2, "compA", 2), (1, "compB", 1)],
            [
                "compA0000 with compB0000",
                "compA0001 with compB0000",
                "compB0000 with compA0000",
            ],
        ),
        (
            [(2, "compA", 2), (1, "compB", 1), (1, "compC", 1)],
            ["compA0000 with", "compA0001 with", "compB0000 with", "compC0000 with"],
        ),
    ],
    ids=["none", "one-to-one", "many-to-one", "three"],
)
def test_members_know_their_names(troupe, parts, pairs):
    """As published: the name and four digits; and the other one, where there is one other."""
    words = fortran(troupe, "mpich", "members.f90")
    line = troupe.one_job("mpich", [(n, [words, c, m]) for n, c, m in parts])
    done = troupe.run(line)
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(x.strip() for x in done.stdout.splitlines())
    assert said == sorted(f"I am {pair}" for pair in pairs), done.stdout + done.stderr
