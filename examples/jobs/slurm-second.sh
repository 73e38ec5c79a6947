#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 1 of a run whose blocks are jobs of their own (see slurm-submit.sh).
#SBATCH --job-name=atmos
#SBATCH --time=01:00:00
#SBATCH --cpus-per-task=1
#SBATCH --ntasks=16

set -eu
# The other job may wait in the queue for longer than this one has run: wait for it as long as this
# job may live. A day is longer than its time limit, which then ends the wait.
: "${WAITIO_INIT_TIMEOUT:=86400}"
export WAITIO_INIT_TIMEOUT
export WAITIO_NPB=2 WAITIO_PBID=1
: "${WAITIO_JOB_ID:?submit with slurm-submit.sh}"

# Waits until block 0's job has published its host.
WAITIO_MASTER_HOST=$(waitio-serv -c --timeout "$WAITIO_INIT_TIMEOUT")
export WAITIO_MASTER_HOST

# From Slurm 22.05 on srun does not take --cpus-per-task over from the job: say it again.
exec srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --export=ALL --kill-on-bad-exit=1 \
    ./atmos
