# SPDX-License-Identifier: BSD-3-Clause
"""C and C++: what is renamed, what is left alone, what is reported."""

import pytest


def test_names_and_include(convert):
    new = convert("a.c", '#include <mpi.h>\n  #  include "mpi.h"\nMPI_Comm c = MPI_COMM_NULL;\n')
    assert new == (
        '#include <waitio_mpi.h>\n  #  include "waitio_mpi.h"\n'
        "WAITIO_MPI_Comm c = WAITIO_MPI_COMM_NULL;\n"
    )
    assert convert.status == 0 and convert.report == ""


@pytest.mark.parametrize(
    "text",
    [
        'char *s = "MPI_Send \\" MPI_Recv";\n',
        'char c = \'"\'; char *s = "MPI_Send";\n',
        '/* MPI_Send\n * MPI_Recv " */ int x;\n',
        "// MPI_Send \\\n   MPI_Recv goes on\nint x;\n",
        "// it's a comment with one quote\nint x;\n",
        "int MY_MPI_Send, xMPI_Recv, mpi_send, MPI, MPI_;\n",
        "double MPIX_y;\n",
        '#include "my_mpi.h"\n#include <waitio_mpi.h>\n',
        "",
        "int no_end;",
    ],
)
def test_left_alone(convert, text):
    assert convert("a.c", text) == text
    assert convert.status == 0


def test_what_follows_a_text_or_comment_is_converted(convert):
    new = convert("a.c", "char *s = \"/*\"; MPI_Op o; /* ' */ MPI_Op p; char q = '\"'; MPI_Op r;\n")
    assert new.count("WAITIO_MPI_Op") == 3
    new = convert("b.c", "unsigned x = 1'000'000u; MPI_Op o; wchar_t w = L'\"'; MPI_Op p;\n")
    assert new.count("WAITIO_MPI_Op") == 2


def test_raw_strings_of_cpp(convert):
    text = 'auto s = R"x(MPI_Send " )" MPI_Recv)x"; MPI_Op o;\n'
    assert convert("a.cpp", text) == text.replace("MPI_Op", "WAITIO_MPI_Op")


def test_macros_are_converted(convert):
    text = (
        "#define SEND(x) \\\n  MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD)\n"
        "#if MPI_VERSION >= 3\n#endif\n"
    )
    new = convert("a.h", text)
    assert new.count("WAITIO_MPI_") == 4 and convert.status == 0


def test_every_byte_and_line_end_survives(convert):
    text = b"/* \xe9\xff \xc3\xa9 */\r\nMPI_Op o; /* tab\there */\r\nint x;"
    assert convert("a.c", text) == text.replace(b"MPI_Op", b"WAITIO_MPI_Op")


def test_unknown_names_are_reported_with_reason_and_remedy(convert):
    text = "MPI_Win w;\n\nint r = MPI_Win_create(0) + MPI_File_open(0);\nPMPI_Put();\nMPI_Foo();\n"
    new = convert("a.c", text)
    assert "MPI_Win_create" in new and "WAITIO_MPI_Win" not in new
    assert convert.status == 1
    found = [(1, "MPI_Win"), (3, "MPI_File_open"), (3, "MPI_Win_create"), (4, "PMPI_Put")]
    assert convert.told() == [*found, (5, "MPI_Foo")]
    for words in ("one-sided communication; send and receive", "file interface", "profiling"):
        assert words in convert.report
    assert "no such name" in convert.report


def test_the_profiling_interface_has_second_names(convert):
    text = "int MPI_Barrier(MPI_Comm c)\n{\n  count++;\n  return PMPI_Barrier(c);\n}\n"
    assert convert("a.c", text) == text.replace("MPI_Comm", "WAITIO_MPI_Comm").replace(
        "int MPI_Barrier", "int WAITIO_MPI_Barrier"
    ).replace("PMPI", "WAITIO_PMPI")
    convert("b.c", "int x = PMPI_COMM_WORLD;\n")
    assert convert.told() == [(1, "PMPI_COMM_WORLD")]


def test_names_of_the_program_are_its_own(convert):
    text = (
        "#define MPI_CHECK(x) x\nMPI_CHECK(MPI_Barrier(c));\n"
        "typedef struct { int x; } MPI_Mine;\nMPI_Mine m;\n"
    )
    new = convert("a.c", text)
    assert new == text.replace("MPI_Barrier", "WAITIO_MPI_Barrier") and convert.status == 0


def test_functions_of_the_program_are_its_own(convert):
    text = (
        "int MPI_My_rank(MPI_Comm c);\nint *MPI_Mine(\n  void)\n{\n  return MPI_My_rank(0);\n}\n"
        "struct list *MPI_Other (int x) { return MPI_Mine(); }\n"
    )
    new = convert("a.c", text)
    assert new == text.replace("MPI_Comm", "WAITIO_MPI_Comm") and convert.status == 0
    text = "int f(void) {\nif (0)\n  return MPI_Foo(1);\nelse MPI_Bar(2);\nx = MPI_Far(3);\n}\n"
    assert convert("b.c", text) == text
    assert convert.told() == [(3, "MPI_Foo"), (4, "MPI_Bar"), (5, "MPI_Far")]


def test_names_put_together_are_reported(convert):
    text = "#define CALL(x) MPI_##x\n#define ALSO(x) PMPI_ ## x\n#define N(x) my_##MPI_ x\n"
    assert convert("a.c", text) == text
    assert convert.told() == [(1, "MPI_##"), (2, "PMPI_##")]


def test_own_names_of_another_file_are_known(convert):
    convert.file("d/own.h", "#define MPI_CHECK(x) x\n")
    convert.file("d/use.c", "MPI_CHECK(1);\n")
    assert convert.run("--check", convert.folder / "d") == 0


def test_comparing_requests_is_reported(convert):
    convert("a.c", "int f(MPI_Request r) { r = MPI_REQUEST_NULL; return r == MPI_REQUEST_NULL; }\n")
    assert convert.told() == [(1, "MPI_REQUEST_NULL")] and "WAITIO_MPI_Test" in convert.report
    convert("b.c", "int f(void) { if (MPI_REQUEST_NULL != r) return 1; }\n")
    assert convert.status == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("MPI_Comm c = MPI_COMM_WORLD;\n", 1),
        ("static MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};\n", 1),
        ("void f(void)\n{\n    static MPI_Comm c = MPI_COMM_SELF;\n}\n", 3),
        ("struct s s = {.c = MPI_COMM_WORLD};\n", 1),
        ("MPI_Comm c = MPI_COMM_NULL;\n", 0),
        ("void f(void)\n{\n    MPI_Comm c = MPI_COMM_WORLD, d[] = {MPI_COMM_SELF};\n}\n", 0),
        ("static void f(void) { g = MPI_COMM_WORLD; }\nvoid h(void) { x = MPI_COMM_SELF; }\n", 0),
        ("int x = 1;\nvoid f(void) { MPI_Barrier(MPI_COMM_WORLD); }\n", 0),
    ],
)
def test_initial_values_that_are_no_constants_are_reported(convert, text, wrong):
    convert("a.c", text)
    assert sorted({line for line, _ in convert.told()}) == ([wrong] if wrong else [])
    if wrong:
        assert convert.run("--check", convert.file("a.cpp", text)) == 0, "C++ may call there"


def test_cpp_bindings_and_foreign_headers_are_reported(convert):
    convert("a.cc", "#include <mpicxx.h>\nMPI::Init();\n")
    assert convert.told() == [(1, "mpicxx.h"), (2, "MPI")]


def test_fortran_in_a_header(convert):
    new = convert(
        "par.h", "      integer request\n      include 'mpif.h'\n      call MPI_INIT(ierr)\n"
    )
    assert "'waitio_mpif.h'" in new and "WAITIO_MPI_INIT" in new


LOCAL = """void f(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
}
"""
BEFORE_STATIC = """#if MPI_VERSION >= 3
static int g(int a)
{
  MPI_Request r = MPI_REQUEST_NULL;
}
#endif
"""
TWO_HEADS = """static int g(int a);
#if A
static int g(int a)
{
#else
int g(int a)
{
#endif
}
"""


@pytest.mark.parametrize(
    "text",
    [
        BEFORE_STATIC,
        "#if VERSION >= 3\n" + LOCAL + "#endif\nstatic int g(void) { return 0; }\n",
        TWO_HEADS + LOCAL,
        "#define LESS(a) (a <= \\\n 3)\nstatic int n;\n" + LOCAL,
        "static int n;\nint g(int a) { a += 1; a <<= 2; return a >= n; }\n" + LOCAL,
    ],
)
def test_requests_of_functions_are_no_static_objects(convert, text):
    """`>=` was read as the `=` of an initial value, and both branches of #else as one."""
    assert "= WAITIO_MPI_REQUEST_NULL" in convert("a.c", text)
    assert convert.status == 0, convert.report


def test_static_requests_are_still_found_behind_directives(convert):
    convert("a.c", TWO_HEADS + "MPI_Request r = MPI_REQUEST_NULL;\n#if B >= 3\nint x;\n#endif\n")
    assert convert.told() == [(10, "MPI_REQUEST_NULL")]
    inside = "#if B >= 3\n static MPI_Request r = MPI_REQUEST_NULL;\n#endif\n"
    convert("b.c", "void f(void)\n{\n" + inside + "}\n")
    assert convert.told() == [(4, "MPI_REQUEST_NULL")]


@pytest.mark.parametrize(
    "text",
    [
        "int MPI_myrank; MPI_myrank = 3;\n",
        "int a, MPI_b = 2, *MPI_c; f(MPI_b, MPI_c);\n",
        "void f(int MPI_rank, char *MPI_text) { MPI_rank = *MPI_text; }\n",
        "void f(void) { double MPI_t[3]; for (int MPI_i = 0; MPI_i < 3; MPI_i++) MPI_t[0] = 0; }\n",
        "struct s { struct t **MPI_next; my_type MPI_mine; };\n",
        "const char *const MPI_name = 0;\n",
    ],
)
def test_variables_of_the_program_in_mpis_style(convert, text):
    assert convert("a.c", text) == text
    assert convert.status == 0, convert.report


@pytest.mark.parametrize(
    "text",
    [
        "int x = MPI_NOT_THERE;\n",
        "int f(void) { return MPI_NOT_THERE; }\n",
        "int x = 2 * MPI_NOT_THERE;\n",
        "void f(int a) { g(a * MPI_NOT_THERE, MPI_NOT_THERE); }\n",
        "void f(int a) { switch (a) { case MPI_NOT_THERE: break; } }\n",
        "MPI_Not_there x;\n",
        "void f(void) { MPI_Not_there(1); h(1, MPI_Not_there); }\n",
    ],
)
def test_names_that_are_missing_are_still_told(convert, text):
    convert("a.c", text)
    assert convert.status == 1 and convert.told()
