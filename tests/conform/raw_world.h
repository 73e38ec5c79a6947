/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file raw_world.h
 * A world with a hostile member: three nodes of which rank 1 is the victim, rank 2 a bystander, and
 * rank 0's place is taken by a raw member (raw_shm.h).
 */
#ifndef CONFORM_RAW_WORLD_H
#define CONFORM_RAW_WORLD_H

#include "harness.h"
#include "raw_shm.h"

static inline struct world *open_world(int n)
{
    struct world *w = world_open(world_new(checked(WIO_TR_SHM), n));
    w->quiet_errors = true;
    return w;
}

/* Each mode of shared memory that changes what a victim does with what it is given. */
#define EACH_SHM(w)                                                                                \
    for (size_t v_ = 0; v_ < WIO_ARRAY_LEN(conform_variants); v_++)                                \
        for (struct world *w = variant_world(v_); w != NULL; world_free(w), w = NULL)

static inline struct world *variant_world(size_t v)
{
    conform_now = &conform_variants[v];
    return conform_now->id == WIO_TR_SHM ? open_world(3) : NULL;
}

static inline void drive(void *arg)
{
    (void)world_drive(arg);
}

static const uint8_t universe[WIO_UNIVERSE_ID] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};

/* Rank 0's evil twin has shaken hands with rank 1. */
static inline void join_raw(struct world *w, struct raw *r)
{
    raw_init(r, drive, w);
    assert_true(raw_join(r, w->ep[1].token, &w->node[1].secret, universe, 0, 1));
}

/* ... and has a link. */
static inline void link_raw(struct world *w, struct raw *r)
{
    join_raw(w, r);
    assert_true(raw_open(r));
    UNTIL(w, w->node[1].peer[0].ready == 1);
}

/* Nothing more comes: the victim has closed the socket. */
static inline void hung_up(struct raw *r)
{
    struct shm_rec rec;
    int fd, got;
    while ((got = raw_hear(r, &rec, &fd)) == 1)
        raw_close_fd(fd);
    assert_int_equal(got, 0);
}

static inline void others_go_on(struct world *w)
{
    uint32_t in = w->node[1].peer[2].nin, out = w->node[2].peer[1].nin;
    for (int i = 0; i < 10; i++) {
        node_send(&w->node[2], 1, (uint32_t)i * 500, 0, false);
        node_send(&w->node[1], 2, (uint32_t)i * 500, 0, false);
    }
    UNTIL(w, w->node[1].peer[2].nin == in + 10 && w->node[2].peer[1].nin == out + 10);
    assert_int_equal(w->node[1].peer[2].closed, 0);
    assert_int_equal(w->node[2].peer[1].closed, 0);
}

/* The link must have ended as broken by its peer. */
static inline void expect_broken(struct world *w, struct raw *r, const char *what)
{
    UNTIL(w, w->node[1].peer[0].closed == 1);
    if (w->node[1].peer[0].err != WAITIO_ERR_PROTOCOL ||
        strstr(w->node[1].peer[0].text, "PB 0 rank 0") == NULL)
        fail_msg("%s: %d %s", what, w->node[1].peer[0].err, w->node[1].peer[0].text);
    hung_up(r);
    others_go_on(w);
    raw_die(r);
}

/* What the harness's upper layer takes for a message from rank 0 to rank 1. */
static inline const uint8_t *message(uint32_t id, uint32_t bytes, bool small)
{
    static uint8_t msg[WIO_MSG_BYTES];
    struct wio_msg m = {.credit = id, .tag = 0, .envelope = 1, .space = bytes, .a = small};
    wio_msg_encode(&m, msg);
    return msg;
}

static inline int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
