#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Submit the two blocks as two jobs. They may start in any order, hours apart.   ./slurm-submit.sh
set -eu

# The same id for both; any word that no other run of yours uses.
WAITIO_JOB_ID=run-$(date +%Y%m%d-%H%M%S)-$$
# Above the ephemeral noise, and different for runs that share a node.
WAITIO_MASTER_PORT=$((20000 + $$ % 10000))
export WAITIO_JOB_ID WAITIO_MASTER_PORT

sbatch --export=ALL slurm-first.sh
sbatch --export=ALL slurm-second.sh
