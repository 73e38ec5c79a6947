#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make docs`: Doxygen reads the public headers, Sphinx makes the site of it and of docs/.
# Warnings are errors in both.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/docs
doxygen docs/Doxyfile
# Every member of the basic interface has its comment (waitio_mpi.h documents MPI's names in blocks).
{
    cat docs/Doxyfile
    echo "INPUT = include/waitio.h"
    echo "OUTPUT_DIRECTORY = build/docs/doxygen-strict"
    echo "WARN_IF_UNDOCUMENTED = YES"
} | doxygen -
.venv/bin/python -m sphinx -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/html
.venv/bin/python scripts/check_links.py --site build/docs/html
echo "documentation: build/docs/html/index.html"
