# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by .ci/run and scripts/check_all.sh: run stages one after another, even after one that failed,
# and add up what they count. A stage whose output ends with "N passed, N failed, N skipped" counts so many
# tests, any other counts as one. With a budget (seconds for everything; empty: none) a stage that is
# under way when it is used up is asked to end, reports what it has, and counts as failed.
passed=0 failed=0 skipped=0
failures=() skips=() times=()
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
    [ "$status" -eq 124 ] && echo "$name: not done when the $budget s for everything were over" |
        tee -a "build/ci/$name.log"
    counts=$(grep -aE "$counts_line" "build/ci/$name.log" | tail -n 1)
    if [ -n "$counts" ]; then
        read -r p _ f _ s _ <<<"$counts"
        if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    else
        p=$((status == 0)) f=$((status != 0)) s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    stage_counts="$p $f $s" stage_seconds=$((SECONDS - began))
    [ "$s" -gt 0 ] && skips+=("$name: $s")
    [ "$status" -ne 0 ] && failures+=("$name" "$*")
    times+=("$name $stage_seconds s")
    echo "=== $name: status $status, $stage_seconds s"
    return "$status"
}

# block NAME KIND: what a stage's report lists as "--- KIND tests"; nothing where it has no such list
block() {
    awk -v head="^--- $2 tests" '$0 ~ head { text = ""; on = 1; next }
        /^--- / || /^[0-9]+ passed, / { on = 0 }
        on { text = text $0 "\n" }
        END { printf "%s", text }' "build/ci/$1.log"
}

# The last lines, forty at most: what was unsteady, what failed and how to run it again, the times of
# the stages, the counts. The exit status is 1 when anything failed.
sum_up() {
    local name command found i
    echo
    for found in "${times[@]}"; do
        name=${found%% *}
        found=$(block "$name" unsteady)
        [ -n "$found" ] && printf 'unsteady in %s:\n%s\n' "$name" "$found"
    done
    [ ${#skips[@]} -gt 0 ] && printf 'skipped in %s\n' "${skips[@]}"
    for ((i = 0; i < ${#failures[@]}; i += 2)); do
        name=${failures[i]} command=${failures[i + 1]}
        found=$(block "$name" failed)
        if [ -z "$found" ]; then
            found="    $(grep -avE '^[[:space:]]*$' "build/ci/$name.log" | tail -n 1 | cut -c 1-200)
    again: $command"
        fi
        printf 'failed in %s:\n%s\n' "$name" "$found"
    done
    printf 'times: %s, in all %s s\n' "$(printf '%s, ' "${times[@]}" | sed 's/, $//')" "$SECONDS"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
