/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long broadcasts and reductions over the wire: many pieces over several trees, of data with holes
 * and without, in place, one at a time and three at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum { COUNT = 300007, KINDS = 3, EVERY = 2 /* number is data, in the type with holes */ };

static int failures, me, n;
static WAITIO_MPI_Comm comm;
static WAITIO_MPI_Datatype column;

struct side {
    int *in, *out;
    int stride, in_place;
};

static int value(int rank, int i)
{
    return rank * 1009 + i % 5003;
}

static int expected(int kind, int root, int i)
{
    int sum = 0;

    if (kind == 0)
        return value(root, i);
    for (int r = 0; r < n; r++)
        sum += value(r, i);
    return sum;
}

static struct side make(int holes, int in_place)
{
    struct side s = {.stride = holes ? EVERY : 1, .in_place = in_place};
    size_t all = (size_t)COUNT * (size_t)s.stride;

    s.in = calloc(all, sizeof *s.in);
    s.out = calloc(all, sizeof *s.out);
    if (s.in == NULL || s.out == NULL)
        exit(2);
    for (int i = 0; i < COUNT; i++)
        s.in[(size_t)i * (size_t)s.stride] = value(me, i);
    return s;
}

/* Only the broadcast takes the type with holes: it has no operators. */
static void start(const struct side *s, int kind, int root, WAITIO_MPI_Request *req)
{
    WAITIO_MPI_Datatype type = s->stride > 1 ? column : WAITIO_MPI_INT;
    int *data = s->in_place || kind == 0 ? s->in : s->out;
    const void *from = s->in_place ? WAITIO_MPI_IN_PLACE : (const void *)s->in;

    if (kind == 0)
        WAITIO_MPI_Ibcast(data, s->stride > 1 ? 1 : COUNT, type, root, comm, req);
    else if (kind == 1)
        WAITIO_MPI_Ireduce(me == root ? from : s->in, data, COUNT, WAITIO_MPI_INT, WAITIO_MPI_SUM,
                           root, comm, req);
    else
        WAITIO_MPI_Iallreduce(from, data, COUNT, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm, req);
}

static void check(const struct side *s, int kind, int root)
{
    const int *data = s->in_place || kind == 0 ? s->in : s->out;

    for (int i = 0; (kind != 1 || me == root) && i < COUNT; i++)
        if (data[(size_t)i * (size_t)s->stride] != expected(kind, root, i)) {
            if (failures++ == 0)
                fprintf(stderr, "coll_long: kind %d root %d stride %d element %d is wrong\n", kind,
                        root, s->stride, i);
            return;
        }
}

int main(void)
{
    comm = open_world();
    waitio_group_rank(comm, &me);
    waitio_group_size(comm, &n);
    WAITIO_MPI_Type_vector(COUNT, 1, EVERY, WAITIO_MPI_INT, &column);
    WAITIO_MPI_Type_commit(&column);
    for (int in_place = 0; in_place < 2; in_place++)
        for (int together = 0; together < 2; together++)
            for (int root = 0; root<n; root += n> 1 ? n - 1 : 1) {
                struct side s[KINDS];
                WAITIO_MPI_Request req[KINDS];
                for (int k = 0; k < KINDS; k++) {
                    s[k] = make(k == 0 && in_place, in_place);
                    start(&s[k], k, root, &req[k]);
                    if (!together)
                        WAITIO_MPI_Wait(&req[k], WAITIO_MPI_STATUS_IGNORE);
                }
                WAITIO_MPI_Waitall(KINDS, req, WAITIO_MPI_STATUSES_IGNORE);
                for (int k = 0; k < KINDS; k++) {
                    check(&s[k], k, root);
                    free(s[k].in);
                    free(s[k].out);
                }
            }
    WAITIO_MPI_Type_free(&column);
    waitio_mpi_barrier(comm);
    close_world(&comm);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
