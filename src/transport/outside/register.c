/* SPDX-License-Identifier: BSD-3-Clause */
/** @file register.c  Registering: what is checked before a table of functions is believed. */
#include <pthread.h>
#include <stdatomic.h>

#include "transport/outside/outside.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const struct waitio_transport *) at[WAITIO_PLACES];

enum { NAME_MAX_LETTERS = 15 };

const struct waitio_transport *wio_outside_at(unsigned place)
{
    return place < WAITIO_PLACES ? atomic_load_explicit(&at[place], memory_order_acquire) : NULL;
}

#define SLOT(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct waitio_transport, name)                                             \
    }

/* @return the name of a slot that must be filled and is not, or NULL */
static const char *missing(const struct waitio_transport *t)
{
    static const struct {
        const char *name;
        size_t offset;
    } slots[] = {SLOT(query), SLOT(adapt),      SLOT(open),         SLOT(start),
                 SLOT(costs), SLOT(reachable),  SLOT(distance),     SLOT(connect),
                 SLOT(send),  SLOT(queued),     SLOT(progress),     SLOT(progress_link),
                 SLOT(close), SLOT(heard_ns),   SLOT(next_look_ns), SLOT(free_link),
                 SLOT(dump),  SLOT(close_iface)};
    for (size_t i = 0; i < WIO_ARRAY_LEN(slots); i++) {
        void (*fn)(void);
        memcpy(&fn, (const char *)t + slots[i].offset, sizeof fn);
        if (fn == NULL)
            return slots[i].name;
    }
    return NULL;
}

static int check(const struct waitio_transport *t)
{
    if (t == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the transport is NULL");
    if (t->version != WAITIO_TRANSPORT_VERSION)
        return wio_fail(WAITIO_ERR_VERSION,
                        "a transport was built for version %u of waitio_transport.h, this "
                        "libwaitio has version %d: build it anew with the header of this libwaitio",
                        t->version, WAITIO_TRANSPORT_VERSION);
    /* Later versions of the struct are longer; what lies behind ours is not looked at. */
    if (t->size < sizeof *t)
        return wio_fail(WAITIO_ERR_VERSION,
                        "a transport's table has %u bytes, version %d of waitio_transport.h has "
                        "%zu: set size to sizeof(struct waitio_transport), and build it anew",
                        t->size, WAITIO_TRANSPORT_VERSION, sizeof *t);
    if (t->name == NULL || t->name[0] == '\0' || strlen(t->name) > NAME_MAX_LETTERS)
        return wio_fail(WAITIO_ERR_ARG, "a transport needs a name of 1 to %d letters",
                        NAME_MAX_LETTERS);
    if (t->place >= WAITIO_PLACES)
        return wio_fail(WAITIO_ERR_ARG,
                        "transport %s wants place %u of the address table, there are %d: use "
                        "WAITIO_PLACE_OTHER",
                        t->name, t->place, WAITIO_PLACES);
    const char *slot = missing(t);
    if (slot != NULL)
        return wio_fail(WAITIO_ERR_ARG,
                        "transport %s has no %s(): only slots whose comment says "
                        "\"may be NULL\" may be left out",
                        t->name, slot);
    return 0;
}

static int taken(const struct waitio_transport *t)
{
    for (unsigned p = 0; p < WAITIO_PLACES; p++) {
        const struct waitio_transport *o = wio_outside_at(p);
        if (o == NULL)
            continue;
        if (strcmp(o->name, t->name) == 0)
            return wio_fail(WAITIO_ERR_STATE,
                            "a transport of the name %s is registered already (%s): load only one",
                            t->name, o->about != NULL ? o->about : "it does not say whose");
        if (p == t->place)
            return wio_fail(WAITIO_ERR_STATE,
                            "transport %s wants place %u of the address table, which transport %s "
                            "has: load only one of them",
                            t->name, p, o->name);
    }
    return 0;
}

int wio_outside_register(const struct waitio_transport *t)
{
    int rc = check(t);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&gate);
    if (wio_outside_at(t->place) != t) {
        rc = taken(t);
        if (rc == 0)
            atomic_store_explicit(&at[t->place], t, memory_order_release);
    }
    pthread_mutex_unlock(&gate);
    return rc;
}
