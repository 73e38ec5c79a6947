/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file derive.h
 * Derived variables: what a writer makes of arrays that were put in a step.
 */
#ifndef WIO_STG_DERIVE_H
#define WIO_STG_DERIVE_H

#include "stage/compute.h"
#include "stage/writer.h"

/** How a derived variable is made; it stays as it is until the stream is closed, so both threads
 * see it without the lock. */
struct wio_stg_derived {
    struct wio_stg_derived *next;
    enum wio_stg_rule what;
    char *name;
    int type;        /* of the sources */
    size_t variable; /* of a magnitude: what is defined for it */
    int n;           /* sources, as they were defined */
    size_t sources[WIO_STG_DIMS];
};

/** The program's thread, at the end of a step: put what will be derived. @return 0; ARG: blocks of
 * the sources do not fit together; LIMIT, NOMEM: then nothing was put */
int wio_stg_derive_puts(struct wio_stg_writer *w);
/** The stream's thread: make it. */
int wio_stg_derive(struct wio_stg_entry *e, uint32_t writer);
/** Is a derived variable of this name a scalar? */
bool wio_stg_derived_scalar(const struct wio_stg_writer *w, const char *name);
void wio_stg_derived_free(struct wio_stg_writer *w);

#endif
