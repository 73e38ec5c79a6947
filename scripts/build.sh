#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Configures (once) and builds one preset: scripts/build.sh PRESET [JOBS] [TARGET...]
# WAITIO_PROGRESS=1 shows each step.
set -eu
cd "$(dirname "$0")/.."
preset=${1:-release} jobs=${2:-2}
if [ $# -gt 2 ]; then shift 2; else set --; fi
build=build/$preset
if [ ! -e "$build/CMakeCache.txt" ] || [ CMakePresets.json -nt "$build/CMakeCache.txt" ]; then
    # The presets say Ninja; where it is not, make does. An existing folder keeps its generator.
    generator=Ninja
    if [ -e "$build/CMakeCache.txt" ]; then
        generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
    elif ! ninja --version >/dev/null 2>&1; then
        generator="Unix Makefiles"
    fi
    mkdir -p "$build"
    # shellcheck disable=SC2086 # words to be split
    if ! cmake --preset "$preset" -G "$generator" ${WAITIO_CMAKE_ARGS:-} >"$build/configure.log" 2>&1; then
        cat "$build/configure.log" >&2
        rm -f "$build/CMakeCache.txt"
        exit 1
    fi
    touch "$build/CMakeCache.txt"
fi
if [ $# -gt 0 ]; then set -- --target "$@"; fi
if [ -n "${WAITIO_PROGRESS:-}" ]; then # for people who wait: what is built, as it is built
    cmake --build "$build" --parallel "$jobs" "$@"
    exit
fi
if ! cmake --build "$build" --parallel "$jobs" "$@" >"$build/build.log" 2>&1; then
    tail -n 60 "$build/build.log" >&2
    echo "build: failed; the whole log is $build/build.log" >&2
    exit 1
fi
grep -E 'warning:' "$build/build.log" >&2 || true
