/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_weak.c
 * Messages through files where the file system is taken for a weak one (close-to-open), and its
 * answers are odd: errors of files that are there, names that are gone for a moment, syncs that
 * fail after the bytes can be seen. tests/weakfs has the conformance suite on such a file system.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "transport/file/file.h"

static char scratch[64];
static void in_scratch(struct wio_config *cfg)
{
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%s", scratch);
    wio_text(cfg->job_id, sizeof cfg->job_id, "weak");
    cfg->file_heartbeat = 0.05;
    cfg->file_system = WIO_CFG_FILE_SYSTEM_CLOSE_TO_OPEN;
    cfg->maxfile_size = 128 << 10; /* rings of 16 KiB */
}
static const struct variant in_files_of_ours = {WIO_TR_FILE, "file", in_scratch, 0};

static int make_scratch(void **state)
{
    (void)state;
    conform_now = &in_files_of_ours;
    wio_text(scratch, sizeof scratch, "file_weak-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int nothing_left(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return rmdir(scratch);
}

static struct world *weak_pair(void)
{
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    for (int i = 0; i < 2; i++)
        w->node[i].log.level[WIO_C_FILE] = 0;
    return w;
}

static struct file_link *link_of(struct world *w, int node)
{
    return file_link_of(w->node[node].peer[1 - node].ep);
}

static void nobody_closed(const struct world *w)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(w->node[i].peer[1 - i].closed, 0);
}

/* What the hook says to calls on one descriptor. */
static int odd_fd, odd_error, odd_left, hits;
static enum wio_os_call odd_call;
static bool odd_bytes; /* calls that say how many bytes; else those that say none: syncs, names */
static int be_odd(enum wio_os_call call, int fd, size_t bytes)
{
    if (call != odd_call || fd != odd_fd || (bytes > 0) != odd_bytes)
        return 0;
    hits++;
    return odd_left > 0 && odd_left-- > 0 ? odd_error : 0;
}

static void odd(enum wio_os_call call, int fd, bool bytes, int error, int times)
{
    odd_call = call;
    odd_fd = fd;
    odd_bytes = bytes;
    odd_error = error;
    odd_left = times;
    hits = 0;
    wio_os_fault = be_odd;
}

/* The first part of a message is read, though its sync says that the disk is full. An answer that
 * is due meanwhile may not take its place in the stream. */
static void test_an_answer_waits_for_the_part_that_is_read(void **state)
{
    (void)state;
    struct world *w = weak_pair();
    uint64_t before = link_of(w, 1)->in_pos;
    odd(WIO_OS_FILE, link_of(w, 0)->out.fd, false, -ENOSPC, INT32_MAX);
    node_send(&w->node[0], 1, 30000, 0, false);
    UNTIL(w, link_of(w, 1)->in_pos > before);
    w->tr->ping(&link_of(w, 1)->ep);
    FOR_MS(w, 300); /* it has been read */
    wio_os_fault = NULL;
    UNTIL(w, all_arrived(w));
    UNTIL(w, !link_of(w, 0)->pong_due && !link_of(w, 1)->ping_out);
    nobody_closed(w);
    world_free(w);
}

/* One ESTALE of an open file whose name is there is no death. */
static void stale_once(enum wio_os_call call, int node, bool ours)
{
    struct world *w = weak_pair();
    struct file_link *l = link_of(w, node);
    odd(call, ours ? l->out.fd : l->in.fd, true, -ESTALE, 1);
    for (int i = 0; i < 5; i++)
        node_send(&w->node[0], 1, 10000, 0, false);
    UNTIL(w, all_arrived(w));
    FOR_MS(w, 20);
    assert_int_equal(odd_left, 0); /* it has said so */
    nobody_closed(w);
    world_free(w);
}

static void test_a_file_that_is_stale_once(void **state)
{
    (void)state;
    stale_once(WIO_OS_FILE, 1, false); /* the reader */
    stale_once(WIO_OS_SPACE, 0, true); /* the writer */
}

static int stale_reads(enum wio_os_call call, int fd, size_t bytes)
{
    char path[64], name[256];
    if (call != WIO_OS_FILE || bytes == 0)
        return 0;
    wio_text(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    return strstr(name, "/s00000000-") != NULL ? -ESTALE : 0;
}

/* One that stays so is the end. */
static void test_a_file_that_stays_stale(void **state)
{
    (void)state;
    struct world *w = weak_pair();
    w->quiet_errors = true;
    wio_os_fault = stale_reads;
    node_send(&w->node[0], 1, 1000, 0, false);
    UNTIL(w, w->node[1].peer[0].closed == 1);
    assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
    wio_os_fault = NULL;
    world_free(w);
}

/* A name that is gone in one look and there in the next one is not given up. */
static void test_a_name_that_is_gone_for_a_moment(void **state)
{
    (void)state;
    struct world *w = weak_pair();
    struct file_link *l = link_of(w, 0);
    for (int i = 0; i < 3; i++) {
        odd(WIO_OS_FILE, l->folder, false, -ENOENT, 1);
        wio_file_tidy(l);
        assert_int_equal(odd_left, 0);
        wio_file_tidy(l);
        assert_false(l->gone);
    }
    odd(WIO_OS_FILE, l->folder, false, -ENOENT, 2);
    wio_file_tidy(l);
    wio_file_tidy(l);
    assert_true(l->gone);
    w->quiet_errors = true;
    wio_os_fault = NULL;
    world_free(w);
}

/* Two syncs within one tick of a server's clock: the reader may go on with an old page until the
 * next write. So there is one more, a sign of life after the last message, and then none. */
static void test_the_last_write_has_an_echo(void **state)
{
    (void)state;
    struct world *w = weak_pair();
    FOR_MS(w, 500);
    odd(WIO_OS_SPACE, link_of(w, 0)->out.fd, true, 0, 0);
    node_send(&w->node[0], 1, 100, 0, false);
    assert_int_equal(hits, 1);
    UNTIL(w, hits == 2);
    FOR_MS(w, 300);
    assert_int_equal(hits, 2);
    nobody_closed(w);
    world_free(w);
}

/* A server that takes a lock away, while its process happens not to count for many heartbeats. */
static void test_a_lock_that_is_lost_is_no_death_at_once(void **state)
{
    (void)state;
    struct world *w = weak_pair();
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    UNTIL(w, link_of(w, 0)->lock_seen);
    w->node[1].mute = true;
    assert_int_equal(fcntl(file_of(link_of(w, 1))->alive, F_OFD_SETLK, &whole), 0);
    UNTIL(w, link_of(w, 0)->unlocked_ns != 0);
    FOR_MS(w, 500);
    nobody_closed(w);
    w->node[1].mute = false;
    UNTIL(w, !link_of(w, 0)->lock_seen); /* it counts again: from now on that decides */
    node_send(&w->node[0], 1, 1000, 0, false);
    UNTIL(w, all_arrived(w));
    nobody_closed(w);
    world_free(w);
}

#define WEAK(f) cmocka_unit_test_setup_teardown(f, make_scratch, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WEAK(test_an_answer_waits_for_the_part_that_is_read),
        WEAK(test_a_file_that_is_stale_once),
        WEAK(test_a_file_that_stays_stale),
        WEAK(test_a_name_that_is_gone_for_a_moment),
        WEAK(test_the_last_write_has_an_echo),
        WEAK(test_a_lock_that_is_lost_is_no_death_at_once),
    };
    return cmocka_run_group_tests_name("file weak", tests, NULL, NULL);
}
