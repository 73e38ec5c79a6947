#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Block 0 under PJM (see pjm-submit.sh). Queue, group and node shape are the site's.
#PJM -L rscgrp=QUEUE-OF-THE-CPU-PART
#PJM -L node=4
#PJM --mpi proc=192
#PJM -L elapse=01:00:00
#PJM -g GROUP
#PJM -j

set -eu
# The other job may wait in the queue for longer than this one has run: wait for it as long as this
# job may live. A day is longer than its time limit, which then ends the wait.
: "${WAITIO_INIT_TIMEOUT:=86400}"
export WAITIO_INIT_TIMEOUT
export WAITIO_NPB=2 WAITIO_PBID=0
: "${WAITIO_JOB_ID:?submit with pjm-submit.sh}"

# Publish this host and serve the rendezvous until the run has ended. Where the parts are joined by
# a network with names of its own, add its suffix: "$(hostname)-ib0".
waitio-serv -d -m "$(hostname)"
WAITIO_MASTER_HOST=$(waitio-serv -c --timeout "$WAITIO_INIT_TIMEOUT")
export WAITIO_MASTER_HOST

exec mpiexec -n 192 ./ocean ocean.nml
