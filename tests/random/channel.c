/* SPDX-License-Identifier: BSD-3-Clause */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

struct channel channels[MOST_CHANNELS];

int list_find(const struct list *l, int who)
{
    for (int i = 0; i < l->n; i++)
        if (l->who[i] == who)
            return i;
    return -1;
}

bool list_has(const struct list *l, int who)
{
    return list_find(l, who) >= 0;
}

const struct list *channel_peers(const struct channel *c, int side)
{
    return &c->side[c->inter ? 1 - side : 0];
}

bool is_intra(const struct channel *c)
{
    return !c->inter;
}

bool is_inter(const struct channel *c)
{
    return c->inter;
}

static int job_of[MOST_PROCESSES];
static bool has_jobs;

void channels_jobs(const char *sizes)
{
    int at = 0;

    has_jobs = true;
    for (int job = 0; *sizes != '\0'; job++) {
        char *end;
        for (long n = strtol(sizes, &end, 10); n > 0 && at < MOST_PROCESSES; n--)
            job_of[at++] = job;
        sizes = *end == ',' ? end + 1 : "";
    }
}

bool has_vendor(void)
{
    return has_jobs;
}

bool of_vendor(const struct channel *c)
{
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < c->side[s].n; i++)
            if (job_of[c->side[s].who[i]] != job_of[c->side[0].who[0]])
                return false;
    return has_jobs;
}

struct channel *channel_new(void)
{
    for (int i = 0; i < MOST_CHANNELS; i++)
        if (!channels[i].used) {
            memset(&channels[i], 0, sizeof channels[i]);
            channels[i].used = channels[i].born = true;
            channels[i].comm = MPI_COMM_NULL;
            return &channels[i];
        }
    return NULL;
}

int channels_free(void)
{
    int n = 0;
    for (int i = 0; i < MOST_CHANNELS; i++)
        n += !channels[i].used;
    return n;
}

struct channel *channel_some(struct dice *d, bool (*fits)(const struct channel *))
{
    int order[MOST_CHANNELS];

    shuffled(d, order, MOST_CHANNELS);
    for (int i = 0; i < MOST_CHANNELS; i++) {
        struct channel *c = &channels[order[i]];
        if (c->used && !c->born && (fits == NULL || fits(c)))
            return c;
    }
    return NULL;
}

void channel_drop(struct channel *c)
{
    if (c->comm != MPI_COMM_NULL && c != &channels[0])
        MPI_Comm_free(&c->comm);
    if (c->comm != MPI_COMM_NULL && c != &channels[0])
        wrong("a freed communicator is not MPI_COMM_NULL");
    c->used = false;
}

/* Does the group have the members of the list, in this order? */
static void check_group(MPI_Group group, const struct list *l, const char *what)
{
    MPI_Group all;
    int size, ranks[MOST_PROCESSES], worlds[MOST_PROCESSES];

    MPI_Group_size(group, &size);
    if (size != l->n) {
        wrong("%s has %d members, not %d", what, size, l->n);
        return;
    }
    MPI_Comm_group(channels[0].comm, &all);
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, size, ranks, all, worlds);
    for (int i = 0; i < size; i++)
        if (worlds[i] != l->who[i])
            wrong("%s: rank %d is process %d, not %d", what, i, worlds[i], l->who[i]);
    MPI_Group_free(&all);
}

static void check_comm(const struct channel *c)
{
    int rank, size, inter, remote;
    MPI_Group group;

    MPI_Comm_rank(c->comm, &rank);
    MPI_Comm_size(c->comm, &size);
    MPI_Comm_test_inter(c->comm, &inter);
    if (rank != c->rank || size != c->size || inter != c->inter)
        wrong("rank %d of %d (inter %d), not %d of %d (inter %d)", rank, size, inter, c->rank,
              c->size, c->inter);
    MPI_Comm_group(c->comm, &group);
    check_group(group, &c->side[c->mine], "a communicator");
    MPI_Group_free(&group);
    if (!c->inter)
        return;
    MPI_Comm_remote_size(c->comm, &remote);
    if (remote != c->remote)
        wrong("the remote group has %d members, not %d", remote, c->remote);
    MPI_Comm_remote_group(c->comm, &group);
    check_group(group, channel_peers(c, c->mine), "a remote group");
    MPI_Group_free(&group);
}

void channel_enter(struct channel *c)
{
    c->mine = 0;
    c->rank = list_find(&c->side[0], world_rank);
    if (c->rank < 0 && c->inter) {
        c->mine = 1;
        c->rank = list_find(&c->side[1], world_rank);
    }
    if (c->rank < 0)
        c->mine = -1;
    if ((c->comm != MPI_COMM_NULL) != (c->mine >= 0)) {
        wrong("a communicator that is %s for a %smember",
              c->comm == MPI_COMM_NULL ? "null" : "there", c->mine >= 0 ? "" : "non-");
        c->mine = c->comm == MPI_COMM_NULL ? -1 : 0;
        return;
    }
    if (c->mine < 0)
        return;
    c->size = c->side[c->mine].n;
    c->remote = c->inter ? c->side[1 - c->mine].n : 0;
    check_comm(c);
}

void channels_reset(MPI_Comm world)
{
    for (int i = MOST_CHANNELS; i-- > 0;)
        if (channels[i].used)
            channel_drop(&channels[i]);
    struct channel *c = channel_new();
    c->comm = world;
    c->side[0].n = world_size;
    for (int i = 0; i < world_size; i++)
        c->side[0].who[i] = i;
    c->born = false;
    channel_enter(c);
}
