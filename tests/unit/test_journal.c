/* SPDX-License-Identifier: BSD-3-Clause */
/* Journals where files may only be so large (ulimit -f): more would end the process by a signal. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "p2p/journal.h"
#include "waitio_errors.h"

enum { LIMIT = 20000, SHORT = 6000 };

static char folder[] = "/tmp/wt-journal-XXXXXX";

static int append(struct wio_journal *j, struct wio_writer *w, uint64_t number, size_t bytes)
{
    static const uint8_t data[2 * LIMIT];
    const struct wio_sent m = {.number = number, .buf = data, .bytes = bytes};
    return wio_journal_append(j, w, 1, 1 << 20, &m);
}

static int count(void *arg, const struct wio_stored *m)
{
    uint64_t *n = arg;
    assert_int_equal(m->bytes, SHORT);
    ++*n;
    return 0;
}

static void rows_stay_below_the_limit_of_files(void **state)
{
    (void)state;
    struct rlimit before, less;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = LIMIT;
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    struct wio_journal j = {.dir = dir, .path = folder, .universe = 7};
    struct wio_writer w = {.fd = -1};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    for (uint64_t number = 1; number <= 8; number++)
        assert_int_equal(append(&j, &w, number, SHORT), 0);
    assert_int_equal(append(&j, &w, 9, LIMIT), WAITIO_ERR_LIMIT);
    assert_non_null(strstr(wio_last_error(), "ulimit -f"));
    assert_int_equal(append(&j, &w, 9, SHORT), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(j.n, 3);
    wio_os_close(w.fd);
    wio_journal_free(&j);

    struct wio_journal later = {.dir = dir, .path = folder, .universe = 8};
    uint64_t n = 0, last = 0;
    assert_int_equal(wio_journal_list(&later), 0);
    assert_int_equal(wio_journal_walk(&later, 0, 1, 0, count, &n, &last), 0);
    assert_true(n == 9 && last == 9);
    wio_journal_free(&later);
    wio_os_close(dir);
}

static int make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int drop(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_stay_below_the_limit_of_files)};
    return cmocka_run_group_tests(tests, make, drop);
}
