/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that lives as long as its universe: one connection per host tells it, held by every
 * process of the host and closed by the system with the last of them. */
#include "boot_people.h"
#include "boot/boot_wire.h"

static void start(struct crowd *c)
{
    wt_crowd(c);
    c->stay = c->serve_on = true;
}

static bool within(const volatile int *what, double seconds)
{
    for (int i = 0; i < (int)(seconds * 1000) && !*what; i++)
        usleep(1000);
    return *what != 0;
}

/* The service holds so many connections, and they last. */
static void keeps(const struct crowd *c, uint32_t n)
{
    const volatile uint32_t *kept = &c->serv->st.kept;
    for (int i = 0; i < WT_PATIENCE_S * 1000 && *kept != n; i++)
        usleep(1000);
    usleep(50000);
    assert_int_equal(*kept, n);
}

static void joined(struct crowd *c)
{
    for (int i = 0; i < c->n; i++)
        assert_true(within(&c->p[i].done, WT_PATIENCE_S));
    for (int i = 0; i < c->n; i++)
        wt_expect_ok(c, i, (uint32_t)i, (uint32_t)c->n);
    assert_true(within(&c->serv->formed, WT_PATIENCE_S));
}

static void as_long_as_the_last_process_of_a_host(void **state)
{
    (void)state;
    for (int killed = 0; killed < 2; killed++) {
        struct crowd c;
        start(&c);
        pid_t s = wt_service(&c, 30, 0);
        wt_start(&c, 0, 2, 0, 1, 20);
        wt_came(&c, 1); /* it leads */
        wt_block(&c, 1, 2, 3, 20);
        joined(&c);
        keeps(&c, 1);
        for (int i = 0; i < 4; i++) {
            assert_false(within(&c.serv->ended, 0.2));
            if (killed)
                wt_kill(&c, 3 - i); /* the leader last */
            else
                c.p[i].leave = 2; /* the leader first; they leave the universe and live on */
        }
        assert_true(within(&c.serv->ended, WT_PATIENCE_S));
        waitpid(s, NULL, 0);
        for (int i = 0; i < 4 && !killed; i++)
            wt_kill(&c, i);
        wt_end(&c);
    }
}

static void one_connection_per_host(void **state)
{
    (void)state;
    struct crowd c;
    start(&c);
    c.plain = true;
    c.fan = 2;
    c.above = 4; /* passed on from leader to leader, too */
    pid_t s = wt_service(&c, 30, 0);
    for (int i = 0; i < 12; i++) {
        c.identity = 500 + (uint64_t)i / 2;
        wt_start(&c, i > 0, 2, i > 0 ? i - 1 : 0, i > 0 ? 11 : 1, 20);
    }
    joined(&c);
    keeps(&c, 6);
    for (int i = 0; i < 11; i++)
        wt_kill(&c, i);
    assert_false(within(&c.serv->ended, 0.2));
    keeps(&c, 1);
    wt_kill(&c, 11);
    assert_true(within(&c.serv->ended, WT_PATIENCE_S));
    waitpid(s, NULL, 0);
    wt_end(&c);
}

/* Its leader dies with the table in its followers' hands, before the service has heard so. */
static int no_ack(enum wio_os_call call, int fd, size_t bytes)
{
    static bool passed_on;
    (void)fd;
    if (call == WIO_OS_SEND && passed_on && bytes == WIO_BOOT_HDR)
        _exit(1);
    passed_on |= call == WIO_OS_SEND && bytes == WIO_BOOT_HDR + 8; /* TABLE_FD */
    return 0;
}

static void a_leader_dies_before_it_has_acknowledged(void **state)
{
    (void)state;
    struct crowd c;
    start(&c);
    c.delivery_s = 4;
    pid_t s = wt_service(&c, 60, 0);
    wio_os_fault = no_ack;
    int leader = wt_start(&c, 0, 2, 0, 1, 20);
    wio_os_fault = NULL;
    wt_came(&c, 1);
    int follower = wt_start(&c, 1, 2, 0, 1, 20);
    assert_true(within(&c.p[follower].done, WT_PATIENCE_S));
    wt_expect_ok(&c, follower, 1, 2);
    waitpid(c.p[leader].pid, NULL, 0);
    c.p[leader].pid = 0;
    assert_int_equal(c.serv->formed, 0);
    assert_true(within(&c.serv->formed, WT_PATIENCE_S));
    keeps(&c, 1); /* the follower holds the connection */
    assert_false(within(&c.serv->ended, 0.5));
    wt_kill(&c, follower);
    assert_true(within(&c.serv->ended, WT_PATIENCE_S));
    waitpid(s, NULL, 0);
    wt_end(&c);
}

/* The follower's socket is full when both descriptors are sent. */
static int no_room(enum wio_os_call call, int fd, size_t bytes)
{
    static int refused;
    int domain = 0;
    socklen_t n = sizeof domain;
    return call == WIO_OS_SEND && bytes <= 2 * WIO_BOOT_HDR + 8 &&
                   getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
                   refused++ < 3
               ? -EAGAIN
               : 0;
}

static void two_descriptors_wait_for_room(void **state)
{
    (void)state;
    struct crowd c;
    start(&c);
    pid_t s = wt_service(&c, 30, 0);
    wio_os_fault = no_room;
    wt_start(&c, 0, 2, 0, 1, 20);
    wio_os_fault = NULL;
    wt_came(&c, 1);
    wt_start(&c, 1, 2, 0, 1, 20);
    joined(&c);
    wt_kill(&c, 0);
    assert_false(within(&c.serv->ended, 0.2)); /* the follower got the right one */
    wt_kill(&c, 1);
    assert_true(within(&c.serv->ended, WT_PATIENCE_S));
    waitpid(s, NULL, 0);
    wt_end(&c);
}

/* The child of a fork is no member. */
static void a_fork_holds_nothing_once_it_knows(void **state)
{
    (void)state;
    int pair[2];
    char b;
    assert_int_equal(pipe(pair), 0);
    struct wio_table t = {.hold_fd = dup(pair[1])};
    wio_table_after_fork(&t);
    close(pair[1]);
    assert_int_equal(t.hold_fd, 0);
    assert_int_equal(read(pair[0], &b, 1), 0);
    close(pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_long_as_the_last_process_of_a_host),
        cmocka_unit_test(one_connection_per_host),
        cmocka_unit_test(a_leader_dies_before_it_has_acknowledged),
        cmocka_unit_test(two_descriptors_wait_for_room),
        cmocka_unit_test(a_fork_holds_nothing_once_it_knows),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
