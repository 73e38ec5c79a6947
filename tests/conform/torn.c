/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file torn.c  TCP with WAITIO_TLS=1: somebody on the way changes the length of a record while
 * keys are agreed on, so that its receiver waits for bytes that never come.
 */
#include "relay.h"

static int spoilt, direction;

/* The first record of a side: type 22 (handshake), version 3.x, length. */
static void lengthen(uint8_t *data, size_t n, int from)
{
    for (size_t i = 0; from == direction && spoilt == 0 && i + 8 < n; i++)
        if (data[i] == 22 && data[i + 1] == 3 && data[i + 3] < 8) {
            data[i + 3] = (uint8_t)(data[i + 3] + 8);
            spoilt++;
        }
}

/* Both ends hear of it, or agree anew. Guard: without the limit both wait for ever. */
static void test_a_record_without_end(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int how = 0; how < 4; how++) {
            struct world *w = world_new(tr, 2);
            w->quiet_errors = true;
            for (int i = 0; i < 2; i++) {
                w->node[i].cfg.connect_timeout = 1;
                w->node[i].cfg.resume_timeout = how < 2 ? 0 : 3;
            }
            world_open(w);
            struct relay *r = relay_new(w);
            direction = how % 2;
            spoilt = 0;
            r->spoil = lengthen;
            int64_t t = wio_os_now_ns();
            node_send(&w->node[0], 1, 100, 0, false);
            THROUGH(r, w->node[0].peer[1].closed == 1 || all_arrived(w));
            assert_int_equal(spoilt, 1);
            assert_true(wio_os_now_ns() - t < wt_scaled_ns(4 * SECOND));
            assert_true(how < 2 || all_arrived(w)); /* it was spoilt once only */
            if (w->node[0].peer[1].closed == 1)
                assert_true(w->node[0].peer[1].err != 0);
            relay_free(r);
            world_free(w);
        }
    }
}

int main(void)
{
    setenv("CONFORM_TLS", "1", 1);
    const struct CMUnitTest tests[] = {CONFORM(test_a_record_without_end)};
    return cmocka_run_group_tests_name("torn", tests, NULL, NULL);
}
