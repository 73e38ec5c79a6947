/* SPDX-License-Identifier: BSD-3-Clause */
/* What readers' processes ask a writer for. */
#include "stage/plan.h"
#include "stage/writer.h"

#include <stdlib.h>

static struct wio_stg_entry *find_entry(struct wio_stg_writer *w, int64_t step)
{
    struct wio_stg_entry *e;

    for (e = w->first; e != NULL && e->step != step; e = e->next)
        continue;
    return e != NULL && (e->direct || (e->told && !e->released)) ? e : NULL;
}

/* The block that a piece is of. @return NULL: there is none, or the piece is not of it */
static const struct wio_stg_put *find_put(const struct wio_stg_entry *e,
                                          const struct wio_stg_piece *p)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->puts[i].array == p->array && e->puts[i].block == p->block)
            return wio_stg_box_within(&p->box, &e->puts[i].box) ? &e->puts[i] : NULL;
    return NULL;
}

/* Of a block that an operator has packed: the chunks that the piece touches. */
static int give_packed(struct wio_stg_writer *w, struct wio_stg_entry *entry,
                       const struct wio_stg_put *put, const struct wio_stg_piece *p, int to,
                       int tag)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc = wio_stg_packed_write(put->packed, &p->box, &b) ? 0 : WAITIO_ERR_NOMEM;

    entry->sends++;
    if (rc == 0)
        rc = wio_stg_give(&w->office, to, tag, b.at, b.n, b.at, WIO_STG_K_SENT, entry);
    if (rc != 0) {
        entry->sends--;
        wio_stg_bytes_free(&b);
    }
    return rc;
}

/* Pieces that are not one piece of memory are packed. */
static int give(struct wio_stg_writer *w, struct wio_stg_entry *entry,
                const struct wio_stg_piece *p, int to, int tag)
{
    const struct wio_stg_put *put = entry != NULL ? find_put(entry, p) : NULL;
    unsigned char *own = NULL;
    const char *from;
    uint64_t at, n;
    size_t size;
    int rc;

    if (put == NULL) /* the reader says what was wrong: it gets too few bytes */
        return wio_stg_give(&w->office, to, tag, "", 0, NULL, WIO_STG_NOBODY, NULL);
    size = put->size;
    (void)wio_stg_box_volume(&p->box, &n);
    if (put->packed != NULL)
        return give_packed(w, entry, put, p, to, tag);
    if (wio_stg_box_solid(&put->box, &p->box, &at)) {
        from = put->data + at * size;
    } else {
        own = malloc(n * size);
        if (own == NULL)
            return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory to pack %llu elements for a reader",
                                (unsigned long long)n);
        wio_stg_box_copy(size, &put->box, put->data, &p->box, own, &p->box);
        from = (const char *)own;
    }
    entry->sends++;
    rc = wio_stg_give(&w->office, to, tag, from, n * size, own, WIO_STG_K_SENT, entry);
    if (rc != 0) {
        entry->sends--;
        free(own);
    }
    return rc;
}

static struct wio_stg_asked *asked_of(struct wio_stg_writer *w, int64_t group, int source)
{
    struct wio_stg_asked *a = w->asked;

    while (a != NULL && (a->group != group || a->source != source))
        a = a->next;
    if (a == NULL) {
        a = wio_stg_new(1, sizeof *a);
        if (a == NULL)
            return NULL;
        a->group = group;
        a->source = source;
        a->next = w->asked;
        w->asked = a;
    }
    return a;
}

void wio_stg_forget(struct wio_stg_writer *w, int64_t group)
{
    struct wio_stg_asked **at = &w->asked;

    while (*at != NULL) {
        struct wio_stg_asked *a = *at;

        if (group >= 0 && a->group != group) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        wio_stg_bytes_free(&a->pieces);
        free(a);
    }
}

/* A piece behind others. */
static int append(const struct wio_stg_entry *e, const struct wio_stg_piece *p,
                  struct wio_stg_bytes *out, size_t most)
{
    const struct wio_stg_put *put = find_put(e, p);
    unsigned char packed[4096];
    uint64_t at, n;

    if (put == NULL || put->packed != NULL || !wio_stg_box_volume(&p->box, &n) ||
        n > most / put->size)
        return 1;
    if (wio_stg_box_solid(&put->box, &p->box, &at)) {
        wio_stg_put_raw(out, put->data + at * put->size, n * put->size);
        return 0;
    }
    if (n * put->size > sizeof packed)
        return 1;
    wio_stg_box_copy(put->size, &put->box, put->data, &p->box, packed, &p->box);
    wio_stg_put_raw(out, packed, n * put->size);
    return 0;
}

int wio_stg_pack(struct wio_stg_writer *w, const struct wio_stg_entry *e, int source,
                 struct wio_stg_bytes *out, int64_t *plan, size_t most)
{
    const struct wio_stg_asked *a = w->asked;
    size_t before = out->n;
    struct wio_stg_scan s;
    int rc = 0;

    while (a != NULL && (a->group != w->direct.group || a->source != source))
        a = a->next;
    if (a == NULL || a->pieces.n == 0)
        return 1;
    *plan = a->plan;
    s = (struct wio_stg_scan){a->pieces.at, a->pieces.n, false};
    while (rc == 0 && s.left > 0) {
        struct wio_stg_piece p;

        rc = !wio_stg_piece_read(&s, &p) || append(e, &p, out, most) != 0 || out->n - before > most;
    }
    if (rc != 0)
        out->n = before;
    return rc;
}

static int give_all(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    bool again = e->head.c == 1;
    struct wio_stg_asked *a = asked_of(w, e->head.a, e->source);
    struct wio_stg_entry *entry = find_entry(w, e->head.b);
    struct wio_stg_scan s;
    int rc = 0;

    if (a == NULL)
        return WAITIO_ERR_NOMEM;
    if (e->head.a < 0)
        return 0;
    if (!again) {
        a->pieces.n = 0;
        wio_stg_put_raw(&a->pieces, e->body, e->n_body);
    }
    if (a->pieces.bad)
        return WAITIO_ERR_NOMEM;
    a->plan = e->head.d;
    w->reused += again;
    w->plans += !again;
    s = (struct wio_stg_scan){a->pieces.at, a->pieces.n, false};
    while (rc == 0 && s.left > 0) {
        struct wio_stg_piece p;

        if (!wio_stg_piece_read(&s, &p))
            break; /* the reader waits for what never comes, and ends at its limit */
        rc = give(w, entry, &p, e->source, wio_stg_tag(e->head.a, WIO_STG_G_DATA));
    }
    return rc;
}

int wio_stg_give_pieces(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    int rc;

    pthread_mutex_lock(&w->lock); /* the program's thread pushes, and frees what has been read */
    rc = give_all(w, e);
    pthread_mutex_unlock(&w->lock);
    return rc;
}
