#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make demo-coupled`: installs and builds what the coupled demonstration needs, and runs it; options
# are passed on (scripts/demo_coupled.sh --help). Everything it makes is in build/.
set -eu
cd "$(dirname "$0")/.."
build=build/release jobs=$(nproc 2>/dev/null || echo 2)
scripts/setup.sh demo-coupled
echo "building in $build"
scripts/build.sh release "$jobs"
if [ ! -e $build/bin/climate_ocean ]; then # configured before there was a Fortran compiler or netCDF-C
    rm -f $build/CMakeCache.txt
    scripts/build.sh release "$jobs"
fi
PATH=$PWD/$build/bin:$PATH
PYTHONPATH=$PWD/apps/climate:$PWD/apps/tsunami:$PWD/python:$PWD/python/h3ou
H3OU_LIB=$PWD/$build/lib/h3ou
export PATH PYTHONPATH H3OU_LIB
exec .venv/bin/python -m climate.demo "$@"
