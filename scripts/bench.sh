#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make bench`: the benchmark runner on what BUILD holds.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
shift
for runner in bench/run.py bench/run_bench.py bench/bench.py; do
    if [ -e "$runner" ]; then
        WAITIO_BUILD_DIR=$build PATH=$build/bin:$PATH exec python3 "$runner" "$@"
    fi
done
echo "bench: there is no benchmark runner yet (bench/run.py)" >&2
exit 1
