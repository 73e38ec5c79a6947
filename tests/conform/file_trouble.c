/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_trouble.c
 * Messages through files on bad days: a full disk, a bound that leaves nothing, directories that
 * are not ours to use, names of strangers, bytes that are broken; and what is left behind.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "transport/file/file.h"

/* A place of our own. */
static char scratch[64];
static void in_scratch(struct wio_config *cfg)
{
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%s", scratch);
    wio_text(cfg->job_id, sizeof cfg->job_id, "../job 1");
    cfg->file_heartbeat = 0.1;
}
static const struct variant in_files_of_ours = {WIO_TR_FILE, "file", in_scratch, 0};
#define RUN "/.waitio-file-..%%2fjob%%201" /* as a format */

static int make_scratch(void **state)
{
    (void)state;
    conform_now = &in_files_of_ours;
    wio_text(scratch, sizeof scratch, "file_trouble-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

/* Every process that ends in order removes what is its own, the last one the run's directory. */
static int nothing_left(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return rmdir(scratch);
}

static const char *run_path(char *buf, size_t n, const char *rest)
{
    wio_text(buf, n, "%s" RUN "%s", scratch, rest);
    return buf;
}

static void folder_path(struct world *w, int node, char *buf, size_t n, const char *name)
{
    uint64_t token = w->ep[node].token;
    wio_text(buf, n, "%s" RUN "/%02x/%016" PRIx64 "/%s", scratch, (unsigned)(token & 0xff), token,
             name);
}

/* ---- a full disk ---- */

static int full_after, tries, full_fd;
static int disk_full(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    if (call != WIO_OS_SPACE || fd != full_fd)
        return 0;
    return ++tries > full_after && tries <= full_after + 30 ? -ENOSPC : 0;
}

/* From any call on, for a while: everybody waits, and nothing is lost or doubled. */
static void test_full_disk_waits(void **state)
{
    (void)state;
    bool was_full = true;
    for (full_after = 0; was_full; full_after += 2) {
        struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
        tries = 0;
        full_fd = file_link_of(w->node[0].peer[1].ep)->out.fd;
        w->node[0].log.level[WIO_C_FILE] = 0;
        wio_os_fault = disk_full;
        for (uint32_t i = 0; i < 30; i++)
            node_send(&w->node[0], 1, i % 3 == 0 ? 100000 : i * 50,
                      i % 2 ? WIO_TX_BATCH : WIO_TX_SMALL, false);
        UNTIL(w, all_arrived(w));
        wio_os_fault = NULL;
        was_full = tries > full_after; /* at last it is full after all is written */
        assert_int_equal(w->node[0].peer[1].closed, 0);
        world_free(w);
    }
    assert_true(full_after > 20);
}

static int fail_large_writes(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    return call == WIO_OS_SPACE && bytes == 99999 ? -EIO : 0;
}

static void test_broken_disk_ends_the_link(void **state)
{
    (void)state;
    struct world *w = pair_ready(checked(WIO_TR_FILE));
    w->quiet_errors = true;
    wio_os_fault = fail_large_writes;
    node_send(&w->node[0], 1, 99999, 0, true);
    UNTIL(w, w->node[0].peer[1].closed == 1);
    assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_SYSTEM);
    assert_non_null(strstr(w->node[0].peer[1].text, "PB 0 rank 1"));
    assert_non_null(strstr(w->node[0].peer[1].text, scratch));
    world_free(w);
}

/* ---- the bound ---- */

/* How large are the files that this process writes, and how many, by the file system's word? */
static uint64_t written_by(const char *path, uint32_t rank, int *files)
{
    uint64_t sum = 0;
    DIR *d = opendir(path);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char inner[600];
        struct file_name n;
        struct stat st;
        if (e->d_name[0] == '.' && strncmp(e->d_name, ".waitio", 7) != 0)
            continue;
        wio_text(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (stat(inner, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            sum += written_by(inner, rank, files);
        else if (wio_file_name_parse(e->d_name, &n) == FILE_N_STREAM && n.rank == rank) {
            sum += (uint64_t)st.st_size;
            ++*files;
        }
    }
    if (d != NULL)
        closedir(d);
    return sum;
}

static void test_bound(void **state)
{
    (void)state;
    struct world *w = world_new(checked(WIO_TR_FILE), 6);
    uint64_t one = FILE_RING_MIN + FILE_HEAD_BYTES, most = 0, seen = 0;
    w->node[0].cfg.maxfile_size = 4 * one;
    world_open(w);
    for (uint32_t k = 1; k < 5; k++)
        for (int i = 0; i < 20; i++)
            node_send(&w->node[0], k, 60000, 0, false); /* more than its file takes */
    int64_t end = wt_until_ns(20 * SECOND);
    while (!all_arrived(w) && wio_os_now_ns() < end) {
        world_drive(w);
        if (w->node[0].ctr.file_bytes > most)
            most = w->node[0].ctr.file_bytes;
        int files = 0;
        uint64_t now = written_by(scratch, 0, &files);
        if (now > seen)
            seen = now;
        assert_true(files < 3 * 4); /* of four active directions */
    }
    assert_true(all_arrived(w));
    assert_int_equal(most, 4 * one);
    print_message("%" PRIu64 " of %" PRIu64 " bytes\n", seen, 4 * one);
    assert_true(seen <= 4 * one && seen > 2 * one);
    struct wio_ep *none = NULL; /* nothing is left for a fifth */
    assert_int_equal(w->tr->connect(w->node[0].iface, 5, &none), WAITIO_ERR_LIMIT);
    assert_non_null(strstr(wio_last_error(), "WAITIO_MAXFILE_SIZE_PER_PROC"));
    world_free(w);
}

/* Asking and answering between the parts of a long message: nothing stands inside it. */
static void test_pings_wait_for_a_long_message(void **state)
{
    (void)state;
    struct world *w = world_new(wio_transport_get(WIO_TR_FILE), 2);
    for (int i = 0; i < 2; i++)
        w->node[i].cfg.maxfile_size = 128 << 10;
    world_open(w);
    node_connect(&w->node[0], 1);
    UNTIL(w, w->node[0].peer[1].ready == 1 && w->node[1].peer[0].ready == 1);
    w->node[1].mute = true;
    node_send(&w->node[0], 1, 200000, 0, false);
    assert_non_null(file_link_of(w->node[0].peer[1].ep)->cur); /* half written */
    w->tr->ping(w->node[0].peer[1].ep);
    w->tr->ping(w->node[1].peer[0].ep);
    FOR_MS(w, 5);
    w->node[1].mute = false;
    UNTIL(w, all_arrived(w));
    UNTIL(w, !file_link_of(w->node[0].peer[1].ep)->ping_out &&
                 !file_link_of(w->node[1].peer[0].ep)->ping_out);
    for (int i = 0; i < 2; i++)
        assert_int_equal(w->node[i].peer[1 - i].closed, 0);
    world_free(w);
}

/* An answer that is due when the link closes behind a long message does not follow the goodbye. */
static void test_a_goodbye_is_the_last_word(void **state)
{
    (void)state;
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    struct wio_ep *ep = w->node[0].peer[1].ep;
    w->node[1].mute = true;
    node_send(&w->node[0], 1, 6000000, 0, false);
    for (int i = 0; i < 3; i++) /* its own goodbye comes late */
        node_send(&w->node[1], 0, 8000000, 0, false);
    assert_non_null(file_link_of(ep)->cur);
    w->tr->ping(ep);
    w->tr->close(ep, WIO_BYE_FINALIZE);
    w->node[1].mute = false;
    UNTIL(w, w->node[0].peer[1].closed == 1 && w->node[1].peer[0].closed == 1);
    assert_int_equal(w->node[0].peer[1].err, 0);
    assert_int_equal(w->node[1].peer[0].err, 0);
    assert_true(all_arrived(w));
    world_free(w);
}

/* ---- directories ---- */

/* The interface of the only node. */
static int open_alone(struct node *nd)
{
    struct wio_iface_params p = {.cfg = &nd->cfg,
                                 .secret = &nd->secret,
                                 .log = &nd->log,
                                 .counters = &nd->ctr,
                                 .up = &conform_upcalls,
                                 .user = nd};
    return nd->w->tr->open(&p, &nd->iface);
}

static void refused(const char *what)
{
    struct world *w = world_new(checked(WIO_TR_FILE), 1);
    struct node *nd = &w->node[0];
    struct wio_boot_offer offer = {0};
    assert_int_equal(open_alone(nd), 0);
    assert_int_equal(w->tr->address(nd->iface, &offer), WAITIO_ERR_CONFIG);
    if (strstr(wio_last_error(), what) == NULL)
        fail_msg("%s", wio_last_error());
    assert_non_null(strstr(wio_last_error(), scratch));
    world_free(w);
}

static void test_directories_that_are_refused(void **state)
{
    (void)state;
    char path[256];
    run_path(path, sizeof path, "");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    refused("mode 770");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    refused("symbolic links are not followed");
    assert_int_equal(unlink(path), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chown(path, 65534, 65534), 0);
        refused("belongs to user 65534");
        assert_int_equal(rmdir(path), 0);
    }
}

static void put_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* An error at each call that makes something: nothing of it stays, not even an empty directory. */
static int nth_space, nspace;
static int fail_nth_space(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_SPACE && ++nspace == nth_space ? -EIO : 0;
}

static void test_what_could_not_be_made_is_removed(void **state)
{
    (void)state;
    for (nth_space = 1;; nth_space++) {
        struct world *w = world_new(checked(WIO_TR_FILE), 1);
        struct wio_boot_offer offer = {0};
        w->node[0].log.level[WIO_C_FILE] = 0;
        w->node[0].cfg.file_heartbeat = 60;
        assert_int_equal(open_alone(&w->node[0]), 0);
        nspace = 0;
        wio_os_fault = fail_nth_space;
        int rc = w->tr->address(w->node[0].iface, &offer);
        wio_os_fault = NULL;
        world_free(w);
        assert_int_equal(rmdir(scratch), 0);
        assert_int_equal(mkdir(scratch, 0700), 0);
        if (rc == 0)
            break;
        assert_int_equal(rc, WAITIO_ERR_SYSTEM);
    }
    assert_true(nth_space > 5);
}

/* The peer leaves while we lay our stream into its folder. */
static int vanished_folder;
static int folder_vanishes(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    return call == WIO_OS_SPACE && fd == vanished_folder ? -ENOENT : 0;
}

static void test_a_folder_that_vanishes_is_a_peer_that_left(void **state)
{
    (void)state;
    struct world *w = world_open(world_new(checked(WIO_TR_FILE), 2));
    struct wio_ep *ep = NULL;
    w->quiet_errors = true;
    int next = dup(0); /* the folder has the lowest number that is free */
    assert_true(next >= 0);
    close(next);
    vanished_folder = next;
    wio_os_fault = folder_vanishes;
    assert_int_equal(w->tr->connect(w->node[0].iface, 1, &ep), WAITIO_ERR_PEER);
    wio_os_fault = NULL;
    assert_non_null(strstr(wio_last_error(), "PB 0 rank 1"));
    assert_non_null(strstr(wio_last_error(), scratch));
    world_free(w);
}

/* Names that are like ours; one is a link to a file that must stay as it is. */
static void test_names_of_strangers(void **state)
{
    (void)state;
    struct world *w = world_open(world_new(checked(WIO_TR_FILE), 2));
    char path[256], name[FILE_NAME_BYTES], outside[128];
    wio_text(outside, sizeof outside, "%s/outside", scratch);
    put_file(outside);
    wio_file_name_stream(name, sizeof name, 9, 1, 1); /* no such rank */
    folder_path(w, 1, path, sizeof path, name);
    put_file(path);
    wio_file_name_stream(name, sizeof name, 0, w->ep[0].token + 1, 1); /* another process */
    folder_path(w, 1, path, sizeof path, name);
    put_file(path);
    wio_file_name_stream(name, sizeof name, 0, w->ep[0].token, 5); /* a link to elsewhere */
    folder_path(w, 1, path, sizeof path, name);
    char *real = realpath(outside, NULL);
    assert_non_null(real);
    assert_int_equal(symlink(real, path), 0);
    free(real);
    wio_file_name_stream(name, sizeof name, 0, w->ep[0].token, 6); /* empty */
    folder_path(w, 1, path, sizeof path, name);
    put_file(path);
    UNTIL(w, w->node[1].ctr.strangers >= 4); /* before there is a link of this pair */
    node_send(&w->node[0], 1, 1000, 0, false);
    node_send(&w->node[1], 0, 1000, 0, false);
    UNTIL(w, all_arrived(w));
    assert_int_equal(unlink(outside), 0); /* it is still there */
    world_free(w);
}

/* ---- an earlier run ---- */

static int nwarnings;
static char last_warning[1024];
static void keep_warning(void *arg, enum wio_log_comp comp, enum wio_log_level level,
                         const char *text)
{
    (void)arg;
    (void)comp;
    if (level == WIO_LOG_WARN) {
        nwarnings++;
        wio_text(last_warning, sizeof last_warning, "%s", text);
    }
}

/* What there is of a process: shelf, folder, sign of life. */
static const char *process_path(uint64_t token, const char *rest, char *buf, size_t n)
{
    char tail[64];
    wio_text(tail, sizeof tail, "/%02x/%016" PRIx64 "%s", (unsigned)(token & 0xff), token, rest);
    return run_path(buf, n, tail);
}

static uint64_t left_host = 42; /* as harness.h has it */

/* It had a lock, or did not say so; its sign of life may be broken. */
static void leave_process(uint64_t token, bool locked, bool whole)
{
    uint8_t buf[FILE_ALIVE_BYTES];
    char path[256], shelf[16];
    struct file_alive a = {.token = token, .beat = 7, .host = left_host, .locked = locked};
    wio_text(shelf, sizeof shelf, "/%02x", (unsigned)(token & 0xff));
    assert_true(mkdir(run_path(path, sizeof path, shelf), 0700) == 0 || errno == EEXIST);
    assert_int_equal(mkdir(process_path(token, "", path, sizeof path), 0700), 0);
    int fd = open(process_path(token, "/alive", path, sizeof path), O_CREAT | O_WRONLY, 0600);
    wio_file_alive_encode(&a, buf);
    buf[30] = whole ? buf[30] : (uint8_t)~buf[30];
    assert_int_equal(write(fd, buf, sizeof buf), sizeof buf);
    close(fd);
}

static void remove_process(uint64_t token)
{
    char path[256], shelf[16];
    wio_text(shelf, sizeof shelf, "/%02x", (unsigned)(token & 0xff));
    assert_int_equal(unlink(process_path(token, "/alive", path, sizeof path)), 0);
    assert_int_equal(rmdir(process_path(token, "", path, sizeof path)), 0);
    (void)rmdir(run_path(path, sizeof path, shelf)); /* another one may be in it */
}

/* Warnings of a universe that forms, and exchanges a message. */
static int warnings(void)
{
    struct world *w = world_new(checked(WIO_TR_FILE), 2);
    for (int i = 0; i < 2; i++) {
        w->node[i].log.level[WIO_C_FILE] = WIO_LOG_WARN;
        w->node[i].log.hook = keep_warning;
    }
    nwarnings = 0;
    world_open(w);
    node_send(&w->node[0], 1, 1000, 0, false);
    UNTIL(w, all_arrived(w));
    world_free(w);
    return nwarnings;
}

/* Rank 0 names it and the remedy; living neighbours of another universe are no reason. */
static void test_an_earlier_run_is_named(void **state)
{
    (void)state;
    struct world *other = pair_ready(checked(WIO_TR_FILE));
    assert_int_equal(warnings(), 0);
    leave_process(0x22, false, true);
    leave_process(0x33, true, false);
    assert_int_equal(warnings(), 0);
    left_host = 43; /* whose locks need not be seen here */
    leave_process(0x44, true, true);
    assert_int_equal(warnings(), 0);
    left_host = 42;
    leave_process(0x11, true, true);
    leave_process(0x1111, true, true);
    assert_int_equal(warnings(), 1);
    assert_non_null(strstr(last_warning, "2 processes that have died"));
    assert_non_null(strstr(last_warning, "waitio clean --remove"));
    assert_non_null(strstr(last_warning, scratch));
    const uint64_t left[] = {0x22, 0x33, 0x44, 0x11, 0x1111};
    for (size_t i = 0; i < WIO_ARRAY_LEN(left); i++)
        remove_process(left[i]);
    world_free(other);
}

/* ---- joining ---- */

static uint64_t beat_in(const char *path)
{
    uint8_t buf[FILE_ALIVE_BYTES];
    struct file_alive a = {0};
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    for (int i = 0; i < 100; i++) /* it may be written just now */
        if (pread(fd, buf, sizeof buf, 0) == (ssize_t)sizeof buf && wio_file_alive_decode(buf, &a))
            break;
    close(fd);
    return a.beat;
}

/* Who waits for others to join shows that it lives: waitio clean looks at that. */
static void test_it_counts_while_it_joins(void **state)
{
    (void)state;
    char path[256];
    struct world *w = world_new(checked(WIO_TR_FILE), 2);
    w->node[0].cfg.file_heartbeat = 0.01;
    node_open(w, 0);
    folder_path(w, 0, path, sizeof path, "alive");
    uint64_t first = beat_in(path);
    assert_true(first > 0);
    int64_t end = wt_until_ns(5 * SECOND);
    while (beat_in(path) < first + 5 && wio_os_now_ns() < end)
        wio_os_sleep_ns(1000000);
    assert_true(beat_in(path) >= first + 5);
    node_open(w, 1);
    node_start(w, 0);
    node_start(w, 1);
    node_send(&w->node[0], 1, 1000, 0, false);
    UNTIL(w, all_arrived(w));
    world_free(w);
}

/* ---- broken bytes ---- */

static void scribble(struct world *w, uint64_t at, uint8_t what)
{
    struct file_link *l = file_link_of(w->node[0].peer[1].ep);
    uint64_t offset = FILE_HEAD_BYTES + at % l->out.ring;
    struct iovec iov = {&what, 1};
    assert_int_equal(wio_os_pwritev(l->out.fd, &iov, 1, offset), 1);
}

/* The header of a record fits, its bytes do not: they are awaited. When they come, nothing is lost;
 * nobody sees them before. */
static void test_bytes_that_come_later(void **state)
{
    (void)state;
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    uint64_t at = file_link_of(w->node[0].peer[1].ep)->out_pos + FILE_REC_BYTES + 5;
    w->node[1].mute = true;
    uint8_t right = pattern(0, 1, 1, 5);
    node_send(&w->node[0], 1, 100, 0, false);
    scribble(w, at, (uint8_t)~right);
    w->node[1].mute = false;
    FOR_MS(w, 20);
    assert_int_equal(w->node[1].peer[0].nin, 0);
    scribble(w, at, right);
    UNTIL(w, all_arrived(w));
    world_free(w);
}

/* They never come. */
static void test_broken_bytes_end_the_link(void **state)
{
    (void)state;
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    w->quiet_errors = true;
    w->node[1].log.level[WIO_C_FILE] = 0;
    uint64_t at = file_link_of(w->node[0].peer[1].ep)->out_pos + FILE_REC_BYTES + 5;
    w->node[1].mute = true;
    node_send(&w->node[0], 1, 100, 0, false);
    scribble(w, at, (uint8_t)~pattern(0, 1, 1, 5));
    w->node[1].mute = false;
    UNTIL(w, w->node[1].peer[0].closed == 1 && w->node[0].peer[1].closed == 1);
    assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PROTOCOL);
    assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
    assert_int_equal(w->node[1].peer[0].nin, 0);
    world_free(w);
}

/* ---- cost ---- */

static int files_in(struct world *w, int node)
{
    char path[256];
    folder_path(w, node, path, sizeof path, "");
    DIR *d = opendir(path);
    assert_non_null(d);
    int n = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] == 's' || e->d_name[0] == '.';
    closedir(d);
    return n - 2; /* "." and ".." */
}

static void test_small_messages_share_writes(void **state)
{
    (void)state;
    struct world *w = pair_ready(checked(WIO_TR_FILE));
    uint64_t before = w->node[0].ctr.file_writes;
    for (int i = 0; i < 10000; i++)
        node_send(&w->node[0], 1, 8, WIO_TX_BATCH, false);
    UNTIL(w, all_arrived(w));
    uint64_t writes = w->node[0].ctr.file_writes - before;
    print_message("10000 messages: %d writes\n", (int)writes);
    assert_true(writes < 200);
    assert_int_equal(files_in(w, 0), 1); /* one file for a direction */
    assert_int_equal(files_in(w, 1), 1);
    world_free(w);
}

#define TROUBLE(f) cmocka_unit_test_setup_teardown(f, make_scratch, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TROUBLE(test_full_disk_waits),
        TROUBLE(test_broken_disk_ends_the_link),
        TROUBLE(test_bound),
        TROUBLE(test_pings_wait_for_a_long_message),
        TROUBLE(test_a_goodbye_is_the_last_word),
        TROUBLE(test_directories_that_are_refused),
        TROUBLE(test_what_could_not_be_made_is_removed),
        TROUBLE(test_a_folder_that_vanishes_is_a_peer_that_left),
        TROUBLE(test_names_of_strangers),
        TROUBLE(test_an_earlier_run_is_named),
        TROUBLE(test_it_counts_while_it_joins),
        TROUBLE(test_bytes_that_come_later),
        TROUBLE(test_broken_bytes_end_the_link),
        TROUBLE(test_small_messages_share_writes),
    };
    return cmocka_run_group_tests_name("file trouble", tests, NULL, NULL);
}
