/* SPDX-License-Identifier: BSD-3-Clause */
/** @file host.c  What libraries of transports may ask of us. */
#include "os/os.h"
#include "transport/outside/outside.h"

static int host_fail(int code, const char *format, ...) WIO_PRINTF(2, 3);
static int host_fail(int code, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return wio_fail(code, "%s", text);
}

static void host_log(const struct waitio_open_params *open, int level, const char *format, ...)
    WIO_PRINTF(3, 4);
static void host_log(const struct waitio_open_params *open, int level, const char *format, ...)
{
    struct outside_iface *f = open->core;
    struct wio_log *lg = f->base.p.log;
    enum wio_log_level l = level <= 0 ? WIO_LOG_ERROR : (enum wio_log_level)level;
    if (lg == NULL || l > lg->level[WIO_C_MPI])
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wio_log_emit(lg, WIO_C_MPI, l, "%s: %s", f->t->name, text);
}

static int host_own_thread(void)
{
    return wio_os_thread_is_own();
}

static int host_setting(const struct waitio_open_params *open, const char *name, char *buf,
                        size_t n)
{
    struct outside_iface *f = open->core;
    const struct wio_config_row *row;
    for (int i = 0; i < WIO_CFG_VARS && (row = wio_config_row(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0) {
            wio_config_value(f->base.p.cfg, i, buf, n);
            return 0;
        }
    return wio_fail(WAITIO_ERR_ARG, "there is no variable %s", name);
}

const struct waitio_host wio_outside_host = {
    .size = sizeof(struct waitio_host),
    .version = WAITIO_TRANSPORT_VERSION,
    .fail = host_fail,
    .last_error = wio_last_detail,
    .log = host_log,
    .now_ns = wio_os_now_ns,
    .sleep_ns = wio_os_sleep_ns,
    .own_thread = host_own_thread,
    .alloc = wio_os_alloc,
    .free = wio_os_free,
    .setting = host_setting,
    .environment = wio_os_getenv,
};
