/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks: chains of messages that upper layers have started, and that any waiting thread continues.
 *
 *        begin                  rest: nothing has landed since          landed
 *   ----------> RUNNING ---------------------------------------> RESTING -----> QUEUED
 *                 ^  |  `-- rest: something has landed ------------------------->  |
 *                 |  `----- rest: it is over ------> its request is done           |
 *                 `----------------------------------------------------------------'
 *                                    a waiting thread takes it
 *
 * States change under the engine lock only; RUNNING belongs to one thread, so what the task works
 * on needs no lock. A queued task ends a wait, like the completion of its request: no thread sleeps
 * while a task is queued, and the polling role is passed on as always.
 */
#include "p2p/universe.h"

enum { RESTING, QUEUED, RUNNING };

int wio_task_begin(struct wio_universe *u, struct wio_task *t, wio_task_fn go, struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r = wio_req_new(u, WIO_REQ_TASK);
    if (r != NULL) {
        *t = (struct wio_task){.go = go, .req = r, .state = RUNNING};
        u->ntasks++;
        r->src = r->status_source = r->tag = -1;
        r->bytes = 0;
        wio_op_name(r, h);
    }
    wio_leave(u);
    return r != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
}

/* Can it go on? */
static bool ripe(const struct wio_task *t)
{
    return t->urgent || t->awaited == 0 || (t->any && t->landed);
}

static void queue(struct wio_universe *u, struct wio_task *t)
{
    t->state = QUEUED;
    wio_list_push(&u->tasks, &t->node);
    u->completed = true; /* who sleeps is told before we leave */
}

void wio_task_landed(struct wio_request *r)
{
    struct wio_task *t = r->task;
    r->task = NULL;
    t->awaited--;
    t->req->total--;
    t->landed = true;
    t->urgent |= r->err != 0;
    if (t->state == RESTING && ripe(t))
        queue(r->u, t);
}

void wio_task_await(struct wio_universe *u, struct wio_task *t, const struct wio_handle *h)
{
    wio_enter(u);
    struct wio_request *r = wio_req_at(u, h->index, h->generation);
    if (r != NULL && r->user_done) {
        t->landed = true;
        t->urgent |= r->err != 0;
    } else if (r != NULL) {
        r->task = t;
        t->awaited++;
        t->req->total++;
        t->req->peer = r->peer; /* whom the one who waits looks at most */
        t->req->src = r->src;
    }
    wio_leave(u);
}

/* The thread that has it RUNNING has finished its steps, for now or completely. */
static void rest(struct wio_universe *u, struct wio_task *t, enum wio_task_next next)
{
    struct wio_request *r = t->req;
    t->any = next == WIO_TASK_ANY;
    if (next == WIO_TASK_OVER) {
        u->ntasks--;
        wio_req_finish(r, 0); /* a waiting thread may free the task when the lock is left */
    } else if (ripe(t)) {
        queue(u, t);
    } else {
        t->state = RESTING;
    }
}

void wio_task_rest(struct wio_universe *u, struct wio_task *t, enum wio_task_next next)
{
    wio_enter(u);
    rest(u, t, next);
    wio_leave(u);
}

bool wio_task_serve(struct wio_universe *u)
{
    struct wio_list *n = wio_list_pop(&u->tasks);
    if (n == NULL)
        return false;
    struct wio_task *t = WIO_CONTAINER(n, struct wio_task, node);
    t->state = RUNNING;
    t->landed = t->urgent = false;
    u->ctr.task_turns++;
    u->away++;
    wio_leave(u);
    enum wio_task_next next = t->go(t);
    wio_enter(u);
    u->away--;
    rest(u, t, next);
    if (u->completed)
        wio_announce(u); /* others may sleep, and we may go to sleep ourselves */
    return true;
}
