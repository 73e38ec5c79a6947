/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_auth_handshake.c
 * The handshake as bytes: who may pass, who may not, what both sides say then, and what an attacker
 * who listens, replays, reflects, cuts or changes bytes gets out of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <cmocka.h>

#include "auth_pair.h"

#define KEY_B "fedcba9876543210fedcba9876543210"

static void begin(struct auth_pair *p)
{
    assert_int_equal(auth_pair_begin(p, WIO_AUTH_LINK, WIO_AUTH_LINK), 0);
}

static void assert_failed(const struct wio_auth *a, int code)
{
    assert_int_equal(a->state, WIO_AUTH_FAILED);
    assert_int_equal(a->error, code);
    assert_true(a->text[0] != '\0');
    for (const char *c = a->text; *c != '\0'; c++)
        assert_in_range(*c, 0x20, 0x7e);
    assert_int_equal(wio_auth_want(a), 0);
}

static void assert_says(const struct wio_auth *a, const char *text)
{
    if (strstr(a->text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", a->text, text);
}

static void assert_silent(const struct wio_auth *a)
{
    const void *buf;
    assert_int_equal(wio_auth_output(a, &buf), 0);
}

/* A message of any kind with the right magic. */
static size_t make(uint8_t *msg, unsigned type, unsigned version, size_t length)
{
    memset(msg, 0, WIO_AUTH_MESSAGE_MAX + 16);
    memcpy(msg, HS_MAGIC, HS_MAGIC_BYTES);
    msg[HP_TYPE] = (uint8_t)type;
    msg[HP_VERSION] = (uint8_t)version;
    wio_put16(msg + HP_LENGTH, (uint16_t)length);
    return length;
}

/* ---- good days ---- */

static void both_pass_however_the_bytes_are_cut(void **state)
{
    (void)state;
    for (size_t step = 1; step <= 100; step += step < 10 ? 1 : 30) {
        struct auth_pair p;
        auth_pair_init(&p);
        begin(&p);
        auth_pump(&p, step);
        assert_int_equal(p.d.state, WIO_AUTH_DONE);
        assert_int_equal(p.a.state, WIO_AUTH_DONE);
        assert_int_equal(p.a.peer.rank, 7);
        assert_int_equal(p.a.peer.extra, 70);
        assert_memory_equal(p.a.peer.universe, p.id_d.universe, WIO_UNIVERSE_ID);
        assert_int_equal(p.d.peer.rank, 3);
        assert_int_equal(p.d.peer.extra, 30);
        assert_false(p.a.garbage || p.d.garbage);
        assert_int_equal(wio_auth_want(&p.a), 0);
        assert_int_equal(wio_auth_want(&p.d), 0);
        wio_auth_eof(&p.a, 0);
        assert_int_equal(p.a.state, WIO_AUTH_DONE);
    }
}

static void every_purpose_passes_with_its_like_only(void **state)
{
    (void)state;
    for (int d = WIO_AUTH_BOOT; d <= WIO_AUTH_SHM; d++)
        for (int a = WIO_AUTH_BOOT; a <= WIO_AUTH_SHM; a++) {
            struct auth_pair p;
            auth_pair_init(&p);
            assert_int_equal(
                auth_pair_begin(&p, (enum wio_auth_purpose)d, (enum wio_auth_purpose)a), 0);
            auth_pump(&p, 1000);
            if (d == a) {
                assert_int_equal(p.d.state, WIO_AUTH_DONE);
                assert_int_equal(p.a.state, WIO_AUTH_DONE);
                continue;
            }
            assert_failed(&p.d, WAITIO_ERR_JOIN);
            assert_failed(&p.a, WAITIO_ERR_JOIN);
            assert_true(p.d.refused_by_peer);
            assert_says(&p.d, wio_auth_purpose_name((unsigned)d));
            assert_says(&p.a, wio_auth_purpose_name((unsigned)a));
        }
}

static void the_acceptor_is_done_when_ready_is_written(void **state)
{
    struct auth_pair p;
    const void *buf;
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    auth_carry(&p.a, &p.d, 1000);
    auth_carry(&p.d, &p.a, 1000);
    assert_int_equal(p.a.state, WIO_AUTH_RUNNING);
    assert_int_equal(wio_auth_want(&p.a), 0);
    assert_int_equal(wio_auth_output(&p.a, &buf), HL_READY);
    wio_auth_sent(&p.a, HL_READY - 1);
    assert_int_equal(p.a.state, WIO_AUTH_RUNNING);
    wio_auth_sent(&p.a, 1);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
}

static void nothing_of_the_handshake_stays_in_memory(void **state)
{
    static const uint8_t zeros[WIO_AUTH_MESSAGE_MAX];
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_pump(&p, 1000);
    assert_memory_equal(p.a.nonce_mine, zeros, sizeof p.a.nonce_mine);
    assert_memory_equal(p.a.transcript, zeros, sizeof p.a.transcript);
    assert_memory_equal(p.a.in, zeros, sizeof p.a.in);
    assert_memory_equal(p.d.nonce_peer, zeros, sizeof p.d.nonce_peer);
    wio_secret_wipe(&p.secret_a);
    assert_memory_equal(p.secret_a.key, zeros, sizeof p.secret_a.key);
}

/* ---- secrets ---- */

static void a_wrong_secret_is_said_by_both_sides(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    auth_secret(&p.secret_a, KEY_B, "file /scratch/a.secret");
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
    assert_failed(&p.a, WAITIO_ERR_AUTH);
    assert_says(&p.d, "cookie /home/d/.waitio/cookie");
    assert_says(&p.a, "file /scratch/a.secret");
    assert_says(&p.d, "systems may have different homes: use WAITIO_SECRET_FILE");
    assert_says(&p.a, "systems may have different homes: use WAITIO_SECRET_FILE");
    assert_false(p.d.refused_by_peer);
    assert_true(p.a.refused_by_peer);
}

static void a_refusal_does_not_name_the_other_sides_file(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    auth_secret(&p.secret_a, KEY_B, "file /scratch/a.secret");
    begin(&p);
    auth_pump(&p, 1000);
    assert_null(strstr(p.a.text, "/home/d"));
    assert_null(strstr(p.d.text, "/scratch"));
}

/* A dialer that does not check the acceptor (an attacker) and sends any proof. */
static void a_wrong_proof_is_refused_by_the_acceptor(void **state)
{
    struct auth_pair p;
    uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    auth_feed(&p.a, msg, make(msg, HS_PROOF_MSG, WIO_AUTH_VERSION, HL_PROOF), 1000);
    assert_failed(&p.a, WAITIO_ERR_AUTH);
    assert_false(p.a.refused_by_peer);
    assert_says(&p.a, "/scratch/a.secret");
    wio_auth_sent(&p.a, HL_CHALLENGE);
    auth_carry(&p.a, &p.d, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
    assert_true(p.d.refused_by_peer);
    assert_says(&p.d, "/home/d/.waitio/cookie");
}

static void secrets_that_differ_in_any_byte_or_in_length_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i <= 33; i++) {
        struct auth_pair p;
        auth_pair_init(&p);
        if (i < 32)
            p.secret_a.key[i] ^= 1;
        else if (i == 32)
            p.secret_a.key[p.secret_a.len++] = 'x';
        else
            p.secret_a.len--;
        begin(&p);
        auth_pump(&p, 1000);
        assert_failed(&p.a, WAITIO_ERR_AUTH);
        assert_failed(&p.d, WAITIO_ERR_AUTH);
    }
}

static void the_longest_secret_and_origin_fit(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    memset(p.secret_a.key, 'k', WIO_SECRET_MAX);
    p.secret_a.len = WIO_SECRET_MAX;
    memset(p.secret_a.origin, 'o', sizeof p.secret_a.origin - 1);
    memcpy(p.secret_a.origin + sizeof p.secret_a.origin - 4, "end", 3);
    p.secret_d = p.secret_a;
    begin(&p);
    auth_pump(&p, 1000);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
    p.secret_d.key[255] = 'x';
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.a, WAITIO_ERR_AUTH);
    assert_says(&p.a, "oooend; systems may");
    assert_says(&p.d, "oooend); systems may have different homes: use WAITIO_SECRET_FILE");
}

static void none_meets_none(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    p.secret_a.len = p.secret_d.len = 0;
    begin(&p);
    auth_pump(&p, 3);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
    assert_int_equal(p.d.state, WIO_AUTH_DONE);
}

static void none_and_a_secret_tell_each_other(void **state)
{
    (void)state;
    for (int dialer_has = 0; dialer_has <= 1; dialer_has++) {
        struct auth_pair p;
        auth_pair_init(&p);
        if (dialer_has)
            p.secret_a.len = 0;
        else
            p.secret_d.len = 0;
        begin(&p);
        auth_pump(&p, 1000);
        assert_failed(&p.a, WAITIO_ERR_AUTH);
        assert_failed(&p.d, WAITIO_ERR_AUTH);
        assert_says(&p.a, "WAITIO_SECRET=none");
        assert_says(&p.d, "WAITIO_SECRET=none");
        assert_says(dialer_has ? &p.d : &p.a, dialer_has ? "/home/d" : "/scratch/a.secret");
    }
}

/* Whoever sets the flag on the way does not get a proof under no key accepted. */
static void the_none_flag_cannot_be_forged(void **state)
{
    struct auth_pair p;
    uint8_t buf[640];
    (void)state;
    auth_pair_init(&p);
    p.secret_a.len = 0;
    begin(&p);
    size_t n = auth_take(&p.d, buf);
    buf[HG_FLAGS] |= HS_FLAG_NONE;
    auth_feed(&p.a, buf, n, 1000);
    n = auth_take(&p.a, buf);
    assert_int_equal(n, HL_CHALLENGE);
    buf[HG_FLAGS] = 0;
    auth_feed(&p.d, buf, n, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
}

/* ---- identities ---- */

static void another_universe_is_refused_before_any_proof(void **state)
{
    struct auth_pair p;
    const void *buf;
    (void)state;
    auth_pair_init(&p);
    p.id_a.universe[15] ^= 1;
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    assert_failed(&p.a, WAITIO_ERR_JOIN);
    assert_true(wio_auth_output(&p.a, &buf) <= HR_MAX);
    assert_int_equal(((const uint8_t *)buf)[HP_TYPE], HS_REFUSE);
    auth_carry(&p.a, &p.d, 1000);
    assert_failed(&p.d, WAITIO_ERR_JOIN);
    assert_says(&p.d, "another run");
}

static void an_acceptor_of_another_rank_is_noticed(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    p.id_a.rank = 4;
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.d, WAITIO_ERR_PEER);
    assert_says(&p.d, "called rank 3, but rank 4 answers");
    assert_failed(&p.a, WAITIO_ERR_PEER);
}

struct verdict {
    int unproven, proven, asked_unproven, asked_proven;
    struct wio_auth_id seen;
    const char *why;
};

static int judge(void *arg, const struct wio_auth_id *peer, bool proven, char *why, size_t nwhy)
{
    struct verdict *v = arg;
    v->seen = *peer;
    if (proven)
        v->asked_proven++;
    else
        v->asked_unproven++;
    wio_text(why, nwhy, "%s", v->why);
    return proven ? v->proven : v->unproven;
}

static void the_admit_function_decides_twice(void **state)
{
    struct auth_pair p;
    struct verdict v = {.why = "unused"};
    (void)state;
    auth_pair_init(&p);
    p.admit = judge;
    p.admit_arg = &v;
    begin(&p);
    auth_pump(&p, 1000);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
    assert_int_equal(v.asked_unproven, 1);
    assert_int_equal(v.asked_proven, 1);
    assert_int_equal(v.seen.rank, 7);
    assert_int_equal(v.seen.extra, 70);

    v = (struct verdict){.unproven = WAITIO_ERR_LIMIT, .why = "too many callers"};
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.d, WAITIO_ERR_LIMIT);
    assert_failed(&p.a, WAITIO_ERR_LIMIT);
    assert_says(&p.d, "too many callers");
    assert_int_equal(v.asked_proven, 0);

    v = (struct verdict){.proven = WAITIO_ERR_JOIN, .why = "rank 7 has come already"};
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.d, WAITIO_ERR_JOIN);
    assert_says(&p.d, "rank 7 has come already");
    assert_says(&p.a, "rank 7 has come already");
}

/* A stranger without the secret never hears the verdict on a proven peer. */
static void facts_are_for_proven_peers_only(void **state)
{
    struct auth_pair p;
    struct verdict v = {.proven = WAITIO_ERR_JOIN, .why = "fact"};
    (void)state;
    auth_pair_init(&p);
    p.admit = judge;
    p.admit_arg = &v;
    auth_secret(&p.secret_d, KEY_B, "stranger");
    begin(&p);
    auth_pump(&p, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
    assert_int_equal(v.asked_proven, 0);
}

/* ---- versions ---- */

static void another_version_is_refused_naming_both(void **state)
{
    static const unsigned others[] = {0, 2, 9, 255};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(others); i++) {
        struct auth_pair p;
        uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16], out[640];
        char theirs[40];
        auth_pair_init(&p);
        begin(&p);
        /* a HELLO of another length and content: only the prefix is ours to understand */
        size_t n = make(msg, HS_HELLO, others[i], 8 + 39 * i);
        assert_int_equal(auth_feed(&p.a, msg, n, 5), 0);
        assert_failed(&p.a, WAITIO_ERR_VERSION);
        wio_text(theirs, sizeof theirs, "version %u", others[i]);
        assert_says(&p.a, theirs);
        assert_says(&p.a, "version 1");
        n = auth_take(&p.a, out);
        assert_int_equal(out[HP_TYPE], HS_REFUSE);
        assert_int_equal(out[HP_VERSION], WIO_AUTH_VERSION);
        assert_int_equal(wio_get16(out + HP_LENGTH), n);
    }
}

static void a_dialer_understands_the_refusal_of_another_version(void **state)
{
    static const char text[] = "this side speaks handshake version 2, yours version 1";
    struct auth_pair p;
    uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    size_t n = make(msg, HS_REFUSE, 2, HR_TEXT + sizeof text - 1);
    wio_put16(msg + HR_CODE, (uint16_t)-WAITIO_ERR_VERSION);
    wio_put16(msg + HR_LENGTH, sizeof text - 1);
    memcpy(msg + HR_TEXT, text, sizeof text - 1);
    auth_feed(&p.d, msg, n, 1);
    assert_failed(&p.d, WAITIO_ERR_VERSION);
    assert_says(&p.d, "the other side speaks handshake version 2, this side version 1");
    assert_true(p.d.refused_by_peer);
}

static void unknown_flags_are_refused_unknown_offers_are_not(void **state)
{
    struct auth_pair p;
    uint8_t buf[640];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    size_t n = auth_take(&p.d, buf);
    buf[HG_FLAGS] = 0x80;
    auth_feed(&p.a, buf, n, 1000);
    assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
    begin(&p);
    n = auth_take(&p.d, buf);
    buf[HG_FEATURES] = 2; /* of a release to come */
    buf[HG_RESERVED] = 1;
    auth_feed(&p.a, buf, n, 1000);
    assert_int_equal(p.a.state, WIO_AUTH_RUNNING);
    n = auth_take(&p.a, buf);
    assert_int_equal(n, HL_CHALLENGE);
    assert_int_equal(wio_get32(buf + HG_FEATURES), 0); /* not chosen */
}

/* ---- strangers ---- */

static void garbage_is_closed_silently(void **state)
{
    static const char *const strangers[] = {"GET / HTTP/1.1\r\n\r\n",
                                            "SSH-2.0-OpenSSH_9.2\r\n",
                                            "W",
                                            "WIOX....",
                                            "\x16\x03\x01\x02",
                                            ""};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(strangers); i++) {
        struct auth_pair p;
        const uint8_t *bytes = (const uint8_t *)strangers[i];
        size_t n = strlen(strangers[i]);
        auth_pair_init(&p);
        begin(&p);
        auth_feed(&p.a, bytes, n, 1);
        if (n < 2) { /* nothing yet that is wrong: it ends when the stranger leaves */
            assert_int_equal(p.a.state, WIO_AUTH_RUNNING);
            wio_auth_eof(&p.a, 0);
            assert_int_equal(p.a.garbage, n == 0);
            assert_failed(&p.a, WAITIO_ERR_PEER);
        } else {
            assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
            assert_true(p.a.garbage);
        }
        assert_silent(&p.a);
    }
}

static void the_first_wrong_byte_ends_it(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    wio_auth_input(&p.a, "G", 1);
    assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
    assert_true(p.a.garbage);
}

/* Whoever began well and then talks nonsense is no stranger, and is told. */
static void nonsense_after_a_hello_is_a_protocol_error(void **state)
{
    struct auth_pair p;
    const void *buf;
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    wio_auth_sent(&p.a, HL_CHALLENGE);
    wio_auth_input(&p.a, "G", 1);
    assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
    assert_false(p.a.garbage);
    assert_true(wio_auth_output(&p.a, &buf) > HR_TEXT);
}

static void a_dialer_says_that_another_service_answers(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_feed(&p.d, (const uint8_t *)"SSH-2.0-x\r\n", 11, 1000);
    assert_failed(&p.d, WAITIO_ERR_PROTOCOL);
    assert_true(p.d.garbage);
    assert_says(&p.d, "check the host and the port");
}

static void impossible_messages_are_refused(void **state)
{
    static const struct {
        unsigned type, length;
    } bad[] = {{HS_HELLO, 0},
               {HS_HELLO, 7},
               {HS_HELLO, HL_HELLO - 1},
               {HS_HELLO, HL_HELLO + 1},
               {HS_HELLO, 321},
               {HS_HELLO, 65535},
               {HS_CHALLENGE, HL_CHALLENGE},
               {HS_PROOF_MSG, HL_PROOF},
               {HS_READY, HL_READY},
               {HS_REFUSE, 8},
               {HS_REFUSE, 11},
               {HS_REFUSE, 65535},
               {0, 8},
               {6, 8},
               {255, 56}};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        struct auth_pair p;
        uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16];
        auth_pair_init(&p);
        begin(&p);
        make(msg, bad[i].type, WIO_AUTH_VERSION, bad[i].length);
        auth_feed(&p.a, msg, sizeof msg, 1);
        assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
        assert_false(p.a.garbage);
    }
}

static void more_than_wanted_is_refused_not_written(void **state)
{
    struct auth_pair p;
    uint8_t buf[4096];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    memset(buf, 'W', sizeof buf);
    assert_int_equal(wio_auth_input(&p.a, buf, sizeof buf), WIO_AUTH_FAILED);
    assert_failed(&p.a, WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_auth_input(&p.a, buf, sizeof buf), WIO_AUTH_FAILED);
}

static void nothing_is_read_past_the_handshake(void **state)
{
    struct auth_pair p;
    uint8_t buf[640 + 5];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    auth_carry(&p.a, &p.d, 1000);
    auth_carry(&p.d, &p.a, 1000);
    size_t n = auth_take(&p.a, buf);
    memcpy(buf + n, "FRAME", 5);
    assert_int_equal(auth_feed(&p.d, buf, n + 5, 1000), 5);
    assert_int_equal(p.d.state, WIO_AUTH_DONE);
}

static void every_truncation_fails_with_a_text(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < HL_CHALLENGE; cut++) {
        struct auth_pair p;
        uint8_t buf[640];
        auth_pair_init(&p);
        begin(&p);
        size_t n = auth_take(&p.d, buf);
        if (cut < n) {
            struct wio_auth a = p.a;
            auth_feed(&a, buf, cut, 1000);
            wio_auth_eof(&a, cut % 2 ? -ECONNRESET : 0);
            assert_failed(&a, WAITIO_ERR_PEER);
            assert_silent(&a);
            assert_int_equal(a.garbage, cut == 0);
        }
        auth_feed(&p.a, buf, n, 1000);
        auth_take(&p.a, buf);
        auth_feed(&p.d, buf, cut, 1000);
        wio_auth_eof(&p.d, 0);
        assert_failed(&p.d, WAITIO_ERR_PEER);
        assert_says(&p.d, "CHALLENGE");
        wio_auth_eof(&p.a, -ETIMEDOUT);
        assert_failed(&p.a, WAITIO_ERR_TIMEOUT);
        assert_says(&p.a, "PROOF");
    }
}

/* At each step of the acceptor: the dialer hears that it may come again. */
static void who_is_turned_away_hears_it(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        struct auth_pair p;
        uint8_t buf[640];
        auth_pair_init(&p);
        begin(&p);
        for (int i = 0; i < turn; i++) {
            size_t n = auth_take(i % 2 ? &p.a : &p.d, buf);
            auth_feed(i % 2 ? &p.d : &p.a, buf, n, 1000);
        }
        wio_auth_turn_away(&p.a, "no room");
        assert_failed(&p.a, WAITIO_ERR_BUSY);
        assert_false(p.a.garbage);
        auth_pump(&p, 1000);
        assert_failed(&p.d, WAITIO_ERR_BUSY);
        assert_true(p.d.refused_by_peer);
        assert_says(&p.d, "no room");
        wio_auth_turn_away(&p.a, "again");
        assert_silent(&p.a);
    }
    struct auth_pair p; /* with READY on its way, and at the end, it is too late for that */
    uint8_t buf[640];
    auth_pair_init(&p);
    begin(&p);
    for (int i = 0; i < 3; i++) {
        size_t n = auth_take(i % 2 ? &p.a : &p.d, buf);
        auth_feed(i % 2 ? &p.d : &p.a, buf, n, 1000);
    }
    wio_auth_turn_away(&p.a, "no room");
    auth_pump(&p, 1000);
    assert_int_equal(p.d.state, WIO_AUTH_DONE);
    wio_auth_turn_away(&p.a, "no room");
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
}

/* ---- attackers ---- */

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    /* 0: HELLO, 1: CHALLENGE, 2: PROOF, 3: READY */
    for (int which = 0; which < 4; which++)
        for (size_t at = 0; at < HL_CHALLENGE; at++) {
            struct auth_pair p;
            auth_pair_init(&p);
            begin(&p);
            for (int turn = 0; turn < 4; turn++) {
                struct wio_auth *from = turn % 2 ? &p.a : &p.d, *to = turn % 2 ? &p.d : &p.a;
                uint8_t buf[640];
                size_t n = auth_take(from, buf);
                if (turn == which && at < n)
                    buf[at] ^= 0x10;
                else if (turn == which)
                    goto next;
                auth_feed(to, buf, n, 1000);
            }
            /* the side that read the changed byte, or the one after it, did not pass */
            assert_int_not_equal(p.d.state, WIO_AUTH_DONE);
            if (which < 3)
                assert_int_not_equal(p.a.state, WIO_AUTH_DONE);
        next:;
        }
}

static void a_replayed_dialer_is_refused(void **state)
{
    struct auth_pair p;
    uint8_t hello[640], proof[640];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    size_t nhello = auth_take(&p.d, hello);
    auth_feed(&p.a, hello, nhello, 1000);
    auth_carry(&p.a, &p.d, 1000);
    size_t nproof = auth_take(&p.d, proof);
    auth_feed(&p.a, proof, nproof, 1000);
    assert_int_equal(auth_take(&p.a, (uint8_t[640]){0}), HL_READY);
    assert_int_equal(p.a.state, WIO_AUTH_DONE);
    begin(&p); /* the same acceptor, asked again with the recorded bytes */
    auth_feed(&p.a, hello, nhello, 1000);
    auth_take(&p.a, (uint8_t[640]){0});
    auth_feed(&p.a, proof, nproof, 1000);
    assert_failed(&p.a, WAITIO_ERR_AUTH);
}

static void a_replayed_acceptor_is_refused(void **state)
{
    struct auth_pair p;
    uint8_t challenge[640];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    auth_carry(&p.d, &p.a, 1000);
    size_t n = auth_take(&p.a, challenge);
    begin(&p);
    auth_feed(&p.d, challenge, n, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
}

/* The attacker knows nothing and sends back to each side what that side said. */
static void reflections_are_refused(void **state)
{
    struct auth_pair p;
    uint8_t buf[640], own[640];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    size_t n = auth_take(&p.d, buf);
    auth_feed(&p.d, buf, n, 1000); /* HELLO to its own dialer */
    assert_failed(&p.d, WAITIO_ERR_PROTOCOL);

    begin(&p);
    n = auth_take(&p.d, buf);
    auth_feed(&p.a, buf, n, 1000);
    auth_take(&p.a, own);
    make(buf, HS_PROOF_MSG, WIO_AUTH_VERSION, HL_PROOF); /* the acceptor's proof as the dialer's */
    memcpy(buf + HP_END, own + HG_END, HS_PROOF);
    auth_feed(&p.a, buf, HL_PROOF, 1000);
    assert_failed(&p.a, WAITIO_ERR_AUTH);

    begin(&p);
    n = auth_take(&p.d, buf);
    buf[HP_TYPE] = HS_CHALLENGE; /* the dialer's own greeting dressed up as a challenge */
    wio_put16(buf + HP_LENGTH, HL_CHALLENGE);
    memset(buf + n, 0, HS_PROOF);
    auth_feed(&p.d, buf, HL_CHALLENGE, 1000);
    assert_failed(&p.d, WAITIO_ERR_AUTH);
    assert_says(&p.d, "reflected");
}

/* Both proofs of one handshake differ, and no two handshakes have equal ones. */
static void proofs_differ_by_role_and_by_nonce(void **state)
{
    struct auth_pair p;
    uint8_t challenge[2][640], proof[640];
    (void)state;
    auth_pair_init(&p);
    for (int i = 0; i < 2; i++) {
        begin(&p);
        auth_carry(&p.d, &p.a, 1000);
        size_t n = auth_take(&p.a, challenge[i]);
        auth_feed(&p.d, challenge[i], n, 1000);
        auth_take(&p.d, proof);
        assert_memory_not_equal(challenge[i] + HG_END, proof + HP_END, HS_PROOF);
    }
    assert_memory_not_equal(challenge[0] + HG_END, challenge[1] + HG_END, HS_PROOF);
    assert_memory_not_equal(challenge[0] + HG_NONCE, challenge[1] + HG_NONCE, HS_NONCE);
}

static void chain(uint8_t hash[HS_HASH], const uint8_t *bytes, size_t n)
{
    uint8_t all[HS_HASH + 640];
    memcpy(all, hash, HS_HASH);
    memcpy(all + HS_HASH, bytes, n);
    assert_int_equal(EVP_Digest(all, HS_HASH + n, hash, NULL, EVP_sha256(), NULL), 1);
}

static void assert_proof(const struct wio_secret *s, const char *role, const uint8_t hash[HS_HASH],
                         const uint8_t *proof)
{
    uint8_t all[32 + HS_HASH] = {0}, expected[HS_PROOF];
    memcpy(all, role, strlen(role));
    memcpy(all + 32, hash, HS_HASH);
    assert_non_null(HMAC(EVP_sha256(), s->key, (int)s->len, all, sizeof all, expected, NULL));
    assert_memory_equal(proof, expected, HS_PROOF);
}

/* Computed a second time here, from docs/design/handshake.md: another program could take part. */
static void proofs_are_what_the_design_says(void **state)
{
    (void)state;
    for (int none = 0; none <= 1; none++) {
        struct auth_pair p;
        uint8_t buf[640], hash[HS_HASH] = {0};
        auth_pair_init(&p);
        if (none)
            p.secret_d.len = p.secret_a.len = 0; /* the key stays there: it must not matter */
        begin(&p);
        size_t n = auth_take(&p.d, buf);
        chain(hash, buf, n);
        auth_feed(&p.a, buf, n, 1000);
        n = auth_take(&p.a, buf);
        chain(hash, buf, HG_END);
        assert_proof(&p.secret_a, "WaitIO handshake acceptor", hash, buf + HG_END);
        chain(hash, buf + HG_END, HS_PROOF);
        auth_feed(&p.d, buf, n, 1000);
        assert_int_equal(auth_take(&p.d, buf), HL_PROOF);
        assert_proof(&p.secret_a, "WaitIO handshake dialer", hash, buf + HP_END);
    }
}

static size_t make_refusal(uint8_t *msg, unsigned code, const void *text, size_t n, unsigned said)
{
    size_t length = make(msg, HS_REFUSE, WIO_AUTH_VERSION, HR_TEXT + n);
    wio_put16(msg + HR_CODE, (uint16_t)code);
    wio_put16(msg + HR_LENGTH, (uint16_t)said);
    memcpy(msg + HR_TEXT, text, n);
    return length;
}

static void text_from_the_peer_is_made_harmless(void **state)
{
    static const char nasty[] = "a\x1b[2Jb\0c\nd\xff\x7f%s%n";
    struct auth_pair p;
    uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16];
    (void)state;
    auth_pair_init(&p);
    begin(&p);
    size_t n = make_refusal(msg, 11, nasty, sizeof nasty - 1, sizeof nasty - 1);
    auth_feed(&p.d, msg, n, 1000);
    assert_failed(&p.d, WAITIO_ERR_JOIN);
    assert_says(&p.d, "refused: a?[2Jb?c?d??%s%n");
}

static void the_length_of_a_refusal_is_not_believed(void **state)
{
    struct auth_pair p;
    uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16], text[WIO_AUTH_MESSAGE_MAX];
    (void)state;
    memset(text, 'x', sizeof text);
    auth_pair_init(&p);
    begin(&p);
    auth_feed(&p.d, msg, make_refusal(msg, 11, "short", 5, 65535), 1000);
    assert_failed(&p.d, WAITIO_ERR_JOIN);
    assert_string_equal(p.d.text, "the other side refused: short");
    begin(&p);
    auth_feed(&p.d, msg, make_refusal(msg, 11, text, WIO_AUTH_MESSAGE_MAX - HR_TEXT, 308), 1000);
    assert_failed(&p.d, WAITIO_ERR_JOIN);
    assert_int_equal(strlen(p.d.text), strlen("the other side refused: ") + WIO_AUTH_TEXT_MAX);
}

static void unknown_codes_of_a_refusal_become_protocol(void **state)
{
    static const unsigned codes[] = {0, -WAITIO_ERR_LAST + 1, 1000, 65535};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(codes); i++) {
        struct auth_pair p;
        uint8_t msg[WIO_AUTH_MESSAGE_MAX + 16];
        auth_pair_init(&p);
        begin(&p);
        wio_auth_sent(&p.d, HL_HELLO);
        auth_feed(&p.d, msg, make_refusal(msg, codes[i], "later", 5, 5), 1000);
        assert_failed(&p.d, WAITIO_ERR_PROTOCOL);
        assert_silent(&p.d); /* a refusal is never answered */
    }
}

/* ---- misuse ---- */

static void wrong_arguments_are_refused(void **state)
{
    struct auth_pair p;
    (void)state;
    auth_pair_init(&p);
    assert_int_equal(
        wio_auth_start(&p.d, WIO_AUTH_DIAL, WIO_AUTH_LINK, &p.secret_d, &p.id_d, NULL, NULL, NULL),
        WAITIO_ERR_ARG);
    assert_int_equal(
        wio_auth_start(&p.a, WIO_AUTH_ACCEPT, WIO_AUTH_LINK, NULL, &p.id_a, NULL, NULL, NULL),
        WAITIO_ERR_ARG);
    p.secret_a.len = WIO_SECRET_MAX + 1;
    assert_int_equal(wio_auth_start(&p.a, WIO_AUTH_ACCEPT, WIO_AUTH_LINK, &p.secret_a, &p.id_a,
                                    NULL, NULL, NULL),
                     WAITIO_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_pass_however_the_bytes_are_cut),
        cmocka_unit_test(every_purpose_passes_with_its_like_only),
        cmocka_unit_test(the_acceptor_is_done_when_ready_is_written),
        cmocka_unit_test(nothing_of_the_handshake_stays_in_memory),
        cmocka_unit_test(a_wrong_secret_is_said_by_both_sides),
        cmocka_unit_test(a_refusal_does_not_name_the_other_sides_file),
        cmocka_unit_test(a_wrong_proof_is_refused_by_the_acceptor),
        cmocka_unit_test(secrets_that_differ_in_any_byte_or_in_length_differ),
        cmocka_unit_test(the_longest_secret_and_origin_fit),
        cmocka_unit_test(none_meets_none),
        cmocka_unit_test(none_and_a_secret_tell_each_other),
        cmocka_unit_test(the_none_flag_cannot_be_forged),
        cmocka_unit_test(another_universe_is_refused_before_any_proof),
        cmocka_unit_test(an_acceptor_of_another_rank_is_noticed),
        cmocka_unit_test(the_admit_function_decides_twice),
        cmocka_unit_test(facts_are_for_proven_peers_only),
        cmocka_unit_test(another_version_is_refused_naming_both),
        cmocka_unit_test(a_dialer_understands_the_refusal_of_another_version),
        cmocka_unit_test(unknown_flags_are_refused_unknown_offers_are_not),
        cmocka_unit_test(garbage_is_closed_silently),
        cmocka_unit_test(the_first_wrong_byte_ends_it),
        cmocka_unit_test(nonsense_after_a_hello_is_a_protocol_error),
        cmocka_unit_test(a_dialer_says_that_another_service_answers),
        cmocka_unit_test(impossible_messages_are_refused),
        cmocka_unit_test(more_than_wanted_is_refused_not_written),
        cmocka_unit_test(nothing_is_read_past_the_handshake),
        cmocka_unit_test(every_truncation_fails_with_a_text),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(a_replayed_dialer_is_refused),
        cmocka_unit_test(a_replayed_acceptor_is_refused),
        cmocka_unit_test(reflections_are_refused),
        cmocka_unit_test(proofs_differ_by_role_and_by_nonce),
        cmocka_unit_test(proofs_are_what_the_design_says),
        cmocka_unit_test(text_from_the_peer_is_made_harmless),
        cmocka_unit_test(who_is_turned_away_hears_it),
        cmocka_unit_test(the_length_of_a_refusal_is_not_believed),
        cmocka_unit_test(unknown_codes_of_a_refusal_become_protocol),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
