/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm/state.h"

#include "api/api.h"
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

bool wio_mpi_is_constant(WAITIO_MPI_Comm comm)
{
    bool is = false;

    pthread_mutex_lock(&wio_mpi_state.lock);
    for (int i = 0; comm != NULL && i < WIO_CONSTANTS; i++)
        is |= comm == wio_mpi_state.constant[i];
    pthread_mutex_unlock(&wio_mpi_state.lock);
    return is;
}
