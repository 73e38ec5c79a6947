/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file late.h
 * Libraries that are loaded when the first operator needs them: programs without operators neither
 * need nor load them, and no header of theirs is needed to build.
 */
#ifndef WIO_STG_LATE_H
#define WIO_STG_LATE_H

#include <stdbool.h>
#include <stddef.h>

/** A function or a number of the library, and the pointer that shall hold its address. */
struct wio_stg_symbol {
    const char *name;
    void *place;
};

/** A library as its user describes it. `loaded` is false at first. */
struct wio_stg_late {
    const char *name;         /* for messages */
    const char *const *files; /* by preference, ended by NULL */
    const char *install;      /* what to do when there is none */
    const struct wio_stg_symbol *symbols;
    size_t n;
    void (*begin)(void); /* once, after loading; or NULL */
    bool loaded;
};

/** Load it, the first time. Any thread. It stays loaded until the process ends.
 * @return 0; UNSUPPORTED: what is missing and what to install */
int wio_stg_late_load(struct wio_stg_late *l);

#endif
