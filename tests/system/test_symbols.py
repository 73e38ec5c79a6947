# SPDX-License-Identifier: BSD-3-Clause
"""The exported symbols are those of spec/symbols.txt and of the headers, no more, no less."""

import re
import subprocess

import pytest

PUBLIC = re.compile(r"(waitio_|WAITIO_)\w+$|truef$")


def listed(source_dir):
    names = {}
    for line in (source_dir / "spec" / "symbols.txt").read_text().splitlines():
        fields = line.split("#")[0].split()
        if fields:
            assert len(fields) == 2, f"spec/symbols.txt: '{line}' is not `symbol since`"
            assert fields[0] not in names, f"spec/symbols.txt: {fields[0]} stands there twice"
            names[fields[0]] = fields[1]
    return names


def nm(*args):
    out = subprocess.run(["nm", *args], capture_output=True, text=True, timeout=60, check=True)
    for line in out.stdout.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "TWVBDRGS":
            yield fields[2].split("@")[0]


def declared(source_dir):
    """Function names in the C headers' declarations, without the macros and inline overloads."""
    names = set()
    for header in sorted((source_dir / "include").glob("*.h")):
        if header.name.endswith("mpif.h") or header.name in (
            "waitio_hybrid.h",
            "waitio_cpl.h",
            "waitio_stage.h",
        ):
            continue  # Fortran's; libraries of their own (of the coupler: tests/coupler)
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        text = re.sub(r"static inline[^{]*\{[^}]*\}", "", text)
        # the types of functions
        text = re.sub(r"\btypedef (?:void|int|double) \w+\([^;]*;", "", text)
        names |= set(re.findall(r"\b(waitio_\w+|WAITIO_\w+|truef)\s*\([^;{}]*\)\s*;", text))
    return names


# What libraries outside export, and libwaitio calls.
OF_OTHERS = {"waitio_plugin"}


@pytest.fixture
def library(source_dir, build_dir):
    if not list((source_dir / "src" / "api").glob("*.c")):
        pytest.skip("the library has no public functions yet (src/api)")
    return build_dir / "lib" / "libwaitio.so"


def test_library_exports_exactly_the_listed_symbols(source_dir, library):
    exported = set(nm("-D", "--defined-only", str(library)))
    names = set(listed(source_dir))
    assert exported - names == set(), "exported but not in spec/symbols.txt"
    assert names - exported == set(), "in spec/symbols.txt but not exported"


def test_headers_declare_exactly_the_listed_symbols(source_dir):
    names = {
        n for n in listed(source_dir) if not n.endswith("_")
    }  # trailing _: Fortran's link names
    assert declared(source_dir) - names == OF_OTHERS, "declared but not in spec/symbols.txt"
    assert names - declared(source_dir) == set(), "in spec/symbols.txt but declared in no header"


def test_every_symbol_says_since_when(source_dir):
    for name, since in listed(source_dir).items():
        assert re.fullmatch(r"\d+\.\d+", since), f"{name}: '{since}' is not a release"


def test_static_library_defines_no_foreign_names(build_dir, library):
    """A program that links libwaitio.a must not meet names of ours it could have chosen itself."""
    names = set(nm("--defined-only", "--extern-only", str(build_dir / "lib" / "libwaitio.a")))
    names = {n for n in names if not n.startswith(("wio_", "__asan", "__odr_asan", "__tsan"))}
    assert {n for n in names if not PUBLIC.match(n)} == set()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_providers_export_only_their_header(build_dir, mpi):
    """Names in C carry the kind of MPI; the external procedures of Fortran cannot."""
    library = build_dir / "lib" / f"libwaitio_hybrid_{mpi}.so"
    if not library.exists():
        pytest.skip(f"{library.name} is not built")
    names = {n for n in nm("-D", "--defined-only", str(library)) if "asan" not in n}
    calls = {f"waitio_hybrid_{n}_{mpi}" for n in ("create", "create_world", "mpi", "type", "op")}
    assert calls <= names
    others = names - calls
    assert all(re.fullmatch(r"waitio_hybrid_\w+", n) for n in others), others


def test_library_needs_only_libc_and_libcrypto(library, install_dir):
    installed = next(install_dir.glob("**/libwaitio.so"))
    out = subprocess.run(
        ["readelf", "-d", str(installed)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", out))
    needed = {n for n in needed if not re.match(r"lib(a|ub|t)san\.", n)}
    allowed = re.compile(r"lib(c|m|pthread|crypto|gcc_s|rt|dl)\.so|ld-linux")
    assert {n for n in needed if not allowed.match(n)} == set()
    assert not re.search(r"\((RPATH|RUNPATH)\)", out)
    assert "[libwaitio.so.0]" in out
