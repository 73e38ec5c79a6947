/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages inside an MPI job by its MPI (WAITIO_INSIDE), while the universe forms at the rendezvous
 * as always. Before that the job's processes exchange cards by MPI. Only who has got the cards of
 * all sets the bit of transport mpi in the address table: so both sides of a pair know the same. A
 * member is known among the cards by its token, which is random; so a job may hold several blocks,
 * or blocks of several universes.
 */
#include "boot/gathered.h"
#include "p2p/universe.h"
#include "transport/outside/outside.h"

#define BIT (1u << WIO_TR_MPI)

bool wio_inside_wanted(const struct wio_universe *u)
{
    return u->cfg.inside != WIO_CFG_INSIDE_OFF && u->cfg.comm_type != WIO_CFG_COMM_TYPE_MPI &&
           wio_outside_at(WAITIO_PLACE_MPI) != NULL;
}

static bool forced(const struct wio_universe *u)
{
    return u->cfg.inside == WIO_CFG_INSIDE_MPI;
}

int wio_inside_without(struct wio_universe *u, struct wio_boot_offer *offer, int rc)
{
    struct wio_iface *f = u->iface[WIO_TR_MPI];
    if (forced(u) || (rc != WAITIO_ERR_UNSUPPORTED && rc != WAITIO_ERR_STATE))
        return rc;
    wio_warn(&u->log, WIO_C_P2P, "no messages by MPI: %s", wio_last_detail());
    if (f != NULL)
        f->tr->close_iface(f);
    u->iface[WIO_TR_MPI] = NULL;
    u->allowed &= (uint16_t)~BIT;
    offer->ep.caps &= (uint16_t)~BIT;
    return 0;
}

static void no_context(struct waitio_gathering *g, int number)
{
    (void)g;
    (void)number;
}

/* By it the others find us in the table. */
static int make_token(struct wio_boot_offer *offer)
{
    int rc = 0;
    while (rc >= 0 && offer->ep.token == 0) /* without shared memory there is none */
        rc = wio_os_random(&offer->ep.token, sizeof offer->ep.token);
    return rc < 0 ? wio_fail_os(WAITIO_ERR_SYSTEM, rc, "random number of this process") : 0;
}

int wio_inside_meet(struct wio_universe *u, struct wio_boot_offer *offer, double timeout_s,
                    struct wio_insiders *in)
{
    struct wio_iface *f = u->iface[WIO_TR_MPI];
    struct wio_card mine;
    struct waitio_gathering g = {.size = sizeof g,
                                 .card_bytes = sizeof mine,
                                 .timeout_s = timeout_s,
                                 .mine = &mine,
                                 .context = no_context,
                                 .flags = WAITIO_GATHER_PART};
    if (f == NULL || !wio_inside_wanted(u))
        return 0;
    int rc = make_token(offer);
    if (rc != 0)
        return rc;
    if (!forced(u))
        g.flags |= WAITIO_GATHER_BEGUN;
    wio_card_fill(&mine, &u->cfg, offer);
    rc = f->tr->gather(f, &g);
    if (rc == 0) {
        in->card = g.all;
        in->count = g.count;
        return 0;
    }
    wio_os_free(g.all);
    return wio_inside_without(u, offer, rc);
}

/* Who has asked for it shall not find out by the clock that it is not so. */
static int check_block(const struct wio_universe *u)
{
    const struct wio_table *t = u->table;
    uint32_t pb = wio_table_pb_of(t, t->me), first = t->pb_base[pb];
    for (uint32_t i = first; i < first + t->pb_size[pb]; i++)
        if (t->number[i] == WIO_NO_NUMBER)
            return wio_fail(WAITIO_ERR_JOIN,
                            "WAITIO_INSIDE=mpi, but PB %u rank %u is not in the same MPI job as "
                            "this process: start the block by one mpiexec of its MPI, with "
                            "WAITIO_INSIDE=mpi for all, or take WAITIO_INSIDE=auto",
                            pb, i - first);
    return 0;
}

int wio_inside_find(struct wio_universe *u, const struct wio_insiders *in)
{
    struct wio_table *t = u->table;
    if (in->card == NULL)
        return 0;
    int rc = wio_gathered_numbers(in->card, in->count, t, BIT, &t->number);
    if (rc != 0 || (forced(u) && (rc = check_block(u)) != 0))
        return rc;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->size; i++)
        n += t->number[i] != WIO_NO_NUMBER;
    wio_info(&u->log, WIO_C_P2P,
             "%u of %u processes, this one included, are in one MPI job (%s): messages between "
             "them go by its MPI %s",
             n, t->size, wio_outside_at(WAITIO_PLACE_MPI)->about,
             forced(u) ? "(WAITIO_INSIDE=mpi)" : "where nothing is quicker (WAITIO_INSIDE=auto)");
    return 0;
}

void wio_inside_prefer(struct wio_universe *u)
{
    if (u->iface[WIO_TR_MPI] != NULL && wio_inside_wanted(u) && forced(u))
        u->attr[WIO_TR_MPI].latency_s = 0;
}
