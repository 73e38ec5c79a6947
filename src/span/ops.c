/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators. A predefined one is ours; of the program's own the vendor knows the language, so its
 * MPI_Reduce_local applies it.
 */
#include "os/os.h"
#include "span/call.h"

struct span_table span_ops = SPAN_TABLE_INIT;

/* An operator of the program that a call has used. */
struct user_op {
    MPI_Op vendors;
    WAITIO_MPI_Op ours;
    struct user_op *next; /* of those whose end was put off */
};

static struct span_table users = SPAN_TABLE_INIT; /* by the vendor's handle */
static struct user_op *late;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int span_ops_begin(void)
{
    const struct {
        MPI_Op vendors;
        WAITIO_MPI_Op ours;
    } list[] = {
        {MPI_SUM, WAITIO_MPI_SUM},       {MPI_MAX, WAITIO_MPI_MAX},
        {MPI_MIN, WAITIO_MPI_MIN},       {MPI_PROD, WAITIO_MPI_PROD},
        {MPI_LAND, WAITIO_MPI_LAND},     {MPI_BAND, WAITIO_MPI_BAND},
        {MPI_LOR, WAITIO_MPI_LOR},       {MPI_BOR, WAITIO_MPI_BOR},
        {MPI_LXOR, WAITIO_MPI_LXOR},     {MPI_BXOR, WAITIO_MPI_BXOR},
        {MPI_MINLOC, WAITIO_MPI_MINLOC}, {MPI_MAXLOC, WAITIO_MPI_MAXLOC},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (span_table_put(&span_ops, SPAN_KEY(list[i].vendors), (void *)(intptr_t)list[i].ours))
            return WAITIO_ERR_NOMEM;
    return 0;
}

static void apply(void *in, void *inout, int *length, WAITIO_MPI_Datatype *type, void *state)
{
    const struct user_op *op = state;

    (void)PMPI_Reduce_local(in, inout, *length, span_type_back(*type), op->vendors);
}

static int make(MPI_Op op)
{
    struct user_op *u = wio_os_alloc(sizeof *u);
    int commute = 0, rc = 0;

    if (u == NULL)
        return WAITIO_ERR_NOMEM;
    u->vendors = op;
    if (PMPI_Op_commutative(op, &commute) != MPI_SUCCESS)
        rc = WAITIO_MPI_ERR_OP;
    rc = rc != 0 ? rc : waitio_mpi_op_create_with(apply, u, commute, &u->ours);
    if (rc == 0 && (span_table_put(&users, SPAN_KEY(op), u) != 0 ||
                    span_table_put(&span_ops, SPAN_KEY(op), (void *)(intptr_t)u->ours) != 0))
        rc = WAITIO_ERR_NOMEM;
    if (rc != 0)
        wio_os_free(u);
    return rc != 0 ? rc : u->ours;
}

WAITIO_MPI_Op span_op_make(struct span_call *call, MPI_Op op)
{
    WAITIO_MPI_Op made;

    if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP)
        return WAITIO_MPI_OP_NULL; /* our call refuses it */
    made = make(op);
    if (made < 0) {
        call->code = made;
        call->why = "the operator cannot be used on a communicator that spans jobs";
        return WAITIO_MPI_OP_NULL;
    }
    return made;
}

static void forget(struct user_op *u)
{
    (void)WAITIO_MPI_Op_free(&u->ours);
    (void)span_vendor.Op_free(&u->vendors);
    wio_os_free(u);
}

void span_ops_sweep(void)
{
    pthread_mutex_lock(&mutex);
    struct user_op *u = late;
    late = NULL;
    pthread_mutex_unlock(&mutex);
    while (u != NULL) {
        struct user_op *next = u->next;
        forget(u);
        u = next;
    }
}

int PMPI_Op_free(MPI_Op *op)
{
    struct user_op *u = span_table_find(&users, SPAN_KEY(*op));

    if (u == NULL)
        return span_vendor.Op_free(op);
    span_table_drop(&users, SPAN_KEY(*op), u);
    span_table_drop(&span_ops, SPAN_KEY(*op), NULL);
    *op = MPI_OP_NULL;
    if (atomic_load(&span_folding) == 0) {
        forget(u);
        return MPI_SUCCESS;
    }
    pthread_mutex_lock(&mutex); /* operations under way may still apply it */
    u->next = late;
    late = u;
    pthread_mutex_unlock(&mutex);
    return MPI_SUCCESS;
}
SPAN_NAME(Op_free)

static void user_free(void *value)
{
    wio_os_free(value);
}

void span_ops_end(void)
{
    span_ops_sweep();
    span_table_each(&users, user_free);
    span_table_clear(&users);
    span_table_clear(&span_ops);
}
