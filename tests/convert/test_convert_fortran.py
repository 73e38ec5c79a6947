# SPDX-License-Identifier: BSD-3-Clause
"""Fortran in both forms: names, lines, columns, continuations, sentinels."""

import random
import re
import shutil
import subprocess

import pytest


def free(convert, text, *options):
    return convert("a.f90", text, *options)


def fixed(convert, text, *options):
    return convert("a.f", text, *options)


# ---- names --------------------------------------------------------------------------------------


def test_names_in_any_case_keep_it(convert):
    text = "call MPI_Barrier(MPI_COMM_WORLD, e)\ncall mpi_barrier(Mpi_comm_world, e)\n"
    assert free(convert, text) == (
        "call WAITIO_MPI_Barrier(WAITIO_MPI_COMM_WORLD, e)\n"
        "call waitio_mpi_barrier(WAITIO_Mpi_comm_world, e)\n"
    )


def test_names_that_differ_by_more_than_the_front(convert):
    text = "integer s(MPI_STATUS_SIZE)\ncall MPI_GATHER(a)\ncall mpi_allgather(a)\n"
    assert free(convert, text) == (
        "integer s(WAITIO_STATUS_SIZE)\ncall WAITIO_MPI_GATHER_FULL(a)\n"
        "call waitio_mpi_allgather_full(a)\n"
    )


def test_kinds_of_numbers(convert):
    text = "call f(0_MPI_ADDRESS_KIND, -1_mpi_offset_kind, 1_8, 1.5e3_dp, 2_my_mpi_kind)\n"
    assert free(convert, text) == (
        "call f(0_WAITIO_MPI_ADDRESS_KIND, -1_waitio_mpi_offset_kind, 1_8, 1.5e3_dp, "
        "2_my_mpi_kind)\n"
    )
    new = free(convert, " " * 60 + "call f(" + "0_MPI_ADDRESS_KIND, " * 9 + "1)\n")
    assert new.count("0_WAITIO_MPI_ADDRESS_KIND") == 9 and max(map(len, new.split("\n"))) <= 132


def test_texts_and_comments_stay(convert):
    text = "print *, 'it''s MPI_Send', \"! MPI_Recv 'MPI_INT\" ! MPI_Test's\n! MPI_Wait\n"
    assert free(convert, text) == text
    text = "      PRINT *, 'MPI_INIT ! MPI_Test' ! MPI_INIT\nC MPI_INIT\n* MPI_INIT\n! MPI_INIT\n"
    assert fixed(convert, text) == text


def test_hollerith_texts_stay(convert):
    text = "   10 FORMAT(1X,12HDON'T PANIC!,8HMPI_INIT)\n      CALL MPI_INIT(I)\n"
    assert fixed(convert, text) == text.replace("CALL MPI", "CALL WAITIO_MPI")
    text = "      CALL F(1H!, MPI_SUM, 5HDON'T, MPI_MAX) ! MPI'S\n"
    assert fixed(convert, text).count("WAITIO_MPI_") == 2


@pytest.mark.parametrize(
    "line", ["include 'mpif.h'", 'INCLUDE "mpif.h"', "include 'openmpi/mpif.h'"]
)
def test_include_line(convert, line):
    new = free(convert, f"implicit none\n{line} ! here\ninteger x\n")
    assert re.search(r"(?i)include ['\"]waitio_mpif\.h['\"] ! here\n", new) and new.count("\n") == 3


def test_include_by_the_preprocessor(convert):
    text = '#include "mpif.h"\n#ifdef MPI_VERSION\n#define SEND MPI_Send\n#endif\n'
    assert convert("a.F90", text) == (
        '#include "waitio_mpif.h"\n#ifdef WAITIO_MPI_VERSION\n'
        "#define SEND WAITIO_MPI_Send\n#endif\n"
    )


@pytest.mark.parametrize("line", ["use mpi", "USE MPI", "use :: mpi", "use, non_intrinsic :: mpi"])
def test_use_line(convert, line):
    assert re.fullmatch(r"(?i)(use.*)waitio_mpi\n", free(convert, line + "\n"))
    assert convert.status == 0


def test_use_with_names(convert):
    text = "module m\nuse mpi, only: world => MPI_COMM_WORLD, &\n    MPI_STATUS_SIZE\nend module\n"
    assert free(convert, text) == (
        "module m\nuse waitio_mpi, only: world => WAITIO_MPI_COMM_WORLD, &\n"
        "    WAITIO_STATUS_SIZE\nend module\n"
    )


def test_mpi_f08_is_refused(convert):
    text = "program p\nuse mpi_f08\ntype(MPI_Comm) :: c\ncall MPI_Init()\nend\n"
    assert free(convert, text) == text
    assert convert.told() == [(2, "mpi_f08")] and "derived types" in convert.report
    assert convert.status == 1


def test_what_the_include_file_lacks_is_declared(convert):
    text = (
        "subroutine a\n  include 'mpif.h'\n  t = MPI_WTIME()\nend\n"
        "subroutine b\n  include 'mpif.h'\n  call MPI_INIT(i)\nend\n"
    )
    new = free(convert, text)
    assert new.count("double precision, external :: WAITIO_MPI_WTIME\n") == 1
    assert new.index("external") < new.index("subroutine b")
    text = (
        '      subroutine a\n#include "mpif.h"\n      t = MPI_WTICK()\n'
        "      r = MPI_NULL_COPY_FN\n      end\n"
    )
    new = convert("a.F", text)
    assert '#include "waitio_mpif.h"\n      double precision, external :: WAITIO_MPI_WTICK\n' in new
    assert "      external :: WAITIO_MPI_NULL_COPY_FN\n" in new


def test_what_is_lacking_is_declared_in_files_that_are_included(convert):
    convert.file("d/par.inc", "      include 'mpif.h'\n")
    convert.file("d/use.f", "      include 'par.inc'\n      t = MPI_WTIME()\n      end\n")
    assert convert.run("--in-place", convert.folder / "d") == 0
    assert "external :: WAITIO_MPI_WTIME" in (convert.folder / "d/par.inc").read_text()


def test_unknown_names_and_own_names(convert):
    text = (
        "module mpi_tools\n integer :: mpi_rank, mpi_err\n parameter (mpi_n = 3)\ncontains\n"
        "subroutine mpi_setup(mpi_arg)\n integer mpi_arg\n mpi_x = mpi_rank + mpi_n\n"
        " call MPI_Win_fence(0, w, mpi_err)\n call MPI_Comm_spawn(c)\n x%mpi_y = 1\n"
        "end subroutine mpi_setup\n"
        "end module mpi_tools\n"
    )
    assert free(convert, text) == text
    assert convert.told() == [(8, "MPI_Win_fence"), (9, "MPI_Comm_spawn")]


def test_own_names_of_another_file(convert):
    convert.file("d/a.f90", "module mpi_data\n integer :: mpi_rank\nend module\n")
    convert.file("d/b.f90", "use mpi_data\nif (mpi_rank == 0) call MPI_Finalize(i)\nend\n")
    assert convert.run("--check", convert.folder / "d") == 0, convert.report


# ---- lines --------------------------------------------------------------------------------------


def test_long_free_lines_are_wrapped(convert):
    args = ", ".join(f"argument_{i}" for i in range(8))
    new = free(convert, f"  call MPI_Send({args}, MPI_INTEGER, MPI_COMM_WORLD) ! why\n")
    lines = new.splitlines()
    assert lines[0] == "  ! why" and lines[1].endswith(", &") and len(lines) == 3
    assert lines[2].startswith("      ") and all(len(line) <= 132 for line in lines)


def test_comments_that_move_stay_comments(convert):
    args = ", ".join(f"argument_{i}" for i in range(8))
    new = free(convert, f"call MPI_Send({args}, MPI_INTEGER, MPI_COMM_WORLD) !$ x = 1\n")
    assert new.startswith("! $ x = 1\n")
    head = "      CALL MPI_SEND(A, B, C, MPI_INTEGER, 0, 0, COMM)"
    new = fixed(convert, f"{head} !$omp flush\n")
    assert new.startswith("! $omp flush\n      CALL WAITIO_MPI_SEND")


def test_comments_beyond_column_72_are_not_torn(convert):
    text = (
        "      CALL MPI_SEND(A, B) ! a comment that has always been longer than the line may be\n"
    )
    assert fixed(convert, text) == text.replace("CALL MPI", "CALL WAITIO_MPI")
    text = (
        "      CALL MPI_SEND(A, B, MPI_INTEGER, 0, 0, MPI_COMM_WORLD) ! a comment beyond the line\n"
    )
    new = fixed(convert, text).splitlines()
    assert new[0] == "! a comment beyond the line" and all(len(line) <= 72 for line in new)


def test_line_length_is_an_option(convert):
    text = "call MPI_Send(aaaaaaaaaa, bbbbbbbbbb, cccccccccc, MPI_COMM_WORLD)\n"
    assert max(map(len, free(convert, text, "--line-length", 60).splitlines())) <= 60
    assert "\n" not in free(convert, text).rstrip("\n")
    text = "      CALL MPI_SEND(AAAAAAAAAAAAAAAAAAAA, BBBBBBBBBBBB, CCC, MPI_COMM_WORLD)\n"
    assert "&" not in fixed(convert, text, "--line-length", 132)


def test_a_text_longer_than_a_line(convert):
    for limit in (132, 60):
        text = "call MPI_Send('" + "xy ''" * 22 + "', MPI_INT)\n"
        new = free(convert, text, "--line-length", limit)
        assert all(len(line) <= limit for line in new.splitlines())
        assert meaning(new, "free", limit)[0][3] == "'" + "xy ''" * 22 + "'"
        assert "WAITIO_MPI_INT" in new


def test_words_split_over_free_lines(convert):
    text = (
        "call MPI_Se&\n    &nd(a, MPI_COMM_&\n  &WORLD&\n  &, e)\ncall mp&\n! MPI_Recv\n"
        "\n&i_init(e)\n"
    )
    new = free(convert, text)
    joined = re.sub(r"&\n(?:!.*\n|\n)*\s*&", "", new)
    assert joined == "call WAITIO_MPI_Send(a, WAITIO_MPI_COMM_WORLD, e)\ncall waitio_mpi_init(e)\n"
    assert "! MPI_Recv\n" in new


def test_texts_continued_over_free_lines(convert):
    text = (
        "print *, 'MPI_Send &\n   &MPI_Recv' , MPI_SUM\nprint *, 'a ! &\n  & MPI_Test', MPI_MAX\n"
    )
    new = free(convert, text)
    assert new == text.replace("MPI_SUM", "WAITIO_MPI_SUM").replace("MPI_MAX", "WAITIO_MPI_MAX")


def test_several_statements_in_a_line(convert):
    text = "x = ';'; call MPI_Init(e); call MPI_Finalize(e)\n"
    assert free(convert, text) == text.replace("MPI_", "WAITIO_MPI_")


def test_column_72_and_what_stands_behind(convert):
    text = "      CALL MPI_BCAST(BUFFER,N,MPI_INTEGER,0,COMM,IERR)".ljust(72) + "MPI00010\n"
    new = fixed(convert, text)
    assert new.endswith("MPI00010\n") and new.index("MPI00010") == 72 and new.count("\n") == 1
    text = (
        "      CALL MPI_BCAST(BUFFER,NUMBER,MPI_INTEGER,0,MPI_COMM_WORLD,IERROR)".ljust(72)
        + "00010\n"
    )
    lines = fixed(convert, text).splitlines()
    assert len(lines) == 2 and lines[1][5] == "&" and lines[1].index("00010") == 72
    assert len(lines[0]) <= 72


def test_labels_stay_in_the_first_line(convert):
    text = "  100 CALL MPI_BCAST(BUFFER,NUMBER,MPI_INTEGER,0,MPI_COMM_WORLD,IERR)\n"
    lines = fixed(convert, text).splitlines()
    assert lines[0].startswith("  100 CALL") and lines[1].startswith("     &") and len(lines) == 2


def test_words_split_at_column_72(convert):
    head = "      CALL MPI_ALLREDUCE(S, DOT, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_C"
    assert len(head) == 72
    new = fixed(convert, head + "\n     &OMM_WORLD, IERR)\n")
    assert "".join(line[6:].strip() for line in new.splitlines()).replace(" ", "") == (
        "CALLWAITIO_MPI_ALLREDUCE(S,DOT,1,WAITIO_MPI_DOUBLE_PRECISION,WAITIO_MPI_SUM,"
        "WAITIO_MPI_COMM_WORLD,IERR)"
    )
    assert "WAITIO_MPI_COMM_WORLD" in new and all(len(line) <= 72 for line in new.splitlines())


def test_words_split_before_column_72(convert):
    """Blanks at the end of a line of fixed form mean nothing, inside a word neither."""
    new = fixed(convert, "      CALL MPI_IN  \n     &IT(IERR)\n      CALL X\n     &Y(MPI_SUM)\n")
    assert "CALL WAITIO_MPI_INIT\n     &(IERR)\n" in new and "&Y(WAITIO_MPI_SUM)" in new


def test_a_split_word_with_nothing_behind(convert):
    head = "      N = 22222222222222222222222222222222222222 + 4444444444444444 + "
    for word, rest in (("MPI_C", "OMM_NULL"), ("M", "PI_STATUS_SIZE"), ("MPI_STATUS_", "SIZE")):
        line = head[: 72 - len(word) - 3] + " + " + word
        assert len(line) == 72
        new = fixed(convert, f"{line}\n     1{rest}\n")
        joined = "".join(text[6:].ljust(66) for text in new.splitlines()).replace(" ", "")
        name = (word + rest).replace("MPI_STATUS", "STATUS")
        assert joined.endswith(f"+WAITIO_{name}") and len(new.splitlines()) in (2, 3)
        assert all(text.strip() not in ("1", "&") for text in new.splitlines())


def test_texts_continued_in_fixed_form_keep_their_columns(convert):
    """The blanks up to column 72 belong to the text, wherever the line before it is broken."""
    first = "      CALL LOG(MPI_COMM_WORLD, MPI_SUM, MPI_DOUBLE_PRECISION, 'two  "
    text = first + "\n     &words', MPI_MAX)\n"
    new = fixed(convert, text)
    lines = [line[6:].ljust(66) for line in new.splitlines()]
    assert "'two" + " " * (72 - len(first) + 2) + "words'" in "".join(lines)
    assert all(len(line) <= 72 for line in new.splitlines())
    assert "WAITIO_MPI_MAX" in new


def test_tab_form(convert):
    text = (
        "\tCALL MPI_INIT(IERR)\n\tCALL MPI_BCAST(A,\n\t1 MPI_COMM_WORLD)\n"
        "10\tCALL MPI_FINALIZE(I)\n"
    )
    assert fixed(convert, text) == text.replace("MPI_", "WAITIO_MPI_")


def test_continuation_by_any_mark_and_comments_between(convert):
    text = "      CALL MPI_BCAST(A,\nC MPI_INT\n\n     !MPI_COMM_WORLD)\n     0X = MPI_SUM\n"
    new = fixed(convert, text)
    assert new == text.replace("(A", "(A").replace("CALL MPI", "CALL WAITIO_MPI").replace(
        "!MPI", "!WAITIO_MPI"
    ).replace("= MPI", "= WAITIO_MPI")


def test_call_without_a_blank(convert):
    assert fixed(convert, "      CALLMPI_INIT(I)\n") == "      CALLWAITIO_MPI_INIT(I)\n"


@pytest.mark.parametrize("sentinel", ["!$ ", "c$ ", "*$ ", "C$ "])
def test_conditional_lines_of_fixed_form(convert, sentinel):
    text = (
        sentinel.ljust(6) + "CALL MPI_BCAST(BUFFER,NUMBER,MPI_INTEGER,0,MPI_COMM_WORLD,IERR)\n"
    )[:73]
    new = fixed(convert, text).splitlines()
    assert new[0].startswith(sentinel) and new[1].startswith(sentinel[:2] + "   &")
    assert "WAITIO_MPI_BCAST" in new[0]


def test_conditional_lines_of_free_form(convert):
    text = "  !$ call MPI_Send(aaaaaaaaaa, &\n  !$   bbbbbbbbbb, cccccccccc, MPI_COMM_WORLD)\n!$x\n"
    new = free(convert, text, "--line-length", 45).splitlines()
    assert all(line.startswith(("  !$ ", "!$x")) for line in new), new
    assert len(new) > 3 and "WAITIO_MPI_COMM_WORLD" in " ".join(new)


@pytest.mark.parametrize(("name", "text"), [
    ("a.f90", "!$omp parallel do private(i) shared(mpi_rank, &\n!$omp& x)\n!$OMP END PARALLEL\n"),
    ("a.f", "!$OMP PARALLEL PRIVATE(I)\nC$OMP&SHARED(X)\n      X = 1\n*$omp end parallel\n"),
    ("a.f90", "!$acc data copy(a)\n!$ompx no directive, MPI_Send\n!dir$ MPI_Send\n"),
])  # fmt: skip
def test_directives_stay(convert, name, text):
    assert convert(name, "integer mpi_rank\n" + text if name == "a.f90" else text).endswith(text)


def test_line_ends_tabs_and_missing_last_end(convert):
    text = (
        b"program p\r\n\tcall MPI_Init(e) ! \xe9t\xe9\r\ninclude 'mpif.h'\r\nt = MPI_WTIME()\r\nend"
    )
    new = free(convert, text)
    assert new.count(b"\r\n") == new.count(b"\n") == 5 and b"\xe9t\xe9" in new
    assert new.endswith(b"end")
    assert fixed(convert, b"      INCLUDE 'mpif.h'") == b"      INCLUDE 'waitio_mpif.h'"


def test_form_by_option_and_by_look(convert):
    text = "C MPI_INIT\n      CALL MPI_INIT(I)\n"
    assert convert("a.f90", text, "--form", "fixed") == text.replace("L MPI", "L WAITIO_MPI")
    assert convert("b.inc", text) == text.replace("L MPI", "L WAITIO_MPI")
    assert convert("c.inc", "call MPI_Send(a, & ! MPI\n b)\n").startswith(
        "call WAITIO_MPI_Send(a, & ! MPI"
    )


def test_form_by_suffix(convert):
    for name in ("a.f", "a.F", "a.for", "a.FOR", "a.ftn"):
        assert convert(name, "c MPI_INIT\n") == "c MPI_INIT\n", name
    for name in ("a.f90", "a.F90", "a.f03", "a.F08"):
        assert convert(name, "c = MPI_SUM\n") == "c = WAITIO_MPI_SUM\n", name


# ---- the same program before and after ----------------------------------------------------------


WORDS = ["MPI_COMM_WORLD", "mpi_sum", "MPI_DOUBLE_PRECISION", "x", "'it''s MPI_Send'", '"! MPI &"',
         "a_long_name", "1.5e-3_8", ".eq.", "x**2", "==", "MPI_STATUS_SIZE", "'  two   blanks  '",
         "(/1,2/)"]  # fmt: skip


def statement(rng):
    return "call MPI_Bcast(" + ", ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 14))) + ")"


def lay_free(rng, code, limit):
    """A statement in free-form lines, broken anywhere that is legal."""
    lines, room = [], rng.randint(30, limit - 10)
    while len(code) > room:
        cut = rng.randint(10, room)
        lines.append(code[:cut] + "&" + rng.choice(["", "  "]))
        code = rng.choice(["", "   "]) + "&" + code[cut:]
        if rng.random() < 0.2:
            lines.append("! MPI_Comment 'here")
    return [*lines, code]


def lay_fixed(rng, code):
    lines, head = [], rng.choice(["      ", "   10 ", "      "])
    code = rng.choice(["", "   "]) + code
    while len(code) > 66:
        lines.append(head + code[:66] + rng.choice(["", "SEQ00010"]))
        code, head = code[66:], "     " + rng.choice("&1+")
        if rng.random() < 0.2:
            lines.append("C     MPI_Comment 'here")
    return [*lines, head + code]


def lay(rng, form, codes, limit):
    for code in codes:
        yield from lay_fixed(rng, code) if form == "fixed" else lay_free(rng, code, limit)


def meaning(text, form, limit):
    """What a compiler sees: the tokens of every statement."""
    from waitio.convert_lines import fixed_statements, free_statements, split_lines
    from waitio.convert_tokens import tokens

    lines = split_lines(text)
    found = fixed_statements(lines, limit) if form == "fixed" else free_statements(lines)
    return [[t.text for t in tokens(s.code, form == "fixed")] for s in found]


def renamed(word):
    if word.lower() == "mpi_status_size":
        return "WAITIO_STATUS_SIZE"
    return re.sub(r"^(?=MPI_)", "WAITIO_", re.sub(r"^(?=mpi_)", "waitio_", word))


@pytest.mark.parametrize("form", ["free", "fixed"])
@pytest.mark.parametrize("seed", range(40))
def test_random_statements_mean_the_same(convert, form, seed):
    rng = random.Random(seed)
    limit = 72 if form == "fixed" else rng.choice([132, 90, 70])
    codes = [statement(rng) for _ in range(12)]
    text = "\n".join(lay(rng, form, codes, limit)) + "\n"
    name = "a.f" if form == "fixed" else "a.f90"
    new = convert(name, text, "--line-length", limit)
    assert convert.status == 0, convert.report
    mapped = [[renamed(word) for word in words] for words in meaning(text, form, limit)]
    assert meaning(new, form, limit) == mapped
    for line in new.splitlines():
        assert len(line) <= limit or (form == "fixed" and line[72:] == "SEQ00010"), line
    kept = [line for line in text.splitlines() if "Comment" in line]
    assert [line for line in new.splitlines() if "Comment" in line] == kept


@pytest.mark.parametrize("form", ["free", "fixed"])
def test_a_compiler_reads_wrapped_lines_alike(convert, form, tmp_path):
    """Texts and numbers printed by a converted program are those it printed before."""
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    rng = random.Random(7)
    items = [
        "'it''s MPI_Send'",
        '"! MPI & x"',
        "'  two   blanks  '",
        "MPI_INT8",
        "mpi_maximum",
        "3",
        "MPI_SUM",
    ]
    name = "a.f" if form == "fixed" else "a.f90"
    codes = [
        "print *, " + ", ".join(rng.choice(items) for _ in range(rng.randint(2, 12)))
        for _ in range(60)
    ]
    body = "\n".join(re.sub(r"^   10 ", "      ", line) for line in lay(rng, form, codes, 80))
    head = "      integer, parameter :: {0}MPI_SUM=1, MPI_INT8=4, mpi_maximum=5\n"
    flags = [] if form == "fixed" else ["-ffree-line-length-80"]
    out = []
    for step in ("before", "after"):
        text = head.format("" if step == "before" else "WAITIO_") + body + "\n      end\n"
        path = convert.file(f"{step}/{name}", text)
        if step == "after":
            path.write_text(head.format("") + body + "\n      end\n")
            convert.run(
                "--in-place", "--quiet", "--line-length", 72 if form == "fixed" else 80, path
            )
            assert convert.status == 0, convert.report
        done = subprocess.run(
            ["gfortran", *flags, "-w", str(path), "-o", str(tmp_path / f"run_{step}")],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        run = subprocess.run(
            [tmp_path / f"run_{step}"], capture_output=True, timeout=20, check=True
        )
        out.append(run.stdout)
    assert out[0] == out[1] and len(out[0].splitlines()) >= 60
