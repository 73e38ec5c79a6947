/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_pair.h
 * Two processes that exchange a message through files, for tests in which one of them is killed or
 * stopped: the test itself, and a child. Each drives its own node of the small world and sleeps as
 * the library does, so that the calls of a transfer are few and the same each time.
 */
#ifndef CONFORM_FILE_PAIR_H
#define CONFORM_FILE_PAIR_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "transport/file/file.h"

static char pair_scratch[64];
static double pair_heartbeat;
static void pair_settings(struct wio_config *cfg)
{
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%s", pair_scratch);
    wio_text(cfg->job_id, sizeof cfg->job_id, "pair");
    cfg->file_heartbeat = pair_heartbeat;
    cfg->maxfile_size = 1 << 20; /* a long message goes round the ring */
}
static const struct variant pair_variant = {WIO_TR_FILE, "file", pair_settings, 0};

static int pair_setup(void **state)
{
    (void)state;
    conform_now = &pair_variant;
    wio_text(pair_scratch, sizeof pair_scratch, "file_pair-XXXXXX");
    return mkdtemp(pair_scratch) == NULL ? -1 : 0;
}

static int pair_teardown(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return rmdir(pair_scratch);
}

/** Tell each other where we are. @param wire  a socket to the other process */
static void pair_meet(struct world *w, uint32_t me, int wire)
{
    node_open(w, me);
    assert_int_equal(write(wire, &w->ep[me], sizeof w->ep[me]), sizeof w->ep[me]);
    assert_int_equal(read(wire, &w->ep[1 - me], sizeof w->ep[me]), sizeof w->ep[me]);
    node_start(w, me);
    close(wire);
}

/** One round, then sleep until something happens, for 20 ms at most. */
static void pair_round(struct node *nd)
{
    const struct wio_transport *tr = nd->w->tr;
    if (node_drive(nd, WIO_PROGRESS_FULL) != 0 || tr->arm(nd->iface, WIO_PROGRESS_FULL) != 0)
        return;
    int64_t ms = (tr->next_timer_ns(nd->iface, WIO_PROGRESS_FULL) - wio_os_now_ns()) / 1000000 + 1;
    struct epoll_event ev;
    (void)wio_os_epoll_wait(tr->event_fd(nd->iface, WIO_PROGRESS_FULL), &ev, 1,
                            ms < 0    ? 0
                            : ms > 20 ? 20
                                      : (int)ms);
}

/** Start the other process. @return its id; *wire: towards it */
static pid_t pair_fork(void (*child)(void *arg, int wire), void *arg, int *wire)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* it never comes back into the list of tests */
        alarm(100);
        close(fds[0]);
        child(arg, fds[1]);
        _exit(0);
    }
    close(fds[1]);
    *wire = fds[0];
    return pid;
}

static inline struct world *pair_world(void)
{
    struct world *w = world_new(wio_transport_get(WIO_TR_FILE), 2);
    w->quiet_errors = true;
    for (int i = 0; i < 2; i++)
        w->node[i].log.level[WIO_C_FILE] = 0;
    return w;
}

/** Remove what a dead process has left. @return how many names of this rank were there: the
 * survivor has to remove its own. */
static int pair_sweep(const char *path, uint32_t survivor)
{
    char inner[512], mine[16];
    int n = 0;
    DIR *d = opendir(path);
    if (d == NULL)
        return 0;
    wio_text(mine, sizeof mine, "%08x-", survivor);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        wio_text(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (strstr(e->d_name, mine) != NULL) {
            print_message("left: %s\n", inner);
            n++;
        }
        if (unlink(inner) != 0)
            n += pair_sweep(inner, survivor);
    }
    closedir(d);
    if (strcmp(path, pair_scratch) != 0)
        assert_int_equal(rmdir(path), 0);
    return n;
}

#endif
