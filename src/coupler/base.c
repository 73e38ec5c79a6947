/* SPDX-License-Identifier: BSD-3-Clause */
/* Error texts and growing arrays. */
#include "coupler/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_errors.h"

static _Thread_local char why[1200];

int wio_cpl_fail(int code, const char *format, ...)
{
    char text[sizeof why]; /* the arguments may hold the old text */
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(why, text, sizeof why);
    return code;
}

const char *wio_cpl_why(void)
{
    return why;
}

void wio_cpl_text(char *out, size_t room, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(out, room, format, args);
    va_end(args);
}

char *wio_cpl_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = wio_cpl_new(n, 1);

    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

void *wio_cpl_new(size_t n, size_t size)
{
    void *at = calloc(n > 0 ? n : 1, size);

    if (at == NULL)
        (void)wio_cpl_fail(WAITIO_ERR_NOMEM, "no memory for %zu things of %zu bytes", n, size);
    return at;
}

uint64_t wio_cpl_hash(uint64_t seed, const char *text)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;

    for (const char *c = text; *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h;
}

void *wio_cpl_push(struct wio_cpl_list *list, size_t size)
{
    char *place;

    if (list->n == list->room) {
        size_t room = list->room < 8 ? 8 : list->room * 2;
        void *at = realloc(list->at, room * size);

        if (at == NULL) {
            (void)wio_cpl_fail(WAITIO_ERR_NOMEM, "no memory for %zu things of %zu bytes", room,
                               size);
            return NULL;
        }
        list->at = at;
        list->room = room;
    }
    place = (char *)list->at + list->n++ * size;
    memset(place, 0, size);
    return place;
}

void wio_cpl_list_free(struct wio_cpl_list *list)
{
    free(list->at);
    *list = (struct wio_cpl_list){NULL, 0, 0};
}

bool wio_cpl_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}
