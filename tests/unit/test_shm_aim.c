/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes read from a process by way of another place: all of them, and nothing beside them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"
#include "skip.h"
#include "transport/shm/aim.h"

enum { MOST = 9000, EDGE = 64 };

static uint8_t from[MOST], to[MOST + 2 * EDGE];

static void each_shift(void **state)
{
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        from[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t shift = 0; shift <= SHM_AIM_SHIFT; shift++) {
        size_t bytes = SHM_AIM_FROM + 37 * shift;
        uint64_t word = 0, proof = 4711;
        struct shm_aim a;
        struct iovec dst[3], src[] = {{from, bytes}, {&proof, sizeof proof}};
        memset(to, 0xee, sizeof to);
        int n = wio_shm_aim(&a, to + EDGE, bytes, shift, dst);
        dst[n++] = (struct iovec){&word, sizeof word};
        ssize_t got = wio_os_read_process((pid_t)wio_os_pid(), dst, n, src, 2);
        if (got == -ENOSYS || got == -EPERM)
            skip_because(__func__, "the system forbids reading processes"); /* emulators */
        assert_int_equal(got, bytes + sizeof word);
        wio_shm_aim_settle(&a);
        assert_memory_equal(to + EDGE, from, bytes);
        assert_int_equal(word, proof);
        for (size_t i = 0; i < EDGE; i++) {
            assert_int_equal(to[i], 0xee);
            assert_int_equal(to[EDGE + bytes + i], 0xee);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
