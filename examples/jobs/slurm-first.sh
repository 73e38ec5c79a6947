#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 0 of a run whose blocks are jobs of their own (see slurm-submit.sh).
#SBATCH --job-name=ocean
#SBATCH --time=01:00:00
#SBATCH --ntasks=64

set -eu
export WAITIO_NPB=2 WAITIO_PBID=0
: "${WAITIO_JOB_ID:?submit with slurm-submit.sh}"

# Publish this host under $HOME/.waitio and leave the rendezvous service running. It ends by itself
# when the run has ended. Another network: "$(hostname)-ib0".
waitio-serv -d -m "$(hostname)"
WAITIO_MASTER_HOST=$(waitio-serv -c)
export WAITIO_MASTER_HOST

# The other job may still wait in the queue: time to join, in seconds.
export WAITIO_INIT_TIMEOUT=3000
exec srun --export=ALL --kill-on-bad-exit=1 ./ocean ocean.nml
