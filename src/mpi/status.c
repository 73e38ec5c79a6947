/* SPDX-License-Identifier: BSD-3-Clause */
/* Statuses in both forms: MPI's structure, and the published array of four integers. */
#include "mpi/status.h"

#include <limits.h>

#include "os/os.h"

/* A request without an operation: MPI's empty status has any source and any tag. */
static int source_of(const waitio_status_t *st)
{
    return st->source == -1 ? WAITIO_MPI_ANY_SOURCE : st->source;
}

static int tag_of(const waitio_status_t *st)
{
    return st->tag == -1 ? WAITIO_MPI_ANY_TAG : st->tag;
}

void wio_mpi_status_short(const waitio_status_t *st, int *out)
{
    if (out == NULL)
        return;
    out[0] = source_of(st);
    out[1] = tag_of(st);
    out[2] = st->cancelled ? WAITIO_ERR_CANCELLED : st->error;
    out[3] = st->bytes > INT_MAX ? INT_MAX : (int)st->bytes;
}

void wio_mpi_status_long(const waitio_status_t *st, WAITIO_MPI_Status *out)
{
    if (out != NULL)
        *out = (WAITIO_MPI_Status){source_of(st), tag_of(st), st->error, st->cancelled, st->bytes};
}

void wio_mpi_status_one(const waitio_status_t *st, WAITIO_MPI_Status *out)
{
    int error = out == NULL ? 0 : out->MPI_ERROR;

    wio_mpi_status_long(st, out);
    if (out != NULL)
        out->MPI_ERROR = error;
}

waitio_status_t wio_mpi_from_nobody(void)
{
    return (waitio_status_t){.source = WAITIO_MPI_PROC_NULL, .tag = WAITIO_ANY_TAG};
}

int wio_statuses_get(struct wio_statuses *s, int count)
{
    s->st = s->few;
    if (count < 0)
        return wio_fail(WAITIO_ERR_ARG, "count %d of requests is negative", count);
    if (count > WIO_STATUSES_FEW)
        s->st = wio_os_alloc((size_t)count * sizeof *s->st);
    else
        memset(s->few, 0, sizeof s->few);
    return s->st != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for %d statuses", count);
}

void wio_statuses_put(struct wio_statuses *s)
{
    if (s->st != s->few)
        wio_os_free(s->st);
}
