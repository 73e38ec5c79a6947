# SPDX-License-Identifier: BSD-3-Clause
"""The command: files, folders, what is written where, exit status, reports."""

import io
import os
import pathlib
import re
import subprocess
import sys

import pytest

C = "MPI_Op o;\n"
DONE = "WAITIO_MPI_Op o;\n"


def test_nothing_is_written_unless_it_is_said_how(convert):
    path = convert.file("a.c", C)
    assert (
        convert.run(path) == 2 and "--output" in convert.report and "--in-place" in convert.report
    )
    assert convert.run("--in-place", "--check", path) == 2
    assert convert.run("--check") == 2
    assert convert.run("--check", path) == 0
    assert convert.run("--diff", path) == 0
    assert path.read_text() == C and os.listdir(convert.folder) == ["a.c"]


def test_output_keeps_the_tree_and_the_originals(convert):
    convert.file("src/a.c", C)
    convert.file("src/sub/b.F90", "call MPI_Init(e)\n")
    convert.file("src/sub/plain.c", "int x;\n")
    convert.file("src/notes.txt", C)
    convert.file("src/.git/c.c", C)
    assert convert.run("--output", convert.folder / "new", convert.folder / "src") == 0
    found = sorted(
        str(p.relative_to(convert.folder / "new"))
        for p in (convert.folder / "new").rglob("*")
        if p.is_file()
    )
    assert found == ["a.c", "sub/b.F90", "sub/plain.c"]
    assert (convert.folder / "new/a.c").read_text() == DONE
    assert (convert.folder / "src/a.c").read_text() == C
    assert re.search(r"3 files read, 2 with changes \(2 places\), 0 places left", convert.report)


def test_output_never_overwrites_the_source(convert):
    path = convert.file("a.c", C)
    assert convert.run("--output", convert.folder, path) == 2 and "--in-place" in convert.report
    assert path.read_text() == C


def test_two_files_of_one_name_do_not_meet(convert):
    a, b = convert.file("x/a.c", C), convert.file("y/a.c", C + C)
    assert convert.run("--output", convert.folder / "new", a, b) == 2
    assert "a.c" in convert.report and not (convert.folder / "new").exists()


def test_in_place_keeps_mode_and_links(convert):
    path = convert.file("a.c", C)
    path.chmod(0o640)
    link = convert.folder / "link.c"
    link.symlink_to("a.c")
    before = (
        convert.file("same.c", "int x;\n").stat().st_ino,
        (convert.folder / "same.c").stat().st_mtime_ns,
    )
    assert convert.run("--in-place", convert.folder) == 0
    assert path.read_text() == DONE and path.stat().st_mode & 0o777 == 0o640 and link.is_symlink()
    after = (convert.folder / "same.c").stat()
    assert (after.st_ino, after.st_mtime_ns) == before, "what does not change is not written"
    assert sorted(os.listdir(convert.folder)) == ["a.c", "link.c", "same.c"]


def test_a_link_stays_a_link(convert):
    path = convert.file("d/a.c", C)
    link = convert.folder / "link.c"
    link.symlink_to("d/a.c")
    assert convert.run("--in-place", link) == 0
    assert link.is_symlink() and path.read_text() == DONE


def test_loops_of_links(convert):
    convert.file("src/a.c", C)
    for name in ("loop", "ring"):  # two: following them again and again would never end
        (convert.folder / "src" / name).symlink_to("..")
    (convert.folder / "src/broken.c").symlink_to("nowhere")
    assert convert.run("--check", convert.folder / "src") == 1
    assert convert.report.count("a.c") == 0 and "broken.c: cannot be read" in convert.report
    assert "1 files read" in convert.report


def test_binary_unreadable_and_odd_files(convert):
    convert.file("d/a.c", b"MPI_Op o;\0\n")
    os.mkfifo(convert.folder / "d/pipe.c")
    convert.file("d/b.c", C)
    assert convert.run("--in-place", convert.folder / "d") == 1
    assert "a.c: no text: it holds zero bytes; left out" in convert.report
    assert "pipe.c: not a regular file; left out" in convert.report
    assert (convert.folder / "d/a.c").read_bytes() == b"MPI_Op o;\0\n"
    assert (convert.folder / "d/b.c").read_text() == DONE and "2 files left out" in convert.report
    assert (
        convert.run("--check", convert.folder / "none.c") == 2
        and "does not exist" in convert.report
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_without_permission(convert):
    convert.file("a.c", C).chmod(0)
    assert (
        convert.run("--check", convert.folder / "a.c") == 1
        and "Permission denied" in convert.report
    )


def test_folder_that_cannot_be_written(convert):
    path = convert.file("a.c", C)
    convert.file("new", "a file where the folder would be\n")
    assert convert.run("--output", convert.folder / "new", path) == 1
    assert "cannot be written" in convert.report


def test_empty_files_and_long_lines(convert):
    assert convert("e.c", "") == convert("e.f", "") == convert("e.f90", "") == ""
    assert convert("l.c", "x" * 200000 + " MPI_Op o;").endswith(" WAITIO_MPI_Op o;")
    assert convert("l.f90", "x = '" + "y" * 2000).endswith("y")
    assert convert.status == 0


def test_diff_is_a_patch(convert):
    convert.file("src/a.c", b"/* \xe9 */\r\nMPI_Op o;\r\nint last;")
    convert.file("src/b.f90", "call MPI_Init(e)")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2] / "python")}
    command = [sys.executable, "-m", "waitio", "convert"]
    done = subprocess.run(
        [*command, "--diff", "-q", "src"],
        cwd=convert.folder,
        env=env,
        capture_output=True,
        timeout=30,
        check=True,
    )
    subprocess.run(
        [*command, "--output", "new", "-q", "src"],
        cwd=convert.folder,
        env=env,
        timeout=30,
        check=True,
    )
    subprocess.run(
        ["patch", "-p1", "--binary"], cwd=convert.folder, input=done.stdout, timeout=30, check=True
    )
    for name in ("a.c", "b.f90"):
        assert (convert.folder / "src" / name).read_bytes() == (
            convert.folder / "new" / name
        ).read_bytes()


def test_progress_is_shown_on_terminals_only(convert, monkeypatch):
    from waitio import convert as command

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for i in range(3):
        convert.file(f"d/{i}.c", C)
    monkeypatch.setattr(command.Progress, "PATIENCE_S", 0)
    assert convert.run("--check", convert.folder / "d") == 0 and "\r" not in convert.report
    for words, shown in (((), True), (("--quiet",), False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert command.main(["--check", *words, str(convert.folder / "d")]) == 0
        assert ("2/3 files" in terminal.getvalue()) == shown
        lines = terminal.getvalue().rsplit("\r", 1)[-1]
        assert ("3 files read" in lines) == shown, "the summary stands in a line of its own"


def test_language_by_option(convert):
    path = convert.file("noname", C)
    assert convert.run("--in-place", path) == 2 and "--language" in convert.report
    assert convert.run("--in-place", "--language", "c", path) == 0 and path.read_text() == DONE
    path = convert.file("other", "call MPI_Init(e)\n")
    assert convert.run("--in-place", "--language", "fortran", path) == 0
    assert path.read_text() == "call WAITIO_MPI_Init(e)\n"
    assert convert.run("--in-place", "--language", "pascal", path) == 2


def test_options_may_follow_the_files(convert):
    path = convert.file("a.c", C)
    assert convert.run(path, "--in-place", "-q") == 0 and convert.report == ""
    assert path.read_text() == DONE


def test_help_names_every_option(convert, source_dir):
    from waitio import convert as command

    assert convert.run("--help") == 0
    page = (source_dir / "docs/man/waitio.1.md").read_text()
    for option in command.OPTIONS:
        for name in option.names:
            assert name in convert.out
            assert re.search(rf"[`, ]{re.escape(name)}[` ]", page) or name == "-h", name


def test_names_come_from_the_headers(source_dir):
    """The tables, modules and files that rename are what the generator makes of the headers."""
    done = subprocess.run(
        [sys.executable, source_dir / "tools/gen/gen_spec.py", "--check"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    from waitio.convert_names import C_NAMES, FORTRAN_NAMES

    rename = (source_dir / "include/waitio_mpi_rename.h").read_text()
    members = {"SOURCE", "TAG", "ERROR"}
    by_renaming = {"Request_c2f", "Request_f2c"}  # there requests are integers
    assert set(re.findall(r"#define MPI_(\w+)", rename)) - by_renaming == C_NAMES - members
    mpif = (source_dir / "fortran/rename/mpif.h").read_text()
    constants = {name.lower() for name in re.findall(r"(?m)^ +integer.*:: MPI_(\w+)", mpif)}
    assert constants - {"status_size"} <= FORTRAN_NAMES and len(constants) > 100
