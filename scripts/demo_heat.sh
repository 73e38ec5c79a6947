#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `make demo-heat`: builds, then starts the three blocks of examples/demo as separate jobs.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh demo-heat
scripts/build.sh release "$(nproc 2>/dev/null || echo 2)"
WAITIO_BUILD_DIR=$PWD/build/release
PATH=$WAITIO_BUILD_DIR/bin:$PATH
export WAITIO_BUILD_DIR PATH
exec sh examples/demo/run.sh "$@"
