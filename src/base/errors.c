/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last failure of each thread. The texts are on the heap, allocated at the first failure of a
 * thread: a library that is loaded late (for example by Python) has room for only a few bytes of
 * thread variables with fast access, and the engine lock has one of those.
 */
#include <errno.h>
#include <pthread.h>

#include "base/base.h"
#include "os/os.h"

enum { DETAIL = 1024, WHOLE = DETAIL + 256 };

struct last_error {
    char detail[DETAIL];
    char whole[WHOLE]; /* detail and remedy, joined on demand */
};
/* One piece: each thread-local variable by itself takes eight bytes of the room that is kept for
 * libraries loaded late. */
static _Thread_local struct {
    int code;
    bool shown;              /* the last error is on standard error already */
    bool kept;               /* errors are returned in this thread */
    struct last_error *last; /* NULL: no failure yet, or no memory for its text */
} mine;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* frees the texts of a thread that ends */
static bool have_key;

static void drop(void *texts_of_this_thread)
{
    mine.last = NULL;
    wio_os_free(texts_of_this_thread);
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, drop) == 0;
}

static struct last_error *texts(void)
{
    pthread_once(&once, make_key);
    if (mine.last == NULL && have_key) {
        mine.last = wio_os_alloc(sizeof *mine.last);
        if (mine.last != NULL && pthread_setspecific(key, mine.last) != 0) {
            wio_os_free(mine.last);
            mine.last = NULL;
        }
    }
    return mine.last;
}

/** Format before storing: the arguments may point into the old text. */
static void store(int code, const char *fmt, va_list ap, const char *reason)
{
    char text[DETAIL];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0)
        text[0] = '\0';
    mine.code = code;
    mine.shown = false;
    struct last_error *to = texts();
    if (to != NULL)
        wio_text(to->detail, sizeof to->detail, "%s%s%s", text, reason != NULL ? ": " : "",
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
    /* For known numbers strerror returns constant text in all current C libraries. */
    store(code, fmt, ap, strerror(oserr < 0 ? -oserr : oserr));
    va_end(ap);
    return code;
}

const char *wio_last_error(void)
{
    if (mine.code == 0)
        return "";
    if (mine.last == NULL)
        return wio_error_message(mine.code);
    const char *what =
        mine.last->detail[0] != '\0' ? mine.last->detail : wio_error_message(mine.code);
    const char *remedy = wio_error_remedy(mine.code);
    wio_text(mine.last->whole, sizeof mine.last->whole, "%s%s%s", what,
             remedy[0] != '\0' ? "; " : "", remedy);
    return mine.last->whole;
}

const char *wio_last_detail(void)
{
    return mine.code == 0 || mine.last == NULL ? "" : mine.last->detail;
}

void wio_error_shown(void)
{
    mine.shown = true;
}

bool wio_error_is_shown(void)
{
    return mine.code != 0 && mine.shown;
}

bool wio_errors_keep(bool on)
{
    bool before = mine.kept;
    mine.kept = on;
    return before;
}

bool wio_errors_kept(void)
{
    return mine.kept;
}

int wio_last_code(void)
{
    return mine.code;
}

void wio_clear_error(void)
{
    mine.code = 0;
}
