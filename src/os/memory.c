/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: the heap and what processes share. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fault.h"

/* Older C libraries know neither the call nor its names. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#define MFD_ALLOW_SEALING 0x0002U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 0x0001
#define F_SEAL_SHRINK 0x0002
#define F_SEAL_GROW 0x0004
#endif

void *wio_os_alloc(size_t n)
{
    if (wio_os_refuse(WIO_OS_MEM, -1, n) < 0)
        return NULL;
    return calloc(1, n > 0 ? n : 1);
}

void *wio_os_realloc(void *p, size_t n)
{
    if (wio_os_refuse(WIO_OS_MEM, -1, n) < 0)
        return NULL;
    return realloc(p, n > 0 ? n : 1);
}

void wio_os_free(void *p)
{
    free(p);
}

/** Allocate the file's pages now: with a hole the process would be killed later, when memory runs
 * out. */
static int allocate(int fd, size_t bytes, size_t given, bool seal)
{
    int error;
    do
        error = posix_fallocate(fd, 0, (off_t)given);
    while (error == EINTR);
    if (error != 0)
        return -error;
    if (given < bytes && ftruncate(fd, (off_t)bytes) < 0)
        return -errno;
    if (seal && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return -errno;
    return 0;
}

int wio_os_memfd(const char *name, size_t bytes, size_t given, bool seal)
{
    int refused = wio_os_refuse(WIO_OS_MEM, -1, given);
    if (refused)
        return refused;
    if (given == 0 || given > bytes || bytes > (size_t)INT64_MAX)
        return -EINVAL;
    if (bytes > wio_os_file_limit())
        return -EFBIG;
    if (!wio_os_memory_fits("", given))
        return -ENOMEM;
    int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | (seal ? MFD_ALLOW_SEALING : 0));
    if (fd < 0)
        return -errno;
    int r = allocate(fd, bytes, given, seal);
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

bool wio_os_memfd_holds(int fd, size_t bytes)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0 && st.st_size >= 0 &&
           (uint64_t)st.st_size >= bytes;
}

void *wio_os_map(int fd, size_t bytes, bool writable)
{
    if (wio_os_refuse(WIO_OS_MEM, fd, bytes) < 0)
        return NULL;
    int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *wio_os_hidden_page(void)
{
#ifdef MADV_DONTDUMP
    size_t n = wio_os_page_size();
    if (wio_os_refuse(WIO_OS_MEM, -1, n) < 0)
        return NULL;
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (madvise(p, n, MADV_DONTDUMP) == 0)
        return p;
    munmap(p, n);
#endif
    return NULL;
}

#ifdef MADV_POPULATE_WRITE
static int populate(void *p, size_t bytes)
{
    int r;
    do
        r = madvise(p, bytes, MADV_POPULATE_WRITE);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

bool wio_os_gives_later(void)
{
    size_t n = wio_os_page_size();
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = p != MAP_FAILED && populate(p, n) == 0;
    wio_os_unmap(p != MAP_FAILED ? p : NULL, n);
    return can;
}

int wio_os_give_pages(void *p, size_t bytes)
{
    int refused = wio_os_refuse(WIO_OS_MEM, -1, bytes);
    if (refused)
        return refused;
    return wio_os_memory_fits("", bytes) ? populate(p, bytes) : -ENOMEM;
}
#else
bool wio_os_gives_later(void)
{
    return false;
}

int wio_os_give_pages(void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
    return -ENOSYS;
}
#endif

int wio_os_take_pages(void *p, size_t bytes)
{
    return madvise(p, bytes, MADV_REMOVE) < 0 ? -errno : 0;
}

void wio_os_populate(void *p, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    (void)madvise(p, bytes, MADV_POPULATE_WRITE); /* before Linux 5.14: they come one by one */
#else
    (void)p;
    (void)bytes;
#endif
}

void wio_os_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t large = (uintptr_t)2 << 20;
    uintptr_t from = ((uintptr_t)p + large - 1) & ~(large - 1),
              to = ((uintptr_t)p + bytes) & ~(large - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)p;
    (void)bytes;
#endif
}

void wio_os_unmap(void *p, size_t bytes)
{
    if (p != NULL)
        munmap(p, bytes);
}

size_t wio_os_page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

/* Numbers of membarrier(2), which older headers lack. */
enum {
    BARRIER_GLOBAL_EXPEDITED = 1 << 1,
    BARRIER_REGISTER_GLOBAL_EXPEDITED = 1 << 2,
    BARRIER_PRIVATE_EXPEDITED = 1 << 3,
    BARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

static int membarrier(int command)
{
#ifdef SYS_membarrier
    int refused = wio_os_refuse(WIO_OS_MEM, -1, 0);
    if (refused)
        return refused;
    return syscall(SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
#else
    (void)command;
    return -ENOSYS;
#endif
}

int wio_os_membarrier_register(void)
{
    int rc = membarrier(BARRIER_REGISTER_GLOBAL_EXPEDITED);
    return rc < 0 ? rc : membarrier(BARRIER_GLOBAL_EXPEDITED);
}

int wio_os_membarrier(void)
{
    return membarrier(BARRIER_GLOBAL_EXPEDITED);
}

int wio_os_membarrier_private_register(void)
{
    int rc = membarrier(BARRIER_REGISTER_PRIVATE_EXPEDITED);
    return rc < 0 ? rc : membarrier(BARRIER_PRIVATE_EXPEDITED);
}

int wio_os_membarrier_private(void)
{
    return membarrier(BARRIER_PRIVATE_EXPEDITED);
}
