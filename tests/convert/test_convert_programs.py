# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/convert: with an MPI, converted, and renamed. The last two run as blocks
under two MPIs, and the numbers are those of the first."""

import pathlib
import re
import subprocess

import pytest
from jobs import blocks, mpiexec, need
from surroundings import environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "convert"
PROGRAMS = ("jacobi.f90", "samplesort.c", "cg.f")
# Two launchers of unequal size.
BLOCKS = (("openmpi", 2), ("mpich", 1))
STRICT = ["-O1", "-g", "-Wall", "-Werror"]


class Builder:
    """Builds against an installed copy and runs what it built."""

    def __init__(self, folder, prefix):
        self.folder = folder
        self.lib = next(prefix.glob("**/libwaitio.so")).parent
        self.packages = next(prefix.glob("**/pkgconfig"))
        self.prefix = prefix
        (folder / "home").mkdir()
        self.env = environment(
            folder / "home",
            prefix / "bin",
            LD_LIBRARY_PATH=self.lib,
            PKG_CONFIG_PATH=self.packages,
        )

    def run(self, *words, timeout=60, status=0):
        done = subprocess.run(
            [str(w) for w in words], cwd=self.folder, env=self.env,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == status, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def flags(self, package):
        if not (self.packages / f"{package}.pc").exists():
            pytest.skip(f"{package} was not built: there is no Fortran compiler")
        return self.run("pkg-config", "--cflags", "--libs", package)[0].split()

    def build(self, source, name, package):
        fortran = source.suffix != ".c"
        compiler = "gfortran" if fortran else "cc"
        need(compiler)
        more = ["-fcheck=all"] if fortran else ["-Wextra"]
        self.run(compiler, *STRICT, *more, source, "-o", name, *self.flags(package))
        return self.folder / name

    def plain(self, source, name, processes):
        """With an MPI, in one job."""
        wrapper = "mpicc.openmpi" if source.suffix == ".c" else "mpifort.openmpi"
        need(wrapper)
        self.run(wrapper, "-O1", source, "-o", name)
        return self.run(*mpiexec("openmpi", (processes, [f"./{name}"])))[0]

    def blocks(self, program):
        line = blocks(*((mpi, count, [program]) for mpi, count in BLOCKS))
        out, _ = self.run(*line, timeout=90)
        return re.sub(r"(?m)^\[[^]]*\] ", "", out)


@pytest.fixture
def builder(tmp_path, install_dir):
    return Builder(tmp_path, install_dir)


def numbers(text):
    """{what: number} of the lines of a program, without the time it took."""
    found = dict(line.rsplit(maxsplit=1) for line in text.splitlines() if " s" not in line[-3:])
    assert len(found) >= 2, text
    return found


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if re.fullmatch(r"-?\d+", value):
            assert found[name] == value, name
        else:  # sums of three parts, in any order
            assert float(found[name]) == pytest.approx(float(value), rel=1e-11), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_converted_program_gives_the_same_numbers(builder, name):
    expected = numbers(builder.plain(EXAMPLES / name, "plain", 3))
    _, report = builder.run("waitio", "convert", "--output", "new", EXAMPLES / name)
    assert "0 places left to do by hand" in report and ": " not in report
    text = (builder.folder / "new" / name).read_text()
    assert re.search(r"\bWAITIO_MPI_COMM_WORLD\b", text)
    assert not re.search(r"(?i)(?<!waitio_)\bmpi_[a-z]+ ?\(", text)
    package = "waitio_fortran" if name == "jacobi.f90" else "waitio"
    program = builder.build(builder.folder / "new" / name, "converted", package)
    same(numbers(builder.blocks(program)), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_unchanged_program_gives_the_same_numbers(builder, name):
    expected = numbers(builder.plain(EXAMPLES / name, "plain", 3))
    program = builder.build(EXAMPLES / name, "renamed", "waitio_mpi_rename")
    same(numbers(builder.blocks(program)), expected)


@pytest.mark.parametrize("route", ["mpi", "waitio_mpi_rename"])
def test_requests_as_single_integers(builder, route):
    source = builder.folder / "requests.f90"
    text = (ROOT / "tests/convert/rename_requests.f90").read_text()
    source.write_text(text.replace("use mpi\n", f"use {route}\n"))
    assert builder.plain(ROOT / "tests/convert/rename_requests.f90", "plain", 3) == "all well\n"
    program = builder.build(source, "renamed", "waitio_mpi_rename")
    assert builder.blocks(program) == "all well\n"


def test_a_request_that_has_ended_is_refused(builder):
    """Numbers are used again, but not at once, and the library says what is wrong."""
    source = builder.folder / "stale.f90"
    source.write_text(
        "use mpi\ninteger :: r, old, e, x = 1\ncall MPI_Init(e)\n"
        "call MPI_Irecv(x, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, r, e)\n"
        "call MPI_Send(x, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, e)\n"
        "old = r\ncall MPI_Wait(r, MPI_STATUS_IGNORE, e)\n"
        "call MPI_Irecv(x, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, r, e)\n"
        "print *, old /= r\ncall MPI_Wait(old, MPI_STATUS_IGNORE, e)\nprint *, 'still here'\nend\n"
    )
    program = builder.build(source, "stale", "waitio_mpi_rename")
    out, err = builder.run("waitio", "run", program, status=1)
    assert "T" in out and "still here" not in out
    assert re.search(r"WAITIO_ERR_REQUEST: request \d+ .*is not pending", err)
    builder.env["WAITIO_ERRORS"] = "return"
    out, _ = builder.run("waitio", "run", program)
    assert "still here" in out


def test_renaming_with_cmake(builder, install_dir):
    builder.flags("waitio_fortran")
    (builder.folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(use C Fortran)\n"
        "find_package(waitio 0.1 REQUIRED)\n"
        + "".join(
            f"add_executable({pathlib.Path(name).stem} {EXAMPLES / name})\n"
            f"target_link_libraries({pathlib.Path(name).stem} PRIVATE waitio::waitio_mpi_rename)\n"
            for name in PROGRAMS
        )
    )
    builder.run("cmake", "-B", "b", f"-DCMAKE_PREFIX_PATH={install_dir}")
    builder.run("cmake", "--build", "b")
    assert "out of order 0" in builder.run("waitio", "run", "-n", 2, "b/samplesort")[0]


@pytest.mark.parametrize("suffix", ["f", "f90"])
def test_the_renaming_include_file_in_both_forms(builder, suffix):
    source = builder.folder / f"use.{suffix}"
    source.write_text(
        "      program p\n      implicit none\n      include 'mpif.h'\n"
        "      integer s(MPI_STATUS_SIZE), e\n      call MPI_Init(e)\n"
        "      s(MPI_SOURCE) = 1\n      if (MPI_Wtime() < 0) stop 1\n"
        "      if (s(MPI_SOURCE) == MPI_ANY_SOURCE) stop 2\n      call MPI_Finalize(e)\n"
        "      end program p\n"
    )
    program = builder.build(source, "use", "waitio_mpi_rename")
    builder.run("waitio", "run", program)


def test_numbers_of_requests_do_not_run_out(builder):
    """More requests than there are numbers, one after the other."""
    source = builder.folder / "many.f90"
    source.write_text(
        "use mpi\ninteger :: r, e, x, i\ncall MPI_Init(e)\ndo i = 1, 530000\n"
        "call MPI_Recv_init(x, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, r, e)\n"
        "call MPI_Request_free(r, e)\nend do\nprint *, 'done'\ncall MPI_Finalize(e)\nend\n"
    )
    program = builder.build(source, "many", "waitio_mpi_rename")
    assert "done" in builder.run("waitio", "run", program)[0]


def test_the_renaming_folder_is_asked_for(install_dir):
    """Nothing of it lies where other programs find it."""
    include = install_dir / "include"
    assert {p.name for p in (include / "waitio_mpi_rename").iterdir()} >= {"mpi.h", "mpif.h"}
    for name in ("mpi.h", "mpif.h", "mpi.mod"):
        assert not (include / name).exists()
    for name in ("waitio", "waitio_fortran"):
        for library in install_dir.glob(f"**/lib{name}.so"):
            out = subprocess.run(
                ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
            ).stdout
            assert not re.search(r"(?m) mpi_\w+_$", out), f"{library} takes MPI's names"


def test_every_fortran_call_is_forwarded(install_dir):
    """mpi_send_ for waitio_mpi_send_, and so on, without exception."""
    library = next(install_dir.glob("**/libwaitio_mpi_rename.so"), None)
    if library is None:
        pytest.skip("built without the Fortran interface")
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    found = set(re.findall(r" T mpi_(\w+)_$", out, re.M))
    listed = set(re.findall(r"(?m)^waitio_mpi_(\w+?)_ ", (ROOT / "spec/symbols.txt").read_text()))
    ours = {n for n in listed if n.endswith(("_f", "_full"))}
    markers = {"in_place", "bottom", "status_ignore", "statuses_ignore"}
    markers |= {"unweighted", "weights_empty"}
    assert found == listed - ours - markers
