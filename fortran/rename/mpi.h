/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi.h
 * Found in the place of an MPI's own header when this folder comes first among the -I options: the
 * program is then built for WaitIO without a change. See waitio_mpi_rename.h.
 */
#include <waitio_mpi_rename.h>
