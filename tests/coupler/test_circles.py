# SPDX-License-Identifier: BSD-3-Clause
"""Components that would wait for each other for ever end with an error that names the whole circle;
a component that only computes long does not."""

import os
import time

import pytest
from test_vectors import gets, write
from vectors import PAIRS, Scenario, identity, pair, two, var

STEPS = "steps 3600 3600 3600\n"


def circle(scenario, troupe, folder, patient, numbers):
    """The error of each component of a run that must end in seconds."""
    write(folder, [scenario], "cyclic")
    parts = []
    for i, component in enumerate(scenario.parts):
        mpi = ("openmpi", "mpich")[i % 2]
        words = [troupe.puppet(mpi), component, folder, scenario.name]
        parts.append((numbers[i], mpi, words))
    since = time.monotonic()
    done = troupe.run(troupe.jobs(parts))
    took = time.monotonic() - since
    text = " ".join((done.stdout + done.stderr).split())
    assert 0 < done.returncode < 128, text
    assert took < patient(10), f"took {took} s"
    errors = {c: "" for c in scenario.parts}
    for part in text.split("waitio coupler: ")[1:]:
        for component in errors:
            if part.startswith(f"component '{component}'"):
                errors[component] += part
    assert all("in a circle" in e for e in errors.values()), text
    return errors


@pytest.mark.parametrize("numbers", [(1, 1, 1), (2, 1, 3)])
def test_three_components_that_all_get_first(troupe, tmp_path, patient, numbers):
    conf, parts, names = "", {}, "ABC"
    for i, a in enumerate(names):
        b, before = names[(i + 1) % 3], names[i - 1]
        conf += pair(f"comp{a}", f"comp{b}", f"g{a}", f"g{b}") + var(f"v{a}", f"y{a}", 3600, 0)
        parts[f"comp{a}"] = f"grid g{a} 1 2 3 4\nput v{a} 0 1 noinit\nget y{before}\n{STEPS}"
    for a, b in ("AB", "BC", "CA"):
        row = f"table comp{a} g{a} comp{b} g{b} 1 "
        parts[f"comp{a}"] += row + identity(4) + "\n"
        parts[f"comp{b}"] += row + "\n"
    errors = circle(Scenario("ring", conf, parts), troupe, tmp_path, patient, numbers)
    for a, before in ("AC", "BA", "CB"):
        assert all(f"component 'comp{a}' gets 'y{before}' (" in e for e in errors.values())
    assert all("let one of them put" in e for e in errors.values())


def test_two_variables_of_one_pair(troupe, tmp_path, patient):
    """Each side has put one of its two variables, and gets the other one of the partner."""
    conf = pair(*PAIRS["AB"]) + var("x1", "x1", 3600, 0) + var("x2", "x2", 3600, 0)
    conf += pair(*PAIRS["BA"]) + var("y1", "y1", 3600, 0) + var("y2", "y2", 3600, 0)
    tables = ("table compA gA compB gB 1 ", "table compB gB compA gA 1 ")
    parts = {
        "compA": f"grid gA 1 2 3 4\n{tables[0]}{identity(4)}\n{tables[1]}\nput x1 0 1 noinit\n"
        f"put x2 0 1\nget y1\nget y2\n{STEPS}",
        "compB": f"grid gB 1 2 3 4\n{tables[0]}\n{tables[1]}{identity(4)}\nput y1 0 1\n"
        f"put y2 0 1 noinit\nget x2\nget x1\n{STEPS}",
    }
    errors = circle(Scenario("pairs", conf, parts), troupe, tmp_path, patient, (2, 2))
    for error in errors.values():
        assert "component 'compA' gets 'y2' (" in error
        assert "component 'compB' gets 'x1' (" in error
        assert "in its step at 0 s" in error


@pytest.mark.parametrize("lag", [0, -1, 1])
def test_a_partner_that_computes_long_is_no_error(troupe, tmp_path, lag):
    scenario = two("slow", (3600, lag), (3600,), steps_a="3600 3600", steps_b="3600 3600")
    scenario.parts["compA"] += "nap 4\n"
    write(tmp_path, [scenario], "cyclic")
    out = tmp_path / "out"
    out.mkdir()
    parts = [
        (2, mpi, [troupe.puppet(mpi), c, tmp_path, "slow"])
        for c, mpi in (("compA", "mpich"), ("compB", "openmpi"))
    ]
    done = troupe.run(troupe.jobs(parts), PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = 2001 if lag == 1 else 1001
    assert gets(out)["slow", "compB", "yA"][2, 1, 1] == wanted


@pytest.mark.parametrize(
    "mode, says",
    [
        ("cross", "in a circle"),
        ("gone", "component 'compA' has ended its run, but component 'compB', process 0 waits"),
    ],
)
def test_messages_of_programs(troupe, tmp_path, patient, mode, says):
    conf = tmp_path / "cross.conf"
    conf.write_text("")
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "cross.c")
    words = [[program, c, conf, mode] for c in ("compA", "compB")]
    since = time.monotonic()
    line = troupe.one_job("mpich", [(1, w) for w in words])
    done = troupe.run(line, WAITIO_JOB_ID=f"cross{os.getpid()}")
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and time.monotonic() - since < patient(10), text
    assert text.count(says) >= 2 and "a message with tag 5" in text, text


BROADCASTS = "waits until component 'compB', process 0 broadcasts to all components"
BROADCAST = f"component 'compA', process 0 {BROADCASTS}"
TOGETHER = (
    "component 'compA', process 0 waits in a call that all processes of component 'compA' make"
)


@pytest.mark.parametrize(
    "mode, numbers, says",
    [
        ("bcast", (1, 1), ("in a circle", BROADCAST, "sends a message with tag 5")),
        ("bcast", (3, 2), ("in a circle", BROADCASTS)),
        ("ended", (1, 1), (f"component 'compB' has ended its run, but {BROADCAST}",)),
        ("together", (2, 1), ("in a circle", TOGETHER, "process 1 waits until component 'compB'")),
        ("together", (12, 1), ("in a circle", TOGETHER, "waits until component 'compB'")),
    ],
)
def test_calls_of_several_processes(troupe, tmp_path, patient, mode, numbers, says):
    """Who waits in one is waited for. Guard: where nobody asks those that have not come, all wait
    for ever."""
    conf = tmp_path / "calls.conf"
    conf.write_text("")
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "cross.c")
    since = time.monotonic()
    line = troupe.one_job(
        "mpich", [(n, [program, c, conf, mode]) for n, c in zip(numbers, ("compA", "compB"))]
    )
    done = troupe.run(line, WAITIO_JOB_ID=f"calls{os.getpid()}")
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and time.monotonic() - since < patient(15), text
    for words in says:
        assert words in text, text


def test_messages_without_a_number(troupe, tmp_path):
    """A process without points receives into no array; it does not send."""
    conf = tmp_path / "empty.conf"
    conf.write_text("")
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "cross.c")
    words = [[program, c, conf, "empty"] for c in ("compA", "compB")]
    line = troupe.one_job("mpich", [(1, w) for w in words])
    done = troupe.run(line, WAITIO_JOB_ID=f"empty{os.getpid()}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == ["got", "7"] * 2, done.stdout
