/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_hybrid.h
 * Hybrid communicators: members of one parallel block (PB) exchange data by the MPI that the block
 * was started with, members of different PBs by WaitIO. Every call of waitio_mpi.h works on them.
 *
 * The functions are in libwaitio_hybrid_openmpi, libwaitio_hybrid_mpich ..., one library for each
 * MPI: link the one of the MPI that the program is compiled with. The names below are macros that
 * carry the kind of MPI, so that linking with another one fails. Processes without MPI take part by
 * waitio_create_hybrid() of waitio_mpi.h.
 *
 * Each PB brings its own MPI, or none. MPI_Init() comes before the first call, and what
 * MPI_Init_thread() grants says which threads may use hybrid communicators: below
 * MPI_THREAD_SERIALIZED only the one that initialised MPI. MPI_Finalize() comes after the last;
 * hybrid communicators that exist then give errors from there on, and can still be freed.
 *
 * Errors are treated as waitio_mpi.h says: they end the program unless they shall be returned.
 */
#ifndef WAITIO_HYBRID_H
#define WAITIO_HYBRID_H

#include <mpi.h>

#include "waitio_mpi.h"

#if defined(OMPI_MAJOR_VERSION)
#define WAITIO_HYBRID_NAME(name) name##_openmpi
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION) ||             \
    defined(MVAPICH_VERSION) || defined(CRAY_MPICH_VERSION)
#define WAITIO_HYBRID_NAME(name) name##_mpich /* their libraries take each other's place */
#else
#define WAITIO_HYBRID_NAME(name) name##_mpi
#endif
#define waitio_hybrid_create WAITIO_HYBRID_NAME(waitio_hybrid_create)
#define waitio_hybrid_create_world WAITIO_HYBRID_NAME(waitio_hybrid_create_world)
#define waitio_hybrid_mpi WAITIO_HYBRID_NAME(waitio_hybrid_mpi)
#define waitio_hybrid_type WAITIO_HYBRID_NAME(waitio_hybrid_type)
#define waitio_hybrid_op WAITIO_HYBRID_NAME(waitio_hybrid_op)

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/**
 * A communicator of processes of all PBs. Collective over the universe: every process calls it
 * once, also those that shall not be members. Joins the universe if the process has not joined.
 *
 * @param block the communicator of this PB's members, of which all call; it is not kept.
 * MPI_COMM_NULL: this process is no member, and gets WAITIO_MPI_COMM_NULL
 * @param key  ranks are ordered by key, then by PB and rank in the PB
 * @param[out] comm to be freed with WAITIO_MPI_Comm_free(), before MPI_Finalize()
 * @return 0; ARG (an intercommunicator), STATE (MPI is not initialised, or not for this thread),
 * VERSION (another MPI than the library was built for), SYSTEM (MPI's error is in the text), and
 * the errors of joining. If one process fails all get an error
 * @blocking until all processes have called
 */
int waitio_hybrid_create(MPI_Comm block, int key, WAITIO_MPI_Comm *comm);

/** waitio_hybrid_create() of all processes: the MPI_COMM_WORLD of every PB, in the order of PBs.
 * @param[out] comm as there @return as there @blocking as there */
int waitio_hybrid_create_world(WAITIO_MPI_Comm *comm);

/** Which MPI the library was built for. Any thread, also before MPI_Init(). @param[out] name as
 * "Open MPI 4.1.4"; belongs to the library @return 0; ARG */
int waitio_hybrid_mpi(const char **name);

/**
 * The datatype of the conversion library with the same elements at the same places.
 *
 * @param type predefined, or derived by any constructor, committed or not
 * @param[out] out committed; belongs to the library, and is freed when @p type is
 * @return 0; UNSUPPORTED (naming a type that only MPI has, or a count above INT_MAX), NOMEM,
 * SYSTEM (MPI's error is in the text), STATE. Threads as for the calls of MPI
 */
int waitio_hybrid_type(MPI_Datatype type, WAITIO_MPI_Datatype *out);

/**
 * The operator of the conversion library that does the same.
 *
 * @param op a predefined one. The function of a program's own operator cannot be asked for: make it
 * with WAITIO_MPI_Op_create()
 * @param[out] out belongs to the library @return 0; UNSUPPORTED. Any thread
 */
int waitio_hybrid_op(MPI_Op op, WAITIO_MPI_Op *out);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif /* WAITIO_HYBRID_H */
