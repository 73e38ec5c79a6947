/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/plans.h"

#include "mpi/names.h"
#include "os/os.h"

enum { SLOTS = 16 };         /* per communicator: roots may take turns, and buffers */
enum { ALL_PLANS = 256 };    /* per process */
enum { STEPS = 32 };         /* longer schedules cost more to run than to write */
enum { SCRATCH = 2 * 1024 }; /* bytes beside those inside */

struct slot {
    struct wio_plan *plan;
    uint64_t seen; /* the call that came last and has no plan */
};

/* What a communicator keeps. */
struct wio_plans {
    bool busy; /* one call at a time, as MPI requires; changed atomically */
    struct slot slot[SLOTS];
};

static int kept;

int wio_plans_kept(void)
{
    return __atomic_load_n(&kept, __ATOMIC_RELAXED);
}

static void forget(struct slot *at)
{
    if (at->plan == NULL)
        return;
    if (at->plan->written)
        wio_schedule_free(&at->plan->run.s);
    wio_os_free(at->plan);
    at->plan = NULL;
    __atomic_sub_fetch(&kept, 1, __ATOMIC_RELAXED);
}

void wio_plans_free(struct wio_plans *plans)
{
    for (int i = 0; plans != NULL && i < SLOTS; i++)
        forget(&plans->slot[i]);
    wio_os_free(plans);
}

static bool plain(const struct wio_side *side)
{
    return wio_name_is_constant(side->type) && !wio_side_lists(side);
}

/* Does the call depend only on things that the program cannot change or free before the next call?
 */
static bool may_keep(const struct wio_comm *c, const struct wio_call *call)
{
    return plain(&call->send) && plain(&call->recv) && wio_name_is_constant(call->op) && !call->v &&
           !c->swap;
}

static bool same_side(const struct wio_side *a, const struct wio_side *b)
{
    return a->buf == b->buf && a->count == b->count && a->type == b->type;
}

static bool same(const struct wio_call *a, const struct wio_call *b)
{
    return a->kind == b->kind && a->root == b->root && a->op == b->op &&
           same_side(&a->send, &b->send) && same_side(&a->recv, &b->recv);
}

static uint64_t mixed(uint64_t h, uint64_t word)
{
    return (h ^ word) * 0x9e3779b97f4a7c15ULL;
}

/* A hash of all but the root: calls that differ only in the root have neighbouring entries. */
static uint64_t hash_of(const struct wio_call *call)
{
    uint64_t h = mixed(call->kind, (uintptr_t)call->send.buf);

    h = mixed(h, (uintptr_t)call->recv.buf);
    h = mixed(h, (uint64_t)call->send.count << 32 ^ (uint64_t)call->recv.count);
    h = mixed(h, (uint64_t)(uint32_t)call->send.type << 32 | (uint32_t)call->recv.type);
    return mixed(h, (uint32_t)call->op) >> 8;
}

/* The communicator's plans, made with the first call that could use them. */
static struct wio_plans *plans_of(struct wio_comm *c)
{
    struct wio_plans *at = __atomic_load_n(&c->plans, __ATOMIC_ACQUIRE), *none = NULL;

    if (WIO_LIKELY(at != NULL))
        return at;
    at = wio_os_alloc(sizeof *at);
    if (at == NULL)
        return NULL;
    memset(at, 0, sizeof *at);
    if (__atomic_compare_exchange_n(&c->plans, &none, at, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return at;
    wio_os_free(at);
    return none;
}

/* Room for a plan of @p call in its slot. */
static struct wio_plan *fresh(struct slot *at, const struct wio_call *call)
{
    forget(at);
    at->seen = 0;
    if (wio_plans_kept() >= ALL_PLANS)
        return NULL;
    at->plan = wio_os_alloc(sizeof *at->plan);
    if (at->plan == NULL)
        return NULL;
    at->plan->call = *call;
    at->plan->written = false;
    at->plan->layout.rounds = 0;
    __atomic_add_fetch(&kept, 1, __ATOMIC_RELAXED);
    return at->plan;
}

static struct slot *slot_of(struct wio_plans *plans, uint64_t hash, int root)
{
    return &plans->slot[(hash + (uint64_t)(uint32_t)root) % SLOTS];
}

struct wio_plan *wio_plan_take(struct wio_comm *c, const struct wio_call *call)
{
    struct wio_plans *plans = may_keep(c, call) ? plans_of(c) : NULL;
    struct wio_plan *plan = NULL;
    struct slot *at;
    uint64_t hash, seen;

    if (plans == NULL || __atomic_exchange_n(&plans->busy, true, __ATOMIC_ACQUIRE))
        return NULL;
    hash = hash_of(call);
    at = slot_of(plans, hash, call->root);
    seen = mixed(hash, (uint64_t)(uint32_t)call->root + 1) | 1; /* never 0 */
    if (at->plan != NULL && same(&at->plan->call, call)) {
        at->seen = 0; /* another call with this slot comes in turn: the first keeps the slot */
        return at->plan;
    }
    if (at->seen == seen)
        plan = fresh(at, call);
    else
        at->seen = seen;
    if (plan == NULL)
        __atomic_store_n(&plans->busy, false, __ATOMIC_RELEASE);
    return plan;
}

/* Short ones; lanes are for long messages. */
static bool worth_keeping(const struct wio_schedule *s)
{
    return s->nsteps <= STEPS && s->outside <= SCRATCH && s->phase == 0 && s->trial == NULL;
}

void wio_plan_give(struct wio_comm *c, struct wio_plan *plan, bool ok)
{
    struct wio_plans *plans = c->plans;
    struct slot *at = slot_of(plans, hash_of(&plan->call), plan->call.root);

    if (!plan->written && ok && !worth_keeping(&plan->run.s))
        ok = false;
    plan->written = true; /* its schedule exists, also if it failed */
    if (!ok)
        forget(at);
    __atomic_store_n(&plans->busy, false, __ATOMIC_RELEASE);
}
