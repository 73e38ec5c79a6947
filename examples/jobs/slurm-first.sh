#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 0 of a run whose blocks are jobs of their own (see slurm-submit.sh).
#SBATCH --job-name=ocean
#SBATCH --time=01:00:00
#SBATCH --cpus-per-task=1
#SBATCH --ntasks=64

set -eu
# The other job may wait in the queue for longer than this one has run: wait for it as long as this
# job may live. A day is longer than its time limit, which then ends the wait.
: "${WAITIO_INIT_TIMEOUT:=86400}"
export WAITIO_INIT_TIMEOUT
export WAITIO_NPB=2 WAITIO_PBID=0
: "${WAITIO_JOB_ID:?submit with slurm-submit.sh}"

# Publish this host under $HOME/.waitio and leave the rendezvous service running. It ends by itself
# when the run has ended. Another network: "$(hostname)-ib0".
waitio-serv -d -m "$(hostname)"
WAITIO_MASTER_HOST=$(waitio-serv -c --timeout "$WAITIO_INIT_TIMEOUT")
export WAITIO_MASTER_HOST

# From Slurm 22.05 on srun does not take --cpus-per-task over from the job: say it again.
exec srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" --export=ALL --kill-on-bad-exit=1 \
    ./ocean ocean.nml
