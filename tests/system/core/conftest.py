# SPDX-License-Identifier: BSD-3-Clause
"""Plays universes: starts parallel blocks by hand or by a real mpiexec, talks to actors
(progs/actor.c), and kills by id whatever is left when a test ends."""

import importlib.util
import itertools
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid

import patience
import pytest
from jobs import mpiexec
from surroundings import environment

from waitio.ports import free_port

FAULTS = pathlib.Path(__file__).resolve().parents[2] / "faults"
ERRORS = {
    line.split()[1]: int(line.split()[2].strip("()"))
    for line in (pathlib.Path(__file__).resolve().parents[3] / "include" / "waitio_errors.h")
    .read_text()
    .splitlines()
    if line.startswith("#define WAITIO_ERR_") and len(line.split()) >= 3
}


def load_fault(name):
    """A module of tests/faults."""
    spec = importlib.util.spec_from_file_location(f"waitio_test_{name}", FAULTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class EndedError(AssertionError):
    """The process ended where an answer was due."""


class Process:
    """One started command. Lines of its standard output arrive with the time they were seen."""

    def __init__(self, words, env, cwd, name):
        self.name = name
        self.errors = cwd / f"{name}.err"
        with open(self.errors, "wb") as err:
            self.child = subprocess.Popen(
                [str(w) for w in words],
                env=env,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                start_new_session=True,
            )
        self.pid = self.child.pid
        self.lines = []
        self.seen_at = 0.0
        self.arrivals = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append(line.rstrip("\n"))
            self.arrivals.put((time.monotonic(), line.rstrip("\n")))
        self.arrivals.put((time.monotonic(), None))

    def err(self):
        """What it wrote to standard error so far."""
        return self.errors.read_text(errors="replace")

    def logs(self, *texts, timeout=20.0):
        """Wait until one of these texts is on its standard error."""
        limit = patience.Limit(timeout)
        while not any(text in self.err() for text in texts):
            assert limit.left() > 0, f"none of {texts} is told: {self.story()}"
            time.sleep(0.01)

    def story(self):
        return f"{self.name}: out {self.lines[-20:]}, err:\n{self.err()[-3000:]}"

    def begin(self, command):
        """Give an actor a command; the answer is asked for later."""
        try:
            self.child.stdin.write(command + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise EndedError(f"cannot tell {self.story()} to {command}") from None

    def answer(self, timeout=20.0):
        """Next line of an actor; seen_at tells when it came."""
        limit = patience.Limit(timeout)
        while True:
            try:
                self.seen_at, line = self.arrivals.get(timeout=max(0.01, limit.left()))
                break
            except queue.Empty:
                if limit.left() <= 0:
                    said = f"no answer within {limit} from {self.story()}"
                    raise AssertionError(said) from None
        if line is None:
            raise EndedError(f"ended ({self.child.wait()}): {self.story()}")
        return line

    def answer_within(self, seconds):
        """Next line of an actor, or None when none has come so soon."""
        try:
            self.seen_at, line = self.arrivals.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            raise EndedError(f"ended ({self.child.wait()}): {self.story()}")
        return line

    def silent(self, seconds):
        """No answer may come for so long."""
        try:
            _, line = self.arrivals.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"unexpected answer {line!r}: {self.story()}")

    def do(self, command, timeout=20.0):
        self.begin(command)
        return self.answer(timeout)

    def ok(self, command, timeout=20.0):
        """The command must succeed; returns the words after ok."""
        return self.was_ok(self.do(command, timeout), command)

    def was_ok(self, line, command=""):
        assert line.split()[:1] == ["ok"], f"{command}: {line} from {self.story()}"
        return line.split()[1:]

    def fails(self, command, code, *texts, timeout=20.0):
        self.begin(command)
        return self.failed(code, *texts, timeout=timeout)

    def failed(self, code, *texts, timeout=20.0):
        """The answer must be this error, its text must contain these words."""
        line = self.answer(timeout)
        assert line.split()[:2] == ["error", str(ERRORS["WAITIO_ERR_" + code])], (
            f"not {code}: {line} from {self.story()}"
        )
        for text in texts:
            assert text in line, f"{text!r} is not in {line!r}"
        return line

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.child.wait()
        return time.monotonic()

    def dies(self, timeout=30.0):
        """Wait until it has been killed by SIGKILL. @return when"""
        limit = patience.Limit(timeout)
        while self.child.poll() is None:
            assert limit.left() > 0, f"still alive: {self.story()}"
            time.sleep(0.002)
        assert self.child.returncode == -signal.SIGKILL, self.story()
        return time.monotonic()

    def stops(self, timeout=30.0):
        """Wait until it has stopped (SIGSTOP)."""
        limit = patience.Limit(timeout)
        while pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2][0] != "T":
            assert limit.left() > 0, f"does not stop: {self.story()}"
            time.sleep(0.005)

    def descriptors(self):
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory_kib(self):
        """Resident memory."""
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def count(self, name):
        """A counter of an actor."""
        return int(self.ok(f"counter {name}")[0])

    def ports(self):
        """TCP ports it listens on."""
        inodes, found = set(), set()
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{self.pid}/fd/{fd}")
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{self.pid}/net/{table}") as lines:
                for line in list(lines)[1:]:
                    word = line.split()
                    if word[3] == "0A" and word[9] in inodes:
                        found.add(int(word[1].rpartition(":")[2], 16))
        return found

    def ended(self, status=0, timeout=60.0):
        """Wait for the end; the status must be this one (None: any)."""
        found = patience.wait(self.child, patience.Limit(timeout))
        assert found is not None, f"still running after {timeout} s: {self.story()}"
        self.reader.join(5)
        assert status is None or found == status, f"status {found}: {self.story()}"
        return found


class Universe:
    """One run: a port, a job id, a home, and its processes."""

    numbers = itertools.count()

    def __init__(self, programs, folder, **env):
        self.programs = programs
        self.folder = folder / f"u{next(self.numbers)}"
        self.folder.mkdir()
        self.processes = []
        self.port = free_port()
        self.mark = str(uuid.uuid4())
        self.env = environment(
            self.folder,
            TMPDIR="/tmp",
            WT_MARK=self.mark,
            OMPI_MCA_hwloc_base_binding_policy="none",
            OMPI_MCA_btl="self,vader,tcp",
            MPICH_NO_LOCAL="0",
            WAITIO_MASTER_HOST="127.0.0.1",
            WAITIO_MASTER_PORT=str(self.port),
            WAITIO_JOB_ID=self.mark,
            WAITIO_INIT_TIMEOUT=str(int(patience.scaled(30))),
            WAITIO_LINGER="5",
            WAITIO_ERRORS="return",
        )
        self.set(**env)

    @property
    def where(self):
        """Where its processes meet, as messages say it."""
        if "WAITIO_MASTER_HOST" in self.env:
            return f"127.0.0.1 port {self.port}"
        return f"{self.env['WAITIO_SCRATCH_DIR']}/.waitio-file-{self.env['WAITIO_JOB_ID']}"

    def set(self, **env):
        self.env.update({k: str(v) for k, v in env.items() if v is not None})
        for k, v in env.items():
            if v is None:
                self.env.pop(k, None)

    def run(self, words, name, env=None):
        settings = dict(self.env)
        for k, v in (env or {}).items():
            if v is None:
                settings.pop(k, None)
            else:
                settings[k] = str(v)
        p = Process(words, settings, self.folder, f"{name}-{len(self.processes)}")
        self.processes.append(p)
        return p

    def process(self, pb, rank, nprocs, npb, program, *args, env=None, before=()):
        """One process of a block, placed by variables."""
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=npb, WAITIO_RANK=rank, WAITIO_NPROCS=nprocs)
        place.update(env or {})
        words = [*before, self.programs / program, *args]
        return self.run(words, f"{program}.{pb}.{rank}", place)

    def start(self, blocks, program, *args, env=None):
        """All processes of all blocks (a list of sizes), in order of universe rank."""
        return [
            self.process(pb, r, n, len(blocks), program, *args, env=env)
            for pb, n in enumerate(blocks)
            for r in range(n)
        ]

    def mpi(self, flavour, pb, n, npb, program, *args, env=None):
        """A block started by a real mpiexec."""
        path = self.programs / f"{program}.{flavour}"
        if not path.exists():
            path = self.programs / program
        place = dict(WAITIO_PBID=pb, WAITIO_NPB=npb, **(env or {}))
        return self.run(mpiexec(flavour, (n, [path, *args])), f"{program}.{flavour}", place)

    def actors(self, blocks, env=None, joined=True, timeout=30.0):
        """Actors that have joined and hold the group of everybody as group 0."""
        cast = self.start(blocks, "actor", env=env)
        if joined:
            for a in cast:
                a.begin(f"init {patience.scaled(30):.0f}")
            for a in cast:
                a.was_ok(a.answer(timeout), "init")
            for a in cast:
                a.ok("group 0 0")
        return cast

    def go(self, blocks, program, *args, env=None, timeout=60.0):
        """Run to the end; every process must succeed. Returns them."""
        cast = self.start(blocks, program, *args, env=env)
        self.all_end(cast, timeout)
        return cast

    @staticmethod
    def all_end(cast, timeout=60.0):
        limit = patience.Limit(timeout)
        for p in cast:
            if patience.wait(p.child, limit) is None:
                stories = "\n".join(q.story() for q in cast)
                raise AssertionError(f"not all ended within {limit}:\n{stories}")
        for p in cast:
            p.reader.join(5)  # what was printed last has arrived, too
        bad = [p.story() for p in cast if p.child.returncode != 0]
        assert not bad, "\n".join(bad)

    @staticmethod
    def joined(cast, timeout=40.0):
        """The same of actors that were started one by one."""
        for a in cast:
            a.begin(f"init {patience.scaled(30):.0f}")
        for a in cast:
            a.was_ok(a.answer(timeout), "init")
            a.ok("group 0 0")
        return cast

    @staticmethod
    def exchange(a, ra, b, rb, size, tag=5):
        """Actors a and b, of universe ranks ra and rb, send each other one message."""
        for x, other in ((a, rb), (b, ra)):
            x.ok(f"irecv 1 0 {other} {size} {tag}")
            x.ok(f"isend 2 0 {other} {size} {tag} 3")
            x.begin("wait 1 3")
        for x in (a, b):
            assert x.was_ok(x.answer())[-1] == "-1"
            x.ok("wait 2 0")

    def leave(self, *cast, timeout=20.0):
        """All finalize together and end."""
        for a in cast:
            a.begin("finalize")
        for a in cast:
            a.was_ok(a.answer(timeout), "finalize")
        for a in cast:
            a.begin("exit 0")
        for a in cast:
            a.ended()

    def left(self):
        """Processes that carry this universe's mark."""
        mark = f"WT_MARK={self.mark}".encode()
        return [pid for pid in patience.pids() if mark in patience.words_of(pid, "environ")]

    def close(self):
        for p in self.processes:
            if p.child.poll() is None:
                p.child.terminate() if "mpi" in p.name else p.child.kill()
                try:
                    os.kill(p.pid, signal.SIGCONT)
                    p.child.wait(3)
                except (OSError, subprocess.TimeoutExpired):
                    p.child.kill()
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for p in self.processes:
            p.child.wait(10)
            p.reader.join(5)
            for stream in (p.child.stdin, p.child.stdout):
                try:
                    stream.close()
                except OSError:  # a command that nobody read any more
                    pass


@pytest.fixture(scope="session")
def programs(build_dir):
    """Folder of the programs in progs/."""
    path = build_dir / "tests" / "system"
    if not (path / "actor").exists():
        pytest.fail(f"no programs in {path}: build the target system_programs")
    return path


EACH = ["socket", "shm", "file", "hybrid"]


PORT, DIRECTORY = "port", "directory"


def pytest_generate_tests(metafunc):
    """Modules that say EACH_TRANSPORT run once over each, and those that say EACH_RENDEZVOUS once
    with each kind of meeting, but for tests marked only_socket."""
    if "universe" not in metafunc.fixturenames:
        return
    only = metafunc.definition.get_closest_marker("only_socket")
    if getattr(metafunc.module, "EACH_TRANSPORT", False):
        metafunc.parametrize("universe", ["socket"] if only else EACH, indirect=True)
    elif getattr(metafunc.module, "EACH_RENDEZVOUS", False):
        metafunc.parametrize("universe", [PORT] if only else [PORT, DIRECTORY], indirect=True)


def without_connections(folder):
    """Variables of programs that share nothing but this directory."""
    return dict(
        WAITIO_COMM_TYPE="file",
        WAITIO_SCRATCH_DIR=str(folder),
        WAITIO_MASTER_HOST=None,
        WAITIO_MASTER_PORT=None,
    )


@pytest.fixture
def universe(programs, tmp_path, request):
    """Makes universes; universe(**env) may be called several times in a test."""
    made = []
    how = getattr(request, "param", None)
    transport = how if how in EACH else None

    def make(**env):
        if how == DIRECTORY:
            env = {**make.alone, **env}
        if transport is not None:
            env.setdefault("WAITIO_COMM_TYPE", transport)
        if env.get("WAITIO_COMM_TYPE") in ("file", "hybrid"):
            env.setdefault("WAITIO_SCRATCH_DIR", str(tmp_path))
        if transport == "hybrid":  # messages of many tests go both ways
            env.setdefault("WAITIO_HYBRID_THRESHOULD", "60000")
        u = Universe(programs, tmp_path, **env)
        made.append(u)
        return u

    make.alone = without_connections(tmp_path)
    yield make
    for u in made:
        u.close()


@pytest.fixture
def intruder():
    """The module tests/faults/intruder.py."""
    return load_fault("intruder")


@pytest.fixture
def crowd():
    """crowd(port, n) starts a process that holds n silent connections; .held() waits for them.
    crowd(port, n, "drip"): they drip, and .lived() waits until the other side has ended all."""
    made = []

    class Crowd:
        def __init__(self, port, n, *how):
            words = [sys.executable, FAULTS / "crowd.py", "127.0.0.1", str(port), str(n), *how]
            self.child = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            made.append(self)

        def held(self):
            return int(self.child.stdout.readline().split()[1])

        def lived(self):
            word, seconds = self.child.stdout.readline().split()
            assert word == "closed"
            return float(seconds)

    yield Crowd
    for c in made:
        c.child.kill()
        c.child.wait()
        c.child.stdin.close()
        c.child.stdout.close()


@pytest.fixture
def root_only():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command")


@pytest.fixture
def small(tmp_path):
    """A file system of 2 MiB; its folder."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "full", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
