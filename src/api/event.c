/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors for programs that sleep in an event loop. */
#include "api/api.h"
#include "os/os.h"

int waitio_event_open(int *fd)
{
    static const char call[] = "waitio_event_open";
    if (fd == NULL)
        return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "fd is NULL"));
    *fd = -1;
    struct wio_universe *u = wio_api_universe();
    return wio_api_result(call, u == NULL ? wio_last_code() : wio_watch_open(u, fd));
}

int waitio_event_arm(int fd)
{
    struct wio_universe *u = wio_api_universe();
    return wio_api_result("waitio_event_arm", u == NULL ? wio_last_code() : wio_watch_arm(u, fd));
}

int waitio_while_waiting(waitio_idle_function *function)
{
    if (function == NULL && wio_api_forget_idle())
        return 0;
    struct wio_universe *u = wio_api_universe();
    if (u != NULL)
        wio_watch_idle(u, function);
    return wio_api_result("waitio_while_waiting", u == NULL ? wio_last_code() : 0);
}

int waitio_event_close(int fd)
{
    struct wio_universe *u = wio_api_current();
    int rc = 0;
    if (u != NULL)
        rc = wio_watch_close(u, fd);
    else
        wio_os_close(fd); /* the universe has ended, or belongs to the parent */
    return wio_api_result("waitio_event_close", rc);
}
