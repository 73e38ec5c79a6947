/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_auth_secret.c
 * Where the secret comes from: cookie and named files, what is refused and with which words, many
 * processes that make the cookie at once, and a file system that fails at every single call.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>
#include <cmocka.h>

#include "auth/auth.h"
#include "os/os.h"
#include "skip.h"

#define RACERS 12

static char home[256]; /* a new, empty HOME for every test */

static char *in_home(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static int new_home(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    if (tmp == NULL) /* in memory when possible: every cookie is synced */
        tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(home, sizeof home, "%s/waitio-secret-XXXXXX", tmp);
    return mkdtemp(home) == NULL || setenv("HOME", home, 1) != 0;
}

static void empty_folder(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

static int remove_home(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    empty_folder(in_home(".waitio"));
    rmdir(in_home(".waitio"));
    empty_folder(home);
    return rmdir(home);
}

static void write_file(const char *path, const void *text, size_t n, mode_t mode)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int load(struct wio_secret *s, const char *file)
{
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    if (file != NULL)
        wio_text(cfg.secret_file, sizeof cfg.secret_file, "%s", file);
    return wio_secret_load(s, &cfg, NULL);
}

static void assert_error_says(const char *text)
{
    if (strstr(wio_last_error(), text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", wio_last_error(), text);
}

static void assert_refused(const char *file, int code)
{
    struct wio_secret s;
    assert_int_equal(load(&s, file), code);
    assert_int_equal(s.len, 0);
    if (file != NULL)
        assert_error_says(file);
}

/* ---- the cookie ---- */

static void the_cookie_is_made_once_and_for_us_alone(void **state)
{
    struct wio_secret first, again;
    struct stat st;
    (void)state;
    assert_int_equal(load(&first, NULL), 0);
    assert_int_equal(first.len, 64);
    assert_non_null(strstr(first.origin, in_home(".waitio/cookie")));
    assert_int_equal(stat(in_home(".waitio"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(in_home(".waitio/cookie"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 65);
    assert_int_equal(st.st_nlink, 1); /* the temporary name is gone */
    assert_int_equal(load(&again, NULL), 0);
    assert_int_equal(again.len, first.len);
    assert_memory_equal(wio_secret_key(&again), wio_secret_key(&first), first.len);
    assert_string_equal(wio_last_error(), "");
}

static void two_users_have_different_cookies(void **state)
{
    struct wio_secret a, b;
    (void)state;
    assert_int_equal(load(&a, NULL), 0);
    assert_int_equal(unlink(in_home(".waitio/cookie")), 0);
    assert_int_equal(load(&b, NULL), 0);
    assert_memory_not_equal(wio_secret_key(&a), wio_secret_key(&b), a.len);
}

static void race(int start, int report)
{
    struct wio_secret s;
    char go;
    if (read(start, &go, 1) != 0 || load(&s, NULL) != 0 || s.len != 64)
        _exit(1);
    _exit(write(report, wio_secret_key(&s), 64) == 64 ? 0 : 1);
}

static void racing_processes_agree(void **state)
{
    int start[2], report[2];
    pid_t pids[RACERS];
    uint8_t first[64], key[64];
    (void)state;
    assert_int_equal(pipe(start), 0);
    assert_int_equal(pipe(report), 0);
    for (int i = 0; i < RACERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            close(start[1]);
            race(start[0], report[1]);
        }
    }
    close(start[1]); /* end of file lets all run at once */
    close(report[1]);
    for (int i = 0; i < RACERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(read(report[0], first, 64), 64);
    for (int i = 1; i < RACERS; i++) {
        assert_int_equal(read(report[0], key, 64), 64);
        assert_memory_equal(key, first, 64);
    }
    close(start[0]);
    close(report[0]);
}

/* How often the cookie was looked for or into; whoever waits for it does so 100 times. */
enum { MANY_LOOKS = 30 };
static int looks;

/* Another process has made the file, and writes it when we have looked at it often. */
static int written_meanwhile(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call == WIO_OS_FILE && ++looks == MANY_LOOKS)
        write_file(in_home(".waitio/cookie"), "0123456789abcdef\n", 17, 0600);
    return 0;
}

static void a_cookie_that_is_being_written_is_waited_for(void **state)
{
    struct wio_secret s;
    (void)state;
    assert_int_equal(mkdir(in_home(".waitio"), 0700), 0);
    write_file(in_home(".waitio/cookie"), "", 0, 0600);
    looks = 0;
    wio_os_fault = written_meanwhile;
    int rc = load(&s, NULL);
    wio_os_fault = NULL;
    assert_int_equal(rc, 0);
    assert_int_equal(s.len, 16);
    assert_true(looks >= MANY_LOOKS);
}

static void an_empty_cookie_is_refused_in_the_end(void **state)
{
    struct wio_secret s;
    (void)state;
    assert_int_equal(mkdir(in_home(".waitio"), 0700), 0);
    write_file(in_home(".waitio/cookie"), "", 0, 0600);
    assert_int_equal(load(&s, NULL), WAITIO_ERR_CONFIG);
    assert_error_says("holds 0 bytes");
}

static void a_cookie_that_others_may_read_is_refused(void **state)
{
    struct wio_secret s;
    (void)state;
    assert_int_equal(load(&s, NULL), 0);
    assert_int_equal(chmod(in_home(".waitio/cookie"), 0640), 0);
    assert_refused(NULL, WAITIO_ERR_AUTH);
    assert_error_says("mode 0640");
    assert_error_says("chmod 600");
    assert_error_says(in_home(".waitio/cookie"));
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_home(".waitio"), 0700), 0);
    assert_int_equal(chmod(in_home(".waitio"), 0770), 0);
    assert_refused(NULL, WAITIO_ERR_AUTH);
    assert_error_says("mode 0770");
    assert_error_says("chmod 700");
}

static void a_file_in_the_folders_place_is_refused(void **state)
{
    (void)state;
    write_file(in_home(".waitio"), "x", 1, 0600);
    assert_refused(NULL, WAITIO_ERR_AUTH);
    assert_error_says("not a folder");
    assert_int_equal(unlink(in_home(".waitio")), 0);
}

static void what_belongs_to_others_is_refused(void **state)
{
    struct wio_secret s;
    (void)state;
    if (geteuid() != 0)
        skip_because(__func__, "only root can give files away");
    assert_int_equal(load(&s, NULL), 0);
    assert_int_equal(chown(in_home(".waitio/cookie"), 12345, (gid_t)-1), 0);
    assert_refused(NULL, WAITIO_ERR_AUTH);
    assert_error_says("user 12345");
    assert_int_equal(chown(in_home(".waitio"), 12345, (gid_t)-1), 0);
    assert_refused(NULL, WAITIO_ERR_AUTH);
    assert_error_says("is HOME right?");
}

static void a_missing_or_relative_home_is_named(void **state)
{
    (void)state;
    unsetenv("HOME");
    assert_refused(NULL, WAITIO_ERR_CONFIG);
    assert_error_says("HOME");
    assert_error_says("WAITIO_SECRET_FILE");
    setenv("HOME", "relative", 1);
    assert_refused(NULL, WAITIO_ERR_CONFIG);
    assert_error_says("relative");
    char longer[2000];
    memset(longer, '/', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    setenv("HOME", longer, 1);
    assert_refused(NULL, WAITIO_ERR_CONFIG);
    setenv("HOME", in_home("no/such/folder"), 1);
    assert_refused(NULL, WAITIO_ERR_SYSTEM);
    assert_error_says("no/such/folder");
}

/* ---- named files ---- */

static void a_named_file_is_read_and_trimmed(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } good[] = {{"0123456789abcdef", 16},
                {"0123456789abcdef\n", 16},
                {"0123456789abcdef\r\n", 16},
                {"0123456789abcdef\n\n", 17},
                {" 0123456789abcdef ", 18}};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(good); i++) {
        struct wio_secret s;
        write_file(in_home("s"), good[i].text, strlen(good[i].text), 0600);
        assert_int_equal(load(&s, in_home("s")), 0);
        assert_int_equal(s.len, good[i].len);
        assert_memory_equal(wio_secret_key(&s), good[i].text, s.len);
        assert_non_null(strstr(s.origin, in_home("s")));
    }
}

static void only_sixteen_to_256_bytes_are_a_secret(void **state)
{
    char text[1000];
    struct wio_secret s;
    (void)state;
    memset(text, 'k', sizeof text);
    write_file(in_home("s"), text, 256, 0400);
    assert_int_equal(load(&s, in_home("s")), 0);
    assert_int_equal(s.len, 256);
    assert_int_equal(unlink(in_home("s")), 0);
    text[256] = '\n';
    write_file(in_home("s"), text, 257, 0600);
    assert_int_equal(load(&s, in_home("s")), 0);
    assert_int_equal(s.len, 256);
    text[256] = 'k';
    static const size_t bad[] = {0, 1, 15, 257, 258, 259, 1000};
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        write_file(in_home("s"), text, bad[i], 0600);
        assert_refused(in_home("s"), WAITIO_ERR_CONFIG);
        assert_error_says("16 to 256");
    }
}

static void a_named_file_is_never_made(void **state)
{
    (void)state;
    assert_refused(in_home("absent"), WAITIO_ERR_CONFIG);
    assert_int_equal(access(in_home("absent"), F_OK), -1);
    assert_int_equal(access(in_home(".waitio"), F_OK), -1);
}

static void named_files_are_checked_like_the_cookie(void **state)
{
    static const mode_t bad[] = {0601, 0610, 0620, 0644, 0666, 0777};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        char mode[16];
        write_file(in_home("s"), "0123456789abcdef", 16, bad[i]);
        snprintf(mode, sizeof mode, "mode %04o", (unsigned)bad[i]);
        assert_refused(in_home("s"), WAITIO_ERR_AUTH);
        assert_error_says(mode);
    }
    assert_refused(home, WAITIO_ERR_AUTH); /* a folder */
    assert_int_equal(mkfifo(in_home("fifo"), 0600), 0);
    assert_refused(in_home("fifo"), WAITIO_ERR_AUTH); /* and it does not block */
    assert_error_says("not a regular file");
}

/* ---- none ---- */

struct heard {
    int warnings;
    char text[512];
};

static void hear(void *arg, enum wio_log_comp c, enum wio_log_level l, const char *text)
{
    struct heard *h = arg;
    if (c == WIO_C_AUTH && l == WIO_LOG_WARN) {
        h->warnings++;
        wio_text(h->text, sizeof h->text, "%s", text);
    }
}

static void none_is_warned_about_once(void **state)
{
    struct wio_config cfg;
    struct wio_log lg;
    struct heard heard = {0};
    struct wio_secret s;
    (void)state;
    wio_config_defaults(&cfg);
    cfg.secret = WIO_CFG_SECRET_NONE;
    assert_int_equal(wio_log_init(&lg, "warn", ""), 0);
    lg.hook = hear;
    lg.hook_arg = &heard;
    assert_int_equal(wio_secret_load(&s, &cfg, &lg), 0);
    assert_int_equal(s.len, 0);
    assert_int_equal(heard.warnings, 1);
    assert_non_null(strstr(heard.text, "WAITIO_SECRET=none"));
    assert_int_equal(access(in_home(".waitio"), F_OK), -1);
    wio_log_close(&lg);
}

/* ---- bad days ---- */

static struct {
    int left, error;
} trouble;

static int fail_nth(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_FILE && trouble.left-- == 0 ? trouble.error : 0;
}

/* The n-th file call fails, for every n: an error with a text, or a cookie that works. */
static void every_file_call_may_fail(void **state)
{
    static const int errors[] = {-EIO, -ENOSPC, -EPERM, -EOPNOTSUPP, -ESTALE, -ENOENT};
    (void)state;
    for (size_t e = 0; e < WIO_ARRAY_LEN(errors); e++)
        for (int n = 0; n < 30; n++) {
            struct wio_secret s, after;
            empty_folder(in_home(".waitio"));
            trouble.left = n;
            trouble.error = errors[e];
            wio_os_fault = fail_nth;
            int rc = load(&s, NULL);
            wio_os_fault = NULL;
            assert_true(rc == 0 || (wio_last_error()[0] != '\0' && s.len == 0));
            assert_int_equal(load(&after, NULL), 0);
            assert_int_equal(after.len, 64);
            if (rc == 0)
                assert_memory_equal(wio_secret_key(&s), wio_secret_key(&after), 64);
            if (trouble.left >= 0)
                break; /* there are no more calls */
        }
}

/* The last file call before the cookie exists is the one that gives it its name. */
static int find_link(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call == WIO_OS_FILE && access(in_home(".waitio/cookie"), F_OK) != 0)
        trouble.left++;
    return 0;
}

static void a_file_system_without_hard_links_is_enough(void **state)
{
    static const int errors[] = {-EPERM, -EOPNOTSUPP, -ENOSYS, -EMLINK};
    struct wio_secret s;
    (void)state;
    trouble.left = -1;
    wio_os_fault = find_link;
    assert_int_equal(load(&s, NULL), 0);
    int link_call = trouble.left;
    for (size_t e = 0; e < WIO_ARRAY_LEN(errors); e++) {
        empty_folder(in_home(".waitio"));
        wio_os_fault = fail_nth;
        trouble.error = errors[e];
        trouble.left = link_call;
        assert_int_equal(load(&s, NULL), 0);
        wio_os_fault = NULL;
        assert_true(trouble.left < 0);
        assert_int_equal(s.len, 64);
    }
}

static int disk_full(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    looks += call == WIO_OS_FILE;
    return call == WIO_OS_FILE && bytes > 0 && access(in_home(".waitio/cookie"), F_OK) != 0
               ? -ENOSPC
               : 0;
}

static void a_full_disk_is_named_at_once(void **state)
{
    struct wio_secret s;
    (void)state;
    looks = 0;
    wio_os_fault = disk_full;
    int rc = load(&s, NULL);
    wio_os_fault = NULL;
    assert_int_equal(rc, WAITIO_ERR_SYSTEM);
    assert_error_says("free space there");
    assert_error_says("No space left");
    assert_true(looks < MANY_LOOKS); /* it does not wait for anybody */
}

#define SECRET_TEST(f) cmocka_unit_test_setup_teardown(f, new_home, remove_home)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SECRET_TEST(the_cookie_is_made_once_and_for_us_alone),
        SECRET_TEST(two_users_have_different_cookies),
        SECRET_TEST(racing_processes_agree),
        SECRET_TEST(a_cookie_that_is_being_written_is_waited_for),
        SECRET_TEST(an_empty_cookie_is_refused_in_the_end),
        SECRET_TEST(a_cookie_that_others_may_read_is_refused),
        SECRET_TEST(a_folder_that_others_may_write_is_refused),
        SECRET_TEST(a_file_in_the_folders_place_is_refused),
        SECRET_TEST(what_belongs_to_others_is_refused),
        SECRET_TEST(a_missing_or_relative_home_is_named),
        SECRET_TEST(a_named_file_is_read_and_trimmed),
        SECRET_TEST(only_sixteen_to_256_bytes_are_a_secret),
        SECRET_TEST(a_named_file_is_never_made),
        SECRET_TEST(named_files_are_checked_like_the_cookie),
        SECRET_TEST(none_is_warned_about_once),
        SECRET_TEST(every_file_call_may_fail),
        SECRET_TEST(a_file_system_without_hard_links_is_enough),
        SECRET_TEST(a_full_disk_is_named_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
