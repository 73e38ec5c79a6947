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
export WAITIO_NPB=2 WAITIO_PBID=1
: "${WAITIO_JOB_ID:?submit with pjm-submit.sh}"

# Waits a while until block 0's job has published its host, and fails if nobody did.
WAITIO_MASTER_HOST=$(waitio-serv -c)
export WAITIO_MASTER_HOST

export WAITIO_INIT_TIMEOUT=3000
# The GPU part often has an MPI of another make: load its module and use its own launcher.
exec mpiexec -n 8 ./atmos
