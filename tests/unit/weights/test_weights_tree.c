/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree finds what a look at every item finds. */
#include "help.h"

#include "coupler/weights/tree.h"

enum { MOST = 3000 };

struct items {
    struct wio_vec at[MOST];
    int64_t index[MOST];
    double size;
    size_t left_out; /* every so manieth is not in the tree */
};

static struct items items;

static bool box_of(const void *arg, size_t i, struct wio_box *box)
{
    const struct items *all = arg;
    const double at[3] = {all->at[i].x, all->at[i].y, all->at[i].z};
    if (all->left_out != 0 && i % all->left_out == 0)
        return false;
    for (int d = 0; d < 3; d++) {
        box->lo[d] = at[d] - all->size;
        box->hi[d] = at[d] + all->size;
    }
    return true;
}

static struct wio_vec somewhere(bool plane)
{
    if (plane)
        return (struct wio_vec){1e6 * chance(), 1e6 * chance(), 0};
    double z = 2 * chance() - 1, a = 2 * TEST_PI * chance(), r = sqrt(1 - z * z);
    return (struct wio_vec){r * cos(a), r * sin(a), z};
}

static void fill(bool plane, size_t n, double size)
{
    items.size = size;
    for (size_t i = 0; i < n; i++) {
        /* Some points are there twice: then the index decides. */
        items.at[i] = i > 10 && chance() < 0.1 ? items.at[i - 7] : somewhere(plane);
        items.index[i] = (int64_t)(n - i);
    }
}

static bool meets(const struct wio_box *a, const struct wio_box *b)
{
    for (int d = 0; d < 3; d++)
        if (a->lo[d] > b->hi[d] || a->hi[d] < b->lo[d])
            return false;
    return true;
}

static void check_meet(const struct wio_tree *tree, size_t n, bool plane)
{
    struct wio_found found = {.n = 0};
    for (int q = 0; q < 50; q++) {
        struct wio_vec p = somewhere(plane);
        double r = (plane ? 1e5 : 0.1) * chance();
        struct wio_box box = {{p.x - r, p.y - r, p.z - r}, {p.x + r, p.y + r, p.z + r}}, other;
        bool seen[MOST] = {false};
        assert_int_equal(wio_tree_meet(tree, &box, &found), 0);
        for (size_t i = 0; i < found.n; i++) {
            assert_false(seen[found.item[i]]); /* once */
            seen[found.item[i]] = true;
        }
        for (size_t i = 0; i < n; i++) {
            bool in = box_of(&items, i, &other);
            if (in && meets(&box, &other))
                assert_true(seen[i]);
            if (!in)
                assert_false(seen[i]);
        }
    }
    wio_found_free(&found);
}

static void check_nearest(const struct wio_tree *tree, size_t n, bool plane, double within)
{
    struct wio_points points = {.at = items.at, .index = items.index};
    for (int q = 0; q < 50; q++) {
        struct wio_vec p = q % 2 && n > 0 ? items.at[(size_t)q % n] : somewhere(plane);
        struct wio_near near[5];
        int got = wio_tree_nearest(tree, &points, p, within * within, 5, near);
        bool taken[MOST] = {false};
        for (int k = 0; k < 6; k++) { /* the k-th nearest by looking at all */
            size_t best = n;
            for (size_t i = 0; i < n; i++) {
                struct wio_box box;
                double d2 = wio_vec_distance2(p, items.at[i]);
                if (taken[i] || !(d2 <= within * within) || !box_of(&items, i, &box))
                    continue;
                double b2 = best < n ? wio_vec_distance2(p, items.at[best]) : INFINITY;
                if (d2 < b2 || (d2 == b2 && items.index[i] < items.index[best]))
                    best = i;
            }
            if (k == 5 || best == n) {
                assert_int_equal(got, k);
                break;
            }
            taken[best] = true;
            assert_int_equal(near[k].item, best);
        }
    }
}

/** Places near each other ask a few leaves, and find what the tree finds. @return how many asked */
static int check_leaves(const struct wio_tree *tree, bool plane)
{
    struct wio_points points = {.at = items.at, .index = items.index};
    struct wio_found found = {.n = 0}, other = {.n = 0};
    double far = plane ? 1e5 : 0.1, within2 = far * far;
    int asked = 0;
    for (int q = 0; q < 200; q++) {
        static struct wio_leaves leaves;
        struct wio_vec middle = somewhere(plane);
        struct wio_box box = wio_box_empty();
        wio_box_add(&box, middle);
        wio_box_widen(&box, far * 1.1);
        if (!wio_leaves_gather(tree, &box, &leaves))
            continue;
        struct wio_vec at = wio_vec_madd(middle, 0.05 * far * chance(), (struct wio_vec){1, 0, 0});
        struct wio_box point = {{at.x, at.y, at.z}, {at.x, at.y, at.z}};
        struct wio_near near[2][5];
        int n = wio_leaves_nearest(tree, &leaves, &points, at, within2, 5, near[0]);
        assert_int_equal(n, wio_tree_nearest(tree, &points, at, within2, 5, near[1]));
        for (int k = 0; k < n; k++)
            assert_int_equal(near[0][k].item, near[1][k].item);
        assert_int_equal(wio_leaves_meet(tree, &leaves, at, &found), 0);
        assert_int_equal(wio_tree_meet(tree, &point, &other), 0);
        assert_int_equal(found.n, other.n);
        for (size_t i = 0; i < found.n; i++) {
            size_t k = 0;
            while (k < other.n && other.item[k] != found.item[i])
                k++;
            assert_true(k < other.n);
        }
        asked++;
    }
    wio_found_free(&found);
    wio_found_free(&other);
    return asked;
}

static void few_leaves_find_the_same(void **state)
{
    (void)state;
    for (int plane = 0; plane < 2; plane++)
        for (items.left_out = 0; items.left_out < 4; items.left_out += 3) {
            struct wio_tree *tree;
            struct wio_box all = {{-2e6, -2e6, -2e6}, {2e6, 2e6, 2e6}};
            static struct wio_leaves leaves;
            fill(plane, MOST, plane ? 3e4 : 0.02);
            assert_int_equal(wio_tree_make(MOST, box_of, &items, plane, 2, &tree), 0);
            assert_true(check_leaves(tree, plane) > 50);
            assert_false(wio_leaves_gather(tree, &all, &leaves)); /* more than a few */
            wio_tree_free(tree);
        }
}

static void finds_what_is_there(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 65, 3000};
    for (int plane = 0; plane < 2; plane++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            for (items.left_out = 0; items.left_out < 4; items.left_out += 3) {
                struct wio_tree *tree;
                size_t n = sizes[k], kept;
                fill(plane, n, plane ? 3e4 : 0.02);
                assert_int_equal(wio_tree_make(n, box_of, &items, plane, 3, &tree), 0);
                wio_tree_order(tree, &kept);
                assert_int_equal(kept, items.left_out == 0 ? n : n - (n + 2) / 3);
                check_meet(tree, n, plane);
                check_nearest(tree, n, plane, INFINITY);
                check_nearest(tree, n, plane, plane ? 5e4 : 0.05);
                wio_tree_free(tree);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_is_there),
                                       cmocka_unit_test(few_leaves_find_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
