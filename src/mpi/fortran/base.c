/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: start and end, communicators, ranks and sizes. */
#include "mpi/fortran/fortran.h"
#include "mpi/request.h"

void wio_fortran_result(const char *call, int code, fint *ierr)
{
    if (ierr != NULL)
        *ierr = code;
    else if (code < 0)
        wio_mpi_die(call, code);
}

/* Variables of waitio_mpif.h that are recognised by address; a program's common blocks of these
 * names are the same storage. */
#define MARKER(NAME, SIZE)                                                                         \
    extern __attribute__((visibility("default"))) fint NAME[SIZE];                                 \
    __attribute__((aligned(16))) fint NAME[SIZE] /* as Fortran compilers align common blocks */
MARKER(waitio_mpi_in_place_, 1);
MARKER(waitio_mpi_bottom_, 1);
MARKER(waitio_mpi_unweighted_, 1);
MARKER(waitio_mpi_weights_empty_, 1);
MARKER(waitio_mpi_status_ignore_, WAITIO_STATUS_SIZE);
MARKER(waitio_mpi_statuses_ignore_, WAITIO_STATUS_SIZE);

void *wio_fortran_buffer(const void *buf)
{
    if (buf == waitio_mpi_in_place_)
        return WAITIO_MPI_IN_PLACE;
    return buf == waitio_mpi_bottom_ ? WAITIO_MPI_BOTTOM : (void *)(uintptr_t)buf;
}

fint *wio_fortran_weights(const fint *weights)
{
    if (weights == waitio_mpi_unweighted_)
        return WAITIO_MPI_UNWEIGHTED;
    return weights == waitio_mpi_weights_empty_ ? WAITIO_MPI_WEIGHTS_EMPTY
                                                : (fint *)(uintptr_t)weights;
}

fint *wio_fortran_status(fint *status)
{
    return status == waitio_mpi_status_ignore_ || status == waitio_mpi_statuses_ignore_ ? NULL
                                                                                        : status;
}

int wio_fortran_comm(const char *call, const void *address, WAITIO_MPI_Comm *comm)
{
    int32_t handle;

    memcpy(&handle, address, sizeof handle);
    return wio_mpi_result(call, wio_mpi_handle_get(handle, comm));
}

int wio_fortran_put_comm(const char *call, WAITIO_MPI_Comm comm, void *address)
{
    int32_t handle = 0;
    int rc = wio_mpi_handle_new(comm, &handle);

    memcpy(address, &handle, sizeof handle);
    return wio_mpi_result(call, rc);
}

WIO_FORTRAN(waitio_init_, (const fint *timeout, fint *ierr))
{
    wio_fortran_result("WAITIO_INIT", waitio_init(timeout != NULL ? *timeout : 0), ierr);
}

WIO_FORTRAN(waitio_finalize_, (fint * ierr))
{
    wio_mpi_ending();
    wio_mpi_state_reset();
    wio_fortran_result("WAITIO_FINALIZE", waitio_finalize(), ierr);
}

WIO_FORTRAN_ALSO(waitio_finalize_f_, waitio_finalize_, (fint * ierr))

WIO_FORTRAN(waitio_rejoin_, (const fint *timeout, fint *ierr))
{
    wio_fortran_result("WAITIO_REJOIN", waitio_rejoin(timeout != NULL ? *timeout : 0), ierr);
}

WIO_FORTRAN_ALSO(waitio_rejoin_f_, waitio_rejoin_, (const fint *timeout, fint *ierr))

/* Marks are INTEGER*8. */
WIO_FORTRAN(waitio_resume_mark_, (int64_t * mark, fint *ierr))
{
    uint64_t number = 0;
    int rc = waitio_resume_mark(&number);

    *mark = (int64_t)number;
    wio_fortran_result("WAITIO_RESUME_MARK", rc, ierr);
}

WIO_FORTRAN(waitio_resume_from_, (const int64_t *mark, fint *ierr))
{
    wio_fortran_result("WAITIO_RESUME_FROM", waitio_resume_from((uint64_t)*mark), ierr);
}

/* ---- communicators ---- */

WIO_FORTRAN(waitio_create_universe_, (void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_universe(&c);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_UNIVERSE", c, comm);
    wio_fortran_result("WAITIO_CREATE_UNIVERSE", rc, ierr);
}

WIO_FORTRAN_ALSO(waitio_create_universe_f_, waitio_create_universe_, (void *comm, fint *ierr))

WIO_FORTRAN(waitio_create_universe_pbhead_, (void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_universe_pbhead(&c);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_UNIVERSE_PBHEAD", c, comm);
    wio_fortran_result("WAITIO_CREATE_UNIVERSE_PBHEAD", rc, ierr);
}

WIO_FORTRAN_ALSO(waitio_create_universe_pbhead_f_, waitio_create_universe_pbhead_,
                 (void *comm, fint *ierr))

WIO_FORTRAN(waitio_create_pbgroup_, (void *comm, const fint *pbid, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_pbgroup(&c, *pbid);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_PBGROUP", c, comm);
    wio_fortran_result("WAITIO_CREATE_PBGROUP", rc, ierr);
}

WIO_FORTRAN_ALSO(waitio_create_pbgroup_f_, waitio_create_pbgroup_,
                 (void *comm, const fint *pbid, fint *ierr))

WIO_FORTRAN(waitio_create_hybrid_, (void *comm, const fint *member, const fint *key, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_hybrid(&c, *member, *key);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_HYBRID", c, comm);
    wio_fortran_result("WAITIO_CREATE_HYBRID", rc, ierr);
}

/* A free of communicators and of groups, by C's call. */
static void free_handle(const char *call, int (*ends)(WAITIO_MPI_Comm *comm), void *comm,
                        fint *ierr)
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm(call, comm, &c);

    if (rc == 0)
        rc = ends(&c);
    if (rc == 0)
        memset(comm, 0, sizeof(int32_t));
    wio_fortran_result(call, rc, ierr);
}

WIO_FORTRAN(waitio_mpi_group_free_, (void *group, fint *ierr))
{
    free_handle("WAITIO_MPI_GROUP_FREE", WAITIO_MPI_Group_free, group, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_free_, (void *comm, fint *ierr))
{
    free_handle("WAITIO_MPI_COMM_FREE", WAITIO_MPI_Comm_free, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_disconnect_, (void *comm, fint *ierr))
{
    free_handle("WAITIO_MPI_COMM_DISCONNECT", WAITIO_MPI_Comm_disconnect, comm, ierr);
}

/* ---- ranks and sizes ---- */

typedef int (*query_fn)(WAITIO_MPI_Comm comm, int *value);

static void query(const char *call, query_fn ask, const void *comm, fint *value, fint *ierr)
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm(call, comm, &c);

    if (rc == 0)
        rc = ask(c, value);
    wio_fortran_result(call, rc, ierr);
}

WIO_FORTRAN(waitio_group_rank_, (const void *comm, fint *rank, fint *ierr))
{
    query("WAITIO_GROUP_RANK", waitio_group_rank, comm, rank, ierr);
}

WIO_FORTRAN_ALSO(waitio_group_rank_f_, waitio_group_rank_,
                 (const void *comm, fint *rank, fint *ierr))

WIO_FORTRAN(waitio_group_size_, (const void *comm, fint *size, fint *ierr))
{
    query("WAITIO_GROUP_SIZE", waitio_group_size, comm, size, ierr);
}

WIO_FORTRAN_ALSO(waitio_group_size_f_, waitio_group_size_,
                 (const void *comm, fint *size, fint *ierr))

WIO_FORTRAN(waitio_mpi_comm_rank_, (const void *comm, fint *rank, fint *ierr))
{
    query("WAITIO_MPI_COMM_RANK", waitio_mpi_comm_rank, comm, rank, ierr);
}

WIO_FORTRAN_ALSO(waitio_mpi_comm_rank_f_, waitio_mpi_comm_rank_,
                 (const void *comm, fint *rank, fint *ierr))

WIO_FORTRAN(waitio_mpi_comm_size_, (const void *comm, fint *size, fint *ierr))
{
    query("WAITIO_MPI_COMM_SIZE", waitio_mpi_comm_size, comm, size, ierr);
}

WIO_FORTRAN_ALSO(waitio_mpi_comm_size_f_, waitio_mpi_comm_size_,
                 (const void *comm, fint *size, fint *ierr))

WIO_FORTRAN(waitio_pb_rank_, (fint * pbid, fint *ierr))
{
    wio_fortran_result("WAITIO_PB_RANK", waitio_pb_rank(pbid), ierr);
}

WIO_FORTRAN_ALSO(waitio_pb_rank_f_, waitio_pb_rank_, (fint * pbid, fint *ierr))

WIO_FORTRAN(waitio_set_errors_, (const fint *mode, fint *ierr))
{
    wio_fortran_result("WAITIO_SET_ERRORS", waitio_set_errors(*mode), ierr);
}

WIO_FORTRAN_ALSO(waitio_set_errors_f_, waitio_set_errors_, (const fint *mode, fint *ierr))

WIO_FORTRAN(waitio_pb_size_, (fint * npb, fint *ierr))
{
    wio_fortran_result("WAITIO_PB_SIZE", waitio_pb_size(npb), ierr);
}

WIO_FORTRAN_ALSO(waitio_pb_size_f_, waitio_pb_size_, (fint * npb, fint *ierr))

WIO_FORTRAN(waitio_get_nprocs_, (fint * nprocs, fint *ierr))
{
    wio_fortran_result("WAITIO_GET_NPROCS", (waitio_get_nprocs)(nprocs), ierr);
}

WIO_FORTRAN(waitio_mpi_type_size_, (const fint *type, fint *size, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_TYPE_SIZE", waitio_mpi_type_size(*type, size), ierr);
}

WIO_FORTRAN_ALSO(waitio_mpi_type_size_f_, waitio_mpi_type_size_,
                 (const fint *type, fint *size, fint *ierr))

/* ---- MPI's start and end under their converted names ---- */

WIO_FORTRAN(waitio_mpi_init_, (fint * ierr))
{
    wio_fortran_result("WAITIO_MPI_INIT", WAITIO_MPI_Init(NULL, NULL), ierr);
}

WIO_FORTRAN(waitio_mpi_init_thread_, (const fint *required, fint *provided, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_INIT_THREAD",
                       WAITIO_MPI_Init_thread(NULL, NULL, *required, provided), ierr);
}

WIO_FORTRAN(waitio_mpi_initialized_, (fint * flag, fint *ierr))
{
    int value = 0, rc = WAITIO_MPI_Initialized(&value);

    wio_fortran_logical(flag, value);
    wio_fortran_result("WAITIO_MPI_INITIALIZED", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_finalized_, (fint * flag, fint *ierr))
{
    int value = 0, rc = WAITIO_MPI_Finalized(&value);

    wio_fortran_logical(flag, value);
    wio_fortran_result("WAITIO_MPI_FINALIZED", rc, ierr);
}

/* Of the communicator nothing is read. */
WIO_FORTRAN(waitio_mpi_comm_set_errhandler_, (const void *comm, const fint *handler, fint *ierr))
{
    (void)comm;
    wio_fortran_result("WAITIO_MPI_COMM_SET_ERRHANDLER",
                       WAITIO_MPI_Comm_set_errhandler(NULL, *handler), ierr);
}
WIO_FORTRAN_ALSO(waitio_mpi_errhandler_set_, waitio_mpi_comm_set_errhandler_,
                 (const void *comm, const fint *handler, fint *ierr))

WIO_FORTRAN(waitio_mpi_comm_get_errhandler_, (const void *comm, fint *handler, fint *ierr))
{
    (void)comm;
    wio_fortran_result("WAITIO_MPI_COMM_GET_ERRHANDLER",
                       WAITIO_MPI_Comm_get_errhandler(NULL, handler), ierr);
}

WIO_FORTRAN(waitio_mpi_add_error_class_, (fint * class_, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_ADD_ERROR_CLASS", WAITIO_MPI_Add_error_class(class_), ierr);
}

WIO_FORTRAN(waitio_mpi_add_error_code_, (const fint *class_, fint *code, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_ADD_ERROR_CODE", WAITIO_MPI_Add_error_code(*class_, code), ierr);
}

WIO_FORTRAN(waitio_mpi_error_class_, (const fint *code, fint *class_, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_ERROR_CLASS", WAITIO_MPI_Error_class(*code, class_), ierr);
}

WIO_FORTRAN(waitio_mpi_query_thread_, (fint * provided, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_QUERY_THREAD", WAITIO_MPI_Query_thread(provided), ierr);
}

WIO_FORTRAN(waitio_mpi_get_version_, (fint * version, fint *subversion, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_GET_VERSION", WAITIO_MPI_Get_version(version, subversion), ierr);
}

WIO_FORTRAN(waitio_mpi_is_thread_main_, (fint * flag, fint *ierr))
{
    int value = 0, rc = WAITIO_MPI_Is_thread_main(&value);

    wio_fortran_logical(flag, value);
    wio_fortran_result("WAITIO_MPI_IS_THREAD_MAIN", rc, ierr);
}

typedef void error_procedure(int32_t *comm, int32_t *code);

WIO_FORTRAN(waitio_mpi_comm_create_errhandler_,
            (error_procedure * procedure, fint *handler, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_COMM_CREATE_ERRHANDLER",
                       wio_mpi_result("WAITIO_MPI_COMM_CREATE_ERRHANDLER",
                                      wio_errhandler_new(NULL, procedure, handler)),
                       ierr);
}
WIO_FORTRAN_ALSO(waitio_mpi_errhandler_create_, waitio_mpi_comm_create_errhandler_,
                 (error_procedure * procedure, fint *handler, fint *ierr))
WIO_FORTRAN_ALSO(waitio_mpi_errhandler_get_, waitio_mpi_comm_get_errhandler_,
                 (const void *comm, fint *handler, fint *ierr))

WIO_FORTRAN(waitio_mpi_errhandler_free_, (fint * handler, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_ERRHANDLER_FREE", WAITIO_MPI_Errhandler_free(handler), ierr);
}

WIO_FORTRAN(waitio_mpi_comm_call_errhandler_, (const void *comm, const fint *code, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_CALL_ERRHANDLER", WAITIO_MPI_Comm_call_errhandler(c, *code));
}

/* Fortran has the address as an integer, or as a type(c_ptr). */
WIO_FORTRAN(waitio_mpi_alloc_mem_,
            (const WAITIO_MPI_Aint *size, const fint *info, void *base, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_ALLOC_MEM", WAITIO_MPI_Alloc_mem(*size, *info, base), ierr);
}

WIO_FORTRAN(waitio_mpi_free_mem_, (void *base, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_FREE_MEM", WAITIO_MPI_Free_mem(base), ierr);
}

WIO_FORTRAN(waitio_mpi_pcontrol_, (const fint *level))
{
    (void)level;
}

/* The compiler must assume that this call reads and changes the buffer. */
WIO_FORTRAN(waitio_mpi_f_sync_reg_, (void *buf))
{
    (void)buf;
}

/* The length of a character argument comes last, hidden. */
WIO_FORTRAN(waitio_mpi_get_processor_name_, (char *name, fint *length, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_PROCESSOR_NAME] = "";
    int rc = WAITIO_MPI_Get_processor_name(text, length);

    wio_fortran_put_text(name, room, text);
    wio_fortran_result("WAITIO_MPI_GET_PROCESSOR_NAME", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_error_string_,
            (const fint *code, char *out, fint *length, fint *ierr, size_t room))
{
    char text[WAITIO_MPI_MAX_ERROR_STRING] = "";
    int rc = WAITIO_MPI_Error_string(*code, text, length);

    wio_fortran_put_text(out, room, text);
    wio_fortran_result("WAITIO_MPI_ERROR_STRING", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_finalize_, (fint * ierr))
{
    wio_fortran_result("WAITIO_MPI_FINALIZE", WAITIO_MPI_Finalize(), ierr);
}

WIO_FORTRAN(waitio_mpi_abort_, (const void *comm, const fint *code, fint *ierr))
{
    (void)comm;
    (void)ierr;
    WAITIO_MPI_Abort(NULL, *code);
}

__attribute__((visibility("default"))) double waitio_mpi_wtime_(void);
double waitio_mpi_wtime_(void)
{
    return WAITIO_MPI_Wtime();
}

__attribute__((visibility("default"))) double waitio_mpi_wtick_(void);
double waitio_mpi_wtick_(void)
{
    return WAITIO_MPI_Wtick();
}
