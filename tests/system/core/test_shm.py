# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory between real processes: universes in which some pairs have it and some do not, for
every reason there is; deaths in each mode; what is left behind; processors that are short. Guards:
a refusal that is taken for a death fails the runs of fallback, a reader that spins on a dead one's
ring fails the look at its processor time, a lost change of route leaves traffic waiting."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import patience
import pytest

KILLED_S = 2.0
BIG = 64 << 20
STREAM = 128 << 20  # long enough to die in the middle of


def total(cast):
    return sum(int(p.lines[-1].split()[2]) for p in cast)


def cpu_s(process):
    """Processor time that it has used."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def switches(process):
    """How often its threads went to sleep by themselves, or were put aside."""
    voluntary = involuntary = 0
    for status in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if line.startswith("voluntary_ctxt"):
                voluntary += int(line.split()[1])
            elif line.startswith("nonvoluntary_ctxt"):
                involuntary += int(line.split()[1])
    return voluntary, involuntary


def sockets(cast):
    """Unix sockets with a name of ours that these processes hold: inode -> name."""
    held = {}
    for p in cast:
        for fd in pathlib.Path(f"/proc/{p.pid}/fd").iterdir():
            try:
                held[os.readlink(fd)] = p
            except OSError:
                continue
    names = {}
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if len(words) > 7 and "waitio" in words[7] and f"socket:[{words[6]}]" in held:
            names[words[6]] = words[7]
    return names


def names_of_sockets():
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
    return {words[7] for words in map(str.split, lines) if len(words) > 7}


# ---- no shared memory, for some reason, between some ----

ONE = 1  # the process that has it not: universe rank


def setpriv(*words):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("running as another user needs root and the setpriv command")
    return ["setpriv", *words]


def unshare(*words):
    if shutil.which("unshare") is None:
        pytest.skip("no unshare command")
    if os.system("unshare " + " ".join(words) + " true 2>/dev/null") != 0:
        pytest.skip("cannot make a user namespace here")
    return ["unshare", *words]


def limit(*words):
    if shutil.which("prlimit") is None:
        pytest.skip("no prlimit command")
    return ["prlimit", *words]


LACKS = {
    "memory": (lambda: limit(f"--as={600 << 20}"), dict(WAITIO_SHM_INBOX="128M"), None),
    "file size": (lambda: limit("--fsize=65536"), {}, "no shared memory for an inbox"),
    "user": (
        lambda: setpriv("--reuid=65534", "--regid=65534", "--clear-groups"),
        {},
        "another user",
    ),
    "user namespace": (lambda: unshare("-U", "-r"), {}, "another user"),
    "setting": (list, dict(WAITIO_COMM_TYPE="socket"), None),
}


@pytest.mark.parametrize("who", [0, 1, 3])
@pytest.mark.parametrize("lack", LACKS)
def test_one_cannot(universe, build_dir, tmp_path, lack, who):
    """Everybody talks to everybody, one of them has no shared memory."""
    before, env, reason = LACKS[lack][0](), LACKS[lack][1], LACKS[lack][2]
    u = universe(WAITIO_COMM_TYPE="auto", WAITIO_LOG="info")
    if lack == "user":
        if subprocess.run([*before, "test", "-x", str(build_dir)], check=False).returncode != 0:
            pytest.skip(f"another user may not look into {build_dir}")
        for folder in (tmp_path, *list(tmp_path.parents)[:2]):
            folder.chmod(0o755)
        u.set(WAITIO_SECRET="none")
    cast = []
    for rank in range(4):
        pb, place = divmod(rank, 2)
        bad = rank == who
        cast.append(
            u.process(
                pb,
                place,
                2,
                2,
                "traffic",
                11,
                4,
                300,
                300000,
                env=env if bad else None,
                before=before if bad else (),
            )
        )
    u.all_end(cast, 90)
    assert total(cast) == 4 * 300
    told = "".join(p.err() for p in cast)
    assert not re.search(r"PB \d+ rank \d+ failed", told), told[-3000:]
    assert "broke the protocol" not in told, told[-3000:]
    if reason is not None:
        assert reason in told, told[-3000:]


def test_all_lack_memory(universe):
    """Nobody can make an inbox; the log says so and TCP serves. Of two at least one tries, the
    other may use the connection that the first one makes: so two of three tell."""
    u = universe(WAITIO_COMM_TYPE="auto", WAITIO_LOG="info")
    cast = [
        u.process(pb, 0, 1, 3, "traffic", 5, 3, 300, 300000, before=limit("--fsize=65536"))
        for pb in range(3)
    ]
    u.all_end(cast, 60)
    assert total(cast) == 3 * 300
    told = [p for p in cast if "no shared memory" in p.err()]
    assert len(told) >= 2, [p.story() for p in cast]


@pytest.fixture
def small_group():
    """A control group with 24 MiB of memory; the words that start a command inside."""
    for parent, limit_file in (
        (pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (pathlib.Path("/sys/fs/cgroup"), "memory.max"),
    ):
        folder = parent / f"waitio-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit_file).write_text(str(24 << 20))
            break
        except OSError:
            folder.rmdir()
    else:
        pytest.skip("cannot make a control group with a memory limit here (root does)")
    yield ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]
    deadline = time.monotonic() + 10
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:  # its processes are still ending
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_control_group_has_little_memory(universe, small_group):
    """Where it would end, the kernel kills: the one inside asks for no more than there is."""
    u = universe(WAITIO_COMM_TYPE="auto", WAITIO_LOG="info")
    cast = [
        u.process(
            pb,
            0,
            1,
            4,
            "traffic",
            5,
            3,
            100,
            30000,
            env=dict(WAITIO_SHM_INBOX="128M") if pb == 2 else None,
            before=small_group if pb == 2 else (),
        )
        for pb in range(4)
    ]
    u.all_end(cast, 60)
    assert total(cast) == 3 * 100
    assert "no shared memory for an inbox" in cast[2].err(), cast[2].story()


def test_descriptors_run_out(universe):
    """One with hardly any descriptors left: whoever cannot be reached by memory is reached
    otherwise, or is told the reason; nothing hangs."""
    u = universe(WAITIO_COMM_TYPE="auto", WAITIO_LOG="info")
    cast = [
        u.process(
            pb,
            0,
            1,
            6,
            "traffic",
            5,
            3,
            300,
            100000,
            before=limit("--nofile=40:40") if pb == 2 else (),
        )
        for pb in range(6)
    ]
    u.all_end(cast, 90)
    assert total(cast) == 3 * 300


# ---- deaths ----

MODES = {
    "inbox": dict(WAITIO_SHM_RINGS=0),
    "ring": dict(WAITIO_SHM_PROMOTE=0),
    "tiny": dict(WAITIO_SHM_RING=16384, WAITIO_SHM_INBOX=8192, WAITIO_SHM_DEMOTE=0.001),
}


@pytest.fixture(params=MODES)
def trio(request, universe):
    """Survivor, victim, bystander, who have talked to each other."""
    u = universe(WAITIO_COMM_TYPE="shm", WAITIO_SHM_FETCH="off", **MODES[request.param])
    cast = u.actors([1, 1, 1])
    for i, a in enumerate(cast):
        for j, b in enumerate(cast):
            if i != j:
                exchange(a, i, b, j)
    return (u, *cast)


def exchange(a, ra, b, rb, size=1000):
    a.ok(f"isend 60 0 {rb} {size} 600 3")
    b.ok(f"irecv 61 0 {ra} {size} 600")
    b.ok("wait 61 3")
    a.ok("wait 60 0")


def quiet_afterwards(u, s, b):
    """The survivor waits for a living one without using the processor, and goes on."""
    s.ok("irecv 5 0 2 10 9")
    s.begin("wait 5 3")
    time.sleep(0.3)
    used = cpu_s(s)
    s.silent(1.0)
    used = cpu_s(s) - used
    assert used < 0.3, f"{used:.2f} s of processor time in a second of waiting"
    b.ok("isend 5 0 0 10 9 3")
    s.was_ok(s.answer())
    exchange(s, 0, b, 2, 3000000)
    u.leave(s, b)


def told_soon(s, died, timeout=5):
    s.failed("PEER", "PB 1 rank 0", timeout=timeout)
    late = s.seen_at - died
    assert late < patience.scaled(KILLED_S), f"the error came {late:.1f} s after the death"


@pytest.mark.sanitize
def test_killed_writer(trio):
    u, s, v, b = trio
    s.ok(f"irecv 1 0 1 {STREAM} 1")
    s.begin("wait 1 0")
    v.ok(f"isend 1 0 0 {STREAM} 1 0")
    v.ok(f"suicide tx_bytes {4 << 20}")
    v.begin("wait 1 0")
    told_soon(s, v.dies())
    quiet_afterwards(u, s, b)


@pytest.mark.sanitize
def test_killed_reader(trio):
    u, s, v, b = trio
    v.ok(f"irecv 1 0 0 {STREAM} 1")
    v.ok(f"suicide rx_bytes {4 << 20}")
    v.begin("wait 1 0")
    s.ok(f"isend 1 0 1 {STREAM} 1 0")
    s.begin("wait 1 0")
    told_soon(s, v.dies())
    quiet_afterwards(u, s, b)


@pytest.fixture
def lenders(universe):
    """A trio whose large messages are read straight from the sender's memory."""
    u = universe(WAITIO_SHM_FETCH="on")
    cast = u.actors([1, 1, 1])
    for i, a in enumerate(cast):
        for j, b in enumerate(cast):
            if i != j:
                exchange(a, i, b, j)
    return (u, *cast)


@pytest.mark.sanitize
def test_killed_while_it_fetches(lenders):
    u, s, v, b = lenders
    v.ok(f"irecv 1 0 0 {STREAM} 1")
    v.ok(f"suicide fetched_bytes {4 << 20}")
    v.begin("wait 1 0")
    s.ok(f"isend 1 0 1 {STREAM} 1 0")
    s.begin("wait 1 0")
    told_soon(s, v.dies())
    quiet_afterwards(u, s, b)


@pytest.mark.sanitize
def test_killed_before_it_is_fetched(lenders):
    u, s, v, b = lenders
    v.ok(f"isend 1 0 0 {BIG} 1 0")
    s.ok("probe 0 1 1")
    s.ok(f"irecv 2 0 2 {BIG} 1")
    v.kill()
    s.ok(f"irecv 1 0 1 {BIG} 1")
    s.begin("wait 1 0")
    s.failed("PEER", timeout=5)
    b.ok(f"isend 1 0 0 {BIG} 1 0")
    b.begin("wait 1 0")
    s.ok("wait 2 0")
    b.was_ok(b.answer())
    assert s.count("fetched_bytes") == BIG
    quiet_afterwards(u, s, b)


def test_a_stopped_lender_is_fetched_from(lenders):
    """One copy by one process: the other need not run."""
    u, s, v, b = lenders
    v.ok(f"isend 1 0 0 {BIG} 1 0")
    s.ok("probe 0 1 1")
    v.stop()
    s.ok(f"irecv 1 0 1 {BIG} 1")
    s.ok("wait 1 0")
    v.resume()
    v.ok("wait 1 0")
    u.leave(s, v, b)


def test_killed_while_both_sleep(trio):
    u, s, v, b = trio
    v.ok("irecv 1 0 0 10 1")
    v.begin("wait 1 0")
    s.ok("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    time.sleep(0.5)
    told_soon(s, v.kill())
    quiet_afterwards(u, s, b)


def test_killed_while_the_writer_waits_for_room(trio):
    """The reader is stopped, its memory is full, the writer sleeps; then it is killed."""
    u, s, v, b = trio
    v.ok(f"irecv 1 0 0 {BIG} 1")
    v.begin("wait 1 0")
    v.stop()
    v.stops()
    s.ok(f"isend 1 0 1 {BIG} 1 0")
    s.begin("wait 1 0")
    s.silent(0.5)
    used = cpu_s(s)
    s.silent(0.5)
    assert cpu_s(s) - used < 0.2
    told_soon(s, v.kill())
    quiet_afterwards(u, s, b)


def test_killed_while_leaving(trio):
    """It has said goodbye and waits for ours."""
    u, s, v, b = trio
    s.stop()
    b.stop()
    s.stops()
    b.stops()
    v.begin("finalize")
    v.silent(0.3)
    v.kill()
    s.resume()
    b.resume()
    resumed = time.monotonic()
    s.do("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    told_soon(s, resumed)
    quiet_afterwards(u, s, b)


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 5, 10])
def test_killed_while_dialling(universe, delay_ms):
    u = universe(WAITIO_COMM_TYPE="shm")
    s, v, b = u.actors([1, 1, 1])
    s.ok("irecv 1 0 1 10 1")
    s.begin("wait 1 0")
    v.ok("isend 1 0 0 1000000 2 0")
    v.begin("wait 1 0")
    time.sleep(delay_ms / 1000)
    v.kill()
    s.failed("PEER", "PB 1 rank 0", timeout=15)
    quiet_afterwards(u, s, b)


def test_nothing_is_left_behind(universe):
    """Everybody is killed in the middle of everything."""
    u = universe(WAITIO_COMM_TYPE="shm", WAITIO_SHM_PROMOTE=2)
    cast = u.actors([2, 2])
    for i, a in enumerate(cast):
        for j in range(4):
            if i != j:
                a.ok(f"isend {j} 0 {j} {BIG} 1 0")
                a.ok(f"irecv {10 + j} 0 {j} {BIG} 1")
    for a in cast:
        a.begin("wait 13 0" if a is not cast[3] else "wait 12 0")
    time.sleep(0.02)
    names = set(sockets(cast).values())
    assert len(names) >= len(cast)  # at least a listener each
    for a in cast:
        a.kill()
    assert not names & names_of_sockets()
    # Tests of the file transport, which may run beside this one, have their directories there.
    assert not [n for n in os.listdir("/dev/shm") if "waitio" in n and "-file-" not in n]


# ---- mixed universes ----


def test_blocks_of_two_mpi(universe):
    """Blocks of Open MPI and of MPICH, and a plain one, with shared memory between all."""
    u = universe(WAITIO_COMM_TYPE="shm")
    cast = [
        u.mpi("openmpi", 0, 2, 3, "mpi_ring", 200),
        u.mpi("mpich", 1, 2, 3, "mpi_ring", 200),
        u.process(2, 0, 1, 3, "ring", 200),
    ]
    u.all_end(cast, 120)


@pytest.mark.parametrize("blocks", [[2, 2], [1, 1, 1, 1]])
@pytest.mark.parametrize("some", ["socket", "shm"])
def test_setting_on_some(universe, blocks, some):
    """Those with WAITIO_COMM_TYPE=socket use TCP with everybody; the others use memory."""
    u = universe(WAITIO_COMM_TYPE="auto")
    cast = []
    for pb, n in enumerate(blocks):
        for rank in range(n):
            env = dict(WAITIO_COMM_TYPE="socket" if len(cast) % 2 == 0 else "auto")
            if some == "shm" and len(cast) % 2 == 1:
                env = dict(WAITIO_SHM_RINGS=len(cast) - 1)
            cast.append(u.process(pb, rank, n, len(blocks), "traffic", 21, 4, 400, 300000, env=env))
    u.all_end(cast, 90)
    assert total(cast) == 4 * 400


# ---- threads, and few processors ----


@pytest.mark.sanitize
@pytest.mark.parametrize("progress", ["service", "thread", "poll"])
@pytest.mark.parametrize("transport", ["shm", "socket"])
def test_progress_kinds(universe, progress, transport):
    """Engine and threads under the sanitizers: random traffic with each kind of progress."""
    u = universe(
        WAITIO_COMM_TYPE=transport,
        WAITIO_PROGRESS=progress,
        WAITIO_SHM_PROMOTE=3,
        WAITIO_SHM_DEMOTE=0.01,
    )
    cast = u.go([2, 1], "traffic", 31, 3, 300, 600000, timeout=150)
    assert total(cast) == 3 * 300


@pytest.mark.sanitize
@pytest.mark.parametrize("mode", MODES)
def test_many_threads(universe, mode):
    u = universe(WAITIO_COMM_TYPE="shm", **MODES[mode])
    u.go([1, 1], "threads", timeout=150)


def test_more_processes_than_processors(universe):
    """Eight on one processor play ping-pong in pairs: who has nothing to do sleeps at once, so that
    a message costs a few changes of process, not a time slice of spinning."""
    if shutil.which("taskset") is None:
        pytest.skip("no taskset command")
    cpu = min(os.sched_getaffinity(0))
    u = universe(WAITIO_COMM_TYPE="shm")
    pinned = ["taskset", "-c", str(cpu)]
    cast = [u.process(pb, 0, 1, 8, "actor", before=pinned) for pb in range(8)]
    for a in cast:
        a.begin("init 60")
    for a in cast:
        a.was_ok(a.answer(60), "init")
        a.ok("group 0 0")
    rounds = 300
    used, forced = [cpu_s(a) for a in cast], [switches(a)[1] for a in cast]
    for turn in range(rounds):
        for i in range(0, 8, 2):
            a, b = cast[i], cast[i + 1]
            b.begin(f"irecv 2 0 {i} 8 {turn % 7}")
            a.begin(f"isend 1 0 {i + 1} 8 {turn % 7} 1")
        for i in range(0, 8, 2):
            cast[i + 1].was_ok(cast[i + 1].answer())
            cast[i].was_ok(cast[i].answer())
            cast[i + 1].begin("wait 2 1")
            cast[i].begin("wait 1 0")
        for i in range(0, 8, 2):
            cast[i + 1].was_ok(cast[i + 1].answer())
            cast[i].was_ok(cast[i].answer())
    used = [cpu_s(a) - before for a, before in zip(cast, used)]
    forced = [switches(a)[1] - before for a, before in zip(cast, forced)]
    assert sum(used) / (4 * rounds) < 0.002, f"{used} s of processor time"
    # Other programs on the machine put processes aside, too.
    assert sum(forced) < patience.scaled(4 * rounds), f"put aside {forced} times"
    u.leave(*cast)
