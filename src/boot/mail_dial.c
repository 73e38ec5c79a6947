/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mail_dial.c  The caller's side of the rendezvous in a directory. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/rundir.h"
#include "boot/mail_talk.h"
#include "os/os.h"

struct wio_mail_line {
    struct wio_mail_way way;
    int room, desk, inbox, box; /* folders: all, the service's, its letters, ours */
    int events;
    struct mail_sign sign;
    struct mail_watch watch;
    struct mail_talk talk;
    int64_t look_ns, news_ns, check_ns, stop_ns;
    uint64_t ops;
    bool weak;
    pthread_t thread;
    char path[640];
};

/* ---- the beginning ---- */

static int nobody(const char *why)
{
    wio_fail(WAITIO_ERR_PEER, "%s", why);
    return 1;
}

/* Who serves? @return 0, 1: nobody, or the error */
static int find_service(struct wio_mail_line *l)
{
    int version = 0;
    l->room = wio_mail_room(&l->way, false, l->path, sizeof l->path);
    l->ops += 4;
    if (l->room < 0)
        return l->room == WAITIO_ERR_PEER ? 1 : l->room;
    switch (wio_mail_look(&l->watch, l->room, MAIL_HERE, wio_os_now_ns(), INT64_MAX, &version,
                          &l->ops)) {
    case MAIL_OTHER_VERSION:
        return wio_fail(WAITIO_ERR_VERSION,
                        "the rendezvous in %s writes version %d of its files, this program reads "
                        "version %d: use the same WaitIO for all programs of the run",
                        l->path, version, WIO_MAIL_VERSION);
    case MAIL_UNKNOWN:
    case MAIL_ENDED:
        return nobody("nobody serves there");
    case MAIL_LIVES:
        break;
    }
    l->weak = wio_mail_weak(&l->way, l->room);
    return wio_mail_unlocked(&l->watch, l->weak) ? nobody("who served there has died") : 0;
}

/* The service may end just now. @return 0, or -errno */
static int make_box(struct wio_mail_line *l, uint64_t caller)
{
    char name[20];
    struct wio_os_stat st;
    wio_mail_folder_name(name, l->watch.s.nonce);
    l->ops += 4;
    l->desk = wio_rundir_folder(l->room, name, false, &st);
    if (l->desk < 0)
        return l->desk;
    l->inbox = wio_rundir_folder(l->desk, MAIL_INBOX, false, &st);
    if (l->inbox < 0)
        return l->inbox;
    wio_mail_folder_name(name, caller);
    l->box = wio_rundir_folder(l->desk, name, true, &st);
    return l->box < 0 ? l->box
                      : wio_mail_sign_make(&l->sign, &l->way, l->box, MAIL_ALIVE, caller, &l->ops);
}

/* The last one puts out the light. */
static void leave_desk(struct wio_mail_line *l)
{
    char name[20];
    wio_mail_folder_name(name, l->watch.s.nonce);
    l->ops += 2;
    int here = wio_os_open_at(l->room, MAIL_HERE, false);
    wio_os_close(here);
    if (here != -ENOENT)
        return;
    wio_mail_empty(l->desk, MAIL_INBOX,
                   l->weak); /* a letter may have come after the service had ended */
    if (wio_os_unlink_at(l->room, name, true) != 0)
        return;
    int run = wio_rundir_open(l->way.cfg->scratch_dir, l->way.job, false, l->path, sizeof l->path);
    if (run >= 0)
        (void)wio_mail_remove(run, MAIL_ROOM, l->weak);
    wio_os_close(run);
    wio_rundir_remove(l->way.cfg->scratch_dir, l->way.job);
    l->ops += 6;
}

static void clean(struct wio_mail_line *l)
{
    char name[20];
    if (l->box >= 0) {
        wio_mail_folder_name(name, l->talk.caller);
        if (l->weak) { /* some systems keep a file that is open under another name */
            wio_os_close(l->sign.fd);
            wio_os_close(l->watch.fd);
            l->sign.fd = l->watch.fd = -1;
        }
        (void)wio_os_unlink_at(l->box, MAIL_ALIVE, false); /* first: nobody writes to us any more */
        wio_mail_empty(l->desk, name, l->weak);
        l->ops += 4;
        leave_desk(l);
    }
    int *fds[] = {&l->room, &l->desk, &l->inbox, &l->box, &l->events, &l->sign.fd, &l->watch.fd};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
        wio_os_close(*fds[i]);
        *fds[i] = -1;
    }
    wio_mail_talk_free(&l->talk);
}

/* ---- the thread ---- */

static void count_letter(void *arg, const char *name)
{
    uint64_t caller;
    uint32_t number;
    *(int *)arg += wio_mail_name_parse(name, &caller, &number);
}

/* Opening the folder shows new names where names are cached, too; opening a name need not. */
static void look_for_letters(struct wio_mail_line *l, int64_t now)
{
    bool any = false;
    int there = 0;
    l->ops++;
    (void)wio_os_list_at(l->box, count_letter, &there);
    for (; there > 0 && wio_mail_ready(&l->talk); there--) {
        if (wio_mail_take(&l->talk, l->box, now) <= 0)
            break;
        any = true;
        wio_mail_say(&l->talk);
    }
    if (any)
        l->news_ns = now;
    l->look_ns = now + wio_mail_gap(now - l->news_ns, l->events >= 0);
}

static void look_for_service(struct wio_mail_line *l, int64_t now)
{
    int version;
    l->check_ns = now + l->sign.every_ns;
    if (l->talk.dead)
        return;
    enum mail_life life =
        wio_mail_look(&l->watch, l->room, MAIL_HERE, now, (int64_t)(l->way.cfg->file_silence * 1e9),
                      &version, &l->ops);
    if (life != MAIL_ENDED)
        return;
    look_for_letters(l, now); /* its last words */
    if (!l->talk.in_end)
        wio_mail_lost(&l->talk, "the service has ended");
    l->talk.dead = true;
}

static int64_t next_turn(const struct wio_mail_line *l)
{
    const struct mail_talk *t = &l->talk;
    int64_t next = l->look_ns < l->check_ns ? l->look_ns : l->check_ns;
    if (l->sign.next_ns < next)
        next = l->sign.next_ns;
    if (t->retry_ns != 0 && t->retry_ns < next)
        next = t->retry_ns;
    return next;
}

/* Until something may be done. */
static void rest(struct wio_mail_line *l)
{
    const struct mail_talk *t = &l->talk;
    int fds[2], n = 0;
    int64_t gap = next_turn(l) - wio_os_now_ns();
    if (l->events >= 0)
        fds[n++] = l->events;
    if (!t->out_end)
        fds[n++] = t->sock;
    if (t->in_off < t->in_len && gap > MAIL_RETRY_NS / 20)
        gap = MAIL_RETRY_NS / 20; /* our side is slow to take it */
    int ready = wio_os_poll_in(fds, n, gap > 0 ? gap : 0);
    if (l->events >= 0 && (ready & 1) != 0) {
        (void)wio_os_events_read(l->events, NULL, NULL);
        l->look_ns = 0;
    }
}

static void *converse(void *arg)
{
    struct wio_mail_line *l = arg;
    while (!wio_mail_over(&l->talk)) {
        rest(l);
        int64_t now = wio_os_now_ns();
        wio_mail_hear(&l->talk);
        wio_mail_write(&l->talk, l->inbox, now);
        wio_mail_say(&l->talk);
        if (now >= l->look_ns)
            look_for_letters(l, now);
        if (wio_mail_beat(&l->sign, now))
            wio_mail_forgive(&l->watch, now);
        if (now >= l->check_ns)
            look_for_service(l, now);
        wio_mail_say(&l->talk);
        if (l->talk.out_end && l->stop_ns == 0)
            l->stop_ns = now + MAIL_LAST_NS;
        if (l->stop_ns != 0 && now > l->stop_ns)
            break;
    }
    wio_os_close(l->talk.sock); /* so that our side sees the end, too, whatever has ended this */
    l->talk.sock = -1;
    return NULL;
}

/* ---- calls ---- */

static int begin(struct wio_mail_line *l, int *fd)
{
    int pair[2], rc = wio_os_socketpair(pair);
    if (rc < 0)
        return rc;
    wio_mail_talk_init(&l->talk, &l->way, l->watch.s.nonce, l->talk.caller, false, pair[0],
                       &l->ops);
    *fd = pair[1];
    l->events = wio_os_events_open(); /* without it, looking goes on */
    if (l->events >= 0 && wio_os_events_watch(l->events, l->box, WIO_OS_EV_NAMES) < 0) {
        wio_os_close(l->events);
        l->events = -1;
    }
    l->news_ns = wio_os_now_ns();
    l->check_ns = l->news_ns + l->sign.every_ns;
    rc = wio_os_thread_start(&l->thread, converse, l, "waitio-mail");
    if (rc != 0)
        wio_os_close(pair[1]);
    return rc;
}

int wio_mail_dial(const struct wio_mail_way *way, struct wio_mail_line **line, int *fd)
{
    struct wio_mail_line *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "joining");
    l->way = *way;
    l->room = l->desk = l->inbox = l->box = l->events = -1;
    l->sign.fd = l->watch.fd = l->talk.sock = -1;
    l->talk.caller = wio_mail_nonce();
    int rc = find_service(l), err = 0;
    if (rc == 0)
        err = make_box(l, l->talk.caller);
    if (rc == 0 && err == 0)
        err = begin(l, fd);
    if (err == -ENOENT || err == -ESTALE)
        rc = nobody("who served there has just ended");
    else if (err != 0)
        rc = wio_rundir_no_descriptor(err, l->path)
                 ? WAITIO_ERR_LIMIT
                 : wio_fail_os(WAITIO_ERR_SYSTEM, err, "cannot join through %s", l->path);
    if (rc != 0) {
        clean(l);
        wio_os_free(l);
        return rc;
    }
    *line = l;
    return 0;
}

uint64_t wio_mail_hang_up(struct wio_mail_line *l)
{
    if (l == NULL)
        return 0;
    pthread_join(l->thread, NULL);
    clean(l);
    uint64_t ops = l->ops;
    wio_os_free(l);
    return ops;
}
