/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file boot_people.h
 * Helpers of the join tests: processes that join ("people"), started by fork, whose results come
 * back through shared memory. Everything is bounded in time and cleaned up by pid.
 */
#ifndef WT_BOOT_PEOPLE_H
#define WT_BOOT_PEOPLE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "boot/boot.h"
#include "os/os.h"
#include "patience.h"

#define WT_PEOPLE 1200
/* An orphan of a test ends after so long; a hang is noticed before, by tests/support/limited.py. */
#define WT_LAST_RESORT_S 1200

struct person {
    pid_t pid;
    volatile int done; /* 1 = came back from wio_join */
    int rc;
    char text[1400];
    uint32_t me, size, npb, nhosts;
    uint8_t universe[16];
    double seconds;
    uint16_t port_of_last;
    volatile int leave; /* see crowd.stay; 2: and live on without */
};

/* What wt_service tells about itself. */
struct service_report {
    struct wio_service_stats st;
    volatile int formed, ended;
};

struct crowd {
    struct person *p; /* shared memory */
    int n;
    struct wio_config cfg;
    struct wio_secret secret;
    char job[64];
    const char *log;
    int said_fd; /* what all of them log, in memory */
    off_t said;  /* so much of it counts no more: see wt_forget */
    char said_path[32];
    uint64_t identity; /* 0 = real host; otherwise pretended hosts */
    bool plain;        /* publish 127.0.0.1 as if it were good for other hosts */
    bool stay;         /* who has joined keeps the table until `leave` is set */
    bool serve_on;     /* wt_service lives as long as the universe */
    uint32_t fan, above;
    double delivery_s;
    double say_first_s, say_every_s; /* see wio_join_params */
    struct service_report *serv;     /* shared memory */
    char scratch[64];                /* they meet in this directory; "" = at a port */
};

/* Whether the crowds of this test meet in a directory; whether somebody was killed, so that files
 * may be left there. */
static bool wt_in_folder, wt_killed;

static inline int wt_meet_in_folder(void **state)
{
    (void)state;
    wt_in_folder = true;
    return 0;
}

static inline int wt_meet_at_port(void **state)
{
    (void)state;
    wt_in_folder = false;
    return 0;
}

/* The same test, where all meet in a directory and nobody has an address. */
#define WT_IN_FOLDER(f)                                                                            \
    {                                                                                              \
#f " (in a directory)", f, wt_meet_in_folder, wt_meet_at_port, NULL                        \
    }

/* As python/waitio/ports.py: below the range of outgoing connections, and marked as given out as
 * long as this process lives. */
static inline uint16_t wt_free_port(void)
{
    static int held = -1; /* the mark of the last one */
    uint32_t dice = 0;
    if (held >= 0)
        close(held);
    for (int tries = 0; tries < 200; tries++) {
        assert_int_equal(wio_os_random(&dice, sizeof dice), 0);
        uint16_t port = (uint16_t)(20000 + dice % 12000);
        struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        int n = snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "waitio-port-%u", port);
        int fd = socket(AF_INET, SOCK_STREAM, 0), mark = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_true(fd >= 0 && mark >= 0);
        int rc = bind(fd, (struct sockaddr *)&sa, sizeof sa);
        close(fd);
        if (rc == 0 &&
            bind(mark, (struct sockaddr *)&un,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0) {
            held = mark;
            return port;
        }
        close(mark);
    }
    fail_msg("no free port");
    return 0;
}

static inline void wt_take_folder(struct crowd *c)
{
    c->cfg.master_host[0] = '\0';
    c->cfg.comm_type = WIO_CFG_COMM_TYPE_FILE;
    snprintf(c->scratch, sizeof c->scratch, "/tmp/waitio-crowd-XXXXXX");
    assert_non_null(mkdtemp(c->scratch));
    snprintf(c->cfg.scratch_dir, sizeof c->cfg.scratch_dir, "%s", c->scratch);
}

/* Nothing is left in the directory but what belongs to somebody who was killed. */
static inline void wt_leave_folder(struct crowd *c)
{
    char cmd[160];
    if (c->scratch[0] == '\0' || rmdir(c->scratch) == 0)
        return;
    snprintf(cmd, sizeof cmd, "test %d = 1 || find %.64s >&2; rm -rf %.64s", wt_killed, c->scratch,
             c->scratch);
    assert_int_equal(system(cmd), 0);
    assert_true(wt_killed);
}

static inline void wt_crowd(struct crowd *c)
{
    memset(c, 0, sizeof *c);
    c->p = mmap(NULL, WT_PEOPLE * sizeof *c->p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    assert_true(c->p != MAP_FAILED);
    c->serv =
        mmap(NULL, sizeof *c->serv, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(c->serv != MAP_FAILED);
    wio_config_defaults(&c->cfg);
    snprintf(c->cfg.master_host, sizeof c->cfg.master_host, "127.0.0.1");
    c->cfg.master_port = wt_free_port();
    memcpy(c->secret.key, "correct horse battery staple", 28);
    c->secret.len = 28;
    snprintf(c->secret.origin, sizeof c->secret.origin, "test");
    snprintf(c->job, sizeof c->job, "job%d", (int)getpid());
    c->log = getenv("WT_LOG") ? getenv("WT_LOG") : "debug";
    c->said_fd = memfd_create("what people say", 0);
    assert_true(c->said_fd >= 0);
    snprintf(c->said_path, sizeof c->said_path, "/proc/self/fd/%d", c->said_fd);
    wt_killed = false;
    if (wt_in_folder)
        wt_take_folder(c);
}

/* ---- what has happened, by the log: a time would only be a guess ---- */

static inline void wt_forget(struct crowd *c)
{
    c->said = lseek(c->said_fd, 0, SEEK_END);
}

/* @return everything that was logged; to be freed */
static inline char *wt_said(const struct crowd *c)
{
    off_t n = lseek(c->said_fd, 0, SEEK_END) - c->said;
    char *text = calloc(1, (size_t)n + 1);
    assert_true(text != NULL && pread(c->said_fd, text, (size_t)n, c->said) == n);
    return text;
}

/* How many have come, by the last line about it: "...; 3 of 4 are here". */
static inline unsigned wt_here(const char *text)
{
    unsigned n = 0, of;
    for (const char *at = text; (at = strstr(at, "; ")) != NULL; at += 2) {
        unsigned now;
        char end = 0;
        if (sscanf(at, "; %u of %u are her%c", &now, &of, &end) == 3 && end == 'e')
            n = now;
    }
    return n;
}

enum { WT_PATIENCE_S = 20 }; /* for what comes at once, however busy the machine is */

/* Wait until the service counts so many members. */
static inline void wt_came(const struct crowd *c, unsigned n)
{
    unsigned here = 0;
    for (int i = 0; i < WT_PATIENCE_S * 1000 && here < n; i++) {
        char *text = wt_said(c);
        here = wt_here(text);
        free(text);
        usleep(1000);
    }
    assert_true(here >= n);
}

/* How often somebody has logged this. */
static inline int wt_count(const struct crowd *c, const char *what)
{
    int n = 0;
    char *text = wt_said(c);
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    free(text);
    return n;
}

/* Wait until somebody has logged this. */
static inline void wt_heard(const struct crowd *c, const char *what)
{
    bool found = false;
    for (int i = 0; i < WT_PATIENCE_S * 1000 && !found; i++) {
        char *text = wt_said(c);
        found = strstr(text, what) != NULL;
        free(text);
        usleep(1000);
    }
    if (!found)
        print_error("nobody said: %s\n", what);
    assert_true(found);
}

/* In the calling process. */
static inline void wt_join_here(struct crowd *c, struct person *me, int pbid, int npb, int rank,
                                int nprocs, double timeout)
{
    struct wio_log lg;
    struct wio_table *t = NULL;
    struct wio_whoami who = {.pbid = pbid, .npb = npb, .rank = rank, .nprocs = nprocs};
    snprintf(who.job_id, sizeof who.job_id, "%s", c->job);
    wio_log_init(&lg, c->log, c->said_path);
    lg.pbid = pbid;
    lg.pb_rank = rank;
    struct wio_join_params p = {.cfg = &c->cfg,
                                .secret = &c->secret,
                                .me = &who,
                                .log = &lg,
                                .timeout_s = timeout,
                                .say_first_s = c->say_first_s,
                                .say_every_s = c->say_every_s};
    wio_boot_addresses(&c->cfg, &lg, &p.offer.host);
    if (c->identity != 0)
        p.offer.host.identity = c->identity;
    if (c->plain) {
        p.offer.host.naddr = 1;
        p.offer.host.addr[0] = (struct wio_tab_addr){4, 0, 8, 0, 0, {127, 0, 0, 1}};
    }
    p.offer.ep.port = (uint16_t)(1000 + 100 * pbid + rank);
    p.offer.ep.caps = 3;
    p.offer.ep.token = (uint64_t)getpid();
    int64_t t0 = wio_os_now_ns();
    me->rc = wio_join(&p, &t);
    me->seconds = (double)(wio_os_now_ns() - t0) / 1e9;
    if (me->rc != 0) {
        snprintf(me->text, sizeof me->text, "%s", wio_last_error());
    } else {
        me->me = t->me;
        me->size = t->size;
        me->npb = t->npb;
        me->nhosts = t->nhosts;
        me->port_of_last = t->ep[t->size - 1].port;
        memcpy(me->universe, t->universe, 16);
        /* the table says of me what I said */
        if (t->ep[t->me].token != (uint64_t)getpid() || t->ep[t->me].port != p.offer.ep.port ||
            wio_table_pb_of(t, t->me) != (uint32_t)pbid)
            me->rc = 1;
        me->done = 1;
        while (c->stay && !me->leave)
            usleep(1000);
        wio_table_free(t);
        while (me->leave == 2)
            usleep(1000);
    }
    wio_log_close(&lg);
    me->done = 1;
}

static inline int wt_start(struct crowd *c, int pbid, int npb, int rank, int nprocs, double timeout)
{
    int i = c->n++;
    assert_true(i < WT_PEOPLE);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(WT_LAST_RESORT_S);
        wt_join_here(c, &c->p[i], pbid, npb, rank, nprocs, timeout);
        _exit(0);
    }
    c->p[i].pid = pid;
    return i;
}

static inline int wt_block(struct crowd *c, int pbid, int npb, int nprocs, double timeout)
{
    int first = c->n;
    for (int r = 0; r < nprocs; r++)
        wt_start(c, pbid, npb, r, nprocs, timeout);
    return first;
}

/* Everybody started so far has ended; kills and fails after `seconds`. */
static inline void wt_wait_all(struct crowd *c, double seconds)
{
    int64_t deadline = wt_until_ns((int64_t)(seconds * 1e9));
    bool late = false;
    for (int i = 0; i < c->n; i++) {
        while (c->p[i].pid > 0) {
            int st;
            pid_t r = waitpid(c->p[i].pid, &st, WNOHANG);
            if (r != 0) {
                c->p[i].pid = 0;
                break;
            }
            if (wio_os_now_ns() > deadline) {
                late = true;
                kill(c->p[i].pid, SIGKILL);
            }
            usleep(500);
        }
    }
    if (late)
        for (int i = 0; i < c->n; i++)
            if (!c->p[i].done)
                print_error("person %d did not come back\n", i);
    assert_false(late);
}

/* Process i is gone for good. */
static inline void wt_kill(struct crowd *c, int i)
{
    wt_killed = true;
    kill(c->p[i].pid, SIGKILL);
    waitpid(c->p[i].pid, NULL, 0);
    c->p[i].pid = 0;
}

/* A rendezvous service in a process of its own, as waitio-serv runs it, for `seconds`; at the port
 * of the crowd. */
static inline pid_t wt_service(struct crowd *c, double seconds, int npb)
{
    int ready[2];
    char ok = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct wio_log lg;
        struct wio_service *s;
        struct wio_service_params p = {.cfg = &c->cfg,
                                       .secret = &c->secret,
                                       .log = &lg,
                                       .bind_host = "127.0.0.1",
                                       .port = (uint16_t)c->cfg.master_port,
                                       .in_folder = c->scratch[0] != '\0',
                                       .npb = npb,
                                       .stay = c->serve_on,
                                       .relay_fan = c->fan,
                                       .relay_above = c->above,
                                       .delivery_s = c->delivery_s};
        snprintf(p.job_id, sizeof p.job_id, "%s", c->job);
        alarm(WT_LAST_RESORT_S);
        close(ready[0]);
        wio_log_init(&lg, c->log, c->said_path);
        if (wio_service_start(&p, &s) != 0)
            _exit(1);
        if (write(ready[1], "y", 1) != 1)
            _exit(1);
        close(ready[1]);
        int64_t end = wio_os_now_ns() + (int64_t)(seconds * 1e9);
        while (wio_os_now_ns() < end && !c->serv->ended) {
            int rc = wio_service_run(s, 20000000);
            wio_service_stats(s, &c->serv->st);
            c->serv->formed |= rc == 1;
            c->serv->ended = rc == WIO_SERVICE_ENDED;
        }
        wio_service_stop(s);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &ok, 1), 1);
    close(ready[0]);
    return pid;
}

static inline void wt_end_service(pid_t pid)
{
    wt_killed = true;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* For what cannot be waited for: that something does not happen. */
static inline void wt_settle(double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
}

static inline void wt_end(struct crowd *c)
{
    wt_leave_folder(c);
    munmap(c->p, WT_PEOPLE * sizeof *c->p);
    munmap(c->serv, sizeof *c->serv);
    close(c->said_fd);
}

static inline void wt_expect_ok(const struct crowd *c, int i, uint32_t me, uint32_t size)
{
    if (c->p[i].rc != 0)
        print_error("person %d: %d %s\n", i, c->p[i].rc, c->p[i].text);
    assert_int_equal(c->p[i].done, 1);
    assert_int_equal(c->p[i].rc, 0);
    assert_int_equal(c->p[i].me, me);
    assert_int_equal(c->p[i].size, size);
}

static inline void wt_expect_error(const struct crowd *c, int i, int code, const char *words)
{
    if (c->p[i].rc != code || strstr(c->p[i].text, words) == NULL)
        print_error("person %d: rc %d, expected %d with '%s' in: %s\n", i, c->p[i].rc, code, words,
                    c->p[i].text);
    assert_int_equal(c->p[i].rc, code);
    assert_non_null(strstr(c->p[i].text, words));
}

#endif
