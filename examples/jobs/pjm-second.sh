#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 1 under PJM (see pjm-submit.sh), for example on a GPU part with another MPI.
#PJM -L rscgrp=QUEUE-OF-THE-GPU-PART
#PJM -L node=1
#PJM --mpi proc=8
#PJM -L elapse=01:00:00
#PJM -g GROUP
#PJM -j

set -eu
# The other job may wait in the queue for longer than this one has run: wait for it as long as this
# job may live. A day is longer than its time limit, which then ends the wait.
: "${WAITIO_INIT_TIMEOUT:=86400}"
export WAITIO_INIT_TIMEOUT
export WAITIO_NPB=2 WAITIO_PBID=1
: "${WAITIO_JOB_ID:?submit with pjm-submit.sh}"

# Waits until block 0's job has published its host.
WAITIO_MASTER_HOST=$(waitio-serv -c --timeout "$WAITIO_INIT_TIMEOUT")
export WAITIO_MASTER_HOST

# The GPU part often has an MPI of another make: load its module and use its own launcher.
exec mpiexec -n 8 ./atmos
