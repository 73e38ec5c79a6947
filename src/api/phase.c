/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases of the program in its trace. */
#include "api/api.h"

/* Never joins: a library that marks its phases must not decide when its program does. */
static int mark(const char *call, uint8_t kind, const char *name)
{
    struct wio_universe *u = wio_api_current();
    if (name == NULL || name[0] == '\0')
        return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "a phase needs a name"));
    if (u == NULL || !wio_universe_traced(u))
        return 0;
    struct wio_event e = {.kind = kind};
    wio_text(e.name, sizeof e.name, "%s", name);
    (void)wio_universe_mark(u, &e);
    return 0;
}

int waitio_trace_begin(const char *name)
{
    return mark("waitio_trace_begin", WIO_EVENT_PHASE_BEGIN, name);
}

int waitio_trace_end(const char *name)
{
    return mark("waitio_trace_end", WIO_EVENT_PHASE_END, name);
}
