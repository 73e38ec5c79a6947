# SPDX-License-Identifier: BSD-3-Clause
"""Fortran's requests get their integers: declarations, uses, arguments, components, modules."""

import shutil
import subprocess

import pytest

SIZE = "WAITIO_REQUEST_SIZE"


def unit(*lines):
    return (
        "subroutine s(n, out)\nuse mpi\nimplicit none\n" + "\n".join(lines) + "\nend subroutine\n"
    )


WAIT = "call MPI_Wait(r, MPI_STATUS_IGNORE, e)"
WAITALL = "call MPI_Waitall(n, r, MPI_STATUSES_IGNORE, e)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("integer :: r, x", f"integer :: r({SIZE}), x"),
        ("integer r(4), x", f"integer r({SIZE}, 4), x"),
        ("INTEGER*4 R(2,N)", f"INTEGER*4 R({SIZE}, 2,N)"),
        ("integer(kind=4) :: r(0:3)", f"integer(kind=4) :: r({SIZE}, 0:3)"),
        ("integer, dimension(4) :: x, r", f"integer, dimension(4) :: x, r({SIZE}, 4)"),
        ("integer, dimension(:), pointer :: r", "integer, dimension(:), pointer :: r(:, :)"),
        ("integer, allocatable :: r(:)", "integer, allocatable :: r(:, :)"),
        ("integer :: r = MPI_REQUEST_NULL", f"integer :: r({SIZE}) = WAITIO_MPI_REQUEST_NULL"),
        ("integer :: r\ndimension r(4)", f"integer :: r\ndimension r({SIZE}, 4)"),
        ("integer r, x\ncommon /c/ x, r(4)", f"integer r, x\ncommon /c/ x, r({SIZE}, 4)"),
        ("integer, parameter :: k = 2\ninteger :: r(k), x(k)",
         f"integer, parameter :: k = 2\ninteger :: r({SIZE}, k), x(k)"),
    ],
)  # fmt: skip
def test_declarations(convert, before, after):
    new = convert("a.f90", unit(before, WAITALL))
    assert after + "\n" in new and convert.status == 0, convert.report


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("call MPI_Wait(r(2), s, e)", "call WAITIO_MPI_Wait(r(1, 2), s, e)"),
        ("call MPI_Waitall(2, r(i:j), s, e)", "call WAITIO_MPI_Waitall(2, r(:, i:j), s, e)"),
        ("r(1) = MPI_REQUEST_NULL", "r(:, 1) = WAITIO_MPI_REQUEST_NULL"),
        ("r = MPI_REQUEST_NULL", "r = WAITIO_MPI_REQUEST_NULL"),
        ("r(i) = r(x(j))", "r(:, i) = r(:, x(j))"),
        ("if (a(r2)) r(1) = 0", "if (a(r2)) r(:, 1) = 0"),
        ("m = size(r)", "m = size(r, 2)"),
        ("x%r = 1; y = r2", "x%r = 1; y = r2"),
        (
            "call MPI_Start(request=r(1), ierror=e)",
            "call WAITIO_MPI_Start(request=r(1, 1), ierror=e)",
        ),
        (
            "if (n > 1) call MPI_Wait(r(n - 1), s, e)",
            "if (n > 1) call WAITIO_MPI_Wait(r(1, n - 1), s, e)",
        ),
    ],
)
def test_uses(convert, before, after):
    new = convert("a.f90", unit("integer :: r(4)", before, WAITALL))
    assert after + "\n" in new and convert.status == 0, convert.report


def test_allocation(convert):
    new = convert(
        "a.f90",
        unit(
            "integer, allocatable :: r(:)",
            "if (n > 0) allocate (r(n), x(n))",
            WAITALL,
            "deallocate (r)",
        ),
    )
    assert f"allocate (r({SIZE}, n), x(n))" in new and "deallocate (r)" in new


def test_other_variables_of_the_name_stay(convert):
    other = "subroutine t\ninteger :: r(4)\nr(1) = 2\nend subroutine\n"
    new = convert("a.f90", unit("integer :: r(4)", WAITALL) + other)
    assert other in new


def test_hosts_and_modules(convert):
    convert.file(
        "d/m.f90",
        "module m\nuse mpi\ninteger :: r(2)\ncontains\nsubroutine go\n"
        + WAITALL
        + "\nend subroutine\nend module\n",
    )
    convert.file("d/u.f90", "subroutine u\nuse m\nr(1) = 0\nend subroutine\n")
    assert convert.run("--in-place", "-q", convert.folder / "d") == 0
    assert f"integer :: r({SIZE}, 2)" in (convert.folder / "d/m.f90").read_text()
    assert "r(:, 1) = 0" in (convert.folder / "d/u.f90").read_text()


def test_arguments_are_followed_both_ways(convert):
    text = (
        "subroutine a\nuse mpi\ninteger :: q(2), w\ncall b(q, 1)\ncall c(w)\nend subroutine\n"
        "subroutine b(x, n)\nuse mpi\ninteger :: n, x(n)\ncall MPI_Startall(n, x, e)\n"
        "end subroutine\n"
        "subroutine c(y)\ninteger :: y\ncall d(y)\nend subroutine\n"
        "subroutine d(z)\nuse mpi\ninteger, intent(inout) :: z\ncall MPI_Start(z, e)\n"
        "call f(z)\nend subroutine\n"
        "subroutine f(v)\ninteger :: v\nend subroutine\n"
    )
    new = convert("a.f90", text)
    for line in (
        f"q({SIZE}, 2), w({SIZE})",
        f"x({SIZE}, n)",
        ":: y(22)",
        f":: z({SIZE})",
        ":: v(22)",
    ):
        assert line in new, line
    assert convert.status == 0


def test_interface_bodies(convert):
    text = (
        "module m\ninterface\nsubroutine go(q)\ninteger :: q(:)\nend subroutine\n"
        "end interface\nend module\n"
        "subroutine go(q)\nuse mpi\ninteger :: q(:)\ncall MPI_Wait(q(1), s, e)\nend subroutine\n"
    )
    new = convert("a.f90", text)
    assert new.count("integer :: q(:, :)") == 2
    assert "MPI_Wait(q(:, 1)" in new, "an element of an assumed-shape array starts no sequence"


def test_components(convert):
    text = (
        "module m\nuse mpi\ntype :: t\ninteger :: n, req(4) = MPI_REQUEST_NULL\n"
        "end type t\ncontains\n"
        "subroutine s(x, y)\ntype(t) :: x, y(:)\ncall MPI_Start(x%req(2), e)\n"
        "call MPI_Start(y(3)%req(1), e)\n"
        "x%req(1) = 0\nreq(1) = 0\nend subroutine\nend module\n"
    )
    new = convert("a.f90", text)
    for line in (
        f"req({SIZE}, 4) =",
        "x%req(1, 2)",
        "y(3)%req(1, 1)",
        "x%req(:, 1) = 0",
        "\nreq(1) = 0",
    ):
        assert line in new, line


def test_the_size_is_known_where_it_is_used(convert):
    text = "subroutine s\ninteger r(4)\ninclude 'mpif.h'\n" + WAITALL + "\nend\n"
    assert "integer r(22, 4)" in convert("a.f90", text)
    text = "subroutine s\nuse mpi, only: MPI_Waitall\ninteger r(4)\n" + WAITALL + "\nend\n"
    new = convert("b.f90", text)
    assert f"only: WAITIO_MPI_Waitall, {SIZE}\n" in new and f"r({SIZE}, 4)" in new


@pytest.mark.parametrize(
    ("lines", "at", "name"),
    [
        (["integer :: r(2)", "if (r(1) == MPI_REQUEST_NULL) stop", WAITALL], 5, "MPI_REQUEST_NULL"),
        (
            ["integer :: r(2)", "if (MPI_REQUEST_NULL .NE. r(1)) stop", WAITALL],
            5,
            "MPI_REQUEST_NULL",
        ),
        (["type(req) :: r(2)", WAITALL], 4, "r"),
        (["integer :: r(2)", "data r /2*0/", WAITALL], 5, "r"),
        (["integer :: r(2), q(2)", "equivalence (r(1), q(1))", WAITALL], 5, "r"),
        (["integer, allocatable :: r", WAIT], 4, "r"),
        (["integer :: x", WAIT], 5, "r"),
    ],
)
def test_what_cannot_be_widened_is_reported(convert, lines, at, name):
    convert("a.f90", unit(*lines))
    assert convert.told() == [(at, name)], convert.report
    assert convert.status == 1


def test_requests_that_leave_the_files_are_noted(convert):
    convert("a.f90", unit("integer :: r(2)", "call elsewhere(r)", WAITALL))
    assert "note: r: a request passed to elsewhere" in convert.report
    assert convert.status == 0, "a note is no failure"


def test_widened_programs_compile(convert, build_dir):
    """Every declaration and use above, in one program, read by a compiler."""
    module = build_dir / "modules" / "shared" / "waitio_mpi.mod"
    if shutil.which("gfortran") is None or not module.exists():
        pytest.skip("no gfortran, or the modules were not built")
    text = """
module m
    use mpi, only: MPI_REQUEST_NULL, MPI_Wait
    implicit none
    type :: pair
        integer :: req(2) = MPI_REQUEST_NULL, n = 0
    end type pair
    integer, allocatable, dimension(:) :: pending
contains
    subroutine finish(q, one)
        use mpi
        integer, intent(inout) :: q(:), one
        integer :: i, e, st(MPI_STATUS_SIZE), all(MPI_STATUS_SIZE, 8)
        logical :: done
        do i = 1, size(q)
            call MPI_Test(q(i), done, st, e)
        end do
        call MPI_Waitall(size(q), q, all, e)
        call MPI_Wait(one, MPI_STATUS_IGNORE, e)
        one = MPI_REQUEST_NULL
    end subroutine finish
end module m
program p
    use mpi
    use m
    implicit none
    integer :: e, x(4) = 0, r, few(3), index
    type(pair) :: h
    character(8) :: name = 'a'
    call MPI_Init(e)
    allocate (pending(2))
    call MPI_Irecv(x(1), 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_SELF, pending(1), e)
    call MPI_Isend(x(2:3), 2, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_SELF, pending(2), e)
    call MPI_Isend(name, 8, MPI_CHARACTER, MPI_PROC_NULL, 0, MPI_COMM_SELF, h%req(1), e)
    h%req(2) = MPI_REQUEST_NULL
    r = MPI_REQUEST_NULL
    few(1) = h%req(1)
    few(2:3) = pending
    call MPI_Waitany(3, few, index, MPI_STATUS_IGNORE, e)
    call MPI_Waitall(2, few(2), MPI_STATUSES_IGNORE, e)
    pending(:) = MPI_REQUEST_NULL
    call finish(pending, r)
    call MPI_Finalize(e)
end program p
"""
    new = convert("p.f90", text)
    assert convert.status == 0, convert.report
    done = subprocess.run(
        ["gfortran", "-Wall", "-Werror", f"-I{module.parent}", "-fsyntax-only", "p.f90"],
        cwd=convert.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + new


INCLUDED = """c  what the routines share; {with signs}
      integer nm
      parameter (nm=10)
      integer msg_id(3,2), msg_type(3)
      common /mgm/ msg_id, msg_type
"""
INCLUDING = """      subroutine ready(axis)
      implicit none
      include 'mpif.h'
{include}
      integer axis, ierr, st(mpi_status_size)
      call mpi_irecv(msg_type(axis), 1, mpi_integer, 0, 7,
     >  mpi_comm_world, msg_id(axis,1), ierr)
      call mpi_wait(msg_id(axis,1), st, ierr)
      end
"""


def shared(convert, header, include, more=()):
    """Convert a folder with an include file; returns both new texts."""
    convert.file(f"src/{header}", INCLUDED)
    convert.file("src/mg.f", INCLUDING.replace("{include}", include))
    for name, text in more:
        convert.file(f"src/{name}", text)
    convert.run("--in-place", "--quiet", convert.folder / "src")
    return [(convert.folder / "src" / name).read_text() for name in (header, "mg.f")]


@pytest.mark.parametrize("header", ["globals.h", "globals.inc", "shared.f"])
@pytest.mark.parametrize("how", ["      include '{}'", '#include "{}"'])
def test_requests_declared_in_an_include_file(convert, header, how):
    """The declaration and its uses change together; they were missed."""
    declared, used = shared(convert, header, how.format(header))
    assert convert.status == 0 and convert.report == "", convert.report
    assert "integer msg_id(22, 3,2), msg_type(3)\n" in declared
    assert used.count("msg_id(1, axis,1)") == 2 and "msg_type(axis), 1" in used


def test_an_include_file_is_changed_once_whoever_includes_it(convert):
    again = INCLUDING.replace("ready", "take").replace("{include}", "      include 'globals.h'")
    nested = "      include 'globals.h'\n"
    third = INCLUDING.replace("ready", "give").replace("{include}", "      include 'all.inc'")
    more = [("take.f", again), ("all.inc", nested), ("give.f", third)]
    declared, _ = shared(convert, "globals.h", "      include 'globals.h'", more)
    assert convert.status == 0, convert.report
    assert "integer msg_id(22, 3,2), msg_type(3)\n" in declared
    for name in ("take.f", "give.f"):
        assert (convert.folder / "src" / name).read_text().count("msg_id(1, axis,1)") == 2


def test_requests_of_an_include_file_that_is_not_given_are_refused(convert):
    new = convert("mg.f", INCLUDING.replace("{include}", "      include 'globals.h'"))
    assert convert.status == 1 and "msg_id(axis,1)" in new
    assert "msg_id: a request that is not declared in these files" in convert.report
    assert "give the file that declares it, too" in convert.report


def test_requests_of_a_module_that_includes_their_declaration(convert):
    convert.file("src/decl.inc", "integer :: r(4)\n")
    convert.file("src/m.f90", "module m\nimplicit none\ninclude 'decl.inc'\nend module\n")
    use = unit("integer e", "call MPI_Wait(r(2), MPI_STATUS_IGNORE, e)")
    convert.file("src/u.f90", use.replace("use mpi", "use mpi\nuse m"))
    convert.run("--in-place", "--quiet", convert.folder / "src")
    assert convert.status == 0, convert.report
    assert (convert.folder / "src/decl.inc").read_text() == "integer :: r(22, 4)\n"
    assert "Wait(r(1, 2)," in (convert.folder / "src/u.f90").read_text()


MG = """      program mg
      implicit none
      include 'mpif.h'
      include 'globals.h'
      integer me, n, i, e
      call mpi_init(e)
      call mpi_comm_rank(mpi_comm_world, me, e)
      call mpi_comm_size(mpi_comm_world, n, e)
      do i = 1, 3
        call ready(i, mod(me + n - 1, n))
      end do
      do i = 3, 1, -1
        call give(i, me, mod(me + 1, n))
      end do
      do i = 1, 3
        call take(i)
      end do
      if (me .eq. 0) print *, 'sum', buff(1) + 10*buff(2) + 100*buff(3)
      call mpi_finalize(e)
      end
      subroutine ready(i, from)
      implicit none
      include 'mpif.h'
      include 'globals.h'
      integer i, from, e
      call mpi_irecv(buff(i), 1, mpi_integer, from, i,
     >  mpi_comm_world, msg_id(i), e)
      end
      subroutine give(i, me, to)
      implicit none
      include 'mpif.h'
      include 'globals.h'
      integer i, me, to, e, values(1)
      values(1) = me + i
      call mpi_send(values, 1, mpi_integer, to, i, mpi_comm_world, e)
      end
      subroutine take(i)
      implicit none
      include 'mpif.h'
      include 'globals.h'
      integer i, e, st(mpi_status_size)
      call mpi_wait(msg_id(i), st, e)
      end
"""


def test_a_program_with_requests_in_an_include_file_computes_right(convert, install_dir):
    """Requests of one integer in common overwrite what lies behind them: the values were wrong."""
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    convert.file("globals.h", "      integer msg_id(3), buff(3)\n      common /mgm/ msg_id, buff\n")
    source = convert.file("mg.f", MG)
    assert convert.run("--in-place", "--quiet", convert.folder) == 0, convert.report
    lib = next(install_dir.glob("**/libwaitio.so")).parent
    words = ["gfortran", "-fallow-argument-mismatch", "-w", source, "-I", install_dir / "include"]
    words += ["-L", lib, f"-Wl,-rpath,{lib}", "-lwaitio", "-o", "mg"]
    subprocess.run(words, cwd=convert.folder, check=True, timeout=60)
    run = [install_dir / "bin" / "waitio", "run", "--timeout", "40s", "-n", "3", "./mg"]
    done = subprocess.run(
        run, cwd=convert.folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-2:] == ["sum", str(3 + 40 + 500)], done.stdout
