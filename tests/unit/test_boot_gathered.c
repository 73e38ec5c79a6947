/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_boot_gathered.c  Blocks and ranks of processes that were started together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "boot/gathered.h"
#include "os/os.h"

enum { MANY = 6 };
static struct wio_card cards[MANY];

/* Processes 0 to n - 1; contexts and blocks by letters, '-' for none. */
static void deal(uint32_t n, const char *contexts, const char *pbids, int npb)
{
    struct wio_config cfg;
    struct wio_boot_offer offer = {.ep = {.caps = 16}};
    wio_config_defaults(&cfg);
    for (uint32_t i = 0; i < n; i++) {
        wio_card_fill(&cards[i], &cfg, &offer);
        cards[i].context = contexts[i] == '-' ? -1 : contexts[i] - '0';
        cards[i].pbid = pbids[i] == '-' ? -1 : pbids[i] - '0';
        cards[i].npb = npb;
        cards[i].identity = 100 + i / 2;
        cards[i].ep.port = (uint16_t)i;
    }
}

static void expect(uint32_t n, const char *order, uint32_t npb)
{
    for (uint32_t me = 0; me < n; me++) {
        struct wio_table *t = NULL;
        if (wio_gathered_table(cards, n, me, &t) != 0)
            fail_msg("%s", wio_last_error());
        assert_int_equal(t->size, n);
        assert_int_equal(t->npb, npb);
        assert_int_equal(t->number[t->me], me);
        assert_memory_equal(t->universe, cards[0].universe, sizeof t->universe);
        for (uint32_t r = 0; r < n; r++) {
            assert_int_equal(t->number[r], (uint32_t)(order[r] - '0'));
            assert_int_equal(t->ep[r].port, t->number[r]);
            assert_int_equal(t->host[t->ep[r].host].identity, 100 + t->number[r] / 2);
        }
        assert_int_equal(t->nhosts, (n + 1) / 2);
        wio_table_free(t);
    }
}

static void refuse(uint32_t n, int code, const char *part)
{
    for (uint32_t me = 0; me < n; me++) { /* all say the same */
        struct wio_table *t = NULL;
        assert_int_equal(wio_gathered_table(cards, n, me, &t), code);
        assert_null(t);
        if (strstr(wio_last_error(), part) == NULL)
            fail_msg("\"%s\" is not in: %s", part, wio_last_error());
    }
}

static void test_blocks(void **state)
{
    (void)state;
    deal(4, "0011", "----", -1);
    expect(4, "0123", 2);
    deal(4, "0011", "----", 2);
    expect(4, "0123", 2);
    deal(4, "0011", "1100", -1); /* the contexts in another order */
    expect(4, "2301", 2);
    deal(6, "000000", "010101", 2); /* blocks inside one context */
    expect(6, "024135", 2);
    deal(1, "-", "-", -1);
    expect(1, "0", 1);
    deal(3, "---", "---", 1);
    expect(3, "012", 1);
}

static void test_disagreement(void **state)
{
    (void)state;
    deal(4, "0011", "00--", -1);
    refuse(4, WAITIO_ERR_JOIN, "not for process 2 of the job (context 1");
    deal(4, "0011", "----", 3);
    refuse(4, WAITIO_ERR_JOIN, "WAITIO_NPB is 3, but the number of contexts");
    deal(4, "0011", "0011", 3);
    refuse(4, WAITIO_ERR_JOIN, "WAITIO_NPB is 3, but the number of blocks that WAITIO_PBID names");
    deal(4, "0011", "0022", -1);
    refuse(4, WAITIO_ERR_JOIN, "PB 1 has no process");
    deal(4, "0011", "0022", 2);
    refuse(4, WAITIO_ERR_JOIN, "is in PB 2, but there are only 2 (WAITIO_NPB)");
    deal(4, "0011", "0009", -1);
    refuse(4, WAITIO_ERR_JOIN, "is in PB 9");
    deal(4, "0011", "----", 2);
    cards[3].npb = 1;
    refuse(4, WAITIO_ERR_JOIN, "WAITIO_NPB is 2 for process 0");
}

static void test_a_member_cannot(void **state)
{
    (void)state;
    deal(4, "0011", "----", -1);
    cards[2].code = WAITIO_ERR_SYSTEM;
    wio_text(cards[2].text, sizeof cards[2].text, "no luck");
    refuse(4, WAITIO_ERR_SYSTEM, "process 2 of the job (context 1");
    deal(4, "0011", "----", -1);
    wio_text(cards[1].version, sizeof cards[1].version, "9.9");
    refuse(4, WAITIO_ERR_VERSION, "another libwaitio (9.9)");
    deal(4, "0011", "----", -1);
    cards[1].magic = 0;
    refuse(4, WAITIO_ERR_VERSION, "process 1");
}

/* A universe of four that has formed; @p me is this process. */
static struct wio_table *formed(uint32_t me)
{
    struct wio_table *t = NULL;
    deal(4, "0011", "----", -1);
    for (uint32_t i = 0; i < 4; i++)
        cards[i].ep.token = 1000 - i;
    assert_int_equal(wio_gathered_table(cards, 4, me, &t), 0);
    return t;
}

/* The cards of a job: members by digits, '-' for a process of another universe. */
static uint32_t job(const char *members)
{
    struct wio_card all[MANY];
    uint32_t n = (uint32_t)strlen(members);
    memcpy(all, cards, sizeof all);
    for (uint32_t i = 0; i < n; i++) {
        cards[i] = all[members[i] == '-' ? 0 : members[i] - '0'];
        if (members[i] == '-')
            cards[i].ep.token = 5000 + i;
    }
    return n;
}

static void test_members_of_a_job(void **state)
{
    static const uint32_t number[] = {3, WIO_NO_NUMBER, 0, WIO_NO_NUMBER};
    enum { BIT = 16 };
    (void)state;
    struct wio_table *t = formed(2);
    uint32_t *got = NULL, n = job("2--0");
    assert_int_equal(wio_gathered_numbers(cards, n, t, BIT, &got), 0);
    assert_memory_equal(got, number, sizeof number);
    wio_os_free(got);
    /* Whose bit is not set has not got all cards: it listens to nobody. */
    assert_int_equal(wio_gathered_numbers(cards, n, t, BIT | 32, &got), WAITIO_ERR_JOIN);
    wio_table_free(t);
    t = formed(1);
    n = job("2--0");
    assert_int_equal(wio_gathered_numbers(cards, n, t, BIT, &got), WAITIO_ERR_JOIN);
    assert_non_null(strstr(wio_last_error(), "this process is missing"));
    cards[3].ep.token = cards[1].ep.token;
    assert_int_equal(wio_gathered_numbers(cards, n, t, BIT, &got), WAITIO_ERR_JOIN);
    assert_non_null(strstr(wio_last_error(), "the same random number"));
    wio_table_free(t);
}

static void test_members_that_differ(void **state)
{
    (void)state;
    struct wio_table *t = formed(0);
    uint32_t *got = NULL, n = job("0123");
    cards[2].inside = WIO_CFG_INSIDE_AUTO;
    assert_int_equal(wio_gathered_numbers(cards, n, t, 16, &got), WAITIO_ERR_JOIN);
    assert_non_null(strstr(wio_last_error(), "different values of WAITIO_INSIDE"));
    refuse(4, WAITIO_ERR_JOIN, "different values of WAITIO_INSIDE");
    wio_table_free(t);
}

/* A host is crowded when it has more processes of the universe than processors. */
static void test_processors_of_a_host(void **state)
{
    static const int cpus[] = {0, 1, 2, 3, 4, 5}, rounded[] = {0, 1, 2, 4, 4, 8};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(cpus); i++) {
        struct wio_table *t = NULL;
        uint32_t here = 0;
        deal(4, "0011", "----", -1);
        cards[0].ep.caps = wio_cpu_bits(cpus[i]);
        assert_int_equal(wio_gathered_table(cards, 4, 0, &t), 0);
        for (uint32_t k = 0; k < t->size; k++)
            here += t->host[t->ep[k].host].identity == t->host[t->ep[0].host].identity;
        assert_int_equal(wio_table_processors(t, 0), rounded[i]);
        assert_int_equal(wio_table_crowded(t, 0), cpus[i] > 0 && here > (uint32_t)rounded[i]);
        wio_table_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_a_member_cannot),
        cmocka_unit_test(test_members_of_a_job),
        cmocka_unit_test(test_members_that_differ),
        cmocka_unit_test(test_processors_of_a_host),
    };
    return cmocka_run_group_tests_name("gathered", tests, NULL, NULL);
}
