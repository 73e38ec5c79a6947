/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C side of module `waitio`: Fortran array descriptors become addresses and sizes. A buffer
 * that is not contiguous is refused, because the compiler would otherwise pass a temporary copy
 * that is gone before a non-blocking operation has used it. Stands on the public C interface only.
 *
 * ierr is NULL when the caller left it out: an error then ends the program with a message.
 */
#include "waitio_cfi.h"

#include <stdio.h>

/* What a descriptor says about a buffer. */
struct buffer {
    void *at;
    size_t bytes;
    size_t elements;
    WAITIO_MPI_Datatype type; /* 0: none that the conversion library knows */
};

/* This thread's call was refused here, with a message; waitio_cfi_finish follows. */
static _Thread_local int refused;

void waitio_cfi_finish(const char *call, int code, int *ierr)
{
    const char *why;

    if (ierr != NULL) {
        refused = 0;
        *ierr = code;
        return;
    }
    if (code >= 0)
        return;
    why = waitio_last_error();
    if (!refused && !waitio_last_error_shown())
        fprintf(stderr, "waitio: %s failed (%d): %s\n", call, code,
                why != NULL && why[0] != '\0' ? why : waitio_strerror(code));
    fprintf(stderr,
            "waitio: ending the program after the error of %s; pass ierr to handle errors\n", call);
    fflush(NULL);
    waitio_abort(1);
}

int waitio_cfi_refuse(const char *call, const char *why)
{
    fprintf(stderr, "waitio: %s: %s\n", call, why);
    refused = 1;
    return WAITIO_ERR_ARG;
}

static WAITIO_MPI_Datatype type_of(const CFI_cdesc_t *d)
{
    static const struct {
        CFI_type_t cfi;
        WAITIO_MPI_Datatype type;
    } rows[] = {
        {CFI_type_int8_t, WAITIO_MPI_INT8_T},
        {CFI_type_int16_t, WAITIO_MPI_INT16_T},
        {CFI_type_int32_t, WAITIO_MPI_INT32_T},
        {CFI_type_int64_t, WAITIO_MPI_INT64_T},
        {CFI_type_float, WAITIO_MPI_FLOAT},
        {CFI_type_double, WAITIO_MPI_DOUBLE},
        {CFI_type_float_Complex, WAITIO_MPI_COMPLEX},
        {CFI_type_double_Complex, WAITIO_MPI_DOUBLE_COMPLEX},
        {CFI_type_char, WAITIO_MPI_CHARACTER},
    };

    if (d->type == CFI_type_Bool)
        return d->elem_len == 4 ? WAITIO_MPI_LOGICAL : d->elem_len == 1 ? WAITIO_MPI_C_BOOL : 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].cfi == d->type)
            return rows[i].type;
    return 0;
}

static int look(const char *call, const CFI_cdesc_t *d, struct buffer *b)
{
    CFI_index_t step = (CFI_index_t)d->elem_len;

    *b = (struct buffer){.at = d->base_addr, .elements = 1, .type = type_of(d)};
    for (int i = 0; i < d->rank; i++) {
        if (d->dim[i].extent < 0)
            return waitio_cfi_refuse(
                call, "the buffer is an assumed-size array (*), so its size is unknown; "
                      "pass a section such as a(1:n)");
        if (d->dim[i].extent > 1 && d->dim[i].sm != step)
            return waitio_cfi_refuse(
                call, "the buffer is not contiguous; copy it, or pass a contiguous array");
        step *= d->dim[i].extent;
        b->elements *= (size_t)d->dim[i].extent;
    }
    b->bytes = b->elements * d->elem_len;
    return 0;
}

/* ---- point-to-point ---- */

void waitio_cfi_isend(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *buf,
                      const int *tag, waitio_req_t *req, int *ierr);
void waitio_cfi_isend(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *buf,
                      const int *tag, waitio_req_t *req, int *ierr)
{
    struct buffer b;
    int rc = look("waitio_isend", buf, &b);

    if (rc == 0)
        rc = waitio_isend(*group, *dest, b.at, b.bytes, *tag, req);
    waitio_cfi_finish("waitio_isend", rc, ierr);
}

void waitio_cfi_irecv(const waitio_group_t *group, const int *source, const CFI_cdesc_t *buf,
                      const int *tag, waitio_req_t *req, int *ierr);
void waitio_cfi_irecv(const waitio_group_t *group, const int *source, const CFI_cdesc_t *buf,
                      const int *tag, waitio_req_t *req, int *ierr)
{
    struct buffer b;
    int rc = look("waitio_irecv", buf, &b);

    if (rc == 0)
        rc = waitio_irecv(*group, *source, b.at, b.bytes, *tag, req);
    waitio_cfi_finish("waitio_irecv", rc, ierr);
}

void waitio_cfi_send(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *buf,
                     const int *tag, int *ierr);
void waitio_cfi_send(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *buf,
                     const int *tag, int *ierr)
{
    struct buffer b;
    waitio_req_t req;
    int rc = look("waitio_send", buf, &b);

    if (rc == 0)
        rc = waitio_isend(*group, *dest, b.at, b.bytes, *tag, &req);
    if (rc == 0)
        rc = waitio_wait(&req);
    waitio_cfi_finish("waitio_send", rc, ierr);
}

void waitio_cfi_recv(const waitio_group_t *group, const int *source, const CFI_cdesc_t *buf,
                     const int *tag, waitio_status_t *status, int *ierr);
void waitio_cfi_recv(const waitio_group_t *group, const int *source, const CFI_cdesc_t *buf,
                     const int *tag, waitio_status_t *status, int *ierr)
{
    struct buffer b;
    waitio_req_t req;
    int rc = look("waitio_recv", buf, &b);

    if (rc == 0)
        rc = waitio_irecv(*group, *source, b.at, b.bytes, *tag, &req);
    if (rc == 0)
        rc = waitio_wait_status(&req, status);
    waitio_cfi_finish("waitio_recv", rc, ierr);
}

void waitio_cfi_sendrecv(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *sbuf,
                         const int *stag, const int *source, const CFI_cdesc_t *rbuf,
                         const int *rtag, waitio_status_t *status, int *ierr);
void waitio_cfi_sendrecv(const waitio_group_t *group, const int *dest, const CFI_cdesc_t *sbuf,
                         const int *stag, const int *source, const CFI_cdesc_t *rbuf,
                         const int *rtag, waitio_status_t *status, int *ierr)
{
    struct buffer s, r;
    int rc = look("waitio_sendrecv", sbuf, &s);

    if (rc == 0)
        rc = look("waitio_sendrecv", rbuf, &r);
    if (rc == 0)
        rc = waitio_sendrecv(*group, *dest, s.at, s.bytes, *stag, *source, r.at, r.bytes, *rtag,
                             status);
    waitio_cfi_finish("waitio_sendrecv", rc, ierr);
}

/* ---- completion ---- */

void waitio_cfi_wait(waitio_req_t *req, waitio_status_t *status, int *ierr);
void waitio_cfi_wait(waitio_req_t *req, waitio_status_t *status, int *ierr)
{
    waitio_cfi_finish("waitio_wait", waitio_wait_status(req, status), ierr);
}

void waitio_cfi_test(waitio_req_t *req, int *flag, waitio_status_t *status, int *ierr);
void waitio_cfi_test(waitio_req_t *req, int *flag, waitio_status_t *status, int *ierr)
{
    waitio_cfi_finish("waitio_test", waitio_test(req, flag, status), ierr);
}

void waitio_cfi_waitall(const CFI_cdesc_t *reqs, const CFI_cdesc_t *statuses, int *ierr);
void waitio_cfi_waitall(const CFI_cdesc_t *reqs, const CFI_cdesc_t *statuses, int *ierr)
{
    int rc;

    if (statuses != NULL && statuses->dim[0].extent < reqs->dim[0].extent)
        rc = waitio_cfi_refuse("waitio_waitall", "there are fewer statuses than requests");
    else
        rc = waitio_waitall((int)reqs->dim[0].extent, reqs->base_addr,
                            statuses != NULL ? statuses->base_addr : NULL);
    waitio_cfi_finish("waitio_waitall", rc, ierr);
}

/* index counts from 1; 0 when no request is active. */
void waitio_cfi_waitany(const CFI_cdesc_t *reqs, int *index, waitio_status_t *status, int *ierr);
void waitio_cfi_waitany(const CFI_cdesc_t *reqs, int *index, waitio_status_t *status, int *ierr)
{
    int rc = waitio_waitany((int)reqs->dim[0].extent, reqs->base_addr, index, status);

    *index = *index == WAITIO_UNDEFINED ? 0 : *index + 1;
    waitio_cfi_finish("waitio_waitany", rc, ierr);
}

void waitio_cfi_probe(const waitio_group_t *group, const int *source, const int *tag,
                      waitio_status_t *status, int *ierr);
void waitio_cfi_probe(const waitio_group_t *group, const int *source, const int *tag,
                      waitio_status_t *status, int *ierr)
{
    waitio_cfi_finish("waitio_probe", waitio_probe(*group, *source, *tag, status), ierr);
}

void waitio_cfi_iprobe(const waitio_group_t *group, const int *source, const int *tag, int *flag,
                       waitio_status_t *status, int *ierr);
void waitio_cfi_iprobe(const waitio_group_t *group, const int *source, const int *tag, int *flag,
                       waitio_status_t *status, int *ierr)
{
    waitio_cfi_finish("waitio_iprobe", waitio_iprobe(*group, *source, *tag, flag, status), ierr);
}

void waitio_cfi_cancel(waitio_req_t *req, int *ierr);
void waitio_cfi_cancel(waitio_req_t *req, int *ierr)
{
    waitio_cfi_finish("waitio_cancel", waitio_cancel(req), ierr);
}

/* ---- collectives: the element type comes with the array ---- */

static int typed(const char *call, const CFI_cdesc_t *d, struct buffer *b)
{
    int rc = look(call, d, b);

    if (rc == 0 && b->type == 0)
        return waitio_cfi_refuse(
            call, "arrays of this type have no counterpart in the conversion library");
    if (rc == 0 && b->elements > 0x7fffffff)
        return waitio_cfi_refuse(call, "more than 2147483647 elements");
    if (rc == 0 && b->type == WAITIO_MPI_CHARACTER)
        b->elements = b->bytes;
    return rc;
}

/* Two buffers of one type, the second holding `times` as many elements. */
static int alike(const char *call, const struct buffer *s, const struct buffer *r, size_t times)
{
    if (s->type != r->type)
        return waitio_cfi_refuse(call, "the two buffers have different types");
    if (s->elements * times > r->elements)
        return waitio_cfi_refuse(call, "the receive buffer is too small");
    return 0;
}

void waitio_cfi_barrier(const waitio_group_t *group, int *ierr);
void waitio_cfi_barrier(const waitio_group_t *group, int *ierr)
{
    waitio_cfi_finish("waitio_barrier", waitio_mpi_barrier(*group), ierr);
}

void waitio_cfi_bcast(const CFI_cdesc_t *buf, const int *root, const waitio_group_t *group,
                      int *ierr);
void waitio_cfi_bcast(const CFI_cdesc_t *buf, const int *root, const waitio_group_t *group,
                      int *ierr)
{
    struct buffer b;
    int rc = typed("waitio_bcast", buf, &b);

    if (rc == 0)
        rc = waitio_mpi_bcast(b.at, (int)b.elements, b.type, *root, *group);
    waitio_cfi_finish("waitio_bcast", rc, ierr);
}

void waitio_cfi_reduce(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                       const int *root, const waitio_group_t *group, int *ierr);
void waitio_cfi_reduce(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                       const int *root, const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int rank = -1, rc = typed("waitio_reduce", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_reduce", rbuf, &r);
    if (rc == 0)
        rc = waitio_group_rank(*group, &rank);
    if (rc == 0 && rank == *root) /* the others' receive buffers may have any size */
        rc = alike("waitio_reduce", &s, &r, 1);
    if (rc == 0)
        rc = waitio_mpi_reduce(s.at, r.at, (int)s.elements, s.type, *op, *root, *group);
    waitio_cfi_finish("waitio_reduce", rc, ierr);
}

void waitio_cfi_allreduce(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                          const waitio_group_t *group, int *ierr);
void waitio_cfi_allreduce(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                          const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int rc = typed("waitio_allreduce", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_allreduce", rbuf, &r);
    if (rc == 0)
        rc = alike("waitio_allreduce", &s, &r, 1);
    if (rc == 0)
        rc = waitio_mpi_allreduce(s.at, r.at, (int)s.elements, s.type, *op, *group);
    waitio_cfi_finish("waitio_allreduce", rc, ierr);
}

void waitio_cfi_gather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *root,
                       const waitio_group_t *group, int *ierr);
void waitio_cfi_gather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *root,
                       const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int rank = -1, size = 0, rc = typed("waitio_gather", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_gather", rbuf, &r);
    if (rc == 0)
        rc = waitio_group_rank(*group, &rank);
    if (rc == 0)
        rc = waitio_group_size(*group, &size);
    if (rc == 0 && rank == *root)
        rc = alike("waitio_gather", &s, &r, (size_t)size);
    if (rc == 0)
        rc = waitio_mpi_gather(s.at, r.at, (int)s.elements, s.type, *root, *group);
    waitio_cfi_finish("waitio_gather", rc, ierr);
}

void waitio_cfi_allgather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf,
                          const waitio_group_t *group, int *ierr);
void waitio_cfi_allgather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf,
                          const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int size = 0, rc = typed("waitio_allgather", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_allgather", rbuf, &r);
    if (rc == 0)
        rc = waitio_group_size(*group, &size);
    if (rc == 0)
        rc = alike("waitio_allgather", &s, &r, (size_t)size);
    if (rc == 0)
        rc = waitio_mpi_allgather(s.at, r.at, (int)s.elements, s.type, *group);
    waitio_cfi_finish("waitio_allgather", rc, ierr);
}

void waitio_cfi_scatter(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *root,
                        const waitio_group_t *group, int *ierr);
void waitio_cfi_scatter(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *root,
                        const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int rank = -1, size = 0, rc = typed("waitio_scatter", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_scatter", rbuf, &r);
    if (rc == 0)
        rc = waitio_group_rank(*group, &rank);
    if (rc == 0)
        rc = waitio_group_size(*group, &size);
    if (rc == 0 && rank == *root && s.type != r.type)
        rc = waitio_cfi_refuse("waitio_scatter", "the two buffers have different types");
    if (rc == 0 && rank == *root && s.elements < r.elements * (size_t)size)
        rc = waitio_cfi_refuse("waitio_scatter", "the send buffer is too small");
    if (rc == 0)
        rc = waitio_mpi_scatter(s.at, (int)r.elements, r.type, r.at, (int)r.elements, r.type, *root,
                                *group);
    waitio_cfi_finish("waitio_scatter", rc, ierr);
}

void waitio_cfi_alltoall(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf,
                         const waitio_group_t *group, int *ierr);
void waitio_cfi_alltoall(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf,
                         const waitio_group_t *group, int *ierr)
{
    struct buffer s, r;
    int size = 1, rc = typed("waitio_alltoall", sbuf, &s);

    if (rc == 0)
        rc = typed("waitio_alltoall", rbuf, &r);
    if (rc == 0)
        rc = alike("waitio_alltoall", &s, &r, 1);
    if (rc == 0)
        rc = waitio_group_size(*group, &size);
    if (rc == 0 && s.elements % (size_t)size != 0)
        rc = waitio_cfi_refuse("waitio_alltoall",
                               "the send buffer cannot be divided among the members");
    if (rc == 0)
        rc = WAITIO_MPI_Alltoall(s.at, (int)s.elements / size, s.type, r.at, (int)s.elements / size,
                                 s.type, *group);
    waitio_cfi_finish("waitio_alltoall", rc, ierr);
}

typedef int scan_fn(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                    WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);

static void scan(const char *call, scan_fn *run, const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf,
                 int op, waitio_group_t group, int *ierr)
{
    struct buffer s, r;
    int rc = typed(call, sbuf, &s);

    if (rc == 0)
        rc = typed(call, rbuf, &r);
    if (rc == 0)
        rc = alike(call, &s, &r, 1);
    if (rc == 0)
        rc = run(s.at, r.at, (int)s.elements, s.type, op, group);
    waitio_cfi_finish(call, rc, ierr);
}

void waitio_cfi_scan(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                     const waitio_group_t *group, int *ierr);
void waitio_cfi_scan(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                     const waitio_group_t *group, int *ierr)
{
    scan("waitio_scan", WAITIO_MPI_Scan, sbuf, rbuf, *op, *group, ierr);
}

void waitio_cfi_exscan(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                       const waitio_group_t *group, int *ierr);
void waitio_cfi_exscan(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *op,
                       const waitio_group_t *group, int *ierr)
{
    scan("waitio_exscan", WAITIO_MPI_Exscan, sbuf, rbuf, *op, *group, ierr);
}
