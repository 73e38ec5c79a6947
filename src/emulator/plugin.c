/* SPDX-License-Identifier: BSD-3-Clause */
/** @file plugin.c  The interface, and the table of functions that libwaitio gets. */
#include <stdio.h>

#include "emulator/emulator.h"

WAITIO_PLUGIN_NOTE("transport=mpi;for=" WAITIO_MPI_KIND " " WAITIO_MPI_RELEASE
                   ";library=" WAITIO_MPI_SONAME ";when=" WAITIO_MPI_LAUNCHER
                   ";rivals=" WAITIO_MPI_RIVALS ";");

#define NAP_MIN_NS 20000
#define NAP_MAX_NS 1000000
#define NAP_SERVICE_NS 5000000
enum { LOOKS = 3, LOOKS_AT_FRAMES = 6 };
#define LIKE (WAITIO_TRANSPORT_POLLS | WAITIO_TRANSPORT_PARTIAL | WAITIO_TRANSPORT_MUTE)
#define GRANT_MIN 1024u
#define GRANT_MAX (256u << 10)

static int query(const struct waitio_host *host, struct waitio_costs *c)
{
    int rc = emu_check_mpi(host);
    if (rc != 0)
        return rc;
    *c = (struct waitio_costs){.flags = LIKE | WAITIO_TRANSPORT_CALLS_ONLY,
                               .latency_s = 4e-7,
                               .bandwidth = 8e9,
                               .piece = WAITIO_TRANSPORT_PAYLOAD,
                               .eager_max = 256 << 10};
    return 0;
}

static int adapt(int distance, struct waitio_costs *c)
{
    (void)c;
    return distance != WAITIO_AT_SELF;
}

static int open_iface(const struct waitio_open_params *p, struct waitio_iface **iface)
{
    struct waitio_iface *f = p->host->alloc(sizeof *f);
    if (f == NULL)
        return p->host->fail(WAITIO_ERR_NOMEM, "no memory for transport mpi");
    f->p = p;
    f->host = p->host;
    f->comm = MPI_COMM_NULL;
    f->key = MPI_KEYVAL_INVALID;
    f->down = true; /* until MPI is there */
    emu_list_init(&f->links);
    emu_list_init(&f->busy);
    emu_list_init(&f->slots);
    emu_list_init(&f->slots_free);
    emu_list_init(&f->orphans);
    emu_list_init(&f->unread);
    emu_list_init(&f->spares);
    emu_list_init(&f->bare_outs);
    emu_list_init(&f->bare_ins);
    *iface = f;
    return 0;
}

/* Which rank of MPI's has each member, and the other way round. */
static int make_members(struct waitio_iface *f, const struct waitio_members *m)
{
    f->member = f->solo ? NULL : f->host->alloc(f->nmembers * sizeof *f->member);
    if (f->member == NULL && !f->solo)
        return f->host->fail(WAITIO_ERR_NOMEM, "no memory for %u processes", f->nmembers);
    for (uint32_t i = 0; i < f->nmembers && !f->solo; i++)
        f->member[i] = EMU_NOBODY;
    for (uint32_t i = 0; i < m->count; i++) { /* WAITIO_NO_NUMBER becomes -1 */
        f->peer[i].rank = f->solo ? (int)i : (int)m->number[i];
        if (!f->solo && f->peer[i].rank >= 0)
            f->member[m->number[i]] = i;
    }
    return 0;
}

static int start(struct waitio_iface *f, const struct waitio_members *m)
{
    if (f->comm == MPI_COMM_NULL) {
        int rc = emu_solo(f);
        if (rc != 0)
            return rc;
    }
    f->me = m->me;
    f->count = m->count;
    f->peer = f->host->alloc(m->count * sizeof *f->peer);
    if (f->peer == NULL)
        return f->host->fail(WAITIO_ERR_NOMEM, "no memory for %u processes", m->count);
    return make_members(f, m) != 0 ? WAITIO_ERR_NOMEM : emu_post(f);
}

static void costs(struct waitio_iface *f, struct waitio_costs *c)
{
    c->flags = LIKE | (f->any_thread ? 0 : WAITIO_TRANSPORT_CALLS_ONLY);
    c->first_grant = f->grant < GRANT_MIN ? GRANT_MIN : f->grant > GRANT_MAX ? GRANT_MAX : f->grant;
}

static int reachable(struct waitio_iface *f, uint32_t peer, char *why, size_t nwhy)
{
    if (f->peer == NULL || peer >= f->count || peer == f->me) {
        snprintf(why, nwhy, "%s", peer == f->me ? "this process" : "no member");
        return 0;
    }
    if (f->down) {
        snprintf(why, nwhy, "MPI_Finalize was called: call waitio_finalize before it");
        return 0;
    }
    if (f->broken) {
        snprintf(why, nwhy, "%s has failed", WAITIO_MPI_KIND);
        return 0;
    }
    if (!emu_in_job(f, peer)) {
        snprintf(why, nwhy, "not in this MPI job");
        return 0;
    }
    snprintf(why, nwhy, "rank %d of the MPI job (%s)", f->peer[peer].rank, WAITIO_MPI_KIND);
    return 1;
}

static int distance(struct waitio_iface *f, uint32_t peer)
{
    (void)f;
    (void)peer;
    return WAITIO_AT_SUBNET; /* MPI knows */
}

static int progress(struct waitio_iface *f, int service)
{
    bool stop = false;
    if (!emu_may(f))
        return 0;
    int events = service && f->nbusy == 0 ? 0 : emu_frames(f, &stop);
    if (f->nbusy > 0 && !stop)
        for (struct emu_list *n = f->busy.next, *next; n != &f->busy && !stop; n = next) {
            next = n->next;
            events += emu_link_work(f, EMU_OF(n, struct emu_link, node), &stop);
        }
    if (f->slots.next != &f->slots)
        events += emu_slots_done(f);
    if (f->orphans.next != &f->orphans)
        events += emu_orphans(f);
    f->moved = f->moved || events > 0;
    return events;
}

/* A look costs a tenth of a message; what lies around it here and in libwaitio as much again. So
 * where nothing but a frame can come only those are looked for. */
static int progress_link(struct waitio_link *link)
{
    struct waitio_iface *f = link->iface;
    int events = 0;
    const struct emu_link *l = emu_link_of(link);
    bool quiet = f->nbusy == (l->busy && emu_only_asked(l)) && emu_list_empty(&f->slots) &&
                 emu_list_empty(&f->orphans);
    if (quiet)
        return emu_may(f) && emu_look(f, LOOKS_AT_FRAMES) ? progress(f, 0) : 0;
    for (int i = 0; i < LOOKS && events == 0; i++)
        events = progress(f, 0);
    return events;
}

static int arm(struct waitio_iface *f, int service)
{
    return !service && emu_may(f) && emu_has_input(f);
}

static int needs_service(struct waitio_iface *f)
{
    return f->any_thread && !f->down && f->nbusy > 0;
}

/* MPI cannot wake anybody: the longer nothing has come the longer is the nap. */
static int64_t next_look_ns(struct waitio_iface *f)
{
    bool own = f->host->own_thread() != 0;
    if (f->peer == NULL || !emu_may(f))
        return INT64_MAX;
    int64_t now = f->host->now_ns();
    if (f->moved) {
        f->moved = false;
        f->moved_ns = now;
    }
    int64_t nap = (now - f->moved_ns) / 8, most = own ? NAP_SERVICE_NS : NAP_MAX_NS;
    return now + (nap < NAP_MIN_NS ? NAP_MIN_NS : nap > most ? most : nap);
}

/* Of a dead process the launcher ends the job, or libwaitio hears by another way (MUTE); all others
 * are slow at most. */
static int64_t heard_ns(const struct waitio_link *link)
{
    return link->iface->host->now_ns();
}

void emu_free(struct waitio_iface *f)
{
    emu_tx_free(f);
    f->host->free(f->peer);
    f->host->free(f->member);
    f->host->free(f->in);
    f->host->free(f);
}

static void drop(struct waitio_iface *f, struct emu_list *queue)
{
    struct emu_list *n;
    while ((n = emu_list_pop(queue)) != NULL)
        f->host->free(EMU_OF(n, struct emu_out, node));
}

static void close_iface(struct waitio_iface *f)
{
    while (f->links.next != &f->links) {
        struct emu_link *l = EMU_OF(f->links.next, struct emu_link, all);
        drop(f, &l->small);
        drop(f, &l->bulk);
        drop(f, &l->asked);
        drop(f, &l->kept);
        emu_free_link(&l->base); /* what MPI may still read stays */
    }
    if (!emu_job_leave(f))
        emu_free(f);
}

/* MPI is the parent's; not a call of it is allowed here. */
static void after_fork(struct waitio_iface *f)
{
    f->down = true;
    emu_job_forget(f);
}

static int dump(struct waitio_iface *f, const struct waitio_link *link, char *buf, size_t n)
{
    static const char *const states[] = {"connecting", "ready", "closing", "closed"};
    if (link == NULL)
        return snprintf(buf, n, "%s %s, member %u of %u, %d busy links%s", WAITIO_MPI_KIND,
                        WAITIO_MPI_RELEASE, f->me, f->count, f->nbusy,
                        f->down ? ", MPI is over" : "");
    const struct emu_link *l = (const struct emu_link *)(const void *)link;
    return snprintf(buf, n, "%s, %zu bytes queued, %d payloads leaving, %d arriving%s",
                    states[link->state], l->queued, l->nflying, l->narriving,
                    l->heard_bye ? ", it has said goodbye" : "");
}

static const struct waitio_transport table = {
    .size = sizeof(struct waitio_transport),
    .version = WAITIO_TRANSPORT_VERSION,
    .name = "mpi",
    .place = WAITIO_PLACE_MPI,
    .about = "one MPI job, " WAITIO_MPI_KIND " " WAITIO_MPI_RELEASE,
    .query = query,
    .adapt = adapt,
    .open = open_iface,
    .gather = emu_gather,
    .start = start,
    .costs = costs,
    .reachable = reachable,
    .distance = distance,
    .connect = emu_connect,
    .send = emu_send,
    .put = emu_put,
    .keep = emu_keep,
    .queued = emu_queued,
    .progress = progress,
    .progress_link = progress_link,
    .arm = arm,
    .needs_service = needs_service,
    .next_look_ns = next_look_ns,
    .close = emu_close,
    .heard_ns = heard_ns,
    .free_link = emu_free_link,
    .close_iface = close_iface,
    .after_fork = after_fork,
    .dump = dump,
};

const struct waitio_transport *waitio_plugin(const struct waitio_host *host)
{
    return emu_check_mpi(host) == 0 ? &table : NULL;
}
