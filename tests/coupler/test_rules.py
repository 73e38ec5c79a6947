# SPDX-License-Identifier: BSD-3-Clause
"""Rules beside the vectors: sums that no partition changes, ranks in any order, long messages,
deaths, and places to stop."""

import os
import random
import signal
import subprocess
import time

import patience
import pytest
from test_vectors import gets, write
from vectors import PAIRS, Scenario, identity, pair, several, two, var


def random_table(n_a, n_b, entries):
    """Coefficients of very different sizes: any other order of a sum gives other bits."""
    chance = random.Random(7)
    rows = []
    for _ in range(entries):
        coef = chance.uniform(-1, 1) * 10 ** chance.randint(-12, 12)
        rows.append(f"{chance.randint(1, n_a) * 3} {chance.randint(1, n_b) * 2} {coef!r}")
    return ";".join(rows)


def spread():
    n_a, n_b = 150, 90
    grid_a = " ".join(str(3 * i) for i in range(n_a, 0, -1))
    grid_b = " ".join(str(2 * i) for i in range(1, n_b + 1))
    a = f"grid gA {grid_a}\ntable compA gA compB gB 1 {random_table(n_a, n_b, 1500)}\n"
    a += "put vA 0.1 1\nsteps 3600 3600 3600\n"
    b = f"grid gB {grid_b}\ntable compA gA compB gB 1\nget yA\nsteps 3600 3600 3600\n"
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600, -1, "AVR")
    return Scenario("spread", conf, {"compA": a, "compB": b})


def test_results_do_not_depend_on_the_partition(troupe, tmp_path):
    """The same to the last bit, however many processes own the points, and in whatever order."""
    ways = [(1, 1, "block"), (3, 2, "cyclic"), (2, 4, "reverse"), (4, 3, "last"), (1, 4, "block")]
    results = []
    for i, (n_a, n_b, share) in enumerate(ways):
        folder = tmp_path / str(i)
        (folder / "out").mkdir(parents=True)
        write(folder, [spread()], share)
        words = [[troupe.puppet("mpich"), c, folder, "spread"] for c in ("compA", "compB")]
        line = troupe.one_job("mpich", [(n_a, words[0]), (n_b, words[1])])
        done = troupe.run(line, PUPPET_OUT=str(folder / "out"))
        assert done.returncode == 0, done.stdout + done.stderr
        results.append(gets(folder / "out")["spread", "compB", "yA"])
    assert len(results[0]) == 3 * 90
    for way, result in zip(ways[1:], results[1:]):
        assert result == results[0], f"{way} differs from one process each"


def test_steps_that_pass_over_an_interval_are_told_once(troupe, tmp_path):
    hours = "3600 3600 3600 3600"
    scenario = two("over", (5400,), (7200,), steps_a=hours, steps_b=hours)
    write(tmp_path, [scenario], "block")
    words = [[troupe.puppet("mpich"), c, tmp_path, "over"] for c in ("compA", "compB")]
    done = troupe.run(troupe.one_job("mpich", [(2, w) for w in words]), PUPPET_OUT=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    says = "component 'compB' gets 'yA' less often than its interval, 5400 s, says: only where one"
    assert says in done.stderr and done.stderr.count("less often") == 1, done.stderr
    assert "from 3600 s to 7200 s passes over 5400 s" in done.stderr, done.stderr


def test_world_ranks_of_components_may_alternate(troupe, tmp_path):
    scenario = two("mixed", (3600,), (3600,), steps_a="3600 3600", steps_b="3600 3600")
    write(tmp_path, [scenario], "cyclic")
    out = tmp_path / "out"
    out.mkdir()
    words = {c: [troupe.puppet("openmpi"), c, tmp_path, "mixed"] for c in ("compA", "compB")}
    order = ["compA", "compB", "compA", "compB"]
    done = troupe.run(
        troupe.one_job("openmpi", [(1, words[c]) for c in order]), PUPPET_OUT=str(out)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = gets(out)
    assert [found["mixed", "compB", "yA"][s, 4, 1] for s in (1, 2)] == [4, 1004]
    assert [found["mixed", "compA", "yB"][s, 4, 1] for s in (1, 2)] == [-4, -1004]


def test_a_component_may_be_in_several_jobs(troupe, tmp_path):
    scenario = two("apart", (3600,), (3600,), steps_a="3600 3600", steps_b="3600 3600")
    write(tmp_path, [scenario], "cyclic")
    out = tmp_path / "out"
    out.mkdir()
    a, b = ([troupe.puppet(m) for m in ("openmpi", "mpich")] for _ in "ab")
    parts = [
        (2, "openmpi", [a[0], "compA", tmp_path, "apart"]),
        (1, "mpich", [a[1], "compA", tmp_path, "apart"]),
        (2, "mpich", [b[1], "compB", tmp_path, "apart"]),
    ]
    done = troupe.run(troupe.jobs(parts), PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    found = gets(out)
    assert [found["apart", "compB", "yA"][s, 3, 1] for s in (1, 2)] == [3, 1003]
    assert [found["apart", "compA", "yB"][s, 3, 1] for s in (1, 2)] == [-3, -1003]


@pytest.mark.parametrize("lag", [0, -1])
def test_long_messages_in_both_directions(troupe, tmp_path, lag):
    """Beyond what sends keep for themselves: both put before either gets."""
    n = 12000
    scenario = two("long", (3600, lag), (3600, lag), steps_a="3600 3600", steps_b="3600 3600")
    points = " ".join(map(str, range(1, n + 1)))
    for component in scenario.parts:
        text = scenario.parts[component].replace("1 2 3 4", points)
        scenario.parts[component] = text.replace(identity(4), identity(n))
    write(tmp_path, [scenario], "block")
    out = tmp_path / "out"
    out.mkdir()
    words = [
        [troupe.puppet(m), c, tmp_path, "long"]
        for m, c in (("mpich", "compA"), ("openmpi", "compB"))
    ]
    line = troupe.jobs([(1, "mpich", words[0]), (1, "openmpi", words[1])])
    done = troupe.run(line, PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    found = gets(out)
    assert found["long", "compB", "yA"][2, n, 1] == 1000 + n
    assert found["long", "compA", "yB"][2, n, 1] == -1000 - n


@pytest.mark.parametrize("lag, interval, want", [(1, 7200, 2000), (2, 3600, 2000), (3, 3600, 3000)])
def test_long_messages_of_several_lags(troupe, tmp_path, lag, interval, want):
    """B waits in its first step for what A puts much later: A goes on past what B takes then."""
    n = 12000
    scenario = several(
        "lags",
        [var("vA", "yA", 3600), var("wA", "zA", interval, lag)],
        "3600 " * 6,
        {"yA": "", "zA": ""},
        ["vA 0 1", "wA 0 1"],
    )
    points = " ".join(map(str, range(1, n + 1)))
    for component in scenario.parts:
        text = scenario.parts[component].replace("1 2 3 4", points)
        scenario.parts[component] = text.replace(identity(4), identity(n))
    write(tmp_path, [scenario], "block")
    out = tmp_path / "out"
    out.mkdir()
    words = [
        [troupe.puppet(m), c, tmp_path, "lags"]
        for m, c in (("mpich", "compA"), ("openmpi", "compB"))
    ]
    line = troupe.jobs([(1, "mpich", words[0]), (1, "openmpi", words[1])])
    done = troupe.run(line, PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    found = gets(out)
    assert [found["lags", "compB", "yA"][s, n, 1] for s in (1, 2, 6)] == [n, 1000 + n, 5000 + n]
    assert found["lags", "compB", "zA"][1, n, 1] == want + n
    assert found["lags", "compB", "zA"][3, n, 1] == want + 2000 + n


@pytest.mark.parametrize("flag, want", [("SNP", [1, 2001, 3001]), ("AVR", [1, 1501, 2001])])
def test_exchanges_immediately(troupe, tmp_path, flag, want):
    """Outside the schedule, which would bring nothing in these steps."""
    scenario = two("now", (36000, -1, flag), steps_a="3600 " * 3, steps_b="3600 " * 3)
    scenario.parts["compA"] += "now sends\n"
    scenario.parts["compB"] += "now receives\n"
    write(tmp_path, [scenario], "cyclic")
    out = tmp_path / "out"
    out.mkdir()
    parts = [
        (n, mpi, [troupe.puppet(mpi), c, tmp_path, "now"])
        for n, c, mpi in ((2, "compA", "mpich"), (3, "compB", "openmpi"))
    ]
    done = troupe.run(troupe.jobs(parts), PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [gets(out)["now", "compB", "yA"][s, 1, 1] for s in (1, 2, 3)] == want


def three():
    """A to B and C, B to C: three components in a row."""
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600)
    conf += pair("compA", "compC", "gA", "gC") + var("vA", "zA", 7200)
    conf += pair("compB", "compC", "gB", "gC") + var("vB", "zB", 3600, 1)
    grid = "1 2 3 4"
    steps = "steps 3600 3600 3600 3600\n"
    parts = {
        "compA": f"grid gA {grid}\ntable compA gA compB gB 1 {identity(4)}\n"
        f"table compA gA compC gC 1 {identity(4)}\nput vA 0 1\n{steps}",
        "compB": f"grid gB {grid}\ntable compA gA compB gB 1\n"
        f"table compB gB compC gC 1 {identity(4)}\nput vB 500 1\nget yA\n{steps}",
        "compC": f"grid gC {grid}\ntable compA gA compC gC 1\ntable compB gB compC gC 1\n"
        f"get zA\nget zB\n{steps}",
    }
    return Scenario("three", conf, parts)


def test_three_components(troupe, tmp_path):
    write(tmp_path, [three()], "cyclic")
    out = tmp_path / "out"
    out.mkdir()
    parts = []
    for c, mpi, n in (("compA", "openmpi", 1), ("compB", "mpich", 2), ("compC", "mpich", 1)):
        parts.append((n, mpi, [troupe.puppet(mpi), c, tmp_path, "three"]))
    done = troupe.run(troupe.jobs(parts), PUPPET_OUT=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    found = gets(out)
    assert [found["three", "compB", "yA"][s, 1, 1] for s in range(1, 5)] == [1, 1001, 2001, 3001]
    zb = found["three", "compC", "zB"]
    assert [zb[s, 2, 1] for s in range(1, 5)] == [1502, 2502, 3502, 4502]
    za = found["three", "compC", "zA"]
    assert [za[s, 1, 1] for s in range(1, 5)] == [1, "F", 2001, "F"]


@pytest.mark.parametrize("place", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_stop_step(troupe, tmp_path, place):
    scenario = two("stop", (3600,), steps_a="3600", steps_b="3600")
    scenario.conf = f"&h3ou_coupling stop_step={place} /\n" + scenario.conf
    write(tmp_path, [scenario], "block")
    mpi = ("openmpi", "mpich")[place % 2]
    words = [[troupe.puppet(mpi), c, tmp_path, "stop"] for c in ("compA", "compB")]
    done = troupe.run(troupe.one_job(mpi, [(1, w) for w in words]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count(f"(stop_step = {place})") == 2, done.stderr


def processes_of(folder):
    """Processes of puppets that play in a folder: {component: [pid]}"""
    found = {}
    for pid in patience.pids():
        words = [word.decode(errors="replace") for word in patience.words_of(pid, "cmdline")]
        if len(words) > 3 and "puppet" in words[0] and words[2] == str(folder):
            found.setdefault(words[1], []).append(pid)
    return found


def test_a_dead_component_is_named(troupe, tmp_path, patient):
    """The partner that waits says who has died, within seconds, and ends with a status."""
    scenario = two("dies", (3600,), (3600,), steps_a="3600 " * 60, steps_b="3600 " * 60)
    scenario.parts["compB"] += "wait\n"
    write(tmp_path, [scenario], "block")
    out = tmp_path / "out"
    out.mkdir()
    env = troupe.environment(PUPPET_OUT=str(out), WAITIO_MASTER_HOST="127.0.0.1", WAITIO_NPB="2")
    from waitio.ports import free_port

    env.update(WAITIO_MASTER_PORT=str(free_port()), WAITIO_JOB_ID=f"dies{os.getpid()}")
    started = []
    for i, component in enumerate(("compA", "compB")):
        words = ["mpiexec.mpich", "-n", "1", troupe.puppet("mpich"), component, tmp_path, "dies"]
        started.append(
            subprocess.Popen(
                [str(w) for w in words],
                env={**env, "WAITIO_PBID": str(i)},
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    try:
        limit = time.monotonic() + patient(30)
        while not any("GET" in p.read_text() for p in out.glob("compA*")):
            assert time.monotonic() < limit, "compA gets nothing"
            time.sleep(0.05)
        (pid,) = processes_of(tmp_path)["compB"]
        os.kill(pid, signal.SIGKILL)
        since = time.monotonic()
        text, _ = started[0].communicate(timeout=patient(20))
        assert time.monotonic() - since < patient(4)
        assert "component 'compB', process 0 has died or left" in text, text
        assert started[0].returncode != 0
    finally:
        for child in started:
            child.kill()
            child.communicate()


def test_components_leave_at_once(troupe, tmp_path):
    """Without MPI, by waitio_cpl.h alone; entries of the table come from all processes."""
    conf = tmp_path / "leave.conf"
    conf.write_text(pair(*PAIRS["AB"]) + var("vA", "yA", 10))
    program = troupe.compile("mpich", troupe.source_dir / "tests" / "coupler" / "leave.c")
    for _ in range(4):
        words = [[program, component, conf] for component in ("compA", "compB")]
        line = troupe.one_job("mpich", [(8, w) for w in words])
        done = troupe.run(line, WAITIO_JOB_ID=f"leave{os.getpid()}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("ok") == 16


def test_jobs_do_not_meet(troupe, tmp_path, patient):
    """Several coupled jobs on one host at once, without any setting of WaitIO."""
    scenario = two("apart", (3600,), (3600,), steps_a="3600 " * 8, steps_b="3600 " * 8)
    started = []
    for i in range(4):
        folder = tmp_path / str(i)
        folder.mkdir()
        write(folder, [scenario], "cyclic")
        words = [[troupe.puppet("mpich"), c, folder, "apart"] for c in ("compA", "compB")]
        line = troupe.one_job("mpich", [(2, w) for w in words])
        started.append(
            subprocess.Popen(
                [str(w) for w in line],
                env=troupe.environment(),
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    for child in started:
        try:
            text, _ = child.communicate(timeout=patient(60))
        finally:
            child.kill()
        assert child.returncode == 0, text
