/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop that GCC 12 gets wrong (docs/design/compilers.md), reduced to what it needs. A list's
 * head is read twice: through a pointer, in pop(), and by WALK_BEGIN. If the latter names the
 * member, GCC 12 takes the read out of the first loop of collect(), which then never ends.
 */
#ifndef WALK_H
#define WALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/base.h"

struct walk_item {
    int timer;
    struct wio_list group;
};

struct walk_owner {
    int a, b;
    struct wio_list others, items;
    int rounds;
};

/* Not to be seen by the compiler: the head may have changed. */
static __attribute__((noinline)) int walk_again(struct walk_owner *o)
{
    __asm__ volatile("" ::: "memory");
    return o->rounds-- > 0;
}

static int collect(struct walk_owner *o, int now)
{
    int n = 0;
    struct wio_list todo, *it;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&o->items)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL) {
        wio_list_push(&o->items, it);
        n += WIO_CONTAINER(it, struct walk_item, group)->timer <= now;
    }
    return n;
}

static int count(struct walk_owner *o, int now)
{
    int n = 0;
    for (struct wio_list *it = WALK_BEGIN(o->items); it != &o->items; it = it->next)
        n += WIO_CONTAINER(it, struct walk_item, group)->timer == now;
    return n;
}

__attribute__((noinline)) int walk(struct walk_owner *o, int now);
int walk(struct walk_owner *o, int now)
{
    int n = collect(o, now);
    while (walk_again(o))
        n += count(o, now);
    return n;
}

static void test_walk_ends(void **state)
{
    struct walk_item item[3];
    struct walk_owner o = {.rounds = 2};

    (void)state;
    alarm(20); /* a loop without end has no other */
    wio_list_init(&o.items);
    for (int i = 0; i < 3; i++) {
        item[i].timer = i;
        wio_list_push(&o.items, &item[i].group);
    }
    assert_int_equal(walk(&o, 1), 2 + 2);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
