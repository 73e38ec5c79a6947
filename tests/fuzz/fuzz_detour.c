/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_detour.c
 * Messages between a relay and its clients, as a stream that comes in pieces: the first byte
 * chooses their size. What is taken has a type below the last one and a text that ends, and is the
 * same when it is written and read again; no byte behind a message is read.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/detour.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
    if (!ok)
        abort();
}

static void again(const struct wio_detour_msg *m, const int fd[2])
{
    uint8_t out[WIO_DETOUR_MAX];
    struct wio_detour_in in = {0};
    struct wio_detour_msg same;
    size_t n = wio_detour_put(out, m);
    must(n >= WIO_DETOUR_HEAD && n <= WIO_DETOUR_MAX);
    must(write(fd[0], out, n) == (ssize_t)n && wio_detour_read(&in, fd[1], &same) == 1);
    must(same.type == m->type && same.number == m->number && same.code == m->code &&
         wio_place_equal(&same.place, &m->place) && strcmp(same.text, m->text) == 0);
}

static void pair(int fd[2])
{
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wio_detour_in in = {0};
    struct wio_detour_msg m;
    int fd[2], own[2], rc = 0;
    size_t piece = size > 0 ? (size_t)data[0] % 64 + 1 : 1;
    if (size > 4096)
        return 0;
    pair(fd);
    pair(own);
    for (size_t at = 1; at < size && rc >= 0; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        must(write(fd[0], data + at, n) == (ssize_t)n);
        while ((rc = wio_detour_read(&in, fd[1], &m)) == 1) {
            must(m.type < WIO_DETOUR_TYPES); /* 0 and others are refused by whoever asked */
            must(memchr(m.text, '\0', sizeof m.text) != NULL);
            again(&m, own);
            memset(&in, 0, sizeof in);
        }
    }
    for (int i = 0; i < 2; i++) {
        close(fd[i]);
        close(own[i]);
    }
    return 0;
}
