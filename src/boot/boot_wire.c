/* SPDX-License-Identifier: BSD-3-Clause */
#include "boot/boot_wire.h"

_Static_assert(sizeof(struct wio_tab_addr) == 24, "published in the table image");
_Static_assert(sizeof(struct wio_tab_host) == 16 + 24 * WIO_HOST_ADDRS,
               "published in the table image");
_Static_assert(sizeof(struct wio_tab_ep) == 16, "published in the table image");

static int bad(const char *what)
{
    return wio_fail(WAITIO_ERR_PROTOCOL, "malformed rendezvous message: %s", what);
}

void wio_boot_put_hdr(uint8_t out[WIO_BOOT_HDR], enum wio_boot_type type, uint32_t len)
{
    wio_put32(out, WIO_BOOT_MAGIC);
    wio_put16(out + 4, WIO_BOOT_VERSION);
    wio_put16(out + 6, (uint16_t)type);
    wio_put32(out + 8, len);
}

int wio_boot_get_hdr(const uint8_t in[WIO_BOOT_HDR], struct wio_boot_hdr *h)
{
    if (wio_get32(in) != WIO_BOOT_MAGIC)
        return bad("wrong magic number");
    if (wio_get16(in + 4) != WIO_BOOT_VERSION)
        return wio_fail(WAITIO_ERR_VERSION, "rendezvous protocol version %u, ours is %u",
                        (unsigned)wio_get16(in + 4), (unsigned)WIO_BOOT_VERSION);
    h->type = wio_get16(in + 6);
    h->len = wio_get32(in + 8);
    if (h->type < WIO_BOOT_HELLO || h->type >= WIO_BOOT_TYPES)
        return bad("unknown type");
    if (h->len > (h->type == WIO_BOOT_TABLE ? WIO_BOOT_IMAGE_MAX : WIO_BOOT_PAYLOAD_MAX))
        return bad("length out of range");
    return 0;
}

/* A text is a 16-bit length and its bytes. */
static size_t put_text(uint8_t *out, const char *text, size_t max)
{
    size_t n = strnlen(text, max);
    wio_put16(out, (uint16_t)n);
    memcpy(out + 2, text, n);
    return 2 + n;
}

/* Takes one text off the front. Control characters become '?'. */
static int get_text(const uint8_t **in, size_t *left, char *text, size_t room)
{
    if (*left < 2)
        return bad("text cut short");
    size_t n = wio_get16(*in);
    if (n > *left - 2 || n >= room)
        return bad("text length out of range");
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (*in)[2 + i];
        text[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    text[n] = '\0';
    *in += 2 + n;
    *left -= 2 + n;
    return 0;
}

size_t wio_boot_put_hello(uint8_t *out, const struct wio_boot_hello *m)
{
    size_t n = 4;
    wio_put32(out, m->pid);
    n += put_text(out + n, m->job, WIO_BOOT_NAME - 1);
    n += put_text(out + n, m->host, WIO_BOOT_NAME - 1);
    return n;
}

int wio_boot_get_hello(const uint8_t *in, size_t n, struct wio_boot_hello *m)
{
    if (n < 4)
        return bad("hello cut short");
    m->pid = wio_get32(in);
    in += 4;
    n -= 4;
    int rc = get_text(&in, &n, m->job, sizeof m->job);
    if (rc == 0)
        rc = get_text(&in, &n, m->host, sizeof m->host);
    return rc != 0 ? rc : n != 0 ? bad("hello too long") : 0;
}

size_t wio_boot_put_welcome(uint8_t *out, const struct wio_boot_welcome *m)
{
    wio_put32(out, m->npb);
    wio_put32(out + 4, m->flags);
    return 8 + put_text(out + 8, m->job, WIO_BOOT_NAME - 1);
}

int wio_boot_get_welcome(const uint8_t *in, size_t n, struct wio_boot_welcome *m)
{
    if (n < 8)
        return bad("welcome cut short");
    m->npb = wio_get32(in);
    m->flags = wio_get32(in + 4);
    in += 8;
    n -= 8;
    int rc = get_text(&in, &n, m->job, sizeof m->job);
    return rc != 0 ? rc : n != 0 ? bad("welcome too long") : 0;
}

static size_t put_host(uint8_t *out, const struct wio_tab_host *h)
{
    wio_put64(out, h->identity);
    wio_put32(out + 8, h->naddr);
    uint8_t *p = out + 12;
    for (uint32_t i = 0; i < h->naddr && i < WIO_HOST_ADDRS; i++, p += 24) {
        const struct wio_tab_addr *a = &h->addr[i];
        p[0] = a->family;
        p[1] = a->loopback;
        p[2] = a->prefix;
        p[3] = 0;
        wio_put32(p + 4, a->scope);
        memcpy(p + 8, a->ip, 16);
    }
    return (size_t)(p - out);
}

size_t wio_boot_put_hosts(uint8_t *out, uint32_t first, const struct wio_tab_host *h,
                          uint32_t count)
{
    size_t n = 8;
    if (count > WIO_BOOT_HOSTS_PER_MSG)
        count = WIO_BOOT_HOSTS_PER_MSG;
    wio_put32(out, first);
    wio_put32(out + 4, count);
    for (uint32_t i = 0; i < count; i++)
        n += put_host(out + n, &h[i]);
    return n;
}

int wio_boot_host_check(const struct wio_tab_host *h)
{
    if (h->naddr > WIO_HOST_ADDRS)
        return bad("too many addresses of a host");
    for (uint32_t i = 0; i < h->naddr; i++) {
        const struct wio_tab_addr *a = &h->addr[i];
        if (a->family != 4 && a->family != 6)
            return bad("unknown address family");
        if (a->loopback > 1 || a->prefix > (a->family == 4 ? 32 : 128))
            return bad("address prefix out of range");
    }
    return 0;
}

bool wio_boot_host_equal(const struct wio_tab_host *a, const struct wio_tab_host *b)
{
    return a->identity == b->identity && a->naddr == b->naddr && a->naddr <= WIO_HOST_ADDRS &&
           memcmp(a->addr, b->addr, a->naddr * sizeof a->addr[0]) == 0;
}

/* One host off the front of the payload. */
static int get_host(const uint8_t **in, size_t *left, struct wio_tab_host *h)
{
    memset(h, 0, sizeof *h);
    if (*left < 12)
        return bad("host cut short");
    h->identity = wio_get64(*in);
    h->naddr = wio_get32(*in + 8);
    if (h->naddr > WIO_HOST_ADDRS || *left - 12 < h->naddr * (size_t)24)
        return bad("addresses of a host cut short");
    const uint8_t *p = *in + 12;
    for (uint32_t i = 0; i < h->naddr; i++, p += 24) {
        struct wio_tab_addr *a = &h->addr[i];
        a->family = p[0];
        a->loopback = p[1];
        a->prefix = p[2];
        a->scope = wio_get32(p + 4);
        memcpy(a->ip, p + 8, 16);
    }
    *left -= (size_t)(p - *in);
    *in = p;
    return wio_boot_host_check(h);
}

int wio_boot_get_hosts(const uint8_t *in, size_t n, uint32_t *first, struct wio_tab_host *hosts,
                       uint32_t *count)
{
    if (n < 8)
        return bad("hosts cut short");
    *first = wio_get32(in);
    *count = wio_get32(in + 4);
    if (*count == 0 || *count > WIO_BOOT_HOSTS_PER_MSG)
        return bad("number of hosts out of range");
    in += 8;
    n -= 8;
    for (uint32_t i = 0; i < *count; i++) {
        int rc = get_host(&in, &n, &hosts[i]);
        if (rc != 0)
            return rc;
    }
    return n != 0 ? bad("hosts too long") : 0;
}

size_t wio_boot_put_regs(uint8_t *out, const struct wio_boot_reg *m, uint32_t count)
{
    if (count > WIO_BOOT_REGS_PER_MSG)
        count = WIO_BOOT_REGS_PER_MSG;
    for (uint32_t i = 0; i < count; i++, m++, out += WIO_BOOT_REG_BYTES) {
        wio_put32(out, m->pbid);
        wio_put32(out + 4, m->npb);
        wio_put32(out + 8, m->nprocs);
        wio_put32(out + 12, m->rank);
        wio_put32(out + 16, m->host);
        wio_put32(out + 20, m->pid);
        wio_put32(out + 24, m->incarnation);
        wio_put16(out + 28, m->port);
        wio_put16(out + 30, m->caps);
        wio_put64(out + 32, m->token);
    }
    return count * (size_t)WIO_BOOT_REG_BYTES;
}

int wio_boot_get_regs(const uint8_t *in, size_t n, uint32_t *count)
{
    (void)in;
    if (n == 0 || n % WIO_BOOT_REG_BYTES != 0 || n / WIO_BOOT_REG_BYTES > WIO_BOOT_REGS_PER_MSG)
        return bad("number of registrations out of range");
    *count = (uint32_t)(n / WIO_BOOT_REG_BYTES);
    return 0;
}

void wio_boot_reg_at(const uint8_t *in, uint32_t i, struct wio_boot_reg *m)
{
    in += i * (size_t)WIO_BOOT_REG_BYTES;
    m->pbid = wio_get32(in);
    m->npb = wio_get32(in + 4);
    m->nprocs = wio_get32(in + 8);
    m->rank = wio_get32(in + 12);
    m->host = wio_get32(in + 16);
    m->pid = wio_get32(in + 20);
    m->incarnation = wio_get32(in + 24);
    m->port = wio_get16(in + 28);
    m->caps = wio_get16(in + 30);
    m->token = wio_get64(in + 32);
}

size_t wio_boot_put_leave(uint8_t *out, const struct wio_boot_leave *m)
{
    wio_put32(out, m->pbid);
    wio_put32(out + 4, m->rank);
    wio_put32(out + 8, m->incarnation);
    return WIO_BOOT_LEAVE_BYTES;
}

int wio_boot_get_leave(const uint8_t *in, size_t n, struct wio_boot_leave *m)
{
    if (n != WIO_BOOT_LEAVE_BYTES)
        return bad("leave of wrong length");
    m->pbid = wio_get32(in);
    m->rank = wio_get32(in + 4);
    m->incarnation = wio_get32(in + 8);
    return 0;
}

size_t wio_boot_put_progress(uint8_t *out, const struct wio_boot_progress *m)
{
    wio_put32(out, m->joined);
    wio_put32(out + 4, m->expected);
    return 8 + put_text(out + 8, m->missing, WIO_BOOT_TEXT);
}

int wio_boot_get_progress(const uint8_t *in, size_t n, struct wio_boot_progress *m)
{
    if (n < 8)
        return bad("progress cut short");
    m->joined = wio_get32(in);
    m->expected = wio_get32(in + 4);
    in += 8;
    n -= 8;
    int rc = get_text(&in, &n, m->missing, sizeof m->missing);
    return rc != 0 ? rc : n != 0 ? bad("progress too long") : 0;
}

size_t wio_boot_put_refuse(uint8_t *out, const struct wio_boot_refuse *m)
{
    wio_put32(out, (uint32_t)m->code);
    wio_put32(out + 4, m->pbid);
    wio_put32(out + 8, m->rank);
    wio_put32(out + 12, m->incarnation);
    wio_put32(out + 16, m->flags);
    return 20 + put_text(out + 20, m->text, WIO_BOOT_TEXT);
}

int wio_boot_get_refuse(const uint8_t *in, size_t n, struct wio_boot_refuse *m)
{
    if (n < 20)
        return bad("refusal cut short");
    uint32_t code = wio_get32(in);
    m->code = (int32_t)code;
    m->pbid = wio_get32(in + 4);
    m->rank = wio_get32(in + 8);
    m->incarnation = wio_get32(in + 12);
    m->flags = wio_get32(in + 16);
    if (m->code >= 0 || m->code < -1000)
        return bad("refusal without an error code");
    in += 20;
    n -= 20;
    int rc = get_text(&in, &n, m->text, sizeof m->text);
    return rc != 0 ? rc : n != 0 ? bad("refusal too long") : 0;
}

/* ---- the relay tree ---- */

size_t wio_boot_put_relay(uint8_t *out, const struct wio_boot_relay *m)
{
    memcpy(out, m->universe, WIO_UNIVERSE_ID);
    wio_put32(out + WIO_UNIVERSE_ID, m->children);
    return WIO_BOOT_RELAY_BYTES;
}

int wio_boot_get_relay(const uint8_t *in, size_t n, struct wio_boot_relay *m)
{
    if (n != WIO_BOOT_RELAY_BYTES)
        return bad("relay of wrong length");
    memcpy(m->universe, in, WIO_UNIVERSE_ID);
    m->children = wio_get32(in + WIO_UNIVERSE_ID);
    return m->children == 0 || m->children > WIO_BOOT_CHILDREN_MAX
               ? bad("number of children out of range")
               : 0;
}

size_t wio_boot_put_port(uint8_t *out, const struct wio_boot_port *m)
{
    wio_put16(out, m->port);
    return 2 + put_text(out + 2, m->why, WIO_BOOT_WHY - 1);
}

int wio_boot_get_port(const uint8_t *in, size_t n, struct wio_boot_port *m)
{
    if (n < 2)
        return bad("port cut short");
    m->port = wio_get16(in);
    in += 2;
    n -= 2;
    int rc = get_text(&in, &n, m->why, sizeof m->why);
    return rc != 0 ? rc : n != 0 ? bad("port too long") : 0;
}

size_t wio_boot_put_parent(uint8_t *out, const struct wio_boot_parent *m)
{
    size_t n = WIO_UNIVERSE_ID + 10;
    memcpy(out, m->universe, WIO_UNIVERSE_ID);
    wio_put64(out + WIO_UNIVERSE_ID, m->bytes);
    wio_put16(out + WIO_UNIVERSE_ID + 8, m->port);
    n += put_text(out + n, m->name, WIO_BOOT_NAME - 1);
    return n + put_host(out + n, &m->host);
}

int wio_boot_get_parent(const uint8_t *in, size_t n, struct wio_boot_parent *m)
{
    if (n < WIO_UNIVERSE_ID + 10)
        return bad("parent cut short");
    memcpy(m->universe, in, WIO_UNIVERSE_ID);
    m->bytes = wio_get64(in + WIO_UNIVERSE_ID);
    m->port = wio_get16(in + WIO_UNIVERSE_ID + 8);
    if (m->port == 0 || m->bytes == 0 || m->bytes > WIO_BOOT_IMAGE_MAX)
        return bad("port or table of a parent out of range");
    in += WIO_UNIVERSE_ID + 10;
    n -= WIO_UNIVERSE_ID + 10;
    int rc = get_text(&in, &n, m->name, sizeof m->name);
    if (rc == 0)
        rc = get_host(&in, &n, &m->host);
    return rc != 0 ? rc : n != 0 ? bad("parent too long") : 0;
}

size_t wio_boot_put_fetch(uint8_t *out, const struct wio_boot_fetch *m)
{
    size_t n = WIO_UNIVERSE_ID;
    memcpy(out, m->universe, WIO_UNIVERSE_ID);
    n += put_text(out + n, m->host, WIO_BOOT_NAME - 1);
    return n + put_text(out + n, m->why, WIO_BOOT_WHY - 1);
}

int wio_boot_get_fetch(const uint8_t *in, size_t n, struct wio_boot_fetch *m)
{
    if (n < WIO_UNIVERSE_ID)
        return bad("fetch cut short");
    memcpy(m->universe, in, WIO_UNIVERSE_ID);
    in += WIO_UNIVERSE_ID;
    n -= WIO_UNIVERSE_ID;
    int rc = get_text(&in, &n, m->host, sizeof m->host);
    if (rc == 0)
        rc = get_text(&in, &n, m->why, sizeof m->why);
    return rc != 0 ? rc : n != 0 ? bad("fetch too long") : 0;
}
