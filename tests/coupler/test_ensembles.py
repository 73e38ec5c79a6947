# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles: the published vectors en1 to en7, statistics that the receiver makes of members in
jobs of their own, and members that are late, die, fail or leave."""

import os
import statistics
import struct
import subprocess
import time

import pytest
from test_vectors import gets, write
from vectors import PAIRS, Scenario, identity, pair, two, var

FOUR = "3600 3600 3600 3600"


def published(name, interval=3600, steps="3600 3600"):
    s = two(name, (interval,), (interval,), steps_a=steps, steps_b=steps)
    s.parts = {c: "ranked\n" + text for c, text in s.parts.items()}
    return s


def play(troupe, folder, scenario, mpi, parts, share="block"):
    """parts: (processes, name*members), in one MPI job."""
    write(folder, [scenario], share)
    (folder / "out").mkdir()
    words = [(n, [troupe.puppet(mpi), who, folder, scenario.name]) for n, who in parts]
    done = troupe.run(troupe.one_job(mpi, words), PUPPET_OUT=str(folder / "out"))
    return done, gets(folder / "out")


def first(found, scenario, component, name):
    """{step: value of index 1}"""
    values = found[scenario.name, component, name]
    return {step: v for (step, index, _), v in values.items() if index == 1}


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_en1_member_by_member(troupe, tmp_path, mpi):
    s = published("en1")
    done, found = play(troupe, tmp_path, s, mpi, [(2, "compA*2"), (2, "compB*2")])
    assert done.returncode == 0, done.stdout + done.stderr
    assert first(found, s, "compA0000", "yB") == {1: -201, 2: -1201}
    assert first(found, s, "compA0001", "yB") == {1: -301, 2: -1301}
    assert first(found, s, "compB0000", "yA") == {1: 1, 2: 1001}
    assert first(found, s, "compB0001", "yA") == {1: 101, 2: 1101}


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_en2_many_to_one(troupe, tmp_path, mpi):
    s = published("en2")
    done, found = play(troupe, tmp_path, s, mpi, [(3, "compA*3"), (1, "compB*1")])
    assert done.returncode == 0, done.stdout + done.stderr
    assert first(found, s, "compB0000", "yA") == {1: 101, 2: 1101}
    for member in range(3):
        assert first(found, s, f"compA000{member}", "yB") == {1: -301, 2: -1301}


def test_en3_one_to_many(troupe, tmp_path):
    s = published("en3")
    done, found = play(troupe, tmp_path, s, "mpich", [(1, "compA*1"), (2, "compB*2")])
    assert done.returncode == 0, done.stdout + done.stderr
    for member in range(2):
        assert first(found, s, f"compB000{member}", "yA") == {1: 1, 2: 1001}
    assert first(found, s, "compA0000", "yB") == {1: -151, 2: -1151}


def test_en4_members_of_several_processes(troupe, tmp_path):
    s = two("en4", (3600,), (3600,), steps_a="3600 3600", steps_b="3600 3600")
    done, found = play(troupe, tmp_path, s, "openmpi", [(4, "compA*2"), (4, "compB*2")], "cyclic")
    assert done.returncode == 0, done.stdout + done.stderr
    for member in range(2):
        assert found["en4", f"compA000{member}", "yB"][2, 3, 1] == -1003
        assert found["en4", f"compB000{member}", "yA"][2, 4, 1] == 1004


def test_en5_nothing_due_on_all_members(troupe, tmp_path):
    s = published("en5", 7200)
    done, found = play(troupe, tmp_path, s, "mpich", [(2, "compA*2"), (1, "compB*1")])
    assert done.returncode == 0, done.stdout + done.stderr
    for component, name in (("compA0000", "yB"), ("compA0001", "yB"), ("compB0000", "yA")):
        assert first(found, s, component, name)[2] == "F"


@pytest.mark.parametrize(
    "name, parts, why",
    [
        ("en6", [(3, "compA*2"), (1, "compB*1")], "'compA' has 2 members, but 3 processes"),
        ("en7", [(2, "compA*2"), (3, "compB*3")], "give both the same number"),
    ],
)
def test_en6_en7_numbers_that_do_not_fit(troupe, tmp_path, name, parts, why):
    done, _ = play(troupe, tmp_path, published(name), "mpich", parts)
    assert done.returncode != 0
    assert why in done.stderr, done.stdout + done.stderr


# ---- statistics by the receiver, members in jobs of their own ----------------------------------

STATS = {
    "mean": statistics.fmean,
    "spread": statistics.stdev,
    "min": min,
    "max": max,
    "median": statistics.median,
    "q0.25": lambda x: sorted(x)[0] + 0.25 * (len(x) - 1) * (sorted(x)[1] - sorted(x)[0]),
}
BASES = [0.1, 7e8, -3.3]


def collection(name, on_failure="end", members=3, steps=FOUR, get_all=True):
    """Members compA0000 ... with values of their own; compB makes statistics and sends back."""
    conf = f"&h3ou_component name='compA', on_failure='{on_failure}' /\n"
    conf += pair(*PAIRS["AB"])
    for word in STATS if get_all else ["mean"]:
        conf += var("vA", f"y_{word}", 3600, ensemble=f"'{word}'")
    conf += pair(*PAIRS["BA"]) + var("vB", "yB", 3600)
    b = "grid gB 1 2 3 4\ntable compA gA compB gB 1\n"
    b += f"table compB gB compA gA 1 {identity(4)}\nput vB 0 -1\n"
    b += "".join(f"get y_{word}\n" for word in (STATS if get_all else ["mean"]))
    parts = {"compB": b + f"steps {steps}\n"}
    for m in range(members):
        parts[f"compA{m:04}"] = (
            f"grid gA 1 2 3 4\ntable compA gA compB gB 1 {identity(4)}\n"
            f"table compB gB compA gA 1\nput vA {BASES[m]} 1\nget yB\nsteps {steps}\n"
        )
    return Scenario(name, conf, parts)


def start(troupe, folder, scenario, parts, limit_share="block", **env):
    """A job for each part (processes, MPI, component), none of which ends another."""
    from waitio.ports import free_port

    write(folder, [scenario], limit_share)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    env = troupe.environment(
        PUPPET_OUT=str(out),
        WAITIO_MASTER_HOST="127.0.0.1",
        WAITIO_MASTER_PORT=str(free_port()),
        WAITIO_NPB=str(len(parts)),
        WAITIO_JOB_ID=f"{scenario.name}{os.getpid()}",
        **env,
    )
    jobs = []
    for i, (n, mpi, who) in enumerate(parts):
        line = troupe.one_job(mpi, [(n, [troupe.puppet(mpi), who, folder, scenario.name])])
        jobs.append(
            subprocess.Popen(
                line,
                env={**env, "WAITIO_PBID": str(i)},
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    return jobs


def finish(jobs, patient, limit=60):
    """[(status, text)]"""
    end = time.monotonic() + patient(limit)
    try:
        texts = [job.communicate(timeout=max(1, end - time.monotonic()))[0] for job in jobs]
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    return [(job.returncode, text) for job, text in zip(jobs, texts)]


def close(a, b):
    return abs(a - b) <= 1e-12 * max(1, abs(a), abs(b))


def test_statistics_of_members_in_their_own_jobs(troupe, tmp_path, patient):
    """The same bits for other partitions, other MPIs, and when another member comes last."""
    results = []
    ways = [
        ("block", (1, 1, 1, 1), None),
        ("cyclic", (2, 1, 2, 2), "compA0000"),
        ("reverse", (1, 2, 1, 3), "compA0002"),
    ]
    for share, numbers, late in ways:
        folder = tmp_path / share
        folder.mkdir()
        s = collection("stats")
        if late:
            s.parts[late] = "trouble late 2 put\n" + s.parts[late]
        who = ["compA0000", "compA0001", "compA0002", "compB"]
        mpis = ["openmpi", "mpich", "mpich", "openmpi"]
        ended = finish(start(troupe, folder, s, list(zip(numbers, mpis, who)), share), patient)
        assert all(status == 0 for status, _ in ended), ended
        found = gets(folder / "out")
        results.append({word: found["stats", "compB", f"y_{word}"] for word in STATS})
        for m in range(3):
            assert found["stats", f"compA000{m}", "yB"][3, 2, 1] == -2002
    for result in results[1:]:
        assert result == results[0]
    for word, of in STATS.items():
        for (step, index, _), value in results[0][word].items():
            members = [base + 1000.0 * (step - 1) + index for base in BASES]
            assert close(value, of(members)), (word, step, index)


def test_every_member_of_two_ensembles_receives_all(troupe, tmp_path):
    """Many to many, 2 to 3: with a statistic the numbers need not be equal."""
    conf = pair(*PAIRS["AB"]) + var("vA", "yA", 3600, ensemble="'max'")
    a = f"ranked\ngrid gA 1 2 3 4\ntable compA gA compB gB 1 {identity(4)}\nput vA 0 1\n"
    b = "grid gB 1 2 3 4\ntable compA gA compB gB 1\nget yA\n"
    steps = "steps 3600 3600\n"
    s = Scenario("many", conf, {"compA": a + steps, "compB": b + steps})
    done, found = play(troupe, tmp_path, s, "mpich", [(2, "compA*2"), (3, "compB*3")])
    assert done.returncode == 0, done.stdout + done.stderr
    for member in range(3):
        assert first(found, s, f"compB000{member}", "yA") == {1: 101, 2: 1101}


def test_statistics_of_types_and_fill_values(troupe, tmp_path):
    """A point that a member fills does not count, whatever the fill value is; results are of the
    field's type. Index 1 is 2147483647 in odd steps, which is a value here."""
    conf = pair(*PAIRS["AB"])
    conf += var("vA", "f", 3600, ensemble="'mean'", fill="2147483647d0")
    conf += var("vA", "s", 3600, ensemble="'max'", fill="-7d0", type="'real4'")
    a = f"ranked\ngrid gA 1 2 3 4\ntable compA gA compB gB 1 {identity(4)}\n"
    b = "grid gB 1 2 3 4 5\ntable compA gA compB gB 1\nget f\nget s\n"
    steps = "steps 3600 3600\n"
    parts = {"compA": a + "put vA 0.1 1 masked\n" + steps, "compB": b + steps}
    s = Scenario("kinds", conf, parts)
    done, found = play(troupe, tmp_path, s, "mpich", [(2, "compA*2"), (1, "compB")])
    assert done.returncode == 0, done.stdout + done.stderr
    f, t = (found["kinds", "compB0000", name] for name in "fs")
    assert close(f[2, 2, 1], 1052.1) and f[2, 1, 1] == f[2, 5, 1] == 2147483647
    assert t[2, 2, 1] == struct.unpack("f", struct.pack("f", 1102.1))[0]
    assert t[2, 1, 1] == 2147483648 and t[2, 5, 1] == -7


YAML = """
components:
  compA: {{grids: gA, processes: {processes}, on_failure: go on}}
  compB: {{grids: gB, step: 1h}}
couplings:
  - {{from: compA, to: compB, interval: 1h, fields: [{{from: vA, to: y_mean, ensemble: mean}}]}}
  - {{from: compB, to: compA, interval: 1h, fields: [{{from: vB, to: yB}}]}}
"""


@pytest.mark.parametrize("processes", [3, 4])
def test_yaml_says_the_same(troupe, tmp_path, patient, processes):
    """Members by their names, processes of all together; one dies, and no report is gathered."""
    s = collection("yaml", get_all=False)
    s.conf = YAML.format(processes=processes)
    s.parts["compA0001"] = "trouble die 2 get\n" + s.parts["compA0001"]
    who = ["compA0000", "compA0001", "compA0002", "compB"]
    report = tmp_path / "report"
    jobs = [(1, "mpich", w) for w in who]
    ended = finish(start(troupe, tmp_path, s, jobs, WAITIO_CPL_REPORT=str(report)), patient)
    if "without libyaml" in ended[3][1]:
        pytest.skip("built without libyaml (Debian: apt-get install libyaml-dev)")
    if processes == 4:
        assert all(status != 0 for status, _ in ended), ended
        assert "component 'compA' has processes: 4, but runs with 3" in ended[3][1], ended
        return
    assert [status for status, _ in ended][::2] == [0, 0] and ended[3][0] == 0, ended
    assert "goes on without component 'compA0001'" in ended[3][1], ended
    assert not report.exists()
    values = gets(tmp_path / "out")["yaml", "compB", "y_mean"]
    assert close(values[4, 1, 1], (BASES[0] + BASES[2]) / 2 + 3001)


# ---- members that fail --------------------------------------------------------------------------

WHERE = ["step", "get", "put"]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("what", ["die", "fail"])
def test_the_others_go_on_without_a_member(troupe, tmp_path, patient, what, where):
    """What is got is always the mean of the living, at all points of all processes: never old."""
    s = collection("without", "go on", get_all=False)
    s.parts["compA0001"] = f"trouble {what} 2 {where} 1\n" + s.parts["compA0001"]
    parts = [(1, "mpich", "compA0000"), (2, "mpich", "compA0001"), (1, "openmpi", "compA0002")]
    ended = finish(start(troupe, tmp_path, s, [*parts, (2, "mpich", "compB")]), patient)
    (a, _), (dead, _), (c, _), (b, text) = ended
    assert (a, b, c) == (0, 0, 0), ended
    assert dead != 0
    assert text.count("goes on without component 'compA0001'") == 1, text
    found = gets(tmp_path / "out")
    values = found["without", "compB", "y_mean"]
    for step in range(1, 5):
        ways = []
        for members in ([0, 1, 2], [0, 2]):
            mean = [
                statistics.fmean(BASES[m] + 1000.0 * (step - 1) + i for m in members)
                for i in range(1, 5)
            ]
            ways.append(all(close(values[step, i, 1], mean[i - 1]) for i in range(1, 5)))
        assert any(ways), (step, values)
        # an alarm may overtake what was sent before it
        assert ways[0] or step > 1 or what == "fail"
        assert ways[1] or step < 4
    for member in (0, 2):
        assert found["without", f"compA000{member}", "yB"][4, 1, 1] == -3001


@pytest.mark.parametrize("where", WHERE)
def test_a_failed_member_ends_all_by_default(troupe, tmp_path, patient, where):
    s = collection("ends", get_all=False)
    s.parts["compA0001"] = f"trouble die 2 {where}\n" + s.parts["compA0001"]
    who = ["compA0000", "compA0001", "compA0002", "compB"]
    ended = finish(start(troupe, tmp_path, s, [(1, "mpich", w) for w in who]), patient)
    assert all(status != 0 for status, _ in ended), ended
    assert "component 'compA0001', process 0 has died or left" in ended[3][1], ended


def test_a_member_may_leave_early(troupe, tmp_path, patient):
    s = collection("early", "go on", get_all=False)
    s.parts["compA0001"] = s.parts["compA0001"].replace(FOUR, "3600 3600")
    who = ["compA0000", "compA0001", "compA0002", "compB"]
    jobs = start(troupe, tmp_path, s, [(1, "mpich", w) for w in who])
    ended = finish(jobs, patient)
    text = ended[3][1]
    assert "goes on without component 'compA0001'" in text and "has ended its run" in text, ended
    assert [ended[i][0] for i in (0, 2, 3)] == [0, 0, 0], ended
    values = gets(tmp_path / "out")["early", "compB", "y_mean"]
    assert close(values[4, 1, 1], (BASES[0] + BASES[2]) / 2 + 3001)


def test_without_any_member_the_receiver_ends(troupe, tmp_path, patient):
    s = collection("none", "go on", members=1, get_all=False)
    s.parts["compA0000"] = "trouble die 2 get\n" + s.parts["compA0000"]
    ended = finish(
        start(troupe, tmp_path, s, [(1, "mpich", "compA0000"), (1, "openmpi", "compB")]), patient
    )
    assert ended[1][0] != 0
    assert "all members that put it have failed or left" in ended[1][1], ended


@pytest.mark.parametrize(
    "line, why",
    [
        ("&h3ou_component name='compA', on_failure='hope' /", "neither 'end' nor 'go on'"),
        ("&h3ou_component on_failure='end' /", "needs a name"),
        ("&h3ou_component name='c' /\n&h3ou_component name='c' /", "second one of this name"),
        ("&h3ou_component name='c', members=3 /", "members is no key of &h3ou_component"),
        (pair(*PAIRS["AB"]) + var("v", "w", 60, ensemble="'mode'"), "'mode' is none of 'mean'"),
        (pair(*PAIRS["AB"]) + var("v", "w", 60, ensemble="'q1.5'"), "'q1.5' is none of 'mean'"),
    ],
)
def test_mistakes_in_the_configuration(troupe, tmp_path, line, why):
    s = Scenario("wrong", line + "\n", {"compA": "hush\n"})
    done, _ = play(troupe, tmp_path, s, "mpich", [(1, "compA*1")])
    assert done.returncode != 0
    assert why in done.stderr, done.stdout + done.stderr
