/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface that the random programs are written against: mpi.h, or with RANDOM_RENAME the
 * conversion library's header in its place; with RANDOM_HYBRID the world is a hybrid one. */
#ifndef FACE_H
#define FACE_H

#ifdef RANDOM_RENAME
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#endif

/* Open MPI 4 has MPI-4's persistent collectives under names of its own. */
#if defined(RANDOM_RENAME) || MPI_VERSION >= 4
#define PERSISTENT(Name) MPI_##Name##_init
#else
#define PERSISTENT(Name) MPIX_##Name##_init
#endif

MPI_Comm world_open(void);
void world_close(void);

#endif
