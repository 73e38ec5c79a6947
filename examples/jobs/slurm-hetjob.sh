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
PORT=$(waitio env --print-port --job-id "$SLURM_JOB_ID")

block() { # block ID: the variables of a block
    waitio env --shell sh --npb 2 --pbid "$1" --master-host "$MASTER" --master-port "$PORT" \
        --job-id "$SLURM_JOB_ID"
}

# From Slurm 22.05 on srun does not take --cpus-per-task over from the job: the numbers stand here
# again, the same as above.
(
    eval "$(block 0)"
    exec srun --het-group=0 --cpus-per-task=1 --export=ALL --kill-on-bad-exit=1 ./ocean ocean.nml
) &
first=$!
(
    eval "$(block 1)"
    exec srun --het-group=1 --cpus-per-task=4 --export=ALL --kill-on-bad-exit=1 ./atmos
) &
second=$!

# When one block fails, the other would wait for it: end it.
status=0
wait -n || status=$?
if [ "$status" -ne 0 ]; then
    kill "$first" "$second" 2>/dev/null || true
fi
for block in "$first" "$second"; do
    ended=0
    wait "$block" || ended=$?
    if [ "$status" -eq 0 ]; then
        status=$ended
    fi
done
exit "$status"
