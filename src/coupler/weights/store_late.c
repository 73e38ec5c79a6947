/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in the coupler's library: netCDF-C and all it needs are loaded when the first file is
 * opened, by libwaitio_netcdf, which holds store.c. So programs that use no file start as quickly,
 * and run as well, without netCDF.
 */
#include <stdio.h>
#include <string.h>

#include "coupler/weights/grid.h"
#include "coupler/weights/store.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { FOLDER = 4096 };

/* Functions of store.h that need an open file: what each returns, its name, parameters, arguments.
 */
#define STORE_CALLS(CALL)                                                                          \
    CALL(int, close, (struct wio_store * s, struct wio_weights_error * why), (s, why))             \
    CALL(bool, dim, (struct wio_store * s, const char *name, size_t *length), (s, name, length))   \
    CALL(bool, has, (struct wio_store * s, const char *variable), (s, variable))                   \
    CALL(size_t, extent, (struct wio_store * s, const char *variable, int d), (s, variable, d))    \
    CALL(int, rank, (struct wio_store * s, const char *variable), (s, variable))                   \
    CALL(bool, text,                                                                               \
         (struct wio_store * s, const char *variable, const char *name, char *text, size_t room),  \
         (s, variable, name, text, room))                                                          \
    CALL(bool, number,                                                                             \
         (struct wio_store * s, const char *variable, const char *name, double *value),            \
         (s, variable, name, value))                                                               \
    CALL(int, get,                                                                                 \
         (struct wio_store * s, const char *variable, enum wio_store_type type, size_t first,      \
          size_t count, void *to, struct wio_weights_error *why),                                  \
         (s, variable, type, first, count, to, why))                                               \
    CALL(int, get_rows,                                                                            \
         (struct wio_store * s, const char *variable, enum wio_store_type type, size_t first,      \
          size_t rows, size_t width, void *to, struct wio_weights_error *why),                     \
         (s, variable, type, first, rows, width, to, why))                                         \
    CALL(int, add_dim, (struct wio_store * s, const char *name, size_t length), (s, name, length))

#define STORE_WRITES(CALL)                                                                         \
    CALL(void, add_variable,                                                                       \
         (struct wio_store * s, const char *name, enum wio_store_type type, int rank,              \
          const int *dims, const char *units),                                                     \
         (s, name, type, rank, dims, units))                                                       \
    CALL(void, add_text,                                                                           \
         (struct wio_store * s, const char *variable, const char *name, const char *text),         \
         (s, variable, name, text))                                                                \
    CALL(void, add_number,                                                                         \
         (struct wio_store * s, const char *variable, const char *name, double value),             \
         (s, variable, name, value))                                                               \
    CALL(void, begin, (struct wio_store * s), (s))                                                 \
    CALL(void, put,                                                                                \
         (struct wio_store * s, const char *variable, enum wio_store_type type, const void *from), \
         (s, variable, type, from))

#define MEMBER(type, name, parameters, arguments) type(*name) parameters;
static struct {
    int (*open)(const char *path, struct wio_store **store, struct wio_weights_error *why);
    int (*create)(const char *path, bool large, struct wio_store **store,
                  struct wio_weights_error *why);
    STORE_CALLS(MEMBER)
    STORE_WRITES(MEMBER)
} late;

/* A function's address is a datum here: POSIX says that it fits. */
static bool find(void *lib, const char *name, void *to)
{
    void *symbol = wio_os_library_symbol(lib, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

#define INSTALLED "/../" WIO_LIBDIR
#define FIND(type, name, parameters, arguments) &&find(lib, "wio_store_" #name, &late.name)

/** Finds the library: beside the one with this code, or, of a program, in the folder of libraries.
 * @return false: it is in none of them */
static bool locate(char *file, size_t room)
{
    static const char *const folders[] = {"", INSTALLED, "/../lib"};
    char own[FOLDER];
    struct wio_os_stat there;
    if (wio_os_library_folder(&late, own, sizeof own) != 0)
        return false;
    for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++) {
        snprintf(file, room, "%s%s/libwaitio_netcdf.so", own, folders[k]);
        if (wio_os_stat(file, &there) == 0)
            return true;
    }
    return false;
}

/** One thread at a time. */
static int load(const char *path, struct wio_weights_error *why)
{
    char file[FOLDER + 100], reason[300] = "";
    if (late.open != NULL)
        return 0;
    if (!locate(file, sizeof file))
        return wio_weights_fail(
            why, WAITIO_ERR_UNSUPPORTED,
            "'%s': this WaitIO was built without netCDF; install netCDF-C (Debian: apt-get install "
            "libnetcdf-dev) and build it again",
            path);
    void *lib = wio_os_library_open(file, reason, sizeof reason);
    if (lib != NULL &&
        find(lib, "wio_store_create", &late.create) STORE_CALLS(FIND) STORE_WRITES(FIND) &&
        find(lib, "wio_store_open", &late.open))
        return 0;
    late.open = NULL;
    return wio_weights_fail(why, WAITIO_ERR_UNSUPPORTED,
                            "'%s' needs netCDF-C (Debian: apt-get install libnetcdf19), but '%s' "
                            "cannot be used: %s",
                            path, file, lib == NULL ? reason : "it is of another release");
}

int wio_store_open(const char *path, struct wio_store **store, struct wio_weights_error *why)
{
    int error = load(path, why);
    return error == 0 ? late.open(path, store, why) : error;
}

int wio_store_create(const char *path, bool large, struct wio_store **store,
                     struct wio_weights_error *why)
{
    int error = load(path, why);
    return error == 0 ? late.create(path, large, store, why) : error;
}

#define FORWARD(type, name, parameters, arguments)                                                 \
    type wio_store_##name parameters                                                               \
    {                                                                                              \
        return late.name arguments;                                                                \
    }
STORE_CALLS(FORWARD)

#define FORWARD_WRITE(type, name, parameters, arguments)                                           \
    type wio_store_##name parameters                                                               \
    {                                                                                              \
        late.name arguments;                                                                       \
    }
STORE_WRITES(FORWARD_WRITE)
