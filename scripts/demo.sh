#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make demo`: installs and builds what the tsunami demonstration needs, and runs it; options are
# passed on (scripts/demo.sh --help). Then heat3d in its four ways. Everything it makes is in build/.
set -eu
route=auto before=
for word in "$@"; do
    if [ "$before" = --route ]; then route=$word; fi
    case $word in --route=*) route=${word#*=} ;; esac
    before=$word
done
case $route in
auto | file | hybrid) ;;
*)
    echo "demo: there is no route '$route'; known are auto (the ordinary way), file, hybrid" >&2
    exit 2
    ;;
esac
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
.venv/bin/python -m tsunami.demo "$@"
case " $* " in *" -h "* | *" --help "*) exit 0 ;; esac
[ "$route" = auto ] || exit 0 # the comparison below is one of the ordinary way
echo
echo "one solver, four ways to run it over two MPIs (docs/guide/ways.md):"
echo
.venv/bin/python bench/heat3d_ways.py
