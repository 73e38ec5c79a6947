/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: every default, every type, the environment's surprises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/config_text.h"

/** Warnings that the code under test logged. */
struct heard {
    int count;
    char text[8][512];
};

static void hear(void *arg, enum wio_log_comp comp, enum wio_log_level level, const char *text)
{
    struct heard *h = arg;
    assert_int_equal(comp, WIO_C_CONFIG);
    assert_int_equal(level, WIO_LOG_WARN);
    assert_in_range(h->count, 0, 7);
    wio_text(h->text[h->count++], sizeof h->text[0], "%s", text);
}

/** Forget every variable of ours that the tester's shell, or the test before, has set. */
static int clean_environment(void **state)
{
    (void)state;
    extern char **environ;
    for (char **env = environ; *env != NULL;) {
        char name[256];
        wio_text(name, sizeof name, "%.*s", (int)strcspn(*env, "="), *env);
        if (strncmp(name, "WAITIO_", 7) == 0 || strcmp(name, "COUPLER_JOB_ID") == 0) {
            unsetenv(name);
            env = environ;
        } else {
            env++;
        }
    }
    return 0;
}

static int load(struct wio_config *cfg, struct heard *h)
{
    struct wio_log lg;
    assert_int_equal(wio_log_init(&lg, "warn", NULL), 0);
    memset(h, 0, sizeof *h);
    lg.out = NULL;
    lg.hook = hear;
    lg.hook_arg = h;
    return wio_config_load(cfg, &lg);
}

static void assert_refused(const char *name, const char *text, const char *part)
{
    struct wio_config cfg, before;
    wio_config_defaults(&cfg);
    before = cfg;
    wio_clear_error();
    if (wio_config_set(&cfg, name, text) != WAITIO_ERR_CONFIG)
        fail_msg("%s=%s was taken", name, text);
    assert_memory_equal(&cfg, &before, sizeof cfg);
    if (strstr(wio_last_error(), name) == NULL || strstr(wio_last_error(), part) == NULL)
        fail_msg("%s=%s: the text lacks '%s': %s", name, text, part, wio_last_error());
}

static void test_defaults_are_legal_and_read_back(void **state)
{
    (void)state;
    struct wio_config cfg, again;
    wio_config_defaults(&cfg);
    for (int i = 0; i < WIO_CFG_VARS; i++) {
        const struct wio_config_row *row = wio_config_row(i);
        char value[600];
        wio_config_value(&cfg, i, value, sizeof value);
        assert_int_equal(wio_config_parse(&again, i, row->name, row->def, false), 0);
        assert_int_equal(cfg.source[i], WIO_SRC_DEFAULT);
        wio_config_defaults(&again);
        /* what a value prints as means the same when it is read; -1 may only mean "not set" */
        if (value[0] != '\0' && strcmp(value, "-1") != 0) {
            assert_int_equal(wio_config_set(&again, row->name, value), 0);
            assert_int_equal(again.source[i], WIO_SRC_ENV);
            again.source[i] = WIO_SRC_DEFAULT;
        }
        assert_memory_equal(&cfg, &again, sizeof cfg);
    }
    assert_null(wio_config_row(-1));
    assert_null(wio_config_row(WIO_CFG_VARS));
    assert_int_equal(cfg.master_port, 7100);
    assert_int_equal(cfg.pbid, -1);
    assert_int_equal(cfg.chunk, 1024 * 1024);
    assert_int_equal(cfg.comm_type, WIO_CFG_COMM_TYPE_AUTO);
    assert_true(cfg.init_timeout < 0);
    assert_string_equal(cfg.log, "warn");
}

static void test_numbers(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_PBID", " 7 "), 0);
    assert_int_equal(cfg.pbid, 7);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_SPIN", "-1"), 0);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_MAX_CONNECTIONS", "0"), 0);
    assert_refused("WAITIO_MAX_CONNECTIONS", "-1", "at least 1, or 0");
    assert_refused("WAITIO_PBID", "abc", "not a whole number (0 to 1048575)");
    assert_refused("WAITIO_PBID", "-1", "out of range (0 to 1048575)");
    assert_refused("WAITIO_PBID", "1048576", "out of range");
    assert_refused("WAITIO_PBID", "3x", "=3x");
    assert_refused("WAITIO_PBID", "1 2", "not a whole number");
    assert_refused("WAITIO_PBID", "0x10", "not a whole number");
    assert_refused("WAITIO_PBID", "-", "not a whole number");
    assert_refused("WAITIO_MASTER_PORT", "65536", "1 to 65535");
    assert_refused("WAITIO_MASTER_PORT", "99999999999999999999999", "out of range");
    assert_refused("WAITIO_SPIN", "-9223372036854775809", "out of range");
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"65536", 65536},
                {"64k", 65536},
                {"64K", 65536},
                {"64KiB", 65536},
                {"64kb", 65536},
                {"12B", 12},
                {"3M", 3u << 20},
                {"2G", 2ULL << 30},
                {"1T", 1ULL << 40},
                {"18446744073709551615", UINT64_MAX}};
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    for (size_t i = 0; i < WIO_ARRAY_LEN(good); i++) {
        assert_int_equal(wio_config_set(&cfg, "WAITIO_TCP_SNDBUF", good[i].text), 0);
        assert_int_equal(cfg.tcp_sndbuf, good[i].value);
    }
    static const char *const bad[] = {"-1", "K", "1Q", "1KK", "1i", "1.5G", "1 M", "0x1", "1KiBs"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++)
        assert_refused("WAITIO_TCP_SNDBUF", bad[i], "not a size");
    assert_refused("WAITIO_TCP_SNDBUF", "18446744073709551616", "out of range");
    assert_refused("WAITIO_TCP_SNDBUF", "16777216T", "out of range");
    assert_refused("WAITIO_CHUNK", "4095", "4096 to 16777216 bytes");
    assert_refused("WAITIO_CHUNK", "1G", "out of range");
}

static void test_seconds_ignore_the_locale(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(commas); i++)
        if (setlocale(LC_ALL, commas[i]) != NULL)
            break; /* where none is installed this tests less */
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    char text[32];
    assert_int_equal(wio_config_set(&cfg, "WAITIO_CONNECT_TIMEOUT", "2.25"), 0);
    assert_true(cfg.connect_timeout == 2.25);
    wio_config_value(&cfg, WIO_VAR_CONNECT_TIMEOUT, text, sizeof text);
    assert_string_equal(text, "2.25");
    assert_int_equal(wio_config_set(&cfg, "WAITIO_LINGER", ".5"), 0);
    assert_true(cfg.linger == 0.5);
    setlocale(LC_ALL, "C");
    assert_refused("WAITIO_CONNECT_TIMEOUT", "0.05", "out of range (at least 0.1 seconds)");
    static const char *const bad[] = {"nan", "inf", "1e3", ".", "-", "5s", "1,5"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++)
        assert_refused("WAITIO_LINGER", bad[i], "not a number of seconds");
    assert_refused("WAITIO_LINGER", "-0.1", "out of range");
    assert_refused("WAITIO_INIT_TIMEOUT", "-1", "out of range");
}

static void test_words(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_COMM_TYPE", "Socket"), 0);
    assert_int_equal(cfg.comm_type, WIO_CFG_COMM_TYPE_SOCKET);
    /* not built is for the transports to say, not a mistake of the user */
    assert_int_equal(wio_config_set(&cfg, "WAITIO_COMM_TYPE", "verbs"), 0);
    assert_refused("WAITIO_COMM_TYPE", "sokcet", "did you mean socket?");
    assert_refused("WAITIO_COMM_TYPE", "quantum", "auto, socket, shm");
    assert_int_equal(wio_config_set(&cfg, "WAITIO_STATS", "yes"), 0);
    assert_true(cfg.stats);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_STATS", "OFF"), 0);
    assert_false(cfg.stats);
    assert_refused("WAITIO_STATS", "2", "0 or 1");
}

static void test_strings(void **state)
{
    (void)state;
    char text[WIO_CFG_TEXT + 1];
    memset(text, 'x', sizeof text);
    text[WIO_CFG_TEXT] = '\0';
    assert_refused("WAITIO_MASTER_HOST", text, "511");
    text[WIO_CFG_TEXT - 1] = '\0';
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_MASTER_HOST", text), 0);
    assert_string_equal(cfg.master_host, text);
    assert_refused("WAITIO_JOB_ID", "a\nb", "control character");
}

static void test_unknown_setting(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    assert_int_equal(wio_config_set(&cfg, "WAITIO_MASTERHOST", "h"), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "did you mean WAITIO_MASTER_HOST?"));
    assert_int_equal(wio_config_set(&cfg, "SOMETHING_ELSE", "h"), WAITIO_ERR_CONFIG);
    assert_null(strstr(wio_last_error(), "did you mean"));
}

static void test_environment(void **state)
{
    (void)state;
    struct wio_config cfg;
    struct heard h;
    setenv("WAITIO_MASTER_HOST", "head", 1);
    setenv("WAITIO_NPB", "3", 1);
    setenv("WAITIO_LINGER", "", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(h.count, 0);
    assert_string_equal(cfg.master_host, "head");
    assert_int_equal(cfg.source[WIO_VAR_MASTER_HOST], WIO_SRC_ENV);
    assert_int_equal(cfg.npb, 3);
    assert_true(cfg.linger == 10); /* empty counts as not set */
    assert_int_equal(cfg.source[WIO_VAR_LINGER], WIO_SRC_DEFAULT);
    setenv("WAITIO_NPB", "three", 1);
    assert_int_equal(load(&cfg, &h), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_NPB=three: not a whole number (1 to"));
}

static void test_misspelt_names_are_named(void **state)
{
    (void)state;
    struct wio_config cfg;
    struct heard h;
    setenv("WAITIO_MASTER_PROT", "7000", 1);
    setenv("WAITIO_TEST_SPEED", "1", 1);
    setenv("WAITIO_LIB_DIR", "x", 1);
    setenv("WAITIO_BENCH_N", "x", 1);
    setenv("WAITIO_RUN_ID", "x", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "WAITIO_MASTER_PROT"));
    assert_non_null(strstr(h.text[0], "did you mean WAITIO_MASTER_PORT?"));
    unsetenv("WAITIO_MASTER_PROT");
    setenv("WAITIO_COMPLETELY_ELSEWHERE", "1", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(h.count, 1);
    assert_null(strstr(h.text[0], "did you mean"));
}

static void test_aliases(void **state)
{
    (void)state;
    struct wio_config cfg;
    struct heard h;
    setenv("COUPLER_JOB_ID", "old", 1);
    setenv("WAITIO_HYBRID_THRESHOLD", "1M", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(h.count, 0);
    assert_string_equal(cfg.job_id, "old");
    assert_int_equal(cfg.hybrid_threshold, 1 << 20);
    setenv("WAITIO_JOB_ID", "old", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(h.count, 0);
    setenv("WAITIO_JOB_ID", "new", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_string_equal(cfg.job_id, "new");
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text[0], "COUPLER_JOB_ID=old differs from WAITIO_JOB_ID=new"));
    setenv("WAITIO_HYBRID_THRESHOLD", "much", 1);
    assert_int_equal(load(&cfg, &h), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_HYBRID_THRESHOLD=much")); /* the user's name */
}

static void test_memory_budget(void **state)
{
    (void)state;
    struct wio_config cfg;
    struct heard h;
    setenv("WAITIO_MEMORY_MAX", "1G", 1); /* the defaults fit */
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(cfg.send_buffer_max, 64u << 20);
    assert_int_equal(cfg.unexpected_max, 256u << 20);
    setenv("WAITIO_MEMORY_MAX", "32M", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(cfg.send_buffer_max + cfg.unexpected_max, 32u << 20);
    assert_in_range(cfg.send_buffer_max, (32u << 20) / 6, (32u << 20) / 4);
    setenv("WAITIO_UNEXPECTED_MAX", "18446744073709551615", 1);
    assert_int_equal(load(&cfg, &h), 0);
    assert_int_equal(cfg.send_buffer_max, 1u << 20); /* not below the least of its range */
    assert_int_equal(cfg.unexpected_max, 31u << 20);
    setenv("WAITIO_MEMORY_MAX", "1M", 1);
    assert_int_equal(load(&cfg, &h), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_MEMORY_MAX=1048576"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_legal_and_read_back),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_seconds_ignore_the_locale),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_unknown_setting),
        cmocka_unit_test_setup(test_environment, clean_environment),
        cmocka_unit_test_setup(test_misspelt_names_are_named, clean_environment),
        cmocka_unit_test_setup(test_aliases, clean_environment),
        cmocka_unit_test_setup(test_memory_budget, clean_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
