/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, memory, files, the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skip.h"
#include "os/os.h"

static enum wio_os_call failing;

static int fail_kind(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == failing ? -EIO : 0;
}

static int no_faults(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return 0;
}

static void test_clocks(void **state)
{
    (void)state;
    int64_t before = wio_os_now_ns();
    wio_os_sleep_ns(2000000);
    wio_os_sleep_ns(-5);
    wio_os_yield();
    assert_true(wio_os_now_ns() - before >= 2000000);
    assert_true(wio_os_wall_ns() > 1500000000LL * 1000000000);
}

static void test_interfaces(void **state)
{
    (void)state;
    struct wio_os_ifaddr *list = NULL;
    int n = 0;
    assert_int_equal(wio_os_ifaddrs(&list, &n), 0);
    bool local = false;
    for (int i = 0; i < n; i++) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&list[i].addr;
        assert_true(list[i].name[0] != '\0');
        if (in->sin_family == AF_INET && in->sin_addr.s_addr == htonl(INADDR_LOOPBACK))
            local = list[i].loopback && list[i].up && list[i].prefix == 8;
    }
    assert_true(local);
    wio_os_free(list);
}

static void test_names(void **state)
{
    (void)state;
    struct sockaddr_storage found[4], source;
    socklen_t len;
    const char *why = NULL;
    assert_int_equal(wio_os_resolve("127.0.0.1", 7100, found, 4, &why), 1);
    struct sockaddr_in *in = (struct sockaddr_in *)&found[0];
    assert_int_equal(in->sin_family, AF_INET);
    assert_int_equal(ntohs(in->sin_port), 7100);
    assert_int_equal(wio_os_route_source((struct sockaddr *)in, sizeof *in, &source, &len), 0);
    assert_int_equal(((struct sockaddr_in *)&source)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(wio_os_resolve("::1", 1, found, 4, &why), 1);
    assert_int_equal(found[0].ss_family, AF_INET6);
    assert_true(wio_os_resolve("not an address", 1, found, 4, &why) < 0);
    assert_true(why != NULL && why[0] != '\0');
    char name[256], identity[256], again[256];
    assert_true(wio_os_hostname(name, sizeof name) > 0);
    assert_true(wio_os_hostname(name, 2) <= 1); /* cut or refused, never unterminated */
    assert_true(wio_os_host_identity(identity, sizeof identity) > 36);
    assert_true(wio_os_host_identity(again, sizeof again) > 36);
    assert_string_equal(identity, again);
    assert_non_null(strstr(identity, "net:["));
    assert_int_equal(wio_os_host_identity(identity, 8), -ENAMETOOLONG);
}

static void test_shared_memory(void **state)
{
    (void)state;
    size_t bytes = 3 * wio_os_page_size();
    int fd = wio_os_memfd("wio-test", bytes, bytes, true);
    assert_true(fd >= 0);
    unsigned char *writer = wio_os_map(fd, bytes, true);
    const unsigned char *reader = wio_os_map(fd, bytes, false);
    assert_non_null(writer);
    assert_non_null(reader);
    writer[bytes - 1] = 42;
    assert_int_equal(reader[bytes - 1], 42);
    /* a hostile sharer can no longer make us fault by cutting it */
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(errno, EPERM);
    struct wio_os_stat st;
    assert_int_equal(wio_os_fstat(fd, &st), 0);
    assert_int_equal(st.size, bytes);
    wio_os_unmap(writer, bytes);
    wio_os_unmap((void *)(uintptr_t)reader, bytes);
    wio_os_unmap(NULL, 5);
    wio_os_close(fd);
    assert_int_equal(wio_os_memfd("wio-test", 0, 0, true), -EINVAL);
    assert_null(wio_os_map(-1, 4096, false));
}

#if !defined(MADV_POPULATE_WRITE) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void test_populated_memory_costs_no_faults(void **state)
{
    (void)state;
    skip_because(__func__, "no MADV_POPULATE_WRITE, or a sanitizer");
}
#else
static long faults(void)
{
    struct rusage r;
    assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
    return r.ru_minflt;
}

static void test_populated_memory_costs_no_faults(void **state)
{
    (void)state;
    enum { PAGES = 256 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    int fd = wio_os_memfd("wio-test", bytes, bytes, true);
    char *p = wio_os_map(fd, bytes, true);
    assert_non_null(p);
    if (madvise(p, page, MADV_POPULATE_WRITE) != 0)
        skip_because(__func__, "the kernel does not know it");
    wio_os_populate(p, bytes);
    long before = faults();
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)p)[i * page] = 1;
    assert_in_range(faults() - before, 0, PAGES / 4);
    wio_os_unmap(p, bytes);
    wio_os_close(fd);
}
#endif

static void test_heap(void **state)
{
    (void)state;
    unsigned char *p = wio_os_alloc(1000);
    assert_non_null(p);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    p = wio_os_realloc(p, 5000);
    assert_non_null(p);
    wio_os_free(p);
    p = wio_os_alloc(0);
    assert_non_null(p);
    wio_os_free(p);
    wio_os_free(NULL);
}

static char folder[] = "/tmp/wio-os-XXXXXX";

static void in_folder(char *path, size_t n, const char *name)
{
    snprintf(path, n, "%s/%s", folder, name);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void test_files(void **state)
{
    (void)state;
    char a[128], b[128], d[128], buf[16] = "";
    struct wio_os_stat st;
    in_folder(a, sizeof a, "a");
    in_folder(b, sizeof b, "b");
    in_folder(d, sizeof d, "d");
    int fd = wio_os_open_create(a, 0600);
    assert_true(fd >= 0);
    assert_int_equal(wio_os_write(fd, "secret", 6), 6);
    assert_int_equal(wio_os_fsync(fd), 0);
    wio_os_close(fd);
    assert_int_equal(wio_os_open_create(a, 0600), -EEXIST);
    assert_int_equal(wio_os_stat(a, &st), 0);
    assert_int_equal(st.mode, 0600);
    assert_int_equal(st.size, 6);
    assert_int_equal(st.uid, wio_os_uid());
    assert_false(st.is_dir);
    assert_true(st.mtime_ns > 0);
    assert_int_equal(wio_os_link(a, b), 0);
    assert_int_equal(wio_os_link(a, b), -EEXIST);
    assert_int_equal(wio_os_unlink(a), 0);
    assert_int_equal(wio_os_rename(b, a), 0);
    fd = wio_os_open_append(a);
    assert_int_equal(wio_os_write(fd, "!", 1), 1);
    wio_os_close(fd);
    fd = wio_os_open_read(a);
    assert_int_equal(wio_os_read(fd, buf, sizeof buf), 7);
    assert_string_equal(buf, "secret!");
    assert_int_equal(wio_os_read(fd, buf, sizeof buf), 0);
    wio_os_close(fd);
    assert_int_equal(symlink("nowhere", b), 0);
    assert_int_equal(wio_os_open_create(b, 0600), -EEXIST); /* a planted link is not followed */
    assert_int_equal(wio_os_unlink(b), 0);
    assert_int_equal(wio_os_mkdir(d, 0700), 0);
    assert_int_equal(wio_os_stat(d, &st), 0);
    assert_true(st.is_dir && st.mode == 0700);
    assert_int_equal(rmdir(d), 0);
    assert_int_equal(wio_os_unlink(a), 0);
    assert_int_equal(wio_os_open_read(a), -ENOENT);
    assert_int_equal(wio_os_stat(a, &st), -ENOENT);
}

/* What is punched out reads as zeros, takes no space, and the file keeps its size. */
static void test_space_is_given_back(void **state)
{
    (void)state;
    uint8_t data[16384], back[16384];
    struct iovec out = {data, sizeof data}, in = {back, sizeof back};
    struct wio_os_stat st;
    int here = wio_os_folder_open(-1, ".", true);
    int fd = wio_os_create_at(here, "punched", 0600);
    assert_true(fd >= 0);
    memset(data, 1, sizeof data);
    assert_int_equal(wio_os_pwritev(fd, &out, 1, 0), sizeof data);
    int rc = wio_os_punch(fd, 4096, 8192);
    assert_true(rc == 0 || rc == -EOPNOTSUPP);
    if (rc == 0)
        memset(data + 4096, 0, 8192);
    assert_int_equal(wio_os_preadv(fd, &in, 1, 0), sizeof back);
    assert_memory_equal(data, back, sizeof data);
    assert_int_equal(wio_os_fstat(fd, &st), 0);
    assert_true(st.size == sizeof data && st.links == 1);
    assert_int_equal(wio_os_unlink_at(here, "punched", false), 0);
    assert_int_equal(wio_os_fstat(fd, &st), 0);
    assert_int_equal(st.links, 0);
    wio_os_close(fd);
    wio_os_close(here);
}

static void test_failing_files_and_memory(void **state)
{
    (void)state;
    char c;
    struct wio_os_stat st;
    wio_os_fault = fail_kind;
    failing = WIO_OS_FILE;
    assert_int_equal(wio_os_open_read("/"), -EIO);
    assert_int_equal(wio_os_open_create("/x", 0), -EIO);
    assert_int_equal(wio_os_open_append("/x"), -EIO);
    assert_int_equal(wio_os_read(0, &c, 1), -EIO);
    assert_int_equal(wio_os_write(1, &c, 1), -EIO);
    assert_int_equal(wio_os_fsync(1), -EIO);
    assert_int_equal(wio_os_link("/x", "/y"), -EIO);
    assert_int_equal(wio_os_rename("/x", "/y"), -EIO);
    assert_int_equal(wio_os_unlink("/x"), -EIO);
    assert_int_equal(wio_os_mkdir("/x", 0), -EIO);
    assert_int_equal(wio_os_stat("/", &st), -EIO);
    assert_int_equal(wio_os_fstat(0, &st), -EIO);
    struct iovec iov = {&c, 1};
    assert_int_equal(wio_os_open_at(-1, "/x", false), -EIO);
    assert_int_equal(wio_os_preadv(0, &iov, 1, 0), -EIO);
    assert_int_equal(wio_os_punch(1, 0, 1), -EIO);
    failing = WIO_OS_SPACE;
    assert_int_equal(wio_os_create_at(-1, "/x", 0), -EIO);
    assert_int_equal(wio_os_mkdir_at(-1, "/x", 0), -EIO);
    assert_int_equal(wio_os_rename_at(-1, "/x", "/y"), -EIO);
    assert_int_equal(wio_os_pwritev(1, &iov, 1, 0), -EIO);
    assert_int_equal(wio_os_resize(1, 1), -EIO);
    failing = WIO_OS_MEM;
    assert_null(wio_os_alloc(1));
    assert_null(wio_os_realloc(NULL, 1));
    assert_int_equal(wio_os_memfd("x", 1, 1, false), -EIO);
    assert_null(wio_os_map(0, 1, false));
}

static void test_process(void **state)
{
    (void)state;
    unsigned char a[64] = {0}, b[64] = {0};
    assert_int_equal(wio_os_pid(), getpid());
    assert_int_equal(wio_os_random(a, sizeof a), 0);
    assert_int_equal(wio_os_random(b, sizeof b), 0);
    assert_memory_not_equal(a, b, sizeof a);
    assert_true(wio_os_cpus() >= 1);
    assert_true(wio_os_involuntary_switches() >= 0);
    assert_non_null(wio_os_environ());
    assert_null(wio_os_getenv("WAITIO_TEST_NO_SUCH_NAME"));
}

static void test_descriptor_limit(void **state)
{
    (void)state;
    struct rlimit before, after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int limit = wio_os_fd_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    rlim_t expected = before.rlim_max < 1048576 ? before.rlim_max : 1048576;
    assert_int_equal(limit, expected);
    assert_int_equal(after.rlim_cur, expected);
    assert_int_equal(after.rlim_max, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_who_is_alive(void **state)
{
    (void)state;
    assert_true(wio_os_pid_alive(getpid()));
    assert_true(wio_os_pid_alive(1)); /* another user's, as a rule */
    assert_false(wio_os_pid_alive(0));
    assert_false(wio_os_pid_alive(-1));
    assert_false(wio_os_pid_alive(INT64_MAX));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_false(wio_os_pid_alive(child)); /* ended, though nobody has collected it */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(wio_os_pid_alive(child));
}

static void *look_at_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

static void test_threads_leave_signals_alone(void **state)
{
    (void)state;
    pthread_t t;
    sigset_t inside, before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(wio_os_thread_start(&t, look_at_mask, &inside, "wio-test"), 0);
    pthread_join(t, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < NSIG; sig++)
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
    static const int blocked[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD};
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        assert_true(sigismember(&inside, blocked[i]));
    assert_false(sigismember(&inside, SIGSEGV));
}

static int forked;

static void note_fork(void)
{
    forked = 1;
}

static void test_fork_is_noticed_by_the_child(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(wio_os_at_fork(NULL, NULL, note_fork), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(forked);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(forked, 0);
}

/** What the daemon does; never returns. */
static void be_daemon(int report)
{
    char null[64] = "";
    ssize_t n = readlink("/proc/self/fd/1", null, sizeof null - 1);
    bool ok = getsid(0) == getpid() && n > 0 && strcmp(null, "/dev/null") == 0;
    _exit(write(report, ok ? "y" : "n", 1) == 1 ? 0 : 1);
}

static void test_daemon(void **state)
{
    (void)state;
    int report[2];
    assert_int_equal(pipe(report), 0);
    int pid = wio_os_daemonize();
    if (pid == 0)
        be_daemon(report[1]);
    assert_true(pid > 0);
    char answer = 0;
    close(report[1]);
    assert_int_equal(read(report[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    close(report[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_interfaces),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_populated_memory_costs_no_faults),
        cmocka_unit_test(test_heap),
        cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
        cmocka_unit_test(test_space_is_given_back),
        cmocka_unit_test_teardown(test_failing_files_and_memory, no_faults),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_descriptor_limit),
        cmocka_unit_test(test_who_is_alive),
        cmocka_unit_test(test_threads_leave_signals_alone),
        cmocka_unit_test(test_fork_is_noticed_by_the_child),
        cmocka_unit_test(test_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
