# SPDX-License-Identifier: BSD-3-Clause
"""Each installed header compiles by itself, in C and C++, with what its users do around it."""

import pathlib
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
NEEDS_MPI = "waitio_hybrid.h"
HEADERS = sorted(
    p.name for p in INCLUDE.glob("*.h") if not p.name.endswith("mpif.h") and p.name != NEEDS_MPI
)
C_FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Werror"]


def check(compiler, flags, text, tmp_path, suffix):
    source = tmp_path / f"use{suffix}"
    source.write_text(text)
    done = subprocess.run(
        [compiler, *flags, f"-I{INCLUDE}", "-c", str(source), "-o", str(tmp_path / "use.o")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
def test_header_alone_in_c(header, standard, tmp_path):
    text = f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"
    check("cc", [f"-std={standard}", *C_FLAGS], text, tmp_path, ".c")


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_header_alone_in_cpp(header, standard, tmp_path):
    text = f"#include <{header}>\n#include <{header}>\nint main() {{ return 0; }}\n"
    check("c++", [f"-std={standard}", "-Wall", "-Wextra", "-Werror"], text, tmp_path, ".cc")


@pytest.mark.parametrize("mpicc", ["mpicc.openmpi", "mpicc.mpich"])
def test_header_after_and_before_mpi(mpicc, tmp_path):
    for text in (
        "#include <mpi.h>\n#include <waitio.h>\n",
        "#include <waitio.h>\n#include <mpi.h>\n",
    ):
        check(mpicc, ["-std=c11", "-Wall"], text + "int main(void) { return 0; }\n", tmp_path, ".c")


@pytest.mark.parametrize("mpicc", ["mpicc.openmpi", "mpicc.mpich"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
def test_header_of_hybrid_communicators(mpicc, standard, tmp_path):
    text = f"#include <{NEEDS_MPI}>\n#include <{NEEDS_MPI}>\nint main(void) {{ return 0; }}\n"
    check(mpicc, [f"-std={standard}", *C_FLAGS], text, tmp_path, ".c")
    check("mpicxx" + mpicc[5:], ["-std=c++11", "-Wall", "-Wextra"], text, tmp_path, ".cc")


BOTH_FORMS = """
#include <waitio.h>
int use(int n);
int use(int n)
{
    int order[4] = {1, 2, 3, 4}, counts[4], *owned = NULL, list[2] = {0, -1};
    waitio_filter_func_t filters[4] = {truef, truef, truef, truef};
    int *lists[4] = {list, NULL, NULL, NULL};
    waitio_group_t a = waitio_create_group(0, filters, order);
    waitio_group_t b = waitio_create_group(0, lists, order);
    return waitio_get_nprocs(counts) + waitio_get_nprocs(&owned) + (a == b) + n;
}
"""


def test_both_published_forms_in_c(tmp_path):
    check("cc", ["-std=c11", *C_FLAGS], BOTH_FORMS, tmp_path, ".c")


def test_both_published_forms_in_cpp(tmp_path):
    check("c++", ["-std=c++11", "-Wall", "-Wextra", "-Werror"], BOTH_FORMS, tmp_path, ".cc")


def test_first_form_and_char_buffers_in_c99(tmp_path):
    text = """
#include <waitio.h>
int use(waitio_group_t g, double *field, int n);
int use(waitio_group_t g, double *field, int n)
{
    int order[4] = {1, 2, 3, 4}, counts[4];
    waitio_filter_func_t filters[4] = {truef, truef, truef, truef};
    int (*plain)(int *) = waitio_get_nprocs;
    waitio_req_t req[2];
    g = waitio_create_group(0, filters, order);
    if (g == NULL || plain(counts) != 0) exit(1);
    waitio_isend(g, 0, (char *)field, n * sizeof(double), 0, &req[0]);
    waitio_irecv(g, 0, (char *)field, n, 0, &req[1]);
    printf("%zu\\n", sizeof(req));
    return waitio_wait(&req[0]) + waitio_wait(&req[1]);
}
"""
    check("cc", ["-std=c99", *C_FLAGS, "-Wno-sign-conversion"], text, tmp_path, ".c")


def test_request_handle_fits_fortran(tmp_path):
    """22 default integers, stride 88 bytes, alignment 4: what existing Fortran programs declare."""
    text = """
#include <waitio.h>
_Static_assert(sizeof(waitio_req_t) == 88 && _Alignof(waitio_req_t) == 4, "22 default integers");
"""
    check("cc", ["-std=c11"], text + "int main(void) { return 0; }\n", tmp_path, ".c")
