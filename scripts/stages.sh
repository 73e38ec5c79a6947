# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by .ci/run and scripts/check_all.sh: run stages one after another, even after one that failed,
# and add up what they count. A stage whose output ends with "N passed, N failed, N skipped" counts so many
# tests, any other counts as one. With a budget (seconds for everything; empty: none) a stage that is
# under way when it is used up is asked to end, reports what it has, and counts as failed.
passed=0 failed=0 skipped=0
failures=() skips=()
budget=${budget:-}
counts_line='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'

# stage NAME COMMAND...: output goes to build/ci/NAME.log, too
stage() {
    local name=$1 left status counts began=$SECONDS p f s
    local guard=()
    shift
    if [ -n "$budget" ]; then
        left=$((budget - SECONDS))
        guard=(timeout --kill-after=60 "$((left > 5 ? left : 5))")
    fi
    echo "=== $name: $*"
    mkdir -p build/ci
    "${guard[@]}" "$@" 2>&1 | (trap '' TERM INT && exec tee "build/ci/$name.log")
    status=${PIPESTATUS[0]}
    [ "$status" -eq 124 ] && echo "$name: not done when the $budget s for everything were over"
    counts=$(grep -E "$counts_line" "build/ci/$name.log" | tail -n 1)
    if [ -n "$counts" ]; then
        read -r p _ f _ s _ <<<"$counts"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
        [ "$s" -gt 0 ] && skips+=("$name: $s")
        if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then failed=$((failed + 1)); fi
    elif [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    [ "$status" -ne 0 ] && failures+=("$name")
    echo "=== $name: status $status, $((SECONDS - began)) s"
    return "$status"
}

# The last lines; the exit status is 1 when anything failed.
sum_up() {
    echo
    [ ${#skips[@]} -gt 0 ] && printf 'skipped in %s\n' "${skips[@]}"
    [ ${#failures[@]} -gt 0 ] && echo "failed stages: ${failures[*]}"
    echo "total time: $SECONDS s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
