# SPDX-License-Identifier: BSD-3-Clause
"""Restart files: a run cut in two gives the bits of the whole run, with other numbers of processes,
too; files that do not fit are refused by name; a full disk or a kill leaves the old file."""

import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest
from test_ensembles import finish, start
from test_rules import processes_of, random_table
from test_vectors import gets, write
from vectors import PAIRS, Scenario, pair, two, var

N_A, N_B = 60, 40
HOURS = "3600 " * 8


def turns(n):
    """A table of vectors: every entry turns by an angle of its own."""
    chance = random.Random(3)
    return ";".join(
        f"{chance.randint(1, N_B) * 2} {3 * i} {chance.uniform(0, 2)!r} {chance.uniform(-1, 1)!r} "
        f"{chance.uniform(-1, 1)!r}"
        for i in range(1, n + 1)
    )


def rich(name, head="", steps=HOURS):
    """All lags, reductions, layers, vectors and a type: at 18000 s most intervals are half over.
    B gets from A at the ends of intervals (lag 1), at once, and what was sent long before; A from B
    and C at their starts, and what C makes two intervals later."""
    conf = head + pair(*PAIRS["AB"])
    conf += var("s7", "s7", 7200, 1) + var("a7", "a7", 7200, 1, "AVR")
    conf += var("a14", "a14", 14400, 1, "AVR", layer=3)
    conf += var("n0", "n0", None, 0) + var("n1", "n1", None, 0)
    conf += var("z3", "z3", 3600, -3, "ACC", type="'real4'")
    conf += var("o7", "o7", 7200, -1, "MAX", lag_seconds=-10800)
    conf += pair(*PAIRS["BA"]) + var("b14", "b14", 14400, -1, "AVR", layer=2)
    conf += pair("compC", "compA", "gC", "gA") + var("t3", "t3", 3600) + var("t7", "t7", 7200)
    conf += var("c7", "c7", 7200, -1, "AVR") + var("c10", "c10", 10800, -1, "AVR")
    conf += var("m10", "m10", 10800, -2, "MIN") + var("x10", "x10", 10800, -1, "MAX")
    conf += var("l3", "l3", 3600, 2) + var("k7", "k7", 7200, 2, "MIN")
    conf += var("q10", "q10", 10800, -1, "ACC", lag_seconds=28800)  # up to 18000 s for nobody
    conf += var("w", "w", 7200, -1, "AVR", layer=4, grid_intpl_tag=10001)
    names = {"compA": ["s7", "a7", "a14", "n0", "z3", "o7"], "compB": ["b14"]}
    names["compC"] = ["t3", "t7", "c7", "c10", "w", "m10", "x10", "l3", "k7", "q10"]
    points = " ".join(str(2 * i) for i in range(1, N_B + 1))
    puts = {c: "".join(f"put {v} 0.{k}3 1\n" for k, v in enumerate(names[c], 1)) for c in names}
    parts = {
        "compA": f"grid gA {' '.join(str(3 * i) for i in range(N_A, 0, -1))}\n"
        f"table compA gA compB gB 1 {random_table(N_A, N_B, 400)}\ntable compB gB compA gA 1\n"
        f"table compC gC compA gA 1\n{puts['compA']}put n1 0.7 1 noinit\n",
        "compB": f"grid gB {points}\ntable compA gA compB gB 1\n"
        f"table compB gB compA gA 1 {turns(N_A)}\n{puts['compB']}",
        "compC": f"grid gC {points}\ntable compC gC compA gA 1 {turns(N_A)}\n{puts['compC']}",
    }
    gets_of = {"compA": names["compB"] + names["compC"], "compB": names["compA"], "compC": []}
    for c in parts:
        parts[c] += "".join(f"get {v}\n" for v in gets_of[c]) + f"steps {steps}\n"
    parts["compB"] = parts["compB"].replace("steps", "get n1\nsteps")
    return Scenario(name, conf, parts)


def keys(folder, **more):
    text = f"&h3ou_coupling restart_file='{folder}/state'"
    return text + "".join(f", {k}={v}" for k, v in more.items()) + " /\n"


def play(troupe, folder, scenario, numbers, share="block", mpi="mpich", **env):
    folder.mkdir(exist_ok=True)
    write(folder, [scenario], share)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    words = [
        (n, [troupe.puppet(mpi), c, folder, scenario.name])
        for n, c in zip(numbers, sorted(scenario.parts))
    ]
    done = troupe.run(troupe.one_job(mpi, words), PUPPET_OUT=str(out), **env)
    return done, gets(out)


def from_step(found, step):
    return {
        name: {key: value for key, value in values.items() if key[0] >= step}
        for name, values in found.items()
    }


def test_a_run_cut_in_two_has_the_bits_of_the_whole(troupe, tmp_path):
    whole, all_of_it = play(
        troupe, tmp_path / "1", rich("cut", keys(tmp_path, restart_intvl=18000)), (1, 2, 2)
    )
    assert whole.returncode == 0, whole.stdout + whole.stderr
    names = sorted(p.name for p in tmp_path.glob("state*"))
    assert names == [f"state.comp{c}.18000.nc" for c in "ABC"]
    want = from_step(all_of_it, 6)
    assert sum(len(v) for v in want.values()) > 1000
    again = rich("cut", keys(tmp_path, restart_read=".true."))
    for numbers, share, mpi in [((1, 2, 1), "block", "mpich"), ((3, 1, 2), "last", "openmpi")]:
        rest, found = play(troupe, tmp_path / share, again, numbers, share, mpi)
        assert rest.returncode == 0, rest.stdout + rest.stderr
        assert rest.stderr.count("resumes at 18000 s from") == 3, rest.stderr
        assert found.keys() == want.keys()
        for name in want:
            assert found[name] == want[name], f"{name} differs with {numbers} processes"


def test_a_restart_within_a_step(troupe, tmp_path):
    """All components write at one time, or the run ends: it would have nothing to come back to."""
    s = two("within", (7200,), steps_a=HOURS, steps_b=HOURS)
    s.conf = keys(tmp_path, restart_intvl=9000) + s.conf
    done, _ = play(troupe, tmp_path / "1", s, (2, 1))
    assert done.returncode != 0
    says = "cannot write its restart for 9000 s: its step goes from 7200 s to 10800 s; let"
    assert says in done.stderr, done.stdout + done.stderr


def test_the_end_of_a_run_may_be_the_cut(troupe, tmp_path):
    """The first half ends; the second half writes again, and removes what is older."""
    head = keys(tmp_path, restart_intvl=14400, restart_read=".true.")
    whole, all_of_it = play(troupe, tmp_path / "1", rich("cut"), (2, 1, 1))
    assert whole.returncode == 0, whole.stdout + whole.stderr
    first, found = play(troupe, tmp_path / "2", rich("cut", head, "3600 " * 4), (2, 1, 1))
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stderr.count("starts from the beginning") == 3, first.stderr
    second, rest = play(troupe, tmp_path / "2", rich("cut", head), (1, 3, 2), "cyclic")
    assert second.returncode == 0, second.stdout + second.stderr
    assert from_step(rest, 5) == from_step(all_of_it, 5)
    assert all({k[0] for k in values} == {5, 6, 7, 8} for values in rest.values())
    names = {p.name for p in tmp_path.glob("state*")}
    assert {f"state.comp{c}.28800.nc" for c in "ABC"} <= names
    assert not {f"state.comp{c}.14400.nc" for c in "ABC"} <= names


def test_grids_without_a_point(troupe, tmp_path):
    """Grids of which no process has a point stand in the file, too; one that has points is another
    grid."""
    s = two("empty", (7200, -1, "AVR"), steps_a=HOURS, steps_b=HOURS)
    conf, parts = s.conf, dict(s.parts)
    for c, g in (("compA", "gA"), ("compB", "gB")):
        parts[c] = parts[c].replace(f"grid {g}", f"grid no{g}\ngrid gone{g}\ngrid {g}", 1)
    s.conf, s.parts = keys(tmp_path, restart_intvl=18000) + conf, parts
    done, whole = play(troupe, tmp_path / "1", s, (2, 1))
    assert done.returncode == 0, done.stdout + done.stderr
    s.conf = keys(tmp_path, restart_read=".true.") + conf
    done, rest = play(troupe, tmp_path / "2", s, (1, 2), "cyclic")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("resumes at 18000 s from") == 2, done.stderr
    assert rest == from_step(whole, 6)
    s.parts["compA"] = s.parts["compA"].replace("grid gonegA", "grid gonegA 7")
    done, _ = play(troupe, tmp_path / "3", s, (1, 1))
    assert done.returncode != 0
    text = "is of another grid 'gonegA': it has 0 points, but here it is one with 1"
    assert text in done.stderr, done.stdout + done.stderr


# ---- files that do not fit ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(troupe, tmp_path_factory):
    """Files of steps 3 and 5 of a small run, by name."""
    folder = tmp_path_factory.mktemp("saved")
    for step in (3, 5):
        s = named(folder, "save", step)
        write(folder, [s], "block")
        words = [(2, [troupe.puppet("mpich"), c, folder, s.name]) for c in s.parts]
        done = subprocess.run(
            troupe.one_job("mpich", words),
            cwd=folder,
            env=troupe.environment(),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def named(folder, word, step=None, **change):
    s = two(word, (3600,), (7200, -1, "AVR"), steps_a=HOURS, steps_b=HOURS)
    for c in s.parts:
        path = folder / f"{c}.{step}.nc" if word == "save" else folder / f"{c}.nc"
        s.parts[c] = s.parts[c].replace(
            "\nput", f"\n{word} {step if word == 'save' else ''} {path}\nput", 1
        )
    return s


def truncate(folder):
    path = folder / "compA.nc"
    os.truncate(path, path.stat().st_size - 40)


def flip(folder):
    path = folder / "compA.nc"
    data = bytearray(path.read_bytes())
    data[data.index(struct.pack(">d", 3001.0)) + 7] ^= 1
    path.write_bytes(data)


def no_netcdf(folder):
    (folder / "compA.nc").write_text("once upon a time")


def other_conf(scenario):
    scenario.conf = scenario.conf.replace("7200", "14400")


def other_points(scenario):
    scenario.parts["compA"] = scenario.parts["compA"].replace("gA 1 2 3 4", "gA 1 2 3 4 5")


def other_indices(scenario):
    text = scenario.parts["compA"].replace("gA 1 2 3 4", "gA 1 2 3 7")
    scenario.parts["compA"] = text.replace("4 4 1", "7 4 1")
    scenario.parts["compB"] = scenario.parts["compB"].replace("4 4 1", "4 7 1")


MISFITS = {
    "missing": (lambda f: (f / "compA.nc").unlink(), None, "compA.nc cannot be read: No such file"),
    "truncated": (truncate, None, "compA.nc"),
    "damaged": (flip, None, "is truncated or damaged"),
    "text": (no_netcdf, None, "compA.nc cannot be read"),
    "component": (
        lambda f: shutil.copy(f / "compB.nc", f / "compA.nc"),
        None,
        "is of another component: compB, but here it is compA",
    ),
    "time": (
        lambda f: shutil.copy(f / "compA.5.nc", f / "compA.nc"),
        None,
        "at 18000 s of a restart",
    ),
    "configuration": (None, other_conf, "is of another configuration"),
    "points": (None, other_points, "is of another grid 'gA': it has 4 points"),
    "indices": (None, other_indices, "is of another grid 'gA': it has a point of index 4"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_files_that_do_not_fit_are_refused(troupe, tmp_path, saved, what):
    spoil, change, why = MISFITS[what]
    for c in ("compA", "compB"):
        shutil.copy(saved / f"{c}.3.nc", tmp_path / f"{c}.nc")
        shutil.copy(saved / f"{c}.5.nc", tmp_path)
    s = named(tmp_path, "load")
    if spoil:
        spoil(tmp_path)
    if change:
        change(s)
    done, _ = play(troupe, tmp_path / "run", s, (2, 1))
    assert done.returncode not in (0, 8), done.stdout + done.stderr
    assert why in done.stderr, done.stdout + done.stderr


def test_one_component_may_name_its_file(troupe, tmp_path, saved):
    """The configuration lets all go on from their files; the program of compA says which one."""
    head = keys(tmp_path, restart_read=".true.")
    whole = two("whole", (3600,), (7200, -1, "AVR"), steps_a=HOURS, steps_b=HOURS)
    done, all_of_it = play(troupe, tmp_path / "1", whole, (1, 1))
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(saved / "compA.3.nc", tmp_path / "compA.nc")
    shutil.copy(saved / "compB.3.nc", tmp_path / "state.compB.10800.nc")
    s = named(tmp_path, "load")
    s.conf = head + s.conf
    s.parts["compB"] = s.parts["compB"].replace(f"load  {tmp_path}/compB.nc\n", "")
    assert "load" in s.parts["compA"] and "load" not in s.parts["compB"]
    done, rest = play(troupe, tmp_path / "2", s, (2, 1))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("resumes at 10800 s from") == 2, done.stderr
    want = from_step(all_of_it, 4)
    assert {k[1:]: v for k, v in rest.items()} == {k[1:]: v for k, v in want.items()}
    shutil.copy(saved / "compA.5.nc", tmp_path / "compA.nc")  # of another time
    done, _ = play(troupe, tmp_path / "3", s, (1, 2))
    assert done.returncode != 0
    assert "at 18000 s of a restart" in done.stderr, done.stdout + done.stderr


def test_without_the_library_the_error_names_it(troupe, tmp_path):
    fake = tmp_path / "fake"
    fake.mkdir()
    for name in ("libnetcdf.so", *(f"libnetcdf.so.{n}" for n in (15, 18, 19, 22))):
        (fake / name).write_text("")
    s = named(tmp_path, "save", 3)
    done, _ = play(troupe, tmp_path / "run", s, (1, 1), LD_LIBRARY_PATH=str(fake))
    assert done.returncode != 0
    assert "needs the library netCDF-C, which cannot be loaded" in done.stderr, done.stderr
    plain = two("plain", (3600,), steps_a="3600", steps_b="3600")
    done, _ = play(troupe, tmp_path / "run", plain, (1, 1), LD_LIBRARY_PATH=str(fake))
    assert done.returncode == 0, done.stdout + done.stderr


# ---- writing that fails -------------------------------------------------------------------------


def wide(name, n, head="", steps=HOURS, extra=""):
    points = " ".join(map(str, range(1, n + 1)))
    s = two(name, (7200, -1, "AVR"), (3600,), steps_a=steps, steps_b=steps)
    s.conf = head + s.conf
    for c in s.parts:
        s.parts[c] = (
            s.parts[c].replace("1 2 3 4\n", f"{points}\n", 1).replace("\nput", f"\n{extra}put")
        )
    return s


def test_a_full_disk_leaves_the_old_file(troupe, tmp_path):
    """A small file system in memory holds the old file, and the new one not to its end."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        s = wide("full", 10000, extra=f"save 3 {disk}/state.nc\n")
        s.parts["compB"] = s.parts["compB"].replace(f"save 3 {disk}/state.nc", "")
        done, _ = play(troupe, tmp_path / "run", s, (1, 1))
        assert done.returncode == 0, done.stdout + done.stderr
        old = (disk / "state.nc").read_bytes()
        (disk / "rest").write_bytes(b"x" * (600 << 10))
        done, _ = play(troupe, tmp_path / "run", s, (1, 1))
        assert done.returncode not in (0, 10), done.stdout + done.stderr
        assert "cannot be written" in done.stderr and "as it was" in done.stderr, done.stderr
        assert (disk / "state.nc").read_bytes() == old
        assert sorted(p.name for p in disk.iterdir()) == ["rest", "state.nc"]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def written_since(folder, component, since):
    """Has this run written a file of the component? Files go while one looks."""
    for path in folder.glob(f"state.{component}.*.nc"):
        try:
            if path.stat().st_mtime > since:
                return True
        except FileNotFoundError:
            pass
    return False


def test_a_kill_while_writing_leaves_a_state(troupe, tmp_path, patient):
    """All are killed, or one, which ends the others, at any moment of a run that writes all the
    time: the next one goes on right."""
    chance = random.Random(11)
    n, most = 5000, 60
    head = keys(tmp_path, restart_intvl=3600, restart_read=".true.")
    s = wide("kill", n, head, "3600 " * most)
    for _ in range(4):
        (tmp_path / "out").mkdir(exist_ok=True)
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        since = time.time()
        jobs = start(troupe, tmp_path, s, [(1, "mpich", "compA"), (1, "mpich", "compB")])
        limit = time.monotonic() + patient(40)
        while all(job.poll() is None for job in jobs) and not all(
            written_since(tmp_path, c, since) for c in s.parts
        ):
            assert time.monotonic() < limit, "no file is written"
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.15))
        victims = [("compA", "compB"), ("compA",), ("compB",)][chance.randrange(3)]
        for component, pids in processes_of(tmp_path).items():
            for pid in pids if component in victims else ():
                os.kill(pid, signal.SIGKILL)
        texts = "".join(text for _, text in finish(jobs, patient))
        assert "damaged" not in texts and "incomplete" not in texts, texts
    shutil.rmtree(tmp_path / "out")
    last = finish(start(troupe, tmp_path, s, [(1, "mpich", c) for c in s.parts]), patient)
    assert all(status == 0 for status, _ in last), last
    assert "resumes at" in last[0][1], last
    values = gets(tmp_path / "out")["kill", "compB", "yA"]
    step = most if most % 2 else most - 1
    assert values[step, 4, 1] == 1000 * (step - 1.5) + 4
