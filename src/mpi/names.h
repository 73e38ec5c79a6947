/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file names.h
 * Numbers for things the program holds by an integer: derived types, user operators. A number is
 * generation << 20 | WAITIO_MPI_DEFTAG | index. So it has the mark of all our numbers, differs from
 * the constants (generation 0), and is recognised as stale after it is freed.
 */
#ifndef WIO_MPI_NAMES_H
#define WIO_MPI_NAMES_H

#include <pthread.h>
#include <stdint.h>

struct wio_name {
    void *thing; /* NULL: free */
    uint32_t next_free;
    uint16_t generation;
};

struct wio_names {
    pthread_mutex_t lock;
    struct wio_name *slot;
    uint32_t n, free; /* free: first free slot + 1, 0 = none */
    uint32_t used;
};
#define WIO_NAMES_INIT                                                                             \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/** Numbers of constants have no generation. */
enum { WIO_NAME_GENERATION_BIT = 20 };
static inline int wio_name_is_constant(int number)
{
    return (uint32_t)number >> WIO_NAME_GENERATION_BIT == 0;
}

/** @param what for the message. @return 0; LIMIT, NOMEM */
int wio_names_add(struct wio_names *t, void *thing, const char *what, int *number);
/** NULL when there is none of that number. */
void *wio_names_find(struct wio_names *t, int number);
/** What the first number at or behind slot *i names, and *i behind it; NULL: no more. */
void *wio_names_next(struct wio_names *t, uint32_t *i);
/** Forget a number. @return what it named, or NULL */
void *wio_names_drop(struct wio_names *t, int number);

#endif /* WIO_MPI_NAMES_H */
