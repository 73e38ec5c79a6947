/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators bound to types, and the program's own operators. */
#include "mpi/op/op.h"

#include <limits.h>

#include "mpi/mpi.h"
#include "mpi/names.h"
#include "os/os.h"

static struct wio_names names = WIO_NAMES_INIT;

static const char *const op_names[WIO_OP_COUNT] = {
    "SUM", "MAX", "MIN", "PROD", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MINLOC", "MAXLOC"};

static int unknown(WAITIO_MPI_Op op)
{
    if (op == WAITIO_MPI_OP_NULL)
        return wio_fail(WAITIO_MPI_ERR_OP,
                        "the operator is WAITIO_MPI_OP_NULL: give one, such as WAITIO_MPI_SUM");
    return wio_fail(WAITIO_MPI_ERR_OP,
                    "%d is not an operator of the conversion library, or was freed "
                    "(WAITIO_MPI_SUM is %d)",
                    op, WAITIO_MPI_SUM);
}

int wio_fold_bind(const struct wio_mpi_type *type, WAITIO_MPI_Op op, struct wio_fold *fold)
{
    int i = op - WAITIO_MPI_DEFTAG - 1;

    *fold = (struct wio_fold){.type = type, .commutative = true};
    if (op <= WAITIO_MPI_DEFTAG || i >= WIO_OP_COUNT) {
        fold->user = wio_names_find(&names, op);
        if (fold->user == NULL)
            return unknown(op);
        fold->commutative = fold->user->commutative;
        return 0;
    }
    fold->kernel = wio_op_kernel(type->kind, (enum wio_op_index)i);
    if (fold->kernel != NULL)
        return 0;
    return wio_fail(WAITIO_MPI_ERR_OP, "operator %s is not defined for type %s%s", op_names[i],
                    type->name, type->kind == WIO_KIND_DERIVED ? " (make one with Op_create)" : "");
}

static void user_release(struct wio_user_op *op)
{
    if (op != NULL && __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) == 0)
        wio_os_free(op);
}

void wio_fold_hold(const struct wio_fold *fold)
{
    if (fold->type != NULL)
        wio_type_hold(fold->type);
    if (fold->user != NULL)
        __atomic_add_fetch(&fold->user->refs, 1, __ATOMIC_RELAXED);
}

void wio_fold_release(const struct wio_fold *fold)
{
    wio_type_release(fold->type);
    user_release(fold->user);
}

/* ---- the program's functions: inout = in op inout, on elements as they lie in memory ---- */

enum { PIECE = 65536 };

/* Two operands in memory form; the second becomes the result. */
struct operands {
    char *memory, *a, *b; /* a, b: where element 0 would begin */
    size_t each;          /* elements at most */
};

static int operands_get(struct operands *o, const struct wio_mpi_type *t, size_t n)
{
    int64_t extent = wio_type_extent(t), reach = t->true_ub - t->true_lb;
    size_t step = (size_t)(extent < 0 ? -extent : extent), bytes;

    o->each = step > 0 ? PIECE / step : n;
    if (o->each == 0)
        o->each = 1;
    if (o->each > n)
        o->each = n;
    if (o->each > INT_MAX)
        o->each = INT_MAX;
    bytes = (o->each * step + (size_t)reach + 15) / 16 * 16;
    o->memory = wio_os_alloc(2 * bytes);
    if (o->memory == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes of operands", 2 * bytes);
    o->a = o->memory - t->true_lb;
    if (extent < 0)
        o->a -= (int64_t)(o->each - 1) * extent;
    o->b = o->a + bytes;
    return 0;
}

static int apply_user(const struct wio_fold *f, const void *a, const void *b, void *out, size_t n)
{
    const struct wio_mpi_type *t = f->type;
    WAITIO_MPI_Datatype id = t->id;
    const struct wio_mpi_type *before = wio_type_lend(t);
    struct operands o = {0};
    int rc = operands_get(&o, t, n);

    for (size_t done = 0; rc == 0 && done < n;) {
        size_t at = done * t->size, some = n - done < o.each ? n - done : o.each;
        WAITIO_MPI_Count wide = (WAITIO_MPI_Count)some;
        int length = (int)some;
        wio_type_unpack(t, o.a, 0, some * t->size, (const char *)a + at);
        wio_type_unpack(t, o.b, 0, some * t->size, (const char *)b + at);
        if (f->user->stateful != NULL)
            f->user->stateful(o.a, o.b, &length, &id, f->user->state);
        else if (f->user->wide != NULL)
            f->user->wide(o.a, o.b, &wide, &id);
        else
            f->user->function(o.a, o.b, &length, &id);
        wio_type_pack(t, o.b, 0, some * t->size, (char *)out + at);
        done += some;
    }
    wio_os_free(o.memory);
    (void)wio_type_lend(before);
    return rc;
}

int wio_fold_apply(const struct wio_fold *f, const void *a, const void *b, void *out, size_t n)
{
    if (n == 0)
        return 0;
    if (f->kernel == NULL)
        return apply_user(f, a, b, out, n);
    f->kernel(a, b, out, n);
    return 0;
}

int wio_fold_swapped(const struct wio_fold *f, const void *a, const void *b, void *out, size_t n)
{
    size_t size = f->type->size, each = size > PIECE ? 1 : PIECE / size;
    char *x, *y;
    int rc = 0;

    each = each > n ? n : each;
    x = wio_os_alloc(2 * each * size);
    if (x == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes of operands", 2 * each * size);
    y = x + each * size;
    for (size_t done = 0; rc == 0 && done < n; done += each) {
        size_t at = done * size, some = n - done < each ? n - done : each, bytes = some * size;
        memcpy(x, (const char *)a + at, bytes);
        memcpy(y, (const char *)b + at, bytes);
        wio_type_swap(f->type, bytes, x);
        wio_type_swap(f->type, bytes, y);
        rc = wio_fold_apply(f, x, y, y, some);
        wio_type_swap(f->type, bytes, y);
        memcpy((char *)out + at, y, bytes);
    }
    wio_os_free(x);
    return rc;
}

/* ---- public calls ---- */

static int create(const struct wio_user_op *like, WAITIO_MPI_Op *op)
{
    bool none = like->function == NULL && like->wide == NULL && like->stateful == NULL;
    struct wio_user_op *mine = NULL;
    int rc = none || op == NULL ? wio_fail(WAITIO_ERR_ARG, "the %s argument is NULL",
                                           none ? "function" : "operator")
                                : 0;

    if (rc == 0) {
        mine = wio_os_alloc(sizeof *mine);
        if (mine == NULL)
            rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for an operator");
    }
    if (rc == 0) {
        *mine = *like;
        mine->refs = 1;
        rc = wio_names_add(&names, mine, "operator", op);
    }
    if (rc != 0)
        wio_os_free(mine);
    return rc;
}

int WAITIO_MPI_Op_create(WAITIO_MPI_User_function *function, int commute, WAITIO_MPI_Op *op)
{
    struct wio_user_op like = {.function = function, .commutative = commute != 0};

    return wio_mpi_result("WAITIO_MPI_Op_create", create(&like, op));
}

int WAITIO_MPI_Op_create_c(WAITIO_MPI_User_function_c *function, int commute, WAITIO_MPI_Op *op)
{
    struct wio_user_op like = {.wide = function, .commutative = commute != 0};

    return wio_mpi_result("WAITIO_MPI_Op_create_c", create(&like, op));
}

int waitio_mpi_op_create_with(waitio_mpi_stateful_function *function, void *state, int commute,
                              WAITIO_MPI_Op *op)
{
    struct wio_user_op like = {.stateful = function, .state = state, .commutative = commute != 0};

    return wio_mpi_result("waitio_mpi_op_create_with", create(&like, op));
}

int WAITIO_MPI_Op_free(WAITIO_MPI_Op *op)
{
    struct wio_user_op *mine = op == NULL ? NULL : wio_names_drop(&names, *op);
    int rc = 0;

    if (mine != NULL) {
        user_release(mine);
        *op = WAITIO_MPI_OP_NULL;
    } else {
        rc = op == NULL ? wio_fail(WAITIO_ERR_ARG, "the operator argument is NULL")
             : *op > WAITIO_MPI_DEFTAG && *op <= WAITIO_MPI_DEFTAG + WIO_OP_COUNT
                 ? wio_fail(WAITIO_ERR_ARG, "%s is predefined and cannot be freed",
                            op_names[*op - WAITIO_MPI_DEFTAG - 1])
                 : unknown(*op);
    }
    return wio_mpi_result("WAITIO_MPI_Op_free", rc);
}

int WAITIO_MPI_Op_commutative(WAITIO_MPI_Op op, int *commute)
{
    const struct wio_user_op *mine = wio_names_find(&names, op);
    int rc = 0;

    if (mine != NULL)
        *commute = mine->commutative;
    else if (op > WAITIO_MPI_DEFTAG && op <= WAITIO_MPI_DEFTAG + WIO_OP_COUNT)
        *commute = 1;
    else
        rc = unknown(op);
    return wio_mpi_result("WAITIO_MPI_Op_commutative", rc);
}

static int check_operand(const char *name, const void *operand)
{
    if (operand == WAITIO_MPI_IN_PLACE)
        return wio_fail(WAITIO_MPI_ERR_BUFFER,
                        "the %s argument is WAITIO_MPI_IN_PLACE, which is for collectives", name);
    return wio_mpi_need(name, operand);
}

static int reduce_local(const void *in, void *inout, int64_t count, WAITIO_MPI_Datatype type,
                        WAITIO_MPI_Op op)
{
    const struct wio_mpi_type *t = NULL;
    struct wio_fold fold;
    char *packed = NULL;
    int rc = wio_type_use(count, type, &t);

    if (rc == 0)
        rc = wio_fold_bind(t, op, &fold);
    if (rc == 0 && count > 0 && !wio_type_absolute(t)) {
        rc = check_operand("input", in);
        rc = rc != 0 ? rc : check_operand("result", inout);
    }
    if (rc == 0 && count > 0) {
        size_t bytes = (size_t)count * t->size; /* below 2^63: wio_type_use() */
        packed = wio_os_alloc(2 * bytes + 1);
        if (packed == NULL)
            rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes of operands", 2 * bytes);
        if (rc == 0) {
            wio_type_pack(t, in, 0, bytes, packed);
            wio_type_pack(t, inout, 0, bytes, packed + bytes);
            rc = wio_fold_apply(&fold, packed, packed + bytes, packed + bytes, (size_t)count);
            wio_type_unpack(t, inout, 0, bytes, packed + bytes);
        }
        wio_os_free(packed);
    }
    return rc;
}

int WAITIO_MPI_Reduce_local(const void *in, void *inout, int count, WAITIO_MPI_Datatype type,
                            WAITIO_MPI_Op op)
{
    return wio_mpi_result("WAITIO_MPI_Reduce_local", reduce_local(in, inout, count, type, op));
}

int WAITIO_MPI_Reduce_local_c(const void *in, void *inout, WAITIO_MPI_Count count,
                              WAITIO_MPI_Datatype type, WAITIO_MPI_Op op)
{
    return wio_mpi_result("WAITIO_MPI_Reduce_local_c", reduce_local(in, inout, count, type, op));
}

size_t wio_op_named(void)
{
    return names.used;
}
