/* SPDX-License-Identifier: BSD-3-Clause */
/* What is special about joining by a directory: what it costs, and who may put what there. The
 * other tests of joining run there, too (WT_IN_FOLDER). */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "boot/mail_talk.h"
#include "boot_people.h"

static uint32_t *calls; /* of the file system, by all processes together */

static int count_calls(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call == WIO_OS_FILE)
        __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
    return 0;
}

/* As docs/design/file.md promises: operations on names for each host, the service's included,
 * besides what waiting takes. */
#define NAMES_PER_HOST 150
#define NAMES_PER_SECOND 3

/* What all of them have logged about that. */
static unsigned long long names_used(const struct crowd *c)
{
    unsigned long long sum = 0, n;
    char *text = wt_said(c);
    for (const char *at = text; (at = strstr(at, " took ")) != NULL; at++)
        if (sscanf(at, " took %llu operations on names", &n) == 1)
            sum += n;
    free(text);
    return sum;
}

/* Each process is alone on its pretended host, so that each comes to the service itself. */
static void many_hosts(void **state)
{
    (void)state;
    struct crowd c;
    const char *n_text = getenv("WT_HOSTS");
    int n = n_text != NULL ? atoi(n_text) : 64;
    double patience = 60 * wt_patience() + n;
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(calls != MAP_FAILED);
    wt_crowd(&c);
    c.log = "debug";
    wio_os_fault = count_calls;
    int64_t t0 = wio_os_now_ns();
    for (int i = 0; i < n; i++) {
        c.identity = 1000 + (uint64_t)i;
        wt_start(&c, i % 2, 2, i / 2, n / 2, patience);
    }
    wio_os_fault = NULL;
    wt_wait_all(&c, patience + 5);
    double seconds = (double)(wio_os_now_ns() - t0) / 1e9;
    for (int i = 0; i < n; i++) {
        wt_expect_ok(&c, i, (uint32_t)(i % 2 * (n / 2) + i / 2), (uint32_t)n);
        assert_int_equal(c.p[i].nhosts, n);
    }
    double names = (double)names_used(&c) / n;
    print_message("%d hosts: %.1f s, %.1f operations on names and %.1f calls of all kinds each\n",
                  n, seconds, names, (double)*calls / n);
    assert_true(names > 20 && names < NAMES_PER_HOST + NAMES_PER_SECOND * seconds);
    munmap(calls, sizeof *calls);
    wt_end(&c);
}

/* ---- who may be there ---- */

static void run_path(const struct crowd *c, char *path, size_t n)
{
    snprintf(path, n, "%s/.waitio-file-%s", c->scratch, c->job);
}

static void others_could_enter(void **state)
{
    (void)state;
    static const char *const inner[] = {"", "/rendezvous"};
    for (int i = 0; i < 2; i++) {
        struct crowd c;
        char path[300], deep[400];
        wt_crowd(&c);
        run_path(&c, path, sizeof path);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(deep, sizeof deep, "%s%s", path, inner[i]);
        if (i > 0)
            assert_int_equal(mkdir(deep, 0700), 0);
        assert_int_equal(chmod(deep, 0750), 0);
        wt_start(&c, 0, 2, 0, 1, 5);
        wt_start(&c, 1, 2, 0, 1, 5);
        wt_wait_all(&c, 10);
        wt_expect_error(&c, 0, WAITIO_ERR_CONFIG, deep);
        wt_expect_error(&c, 1, WAITIO_ERR_CONFIG, "700");
        assert_true(c.p[0].seconds < 4 * wt_patience());
        wt_killed = true; /* what the test has made is left */
        wt_end(&c);
    }
}

static void links_are_not_followed(void **state)
{
    (void)state;
    struct crowd c;
    char path[300], there[100];
    wt_crowd(&c);
    snprintf(there, sizeof there, "%s/there", c.scratch);
    assert_int_equal(mkdir(there, 0700), 0);
    run_path(&c, path, sizeof path);
    assert_int_equal(symlink("there", path), 0);
    wt_start(&c, 0, 2, 0, 1, 5);
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_CONFIG, "symbolic links are not followed");
    wt_killed = true;
    wt_end(&c);
}

/* The folder of the service that serves now. @return false: none */
static bool find_desk(const struct crowd *c, char *path, size_t n)
{
    char room[400];
    bool found = false;
    run_path(c, path, n);
    if (snprintf(room, sizeof room, "%s/rendezvous", path) >= (int)sizeof room)
        return false;
    DIR *dir = opendir(room);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strlen(e->d_name) == 16) {
            snprintf(path, n, "%s/%.16s", room, e->d_name);
            found = true;
        }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static void put_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* Letters that nobody with the secret wrote, halves, a link, other names: all join nevertheless. */
static void rubbish_in_the_inbox(void **state)
{
    (void)state;
    struct crowd c;
    char desk[500], inbox[520], path[600];
    wt_crowd(&c);
    wt_start(&c, 0, 2, 0, 1, 30);
    wt_came(&c, 1);
    assert_true(find_desk(&c, desk, sizeof desk));
    snprintf(inbox, sizeof inbox, "%s/in", desk);
    struct wio_secret wrong = c.secret;
    wrong.key[3] ^= 1;
    uint8_t file[WIO_MAIL_HEAD + 16] = "";
    struct wio_mail_letter l = {
        .service = strtoull(strrchr(desk, '/') + 1, NULL, 16), .caller = 5, .kind = WIO_MAIL_DATA};
    assert_int_equal(wio_mail_letter_encode(&l, &wrong, file + WIO_MAIL_HEAD, 16, file), 0);
    put_file(inbox, "0000000000000005-00000000", file, sizeof file);
    put_file(inbox, "0000000000000006-00000000", file, 20); /* half a head */
    put_file(inbox, "0000000000000007-00000000",
             "hello, is anybody there? This is no letter, but "
             "it is as long as one has to be, and longer",
             90);
    put_file(inbox, "0000000000000008-00000003", file, sizeof file); /* of nobody */
    put_file(inbox, "something else", "x", 1);
    snprintf(path, sizeof path, "%s/0000000000000009-00000000", inbox);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    wt_heard(&c, "a letter was written without the secret of this job");
    wt_heard(&c, "a letter is none of the rendezvous");
    wt_start(&c, 1, 2, 0, 1, 30);
    wt_wait_all(&c, 40);
    wt_expect_ok(&c, 0, 0, 2);
    wt_expect_ok(&c, 1, 1, 2);
    wt_end(&c);
}

/* A program of another version of WaitIO serves there. */
static void another_version_serves(void **state)
{
    (void)state;
    struct crowd c;
    char desk[500], room[400];
    uint8_t sign[WIO_MAIL_SIGN];
    struct wio_mail_sign s = {.nonce = 7, .beat = 1};
    wt_crowd(&c);
    run_path(&c, room, sizeof room);
    assert_int_equal(mkdir(room, 0700), 0);
    snprintf(desk, sizeof desk, "%s/rendezvous", room);
    assert_int_equal(mkdir(desk, 0700), 0);
    wio_mail_sign_encode(&s, sign);
    sign[4] = 9;
    put_file(desk, "here", sign, sizeof sign);
    wt_start(&c, 0, 2, 0, 1, 5);
    wt_start(&c, 1, 2, 0, 1, 5);
    wt_wait_all(&c, 10);
    wt_expect_error(&c, 0, WAITIO_ERR_VERSION, "version 9");
    wt_expect_error(&c, 1, WAITIO_ERR_VERSION, "version 9");
    wt_killed = true;
    wt_end(&c);
}

/* What a run left that was killed does not disturb the next one, which removes it. */
static void after_a_run_that_was_killed(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    int first = wt_start(&c, 0, 2, 0, 2, 30), second = wt_start(&c, 0, 2, 1, 2, 30);
    c.identity = 99;
    int third = wt_start(&c, 1, 2, 0, 2, 30);
    wt_came(&c, 3);
    wt_kill(&c, first);
    wt_kill(&c, second);
    wt_kill(&c, third);
    wt_killed = false; /* nothing may be left at the end */
    c.identity = 0;
    int again = wt_block(&c, 1, 2, 2, 30), master = wt_block(&c, 0, 2, 2, 30);
    wt_wait_all(&c, 40);
    for (int i = 0; i < 2; i++) {
        wt_expect_ok(&c, master + i, (uint32_t)i, 4);
        wt_expect_ok(&c, again + i, (uint32_t)(2 + i), 4);
    }
    wt_end(&c);
}

/* ---- who ends while we begin ---- */

static struct straggler {
    char room[400], run[300];
    int at, calls;
} straggler;

/* At one of the calls of a beginning the last one of an earlier universe removes what is empty. */
static int remove_empty(enum wio_os_call call, int fd, size_t bytes)
{
    (void)call;
    (void)fd;
    (void)bytes;
    if (__atomic_add_fetch(&straggler.calls, 1, __ATOMIC_RELAXED) == straggler.at) {
        (void)rmdir(straggler.room);
        (void)rmdir(straggler.run);
    }
    return 0;
}

static void a_straggler_removes_the_room(void **state)
{
    (void)state;
    struct crowd c;
    struct wio_config cfg;
    struct wio_log log;
    wt_crowd(&c);
    run_path(&c, straggler.run, sizeof straggler.run);
    snprintf(straggler.room, sizeof straggler.room, "%s/rendezvous", straggler.run);
    wio_config_defaults(&cfg);
    assert_int_equal(wio_log_init(&log, "error", ""), 0);
    wio_text(cfg.scratch_dir, sizeof cfg.scratch_dir, "%s", c.scratch);
    struct wio_mail_way way = {.cfg = &cfg, .secret = &c.secret, .log = &log, .job = c.job};
    for (straggler.at = 1, straggler.calls = 1000; straggler.calls >= straggler.at;
         straggler.at++) {
        struct wio_mail_desk *desk;
        int fd;
        straggler.calls = 0;
        wio_os_fault = remove_empty;
        int rc = wio_mail_serve(&way, &desk, &fd);
        if (rc != 0)
            fail_msg("at call %d: %d %s", straggler.at, rc, wio_last_error());
        wio_mail_close(desk);
        wio_os_fault = NULL; /* now that its thread has ended */
    }
    assert_true(straggler.at > 10);
    wt_end(&c);
}

/* Who was stopped, perhaps with all others, gives them time to count again. */
static void a_silence_begins_anew_after_a_stop(void **state)
{
    (void)state;
    struct mail_sign s = {.fd = -1, .every_ns = 1000, .next_ns = 5000, .s = {.locked = true}};
    struct mail_watch w = {.fd = -1};
    assert_false(wio_mail_beat(&s, 4000));
    assert_false(wio_mail_beat(&s, 5500)); /* as it should be */
    assert_int_equal(s.next_ns, 6500);
    assert_true(wio_mail_beat(&s, 6500 + 3001));
    wio_mail_forgive(&w, 9000);
    assert_int_equal(w.grown_ns, 0); /* it was never seen */
    w.grown_ns = 5;
    wio_mail_forgive(&w, 9000);
    assert_int_equal(w.grown_ns, 9000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WT_IN_FOLDER(many_hosts),
        WT_IN_FOLDER(others_could_enter),
        WT_IN_FOLDER(links_are_not_followed),
        WT_IN_FOLDER(rubbish_in_the_inbox),
        WT_IN_FOLDER(another_version_serves),
        WT_IN_FOLDER(after_a_run_that_was_killed),
        WT_IN_FOLDER(a_straggler_removes_the_room),
        cmocka_unit_test(a_silence_begins_anew_after_a_stop),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
