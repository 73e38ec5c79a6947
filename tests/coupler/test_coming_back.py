# SPDX-License-Identifier: BSD-3-Clause
"""A component is killed, started again, and comes back (rejoin): all get the bits of the run that
nobody disturbed, or an error that names what is wrong. Every wait ends."""

import collections
import contextlib
import os
import signal
import subprocess
import time

import pytest
from test_restart import from_step, rich
from test_rules import processes_of
from test_vectors import NOTHING_KEPT, write
from vectors import PAIRS, Scenario, identity, pair, two, var

HOURS = "3600 " * 8
PARTS = [(1, "mpich", "compA"), (2, "mpich", "compB"), (2, "openmpi", "compC")]


class Run:
    """A job for each component; a component can be started again."""

    def __init__(self, troupe, folder, scenario, seconds=60, places=(), **env):
        """places: folders of processes under MPICH, by component"""
        from waitio.ports import free_port

        self.places = dict(places)
        self.troupe, self.folder, self.scenario, self.parts = troupe, folder, scenario, list(PARTS)
        self.out = folder / "out"
        self.out.mkdir(parents=True)
        (folder / "restarts").mkdir()
        self.env = troupe.environment(
            PUPPET_OUT=str(self.out),
            WAITIO_MASTER_HOST="127.0.0.1",
            WAITIO_MASTER_PORT=str(free_port()),
            WAITIO_NPB=str(len(PARTS)),
            WAITIO_JOB_ID=f"{scenario.name}{os.getpid()}",
            WAITIO_INIT_TIMEOUT=str(seconds),
            **env,
        )
        write(folder, [scenario], "block")
        self.jobs = [self.start(i) for i in range(len(PARTS))]

    def number(self, who):
        return [p[2] for p in self.parts].index(who)

    def start(self, i):
        n, mpi, who = self.parts[i]
        words = [self.troupe.puppet(mpi), who, self.folder, self.scenario.name]
        parts = [(1, ["-wdir", place, *words]) for place in self.places.get(who, ())]
        with open(self.folder / f"said{i}", "a", encoding="utf-8") as said:
            return subprocess.Popen(
                self.troupe.one_job(mpi, parts or [(n, words)]),
                env={**self.env, "WAITIO_PBID": str(i)},
                cwd=self.folder,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def said(self, i):
        return (self.folder / f"said{i}").read_text()

    def start_again(self, who, patient, trouble="", processes=None):
        """When its job has ended."""
        i = self.number(who)
        self.jobs[i].wait(timeout=patient(40))
        path = self.folder / f"{self.scenario.name}.{who}"
        lines = [x for x in path.read_text().splitlines(True) if not x.startswith("trouble")]
        path.write_text(trouble + "".join(lines))
        if processes:
            self.parts[i] = (processes, *self.parts[i][1:])
        self.jobs[i] = self.start(i)

    def finish(self, limit):
        """Exit statuses, and all that was said."""
        end = time.monotonic() + limit + int(self.env["WAITIO_INIT_TIMEOUT"])
        while any(j.poll() is None for j in self.jobs) and time.monotonic() < end:
            time.sleep(0.02)
        late = [j for j in self.jobs if j.poll() is None]
        for job in self.jobs:
            if job in late:
                job.kill()
            job.wait()
        said = "----\n".join(map(self.said, range(len(PARTS))))
        assert not late, f"a job did not end\n{said}"
        return [j.returncode for j in self.jobs], said

    def gets(self):
        """As test_vectors.gets(); what was got twice, in two lives, was the same."""
        found = collections.defaultdict(dict)
        for path in self.out.glob("comp*"):
            for line in path.read_text().splitlines(True):
                if not line.endswith("\n"):
                    continue  # the process was killed while it wrote
                _, _, component, step, name, index, layer, value = line.split()
                key = (int(step), int(index), int(layer))
                values = found[component, name]
                assert values.setdefault(key, value) == value, f"{line}, and {values[key]}"
        return found


def head(folder, who, interval=7200):
    text = f"&h3ou_coupling restart_file='{folder}/restarts/state', restart_intvl={interval} /\n"
    return text + "".join(f"&h3ou_component name='{w}', rejoin=.true. /\n" for w in who.split())


def ring(name, begin):
    """A to B, B to C, C to A, with several lags and intervals, and messages of all sizes."""
    conf = begin
    conf += pair(*PAIRS["AB"]) + var("vA", "yA", 3600) + var("wA", "zA", 7200, 1, "AVR")
    conf += pair("compB", "compC", "gB", "gC") + var("vB", "yB", 3600)
    conf += pair("compC", "compA", "gC", "gA") + var("vC", "yC", 3600)
    conf += var("wC", "zC", 7200, -1, "AVR", layer=20)
    n = 600
    points = " ".join(str(i) for i in range(1, n + 1))
    parts = {}
    for me, after, before in (("A", "B", "C"), ("B", "C", "A"), ("C", "A", "B")):
        out = f"table comp{me} g{me} comp{after} g{after} 1 {identity(n)}\n"
        back = f"table comp{before} g{before} comp{me} g{me} 1\n"
        tables = out + back if me == "A" else back + out
        puts = f"put v{me} 0.{ord(me)} 1\n" + (f"put w{me} 0.7 1\n" if me != "B" else "")
        got = f"get y{before}\n" + (f"get z{before}\n" if before != "B" else "")
        parts[f"comp{me}"] = f"grid g{me} {points}\n{tables}{puts}{got}steps {HOURS}\n"
    return Scenario(name, conf, parts)


def many_lags(name, begin):
    """All lags but 0, reductions, layers and vectors."""
    whole = rich(name, begin)
    lines = [x for x in whole.conf.splitlines(True) if "'n0'" not in x and "'n1'" not in x]
    parts = {}
    for who, text in whole.parts.items():
        rows = [x for x in text.splitlines(True) if x.split()[1] not in ("n0", "n1")]
        parts[who] = "".join(rows)
    return Scenario(name, "".join(lines), parts)


def killed(make, folder, who, victim, where, step, rank=0):
    """The scenario in which a process of a component ends itself."""
    scenario = make("cut", head(folder, who))
    scenario.parts[victim] = f"trouble die {step} {where} {rank}\n" + scenario.parts[victim]
    return scenario


@pytest.fixture(scope="module")
def undisturbed(troupe, tmp_path_factory):
    """What is got when nobody dies."""
    known = {}

    def get(make, who, patient):
        if (make, who) not in known:
            folder = tmp_path_factory.mktemp("whole")
            run = Run(troupe, folder, make("whole", head(folder, who)))
            ends, said = run.finish(patient(60))
            assert ends == [0, 0, 0], said
            known[make, who] = run.gets()
        return known[make, who]

    return get


def compare(want, found):
    assert found.keys() == want.keys()
    for name, values in want.items():
        assert len(values) > 0
        assert found[name] == values, f"{name} differs"


def check(run, patient, want):
    ends, said = run.finish(patient(60))
    assert ends == [0, 0, 0], said
    compare(want, run.gets())
    return said


@pytest.mark.parametrize(
    ("who", "where", "step", "rank"),
    [
        ("compA", "put", 2, 0),
        ("compA", "get", 5, 0),
        ("compA", "step", 8, 0),
        ("compB", "step", 2, 1),
        ("compB", "get", 5, 0),
        ("compB", "put", 8, 0),
        ("compC", "step", 5, 1),
        ("compC", "put", 5, 0),
        ("compC", "get", 8, 1),
        ("compC", "close", 0, 0),
    ],
)
def test_a_killed_component_comes_back(
    troupe, tmp_path, patient, undisturbed, who, where, step, rank
):
    want = undisturbed(ring, who, patient)
    run = Run(troupe, tmp_path, killed(ring, tmp_path, who, who, where, step, rank))
    run.start_again(who, patient)
    said = check(run, patient, want)
    assert f"for component '{who}', which has died: start it again" in said
    assert f"goes on with component '{who}'" in said
    if step != 2:
        assert f"component '{who}' resumes at" in said


@pytest.mark.parametrize("who", ["compA", "compB"])
def test_where_no_message_is_kept(troupe, tmp_path, patient, undisturbed, who):
    """Greetings, notes of files and of the death leave from memory of their own."""
    want = undisturbed(ring, who, patient)
    run = Run(troupe, tmp_path, killed(ring, tmp_path, who, who, "get", 5), **NOTHING_KEPT)
    run.start_again(who, patient)
    check(run, patient, want)


def test_the_first_process_alone_sees_the_file(troupe, tmp_path, patient, undisturbed):
    """It reads it for all of its component; the disk of the other one has no restart files."""
    want = undisturbed(ring, "compB", patient)
    other = tmp_path / "other"
    other.mkdir()
    scenario = killed(ring, ".", "compB", "compB", "get", 5)
    run = Run(troupe, tmp_path, scenario, places={"compB": (tmp_path, other)})
    run.start_again("compB", patient)
    said = check(run, patient, want)
    assert "component 'compB' resumes at" in said and not list(other.iterdir())


@pytest.mark.parametrize(("who", "step"), [("compA", 6), ("compB", 3), ("compC", 6)])
def test_all_lags_and_reductions(troupe, tmp_path, patient, undisturbed, who, step):
    want = undisturbed(many_lags, who, patient)
    run = Run(troupe, tmp_path, killed(many_lags, tmp_path, who, who, "get", step))
    run.start_again(who, patient)
    check(run, patient, want)


@pytest.mark.parametrize(("who", "last"), [("compA", 6), ("compC", 5)])
def test_it_dies_inside_an_exchange(troupe, tmp_path, patient, undisturbed, who, last):
    """compB sleeps for a second in its step 5. Then compC is in its exchange of step 6, and compA
    in that of step 7."""
    want = undisturbed(ring, who, patient)
    scenario = killed(ring, tmp_path, who, who, "never", 0)
    scenario.parts["compB"] = "trouble late 5 get 0\n" + scenario.parts["compB"]
    run = Run(troupe, tmp_path, scenario)
    end = time.monotonic() + patient(30)
    while not any(f" {who} {last} " in p.read_text() for p in run.out.glob(f"{who}.*")):
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(max(processes_of(tmp_path)[who]), signal.SIGKILL)
    run.start_again(who, patient)
    said = check(run, patient, want)
    assert f"goes on with component '{who}'" in said


def test_lag_0_among_those_that_go_on(troupe, tmp_path, patient, undisturbed):
    want = undisturbed(rich, "compC", patient)
    run = Run(troupe, tmp_path, killed(rich, tmp_path, "compC", "compC", "put", 4))
    run.start_again("compC", patient)
    check(run, patient, want)


def test_lag_0_in_a_run_that_was_resumed(troupe, tmp_path, patient, undisturbed):
    """The others have come from files themselves; what goes at once, without an interval, among
    them has nothing to do with who comes back."""
    want = undisturbed(rich, "compC", patient)
    first, second = tmp_path / "1", tmp_path / "2"
    half = rich("half", head(first, "compC"), "3600 " * 4)
    ends, said = Run(troupe, first, half).finish(patient(60))
    assert ends == [0, 0, 0], said
    begin = head(first, "compC").replace("restart_intvl", "restart_read=.true., restart_intvl", 1)
    scenario = rich("rest", begin)
    scenario.parts["compC"] = "trouble die 7 put 0\n" + scenario.parts["compC"]
    run = Run(troupe, second, scenario)
    run.start_again("compC", patient)
    said = check(run, patient, from_step(want, 5))
    assert "component 'compA' resumes at 14400 s" in said
    assert "component 'compC' resumes at 21600 s" in said


def test_it_dies_in_its_second_life_too(troupe, tmp_path, patient, undisturbed):
    want = undisturbed(ring, "compA", patient)
    run = Run(troupe, tmp_path, killed(ring, tmp_path, "compA", "compA", "get", 3))
    run.start_again("compA", patient, trouble="trouble die 6 put 0\n")
    run.start_again("compA", patient)
    check(run, patient, want)


@pytest.mark.parametrize("where", ["grid", "table", "start"])
def test_it_dies_while_the_others_meet_it(troupe, tmp_path, patient, where):
    """They hold nothing that a third life could begin with, and say so at once."""
    run = Run(troupe, tmp_path, killed(ring, tmp_path, "compA", "compA", "get", 5))
    run.start_again("compA", patient, trouble=f"trouble die 0 {where}\n")
    ends, said = run.finish(patient(30))
    assert all(ends), said
    line = "component 'compA' has died once more while component 'comp"
    assert line in said and "resume all components from their restart files" in said, said
    assert "WAITIO_INIT_TIMEOUT" not in said, said


def test_one_after_another(troupe, tmp_path, patient, undisturbed):
    want = undisturbed(ring, "compA compB", patient)
    scenario = killed(ring, tmp_path, "compA compB", "compA", "get", 3)
    scenario.parts["compB"] = "trouble die 7 step 1\n" + scenario.parts["compB"]
    run = Run(troupe, tmp_path, scenario)
    run.start_again("compA", patient)
    run.start_again("compB", patient)
    check(run, patient, want)


def until(run, words, limit):
    """One of the words was said."""
    end = time.monotonic() + limit
    while not any(w in run.said(i) for i in range(len(PARTS)) for w in words):
        assert time.monotonic() < end, words
        time.sleep(0.05)


@pytest.mark.parametrize("where", ["table", "start", "step"])
def test_death_before_the_first_exchange(troupe, tmp_path, patient, undisturbed, where):
    """Who is before its first step has nothing to come back to: an error that names it. When its
    greeting has come, it comes back."""
    run = Run(troupe, tmp_path, killed(ring, tmp_path, "compA", "compA", where, 1), seconds=20)
    until(run, (" has died", "died or left"), patient(40))
    if "start it again" in run.said(1) + run.said(2):
        want = undisturbed(ring, "compA", patient)
        run.start_again("compA", patient)
        check(run, patient, want)
        return
    ends, said = run.finish(patient(60))
    assert all(ends), said
    assert "component 'compA'" in said and " has died" in said, said


@pytest.mark.parametrize(
    ("who", "missing"),
    [("compA", "cannot reach the rendezvous"), ("compC", "missing: PB 2: nobody came")],
)
def test_it_never_comes(troupe, tmp_path, patient, who, missing):
    """The first one would serve the rendezvous."""
    seconds = int(min(patient(6), 20))
    run = Run(troupe, tmp_path, killed(ring, tmp_path, who, who, "get", 5), seconds=seconds)
    ends, said = run.finish(patient(40))
    assert all(ends), said
    for _, _, other in PARTS:
        line = f"component '{who}' has died, and has not come back while component '{other}' waited"
        assert other == who or line in said, said
    assert missing in said and "in time (WAITIO_INIT_TIMEOUT)" in said, said


def test_another_one_dies_while_they_wait(troupe, tmp_path, patient):
    run = Run(troupe, tmp_path, killed(ring, tmp_path, "compA", "compA", "get", 5), seconds=30)
    until(run, ["component 'compC' waits at"], patient(30))
    run.jobs[1].terminate()
    run.start_again("compA", patient)
    run.start_again("compB", patient)
    ends, said = run.finish(patient(60))
    assert all(ends), said
    # compC is at the rendezvous already, or still takes what compB has sent
    waits = "only one component at a time can come back"
    takes = "component 'compB', process 0 has died or left while component 'compC' waited for it"
    assert waits in said or takes in said, said


def test_two_that_may_come_back_die_at_once(troupe, tmp_path, patient):
    """Who went on says so in the new universe, so that both hear why they end. Guard: where it says
    it in the old one, they only learn that compC has left."""
    scenario = killed(ring, tmp_path, "compA compB", "compA", "never", 0)
    for who in ("compA", "compB"):
        scenario.parts[who] = "nap 1\n" + scenario.parts[who]
    run = Run(troupe, tmp_path, scenario, seconds=30)
    end = time.monotonic() + patient(40)
    while not any(" compA 3 " in p.read_text() for p in run.out.glob("compA.*")):
        assert time.monotonic() < end
        time.sleep(0.02)
    for pid in processes_of(tmp_path).get("compA", []) + processes_of(tmp_path).get("compB", []):
        with contextlib.suppress(ProcessLookupError):  # its launcher has ended it already
            os.kill(pid, signal.SIGKILL)
    run.start_again("compA", patient)
    run.start_again("compB", patient)
    ends, said = run.finish(patient(60))
    assert all(ends), said
    for i in range(len(PARTS)):
        assert "only one component at a time can come back" in run.said(i), said


def chain(name, begin):
    """ring() without what compB puts."""
    whole = ring(name, begin)
    gone = ("comp_put='compB'", "var_put='vB'")
    conf = [x for x in whole.conf.splitlines(True) if not any(g in x for g in gone)]
    gone = ("table compB", "put vB", "get yB")
    for who, text in whole.parts.items():
        whole.parts[who] = "".join(x for x in text.splitlines(True) if not x.startswith(gone))
    return Scenario(name, "".join(conf), whole.parts)


def test_what_a_component_sent_in_its_first_life_is_gone(troupe, tmp_path, patient):
    """compA comes back at 14400 s, when compB, which is slow, has not come so far. Then compB dies,
    and comes back at 7200 s. Guards: without a look at the times compB blames intvl, as the first
    message is too new; where the error is taken for one more death, compC waits for compA."""
    scenario = killed(chain, tmp_path, "compA compB", "compA", "get", 5)
    scenario.parts["compB"] = "nap 1\ntrouble die 4 step 0\n" + scenario.parts["compB"]
    run = Run(troupe, tmp_path, scenario, seconds=60)
    run.start_again("compA", patient)
    run.start_again("compB", patient)
    ends, said = run.finish(patient(60))
    assert all(ends), said
    line = "component 'compB' has come back at 7200 s, but component 'compA' has itself come back"
    assert f"{line} at 14400 s" in said, said
    assert "has not come back" not in said, said


def test_who_was_stopped_hears_of_all_at_once(troupe, tmp_path, patient, undisturbed):
    """Of the death, and that another one which may come back, too, has left."""
    want = undisturbed(ring, "compA compB", patient)
    scenario = killed(ring, tmp_path, "compA compB", "compA", "close", 0)
    steps = scenario.parts["compA"].partition("\n")[2]
    scenario.parts["compA"] = "trouble late 0 close 0\n" + steps
    run = Run(troupe, tmp_path, scenario)
    end = time.monotonic() + patient(40)
    while not any("compA 8 " in p.read_text() for p in run.out.glob("compA.*")):
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.3)
    stopped = processes_of(tmp_path).get("compC", [])
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    os.kill(max(processes_of(tmp_path)["compA"]), signal.SIGKILL)
    try:
        until(run, ["component 'compB' waits at"], patient(30))
        time.sleep(0.5)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    run.start_again("compA", patient)
    check(run, patient, want)


def by_files(folder, grid):
    """A scenario like ring(), whose tables are in a weight file: no program gives entries."""

    def make(name, begin):
        whole = ring(name, begin)
        conf = whole.conf.replace("grid_get='", f"weight_file='{folder}/w.nc', grid_get='")
        points = " ".join(str(i) for i in range(1, grid + 1))
        parts = {}
        for who, text in whole.parts.items():
            rows = [x for x in text.splitlines(True) if not x.startswith(("grid", "table"))]
            parts[who] = f"grid g{who[-1]} {points}\n" + "".join(rows)
        return Scenario(name, conf, parts)

    return make


@pytest.mark.parametrize("who", ["compA", "compB"])
def test_tables_from_weight_files(troupe, tmp_path, patient, undisturbed, who):
    """They are made at the start, by the receivers, and once more with the newcomer."""
    for words in (
        ("grid", "r12x6", "-o", "g.nc"),
        ("weights", "g.nc", "g.nc", "--method", "bilinear", "-o", "w.nc"),
    ):
        line = [str(troupe.build_dir / "bin" / "waitio"), "cpl", *words]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        if "built without netCDF" in done.stderr:
            pytest.skip("built without netCDF (Debian: apt-get install libnetcdf-dev)")
        assert done.returncode == 0, done.stderr
    make = by_files(tmp_path, 72)
    want = undisturbed(make, who, patient)
    run = Run(troupe, tmp_path, killed(make, tmp_path, who, who, "get", 5))
    run.start_again(who, patient)
    check(run, patient, want)


def test_it_comes_with_another_number_of_processes(troupe, tmp_path, patient):
    run = Run(troupe, tmp_path, killed(ring, tmp_path, "compB", "compB", "get", 5), seconds=30)
    run.start_again("compB", patient, processes=1)
    ends, said = run.finish(patient(60))
    assert all(ends), said
    assert "component 'compB' was started again in another way" in said, said


def test_messages_of_the_program_are_refused(troupe, tmp_path, patient):
    scenario = killed(ring, tmp_path, "compA", "compA", "get", 5)
    for who in scenario.parts:
        scenario.parts[who] = scenario.parts[who].replace("steps", "speak\nsteps")
    run = Run(troupe, tmp_path, scenario, seconds=10)
    ends, said = run.finish(patient(60))
    assert all(ends), said
    assert "has exchanged messages of its own" in said, said


def test_ensembles_are_refused(troupe, tmp_path):
    """Their members may be lost in another way."""
    scenario = two("both", (3600,), (3600,))
    scenario.conf = head(tmp_path, "compB") + scenario.conf
    write(tmp_path, [scenario], "block")
    words = [
        (n, [troupe.puppet("mpich"), who, tmp_path, "both"])
        for n, who in ((2, "compA*2"), (2, "compB*2"))
    ]
    done = troupe.run(troupe.one_job("mpich", words), cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "is an ensemble, but rejoin: yes is for runs without ensembles" in said, said


def test_members_of_one_job_are_refused(troupe, tmp_path):
    write(tmp_path, [ring("one", head(tmp_path, "compB"))], "block")
    words = [(n, [troupe.puppet("mpich"), who, tmp_path, "one"]) for n, _, who in PARTS]
    done = troupe.run(troupe.one_job("mpich", words), cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    line = "component 'compB' has rejoin: yes, but component 'compA', process 0 is in the same job"
    assert line in said, said
