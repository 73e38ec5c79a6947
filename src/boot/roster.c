/* SPDX-License-Identifier: BSD-3-Clause */
#include "boot/roster.h"
#include "os/os.h"

void wio_roster_init(struct wio_roster *r, const char *job, uint32_t npb)
{
    memset(r, 0, sizeof *r);
    wio_text(r->job, sizeof r->job, "%s", job);
    r->npb = npb;
}

void wio_roster_free(struct wio_roster *r)
{
    for (uint32_t i = 0; r->pb != NULL && i < r->npb; i++) {
        if (r->pb[i] == NULL)
            continue;
        wio_os_free(r->pb[i]->state);
        wio_os_free(r->pb[i]->slot);
        wio_os_free(r->pb[i]);
    }
    for (uint32_t i = 1; i < r->nclients; i++)
        wio_os_free(r->clients[i].places);
    wio_os_free(r->pb);
    wio_os_free(r->hosts);
    wio_os_free(r->host_hash);
    wio_os_free(r->clients);
    wio_os_free(r->gone);
    memset(r, 0, sizeof *r);
}

/* Room for one more element; doubles. @return the array, NULL (old one stays valid) when out of
 * memory */
static void *grow(struct wio_roster *r, void *array, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap)
        return array;
    uint32_t want = *cap == 0 ? 8 : *cap * 2;
    if (want < *cap)
        return NULL;
    void *p = wio_os_realloc(array, want * size);
    if (p == NULL)
        return NULL;
    r->bytes += (want - *cap) * size;
    *cap = want;
    return p;
}

uint32_t wio_roster_client(struct wio_roster *r, const char *host)
{
    uint32_t i = r->nclients == 0 ? 1 : r->nclients;
    struct wio_roster_client *c = grow(r, r->clients, i, &r->clients_cap, sizeof *c);
    if (c == NULL)
        return 0;
    r->clients = c;
    memset(&c[i], 0, sizeof c[i]);
    wio_text(c[i].host, sizeof c[i].host, "%s", host);
    c[i].live = true;
    r->nclients = i + 1;
    return i;
}

/* ---- address lists ---- */

static uint64_t host_key(const struct wio_tab_host *h)
{
    return wio_hash_bytes(h->identity, h->addr, h->naddr * sizeof h->addr[0]);
}

/* Slot of the hash with an equal host, or the free slot for it. */
static uint32_t host_find(const struct wio_roster *r, const struct wio_tab_host *h)
{
    uint32_t at = (uint32_t)host_key(h) & (r->hash_cap - 1);
    while (r->host_hash[at] != 0 && !wio_boot_host_equal(&r->hosts[r->host_hash[at] - 1], h))
        at = (at + 1) & (r->hash_cap - 1);
    return at;
}

static bool host_rehash(struct wio_roster *r)
{
    if (r->nhosts * 2 < r->hash_cap)
        return true;
    uint32_t cap = r->hash_cap == 0 ? 32 : r->hash_cap * 2;
    uint32_t *t = wio_os_alloc(cap * sizeof *t);
    if (t == NULL)
        return false;
    wio_os_free(r->host_hash);
    r->bytes += (cap - r->hash_cap) * sizeof *t;
    r->host_hash = t;
    r->hash_cap = cap;
    for (uint32_t i = 0; i < r->nhosts; i++)
        t[host_find(r, &r->hosts[i])] = i + 1;
    return true;
}

uint32_t wio_roster_host(struct wio_roster *r, const struct wio_tab_host *h)
{
    if (!host_rehash(r))
        return UINT32_MAX;
    uint32_t at = host_find(r, h);
    if (r->host_hash[at] != 0)
        return r->host_hash[at] - 1;
    struct wio_tab_host *p = grow(r, r->hosts, r->nhosts, &r->hosts_cap, sizeof *p);
    if (p == NULL)
        return UINT32_MAX;
    r->hosts = p;
    p[r->nhosts] = *h;
    r->host_hash[at] = ++r->nhosts;
    return r->nhosts - 1;
}

/* ---- registrations ---- */

static const char *host_of(const struct wio_roster *r, uint32_t client)
{
    return client > 0 && client < r->nclients ? r->clients[client].host : "?";
}

static int refuse(struct wio_boot_refuse *why, int code, uint32_t flags, const char *fmt, ...)
    WIO_PRINTF(4, 5);
static int refuse(struct wio_boot_refuse *why, int code, uint32_t flags, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why->text, sizeof why->text, fmt, ap);
    va_end(ap);
    why->code = code;
    why->flags = flags;
    return code;
}

static int check_npb(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g,
                     struct wio_boot_refuse *why)
{
    if (g->npb == 0 || g->npb > WIO_BOOT_NPB_MAX)
        return refuse(why, WAITIO_ERR_JOIN, 0, "WAITIO_NPB=%u is out of range", g->npb);
    if (r->npb != 0 && g->npb != r->npb && r->npb_client == 0)
        return refuse(why, WAITIO_ERR_JOIN, 0,
                      "WAITIO_NPB=%u of PB %u rank %u (host %s, pid %u) disagrees with the "
                      "rendezvous, which was started for %u blocks",
                      g->npb, g->pbid, g->rank, host_of(r, client), g->pid, r->npb);
    if (r->npb != 0 && g->npb != r->npb)
        return refuse(why, WAITIO_ERR_JOIN, 0,
                      "WAITIO_NPB=%u of PB %u rank %u (host %s, pid %u) disagrees with "
                      "WAITIO_NPB=%u given by PB %u rank %u (host %s, pid %u)",
                      g->npb, g->pbid, g->rank, host_of(r, client), g->pid, r->npb, r->npb_pbid,
                      r->npb_rank, host_of(r, r->npb_client), r->npb_pid);
    if (g->pbid >= g->npb)
        return refuse(why, WAITIO_ERR_JOIN, 0, "WAITIO_PBID=%u must be less than WAITIO_NPB=%u",
                      g->pbid, g->npb);
    if (g->nprocs == 0 || g->nprocs > WIO_BOOT_NPROCS_MAX || g->rank >= g->nprocs)
        return refuse(why, WAITIO_ERR_JOIN, 0, "rank %u of %u processes in PB %u is out of range",
                      g->rank, g->nprocs, g->pbid);
    return 0;
}

static int learn_npb(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g)
{
    if (r->pb != NULL)
        return 0;
    r->pb = wio_os_alloc(g->npb * sizeof(struct wio_roster_pb *));
    if (r->pb == NULL)
        return WAITIO_ERR_NOMEM;
    r->bytes += g->npb * sizeof(struct wio_roster_pb *);
    if (r->npb == 0) {
        r->npb = g->npb;
        r->npb_pbid = g->pbid;
        r->npb_rank = g->rank;
        r->npb_pid = g->pid;
        r->npb_client = client;
    }
    return 0;
}

static struct wio_roster_pb *learn_pb(struct wio_roster *r, uint32_t client,
                                      const struct wio_boot_reg *g)
{
    struct wio_roster_pb *pb = wio_os_alloc(sizeof *pb);
    if (pb == NULL)
        return NULL;
    pb->state = wio_os_alloc(g->nprocs);
    pb->slot = wio_os_alloc(g->nprocs * sizeof *pb->slot);
    if (pb->state == NULL || pb->slot == NULL) {
        wio_os_free(pb->state);
        wio_os_free(pb->slot);
        wio_os_free(pb);
        return NULL;
    }
    pb->nprocs = g->nprocs;
    pb->first_rank = g->rank;
    pb->first_client = client;
    pb->first_pid = g->pid;
    r->pb[g->pbid] = pb;
    r->pbs_known++;
    r->expected += g->nprocs;
    r->bytes += sizeof *pb + g->nprocs * (1 + sizeof *pb->slot);
    return pb;
}

static bool add_place(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g)
{
    struct wio_roster_client *c = &r->clients[client];
    struct wio_roster_place *p = grow(r, c->places, c->nplaces, &c->cap, sizeof *p);
    if (p == NULL)
        return false;
    c->places = p;
    r->owed += c->nplaces == 0 && c->live && !c->acked;
    p[c->nplaces++] = (struct wio_roster_place){g->pbid, g->rank};
    return true;
}

static int check_pb(const struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g,
                    struct wio_boot_refuse *why)
{
    const struct wio_roster_pb *pb = r->pb[g->pbid];
    if (pb->nprocs != g->nprocs)
        return refuse(why, WAITIO_ERR_JOIN, 0,
                      "PB %u has %u processes according to rank %u (host %s, pid %u), but %u "
                      "according to rank %u (host %s, pid %u): two programs with one WAITIO_PBID?",
                      g->pbid, pb->nprocs, pb->first_rank, host_of(r, pb->first_client),
                      pb->first_pid, g->nprocs, g->rank, host_of(r, client), g->pid);
    const struct wio_roster_slot *s = &pb->slot[g->rank];
    if (pb->state[g->rank] == WIO_SLOT_HERE && s->incarnation != g->incarnation)
        return refuse(
            why, WAITIO_ERR_JOIN, 0,
            "PB %u rank %u is claimed by two processes: pid %u on host %s came "
            "first, then pid %u on host %s: two programs with one WAITIO_PBID, or a launcher whose "
            "variables are not known (set WAITIO_RANK and WAITIO_NPROCS)",
            g->pbid, g->rank, s->pid, host_of(r, s->client), g->pid, host_of(r, client));
    return 0;
}

/* The universe is complete: only a member that lost its table may register again. */
static int register_late(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g,
                         struct wio_boot_refuse *why)
{
    struct wio_roster_pb *pb = g->pbid < r->npb ? r->pb[g->pbid] : NULL;
    if (pb == NULL || g->rank >= pb->nprocs || pb->slot[g->rank].incarnation != g->incarnation ||
        pb->state[g->rank] == WIO_SLOT_FREE)
        return refuse(
            why, WAITIO_ERR_JOIN, WIO_BOOT_RETRY,
            "the universe of job id '%s' is already complete: another "
            "run with this job id is active on this port (give each run its own WAITIO_JOB_ID and "
            "WAITIO_MASTER_PORT)",
            r->job);
    if (!add_place(r, client, g))
        return refuse(why, WAITIO_ERR_NOMEM, 0, "rendezvous out of memory");
    pb->slot[g->rank].client = client;
    pb->state[g->rank] = WIO_SLOT_HERE;
    return 0;
}

int wio_roster_register(struct wio_roster *r, uint32_t client, const struct wio_boot_reg *g,
                        uint32_t host, struct wio_boot_refuse *why)
{
    why->pbid = g->pbid;
    why->rank = g->rank;
    why->incarnation = g->incarnation;
    if (r->complete)
        return register_late(r, client, g, why);
    int rc = check_npb(r, client, g, why);
    if (rc != 0)
        return rc;
    if (learn_npb(r, client, g) != 0 || (r->pb[g->pbid] == NULL && learn_pb(r, client, g) == NULL))
        return refuse(why, WAITIO_ERR_NOMEM, 0, "rendezvous out of memory for %u processes",
                      g->nprocs);
    rc = check_pb(r, client, g, why);
    if (rc != 0)
        return rc;
    if (!add_place(r, client, g))
        return refuse(why, WAITIO_ERR_NOMEM, 0, "rendezvous out of memory");
    struct wio_roster_pb *pb = r->pb[g->pbid];
    if (pb->state[g->rank] != WIO_SLOT_HERE) {
        pb->here++;
        r->joined++;
    }
    pb->state[g->rank] = WIO_SLOT_HERE;
    pb->slot[g->rank] = (struct wio_roster_slot){
        {host, g->port, g->caps, g->token}, client, g->pid, g->incarnation};
    r->version++;
    return 0;
}

static void gone(struct wio_roster *r, uint32_t client, struct wio_roster_place at, int64_t now_ns)
{
    struct wio_roster_pb *pb = r->pb[at.pbid];
    if (pb->state[at.rank] != WIO_SLOT_HERE || pb->slot[at.rank].client != client)
        return;
    pb->state[at.rank] = WIO_SLOT_GONE;
    if (!r->complete) {
        pb->here--;
        r->joined--;
    }
    r->version++;
    struct wio_roster_gone *p = grow(r, r->gone, r->ngone, &r->gone_cap, sizeof *p);
    if (p == NULL)
        return;
    r->gone = p;
    p[r->ngone++] = (struct wio_roster_gone){at, now_ns, client};
}

void wio_roster_leave(struct wio_roster *r, uint32_t client, const struct wio_boot_leave *m,
                      int64_t now_ns)
{
    if (r->pb == NULL || m->pbid >= r->npb || r->pb[m->pbid] == NULL ||
        m->rank >= r->pb[m->pbid]->nprocs)
        return;
    if (r->pb[m->pbid]->slot[m->rank].incarnation == m->incarnation)
        gone(r, client, (struct wio_roster_place){m->pbid, m->rank}, now_ns);
}

void wio_roster_client_gone(struct wio_roster *r, uint32_t client, int64_t now_ns)
{
    if (client == 0 || client >= r->nclients || !r->clients[client].live)
        return;
    struct wio_roster_client *c = &r->clients[client];
    r->owed -= c->nplaces != 0 && !c->acked;
    c->live = false;
    for (uint32_t i = 0; i < c->nplaces && !c->acked; i++)
        gone(r, client, c->places[i], now_ns);
    r->bytes -= c->cap * sizeof *c->places;
    wio_os_free(c->places);
    c->places = NULL;
    c->nplaces = c->cap = 0;
}

void wio_roster_acked(struct wio_roster *r, uint32_t client)
{
    if (!r->complete || client == 0 || client >= r->nclients)
        return;
    struct wio_roster_client *c = &r->clients[client];
    r->owed -= c->live && c->nplaces != 0 && !c->acked;
    c->acked = true;
}

bool wio_roster_full(const struct wio_roster *r)
{
    return r->complete || (r->npb != 0 && r->pbs_known == r->npb && r->joined == r->expected);
}

bool wio_roster_delivered(const struct wio_roster *r)
{
    return r->complete && r->ngone == 0 && r->owed == 0;
}

bool wio_roster_lost(struct wio_roster *r, int64_t now_ns, int64_t grace_ns, char *text, size_t n)
{
    uint32_t kept = 0;
    bool lost = false;
    for (uint32_t i = 0; i < r->ngone; i++) {
        struct wio_roster_gone *g = &r->gone[i];
        const struct wio_roster_pb *pb = r->pb[g->at.pbid];
        if (pb->state[g->at.rank] != WIO_SLOT_GONE)
            continue;
        if (now_ns - g->since_ns < grace_ns) {
            r->gone[kept++] = *g;
        } else if (!r->complete && !lost) {
            lost = true;
            wio_text(text, n, "PB %u rank %u (host %s, pid %u) died or gave up while joining",
                     g->at.pbid, g->at.rank, host_of(r, g->client), pb->slot[g->at.rank].pid);
        }
    }
    r->ngone = kept;
    return lost;
}

int64_t wio_roster_next_ns(const struct wio_roster *r, int64_t grace_ns)
{
    return r->ngone == 0 ? INT64_MAX : r->gone[0].since_ns + grace_ns;
}

/* ---- reports ---- */

struct line {
    char *text;
    size_t len, room;
    bool full;
};

static void say(struct line *l, const char *fmt, ...) WIO_PRINTF(2, 3);
static void say(struct line *l, const char *fmt, ...)
{
    char piece[160];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(piece, sizeof piece, fmt, ap);
    va_end(ap);
    if (l->full || n < 0 || l->len + (size_t)n + 5 > l->room) {
        if (!l->full && l->len + 5 <= l->room) {
            memcpy(l->text + l->len, " ...", 5);
            l->len += 4;
        }
        l->full = true;
        return;
    }
    memcpy(l->text + l->len, piece, (size_t)n + 1);
    l->len += (size_t)n;
}

static void say_ranks(struct line *l, const struct wio_roster_pb *pb)
{
    const char *sep = "";
    for (uint32_t a = 0; a < pb->nprocs && !l->full; a++) {
        if (pb->state[a] == WIO_SLOT_HERE)
            continue;
        uint32_t b = a;
        while (b + 1 < pb->nprocs && pb->state[b + 1] != WIO_SLOT_HERE)
            b++;
        if (a == b)
            say(l, "%s%u", sep, a);
        else
            say(l, "%s%u-%u", sep, a, b);
        sep = ",";
        a = b;
    }
}

void wio_roster_progress(const struct wio_roster *r, struct wio_boot_progress *m)
{
    struct line l = {m->missing, 0, sizeof m->missing, false};
    m->joined = r->joined;
    m->expected = r->expected > UINT32_MAX ? UINT32_MAX : (uint32_t)r->expected;
    m->missing[0] = '\0';
    if (r->npb == 0)
        say(&l, "nobody came");
    for (uint32_t p = 0, q; p < r->npb && !l.full; p = q + 1) {
        const struct wio_roster_pb *pb = r->pb != NULL ? r->pb[p] : NULL;
        q = p;
        if (pb != NULL && pb->here == pb->nprocs)
            continue;
        const char *sep = l.len != 0 ? "; " : "";
        if (pb != NULL) {
            say(&l, "%sPB %u: rank%s ", sep, p, pb->nprocs - pb->here == 1 ? "" : "s");
            say_ranks(&l, pb);
            say(&l, " of %u", pb->nprocs);
            continue;
        }
        while (q + 1 < r->npb && (r->pb == NULL || r->pb[q + 1] == NULL))
            q++;
        if (p == q)
            say(&l, "%sPB %u: nobody came (size unknown)", sep, p);
        else
            say(&l, "%sPBs %u-%u: nobody came (sizes unknown)", sep, p, q);
    }
}

int wio_roster_pack(struct wio_roster *r, void **packed, size_t *bytes)
{
    if (r->expected > UINT32_MAX)
        return wio_fail(WAITIO_ERR_LIMIT, "%llu processes are too many",
                        (unsigned long long)r->expected);
    struct wio_image_head head = {
        .npb = r->npb, .nhosts = r->nhosts, .size = (uint32_t)r->expected};
    size_t bound = wio_pack_bound(head.npb, head.nhosts, head.size);
    int rc = wio_os_random(head.universe, sizeof head.universe);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "random universe id");
    memcpy(r->universe, head.universe, sizeof r->universe);
    void *base = wio_os_alloc(bound);
    if (base == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "address table of %u processes", head.size);
    struct wio_pack k;
    wio_pack_begin(&k, base, &head);
    for (uint32_t p = 0; p < r->npb; p++)
        wio_pack_block(&k, r->pb[p]->nprocs);
    for (uint32_t i = 0; i < r->nhosts; i++)
        wio_pack_host(&k, &r->hosts[i]);
    for (uint32_t p = 0; p < r->npb; p++)
        for (uint32_t i = 0; i < r->pb[p]->nprocs; i++)
            wio_pack_ep(&k, &r->pb[p]->slot[i].ep);
    size_t n = wio_pack_end(&k);
    if (n > WIO_BOOT_IMAGE_MAX) {
        wio_os_free(base);
        return wio_fail(WAITIO_ERR_LIMIT, "an address table of %zu bytes is too large", n);
    }
    void *less = wio_os_realloc(base, n);
    r->complete = true;
    r->bytes += n;
    *packed = less != NULL ? less : base;
    *bytes = n;
    return 0;
}
