/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing by hand. */
#include <limits.h>

#include "mpi/comm.h"
#include "mpi/mpi.h"
#include "os/os.h"

/* A packed buffer, and the place in it. */
struct packed {
    void *buffer; /* not written to by unpack */
    int64_t room;
    bool there; /* the program has given a position */
    int64_t at;
};

/* What both directions check: the packed bytes lie in the buffer from its position on. *turn: their
 * numbers are in the common form of unlike machines, which is not ours. */
static int part(const void *data, int64_t count, WAITIO_MPI_Datatype type, const struct packed *p,
                WAITIO_MPI_Comm comm, const struct wio_mpi_type **t, size_t *n, bool *turn)
{
    struct wio_comm *unlike = NULL;
    int rc = wio_type_use(count, type, t);

    if (rc == 0)
        rc = wio_comm_formats(comm, *t, &unlike);
    if (rc != 0)
        return rc;
    *turn = unlike != NULL;
    *n = (size_t)count * (*t)->size;
    if (data == NULL && *n > 0 && !wio_type_absolute(*t))
        return wio_fail(WAITIO_ERR_ARG, "the data is at NULL, but has %zu bytes", *n);
    if (!p->there || p->at < 0 || p->room < p->at || *n > (size_t)(p->room - p->at))
        return wio_fail(WAITIO_ERR_TRUNCATE, "%zu bytes at position %lld of a buffer of %lld bytes",
                        *n, (long long)p->at, (long long)p->room);
    return *n > 0 ? wio_mpi_need("packed buffer's", p->buffer) : 0;
}

static int pack(const void *in, int64_t count, WAITIO_MPI_Datatype type, struct packed *p,
                WAITIO_MPI_Comm comm)
{
    const struct wio_mpi_type *t;
    size_t n;
    bool turn;
    int rc = part(in, count, type, p, comm, &t, &n, &turn);

    if (rc != 0)
        return rc;
    wio_type_pack(t, in, 0, n, (char *)p->buffer + p->at);
    if (turn)
        wio_type_swap(t, n, (char *)p->buffer + p->at);
    p->at += (int64_t)n;
    return 0;
}

static int unpack(struct packed *p, void *out, int64_t count, WAITIO_MPI_Datatype type,
                  WAITIO_MPI_Comm comm)
{
    const struct wio_mpi_type *t;
    size_t n;
    bool turn;
    void *copy = NULL;
    int rc = part(out, count, type, p, comm, &t, &n, &turn);

    if (rc == 0 && turn && n > 0) {
        copy = wio_os_alloc(n);
        rc = copy != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory to turn %zu bytes", n);
    }
    if (rc == 0) {
        const void *from = (const char *)p->buffer + p->at;
        if (copy != NULL) {
            memcpy(copy, from, n);
            wio_type_swap(t, n, copy);
            from = copy;
        }
        wio_type_unpack(t, out, 0, n, from);
        p->at += (int64_t)n;
    }
    wio_os_free(copy);
    return rc;
}

int WAITIO_MPI_Pack(const void *in, int count, WAITIO_MPI_Datatype type, void *out, int room,
                    int *position, WAITIO_MPI_Comm comm)
{
    struct packed p = {out, room, position != NULL, position != NULL ? *position : 0};
    int rc = pack(in, count, type, &p, comm);

    if (rc == 0)
        *position = (int)p.at;
    return wio_mpi_result("WAITIO_MPI_Pack", rc);
}

int WAITIO_MPI_Pack_c(const void *in, WAITIO_MPI_Count count, WAITIO_MPI_Datatype type, void *out,
                      WAITIO_MPI_Count room, WAITIO_MPI_Count *position, WAITIO_MPI_Comm comm)
{
    struct packed p = {out, room, position != NULL, position != NULL ? *position : 0};
    int rc = pack(in, count, type, &p, comm);

    if (rc == 0)
        *position = p.at;
    return wio_mpi_result("WAITIO_MPI_Pack_c", rc);
}

int WAITIO_MPI_Unpack(const void *in, int room, int *position, void *out, int count,
                      WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm)
{
    struct packed p = {(void *)(uintptr_t)in, room, position != NULL,
                       position != NULL ? *position : 0};
    int rc = unpack(&p, out, count, type, comm);

    if (rc == 0)
        *position = (int)p.at;
    return wio_mpi_result("WAITIO_MPI_Unpack", rc);
}

int WAITIO_MPI_Unpack_c(const void *in, WAITIO_MPI_Count room, WAITIO_MPI_Count *position,
                        void *out, WAITIO_MPI_Count count, WAITIO_MPI_Datatype type,
                        WAITIO_MPI_Comm comm)
{
    struct packed p = {(void *)(uintptr_t)in, room, position != NULL,
                       position != NULL ? *position : 0};
    int rc = unpack(&p, out, count, type, comm);

    if (rc == 0)
        *position = p.at;
    return wio_mpi_result("WAITIO_MPI_Unpack_c", rc);
}

int WAITIO_MPI_Pack_size(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm, int *size)
{
    const struct wio_mpi_type *t;
    int rc = wio_type_use(count, type, &t);

    (void)comm;
    if (rc == 0 && t->size > 0 && (size_t)count > INT_MAX / t->size)
        rc = wio_fail(WAITIO_ERR_LIMIT, "%d elements of %zu bytes exceed an int: ask Pack_size_c",
                      count, t->size);
    if (rc == 0)
        *size = count * (int)t->size;
    return wio_mpi_result("WAITIO_MPI_Pack_size", rc);
}

int WAITIO_MPI_Pack_size_c(WAITIO_MPI_Count count, WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm,
                           WAITIO_MPI_Count *size)
{
    const struct wio_mpi_type *t;
    int rc = wio_type_use(count, type, &t);

    (void)comm;
    if (rc == 0)
        rc = wio_mpi_need("size", size);
    if (rc == 0)
        *size = count * (WAITIO_MPI_Count)t->size; /* below 2^63: wio_type_use() */
    return wio_mpi_result("WAITIO_MPI_Pack_size_c", rc);
}
