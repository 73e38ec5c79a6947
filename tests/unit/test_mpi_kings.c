/* SPDX-License-Identifier: BSD-3-Clause */
/* Who carries long messages of hybrid communicators across the border. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/kings.h"
#include "os/os.h"

enum { MOST = 64 };

struct shape {
    int size, npb;
    int pb[MOST], first[MOST];
    uint64_t host[MOST];
    bool named[MOST];
    struct wio_topology topo;
};

/* @param spec a letter per member: the PB; a digit behind it: its host */
static struct shape *shape_of(const char *spec)
{
    static struct shape s;
    memset(&s, 0, sizeof s);
    for (int p = 0; p < MOST; p++)
        s.first[p] = -1;
    for (; *spec != '\0'; spec += 2, s.size++) {
        int p = s.pb[s.size] = spec[0] - 'a';
        s.host[s.size] = (uint64_t)spec[1] * 1000003;
        s.first[p] = s.first[p] < 0 ? s.size : s.first[p];
        s.npb = p >= s.npb ? p + 1 : s.npb;
    }
    s.topo = (struct wio_topology){.npb = s.npb, .pb = s.pb, .first = s.first};
    return &s;
}

static void expect(const struct shape *s, bool named, int want, int n, const int *rank)
{
    struct wio_kings *k = wio_kings_new(&s->topo, s->size, s->host, named ? s->named : NULL, want);
    assert_non_null(k);
    assert_int_equal(k->n, n);
    for (int i = 0; i < s->npb * n; i++)
        assert_int_equal(k->rank[i], rank[i]);
    wio_os_free(k);
}

static void spread_over_hosts_then_members(void **state)
{
    const struct shape *s = shape_of("a1a1a1a1a2a2a2a2b1b1b1b1");
    (void)state;
    expect(s, false, 1, 1, (int[]){0, 8});
    expect(s, false, 2, 2, (int[]){0, 4, 8, 10});
    expect(s, false, 4, 4, (int[]){0, 4, 2, 6, 8, 9, 10, 11});
    /* The smaller PB has four, so nobody has more. */
    expect(s, false, 8, 4, (int[]){0, 4, 2, 6, 8, 9, 10, 11});
    /* A host with one member, and members of PBs in any order. */
    s = shape_of("a1b3a2b3a2b3a2b3");
    expect(s, false, 3, 3, (int[]){0, 2, 4, 1, 3, 5});
}

static void a_block_of_one_stands_for_all(void **state)
{
    (void)state;
    expect(shape_of("a1a1a1b2"), false, 3, 3, (int[]){0, 1, 2, 3, 3, 3});
    expect(shape_of("a1b2c3"), false, 4, 1, (int[]){0, 1, 2}); /* nobody has several */
}

static void more_hosts_than_kings(void **state)
{
    char spec[2 * 40 + 1] = "";
    (void)state;
    for (int i = 0; i < 40; i++) {
        spec[2 * i] = i < 20 ? 'a' : 'b';
        spec[2 * i + 1] = (char)('A' + i);
    }
    expect(shape_of(spec), false, 8, 8,
           (int[]){0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 24, 25, 26, 27});
}

static void named_members_win(void **state)
{
    struct shape *s = shape_of("a1a1a1a1b1b1b1b1");
    struct wio_kings *k;
    (void)state;
    s->named[1] = s->named[3] = true;
    expect(s, true, 2, 2, (int[]){1, 3, 4, 6});
    expect(s, true, 4, 2, (int[]){1, 3, 4, 6}); /* two are named */
    expect(s, true, 1, 1, (int[]){1, 4});
    /* With one king a root leads its block, unless somebody was named there. */
    k = wio_kings_new(&s->topo, s->size, s->host, s->named, 1);
    assert_non_null(k);
    s->topo.kings = k;
    assert_int_equal(wio_king(&s->topo, 0, 0, 2), 1);
    assert_int_equal(wio_king(&s->topo, 1, 0, 2), 4);
    assert_int_equal(wio_king(&s->topo, 1, 0, 6), 6);
    assert_int_equal(wio_king(&s->topo, 1, 0, -1), 4);
    wio_os_free(k);
    s->topo.kings = NULL;
    assert_int_equal(wio_king(&s->topo, 0, 0, 2), 2);
    assert_int_equal(wio_king(&s->topo, 1, 0, 2), 4);
}

/* Every number of kings: as many different members of each PB that has several. */
static void kings_are_different_members(void **state)
{
    static const char *const specs[] = {"a1a2a3a1a2a3b1b1b1", "a1b1b2c1c1c2c2c3", "a1a1b2b2"};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (int want = 1; want <= WIO_KINGS_MOST; want++) {
            struct shape *s = shape_of(specs[i]);
            struct wio_kings *k = wio_kings_new(&s->topo, s->size, s->host, NULL, want);
            assert_non_null(k);
            for (int p = 0; p < s->npb; p++) {
                int members = 0, used[MOST] = {0};
                for (int r = 0; r < s->size; r++)
                    members += s->pb[r] == p;
                for (int j = 0; j < k->n; j++) {
                    int r = k->rank[p * k->n + j];
                    assert_in_range(r, 0, s->size - 1);
                    assert_int_equal(s->pb[r], p);
                    assert_true(members == 1 || used[r]++ == 0);
                }
            }
            wio_os_free(k);
        }
}

static int named(const char *rules, uint32_t rank, uint32_t local)
{
    int out = -1, rc = wio_kings_named(rules, rank, local, &out);
    return rc != 0 ? rc : out;
}

static void names_by_rank_host_and_process(void **state)
{
    static const char *const wrong[] = {"a",   "1,",    ",1",      "1-", "4-2",
                                        "1;2", "host:", "selfish", " 1"};
    (void)state;
    assert_int_equal(named("", 0, 0), 0);
    assert_int_equal(named("self", 7, 3), 1);
    assert_int_equal(named("0,4,8-11", 4, 0), 1);
    assert_int_equal(named("0,4,8-11", 10, 2), 1);
    assert_int_equal(named("0,4,8-11", 12, 0), 0);
    assert_int_equal(named("0,4,8-11", 5, 4), 0);
    assert_int_equal(named("host:0,2", 9, 2), 1);
    assert_int_equal(named("host:0,2", 2, 1), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(named(wrong[i], 1, 1), WAITIO_ERR_ARG);
        assert_non_null(strstr(wio_last_detail(), wrong[i]));
        assert_non_null(strstr(wio_last_detail(), "host:0,4"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_over_hosts_then_members),
        cmocka_unit_test(a_block_of_one_stands_for_all),
        cmocka_unit_test(more_hosts_than_kings),
        cmocka_unit_test(named_members_win),
        cmocka_unit_test(kings_are_different_members),
        cmocka_unit_test(names_by_rank_host_and_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
