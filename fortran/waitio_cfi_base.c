/* SPDX-License-Identifier: BSD-3-Clause */
/* The C side of module `waitio`: start and end, who is there, groups. */
#include "waitio_cfi.h"

#include <stdio.h>

#define FORTRAN(name, arguments)                                                                   \
    void name arguments;                                                                           \
    void name arguments

FORTRAN(waitio_cfi_init, (const int *timeout, int *ierr))
{
    waitio_cfi_finish("waitio_init", waitio_init(timeout != NULL ? *timeout : 0), ierr);
}

FORTRAN(waitio_cfi_finalize, (int *ierr))
{
    waitio_cfi_finish("waitio_finalize", WAITIO_MPI_Finalize(), ierr);
}

FORTRAN(waitio_cfi_rejoin, (const int *timeout, int *ierr))
{
    waitio_cfi_finish("waitio_rejoin", waitio_rejoin(timeout != NULL ? *timeout : 0), ierr);
}

FORTRAN(waitio_cfi_resume_mark, (int64_t * mark, int *ierr))
{
    uint64_t number = 0;
    int rc = waitio_resume_mark(&number);
    *mark = (int64_t)number;
    waitio_cfi_finish("waitio_resume_mark", rc, ierr);
}

FORTRAN(waitio_cfi_resume_from, (const int64_t *mark, int *ierr))
{
    waitio_cfi_finish("waitio_resume_from", waitio_resume_from((uint64_t)*mark), ierr);
}

FORTRAN(waitio_cfi_set_errors, (const int *mode, int *ierr))
{
    waitio_cfi_finish("waitio_set_errors", waitio_set_errors(*mode), ierr);
}

FORTRAN(waitio_cfi_trace_begin, (const char *name, int *ierr))
{
    waitio_cfi_finish("waitio_trace_begin", waitio_trace_begin(name), ierr);
}

FORTRAN(waitio_cfi_trace_end, (const char *name, int *ierr))
{
    waitio_cfi_finish("waitio_trace_end", waitio_trace_end(name), ierr);
}

FORTRAN(waitio_cfi_pb_size, (int *npb, int *ierr))
{
    waitio_cfi_finish("waitio_pb_size", waitio_pb_size(npb), ierr);
}

FORTRAN(waitio_cfi_pb_rank, (int *pbid, int *ierr))
{
    waitio_cfi_finish("waitio_pb_rank", waitio_pb_rank(pbid), ierr);
}

FORTRAN(waitio_cfi_universe_size, (int *size, int *ierr))
{
    waitio_cfi_finish("waitio_universe_size", waitio_universe_size(size), ierr);
}

FORTRAN(waitio_cfi_universe_rank, (int *rank, int *ierr))
{
    waitio_cfi_finish("waitio_universe_rank", waitio_universe_rank(rank), ierr);
}

FORTRAN(waitio_cfi_get_nprocs, (const CFI_cdesc_t *nprocs, int *ierr))
{
    int npb = 0, rc = waitio_pb_size(&npb);

    if (rc == 0 && nprocs->dim[0].extent < npb)
        rc = waitio_cfi_refuse("waitio_get_nprocs",
                               "the array has fewer elements than there are PBs");
    if (rc == 0)
        rc = (waitio_get_nprocs)(nprocs->base_addr);
    waitio_cfi_finish("waitio_get_nprocs", rc, ierr);
}

/* ---- groups ---- */

FORTRAN(waitio_cfi_group_universe, (waitio_group_t * group, const int *gid, int *ierr))
{
    waitio_cfi_finish("waitio_group_universe", waitio_group_universe(gid != NULL ? *gid : 0, group),
                      ierr);
}

FORTRAN(waitio_cfi_group_pb, (waitio_group_t * group, const int *pbid, const int *gid, int *ierr))
{
    waitio_cfi_finish("waitio_group_pb", waitio_group_pb(gid != NULL ? *gid : 0, *pbid, group),
                      ierr);
}

FORTRAN(waitio_cfi_group_pbheads, (waitio_group_t * group, int *ierr))
{
    waitio_cfi_finish("waitio_group_pbheads", waitio_create_universe_pbhead(group), ierr);
}

enum { MOST_PBS = 1024 }; /* of a group made by one filter here; C has no such bound */

FORTRAN(waitio_cfi_create_group, (waitio_group_t * group, waitio_filter_func_t filter,
                                  const CFI_cdesc_t *order, const int *gid, int *ierr))
{
    waitio_filter_func_t filters[MOST_PBS];
    int npb = 0, rc = waitio_pb_size(&npb);

    *group = NULL;
    if (rc == 0 && order->dim[0].extent < npb)
        rc =
            waitio_cfi_refuse("waitio_create_group", "order has fewer elements than there are PBs");
    if (rc == 0 && npb > MOST_PBS)
        rc = waitio_cfi_refuse("waitio_create_group", "more than 1024 PBs");
    if (rc == 0) {
        for (int p = 0; p < npb; p++)
            filters[p] = filter;
        *group = waitio_create_group_func(gid != NULL ? *gid : 0, filters, order->base_addr);
        rc = *group != NULL ? 0 : WAITIO_ERR_GROUP;
    }
    waitio_cfi_finish("waitio_create_group", rc, ierr);
}

FORTRAN(waitio_cfi_group_free, (waitio_group_t * group, int *ierr))
{
    waitio_cfi_finish("waitio_group_free", waitio_group_free(group), ierr);
}

FORTRAN(waitio_cfi_group_size, (const waitio_group_t *group, int *size, int *ierr))
{
    waitio_cfi_finish("waitio_group_size", waitio_group_size(*group, size), ierr);
}

FORTRAN(waitio_cfi_group_rank, (const waitio_group_t *group, int *rank, int *ierr))
{
    waitio_cfi_finish("waitio_group_rank", waitio_group_rank(*group, rank), ierr);
}

FORTRAN(waitio_cfi_group_locate,
        (const waitio_group_t *group, const int *rank, int *pbid, int *pb_rank, int *ierr))
{
    waitio_cfi_finish("waitio_group_locate", waitio_group_locate(*group, *rank, pbid, pb_rank),
                      ierr);
}

FORTRAN(waitio_cfi_group_find,
        (const waitio_group_t *group, const int *pbid, const int *pb_rank, int *rank, int *ierr))
{
    waitio_cfi_finish("waitio_group_find", waitio_group_find(*group, *pbid, *pb_rank, rank), ierr);
}
