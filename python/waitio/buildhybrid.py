# SPDX-License-Identifier: BSD-3-Clause
"""`waitio build-hybrid`: the provider of hybrid communicators for one more MPI.

The sources are installed beside the library. The MPI's own wrapper compiles them, a program of two
processes tries the result under that MPI's launcher, and only then it is put beside the library.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field

from waitio.errors import UsageError, WaitioError
from waitio.hybridplace import Place, fill_in, find_place
from waitio.options import Option, help_text, parse


def _name(text: str) -> str:
    """Convert the value of --name."""
    if not re.fullmatch(r"[A-Za-z0-9_]{1,40}", text):
        raise ValueError("up to 40 letters, digits and underscores are needed")
    return text


OPTIONS = (
    Option(
        ("--prefix",),
        "prefix",
        "install under this folder (default: beside the library)",
        "P",
    ),
    Option(("--fortran",), "fortran", "also the module waitio_hybrid, by this wrapper", "MPIFORT"),
    Option(
        ("--name",),
        "name",
        "name of the library, libwaitio_hybrid_NAME (default: the\n"
        + " " * 30
        + "kind of MPI, with its version if another one has it)",
        "NAME",
        _name,
    ),
    Option(
        ("--mpiexec",),
        "mpiexec",
        "launcher for the test (default: the one beside MPICC)",
        "PATH",
    ),
    Option(("--no-test",), "no_test", "install without having tried it"),
    Option(("--keep",), "keep", "keep the folder that it was built in, and say where it is"),
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio build-hybrid MPICC [OPTIONS]

Build the library for hybrid communicators (waitio_hybrid.h) for another MPI, try it with two
processes, and install it. MPICC is the MPI's wrapper of the C compiler:

  waitio build-hybrid /opt/mpi/bin/mpicc --fortran /opt/mpi/bin/mpifort

{help_text(OPTIONS)}
"""

# Flavours of `waitio run --mpi` by short names of kinds.
FLAVOURS = {
    "openmpi": "openmpi",
    "mpich": "mpich",
    "intelmpi": "intel",
    "mvapich2": "mvapich",
    "mvapich": "mvapich",
}
TEST_LIMIT = 120  # seconds


@dataclass
class Build:
    """One run of the command."""

    place: Place
    wrapper: str
    folder: str  # everything is made in it
    kind: str = ""
    short: str = ""
    version: str = ""
    name: str = ""
    rpaths: list[str] = field(default_factory=lambda: ["$ORIGIN"])
    files: list[tuple[str, str]] = field(default_factory=list)  # (made, below the prefix)

    def library(self, part: str) -> str:
        """Return the name of a library, without lib and suffix."""
        return f"waitio_{part}_{self.name}"


def _run(words: Sequence[str], what: str, remedy: str, **options: object) -> str:
    """Run a command to its end; an error shows it, what it said, and what can be done."""
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TEST_LIMIT + 60,
            check=False,
            **options,  # type: ignore[call-overload]
        )
        said, status = str(done.stdout.decode("utf-8", "replace").rstrip()), done.returncode
    except subprocess.TimeoutExpired as error:
        said, status = (error.stdout or b"").decode("utf-8", "replace").rstrip(), -1
    except OSError as error:
        said, status = str(error.strerror), -1
    if status == 0:
        return said
    shown = shlex.join(words)
    raise WaitioError(f"{what} failed:\n  {shown}\n{said or '(it printed nothing)'}\n{remedy}")


def _wrapper(word: str, language: str) -> str:
    path = shutil.which(word)
    if path is None:
        raise WaitioError(
            f"there is no program '{word}': name the {language} wrapper of an MPI, as in"
            " /opt/mpi/bin/mpicc, or load its module",
            127,
        )
    return os.path.abspath(path)


def _identify(build: Build) -> None:
    """Find out kind and version by the macros of its mpi.h."""
    kinds = build.place.kinds()
    source = os.path.join(build.folder, "kind.c")
    with open(source, "w") as file:
        file.write("#include <mpi.h>\n")
        for number, (_, _, macros) in enumerate(kinds):
            file.write(f"#ifdef {macros[0]}\nwaitio_mpi {number} {' '.join(macros)}\n#endif\n")
    text = _run(
        [build.wrapper, "-E", source],
        "reading mpi.h",
        f"Is {build.wrapper} a wrapper of the C compiler (mpicc)?",
    )
    match = re.search(r"^waitio_mpi (\d+) (.+)$", text, re.M)
    if match is None:
        known = ", ".join(kind for kind, _, _ in kinds)
        raise WaitioError(
            f"the mpi.h of {build.wrapper} is of no MPI known here; known are {known} and"
            " those that call themselves so"
        )
    build.kind, build.short, _ = kinds[int(match.group(1))]
    build.version = re.sub(r"\s+", ".", match.group(2).replace('"', "").strip())


def _choose_name(build: Build, given: str, prefix: str) -> None:
    """The kind's name, unless a library for another version has it."""
    build.name = given or build.short
    if given:
        return
    built_for = build.place.built_for(prefix, build.library("hybrid"))
    if built_for and built_for != f"{build.kind} {build.version}":
        build.name = re.sub(r"\W", "_", build.short + build.version)


def _shared(build: Build, wrapper: str, part: str, words: Sequence[str], what: str) -> str:
    """Link a shared library; return where it is."""
    soname = f"lib{build.library(part)}.so.0"
    path = os.path.join(build.folder, soname)
    _run(
        [wrapper, "-shared", "-fPIC", "-O2", *words]
        + [f"-Wl,-soname,{soname}", *(f"-Wl,-rpath,{folder}" for folder in build.rpaths)]
        + ["-o", path, f"-L{build.folder}", f"-L{build.place.lib}"]
        + ([f"-l{build.library('hybrid')}"] if part != "hybrid" else [])
        + (["-lwaitio_fortran"] if part != "hybrid" else [])
        + ["-lwaitio"],
        what,
        "Remedy: the wrapper's compiler must be one that can build shared libraries; the output"
        " above is the compiler's.",
        cwd=build.folder,
    )
    os.symlink(soname, os.path.join(build.folder, f"lib{build.library(part)}.so"))
    for name in (f"{soname}", f"lib{build.library(part)}.so"):
        build.files.append((os.path.join(build.folder, name), f"{build.place.libdir}/{name}"))
    return path


def _provider(build: Build) -> None:
    share = build.place.share
    sources = sorted(
        os.path.join(share, "hybrid", name)
        for name in os.listdir(os.path.join(share, "hybrid"))
        if name.endswith(".c")
    )
    defines = {"NAME": build.name, "KIND": build.kind, "RELEASE": build.version}
    words = ["-std=gnu11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-pthread"]
    given = os.path.join(build.folder, "mpi_given.h")  # some wrappers lose quotation marks
    with open(given, "w") as file:
        file.writelines(f'#define WAITIO_MPI_{key} "{text}"\n' for key, text in defines.items())
    words += ["-include", given]
    words += [f"-I{share}", f"-I{build.place.include}", *sources]
    _shared(build, build.wrapper, "hybrid", words, "building the provider")
    _package(build, "hybrid", "Hybrid communicators of WaitIO", "waitio", "-I${includedir}")


def _fortran(build: Build, wrapper: str) -> bool:
    """Build the module; return whether it takes type(MPI_Comm)."""
    if not os.path.isfile(os.path.join(build.place.include, "waitio_mpif90.mod")):
        raise WaitioError(
            f"the Fortran modules of WaitIO are not installed in {build.place.include}: install it"
            " on a machine with a Fortran compiler, or leave out --fortran"
        )
    probe = os.path.join(build.folder, "probe.f90")
    with open(probe, "w") as file:
        file.write("subroutine probe(c)\nuse mpi_f08, only: MPI_Comm\ntype(MPI_Comm) :: c\n")
        file.write("c%MPI_VAL = 0\nend subroutine probe\n")
    try:
        _run([wrapper, "-c", probe, "-o", probe + ".o"], "", "", cwd=build.folder)
        typed = True
    except WaitioError:
        typed = False
    words = [f"-I{build.place.include}"] + (["-DWAITIO_HYBRID_F08"] if typed else [])
    words.append(os.path.join(build.place.share, "waitio_hybrid.F90"))
    _shared(build, wrapper, "hybrid_fortran", words, "building the Fortran module")
    folder = f"waitio_hybrid_{build.name}"
    module = os.path.join(build.folder, "waitio_hybrid.mod")
    build.files.append((module, f"include/{folder}/waitio_hybrid.mod"))
    _package(
        build,
        "hybrid_fortran",
        "Module waitio_hybrid",
        f"waitio_fortran {build.library('hybrid')}",
        f"-I${{includedir}}/{folder}",
    )
    return typed


def _package(build: Build, part: str, text: str, requires: str, cflags: str) -> None:
    name = build.library(part)
    path = os.path.join(build.folder, f"{name}.pc")
    values = {
        "WAITIO_PC_NAME": name,
        "WAITIO_PC_TEXT": text,
        "WAITIO_PC_REQUIRES": requires,
        "WAITIO_PC_CFLAGS": cflags,
        "WAITIO_PC_MPI": f"{build.kind} {build.version}",
    }
    fill_in(build.place, values, path)
    build.files.append((path, f"{build.place.libdir}/pkgconfig/{name}.pc"))


def _launcher(build: Build, given: str) -> str:
    """Return the launcher beside the wrapper, "" if there is none."""
    if given:
        return _wrapper(given, "launcher's path, not a")
    folder, name = os.path.split(build.wrapper)
    suffix = name.partition(".")[2]
    words = [f"mpiexec.{suffix}", f"mpirun.{suffix}"] if suffix else []
    for word in (*words, "mpiexec", "mpirun", "mpiexec.hydra"):
        path = os.path.join(folder, word)
        if os.access(path, os.X_OK):
            return path
    return ""


def _try_out(build: Build, given: str) -> str:
    """Run two processes as one block; return what can be said of it."""
    launcher, flavour = _launcher(build, given), FLAVOURS.get(build.short, "")
    if not launcher or not flavour:
        why = f"{build.kind} has no launcher" if flavour else f"`waitio run` starts no {build.kind}"
        return f"not tried: {why} beside {build.wrapper} (--mpiexec PATH names one)"
    program = os.path.join(build.folder, "selftest")
    remedy = "Remedy: the MPI and the wrapper must belong together; --no-test installs without it."
    source = os.path.join(build.place.share, "waitio_hybrid_selftest.c")
    _run(
        [build.wrapper, "-O1", source, "-o", program, f"-I{build.place.include}"]
        + [f"-L{build.folder}", f"-L{build.place.lib}"]
        + [f"-l{build.library('hybrid')}", "-lwaitio"]
        + [f"-Wl,-rpath,{build.folder}", f"-Wl,-rpath,{build.place.lib}"],
        "building the test",
        remedy,
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith("WAITIO_")}
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = [package, *filter(None, [environ.get("PYTHONPATH", "")])]
    environ.update(PYTHONPATH=os.pathsep.join(path), PYTHONDONTWRITEBYTECODE="1")
    environ["WAITIO_HYBRID_INSIDE"] = "mpi"
    words = [sys.executable, "-m", "waitio", "run", "--timeout", f"{TEST_LIMIT}s", "-n", "2"]
    words += ["--mpi", flavour, "--mpiexec", launcher]
    if flavour == "openmpi":
        words += ["--mpi-args", "--oversubscribe"]
        environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    said = _run([*words, program], "the test", remedy, env=environ, cwd=build.folder)
    if len(re.findall(r"\bok: process \d of 2 ", said)) != 2:
        raise WaitioError(f"the test of two processes did not say ok twice:\n{said}\n{remedy}")
    return f"tried: two processes under {launcher}"


def _install(build: Build, prefix: str) -> None:
    target = prefix
    try:
        for made, below in build.files:
            target = os.path.join(prefix, below)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            fresh = f"{target}.new-{os.getpid()}"  # programs may have the old one open
            shutil.copy2(made, fresh, follow_symlinks=False)
            os.replace(fresh, target)
    except OSError as error:
        raise WaitioError(
            f"cannot write {target}: {error.strerror}; choose a folder of yours with --prefix P"
        ) from None


def _how_to_link(build: Build, prefix: str, fortran: str) -> str:
    name, include = build.library("hybrid"), build.place.include
    libs = list(dict.fromkeys((os.path.join(prefix, build.place.libdir), build.place.lib)))
    links = [word for folder in libs for word in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    line = [build.wrapper, "prog.c", f"-I{include}", *links, f"-l{name}", "-lwaitio"]
    lines = [f"C:        {shlex.join(line)}"]
    if fortran:
        module = os.path.join(prefix, "include", name)
        line = [fortran, "prog.f90", f"-I{include}", f"-I{module}", *links]
        line += [
            f"-l{build.library('hybrid_fortran')}",
            f"-l{name}",
            "-lwaitio_fortran",
            "-lwaitio",
        ]
        lines.append(f"Fortran:  {shlex.join(line)}")
    packages = os.pathsep.join(os.path.join(folder, "pkgconfig") for folder in libs)
    roots = ";".join(dict.fromkeys((prefix, build.place.prefix)))
    lines.append(f"or by     pkg-config --cflags --libs {name}")
    lines.append(f"          with PKG_CONFIG_PATH={packages}")
    lines.append(f"or CMake  find_package(waitio COMPONENTS hybrid_{build.name})")
    lines.append(f"          with CMAKE_PREFIX_PATH={roots}")
    return "".join(f"  {line}\n" for line in lines)


def _make(build: Build, values: dict[str, str]) -> None:
    prefix = os.path.abspath(values.get("prefix") or build.place.prefix)
    fortran = _wrapper(values["fortran"], "Fortran") if "fortran" in values else ""
    if prefix != build.place.prefix:
        build.rpaths.append(build.place.lib)
    _identify(build)
    _choose_name(build, values.get("name", ""), prefix)
    sys.stdout.write(f"building lib{build.library('hybrid')} for {build.kind} {build.version}\n")
    sys.stdout.flush()
    _provider(build)
    if fortran and not _fortran(build, fortran):
        sys.stdout.write(
            f"{fortran} compiles no `use mpi_f08`: module waitio_hybrid takes integers only\n"
        )
    if not values.get("no_test"):
        sys.stdout.write(_try_out(build, values.get("mpiexec", "")) + "\n")
    _install(build, prefix)
    sys.stdout.write(f"installed under {prefix}\n\nLink a program with it:\n")
    sys.stdout.write(_how_to_link(build, prefix, fortran))


def main(words: Sequence[str]) -> int:
    """Run `waitio build-hybrid`."""
    values, rest = parse(words, OPTIONS, "waitio build-hybrid")
    if rest and not values.get("help"):  # options may stand on both sides of the wrapper
        more, other = parse(rest[1:], OPTIONS, "waitio build-hybrid")
        values.update(more)
        if other:
            raise UsageError(f"waitio build-hybrid: what is '{other[0]}' for? One MPI at a time")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if not rest:
        raise UsageError("waitio build-hybrid: which MPI? Name its wrapper, as in mpicc")
    place = find_place()
    wrapper = _wrapper(rest[0], "C")
    folder = tempfile.mkdtemp(prefix="waitio-hybrid-")
    try:
        _make(Build(place, wrapper, folder), values)
    finally:
        if values.get("keep"):
            sys.stdout.write(f"kept: {folder}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0
