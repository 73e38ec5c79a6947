/* SPDX-License-Identifier: BSD-3-Clause */
/* Making hybrid communicators, and the operators. */
#include <stdlib.h>
#include <string.h>

#include "waitio_hybrid.h"
#include "hybrid/hybrid.h"

/* ---- a process that cannot take part ---- */

/* Where `part` is the text of an error, and its code. */
struct broken {
    int code;
    char text[512];
};

static int broken_members(void *part, int *size, int *rank)
{
    *size = *rank = 0;
    return ((struct broken *)part)->code;
}

static int broken_why(void *part, char *why, size_t nwhy)
{
    const struct broken *b = part;
    struct wio_hybrid_why to = {why, nwhy};

    return wio_hybrid_fail(&to, b->code, "%s", b->text);
}

static int broken_reduces(void *part, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op)
{
    (void)part, (void)type, (void)op;
    return 0;
}

static int broken_sub(void *part, int n, const int *ranks, void **out, char *why, size_t nwhy)
{
    (void)n, (void)ranks, (void)out;
    return broken_why(part, why, nwhy);
}

static void broken_free(void *part)
{
    free(part);
}

static int broken_run(void *part, const struct waitio_inside_call *call, char *why, size_t nwhy)
{
    (void)call;
    return broken_why(part, why, nwhy);
}

static int broken_start(void *part, const struct waitio_inside_call *call, void **op, char *why,
                        size_t nwhy)
{
    (void)call, (void)op;
    return broken_why(part, why, nwhy);
}

static int broken_test(void *part, void *op, int *done, char *why, size_t nwhy)
{
    (void)op;
    *done = 1;
    return broken_why(part, why, nwhy);
}

static void broken_abandon(void *part, void *op)
{
    (void)part, (void)op;
}

const struct waitio_inside_ops *wio_hybrid_broken(void)
{
    static const struct waitio_inside_ops ops = {
        .version = WAITIO_INSIDE_VERSION,
        .size = sizeof ops,
        .name = WAITIO_MPI_KIND " " WAITIO_MPI_RELEASE,
        .members = broken_members,
        .may_call = broken_why,
        .reduces = broken_reduces,
        .sub = broken_sub,
        .free = broken_free,
        .run = broken_run,
        .start = broken_start,
        .test = broken_test,
        .abandon = broken_abandon,
    };

    return &ops;
}

/* ---- the calls ---- */

/* All processes wait in attach for each other: who cannot take part says so there, and each gets an
 * error. */
static int attach_broken(int code, const char *text, int key, WAITIO_MPI_Comm *comm)
{
    struct broken *b = malloc(sizeof *b);
    int rc;

    if (b == NULL) /* and it waits until this process ends */
        return waitio_inside_error("waitio_hybrid_create", code, text);
    b->code = code;
    memcpy(b->text, text, sizeof b->text);
    rc = waitio_inside_attach(wio_hybrid_broken(), b, 1, key, comm);
    free(b);
    return rc != 0 ? rc : waitio_inside_error("waitio_hybrid_create", code, text);
}

int waitio_hybrid_create(MPI_Comm block, int key, WAITIO_MPI_Comm *comm)
{
    char text[512] = "";
    struct wio_hybrid_why why = {text, sizeof text};
    struct wio_hybrid_part *part = NULL;
    WAITIO_MPI_Comm unused;
    int rc = wio_hybrid_ready(&why);

    if (rc == 0)
        rc = wio_hybrid_may_call(&why);
    if (rc == 0 && comm == NULL)
        rc = wio_hybrid_fail(&why, WAITIO_ERR_ARG,
                             "comm is NULL: give a place for the communicator");
    if (comm == NULL)
        comm = &unused;
    *comm = WAITIO_MPI_COMM_NULL;
    if (rc == 0) { /* who joins waits for all: nobody may be in MPI then */
        int joined = waitio_init(0);
        if (joined != 0)
            return joined;
    }
    if (rc == 0 && block == MPI_COMM_NULL)
        return waitio_inside_attach(NULL, NULL, 0, key, comm);
    if (rc == 0)
        rc = wio_hybrid_part_meet(block, &why);
    if (rc == 0)
        rc = wio_hybrid_part_new(block, &part, &why);
    if (rc != 0)
        return attach_broken(rc, text, key, comm);
    rc = waitio_inside_attach(wio_hybrid_ops(), part, 1, key, comm);
    if (rc != 0)
        wio_hybrid_part_free(part);
    return rc;
}

int waitio_hybrid_create_world(WAITIO_MPI_Comm *comm)
{
    return waitio_hybrid_create(MPI_COMM_WORLD, 0, comm);
}

int waitio_hybrid_mpi(const char **name)
{
    if (name == NULL)
        return waitio_inside_error("waitio_hybrid_mpi", WAITIO_ERR_ARG,
                                   "name is NULL: give a place for the name");
    *name = wio_hybrid_built();
    return 0;
}

int waitio_hybrid_op(MPI_Op op, WAITIO_MPI_Op *out)
{
    static const char call[] = "waitio_hybrid_op";
    char text[512] = "";
    struct wio_hybrid_why why = {text, sizeof text};
    int rc = wio_hybrid_right_mpi(&why);

    if (rc != 0)
        return waitio_inside_error(call, rc, text);
    if (out == NULL || op == MPI_OP_NULL)
        return waitio_inside_error(call, WAITIO_ERR_ARG,
                                   out == NULL ? "out is NULL: give a place for the operator"
                                               : "op is MPI_OP_NULL: give an operator");
    for (int ours = WAITIO_MPI_SUM; ours <= WAITIO_MPI_MAXLOC; ours++)
        if (wio_hybrid_mpi_op(ours) == op) {
            *out = ours;
            return 0;
        }
    return waitio_inside_error(call, WAITIO_ERR_UNSUPPORTED,
                               op == MPI_REPLACE || op == MPI_NO_OP
                                   ? "MPI_REPLACE and MPI_NO_OP belong to one-sided calls, which "
                                     "the conversion library does not have"
                                   : "MPI tells nobody the function of a program's own operator: "
                                     "make it with WAITIO_MPI_Op_create(), too");
}
