/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many kings? It depends on the machine: one process may fill the border by itself, or be kept
 * busy copying, or hold one of several network cards. So when a hybrid communicator is made that
 * spans hosts, its members time a long broadcast and a reduction with one, two and four kings.
 *
 * All members take the same decisions, because they use the longest of their times only. A
 * communicator for each number carries the trial, so that nothing of it is left in this one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/inside.h"
#include "mpi/kings.h"
#include "os/os.h"

static const uint64_t TRIAL = 0x6b696e6773ULL;

enum {
    BYTES = 2 * 1024 * 1024, /* a piece for each of four kings */
    MOST_TRIED = 4,
    TIMES = 3
};
/* A border that needs longer for there and back is not measured: the link itself is slow, and the
 * program would wait for seconds. */
#define TOO_SLOW_NS 150000000LL

/* The members of a communicator that is being made, and memory for data. */
struct trial {
    const struct waitio_group *group;
    const struct wio_comm *c;
    WAITIO_MPI_Comm comm;  /* the one being made: its members agree here */
    WAITIO_MPI_Comm tried; /* with this number of kings */
    char *in, *out;
};

static int max_of_all(WAITIO_MPI_Comm comm, int64_t mine, int64_t *all)
{
    struct wio_call call = {.kind = WIO_ALLREDUCE,
                            .op = WAITIO_MPI_MAX,
                            .send = {.buf = &mine},
                            .recv = {.buf = all, .count = 1, .type = WAITIO_MPI_INT64_T}};

    return wio_coll_call(&call, comm, NULL);
}

/* Has any member failed? @return the own error with its text, or that another member has one */
static int agree(WAITIO_MPI_Comm comm, int rc)
{
    char why[256];
    int64_t worst = 0;
    int rc2;

    snprintf(why, sizeof why, "%s", wio_last_detail());
    rc2 = max_of_all(comm, rc < 0 ? -(int64_t)rc : rc, &worst);
    if (rc != 0)
        return wio_fail(rc, "%s", why);
    return rc2 != 0 || worst == 0
               ? rc2
               : wio_fail((int)-worst, "another member cannot measure how many of its block's "
                                       "processes carry long messages: its own message says why");
}

/* To all and back, so that the next one begins with all members. */
static int there_and_back(const struct trial *t, int64_t *ns)
{
    struct wio_call call = {
        .kind = WIO_BCAST,
        .recv = {.buf = t->out, .count = BYTES / (int)sizeof(double), .type = WAITIO_MPI_DOUBLE}};
    int64_t begun = wio_os_now_ns(), mine;
    int rc = wio_coll_call(&call, t->tried, NULL);

    call.kind = WIO_REDUCE;
    call.op = WAITIO_MPI_SUM;
    call.send.buf = t->in;
    if (rc == 0)
        rc = wio_coll_call(&call, t->tried, NULL);
    mine = wio_os_now_ns() - begun;
    return rc != 0 ? rc : max_of_all(t->tried, mine, ns);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The first one opens connections and is not counted. *ns: < 0 when it was too slow */
static int median(const struct trial *t, int64_t *ns)
{
    int64_t each[TIMES] = {0};
    int rc = there_and_back(t, ns);

    if (rc != 0 || *ns > TOO_SLOW_NS) {
        *ns = -*ns;
        return rc;
    }
    for (int i = 0; rc == 0 && i < TIMES; i++)
        rc = there_and_back(t, &each[i]);
    qsort(each, TIMES, sizeof *each, by_time);
    *ns = each[TIMES / 2];
    return rc;
}

/* A communicator like the one being made, with @p n kings. */
static int prepare(struct trial *t, const bool *named, int n)
{
    struct wio_comm like = *t->c;
    uint32_t *members = wio_comm_members(t->group);
    int rc = members == NULL ? WAITIO_ERR_NOMEM : 0;

    like.kings = NULL;
    if (rc == 0)
        rc = wio_kings_give(&like, named, n);
    if (rc == 0)
        rc = wio_comm_make(members, t->group->size,
                           wio_hash64(t->c->twin.space, TRIAL + (uint64_t)n), &t->tried);
    if (rc == 0)
        rc = wio_inside_derive(t->group, &like, t->tried->upper, true);
    wio_os_free(like.kings);
    wio_os_free(members);
    return rc;
}

static int try_kings(struct trial *t, const bool *named, int n, int64_t *ns)
{
    int rc = agree(t->comm, prepare(t, named, n));

    if (rc == 0)
        rc = median(t, ns);
    if (t->tried != NULL)
        (void)wio_mpi_comm_free(&t->tried);
    return rc;
}

/* How many there can be. */
static int most_kings(const struct wio_comm *c, const bool *named, int *most)
{
    struct wio_comm like = *c;
    int rc;

    like.kings = NULL;
    rc = wio_kings_give(&like, named, MOST_TRIED);
    *most = rc == 0 ? like.kings->n : 1;
    wio_os_free(like.kings);
    return rc;
}

int wio_kings_measure(WAITIO_MPI_Comm comm, const struct wio_comm *c, const bool *named, int *n)
{
    struct trial t = {.group = comm, .c = c, .comm = comm, .in = wio_os_alloc(2 * (size_t)BYTES)};
    struct wio_log *log = wio_universe_log(wio_api_universe());
    int64_t best = 0, ns = 0;
    int most = 1, rc = t.in == NULL || named == NULL
                           ? wio_fail(WAITIO_ERR_NOMEM, "no memory to measure with")
                           : 0;

    *n = 1;
    if (rc == 0)
        rc = most_kings(c, named, &most);
    rc = agree(comm, rc);
    if (rc == 0) {
        memset(t.in, 0, 2 * (size_t)BYTES);
        t.out = t.in + BYTES;
    }
    for (int k = 1; rc == 0 && ns >= 0 && most > 1 && k <= most; k *= 2) {
        rc = try_kings(&t, named, k, &ns);
        wio_debug(log, WIO_C_MPI, "%d kings of each block, %d bytes to all and back: %.1f us%s", k,
                  BYTES, (double)(ns < 0 ? -ns : ns) / 1e3, ns < 0 ? ", too slow to measure" : "");
        /* Another king costs connections and memory: it has to be worth them. */
        if (k > 1 && ns >= 0 && ns < best - best / 8)
            *n = k;
        if (k == *n)
            best = ns;
    }
    wio_os_free(t.in);
    return rc;
}
