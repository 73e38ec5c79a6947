#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test that the gate (.ci/run) leaves out, in parts meant for ten minutes on two idle cores: the long
# tests, the C tests under the address and the thread sanitizer, a short fuzz run, unlike machines.
#   scripts/check_all.sh [PART] [JOBS]
# PART: a name (long, asan-1, ...), K/N for the K-th of N shares of the list, or empty for all of them. Each part leaves
# a stamp in build/check-all.json; scripts/stamps.py tells which have passed on this commit.
set -u
cd "$(dirname "$0")/.." || exit 2
wanted=${1:-} jobs=${2:-$(nproc 2>/dev/null || echo 2)}
# shellcheck source=scripts/stages.sh
. scripts/stages.sh
trap 'stopped=yes' TERM INT # the stage under way ends by itself and reports
stopped=
parts=(long-1 long-2 asan tsan fuzz interop)
python=.venv/bin/python

chosen=()
if [[ $wanted =~ ^([0-9]+)/([0-9]+)$ ]]; then
    k=${BASH_REMATCH[1]} n=${BASH_REMATCH[2]}
    if ((n < 1 || k < 1 || k > n)); then
        echo "check-all: PART=$wanted: there is no such share; 1/$n is the first, $n/$n the last" >&2
        exit 2
    fi
    for i in "${!parts[@]}"; do
        ((i * n / ${#parts[@]} + 1 == k)) && chosen+=("${parts[i]}")
    done
else
    for name in "${parts[@]}"; do
        case $name in "$wanted" | "${wanted:-$name}" | "$wanted"-*) chosen+=("$name") ;; esac
    done
    if [ ${#chosen[@]} -eq 0 ]; then
        echo "check-all: PART=$wanted: there is no such part; parts are ${parts[*]}, or long, asan, tsan, or K/N" >&2
        exit 2
    fi
fi
if [ -n "${STATUS:-}" ]; then
    exec "$python" scripts/stamps.py status "${parts[@]}"
fi

# tests PRESET SUITE [more of run_tests.py's words]
tests() {
    scripts/build.sh "$1" "$jobs" &&
        "$python" scripts/run_tests.py --build "build/$1" --suite "${@:2}" --most-unsteady 5
}

# Where the archive does not serve the other machines' packages that is no fault of the change.
interop() {
    scripts/setup.sh test interop || {
        echo "skipped: what tests/interop needs could not be installed (above)"
        echo "0 passed, 0 failed, 1 skipped"
        return 0
    }
    tests release interop
}

one() { # one PART: what a stage runs
    case $1 in
    long-*) tests release long --slice "${1#*-}/2" ;;
    asan | tsan) tests "$1" "$1" ;;
    fuzz) scripts/fuzz_smoke.sh 6 ;;
    interop) interop ;;
    esac
}
export -f one tests interop
export jobs python

for name in "${chosen[@]}"; do
    [ -z "$stopped" ] || break
    rm -f build/test-results/unsteady.json
    stage "$name" bash -c "one $name"
    # shellcheck disable=SC2086 # three numbers
    [ -n "$stopped" ] || "$python" scripts/stamps.py add "$name" $stage_counts "$stage_seconds"
done
if [ -n "$stopped" ]; then
    echo "check-all was ended before its last stage"
    failed=$((failed + 1))
elif ! "$python" scripts/stamps.py unsteady "${chosen[@]}"; then
    failed=$((failed + 1))
fi
sum_up
