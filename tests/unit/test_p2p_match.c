/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching against a model that a reader can check by eye: two plain arrays, searched from the
 * front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "p2p/match.h"

enum { LIVE = 600, STEPS = 300000, SPACES = 3, SOURCES = 5, TAGS = 4 };

struct post {
    struct wio_post node;
    int64_t src, tag;
    uint64_t space;
};
struct held {
    struct wio_held node;
    int64_t src, tag;
    uint64_t space;
};

/* The model: entries in the order they came. */
struct model {
    struct post *post[LIVE];
    struct held *held[LIVE];
    size_t nposts, nheld;
};

static uint64_t state = 20250101;

static uint64_t pick(uint64_t n)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % n;
}

static uint64_t space_at(uint64_t i)
{
    static const uint64_t spaces[SPACES] = {128, 256,
                                            0xdeadbeefcafe0000ULL}; /* same bin on purpose */
    return spaces[i];
}

static int pattern_fits(int64_t src, int64_t tag, int64_t s, int64_t t)
{
    return (src == WIO_ANY || src == s) && (tag == WIO_ANY || tag == t);
}

static size_t find_held(const struct model *m, uint64_t space, int64_t src, int64_t tag)
{
    for (size_t i = 0; i < m->nheld; i++)
        if (m->held[i]->space == space && pattern_fits(src, tag, m->held[i]->src, m->held[i]->tag))
            return i;
    return LIVE;
}

static size_t find_post(const struct model *m, uint64_t space, int64_t src, int64_t tag)
{
    for (size_t i = 0; i < m->nposts; i++)
        if (m->post[i]->space == space && pattern_fits(m->post[i]->src, m->post[i]->tag, src, tag))
            return i;
    return LIVE;
}

static void take(void **array, size_t *n, size_t i)
{
    (*n)--;
    memmove(&array[i], &array[i + 1], (*n - i) * sizeof *array);
}

static void step_post(struct wio_match *m, struct model *mod)
{
    struct post *p = calloc(1, sizeof *p);
    p->space = p->node.space = space_at(pick(SPACES));
    p->src = p->node.src = pick(3) ? (int64_t)pick(SOURCES) : WIO_ANY;
    p->tag = p->node.tag = pick(3) ? (int64_t)pick(TAGS) : WIO_ANY;
    size_t want = find_held(mod, p->space, p->src, p->tag);
    struct wio_held *got = wio_match_post(m, &p->node);
    if (want == LIVE) {
        assert_null(got);
        mod->post[mod->nposts++] = p;
        return;
    }
    assert_ptr_equal(got, &mod->held[want]->node);
    free(mod->held[want]);
    take((void **)mod->held, &mod->nheld, want);
    free(p);
}

static void step_arrive(struct wio_match *m, struct model *mod)
{
    uint64_t space = space_at(pick(SPACES));
    int64_t src = (int64_t)pick(SOURCES), tag = (int64_t)pick(TAGS);
    size_t want = find_post(mod, space, src, tag);
    struct wio_post *got = wio_match_arrive(m, space, src, tag);
    if (want != LIVE) {
        assert_ptr_equal(got, &mod->post[want]->node);
        free(mod->post[want]);
        take((void **)mod->post, &mod->nposts, want);
        return;
    }
    assert_null(got);
    struct held *h = calloc(1, sizeof *h);
    h->space = space;
    h->src = src;
    h->tag = tag;
    wio_match_hold(m, &h->node, space, src, tag);
    mod->held[mod->nheld++] = h;
}

static void step_withdraw(struct wio_match *m, struct model *mod)
{
    if (pick(2) && mod->nposts > 0) {
        size_t i = pick(mod->nposts);
        wio_match_unpost(m, &mod->post[i]->node);
        free(mod->post[i]);
        take((void **)mod->post, &mod->nposts, i);
    } else if (mod->nheld > 0) {
        size_t i = pick(mod->nheld);
        wio_match_unhold(m, &mod->held[i]->node);
        free(mod->held[i]);
        take((void **)mod->held, &mod->nheld, i);
    }
}

static void step_probe(const struct wio_match *m, const struct model *mod)
{
    uint64_t space = space_at(pick(SPACES));
    int64_t src = pick(2) ? (int64_t)pick(SOURCES) : WIO_ANY;
    int64_t tag = pick(2) ? (int64_t)pick(TAGS) : WIO_ANY;
    size_t want = find_held(mod, space, src, tag);
    struct wio_held *got = wio_match_probe(m, space, src, tag);
    if (want == LIVE)
        assert_null(got);
    else
        assert_ptr_equal(got, &mod->held[want]->node);
}

static void clear(struct wio_match *m, struct model *mod)
{
    while (mod->nposts > 0) {
        wio_match_unpost(m, &mod->post[--mod->nposts]->node);
        free(mod->post[mod->nposts]);
    }
    while (mod->nheld > 0) {
        wio_match_unhold(m, &mod->held[--mod->nheld]->node);
        free(mod->held[mod->nheld]);
    }
}

static void random_steps_agree_with_the_model(void **unused)
{
    (void)unused;
    struct wio_match m;
    static struct model mod;
    size_t most = 0;
    assert_int_equal(wio_match_init(&m), 0);
    for (int i = 0; i < STEPS; i++) {
        /* Tides: first receives run ahead, then messages, so that both tables fill and grow. */
        uint64_t tide = (uint64_t)(i / 5000) % 3, kind = pick(100);
        if (mod.nposts == LIVE || mod.nheld == LIVE)
            clear(&m, &mod);
        if (kind < (tide == 0 ? 60 : tide == 1 ? 25 : 42))
            step_post(&m, &mod);
        else if (kind < 85)
            step_arrive(&m, &mod);
        else if (kind < 90)
            step_withdraw(&m, &mod);
        else
            step_probe(&m, &mod);
        assert_int_equal(m.nposted, mod.nposts);
        assert_int_equal(m.nheld, mod.nheld);
        if (mod.nposts + mod.nheld > most)
            most = mod.nposts + mod.nheld;
    }
    assert_true(most > 300); /* the tables did grow on the way */
    clear(&m, &mod);
    wio_match_free(&m);
}

static void thousands_of_receives_keep_their_order(void **unused)
{
    (void)unused;
    enum { N = 20000 };
    struct wio_match m;
    struct wio_post *p = calloc(N, sizeof *p);
    assert_int_equal(wio_match_init(&m), 0);
    for (int i = 0; i < N; i++) {
        p[i].space = 5;
        p[i].src = i % 2 ? WIO_ANY : 1;
        p[i].tag = i % 3 ? i % 100 : WIO_ANY;
        assert_null(wio_match_post(&m, &p[i]));
    }
    for (int i = 0; i < N; i++) { /* a message that fits them all, in turn */
        int64_t tag = p[i].tag == WIO_ANY ? 1000000 : p[i].tag;
        assert_ptr_equal(wio_match_arrive(&m, 5, 1, tag), &p[i]);
    }
    assert_int_equal(m.nposted, 0);
    wio_match_free(&m);
    free(p);
}

struct visited {
    struct wio_match *m;
    size_t posts, held;
};

static void drop_post(void *arg, struct wio_post *p)
{
    struct visited *v = arg;
    v->posts++;
    if (p->tag % 2 == 0)
        wio_match_unpost(v->m, p);
}

static void drop_held(void *arg, struct wio_held *h)
{
    struct visited *v = arg;
    v->held++;
    wio_match_unhold(v->m, h);
}

static void visits_everything_once_and_may_withdraw(void **unused)
{
    (void)unused;
    enum { N = 1000 };
    struct wio_match m;
    struct wio_post *p = calloc(N, sizeof *p);
    struct wio_held *h = calloc(N, sizeof *h);
    assert_int_equal(wio_match_init(&m), 0);
    for (int i = 0; i < N; i++) {
        p[i].space = (uint64_t)i % 7;
        p[i].src = i % 5 ? 3 : WIO_ANY;
        p[i].tag = i;
        assert_null(wio_match_post(&m, &p[i]));
        wio_match_hold(&m, &h[i], 100 + (uint64_t)i % 7, 3, i);
    }
    struct visited v = {.m = &m};
    wio_match_each_post(&m, drop_post, &v);
    wio_match_each_held(&m, drop_held, &v);
    assert_int_equal(v.posts, N);
    assert_int_equal(v.held, N);
    assert_int_equal(m.nposted, N / 2);
    assert_int_equal(m.nheld, 0);
    assert_null(wio_match_arrive(&m, 2, 3, 2));
    assert_ptr_equal(wio_match_arrive(&m, 3 % 7, 3, 3), &p[3]);
    wio_match_free(&m);
    free(p);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_agree_with_the_model),
        cmocka_unit_test(thousands_of_receives_keep_their_order),
        cmocka_unit_test(visits_everything_once_and_may_withdraw),
    };
    return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
