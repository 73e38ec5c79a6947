/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_death.c
 * A process is killed at each call to the system of a transfer through files, as the writer and as
 * the reader, as the one that begins the link and as the one that asks for it, with a short and a
 * long message. The survivor has the whole message or none, is told of the death, and leaves
 * nothing in the other one's folder.
 */
#include "file_pair.h"

struct plan {
    uint32_t victim; /* rank, of 2 */
    bool writes;     /* the victim sends, else it receives */
    uint32_t bytes;
    int die_at; /* which call; 0: none */
    bool torn;  /* in the middle of a write, where it is one */
};

static int calls, die_at;
static bool torn;
static int count_and_die(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if ((call != WIO_OS_FILE && call != WIO_OS_SPACE) || ++calls < die_at || die_at == 0)
        return 0;
    if (torn && calls == die_at && call == WIO_OS_SPACE && bytes > 1)
        return (int)(bytes / 2);
    kill(getpid(), SIGKILL);
    return 0;
}

/* Send a message and close the link, or receive one, until the link is closed. */
static void begin(struct node *nd, const struct plan *p)
{
    if ((nd->rank == p->victim) == p->writes)
        node_send(nd, 1 - nd->rank, p->bytes, 0, true);
}

static void go_on(struct node *nd, const struct plan *p)
{
    struct view *v = &nd->peer[1 - nd->rank];
    pair_round(nd);
    if ((nd->rank == p->victim) == p->writes && nd->ndone == nd->nqueued && v->ep != NULL)
        nd->w->tr->close(v->ep, WIO_BYE_CAP);
}

static void be_victim(void *arg, int wire)
{
    const struct plan *p = arg;
    struct world *w = pair_world();
    pair_meet(w, p->victim, wire);
    die_at = p->die_at;
    torn = p->torn;
    wio_os_fault = count_and_die;
    struct node *nd = &w->node[p->victim];
    begin(nd, p);
    while (nd->peer[1 - nd->rank].closed == 0)
        go_on(nd, p);
    world_free(w);
}

static bool has_links(const struct node *nd)
{
    return !wio_list_empty(&file_iface_of(nd->iface)->links);
}

/* Until the link is closed, or, where the victim died before there was one, nothing comes. */
static void survive(struct node *nd, const struct plan *p, pid_t pid, int *status)
{
    const struct view *v = &nd->peer[p->victim];
    int64_t end = wt_until_ns(20 * SECOND), dead = 0;
    begin(nd, p);
    while (v->closed == 0) {
        int64_t now = wio_os_now_ns();
        go_on(nd, p);
        if (dead == 0 && waitpid(pid, status, WNOHANG) == pid)
            dead = now;
        if (dead != 0 && !has_links(nd) && now - dead > (int64_t)(4e9 * pair_heartbeat))
            break;
        if (now > end) {
            world_dump(nd->w);
            kill(pid, SIGKILL);
            fail_msg("call %d: it is not told", p->die_at);
        }
    }
    if (dead == 0)
        assert_int_equal(waitpid(pid, status, 0), pid);
}

/* @return whether the victim was killed, and not through before */
static bool one_death(const struct plan *p)
{
    int wire, status = 0;
    struct plan copy = *p;
    pid_t pid = pair_fork(be_victim, &copy, &wire);
    struct world *w = pair_world();
    struct node *nd = &w->node[1 - p->victim];
    pair_meet(w, nd->rank, wire);
    survive(nd, p, pid, &status);
    const struct view *v = &nd->peer[p->victim];
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed)
        assert_int_equal(status, 0);
    if (v->closed > 0 && v->err != 0)
        assert_int_equal(v->err, WAITIO_ERR_PEER);
    if (!killed) {
        assert_int_equal(v->err, 0);
        assert_int_equal(v->nin, p->writes);
    }
    assert_int_equal(nd->ndone, nd->nqueued);
    assert_true(v->nin + v->abandoned <= 1); /* whole, or abandoned, or never begun */
    assert_true(v->nin == 1 || v->err != 0 || v->closed == 0 || !p->writes);
    world_free(w);
    int left = pair_sweep(pair_scratch, 1 - p->victim);
    if (left != 0)
        fail_msg("call %d: %d names left", p->die_at, left);
    return killed;
}

static void matrix(uint32_t victim, bool writes)
{
    static const uint32_t sizes[] = {40, 300000};
    pair_heartbeat = 0.01;
    for (size_t i = 0; i < 2 * WIO_ARRAY_LEN(sizes); i++) {
        struct plan p = {victim, writes, sizes[i / 2], 1, i % 2 != 0};
        if (p.torn && !writes)
            continue;
        while (one_death(&p))
            p.die_at++;
        print_message("rank %u %s %u bytes: killed at each of %d calls%s\n", victim,
                      writes ? "writes" : "reads", sizes[i / 2], p.die_at - 1,
                      p.torn ? ", in the middle of writes" : "");
        assert_true(p.die_at > 20);
    }
}

static void test_killed_as_a_writer_that_begins(void **state)
{
    (void)state;
    matrix(0, true);
}
static void test_killed_as_a_writer_that_asks(void **state)
{
    (void)state;
    matrix(1, true);
}
static void test_killed_as_a_reader_that_begins(void **state)
{
    (void)state;
    matrix(0, false);
}
static void test_killed_as_a_reader_that_asks(void **state)
{
    (void)state;
    matrix(1, false);
}

#define DEATH(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEATH(test_killed_as_a_writer_that_begins),
        DEATH(test_killed_as_a_writer_that_asks),
        DEATH(test_killed_as_a_reader_that_begins),
        DEATH(test_killed_as_a_reader_that_asks),
    };
    return cmocka_run_group_tests_name("file death", tests, NULL, NULL);
}
