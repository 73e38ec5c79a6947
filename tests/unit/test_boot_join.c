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

/* What somebody has said holds this, with a number or a text in it. */
static void expect_said(const struct crowd *c, const char *form, ...)
{
    char want[512];
    va_list ap;
    va_start(ap, form);
    vsnprintf(want, sizeof want, form, ap);
    va_end(ap);
    char *said = wt_said(c);
    if (strstr(said, want) == NULL)
        fail_msg("'%s' is not in: %s", want, said);
    free(said);
}

/* Who waits says so again and again, one process per block, and how to start whom it waits for. */
static void who_waits_says_so_in_time(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    c.say_first_s = 0.3;
    c.say_every_s = 0.4;
    wt_block(&c, 0, 2, 3, 2);
    wt_wait_all(&c, 20);
    /* at 0.3, 0.7, 1.1, 1.5, 1.9 s, of one process of three */
    assert_in_range(wt_count(&c, "joining: waiting for"), 2, 5);
    expect_said(&c, "missing: PB 1: nobody came");
    if (wt_in_folder)
        expect_said(&c, "WAITIO_COMM_TYPE=file WAITIO_SCRATCH_DIR=%s WAITIO_NPB=2 WAITIO_PBID=1",
                    c.scratch);
    else
        expect_said(&c,
                    "WAITIO_MASTER_HOST=127.0.0.1 WAITIO_MASTER_PORT=%u WAITIO_NPB=2 WAITIO_PBID=1 "
                    "WAITIO_JOB_ID=%s",
                    (unsigned)c.cfg.master_port, c.job);
    wt_end(&c);
}

/* Block 1 alone: it says where it looks, and that the block that serves there is missing. */
static void who_finds_no_rendezvous_says_where_it_looks(void **state)
{
    (void)state;
    struct crowd c;
    wt_crowd(&c);
    c.say_first_s = 0.3;
    wt_block(&c, 1, 2, 1, 2);
    wt_wait_all(&c, 20);
    expect_said(&c, "cannot reach the rendezvous at 127.0.0.1 port %u",
                (unsigned)c.cfg.master_port);
    assert_int_equal(wt_count(&c, "joining: waiting for"), 1);
    expect_said(&c, "WAITIO_NPB=2 WAITIO_PBID=0 WAITIO_JOB_ID=%s", c.job);
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
        cmocka_unit_test(who_finds_no_rendezvous_says_where_it_looks),
    };
    if (getenv("WT_ONLY"))
        cmocka_set_test_filter(getenv("WT_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
