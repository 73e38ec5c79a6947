/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handshake.c
 * The state machine of the handshake: bytes in, bytes out. No input is trusted before the proof,
 * and no facts about the run are sent before it. See docs/design/handshake.md.
 */
#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>

#include "auth/auth.h"
#include "auth/handshake_wire.h"
#include "os/os.h"

/* A step is the message waited for, or one of these. */
enum hs_step { STEP_FLUSH = 16, STEP_END = 17 };

static_assert(HG_NONCE + HS_NONCE == HG_END, "greeting has no tail");
static_assert(HG_UNIVERSE + WIO_UNIVERSE_ID == HG_RANK, "universe field");
static_assert(HL_HELLO == 56 && HL_CHALLENGE == 88 && HL_PROOF == 40 && HL_READY == 8,
              "sizes of version 1");
static_assert(HR_MAX <= WIO_AUTH_MESSAGE_MAX, "a refusal fits the buffers");
static_assert((int)HL_CHALLENGE + (int)HR_MAX <= WIO_AUTH_MESSAGE_MAX,
              "a refusal fits behind any unsent message");
static_assert(sizeof(struct wio_auth) <= 1600, "a stranger costs little memory");

#define REMEDY "systems may have different homes: use WAITIO_SECRET_FILE"

const char *wio_auth_purpose_name(unsigned purpose)
{
    static const char *const names[] = {
        [WIO_AUTH_BOOT] = "rendezvous",   [WIO_AUTH_LEADER] = "host leader",
        [WIO_AUTH_LINK] = "message link", [WIO_AUTH_SHM] = "shared memory",
        [WIO_AUTH_FILE] = "files",        [WIO_AUTH_RELAY] = "relay"};
    return purpose < WIO_ARRAY_LEN(names) && names[purpose] != NULL ? names[purpose] : "unknown";
}

static const char *type_name(unsigned type)
{
    static const char *const names[] = {[HS_HELLO] = "HELLO",
                                        [HS_CHALLENGE] = "CHALLENGE",
                                        [HS_PROOF_MSG] = "PROOF",
                                        [HS_READY] = "READY",
                                        [HS_REFUSE] = "REFUSE"};
    return type < WIO_ARRAY_LEN(names) && names[type] != NULL ? names[type] : "unknown";
}

static unsigned type_length(unsigned type)
{
    static const uint8_t bytes[] = {[HS_HELLO] = HL_HELLO,
                                    [HS_CHALLENGE] = HL_CHALLENGE,
                                    [HS_PROOF_MSG] = HL_PROOF,
                                    [HS_READY] = HL_READY};
    return type < WIO_ARRAY_LEN(bytes) ? bytes[type] : 0;
}

/* ---- text ---- */

static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

/* Source of this side's secret; the end of a long path is more useful than its beginning. */
static void own_secret(const struct wio_auth *a, char *buf, size_t n)
{
    if (a->secret->len == 0) {
        wio_text(buf, n, "WAITIO_SECRET=none");
        return;
    }
    size_t len = strlen(a->secret->origin);
    if (len < n)
        wio_text(buf, n, "%s", a->secret->origin);
    else
        wio_text(buf, n, "...%s", a->secret->origin + (len + 4 - n));
}

/* ---- output ---- */

static void put_prefix(uint8_t *msg, enum hs_type type, size_t length)
{
    memcpy(msg + HP_MAGIC, HS_MAGIC, HS_MAGIC_BYTES);
    msg[HP_TYPE] = (uint8_t)type;
    msg[HP_VERSION] = WIO_AUTH_VERSION;
    wio_put16(msg + HP_LENGTH, (uint16_t)length);
}

static void emit(struct wio_auth *a, const uint8_t *msg, size_t n)
{
    if (a->out_off == a->out_len)
        a->out_off = a->out_len = 0;
    if (n > sizeof a->out - a->out_len)
        return; /* cannot be: see the static_assert; a lost refusal would be harmless */
    memcpy(a->out + a->out_len, msg, n);
    a->out_len = (uint16_t)(a->out_len + n);
}

static void emit_refusal(struct wio_auth *a, int code, const char *text)
{
    uint8_t msg[HR_MAX];
    size_t n = strlen(text);
    if (n > WIO_AUTH_TEXT_MAX)
        n = WIO_AUTH_TEXT_MAX;
    put_prefix(msg, HS_REFUSE, HR_TEXT + n);
    wio_put16(msg + HR_CODE, (uint16_t)-code);
    wio_put16(msg + HR_LENGTH, (uint16_t)n);
    memcpy(msg + HR_TEXT, text, n);
    emit(a, msg, HR_TEXT + n);
}

/* ---- ends ---- */

static void forget(struct wio_auth *a)
{
    OPENSSL_cleanse(a->in, sizeof a->in);
    OPENSSL_cleanse(a->nonce_mine, sizeof a->nonce_mine);
    OPENSSL_cleanse(a->nonce_peer, sizeof a->nonce_peer);
    OPENSSL_cleanse(a->transcript, sizeof a->transcript);
    a->step = STEP_END;
}

static void finish(struct wio_auth *a)
{
    a->state = WIO_AUTH_DONE;
    forget(a);
}

/* End in failure; @p tell goes to the other side, NULL = nothing does. */
static void fail(struct wio_auth *a, int code, const char *tell, const char *fmt, ...)
    WIO_PRINTF(4, 5);
static void fail(struct wio_auth *a, int code, const char *tell, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->text, sizeof a->text, fmt, ap);
    va_end(ap);
    make_printable(a->text);
    a->error = code;
    a->state = WIO_AUTH_FAILED;
    OPENSSL_cleanse(a->tls_key, sizeof a->tls_key);
    if (tell != NULL)
        emit_refusal(a, code, tell);
    forget(a);
}

static void fail_secret(struct wio_auth *a)
{
    char own[200];
    own_secret(a, own, sizeof own);
    fail(a, WAITIO_ERR_AUTH, "secrets differ",
         "the other side does not know this side's secret (%s); " REMEDY, own);
}

static void fail_crypto(struct wio_auth *a)
{
    fail(a, WAITIO_ERR_SYSTEM, "internal error",
         "libcrypto cannot compute SHA-256 or HMAC-SHA256 (is a policy forbidding it?)");
}

/* ---- greetings: HELLO and CHALLENGE ---- */

static void put_greeting(const struct wio_auth *a, uint8_t *msg)
{
    msg[HG_PURPOSE] = a->purpose;
    msg[HG_FLAGS] = a->secret->len == 0 ? HS_FLAG_NONE : 0;
    wio_put16(msg + HG_RESERVED, 0);
    wio_put32(msg + HG_FEATURES, a->wants_tls ? HS_FEATURE_TLS : 0);
    memcpy(msg + HG_UNIVERSE, a->mine.universe, WIO_UNIVERSE_ID);
    wio_put32(msg + HG_RANK, a->mine.rank);
    wio_put32(msg + HG_EXTRA, a->mine.extra);
    memcpy(msg + HG_NONCE, a->nonce_mine, HS_NONCE);
}

/* One side has a secret, the other none: both report it, each in its own words. @return false =
 * failed */
static bool check_flags(struct wio_auth *a)
{
    unsigned flags = a->in[HG_FLAGS];
    bool none = a->secret->len == 0, peer_none = (flags & HS_FLAG_NONE) != 0;
    char own[200];
    if ((flags & ~HS_FLAG_NONE) != 0) {
        fail(a, WAITIO_ERR_PROTOCOL, "unknown flags",
             "the other side's %s has flags 0x%x, which this version does not know",
             type_name(a->in[HP_TYPE]), flags);
        return false;
    }
    if (none == peer_none)
        return true;
    own_secret(a, own, sizeof own);
    if (none)
        fail(a, WAITIO_ERR_AUTH, "this side runs with WAITIO_SECRET=none, yours has a secret",
             "this side runs with WAITIO_SECRET=none, the other side has a secret; set "
             "WAITIO_SECRET "
             "for all programs of the run or for none; " REMEDY);
    else
        fail(a, WAITIO_ERR_AUTH, "this side demands the secret, yours runs with WAITIO_SECRET=none",
             "the other side runs with WAITIO_SECRET=none, this side has a secret (%s); set "
             "WAITIO_SECRET for all programs of the run or for none; " REMEDY,
             own);
    return false;
}

/* One side encrypts, the other does not: no side gives way. @return false = failed */
static bool check_encryption(struct wio_auth *a)
{
    bool theirs = (wio_get32(a->in + HG_FEATURES) & HS_FEATURE_TLS) != 0;
    char tell[WIO_AUTH_TEXT_MAX];
    if (theirs == a->wants_tls)
        return true;
    wio_text(tell, sizeof tell, "this side runs with WAITIO_TLS=%d, yours with WAITIO_TLS=%d",
             a->wants_tls, theirs);
    fail(a, WAITIO_ERR_CONFIG, tell,
         "this side runs with WAITIO_TLS=%d, the other side with WAITIO_TLS=%d; set WAITIO_TLS=1 "
         "for all programs of the run (and for waitio-serv), or for none",
         a->wants_tls, theirs);
    return false;
}

/* The own nonce in a message of the peer is a reflection. @return false = failed */
static bool take_nonce(struct wio_auth *a)
{
    memcpy(a->nonce_peer, a->in + HG_NONCE, HS_NONCE);
    if (memcmp(a->nonce_peer, a->nonce_mine, HS_NONCE) != 0)
        return true;
    fail(a, WAITIO_ERR_AUTH, "reflected", "this side's own nonce came back: a reflected handshake");
    return false;
}

/* @return false = failed */
static bool ask_admission(struct wio_auth *a, bool proven)
{
    char why[WIO_AUTH_TEXT_MAX + 1] = "";
    int code = a->admit == NULL ? 0 : a->admit(a->admit_arg, &a->peer, proven, why, sizeof why);
    if (code == 0)
        return true;
    why[sizeof why - 1] = '\0';
    make_printable(why);
    if (why[0] == '\0')
        wio_text(why, sizeof why, "not admitted");
    fail(a, code, why, "refused %s rank %u: %s", wio_auth_purpose_name(a->purpose), a->peer.rank,
         why);
    return false;
}

static void send_challenge(struct wio_auth *a)
{
    uint8_t msg[HL_CHALLENGE];
    put_prefix(msg, HS_CHALLENGE, sizeof msg);
    put_greeting(a, msg);
    if (wio_hs_absorb(a, a->in, HL_HELLO) != 0 || wio_hs_absorb(a, msg, HG_END) != 0 ||
        wio_hs_prove(a, WIO_AUTH_ACCEPT, msg + HG_END) != 0 ||
        wio_hs_absorb(a, msg + HG_END, HS_PROOF) != 0) {
        fail_crypto(a);
        return;
    }
    emit(a, msg, sizeof msg);
    a->step = HS_PROOF_MSG;
}

static void on_hello(struct wio_auth *a)
{
    const uint8_t *in = a->in;
    memcpy(a->peer.universe, in + HG_UNIVERSE, WIO_UNIVERSE_ID);
    a->peer.rank = wio_get32(in + HG_RANK);
    a->peer.extra = wio_get32(in + HG_EXTRA);
    if (in[HG_PURPOSE] != a->purpose) {
        char tell[WIO_AUTH_TEXT_MAX];
        wio_text(tell, sizeof tell, "this port is not a %s port",
                 wio_auth_purpose_name(in[HG_PURPOSE]));
        fail(a, WAITIO_ERR_JOIN, tell,
             "a caller looked for a %s port (purpose %u), this is a %s port",
             wio_auth_purpose_name(in[HG_PURPOSE]), in[HG_PURPOSE],
             wio_auth_purpose_name(a->purpose));
        return;
    }
    if (memcmp(a->peer.universe, a->mine.universe, WIO_UNIVERSE_ID) != 0) {
        fail(a, WAITIO_ERR_JOIN, "this port belongs to another run",
             "a caller (rank %u) belongs to another run: its universe is not this one",
             a->peer.rank);
        return;
    }
    if (check_flags(a) && check_encryption(a) && take_nonce(a) && ask_admission(a, false))
        send_challenge(a);
}

static void send_proof(struct wio_auth *a)
{
    uint8_t msg[HL_PROOF];
    put_prefix(msg, HS_PROOF_MSG, sizeof msg);
    if (wio_hs_prove(a, WIO_AUTH_DIAL, msg + HP_END) != 0 ||
        (a->encrypt && wio_hs_tls_key(a, a->tls_key) != 0)) {
        fail_crypto(a);
        return;
    }
    emit(a, msg, sizeof msg);
    a->step = HS_READY;
}

/* The acceptor's claims, checked only after its proof. */
static void check_acceptor(struct wio_auth *a)
{
    const uint8_t *in = a->in;
    uint32_t rank = wio_get32(in + HG_RANK);
    if (in[HG_PURPOSE] != a->purpose || (wio_get32(in + HG_FEATURES) & ~HS_FEATURE_TLS) != 0)
        fail(a, WAITIO_ERR_PROTOCOL, "purpose or features that were not asked for",
             "the other side chose purpose %u and features 0x%x, which were not asked for",
             in[HG_PURPOSE], wio_get32(in + HG_FEATURES));
    else if (memcmp(in + HG_UNIVERSE, a->peer.universe, WIO_UNIVERSE_ID) != 0)
        fail(a, WAITIO_ERR_JOIN, "you belong to another run",
             "the other side belongs to another run: its universe is not this one");
    else if (rank != a->peer.rank)
        fail(a, WAITIO_ERR_PEER, "you are not the rank that was called",
             "called rank %u, but rank %u answers at its address", a->peer.rank, rank);
    else if (check_encryption(a))
        a->peer.extra = wio_get32(in + HG_EXTRA);
}

static void on_challenge(struct wio_auth *a)
{
    uint8_t expected[HS_PROOF];
    const uint8_t *in = a->in;
    if (!check_flags(a) || !take_nonce(a))
        return;
    if (wio_hs_absorb(a, in, HG_END) != 0 || wio_hs_prove(a, WIO_AUTH_ACCEPT, expected) != 0 ||
        wio_hs_absorb(a, in + HG_END, HS_PROOF) != 0) {
        fail_crypto(a);
        return;
    }
    bool same = wio_hs_proof_equal(expected, in + HG_END);
    OPENSSL_cleanse(expected, sizeof expected);
    if (!same) {
        fail_secret(a);
        return;
    }
    check_acceptor(a);
    if (a->state == WIO_AUTH_RUNNING)
        send_proof(a);
}

static void on_proof(struct wio_auth *a)
{
    uint8_t expected[HS_PROOF], msg[HL_READY];
    if (wio_hs_prove(a, WIO_AUTH_DIAL, expected) != 0) {
        fail_crypto(a);
        return;
    }
    bool same = wio_hs_proof_equal(expected, a->in + HP_END);
    OPENSSL_cleanse(expected, sizeof expected);
    if (!same) {
        fail_secret(a);
        return;
    }
    if (!ask_admission(a, true))
        return;
    if (a->encrypt && wio_hs_tls_key(a, a->tls_key) != 0) {
        fail_crypto(a);
        return;
    }
    put_prefix(msg, HS_READY, sizeof msg);
    emit(a, msg, sizeof msg);
    a->step = STEP_FLUSH;
}

/* ---- refusals ---- */

static void on_refuse(struct wio_auth *a)
{
    const uint8_t *in = a->in;
    char said[WIO_AUTH_TEXT_MAX + 1], own[160];
    size_t room = a->in_need - (size_t)HR_TEXT, n = wio_get16(in + HR_LENGTH);
    int code = -(int)wio_get16(in + HR_CODE);
    if (n > room)
        n = room;
    if (n > WIO_AUTH_TEXT_MAX)
        n = WIO_AUTH_TEXT_MAX;
    for (size_t i = 0; i < n; i++) /* no NUL may hide the rest */
        said[i] = in[HR_TEXT + i] < 0x20 || in[HR_TEXT + i] > 0x7e ? '?' : (char)in[HR_TEXT + i];
    said[n] = '\0';
    if (code >= 0 || code < WAITIO_ERR_LAST)
        code = WAITIO_ERR_PROTOCOL; /* of a later release, or nonsense */
    a->refused_by_peer = true;
    own_secret(a, own, sizeof own);
    if (code == WAITIO_ERR_VERSION)
        fail(a, code, NULL, "the other side speaks handshake version %u, this side version %d: %s",
             in[HP_VERSION], WIO_AUTH_VERSION, said);
    else if (code == WAITIO_ERR_AUTH)
        fail(a, code, NULL, "the other side refused: %s; this side's secret: %s; " REMEDY, said,
             own);
    else
        fail(a, code, NULL, "the other side refused: %s", said);
}

static void fail_version(struct wio_auth *a)
{
    char tell[WIO_AUTH_TEXT_MAX];
    unsigned theirs = a->in[HP_VERSION];
    wio_text(tell, sizeof tell, "this side speaks handshake version %d, yours version %u",
             WIO_AUTH_VERSION, theirs);
    fail(a, WAITIO_ERR_VERSION, tell,
         "the other side speaks handshake version %u, this side version %d", theirs,
         WIO_AUTH_VERSION);
}

/* ---- input ---- */

/* The prefix is complete: is this the message that has to come, and how long is it? */
static void on_prefix(struct wio_auth *a)
{
    unsigned type = a->in[HP_TYPE], length = wio_get16(a->in + HP_LENGTH);
    bool refusal = type == HS_REFUSE, foreign = a->in[HP_VERSION] != WIO_AUTH_VERSION;
    if (length < (refusal ? (unsigned)HR_TEXT : (unsigned)HP_END) || length > WIO_AUTH_MESSAGE_MAX)
        fail(a, WAITIO_ERR_PROTOCOL, "impossible length",
             "the other side announced a handshake message (%s) of %u bytes", type_name(type),
             length);
    else if (!refusal && !foreign && type != a->step)
        fail(a, WAITIO_ERR_PROTOCOL, "unexpected message",
             "the other side sent %s (type %u) where %s has to come", type_name(type), type,
             type_name(a->step));
    else if (!refusal && !foreign && length != type_length(type))
        fail(a, WAITIO_ERR_PROTOCOL, "impossible length",
             "the other side announced a %s of %u bytes, it has %u", type_name(type), length,
             type_length(type));
    else /* messages of other versions are read to their end, so that our refusal can be */
        a->in_need = (uint16_t)length;
}

static void on_message(struct wio_auth *a)
{
    if (a->in[HP_TYPE] == HS_REFUSE)
        on_refuse(a);
    else if (a->in[HP_VERSION] != WIO_AUTH_VERSION)
        fail_version(a);
    else if (a->step == HS_HELLO)
        on_hello(a);
    else if (a->step == HS_CHALLENGE)
        on_challenge(a);
    else if (a->step == HS_PROOF_MSG)
        on_proof(a);
    else
        finish(a);
    a->in_len = 0;
    a->in_need = HP_END;
}

/* Input is compared with the magic from its first byte on. */
static bool magic_holds(struct wio_auth *a)
{
    size_t n = a->in_len < HS_MAGIC_BYTES ? a->in_len : HS_MAGIC_BYTES;
    if (memcmp(a->in, HS_MAGIC, n) == 0)
        return true;
    if (a->step != HS_HELLO && a->step != HS_CHALLENGE) {
        fail(a, WAITIO_ERR_PROTOCOL, "unexpected bytes",
             "the other side began a handshake and went on with something else");
        return false;
    }
    a->garbage = true;
    fail(a, WAITIO_ERR_PROTOCOL, NULL, "the other side is no WaitIO program: %s",
         a->role == WIO_AUTH_DIAL
             ? "another service answers at that address; check the host and the port"
             : "something else connected to this port");
    return false;
}

enum wio_auth_state wio_auth_input(struct wio_auth *a, const void *buf, size_t n)
{
    const uint8_t *from = buf;
    if (a->state != WIO_AUTH_RUNNING || n == 0)
        return (enum wio_auth_state)a->state;
    if (n > wio_auth_want(a)) {
        fail(a, WAITIO_ERR_PROTOCOL, "too many bytes",
             "the other side sent more than the handshake has");
        return WIO_AUTH_FAILED;
    }
    memcpy(a->in + a->in_len, from, n);
    a->in_len = (uint16_t)(a->in_len + n);
    if (a->in_len <= HP_END && !magic_holds(a))
        return WIO_AUTH_FAILED;
    if (a->in_len == HP_END && a->in_need == HP_END)
        on_prefix(a);
    if (a->state == WIO_AUTH_RUNNING && a->in_len == a->in_need)
        on_message(a);
    return (enum wio_auth_state)a->state;
}

void wio_auth_eof(struct wio_auth *a, int oserr)
{
    const char *waited = a->step == STEP_FLUSH ? "READY to be taken" : type_name(a->step);
    if (a->state != WIO_AUTH_RUNNING)
        return;
    if (a->role == WIO_AUTH_ACCEPT && a->step == HS_HELLO && a->in_len == 0)
        a->garbage = true; /* it sent nothing and closed: a port scan or a health check */
    if (oserr == -ETIMEDOUT)
        fail(a, WAITIO_ERR_TIMEOUT, NULL, "the handshake took too long, still waiting for %s",
             waited);
    else if (oserr != 0)
        fail(a, WAITIO_ERR_PEER, NULL,
             "the connection broke during the handshake (waiting for %s): %s", waited,
             strerror(-oserr));
    else
        fail(a, WAITIO_ERR_PEER, NULL,
             "the other side closed the connection during the handshake (waiting for %s)%s", waited,
             a->role == WIO_AUTH_DIAL && a->in_len == 0
                 ? "; it may be leaving, or no WaitIO program"
                 : "");
}

bool wio_auth_is_final(int error)
{
    return error == WAITIO_ERR_AUTH || error == WAITIO_ERR_VERSION || error == WAITIO_ERR_CONFIG;
}

void wio_auth_turn_away(struct wio_auth *a, const char *why)
{
    /* Not behind READY: the other side would take the refusal for the link's first bytes. */
    if (a->state == WIO_AUTH_RUNNING && a->step < STEP_FLUSH)
        fail(a, WAITIO_ERR_BUSY, why, "turned away while waiting for %s: %s", type_name(a->step),
             why);
}

size_t wio_auth_want(const struct wio_auth *a)
{
    if (a->state != WIO_AUTH_RUNNING || a->step >= STEP_FLUSH)
        return 0;
    return (size_t)(a->in_need - a->in_len);
}

/* ---- begin and output ---- */

size_t wio_auth_output(const struct wio_auth *a, const void **buf)
{
    *buf = a->out + a->out_off;
    return (size_t)(a->out_len - a->out_off);
}

void wio_auth_sent(struct wio_auth *a, size_t n)
{
    size_t left = (size_t)(a->out_len - a->out_off);
    a->out_off = (uint16_t)(a->out_off + (n < left ? n : left));
    if (a->out_off == a->out_len && a->step == STEP_FLUSH)
        finish(a);
}

static int send_hello(struct wio_auth *a)
{
    uint8_t msg[HL_HELLO];
    put_prefix(msg, HS_HELLO, sizeof msg);
    put_greeting(a, msg);
    if (wio_hs_absorb(a, msg, sizeof msg) != 0)
        return wio_fail(WAITIO_ERR_SYSTEM, "libcrypto cannot compute SHA-256");
    emit(a, msg, sizeof msg);
    return 0;
}

int wio_auth_start(struct wio_auth *a, enum wio_auth_role role, enum wio_auth_purpose purpose,
                   const struct wio_secret *secret, const struct wio_auth_id *mine,
                   const struct wio_auth_id *peer, wio_auth_admit_fn admit, void *admit_arg)
{
    if (secret == NULL || secret->len > WIO_SECRET_MAX || mine == NULL ||
        (role == WIO_AUTH_DIAL && peer == NULL))
        return wio_fail(WAITIO_ERR_ARG, "handshake without secret, own identity or expected peer");
    memset(a, 0, sizeof *a);
    a->secret = secret;
    a->mine = *mine;
    a->admit = admit;
    a->admit_arg = admit_arg;
    a->purpose = (uint8_t)purpose;
    /* A relay passes on what it cannot read: it need not care. */
    a->wants_tls = secret->tls != NULL && purpose != WIO_AUTH_RELAY;
    /* Only what may leave the host, and goes through sockets. */
    a->encrypt = a->wants_tls && (purpose == WIO_AUTH_BOOT || purpose == WIO_AUTH_LINK);
    a->role = (uint8_t)role;
    a->state = WIO_AUTH_RUNNING;
    a->in_need = HP_END;
    int rc = wio_os_random(a->nonce_mine, sizeof a->nonce_mine);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "no random bytes for the handshake");
    if (role == WIO_AUTH_ACCEPT) {
        a->step = HS_HELLO;
        return 0;
    }
    a->peer = *peer;
    a->step = HS_CHALLENGE;
    return send_hello(a);
}
