/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_inside.h
 * Providers: how the members of one parallel block (PB) exchange data among themselves in a hybrid
 * communicator. By default they send messages of WaitIO. A provider is a library that does it with
 * another communication library, such as the MPI that the block was started with; waitio_hybrid.h
 * is the face of the providers for MPI. Programs include that header, not this one.
 *
 * The contract is versioned and frozen: a table of another version is refused by name. Slots are
 * added behind the others only, and a provider need not have them: the table says how long it is.
 */
#ifndef WAITIO_INSIDE_H
#define WAITIO_INSIDE_H

#include "waitio_mpi.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Version of this contract. It changes when a slot or a structure changes its meaning. */
#define WAITIO_INSIDE_VERSION 1

/** What a part can do for its members. Data is bytes in the memory of the caller, without holes;
 * only reductions know a type. */
enum waitio_inside_kind {
    WAITIO_INSIDE_BARRIER,
    WAITIO_INSIDE_BCAST,          /**< `bytes` at `out`, from the root's */
    WAITIO_INSIDE_REDUCE,         /**< `count` elements from `in`; result at the root's `out` */
    WAITIO_INSIDE_ALLREDUCE,      /**< the same, result at every `out` */
    WAITIO_INSIDE_SCAN,           /**< MPI_Scan */
    WAITIO_INSIDE_EXSCAN,         /**< MPI_Exscan: rank 0's `out` is not written */
    WAITIO_INSIDE_GATHER,         /**< `bytes` from `in`; block i of the root's `out` from rank i */
    WAITIO_INSIDE_SCATTER,        /**< block i of the root's `in` to rank i, which gets `bytes` */
    WAITIO_INSIDE_ALLGATHER,      /**< as GATHER, at every `out` */
    WAITIO_INSIDE_ALLTOALL,       /**< block i of `in` to rank i; from rank i block i of `out` */
    WAITIO_INSIDE_REDUCE_SCATTER, /**< the blocks of `ins` one after the other, `at` is not read;
                                     block i of the result to rank i's `out` */
    WAITIO_INSIDE_KINDS
};

/** Blocks of a buffer, one for each rank of the part. */
struct waitio_inside_blocks {
    const size_t *len; /**< bytes of each; NULL: all have `unit` bytes, one after the other */
    const int64_t *at; /**< where each begins, in bytes from the buffer; read when len != NULL */
    size_t unit;
};

/**
 * An operator that the provider does not know: the program's own, or the library's on a type that
 * the provider lacks. Operands are elements of @p bytes each, one after the other. It stays as it
 * is until the operation is complete; of one that is given up, for ever.
 */
struct waitio_inside_fold {
    size_t bytes; /**< of an element, > 0 */
    int commutes; /**< else results have the order of the ranks */
    /** inout[i] = in[i] op inout[i] for @p n elements; @p in is the operand of the lower ranks. Any
     * thread. @return 0 or a WAITIO_ERR_* code, with which the operation has to end */
    int (*apply)(const struct waitio_inside_fold *fold, const void *in, void *inout, size_t n);
};

/**
 * One operation. All members of the part make the same operations in the same order. The structure
 * and what it points to stay as they are until the operation is complete.
 *
 * All members agree on the kind, the root, type and operator, and on whether `len` of `ins` and of
 * `outs` is NULL: a member whose array is not read (GATHER and SCATTER, all but the root) points to
 * anything. They agree on in place, but in REDUCE, GATHER and SCATTER, where the root decides.
 */
struct waitio_inside_call {
    enum waitio_inside_kind kind;
    int root;       /**< rank in the part */
    const void *in; /**< in == out: the operand lies in the place of the result (in place) */
    void *out;
    size_t bytes;             /**< of one contribution (ALLTOALL: not read) */
    size_t count;             /**< reductions: elements */
    WAITIO_MPI_Datatype type; /**< reductions: a predefined type */
    WAITIO_MPI_Op op;         /**< reductions: a predefined operator */
    struct waitio_inside_blocks ins, outs;
    /** Reductions: NULL, or the operator; then type and op are not read, and a block has whole
     * elements of it. Only providers with the slot `folds` get it. */
    const struct waitio_inside_fold *fold;
};

/**
 * The table of a provider. A *part* is the set of members of one PB in one communicator, numbered
 * from 0, with a message space of its own. Slots return 0 or a WAITIO_ERR_* code with the text in
 * `why` (`nwhy` bytes). No slot is NULL but those that say so. The library calls them only from
 * threads of the program that are inside a call of the library, never from threads of its own, and
 * never with a lock held.
 */
struct waitio_inside_ops {
    uint32_t version; /**< WAITIO_INSIDE_VERSION */
    uint32_t size;    /**< sizeof(struct waitio_inside_ops); shorter: without the last slots */
    const char *name; /**< with version, for logs and errors: "Open MPI 4.1.4" */

    /** Number of members, and the own rank among them. */
    int (*members)(void *part, int *size, int *rank);
    /** May this thread call the provider now? What MPI_Init_thread granted decides. @return 0;
     * STATE with the remedy */
    int (*may_call)(void *part, char *why, size_t nwhy);
    /** Can it do reductions with this predefined type and operator? Pure; the same on all members.
     */
    int (*reduces)(void *part, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op);
    /**
     * A part of these ranks of @p part, in this order. Collective over these ranks only. @blocking
     * @param[out] out freed with free()
     */
    int (*sub)(void *part, int n, const int *ranks, void **out, char *why, size_t nwhy);
    /** Not collective: operations under way have been completed or abandoned. */
    void (*free)(void *part);
    /** Do it now. All members do the same operation by run(), or all by start(): an MPI does not
     * match its blocking calls with the others. @blocking until the other members have taken part
     * as far as needed */
    int (*run)(void *part, const struct waitio_inside_call *call, char *why, size_t nwhy);
    /** Start it. @param[out] op is completed by test(), or given up by abandon() */
    int (*start)(void *part, const struct waitio_inside_call *call, void **op, char *why,
                 size_t nwhy);
    /** Make progress. @param[out] done 1: complete, @p op is gone; also when an error is returned
     */
    int (*test)(void *part, void *op, int *done, char *why, size_t nwhy);
    /** A member has died: this operation will not be complete. Its buffers may stay in use. */
    void (*abandon)(void *part, void *op);
    /** Can it do reductions with operators that the library brings (call->fold), on elements of so
     * many bytes? Pure; the same on all members. NULL, or beyond `size`: it cannot. */
    int (*folds)(void *part, size_t bytes, int commutes);
};
/** Size of the shortest table: as it was before `folds` was added. */
#define WAITIO_INSIDE_SIZE_LEAST offsetof(struct waitio_inside_ops, folds)

/**
 * A communicator of processes of all PBs, in which those of this process's PB exchange data by
 * @p ops. Collective over the whole universe: every process calls it once, those that shall not be
 * members with @p member 0.
 *
 * @param ops  of this process's PB, or NULL: its members exchange messages of WaitIO
 * @param part of ops: exactly the members of this PB, in any order; belongs to the communicator
 * when 0 is returned. NULL when ops is NULL or member is 0
 * @param member 0: this process gets WAITIO_MPI_COMM_NULL
 * @param key  ranks are ordered by key, then by PB and rank in the PB
 * @param[out] comm to be freed with WAITIO_MPI_Comm_free
 * @return 0; ARG (wrong table or part), the engine's errors; the same on all members if one fails
 * @blocking
 */
int waitio_inside_attach(const struct waitio_inside_ops *ops, void *part, int member, int key,
                         WAITIO_MPI_Comm *comm);

/**
 * Let @p comm, and communicators made from it, use the provider for blocking collectives only: the
 * others go by messages of WaitIO inside this PB, too. For programs in which no thread may go on
 * with operations of the provider while another one blocks in it. All members of the PB call it,
 * before the first collective on @p comm. Without a provider it does nothing.
 *
 * @return 0; GROUP, RANK when this process is no member. Any thread
 */
int waitio_inside_blocking_only(WAITIO_MPI_Comm comm);

/**
 * The calling thread, one that the provider's user has started himself, never calls providers:
 * other threads go on with their operations. One thread of a process can have this property.
 *
 * @return 0; STATE (not joined)
 */
int waitio_inside_keep_off(void);

/**
 * Long waits of the calling thread are reported under the name @p call (WAITIO_WARN_WAIT), which
 * stays as it is; "": not at all; NULL: as usual again. For libraries that wait by calls of this
 * one.
 */
void waitio_inside_name(const char *call);

/**
 * A thread of the program has been in @p call, of another library, for @p seconds. A warning in the
 * log says so if that is longer than WAITIO_WARN_WAIT.
 *
 * @param[out] again after how many seconds in that call to ask again
 * @return 0; ARG (NULL), STATE (not joined). Any thread
 */
int waitio_inside_elsewhere(const char *call, double seconds, double *again);

/**
 * An error of a provider's own call, treated like one of the library's: the error handler is
 * called, or the program ends, or the code is returned; waitio_last_error() gives the text.
 *
 * @param call what failed, for the message @param code WAITIO_ERR_* @param text why
 * @return @p code. Any thread
 */
int waitio_inside_error(const char *call, int code, const char *text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif /* WAITIO_INSIDE_H */
