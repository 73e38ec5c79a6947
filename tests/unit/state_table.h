/* SPDX-License-Identifier: BSD-3-Clause */
/** @file state_table.h  A transport's table of link states: is it the documented one, is it sound?
 */
#ifndef STATE_TABLE_H
#define STATE_TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skip.h"
#include "transport/transport.h"

static inline void expected_row(const struct wio_state_row *table, int states, int s, char *buf,
                                size_t n)
{
    static const char *const shown[] = {"CONNECTING", "READY", "CLOSING", "CLOSED"};
    const struct wio_state_row *r = &table[s];
    char next[256] = "";
    for (int t = 0; t < states; t++)
        if (r->next & (1u << t)) {
            size_t at = strlen(next);
            wio_text(next + at, sizeof next - at, "%s%s", at > 0 ? " " : "", table[t].name);
        }
    wio_text(buf, n, "| %s | %s | %s | %s |", r->name, shown[r->ep], next, r->what);
}

/** docs/design/@p page has a row for every state, in order. */
static inline void assert_documented(const char *test, const char *page,
                                     const struct wio_state_row *table, int states)
{
    const char *root = getenv("WAITIO_SOURCE_DIR");
    char path[4096], line[1024], want[1024];
    if (root == NULL)
        skip_because(test, "WAITIO_SOURCE_DIR is not set");
    wio_text(path, sizeof path, "%s/docs/design/%s", root, page);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int at = 0;
    while (fgets(line, sizeof line, f) != NULL && at < states) {
        line[strcspn(line, "\n")] = '\0';
        char start[64];
        wio_text(start, sizeof start, "| %s |", table[at].name);
        if (strncmp(line, start, strlen(start)) != 0)
            continue;
        expected_row(table, states, at++, want, sizeof want);
        assert_string_equal(line, want);
    }
    fclose(f);
    assert_int_equal(at, states);
}

/** Every state can be reached and can end at once, and p2p never sees a step back. @p last is the
 * final state, and the highest. */
static inline void assert_sound(const struct wio_state_row *table, int first, int last)
{
    int states = last + 1;
    uint32_t seen = 1u << first;
    for (int round = 0; round < states; round++)
        for (int s = 0; s < states; s++)
            if (seen & (1u << s))
                seen |= table[s].next;
    assert_int_equal(seen, (1u << states) - 1);
    for (int s = 0; s < states; s++) {
        const struct wio_state_row *r = &table[s];
        assert_non_null(r->name);
        assert_true(r->ep <= WIO_EP_CLOSED);
        assert_int_equal(r->next >> states, 0);
        assert_int_equal(r->next & (1u << s), 0);
        if (s != last)
            assert_true(r->next & (1u << last));
        for (int t = 0; t < states; t++)
            if (r->next & (1u << t))
                assert_true(table[t].ep >= r->ep);
    }
    assert_int_equal(table[last].next, 0);
}

#endif
