/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is used again. */
#include "stage/spare.h"

#include <stdlib.h>

/* Kept at the beginning of the memory itself. */
struct wio_stg_spare {
    struct wio_stg_spare *next;
    size_t n;
};

/* What the allocator gets from the system for each call; the rest it keeps itself. */
static const size_t LEAST = 65536;

void *wio_stg_spare_take(struct wio_stg_spares *s, size_t n)
{
    for (struct wio_stg_spare **at = &s->first, *m; (m = *at) != NULL; at = &m->next)
        if (m->n == n) {
            *at = m->next;
            s->bytes -= n;
            return m;
        }
    return NULL;
}

void wio_stg_spare_give(struct wio_stg_spares *s, void *memory, size_t n, size_t most)
{
    struct wio_stg_spare *m = memory;

    if (m == NULL || n < LEAST || n > most || s->bytes > most - n) {
        free(memory);
        return;
    }
    *m = (struct wio_stg_spare){s->first, n};
    s->first = m;
    s->bytes += n;
}

void wio_stg_spare_free(struct wio_stg_spares *s)
{
    for (struct wio_stg_spare *m = s->first, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    *s = (struct wio_stg_spares){NULL, 0};
}
