# SPDX-License-Identifier: BSD-3-Clause
"""Programs of tests: compiled once in a run of the tests, started under Open MPI, MPICH or no MPI
in an environment that has nothing of another run, and ended with the test. Nobody has to say
--oversubscribe: the environment does. A pytest plugin: it brings the fixtures at its end."""

import fcntl
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import patience
import pytest
from surroundings import ROOT, environment, member, rendezvous

MPIS = ("openmpi", "mpich")
# What compiles a source: with an MPI, and without.
COMPILERS = {
    ".c": ("mpicc", "cc"),
    ".cpp": ("mpicxx", "c++"),
    ".f": ("mpifort", "gfortran"),
    ".f90": ("mpifort", "gfortran"),
    ".F90": ("mpifort", "gfortran"),
}


def other(mpi):
    return MPIS[1 - MPIS.index(mpi)]


def need(*programs):
    """Skip a test, with the reason, where a program is not installed."""
    for program in programs:
        if shutil.which(str(program)) is None:
            pytest.skip(f"{program} is not installed")


def once(folder, make):
    """The folder, filled by make(folder) by the first process that asks for it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder.with_name(folder.name + ".done")
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that was ended meanwhile
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def give(mpi, variables):
    """Words of a launcher that set variables for one part of a job."""
    if mpi == "openmpi":
        return [word for k, v in variables.items() for word in ("-x", f"{k}={v}")]
    return [word for k, v in variables.items() for word in ("-env", k, str(v))]


def mpiexec(mpi, *parts, options=()):
    """The command line of one MPI job. @param parts  (processes, words[, variables])"""
    need(f"mpiexec.{mpi}")
    line = [f"mpiexec.{mpi}", *options]
    for number, (count, words, *variables) in enumerate(parts):
        line += [":"] if number else []
        line += ["-n", count, *(give(mpi, variables[0]) if variables else []), *words]
    return line


def blocks(*parts, options=(), timeout="60s"):
    """The command line of one universe.

    @param parts    (MPI or "", processes, words[, words for its launcher])
    @param options  more words for `waitio run`
    """
    line = ["waitio", "run", "--timeout", timeout, *options]
    for number, (mpi, count, words, *extra) in enumerate(parts):
        need(*([f"mpiexec.{mpi}"] if mpi else []))
        line += [":"] if number else []
        line += ["-n", count, *(["--mpi", mpi] if mpi else [])]
        line += ["--mpi-args", " ".join(extra[0])] if extra and extra[0] else []
        line += words
    return line


class Done(subprocess.CompletedProcess):
    """A command that has ended."""

    def all(self):
        return f"status {self.returncode}\n{self.stdout}\n{self.stderr}"


class Jobs:
    """Compiles and starts the programs of a test.

    @param made      folder that all processes of this run of the tests share
    @param folder    of this test: its home, and where its programs run
    @param commands  folders of commands, instead of the build's
    @param settings  variables of all that is started
    """

    def __init__(self, build_dir, made, folder, commands=None, **settings):
        self.lib, self.made, self.folder = build_dir / "lib", made, folder
        self.commands = [build_dir / "bin"] if commands is None else commands
        self.settings = settings
        self.children = []

    # ---- compiling ----

    def library(self, name):
        """Skip where it was not built."""
        if not (self.lib / f"lib{name}.so").exists():
            pytest.skip(f"lib{name} was not built")
        return name

    def link(self, *libraries):
        """Words that link libraries of the build."""
        return [f"-L{self.lib}", f"-Wl,-rpath,{self.lib}", *(f"-l{name}" for name in libraries)]

    def compile(self, mpi, sources, *flags, check=True):
        """The program of one or more sources, compiled once for all tests; without `check` what
        the compiler has said, each time anew."""
        sources = [sources] if isinstance(sources, pathlib.Path) else list(sources)
        with_mpi, without = COMPILERS[sources[0].suffix]
        compiler = f"{with_mpi}.{mpi}" if mpi else without
        need(compiler)
        name = f"{sources[0].stem}.{mpi or 'plain'}"
        words = [compiler, *sources, "-o", name, *flags]
        words = [str(word) for word in words]
        key = hashlib.sha1("\0".join(words).encode())
        for source in sources:
            key.update(source.read_bytes())
        if not check:
            return self.compiled(words, self.folder)

        def make(folder):
            done = self.compiled(words, folder)
            assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"

        return once(self.made / "programs" / f"{name}-{key.hexdigest()[:12]}", make) / name

    def given(self, name, text):
        """A source that a test writes; the same for all processes of this run."""

        def make(folder):
            (folder / name).write_text(text)

        return once(self.made / "sources" / name, make) / name

    def compiled(self, words, folder):
        return self.run(words, limit=120, cwd=folder, OMPI_FC="gfortran", MPICH_FC="gfortran")

    # ---- running ----

    def environment(self, **more):
        return environment(self.folder, *self.commands, **{**self.settings, **more})

    def start(self, words, cwd=None, **env):
        """Start a command; the test waits for it, or it is ended with the test."""
        child = subprocess.Popen(
            [str(w) for w in words],
            env=self.environment(**env),
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self.children.append(child)
        return child

    def wait(self, child, limit=60):
        """@param limit  seconds on an idle machine"""
        try:
            out, err = child.communicate(timeout=limit)
        finally:
            self.end(child)
        return Done(child.args, child.returncode, out, err)

    def run(self, words, limit=60, cwd=None, **env):
        """A command to its end."""
        return self.wait(self.start(words, cwd, **env), limit)

    def by_hand(self, *parts, limit=60, **env):
        """A universe whose processes nobody starts but this one, with the variables that a launcher
        would give: the quickest way to blocks without MPI.

        @param parts  blocks: (processes, words)
        @return       [(who, Done)] in the order of the ranks; standard error is in stdout
        """
        shared = rendezvous(len(parts), **env)
        started = []
        for pbid, (count, words) in enumerate(parts):
            for rank in range(count):
                path = self.folder / f"said.{pbid}.{rank}"
                with open(path, "wb") as said:  # a pipe that nobody reads yet would hold it
                    child = subprocess.Popen(
                        [str(w) for w in words],
                        env=self.environment(**shared, **member(pbid, rank, count)),
                        cwd=self.folder,
                        stdin=subprocess.DEVNULL,
                        stdout=said,
                        stderr=subprocess.STDOUT,
                    )
                self.children.append(child)
                started.append((f"PB {pbid} rank {rank}", child, path))
        over = patience.Limit(limit)
        if any(patience.wait(child, over) is None for _, child, _ in started):
            late = [child.pid for _, child, _ in started if child.poll() is None]
            pytest.fail(patience.hang_report("the universe", over, late, self.folder))
        for _, child, _ in started:
            self.end(child)
        return [
            (who, Done(child.args, child.returncode, path.read_text(errors="replace"), ""))
            for who, child, path in started
        ]

    def end(self, child):
        """It, and what it has started."""
        if child.poll() is None:
            patience.end(root=child.pid)
            child.kill()
            child.communicate()
        if child in self.children:
            self.children.remove(child)

    def close(self):
        for child in list(self.children):
            self.end(child)


@pytest.fixture(scope="session")
def source_dir():
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def build_dir():
    """Folder that CMake built in: bin/, lib/, tests/system/."""
    path = pathlib.Path(os.environ.get("WAITIO_BUILD_DIR", ROOT / "build" / "release")).resolve()
    if not (path / "CMakeCache.txt").exists():
        pytest.fail(f"nothing is built in {path}: run make first, or set WAITIO_BUILD_DIR")
    return path


@pytest.fixture(scope="session")
def made_dir(request, tmp_path_factory):
    """What is made once for all processes of this run of the tests: see once()."""
    share = request.config.getoption("--share")
    return pathlib.Path(share).resolve() / "made" if share else tmp_path_factory.mktemp("made")


def install(build_dir, prefix):
    words = ["cmake", "--install", str(build_dir), "--prefix", str(prefix)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def install_dir(build_dir, made_dir):
    """An installed copy of the build; nobody writes to it."""
    return once(made_dir / "prefix", lambda folder: install(build_dir, folder))


@pytest.fixture(scope="session")
def python_package(build_dir):
    """The Python package, for PYTHONPATH; kept in the build folder, for it takes its time."""
    for module in ("Cython", "scikit_build_core", "numpy", "pip"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the Python package {module} is not installed (make setup)")
    folder = build_dir / f"python-{sys.implementation.cache_tag}"
    words = [ROOT / "scripts" / "python_site.sh", build_dir, folder, sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def launcher(build_dir, made_dir, tmp_path):
    """Compiles and starts programs: a Jobs."""
    made = Jobs(build_dir, made_dir, tmp_path)
    yield made
    made.close()
