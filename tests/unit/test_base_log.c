/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: levels by component, lines that stay whole, file names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

static void test_levels(void **state)
{
    (void)state;
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, NULL, NULL), 0);
    assert_int_equal(lg.level[WIO_C_TCP], WIO_LOG_WARN);
    assert_int_equal(wio_log_init(&lg, "tcp:debug, Boot:INFO,error", ""), 0);
    assert_int_equal(lg.level[WIO_C_TCP], WIO_LOG_DEBUG);
    assert_int_equal(lg.level[WIO_C_BOOT], WIO_LOG_INFO);
    assert_int_equal(lg.level[WIO_C_P2P], WIO_LOG_ERROR); /* the bare level, though it came last */
    assert_int_equal(lg.level[WIO_C_MPI], WIO_LOG_ERROR);
    assert_ptr_equal(lg.out, stderr);
    assert_int_equal(wio_log_init(&lg, ",,trace,", NULL), 0);
    assert_int_equal(lg.level[WIO_C_CONFIG], WIO_LOG_TRACE);
}

static void assert_bad(const char *spec, const char *part)
{
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, spec, NULL), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_LOG"));
    if (strstr(wio_last_error(), part) == NULL)
        fail_msg("%s: the text lacks '%s': %s", spec, part, wio_last_error());
}

static void test_unknown_words(void **state)
{
    (void)state;
    assert_bad("debuk", "did you mean 'debug'");
    assert_bad("loud", "error warn info debug trace");
    assert_bad("tpc:debug", "did you mean 'tcp'");
    assert_bad("tcp:", "log level");
    assert_bad(":debug", "component");
    assert_bad("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
               "too long");
}

struct caught {
    int count;
    char text[4096];
};

static void catch_line(void *arg, enum wio_log_comp c, enum wio_log_level l, const char *text)
{
    (void)c;
    (void)l;
    struct caught *got = arg;
    got->count++;
    wio_text(got->text, sizeof got->text, "%s", text);
}

static void test_only_what_is_asked_for(void **state)
{
    (void)state;
    struct caught got = {0};
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, "warn,tcp:debug", NULL), 0);
    lg.out = NULL;
    lg.hook = catch_line;
    lg.hook_arg = &got;
    wio_info(&lg, WIO_C_P2P, "no");
    assert_int_equal(got.count, 0);
    wio_debug(&lg, WIO_C_TCP, "yes %d", 5);
    wio_trace(&lg, WIO_C_TCP, "no");
    assert_int_equal(got.count, 1);
    assert_string_equal(got.text, "yes 5");
    struct wio_log *none = NULL;
    wio_error(none, WIO_C_TCP, "nobody hears");
    assert_int_equal(got.count, 1);
}

static void test_strangers_cannot_forge_lines(void **state)
{
    (void)state;
    struct caught got = {0};
    char *text = NULL;
    size_t size = 0;
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, "warn", NULL), 0);
    lg.out = open_memstream(&text, &size);
    assert_non_null(lg.out);
    lg.pbid = 3;
    lg.pb_rank = 14;
    wio_warn(&lg, WIO_C_BOOT, "said '%s'", "a\n12:00:00 fake\x1b[2J\x7f");
    char big[5000];
    memset(big, 'y', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    lg.hook = catch_line;
    lg.hook_arg = &got;
    wio_warn(&lg, WIO_C_BOOT, "%s", big);
    fflush(lg.out);
    assert_non_null(strstr(text, " 3.14] boot warn: said 'a 12:00:00 fake?[2J?'\n"));
    char *second = strchr(text, '\n') + 1;
    assert_ptr_equal(strchr(second, '\n'), text + size - 1);
    assert_memory_equal(text + size - 4, "...\n", 4);
    assert_int_equal(text[size], '\0');
    wio_log_close(&lg);
    free(text);
}

static char folder[] = "/tmp/wio-log-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void test_file_names(void **state)
{
    (void)state;
    char name[256], expected[256];
    struct wio_log lg;
    wio_text(name, sizeof name, "%s/log-%%p-100%%%%", folder);
    wio_text(expected, sizeof expected, "%s/log-%ld-100%%", folder, (long)getpid());
    assert_int_equal(wio_log_init(&lg, "warn", name), 0);
    assert_ptr_not_equal(lg.out, stderr);
    wio_log_close(&lg);
    assert_ptr_equal(lg.out, stderr);
    assert_int_equal(unlink(expected), 0);

    wio_text(name, sizeof name, "%s/log-%%r", folder);
    wio_text(expected, sizeof expected, "%s/log-17", folder);
    assert_int_equal(wio_log_init(&lg, "warn", name), 0);
    assert_ptr_equal(lg.out, stderr); /* the rank is not known yet */
    assert_int_equal(wio_log_open(&lg, name, 17), 0);
    assert_ptr_not_equal(lg.out, stderr);
    wio_log_close(&lg);
    assert_int_equal(unlink(expected), 0);

    wio_text(name, sizeof name, "%s/no/such/folder", folder);
    assert_int_equal(wio_log_init(&lg, "warn", name), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), name));
    assert_ptr_equal(lg.out, stderr);
}

enum { WRITERS = 4, LINES = 200 };

static void *write_lines(void *arg)
{
    struct wio_log *lg = arg;
    for (int i = 0; i < LINES; i++)
        wio_warn(lg, WIO_C_P2P, "begin %0100d end", i);
    return NULL;
}

static void test_lines_of_threads_stay_whole(void **state)
{
    (void)state;
    char name[256], line[512];
    wio_text(name, sizeof name, "%s/threads", folder);
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, "warn", name), 0);
    pthread_t t[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, write_lines, &lg), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(t[i], NULL);
    wio_log_close(&lg);
    FILE *in = fopen(name, "r");
    assert_non_null(in);
    int count = 0;
    for (; fgets(line, sizeof line, in) != NULL; count++) {
        char *begin = strstr(line, "p2p warn: begin 0");
        assert_non_null(begin);
        assert_int_equal(strlen(begin), strlen("p2p warn: begin  end\n") + 100);
        assert_string_equal(line + strlen(line) - 5, " end\n");
    }
    fclose(in);
    assert_int_equal(count, WRITERS * LINES);
    assert_int_equal(unlink(name), 0);
}

/* 13,000 strangers are a few lines and a count. */
static void test_gate(void **state)
{
    (void)state;
    struct wio_log lg;
    struct caught got = {0};
    struct wio_log_gate g = {0};
    char note[96];
    int64_t minute = INT64_C(60000000000), now = 5 * minute;
    int lines = 0;
    assert_int_equal(wio_log_init(&lg, NULL, NULL), 0);
    lg.out = NULL;
    lg.hook = catch_line;
    lg.hook_arg = &got;
    for (int i = 0; i < 13000; i++, now += 400000)
        lines += wio_log_gate(&g, now, note, sizeof note);
    assert_int_equal(lines, WIO_GATE_LINES);
    assert_true(wio_log_gate(&g, now + minute, note, sizeof note));
    assert_non_null(strstr(note, "12995 more"));
    assert_true(wio_log_gate(&g, now + minute, note, sizeof note));
    assert_string_equal(note, "");
    wio_log_gate_end(&g, &lg, WIO_C_TCP, "strangers");
    assert_int_equal(got.count, 0);
    for (int i = 0; i < 10; i++)
        (void)wio_log_gate(&g, now + minute, note, sizeof note);
    wio_log_gate_end(&g, &lg, WIO_C_TCP, "strangers");
    assert_int_equal(got.count, 1);
    assert_non_null(strstr(got.text, "strangers: 7 more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_unknown_words),
        cmocka_unit_test(test_only_what_is_asked_for),
        cmocka_unit_test(test_strangers_cannot_forge_lines),
        cmocka_unit_test(test_file_names),
        cmocka_unit_test(test_lines_of_threads_stay_whole),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
