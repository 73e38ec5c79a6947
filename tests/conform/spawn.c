/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file spawn.c  A child of the program that runs another program: until it executes, it holds a
 * copy of every descriptor, and no handler of ours runs in it. What is closed meanwhile must not
 * give events any more, for what they would name is freed. Guard: where sockets leave the event
 * sets by close() alone, each of these tests finds an event.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/wait.h>

#include "raw_world.h"

/* ---- the child ---- */

struct child {
    pid_t pid;
    int end; /* it lives until this is closed */
};

/* As posix_spawn() makes it, before its exec. */
static struct child begin_child(void)
{
    struct child c;
    int pipe_fd[2];
    char byte;
    assert_int_equal(pipe(pipe_fd), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        close(pipe_fd[1]);
        _exit(read(pipe_fd[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipe_fd[0]);
    c.end = pipe_fd[1];
    return c;
}

static void end_child(struct child *c)
{
    int status = -1;
    close(c->end);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_int_equal(status, 0);
}

static void no_events(const struct node *nd)
{
    static const enum wio_progress_how how[] = {WIO_PROGRESS_FULL, WIO_PROGRESS_SERVICE};
    struct epoll_event ev[8];
    for (size_t i = 0; i < WIO_ARRAY_LEN(how); i++) {
        int set = nd->w->tr->event_fd(nd->iface, how[i]);
        assert_int_equal(wio_os_epoll_wait(set, ev, 8, 0), 0);
    }
}

/* ---- TCP ---- */

static void test_link_over_tcp(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = pair_ready(tr);
        struct node *closes = &w->node[0], *other = &w->node[1];
        w->quiet_errors = true;
        struct child c = begin_child();
        other->mute = true;
        tr->close(closes->peer[1].ep, WIO_BYE_ERROR);
        UNTIL(w, closes->peer[1].closed == 1);
        tr->ping(other->peer[0].ep); /* it has not heard of that yet */
        no_events(closes);
        end_child(&c);
        other->mute = false;
        UNTIL(w, other->peer[0].closed == 1);
        world_free(w);
    }
}

/* A stranger that is hung up on. */
static void test_handshake_over_tcp(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_new(tr, 2));
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->ep[0].port)};
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
        UNTIL(w, w->tr->needs_service(w->node[0].iface)); /* it has been accepted */
        struct child c = begin_child();
        assert_int_equal(wio_os_send(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
        UNTIL(w, !w->tr->needs_service(w->node[0].iface));
        assert_int_equal(wio_os_send(fd, "Host: a", 7), 7);
        no_events(&w->node[0]);
        close(fd);
        end_child(&c);
        world_free(w);
    }
}

/* ---- shared memory ---- */

static void test_link_over_memory(void **state)
{
    (void)state;
    EACH_SHM(w)
    {
        struct raw r;
        uint8_t bye[WIO_MSG_BYTES] = {WIO_BYE_FINALIZE};
        link_raw(w, &r);
        struct child c = begin_child();
        assert_true(raw_cell(&r, shm_info(SHM_BYE, SHM_INLINE, 0), bye, NULL, 0));
        UNTIL(w, w->node[1].peer[0].closed == 1);
        assert_true(raw_say(&r, SHM_R_PING));
        no_events(&w->node[1]);
        others_go_on(w);
        end_child(&c);
        raw_die(&r);
    }
}

static void test_handshake_over_memory(void **state)
{
    (void)state;
    struct world *w = open_world(3);
    struct raw r;
    raw_init(&r, drive, w);
    r.fd = raw_dial(w->ep[1].token);
    assert_true(r.fd >= 0);
    UNTIL(w, w->tr->needs_service(w->node[1].iface));
    struct child c = begin_child();
    assert_int_equal(wio_os_send(r.fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
    UNTIL(w, !w->tr->needs_service(w->node[1].iface));
    assert_int_equal(wio_os_send(r.fd, "Host: a", 7), 7);
    no_events(&w->node[1]);
    others_go_on(w);
    end_child(&c);
    raw_die(&r);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_link_over_tcp),
        CONFORM(test_handshake_over_tcp),
        CONFORM(test_link_over_memory),
        CONFORM(test_handshake_over_memory),
    };
    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
