/* SPDX-License-Identifier: BSD-3-Clause */
/* From nothing to a running engine: configuration, identity, transports, rendezvous, service
 * thread. */
#include "boot/gathered.h"
#include "p2p/universe.h"
#include "transport/outside/outside.h"

#include <time.h>

#define DEFAULT_TIMEOUT_S 1000.0

/* One MPI job with all blocks. */
static bool by_mpi(const struct wio_universe *u)
{
    return u->cfg.comm_type == WIO_CFG_COMM_TYPE_MPI;
}

/* Sockets or memory, and files for large messages and for peers that are reached by nothing else.
 * Above 0 bytes is everything: as WAITIO_COMM_TYPE=file. */
static uint16_t hybrid_types(struct wio_universe *u)
{
    uint16_t file = 1u << WIO_TR_FILE;
    if (u->cfg.hybrid_threshold == 0)
        return file;
    u->hybrid = true;
    u->side_above = u->cfg.hybrid_threshold;
    return file | 1u << WIO_TR_TCP | 1u << WIO_TR_SHM;
}

static uint16_t by_type(struct wio_universe *u)
{
    uint16_t all = 0;
    for (int t = WIO_TR_TCP; t < WIO_TR_COUNT; t++)
        if (t != WIO_TR_MPI && t != WIO_TR_FILE &&
            wio_transport_get((enum wio_transport_id)t) != NULL)
            all |= (uint16_t)(1u << t);
    static const struct {
        int value;
        uint16_t mask;
        const char *name;
    } types[] = {
        {WIO_CFG_COMM_TYPE_SOCKET, 1u << WIO_TR_TCP, "socket"},
        {WIO_CFG_COMM_TYPE_SHM, 1u << WIO_TR_SHM, "shm"},
        {WIO_CFG_COMM_TYPE_FILE, 1u << WIO_TR_FILE, "file"},
        {WIO_CFG_COMM_TYPE_VERBS, 0, "verbs"},
    };
    if (u->cfg.comm_type == WIO_CFG_COMM_TYPE_HYBRID)
        return hybrid_types(u);
    for (size_t i = 0; i < WIO_ARRAY_LEN(types); i++) {
        if (types[i].value != u->cfg.comm_type)
            continue;
        if (types[i].mask != 0)
            return types[i].mask;
        wio_warn(&u->log, WIO_C_CONFIG,
                 "WAITIO_COMM_TYPE=%s is not built in this version: using auto", types[i].name);
    }
    return all;
}

static uint16_t allowed_transports(struct wio_universe *u)
{
    if (by_mpi(u)) /* nothing else: it works or says why */
        return 1u << WIO_TR_MPI;
    uint16_t types = by_type(u);
    if (wio_inside_wanted(u))
        return types | 1u << WIO_TR_MPI;
    if (wio_transport_get(WIO_TR_MPI) != NULL)
        wio_info(&u->log, WIO_C_CONFIG,
                 "transport mpi is loaded, but not used: WAITIO_INSIDE or WAITIO_COMM_TYPE=mpi "
                 "asks for it");
    return types;
}

/* @return whether p2p goes on without it; the log says why */
static bool dispensable(struct wio_universe *u, int t, struct wio_boot_offer *offer, int rc)
{
    if (t == WIO_TR_SHM && (u->allowed & (1u << WIO_TR_TCP)) != 0) {
        wio_info(&u->log, WIO_C_SHM, "no shared memory, TCP serves: %s", wio_last_detail());
        u->allowed &= (uint16_t) ~(1u << t);
        return true;
    }
    return t == WIO_TR_MPI && !by_mpi(u) && wio_inside_without(u, offer, rc) == 0;
}

static int open_one(struct wio_universe *u, const struct wio_transport *tr,
                    const struct wio_iface_params *p, struct wio_boot_offer *offer)
{
    int rc = tr->query(&u->cfg, &u->attr[tr->id]);
    if (rc == 0)
        rc = tr->open(p, &u->iface[tr->id]);
    return rc != 0 ? rc : tr->address(u->iface[tr->id], offer);
}

static int open_transports(struct wio_universe *u, struct wio_boot_offer *offer)
{
    struct wio_iface_params p = {.cfg = &u->cfg,
                                 .secret = &u->secret,
                                 .log = &u->log,
                                 .counters = &u->ctr,
                                 .up = &wio_p2p_upcalls,
                                 .user = u};
    bool alone = u->who.npb == 1 && u->who.nprocs == 1 && !by_mpi(u);
    u->allowed = allowed_transports(u);
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        const struct wio_transport *tr =
            wio_transport_wrapped((enum wio_transport_id)t, &u->cfg, &u->log);
        if (tr == NULL || (t != WIO_TR_SELF && (u->allowed & (1u << t)) == 0))
            continue;
        if (alone && t != WIO_TR_SELF && t != WIO_TR_MPI) /* others of the MPI job may wait */
            continue;
        int rc = open_one(u, tr, &p, offer);
        if (rc != 0 && dispensable(u, t, offer, rc))
            continue;
        if (rc != 0)
            return rc;
        if (u->attr[t].chunk == 0 || u->attr[t].chunk > WIO_PAYLOAD_MAX)
            u->attr[t].chunk = u->cfg.chunk;
    }
    return 0;
}

static void count_neighbours(struct wio_universe *u)
{
    const struct wio_table *t = u->table;
    uint64_t here = t->host[t->ep[t->me].host].identity;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->size; i++)
        n += t->host[t->ep[i].host].identity == here;
    wio_spin_begin(&u->spin, n, (uint32_t)wio_os_cpus_online());
}

static int start_transports(struct wio_universe *u)
{
    for (int t = 0; t < WIO_TR_COUNT; t++) {
        if (u->iface[t] == NULL)
            continue;
        int rc = u->iface[t]->tr->start(u->iface[t], u->table);
        if (rc != 0)
            return rc;
        u->iface[t]->tr->settle(u->iface[t], &u->attr[t]);
        u->calls_only = u->calls_only || (u->attr[t].caps & WIO_CAP_CALLS_ONLY) != 0;
    }
    wio_inside_prefer(u);
    return 0;
}

/* Only connections over TCP are encrypted. Whoever asks for that shall not find other ways open. */
static int check_encryption(const struct wio_config *cfg)
{
    const char *way = cfg->comm_type == WIO_CFG_COMM_TYPE_FILE     ? "file"
                      : cfg->comm_type == WIO_CFG_COMM_TYPE_HYBRID ? "hybrid"
                      : cfg->comm_type == WIO_CFG_COMM_TYPE_MPI    ? "mpi"
                                                                   : NULL;
    if (!cfg->tls || way == NULL)
        return 0;
    return wio_fail(WAITIO_ERR_CONFIG,
                    "WAITIO_TLS=1 encrypts connections over TCP, and WAITIO_COMM_TYPE=%s sends "
                    "messages by another way, which it cannot encrypt: use WAITIO_COMM_TYPE=auto "
                    "or socket, or unset WAITIO_TLS",
                    way);
}

static int load_secret(struct wio_universe *u)
{
    int rc = check_encryption(&u->cfg);
    if (rc == 0 && !by_mpi(u) && !(u->who.npb == 1 && u->who.nprocs == 1))
        rc = wio_secret_load(&u->secret, &u->cfg, &u->log);
    return rc;
}

/* Everything that needs no network. */
static int prepare(struct wio_universe *u)
{
    int rc = wio_log_init(&u->log, "warn", "");
    if (rc == 0)
        rc = wio_config_load(&u->cfg, &u->log);
    if (rc == 0) {
        wio_log_close(&u->log);
        rc = wio_log_init(&u->log, u->cfg.log, u->cfg.log_file);
    }
    if (rc == 0)
        rc = wio_outside_load(&u->cfg, &u->log);
    if (rc == 0 && by_mpi(u)) {
        u->who.pbid = u->who.rank = -1; /* the job's processes tell each other */
        wio_text(u->who.launcher, sizeof u->who.launcher, "MPI");
    } else if (rc == 0) {
        rc = wio_whoami(&u->who, &u->cfg, wio_os_getenv);
    }
    if (rc == 0) {
        u->log.pbid = u->who.pbid;
        u->log.pb_rank = u->who.rank;
        rc = wio_match_init(&u->match);
    }
    if (rc == 0 && (u->kick_fd = wio_os_eventfd()) < 0)
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, u->kick_fd, "eventfd");
    return rc == 0 ? load_secret(u) : rc;
}

static void set_context(struct waitio_gathering *g, int number)
{
    ((struct wio_card *)g->mine)->context = number;
}

/* The transport brings the processes together. */
static int gather(struct wio_universe *u, const struct wio_boot_offer *offer, double timeout_s)
{
    struct wio_card mine;
    struct waitio_gathering g = {.size = sizeof g,
                                 .card_bytes = sizeof mine,
                                 .timeout_s = timeout_s,
                                 .mine = &mine,
                                 .context = set_context};
    struct wio_iface *f = u->iface[WIO_TR_MPI];
    wio_card_fill(&mine, &u->cfg, offer);
    int rc = f->tr->gather(f, &g);
    if (rc == 0)
        rc = wio_gathered_table(g.all, g.count, g.me, &u->table);
    wio_os_free(g.all);
    if (rc != 0)
        return rc;
    const struct wio_table *t = u->table;
    u->who.pbid = (int)wio_table_pb_of(t, t->me);
    u->who.npb = (int)t->npb;
    u->who.rank = (int)(t->me - t->pb_base[u->who.pbid]);
    u->who.nprocs = (int)t->pb_size[u->who.pbid];
    u->log.pbid = u->who.pbid;
    u->log.pb_rank = u->who.rank;
    return 0;
}

/* The rendezvous brings the processes together. */
static int join(struct wio_universe *u, struct wio_join_params *jp)
{
    struct wio_insiders in = {0};
    int64_t begun = wio_os_now_ns();
    int rc = wio_inside_meet(u, &jp->offer, jp->timeout_s, &in);
    jp->timeout_s -= (double)(wio_os_now_ns() - begun) * 1e-9;
    if (rc == 0)
        rc = wio_join(jp, &u->table);
    if (rc == 0)
        rc = wio_inside_find(u, &in);
    wio_os_free(in.card);
    return rc;
}

/* A run is not to fail for want of its trace. */
static void trace(struct wio_universe *u, const struct wio_timeline_clock *begun)
{
    if (u->cfg.trace[0] != '\0' && wio_mark_open(u, begun) != 0)
        wio_warn(&u->log, WIO_C_CONFIG, "no trace will be written: %s", wio_last_error());
}

static int meet(struct wio_universe *u, double timeout_s, const struct wio_timeline_clock *begun)
{
    struct wio_join_params jp = {.cfg = &u->cfg,
                                 .secret = &u->secret,
                                 .me = &u->who,
                                 .log = &u->log,
                                 .timeout_s = timeout_s};
    jp.offer.ep.caps |= (uint16_t)(wio_number_formats() | wio_cpu_bits(wio_os_cpus_online()));
    if (u->cfg.shm_fetch != WIO_CFG_SHM_FETCH_OFF && wio_os_may_read_processes())
        jp.offer.ep.caps |= WIO_EP_LENDS;
    int rc = open_transports(u, &jp.offer);
    if (u->cfg.file_resume && u->cfg.comm_type == WIO_CFG_COMM_TYPE_FILE)
        jp.offer.ep.caps &= (uint16_t)~WIO_EP_ONE_LIFE;
    if (rc == 0)
        rc = by_mpi(u) ? gather(u, &jp.offer, timeout_s) : join(u, &jp);
    if (rc != 0)
        return rc;
    u->peer = wio_os_alloc((size_t)u->table->size * sizeof(struct wio_peer *));
    if (u->peer == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a universe of %u processes",
                        u->table->size);
    rc = wio_log_open(&u->log, u->cfg.log_file, (int)u->table->me); /* %r is known now */
    if (rc != 0)
        return rc;
    trace(u, begun);
    u->ctr.table_bytes = u->table->bytes;
    u->ctr.peer_bytes = (size_t)u->table->size * sizeof(struct wio_peer *);
    count_neighbours(u);
    rc = start_transports(u);
    return rc == 0 ? wio_resume_start(u) : rc;
}

struct wio_universe *wio_universe_new(void)
{
    struct wio_universe *u = wio_os_alloc(sizeof *u);
    if (u == NULL)
        return NULL;
    u->kick_fd = u->service_fd = -1;
    u->service_wake_ns = INT64_MAX;
    u->side_above = UINT64_MAX;
    uint32_t serial = 0;
    wio_os_random(&serial, sizeof serial);
    u->serial = serial == 0 ? 1 : serial;
    wio_spin_begin(&u->spin, 1, 1);
    wio_lock_init(&u->lock);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* wio_os_now_ns() */
    pthread_cond_init(&u->turn, &attr);
    pthread_condattr_destroy(&attr);
    wio_list_init(&u->active);
    wio_list_init(&u->tasks);
    wio_list_init(&u->outside);
    wio_list_init(&u->lent);
    wio_list_init(&u->closed_eps);
    wio_list_init(&u->groups);
    wio_pool_init(&u->ctl_pool, WIO_CTL_BYTES, 64);
    wio_pool_init(&u->small_pool, WIO_SMALL_HELD, 256);
    return u;
}

double wio_join_limit(const struct wio_config *cfg, double timeout_s)
{
    if (cfg->init_timeout >= 0)
        return cfg->init_timeout;
    return timeout_s > 0 ? timeout_s : DEFAULT_TIMEOUT_S;
}

int wio_universe_join(double timeout_s, struct wio_universe **out)
{
    struct wio_universe *u = wio_universe_new();
    if (u == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the universe");
    struct wio_timeline line;
    struct wio_timeline_clock begun = {0};
    int rc = prepare(u);
    if (rc == 0) {
        if (u->cfg.trace[0] != '\0')
            wio_timeline_begin(&line, &begun);
        u->credit_left = u->cfg.unexpected_max / WIO_CREDIT_UNIT;
        rc = meet(u, wio_join_limit(&u->cfg, timeout_s), &begun);
    }
    if (rc == 0)
        rc = wio_service_thread_start(u);
    if (rc != 0) {
        wio_universe_destroy(u);
        return rc;
    }
    u->joined = true;
    char name[64];
    wio_info(&u->log, WIO_C_P2P, "joined: %u processes in %u PBs, I am %s (launcher: %s)",
             u->table->size, u->table->npb, wio_peer_name(u, u->table->me, name, sizeof name),
             u->who.launcher);
    *out = u;
    return 0;
}

const struct wio_table *wio_universe_table(const struct wio_universe *u)
{
    return u->table;
}
const struct wio_config *wio_universe_config(const struct wio_universe *u)
{
    return &u->cfg;
}
struct wio_log *wio_universe_log(struct wio_universe *u)
{
    return &u->log;
}
void wio_universe_counters(struct wio_universe *u, struct wio_counters *out)
{
    wio_enter(u);
    *out = u->ctr;
    wio_leave(u);
}
void wio_universe_count_border(struct wio_universe *u, uint64_t msgs, uint64_t bytes)
{
    wio_enter(u);
    u->ctr.border_msgs += msgs;
    u->ctr.border_bytes += bytes;
    wio_leave(u);
}
void wio_universe_count_fold(struct wio_universe *u)
{
    wio_enter(u);
    u->ctr.inside_folds++;
    wio_leave(u);
}
const char *wio_universe_name(const struct wio_universe *u, uint32_t rank, char *buf, size_t n)
{
    return wio_peer_name(u, rank, buf, n);
}

int *wio_universe_sizes(struct wio_universe *u)
{
    wio_enter(u);
    if (u->sizes == NULL) {
        u->sizes = wio_os_alloc(u->table->npb * sizeof(int));
        for (uint32_t p = 0; u->sizes != NULL && p < u->table->npb; p++)
            u->sizes[p] = (int)u->table->pb_size[p];
    }
    if (u->sizes == NULL)
        wio_fail(WAITIO_ERR_NOMEM, "no memory for %u PB sizes", u->table->npb);
    wio_leave(u);
    return u->sizes;
}

const char *wio_universe_route(struct wio_universe *u, uint32_t rank, char *why, size_t nwhy)
{
    wio_enter(u);
    struct wio_iface *f = wio_peer_route(u, rank, why, nwhy);
    size_t at = strlen(why);
    if (f != NULL)
        wio_side_text(u, rank, f, why + at, nwhy - at);
    wio_leave(u);
    return f == NULL ? NULL : f->tr->name;
}

void wio_protocol_text(const struct wio_config *cfg, const struct wio_transport *tr,
                       enum wio_distance d, char *buf, size_t n)
{
    struct wio_tr_attr a = {0};
    buf[0] = '\0';
    if (tr->query(cfg, &a) != 0 || !tr->adapt(cfg, d, &a))
        return;
    size_t local = cfg->local_max < a.eager_max ? (size_t)cfg->local_max : a.eager_max;
    wio_text(buf, n, "%8.1f %8.1f %12zu %12zu %12zu", a.latency_s * 1e6, a.bandwidth * 1e-9, local,
             a.eager_max, a.chunk);
}

const char *wio_universe_distance(struct wio_universe *u, uint32_t rank)
{
    char why[320];
    wio_enter(u);
    struct wio_iface *f = wio_peer_route(u, rank, why, sizeof why);
    wio_leave(u);
    return f == NULL ? "unreachable" : wio_distance_name(f->tr->distance(f, rank));
}
