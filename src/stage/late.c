/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libraries late. */
#include "stage/late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "stage/base.h"
#include "waitio_errors.h"

/* The program's threads and those of its streams may want a library at once. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* @return false: another release of the library, without all that is needed */
static bool find_all(const struct wio_stg_late *l, void *library)
{
    for (size_t i = 0; i < l->n; i++) {
        void *symbol = dlsym(library, l->symbols[i].name);

        if (symbol == NULL)
            return false;
        memcpy(l->symbols[i].place, &symbol, sizeof symbol);
    }
    return true;
}

static void load(struct wio_stg_late *l)
{
    for (size_t i = 0; !l->loaded && l->files[i] != NULL; i++) {
        void *library = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);

        if (library == NULL)
            continue;
        if (!find_all(l, library)) {
            (void)dlclose(library);
            continue;
        }
        if (l->begin != NULL)
            l->begin();
        l->loaded = true;
    }
}

int wio_stg_late_load(struct wio_stg_late *l)
{
    bool loaded;

    (void)pthread_mutex_lock(&loading);
    load(l);
    loaded = l->loaded;
    (void)pthread_mutex_unlock(&loading);
    return loaded ? 0
                  : wio_stg_fail(WAITIO_ERR_UNSUPPORTED,
                                 "the operator %s needs its library, which cannot be loaded (%s); "
                                 "%s, or take another operator",
                                 l->name, l->files[0], l->install);
}
