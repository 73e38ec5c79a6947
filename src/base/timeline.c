/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a trace: making it, its clocks, its end. */
#include "base/timeline.h"

#include <errno.h>
#include <pthread.h>

#define LOOK_TICKS (INT64_C(1) << 28) /* about a tenth of a second */
#define LEAST_SLOTS 64u
#define POPULATED ((size_t)1 << 20)

static struct wio_timeline_clock read_clocks(const struct wio_timeline *t)
{
    struct wio_timeline_clock c = {.ticks = wio_timeline_now(t)};
    c.monotonic_ns = wio_os_now_ns();
    c.wall_ns = wio_os_wall_ns();
    return c;
}

void wio_timeline_begin(struct wio_timeline *t, struct wio_timeline_clock *first)
{
    *t = (struct wio_timeline){.ticks = wio_os_ticks_steady(), .fd = -1};
    *first = read_clocks(t);
}

void wio_timeline_look(struct wio_timeline *t, int64_t now)
{
    t->head->last = read_clocks(t);
    t->clock_due = now + LOOK_TICKS;
}

uint16_t wio_timeline_thread(void)
{
    uint16_t id = (uint16_t)wio_mix64((uint64_t)(uintptr_t)pthread_self());
    return id != 0 ? id : 1;
}

/* One machine since its last start, however many network namespaces it has. */
static uint64_t clock_name(bool ticks)
{
    char text[256];
    if (wio_os_host_identity(text, sizeof text) < 0 && wio_os_hostname(text, sizeof text) < 0)
        text[0] = '\0';
    text[strcspn(text, "/")] = '\0';
    return wio_hash_bytes(ticks ? 2 : 1, text, strlen(text));
}

static void fill_head(struct wio_timeline *t, const struct wio_timeline_who *who,
                      const struct wio_timeline_clock *first)
{
    struct wio_timeline_head *h = t->head;
    h->magic = WIO_TIMELINE_MAGIC;
    h->order = WIO_TIMELINE_ORDER;
    h->version = WIO_TIMELINE_VERSION;
    h->head_bytes = WIO_TIMELINE_HEAD;
    h->record_bytes = sizeof(struct wio_event);
    h->slots = t->mask + 1;
    memcpy(h->universe, who->universe, sizeof h->universe);
    h->clock = clock_name(t->ticks);
    h->first = *first;
    h->rank = who->rank;
    h->size = who->size;
    h->pb = who->pb;
    h->npb = who->npb;
    h->pb_rank = who->pb_rank;
    h->pb_size = who->pb_size;
    h->state = WIO_EVENT_STATE_INSIDE;
    h->main_thread = wio_timeline_thread();
    h->pid = wio_os_pid();
    if (wio_os_hostname(h->host, sizeof h->host) < 0)
        h->host[0] = '\0';
    wio_text(h->release, sizeof h->release, "%s", who->release);
    wio_timeline_look(t, first->ticks);
}

/* @return the descriptor of a file whose space is there, or -errno. It has no other name. */
static int make_file(const char *path, uint64_t bytes)
{
    int fd = wio_os_create_at(-1, path, 0644);
    int r = fd < 0 ? fd : wio_os_reserve(fd, bytes);
    if (fd >= 0 && r < 0) {
        wio_os_close(fd);
        (void)wio_os_unlink(path);
    }
    return r < 0 ? r : fd;
}

static int open_in(struct wio_timeline *t, const char *folder, const char *path)
{
    int rc = wio_os_mkdir(folder, 0777);
    if (rc < 0 && rc != -EEXIST)
        return wio_fail_os(WAITIO_ERR_CONFIG, rc, "WAITIO_TRACE: cannot make the folder '%s'",
                           folder);
    t->fd = make_file(path, t->bytes);
    if (t->fd < 0)
        return wio_fail_os(WAITIO_ERR_CONFIG, t->fd,
                           "WAITIO_TRACE: cannot make the trace '%s' of %zu bytes", path, t->bytes);
    void *at = wio_os_map(t->fd, t->bytes, true);
    if (at == NULL) {
        wio_os_close(t->fd);
        t->fd = -1;
        (void)wio_os_unlink(path);
        return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_TRACE: '%s' cannot be mapped", path);
    }
    /* Each page costs half a microsecond when it is first written to. That of a few events is spent
     * now; more would be written to the disk for runs that never use it. */
    wio_os_populate(at, t->bytes < POPULATED ? t->bytes : POPULATED);
    t->head = at;
    t->event = (void *)((char *)at + WIO_TIMELINE_HEAD);
    return 0;
}

int wio_timeline_open(struct wio_timeline *t, const char *folder, uint64_t most,
                      const struct wio_timeline_who *who, const struct wio_timeline_clock *first)
{
    struct wio_strbuf path = {0};
    uint64_t slots = LEAST_SLOTS;
    while (slots * 2 * sizeof(struct wio_event) <= most)
        slots *= 2;
    t->mask = slots - 1;
    t->bytes = WIO_TIMELINE_HEAD + (size_t)slots * sizeof(struct wio_event);
    wio_strbuf_add(&path, "%s/waitio.", folder);
    for (int i = 0; i < 4; i++)
        wio_strbuf_add(&path, "%02x", who->universe[i]);
    wio_strbuf_add(&path, ".%u.trace", who->rank);
    int rc = path.failed ? wio_fail(WAITIO_ERR_NOMEM, "no memory for the name of the trace")
                         : open_in(t, folder, path.text);
    if (rc == 0)
        fill_head(t, who, first);
    wio_strbuf_free(&path);
    return rc;
}

void wio_timeline_state(struct wio_timeline *t, uint32_t state)
{
    wio_timeline_look(t, wio_timeline_now(t));
    t->head->state = state;
}

void wio_timeline_close(struct wio_timeline *t)
{
    if (t->head == NULL)
        return;
    uint64_t used = t->written < t->mask ? t->written + 1 : t->mask + 1; /* slot 0 comes last */
    wio_os_unmap(t->head, t->bytes);
    t->head = NULL;
    /* For nothing but the space: an error changes nothing. */
    (void)wio_os_resize(t->fd, WIO_TIMELINE_HEAD + used * sizeof(struct wio_event));
    wio_os_close(t->fd);
    t->fd = -1;
}
