/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file toy.c
 * A transport from outside the core that needs nothing: its members are in one process, and a
 * message is a piece of memory that is hung on its receiver's list. For tests of
 * waitio_transport.h, and the shortest example of what a transport has to do.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <waitio_transport.h>

WAITIO_PLUGIN_NOTE("transport=toy;for=one process;");

enum { MEMBERS = 64, COPY = 65536, ROUND = 64 };
enum kind { OPEN, MESSAGE, BYE };

struct letter {
    struct letter *next;
    enum kind kind;
    uint32_t from, bytes;
    int reason;
    bool small;
    void *token; /* of a sender who waits; its payload lies with him */
    const void *payload;
    uint8_t header[WAITIO_TRANSPORT_HEADER];
    uint8_t data[];
};

struct box {
    struct letter *first, **last;
};

struct toy_link {
    struct waitio_link base; /* first */
    struct toy_link *next;   /* of all */
    bool told, opened, said, heard, over;
    int reason, err;
    char why[160];
    size_t queued;
};

struct waitio_iface {
    const struct waitio_open_params *p;
    uint32_t me, count;
    struct toy_link *links;
    struct toy_link *current[MEMBERS], *after[MEMBERS];
    bool deaf[MEMBERS];
    struct box small, bulk; /* SMALL letters are read first */
    struct box sent;        /* whose senders are to be told */
};

static struct waitio_iface *members[MEMBERS];
static pthread_mutex_t boxes = PTHREAD_MUTEX_INITIALIZER; /* members may be threads */

static void put_in(struct box *b, struct letter *l)
{
    l->next = NULL;
    pthread_mutex_lock(&boxes);
    if (b->first == NULL)
        b->last = &b->first;
    *b->last = l;
    b->last = &l->next;
    pthread_mutex_unlock(&boxes);
}

static struct letter *take_out(struct box *b)
{
    pthread_mutex_lock(&boxes);
    struct letter *l = b->first;
    if (l != NULL)
        b->first = l->next;
    pthread_mutex_unlock(&boxes);
    return l;
}

static struct letter *first_in(const struct box *b)
{
    pthread_mutex_lock(&boxes);
    struct letter *l = b->first;
    pthread_mutex_unlock(&boxes);
    return l;
}

static struct letter *letter_new(struct waitio_iface *f, enum kind kind, uint32_t room)
{
    struct letter *l = f->p->host->alloc(sizeof *l + room);
    if (l != NULL) {
        l->kind = kind;
        l->from = f->me;
    }
    return l;
}

/* ---- links ---- */

static struct toy_link *link_new(struct waitio_iface *f, uint32_t peer)
{
    struct toy_link *l = f->p->host->alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    l->base.iface = f;
    l->base.peer = peer;
    l->next = f->links;
    f->links = l;
    return l;
}

static void post(struct waitio_iface *f, uint32_t to, struct letter *l)
{
    struct waitio_iface *t = members[to];
    if (t == NULL)
        f->p->host->free(l); /* nobody there */
    else
        put_in(l->small ? &t->small : &t->bulk, l);
}

static void say(struct waitio_iface *f, uint32_t to, enum kind kind, int reason)
{
    struct letter *l = letter_new(f, kind, 0);
    if (l == NULL)
        return;
    l->reason = reason;
    post(f, to, l);
}

static void open_link(struct waitio_iface *f, struct toy_link *l)
{
    if (l->opened)
        return;
    l->opened = true;
    if (l->base.state == WAITIO_LINK_CONNECTING)
        l->base.state = WAITIO_LINK_READY;
    say(f, l->base.peer, OPEN, 0);
}

static int connect_to(struct waitio_iface *f, uint32_t peer, struct waitio_link **link)
{
    if (peer >= f->count || peer == f->me)
        return f->p->host->fail(WAITIO_ERR_NOROUTE, "no member %u", peer);
    struct toy_link *old = f->current[peer];
    bool ends = old != NULL && old->base.state >= WAITIO_LINK_CLOSING;
    struct toy_link **at = ends ? &f->after[peer] : &f->current[peer];
    if (*at == NULL && (*at = link_new(f, peer)) == NULL)
        return f->p->host->fail(WAITIO_ERR_NOMEM, "no memory for a link");
    if (!ends)
        open_link(f, *at);
    *link = &(*at)->base;
    return 0;
}

static void close_link(struct waitio_link *link, int reason)
{
    struct toy_link *l = (struct toy_link *)(void *)link;
    bool more = reason >= WAITIO_BYE_ABORT && l->reason < WAITIO_BYE_ABORT;
    if (link->state == WAITIO_LINK_CLOSED || (link->state == WAITIO_LINK_CLOSING && !more))
        return;
    link->state = WAITIO_LINK_CLOSING;
    l->reason = reason;
}

static void fail_link(struct toy_link *l, int err, int reason, const char *why)
{
    l->base.state = WAITIO_LINK_CLOSING;
    l->err = err;
    l->reason = reason;
    snprintf(l->why, sizeof l->why, "%s", why);
}

static void free_link(struct waitio_link *link)
{
    struct waitio_iface *f = link->iface;
    struct toy_link **at = &f->links;
    while (&(*at)->base != link)
        at = &(*at)->next;
    struct toy_link *l = *at;
    *at = l->next;
    if (f->current[link->peer] == l)
        f->current[link->peer] = NULL;
    if (f->after[link->peer] == l)
        f->after[link->peer] = NULL;
    f->p->host->free(l);
}

/* ---- messages ---- */

static int send_one(struct waitio_link *link, const void *header, const void *payload,
                    uint32_t bytes, unsigned flags, void *token)
{
    struct waitio_iface *f = link->iface;
    struct toy_link *k = (struct toy_link *)(void *)link;
    bool copy = bytes <= COPY;
    if (link->state >= WAITIO_LINK_CLOSING)
        return f->p->host->fail(WAITIO_ERR_BUSY, "the link is closing");
    struct letter *l = letter_new(f, MESSAGE, copy ? bytes : 0);
    if (l == NULL)
        return f->p->host->fail(WAITIO_ERR_NOMEM, "no memory for a message");
    l->small = (flags & WAITIO_TX_SMALL) != 0;
    l->bytes = bytes;
    l->token = copy ? NULL : token;
    l->payload = copy ? l->data : payload;
    memcpy(l->header, header, sizeof l->header);
    if (copy && bytes > 0)
        memcpy(l->data, payload, bytes);
    if (!copy)
        k->queued += bytes;
    post(f, link->peer, l);
    return copy ? WAITIO_TX_DONE : WAITIO_TX_QUEUED;
}

static size_t queued(const struct waitio_link *link)
{
    return ((const struct toy_link *)(const void *)link)->queued;
}

static void tell_ready(struct waitio_iface *f, struct toy_link *l)
{
    if (l->told)
        return;
    l->told = true;
    if (l->base.state == WAITIO_LINK_READY)
        f->p->up->state(f->p->user, &l->base, 0, WAITIO_BYE_NONE, NULL);
}

/* The sender gets his letter back, to be told. */
static void give_back(struct waitio_iface *f, struct letter *l)
{
    struct waitio_iface *s = members[l->from];
    if (l->token == NULL || s == NULL) {
        f->p->host->free(l);
        return;
    }
    l->from = f->me; /* whose link it was */
    put_in(&s->sent, l);
}

/* @return 1: libwaitio wants no more now, 0: go on, -1: not now */
static int deliver(struct waitio_iface *f, struct toy_link *k, const struct letter *l)
{
    struct waitio_sink sink = {.whole = 1};
    int rc = f->p->up->message(f->p->user, &k->base, l->header, l->bytes, &sink);
    if (rc > 0)
        return -1;
    if (rc < 0) {
        fail_link(k, rc, rc == WAITIO_ERR_NOMEM ? WAITIO_BYE_NOMEM : WAITIO_BYE_ERROR,
                  f->p->host->last_error());
        return 0;
    }
    size_t n = sink.len < l->bytes ? sink.len : l->bytes;
    if (n > 0)
        memcpy(sink.buf, l->payload, n);
    return f->p->up->payload(f->p->user, &k->base, &sink);
}

static void heard_bye(struct waitio_iface *f, struct toy_link *k, int reason)
{
    bool open = k->base.state < WAITIO_LINK_CLOSING;
    k->heard = true;
    if (k->err != 0)
        return;
    k->reason = reason;
    k->base.state = WAITIO_LINK_CLOSING;
    if (reason >= WAITIO_BYE_ABORT)
        k->err = WAITIO_ERR_PEER;
    else if (open)
        f->p->up->state(f->p->user, &k->base, 0, reason, NULL);
}

/* @return as deliver() */
static int read_letter(struct waitio_iface *f, const struct letter *l)
{
    struct toy_link **at = &f->current[l->from];
    if (f->deaf[l->from]) {
        f->deaf[l->from] = l->kind != BYE;
        return 0;
    }
    if (*at == NULL && l->kind == BYE)
        return 0;
    if (*at == NULL) {
        *at = link_new(f, l->from);
        if (*at == NULL)
            return -1;
        (*at)->opened = true;
        (*at)->base.state = WAITIO_LINK_READY;
    }
    tell_ready(f, *at);
    if (l->kind == MESSAGE && (*at)->err == 0)
        return deliver(f, *at, l);
    if (l->kind == BYE)
        heard_bye(f, *at, l->reason);
    return 0;
}

static void over(struct waitio_iface *f, struct toy_link *l)
{
    uint32_t peer = l->base.peer;
    l->over = true;
    f->deaf[peer] = l->opened && !l->heard;
    f->current[peer] = f->after[peer];
    f->after[peer] = NULL;
    if (f->current[peer] != NULL)
        open_link(f, f->current[peer]);
    l->base.state = WAITIO_LINK_CLOSED;
    f->p->up->state(f->p->user, &l->base, l->err, l->reason, l->why[0] != '\0' ? l->why : NULL);
}

static int work(struct waitio_iface *f, struct toy_link *l)
{
    int events = !l->told;
    if (l->over || f->current[l->base.peer] != l)
        return 0;
    open_link(f, l);
    tell_ready(f, l);
    if (l->base.state != WAITIO_LINK_CLOSING)
        return events;
    bool at_once = l->err != 0 || l->reason >= WAITIO_BYE_ABORT;
    if (l->queued > 0) /* somebody has them still */
        return events;
    if (!l->said)
        say(f, l->base.peer, BYE, l->reason);
    l->said = true;
    if (at_once || l->heard)
        over(f, l);
    return events + 1;
}

static int letters(struct waitio_iface *f)
{
    int events = 0;
    while (events < ROUND) {
        struct box *b = first_in(&f->small) != NULL ? &f->small : &f->bulk;
        struct letter *l = first_in(b);
        if (l == NULL)
            break;
        struct toy_link *k = f->current[l->from];
        if (k != NULL && k->heard)
            break; /* a new link begins: the old one has to be over first */
        int rc = read_letter(f, l);
        if (rc < 0)
            break;
        (void)take_out(b);
        give_back(f, l);
        events++;
        if (rc > 0 || b == &f->bulk) /* what comes meanwhile may be SMALL */
            break;
    }
    return events;
}

static int progress(struct waitio_iface *f, int service)
{
    int events = 0;
    if (service)
        return 0;
    for (struct letter *l; (l = take_out(&f->sent)) != NULL; events++) {
        for (struct toy_link *k = f->links; k != NULL; k = k->next)
            if (k->base.peer == l->from && k->queued >= l->bytes) {
                k->queued -= l->bytes;
                break;
            }
        void *token = l->token;
        f->p->host->free(l);
        f->p->up->sent(f->p->user, token, 0);
    }
    events += letters(f);
    for (struct toy_link *l = f->links, *next; l != NULL; l = next) {
        next = l->next;
        events += work(f, l);
    }
    return events;
}

static int progress_link(struct waitio_link *link)
{
    return progress(link->iface, 0);
}

static int arm(struct waitio_iface *f, int service)
{
    return !service && (first_in(&f->small) != NULL || first_in(&f->bulk) != NULL ||
                        first_in(&f->sent) != NULL);
}

static int64_t next_look_ns(struct waitio_iface *f)
{
    return f->p->host->now_ns() + 50000;
}

/* ---- the interface ---- */

static int query(const struct waitio_host *host, struct waitio_costs *c)
{
    (void)host;
    *c = (struct waitio_costs){.flags = WAITIO_TRANSPORT_POLLS | WAITIO_TRANSPORT_SAME_HOST,
                               .latency_s = 1e-7,
                               .bandwidth = 1e10,
                               .piece = 1 << 20,
                               .eager_max = 65536,
                               .first_grant = 1024};
    return 0;
}

static int adapt(int distance, struct waitio_costs *c)
{
    (void)c;
    return distance == WAITIO_AT_HOST;
}

static int open_iface(const struct waitio_open_params *p, struct waitio_iface **iface)
{
    *iface = p->host->alloc(sizeof **iface);
    if (*iface == NULL)
        return p->host->fail(WAITIO_ERR_NOMEM, "no memory for the toy");
    (*iface)->p = p;
    return 0;
}

static int start(struct waitio_iface *f, const struct waitio_members *m)
{
    if (m->count > MEMBERS)
        return f->p->host->fail(WAITIO_ERR_UNSUPPORTED, "the toy has room for %d members", MEMBERS);
    f->me = m->me;
    f->count = m->count;
    members[m->me] = f;
    return 0;
}

static void costs(struct waitio_iface *f, struct waitio_costs *c)
{
    (void)f;
    (void)c;
}

static int reachable(struct waitio_iface *f, uint32_t peer, char *why, size_t nwhy)
{
    bool is = peer < f->count && peer != f->me;
    snprintf(why, nwhy, is ? "in this process" : "no member");
    return is;
}

static int distance(struct waitio_iface *f, uint32_t peer)
{
    (void)f;
    (void)peer;
    return WAITIO_AT_HOST;
}

static int64_t heard_ns(const struct waitio_link *link)
{
    return link->iface->p->host->now_ns();
}

static void empty(struct waitio_iface *f, struct box *b)
{
    for (struct letter *l; (l = take_out(b)) != NULL;)
        f->p->host->free(l);
}

static void close_iface(struct waitio_iface *f)
{
    if (members[f->me] == f)
        members[f->me] = NULL;
    empty(f, &f->small);
    empty(f, &f->bulk);
    empty(f, &f->sent);
    while (f->links != NULL)
        free_link(&f->links->base);
    f->p->host->free(f);
}

static int dump(struct waitio_iface *f, const struct waitio_link *link, char *buf, size_t n)
{
    return snprintf(buf, n, "toy, member %u of %u%s", f->me, f->count,
                    link != NULL ? ", link" : "");
}

static const struct waitio_transport toy = {
    .size = sizeof(struct waitio_transport),
    .version = WAITIO_TRANSPORT_VERSION,
    .name = "toy",
    .place = WAITIO_PLACE_OTHER,
    .about = "messages within one process",
    .query = query,
    .adapt = adapt,
    .open = open_iface,
    .start = start,
    .costs = costs,
    .reachable = reachable,
    .distance = distance,
    .connect = connect_to,
    .send = send_one,
    .queued = queued,
    .progress = progress,
    .progress_link = progress_link,
    .arm = arm,
    .next_look_ns = next_look_ns,
    .close = close_link,
    .heard_ns = heard_ns,
    .free_link = free_link,
    .close_iface = close_iface,
    .dump = dump,
};

const struct waitio_transport *waitio_plugin(const struct waitio_host *host)
{
    return host->version == WAITIO_TRANSPORT_VERSION ? &toy : NULL;
}
