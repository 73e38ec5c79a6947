/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts are handed out by a counter: no part waits for another, so that no lock is needed. */
#include "coupler/weights/team.h"

#include <pthread.h>
#include <stdatomic.h>

#include "os/os.h"

struct team {
    _Atomic size_t next;
    _Atomic int error;
    size_t n, grain;
    wio_team_part part;
    void *arg;
};

struct member {
    struct team *team;
    pthread_t thread;
    int number;
};

int wio_team_size(int wanted)
{
    int n = wanted > 0 ? wanted : wio_os_cpus();
    return n < 1 ? 1 : n > WIO_TEAM_MAX ? WIO_TEAM_MAX : n;
}

static void work(struct team *team, int number)
{
    while (atomic_load(&team->error) == 0) {
        size_t begin = atomic_fetch_add(&team->next, team->grain);
        if (begin >= team->n)
            return;
        size_t end = team->n - begin > team->grain ? begin + team->grain : team->n;
        int error = team->part(team->arg, number, begin, end);
        int none = 0;
        if (error != 0)
            atomic_compare_exchange_strong(&team->error, &none, error);
    }
}

static void *run_member(void *arg)
{
    struct member *m = arg;
    work(m->team, m->number);
    return NULL;
}

int wio_team_run(int threads, size_t n, size_t grain, wio_team_part part, void *arg)
{
    struct team team = {.n = n, .grain = grain > 0 ? grain : 1, .part = part, .arg = arg};
    struct member members[WIO_TEAM_MAX];
    int started = 1;
    if (n <= team.grain)
        threads = 1;
    for (; started < threads; started++) {
        struct member *m = &members[started];
        *m = (struct member){.team = &team, .number = started};
        if (wio_os_thread_start(&m->thread, run_member, m, "wio-weights") != 0)
            break;
    }
    work(&team, 0);
    for (int i = 1; i < started; i++)
        pthread_join(members[i].thread, NULL);
    return atomic_load(&team.error);
}
