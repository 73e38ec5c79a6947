/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: sending, receiving and waiting. */
#include "mpi/fortran/fortran.h"
#include "mpi/request.h"
#include "mpi/status.h"

#define BUF(p) wio_fortran_buffer(p)

#define SEND                                                                                       \
    const void *buf, const fint *count, const fint *type, const fint *dest, const fint *tag,       \
        const void *comm
#define RECV                                                                                       \
    void *buf, const fint *count, const fint *type, const fint *source, const fint *tag,           \
        const void *comm

#define SENDS(NAME, UPPER, FUNCTION)                                                               \
    WIO_FORTRAN(NAME, (SEND, fint * ierr))                                                         \
    {                                                                                              \
        WIO_WITH_COMM(UPPER, FUNCTION(BUF(buf), *count, *type, *dest, *tag, c));                   \
    }
#define STARTS_SEND(NAME, UPPER, FUNCTION)                                                         \
    WIO_FORTRAN(NAME, (SEND, void *req, fint *ierr))                                               \
    {                                                                                              \
        WIO_WITH_COMM(UPPER, FUNCTION(BUF(buf), *count, *type, *dest, *tag, c, req));              \
    }
#define STARTS_RECV(NAME, UPPER, FUNCTION)                                                         \
    WIO_FORTRAN(NAME, (RECV, void *req, fint *ierr))                                               \
    {                                                                                              \
        WIO_WITH_COMM(UPPER, FUNCTION(BUF(buf), *count, *type, *source, *tag, c, req));            \
    }

SENDS(waitio_mpi_send_, "WAITIO_MPI_SEND", waitio_mpi_send)
SENDS(waitio_mpi_ssend_, "WAITIO_MPI_SSEND", WAITIO_MPI_Ssend)
STARTS_SEND(waitio_mpi_issend_, "WAITIO_MPI_ISSEND", WAITIO_MPI_Issend)
STARTS_SEND(waitio_mpi_ssend_init_, "WAITIO_MPI_SSEND_INIT", WAITIO_MPI_Ssend_init)
SENDS(waitio_mpi_bsend_, "WAITIO_MPI_BSEND", WAITIO_MPI_Bsend)
STARTS_SEND(waitio_mpi_bsend_init_, "WAITIO_MPI_BSEND_INIT", WAITIO_MPI_Bsend_init)
STARTS_SEND(waitio_mpi_ibsend_, "WAITIO_MPI_IBSEND", WAITIO_MPI_Ibsend)
SENDS(waitio_mpi_rsend_, "WAITIO_MPI_RSEND", WAITIO_MPI_Rsend)
STARTS_SEND(waitio_mpi_isend_, "WAITIO_MPI_ISEND", waitio_mpi_isend)
WIO_FORTRAN_ALSO(waitio_mpi_isend_f_, waitio_mpi_isend_, (SEND, void *req, fint *ierr))
STARTS_SEND(waitio_mpi_irsend_, "WAITIO_MPI_IRSEND", WAITIO_MPI_Irsend)
STARTS_SEND(waitio_mpi_send_init_, "WAITIO_MPI_SEND_INIT", WAITIO_MPI_Send_init)
STARTS_SEND(waitio_mpi_rsend_init_, "WAITIO_MPI_RSEND_INIT", WAITIO_MPI_Rsend_init)
STARTS_RECV(waitio_mpi_irecv_, "WAITIO_MPI_IRECV", waitio_mpi_irecv)
WIO_FORTRAN_ALSO(waitio_mpi_irecv_f_, waitio_mpi_irecv_, (RECV, void *req, fint *ierr))
STARTS_RECV(waitio_mpi_recv_init_, "WAITIO_MPI_RECV_INIT", WAITIO_MPI_Recv_init)

/* A call that completes one operation leaves MPI_ERROR as the program has set it. Only the mark of
 * a cancelled one, which MPI_TEST_CANCELLED reads there, comes and goes. */
static void give_four(const fint four[WAITIO_STATUS_SIZE], fint *status)
{
    fint *out = wio_fortran_status(status), error;

    if (out == NULL)
        return;
    error = out[2];
    if (four[2] == WAITIO_ERR_CANCELLED)
        error = WAITIO_ERR_CANCELLED;
    else if (error == WAITIO_ERR_CANCELLED)
        error = 0;
    memcpy(out, four, WAITIO_STATUS_SIZE * sizeof *out);
    out[2] = error;
}

static void give_plain(const waitio_status_t *st, fint *status)
{
    fint four[WAITIO_STATUS_SIZE];

    wio_mpi_status_short(st, four);
    give_four(four, status);
}

static void give(const WAITIO_MPI_Status *st, fint *status)
{
    fint four[WAITIO_STATUS_SIZE];

    WAITIO_MPI_Status_c2f(st, four);
    give_four(four, status);
}

/* MPI's own argument lists, as a renamed program writes them. */
WIO_FORTRAN(waitio_mpi_recv_, (RECV, fint *status, fint *ierr))
{
    fint four[WAITIO_STATUS_SIZE] = {0};

    WIO_WITH_COMM("WAITIO_MPI_RECV",
                  waitio_mpi_recv_status(BUF(buf), *count, *type, *source, *tag, c, four));
    give_four(four, status);
}

WIO_FORTRAN(waitio_mpi_sendrecv_,
            (const void *sbuf, const fint *scount, const fint *stype, const fint *dest,
             const fint *stag, void *rbuf, const fint *rcount, const fint *rtype,
             const fint *source, const fint *rtag, const void *comm, fint *status, fint *ierr))
{
    fint four[WAITIO_STATUS_SIZE] = {0};

    WIO_WITH_COMM("WAITIO_MPI_SENDRECV",
                  waitio_mpi_sendrecv(BUF(sbuf), *scount, *stype, *dest, *stag, BUF(rbuf), *rcount,
                                      *rtype, *source, *rtag, c, four));
    give_four(four, status);
}

WIO_FORTRAN(waitio_mpi_isendrecv_,
            (const void *sbuf, const fint *scount, const fint *stype, const fint *dest,
             const fint *stag, void *rbuf, const fint *rcount, const fint *rtype,
             const fint *source, const fint *rtag, const void *comm, void *req, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_ISENDRECV",
                  WAITIO_MPI_Isendrecv(BUF(sbuf), *scount, *stype, *dest, *stag, BUF(rbuf), *rcount,
                                       *rtype, *source, *rtag, c, req));
}

WIO_FORTRAN(waitio_mpi_isendrecv_replace_,
            (void *buf, const fint *count, const fint *type, const fint *dest, const fint *stag,
             const fint *source, const fint *rtag, const void *comm, void *req, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_ISENDRECV_REPLACE",
                  WAITIO_MPI_Isendrecv_replace(BUF(buf), *count, *type, *dest, *stag, *source,
                                               *rtag, c, req));
}

WIO_FORTRAN(waitio_mpi_sendrecv_replace_,
            (void *buf, const fint *count, const fint *type, const fint *dest, const fint *stag,
             const fint *source, const fint *rtag, const void *comm, fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};

    WIO_WITH_COMM(
        "WAITIO_MPI_SENDRECV_REPLACE",
        WAITIO_MPI_Sendrecv_replace(BUF(buf), *count, *type, *dest, *stag, *source, *rtag, c, &st));
    give(&st, status);
}

WIO_FORTRAN(waitio_mpi_probe_,
            (const fint *source, const fint *tag, const void *comm, fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};

    WIO_WITH_COMM("WAITIO_MPI_PROBE", WAITIO_MPI_Probe(*source, *tag, c, &st));
    give(&st, status);
}

WIO_FORTRAN(waitio_mpi_iprobe_, (const fint *source, const fint *tag, const void *comm, fint *flag,
                                 fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};
    int found = 0;

    WIO_WITH_COMM("WAITIO_MPI_IPROBE", WAITIO_MPI_Iprobe(*source, *tag, c, &found, &st));
    wio_fortran_logical(flag, found);
    if (found)
        give(&st, status);
}

/* ---- completion ---- */

WIO_FORTRAN(waitio_mpi_buffer_attach_, (void *buffer, const fint *size, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_BUFFER_ATTACH", WAITIO_MPI_Buffer_attach(buffer, *size), ierr);
}

/* Fortran gets no address. */
WIO_FORTRAN(waitio_mpi_buffer_detach_, (void *buffer, fint *size, fint *ierr))
{
    void *ignored;

    (void)buffer;
    wio_fortran_result("WAITIO_MPI_BUFFER_DETACH", WAITIO_MPI_Buffer_detach(&ignored, size), ierr);
}

/* What belongs to no communicator. */
static void finish(const char *call, int rc, fint *ierr)
{
    wio_fortran_result(call, wio_mpi_result(call, rc), ierr);
}

WIO_FORTRAN(waitio_wait_, (void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_WAIT", wio_request_wait(req, NULL), ierr);
}
WIO_FORTRAN_ALSO(waitio_wait_f_, waitio_wait_, (void *req, fint *ierr))

WIO_FORTRAN(waitio_mpi_wait_, (void *req, fint *status, fint *ierr))
{
    fint four[WAITIO_STATUS_SIZE] = {0};

    wio_fortran_result("WAITIO_MPI_WAIT", waitio_mpi_wait(req, four), ierr);
    give_four(four, status);
}

WIO_FORTRAN(waitio_mpi_waitall_, (const fint *count, void *reqs, fint *statuses, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_WAITALL",
                       waitio_mpi_waitall(*count, reqs, wio_fortran_status(statuses)), ierr);
}
WIO_FORTRAN_ALSO(waitio_mpi_waitall_f_, waitio_mpi_waitall_,
                 (const fint *count, void *reqs, fint *statuses, fint *ierr))

WIO_FORTRAN(waitio_mpi_test_, (void *req, fint *flag, fint *status, fint *ierr))
{
    waitio_status_t st = {0};
    int done = 0, rc = wio_request_test(req, &done, &st);

    if (rc != 0 || done)
        give_plain(&st, status);
    wio_fortran_logical(flag, done);
    finish("WAITIO_MPI_TEST", rc, ierr);
}

/* Indices count from 1 in Fortran. */
static fint index_from_1(int index)
{
    return index == WAITIO_MPI_UNDEFINED ? index : index + 1;
}

WIO_FORTRAN(waitio_mpi_waitany_,
            (const fint *count, void *reqs, fint *index, fint *status, fint *ierr))
{
    waitio_status_t st = {0};
    int i = WAITIO_MPI_UNDEFINED, rc = wio_request_waitany(*count, reqs, &i, &st);

    give_plain(&st, status);
    *index = index_from_1(i);
    finish("WAITIO_MPI_WAITANY", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_testany_,
            (const fint *count, void *reqs, fint *index, fint *flag, fint *status, fint *ierr))
{
    waitio_status_t st = {0};
    int done = 0, i = WAITIO_MPI_UNDEFINED;
    int rc = wio_request_testany(*count, reqs, &i, &done, &st);

    if (rc != 0 || done)
        give_plain(&st, status);
    *index = index_from_1(i);
    wio_fortran_logical(flag, done);
    finish("WAITIO_MPI_TESTANY", rc, ierr);
}

static void put_statuses(const struct wio_statuses *s, int n, fint *out)
{
    out = wio_fortran_status(out);
    for (int i = 0; out != NULL && i < n; i++)
        wio_mpi_status_short(&s->st[i], out + (size_t)i * WAITIO_STATUS_SIZE);
}

WIO_FORTRAN(waitio_mpi_testall_,
            (const fint *count, void *reqs, fint *flag, fint *statuses, fint *ierr))
{
    struct wio_statuses s;
    int done = 0, rc = wio_statuses_get(&s, *count);

    if (rc == 0) {
        rc = wio_request_testall(*count, reqs, &done, s.st);
        if (rc != 0 || done)
            put_statuses(&s, *count, statuses);
        wio_statuses_put(&s);
    }
    wio_fortran_logical(flag, done);
    finish("WAITIO_MPI_TESTALL", rc, ierr);
}

static void some(const char *call, bool wait, const fint *count, void *reqs, fint *done,
                 fint *indices, fint *statuses, fint *ierr)
{
    struct wio_statuses s;
    int rc = wio_statuses_get(&s, *count);

    if (rc == 0) {
        *done = 0;
        rc = wio_request_some(wait, *count, reqs, done, indices, s.st);
        for (int i = 0; i < *done; i++)
            indices[i] = index_from_1(indices[i]);
        put_statuses(&s, *done, statuses);
        wio_statuses_put(&s);
    }
    finish(call, rc, ierr);
}

WIO_FORTRAN(waitio_mpi_waitsome_,
            (const fint *count, void *reqs, fint *done, fint *indices, fint *statuses, fint *ierr))
{
    some("WAITIO_MPI_WAITSOME", true, count, reqs, done, indices, statuses, ierr);
}

WIO_FORTRAN(waitio_mpi_testsome_,
            (const fint *count, void *reqs, fint *done, fint *indices, fint *statuses, fint *ierr))
{
    some("WAITIO_MPI_TESTSOME", false, count, reqs, done, indices, statuses, ierr);
}

WIO_FORTRAN(waitio_mpi_start_, (void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_START", WAITIO_MPI_Start(req), ierr);
}

WIO_FORTRAN(waitio_mpi_startall_, (const fint *count, void *reqs, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_STARTALL", WAITIO_MPI_Startall(*count, reqs), ierr);
}

WIO_FORTRAN(waitio_mpi_cancel_, (void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_CANCEL", WAITIO_MPI_Cancel(req), ierr);
}

WIO_FORTRAN(waitio_mpi_request_free_, (void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_REQUEST_FREE", WAITIO_MPI_Request_free(req), ierr);
}

WIO_FORTRAN(waitio_mpi_test_cancelled_, (const fint *status, fint *flag, fint *ierr))
{
    wio_fortran_logical(flag, status[2] == WAITIO_ERR_CANCELLED);
    wio_fortran_result("WAITIO_MPI_TEST_CANCELLED", 0, ierr);
}

/* Answers from the bytes of a status, which say INT_MAX when the true number did not fit. */
static void count_in(const char *call, const fint *status, fint type,
                     int64_t (*ask)(size_t, const struct wio_mpi_type *), fint *count, fint *ierr)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);

    if (t != NULL)
        *count = status[3] == INT32_MAX ? WAITIO_MPI_UNDEFINED : (fint)ask((size_t)status[3], t);
    finish(call, t == NULL ? WAITIO_ERR_ARG : 0, ierr);
}

WIO_FORTRAN(waitio_mpi_get_count_, (const fint *status, const fint *type, fint *count, fint *ierr))
{
    count_in("WAITIO_MPI_GET_COUNT", status, *type, wio_mpi_count_of, count, ierr);
}

WIO_FORTRAN(waitio_mpi_get_elements_,
            (const fint *status, const fint *type, fint *count, fint *ierr))
{
    count_in("WAITIO_MPI_GET_ELEMENTS", status, *type, wio_mpi_elements_of, count, ierr);
}

/* A short status holds no more than an int. */
WIO_FORTRAN(waitio_mpi_get_elements_x_,
            (const fint *status, const fint *type, WAITIO_MPI_Count *count, fint *ierr))
{
    fint n = 0;

    count_in("WAITIO_MPI_GET_ELEMENTS_X", status, *type, wio_mpi_elements_of, &n, ierr);
    *count = n;
}

WIO_FORTRAN(waitio_mpi_request_get_status_, (void *req, fint *flag, fint *status, fint *ierr))
{
    waitio_status_t st = {0};
    int done = 0, rc = wio_request_look(req, &done, &st);

    if (rc == 0 && done)
        give_plain(&st, status);
    wio_fortran_logical(flag, done);
    finish("WAITIO_MPI_REQUEST_GET_STATUS", rc, ierr);
}

/* ---- matched probing ---- */

WIO_FORTRAN(waitio_mpi_mprobe_, (const fint *source, const fint *tag, const void *comm,
                                 fint *message, fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};

    WIO_WITH_COMM("WAITIO_MPI_MPROBE", WAITIO_MPI_Mprobe(*source, *tag, c, message, &st));
    give(&st, status);
}

WIO_FORTRAN(waitio_mpi_improbe_, (const fint *source, const fint *tag, const void *comm, fint *flag,
                                  fint *message, fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};
    int found = 0;

    WIO_WITH_COMM("WAITIO_MPI_IMPROBE", WAITIO_MPI_Improbe(*source, *tag, c, &found, message, &st));
    wio_fortran_logical(flag, found);
    if (found)
        give(&st, status);
}

WIO_FORTRAN(waitio_mpi_mrecv_, (void *buf, const fint *count, const fint *type, fint *message,
                                fint *status, fint *ierr))
{
    WAITIO_MPI_Status st = {0};
    int rc = WAITIO_MPI_Mrecv(BUF(buf), *count, *type, message, &st);

    give(&st, status);
    wio_fortran_result("WAITIO_MPI_MRECV", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_imrecv_,
            (void *buf, const fint *count, const fint *type, fint *message, void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_IMRECV",
                       WAITIO_MPI_Imrecv(BUF(buf), *count, *type, message, req), ierr);
}
