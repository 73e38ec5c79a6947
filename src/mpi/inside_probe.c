/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider or messages? The machine decides: across hosts a vendor's MPI knows the network better,
 * on one host shared memory may be quicker, and an MPI that only spins takes milliseconds where
 * processes share processors. So when a hybrid communicator is made, the members of each PB measure
 * both, for short, medium and long data, a few milliseconds each.
 */
#include <stdlib.h>

#include "mpi/coll.h"
#include "mpi/inside.h"
#include "os/os.h"

static const uint64_t PROBE = 0x70726f6265ULL;
static const size_t sizes[WIO_INSIDE_CLASSES] = {8, 32 * 1024, 512 * 1024};

enum { FEW = 3, MOST = 100 };
#define ENOUGH_NS 1500000LL

uint8_t wio_inside_class(size_t bytes)
{
    return bytes <= 4096 ? 1 : bytes <= 128 * 1024 ? 2 : 4;
}

/* Members of my PB, the two ways they have, and memory for data. */
struct probe {
    WAITIO_MPI_Comm comm; /* without a provider */
    struct wio_inside *inside;
    char *in, *out;
};

static int by_provider(const struct probe *p, enum waitio_inside_kind kind, size_t bytes)
{
    struct waitio_inside_call call = {.kind = kind,
                                      .in = p->in,
                                      .out = p->out,
                                      .bytes = bytes,
                                      .count = bytes / sizeof(double),
                                      .type = WAITIO_MPI_DOUBLE,
                                      .op = WAITIO_MPI_SUM};
    const struct waitio_inside_ops *ops = p->inside->ops;
    void *part = p->inside->part[0].part, *op = NULL;
    char why[256] = "";
    int done = 0, rc = p->inside->blocks ? ops->run(part, &call, why, sizeof why)
                                         : ops->start(part, &call, &op, why, sizeof why);

    while (rc == 0 && !p->inside->blocks && !done)
        rc = ops->test(part, op, &done, why, sizeof why);
    return rc == 0 ? 0 : wio_fail(rc, "%s: %s", p->inside->ops->name, why);
}

static int by_messages(const struct probe *p, enum wio_collective_kind kind, size_t bytes)
{
    struct wio_call call = {
        .kind = kind,
        .op = WAITIO_MPI_SUM,
        .send = {.buf = p->in},
        .recv = {.buf = p->out, .count = (int)(bytes / sizeof(double)), .type = WAITIO_MPI_DOUBLE}};

    return wio_coll_call(&call, p->comm, NULL);
}

/* To all and back, so that the next one begins with all members. */
static int there_and_back(const struct probe *p, bool provider, size_t bytes)
{
    int rc =
        provider ? by_provider(p, WAITIO_INSIDE_BCAST, bytes) : by_messages(p, WIO_BCAST, bytes);

    if (rc != 0)
        return rc;
    return provider ? by_provider(p, WAITIO_INSIDE_REDUCE, bytes)
                    : by_messages(p, WIO_REDUCE, bytes);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The longest time of all members. */
static int slowest(const struct probe *p, int64_t mine, int64_t *all)
{
    struct wio_call call = {.kind = WIO_ALLREDUCE,
                            .op = WAITIO_MPI_MAX,
                            .send = {.buf = &mine},
                            .recv = {.buf = all, .count = 1, .type = WAITIO_MPI_INT64_T}};

    return wio_coll_call(&call, p->comm, NULL);
}

/* The median of @p n, of the member that needs longest. */
static int times(const struct probe *p, bool provider, size_t bytes, int n, int64_t *ns)
{
    int64_t t[MOST];
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        int64_t begun = wio_os_now_ns();
        rc = there_and_back(p, provider, bytes);
        t[i] = wio_os_now_ns() - begun;
    }
    if (rc != 0)
        return rc;
    qsort(t, (size_t)n, sizeof *t, by_time);
    return slowest(p, t[n / 2], ns);
}

/* Quick ways are measured more often. */
static int measure(const struct probe *p, bool provider, size_t bytes, int64_t *ns)
{
    int64_t more, first = 0;
    int rc = times(p, provider, bytes, FEW, &first);

    *ns = first;
    more = first <= 0 ? MOST : ENOUGH_NS / first;
    if (rc == 0 && more > FEW)
        rc = times(p, provider, bytes, more > MOST ? MOST : (int)more, ns);
    return rc;
}

static int choose(struct probe *p, struct wio_log *log)
{
    int rc = 0;

    p->inside->uses = 0;
    for (int i = 0; rc == 0 && i < WIO_INSIDE_CLASSES; i++) {
        int64_t provider = 0, messages = 0;
        rc = measure(p, true, sizes[i], &provider);
        if (rc == 0)
            rc = measure(p, false, sizes[i], &messages);
        if (provider < messages)
            p->inside->uses |= wio_inside_class(sizes[i]);
        wio_debug(log, WIO_C_MPI,
                  "inside the block, %zu bytes to all and back: %s %.1f us, messages %.1f us",
                  sizes[i], p->inside->ops->name, (double)provider / 1e3, (double)messages / 1e3);
    }
    return rc;
}

int wio_inside_probe(const struct wio_comm *c, struct wio_log *log)
{
    struct probe p = {.inside = c->inside};
    uint32_t *members = wio_os_alloc((size_t)c->size * sizeof *members), n = 0;
    int mine = c->topo.pb[c->rank], rc;
    size_t most = sizes[WIO_INSIDE_CLASSES - 1];

    p.in = wio_os_alloc(2 * most);
    p.out = p.in == NULL ? NULL : p.in + most;
    rc = members == NULL || p.in == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory to measure with")
                                         : 0;
    for (int i = 0; rc == 0 && i < c->size; i++)
        if (c->topo.pb[i] == mine)
            members[n++] = wio_group_member(&c->twin, (uint32_t)i);
    if (rc == 0) {
        memset(p.in, 0, 2 * most);
        rc = wio_comm_make(members, n, wio_hash64(c->twin.space, PROBE + (uint64_t)mine), &p.comm);
    }
    if (rc == 0)
        rc = choose(&p, log);
    if (p.comm != NULL)
        (void)wio_mpi_comm_free(&p.comm);
    wio_os_free(members);
    wio_os_free(p.in);
    return rc;
}
