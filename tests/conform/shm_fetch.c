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

/* What the test says of a loan: as p2p does. */
static struct wio_lent loan(struct world *w, const void *data, const uint64_t *word, uint64_t id)
{
    struct wio_ep *lender = &wio_shm_link_find(shm_iface_of(w->node[0].iface), 1)->ep;
    return (struct wio_lent){.at = (uint64_t)(uintptr_t)data,
                             .word = (uint64_t)(uintptr_t)word,
                             .id = id,
                             .recalls = lender->iface->tr->recalls(lender, 0)};
}

static void what_lies_there_is_copied(void **state)
{
    (void)state;
    uint8_t byte;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = world_linked(w);
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
    assert_fetches(world_linked(w), false);
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
        struct wio_ep *ep = world_linked(w);
        wio_os_fault = NULL;
        assert_fetches(ep, false); /* it was tried when the link was made */
        world_free(w);
    }
    struct world *w = world_new(&wio_transport_shm, 2); /* later */
    struct wio_ep *ep = world_linked(w);
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
    struct wio_ep *ep = world_linked(w);
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
    struct wio_ep *ep = world_linked(w);
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

/* The message's own word: its send has completed, and its buffer has changed; or it is not the
 * peer's memory at all. */
static void what_is_taken_back_is_not_taken(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 2);
    struct wio_ep *ep = world_linked(w);
    static uint8_t data[SIZE], copy[SIZE];
    uint64_t token = shm_iface_of(w->node[0].iface)->token;
    const uint64_t wrong[] = {0, wio_lent_word(token + 1, 1, 7), wio_lent_word(token, 2, 7),
                              wio_lent_word(token, 1, 8)}; /* process, reader, message */
    uint64_t word = wio_lent_word(token, 1, 7);
    struct wio_lent lent = loan(w, data, &word, 7);
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), 0);
    lent.recalls--; /* something was taken back since: the word decides */
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), 0);
    for (size_t i = 0; i < WIO_ARRAY_LEN(wrong); i++) {
        word = wrong[i];
        lent.recalls--; /* so it is read */
        assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), WAITIO_ERR_SYSTEM);
    }
    lent.word = 16; /* nothing there */
    lent.recalls--;
    assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), WAITIO_ERR_SYSTEM);
    assert_fetches(ep, true); /* others can be fetched */
    world_free(w);
}

/* The word is not read each time. What shows that it must be: something was taken back, the link
 * has ended at the other side, or the last look is long ago. */
static void the_word_is_read_when_it_may_have_changed(void **state)
{
    (void)state;
    for (int why = 0; why < 4; why++) {
        struct world *w = world_new(&wio_transport_shm, 2);
        struct wio_ep *ep = world_linked(w);
        static uint8_t data[SIZE], copy[SIZE];
        uint64_t word = wio_lent_word(shm_iface_of(w->node[0].iface)->token, 1, 7);
        struct wio_lent lent = loan(w, data, &word, 7);
        assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE), 0);
        struct shm_link *here = wio_shm_link_find(shm_iface_of(w->node[1].iface), 0);
        here->proved_ns = wio_os_now_ns() + SECOND; /* as if just now, however slow this test is */
        struct wio_ep *lender = &wio_shm_link_find(shm_iface_of(w->node[0].iface), 1)->ep;
        word = 0;
        if (why == 1)
            assert_int_equal(lender->iface->tr->recalls(lender, 1), lent.recalls + 1);
        else if (why == 2)
            lender->iface->tr->close(lender, WIO_BYE_ERROR);
        else if (why == 3)
            here->proved_ns -= 2 * SECOND;
        assert_int_equal(ep->iface->tr->fetch(ep, &lent, copy, SIZE),
                         why == 0 ? 0 : WAITIO_ERR_SYSTEM);
        world_free(w);
    }
}

/* Nor where the next link lies in the place of that one. */
static void anothers_loan_proves_nothing(void **state)
{
    (void)state;
    struct world *w = world_new(&wio_transport_shm, 3);
    struct wio_ep *ep = world_linked(w);
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
        cmocka_unit_test(the_word_is_read_when_it_may_have_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
