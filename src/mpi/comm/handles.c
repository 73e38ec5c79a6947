/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's communicators: four bytes, index and generation, so that a stale one is an error. */
#include "mpi/comm/state.h"
#include "os/os.h"

enum {
    /* WAITIO_MPI_COMM_WORLD, _SELF and _GROUP_EMPTY of waitio_mpif.h, in the order of the enum */
    CONSTANT = WAITIO_MPI_DEFTAG + 1,
    FIRST = 16, /* indices below are for constants */
    MOST = 65536,
    GENERATIONS = 32767
};

/* The slot that holds @p comm, 0 when none does (indices below FIRST are never used). */
static size_t slot_of(const struct wio_mpi_state *st, WAITIO_MPI_Comm comm)
{
    for (size_t i = FIRST; i < st->nslots; i++)
        if (st->slot[i].comm == comm)
            return i;
    return 0;
}

/* First free slot at or above FIRST; the table doubles. */
static int slot_get(struct wio_mpi_state *st, size_t *index)
{
    size_t n = st->nslots == 0 ? 64 : 2 * st->nslots;
    struct wio_mpi_slot *slot;

    *index = slot_of(st, NULL);
    if (*index != 0)
        return 0;
    if (n > MOST)
        return wio_fail(WAITIO_ERR_LIMIT, "%d communicators have Fortran handles; free some", MOST);
    slot = wio_os_realloc(st->slot, n * sizeof *slot);
    if (slot == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu communicator handles", n);
    memset(slot + st->nslots, 0, (n - st->nslots) * sizeof *slot);
    *index = st->nslots < FIRST ? FIRST : st->nslots;
    st->slot = slot;
    st->nslots = n;
    return 0;
}

static int32_t handle_at(const struct wio_mpi_state *st, size_t i)
{
    return (int32_t)((uint32_t)st->slot[i].generation << 16 | (uint32_t)i);
}

static int slot_fill(struct wio_mpi_state *st, WAITIO_MPI_Comm comm, int32_t *handle)
{
    size_t i = 0;
    int rc = slot_get(st, &i);

    if (rc == 0) {
        st->slot[i].comm = comm;
        st->slot[i].generation = (uint16_t)(st->slot[i].generation % GENERATIONS + 1);
        *handle = handle_at(st, i);
    }
    return rc;
}

int wio_mpi_handle_new(WAITIO_MPI_Comm comm, int32_t *handle)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    size_t known;
    int rc = 0, which = wio_mpi_which_constant(comm);

    *handle = which >= 0 ? CONSTANT + which : 0;
    if (comm == NULL || which >= 0)
        return 0;
    pthread_mutex_lock(&st->lock);
    known = slot_of(st, comm);
    if (known != 0)
        *handle = handle_at(st, known);
    else
        rc = slot_fill(st, comm, handle);
    pthread_mutex_unlock(&st->lock);
    return rc;
}

int wio_mpi_handle_get(int32_t handle, WAITIO_MPI_Comm *comm)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    uint32_t index = (uint32_t)handle & 0xffff, generation = (uint32_t)handle >> 16;

    if (handle >= CONSTANT && handle < CONSTANT + WIO_CONSTANTS)
        return wio_mpi_constant((enum wio_mpi_constant)(handle - CONSTANT), comm);
    *comm = NULL;
    pthread_mutex_lock(&st->lock);
    if (index < st->nslots && st->slot[index].generation == generation)
        *comm = st->slot[index].comm;
    pthread_mutex_unlock(&st->lock);
    if (*comm != NULL)
        return 0;
    return wio_fail(WAITIO_ERR_GROUP,
                    "%d is not a communicator: never created, freed, of a universe that was left, "
                    "or of another MPI library",
                    (int)handle);
}

void wio_mpi_handle_drop(WAITIO_MPI_Comm comm)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    size_t known;

    pthread_mutex_lock(&st->lock);
    known = slot_of(st, comm);
    if (known != 0)
        st->slot[known].comm = NULL;
    pthread_mutex_unlock(&st->lock);
}
