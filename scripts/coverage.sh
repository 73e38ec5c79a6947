#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Line coverage per source file with gcov alone: scripts/coverage.sh BUILD
set -eu
cd "$(dirname "$0")/.."
root=$PWD build=$(cd "$1" && pwd)
mkdir -p "$build/gcov"
cd "$build/gcov"
find "$build/CMakeFiles" -name '*.gcda' -exec gcov -r -s "$root" {} + 2>/dev/null |
    awk -v q="'" '/^File/ { split($0, a, q); file = a[2] }
         /^Lines executed/ { if (file ~ /^src\//) print substr($2, 10), $4, file; file = "" }' |
    sort -n | tee summary.txt
awk '{ sub("%", "", $1); hit += $1 * $2 / 100; all += $2 }
     END { if (all) printf "total %.1f%% of %d lines\n", 100 * hit / all, all }' summary.txt
