/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_hostile.c  A member of the run that passes the handshake of shared memory and then says
 * what it must not over its socket: segments that are none, records that make no sense, floods.
 * Whatever it says ends its own link, by an error that names it; the others go on.
 */
#include "raw_world.h"

/* ---- by the book: the raw member is understood at all ---- */

static void test_by_the_book(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        uint8_t data[8];
        link_raw(w, &r);
        for (size_t i = 0; i < 8; i++)
            data[i] = pattern(0, 1, 1, i);
        assert_true(
            raw_cell(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 8), message(1, 8, false), data, 8));
        UNTIL(w, w->node[1].peer[0].nin == 1);
        if (w->node[1].cfg.shm_rings > 0) {
            assert_true(raw_ring_open(&r, 4, 4096, 4096));
            for (size_t i = 0; i < 8; i++)
                data[i] = pattern(0, 1, 2, i);
            assert_true(shm_ring_put(&r.w, SHM_MESSAGE, message(2, 8, false), data, 8));
            UNTIL(w, w->node[1].peer[0].nin == 2);
        }
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
        others_go_on(w);
    }
}

/* ---- strangers at the socket ---- */

static void test_garbage_for_a_handshake(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        raw_init(&r, drive, w);
        r.fd = raw_dial(w->ep[1].token);
        assert_true(raw_send(&r, "GET / HTTP/1.0\r\n\r\n", 18, -1));
        hung_up(&r);
        assert_true(w->node[1].ctr.strangers > 0);
        assert_int_equal(w->node[1].peer[0].state, -1);
        others_go_on(w);
        raw_die(&r);
    }
}

static void test_crowd_of_silent_ones(void **state)
{
    (void)state;
    enum { CROWD = 300 };
    struct world *w = variant_world(1);
    int fd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        fd[i] = raw_dial(w->ep[1].token);
        assert_true(fd[i] >= 0);
        world_drive(w);
        if (i % 2)
            (void)send(fd[i], "W", 1, MSG_NOSIGNAL);
    }
    others_go_on(w);
    assert_true(w->node[1].ctr.strangers >= CROWD - SHM_STRANGERS_MAX);
    for (int i = 0; i < CROWD; i++)
        close(fd[i]);
    world_free(w);
}

/* ---- segments that are none ---- */

enum segment {
    NONE,
    PIPE,
    FILE_ON_DISK,
    UNSEALED,
    TOO_SMALL,
    READ_ONLY,
    SEALED_FOR_WRITING,
    SEGMENTS
};

static int bad_segment(enum segment s, size_t bytes)
{
    char path[64];
    int fd, ends[2];
    switch (s) {
    case NONE:
        return -1;
    case PIPE:
        assert_int_equal(pipe(ends), 0);
        close(ends[1]);
        return ends[0];
    case FILE_ON_DISK: {
        FILE *f = tmpfile();
        assert_non_null(f);
        fd = dup(fileno(f));
        fclose(f);
        assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
        return fd;
    }
    case UNSEALED:
        return raw_memfd(bytes, 0);
    case TOO_SMALL:
        return raw_memfd(bytes - 1, RAW_SEALS);
    case READ_ONLY: {
        int rw = raw_memfd(bytes, RAW_SEALS);
        snprintf(path, sizeof path, "/proc/self/fd/%d", rw);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        close(rw);
        return fd;
    }
    default:
        return raw_memfd(bytes, RAW_SEALS | F_SEAL_WRITE);
    }
}

/* The victim refuses and never tells p2p of a link; from then on it does not try itself. */
static void expect_refused(struct world *w, struct raw *r, const char *reason)
{
    struct shm_rec rec;
    int fd = -1;
    char why[200];
    assert_int_equal(raw_hear_type(r, SHM_R_REFUSE, &rec, &fd), 1);
    hung_up(r);
    assert_int_equal(w->node[1].peer[0].state, -1);
    assert_false(w->tr->reachable(w->node[1].iface, 0, why, sizeof why));
    if (strstr(why, reason) == NULL)
        fail_msg("%s is not in: %s", reason, why);
    others_go_on(w);
    raw_die(r);
}

static void test_inboxes_that_are_none(void **state)
{
    (void)state;
    for (int s = 0; s < SEGMENTS; s++)
        EACH_SHM(w)
        {
            struct raw r;
            join_raw(w, &r);
            assert_true(raw_inbox(&r, 16, 512));
            struct shm_rec rec = raw_setup_record(&r);
            int fd = bad_segment(s, r.mine.bytes);
            assert_true(raw_send(&r, &rec, sizeof rec, fd));
            raw_close_fd(fd);
            expect_refused(w, &r,
                           s == NONE                                   ? "no descriptor came"
                           : s == READ_ONLY || s == SEALED_FOR_WRITING ? "cannot be mapped"
                                                                       : "not sealed");
        }
}

/* The victim's own inbox, known from an earlier link: it would write to itself, in any name. */
static void test_inbox_that_is_the_victims_own(void **state)
{
    (void)state;
    struct world *w = variant_world(1);
    struct raw first, r;
    link_raw(w, &first);
    int own = dup(first.theirs_fd);
    struct shm_inbox_geo geo = first.theirs.geo;
    assert_true(own >= 0);
    raw_die(&first);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    join_raw(w, &r);
    assert_true(raw_inbox(&r, 16, 512));
    struct shm_rec rec = raw_setup_record(&r), answer;
    rec.a = geo.cells;
    rec.b = geo.cell_bytes;
    assert_true(raw_send(&r, &rec, sizeof rec, own));
    int fd = -1;
    char why[200];
    assert_int_equal(raw_hear_type(&r, SHM_R_REFUSE, &answer, &fd), 1);
    hung_up(&r);
    assert_false(w->tr->reachable(w->node[1].iface, 0, why, sizeof why));
    assert_non_null(strstr(why, "the inbox that we passed to it"));
    assert_int_equal(w->node[1].peer[0].ready, 1); /* the first one */
    raw_die(&r);
    others_go_on(w);
    world_free(w);
    raw_close_fd(own);
}

static void test_inboxes_of_impossible_shape(void **state)
{
    (void)state;
    static const struct shm_rec shapes[] = {
        {.a = 0, .b = 512, .c = 1, .d = SHM_VERSION},
        {.a = 17, .b = 512, .c = 1, .d = SHM_VERSION},
        {.a = 1u << 31, .b = 512, .c = 1, .d = SHM_VERSION},
        {.a = 16, .b = 0, .c = 1, .d = SHM_VERSION},
        {.a = 16, .b = 64, .c = 1, .d = SHM_VERSION},
        {.a = 16, .b = 1u << 31, .c = 1, .d = SHM_VERSION},
        {.a = SHM_CELLS_MAX, .b = SHM_CELL_MAX, .c = 1, .d = SHM_VERSION}, /* 4 GiB, not there */
        {.a = 16, .b = 512, .c = UINT32_MAX, .d = SHM_VERSION},
        {.a = 16, .b = 512, .c = 1u << 28, .d = SHM_VERSION},
        {.a = 16, .b = 512, .c = 1, .d = SHM_VERSION + 1},
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(shapes); i++) {
        struct world *w = variant_world(1);
        struct raw r;
        join_raw(w, &r);
        assert_true(raw_inbox(&r, 16, 512));
        struct shm_rec rec = shapes[i];
        rec.magic = SHM_REC_MAGIC;
        rec.type = SHM_R_SETUP;
        assert_true(raw_send(&r, &rec, sizeof rec, r.mine_fd));
        expect_refused(w, &r, i == 6 ? "too small" : "impossible shape");
        world_free(w);
    }
}

/* The victim dials; the evil twin listens in rank 0's place. */
static void test_dialling_a_hostile_member(void **state)
{
    (void)state;
    for (int what = 0; what < 5; what++) {
        struct world *w = open_world(3);
        struct raw r;
        struct wio_auth a;
        struct wio_auth_id mine = {.rank = 0};
        memcpy(mine.universe, universe, WIO_UNIVERSE_ID);
        raw_init(&r, drive, w);
        w->ep[0].token =
            (w->ep[0].token >> 32 << 32) | (uint32_t)(0xbad00000u + (uint32_t)getpid());
        int listener = raw_listen(w->ep[0].token);
        assert_true(listener >= 0);
        node_send(&w->node[1], 0, 100, 0, false);
        for (int i = 0; i < 100000 && r.fd < 0; i++) {
            world_drive(w);
            r.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        }
        assert_int_equal(wio_auth_start(&a, WIO_AUTH_ACCEPT, WIO_AUTH_SHM, &w->node[1].secret,
                                        &mine, NULL, NULL, NULL),
                         0);
        assert_true(raw_shake(&r, &a));
        assert_true(raw_take_setup(&r));
        assert_true(raw_inbox(&r, 16, 512));
        struct shm_rec rec = raw_setup_record(&r);
        int unsealed = raw_memfd(r.mine.bytes, 0);
        switch (what) {
        case 0:
            assert_true(raw_send(&r, &rec, sizeof rec, unsealed));
            break;
        case 1:
            assert_true(raw_send(&r, &rec, sizeof rec, -1));
            break;
        case 2:
            rec.type = SHM_R_REFUSE;
            rec.a = 0xffffffffu;
            assert_true(raw_send(&r, &rec, sizeof rec, -1));
            break;
        case 3:
            assert_true(raw_say(&r, SHM_R_GO)); /* that is ours to say */
            break;
        default: /* a message before the setup */
            assert_true(
                raw_cell(&r, shm_info(SHM_MESSAGE, SHM_INLINE, 8), message(1, 8, false), NULL, 8));
        }
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].peer[0].err,
                         what < 3 ? WAITIO_ERR_NOROUTE : WAITIO_ERR_PROTOCOL);
        others_go_on(w);
        close(unsealed);
        close(listener);
        raw_die(&r);
        world_free(w);
    }
}

/* ---- records ---- */

static void test_records_that_make_no_sense(void **state)
{
    (void)state;
    static const struct shm_rec bad[] = {
        {.magic = 0, .type = SHM_R_BELL},
        {.magic = SHM_REC_MAGIC, .type = 0},
        {.magic = SHM_REC_MAGIC, .type = 0xffffffffu},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_SETUP, .a = 16, .b = 512, .c = 1, .d = SHM_VERSION},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_GO},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_REFUSE, .a = SHM_NO_MEMORY},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING_OK},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING_NO},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING_END},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 0, .b = 4096, .c = 4096},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 5, .b = 4096, .c = 4096},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 1u << 31, .b = 4096, .c = 4096},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 4, .b = 0, .c = 4096},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 4, .b = 1u << 31, .c = 4096},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 4, .b = 4096, .c = 0},
        {.magic = SHM_REC_MAGIC, .type = SHM_R_RING, .a = 4, .b = 4096, .c = 1u << 31},
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        struct world *w = variant_world(1);
        struct raw r;
        char what[40];
        link_raw(w, &r);
        assert_true(raw_send(&r, &bad[i], sizeof bad[i], r.mine_fd));
        snprintf(what, sizeof what, "record %zu", i);
        expect_broken(w, &r, what);
        world_free(w);
    }
}

static void test_records_too_early(void **state)
{
    (void)state;
    static const uint32_t early[] = {SHM_R_GO,       SHM_R_RING,    SHM_R_RING_OK,
                                     SHM_R_RING_END, SHM_R_RING_NO, 77};
    for (size_t i = 0; i < WIO_ARRAY_LEN(early); i++) {
        struct world *w = variant_world(1);
        struct raw r;
        join_raw(w, &r);
        assert_true(raw_say(&r, early[i]));
        hung_up(&r);
        assert_int_equal(w->node[1].peer[0].state, -1);
        others_go_on(w);
        raw_die(&r);
        world_free(w);
    }
}

static void test_a_ring_offered_twice(void **state)
{
    (void)state;
    struct world *w = variant_world(1);
    struct raw r;
    link_raw(w, &r);
    assert_true(raw_ring_open(&r, 4, 4096, 4096));
    struct shm_rec rec = raw_ring_record(4, 4096, 4096);
    assert_true(raw_send(&r, &rec, sizeof rec, r.ring_fd));
    expect_broken(w, &r, "a second ring");
    world_free(w);
}

static void test_rings_that_are_none(void **state)
{
    (void)state;
    for (int s = 0; s < SEGMENTS; s++) {
        struct world *w = variant_world(1);
        struct raw r;
        struct shm_rec rec = raw_ring_record(16, 4096, 8192);
        struct shm_ring_geo g = {16, 4096, 8192};
        link_raw(w, &r);
        int fd = bad_segment(s, shm_ring_bytes(&g)), none;
        assert_true(raw_send(&r, &rec, sizeof rec, fd));
        raw_close_fd(fd);
        assert_int_equal(raw_hear_type(&r, SHM_R_RING_NO, &rec, &none), 1);
        assert_true(
            raw_cell(&r, shm_info(SHM_SWITCH, SHM_INLINE, 0), message(0, 0, false), NULL, 0));
        expect_broken(w, &r, "a change to a ring that was refused");
        world_free(w);
    }
}

/* One byte at a time, the descriptor with any of them. */
static void test_torn_records(void **state)
{
    (void)state;
    for (size_t with = 0; with < sizeof(struct shm_rec); with += 5) {
        struct world *w = variant_world(1);
        struct raw r;
        join_raw(w, &r);
        assert_true(raw_inbox(&r, 16, 512));
        struct shm_rec rec = raw_setup_record(&r);
        for (size_t i = 0; i < sizeof rec; i++) {
            assert_true(raw_send(&r, (uint8_t *)&rec + i, 1, i == with ? r.mine_fd : -1));
            world_drive(w);
        }
        assert_true(raw_take_setup(&r));
        assert_true(raw_say(&r, SHM_R_GO));
        UNTIL(w, w->node[1].peer[0].ready == 1);
        /* Half a record, and then the end. */
        assert_true(raw_send(&r, &rec, 11, r.mine_fd));
        FOR_MS(w, 2);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
        others_go_on(w);
        world_free(w);
    }
}

static void flood(struct world *w, struct raw *r, const void *bytes, size_t n, int fd, int times)
{
    for (int i = 0; i < times; i++)
        while (!raw_send(r, bytes, n, fd))
            world_drive(w);
    FOR_MS(w, 5);
}

/* Descriptors in hundreds, with records and pieces of records: none stays open. */
static void test_flood_of_descriptors(void **state)
{
    (void)state;
    struct world *w = variant_world(1);
    struct raw r;
    struct shm_rec bell = {.magic = SHM_REC_MAGIC, .type = SHM_R_BELL};
    link_raw(w, &r);
    others_go_on(w);
    int before = open_descriptors();
    flood(w, &r, &bell, sizeof bell, r.mine_fd, 500);
    for (int i = 0; i < 500; i++) {
        size_t at = (size_t)i % 4 * 8;
        flood(w, &r, (uint8_t *)&bell + at, 8, r.mine_fd, 1);
    }
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(250 * sizeof(int))];
    } many;
    memset(&many, 0, sizeof many);
    many.head.cmsg_level = SOL_SOCKET;
    many.head.cmsg_type = SCM_RIGHTS;
    many.head.cmsg_len = CMSG_LEN(250 * sizeof(int));
    for (size_t i = 0; i < 250; i++)
        memcpy(CMSG_DATA(&many.head) + i * sizeof(int), &r.mine_fd, sizeof(int));
    struct iovec iov = {&bell, sizeof bell};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = many.room,
                       .msg_controllen = sizeof many.room};
    for (int i = 0; i < 4; i++)
        assert_int_equal(sendmsg(r.fd, &m, 0), (ssize_t)sizeof bell);
    UNTIL(w, open_descriptors() == before);
    assert_int_equal(w->node[1].peer[0].closed, 0);
    others_go_on(w);
    raw_die(&r);
    world_free(w);
}

/* Bells, pings and pongs in thousands by one who never reads the answers. */
static void test_flood_of_records(void **state)
{
    (void)state;
    static const uint32_t types[] = {SHM_R_BELL, SHM_R_PING, SHM_R_PONG, SHM_R_LEAVING};
    EACH_SHM(w)
    {
        struct raw r;
        link_raw(w, &r);
        for (size_t i = 0; i < WIO_ARRAY_LEN(types); i++) {
            struct shm_rec rec = {.magic = SHM_REC_MAGIC, .type = types[i]};
            flood(w, &r, &rec, sizeof rec, -1, 3000);
        }
        assert_int_equal(w->node[1].peer[0].closed, 0);
        others_go_on(w);
        raw_die(&r);
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_by_the_book),
        CONFORM(test_garbage_for_a_handshake),
        CONFORM(test_crowd_of_silent_ones),
        CONFORM(test_inboxes_that_are_none),
        CONFORM(test_inbox_that_is_the_victims_own),
        CONFORM(test_inboxes_of_impossible_shape),
        CONFORM(test_dialling_a_hostile_member),
        CONFORM(test_records_that_make_no_sense),
        CONFORM(test_records_too_early),
        CONFORM(test_a_ring_offered_twice),
        CONFORM(test_rings_that_are_none),
        CONFORM(test_torn_records),
        CONFORM(test_flood_of_descriptors),
        CONFORM(test_flood_of_records),
    };
    return cmocka_run_group_tests_name("shm_hostile", tests, NULL, NULL);
}
