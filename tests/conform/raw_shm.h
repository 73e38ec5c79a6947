/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file raw_shm.h
 * A member without a library: it passes the handshake of the shared-memory transport by the book
 * and then writes what it likes, into the socket, the victim's inbox, and rings. For tests of
 * hostile bytes and for the fuzz target; nothing here asserts.
 */
#ifndef CONFORM_RAW_SHM_H
#define CONFORM_RAW_SHM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/shm/shm.h"

#define RAW_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct raw {
    void (*drive)(void *arg); /* one round of everybody else */
    void *arg;
    int fd;
    int mine_fd, theirs_fd, ring_fd;
    struct shm_inbox mine;   /* the victim writes here */
    struct shm_inbox theirs; /* the victim's */
    uint32_t name;           /* what the victim calls us there */
    struct shm_writer w;     /* our ring to the victim; ring.ctl == NULL: none */
};

static inline void raw_init(struct raw *r, void (*drive)(void *), void *arg)
{
    memset(r, 0, sizeof *r);
    r->drive = drive;
    r->arg = arg;
    r->fd = r->mine_fd = r->theirs_fd = r->ring_fd = -1;
}

static inline int raw_close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
    return -1;
}

/** All at once, as a killed process would. */
static inline void raw_die(struct raw *r)
{
    r->fd = raw_close_fd(r->fd);
    r->mine_fd = raw_close_fd(r->mine_fd);
    r->theirs_fd = raw_close_fd(r->theirs_fd);
    r->ring_fd = raw_close_fd(r->ring_fd);
    if (r->mine.head != NULL)
        munmap(r->mine.head, r->mine.bytes);
    if (r->theirs.head != NULL)
        munmap(r->theirs.head, r->theirs.bytes);
    if (r->w.ring.ctl != NULL)
        munmap(r->w.ring.ctl, r->w.ring.bytes);
    r->mine.head = r->theirs.head = NULL;
    r->w.ring.ctl = NULL;
}

/** A memfd with chosen seals. */
static inline int raw_memfd(size_t bytes, int seals)
{
    int fd = (int)syscall(SYS_memfd_create, "raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
        (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) < 0))
        return raw_close_fd(fd);
    return fd;
}

static inline void *raw_map(int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static inline socklen_t raw_name(struct sockaddr_un *un, uint64_t token)
{
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    int n = snprintf(un->sun_path + 1, sizeof un->sun_path - 1, "waitio-shm-%08x%08x",
                     (unsigned)(token >> 32), (unsigned)token);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static inline int raw_dial(uint64_t token)
{
    struct sockaddr_un un;
    socklen_t len = raw_name(&un, token);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&un, len) != 0)
        return raw_close_fd(fd);
    return fd;
}

static inline int raw_listen(uint64_t token)
{
    struct sockaddr_un un;
    socklen_t len = raw_name(&un, token);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&un, len) != 0 || listen(fd, 5) != 0)
        return raw_close_fd(fd);
    return fd;
}

/** Run the handshake over r->fd. @return it was passed */
static inline bool raw_shake(struct raw *r, struct wio_auth *a)
{
    for (int rounds = 0; a->state == WIO_AUTH_RUNNING && rounds < 100000; rounds++) {
        const void *out;
        uint8_t in[512];
        size_t n = wio_auth_output(a, &out);
        if (n > 0) {
            ssize_t s = send(r->fd, out, n, MSG_NOSIGNAL);
            if (s > 0)
                wio_auth_sent(a, (size_t)s);
        }
        r->drive(r->arg);
        size_t want = wio_auth_want(a);
        ssize_t got = want > 0 ? recv(r->fd, in, want < sizeof in ? want : sizeof in, 0) : -1;
        if (got > 0)
            (void)wio_auth_input(a, in, (size_t)got);
        else if (got == 0)
            return false;
    }
    return a->state == WIO_AUTH_DONE;
}

/** Be universe rank @p as and prove it to @p to. */
static inline bool raw_join(struct raw *r, uint64_t token, const struct wio_secret *secret,
                            const uint8_t *universe, uint32_t as, uint32_t to)
{
    struct wio_auth a;
    struct wio_auth_id mine = {.rank = as}, peer = {.rank = to};
    memcpy(mine.universe, universe, WIO_UNIVERSE_ID);
    memcpy(peer.universe, universe, WIO_UNIVERSE_ID);
    r->fd = raw_dial(token);
    return r->fd >= 0 &&
           wio_auth_start(&a, WIO_AUTH_DIAL, WIO_AUTH_SHM, secret, &mine, &peer, NULL, NULL) == 0 &&
           raw_shake(r, &a);
}

/* ---- records ---- */

/** @param fd  -1: none; stays ours. */
static inline bool raw_send(struct raw *r, const void *bytes, size_t n, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = control.room;
        m.msg_controllen = sizeof control.room;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    return sendmsg(r->fd, &m, MSG_NOSIGNAL) == (ssize_t)n;
}

static inline bool raw_say(struct raw *r, uint32_t type)
{
    struct shm_rec rec = {.magic = SHM_REC_MAGIC, .type = type};
    return raw_send(r, &rec, sizeof rec, -1);
}

/** The next record. @return 1, 0: hung up, -1: none came within some seconds */
static inline int raw_hear(struct raw *r, struct shm_rec *rec, int *fd)
{
    size_t have = 0;
    int64_t end = wio_os_now_ns() + 5000000000LL;
    *fd = -1;
    while (have < sizeof *rec) {
        int one = -1;
        ssize_t n = wio_os_recv_fd(r->fd, &one, (uint8_t *)rec + have, sizeof *rec - have);
        if (one >= 0) {
            raw_close_fd(*fd);
            *fd = one;
        }
        if (n == 0 || (n < 0 && n != -EAGAIN))
            return 0;
        if (n > 0)
            have += (size_t)n;
        else if (wio_os_now_ns() > end)
            return -1;
        else
            r->drive(r->arg);
    }
    return 1;
}

/** Hear until this one comes; bells and pings are passed over. @return as raw_hear */
static inline int raw_hear_type(struct raw *r, uint32_t type, struct shm_rec *rec, int *fd)
{
    for (int i = 0; i < 10000; i++) {
        int got = raw_hear(r, rec, fd);
        if (got <= 0 || rec->type == type)
            return got;
        *fd = raw_close_fd(*fd);
    }
    return -1;
}

/** Make our own inbox. */
static inline bool raw_inbox(struct raw *r, uint32_t cells, uint32_t cell_bytes)
{
    struct shm_inbox_geo g = {cells, cell_bytes};
    r->mine_fd = raw_memfd(shm_inbox_bytes(&g), RAW_SEALS);
    void *map = r->mine_fd < 0 ? NULL : raw_map(r->mine_fd, shm_inbox_bytes(&g));
    if (map == NULL)
        return false;
    wio_shm_inbox_place(&r->mine, &g, map);
    wio_shm_inbox_format(&r->mine);
    return true;
}

static inline struct shm_rec raw_setup_record(const struct raw *r)
{
    return (struct shm_rec){.magic = SHM_REC_MAGIC,
                            .type = SHM_R_SETUP,
                            .a = r->mine.geo.cells,
                            .b = r->mine.geo.cell_bytes,
                            .c = shm_owner(0, 1),
                            .d = SHM_VERSION,
                            .e = 1};
}

/** Take the victim's SETUP. */
static inline bool raw_take_setup(struct raw *r)
{
    struct shm_rec rec;
    int fd;
    if (raw_hear_type(r, SHM_R_SETUP, &rec, &fd) != 1 || fd < 0)
        return false;
    struct shm_inbox_geo g = {rec.a, rec.b};
    void *map = raw_map(fd, shm_inbox_bytes(&g));
    r->theirs_fd = fd;
    if (map == NULL)
        return false;
    wio_shm_inbox_place(&r->theirs, &g, map);
    r->name = rec.c;
    return true;
}

/** Setup as the dialer, by the book. */
static inline bool raw_open(struct raw *r)
{
    if (!raw_inbox(r, 16, 512))
        return false;
    struct shm_rec rec = raw_setup_record(r);
    return raw_send(r, &rec, sizeof rec, r->mine_fd) && raw_take_setup(r) && raw_say(r, SHM_R_GO);
}

/* ---- the victim's inbox ---- */

/** A cell with any header; data may be NULL. @return false: the inbox is full */
static inline bool raw_cell(struct raw *r, uint32_t info, const uint8_t *msg, const void *data,
                            size_t n)
{
    uint32_t pos;
    struct shm_cell *c = wio_shm_inbox_claim(&r->theirs, r->name, &pos);
    if (c == NULL)
        return false;
    c->info = info;
    if (msg != NULL)
        memcpy(c->msg, msg, WIO_MSG_BYTES);
    if (data != NULL)
        memcpy(c->data, data, n);
    shm_inbox_publish(c, pos, r->name);
    return true;
}

/* ---- a ring to the victim ---- */

static inline bool raw_ring_make(struct raw *r, uint32_t slots, uint32_t mid, uint32_t bulk)
{
    struct shm_ring_geo g = {slots, mid, bulk};
    r->ring_fd = raw_memfd(shm_ring_bytes(&g), RAW_SEALS);
    void *map = r->ring_fd < 0 ? NULL : raw_map(r->ring_fd, shm_ring_bytes(&g));
    if (map == NULL)
        return false;
    memset(&r->w, 0, sizeof r->w);
    wio_shm_ring_place(&r->w.ring, &g, map);
    return true;
}

static inline struct shm_rec raw_ring_record(uint32_t slots, uint32_t mid, uint32_t bulk)
{
    return (struct shm_rec){
        .magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = slots, .b = mid, .c = bulk};
}

/** Agree on a ring and switch to it, by the book. */
static inline bool raw_ring_open(struct raw *r, uint32_t slots, uint32_t mid, uint32_t bulk)
{
    struct shm_rec rec = raw_ring_record(slots, mid, bulk);
    int fd = -1;
    static const uint8_t nothing[WIO_MSG_BYTES];
    if (!raw_ring_make(r, slots, mid, bulk) || !raw_send(r, &rec, sizeof rec, r->ring_fd) ||
        raw_hear_type(r, SHM_R_RING_OK, &rec, &fd) != 1)
        return false;
    raw_close_fd(fd);
    return raw_cell(r, shm_info(SHM_SWITCH, SHM_INLINE, 0), nothing, NULL, 0);
}

/** A slot with any header. */
static inline void raw_slot(struct raw *r, uint32_t info, const uint8_t *msg)
{
    struct shm_slot *s = shm_slot_next(&r->w);
    s->info = info;
    if (msg != NULL)
        memcpy(s->msg, msg, WIO_MSG_BYTES);
    shm_slot_publish(&r->w, s);
}

#endif
