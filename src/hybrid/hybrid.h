/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file hybrid.h
 * Inside of the provider libraries libwaitio_hybrid_<mpi>: a part of a hybrid communicator
 * (waitio_inside.h) is a communicator of the MPI that the library was built for. One set of sources
 * for all MPIs. MPI is called by its second names (PMPI_): whoever replaces the first ones, such as
 * a tracing tool, sees the program's calls and not these.
 */
#ifndef WIO_HYBRID_H
#define WIO_HYBRID_H

#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waitio_inside.h"

/** Largest count that a call of MPI takes; tests lower it to come into the ways of long data. */
#ifndef WIO_HYBRID_MOST
#define WIO_HYBRID_MOST INT_MAX
#endif
/** Bytes or elements that longer data is cut into. */
#define WIO_HYBRID_PIECE ((WIO_HYBRID_MOST / 2 + 1) & ~15)
/** Calls with large counts (MPI-4). Also says whether v-forms may be used where only the root knows
 * the places: with int counts it might find that they do not fit while the others are in the call.
 */
#define WIO_HYBRID_LARGE (MPI_VERSION >= 4)

/** Members of one PB in one communicator. */
struct wio_hybrid_part {
    MPI_Comm comm; /**< of our own; MPI_COMM_NULL: MPI_Finalize() has begun */
    int size, rank;
    bool plain;                    /**< comm may be used without a lock */
    bool unused;                   /**< given back by a thread that must not call MPI */
    struct wio_hybrid_part *next;  /**< all parts, for MPI_Finalize() */
    struct wio_hybrid_part **back; /**< what points to this one; NULL: not in the list */
};

struct wio_hybrid_lease;

/** How MPI reduces: elements of @p bytes. */
struct wio_hybrid_sum {
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
};

/** An operation that has been started. */
struct wio_hybrid_op {
    int n; /**< requests */
    MPI_Request one, *req;
    int *ints;  /**< counts and places that MPI reads until the end, or NULL */
    char *temp; /**< data on its way, or NULL */
    /** What is left to do when the requests are complete, or NULL. */
    void (*finish)(struct wio_hybrid_op *op);
    const struct waitio_inside_call *call;
    const struct wio_hybrid_part *part;
    struct wio_hybrid_sum sum;      /**< reductions */
    struct wio_hybrid_lease *lease; /**< of an operator that the library brings, or NULL */
    struct wio_hybrid_op *next;     /**< given up, but still MPI's */
};

/** Where the error's text goes. */
struct wio_hybrid_why {
    char *text;
    size_t room;
};

/* ---- state.c: what this process knows of its MPI ---- */

/** The MPI that is loaded is the one that this library was built for, and between MPI_Init() and
 * MPI_Finalize(). Called before any handle of MPI is touched. @return 0; VERSION, STATE */
int wio_hybrid_ready(struct wio_hybrid_why *why);
/** The first half of that, at any time. */
int wio_hybrid_right_mpi(struct wio_hybrid_why *why);
/** Name and version of the loaded MPI, for errors. */
const char *wio_hybrid_loaded(void);
/** Name and version of the MPI that the library was built for. */
const char *wio_hybrid_built(void);
/** The calling thread may call MPI. @return 0; STATE */
int wio_hybrid_may_call(struct wio_hybrid_why *why);
/** One thread at a time calls MPI (MPI_THREAD_SERIALIZED); nothing with other levels. */
void wio_hybrid_lock(void);
void wio_hybrid_unlock(void);
/** Does MPI want that? */
bool wio_hybrid_serialized(void);
/** Note a part, so that its communicator is freed when MPI_Finalize() begins. */
void wio_hybrid_note(struct wio_hybrid_part *part);
/** A part is given back. @return is it the caller's? If not, MPI_Finalize() frees it, because the
 * caller must not call MPI (@p may_call) */
bool wio_hybrid_forget(struct wio_hybrid_part *part, bool may_call);

/* ---- errors.c ---- */

/** Put a text. @return @p code */
int wio_hybrid_fail(struct wio_hybrid_why *why, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** The text of an error of MPI. @param what the call @return the library's code */
int wio_hybrid_mpi_error(struct wio_hybrid_why *why, int rc, const char *what);

/* ---- part.c: the slots of the table about parts ---- */

/** Wait until all members of @p from are here, without blocking in MPI: operations of ours go on
 * meanwhile, and a long wait is reported. The caller has joined. @blocking collective
 * @return 0; ARG: an intercommunicator; SYSTEM */
int wio_hybrid_part_meet(MPI_Comm from, struct wio_hybrid_why *why);
/** A part of the members of @p from, which has one group. Joins nobody. @blocking in MPI,
 * collective
 * @return 0; SYSTEM, NOMEM */
int wio_hybrid_part_new(MPI_Comm from, struct wio_hybrid_part **out, struct wio_hybrid_why *why);
int wio_hybrid_members(void *part, int *size, int *rank);
int wio_hybrid_part_may_call(void *part, char *why, size_t nwhy);
int wio_hybrid_sub(void *part, int n, const int *ranks, void **out, char *why, size_t nwhy);
void wio_hybrid_part_free(void *part);
/** The table. */
const struct waitio_inside_ops *wio_hybrid_ops(void);
/** A table whose parts are the text of an error: passed on where this process cannot take part, so
 * that all processes get an error and none waits. */
const struct waitio_inside_ops *wio_hybrid_broken(void);

/* ---- run.c: the slots about operations ---- */

int wio_hybrid_run(void *part, const struct waitio_inside_call *call, char *why, size_t nwhy);
int wio_hybrid_start(void *part, const struct waitio_inside_call *call, void **op, char *why,
                     size_t nwhy);
int wio_hybrid_test(void *part, void *op, int *done, char *why, size_t nwhy);
void wio_hybrid_abandon(void *part, void *op);

/* ---- ways of an operation. They return MPI's code; with op == NULL or op->req == NULL they are
 * complete on return. ---- */

/** How an operation is made of calls of MPI. All members choose the same (APART: as PLAIN or PIECES
 * for the others). */
enum wio_hybrid_way {
    WIO_HYBRID_PLAIN,    /**< one call (calls.h) */
    WIO_HYBRID_PIECES,   /**< several, each for a piece (pieces.c) */
    WIO_HYBRID_BLOCKS,   /**< one with an array of blocks (blocks.c) */
    WIO_HYBRID_APART,    /**< a reduction in place with the operand elsewhere (pieces.c) */
    WIO_HYBRID_MESSAGES, /**< messages between the members (messages.c) */
    WIO_HYBRID_REDUCES   /**< REDUCE_SCATTER: a reduction for each block (pieces.c) */
};

int wio_hybrid_pieces(struct wio_hybrid_op *op, bool later);
int wio_hybrid_apart(struct wio_hybrid_op *op, bool later);
int wio_hybrid_blocks(struct wio_hybrid_op *op, bool later);
int wio_hybrid_messages(struct wio_hybrid_op *op);
int wio_hybrid_reduces_all(struct wio_hybrid_op *op, bool later);
/** One call for a piece. @param req NULL: complete on return */
int wio_hybrid_piece(const struct wio_hybrid_op *op, const struct waitio_inside_call *call,
                     MPI_Request *req);

/** Room for @p n requests. @return MPI_SUCCESS, MPI_ERR_NO_MEM */
int wio_hybrid_requests(struct wio_hybrid_op *op, size_t n);

/* ---- types.c, ops.c: predefined types and operators on both sides ---- */

/** The MPI's type that reduces like @p type; MPI_DATATYPE_NULL: none. @param[out] bytes of one
 * element, also in memory */
MPI_Datatype wio_hybrid_folding_type(WAITIO_MPI_Datatype type, size_t *bytes);
/** The conversion library's type of a predefined one; 0: none. */
WAITIO_MPI_Datatype wio_hybrid_named_type(MPI_Datatype type);
/** Look up what MPI has; once, after MPI_Init(). */
void wio_hybrid_types_look(void);

/** Does MPI order numbers of this type? What wio_hybrid_types_look() has tried. */
bool wio_hybrid_orders(WAITIO_MPI_Datatype type);

/* ---- trial.c ---- */

/** Has MPI the right MIN and MAX for integers of @p ours, by its type @p theirs? */
bool wio_hybrid_compares(WAITIO_MPI_Datatype ours, MPI_Datatype theirs, size_t bytes);

/** By number - WAITIO_MPI_DEFTAG - 1; see wio_hybrid_op_look(). */
MPI_Op wio_hybrid_mpi_op(WAITIO_MPI_Op op);
int wio_hybrid_reduces(void *part, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op);

/** How MPI does a reduction without call->fold. */
struct wio_hybrid_sum wio_hybrid_known_sum(const struct waitio_inside_call *call);

/* ---- folds.c: operators that the library brings ---- */

int wio_hybrid_folds(void *part, size_t bytes, int commutes);
/** Set op->sum and op->lease for op->call->fold. @return MPI's code */
int wio_hybrid_fold_begin(struct wio_hybrid_op *op);
/** The operation is complete, and MPI does not call the operator any more. Nothing without a lease.
 * @return 0; what the operator returned */
int wio_hybrid_fold_end(struct wio_hybrid_op *op, struct wio_hybrid_why *why);
/** MPI_Finalize() has begun. */
void wio_hybrid_folds_free(void);

/** Kinds of arithmetic, which decide the operators of a type. */
enum wio_hybrid_class {
    WIO_HYBRID_NONE,
    WIO_HYBRID_INTEGER,
    WIO_HYBRID_REAL,
    WIO_HYBRID_COMPLEX,
    WIO_HYBRID_LOGICAL,
    WIO_HYBRID_BYTES,
    WIO_HYBRID_PAIR
};
/** Of @p type. */
enum wio_hybrid_class wio_hybrid_class_of(WAITIO_MPI_Datatype type);

/* ---- apart.c: derived types ---- */

/** Constructor and arguments of a type, as MPI_Type_get_contents() gives them. */
struct wio_hybrid_recipe {
    int combiner;
    bool derived; /**< else nothing follows */
    int ni, na, nt;
    int *i;
    MPI_Aint *a;
    MPI_Datatype *t;
};

/** Take a type apart. @param[out] r cleared by wio_hybrid_recipe_clear(), also on failure @return
 * 0; NOMEM, UNSUPPORTED, SYSTEM */
int wio_hybrid_recipe_get(MPI_Datatype type, struct wio_hybrid_recipe *r,
                          struct wio_hybrid_why *why);
void wio_hybrid_recipe_clear(struct wio_hybrid_recipe *r);
/** Make the conversion library's type. @param[out] out the caller frees it @return 0; UNSUPPORTED;
 * what the constructor returned, which has treated its error already (*why stays empty) */
int wio_hybrid_rebuild(const struct wio_hybrid_recipe *r, const WAITIO_MPI_Datatype *parts,
                       WAITIO_MPI_Datatype *out, struct wio_hybrid_why *why);

#endif /* WIO_HYBRID_H */
