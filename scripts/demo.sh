#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make demo`: installs and builds what the tsunami demonstration needs, and runs it; options are
# passed on (scripts/demo.sh --help). Everything it makes is in build/.
set -eu
cd "$(dirname "$0")/.."
build=build/release jobs=$(nproc 2>/dev/null || echo 2)
scripts/setup.sh demo
echo "building in $build"
scripts/build.sh release "$jobs"
if [ ! -e $build/bin/tsunami_ocean ]; then # configured before there was a Fortran compiler
    rm -f $build/CMakeCache.txt
    scripts/build.sh release "$jobs"
fi
site=$(scripts/python_site.sh $build build/demo)
PATH=$PWD/$build/bin:$PATH PYTHONPATH=$site:$PWD/apps/tsunami
export PATH PYTHONPATH
exec .venv/bin/python -m tsunami.demo "$@"
