/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file pages.c
 * Data as a client keeps it: pages that were read, which grow old, and pages that were written,
 * which wait. A page that reached beyond the end of the file when it was read has zeros there,
 * also when the file has grown since. Waiting pages are written in any order, so another client
 * sees the end of a message before its beginning. An error of a page that is written late is said
 * at the next fsync or close, and the page is lost: so do NFS and the page cache of Linux.
 */
#include "weakfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SNAPSHOT_MAX (256u << 20)
#define DIRTY_MAX 32768u /* pages of a file */

static struct inode *dirty_list;
static uint64_t order;

static struct page **slot(struct inode *i, size_t p)
{
    if (p >= i->npages) {
        size_t n = p + 1 + p / 2;
        struct page **more = realloc(i->pages, n * sizeof *more);
        if (more == NULL)
            return NULL;
        memset(more + i->npages, 0, (n - i->npages) * sizeof *more);
        i->pages = more;
        i->npages = n;
    }
    return &i->pages[p];
}

static bool is_dirty(const struct page *p)
{
    return p != NULL && p->lo < p->hi;
}

static void enlist(struct inode *i)
{
    if (i->ndirty++ > 0)
        return;
    i->next_due = NEVER;
    i->dirty_next = dirty_list;
    i->dirty_prev = &dirty_list;
    if (dirty_list != NULL)
        dirty_list->dirty_prev = &i->dirty_next;
    dirty_list = i;
}

static void delist(struct inode *i)
{
    if (--i->ndirty > 0)
        return;
    *i->dirty_prev = i->dirty_next;
    if (i->dirty_next != NULL)
        i->dirty_next->dirty_prev = i->dirty_prev;
}

static int64_t mtime_of(const struct inode *i)
{
    struct stat st;
    return fstat(i->fd, &st) != 0 ? 0
                                  : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* The page with what this client knows of it. */
static int get(struct inode *i, size_t at, bool load, struct page **out)
{
    struct page **where = slot(i, at);
    if (where == NULL)
        return ENOMEM;
    int64_t now = now_ns();
    struct page *p = *where;
    *out = p;
    if (is_dirty(p) || (p != NULL && now < p->expires)) {
        counts.stale_pages += !is_dirty(p) && opt.page_ms != 0 && mtime_of(i) > p->loaded;
        return 0;
    }
    if (p == NULL && (p = *out = malloc(sizeof *p)) == NULL)
        return ENOMEM;
    memset(p, 0, sizeof *p);
    *where = p;
    p->loaded = now;
    p->expires = later(now, opt.page_ms);
    if (!load)
        return 0;
    ssize_t n =
        inode_is_stale(i) ? (errno = ESTALE, -1) : pread(i->io, p->data, PAGE, (off_t)(at * PAGE));
    if (n < 0) {
        counts.stale_files += errno == ESTALE;
        *where = NULL;
        free(p);
        return errno;
    }
    return 0;
}

/* The kernel's own time of a change is that of its last tick, some milliseconds ago: a page that
 * was read before the change would count as read after it. */
static void tell_time(const struct inode *i)
{
    struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}};
    clock_gettime(CLOCK_REALTIME, &t[1]);
    (void)futimens(i->io, t);
}

/* Out to the file. The page stays, clean. */
static int put(struct inode *i, size_t at)
{
    struct page *p = i->pages[at];
    int err = fault("flush");
    if (err == 0 && inode_is_stale(i)) {
        err = ESTALE;
        counts.stale_files++;
    }
    for (size_t done = p->lo; err == 0 && done < p->hi;) {
        ssize_t n = pwrite(i->io, p->data + done, p->hi - done, (off_t)(at * PAGE + done));
        if (n < 0)
            err = errno;
        else
            done += (size_t)n;
    }
    if (err == 0)
        tell_time(i);
    p->lo = p->hi = 0;
    p->expires = later(now_ns(), opt.page_ms);
    delist(i);
    if (err != 0) { /* lost */
        free(p);
        i->pages[at] = NULL;
    }
    return err;
}

ssize_t pages_read(struct inode *i, uint8_t *to, size_t n, uint64_t at)
{
    struct stat st;
    int err = inode_stat(i, &st);
    if (err != 0)
        return -err;
    if (at >= i->size)
        return 0;
    n = n < i->size - at ? n : i->size - at;
    for (size_t done = 0; done < n;) {
        struct page *p;
        size_t from = (at + done) % PAGE, some = PAGE - from < n - done ? PAGE - from : n - done;
        err = get(i, (at + done) / PAGE, true, &p);
        if (err != 0)
            return done > 0 ? (ssize_t)done : -err;
        memcpy(to + done, p->data + from, some);
        done += some;
    }
    return (ssize_t)n;
}

static int64_t when_out(void)
{
    int64_t now = now_ns();
    return percent(opt.early) ? now : later(now, opt.write_ms);
}

static int write_page(struct inode *i, size_t at, unsigned lo, unsigned hi, const uint8_t *from)
{
    struct page *p;
    int err = get(i, at, lo > 0 || hi < PAGE, &p);
    if (err == 0 && is_dirty(p) && (lo > p->hi || hi < p->lo)) /* one piece a page */
        err = put(i, at);
    if (err != 0 || p == NULL)
        return err;
    memcpy(p->data + lo, from, hi - lo);
    if (!is_dirty(p)) {
        p->lo = lo;
        p->hi = hi;
        p->due = when_out();
        p->order = ++order;
        counts.held += p->due > now_ns();
        enlist(i);
    } else {
        p->lo = lo < p->lo ? lo : p->lo;
        p->hi = hi > p->hi ? hi : p->hi;
    }
    i->next_due = p->due < i->next_due ? p->due : i->next_due;
    return 0;
}

/* What is due of a file; with @p all everything, from either end. */
static int put_due(struct inode *i, bool all)
{
    int64_t now = now_ns(), next = NEVER;
    bool down = draw(2);
    uint64_t last = 0;
    int err = 0;
    for (size_t k = 0; k < i->npages && i->ndirty > 0; k++) {
        size_t at = down ? i->npages - 1 - k : k;
        struct page *p = i->pages[at];
        if (!is_dirty(p))
            continue;
        if (!all && now < p->due) {
            next = p->due < next ? p->due : next;
            last = p->order;
            continue;
        }
        counts.reordered += p->order < last || (last > 0 && !all);
        last = p->order > last ? p->order : last;
        int one = put(i, at);
        err = err != 0 ? err : one;
    }
    i->next_due = next;
    return err;
}

ssize_t pages_write(struct inode *i, const uint8_t *from, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        size_t lo = (at + done) % PAGE, some = PAGE - lo < n - done ? PAGE - lo : n - done;
        int err =
            write_page(i, (at + done) / PAGE, (unsigned)lo, (unsigned)(lo + some), from + done);
        if (err != 0)
            return done > 0 ? (ssize_t)done : -err;
        done += some;
        i->size = at + done > i->size ? at + done : i->size;
    }
    int err = 0;
    if (opt.write_ms == 0 || i->ndirty > DIRTY_MAX)
        err = put_due(i, true);
    else if (i->next_due <= now_ns())
        i->err = i->err != 0 ? i->err : put_due(i, false);
    return err != 0 ? -err : (ssize_t)n;
}

int pages_flush(struct inode *i)
{
    int err = put_due(i, true);
    err = i->err != 0 ? i->err : err;
    i->err = 0;
    return err;
}

void pages_drop(struct inode *i)
{
    for (size_t p = 0; p < i->npages; p++)
        if (!is_dirty(i->pages[p])) {
            free(i->pages[p]);
            i->pages[p] = NULL;
        }
}

void pages_resize(struct inode *i, uint64_t size)
{
    for (size_t p = size / PAGE; p < i->npages; p++) /* the last one is read again */
        if (!is_dirty(i->pages[p])) {
            free(i->pages[p]);
            i->pages[p] = NULL;
        }
    i->size = size;
}

void pages_snapshot(struct inode *i)
{
    struct page *p;
    for (uint64_t at = 0; at < i->size && at < SNAPSHOT_MAX; at += PAGE)
        if (get(i, at / PAGE, true, &p) != 0)
            return; /* read when needed: says the error then */
}

void pages_free(struct inode *i)
{
    (void)put_due(i, true);
    pages_drop(i);
    free(i->pages);
}

int pages_tick(void)
{
    int64_t now = now_ns(), next = NEVER;
    for (struct inode *i = dirty_list, *after; i != NULL; i = after) {
        after = i->dirty_next;
        if (i->next_due <= now) {
            int err = put_due(i, false);
            i->err = i->err != 0 ? i->err : err;
        }
        next = i->next_due < next ? i->next_due : next;
    }
    if (next == NEVER || next - now > 1000000000)
        return 1000;
    return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}
