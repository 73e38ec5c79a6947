#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 1 of a run whose blocks are jobs of their own (see slurm-submit.sh).
#SBATCH --job-name=atmos
#SBATCH --time=01:00:00
#SBATCH --ntasks=16

set -eu
export WAITIO_NPB=2 WAITIO_PBID=1
: "${WAITIO_JOB_ID:?submit with slurm-submit.sh}"

# Waits a while until block 0's job has published its host, and fails if nobody did: then the job
# may be submitted again.
WAITIO_MASTER_HOST=$(waitio-serv -c)
export WAITIO_MASTER_HOST

export WAITIO_INIT_TIMEOUT=3000
exec srun --export=ALL --kill-on-bad-exit=1 ./atmos
