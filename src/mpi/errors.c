/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a conversion call fails: as in MPI the program ends, unless told otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi.h"
#include "os/os.h"

/* Read when an error has happened, never on the way of a message. The variable itself is checked
 * with all others by the configuration table when the universe is joined. */
static bool environment_returns(void)
{
    const char *text = wio_os_getenv("WAITIO_ERRORS");

    return text != NULL && strcmp(text, "return") == 0;
}

static int chosen; /* by the program: an error handler, or 0 */

bool wio_mpi_errors_return(void)
{
    int handler = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

    if (handler != WAITIO_MPI_ERRHANDLER_NULL)
        return handler == WAITIO_MPI_ERRORS_RETURN;
    return environment_returns();
}

int WAITIO_MPI_Comm_set_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler)
{
    (void)comm;
    if (handler != WAITIO_MPI_ERRORS_RETURN && handler != WAITIO_MPI_ERRORS_ARE_FATAL)
        return wio_mpi_result("WAITIO_MPI_Comm_set_errhandler",
                              wio_fail(WAITIO_ERR_ARG,
                                       "error handler %d is neither WAITIO_MPI_ERRORS_RETURN nor "
                                       "WAITIO_MPI_ERRORS_ARE_FATAL; others cannot be made",
                                       handler));
    __atomic_store_n(&chosen, handler, __ATOMIC_RELAXED);
    return 0;
}

int WAITIO_MPI_Errhandler_set(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler handler)
{
    return WAITIO_MPI_Comm_set_errhandler(comm, handler);
}

int WAITIO_MPI_Comm_get_errhandler(WAITIO_MPI_Comm comm, WAITIO_MPI_Errhandler *handler)
{
    (void)comm;
    *handler = wio_mpi_errors_return() ? WAITIO_MPI_ERRORS_RETURN : WAITIO_MPI_ERRORS_ARE_FATAL;
    return 0;
}

/* "PB 1 rank 3: " when we know who we are; asking must not join the universe. */
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

    /* Copied first: finding out who we are may overwrite the thread's text. */
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
    if (WIO_UNLIKELY(code < 0) && !wio_mpi_errors_return()) {
        wio_mpi_die(call, code);
    }
    return code;
}
