#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Submit two blocks to Fujitsu's PJM, for example one to the CPU part and one to the GPU part of a
# machine. They may start in any order.                                             ./pjm-submit.sh
set -eu

# Both parts must see this folder: it carries the host name and the secret of the run.
SHARED=${SHARED:-$PWD}
WAITIO_JOB_ID=run-$(date +%Y%m%d-%H%M%S)-$$
# Its own for each run (they may share a node), and none that the system gives to other connections.
WAITIO_MASTER_PORT=$(waitio env --print-port --job-id "$WAITIO_JOB_ID")
export WAITIO_JOB_ID WAITIO_MASTER_PORT
export WAITIO_SERV_DIR=$SHARED/.waitio-$WAITIO_JOB_ID
export WAITIO_SECRET_FILE=$WAITIO_SERV_DIR/secret

mkdir -m 700 "$WAITIO_SERV_DIR"
waitio env --npb 2 --secret-file "$WAITIO_SECRET_FILE" --make-secret >/dev/null

pjsub -X pjm-first.sh    # -X: the job inherits these variables
pjsub -X pjm-second.sh
