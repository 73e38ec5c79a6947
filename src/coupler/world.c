/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is there: the components and their processes; and that two components call the same. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

enum { GREETING = 1000 };

/* The first process of each name, as name numbers: roots[i] in the order of universe ranks. */
struct names {
    int64_t *hashes; /* by universe rank */
    int *members;    /* by universe rank: of the ensemble, 1 none */
    int *roots;      /* first ranks of distinct hashes */
    int n;
};

static int compare_hashes(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* Distinct hashes and the lowest rank of each. */
static int find_roots(struct names *names, int size)
{
    int64_t(*pairs)[2] = wio_cpl_new((size_t)size, sizeof *pairs);

    names->roots = wio_cpl_new((size_t)size, sizeof *names->roots);
    if (pairs == NULL || names->roots == NULL) {
        free(pairs);
        return WAITIO_ERR_NOMEM;
    }
    for (int i = 0; i < size; i++) {
        pairs[i][0] = names->hashes[i];
        pairs[i][1] = i;
    }
    qsort(pairs, (size_t)size, sizeof *pairs, compare_hashes);
    for (int i = 0; i < size; i++)
        if (i == 0 || pairs[i][0] != pairs[i - 1][0])
            names->roots[names->n++] = (int)pairs[i][1];
    free(pairs);
    return 0;
}

/* The name of one component, told by its first process. */
static int tell_name(struct waitio_cpl *cpl, const char *own, int root, char **name)
{
    int length = (int)strlen(own) + 1;

    if (WAITIO_MPI_Bcast(&length, 1, WAITIO_MPI_INT, root, cpl->all) != 0)
        return wio_cpl_failed();
    *name = wio_cpl_new((size_t)length, 1);
    if (*name == NULL)
        return WAITIO_ERR_NOMEM;
    if (cpl->me == root)
        memcpy(*name, own, (size_t)length);
    return WAITIO_MPI_Bcast(*name, length, WAITIO_MPI_CHAR, root, cpl->all) != 0 ? wio_cpl_failed()
                                                                                 : 0;
}

static int compare_components(const void *a, const void *b)
{
    const struct wio_cpl_component *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Members of the components, once their names are known. ranks[0] is the root for the moment. */
static int find_members(struct waitio_cpl *cpl, const struct names *names)
{
    cpl->component_of = wio_cpl_new((size_t)cpl->size, sizeof *cpl->component_of);
    if (cpl->component_of == NULL)
        return WAITIO_ERR_NOMEM;
    for (int c = 0; c < cpl->n_components; c++) {
        struct wio_cpl_component *it = &cpl->components[c];
        int64_t hash = names->hashes[it->n];

        it->n = 0;
        for (int r = 0; r < cpl->size; r++)
            it->n += names->hashes[r] == hash;
        it->ranks = wio_cpl_new((size_t)it->n, sizeof *it->ranks);
        if (it->ranks == NULL)
            return WAITIO_ERR_NOMEM;
        it->n = 0;
        for (int r = 0; r < cpl->size; r++)
            if (names->hashes[r] == hash) {
                cpl->component_of[r] = c;
                it->ranks[it->n++] = r;
            }
    }
    cpl->mine = cpl->component_of[cpl->me];
    return 0;
}

static int name_all(struct waitio_cpl *cpl, const char *component, const struct names *names)
{
    int rc = 0;

    cpl->components = wio_cpl_new((size_t)names->n, sizeof *cpl->components);
    if (cpl->components == NULL)
        return WAITIO_ERR_NOMEM;
    cpl->n_components = names->n;
    for (int i = 0; rc == 0 && i < names->n; i++) {
        rc = tell_name(cpl, component, names->roots[i], &cpl->components[i].name);
        cpl->components[i].n = names->roots[i];
        if (rc == 0 && names->hashes[cpl->me] == names->hashes[names->roots[i]] &&
            strcmp(cpl->components[i].name, component) != 0)
            rc = wio_cpl_fail(WAITIO_ERR_ARG,
                              "the names '%s' and '%s' have one fingerprint: change one of them",
                              component, cpl->components[i].name);
    }
    if (rc == 0)
        qsort(cpl->components, (size_t)names->n, sizeof *cpl->components, compare_components);
    return rc == 0 ? find_members(cpl, names) : rc;
}

static int gather(struct waitio_cpl *cpl, const char *component, int members, struct names *names)
{
    int64_t mine[3] = {(int64_t)wio_cpl_hash(0, component), members, cpl->going_on};
    int64_t(*all)[3] = wio_cpl_new((size_t)cpl->size, sizeof *all);
    int rc = 0;

    names->hashes = wio_cpl_new((size_t)cpl->size, sizeof *names->hashes);
    names->members = wio_cpl_new((size_t)cpl->size, sizeof *names->members);
    cpl->lives = wio_cpl_new((size_t)cpl->size, sizeof *cpl->lives);
    if (all == NULL || names->hashes == NULL || names->members == NULL || cpl->lives == NULL)
        rc = WAITIO_ERR_NOMEM;
    else if (WAITIO_MPI_Allgather(mine, 3, WAITIO_MPI_INT64_T, all, 3, WAITIO_MPI_INT64_T,
                                  cpl->all) != 0)
        rc = wio_cpl_failed();
    for (int i = 0; rc == 0 && i < cpl->size; i++) {
        names->hashes[i] = all[i][0];
        names->members[i] = (int)all[i][1];
        cpl->lives[i] = all[i][2] != 0;
        cpl->back.newcomer |= cpl->lives[i] && !cpl->going_on;
    }
    free(all);
    return rc;
}

static int meet(struct waitio_cpl *cpl, const char *component, int members, struct names *names)
{
    int rc = gather(cpl, component, members, names);

    if (rc == 0)
        rc = find_roots(names, cpl->size);
    if (rc == 0)
        rc = name_all(cpl, component, names);
    return rc == 0 ? wio_cpl_ensemble_split(cpl, names->members) : rc;
}

/* The program's own messages, and other users of the universe, never meet the coupler's: it has
 * communicators of its own. */
int wio_cpl_world_open(struct waitio_cpl *cpl, const char *component, int members)
{
    struct names names = {NULL, NULL, NULL, 0};
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;
    int rc;

    if (world == NULL || WAITIO_MPI_Comm_dup(world, &cpl->all) != 0 ||
        WAITIO_MPI_Comm_rank(cpl->all, &cpl->me) != 0 ||
        WAITIO_MPI_Comm_size(cpl->all, &cpl->size) != 0)
        return wio_cpl_failed();
    rc = meet(cpl, component, members, &names);
    free(names.hashes);
    free(names.members);
    free(names.roots);
    if (rc != 0)
        return rc;
    if (WAITIO_MPI_Comm_split(cpl->all, cpl->mine, 0, &cpl->own) != 0 ||
        WAITIO_MPI_Comm_rank(cpl->own, &cpl->rank) != 0 ||
        WAITIO_MPI_Comm_dup(cpl->all, &cpl->ends) != 0)
        return wio_cpl_failed();
    cpl->greeted = wio_cpl_new((size_t)cpl->n_components, 1);
    cpl->questions = wio_cpl_new((size_t)cpl->size, sizeof *cpl->questions);
    cpl->streams = wio_cpl_new((size_t)cpl->size, sizeof *cpl->streams);
    return cpl->greeted == NULL || cpl->questions == NULL || cpl->streams == NULL ? WAITIO_ERR_NOMEM
                                                                                  : 0;
}

void wio_cpl_world_close(struct waitio_cpl *cpl)
{
    for (int c = 0; c < cpl->n_components; c++) {
        free(cpl->components[c].name);
        free(cpl->components[c].base);
        free(cpl->components[c].ranks);
    }
    free(cpl->components);
    free(cpl->component_of);
    free(cpl->greeted);
    free(cpl->lives);
    for (int r = 0; cpl->streams != NULL && r < cpl->size; r++)
        wio_cpl_list_free(&cpl->streams[r]);
    free(cpl->streams);
    free(cpl->questions);
    wio_cpl_collectives_free(cpl);
    cpl->components = NULL;
    if (cpl->own != WAITIO_MPI_COMM_NULL)
        (void)WAITIO_MPI_Comm_free(&cpl->own);
    if (cpl->ends != WAITIO_MPI_COMM_NULL)
        (void)WAITIO_MPI_Comm_free(&cpl->ends);
    if (cpl->all != WAITIO_MPI_COMM_NULL)
        (void)WAITIO_MPI_Comm_free(&cpl->all);
}

int wio_cpl_component(const struct waitio_cpl *cpl, const char *name)
{
    for (int c = 0; c < cpl->n_components; c++)
        if (strcmp(cpl->components[c].name, name) == 0)
            return c;
    return -1;
}

const char *wio_cpl_who(const struct waitio_cpl *cpl, int rank)
{
    static _Thread_local char text[300];
    const struct wio_cpl_component *c;
    int process = 0;

    if (cpl->component_of == NULL || rank < 0 || rank >= cpl->size) {
        wio_cpl_text(text, sizeof text, "universe rank %d", rank);
        return text;
    }
    c = &cpl->components[cpl->component_of[rank]];
    while (process < c->n - 1 && c->ranks[process] != rank)
        process++;
    wio_cpl_text(text, sizeof text, "component '%.200s', process %d", c->name, process);
    return text;
}

/* ---- greetings ----------------------------------------------------------------------------- */

/* A call as it travels and is compared: a long one cut, with a fingerprint of all of it. */
static void write_call(char text[GREETING], const char *call)
{
    if (strlen(call) < GREETING)
        wio_cpl_text(text, GREETING, "%s", call);
    else
        wio_cpl_text(text, GREETING, "%.*s... (%016llx)", GREETING - 30, call,
                     (unsigned long long)wio_cpl_hash(0, call));
}

int wio_cpl_greet_only(struct waitio_cpl *cpl, int other, const char *call)
{
    char text[GREETING] = "";
    struct wio_cpl_op op = {.peer = cpl->components[other].ranks[0]};
    int rc;

    if (cpl->rank != 0 || cpl->components[other].gone)
        return 0;
    write_call(text, call);
    if (wio_cpl_trace(cpl, &op, WIO_CPL_TAG_GREET, true, NULL) != 0)
        return WAITIO_ERR_NOMEM;
    rc = wio_cpl_letter(cpl, cpl->all, op.peer, WIO_CPL_TAG_GREET, text, GREETING);
    if (rc != WAITIO_ERR_SYSTEM)
        return rc;
    return wio_cpl_may_lose(cpl, op.peer) ? 0 : wio_cpl_failed();
}

int wio_cpl_hear_greeting(struct waitio_cpl *cpl, int other, char *text)
{
    struct wio_cpl_op op = {.peer = cpl->components[other].ranks[0]};
    int rc;

    if (wio_cpl_trace(cpl, &op, WIO_CPL_TAG_GREET, false, NULL) != 0)
        return WAITIO_ERR_NOMEM;
    if (WAITIO_MPI_Irecv(text, GREETING, WAITIO_MPI_CHAR, op.peer, WIO_CPL_TAG_GREET, cpl->all,
                         &op.req) != 0)
        return wio_cpl_may_lose(cpl, op.peer) ? 0 : wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    text[GREETING - 1] = '\0';
    return rc;
}

int wio_cpl_greeted(struct waitio_cpl *cpl, int other, const char *call)
{
    char text[GREETING] = "", own[GREETING] = "";
    int rc;

    if (cpl->rank != 0 || cpl->components[other].gone)
        return 0;
    write_call(own, call);
    rc = wio_cpl_hear_greeting(cpl, other, text);
    if (rc == 0 && !cpl->components[other].gone && strcmp(text, own) != 0)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' calls\n    %s\nwhile component '%s' calls\n    %s\nboth "
                          "must define the same tables in the same order, with the same "
                          "configuration",
                          cpl->components[cpl->mine].name, own, cpl->components[other].name, text);
    return rc;
}

int wio_cpl_greet(struct waitio_cpl *cpl, int other, const char *call)
{
    int rc = wio_cpl_greet_only(cpl, other, call);

    return rc == 0 ? wio_cpl_greeted(cpl, other, call) : rc;
}
