/* SPDX-License-Identifier: BSD-3-Clause */
/* What control groups have left, told by files like the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/os.h"

#define MIB ((size_t)1 << 20)

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s", "/tmp/waitio-cgroup-XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void put(const char *name, const char *text)
{
    char path[256];
    int n = snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; at < path + n; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, 0700);
            *at = '/';
        }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* So much fits and not a byte more. */
static void expect_left(size_t bytes)
{
    assert_true(wio_os_memory_fits(root, bytes));
    assert_false(wio_os_memory_fits(root, bytes + 1));
}

static void where_nothing_is_told_everything_fits(void **state)
{
    (void)state;
    assert_true(wio_os_memory_fits(root, SIZE_MAX));
    put("proc/self/cgroup", "0::/job\n");
    assert_true(wio_os_memory_fits(root, SIZE_MAX));
    put("sys/fs/cgroup/job/memory.max", "max\n");
    put("sys/fs/cgroup/job/memory.current", "1048576\n");
    assert_true(wio_os_memory_fits(root, SIZE_MAX));
    assert_true(wio_os_memory_fits("", 4096)); /* here */
}

static void each_group_on_the_way_limits(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/job/step\n");
    put("sys/fs/cgroup/job/step/memory.max", "67108864\n");
    put("sys/fs/cgroup/job/step/memory.current", "3145728\n");
    put("sys/fs/cgroup/job/step/memory.stat", "anon 3145728\n");
    expect_left(61 * MIB);
    put("sys/fs/cgroup/job/memory.max", "8388608\n");
    put("sys/fs/cgroup/job/memory.current", "5242880\n");
    put("sys/fs/cgroup/job/memory.stat", "anon 5242880\n");
    expect_left(3 * MIB);
    put("sys/fs/cgroup/memory.max", "1048576\n"); /* as a container sees its own */
    put("sys/fs/cgroup/memory.current", "2097152\n");
    put("sys/fs/cgroup/memory.stat", "anon 2097152\n");
    assert_false(wio_os_memory_fits(root, 1));
}

static void what_the_kernel_takes_back_counts_as_left(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "67108864\n");
    put("sys/fs/cgroup/memory.current", "67108864\n");
    put("sys/fs/cgroup/memory.stat",
        "anon 1\nfile 9\nshmem 7\ninactive_file 2097152\nactive_file 1048576\n");
    expect_left(3 * MIB);
}

static void the_older_version_is_asked_where_it_has_memory(void **state)
{
    (void)state;
    put("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n1:name=systemd:/memory\n0::/b\n");
    put("sys/fs/cgroup/b/memory.max", "4096\n");
    put("sys/fs/cgroup/b/memory.current", "4096\n");
    put("sys/fs/cgroup/b/memory.stat", "anon 4096\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "999999999\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8388608\n");
    put("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "8388608\n");
    put("sys/fs/cgroup/memory/a/memory.stat",
        "cache 1\ninactive_file 77777777\ntotal_inactive_file 0\ntotal_active_file 1048576\n");
    expect_left(MIB);
    put("proc/self/cgroup", "1:name=systemd:/memory\n0::/b\n");
    assert_false(wio_os_memory_fits(root, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)
        IN_ROOT(where_nothing_is_told_everything_fits),
        IN_ROOT(each_group_on_the_way_limits),
        IN_ROOT(what_the_kernel_takes_back_counts_as_left),
        IN_ROOT(the_older_version_is_asked_where_it_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
