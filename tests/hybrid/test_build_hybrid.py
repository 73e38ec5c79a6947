# SPDX-License-Identifier: BSD-3-Clause
"""`waitio build-hybrid`: the provider for an MPI that the packager did not have, here MPICH behind
wrappers of another name and folder."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def prefix(moved, tmp_path):
    """A copy of our own: providers are installed into it."""
    return shutil.copytree(moved, tmp_path / "else where", symlinks=True)


@pytest.fixture
def mpi(tmp_path):
    """A folder with mpicc, mpifort and mpiexec."""
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("no mpicc.mpich")
    folder = tmp_path / "mpi" / "bin"
    folder.mkdir(parents=True)
    for name in ("mpicc", "mpifort", "mpiexec"):
        script(folder / name, f'exec {name}.mpich "$@"')
    return folder


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def build(run, prefix):
    """The command; checks that it leaves nothing behind where it worked."""

    def ran(*words, good=True):
        return run(prefix / "bin" / "waitio", "build-hybrid", *words, good=good)

    return ran


def commands(said):
    """The lines that say how to link, by their first word."""
    lines = [line.strip() for line in said.partition("Link a program")[2].splitlines()]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in lines if " " in line}


def test_a_provider_for_a_third_mpi_is_built_tried_and_links(
    build, run, starts, prefix, mpi, tmp_path
):
    target = tmp_path / "mine"
    said = build(mpi / "mpicc", "--name", "third", "--prefix", target)
    assert f"tried: two processes under {mpi}/mpiexec" in said, said
    for name in ("lib/libwaitio_hybrid_third.so", "lib/pkgconfig/waitio_hybrid_third.pc"):
        assert (target / name).exists(), name
    shutil.copy(prefix / "share/waitio/hybrid/waitio_hybrid_selftest.c", tmp_path / "prog.c")
    line = commands(said)["C:"]
    run("sh", "-c", f"{line} -o main")
    starts("mpich", tmp_path / "main")
    path = commands(said)["with"]
    assert "CMAKE_PREFIX_PATH" in path
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(use C)\n"
        "find_package(waitio REQUIRED COMPONENTS hybrid_third)\nadd_executable(main prog.c)\n"
        "target_link_libraries(main PRIVATE waitio::hybrid_third)\n"
    )
    run("cmake", "-S", ".", "-B", "out", f"-DCMAKE_C_COMPILER={mpi}/mpicc", f"-D{path}")
    run("cmake", "--build", "out")
    starts("mpich", tmp_path / "out" / "main")


def test_fortran_goes_with_it(build, run, starts, prefix, mpi, tmp_path):
    if not (prefix / "include" / "waitio_mpif90.mod").exists():
        pytest.skip("the Fortran modules are not built")
    said = build(mpi / "mpicc", "--fortran", mpi / "mpifort", "--name", "third")
    (tmp_path / "prog.f90").write_text(
        "use mpi_f08\nuse waitio_hybrid\ninteger :: comm, ierr, me\ncall MPI_Init()\n"
        "call waitio_hybrid_create(MPI_COMM_WORLD, 0, comm)\n"
        "call waitio_mpi_comm_rank(comm, me, ierr)\ncall waitio_finalize(ierr)\n"
        "call MPI_Finalize()\nprint '(a,i0)', 'ok: process ', me\nend\n"
    )
    line = commands(said)["Fortran:"]
    run("sh", "-c", f"{line} -o main")
    starts("mpich", tmp_path / "main")


def test_another_version_of_a_kind_gets_it_into_its_name(build, prefix, mpi, tmp_path):
    other = tmp_path / "include"
    other.mkdir()
    (other / "mpi.h").write_text(
        '#include_next <mpi.h>\n#undef MPICH_VERSION\n#define MPICH_VERSION "9.9"\n'
    )
    script(mpi / "mpicc", f'exec mpicc.mpich -I"{other}" "$@"')
    said = build(mpi / "mpicc", "--no-test")
    assert "libwaitio_hybrid_mpich9_9 for MPICH 9.9" in said, said
    assert (prefix / "lib" / "libwaitio_hybrid_mpich9_9.so.0").exists()
    said = build(mpi / "mpicc", "--no-test")  # and again: it takes its own place
    assert "libwaitio_hybrid_mpich9_9 for MPICH 9.9" in said, said


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        # what the wrapper does instead; what the error has to name
        ("exec cc", ["reading mpi.h failed", "mpicc -E", "mpi.h: No such file", "a wrapper of"]),
        (
            'case "$*" in *-shared*) echo no luck >&2; exit 7 ;; esac; exec mpicc.mpich',
            ["building the provider failed", "mpicc -shared", "no luck", "Remedy:"],
        ),
    ],
)
def test_an_error_names_the_command_its_output_and_the_remedy(build, mpi, prefix, broken, words):
    script(mpi / "mpicc", f'{broken} "$@"')
    said = build(mpi / "mpicc", "--name", "third", good=False)
    assert all(word in said for word in words), said
    assert not list(prefix.glob("lib/*third*"))


def test_what_fails_the_test_is_not_installed(build, mpi, prefix):
    script(mpi / "mpiexec", "echo this node has no slots; exit 9")
    said = build(mpi / "mpicc", "--name", "third", good=False)
    assert "the test failed" in said and "no slots" in said and "--no-test" in said, said
    assert not list(prefix.glob("lib/*third*"))
    said = build(mpi / "mpicc", "--name", "third", "--no-test")
    assert (prefix / "lib" / "libwaitio_hybrid_third.so").exists(), said


def test_no_launcher_is_said(build, mpi):
    (mpi / "mpiexec").unlink()
    assert "not tried: " in build(mpi / "mpicc", "--name", "third")


def test_a_folder_that_cannot_be_written_and_one_that_is_kept(build, mpi, tmp_path):
    (tmp_path / "file").write_text("")
    said = build(
        *(mpi / "mpicc", "--name", "third", "--no-test", "--keep", "--prefix", tmp_path / "file"),
        good=False,
    )
    assert f"cannot write {tmp_path}/file/" in said and "--prefix" in said, said
    kept = pathlib.Path(said.split("kept: ")[1].splitlines()[0])
    assert (kept / "libwaitio_hybrid_third.so.0").exists()
    shutil.rmtree(kept)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which MPI?"),
        (["no-such-mpicc"], "there is no program 'no-such-mpicc'"),
        (["cc", "more"], "what is 'more' for?"),
        (["cc", "--name", "a/b"], "letters, digits and underscores"),
    ],
)
def test_a_wrong_command_line(build, words, said):
    out = build(*words, good=False)
    assert said in out, out


def test_a_command_without_an_installation_says_where_to_get_one(source_dir, tmp_path):
    lonely = tmp_path / "site-packages"
    shutil.copytree(source_dir / "python" / "waitio", lonely / "waitio")
    done = subprocess.run(
        [sys.executable, "-m", "waitio", "build-hybrid", "cc"],
        env={**os.environ, "PYTHONPATH": str(lonely)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "make install PREFIX" in done.stderr, done.stderr
