/* SPDX-License-Identifier: BSD-3-Clause */
#include "finish.h"

#include <sched.h>

#include "report.h"

enum { MOST = 64, UNTOUCHED = 4711, TESTS = 20 };

/* A part of the requests, in any order, with null ones between them. */
struct part {
    int n;
    struct pending *of[MOST]; /* NULL: a null request */
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST];
};

static void take(struct part *part, struct pending *p, int n, struct dice *mine)
{
    int order[MOST], most = n < MOST / 2 ? n : MOST / 2, count = 1 + below(mine, most);

    if (chance(mine, 40))
        count = most;
    shuffled(mine, order, most);
    part->n = 0;
    for (int i = 0; i < count; i++) {
        if (chance(mine, 5)) {
            part->of[part->n] = NULL;
            part->requests[part->n++] = MPI_REQUEST_NULL;
        }
        part->of[part->n] = &p[order[i]];
        part->requests[part->n++] = *p[order[i]].request;
    }
    for (int i = 0; i < part->n; i++)
        part->statuses[i].MPI_ERROR = UNTOUCHED;
}

/* One of them is complete: its request is null, or stays where it is persistent. */
static void over(struct part *part, int i, const MPI_Status *status)
{
    struct pending *p = part->of[i];

    if (p == NULL) {
        if (part->requests[i] != MPI_REQUEST_NULL)
            wrong("a null request has become another");
        return;
    }
    if ((part->requests[i] == MPI_REQUEST_NULL) == p->keeps)
        wrong("a request that is complete is %s", p->keeps ? "null" : "not null");
    *p->request = part->requests[i];
    p->act->trade->done(p->act, p->index, status);
    p->request = NULL;
}

/* A call with a single status leaves its error alone. */
static void over_single(struct part *part, int i, const MPI_Status *status)
{
    if (status->MPI_ERROR != UNTOUCHED)
        wrong("a call with one status has set its error to %d", status->MPI_ERROR);
    over(part, i, status);
}

static void by_wait(struct part *part, struct dice *mine)
{
    for (int i = 0; i < part->n; i++) {
        if (part->of[i] == NULL)
            continue;
        if (chance(mine, 30)) {
            int flag;
            MPI_Request_get_status(part->requests[i], &flag, &part->statuses[i]);
            part->statuses[i].MPI_ERROR = UNTOUCHED;
        }
        MPI_Wait(&part->requests[i], &part->statuses[i]);
        over_single(part, i, &part->statuses[i]);
    }
}

static void by_test(struct part *part, struct dice *mine)
{
    for (int t = 0; t < TESTS; t++) {
        int i = below(mine, part->n), flag;
        if (part->of[i] == NULL || part->of[i]->request == NULL)
            continue;
        MPI_Test(&part->requests[i], &flag, &part->statuses[i]);
        if (flag)
            over_single(part, i, &part->statuses[i]);
    }
}

static void by_all(struct part *part, bool wait)
{
    int flag = 1;

    if (wait)
        MPI_Waitall(part->n, part->requests, part->statuses);
    else
        MPI_Testall(part->n, part->requests, &flag, part->statuses);
    for (int i = 0; i < part->n && flag; i++)
        over(part, i, &part->statuses[i]);
}

static void by_any(struct part *part, bool wait)
{
    MPI_Status status;
    int i = -1, flag = 1;

    status.MPI_ERROR = UNTOUCHED;
    if (wait)
        MPI_Waitany(part->n, part->requests, &i, &status);
    else
        MPI_Testany(part->n, part->requests, &i, &flag, &status);
    if (!flag)
        return;
    if (i < 0 || i >= part->n || part->of[i] == NULL) {
        wrong("%s gives index %d of %d", wait ? "Waitany" : "Testany", i, part->n);
        return;
    }
    over_single(part, i, &status);
}

static void by_some(struct part *part, bool wait)
{
    int done = -1, which[MOST];

    if (wait)
        MPI_Waitsome(part->n, part->requests, &done, which, part->statuses);
    else
        MPI_Testsome(part->n, part->requests, &done, which, part->statuses);
    if (done < (wait ? 1 : 0) || done > part->n) {
        wrong("%s gives %d of %d", wait ? "Waitsome" : "Testsome", done, part->n);
        return;
    }
    for (int i = 0; i < done; i++) {
        if (which[i] < 0 || which[i] >= part->n || part->of[which[i]] == NULL)
            wrong("%s gives index %d", wait ? "Waitsome" : "Testsome", which[i]);
        else
            over(part, which[i], &part->statuses[i]);
    }
}

static int without_those_done(struct pending *p, int n)
{
    int left = 0;

    for (int i = 0; i < n; i++)
        if (p[i].request != NULL)
            p[left++] = p[i];
    return left;
}

/* MPICH 4.0's Testall fails for persistent requests. */
static bool may_test_all(const struct part *part)
{
    for (int i = 0; i < part->n; i++)
        if (part->of[i] != NULL && part->of[i]->keeps && of_vendor(part->of[i]->act->c))
            return false;
    return true;
}

void finish_all(struct pending *p, int n, struct dice *mine)
{
    while (n > 0) {
        struct part part;
        int way = below(mine, 8);
        take(&part, p, n, mine);
        note("completes %d of %d, way %d", part.n, n, way);
        if (way == 0)
            by_wait(&part, mine);
        else if (way == 1)
            by_test(&part, mine);
        else if (way < 4)
            by_all(&part, way == 2 || !may_test_all(&part));
        else if (way < 6)
            by_any(&part, way == 4);
        else
            by_some(&part, way == 6);
        n = without_those_done(p, n);
        sched_yield();
    }
}
