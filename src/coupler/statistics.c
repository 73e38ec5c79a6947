/* SPDX-License-Identifier: BSD-3-Clause */
/* What exchanges cost: counted where they happen, by two looks at the clock for each message. */
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/message.h"

double wio_cpl_waited(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int peer,
                      double since)
{
    double now = WAITIO_MPI_Wtime(), seconds = now - since;

    b->costs.waited += seconds;
    if (seconds > b->costs.longest) {
        b->costs.longest = seconds;
        b->costs.longest_at = cpl->clock.now;
        b->costs.longest_for = peer;
    }
    return now;
}

void wio_cpl_moved(struct wio_cpl_bundle *b, size_t numbers)
{
    b->costs.messages++;
    b->costs.bytes += (int64_t)(numbers * wio_cpl_width(b->type));
}

void wio_cpl_exchanged(struct wio_cpl_bundle *b, double since, double waited)
{
    b->costs.exchanges++;
    b->costs.worked += WAITIO_MPI_Wtime() - since - (b->costs.waited - waited);
}

/* Which process of its component is a universe rank? */
static int process_of(const struct wio_cpl_component *c, int rank)
{
    int i = 0;

    while (i < c->n - 1 && c->ranks[i] != rank)
        i++;
    return i;
}

int waitio_cpl_statistics(waitio_cpl_t cpl, int i, struct waitio_cpl_costs *out)
{
    const struct wio_cpl_bundle *b;
    const struct wio_cpl_costs *c;
    int other;

    *out = (struct waitio_cpl_costs){.component = NULL};
    if (cpl == NULL || i < 0 || (size_t)i >= cpl->bundles.n)
        return WAITIO_ERR_ARG;
    b = ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
    c = &b->costs;
    other = b->sends ? b->table->to : b->table->from;
    *out = (struct waitio_cpl_costs){
        .component = cpl->components[other].name,
        .variable = ((struct wio_cpl_var **)b->vars.at)[0]->name,
        .variables = (int)b->vars.n,
        .gets = !b->sends,
        .interval = b->interval,
        .exchanges = c->exchanges,
        .messages = c->messages,
        .bytes = c->bytes,
        .waited = c->waited,
        .worked = c->worked,
        .longest = c->longest,
        .longest_at = c->longest_at,
        .longest_process =
            c->longest > 0 ? process_of(&cpl->components[other], c->longest_for) : -1,
    };
    return 0;
}
