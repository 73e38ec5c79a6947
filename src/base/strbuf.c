/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that grows, and text that fits. */
#include "base/base.h"
#include "os/os.h"

/** Make room for @p more bytes and the end. */
static bool make_room(struct wio_strbuf *sb, size_t more)
{
    if (more >= SIZE_MAX / 2 - sb->len)
        return false;
    size_t need = sb->len + more + 1;
    if (need <= sb->cap)
        return true;
    size_t cap = sb->cap < 64 ? 128 : sb->cap * 2;
    if (cap < need)
        cap = need;
    char *text = wio_os_realloc(sb->text, cap);
    if (text == NULL)
        return false;
    sb->text = text;
    sb->cap = cap;
    return true;
}

void wio_strbuf_add(struct wio_strbuf *sb, const char *fmt, ...)
{
    if (sb->failed)
        return;
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !make_room(sb, (size_t)n)) {
        sb->failed = true;
    } else {
        vsnprintf(sb->text + sb->len, sb->cap - sb->len, fmt, again);
        sb->len += (size_t)n;
    }
    va_end(again);
}

void wio_strbuf_free(struct wio_strbuf *sb)
{
    wio_os_free(sb->text);
    *sb = (struct wio_strbuf){0};
}

size_t wio_text(char *buf, size_t n, const char *fmt, ...)
{
    if (n == 0)
        return 0;
    va_list ap;
    va_start(ap, fmt);
    int r = vsnprintf(buf, n, fmt, ap);
    va_end(ap);
    if (r < 0) {
        buf[0] = '\0';
        return 0;
    }
    return (size_t)r < n ? (size_t)r : n - 1;
}
