/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file serving.h
 * What waitio-serv and waitio-relay begin with: settings, and signals that end them in order. Each
 * is one program of one thread.
 */
#ifndef WAITIO_TOOLS_SERVING_H
#define WAITIO_TOOLS_SERVING_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/base.h"

/** Read the settings; the log goes where they say. @return 0, or the error with its text */
static inline int serving_load(struct wio_config *cfg, struct wio_log *log)
{
    int rc = wio_log_init(log, "warn", "");
    if (rc == 0)
        rc = wio_config_load(cfg, log);
    return rc == 0 ? wio_log_init(log, cfg->log, cfg->log_file) : rc;
}

static int serving_stop[2] = {-1, -1};

static inline void serving_on_signal(int sig)
{
    int saved = errno;
    ssize_t n = write(serving_stop[1], "x", 1);
    (void)n;
    (void)sig;
    errno = saved;
}

/** SIGTERM and SIGINT become readable bytes in @p fd; SIGHUP and SIGPIPE mean nothing.
 * @return 0, or SYSTEM */
static inline int serving_watch_signals(int *fd)
{
    struct sigaction sa = {.sa_handler = serving_on_signal};
    if (pipe2(serving_stop, O_CLOEXEC | O_NONBLOCK) != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, -errno, "pipe");
    sigemptyset(&sa.sa_mask);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGINT, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &sa, NULL);
    sigaction(SIGPIPE, &sa, NULL); /* splice() to a closed socket */
    *fd = serving_stop[0];
    return 0;
}

#endif
