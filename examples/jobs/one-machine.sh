#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Three blocks on this machine, each with the MPI it was built with.
exec waitio run --summary \
    --name ocean -n 4 --mpi openmpi ./ocean ocean.nml : \
    --name atmos -n 2 --mpi mpich --env OMP_NUM_THREADS=2 ./atmos : \
    ./sensor.sh --every 10
