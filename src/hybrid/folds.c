/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators that the library brings, as operators of MPI. MPI calls a function that gets operands
 * and a datatype, but not what the operation is. So each operation has a datatype of its own while
 * it is under way: as many bytes as an element has, with an attribute that leads to the operator.
 * Types are used again by later operations.
 *
 * MPI may go on with an operation that was given up, so its type is never used again.
 */
#include <stdlib.h>

#include "hybrid/hybrid.h"

/* A datatype of MPI. Never freed before MPI_Finalize(), for MPI may still call. */
struct wio_hybrid_lease {
    MPI_Datatype type;
    size_t bytes;
    struct wio_hybrid_lease *next;
    const struct waitio_inside_fold *fold; /* NULL: not in use */
    int failed;                            /* what the operator returned; changed atomically */
};

static struct {
    pthread_mutex_t lock; /* of what follows */
    bool made;
    int keyval;
    MPI_Op op[2]; /* by: it commutes */
    struct wio_hybrid_lease *leases;
    bool lost; /* MPI gave the function another datatype; changed atomically */
} folds = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Called by MPI, from any thread that is in it. */
static void apply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct wio_hybrid_lease *lease = NULL;
    int found = 0, rc = PMPI_Type_get_attr(*type, folds.keyval, &lease, &found);

    if (rc != MPI_SUCCESS || !found) {
        __atomic_store_n(&folds.lost, true, __ATOMIC_RELEASE);
        return;
    }
    rc = lease->fold->apply(lease->fold, in, inout, (size_t)*n);
    if (rc != 0)
        __atomic_store_n(&lease->failed, rc, __ATOMIC_RELEASE);
}

/* With the lock. */
static int make_operators(void)
{
    int rc = folds.made ? MPI_SUCCESS
                        : PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN,
                                                  &folds.keyval, NULL);

    if (folds.made || rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Op_create(apply, 0, &folds.op[0]);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Op_create(apply, 1, &folds.op[1]);
    folds.made = rc == MPI_SUCCESS;
    return rc;
}

/* With the lock. */
static int make_lease(size_t bytes, struct wio_hybrid_lease **out)
{
    struct wio_hybrid_lease *lease = calloc(1, sizeof *lease);
    int rc = lease == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;

    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_contiguous((int)bytes, MPI_BYTE, &lease->type);
    if (rc != MPI_SUCCESS) {
        free(lease);
        return rc;
    }
    rc = PMPI_Type_commit(&lease->type);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_set_attr(lease->type, folds.keyval, lease);
    if (rc != MPI_SUCCESS) {
        (void)PMPI_Type_free(&lease->type);
        free(lease);
        return rc;
    }
    lease->bytes = bytes;
    lease->next = folds.leases;
    folds.leases = lease;
    *out = lease;
    return MPI_SUCCESS;
}

/* With the lock. */
static struct wio_hybrid_lease *idle(size_t bytes)
{
    struct wio_hybrid_lease *at = folds.leases;

    while (at != NULL && (at->fold != NULL || at->bytes != bytes))
        at = at->next;
    return at;
}

int wio_hybrid_folds(void *part, size_t bytes, int commutes)
{
    (void)part, (void)commutes;
    return bytes > 0 && bytes <= WIO_HYBRID_MOST;
}

int wio_hybrid_fold_begin(struct wio_hybrid_op *op)
{
    const struct waitio_inside_fold *fold = op->call->fold;
    struct wio_hybrid_lease *lease = NULL;
    int rc;

    pthread_mutex_lock(&folds.lock);
    rc = make_operators();
    if (rc == MPI_SUCCESS)
        lease = idle(fold->bytes);
    if (rc == MPI_SUCCESS && lease == NULL)
        rc = make_lease(fold->bytes, &lease);
    if (rc == MPI_SUCCESS) {
        lease->fold = fold;
        lease->failed = 0;
        op->lease = lease;
        op->sum = (struct wio_hybrid_sum){lease->type, folds.op[fold->commutes != 0], fold->bytes};
    }
    pthread_mutex_unlock(&folds.lock);
    return rc;
}

int wio_hybrid_fold_end(struct wio_hybrid_op *op, struct wio_hybrid_why *why)
{
    int rc = 0;

    if (op->lease == NULL)
        return 0;
    rc = __atomic_load_n(&op->lease->failed, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&folds.lock);
    op->lease->fold = NULL;
    op->lease = NULL;
    pthread_mutex_unlock(&folds.lock);
    if (__atomic_load_n(&folds.lost, __ATOMIC_ACQUIRE))
        return wio_hybrid_fail(why, WAITIO_ERR_UNSUPPORTED,
                               "%s gives an operator another datatype than the call: set "
                               "WAITIO_HYBRID_INSIDE=messages",
                               wio_hybrid_loaded());
    return rc == 0 ? 0
                   : wio_hybrid_fail(why, rc,
                                     "the operator of the reduction failed (%d), most "
                                     "likely for lack of memory",
                                     rc);
}

/* In MPI_Finalize(). Types of operations that were given up stay. */
void wio_hybrid_folds_free(void)
{
    struct wio_hybrid_lease *next;

    pthread_mutex_lock(&folds.lock);
    for (struct wio_hybrid_lease *at = folds.leases; at != NULL; at = next) {
        next = at->next;
        if (at->fold != NULL)
            continue;
        (void)PMPI_Type_free(&at->type);
        free(at);
    }
    folds.leases = NULL;
    for (int i = 0; folds.made && i < 2; i++)
        (void)PMPI_Op_free(&folds.op[i]);
    folds.made = false;
    pthread_mutex_unlock(&folds.lock);
}
