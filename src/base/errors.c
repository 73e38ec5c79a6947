/* SPDX-License-Identifier: BSD-3-Clause */
/* The last failure of each thread. */
#include <errno.h>

#include "base/base.h"

enum { DETAIL = 1024, WHOLE = DETAIL + 256 };

struct last_error {
    int code;
    char detail[DETAIL];
    char whole[WHOLE]; /* detail and remedy, put together when somebody asks */
};
static _Thread_local struct last_error last;

/** Format first, store then: the arguments may point into the text that is replaced. */
static void store(int code, const char *fmt, va_list ap, const char *reason)
{
    char text[DETAIL];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0)
        text[0] = '\0';
    last.code = code;
    wio_text(last.detail, sizeof last.detail, "%s%s%s", text, reason != NULL ? ": " : "",
             reason != NULL ? reason : "");
}

int wio_fail(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    store(code, fmt, ap, NULL);
    va_end(ap);
    return code;
}

int wio_fail_os(int code, int oserr, const char *fmt, ...)
{
    if (code == WAITIO_ERR_SYSTEM && (oserr == -EMFILE || oserr == -ENFILE))
        code = WAITIO_ERR_LIMIT;
    else if (code == WAITIO_ERR_SYSTEM && oserr == -ENOMEM)
        code = WAITIO_ERR_NOMEM;
    va_list ap;
    va_start(ap, fmt);
    /* For numbers the system knows, strerror returns constant text in every C library of today. */
    store(code, fmt, ap, strerror(oserr < 0 ? -oserr : oserr));
    va_end(ap);
    return code;
}

const char *wio_last_error(void)
{
    if (last.code == 0)
        return "";
    const char *what = last.detail[0] != '\0' ? last.detail : wio_error_message(last.code);
    const char *remedy = wio_error_remedy(last.code);
    wio_text(last.whole, sizeof last.whole, "%s%s%s", what, remedy[0] != '\0' ? "; " : "", remedy);
    return last.whole;
}

const char *wio_last_detail(void)
{
    return last.code == 0 ? "" : last.detail;
}

int wio_last_code(void)
{
    return last.code;
}

void wio_clear_error(void)
{
    last.code = 0;
}
