#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make demo-staging`: installs and builds what the staging demonstration needs, and runs it; options
# are passed on (scripts/demo_staging.sh --help). Everything it makes is in build/.
set -eu
cd "$(dirname "$0")/.."
build=build/release jobs=$(nproc 2>/dev/null || echo 2)
scripts/setup.sh demo-staging
echo "building in $build"
scripts/build.sh release "$jobs"
if [ ! -e $build/bin/flow_solver ]; then # configured before there was Open MPI
    rm -f $build/CMakeCache.txt
    scripts/build.sh release "$jobs"
fi
site=$(scripts/python_site.sh $build build/demo)
PATH=$PWD/$build/bin:$PATH PYTHONPATH=$site:$PWD/apps/flow:$PWD/apps/tsunami
export PATH PYTHONPATH
exec .venv/bin/python -m flow.demo "$@"
