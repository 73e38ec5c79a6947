/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far ahead of its receiver must a sender be able to go?
 *
 * With a lag above 0 a receiver waits in its step at T for what is put up to T + shift. Until then
 * it takes nothing of later steps, so a sender that waited until such messages are taken would wait
 * for itself. The receiver may also wait for a third component that waits for the sender: at each
 * link on the way the time grows by its shift at most. So the shifts of all pairs of components on
 * ways from the sender to the receiver, added up, bound how far the sender can have to go.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

/* Longer than any run. */
static const int64_t EVER = (int64_t)1 << 52;

struct web {
    size_t n; /* components */
    const char **names;
    bool *after, *before; /* by component: on a way from the sender, to the receiver */
    int64_t *shift;       /* [from][to]: the greatest; -1: there is no link */
};

static size_t number_of(struct web *w, const char *name)
{
    size_t i = 0;

    while (i < w->n && strcmp(w->names[i], name) != 0)
        i++;
    if (i == w->n)
        w->names[w->n++] = name;
    return i;
}

static int get_memory(struct web *w, const struct wio_cpl_conf *conf, const char *from,
                      const char *to)
{
    w->names = wio_cpl_new(conf->links.n * 2 + 2, sizeof *w->names);
    if (w->names == NULL)
        return WAITIO_ERR_NOMEM;
    (void)number_of(w, from);
    (void)number_of(w, to);
    for (size_t i = 0; i < conf->links.n; i++) {
        (void)number_of(w, wio_cpl_conf_link(conf, i)->comp_put);
        (void)number_of(w, wio_cpl_conf_link(conf, i)->comp_get);
    }
    w->after = wio_cpl_new(w->n, sizeof *w->after);
    w->before = wio_cpl_new(w->n, sizeof *w->before);
    w->shift = wio_cpl_new(w->n * w->n, sizeof *w->shift);
    return w->after == NULL || w->before == NULL || w->shift == NULL ? WAITIO_ERR_NOMEM : 0;
}

static void add_links(struct web *w, const struct wio_cpl_conf *conf)
{
    for (size_t i = 0; i < w->n * w->n; i++)
        w->shift[i] = -1;
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);
        int64_t shift = wio_cpl_link_shift(l);
        size_t from = number_of(w, l->comp_put), to = number_of(w, l->comp_get);
        int64_t *place = &w->shift[from * w->n + to];

        shift = shift > 0 ? shift : 0;
        *place = shift > *place ? shift : *place;
    }
}

/* All that is reached from the first component, or from which the second one is, without passing
 * the other of the two. */
static void reach(const struct web *w, bool *on, size_t start, size_t but, bool forward)
{
    bool more = true;

    on[start] = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < w->n * w->n; i++) {
            size_t a = forward ? i / w->n : i % w->n, b = forward ? i % w->n : i / w->n;

            if (w->shift[i] < 0 || !on[a] || on[b] || b == but)
                continue;
            on[b] = more = true;
        }
    }
}

int wio_cpl_conf_lead(const struct wio_cpl_conf *conf, const char *from, const char *to,
                      int64_t *lead)
{
    enum { SENDER, RECEIVER };
    struct web w = {.n = 0};
    int rc = get_memory(&w, conf, from, to);

    *lead = 0;
    if (rc == 0) {
        add_links(&w, conf);
        reach(&w, w.after, SENDER, RECEIVER, true);
        reach(&w, w.before, RECEIVER, SENDER, false);
    }
    for (size_t i = 0; rc == 0 && i < w.n * w.n; i++)
        if (w.shift[i] > 0 && w.after[i / w.n] && w.before[i % w.n])
            *lead += w.shift[i] < EVER - *lead ? w.shift[i] : EVER - *lead;
    free(w.names);
    free(w.after);
    free(w.before);
    free(w.shift);
    return rc;
}
