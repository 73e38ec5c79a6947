/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of ours as errors of the vendor's MPI, and through its error handlers. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "span/call.h"

/* One code of MPI for each of ours, made when it first happens. Its text is that of the last error
 * of the kind. To the vendor it is a class of the program's own, because not every MPI takes a new
 * code of a predefined class; programs are told the predefined one. */
enum { CODES = 64 };
static struct {
    int code, class_, mpi;
} made[CODES];
static int nmade;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int class_of(int code)
{
    static const struct {
        int ours, mpi;
    } table[] = {
        {WAITIO_MPI_ERR_ARG, MPI_ERR_ARG},
        {WAITIO_MPI_ERR_TAG, MPI_ERR_TAG},
        {WAITIO_MPI_ERR_COMM, MPI_ERR_COMM},
        {WAITIO_MPI_ERR_RANK, MPI_ERR_RANK},
        {WAITIO_MPI_ERR_REQUEST, MPI_ERR_REQUEST},
        {WAITIO_MPI_ERR_TRUNCATE, MPI_ERR_TRUNCATE},
        {WAITIO_MPI_ERR_NO_MEM, MPI_ERR_NO_MEM},
        {WAITIO_MPI_ERR_BUFFER, MPI_ERR_BUFFER},
        {WAITIO_MPI_ERR_COUNT, MPI_ERR_COUNT},
        {WAITIO_MPI_ERR_TYPE, MPI_ERR_TYPE},
        {WAITIO_MPI_ERR_OP, MPI_ERR_OP},
        {WAITIO_MPI_ERR_ROOT, MPI_ERR_ROOT},
        {WAITIO_MPI_ERR_GROUP, MPI_ERR_GROUP},
        {WAITIO_MPI_ERR_KEYVAL, MPI_ERR_KEYVAL},
        {WAITIO_MPI_ERR_TOPOLOGY, MPI_ERR_TOPOLOGY},
        {WAITIO_MPI_ERR_DIMS, MPI_ERR_DIMS},
        {WAITIO_MPI_ERR_PENDING, MPI_ERR_PENDING},
        {WAITIO_MPI_ERR_IN_STATUS, MPI_ERR_IN_STATUS},
        {WAITIO_MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_UNSUPPORTED_OPERATION},
        {WAITIO_MPI_ERR_CONVERSION, MPI_ERR_CONVERSION},
        {WAITIO_MPI_ERR_INTERN, MPI_ERR_INTERN},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].ours == code)
            return table[i].mpi;
    return MPI_ERR_OTHER;
}

/* MPI's code for one of ours, with this text. */
static int mpi_code(int code, int class_, const char *text)
{
    int i = 0, mpi;

    pthread_mutex_lock(&mutex);
    while (i < nmade && (made[i].code != code || made[i].class_ != class_))
        i++;
    if (i == nmade && nmade < CODES && PMPI_Add_error_class(&made[i].mpi) == MPI_SUCCESS) {
        made[i].code = code;
        made[i].class_ = class_;
        nmade++;
    }
    mpi = i < nmade ? made[i].mpi : class_;
    if (i < nmade)
        (void)PMPI_Add_error_string(mpi, text);
    pthread_mutex_unlock(&mutex);
    return mpi;
}

int PMPI_Error_class(int errorcode, int *errorclass)
{
    int i = 0;

    pthread_mutex_lock(&mutex);
    while (i < nmade && made[i].mpi != errorcode)
        i++;
    if (i < nmade)
        *errorclass = made[i].class_;
    pthread_mutex_unlock(&mutex);
    return i < nmade ? MPI_SUCCESS : span_vendor.Error_class(errorcode, errorclass);
}
SPAN_NAME(Error_class)

static void describe(char *text, size_t room, const char *name, int code)
{
    const char *why = waitio_last_error();

    (void)snprintf(text, room, "%s: %s", name, *why != '\0' ? why : waitio_strerror(code));
}

/* Would the handler end the job? Then all jobs end, and the text is ours. */
static bool is_fatal(MPI_Comm comm)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    bool fatal;

    if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return true;
    fatal = handler == MPI_ERRORS_ARE_FATAL;
    (void)PMPI_Errhandler_free(&handler);
    return fatal;
}

static int raise_error(MPI_Comm where, int code, int class_, const char *text)
{
    MPI_Comm comm = where == MPI_COMM_NULL ? MPI_COMM_WORLD : where;
    int mpi = mpi_code(code, class_, text);

    if (is_fatal(comm)) {
        (void)fprintf(stderr, "waitio span: %s\n", text);
        span_end_all(1);
    }
    (void)PMPI_Comm_call_errhandler(comm, mpi);
    return mpi;
}

#if MPI_VERSION >= 4
int span_fail_session(MPI_Session session, int code, const char *text)
{
    int mpi = mpi_code(code, class_of(code), text);

    (void)PMPI_Session_call_errhandler(session, mpi);
    return mpi;
}
#endif

int span_fail(MPI_Comm where, const char *name, int code)
{
    char text[MPI_MAX_ERROR_STRING];

    if (code > 0) /* of the vendor, which has called the handler */
        return code;
    describe(text, sizeof text, name, code);
    return raise_error(where, code, class_of(code), text);
}

int span_fail_why(MPI_Comm where, const char *name, int code, const char *why)
{
    char text[MPI_MAX_ERROR_STRING];

    (void)snprintf(text, sizeof text, "%s: %s", name, why);
    return raise_error(where, code, class_of(code), text);
}

int span_mpi_code(const char *name, int code)
{
    char text[MPI_MAX_ERROR_STRING];

    if (code >= 0)
        return code;
    if (code == WAITIO_MPI_ERR_PENDING)
        return MPI_ERR_PENDING;
    describe(text, sizeof text, name, code);
    return mpi_code(code, class_of(code), text);
}

int span_refuse(MPI_Comm where, const char *name, const char *argument, const char *remedy)
{
    char why[MPI_MAX_ERROR_STRING];

    (void)snprintf(why, sizeof why,
                   "%s spans several jobs, and this call works inside one only: %s", argument,
                   remedy);
    return span_fail_why(where, name, WAITIO_MPI_ERR_UNSUPPORTED_OPERATION, why);
}
