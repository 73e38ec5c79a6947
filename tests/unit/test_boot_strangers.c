/* SPDX-License-Identifier: BSD-3-Clause */
/* Strangers at the rendezvous port, and connections that give bytes one by one: members join all
 * the same. */
#include "boot_people.h"
#include "boot/server.h"

static int knock(uint16_t port)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof sa) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

struct counts {
    volatile uint64_t bytes, peak;
    volatile int stop, knocked, serving;
};

/* Like wt_service, and reports its memory. */
static pid_t watched_service(struct crowd *c, struct counts *k)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct wio_service *s;
        struct wio_service_params p = {.cfg = &c->cfg,
                                       .secret = &c->secret,
                                       .bind_host = "127.0.0.1",
                                       .port = (uint16_t)c->cfg.master_port};
        snprintf(p.job_id, sizeof p.job_id, "%s", c->job);
        alarm(WT_LAST_RESORT_S);
        if (wio_service_start(&p, &s) != 0)
            _exit(1);
        k->serving = 1;
        while (!k->stop) {
            struct wio_service_stats st;
            wio_service_run(s, 20000000);
            wio_service_stats(s, &st);
            k->bytes = st.bytes;
            if (st.bytes > k->peak)
                k->peak = st.bytes;
        }
        wio_service_stop(s);
        _exit(0);
    }
    return pid;
}

static struct counts *shared_counts(void)
{
    struct counts *k =
        mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(k != MAP_FAILED);
    return k;
}

#define CROWDS 4
#define PER_CROWD 2500

static void ten_thousand_idle_strangers(void **state)
{
    (void)state;
    struct crowd c;
    struct counts *k = shared_counts();
    pid_t idlers[CROWDS];
    wt_crowd(&c);
    pid_t s = watched_service(&c, k);
    for (int i = 0; i < WT_PATIENCE_S * 1000 && !k->serving; i++)
        usleep(1000);
    for (int i = 0; i < CROWDS; i++) {
        if ((idlers[i] = fork()) != 0)
            continue;
        alarm(WT_LAST_RESORT_S);
        for (int n = 0; n < PER_CROWD; n++)
            if (knock((uint16_t)c.cfg.master_port) >= 0)
                __sync_fetch_and_add(&k->knocked, 1);
        while (!k->stop)
            usleep(10000);
        _exit(0);
    }
    for (int i = 0; i < 500 && k->knocked < CROWDS * PER_CROWD / 4; i++)
        usleep(10000);
    wt_block(&c, 0, 2, 2, 40); /* in the middle of the rush */
    for (int i = 0; i < 2000 && k->knocked < CROWDS * PER_CROWD; i++)
        usleep(10000);
    assert_int_equal(k->knocked, CROWDS * PER_CROWD);
    wt_block(&c, 1, 2, 2, 40);
    wt_wait_all(&c, 45);
    for (int i = 0; i < 4; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 4);
    assert_true(c.p[3].seconds < 15 * wt_patience());
    assert_true(k->peak > 0 && k->peak < 4u << 20); /* 1024 strangers at most */
    k->stop = 1;
    for (int i = 0; i < CROWDS; i++)
        waitpid(idlers[i], NULL, 0);
    waitpid(s, NULL, 0);
    munmap(k, sizeof *k);
    wt_end(&c);
}

/* One byte of a right beginning now and then: dropped after the deadline, although it never pauses
 * for long. */
static void slow_loris_is_dropped(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 30, 0);
    int fd = knock((uint16_t)c.cfg.master_port);
    assert_true(fd >= 0);
    int64_t t0 = wio_os_now_ns();
    static const uint8_t hello[] = {'W', 'I', 'O', 'H', 1, 1, 56, 0};
    bool dropped = false;
    for (size_t i = 0; i < 100 && !dropped; i++) {
        char got[64];
        uint8_t b = i < sizeof hello ? hello[i] : 0;
        dropped = send(fd, &b, 1, MSG_NOSIGNAL) < 0 || recv(fd, got, sizeof got, MSG_DONTWAIT) == 0;
        usleep(250000);
    }
    double took = (double)(wio_os_now_ns() - t0) / 1e9;
    close(fd);
    assert_true(dropped);
    assert_true(took > 8 && took < 18); /* the 100 bytes take 25 s */
    wt_end_service(s);
    wt_end(&c);
}

/* Rubbish of every kind, also in place of rendezvous messages: the service survives and serves. */
static void garbage_disturbs_nobody(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    pid_t s = wt_service(&c, 30, 0);
    uint32_t seed = 7;
    for (int i = 0; i < 200; i++) {
        uint8_t buf[300];
        int fd = knock((uint16_t)c.cfg.master_port);
        assert_true(fd >= 0);
        for (size_t k = 0; k < sizeof buf; k++)
            buf[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        if (i % 2 == 0)
            memcpy(buf, "WIOH\1\1\70\0", 8);
        send(fd, buf, (size_t)(i % 300), MSG_NOSIGNAL);
        close(fd);
    }
    wt_block(&c, 0, 2, 1, 20);
    wt_block(&c, 1, 2, 2, 20);
    wt_wait_all(&c, 25);
    for (int i = 0; i < 3; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 3);
    wt_end_service(s);
    wt_end(&c);
}

static int one_byte(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_SEND || call == WIO_OS_RECV ? 1 : 0;
}

static void one_byte_at_a_time(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    wio_os_fault = one_byte; /* in all processes started from now on */
    wt_block(&c, 0, 2, 3, 15);
    c.identity = 3;
    wt_block(&c, 1, 2, 3, 15);
    wio_os_fault = NULL;
    wt_wait_all(&c, 20);
    for (int i = 0; i < 6; i++)
        wt_expect_ok(&c, i, (uint32_t)i, 6);
    assert_int_equal(c.p[0].nhosts, 2);
    wt_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_idle_strangers),
        cmocka_unit_test(slow_loris_is_dropped),
        cmocka_unit_test(garbage_disturbs_nobody),
        cmocka_unit_test(one_byte_at_a_time),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
