# SPDX-License-Identifier: BSD-3-Clause
"""`waitio build-adios2`: the engine by which programs of ADIOS2 use staging.

The sources are installed beside the library. They are compiled against the ADIOS2 that the programs
use: PyPI's package, or one of the machine's.
"""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from waitio.adios2place import LIBRARY, VARIABLE
from waitio.errors import UsageError, WaitioError
from waitio.hybridplace import prefixes
from waitio.options import Option, help_text, parse

SHARE = os.path.join("share", "waitio", "adios2")
HEADER = os.path.join("include", "adios2", "plugin", "PluginEngineInterface.h")
LIMIT = 600  # seconds for the compiler
OPTIONS = (
    Option(
        ("--adios2",),
        "adios2",
        "folder of PyPI's package adios2, or the prefix of an\n"
        + " " * 30
        + "ADIOS2 (default: the package that python3 imports)",
        "DIR",
    ),
    Option(("--prefix",), "prefix", "install under this folder (default: beside the library)", "P"),
    Option(("--cxx",), "cxx", "C++ compiler (default: $CXX, c++)", "CXX"),
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio build-adios2 [OPTIONS]

Build the engine by which programs of ADIOS2 (2.12) hand their steps to others with WaitIO:

  pip install adios2
  waitio build-adios2

{help_text(OPTIONS)}
"""


def _place() -> tuple[str, str]:
    """Return the prefix of this installation, and the folder of its libraries below it."""
    for prefix in prefixes():
        if not glob.glob(os.path.join(glob.escape(prefix), SHARE, "adios", "*.cpp")):
            continue
        for pattern in ("lib*", "lib*/*"):
            for path in glob.glob(os.path.join(glob.escape(prefix), pattern, "libwaitio_stage.so")):
                return prefix, os.path.relpath(os.path.dirname(path), prefix)
    raise WaitioError(
        f"the sources of the engine ({SHARE}) and libwaitio_stage.so are not installed around this"
        " command. `pip install` brings neither; in the sources of WaitIO run"
        " `make install PREFIX=...`, then PREFIX/bin/waitio build-adios2"
    )


def _imported() -> str:
    """Return the folder of the package adios2 that python3 imports, "" when there is none."""
    script = (
        "import importlib.util as u; print(u.find_spec('adios2').submodule_search_locations[0])"
    )
    for python in (shutil.which("python3"), sys.executable):
        if not python:
            continue
        done = subprocess.run(
            [python, "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return ""


def _libraries(folder: str) -> list[str]:
    """Return the two libraries of ADIOS2 that the engine calls."""
    found = []
    for name in ("libadios2_cxx.so", "libadios2_core.so"):
        paths = [os.path.join(folder, below, name) for below in (".", "lib", "lib64")]
        paths += glob.glob(os.path.join(glob.escape(folder), "lib", "*", name))
        found += [os.path.normpath(path) for path in paths if os.path.isfile(path)][:1]
    return found


def _adios2(given: str) -> tuple[str, list[str]]:
    folder = given or _imported()
    if not folder:
        raise WaitioError(
            "python3 has no package adios2: `pip install adios2`, or name an ADIOS2 by --adios2 DIR"
        )
    libraries = _libraries(folder)
    if not os.path.isfile(os.path.join(folder, HEADER)) or len(libraries) != 2:
        raise WaitioError(
            f"{folder} has not both {HEADER} and libadios2_core.so: it is no ADIOS2 2.12 with its"
            " headers. --adios2 DIR names PyPI's package (the folder adios2 in site-packages), or a"
            " prefix"
        )
    return folder, libraries


def _compile(words: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WaitioError(f"the compiler has not ended within {LIMIT} s") from None
    except OSError as error:
        raise WaitioError(
            f"cannot start the C++ compiler '{words[0]}': {error.strerror}; --cxx names another"
        ) from None
    if done.returncode != 0:
        said = done.stdout.decode("utf-8", "replace").rstrip()
        raise WaitioError(
            f"building the engine failed:\n  {shlex.join(words)}\n{said}\n"
            "Remedy: the ADIOS2 must be 2.12 and the compiler one of C++17."
        )


def _build(values: dict[str, str], folder: str) -> str:
    """Build and install the library; return where it is."""
    ours, libdir = _place()
    adios2, libraries = _adios2(values.get("adios2", ""))
    prefix = os.path.abspath(values.get("prefix") or ours)
    made = os.path.join(folder, LIBRARY)
    lib = os.path.join(ours, libdir)
    words = [values.get("cxx") or os.environ.get("CXX") or "c++", "-std=c++17", "-O2", "-shared"]
    words += ["-fPIC", "-fvisibility=hidden", f"-I{os.path.join(ours, SHARE)}"]
    words += [f"-I{os.path.join(ours, 'include')}", "-isystem", os.path.join(adios2, "include")]
    words += sorted(glob.glob(os.path.join(glob.escape(ours), SHARE, "adios", "*.cpp")))
    words += ["-o", made, *libraries, f"-L{lib}", "-lwaitio_stage", "-lwaitio"]
    words += ["-Wl,--no-undefined", "-Wl,--allow-shlib-undefined", "-Wl,-rpath,$ORIGIN"]
    words += [f"-Wl,-rpath,{lib}"] if prefix != ours else []
    sys.stdout.write(f"building {LIBRARY} for the ADIOS2 in {adios2}\n")
    sys.stdout.flush()
    _compile(words)
    target = os.path.join(prefix, libdir, LIBRARY)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        fresh = f"{target}.new-{os.getpid()}"  # programs may have the old one open
        shutil.copy2(made, fresh)
        os.replace(fresh, target)
    except OSError as error:
        raise WaitioError(
            f"cannot write {target}: {error.strerror}; choose a folder of yours with --prefix P"
        ) from None
    return target


def main(words: Sequence[str]) -> int:
    """Run `waitio build-adios2`."""
    values, rest = parse(words, OPTIONS, "waitio build-adios2")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if rest:
        raise UsageError(f"waitio build-adios2: what is '{rest[0]}' for?")
    with tempfile.TemporaryDirectory(prefix="waitio-adios2-") as folder:
        target = _build(values, folder)
    sys.stdout.write(
        f"installed {target}\n\nIn a program of ADIOS2, or in its XML:\n"
        '  io.SetEngine("Plugin");\n'
        '  io.SetParameters("PluginName=flow,PluginLibrary=waitio_adios2");\n'
        f"`waitio run` tells ADIOS2 where it is; else export {VARIABLE}={os.path.dirname(target)}\n"
    )
    return 0
