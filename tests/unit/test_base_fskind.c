/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_base_fskind.c  Which file systems are taken for weak. */
#include <errno.h>

#include "base/base.h"
#include "base/fskind.h"
#include "os/os.h"
#include "skip.h"

static struct wio_config cfg;

static int defaults(void **state)
{
    (void)state;
    wio_config_defaults(&cfg);
    wio_os_fault = NULL;
    return 0;
}

static bool is_weak(const char *folder, const char **kind)
{
    int fd = wio_os_folder_open(-1, folder, true);
    if (fd < 0)
        skip_because(__func__, folder);
    bool weak = wio_fs_is_weak(&cfg, fd, kind);
    wio_os_close(fd);
    return weak;
}

static void test_memory_is_strong(void **state)
{
    const char *kind;
    (void)state;
    assert_false(is_weak("/dev/shm", &kind));
    assert_string_equal(kind, "tmpfs");
}

/* /proc is none that messages go through: as any kind that the list does not have. */
static void test_unknown_is_weak(void **state)
{
    const char *kind;
    (void)state;
    assert_true(is_weak("/proc", &kind));
    assert_string_equal(kind, "an unknown file system");
}

static int refuse(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_FILE ? -ENOSYS : 0;
}

static void test_one_that_does_not_tell_is_weak(void **state)
{
    (void)state;
    int fd = wio_os_folder_open(-1, ".", true);
    wio_os_fault = refuse;
    bool weak = wio_fs_is_weak(&cfg, fd, NULL);
    wio_os_fault = NULL;
    wio_os_close(fd);
    assert_true(weak);
}

static void test_the_setting_decides(void **state)
{
    (void)state;
    cfg.file_system = WIO_CFG_FILE_SYSTEM_CLOSE_TO_OPEN;
    assert_true(is_weak("/dev/shm", NULL));
    cfg.file_system = WIO_CFG_FILE_SYSTEM_POSIX;
    assert_false(is_weak("/proc", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_memory_is_strong, defaults),
        cmocka_unit_test_setup(test_unknown_is_weak, defaults),
        cmocka_unit_test_setup(test_one_that_does_not_tell_is_weak, defaults),
        cmocka_unit_test_setup(test_the_setting_decides, defaults),
    };
    return cmocka_run_group_tests_name("file system kinds", tests, NULL, NULL);
}
