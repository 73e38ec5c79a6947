/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An actor (actor.c) whose system fails. WT_FAULT=KIND:NTH:TIMES:WHAT in the environment; SIGUSR1
 * arms it. From then on the NTH call of this kind (socket, connect, accept, send, recv, epoll,
 * memory) and the next TIMES - 1 fail with the error WHAT, a positive errno; send and recv move
 * WHAT bytes if it is negative. The first failure is told on standard error. Linked with the
 * library's inside, since only src/os asks the hook.
 */
#include <signal.h>
#include <stdatomic.h>

#include "common.h"
#include "os/os.h"

static const char *const kinds[] = {
    [WIO_OS_SOCKET] = "socket", [WIO_OS_CONNECT] = "connect", [WIO_OS_ACCEPT] = "accept",
    [WIO_OS_SEND] = "send",     [WIO_OS_RECV] = "recv",       [WIO_OS_EPOLL] = "epoll",
    [WIO_OS_MEM] = "memory"};

static int kind = -1, what;
static long nth, times;
static atomic_long calls;
static atomic_bool armed; /* the service thread reads it, too */

static int fail(enum wio_os_call call, int fd, size_t bytes)
{
    static const char told[] = "faulty: the fault has happened\n";
    (void)fd;
    if (!atomic_load(&armed) || (int)call != kind)
        return 0;
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (n < nth || n >= nth + times)
        return 0;
    if (n == nth && write(2, told, sizeof told - 1) < 0)
        return 0;
    if (what > 0)
        return -what;
    return (size_t)-what < bytes ? -what : 0;
}

static void arm(int unused)
{
    (void)unused;
    atomic_store(&armed, true);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *text = getenv("WT_FAULT");
    char word[16];
    if (text == NULL)
        return;
    CHECK(sscanf(text, "%15[a-z]:%ld:%ld:%d", word, &nth, &times, &what) == 4, "WT_FAULT=%s", text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] != NULL && strcmp(kinds[i], word) == 0)
            kind = (int)i;
    CHECK(kind >= 0, "WT_FAULT: no kind %s", word);
    /* Not signal(): ThreadSanitizer's ends a read instead of going on with it. */
    struct sigaction sa = {.sa_handler = arm, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0, "no handler");
    wio_os_fault = fail; /* before there is a service thread */
}
