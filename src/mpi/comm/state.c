/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm/state.h"

#include "api/api.h"
#include "mpi/renamed.h"
#include "mpi/request.h"
#include "mpi/spares.h"
#include "os/os.h"

struct wio_mpi_state wio_mpi_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The groups themselves are freed by the end of the universe. Slots stay, with new generations, so
 * that handles of a universe that has ended are recognised as stale. */
void wio_mpi_state_reset(void)
{
    struct wio_mpi_state *st = &wio_mpi_state;

    pthread_mutex_lock(&st->lock);
    wio_os_free(st->count);
    st->count = NULL;
    st->ncounts = st->cap_counts = 0;
    for (int i = 0; i < WIO_CONSTANTS; i++)
        __atomic_store_n(&st->constant[i], (WAITIO_MPI_Comm)NULL, __ATOMIC_RELEASE);
    st->formats = 0;
    for (size_t i = 0; i < st->nslots; i++)
        st->slot[i].comm = NULL;
    pthread_mutex_unlock(&st->lock);
    wio_spares_free();
}

/* In programs that are built by renaming the constants are the addresses of these objects: initial
 * values of static variables, too. The linker may place the objects in the program's own memory, so
 * their size never changes. */
enum { ROOM = 512 };
struct waitio_constant {
    struct waitio_group group;
    char later[ROOM - sizeof(struct waitio_group)];
};
#define CONSTANT(NAME)                                                                             \
    extern __attribute__((visibility("default"))) struct waitio_constant NAME;                     \
    __attribute__((aligned(64))) struct waitio_constant NAME
CONSTANT(waitio_world_group_);
CONSTANT(waitio_self_group_);
CONSTANT(waitio_empty_group_);

static struct waitio_group *place_of(enum wio_mpi_constant which)
{
    return which == WIO_WORLD  ? &waitio_world_group_.group
           : which == WIO_SELF ? &waitio_self_group_.group
                               : &waitio_empty_group_.group;
}

/* Threads that stayed behind in a universe that has ended may still use the object. */
static struct waitio_group *settle(enum wio_mpi_constant which, struct waitio_group *g)
{
    struct waitio_group *at = place_of(which);

    if (at->magic != 0)
        return g;
    *at = *g;
    at->fixed = true;
    g->members = g->sorted = NULL;
    wio_group_destroy(g);
    return at;
}

/* A program uses a constant before any call has made its group. */
static bool make_constant(struct wio_universe *u, const struct waitio_group *g)
{
    (void)u;
    for (int i = 0; i < WIO_CONSTANTS; i++) {
        WAITIO_MPI_Comm comm;
        if (g == place_of((enum wio_mpi_constant)i))
            return wio_mpi_constant((enum wio_mpi_constant)i, &comm) == 0 && comm == g &&
                   g->magic == WIO_GROUP_MAGIC;
    }
    return false;
}

/* waitio_rejoin(): communicators and requests go with their universe. Types, operators and keys
 * are the process's own. */
static void ended(void)
{
    wio_request_forget();
    wio_matched_forget();
    wio_renamed_forget();
    wio_mpi_state_reset();
    wio_mpi_finalized(false);
}

__attribute__((constructor)) static void offer(void)
{
    wio_group_make = make_constant;
    wio_api_upper = (struct wio_api_upper){.ending = wio_mpi_moving, .ended = ended};
}

static int make(enum wio_mpi_constant which, WAITIO_MPI_Comm *comm)
{
    struct wio_universe *u = wio_api_universe();
    const struct wio_table *t = u == NULL ? NULL : wio_universe_table(u);
    int rc;

    if (t == NULL)
        return wio_last_code();
    rc = wio_group_from_range(t, 0, which == WIO_SELF ? t->me : 0,
                              which == WIO_WORLD  ? t->size
                              : which == WIO_SELF ? 1
                                                  : 0,
                              comm);
    if (rc == 0)
        *comm = settle(which, *comm);
    if (rc == 0)
        wio_group_register(u, *comm);
    return rc;
}

/* Every call with MPI_COMM_WORLD needs it: no lock once it is made. */
int wio_mpi_constant(enum wio_mpi_constant which, WAITIO_MPI_Comm *comm)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    int rc = 0;

    *comm = __atomic_load_n(&st->constant[which], __ATOMIC_ACQUIRE);
    if (WIO_LIKELY(*comm != NULL))
        return 0;
    pthread_mutex_lock(&st->lock);
    if (st->constant[which] == NULL) {
        WAITIO_MPI_Comm made = NULL;
        rc = make(which, &made);
        __atomic_store_n(&st->constant[which], made, __ATOMIC_RELEASE);
    }
    *comm = st->constant[which];
    pthread_mutex_unlock(&st->lock);
    return rc;
}

/* By address, also before it is made. */
int wio_mpi_which_constant(WAITIO_MPI_Comm comm)
{
    for (int i = 0; comm != NULL && i < WIO_CONSTANTS; i++)
        if (comm == place_of((enum wio_mpi_constant)i) ||
            comm == __atomic_load_n(&wio_mpi_state.constant[i], __ATOMIC_ACQUIRE))
            return i;
    return -1;
}
