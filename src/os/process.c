/* SPDX-License-Identifier: BSD-3-Clause */
/* The process, its limits, its threads. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fault.h"

const char *wio_os_getenv(const char *name)
{
    return getenv(name);
}

char **wio_os_environ(void)
{
    return environ;
}

int64_t wio_os_pid(void)
{
    return getpid();
}

uid_t wio_os_uid(void)
{
    return getuid();
}

/** For kernels without the getrandom call. */
static int random_from_file(uint8_t *to, size_t n)
{
    int fd = wio_os_open_read("/dev/urandom");
    if (fd < 0)
        return fd;
    ssize_t got = 0;
    for (size_t done = 0; done < n; done += (size_t)got) {
        got = wio_os_read(fd, to + done, n - done);
        if (got <= 0)
            break;
    }
    wio_os_close(fd);
    return got > 0 || n == 0 ? 0 : got < 0 ? (int)got : -EIO;
}

int wio_os_random(void *buf, size_t n)
{
    uint8_t *to = buf;
    for (size_t done = 0; done < n;) {
        long got = syscall(SYS_getrandom, to + done, n - done, 0);
        if (got < 0 && errno == ENOSYS)
            return random_from_file(to, n);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0)
            done += (size_t)got;
    }
    return 0;
}

int wio_os_cpus_online(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* What the kernel tells of one cache of the first processor. @return bytes, 0: not told */
static size_t cache_told(const char *cache, const char *level)
{
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/%s/level", cache);
    if (wio_os_read_line(path, text, sizeof text) <= 0 || strcmp(text, level) != 0)
        return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/%s/size", cache);
    char *unit;
    unsigned long n = wio_os_read_line(path, text, sizeof text) > 0 ? strtoul(text, &unit, 10) : 0;
    return n == 0 ? 0 : *unit == 'K' ? (size_t)n << 10 : *unit == 'M' ? (size_t)n << 20 : n;
}

size_t wio_os_cache_bytes(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (n > 0)
        return (size_t)n;
#endif
    static const char *const cache[] = {"index2", "index1", "index3"};
    for (size_t i = 0; i < sizeof cache / sizeof cache[0]; i++) {
        size_t bytes = cache_told(cache[i], "2");
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

int wio_os_cpus(void)
{
    /* The kernel refuses a set smaller than its own: grow until it fits. */
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        if (set == NULL)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)most);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
        if (errno != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int wio_os_fd_limit(void)
{
    const rlim_t most = 1048576; /* more would only cost kernel memory */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    rlim_t goal = limit.rlim_max < most ? limit.rlim_max : most;
    if (limit.rlim_cur < goal) {
        struct rlimit raised = {.rlim_cur = goal, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit.rlim_cur = goal;
    }
    return limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur;
}

uint64_t wio_os_file_limit(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur : UINT64_MAX;
}

int64_t wio_os_involuntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

bool wio_os_may_read_processes(void)
{
    char scope = '0'; /* a system without Yama has no such file */
    int fd = wio_os_open_read("/proc/sys/kernel/yama/ptrace_scope");
    if (fd >= 0 && wio_os_read(fd, &scope, 1) != 1)
        scope = '?';
    wio_os_close(fd);
    return scope == '0' || (scope != '3' && geteuid() == 0);
}

ssize_t wio_os_read_process(pid_t pid, const struct iovec *to, int nto, const struct iovec *from,
                            int nfrom)
{
    int no = wio_os_refuse(WIO_OS_PEEK, -1, to[0].iov_len);
    if (no < 0)
        return no;
    ssize_t r = process_vm_readv(pid, to, (unsigned long)nto, from, (unsigned long)nfrom, 0);
    return r < 0 ? -errno : r;
}

/* What /proc says of a process: its line up to the name's end, and what follows. @return the part
 * behind the name, which may contain anything; NULL: no such process */
static const char *read_stat(int64_t pid, char *text, size_t room)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int fd = wio_os_open_read(path);
    if (fd < 0)
        return NULL;
    ssize_t got = wio_os_read(fd, text, room - 1);
    wio_os_close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

/** Has a process ended, but its parent has not waited for it? */
static bool is_zombie(int64_t pid)
{
    char text[1024];
    const char *state = read_stat(pid, text, sizeof text);
    return state != NULL && (*state == 'Z' || *state == 'X');
}

bool wio_os_ancestor(const char *name, int64_t *pid, uint64_t *started)
{
    char text[1024];
    const char *rest = read_stat(getpid(), text, sizeof text);
    for (int depth = 0; rest != NULL && depth < 100; depth++) {
        long long parent = 0;
        if (sscanf(rest, "%*c %lld", &parent) != 1 || parent <= 1)
            return false;
        rest = read_stat(parent, text, sizeof text);
        const char *begin = rest != NULL ? strchr(text, '(') : NULL;
        size_t n = begin != NULL ? (size_t)(rest - 2 - (begin + 1)) : 0;
        if (n != strlen(name) || memcmp(begin + 1, name, n) != 0)
            continue;
        unsigned long long ticks = 0; /* the 22nd of the line, the 20th behind the name */
        if (sscanf(rest,
                   "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                   "%llu",
                   &ticks) != 1)
            return false;
        *pid = parent;
        *started = ticks;
        return true;
    }
    return false;
}

bool wio_os_pid_alive(int64_t pid)
{
    if (pid <= 0 || pid > INT_MAX)
        return false;
    if (kill((pid_t)pid, 0) < 0 && errno != EPERM)
        return false;
    return !is_zombie(pid);
}

int wio_os_daemonize(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -errno;
    pid_t pid = fork();
    if (pid != 0) {
        int r = pid < 0 ? -errno : (int)pid;
        close(null);
        return r;
    }
    setsid(); /* cannot fail: a new child leads no group */
    for (int fd = 0; fd <= 2; fd++)
        while (dup2(null, fd) < 0 && errno == EINTR)
            ;
    if (null > 2)
        close(null);
    return 0;
}

static _Thread_local bool own_thread;

bool wio_os_thread_is_own(void)
{
    return own_thread;
}

struct beginning {
    void *(*fn)(void *);
    void *arg;
};

static void *begin(void *arg)
{
    struct beginning b = *(struct beginning *)arg;
    free(arg);
    own_thread = true;
    return b.fn(b.arg);
}

int wio_os_thread_start(pthread_t *t, void *(*fn)(void *), void *arg, const char *name)
{
    /* The program's signals are for its own threads. Faults stay unblocked: the thread that causes
     * them gets them, and the program's handler should see ours, too. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    struct beginning *b = malloc(sizeof *b);
    if (b == NULL)
        return -ENOMEM;
    *b = (struct beginning){.fn = fn, .arg = arg};
    int error = pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (error == 0) {
        error = pthread_create(t, NULL, begin, b);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (error != 0) {
        free(b);
        return -error;
    }
    pthread_setname_np(*t, name); /* for debuggers only: failure does not matter */
    return 0;
}

int wio_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    return -pthread_atfork(before, parent, child);
}

void wio_os_exit_now(int code)
{
    _exit(code);
}

uint64_t wio_os_user_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/user", &st) == 0 ? (uint64_t)st.st_ino : 0;
}
