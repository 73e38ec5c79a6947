/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shm_fetch.c  Reading a peer's memory: who may, who may not, and what is not the peer's
 * although it answers to its number.
 */
#include "harness.h"
#include "transport/shm/shm.h"

enum { SIZE = 300000 };

static int refusal;

static int refuse_peeks(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_PEEK ? refusal : 0;
}

/* Two linked nodes; the second one's end of the link. */
static struct wio_ep *linked(struct world *w)
{
    int64_t end = wt_until_ns(10 * SECOND);
    world_open(w);
    struct wio_ep *ep = node_connect(&w->node[1], 0);
    while (w->node[0].peer[1].ready == 0 || w->node[1].peer[0].ready == 0) {
        world_drive(w);
        assert_true(wio_os_now_ns() < end);
    }
    return ep;
}

static uint8_t *striped(void)
{
    uint8_t *data = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 31 + i / 256);
    return data;
}

static void assert_fetches(struct wio_ep *ep, bool works)
{
    uint8_t *data = striped(), *copy = calloc(1, SIZE);
    int want = works ? 0 : WAITIO_ERR_UNSUPPORTED;
    assert_int_equal(ep->iface->tr->fetch(ep, NULL, NULL, 0), want);
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)data}, copy, SIZE),
        want);
    assert_int_equal(memcmp(data, copy, SIZE) == 0, works);
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)data + 7}, copy, 1),
        want);
    free(data);
    free(copy);
}

static void what_lies_there_is_copied(void **state)
{
    (void)state;
    uint8_t byte;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = linked(w);
    assert_fetches(ep, true);
    assert_int_equal(ep->iface->p.counters->fetched_bytes, SIZE + 1);
    assert_int_equal(ep->iface->tr->fetch(ep, &(struct wio_lent){.at = 16}, &byte, 1),
                     WAITIO_ERR_SYSTEM); /* nothing there */
    assert_fetches(ep, true);
    world_free(w);
}

static void who_does_not_want_it_has_it_not(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    w->node[1].cfg.shm_fetch = WIO_CFG_SHM_FETCH_OFF;
    assert_fetches(linked(w), false);
    world_free(w);
}

static void the_system_may_forbid_it(void **state)
{
    (void)state;
    static const int errors[] = {-EPERM, -ENOSYS, -EFAULT};
    for (size_t i = 0; i < WIO_ARRAY_LEN(errors); i++) {
        struct world *w = world_new(&wio_transport_shm, 2);
        refusal = errors[i];
        wio_os_fault = refuse_peeks;
        struct wio_ep *ep = linked(w);
        wio_os_fault = NULL;
        assert_fetches(ep, false); /* it was tried when the link was made */
        world_free(w);
    }
    struct world *w = world_new(&wio_transport_shm, 2); /* later */
    struct wio_ep *ep = linked(w);
    assert_fetches(ep, true);
    refusal = -EPERM;
    wio_os_fault = refuse_peeks;
    assert_int_equal(ep->iface->tr->fetch(ep, NULL, NULL, 0), 0);
    uint8_t byte;
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)&refusal}, &byte, 1),
        WAITIO_ERR_UNSUPPORTED);
    wio_os_fault = NULL;
    assert_fetches(ep, false);
    world_free(w);
}

/* A process that has the number of one that has ended; an emulated one whose addresses are others.
 */
static void anothers_memory_is_not_taken_for_the_peers(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = linked(w);
    assert_fetches(ep, true);
    wio_shm_link_find(shm_iface_of(w->node[0].iface), 1)->lends++;
    uint8_t byte;
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)&refusal}, &byte, 1),
        WAITIO_ERR_UNSUPPORTED);
    assert_fetches(ep, false);
    world_free(w);
}

/* The sender has ended the link, and its program has its memory back; we do not know yet. */
static void what_is_not_lent_any_more_is_not_taken(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = linked(w);
    assert_fetches(ep, true);
    struct wio_ep *lender = &wio_shm_link_find(shm_iface_of(w->node[0].iface), 1)->ep;
    lender->iface->tr->close(lender, WIO_BYE_ERROR);
    assert_int_equal(ep->state, WIO_EP_READY);
    uint8_t byte;
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)&refusal}, &byte, 1),
        WAITIO_ERR_UNSUPPORTED);
    world_free(w);
}

/* The message's own word: its send has completed, and its buffer has changed. */
static void what_is_taken_back_is_not_taken(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = linked(w);
    static uint8_t data[SIZE], copy[SIZE];
    uint64_t word = 7;
    struct wio_lent lent = {
        .at = (uint64_t)(uintptr_t)data, .word = (uint64_t)(uintptr_t)&word, .value = 7};
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), 0);
    word = 0;
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), WAITIO_ERR_SYSTEM);
    lent.word = 16; /* nothing there */
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), WAITIO_ERR_SYSTEM);
    assert_fetches(ep, true); /* others can be fetched */
    world_free(w);
}

/* Nor where the next link lies in the place of that one. */
static void anothers_loan_proves_nothing(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 3);
    struct wio_ep *ep = linked(w);
    struct shm_iface *lender = shm_iface_of(w->node[0].iface);
    int64_t end = wt_until_ns(10 * SECOND);
    node_connect(&w->node[2], 0);
    while (w->node[0].peer[2].ready == 0) {
        world_drive(w);
        assert_true(wio_os_now_ns() < end);
    }
    assert_fetches(ep, true);
    wio_shm_link_find(lender, 1)->lends = wio_shm_link_find(lender, 2)->lends;
    uint8_t byte;
    assert_int_equal(
        ep->iface->tr->fetch(ep, &(struct wio_lent){.at = (uint64_t)(uintptr_t)&refusal}, &byte, 1),
        WAITIO_ERR_UNSUPPORTED);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_there_is_copied),
        cmocka_unit_test(who_does_not_want_it_has_it_not),
        cmocka_unit_test(the_system_may_forbid_it),
        cmocka_unit_test(anothers_memory_is_not_taken_for_the_peers),
        cmocka_unit_test(what_is_not_lent_any_more_is_not_taken),
        cmocka_unit_test(what_is_taken_back_is_not_taken),
        cmocka_unit_test(anothers_loan_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
