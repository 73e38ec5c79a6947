/* SPDX-License-Identifier: BSD-3-Clause */
/* Real processes join over real sockets: the plain cases. */
#include "boot_people.h"

static void alone_needs_no_network(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    c.cfg.master_port = 1; /* nobody could serve there */
    wt_start(&c, 0, 1, 0, 1, 1);
    wt_wait_all(&c, 5);
    wt_expect_ok(&c, 0, 0, 1);
    wt_end(&c);
}

static void three_blocks_on_one_host(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    wt_block(&c, 2, 3, 1, 20);
    wt_block(&c, 1, 3, 2, 20);
    usleep(50000); /* the master comes last: the others look for it until then */
    wt_block(&c, 0, 3, 4, 20);
    wt_wait_all(&c, 25);
    static const uint32_t rank[] = {6, 4, 5, 0, 1, 2, 3};
    for (int i = 0; i < 7; i++) {
        wt_expect_ok(&c, i, rank[i], 7);
        assert_memory_equal(c.p[i].universe, c.p[0].universe, 16);
        assert_int_equal(c.p[i].port_of_last, 1200);
        assert_int_equal(c.p[i].nhosts, 1);
    }
    wt_end(&c);
}

/* Memory that is shared cannot be had (an old kernel, a sandbox, a limit on files). */
static int nothing_is_shared(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    return call == WIO_OS_MEM && fd >= 0 ? -ENOMEM : 0;
}

static void each_has_its_own_table_where_none_can_be_shared(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    wio_os_fault = nothing_is_shared; /* in the processes started from now on */
    wt_block(&c, 0, 2, 4, 20);
    wt_block(&c, 1, 2, 3, 20);
    wio_os_fault = NULL;
    wt_wait_all(&c, 25);
    for (int i = 0; i < 7; i++) {
        wt_expect_ok(&c, i, (uint32_t)i, 7);
        assert_int_equal(c.p[i].port_of_last, 1102);
        assert_int_equal(c.p[i].nhosts, 1);
    }
    wt_end(&c);
}

/* Who waits says so again and again, one process per block. */
static void who_waits_says_so_in_time(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    c.say_first_s = 0.3;
    c.say_every_s = 0.4;
    wt_block(&c, 0, 2, 3, 2);
    wt_wait_all(&c, 20);
    char *said = wt_said(&c);
    int lines = 0;
    for (const char *p = said; (p = strstr(p, "joining: waiting for")) != NULL; p++)
        lines++;
    assert_in_range(lines, 2, 5); /* at 0.3, 0.7, 1.1, 1.5, 1.9 s, of one process of three */
    assert_non_null(strstr(said, "missing: PB 1: nobody came"));
    free(said);
    wt_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_needs_no_network),
        cmocka_unit_test(three_blocks_on_one_host),
        WT_IN_FOLDER(three_blocks_on_one_host),
        cmocka_unit_test(each_has_its_own_table_where_none_can_be_shared),
        WT_IN_FOLDER(each_has_its_own_table_where_none_can_be_shared),
        cmocka_unit_test(who_waits_says_so_in_time),
        WT_IN_FOLDER(who_waits_says_so_in_time),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
