#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Submit the two blocks as two jobs. They may start in any order, hours apart.   ./slurm-submit.sh
set -eu

# The same id for both; any word that no other run of yours uses.
WAITIO_JOB_ID=run-$(date +%Y%m%d-%H%M%S)-$$
# Its own for each run (they may share a node), and none that the system gives to other connections.
WAITIO_MASTER_PORT=$(waitio env --print-port --job-id "$WAITIO_JOB_ID")
export WAITIO_JOB_ID WAITIO_MASTER_PORT

sbatch --export=ALL slurm-first.sh
sbatch --export=ALL slurm-second.sh
