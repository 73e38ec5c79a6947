/* SPDX-License-Identifier: BSD-3-Clause */
/* Components, and the program's own messages between their processes. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

enum { MOST_TAG = 1000000 };

int waitio_cpl_components(waitio_cpl_t cpl, int *n, int *mine)
{
    *n = cpl->n_components;
    *mine = cpl->mine;
    return 0;
}

const char *waitio_cpl_component_name(waitio_cpl_t cpl, int i)
{
    return i >= 0 && i < cpl->n_components ? cpl->components[i].name : NULL;
}

int waitio_cpl_component_find(waitio_cpl_t cpl, const char *name, int *i)
{
    *i = wio_cpl_ensemble_find(cpl, name);
    return 0;
}

int waitio_cpl_component_size(waitio_cpl_t cpl, int i, int *n, int *rank)
{
    if (i < 0 || i >= cpl->n_components)
        return wio_cpl_leave(cpl, wio_cpl_fail(WAITIO_ERR_ARG, "there is no component %d of %d", i,
                                               cpl->n_components));
    *n = cpl->components[i].n;
    *rank = i == cpl->mine ? cpl->rank : -1;
    return 0;
}

int waitio_cpl_communicators(waitio_cpl_t cpl, WAITIO_MPI_Comm *component, WAITIO_MPI_Comm *all)
{
    *component = cpl->own;
    *all = cpl->all;
    return 0;
}

static int find(const struct waitio_cpl *cpl, int component, int process, int tag, int *rank)
{
    if (component < 0 || component >= cpl->n_components)
        return wio_cpl_fail(WAITIO_ERR_ARG, "a message with component %d of %d", component,
                            cpl->n_components);
    if (process < 0 || process >= cpl->components[component].n)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "a message with process %d of component '%s', which has %d", process,
                            cpl->components[component].name, cpl->components[component].n);
    if (tag < 0 || tag > MOST_TAG)
        return wio_cpl_fail(WAITIO_ERR_TAG, "a message with tag %d; tags are 0 to %d", tag,
                            MOST_TAG);
    *rank = cpl->components[component].ranks[process];
    return 0;
}

/* A message of the program. A process without points may have no array at all. */
struct message {
    int component, process, tag;
    bool sends;
    const void *out; /* what it sends, or ... */
    void *in;        /* ... where it receives */
    int count;
    WAITIO_MPI_Datatype type;
};

static int begin(struct waitio_cpl *cpl, const struct message *m, struct wio_cpl_op *op)
{
    int rc = find(cpl, m->component, m->process, m->tag, &op->peer);
    int tag = rc == 0 ? WIO_CPL_TAG_USER + m->tag : 0;

    if (rc == 0)
        rc = wio_cpl_trace(cpl, op, tag, m->sends, NULL);
    if (rc != 0)
        return rc;
    rc = m->sends ? WAITIO_MPI_Isend(m->out, m->count, m->type, op->peer, tag, cpl->all, &op->req)
                  : WAITIO_MPI_Irecv(m->in, m->count, m->type, op->peer, tag, cpl->all, &op->req);
    return rc != 0 ? wio_cpl_failed() : 0;
}

static int now(struct waitio_cpl *cpl, const struct message *m)
{
    struct wio_cpl_op op = {.peer = -1};
    int rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = begin(cpl, m, &op);
    if (rc == 0)
        rc = wio_cpl_wait(cpl, &op, 1);
    return wio_cpl_leave(cpl, rc);
}

static int later(struct waitio_cpl *cpl, const struct message *m)
{
    struct wio_cpl_op *op;
    int rc = wio_cpl_enter(cpl);

    if (rc != 0)
        return wio_cpl_leave(cpl, rc);
    op = wio_cpl_push(&cpl->pending, sizeof *op);
    if (op == NULL)
        return wio_cpl_leave(cpl, WAITIO_ERR_NOMEM);
    rc = begin(cpl, m, op);
    if (rc != 0)
        cpl->pending.n--;
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_send(waitio_cpl_t cpl, int component, int process, int tag, const void *buf,
                    int count, WAITIO_MPI_Datatype type)
{
    const struct message m = {component, process, tag, true, buf, NULL, count, type};

    return now(cpl, &m);
}

int waitio_cpl_recv(waitio_cpl_t cpl, int component, int process, int tag, void *buf, int count,
                    WAITIO_MPI_Datatype type)
{
    const struct message m = {component, process, tag, false, NULL, buf, count, type};

    return now(cpl, &m);
}

int waitio_cpl_isend(waitio_cpl_t cpl, int component, int process, int tag, const void *buf,
                     int count, WAITIO_MPI_Datatype type)
{
    const struct message m = {component, process, tag, true, buf, NULL, count, type};

    return later(cpl, &m);
}

int waitio_cpl_irecv(waitio_cpl_t cpl, int component, int process, int tag, void *buf, int count,
                     WAITIO_MPI_Datatype type)
{
    const struct message m = {component, process, tag, false, NULL, buf, count, type};

    return later(cpl, &m);
}

int waitio_cpl_wait(waitio_cpl_t cpl)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = wio_cpl_wait(cpl, cpl->pending.at, cpl->pending.n);
    if (rc == 0)
        cpl->pending.n = 0;
    return wio_cpl_leave(cpl, rc);
}

/* @param sender universe rank of the root */
static int bcast(struct waitio_cpl *cpl, int set, int sender, WAITIO_MPI_Comm comm, int root,
                 void *buf, int count, WAITIO_MPI_Datatype type)
{
    struct wio_cpl_op op = wio_cpl_collective(cpl, set, sender + 1);

    op.tag = WIO_CPL_TAG_USER;
    cpl->back.spoke = true;
    if (WAITIO_MPI_Ibcast(buf, count, type, root, comm, &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

int waitio_cpl_bcast_all(waitio_cpl_t cpl, int component, void *buf, int count,
                         WAITIO_MPI_Datatype type)
{
    int root = 0, rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = find(cpl, component, 0, 0, &root);
    if (rc == 0)
        rc = bcast(cpl, WIO_CPL_SET_ALL, root, cpl->all, root, buf, count, type);
    return wio_cpl_leave(cpl, rc);
}

int waitio_cpl_bcast_own(waitio_cpl_t cpl, int root, void *buf, int count, WAITIO_MPI_Datatype type)
{
    int rank = 0, rc = wio_cpl_enter(cpl);

    if (rc == 0)
        rc = find(cpl, cpl->mine, root, 0, &rank);
    if (rc == 0)
        rc = bcast(cpl, wio_cpl_set_own(cpl), rank, cpl->own, root, buf, count, type);
    return wio_cpl_leave(cpl, rc);
}
