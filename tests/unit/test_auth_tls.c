/* SPDX-License-Identifier: BSD-3-Clause */
/* Encrypted connections: who agrees on it, what travels, and what tampering leads to. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "auth/tls.h"
#include "unit/auth_pair.h"

static struct wio_tls_lib *lib;

static int begin_lib(void **state)
{
    (void)state;
    return wio_tls_load(&lib, NULL, 3); /* a new key every three records */
}

static int end_lib(void **state)
{
    (void)state;
    wio_tls_unload(lib);
    return 0;
}

/* ---- who encrypts ---- */

static void agree(struct auth_pair *p, bool d, bool a, enum wio_auth_purpose purpose)
{
    auth_pair_init(p);
    p->secret_d.tls = d ? lib : NULL;
    p->secret_a.tls = a ? lib : NULL;
    assert_int_equal(auth_pair_begin(p, purpose, purpose), 0);
    auth_pump(p, 7);
}

static void test_both_want_it(void **state)
{
    (void)state;
    struct auth_pair p, again;
    agree(&p, true, true, WIO_AUTH_LINK);
    assert_int_equal(p.d.state, WIO_AUTH_DONE);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
    assert_true(p.d.encrypt && p.a.encrypt);
    assert_memory_equal(p.d.tls_key, p.a.tls_key, sizeof p.d.tls_key);
    agree(&again, true, true, WIO_AUTH_LINK);
    assert_memory_not_equal(p.d.tls_key, again.d.tls_key, sizeof p.d.tls_key);
}

static void test_not_within_the_host(void **state)
{
    (void)state;
    const enum wio_auth_purpose inside[] = {WIO_AUTH_LEADER, WIO_AUTH_SHM};
    for (size_t i = 0; i < 2; i++) {
        struct auth_pair p;
        agree(&p, true, true, inside[i]);
        assert_int_equal(p.d.state, WIO_AUTH_DONE);
        assert_int_equal(p.a.state, WIO_AUTH_DONE);
        assert_false(p.d.encrypt || p.a.encrypt);
    }
}

static void assert_both_named(const struct wio_auth *a)
{
    assert_int_equal(a->state, WIO_AUTH_FAILED);
    assert_int_equal(a->error, WAITIO_ERR_CONFIG);
    assert_non_null(strstr(a->text, "WAITIO_TLS=1"));
    assert_non_null(strstr(a->text, "WAITIO_TLS=0"));
    assert_true(wio_auth_is_final(a->error));
}

static void test_plain_meets_encrypted(void **state)
{
    (void)state;
    for (int purpose = WIO_AUTH_BOOT; purpose <= WIO_AUTH_SHM; purpose++)
        for (int d = 0; d < 2; d++) {
            struct auth_pair p;
            agree(&p, d == 1, d == 0, (enum wio_auth_purpose)purpose);
            assert_both_named(&p.d);
            assert_both_named(&p.a);
            assert_true(p.d.refused_by_peer);
        }
}

static void test_no_libssl(void **state)
{
    (void)state;
    const char *const names[] = {"libssl-that-is-nowhere.so", NULL}, *const other[] = {"libc.so.6",
                                                                                       NULL};
    struct wio_tls_lib *l = NULL;
    assert_int_equal(wio_tls_load(&l, names, 1), WAITIO_ERR_UNSUPPORTED);
    assert_non_null(strstr(wio_last_error(), "libssl-that-is-nowhere.so"));
    assert_non_null(strstr(wio_last_error(), "apt-get install"));
    assert_int_equal(wio_tls_load(&l, other, 1), WAITIO_ERR_UNSUPPORTED);
    assert_null(l);
}

/* ---- two ends of a connection, with this test on the way between them ---- */

struct wire {
    int end[2], mid[2]; /* 0 dialer, 1 acceptor */
    struct wio_tls *tls[2];
    uint64_t carried[2];
    int64_t spoil[2]; /* this byte from 0 or 1 is changed */
    bool saw;         /* what must not be readable was */
};

static const char marker[] = "this text must not be on the wire";

static void wire_begin(struct wire *w, uint8_t change_key)
{
    struct auth_pair p;
    memset(w, 0, sizeof *w);
    agree(&p, true, true, WIO_AUTH_LINK);
    p.a.tls_key[5] ^= change_key;
    for (int i = 0; i < 2; i++) {
        int s[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
        w->end[i] = s[0];
        w->mid[i] = s[1];
        w->spoil[i] = -1;
    }
    assert_int_equal(wio_tls_begin(&p.d, w->end[0], &w->tls[0]), 0);
    assert_int_equal(wio_tls_begin(&p.a, w->end[1], &w->tls[1]), 0);
    assert_non_null(w->tls[0]);
}

static void wire_end(struct wire *w)
{
    for (int i = 0; i < 2; i++) {
        wio_tls_free(w->tls[i]);
        close(w->end[i]);
        close(w->mid[i]);
    }
}

/* Carry some bytes each way. */
static void wire_carry(struct wire *w)
{
    uint8_t buf[5000];
    for (int i = 0; i < 2; i++) {
        ssize_t n = recv(w->mid[i], buf, sizeof buf, MSG_PEEK);
        if (n <= 0)
            continue;
        for (ssize_t k = 0; k + (ssize_t)sizeof marker <= n; k++)
            w->saw = w->saw || memcmp(buf + k, marker, sizeof marker - 1) == 0;
        int64_t at = w->spoil[i] - (int64_t)w->carried[i];
        if (at >= 0 && at < n)
            buf[at] ^= 0x20;
        ssize_t out = send(w->mid[1 - i], buf, (size_t)n, MSG_NOSIGNAL);
        if (out <= 0)
            continue;
        if (at >= 0 && at < n && at >= out)
            buf[at] ^= 0x20; /* it goes next time */
        (void)recv(w->mid[i], buf, (size_t)out, 0);
        w->carried[i] += (uint64_t)out;
    }
}

/* A stream of bytes that says which of them it is. */
static uint8_t byte_at(uint64_t i)
{
    return i % 997 < sizeof marker ? (uint8_t)marker[i % 997] : (uint8_t)(i * 7 + (i >> 11));
}

struct flow {
    uint8_t *data;
    uint64_t sent, got, total;
    int error;
};

static unsigned dice(unsigned n)
{
    static uint64_t seed = 1;
    seed = wio_mix64(seed + 0x9e3779b97f4a7c15ULL);
    return (unsigned)(seed >> 33) % n;
}

/* As tx.c: a list of pieces, of which any number of bytes is taken. */
static void flow_send(struct flow *f, struct wio_tls *t)
{
    struct iovec iov[6];
    uint64_t at = f->sent;
    int n = 0;
    for (; n < 6 && at < f->total; n++) {
        size_t len = dice(2) == 0 ? 1 + dice(200) : 1 + dice(60000);
        len = len < f->total - at ? len : (size_t)(f->total - at);
        iov[n] = (struct iovec){f->data + at, len};
        at += len;
    }
    if (n == 0)
        return;
    ssize_t k = wio_tls_sendv(t, iov, n);
    assert_true(k != 0);
    if (k > 0)
        f->sent += (uint64_t)k;
    else if (k != -EAGAIN)
        f->error = (int)k;
}

static void flow_recv(struct flow *f, struct wio_tls *t)
{
    uint8_t a[3000], b[20000];
    struct iovec iov[2] = {{a, 1 + dice(sizeof a)}, {b, 1 + dice(sizeof b)}};
    ssize_t k = wio_tls_recvv(t, iov, 2);
    for (ssize_t i = 0; i < k; i++) {
        uint8_t have = i < (ssize_t)iov[0].iov_len ? a[i] : b[i - (ssize_t)iov[0].iov_len];
        assert_int_equal(have, byte_at(f->got + (uint64_t)i));
    }
    if (k > 0)
        f->got += (uint64_t)k;
    else if (k != -EAGAIN)
        f->error = k == 0 ? -EPIPE : (int)k;
}

/* Both ways at once until all is there or something failed. */
static void flow_run(struct wire *w, struct flow f[2], uint64_t total)
{
    for (int i = 0; i < 2; i++) {
        f[i] = (struct flow){.data = malloc(total + 1), .total = total};
        assert_non_null(f[i].data);
        for (uint64_t k = 0; k < total; k++)
            f[i].data[k] = byte_at(k);
    }
    uint64_t moved = 0;
    for (int turn = 0, idle = 0; turn < 400000 && idle < 3000; turn++) {
        uint64_t now = w->carried[0] + w->carried[1] + f[0].got + f[1].got;
        idle = now == moved ? idle + 1 : 0;
        moved = now;
        if ((f[0].got == total && f[1].got == total) || (f[0].error != 0 && f[1].error != 0))
            break;
        int i = (int)dice(2);
        if (dice(2) == 0 && f[i].error == 0)
            flow_send(&f[i], w->tls[i]);
        else if (f[1 - i].error == 0 || f[1 - i].error == -EPIPE)
            flow_recv(&f[1 - i], w->tls[i]);
        wire_carry(w);
    }
    for (int i = 0; i < 2; i++)
        free(f[i].data);
}

static void run_clean(void)
{
    struct wire w;
    struct flow f[2];
    wire_begin(&w, 0);
    flow_run(&w, f, 3000000);
    assert_int_equal(f[0].error, 0);
    assert_int_equal(f[0].got, 3000000);
    assert_int_equal(f[1].got, 3000000);
    assert_false(w.saw);
    assert_true(w.carried[0] > 3000000);
    assert_false(wio_tls_shaking(w.tls[0]) || wio_tls_shaking(w.tls[1]));
    wire_end(&w);
}

static void test_bytes_both_ways(void **state)
{
    (void)state;
    run_clean();
}

/* Sockets that take and give what they like. */
static int moody(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    if ((call != WIO_OS_SEND && call != WIO_OS_RECV) || bytes == 0)
        return 0;
    unsigned d = dice(8);
    return d == 0 ? -EAGAIN : d < 4 ? 1 + (int)dice(300) : 0;
}

static void test_torn_io(void **state)
{
    (void)state;
    wio_os_fault = moody;
    run_clean();
    wio_os_fault = NULL;
}

static void test_changed_byte(void **state)
{
    (void)state;
    int all = 0;
    for (int from = 0; from < 2; from++)
        for (int64_t at = 3; at < 40000; at += 1171) {
            struct wire w;
            struct flow f[2];
            wire_begin(&w, 0);
            w.spoil[from] = at;
            flow_run(&w, f, 60000);
            /* A changed length is noticed when as many bytes have come; here all bytes stop. */
            bool noticed = f[0].error == -EBADMSG || f[1].error == -EBADMSG;
            if (!noticed && f[from].got == f[from].total)
                fail_msg("byte %d from side %d: not noticed", (int)at, from);
            if (noticed)
                assert_true(strlen(wio_tls_why(w.tls[0])) + strlen(wio_tls_why(w.tls[1])) > 0);
            all += noticed;
            wire_end(&w);
        }
    assert_true(all >= 60); /* of 70: only lengths are late */
}

static void test_other_key(void **state)
{
    (void)state;
    struct wire w;
    struct flow f[2];
    wire_begin(&w, 1);
    flow_run(&w, f, 1000);
    assert_int_equal(f[0].got + f[1].got, 0);
    assert_true(f[0].error == -EBADMSG || f[1].error == -EBADMSG);
    wire_end(&w);
}

static ssize_t recv_soon(struct wio_tls *t, const struct iovec *in)
{
    ssize_t k = -EAGAIN;
    for (int i = 0; i < 5 && k == -EAGAIN; i++)
        k = wio_tls_recvv(t, in, 1);
    return k;
}

/* Who reads the end of the stream in the middle of a record says so to the other one, when only one
 * direction has ended. Neither may take that for a changed byte: it is a broken connection. */
static void test_stream_that_ends_within_a_record(void **state)
{
    (void)state;
    struct wire w;
    struct flow f[2];
    uint8_t buf[100], part[40];
    struct iovec out = {(void *)(uintptr_t) "last words", 10}, in = {buf, sizeof buf};
    wire_begin(&w, 0);
    flow_run(&w, f, 1000); /* keys are agreed on */
    assert_int_equal(f[0].error | f[1].error, 0);
    assert_int_equal(wio_tls_sendv(w.tls[0], &out, 1), 10);
    assert_true(recv(w.mid[0], part, 12, 0) == 12 && send(w.mid[1], part, 12, 0) == 12);
    shutdown(w.mid[1], SHUT_WR);
    assert_int_equal(recv_soon(w.tls[1], &in), 0);
    (void)wio_tls_sendv(w.tls[1], &out, 1); /* what it says of it leaves at the latest now */
    ssize_t n = recv(w.mid[1], buf, sizeof buf, MSG_DONTWAIT);
    assert_true(n > 0 && send(w.mid[0], buf, (size_t)n, 0) == n);
    assert_int_equal(recv_soon(w.tls[0], &in), 0);
    wire_end(&w);
}

/* Forward at most so many bytes from a side. */
static void carry_some(struct wire *w, int from, int64_t *left)
{
    uint8_t buf[5000];
    size_t room = *left < (int64_t)sizeof buf ? (size_t)*left : sizeof buf;
    ssize_t n = room > 0 ? recv(w->mid[from], buf, room, 0) : 0;
    if (n > 0)
        assert_int_equal(send(w->mid[1 - from], buf, (size_t)n, 0), n);
    *left -= n > 0 ? n : 0;
}

/* One direction ends somewhere in what the two say to agree on keys. The side that still hears the
 * other one must not take what that says for another's words. Guard: an alert in clear text reads
 * as "wrong version number" where keys are in use already. */
static void test_agreement_that_ends_in_one_direction(void **state)
{
    (void)state;
    for (int from = 0; from < 2; from++)
        for (int cut = 0; cut < 300; cut += 3) {
            struct wire w;
            uint8_t buf[100];
            struct iovec in = {buf, sizeof buf};
            int64_t left[2] = {INT64_MAX, INT64_MAX};
            wire_begin(&w, 0);
            left[from] = cut;
            for (int i = 0; i < 10; i++) {
                for (int k = 0; k < 2; k++) {
                    ssize_t n = wio_tls_recvv(w.tls[k], &in, 1);
                    assert_true(n == -EAGAIN || n == 0 || n == -EPIPE);
                    carry_some(&w, k, &left[k]);
                }
                if (left[from] == 0)
                    shutdown(w.mid[1 - from], SHUT_WR);
            }
            wire_end(&w);
        }
}

static int failing_fd = -1;

static int no_sending(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    return call == WIO_OS_SEND && fd == failing_fd ? -EPIPE : 0;
}

/* What cannot be written while keys are agreed on never comes: without an error of the reader both
 * would wait for ever. */
static void test_agreement_that_cannot_be_written(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++) {
        struct wire w;
        uint8_t buf[100];
        struct iovec in = {buf, sizeof buf};
        ssize_t k = -EAGAIN;
        wire_begin(&w, 0);
        failing_fd = w.end[who];
        wio_os_fault = no_sending;
        for (int i = 0; i < 10 && k == -EAGAIN; i++) {
            k = wio_tls_recvv(w.tls[who], &in, 1);
            (void)wio_tls_recvv(w.tls[1 - who], &in, 1);
            wire_carry(&w);
        }
        wio_os_fault = NULL;
        assert_int_equal(k, -EPIPE);
        wire_end(&w);
    }
}

static int sends_left;

static int broken_soon(enum wio_os_call call, int fd, size_t bytes)
{
    (void)bytes;
    return call == WIO_OS_SEND && fd == failing_fd && sends_left-- <= 0 ? -EPIPE : 0;
}

/* The first records have left and are read before the socket fails: messages in them were sent, so
 * they must have been counted. Guard: a sendv() that reports the error only. */
static void test_what_left_before_a_failure_was_taken(void **state)
{
    (void)state;
    struct wire w;
    struct flow f[2];
    static uint8_t data[100000];
    uint8_t buf[4096];
    struct iovec out = {data, sizeof data}, in = {buf, sizeof buf};
    wire_begin(&w, 0);
    flow_run(&w, f, 1000); /* keys are agreed on */
    assert_int_equal(f[0].error | f[1].error, 0);
    failing_fd = w.end[0];
    sends_left = 1;
    wio_os_fault = broken_soon;
    ssize_t taken = wio_tls_sendv(w.tls[0], &out, 1), got = 0, k;
    assert_int_equal(wio_tls_failed(w.tls[0]), -EPIPE);
    assert_int_equal(wio_tls_sendv(w.tls[0], &out, 1), -EPIPE);
    wio_os_fault = NULL;
    for (int i = 0; i < 20; i++) {
        wire_carry(&w);
        while ((k = wio_tls_recvv(w.tls[1], &in, 1)) > 0)
            got += k;
    }
    assert_true(got > 0 && got <= taken && taken < (ssize_t)sizeof data);
    wire_end(&w);
}

static void test_goodbye(void **state)
{
    (void)state;
    struct wire w;
    uint8_t buf[100];
    struct iovec out = {(void *)(uintptr_t) "last words", 10}, in = {buf, sizeof buf};
    wire_begin(&w, 0);
    ssize_t k = -EAGAIN;
    for (int i = 0; i < 100 && k == -EAGAIN; i++) {
        k = wio_tls_sendv(w.tls[0], &out, 1);
        (void)wio_tls_recvv(w.tls[1], &in, 1);
        wire_carry(&w);
    }
    assert_int_equal(k, 10);
    wio_tls_bye(w.tls[0]);
    for (int i = 0; i < 10; i++)
        wire_carry(&w);
    k = wio_tls_recvv(w.tls[1], &in, 1);
    if (k == 10) {
        assert_true(wio_tls_over(w.tls[1])); /* the caller has to ask once more */
        k = wio_tls_recvv(w.tls[1], &in, 1);
    }
    assert_int_equal(k, 0);
    assert_int_equal(wio_tls_sendv(w.tls[0], &out, 1), -EPIPE);
    assert_int_equal(wio_tls_sendv(w.tls[1], &out, 1), 10); /* the other way is still open */
    wire_end(&w);
}

int main(void)
{
    if (wio_tls_load(&lib, NULL, 1) == WAITIO_ERR_UNSUPPORTED) {
        printf("skipped: %s\n", wio_last_error());
        return 77;
    }
    wio_tls_unload(lib);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_want_it),
        cmocka_unit_test(test_not_within_the_host),
        cmocka_unit_test(test_plain_meets_encrypted),
        cmocka_unit_test(test_no_libssl),
        cmocka_unit_test(test_bytes_both_ways),
        cmocka_unit_test(test_torn_io),
        cmocka_unit_test(test_changed_byte),
        cmocka_unit_test(test_stream_that_ends_within_a_record),
        cmocka_unit_test(test_agreement_that_ends_in_one_direction),
        cmocka_unit_test(test_agreement_that_cannot_be_written),
        cmocka_unit_test(test_what_left_before_a_failure_was_taken),
        cmocka_unit_test(test_other_key),
        cmocka_unit_test(test_goodbye),
    };
    return cmocka_run_group_tests_name("auth_tls", tests, begin_lib, end_lib);
}
