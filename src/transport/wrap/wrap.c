/* SPDX-License-Identifier: BSD-3-Clause */
/** @file wrap.c  The value of WAITIO_WRAP: a colon list of check, fault=SEED. */
#include <stdlib.h>

#include "transport/wrap/wrap.h"

static bool word_is(const char *word, size_t n, const char *what)
{
    return n == strlen(what) && memcmp(word, what, n) == 0;
}

const struct wio_transport *wio_transport_wrapped(enum wio_transport_id id,
                                                  const struct wio_config *cfg, struct wio_log *lg)
{
    const struct wio_transport *tr = wio_transport_get(id);
    for (const char *at = cfg->wrap; tr != NULL && *at != '\0';) {
        size_t n = strcspn(at, ":");
        if (word_is(at, n, "check")) {
            const struct wio_transport *check = wio_wrap_check(id);
            tr = check != NULL ? check : tr;
        } else if (n > 6 && memcmp(at, "fault=", 6) == 0) {
            wio_wrap_fault(strtoull(at + 6, NULL, 10));
        } else if (n > 0) {
            wio_warn(lg, WIO_C_CONFIG,
                     "WAITIO_WRAP: unknown word \"%.*s\" (known: check, fault=SEED)", (int)n, at);
        }
        at += n + (at[n] == ':');
    }
    return tr;
}
