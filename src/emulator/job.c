/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file job.c
 * MPI itself: beginning and ending it, the job's members, which thread may call it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"

#define NAP_NS 1000000
#define HEAR_NS INT64_C(5000000000)
#define TELL_ALL_MAX 4096u /* members that a leaving process says so to */

/* MPI is one per process, and so is what has to be known at its end. */
static struct waitio_iface *the_one; /* that has joined by MPI */
static struct {
    MPI_Comm comm; /* of the interfaces of one process */
    int users;
    bool made_mpi;
} alone;

int emu_mpi_error(struct waitio_iface *f, int code, int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    int n = 0;
    if (PMPI_Error_string(rc, text, &n) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", rc);
    return f->host->fail(code, "%s of %s: %s", what, WAITIO_MPI_KIND, text);
}

bool emu_may(struct waitio_iface *f)
{
    if (f->down)
        return false;
    if (f->any_thread || pthread_equal(f->main, pthread_self()))
        return true;
    if (f->host->own_thread())
        return false;
    if (f->callers)
        return true;
    if (!f->warned) {
        f->warned = true;
        f->host->log(f->p, 1,
                     "a thread other than the one that called MPI_Init uses WaitIO, but MPI was "
                     "initialised for that one only: its messages wait for calls of that thread. "
                     "Call MPI_Init_thread with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
    }
    return false;
}

/* ---- is it the right MPI? ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

int emu_check_mpi(const struct waitio_host *host)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;
    PMPI_Get_library_version(text, &n); /* allowed at any time, and the same call in every MPI */
    text[strcspn(text, "\n,")] = '\0';
    bool ours = begins(text, WAITIO_MPI_KIND);
    /* MPICH and its descendants keep one binary interface. */
    bool family = !begins(text, "Open MPI") && strcmp(WAITIO_MPI_KIND, "Open MPI") != 0;
    if (ours || family)
        return 0;
    return host->fail(WAITIO_ERR_UNSUPPORTED,
                      "this library was built for %s %s, but the program runs with %s: name the "
                      "library for that MPI in WAITIO_PLUGINS (waitio info lists them), or build "
                      "it: cmake -DWAITIO_MPI=<the mpicc that the program was built with>",
                      WAITIO_MPI_KIND, WAITIO_MPI_RELEASE, text);
}

/* The launcher of another MPI starts every process as a job of its own. */
static int check_launcher(struct waitio_iface *f, int size)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
    for (size_t i = 0; size == 1 && i < sizeof names / sizeof names[0]; i++) {
        const char *value = f->host->environment(names[i]);
        long n = value != NULL ? strtol(value, NULL, 10) : 0;
        if (n > 1)
            return f->host->fail(WAITIO_ERR_JOIN,
                                 "the launcher has started %ld processes (%s), but %s sees only "
                                 "this one: use the mpiexec of %s, or the library for the "
                                 "launcher's MPI (WAITIO_PLUGINS)",
                                 n, names[i], WAITIO_MPI_KIND, WAITIO_MPI_KIND);
    }
    return 0;
}

/* ---- beginning ---- */

static int begin_mpi(struct waitio_iface *f, bool *made)
{
    int is = 0, was = 0, level = MPI_THREAD_SINGLE;
    char words[32] = "";
    *made = false;
    PMPI_Initialized(&is);
    PMPI_Finalized(&was);
    if (was)
        return f->host->fail(WAITIO_ERR_STATE, "MPI_Finalize was called already: join before it");
    if (!is) {
        (void)f->host->setting(f->p, "WAITIO_MPI_THREADS", words, sizeof words);
        int want = strcmp(words, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
        int rc = PMPI_Init_thread(NULL, NULL, want, &level);
        if (rc != MPI_SUCCESS)
            return emu_mpi_error(f, WAITIO_ERR_SYSTEM, rc, "MPI_Init_thread");
        *made = true;
    } else {
        PMPI_Query_thread(&level);
    }
    /* Whom we have begun MPI for alone does not call it beside us. */
    f->any_thread = level == MPI_THREAD_MULTIPLE || (*made && level == MPI_THREAD_SERIALIZED);
    f->callers = level >= MPI_THREAD_SERIALIZED;
    f->main = pthread_self();
    int main_thread = 1;
    if (!f->callers)
        PMPI_Is_thread_main(&main_thread);
    if (!main_thread)
        return f->host->fail(WAITIO_ERR_STATE,
                             "MPI was initialised for one thread only, and this is another one: "
                             "join in the thread that called MPI_Init, or use MPI_Init_thread");
    f->host->log(f->p, 3, "%s %s, thread level %d, %s", WAITIO_MPI_KIND, WAITIO_MPI_RELEASE, level,
                 *made ? "initialised by us" : "initialised by the program");
    return 0;
}

/* Wait for a collective call of all members, some of which may never make it. */
static int complete(struct waitio_iface *f, MPI_Request *req, int64_t end, const char *what)
{
    int done = 0;
    for (int64_t begun = f->host->now_ns(); !done;) {
        int rc = PMPI_Test(req, &done, MPI_STATUS_IGNORE);
        int64_t now = f->host->now_ns();
        if (rc != MPI_SUCCESS)
            return emu_mpi_error(f, WAITIO_ERR_JOIN, rc, what);
        if (!done && now >= end) {
            f->stuck = true;
            return f->host->fail(WAITIO_ERR_TIMEOUT,
                                 "not all processes of MPI_COMM_WORLD have joined by MPI in time "
                                 "(%s): set %s in all contexts of mpiexec, and call waitio_init in "
                                 "all their processes",
                                 what, f->part ? "the same WAITIO_INSIDE" : "WAITIO_COMM_TYPE=mpi");
        }
        if (!done && now - begun > NAP_NS)
            f->host->sleep_ns(NAP_NS / 4);
    }
    return 0;
}

/* What MPI reads and writes in the collective calls of joining. */
struct shared {
    unsigned long long budget, least;
    unsigned char cards[]; /* mine, then all */
};

static int share(struct waitio_iface *f, struct shared *s, size_t card, int64_t end)
{
    MPI_Request req;
    int rc = PMPI_Iallgather(s->cards, (int)card, MPI_BYTE, s->cards + card, (int)card, MPI_BYTE,
                             f->comm, &req);
    rc = rc != MPI_SUCCESS ? emu_mpi_error(f, WAITIO_ERR_JOIN, rc, "MPI_Iallgather")
                           : complete(f, &req, end, "MPI_Iallgather");
    if (rc != 0)
        return rc;
    rc = PMPI_Iallreduce(&s->budget, &s->least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, f->comm, &req);
    return rc != MPI_SUCCESS ? emu_mpi_error(f, WAITIO_ERR_JOIN, rc, "MPI_Iallreduce")
                             : complete(f, &req, end, "MPI_Iallreduce");
}

static int exchange(struct waitio_iface *f, struct waitio_gathering *g, int size, int64_t end)
{
    size_t card = g->card_bytes, bytes = (size_t)size * card;
    struct shared *s = f->host->alloc(sizeof *s + card + bytes);
    char text[64] = "";
    int rc = 0;
    g->all = f->host->alloc(bytes);
    if (g->all == NULL || s == NULL)
        rc = f->host->fail(WAITIO_ERR_NOMEM, "no memory for the cards of %d processes", size);
    if (rc == 0) {
        (void)f->host->setting(f->p, "WAITIO_UNEXPECTED_MAX", text, sizeof text);
        s->budget = s->least = strtoull(text, NULL, 10);
        memcpy(s->cards, g->mine, card);
        rc = share(f, s, card, end);
    }
    if (rc == 0) {
        memcpy(g->all, s->cards + card, bytes);
        /* Half of what the poorest holds for messages it has not asked for, shared by all. */
        f->grant = s->least / 2 / (unsigned)size;
    }
    if (s != NULL &&
        !f->stuck) /* else the call goes on when the others come, after our time limit */
        f->host->free(s);
    return rc;
}

static void job_end(struct waitio_iface *f);

/* The program calls MPI_Finalize, which begins with the attributes of MPI_COMM_SELF. */
static int finalizing(MPI_Comm comm, int key, void *value, void *extra)
{
    struct waitio_iface *f = value;
    (void)comm;
    (void)key;
    (void)extra;
    if (the_one != f)
        return MPI_SUCCESS;      /* it ends already */
    f->key = MPI_KEYVAL_INVALID; /* it is being deleted */
    if (!f->alone)
        f->p->up->ending(f->p->user);
    job_end(f);
    return MPI_SUCCESS;
}

static void at_exit(void)
{
    if (the_one != NULL)
        job_end(the_one);
}

static void listen_for_end(struct waitio_iface *f)
{
    static bool registered;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &f->key, NULL) == MPI_SUCCESS)
        PMPI_Comm_set_attr(MPI_COMM_SELF, f->key, f);
    else
        f->key = MPI_KEYVAL_INVALID;
    the_one = f;
    if (!registered && atexit(at_exit) == 0) /* runs after libwaitio's, which comes later */
        registered = true;
}

static uint32_t flags_of(const struct waitio_gathering *g)
{
    return g->size >= offsetof(struct waitio_gathering, reserved) ? g->flags : 0;
}

/* Has the program begun MPI, if only it may? */
static int check_begun(struct waitio_iface *f, uint32_t flags)
{
    int is = 0;
    PMPI_Initialized(&is);
    if (is || (flags & WAITIO_GATHER_BEGUN) == 0)
        return 0;
    return f->host->fail(WAITIO_ERR_UNSUPPORTED,
                         "the program has not called MPI_Init: call it before waitio_init");
}

int emu_gather(struct waitio_iface *f, struct waitio_gathering *g)
{
    static bool began; /* MPI, by us, perhaps for an attempt to join that failed: ours to end */
    int64_t end = f->host->now_ns() + (int64_t)(g->timeout_s * 1e9);
    f->part = (flags_of(g) & WAITIO_GATHER_PART) != 0;
    int rc = check_begun(f, flags_of(g));
    if (rc == 0)
        rc = begin_mpi(f, &f->made_mpi);
    if (rc != 0)
        return rc;
    began = began || f->made_mpi;
    f->made_mpi = began;
    f->down = false;
    listen_for_end(f);
    int size = 0, rank = 0, is_set = 0, *context = NULL;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rc = check_launcher(f, size);
    if (rc != 0)
        return rc;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &context, &is_set);
    g->context(g, is_set ? *context : -1);
    MPI_Request req;
    int mpi = PMPI_Comm_idup(MPI_COMM_WORLD, &f->comm, &req);
    rc = mpi != MPI_SUCCESS ? emu_mpi_error(f, WAITIO_ERR_JOIN, mpi, "MPI_Comm_idup")
                            : complete(f, &req, end, "MPI_Comm_idup");
    if (rc != 0) {
        f->comm = MPI_COMM_NULL;
        return rc;
    }
    PMPI_Comm_set_errhandler(f->comm, MPI_ERRORS_RETURN);
    g->count = f->nmembers = (uint32_t)size;
    g->me = (uint32_t)rank;
    return exchange(f, g, size, end);
}

/* ---- all members in this process ---- */

static void end_alone(void)
{
    int was = 0;
    PMPI_Finalized(&was);
    if (!was && alone.made_mpi) /* not in a forked child */
        PMPI_Finalize();
}

int emu_solo(struct waitio_iface *f)
{
    bool made = false;
    int rc = begin_mpi(f, &made);
    if (rc != 0)
        return rc;
    f->down = false;
    f->solo = true;
    f->grant = 64 << 10;
    if (made && !alone.made_mpi) {
        alone.made_mpi = true;
        atexit(end_alone);
    }
    if (alone.users++ == 0) { /* what an earlier universe has left unread is not for this one */
        PMPI_Comm_dup(MPI_COMM_SELF, &alone.comm);
        PMPI_Comm_set_errhandler(alone.comm, MPI_ERRORS_RETURN);
    }
    f->comm = alone.comm;
    return 0;
}

/* ---- the end ---- */

/* Whoever turns to us later would wait in vain. */
static void tell_all(struct waitio_iface *f)
{
    for (uint32_t i = 0; i < f->count && f->count <= TELL_ALL_MAX && !f->told; i++)
        if (i != f->me && emu_in_job(f, i) && f->peer[i].link == NULL && !f->peer[i].told &&
            !f->peer[i].gone)
            emu_say_left(f, i);
    f->told = true;
}

static bool all_left(const struct waitio_iface *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (i != f->me && emu_in_job(f, i) && !f->peer[i].left && !f->peer[i].gone)
            return false;
    return true;
}

/* Everybody says so once, and MPI dislikes messages that nobody has received. MPI_Finalize waits
 * for all anyway. */
static void hear_all(struct waitio_iface *f)
{
    int64_t end = f->host->now_ns() + HEAR_NS;
    emu_drain(f);
    while (f->count <= TELL_ALL_MAX && !(all_left(f) && emu_unread_done(f)) &&
           f->host->now_ns() < end) {
        f->host->sleep_ns(NAP_NS / 10);
        emu_drain(f);
        emu_slots_done(f);
        emu_orphans(f);
    }
    emu_orphans_cancel(f); /* what is to come has come */
    for (emu_orphans(f); !emu_list_empty(&f->orphans) && f->host->now_ns() < end; emu_orphans(f))
        f->host->sleep_ns(NAP_NS / 10);
}

static void end_solo(struct waitio_iface *f)
{
    emu_unpost(f);
    if (--alone.users == 0)
        PMPI_Comm_free(&alone.comm);
    f->down = true;
}

/* MPI ends, by the program or by exit(). */
static void job_end(struct waitio_iface *f)
{
    int was = 0;
    the_one = NULL;
    PMPI_Finalized(&was);
    if (!was && !f->stuck && f->posted) {
        tell_all(f);
        hear_all(f);
        emu_unpost(f);
    }
    if (!was && f->key != MPI_KEYVAL_INVALID) {
        PMPI_Comm_delete_attr(MPI_COMM_SELF, f->key);
        PMPI_Comm_free_keyval(&f->key);
    }
    f->down = true;
    if (!was && f->made_mpi && !f->stuck)
        PMPI_Finalize();
    if (f->alone)
        emu_free(f);
}

void emu_job_forget(struct waitio_iface *f)
{
    if (the_one == f)
        the_one = NULL;
    alone.made_mpi = false;
}

bool emu_job_leave(struct waitio_iface *f)
{
    if (f->down)
        return false;
    if (f->solo) {
        end_solo(f);
        return false;
    }
    if (f->posted && !f->stuck)
        tell_all(f);
    f->alone = true;
    f->p = NULL;
    return true;
}
