#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every check that needs no build; goes through all of them and fails at the end if one did.
#   scripts/lint.sh          check        scripts/lint.sh --fix    reformat C and Python first
set -u
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin failed=

step() { # step NAME COMMAND...
    name=$1
    shift
    if "$@"; then
        echo "ok    $name"
    else
        echo "FAIL  $name"
        failed="$failed $name"
    fi
}

# Everything ours but what generators wrote.
c_files() {
    git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' | grep -vE '_gen\.[ch]$|^include/waitio_(errors|mpi_rename|mpi_profile|mpi_large)\.h$|mpif\.h$' |
        while read -r file; do [ -e "$file" ] && echo "$file"; done
}

python_files() {
    git ls-files -co --exclude-standard -- '*.py' |
        while read -r file; do [ -e "$file" ] && echo "$file"; done
}

clang_format() {
    case $(clang-format-14 --version) in
    *"version 14."*) ;;
    *)
        echo "clang-format-14 is not version 14: $(clang-format-14 --version)"
        return 1
        ;;
    esac
    # shellcheck disable=SC2046 # no blanks in our file names
    clang-format-14 "$@" $(c_files)
}

check_format() {
    clang_format --dry-run 2>&1 | grep -E 'warning: code should' | cut -d: -f1 | sort | uniq -c >build/format.txt
    [ -s build/format.txt ] || return 0
    echo "places to reformat, per file (make format does it):"
    cat build/format.txt
    return 1
}

generated() {
    if [ -e tools/gen/gen_spec.py ]; then "$bin/python" tools/gen/gen_spec.py --check; fi
}

ruff_check() {
    # shellcheck disable=SC2046
    "$bin/ruff" check -q --no-cache $(python_files) && "$bin/ruff" format -q --no-cache --check $(python_files)
}

# What people read; identifiers in code would only be noise.
spelling() {
    # shellcheck disable=SC2046
    "$bin/codespell" $(git ls-files -co --exclude-standard -- '*.md' '*.rst' 'include/*.h' 'spec/*.toml' '*.cff')
}

shell_syntax() {
    status=0
    for file in $(git ls-files -co --exclude-standard -- '*.sh' .ci/run); do
        bash -n "$file" || status=1
        if command -v shellcheck >/dev/null 2>&1; then shellcheck -S warning "$file" || status=1; fi
    done
    return $status
}

# Each guard of a bad day is where tests/guards.toml says, so that it can be taken out.
guards() {
    if misfits=$("$bin/python" scripts/check_guards.py --list); then return 0; fi
    echo "$misfits" | grep '^MISFIT'
    return 1
}

mkdir -p build
if [ "${1:-}" = --fix ]; then
    clang_format -i
    # shellcheck disable=SC2046
    "$bin/ruff" format -q --no-cache $(python_files)
fi
step format check_format
step layers "$bin/python" scripts/check_layers.py
step size "$bin/python" scripts/check_size.py
step generated generated
step guards guards
step ruff ruff_check
step spelling spelling
step links "$bin/python" scripts/check_links.py
step pictures "$bin/python" scripts/pictures.py --check
step shell shell_syntax
if [ -n "$failed" ]; then
    echo "lint: failed:$failed"
    exit 1
fi
