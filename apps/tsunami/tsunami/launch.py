# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs and shows how far they are."""

import glob
import os
import pathlib
import shutil
import subprocess
import sys

APP = pathlib.Path(__file__).resolve().parents[1]


class DemoError(Exception):
    """Something is missing or went wrong; the text says what, and what to do."""


class Progress:
    """A bar on a terminal, a line every fifth of the way elsewhere."""

    def __init__(self, title, out=sys.stdout):
        self.title, self.out, self.shown = title, out, -1
        self.bar = out.isatty()

    def show(self, part, text=""):
        part = min(max(part, 0.0), 1.0)
        step = int(part * (200 if self.bar else 5))
        if step == self.shown:
            return
        self.shown = step
        if self.bar:
            full = int(part * 30)
            line = f"{self.title:<34} [{'#' * full}{'.' * (30 - full)}] {part:4.0%} {text}"
            self.out.write("\r\033[K" + line[: shutil.get_terminal_size().columns - 1])
        else:
            self.out.write(f"{self.title}: {part:.0%} {text}".rstrip() + "\n")
        self.out.flush()

    def done(self, text=""):
        if self.bar:
            self.out.write(f"\r\033[K{self.title:<34} {text}\n")
        elif text:
            self.out.write(f"{self.title}: {text}\n")
        self.out.flush()


def find_mpich():
    """MPICH's library, under whatever name the system gives it."""
    for pattern in ("/usr/lib/*/libmpich.so.12", "/usr/lib64/mpich/lib/libmpi.so.12"):
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    launcher = shutil.which("mpiexec.mpich") or shutil.which("mpiexec.hydra")
    if launcher:
        lib = pathlib.Path(launcher).resolve().parents[1] / "lib" / "libmpi.so.12"
        if lib.exists():
            return str(lib)
    return None


def environment(folder):
    """For the blocks: our modules, this interpreter as python3, and MPICH's library by the name
    that mpi4py's wheel asks for (Debian's has another)."""
    env = {k: v for k, v in os.environ.items() if k != "WAITIO_BUILD_DIR"}
    tools = folder / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    script = tools / "python3"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    env["PATH"] = f"{tools}:{env['PATH']}"
    env["PYTHONPATH"] = os.pathsep.join([str(APP), *filter(None, [env.get("PYTHONPATH")])])
    env.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONUNBUFFERED="1")
    if os.geteuid() == 0:  # Open MPI refuses root unless told twice; containers often have no other
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    library = find_mpich()
    if library:
        link = tools / "libmpi.so.12"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        env["LD_LIBRARY_PATH"] = os.pathsep.join(
            [str(tools), *filter(None, [env.get("LD_LIBRARY_PATH")])]
        )
        env["MPI4PY_MPIABI"] = "mpich"
    return env


def missing_mpi(env):
    """Why Python cannot run under MPICH here; empty if it can."""
    if not shutil.which("mpiexec.mpich"):
        return "mpiexec.mpich is not there (Debian package mpich)"
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    try:
        done = subprocess.run(
            ["mpiexec.mpich", "-n", "1", "python3", "-c", code],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "mpi4py does not start under mpiexec.mpich within 60 s"
    if done.returncode == 0 and "MPICH" in done.stdout:
        return ""
    said = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no reason"])[
        -1
    ]
    return f"mpi4py does not load MPICH ({said}); install it with: pip install mpi4py"


def need(programs, modules, env):
    """Raise DemoError, which names what is missing of the modules and of the programs; these come
    with a text that says what each is."""
    missing = [why for name, why in programs.items() if not shutil.which(name, path=env["PATH"])]
    for module in modules:
        done = subprocess.run(
            ["python3", "-c", f"import {module}"],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            missing.append(f"the Python module {module} ({done.stderr.strip().splitlines()[-1]})")
    if missing:
        raise DemoError("missing here:\n    " + "\n    ".join(missing))


def run(words, folder, env, progress, scenarios=0, limit=900, good=(0,)):
    """Start a command that prints progress lines `@ what done of`; everything else it prints is
    kept, and shown when it fails: ends with none of the `good` statuses. Returns what it kept."""
    kept = []
    child = subprocess.Popen(
        [str(w) for w in words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for line in child.stdout:
            if not follow(line, progress, scenarios):
                kept.append(line.rstrip())
        status = child.wait(timeout=limit)
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        raise
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    if status not in good:
        shown = "\n    ".join(kept[-25:])
        raise DemoError(f"{' '.join(map(str, words[:3]))} ended with status {status}:\n    {shown}")
    return kept


def follow(line, progress, scenarios):
    """Show a progress line; false if it is none. Scenarios are a third of the way."""
    _, mark, rest = line.partition("@ ")
    words = rest.split()
    if not mark or len(words) != 3 or words[0] not in ("scenario", "event", "day", "step"):
        return False
    done, of = int(words[1]), max(1, int(words[2]))
    first = 1 / 3 if scenarios else 0.0
    if words[0] == "scenario":
        progress.show(first * done / of, f"learning from scenario {done} of {of}")
    else:
        what = "event, cycle" if words[0] == "event" else words[0]
        progress.show(first + (1 - first) * done / of, f"{what} {done} of {of}")
    return True
