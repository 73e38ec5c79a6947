/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How readers find the writers: the first reader says hello in the message space of the stream's
 * name to the first process of each other block, or to the one that the settings name. Who does not
 * write that stream never looks into that space, or does so later: then the hello has waited.
 */
#include "stage/reader.h"

#include <stdlib.h>
#include <string.h>

/* How much longer a process waits for one that waits itself. */
static const double GRACE = 10;

static int64_t next_opening(void)
{
    static int64_t openings;

    return __atomic_add_fetch(&openings, 1, __ATOMIC_RELAXED);
}

static bool is_reader(const struct waitio_stage *s, int universe_rank)
{
    for (int i = 0; i < s->n; i++)
        if (s->ranks[i] == universe_rank)
            return true;
    return false;
}

static int failed(int rc)
{
    return wio_stg_fail(rc, "%s", waitio_last_error());
}

static int known_writer(struct waitio_stage *s, int *rank)
{
    int rc = waitio_group_find(s->group, s->set.writer_pb, s->set.writer_rank, rank);

    if (rc != 0)
        return failed(rc);
    if (*rank >= 0)
        return 0;
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "there is no process %d in PB %d, which shall be the first "
                        "writer",
                        s->set.writer_rank, s->set.writer_pb);
}

/* Who is asked, by universe rank. */
struct asked {
    int *ranks, n;
    int left; /* so many have died or left */
};

/* The first process of each block. */
static int find_firsts(struct waitio_stage *s, struct asked *a, int blocks)
{
    int rc = 0, rank = -1;

    for (int pb = 0; rc == 0 && pb < blocks; pb++) {
        rc = waitio_group_find(s->group, pb, 0, &rank);
        if (rc != 0)
            return failed(rc);
        if (rank >= 0 && !is_reader(s, rank))
            a->ranks[a->n++] = rank;
    }
    return rc;
}

static int find_asked(struct waitio_stage *s, struct asked *a)
{
    int blocks = 0, rc = waitio_pb_size(&blocks);

    if (rc != 0)
        return failed(rc);
    a->ranks = wio_stg_new((size_t)blocks + 1, sizeof *a->ranks);
    if (a->ranks == NULL)
        return WAITIO_ERR_NOMEM;
    if (!s->set.writer_known)
        return find_firsts(s, a, blocks);
    rc = known_writer(s, a->ranks);
    a->n = rc == 0;
    return rc;
}

static int say_to_all(struct waitio_stage *s, const struct asked *a, enum wio_stg_word word,
                      int64_t opening)
{
    const struct wio_stg_head h = {.word = word, .a = opening};
    int rc = 0;

    for (int i = 0; rc == 0 && i < a->n; i++)
        rc =
            wio_stg_tell(&s->r->office, a->ranks[i], WIO_STG_T_HELLO, &h, s->name, strlen(s->name));
    return rc;
}

/* From each by itself: so it is known of each that it has left. */
static int await_welcome(struct waitio_stage *s, int from)
{
    return wio_stg_await(&s->r->office, from, WIO_STG_T_WELCOME, WIO_STG_K_WELCOME, NULL);
}

static int nobody(struct waitio_stage *s, const struct asked *a)
{
    if (s->set.writer_known)
        return wio_stg_fail(WAITIO_ERR_TIMEOUT,
                            "process %d of PB %d has not opened it for writing within %g s",
                            s->set.writer_rank, s->set.writer_pb, s->set.limit);
    return wio_stg_fail(WAITIO_ERR_TIMEOUT,
                        "no block has opened it for writing within %g s; asked were the first "
                        "processes of %d blocks; if the first writer is another process, say so in "
                        "the settings (writer_known)",
                        s->set.limit, a->n);
}

/* A stream ends with its writers. */
static int all_left(const struct asked *a)
{
    char why[WIO_STG_WHY];

    if (a->n == 0)
        return wio_stg_fail(WAITIO_ERR_STATE, "there is no other block that could write it");
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    return wio_stg_fail(WAITIO_ERR_PEER,
                        "nobody is left who could write it: %s; let the writers wait for readers "
                        "(setting readers), or start this program sooner",
                        why);
}

/* Welcomes of another opening, which gave up, are passed over.
 * @param[out] found the one that is awaited has come */
static int hear_one(struct waitio_stage *s, int64_t opening, struct asked *a, double until,
                    struct wio_stg_event *e, bool *found)
{
    int rc = wio_stg_hear(s, WIO_STG_K_WELCOME, until, e);

    if (rc == WAITIO_ERR_TIMEOUT)
        return nobody(s, a);
    if (rc != 0)
        return rc;
    *found = e->rc == 0 && e->head.a == opening;
    if (*found)
        return 0;
    if (e->rc != 0 && e->bytes > 0) /* what has come is no welcome */
        return e->rc;
    a->left += e->rc != 0;
    wio_stg_event_end(e);
    return e->rc == 0 ? await_welcome(s, e->source) : 0;
}

static int hear_welcome(struct waitio_stage *s, int64_t opening, struct asked *a,
                        struct wio_stg_event *e)
{
    double until = wio_stg_now() + s->set.limit;
    bool found = false;
    int rc = 0;

    for (int i = 0; rc == 0 && i < a->n; i++)
        rc = await_welcome(s, a->ranks[i]);
    while (rc == 0 && !found && a->left < a->n)
        rc = hear_one(s, opening, a, until, e, &found);
    if (rc != 0)
        return rc;
    if (!found)
        return all_left(a);
    return e->head.word != WIO_STG_REFUSED
               ? 0
               : wio_stg_fail(e->head.b < 0 ? (int)e->head.b : WAITIO_ERR_PROTOCOL,
                              "process %d refuses to let this one read: %.*s", e->source,
                              (int)(e->n_body < 800 ? e->n_body : 800), (const char *)e->body);
}

static int keep_welcome(struct waitio_stage *s, const struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_scan scan = {e->body, e->n_body, false};
    int size = 0, rc = waitio_universe_size(&size);

    if (rc != 0)
        return failed(rc);
    r->n_writers = (int)(e->n_body / 4);
    if (e->head.word != WIO_STG_WELCOME || r->n_writers < 1 || e->head.b < 0)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "process %d has sent a malformed welcome",
                            e->source);
    r->writers = wio_stg_new((size_t)r->n_writers, sizeof *r->writers);
    if (r->writers == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; i < r->n_writers; i++) {
        r->writers[i] = (int)wio_stg_take_u32(&scan);
        if (r->writers[i] < 0 || r->writers[i] >= size)
            return wio_stg_fail(WAITIO_ERR_PROTOCOL, "process %d names writer %d, who is none",
                                e->source, r->writers[i]);
    }
    s->incarnation = e->head.incarnation;
    r->group = e->head.b;
    r->swaps = ((e->head.c & 1) != 0) != wio_stg_big();
    r->ahead = (e->head.c & 2) != 0;
    r->joined = true;
    return 0;
}

static int tell_failure(struct waitio_stage *s, int code)
{
    struct wio_stg_head h = {.word = WIO_STG_FAILED, .a = code};
    char why[WIO_STG_WHY];

    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    (void)wio_stg_pass_down(s, WIO_STG_T_OPEN, &h, why, strlen(why));
    return wio_stg_fail(code, "%s", why);
}

static int meet_first(struct waitio_stage *s)
{
    struct wio_stg_event e = {.kind = 0};
    struct asked a = {NULL, 0, 0};
    int64_t opening = next_opening();
    int rc = find_asked(s, &a);
    char why[WIO_STG_WHY];

    if (rc == 0)
        rc = say_to_all(s, &a, WIO_STG_HELLO, opening);
    if (rc == 0)
        rc = hear_welcome(s, opening, &a, &e);
    wio_stg_withdraw(&s->r->office, WIO_STG_K_WELCOME);
    if (rc == 0)
        rc = keep_welcome(s, &e);
    if (rc == 0)
        rc = wio_stg_pass_down(s, WIO_STG_T_OPEN, &e.head, e.body, e.n_body);
    if (rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        (void)say_to_all(s, &a, WIO_STG_BYE, opening);
        (void)wio_stg_fail(rc, "%s", why);
        rc = tell_failure(s, rc);
    }
    wio_stg_event_end(&e);
    free(a.ranks);
    return rc;
}

static int meet_behind(struct waitio_stage *s)
{
    int parent = wio_stg_parent(s->rank);
    double until = wio_stg_now() + s->set.limit + GRACE;
    struct wio_stg_event e = {.kind = 0};
    int rc = wio_stg_await(&s->r->office, s->ranks[parent], WIO_STG_T_OPEN, WIO_STG_K_DOWN, NULL);

    if (rc == 0)
        rc = wio_stg_hear(s, WIO_STG_K_DOWN, until, &e);
    if (rc == WAITIO_ERR_TIMEOUT)
        return wio_stg_fail(rc, "reader %d has not opened it within %g s", parent,
                            s->set.limit + GRACE);
    if (rc == 0)
        rc = e.rc;
    if (rc == 0)
        (void)wio_stg_pass_down(s, WIO_STG_T_OPEN, &e.head, e.body, e.n_body);
    if (rc == 0 && e.head.word == WIO_STG_FAILED)
        rc = wio_stg_fail(e.head.a < 0 ? (int)e.head.a : WAITIO_ERR_PROTOCOL, "%.*s",
                          (int)(e.n_body < 900 ? e.n_body : 900), (const char *)e.body);
    else if (rc == 0)
        rc = keep_welcome(s, &e);
    wio_stg_event_end(&e);
    return rc;
}

int wio_stg_meet(struct waitio_stage *s)
{
    return s->rank == 0 ? meet_first(s) : meet_behind(s);
}
