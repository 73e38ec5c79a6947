/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_full.c
 * Messages through files on a file system that is full, or broken: at every write of a transfer, by
 * setting an error or waiting, on a small file system that is really full; space that is given
 * back.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "harness.h"
#include "skip.h"
#include "transport/file/file.h"

static char scratch[64];
static double full_wait;
static void in_scratch(struct wio_config *cfg)
{
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%s", scratch);
    wio_text(cfg->job_id, sizeof cfg->job_id, "full");
    cfg->file_heartbeat = 0.01;
    cfg->file_full_wait = full_wait;
    cfg->connect_timeout = 0.2;
}
static const struct variant in_files_of_ours = {WIO_TR_FILE, "file", in_scratch, 0};

static int make_scratch(void **state)
{
    (void)state;
    conform_now = &in_files_of_ours;
    full_wait = 600;
    wio_text(scratch, sizeof scratch, "file_full-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int nothing_left(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return rmdir(scratch);
}

/* Log lines of one node, counted. */
static int nlines;
static char last_line[1024];
static void count_line(void *arg, enum wio_log_comp comp, enum wio_log_level level,
                       const char *line)
{
    (void)arg;
    (void)comp;
    (void)level;
    nlines++;
    wio_text(last_line, sizeof last_line, "%s", line);
}

/* ---- every write of a transfer ---- */

static int nth, calls, often, with;
static bool reads; /* they fail, else what may take space */
static int fail_some(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if (reads ? call != WIO_OS_FILE || bytes == 0 : call != WIO_OS_SPACE)
        return 0;
    ++calls;
    return calls >= nth && calls < nth + often ? with : 0;
}

/* A message each way, until one cannot be sent any more. */
static void try_send(struct world *w, int from, uint32_t bytes, uint8_t flags)
{
    struct node *nd = &w->node[from];
    struct view *v = &nd->peer[1 - from];
    struct wio_ep *ep = NULL;
    if (v->closed > 0)
        return;
    if (v->ep == NULL && nd->w->tr->connect(nd->iface, (uint32_t)(1 - from), &ep) != 0) {
        v->closed++; /* an error of the call: nothing follows */
        return;
    }
    if (v->ep == NULL)
        v->ep = ep;
    (void)node_send(nd, (uint32_t)(1 - from), bytes, flags, true);
}

/* Both know that it is over, and have every buffer back. */
static bool ended(const struct world *w)
{
    for (int i = 0; i < 2; i++)
        if (w->node[i].ndone != w->node[i].nqueued || w->node[i].peer[1 - i].ep != NULL)
            return false;
    return true;
}

/* @return whether the error came */
static bool transfer(void)
{
    struct world *w = world_new(wio_transport_get(WIO_TR_FILE), 2);
    w->quiet_errors = true;
    for (int i = 0; i < 2; i++)
        w->node[i].log.level[WIO_C_FILE] = 0;
    world_open(w);
    calls = 0;
    wio_os_fault = fail_some;
    for (uint32_t i = 0; i < 6; i++)
        for (int from = 0; from < 2; from++)
            try_send(w, from, i == 3 ? 300000 : i * 500, i % 2 ? WIO_TX_BATCH : WIO_TX_SMALL);
    UNTIL(w, all_arrived(w) || ended(w));
    if (!all_arrived(w)) /* waiting for ever, or once more, would bring it */
        assert_true(with == -EIO || full_wait == 0);
    wio_os_fault = NULL;
    bool came = calls >= nth;
    for (int i = 0; i < 2; i++) {
        int err = w->node[i].peer[1 - i].err;
        assert_true(err == 0 || err == WAITIO_ERR_SYSTEM || err == WAITIO_ERR_LIMIT ||
                    err == WAITIO_ERR_PEER);
    }
    world_free(w);
    return came;
}

/* What arrives is right (harness.h), and nobody waits in vain. */
static void at_every_write(int error, int times, double wait)
{
    with = error;
    often = times;
    full_wait = wait;
    for (nth = 1; transfer(); nth++) {
    }
    print_message("%s, %d times: at each of %d calls\n", strerror(-error), times, nth - 1);
    assert_true(nth > 15);
}

/* Looks in vain are many: after the first ones some are left out. */
static void test_errors_at_reads(void **state)
{
    (void)state;
    reads = true;
    with = -EIO;
    full_wait = 600;
    for (often = 1; often <= 1000; often *= 1000) {
        for (nth = 1; transfer(); nth += 1 + nth / 16) {
        }
        assert_true(nth > 15); /* of each row; how many looks there are is up to the machine */
    }
    reads = false;
}

static void test_errors_at_every_write(void **state)
{
    (void)state;
    at_every_write(-EIO, 1, 600);
    at_every_write(-EIO, 1000000, 600);
    at_every_write(-ENOSPC, 3, 600);
    at_every_write(-EDQUOT, 1000000, 0);
    at_every_write(-ENOSPC, 1, 0);
}

/* ---- error or waiting ---- */

static int full_fd = -1;
static int full_for_data(enum wio_os_call call, int fd, size_t bytes)
{
    return call == WIO_OS_SPACE && fd == full_fd && bytes > FILE_CELL_BYTES ? -ENOSPC : 0;
}

static void fails_within(double wait)
{
    full_wait = wait;
    struct world *w = pair_ready(checked(WIO_TR_FILE));
    w->quiet_errors = true;
    struct node *nd = &w->node[0];
    nlines = 0;
    nd->log.level[WIO_C_FILE] = WIO_LOG_WARN;
    nd->log.hook = count_line;
    full_fd = file_link_of(nd->peer[1].ep)->out.fd;
    wio_os_fault = full_for_data;
    int64_t t = wio_os_now_ns();
    (void)node_send(nd, 1, 50000, 0, true);
    UNTIL(w, ended(w));
    assert_true((double)(wio_os_now_ns() - t) * 1e-9 >= wait);
    assert_int_equal(nlines, wait > 0 ? 1 : 0);
    if (wait > 0)
        assert_non_null(strstr(last_line, "WAITIO_FILE_FULL_WAIT=0.2 s"));
    const char *text = nd->peer[1].text;
    assert_int_equal(nd->peer[1].err, WAITIO_ERR_LIMIT);
    const char *const said[] = {"50000 bytes",          "PB 0 rank 1",   scratch,
                                "/s00000000-",          "No space left", "WAITIO_SCRATCH_DIR",
                                "WAITIO_FILE_FULL_WAIT"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(said); i++)
        if (strstr(text, said[i]) == NULL)
            fail_msg("no %s in: %s", said[i], text);
    assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER); /* it learns, too */
    assert_non_null(strstr(w->node[1].peer[0].text, "given up its files"));
    wio_os_fault = NULL;
    world_free(w);
}

static void test_error_in_place_of_waiting(void **state)
{
    (void)state;
    fails_within(0);
    fails_within(0.2);
}

static int full_for_cells(enum wio_os_call call, int fd, size_t bytes)
{
    return call == WIO_OS_SPACE && fd == full_fd && bytes == FILE_CELL_BYTES ? -ENOSPC : 0;
}

/* A link that only receives: when it could tell again how far it has read, the shortage is over,
 * and the next one is awaited as long as the first. */
static void test_a_shortage_of_who_only_receives_ends(void **state)
{
    (void)state;
    full_wait = 0.5 * wt_patience();
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    struct node *nd = &w->node[1];
    nd->log.level[WIO_C_FILE] = 0;
    const struct file_link *l = file_link_of(nd->peer[0].ep);
    full_fd = l->out.fd;
    for (int i = 0; i < 2; i++) {
        wio_os_fault = full_for_cells;
        node_send(&w->node[0], 1, 1000, 0, false);
        UNTIL(w, l->tell_due || nd->peer[0].closed > 0);
        assert_int_equal(nd->peer[0].closed, 0);
        wio_os_fault = NULL;
        UNTIL(w, !l->tell_due);
        assert_false(l->full);
        FOR_MS(w, (int)(full_wait * 1100));
    }
    assert_int_equal(nd->peer[0].closed, 0);
    world_free(w);
}

/* ---- half a write ---- */

enum { LONG = 40000 };
static bool first_done;
static int half_then_full(enum wio_os_call call, int fd, size_t bytes)
{
    if (call != WIO_OS_SPACE || fd != full_fd || bytes <= FILE_REC_BYTES || bytes == LONG)
        return 0;
    if (first_done)
        return -ENOSPC;
    first_done = true;
    return 3 * (FILE_REC_BYTES + 1024) + 200;
}

/* The header of the fourth record shows and its bytes do not come for long: that is no broken
 * record. */
static void test_half_a_record_is_taken_back(void **state)
{
    (void)state;
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    struct node *nd = &w->node[0];
    nd->log.level[WIO_C_FILE] = 0;
    full_fd = file_link_of(nd->peer[1].ep)->out.fd;
    first_done = false;
    for (int i = 0; i < 6; i++)
        node_send(nd, 1, 1024, WIO_TX_BATCH, false);
    wio_os_fault = half_then_full;
    UNTIL(w, w->node[1].peer[0].nin == 3);
    FOR_MS(w, 50);
    assert_int_equal(w->node[1].peer[0].nin, 3);
    assert_int_equal(file_link_of(w->node[1].peer[0].ep)->bad_ns, 0);
    wio_os_fault = NULL;
    UNTIL(w, all_arrived(w));
    world_free(w);
}

/* The reader has read more than its writer takes for written. On a full disk that lived from what
 * is read, the writer waited for ever for a lower word. */
static void test_what_was_read_before_half_a_write_is_heard(void **state)
{
    (void)state;
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    struct node *nd = &w->node[0];
    nd->log.level[WIO_C_FILE] = 0;
    const struct file_link *l = file_link_of(nd->peer[1].ep);
    full_fd = l->out.fd;
    first_done = false;
    node_send(nd, 1, LONG, 0, false);
    for (int i = 0; i < 6; i++)
        node_send(nd, 1, 1024, WIO_TX_BATCH, false);
    wio_os_fault = half_then_full;
    UNTIL(w, w->node[1].peer[0].nin == 4);
    UNTIL(w, l->out_acked == l->out_written);
    assert_true(l->full && l->out_acked > LONG);
    wio_os_fault = NULL;
    UNTIL(w, all_arrived(w));
    UNTIL(w, l->out_acked == l->out_pos);
    world_free(w);
}

/* ---- a small file system ---- */

enum { SMALL = 512 << 10 };

static uint64_t free_bytes(void)
{
    struct statvfs v;
    assert_int_equal(statvfs(scratch, &v), 0);
    return (uint64_t)v.f_bfree * v.f_frsize;
}

static void fill_up(const char *path)
{
    static const uint8_t junk[65536];
    int fd = wio_os_open_create(path, 0600);
    assert_true(fd >= 0);
    for (size_t n = sizeof junk; n > 0; n /= 2)
        while (write(fd, junk, n) == (ssize_t)n) {
        }
    wio_os_close(fd);
}

/* Its rings would be 4 MiB each. What is read makes room; what others use up is awaited. */
static void on_small_one(void)
{
    char path[96];
    uint64_t before = free_bytes();
    wio_text(path, sizeof path, "%s/others", scratch);
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    for (int i = 0; i < 2; i++)
        w->node[i].log.level[WIO_C_FILE] = 0;
    for (uint32_t i = 0; i < 60; i++)
        for (uint32_t from = 0; from < 2; from++)
            node_send(&w->node[from], 1 - from, i % 3 == 0 ? 200000 : 5000, 0, false);
    UNTIL(w, all_arrived(w));
    fill_up(path);
    for (int i = 0; i < 5; i++)
        node_send(&w->node[0], 1, 100000, 0, false);
    FOR_MS(w, 60);
    assert_true(!all_arrived(w) || free_bytes() > 0);
    assert_int_equal(unlink(path), 0);
    UNTIL(w, all_arrived(w));
    world_free(w);
    assert_int_equal(free_bytes(), before);
}

static void test_small_file_system(void **state)
{
    (void)state;
    char options[32];
    wio_text(options, sizeof options, "size=%d", SMALL);
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("full", scratch, "tmpfs", 0, options) != 0) {
        skip_because(__func__, "no right to mount a file system");
    }
    on_small_one();
    assert_int_equal(umount(scratch), 0);
}

/* ---- idle streams ---- */

static uint64_t blocks(const struct world *w)
{
    struct stat st;
    assert_int_equal(fstat(file_link_of(w->node[0].peer[1].ep)->out.fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static void test_idle_stream_gives_its_space_back(void **state)
{
    (void)state;
    struct world *w = pair_ready(checked(WIO_TR_FILE));
    for (int i = 0; i < 3; i++)
        node_send(&w->node[0], 1, 500000, 0, false);
    UNTIL(w, all_arrived(w));
    uint64_t used = blocks(w);
    assert_true(used >= 1500000);
    UNTIL(w, file_link_of(w->node[0].peer[1].ep)->idle == FILE_IDLE_BEATS);
    uint64_t left = blocks(w);
    print_message("idle: %d KiB, before %d KiB\n", (int)(left >> 10), (int)(used >> 10));
    assert_true(left <= 16384 || left == used); /* this file system cannot punch holes */
    for (int i = 0; i < 8; i++)
        node_send(&w->node[0], 1, 700000, 0, false);
    UNTIL(w, all_arrived(w));
    world_free(w);
}

#define FULL(f) cmocka_unit_test_setup_teardown(f, make_scratch, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FULL(test_errors_at_every_write),
        FULL(test_errors_at_reads),
        FULL(test_error_in_place_of_waiting),
        FULL(test_half_a_record_is_taken_back),
        FULL(test_what_was_read_before_half_a_write_is_heard),
        FULL(test_a_shortage_of_who_only_receives_ends),
        FULL(test_small_file_system),
        FULL(test_idle_stream_gives_its_space_back),
    };
    return cmocka_run_group_tests_name("file full", tests, NULL, NULL);
}
