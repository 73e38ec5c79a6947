/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_mend.c
 * WAITIO_RESUME_TIMEOUT: connections of two processes break all the time while messages travel that
 * are spread in memory, and while a message space is revoked. Each message comes once and whole,
 * and the revocation is heard.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "p2p_spread.h"
#include "waitio.h"

enum { MESSAGES = 25, LONGEST = 200000, LIMIT_S = 60, TAG = 3, NEVER_SENT = 4 };

static _Atomic uint64_t draw; /* the service thread asks, too */
static _Atomic bool cuts;

/* About one call in 150 finds that the connection is gone. */
static int cut(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (!cuts || (call != WIO_OS_SEND && call != WIO_OS_RECV))
        return 0;
    return wio_mix64(++draw) % 150 == 0 ? -ECONNRESET : 0;
}

static void need(int rc)
{
    if (rc != 0)
        _exit(2); /* the library has printed why */
}

static size_t size_of(int k)
{
    static const size_t sizes[] = {10, 1000, 30000, 70000, LONGEST};
    return sizes[k % 5];
}

static uint8_t byte_of(int from, int k, size_t i)
{
    return (uint8_t)(wio_mix64((uint64_t)(i / 8) * 131 + (uint64_t)k * 2 + (uint64_t)from) >>
                     i % 8 * 8);
}

static void ends(struct wio_universe *u, struct wio_handle *h, int err)
{
    struct wio_result res;
    need(wio_wait(u, h, &res));
    if (res.err != err)
        _exit(4);
}

static void exchange(struct wio_universe *u, struct waitio_group *g, int me, int k)
{
    static uint8_t out[2 * LONGEST], in[2 * LONGEST];
    struct wio_spread to = spread_at(out), from = spread_at(in);
    struct wio_handle s, r;
    size_t n = size_of(k);
    memset(in, 0xee, 2 * n);
    for (size_t i = 0; i < n; i++)
        out[2 * i] = byte_of(me, k, i);
    need(wio_irecv_spread(u, g, 1 - me, &from, n, TAG, false, &r));
    need(wio_isend_spread(u, g, (uint32_t)(1 - me), &to, n, TAG, false, false, &s));
    ends(u, &r, 0);
    ends(u, &s, 0);
    for (size_t i = 0; i < n; i++)
        if (in[2 * i] != byte_of(1 - me, k, i) || in[2 * i + 1] != 0xee)
            _exit(3);
}

/* Rank 1 waits for what nobody sends. */
static void end_space(struct wio_universe *u, struct waitio_group *g, int me)
{
    struct wio_handle h;
    uint8_t byte;
    g->fragile = true;
    if (me == 0) {
        wio_revoke(u, g, WAITIO_ERR_TRUNCATE);
        return;
    }
    int rc = wio_irecv(u, g, 0, &byte, 1, NEVER_SENT, false, &h);
    if (rc == 0)
        ends(u, &h, WAITIO_ERR_PEER);
    else if (rc != WAITIO_ERR_PEER)
        _exit(5);
}

static void program(int me, int port)
{
    char text[16];
    waitio_group_t all, doomed;
    snprintf(text, sizeof text, "%d", me);
    setenv("WAITIO_PBID", text, 1);
    snprintf(text, sizeof text, "%d", port);
    setenv("WAITIO_MASTER_PORT", text, 1);
    alarm(2 * LIMIT_S);
    need(waitio_init(LIMIT_S));
    need(waitio_group_universe(0, &all));
    need(waitio_group_universe(1, &doomed));
    struct wio_universe *u = wio_api_universe();
    draw = (uint64_t)me * 1000003;
    cuts = true;
    for (int k = 0; k < MESSAGES; k++)
        exchange(u, (struct waitio_group *)all, me, k);
    end_space(u, (struct waitio_group *)doomed, me);
    exchange(u, (struct waitio_group *)all, me, MESSAGES);
    cuts = false;
    bool seen = u->ctr.link_resumes > 1;
    need(waitio_finalize());
    _exit(seen ? 0 : 6);
}

static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static void pair(void)
{
    pid_t pid[2];
    int status[2], port = free_port();
    setenv("WAITIO_NPB", "2", 1);
    setenv("WAITIO_RANK", "0", 1);
    setenv("WAITIO_NPROCS", "1", 1);
    setenv("WAITIO_JOB_ID", "mend", 1);
    setenv("WAITIO_MASTER_HOST", "127.0.0.1", 1);
    setenv("WAITIO_COMM_TYPE", "socket", 1);
    setenv("WAITIO_RESUME_TIMEOUT", "30", 1);
    wio_os_fault = cut; /* set before there are threads */
    for (int i = 0; i < 2; i++) {
        fflush(NULL);
        pid[i] = fork();
        if (pid[i] == 0)
            program(i, port);
    }
    wio_os_fault = NULL;
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pid[i], &status[i], 0), pid[i]);
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], 0);
}

static void test_cuts(void **state)
{
    (void)state;
    pair();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cuts)};
    return cmocka_run_group_tests_name("mend", tests, NULL, NULL);
}
