/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of neighbourhoods: a message along every edge of the topology. */
#include "mpi/collectives/collectives.h"

/* What is sent along edge i: its own block, or the one block for all. */
static const char *outgoing(const struct wio_collective *c, int i, size_t *bytes)
{
    *bytes = c->every ? c->bytes : wio_area_len(&c->ins, i);
    return c->every ? c->in : wio_area_at(&c->ins, i);
}

/*
 * Messages between two processes match in order, so the k-th send to a process matches its k-th
 * receive from here. In a grid what is sent to the left arrives from the right. So receives use the
 * two ends of a dimension in reverse order, which matters where both ends are the same process (a
 * periodic dimension of size 2 or 1).
 */
static int incoming(const struct wio_near *near, int i)
{
    return near->crossed ? i ^ 1 : i;
}

/* The next incoming edge from this process itself, from number @p at on. */
static int from_myself(const struct wio_schedule *s, const struct wio_near *near, int at)
{
    while (at < near->indegree && near->in[incoming(near, at)] != s->rank)
        at++;
    return at;
}

/* Edges of this process to itself: the k-th outgoing edge belongs to the k-th incoming one. */
static void to_myself(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_near *near = c->near;
    int at = from_myself(s, near, 0), i;

    for (i = 0; s->error == 0 && i < near->outdegree; i++) {
        const char *from;
        size_t bytes;
        if (near->out[i] != s->rank)
            continue;
        if (at == near->indegree)
            break;
        from = outgoing(c, i, &bytes);
        if (bytes != wio_area_len(&c->outs, incoming(near, at)))
            s->error =
                wio_fail(bytes > wio_area_len(&c->outs, incoming(near, at)) ? WAITIO_ERR_TRUNCATE
                                                                            : WAITIO_ERR_ARG,
                         "an edge to this process itself brings %zu bytes, its place has "
                         "%zu",
                         bytes, wio_area_len(&c->outs, incoming(near, at)));
        wio_schedule_copy(s, from, wio_area_at(&c->outs, incoming(near, at)), bytes);
        at = from_myself(s, near, at + 1);
    }
    if (s->error == 0 && (i < near->outdegree || at < near->indegree))
        s->error = wio_fail(WAITIO_ERR_ARG,
                            "this process has %s edges to itself than from itself: name each of "
                            "them among the sources and among the destinations",
                            i < near->outdegree ? "more" : "fewer");
}

void wio_neighbours_exchange(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_near *near = c->near;

    for (int k = 0; k < near->indegree; k++) {
        int i = incoming(near, k);
        if (near->in[i] != s->rank && near->in[i] != WAITIO_MPI_PROC_NULL)
            wio_schedule_recv(s, near->in[i], wio_area_at(&c->outs, i), wio_area_len(&c->outs, i));
    }
    for (int i = 0; i < near->outdegree; i++) {
        size_t bytes;
        const char *from = outgoing(c, i, &bytes);
        if (near->out[i] != s->rank && near->out[i] != WAITIO_MPI_PROC_NULL)
            wio_schedule_send(s, near->out[i], from, bytes);
    }
    to_myself(s, c);
    wio_schedule_round(s);
}
