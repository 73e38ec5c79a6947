/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_auth_run.c
 * The blocking form over real sockets: success, refusal on both sides, silence until the deadline,
 * hang-ups, resets, and a kernel that takes one byte at a time.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "auth_pair.h"
#include "os/os.h"
#include "patience.h"

#define SECOND 1000000000LL

struct side {
    struct wio_auth *auth;
    int fd, rc;
    char error[600];
};

static void *run_side(void *arg)
{
    struct side *s = arg;
    s->rc = wio_auth_run(s->auth, s->fd, wio_os_now_ns() + 10 * SECOND);
    wio_text(s->error, sizeof s->error, "%s", wio_last_error());
    wio_os_close(s->fd);
    return NULL;
}

static void make_sockets(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

/* Both sides at once, each in its thread. */
static void meet(struct auth_pair *p, struct side *d, struct side *a)
{
    int fds[2];
    pthread_t t;
    make_sockets(fds);
    assert_int_equal(auth_pair_begin(p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    *d = (struct side){.auth = &p->d, .fd = fds[0]};
    *a = (struct side){.auth = &p->a, .fd = fds[1]};
    assert_int_equal(pthread_create(&t, NULL, run_side, a), 0);
    run_side(d);
    pthread_join(t, NULL);
}

static void both_sides_return(void **state)
{
    struct auth_pair p;
    struct side d, a;
    (void)state;
    auth_pair_init(&p);
    meet(&p, &d, &a);
    assert_int_equal(d.rc, 0);
    assert_int_equal(a.rc, 0);
    assert_int_equal(p.a.peer.rank, 7);
}

static int one_byte(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_SEND || call == WIO_OS_RECV ? 1 : 0;
}

static void one_byte_at_a_time_is_enough(void **state)
{
    struct auth_pair p;
    struct side d, a;
    (void)state;
    auth_pair_init(&p);
    wio_os_fault = one_byte;
    meet(&p, &d, &a);
    wio_os_fault = NULL;
    assert_int_equal(d.rc, 0);
    assert_int_equal(a.rc, 0);
}

static void a_wrong_secret_ends_both_with_remedy(void **state)
{
    struct auth_pair p;
    struct side d, a;
    (void)state;
    auth_pair_init(&p);
    p.secret_a.key[0] ^= 1;
    meet(&p, &d, &a);
    assert_int_equal(d.rc, WAITIO_ERR_AUTH);
    assert_int_equal(a.rc, WAITIO_ERR_AUTH);
    assert_non_null(strstr(d.error, "/home/d/.waitio/cookie"));
    assert_non_null(strstr(a.error, "/scratch/a.secret"));
    assert_non_null(strstr(a.error, "WAITIO_SECRET_FILE"));
}

static void silence_ends_at_the_deadline(void **state)
{
    struct auth_pair p;
    int fds[2];
    (void)state;
    auth_pair_init(&p);
    make_sockets(fds);
    assert_int_equal(auth_pair_begin(&p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    int64_t begin = wio_os_now_ns();
    assert_int_equal(wio_auth_run(&p.a, fds[0], begin + SECOND / 20), WAITIO_ERR_TIMEOUT);
    int64_t took = wio_os_now_ns() - begin;
    assert_true(took >= SECOND / 20 && took < wt_scaled_ns(5 * SECOND));
    assert_int_equal(wio_auth_run(&p.d, fds[1], wio_os_now_ns() - 1), WAITIO_ERR_TIMEOUT);
    assert_non_null(strstr(wio_last_error(), "CHALLENGE"));
    close(fds[0]);
    close(fds[1]);
}

static void a_hang_up_is_a_peer_error(void **state)
{
    struct auth_pair p;
    int fds[2];
    (void)state;
    auth_pair_init(&p);
    make_sockets(fds);
    assert_int_equal(auth_pair_begin(&p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    close(fds[1]);
    assert_int_equal(wio_auth_run(&p.d, fds[0], wio_os_now_ns() + SECOND), WAITIO_ERR_PEER);
    assert_int_equal(wio_auth_run(&p.a, fds[0], wio_os_now_ns() + SECOND), WAITIO_ERR_PEER);
    assert_true(p.a.garbage);
    close(fds[0]);
}

/* The refusal that came before the hang-up is what the dialer reports. */
static void a_refusal_survives_the_hang_up(void **state)
{
    struct auth_pair p;
    uint8_t buf[640];
    int fds[2];
    (void)state;
    auth_pair_init(&p);
    p.id_a.universe[0] ^= 1;
    make_sockets(fds);
    assert_int_equal(auth_pair_begin(&p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    const void *out;
    size_t n = wio_auth_output(&p.d, &out);
    auth_feed(&p.a, out, n, 1000);
    n = auth_take(&p.a, buf);
    assert_int_equal(write(fds[1], buf, n), n);
    close(fds[1]); /* the dialer's HELLO meets EPIPE */
    assert_int_equal(wio_auth_run(&p.d, fds[0], wio_os_now_ns() + SECOND), WAITIO_ERR_JOIN);
    assert_non_null(strstr(wio_last_error(), "another run"));
    close(fds[0]);
}

static void a_descriptor_that_cannot_be_watched_is_an_error(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    assert_int_equal(auth_pair_begin(&p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    assert_int_equal(wio_auth_run(&p.d, -1, wio_os_now_ns() + SECOND), WAITIO_ERR_SYSTEM);
}

static int no_epoll(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_EPOLL ? -EMFILE : 0;
}

static void no_descriptors_is_a_limit(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    assert_int_equal(auth_pair_begin(&p, WIO_AUTH_BOOT, WIO_AUTH_BOOT), 0);
    wio_os_fault = no_epoll;
    int rc = wio_auth_run(&p.d, 0, wio_os_now_ns() + SECOND);
    wio_os_fault = NULL;
    assert_int_equal(rc, WAITIO_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_return),
        cmocka_unit_test(one_byte_at_a_time_is_enough),
        cmocka_unit_test(a_wrong_secret_ends_both_with_remedy),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(a_hang_up_is_a_peer_error),
        cmocka_unit_test(a_refusal_survives_the_hang_up),
        cmocka_unit_test(a_descriptor_that_cannot_be_watched_is_an_error),
        cmocka_unit_test(no_descriptors_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
