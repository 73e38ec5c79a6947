#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One heterogeneous Slurm job: a component for each block.        sbatch slurm-hetjob.sh
#SBATCH --job-name=coupled
#SBATCH --time=01:00:00
#SBATCH --ntasks=64 --cpus-per-task=1
#SBATCH hetjob
#SBATCH --ntasks=16 --cpus-per-task=4

set -eu

# This script runs on the first node of the first component, where rank 0 of block 0 will be: it
# serves the rendezvous. For another network write its name here, as in "$(hostname)-ib0".
MASTER=$(hostname)
PORT=$((20000 + SLURM_JOB_ID % 10000))

block() { # block ID: the variables of a block
    waitio env --shell sh --npb 2 --pbid "$1" --master-host "$MASTER" --master-port "$PORT" \
        --job-id "$SLURM_JOB_ID"
}

(
    eval "$(block 0)"
    exec srun --het-group=0 --export=ALL --kill-on-bad-exit=1 ./ocean ocean.nml
) &
first=$!
(
    eval "$(block 1)"
    exec srun --het-group=1 --export=ALL --kill-on-bad-exit=1 ./atmos
) &
second=$!

# When one block fails, the other would wait for it: end it.
status=0
wait -n || status=$?
if [ "$status" -ne 0 ]; then
    kill "$first" "$second" 2>/dev/null || true
fi
wait "$first" || [ "$status" -ne 0 ] || status=$?
wait "$second" || [ "$status" -ne 0 ] || status=$?
exit "$status"
