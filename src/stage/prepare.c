/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stream's thread does to a step before it tells of it: derived variables, operators. */
#include "stage/derive.h"
#include "stage/writer.h"

static void count(struct wio_stg_writer *w, uint64_t raw, uint64_t packed)
{
    pthread_mutex_lock(&w->lock);
    w->raw_bytes += raw;
    w->packed_bytes += packed;
    pthread_mutex_unlock(&w->lock);
}

static int pack(struct wio_stg_writer *w, struct wio_stg_entry *e, struct wio_stg_put *p)
{
    struct wio_stg_packed *packed = wio_stg_pack_block(&p->op, p->type, &p->box, p->data, p->own);

    if (packed == NULL)
        return WAITIO_ERR_NOMEM;
    count(w, p->bytes, packed->bytes);
    p->packed = packed;
    p->own = NULL;
    p->data = NULL;
    pthread_mutex_lock(&w->lock);
    w->bytes -= p->bytes - packed->bytes;
    e->bytes -= p->bytes - packed->bytes;
    pthread_mutex_unlock(&w->lock);
    p->bytes = packed->bytes;
    return 0;
}

bool wio_stg_prepares(const struct wio_stg_entry *e)
{
    bool any = e->n_derived > 0;

    for (size_t i = 0; !any && i < e->n; i++)
        any = e->puts[i].op.codec != NULL || e->puts[i].derived != NULL;
    return any;
}

int wio_stg_prepare(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    int rc;

    if (!wio_stg_prepares(e))
        return 0;
    rc = wio_stg_derive(e, (uint32_t)w->s->rank); /* of what is not packed yet */
    for (size_t i = 0; rc == 0 && i < e->n; i++)
        if (e->puts[i].op.codec != NULL && e->puts[i].bytes > 0)
            rc = pack(w, e, &e->puts[i]);
    if (rc != 0 || e->extra == 0)
        return rc;
    pthread_mutex_lock(&w->lock);
    w->bytes -= e->extra;
    pthread_mutex_unlock(&w->lock);
    e->bytes -= e->extra;
    e->extra = 0;
    return 0;
}
