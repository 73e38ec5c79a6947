/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/schedule.h"

#include "os/os.h"

/* A scratch buffer; data begins behind the link, aligned for any type. */
struct scratch {
    struct scratch *next;
    max_align_t data[];
};

/* What a failed allocation returns: algorithms compute addresses from it but nobody follows them,
 * for a schedule with an error is never run. */
static const max_align_t nowhere;

void wio_schedule_init(struct wio_schedule *s, int rank, int size, wio_mpi_kernel kernel)
{
    *s = (struct wio_schedule){.rank = rank, .size = size, .kernel = kernel};
}

void wio_schedule_free(struct wio_schedule *s)
{
    struct scratch *next;

    for (struct scratch *b = s->scratch; b != NULL; b = next) {
        next = b->next;
        wio_os_free(b);
    }
    wio_os_free(s->step);
    *s = (struct wio_schedule){0};
}

static void add(struct wio_schedule *s, struct wio_step step)
{
    if (s->error != 0)
        return;
    if (s->nsteps == s->cap) {
        size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
        struct wio_step *at = wio_os_realloc(s->step, cap * sizeof *at);
        if (at == NULL) {
            s->error = wio_fail(WAITIO_ERR_NOMEM, "no memory for the steps of a collective");
            return;
        }
        s->step = at;
        s->cap = cap;
    }
    step.round = s->round;
    s->step[s->nsteps++] = step;
}

void wio_schedule_send(struct wio_schedule *s, int peer, const void *data, size_t bytes)
{
    add(s, (struct wio_step){.kind = WIO_STEP_SEND, .peer = peer, .from = data, .n = bytes});
}

void wio_schedule_recv(struct wio_schedule *s, int peer, void *data, size_t bytes)
{
    add(s, (struct wio_step){.kind = WIO_STEP_RECV, .peer = peer, .to = data, .n = bytes});
}

void wio_schedule_fold(struct wio_schedule *s, const void *left, const void *right, void *to,
                       size_t count)
{
    add(s, (struct wio_step){
               .kind = WIO_STEP_FOLD, .from = left, .with = right, .to = to, .n = count});
}

void wio_schedule_copy(struct wio_schedule *s, const void *from, void *to, size_t bytes)
{
    if (from != to && bytes > 0)
        add(s, (struct wio_step){.kind = WIO_STEP_COPY, .from = from, .to = to, .n = bytes});
}

void wio_schedule_round(struct wio_schedule *s)
{
    s->round++;
}

void *wio_schedule_scratch(struct wio_schedule *s, size_t bytes)
{
    struct scratch *b = s->error != 0 ? NULL : wio_os_realloc(NULL, sizeof *b + bytes);

    if (b == NULL) {
        if (s->error == 0)
            s->error = wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes of a collective", bytes);
        return (void *)&nowhere;
    }
    b->next = s->scratch;
    s->scratch = b;
    return b->data;
}

void wio_schedule_local(const struct wio_schedule *s, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct wio_step *step = &s->step[i];
        if (step->kind == WIO_STEP_FOLD)
            s->kernel(step->from, step->with, step->to, step->n);
        else if (step->kind == WIO_STEP_COPY)
            memcpy(step->to, step->from, step->n);
    }
}
