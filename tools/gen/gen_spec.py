#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generate code and reference pages from the tables in spec/, and Fortran's side of waitio_mpi.h.

gen_spec.py            write every generated file
gen_spec.py --check    compare with what is there; print a diff and exit with 1 when any differs
gen_spec.py --list     print the names of the generated files

The generated files are committed, so a build needs no Python. Python 3.9 or later; below 3.11 the
package tomli is needed.
"""

import argparse
import difflib
import os
import sys

from emit import (
    c_files,
    crc,
    docs,
    faces,
    fortran,
    header,
    large,
    profile,
    python,
    rename,
    renamed,
    span,
    trace,
    typed,
)
from tables import SpecError, load_spec, load_table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def generate(spec):
    """Return {path relative to the root: text} of every generated file."""
    calls = read("spec/mpi-4.0-calls.txt")
    wide = large.files(read("include/waitio_mpi.h"), calls)
    in_c = read("include/waitio_mpi.h") + "".join(wide.values())
    return {
        "include/waitio_errors.h": c_files.errors_header(spec),
        "src/base/errors_gen.c": c_files.errors_source(spec),
        "src/base/config_gen.h": c_files.config_header(spec),
        "src/base/config_gen.c": c_files.config_source(spec),
        "src/base/counters_gen.h": c_files.counters_header(spec),
        "src/base/counters_gen.c": c_files.counters_source(spec),
        "src/base/crc32c_gen.c": crc.crc32c_source(),
        "fortran/waitio_errors.inc": fortran.errors_include(spec),
        "python/waitio/errortable.py": python.errors_module(spec),
        "docs/reference/errors.rst": docs.errors_page(spec),
        "docs/reference/variables.rst": docs.variables_page(spec),
        "docs/reference/counters.rst": docs.counters_page(spec),
        **traces(),
        **fortran_faces("".join(wide.values())),
        **typed.files(
            load_table(os.path.join(ROOT, "spec"), "typed.toml"),
            lambda name: read(f"spec/{name}"),
        ),
        **wide,
        **renamed_fortran(in_c),
        **renamed.files(in_c),
        **profile.files(in_c),
        **span.files(calls, load_table(os.path.join(ROOT, "spec"), "span.toml"), in_c),
    }


def traces():
    """What WAITIO_TRACE records."""
    table = load_table(os.path.join(ROOT, "spec"), "trace.toml")
    return {
        "src/base/timeline_gen.h": trace.header(table),
        "python/waitio/traceevents.py": trace.module(table),
        "docs/reference/trace.rst": trace.reference(table),
    }


def renamed_fortran(in_c):
    """MPI's names for the conversion library in Fortran. in_c: the headers of C."""
    symbols = {line.split()[0] for line in read("spec/symbols.txt").splitlines() if line.strip()}
    found = rename.Sources(
        in_c,
        read("include/waitio_mpif.h"),
        symbols,
        read("spec/mpi-4.0-names.txt"),
    )
    return rename.files(found)


def fortran_faces(wide):
    """Modules and the C behind them, from the prototypes of the C header, and of the one with wide
    counts."""
    text = read("include/waitio_mpi.h")
    constants = header.read_constants(text, read("include/waitio.h"))
    return faces.files(header.read_calls(text)[0], constants, header.read_calls(wide)[0])


def read(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as handle:
            return handle.read()
    except FileNotFoundError:
        return ""


def check(files):
    """Print how the committed files differ from what the tables say; return how many do."""
    stale = 0
    for path, text in files.items():
        found = read(path)
        if found == text:
            continue
        stale += 1
        sys.stdout.writelines(
            difflib.unified_diff(
                found.splitlines(True), text.splitlines(True), path, path + " (from spec/)"
            )
        )
    if stale:
        print(f"gen_spec: {stale} generated files are stale: run tools/gen/gen_spec.py")
    return stale


def write(files):
    for path, text in files.items():
        if read(path) == text:
            continue
        full = os.path.join(ROOT, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as handle:
            handle.write(text)
        print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--list", action="store_true", help="list the generated files")
    args = parser.parse_args()
    try:
        files = generate(load_spec(os.path.join(ROOT, "spec")))
    except SpecError as error:
        print(f"gen_spec: {error}", file=sys.stderr)
        return 1
    if args.list:
        print("\n".join(files))
        return 0
    if args.check:
        return 1 if check(files) else 0
    write(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
