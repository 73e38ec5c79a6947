/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on after a kill. */
#include "api/api.h"

int waitio_resume_mark(uint64_t *mark)
{
    static const char call[] = "waitio_resume_mark";
    struct wio_universe *u = wio_api_universe();
    if (mark == NULL)
        return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "mark is NULL"));
    return wio_api_result(call, u == NULL ? wio_last_code() : wio_resume_mark(u, mark));
}

int waitio_resume_from(uint64_t mark)
{
    struct wio_universe *u = wio_api_universe();
    return wio_api_result("waitio_resume_from",
                          u == NULL ? wio_last_code() : wio_resume_from(u, mark));
}
