#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs every fuzz target for a few seconds from its corpus: scripts/fuzz_smoke.sh [SECONDS [TARGET...]]
# Last line: "N passed, N failed, N skipped". Inputs that fail are kept in build/fuzz/artifacts.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-10} wanted= passed=0 failed=0 skipped=0
if [ $# -gt 1 ]; then shift && wanted=" $* "; fi
if ! command -v clang >/dev/null 2>&1 ||
    ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n){(void)d;(void)n;return 0;}' |
    clang -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
    echo "fuzz: clang with libFuzzer is not here (Debian: clang and libclang-rt-14-dev); replayed by the unit tests only"
    for target in tests/fuzz/fuzz_*.c; do
        [ -e "$target" ] && skipped=$((skipped + 1))
    done
    echo "0 passed, 0 failed, $skipped skipped"
    exit 0
fi
cores=$(nproc 2>/dev/null || echo 2)
targets=
for source in tests/fuzz/fuzz_*.c; do
    name=${source##*/fuzz_} name=${name%.c}
    case "$wanted" in "" | *" $name "*) targets="$targets $name" ;; esac
done
[ -n "$targets" ] || {
    echo "fuzz: there is no target$wanted; tests/fuzz/fuzz_NAME.c is the target NAME" >&2
    exit 2
}
# shellcheck disable=SC2086 # words to be split
scripts/build.sh fuzz "$cores" $(printf 'fuzz_%s ' $targets)
mkdir -p build/fuzz/artifacts

# One target: a process of one thread. As many run at a time as there are cores.
running= # NAME=PID of each
trap 'for one in $running; do kill "${one#*=}" 2>/dev/null; done; exit 130' INT TERM

start() {
    name=$1
    mkdir -p "build/fuzz/grown/$name"
    set -- "build/fuzz/grown/$name"
    if [ -d "tests/fuzz/corpus/$name" ]; then set -- "$@" "tests/fuzz/corpus/$name"; fi
    "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=0 -artifact_prefix="build/fuzz/artifacts/$name-" "$@" >"build/fuzz/$name.log" 2>&1 &
    running="$running $name=$!"
}

finish() { # those that run
    for one in $running; do
        name=${one%%=*}
        if wait "${one#*=}"; then
            echo "PASS fuzz/$name: $(grep -E '^Done ' "build/fuzz/$name.log" || true)"
            passed=$((passed + 1))
        else
            echo "FAIL fuzz/$name"
            tail -n 30 "build/fuzz/$name.log"
            failed=$((failed + 1))
        fi
    done
    running=
}

for target in $targets; do
    start "$target"
    # shellcheck disable=SC2086 # words to be counted
    set -- $running
    if [ $# -ge "$cores" ]; then finish; fi
done
finish
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
