/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a conversion call fails: as in MPI the program ends, unless errors shall be
 * returned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/state.h"
#include "mpi/mpi.h"
#include "mpi/names.h"
#include "mpi/request.h"
#include "os/os.h"

/* Read when an error has happened, not for each message. The variable itself is checked
 * with all others by the configuration table when the universe is joined. */
static bool environment_returns(void)
{
    const char *text = wio_os_getenv("WAITIO_ERRORS");

    return text != NULL && strcmp(text, "return") == 0;
}

/* A function of the program that is called on errors. */
struct handler {
    WAITIO_MPI_Comm_errhandler_function *c;
    void (*fortran)(int32_t *comm, int32_t *code);
    int number;
};

static struct wio_names names = WIO_NAMES_INIT;
static int chosen;               /* by the program: a constant, or 0 */
static struct handler *function; /* the program's, which goes before the constant */

bool wio_mpi_errors_return(void)
{
    int handler = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

    if (handler != WAITIO_MPI_ERRHANDLER_NULL)
        return handler == WAITIO_MPI_ERRORS_RETURN;
    return environment_returns();
}

bool wio_mpi_errors_end(void)
{
    return __atomic_load_n(&function, __ATOMIC_ACQUIRE) == NULL && !wio_mpi_errors_return();
}

int WAITIO_MPI_Comm_set_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler)
{
    struct handler *h = wio_names_find(&names, handler);

    (void)comm;
    if (h == NULL && handler != WAITIO_MPI_ERRORS_RETURN && handler != WAITIO_MPI_ERRORS_ARE_FATAL)
        return wio_mpi_result("WAITIO_MPI_Comm_set_errhandler",
                              wio_fail(WAITIO_ERR_ARG,
                                       "error handler %d is neither WAITIO_MPI_ERRORS_RETURN nor "
                                       "WAITIO_MPI_ERRORS_ARE_FATAL, nor was it made here",
                                       handler));
    __atomic_store_n(&function, h, __ATOMIC_RELEASE);
    __atomic_store_n(&chosen, h != NULL ? WAITIO_MPI_ERRORS_RETURN : handler, __ATOMIC_RELAXED);
    /* The calls use the basic interface, which must not end the program where this layer returns
     * errors. */
    return waitio_set_errors(h != NULL || handler == WAITIO_MPI_ERRORS_RETURN
                                 ? WAITIO_ERRORS_RETURN
                                 : WAITIO_ERRORS_DEFAULT);
}

int wio_errhandler_new(WAITIO_MPI_Comm_errhandler_function *c,
                       void (*fortran)(int32_t *comm, int32_t *code), int *handler)
{
    struct handler *h = wio_os_alloc(sizeof *h);
    int rc = h == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for an error handler")
                       : wio_names_add(&names, h, "error handler", &h->number);

    if (rc != 0) {
        wio_os_free(h);
        return rc;
    }
    h->c = c;
    h->fortran = fortran;
    *handler = h->number;
    return 0;
}

int WAITIO_MPI_Comm_create_errhandler(WAITIO_MPI_Comm_errhandler_function *error_function,
                                      WAITIO_MPI_Errhandler *handler)
{
    return wio_mpi_result("WAITIO_MPI_Comm_create_errhandler",
                          wio_errhandler_new(error_function, NULL, handler));
}

int WAITIO_MPI_Errhandler_create(WAITIO_MPI_Comm_errhandler_function *error_function,
                                 WAITIO_MPI_Errhandler *handler)
{
    return WAITIO_MPI_Comm_create_errhandler(error_function, handler);
}

/* The handler stays set where it was set, so its memory (a few bytes) is not freed. */
int WAITIO_MPI_Errhandler_free(WAITIO_MPI_Errhandler *handler)
{
    struct handler *h = wio_names_drop(&names, *handler);

    if (h != NULL && h != __atomic_load_n(&function, __ATOMIC_ACQUIRE))
        wio_os_free(h);
    *handler = WAITIO_MPI_ERRHANDLER_NULL;
    return 0;
}

/* Call the program's handler. It may end the program, or return. */
static void call_function(const struct handler *h, WAITIO_MPI_Comm comm, int code)
{
    int32_t world = WAITIO_MPI_DEFTAG + 1; /* WAITIO_MPI_COMM_WORLD of Fortran */
    WAITIO_MPI_Comm c = comm;
    int32_t number = code;

    if (h->c != NULL)
        h->c(&c, &code);
    else
        h->fortran(&world, &number);
}

int WAITIO_MPI_Comm_call_errhandler(WAITIO_MPI_Comm comm, int code)
{
    const struct handler *h = __atomic_load_n(&function, __ATOMIC_ACQUIRE);

    if (h != NULL)
        call_function(h, comm, code);
    else if (!wio_mpi_errors_return())
        wio_mpi_die("WAITIO_MPI_Comm_call_errhandler", code);
    return 0;
}

int WAITIO_MPI_Errhandler_set(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler)
{
    return WAITIO_MPI_Comm_set_errhandler(comm, handler);
}

int WAITIO_MPI_Comm_get_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler *handler)
{
    int rc = wio_mpi_need("handler", handler);

    (void)comm;
    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Comm_get_errhandler", rc);
    if (__atomic_load_n(&function, __ATOMIC_ACQUIRE) != NULL)
        *handler = __atomic_load_n(&function, __ATOMIC_ACQUIRE)->number;
    else
        *handler = wio_mpi_errors_return() ? WAITIO_MPI_ERRORS_RETURN : WAITIO_MPI_ERRORS_ARE_FATAL;
    return 0;
}

int WAITIO_MPI_Errhandler_get(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler *handler)
{
    return WAITIO_MPI_Comm_get_errhandler(comm, handler);
}

/* "PB 1 rank 3: " if the universe is joined already; this must not join it. */
static void who_am_i(char *text, size_t n)
{
    int flag = 0, pbid, rank;
    waitio_group_t group = NULL;

    text[0] = '\0';
    if (waitio_initialized(&flag) != 0 || !flag || waitio_pb_rank(&pbid) != 0) {
        return;
    }
    if (waitio_group_pb(0, pbid, &group) == 0) {
        if (waitio_group_rank(group, &rank) == 0) {
            wio_text(text, n, "PB %d rank %d: ", pbid, rank);
        }
        waitio_group_free(&group);
    }
}

void wio_mpi_die(const char *call, int code)
{
    char why[1024], who[64];
    const char *detail = waitio_last_error();

    /* Copied first: asking for the own rank may overwrite the thread's text. */
    wio_text(why, sizeof why, "%s",
             detail != NULL && detail[0] != '\0' ? detail : waitio_strerror(code));
    who_am_i(who, sizeof who);
    fprintf(stderr,
            "waitio: %s%s failed (%d): %s\nwaitio: %sending the program, as MPI does; "
            "WAITIO_ERRORS=return makes calls return their code\n",
            who, call, code, why, who);
    fflush(NULL);
    waitio_abort(1);
    abort(); /* not reached: waitio_abort does not return */
}

int wio_mpi_result(const char *call, int code)
{
    const struct handler *h;

    if (WIO_LIKELY(code == 0)) { /* positive ones are those that the program has added */
        if (WIO_UNLIKELY(__atomic_load_n(&wio_freed_receives, __ATOMIC_ACQUIRE) > 0))
            wio_request_deliver();
        return code;
    }
    h = __atomic_load_n(&function, __ATOMIC_ACQUIRE);
    if (h != NULL)
        call_function(h, wio_mpi_state.constant[WIO_WORLD], code);
    else if (!wio_mpi_errors_return())
        wio_mpi_die(call, code);
    return code;
}

int wio_mpi_need(const char *what, const void *argument)
{
    return argument != NULL ? 0 : wio_fail(WAITIO_ERR_ARG, "the %s argument is NULL", what);
}

int wio_mpi_need_both(const char *what, const void *argument, const char *also, const void *other)
{
    int rc = wio_mpi_need(what, argument);

    return rc != 0 ? rc : wio_mpi_need(also, other);
}

int wio_mpi_need_status(const WAITIO_MPI_Status *status)
{
    return status != WAITIO_MPI_STATUS_IGNORE
               ? 0
               : wio_fail(WAITIO_ERR_ARG,
                          "the status is WAITIO_MPI_STATUS_IGNORE: give the receive "
                          "one that can be asked");
}
