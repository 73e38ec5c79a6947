#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test that needs no foreign packages: all C and Python tests, the C tests under the address and
# the thread sanitizer, a short fuzz run (skipped without clang).
#   scripts/check_all.sh [SUITE] [JOBS]
# SUITE long leaves out what `make test` has run; default all. Last line: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
suite=${1:-all} jobs=${2:-$(nproc 2>/dev/null || echo 2)}
# shellcheck source=scripts/stages.sh
. scripts/stages.sh
trap 'stopped=yes' TERM INT # the stage under way ends by itself and reports
stopped=

part() { [ -n "$stopped" ] || stage "$@"; }

sanitized() { # sanitized PRESET
    scripts/build.sh "$1" "$jobs" && .venv/bin/python scripts/run_tests.py --build "build/$1" --suite "$1"
}
export -f sanitized
export jobs

part "tests-$suite" .venv/bin/python scripts/run_tests.py --build build/release --suite "$suite"
part asan bash -c "sanitized asan"
part tsan bash -c "sanitized tsan"
part fuzz scripts/fuzz_smoke.sh 10
if [ -n "$stopped" ]; then
    echo "check-all was ended before its last stage"
    failed=$((failed + 1))
fi
sum_up
