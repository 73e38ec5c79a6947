/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/state.h"

#include "os/os.h"

struct wio_mpi_state wio_mpi_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The groups themselves are freed by the end of the universe. Slots stay, with new generations, so
 * that handles of a universe that has ended are recognised as stale. */
void wio_mpi_state_reset(void)
{
    struct wio_mpi_state *st = &wio_mpi_state;

    pthread_mutex_lock(&st->lock);
    wio_os_free(st->space);
    st->space = NULL;
    st->nspaces = st->cap_spaces = 0;
    st->world = NULL;
    for (size_t i = 0; i < st->nslots; i++)
        st->slot[i].comm = NULL;
    pthread_mutex_unlock(&st->lock);
}

int wio_mpi_world(WAITIO_MPI_Comm *comm)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    int rc = 0;

    pthread_mutex_lock(&st->lock);
    if (st->world == NULL)
        rc = waitio_group_universe(0, &st->world);
    *comm = st->world;
    pthread_mutex_unlock(&st->lock);
    return rc;
}

bool wio_mpi_is_world(WAITIO_MPI_Comm comm)
{
    bool is;

    pthread_mutex_lock(&wio_mpi_state.lock);
    is = comm != NULL && comm == wio_mpi_state.world;
    pthread_mutex_unlock(&wio_mpi_state.lock);
    return is;
}
