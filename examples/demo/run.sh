#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build the three programs and run them. Uses the build in WAITIO_BUILD_DIR when that is set, else
# an installed WaitIO found by pkg-config. Further arguments go to `waitio run`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${WAITIO_BUILD_DIR:-}" ]; then
    work=$WAITIO_BUILD_DIR/demo
    libdir=$WAITIO_BUILD_DIR/lib
    flags="-I$here/../../include -L$libdir -Wl,-rpath,$libdir -lwaitio"
    waitio=$WAITIO_BUILD_DIR/bin/waitio
else
    work=${TMPDIR:-/tmp}/waitio-demo-$(id -u)
    libdir=$(pkg-config --variable=libdir waitio)
    flags="$(pkg-config --cflags --libs waitio) -Wl,-rpath,$libdir"
    waitio=waitio
fi
mkdir -p "$work"
cc_flags="-std=c11 -O2 -Wall -Wextra"
# shellcheck disable=SC2086 # flags are lists of words
{
    mpicc.openmpi $cc_flags -o "$work/heat" "$here/heat.c" $flags -lm
    mpicc.mpich $cc_flags -o "$work/analysis" "$here/analysis.c" $flags -lm
    ${CC:-cc} $cc_flags -o "$work/probe" "$here/probe.c" $flags -lm
}
# Open MPI refuses root unless told twice; containers often have nobody else.
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cp "$here/demo.toml" "$work/demo.toml"
unset WAITIO_BUILD_DIR # ours, not the library's
exec "$waitio" run "$@" "$work/demo.toml"
