/* SPDX-License-Identifier: BSD-3-Clause */
/* Every way to be refused, or to wait in vain, and what is said about it. */
#include "boot_people.h"

#include <sys/resource.h>

static void two_processes_with_one_rank(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 20, 0);
    int first = wt_start(&c, 1, 2, 0, 2, 3);
    wt_came(&c, 1);
    int second = wt_start(&c, 1, 2, 0, 2, 20);
    char pids[64];
    snprintf(pids, sizeof pids, "pid %d on host", (int)c.p[first].pid);
    wt_wait_all(&c, 25);
    wt_expect_error(&c, second, WAITIO_ERR_JOIN, "PB 1 rank 0 is claimed by two processes");
    wt_expect_error(&c, second, WAITIO_ERR_JOIN, pids);
    wt_expect_error(&c, first, WAITIO_ERR_TIMEOUT,
                    "PB 0: nobody came (size unknown); PB 1: rank 1 of 2");
    assert_true(c.p[second].seconds < 10); /* at once, not at its deadline */
    wt_end_service(s);
    wt_end(&c);
}

static void blocks_that_disagree(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 20, 0);
    wt_start(&c, 1, 3, 0, 4, 3);
    wt_came(&c, 1);
    int npb = wt_start(&c, 2, 4, 0, 1, 20), size = wt_start(&c, 1, 3, 2, 5, 20);
    wt_wait_all(&c, 25);
    wt_expect_error(&c, npb, WAITIO_ERR_JOIN, "WAITIO_NPB=4 of PB 2 rank 0");
    wt_expect_error(&c, npb, WAITIO_ERR_JOIN, "disagrees with WAITIO_NPB=3 given by PB 1 rank 0");
    wt_expect_error(&c, size, WAITIO_ERR_JOIN, "PB 1 has 4 processes according to rank 0");
    wt_expect_error(&c, size, WAITIO_ERR_JOIN, "but 5 according to rank 2");
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT,
                    "PB 0: nobody came (size unknown); PB 1: ranks 1-3 of 4; PB 2: nobody");
    wt_end_service(s);
    wt_end(&c);
}

static void embedded_timeout_lists_who_is_missing(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    /* Only the one that serves is impatient: one that gives up before is missing in its list. */
    wt_start(&c, 0, 4, 0, 9, 3);
    wt_start(&c, 0, 4, 4, 9, 20);
    wt_start(&c, 0, 4, 8, 9, 20);
    wt_start(&c, 2, 4, 0, 1, 20);
    wt_wait_all(&c, 25);
    for (int i = 0; i < 4; i++) {
        /* With more patience than the process that serves: told, or finding out, that it is gone.
         */
        assert_true(c.p[i].rc == WAITIO_ERR_TIMEOUT || (i > 0 && c.p[i].rc == WAITIO_ERR_PEER));
        wt_expect_error(&c, i, c.p[i].rc,
                        "PB 0: ranks 1-3,5-7 of 9; PB 1: nobody came (size unknown); PB 3: nobody "
                        "came (size unknown)");
    }
    assert_true(c.p[0].seconds >= 3 && c.p[0].seconds < 10);
    wt_end(&c);
}

static void nobody_serves(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    wt_start(&c, 1, 2, 0, 2, 0.7);
    wt_start(&c, 1, 2, 1, 2, 0.9);
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT, "cannot reach the rendezvous at 127.0.0.1 port");
    wt_expect_error(&c, 1, WAITIO_ERR_TIMEOUT, "Connection refused");
    wt_end(&c);
}

static void another_job_id(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 20, 0);
    snprintf(c.job, sizeof c.job, "theirs");
    wt_start(&c, 1, 2, 0, 1, 2);
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT, "serves job id 'job");
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT, "this program has job id 'theirs'");
    wt_end_service(s);
    wt_end(&c);
}

static void a_complete_universe_takes_nobody(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 20, 0);
    wt_block(&c, 0, 2, 1, 20);
    wt_block(&c, 1, 2, 2, 20);
    wt_wait_all(&c, 25);
    for (int i = 0; i < 3; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 3);
    /* Another run with this id. So many, that the end of patience meets some on their way in: with
     * the list of who is missing, where nobody is, and the refusal only from the time before. */
    enum { LATE = 40 };
    for (int i = 0; i < LATE; i++) {
        c.identity = 1000 + (uint64_t)i;
        wt_start(&c, 1, 2, 1, 2, 3 + 0.001 * i);
    }
    wt_wait_all(&c, 15);
    for (int i = 3; i < 3 + LATE; i++)
        wt_expect_error(&c, i, WAITIO_ERR_TIMEOUT,
                        "is already complete: another run with this job id is active");
    assert_in_range(wt_count(&c, "the rendezvous welcomes us"), LATE, 20 * LATE); /* ever rarer */
    wt_end_service(s);
    wt_end(&c);
}

/* Started while the last run's service still answers: waits for the port, then serves itself. */
static void a_second_run_waits_for_the_port(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 3, 0);
    wt_block(&c, 0, 2, 1, 20);
    wt_block(&c, 1, 2, 1, 20);
    wt_wait_all(&c, 25);
    int first = wt_block(&c, 1, 2, 1, 20), second = wt_block(&c, 0, 2, 1, 20);
    wt_wait_all(&c, 25);
    wt_expect_ok(&c, second, 0, 2);
    wt_expect_ok(&c, first, 1, 2);
    assert_memory_not_equal(c.p[0].universe, c.p[first].universe, 16);
    wt_end_service(s);
    wt_end(&c);
}

static void wrong_secret_is_told_at_once(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 20, 0);
    wt_start(&c, 1, 2, 0, 2, 3); /* becomes the leader */
    wt_came(&c, 1);
    c.secret.key[0] ^= 1;
    int follower = wt_start(&c, 1, 2, 1, 2, 20);
    c.identity = 77; /* another host */
    int elsewhere = wt_start(&c, 1, 2, 1, 2, 20);
    wt_wait_all(&c, 25);
    wt_expect_error(&c, follower, WAITIO_ERR_AUTH, "secret");
    wt_expect_error(&c, elsewhere, WAITIO_ERR_AUTH, "secret");
    assert_true(c.p[elsewhere].seconds < 10 && c.p[follower].seconds < 10);
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT, "PB 1: rank 1 of 2");
    wt_end_service(s);
    wt_end(&c);
}

/* A program that is not ours sits on the port. `says` NULL: it only takes connections. */
static pid_t stranger(uint16_t port, const char *says)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen(fd, 10), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(WT_LAST_RESORT_S);
        for (;;) {
            int s = accept(fd, NULL, NULL);
            if (s >= 0 && says != NULL) {
                if (write(s, says, strlen(says)) < 0)
                    _exit(1);
                usleep(20000);
                close(s);
            }
        }
    }
    close(fd);
    return pid;
}

static void port_taken_by_a_stranger(void **state)
{
    (void)state;
    static const char *const says[] = {"HTTP/1.0 400 Bad Request\r\n\r\n", NULL};
    for (int i = 0; i < 2; i++) {
        struct crowd c;
        wt_crowd(&c);
        pid_t s = stranger((uint16_t)c.cfg.master_port, says[i]);
        wt_start(&c, 0, 2, 0, 1, 6);
        int client = wt_start(&c, 1, 2, 0, 1, i == 0 ? 1 : 5.5);
        wt_wait_all(&c, 10);
        wt_expect_error(&c, 0, WAITIO_ERR_JOIN, "is taken by a stranger");
        wt_expect_error(&c, 0, WAITIO_ERR_JOIN, "choose another WAITIO_MASTER_PORT");
        assert_true(c.p[0].seconds < 4);
        wt_expect_error(&c, client, WAITIO_ERR_TIMEOUT,
                        i == 0 ? "no WaitIO program" : "does not answer");
        wt_end_service(s);
        wt_end(&c);
    }
}

/* A port that outgoing connections get: the remedy says which ports are better. */
static void port_taken_from_the_outgoing_ones(void **state)
{
    (void)state;
    struct crowd c;
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    wt_crowd(&c);
    c.cfg.master_port = ntohs(sa.sin_port);
    wt_start(&c, 0, 2, 0, 1, 1); /* nobody listens there */
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_TIMEOUT, "takes for outgoing connections");
    wt_end(&c);
    assert_int_equal(listen(fd, 10), 0); /* nobody answers */
    wt_crowd(&c);
    c.cfg.master_port = ntohs(sa.sin_port);
    wt_start(&c, 0, 2, 0, 1, 6);
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_JOIN, "takes for outgoing connections");
    close(fd);
    wt_end(&c);
}

static void bad_master_host(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    snprintf(c.cfg.master_host, sizeof c.cfg.master_host, "no such host.invalid");
    wt_start(&c, 1, 2, 0, 1, 0.5);
    c.secret.len = 0; /* WAITIO_SECRET=none */
    snprintf(c.cfg.master_host, sizeof c.cfg.master_host, "192.0.2.1");
    wt_start(&c, 1, 2, 0, 1, 0.5);
    wt_wait_all(&c, 5);
    wt_expect_error(&c, 0, WAITIO_ERR_CONFIG,
                    "cannot resolve WAITIO_MASTER_HOST='no such host.invalid'");
    wt_expect_error(&c, 1, WAITIO_ERR_CONFIG, "WAITIO_SECRET_NONE_REMOTE");
    wt_end(&c);
}

/* The leader of many processes needs a descriptor for each. */
static void too_few_descriptors(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    int leader = c.n++;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit few = {17, 17};
        alarm(WT_LAST_RESORT_S);
        setrlimit(RLIMIT_NOFILE, &few);
        wt_join_here(&c, &c.p[leader], 1, 2, 0, 40, 3);
        _exit(0);
    }
    c.p[leader].pid = pid;
    wt_heard(&c, "leading this host");
    for (int r = 1; r < 20; r++)
        wt_start(&c, 1, 2, r, 40, 3);
    wt_wait_all(&c, 8);
    wt_expect_error(&c, leader, WAITIO_ERR_LIMIT, "descriptor limit of 17 is too low");
    wt_expect_error(&c, leader, WAITIO_ERR_LIMIT, "raise ulimit -n");
    wt_expect_error(&c, 5, WAITIO_ERR_TIMEOUT, "cannot reach the rendezvous");
    wt_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_with_one_rank),
        WT_IN_FOLDER(two_processes_with_one_rank),
        cmocka_unit_test(blocks_that_disagree),
        WT_IN_FOLDER(blocks_that_disagree),
        cmocka_unit_test(embedded_timeout_lists_who_is_missing),
        WT_IN_FOLDER(embedded_timeout_lists_who_is_missing),
        cmocka_unit_test(nobody_serves),
        cmocka_unit_test(another_job_id),
        cmocka_unit_test(a_complete_universe_takes_nobody),
        WT_IN_FOLDER(a_complete_universe_takes_nobody),
        cmocka_unit_test(a_second_run_waits_for_the_port),
        WT_IN_FOLDER(a_second_run_waits_for_the_port),
        cmocka_unit_test(wrong_secret_is_told_at_once),
        WT_IN_FOLDER(wrong_secret_is_told_at_once),
        cmocka_unit_test(port_taken_by_a_stranger),
        cmocka_unit_test(port_taken_from_the_outgoing_ones),
        cmocka_unit_test(bad_master_host),
        cmocka_unit_test(too_few_descriptors),
        WT_IN_FOLDER(too_few_descriptors),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
