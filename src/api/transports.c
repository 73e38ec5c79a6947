/* SPDX-License-Identifier: BSD-3-Clause */
/* Where outside libraries register their transports. */
#include "api/api.h"
#include "transport/outside/outside.h"

int waitio_transport_register(const struct waitio_transport *t)
{
    const char *call = "waitio_transport_register";
    if (wio_api_current() != NULL)
        return wio_api_result(call,
                              wio_fail(WAITIO_ERR_STATE,
                                       "transport %s comes too late: this process has joined the "
                                       "universe already; register before waitio_init",
                                       t != NULL && t->name != NULL ? t->name : "(NULL)"));
    return wio_api_result(call, wio_outside_register(t));
}
