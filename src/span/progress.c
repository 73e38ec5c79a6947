/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress of each library while a call of the other one blocks. Ours while a call of the vendor's
 * blocks: the engine's service thread moves messages, but collectives that were started go on only
 * in threads that wait for something. So a thread of ours does, when a call of the vendor's has
 * blocked for a while with operations of ours under way: a short one costs no more than two atomic
 * additions.
 */
#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "span/span.h"
#include "waitio_inside.h"

#define LOOK_NS 500000 /* a call that lasts longer blocks */
#define SLICE 0.002    /* seconds of waiting between two looks */
enum { IDLE_LOOKS = 200, CALLS = 16 };

/* A call of the vendor's under way. More at a time than there are places are not reported. */
struct call {
    _Atomic(const char *) name; /* NULL: a free place */
    _Atomic(int64_t) since_ns;
    int64_t seen_ns; /* the assistant's: the call that it has looked at last */
    double again;    /* seconds after which it asks again whether this is long */
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_int blocked;         /* calls of the vendor's under way */
    atomic_uint turns;          /* counts them */
    atomic_bool asleep, ending; /* asleep: only the condition wakes it */
    bool runs;
    pthread_t thread;
    WAITIO_MPI_Comm self;
    waitio_req_t never; /* a receive of a message that nobody sends */
    bool keeps_off;     /* from the vendor's MPI */
    char byte;
    struct call calls[CALLS];
} assist = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

bool span_any_thread(void)
{
    int provided = MPI_THREAD_SINGLE, least = MPI_THREAD_SINGLE;

    (void)PMPI_Query_thread(&provided);
    if (span_vendor.Allreduce(&provided, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) !=
        MPI_SUCCESS)
        least = MPI_THREAD_SINGLE;
    return least == MPI_THREAD_MULTIPLE;
}

/* No message of the vendor's ever comes in MPI_COMM_WORLD: it spans, so all of them are ours. In a
 * probe on a communicator of one process MPICH 4.0 makes no progress. */
void span_vendor_goes_on(void)
{
    int flag = 0;

    (void)span_vendor.Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

void span_ours_go_on(void)
{
    int flag = 0;

    (void)waitio_iprobe(assist.self, 0, 1, &flag, WAITIO_STATUS_IGNORE);
}

/* ---- and the vendor's while ours block ---- */

static __thread bool is_assistant;

/*
 * Called while a wait of ours finds nothing: a message inside the job may need this process before
 * the one that we wait for is sent. Only threads that are in a call of MPI come here, so what
 * MPI_Init_thread granted is kept to. A long wait asks less and less often.
 */
static double let_vendor_go_on(void)
{
    static _Atomic(int64_t) last, step;
    const int64_t least = 20000, most = 2000000, pause = 20000000;
    int64_t now = wio_os_now_ns(), wait = atomic_load(&step);

    if (is_assistant)
        return 3600;
    wait = now - atomic_load(&last) > pause ? least : 2 * wait;
    wait = wait > most ? most : wait;
    atomic_store(&last, now);
    atomic_store(&step, wait);
    span_vendor_goes_on();
    return (double)wait * 1e-9;
}

static void report_if_long(struct call *c, int64_t now)
{
    const char *name = atomic_load(&c->name);
    int64_t since = atomic_load(&c->since_ns);
    double seconds = (double)(now - since) * 1e-9;

    if (name == NULL)
        return;
    if (since != c->seen_ns)
        c->again = 0;
    c->seen_ns = since;
    if (seconds >= c->again && waitio_inside_elsewhere(name, seconds, &c->again) != 0)
        c->again = seconds + 3600;
}

static void report_long_ones(void)
{
    int64_t now = wio_os_now_ns();

    for (int i = 0; i < CALLS; i++)
        report_if_long(&assist.calls[i], now);
}

/* Make progress until the call that blocks is over. */
static void serve(unsigned turn)
{
    int flag = 0;

    while (!flag && !atomic_load(&assist.ending) && atomic_load(&assist.blocked) > 0 &&
           atomic_load(&assist.turns) == turn) {
        if (waitio_wait_for(&assist.never, SLICE, &flag, NULL) != 0)
            return;
        report_long_ones();
    }
}

static void sleep_until_called(void)
{
    pthread_mutex_lock(&assist.mutex);
    atomic_store(&assist.asleep, true);
    while (atomic_load(&assist.blocked) == 0 && !atomic_load(&assist.ending))
        pthread_cond_wait(&assist.wake, &assist.mutex);
    atomic_store(&assist.asleep, false);
    pthread_mutex_unlock(&assist.mutex);
}

static void *run(void *arg)
{
    unsigned idle = 0, seen = 0;

    (void)arg;
    is_assistant = true;
    waitio_inside_name(""); /* it waits for nothing that could come */
    if (assist.keeps_off)
        (void)waitio_inside_keep_off();
    while (!atomic_load(&assist.ending)) {
        unsigned turn = atomic_load(&assist.turns);
        bool blocked = atomic_load(&assist.blocked) > 0;
        if (blocked && turn == seen)
            serve(turn);
        if (blocked)
            report_long_ones();
        idle = blocked ? 0 : idle + 1;
        seen = turn;
        if (idle > IDLE_LOOKS)
            sleep_until_called();
        else
            wio_os_sleep_ns(LOOK_NS);
    }
    return NULL;
}

static void start(void)
{
    pthread_mutex_lock(&assist.mutex);
    if (!assist.runs && span_is_on)
        assist.runs = wio_os_thread_start(&assist.thread, run, NULL, "waitio-span") == 0;
    pthread_mutex_unlock(&assist.mutex);
}

static __thread struct call *my_call;
static __thread int depth;

static struct call *enter_call(const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        const char *nobody = NULL;
        if (atomic_load(&assist.calls[i].name) == NULL) {
            atomic_store(&assist.calls[i].since_ns, wio_os_now_ns());
            if (atomic_compare_exchange_strong(&assist.calls[i].name, &nobody, name))
                return &assist.calls[i];
        }
    }
    return NULL;
}

void span_assist_begin(const char *call)
{
    if (depth++ > 0)
        return;
    my_call = enter_call(strncmp(call, "PMPI_", 5) == 0 ? call + 1 : call);
    atomic_fetch_add(&assist.turns, 1);
    atomic_fetch_add(&assist.blocked, 1);
    if (!assist.runs)
        start();
    if (atomic_load(&assist.asleep)) {
        pthread_mutex_lock(&assist.mutex);
        pthread_cond_signal(&assist.wake);
        pthread_mutex_unlock(&assist.mutex);
    }
}

int span_assist_end(int code)
{
    if (--depth > 0)
        return code;
    atomic_fetch_sub(&assist.blocked, 1);
    if (my_call != NULL)
        atomic_store(&my_call->name, NULL);
    return code;
}

int span_progress_begin(bool any_thread)
{
    int rc = WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_SELF, &assist.self);

    assist.keeps_off = !any_thread;
    rc = rc != 0 ? rc : waitio_irecv(assist.self, 0, &assist.byte, 1, 0, &assist.never);
    return rc != 0 ? rc : waitio_while_waiting(let_vendor_go_on);
}

void span_progress_end(void)
{
    (void)waitio_while_waiting(NULL);
    atomic_store(&assist.ending, true);
    pthread_mutex_lock(&assist.mutex);
    pthread_cond_signal(&assist.wake);
    pthread_mutex_unlock(&assist.mutex);
    if (assist.runs)
        pthread_join(assist.thread, NULL);
    assist.runs = false;
    if (waitio_cancel(&assist.never) == 0)
        (void)waitio_wait(&assist.never);
    (void)WAITIO_MPI_Comm_free(&assist.self);
}
