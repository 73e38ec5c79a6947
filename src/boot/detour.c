/* SPDX-License-Identifier: BSD-3-Clause */
/** @file detour.c  See detour.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "boot/addresses.h"
#include "boot/detour.h"
#include "os/os.h"

#define MAGIC "WIOR"
enum at {
    AT_TYPE = 4,
    AT_VERSION,
    AT_BYTES,
    AT_ID = 8,
    AT_RANK = 24,
    AT_CODE = 28,
    AT_NUMBER = 32
};

/* ---- WAITIO_RELAY ---- */

static int bad_item(const char *item, const char *why)
{
    return wio_fail(WAITIO_ERR_CONFIG,
                    "WAITIO_RELAY: '%.80s' %s: write HOST:PORT, or [ADDRESS]:PORT for IPv6", item,
                    why);
}

/* "host:port", "[address]:port" */
static int read_item(const char *item, struct wio_relay_at *at)
{
    char host[96], *end = NULL;
    const char *why = NULL, *colon = strrchr(item, ':'), *from = item;
    size_t n = colon != NULL ? (size_t)(colon - item) : 0;
    if (n == 0)
        return bad_item(item, "has no port");
    if (item[0] == '[' && n > 2 && item[n - 1] == ']') {
        from++;
        n -= 2;
    } else if (memchr(item, ':', n) != NULL) {
        return bad_item(item, "is no name or IPv4 address with a port");
    }
    long port = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || port < 1 || port > 65535)
        return bad_item(item, "has no port from 1 to 65535");
    memcpy(host, from, n);
    host[n] = '\0';
    if (wio_os_resolve(host, (uint16_t)port, &at->addr, 1, &why) <= 0)
        return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_RELAY: cannot resolve '%s': %s", host,
                        why != NULL ? why : "no address");
    at->len =
        at->addr.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    wio_text(at->name, sizeof at->name, "%s", item);
    return 0;
}

int wio_relays_read(const struct wio_config *cfg, const struct wio_secret *secret,
                    struct wio_relays *out)
{
    char item[96];
    memset(out, 0, sizeof *out);
    for (const char *p = cfg->relay + strspn(cfg->relay, ", "); *p != '\0';) {
        size_t n = strcspn(p, ", ");
        if (n >= sizeof item)
            return bad_item(p, "is too long");
        if (out->n == WIO_RELAYS_MAX)
            return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_RELAY names more than %d relays",
                            WIO_RELAYS_MAX);
        memcpy(item, p, n);
        item[n] = '\0';
        int rc = read_item(item, &out->at[out->n]);
        if (rc != 0)
            return rc;
        out->n++;
        p += n + strspn(p + n, ", ");
    }
    for (int i = 0; i < out->n && secret->len == 0 && !cfg->secret_none_remote; i++)
        if (!wio_addr_is_loopback((const struct sockaddr *)&out->at[i].addr))
            return wio_fail(WAITIO_ERR_CONFIG,
                            "WAITIO_SECRET=none goes with relays on loopback addresses only, and "
                            "WAITIO_RELAY names '%s': set WAITIO_SECRET_NONE_REMOTE=1 or use a "
                            "secret",
                            out->at[i].name);
    return 0;
}

/* ---- places ---- */

struct wio_place wio_place_of_job(const char *job_id, uint16_t port)
{
    struct wio_place p = {.rank = WIO_PLACE_RENDEZVOUS};
    uint64_t h = wio_hash_bytes(port, job_id, strlen(job_id));
    wio_put64(p.id, h);
    wio_put64(p.id + 8, wio_hash_bytes(h, job_id, strlen(job_id)));
    return p;
}

bool wio_place_equal(const struct wio_place *a, const struct wio_place *b)
{
    return a->rank == b->rank && memcmp(a->id, b->id, sizeof a->id) == 0;
}

void wio_relay_socket(int fd, double silence_s)
{
    int one = 1, third = silence_s < 3 ? 1 : silence_s > 90000 ? 30000 : (int)(silence_s / 3);
    int gap = third > 1 ? third / 2 : 1, count = 3;
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    wio_os_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &third, sizeof third);
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &gap, sizeof gap);
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

struct wio_auth_id wio_relay_identity(void)
{
    struct wio_auth_id id = {.universe = "waitio relay v1"};
    return id;
}

/* ---- messages ---- */

size_t wio_detour_put(uint8_t *out, const struct wio_detour_msg *m)
{
    size_t n = strlen(m->text);
    memset(out, 0, WIO_DETOUR_HEAD);
    memcpy(out, MAGIC, 4);
    out[AT_TYPE] = (uint8_t)m->type;
    out[AT_VERSION] = WIO_DETOUR_VERSION;
    wio_put16(out + AT_BYTES, (uint16_t)(WIO_DETOUR_HEAD + n));
    memcpy(out + AT_ID, m->place.id, sizeof m->place.id);
    wio_put32(out + AT_RANK, m->place.rank);
    wio_put16(out + AT_CODE, (uint16_t)-m->code);
    wio_put64(out + AT_NUMBER, m->number);
    memcpy(out + WIO_DETOUR_HEAD, m->text, n);
    return WIO_DETOUR_HEAD + n;
}

static size_t length_of(const uint8_t *b)
{
    return wio_get16(b + AT_BYTES);
}

static bool head_is_right(const uint8_t *b)
{
    return memcmp(b, MAGIC, 4) == 0 && b[AT_VERSION] == WIO_DETOUR_VERSION &&
           b[AT_TYPE] < WIO_DETOUR_TYPES && length_of(b) >= WIO_DETOUR_HEAD &&
           length_of(b) <= WIO_DETOUR_MAX;
}

static void get(const uint8_t *b, struct wio_detour_msg *m)
{
    size_t n = length_of(b) - WIO_DETOUR_HEAD;
    memset(m, 0, sizeof *m);
    m->type = (enum wio_detour_type)b[AT_TYPE];
    memcpy(m->place.id, b + AT_ID, sizeof m->place.id);
    m->place.rank = wio_get32(b + AT_RANK);
    m->number = wio_get64(b + AT_NUMBER);
    m->code = -(int)wio_get16(b + AT_CODE);
    for (size_t i = 0; i < n; i++) {
        uint8_t c = b[WIO_DETOUR_HEAD + i];
        m->text[i] = c >= ' ' && c <= '~' ? (char)c : '?';
    }
}

int wio_detour_read(struct wio_detour_in *in, int fd, struct wio_detour_msg *m)
{
    for (;;) {
        size_t need = in->have < WIO_DETOUR_HEAD ? WIO_DETOUR_HEAD : length_of(in->buf);
        if (in->have == need) {
            get(in->buf, m);
            in->have = 0;
            return 1;
        }
        ssize_t k = wio_os_recv(fd, in->buf + in->have, need - in->have);
        if (k == -EAGAIN)
            return 0;
        if (k <= 0)
            return k == 0 ? -EPIPE : (int)k;
        in->have += (uint16_t)k;
        if (in->have >= WIO_DETOUR_HEAD && !head_is_right(in->buf))
            return -EPROTO;
    }
}

/* ---- one request ---- */

int wio_detour_start(struct wio_detour *d, const struct wio_secret *secret,
                     enum wio_detour_type type, const struct wio_place *place, uint64_t number)
{
    struct wio_auth_id id = wio_relay_identity();
    struct wio_detour_msg m = {.type = type, .number = number};
    memset(d, 0, sizeof *d);
    if (place != NULL)
        m.place = *place;
    d->out_len = (uint16_t)wio_detour_put(d->out, &m);
    return wio_auth_start(&d->auth, WIO_AUTH_DIAL, WIO_AUTH_RELAY, secret, &id, &id, NULL, NULL);
}

static enum wio_detour_state fail(struct wio_detour *d, int error, const char *text)
{
    d->error = error;
    wio_text(d->text, sizeof d->text, "%.300s", text);
    return WIO_DETOUR_FAILED;
}

/* @return whether the handshake went on */
static bool shake_once(struct wio_auth *a, int fd)
{
    uint8_t buf[WIO_AUTH_MESSAGE_MAX];
    const void *out;
    size_t n = wio_auth_output(a, &out), want;
    if (n > 0) {
        ssize_t k = wio_os_send(fd, out, n);
        if (k == -EAGAIN)
            return false;
        if (k > 0)
            wio_auth_sent(a, (size_t)k);
        else
            wio_auth_eof(a, (int)k);
        return true;
    }
    want = wio_auth_want(a);
    ssize_t k = want > 0 ? wio_os_recv(fd, buf, want < sizeof buf ? want : sizeof buf) : -EAGAIN;
    if (k == -EAGAIN)
        return false;
    if (k > 0)
        (void)wio_auth_input(a, buf, (size_t)k);
    else
        wio_auth_eof(a, (int)k);
    return true;
}

static enum wio_detour_state shake(struct wio_detour *d, int fd)
{
    const void *out;
    while (d->auth.state == WIO_AUTH_RUNNING && shake_once(&d->auth, fd))
        ;
    if (d->auth.state == WIO_AUTH_FAILED) {
        size_t n = wio_auth_output(&d->auth, &out);
        if (n > 0)
            (void)wio_os_send(fd, out, n);
        return fail(d, d->auth.error, d->auth.text);
    }
    d->proven = d->auth.state == WIO_AUTH_DONE;
    return d->proven ? WIO_DETOUR_DONE : WIO_DETOUR_RUNNING;
}

bool wio_detour_writes(const struct wio_detour *d)
{
    const void *out;
    return d->proven ? d->out_off < d->out_len : wio_auth_output(&d->auth, &out) > 0;
}

enum wio_detour_state wio_detour_drive(struct wio_detour *d, int fd)
{
    if (!d->proven) {
        enum wio_detour_state s = shake(d, fd);
        if (s != WIO_DETOUR_DONE)
            return s;
    }
    while (d->out_off < d->out_len) {
        ssize_t k = wio_os_send(fd, d->out + d->out_off, (size_t)(d->out_len - d->out_off));
        if (k == -EAGAIN)
            return WIO_DETOUR_RUNNING;
        if (k < 0)
            return fail(d, WAITIO_ERR_PEER, strerror((int)-k));
        d->out_off += (uint16_t)k;
    }
    int rc = wio_detour_read(&d->in, fd, &d->answer);
    if (rc == 0)
        return WIO_DETOUR_RUNNING;
    if (rc == -EPIPE)
        return fail(d, WAITIO_ERR_PEER, "the relay hung up");
    if (rc < 0 && rc != -EPROTO)
        return fail(d, WAITIO_ERR_PEER, strerror(-rc));
    if (rc > 0 && d->answer.type == WIO_DETOUR_OPEN)
        return WIO_DETOUR_DONE;
    if (rc < 0 || d->answer.type != WIO_DETOUR_REFUSED)
        return fail(d, WAITIO_ERR_PROTOCOL, "the relay sent something else than an answer");
    d->refused = true;
    return fail(d, d->answer.code != 0 ? d->answer.code : WAITIO_ERR_PEER, d->answer.text);
}
