/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes and codes of errors: the library's, and those that programs add. The latter have numbers
 * above WAITIO_MPI_ERR_LASTCODE, in the order of the calls; none is freed.
 */
#include <pthread.h>

#include "mpi/mpi.h"
#include "os/os.h"

/* What a program has added. */
struct added {
    int class_;
    char text[WAITIO_MPI_MAX_ERROR_STRING];
};

static struct {
    pthread_mutex_t lock;
    struct added **entry; /* by number - LASTCODE - 1 */
    int n;
} more = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Classes that waitio.h does not have. */
static const struct {
    int number;
    const char *text;
} classes[] = {
    {WAITIO_MPI_ERR_BUFFER, "invalid buffer pointer"},
    {WAITIO_MPI_ERR_COUNT, "invalid count"},
    {WAITIO_MPI_ERR_TYPE, "invalid datatype"},
    {WAITIO_MPI_ERR_OP, "invalid operator"},
    {WAITIO_MPI_ERR_ROOT, "invalid root"},
    {WAITIO_MPI_ERR_GROUP, "invalid group"},
    {WAITIO_MPI_ERR_KEYVAL, "invalid attribute key"},
    {WAITIO_MPI_ERR_TOPOLOGY, "invalid topology"},
    {WAITIO_MPI_ERR_DIMS, "invalid dimensions"},
    {WAITIO_MPI_ERR_UNKNOWN, "unknown error"},
    {WAITIO_MPI_ERR_PENDING, "the request is not complete yet"},
    {WAITIO_MPI_ERR_IN_STATUS, "see the error fields of the statuses"},
    {WAITIO_MPI_ERR_ACCESS, "permission denied"},
    {WAITIO_MPI_ERR_AMODE, "invalid mode of access"},
    {WAITIO_MPI_ERR_ASSERT, "invalid assertion"},
    {WAITIO_MPI_ERR_BAD_FILE, "invalid file name"},
    {WAITIO_MPI_ERR_BASE, "invalid base address"},
    {WAITIO_MPI_ERR_CONVERSION, "data could not be converted"},
    {WAITIO_MPI_ERR_DISP, "invalid displacement"},
    {WAITIO_MPI_ERR_DUP_DATAREP, "the data representation is defined already"},
    {WAITIO_MPI_ERR_FILE, "invalid file handle"},
    {WAITIO_MPI_ERR_FILE_EXISTS, "the file exists"},
    {WAITIO_MPI_ERR_FILE_IN_USE, "the file is in use"},
    {WAITIO_MPI_ERR_INFO, "invalid info"},
    {WAITIO_MPI_ERR_INFO_KEY, "info key too long"},
    {WAITIO_MPI_ERR_INFO_NOKEY, "no such info key"},
    {WAITIO_MPI_ERR_INFO_VALUE, "info value too long"},
    {WAITIO_MPI_ERR_IO, "input or output failed"},
    {WAITIO_MPI_ERR_LOCKTYPE, "invalid kind of lock"},
    {WAITIO_MPI_ERR_NAME, "the service name is not published"},
    {WAITIO_MPI_ERR_NOT_SAME, "arguments differ between processes"},
    {WAITIO_MPI_ERR_NO_SPACE, "no space left"},
    {WAITIO_MPI_ERR_NO_SUCH_FILE, "no such file"},
    {WAITIO_MPI_ERR_PORT, "invalid port name"},
    {WAITIO_MPI_ERR_QUOTA, "quota exceeded"},
    {WAITIO_MPI_ERR_READ_ONLY, "read-only file or file system"},
    {WAITIO_MPI_ERR_RMA_ATTACH, "memory cannot be attached"},
    {WAITIO_MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {WAITIO_MPI_ERR_RMA_FLAVOR, "wrong kind of window"},
    {WAITIO_MPI_ERR_RMA_RANGE, "target memory is not in the window"},
    {WAITIO_MPI_ERR_RMA_SHARED, "memory cannot be shared"},
    {WAITIO_MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"},
    {WAITIO_MPI_ERR_SERVICE, "invalid service name"},
    {WAITIO_MPI_ERR_SESSION, "invalid session"},
    {WAITIO_MPI_ERR_SIZE, "invalid size"},
    {WAITIO_MPI_ERR_SPAWN, "processes could not be started"},
    {WAITIO_MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"},
    {WAITIO_MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"},
    {WAITIO_MPI_ERR_VALUE_TOO_LARGE, "the value is too large for its type"},
    {WAITIO_MPI_ERR_WIN, "invalid window"},
};

int wio_mpi_last_used_code(void)
{
    int last;

    pthread_mutex_lock(&more.lock);
    last = WAITIO_MPI_ERR_LASTCODE + more.n;
    pthread_mutex_unlock(&more.lock);
    return last;
}

/* The entry of an added number, or NULL. The lock is held. */
static struct added *entry_of(int code)
{
    int64_t i = (int64_t)code - WAITIO_MPI_ERR_LASTCODE - 1;

    return i >= 0 && i < more.n ? more.entry[i] : NULL;
}

static bool is_class(int code)
{
    const struct added *a = entry_of(code);

    return a != NULL ? a->class_ == code : code <= 0 && code >= WAITIO_MPI_ERR_WIN;
}

/* @param class_ of the new code, or NULL: it is a class */
static int add(const int *class_, int *number)
{
    struct added **entry, *a = NULL;
    int rc = 0;

    pthread_mutex_lock(&more.lock);
    if (class_ != NULL && !is_class(*class_))
        rc = wio_fail(WAITIO_ERR_ARG, "%d is not a class of errors", *class_);
    if (rc == 0) {
        entry = wio_os_realloc(more.entry, ((size_t)more.n + 1) * sizeof *entry);
        a = entry == NULL ? NULL : wio_os_alloc(sizeof *a);
        more.entry = entry != NULL ? entry : more.entry;
        if (a == NULL)
            rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for an error code");
    }
    if (rc == 0) {
        *number = WAITIO_MPI_ERR_LASTCODE + 1 + more.n;
        a->class_ = class_ != NULL ? *class_ : *number;
        a->text[0] = '\0'; /* MPI's text until the program sets another */
        more.entry[more.n++] = a;
    }
    pthread_mutex_unlock(&more.lock);
    return rc;
}

int WAITIO_MPI_Add_error_class(int *class_)
{
    int rc = wio_mpi_need("class", class_);

    return wio_mpi_result("WAITIO_MPI_Add_error_class", rc != 0 ? rc : add(NULL, class_));
}

int WAITIO_MPI_Add_error_code(int class_, int *code)
{
    int rc = wio_mpi_need("code", code);

    return wio_mpi_result("WAITIO_MPI_Add_error_code", rc != 0 ? rc : add(&class_, code));
}

int WAITIO_MPI_Add_error_string(int code, const char *string)
{
    int rc = wio_mpi_need("text", string);

    if (rc == 0) {
        struct added *a;
        pthread_mutex_lock(&more.lock);
        a = entry_of(code);
        if (a != NULL)
            wio_text(a->text, sizeof a->text, "%s", string);
        else
            rc = wio_fail(WAITIO_ERR_ARG, "%d is no error class or code of this program", code);
        pthread_mutex_unlock(&more.lock);
    }
    return wio_mpi_result("WAITIO_MPI_Add_error_string", rc);
}

int WAITIO_MPI_Error_class(int code, int *class_)
{
    int rc = wio_mpi_need("class", class_);

    if (rc == 0) {
        const struct added *a;
        pthread_mutex_lock(&more.lock);
        a = entry_of(code);
        *class_ = a != NULL ? a->class_ : code;
        pthread_mutex_unlock(&more.lock);
    }
    return wio_mpi_result("WAITIO_MPI_Error_class", rc);
}

static const char *text_of(int code)
{
    for (size_t i = 0; i < WIO_ARRAY_LEN(classes); i++)
        if (classes[i].number == code)
            return classes[i].text;
    return waitio_strerror(code);
}

int WAITIO_MPI_Error_string(int code, char *text, int *length)
{
    int rc = wio_mpi_need_both("text", text, "length", length);

    if (rc == 0) {
        const struct added *a;
        pthread_mutex_lock(&more.lock);
        a = entry_of(code);
        *length = (int)wio_text(text, WAITIO_MPI_MAX_ERROR_STRING, "%s",
                                a != NULL ? a->text : text_of(code));
        pthread_mutex_unlock(&more.lock);
    }
    return wio_mpi_result("WAITIO_MPI_Error_string", rc);
}
