/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_letter.c
 * Files of the rendezvous in a directory. The input is a letter, a sign of life, a name and a
 * stream of bytes that becomes letters, one after the other. What is taken must be within the
 * input; what this side writes must be read as it was meant.
 */
#include <stdlib.h>
#include <string.h>

#include "boot/mail_letter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wio_secret secret = {.key = "secret of the fuzz target", .len = 25};

static void must(int ok)
{
    if (!ok)
        abort();
}

/* The fields say what is expected, so that a letter gets as far as its MAC. */
static void letter(const uint8_t *data, size_t size)
{
    struct wio_mail_letter l = {0};
    int version = 0;
    if (size >= 32) {
        l.from_service = data[6] == 1;
        l.number = wio_get32(data + 8);
        l.service = wio_get64(data + 16);
        l.caller = wio_get64(data + 24);
    }
    int n = wio_mail_letter_decode(&l, &secret, data, size, &version);
    must(n < 0 || WIO_MAIL_HEAD + (size_t)n == size);
    must(n <= 0 || l.kind == WIO_MAIL_SHAKE); /* nobody has signed it */
}

static void sign(const uint8_t *data, size_t size)
{
    struct wio_mail_sign s, again;
    uint8_t out[WIO_MAIL_SIGN];
    int version = 0;
    if (wio_mail_sign_decode(data, size, &s, &version) != 0)
        return;
    must(memchr(s.host, '\0', sizeof s.host) != NULL);
    wio_mail_sign_encode(&s, out);
    must(wio_mail_sign_decode(out, sizeof out, &again, &version) == 0 && again.nonce == s.nonce &&
         again.beat == s.beat && again.locked == s.locked && again.pid == s.pid);
}

static void name(const uint8_t *data, size_t size)
{
    char text[2 * WIO_MAIL_NAME] = {0}, again[WIO_MAIL_NAME];
    uint64_t caller;
    uint32_t number;
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    if (!wio_mail_name_parse(text, &caller, &number))
        return;
    wio_mail_name(again, caller, number);
    must(strcmp(text, again) == 0);
}

/* The stream as the other side reads it. */
static void stream(const uint8_t *data, size_t size)
{
    bool data_before = false;
    uint8_t *file = malloc(WIO_MAIL_HEAD + size + 1);
    struct wio_mail_letter l = {.service = 7, .caller = 9};
    int version = 0;
    must(file != NULL);
    while (size > 0) {
        size_t n = wio_mail_cut(data, size, data_before, &l.kind);
        must(n <= size && n <= WIO_MAIL_CONTENT_MAX);
        if (n == 0)
            break;
        uint8_t kind = l.kind;
        must(wio_mail_letter_encode(&l, &secret, data, n, file) == 0);
        memcpy(file + WIO_MAIL_HEAD, data, n);
        must(wio_mail_letter_decode(&l, &secret, file, WIO_MAIL_HEAD + n, &version) == (int)n &&
             l.kind == kind);
        l.number++;
        data_before = data_before || kind != WIO_MAIL_SHAKE;
        data += n;
        size -= n;
    }
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    letter(data, size);
    sign(data, size);
    name(data, size);
    stream(data, size);
    return 0;
}
