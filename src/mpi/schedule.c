/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/schedule.h"

#include "mpi/spares.h"
#include "os/os.h"

/* A scratch buffer; data begins behind the link, aligned for any type. */
struct scratch {
    struct scratch *next;
    max_align_t data[];
};

/* What a failed allocation returns: algorithms compute addresses from it, but a schedule with an
 * error never runs, so they are never used. */
static const max_align_t nowhere;

/* A type that steps refer to. */
struct held_type {
    struct held_type *next;
    const struct wio_mpi_type *type;
};

void wio_schedule_init(struct wio_schedule *s, int rank, int size, const struct wio_topology *topo,
                       const struct wio_fold *fold)
{
    memset(s, 0, offsetof(struct wio_schedule, few)); /* what is inside needs no zeros */
    s->rank = rank;
    s->size = size;
    s->topo = topo;
    s->step = s->few;
    s->cap = WIO_STEPS_INSIDE;
    if (fold != NULL) {
        s->fold = *fold;
        wio_fold_hold(fold);
    }
}

void wio_schedule_free(struct wio_schedule *s)
{
    struct scratch *next;

    if (!s->abandoned)
        wio_fold_release(&s->fold);
    for (struct held_type *h = s->types; h != NULL; h = h->next)
        wio_type_release(h->type);
    for (struct scratch *b = s->abandoned ? NULL : s->scratch; b != NULL; b = next) {
        next = b->next;
        wio_spare_give(b);
    }
    if (s->step != s->few)
        wio_os_free(s->step);
    memset(s, 0, offsetof(struct wio_schedule, few));
}

static void add(struct wio_schedule *s, struct wio_step step)
{
    if (s->error != 0)
        return;
    if (s->nsteps == s->cap) {
        size_t cap = 3 * s->cap;
        struct wio_step *at = wio_os_realloc(s->step == s->few ? NULL : s->step, cap * sizeof *at);
        if (at == NULL) {
            s->error = wio_fail(WAITIO_ERR_NOMEM, "no memory for the steps of a collective");
            return;
        }
        if (s->step == s->few)
            memcpy(at, s->few, sizeof s->few);
        s->step = at;
        s->cap = cap;
    }
    step.round = s->round;
    step.lane = s->lane;
    step.phase = s->phase;
    s->step[s->nsteps++] = step;
}

void wio_schedule_send(struct wio_schedule *s, int peer, const void *data, size_t bytes)
{
    peer = s->map != NULL ? s->map[peer] : peer;
    add(s, (struct wio_step){.kind = WIO_STEP_SEND, .peer = peer, .from = data, .n = bytes});
}

void wio_schedule_recv(struct wio_schedule *s, int peer, void *data, size_t bytes)
{
    peer = s->map != NULL ? s->map[peer] : peer;
    add(s, (struct wio_step){.kind = WIO_STEP_RECV, .peer = peer, .to = data, .n = bytes});
}

void wio_schedule_fold(struct wio_schedule *s, const void *left, const void *right, void *to,
                       size_t count)
{
    if (count == 0)
        return;
    add(s, (struct wio_step){
               .kind = WIO_STEP_FOLD, .from = left, .with = right, .to = to, .n = count});
}

void wio_schedule_copy(struct wio_schedule *s, const void *from, void *to, size_t bytes)
{
    if (from != to && bytes > 0)
        add(s, (struct wio_step){.kind = WIO_STEP_COPY, .from = from, .to = to, .n = bytes});
}

static void hold_type(struct wio_schedule *s, const struct wio_mpi_type *type)
{
    struct held_type *h;

    if (type->kind != WIO_KIND_DERIVED)
        return;
    h = s->types;
    if (h != NULL && h->type == type) /* another part of the same data */
        return;
    h = wio_schedule_scratch(s, sizeof *h);
    if (s->error != 0)
        return;
    *h = (struct held_type){s->types, type};
    s->types = h;
    wio_type_hold(type);
}

static void convert(struct wio_schedule *s, const struct wio_mpi_type *type, struct wio_step step)
{
    if (step.n == 0)
        return;
    hold_type(s, type);
    step.with = type;
    add(s, step);
}

void wio_schedule_pack(struct wio_schedule *s, const struct wio_mpi_type *type, const void *user,
                       size_t at, void *packed, size_t bytes)
{
    convert(
        s, type,
        (struct wio_step){.kind = WIO_STEP_PACK, .from = user, .at = at, .to = packed, .n = bytes});
}

void wio_schedule_unpack(struct wio_schedule *s, const struct wio_mpi_type *type,
                         const void *packed, void *user, size_t at, size_t bytes)
{
    convert(s, type,
            (struct wio_step){
                .kind = WIO_STEP_UNPACK, .from = packed, .at = at, .to = user, .n = bytes});
}

void wio_schedule_put_size(void *word, size_t bytes)
{
    wio_put64(word, bytes);
}

void wio_schedule_check(struct wio_schedule *s, int peer, const void *word, size_t bytes)
{
    peer = s->map != NULL ? s->map[peer] : peer;
    add(s, (struct wio_step){.kind = WIO_STEP_CHECK, .peer = peer, .from = word, .n = bytes});
}

void wio_schedule_inside(struct wio_schedule *s, const struct waitio_inside_call *call)
{
    int part = s->lane == 0 ? 0 : s->lane - 1;

    if (part >= WIO_PARTS && s->error == 0)
        s->error = wio_fail(WAITIO_ERR_LIMIT, "lane %d has steps inside its block", s->lane);
    if (s->error != 0)
        return;
    s->inside_steps[part]++;
    s->parts = part >= s->parts ? part + 1 : s->parts;
    add(s, (struct wio_step){.kind = WIO_STEP_INSIDE, .with = call, .peer = part});
}

void wio_schedule_round(struct wio_schedule *s)
{
    s->round++;
}

void wio_schedule_lane(struct wio_schedule *s)
{
    if (s->lane == WIO_LANES_MAX && s->error == 0)
        s->error = wio_fail(WAITIO_ERR_LIMIT, "a collective of more than %d lanes", WIO_LANES_MAX);
    if (s->error != 0)
        return;
    s->phase += s->lane == 0;
    s->lane++;
    s->round++;
}

void wio_schedule_join(struct wio_schedule *s)
{
    if (s->lane == 0)
        return;
    s->lane = 0;
    s->phase++;
    s->round++;
}

void *wio_schedule_scratch(struct wio_schedule *s, size_t bytes)
{
    size_t rounded = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    struct scratch *b;

    /* The schedule itself may lie on a stack, where a provider that has been abandoned must not
     * write any more. */
    if (s->inside == NULL && bytes <= WIO_SCRATCH_INSIDE &&
        s->used + rounded <= WIO_ARRAY_LEN(s->room)) {
        s->used += rounded;
        return &s->room[s->used - rounded];
    }
    b = s->error != 0 ? NULL : wio_spare_take(sizeof *b + bytes);

    if (b == NULL) {
        if (s->error == 0)
            s->error = wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes of a collective", bytes);
        return (void *)&nowhere;
    }
    b->next = s->scratch;
    s->scratch = b;
    s->outside += bytes;
    return b->data;
}

struct wio_team wio_schedule_team(struct wio_schedule *s, struct wio_team team)
{
    struct wio_team before = {s->rank, s->size, s->map};

    s->rank = team.rank;
    s->size = team.size;
    s->map = team.map;
    return before;
}

static void pack(const struct wio_schedule *s, const struct wio_step *step)
{
    wio_type_pack(step->with, step->from, step->at, step->n, step->to);
    if (s->swap)
        wio_type_swap(step->with, step->n, step->to);
}

/* The last use of the packed data, so it may be swapped in place. */
static void unpack(const struct wio_schedule *s, const struct wio_step *step)
{
    if (s->swap)
        wio_type_swap(step->with, step->n, (void *)(uintptr_t)step->from);
    wio_type_unpack(step->with, step->to, step->at, step->n, step->from);
}

static int check(const struct wio_step *step)
{
    uint64_t theirs = wio_get64(step->from);

    return theirs == step->n
               ? 0
               : wio_fail(theirs > step->n ? WAITIO_ERR_TRUNCATE : WAITIO_ERR_ARG,
                          "the member of rank %d takes part with %llu bytes, this one with %zu: "
                          "counts or types of this collective differ between its members",
                          step->peer, (unsigned long long)theirs, step->n);
}

int wio_schedule_local(const struct wio_schedule *s, size_t first, size_t end)
{
    int rc = 0;

    for (size_t i = first; rc == 0 && i < end; i++) {
        const struct wio_step *step = &s->step[i];
        if (step->kind == WIO_STEP_FOLD)
            rc = (s->swap ? wio_fold_swapped : wio_fold_apply)(&s->fold, step->from, step->with,
                                                               step->to, step->n);
        else if (step->kind == WIO_STEP_COPY)
            memcpy(step->to, step->from, step->n);
        else if (step->kind == WIO_STEP_PACK)
            pack(s, step);
        else if (step->kind == WIO_STEP_UNPACK)
            unpack(s, step);
        else if (step->kind == WIO_STEP_CHECK)
            rc = check(step);
    }
    return rc;
}

size_t wio_schedule_round_end(const struct wio_schedule *s, size_t first)
{
    size_t i = first;

    while (i < s->nsteps && s->step[i].round == s->step[first].round)
        i++;
    return i;
}

size_t wio_schedule_lane_end(const struct wio_schedule *s, size_t first)
{
    size_t i = first;

    while (i < s->nsteps && s->step[i].lane == s->step[first].lane &&
           s->step[i].phase == s->step[first].phase)
        i++;
    return i;
}

size_t wio_schedule_phase_end(const struct wio_schedule *s, size_t first)
{
    size_t i = first;

    while (i < s->nsteps && s->step[i].phase == s->step[first].phase)
        i++;
    return i;
}
