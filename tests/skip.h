/* SPDX-License-Identifier: BSD-3-Clause */
/** @file skip.h  A case that cannot run here says why: scripts/run_tests.py shows it. */
#ifndef TEST_SKIP_H
#define TEST_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/** cmocka's report has no room for a reason. @param test  the case's name: __func__ */
#define skip_because(test, why)                                                                    \
    do {                                                                                           \
        print_message("skipped %s: %s\n", (test), (why));                                          \
        skip();                                                                                    \
    } while (0)

#endif
