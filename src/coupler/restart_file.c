/* SPDX-License-Identifier: BSD-3-Clause */
/* netCDF-C, loaded on demand; its binary interface has been the same since version 4.0. */
#include "coupler/restart_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "waitio_errors.h"

/* Names of netcdf.h. */
enum {
    FILE_ITSELF = -1,
    TYPE_TEXT = 2,
    TYPE_INT = 4,
    TYPE_REAL = 6,
    NO_FILL = 0x100,
    LARGE_OFFSETS = 0x200,
    LARGE_ARRAYS = 0x20
};

static struct {
    void *library;
    int (*create)(const char *, int, int *);
    int (*open)(const char *, int, int *);
    int (*close)(int);
    int (*set_fill)(int, int, int *);
    int (*enddef)(int);
    int (*def_dim)(int, const char *, size_t, int *);
    int (*def_var)(int, const char *, int, int, const int *, int *);
    int (*put_text)(int, int, const char *, size_t, const char *);
    int (*put_number)(int, int, const char *, int, size_t, const double *);
    int (*put)(int, int, const size_t *, const size_t *, const double *);
    int (*inq_att)(int, int, const char *, int *, size_t *);
    int (*get_text)(int, int, const char *, char *);
    int (*get_number)(int, int, const char *, double *);
    int (*dimid)(int, const char *, int *);
    int (*dimlen)(int, int, size_t *);
    int (*varid)(int, const char *, int *);
    int (*get)(int, int, const size_t *, const size_t *, double *);
    const char *(*strerror)(int);
} lib;

struct wio_cpl_nc {
    int file;
    bool writes;
    int error; /* the first one while writing */
    char *path, *part;
};

static bool load(void *library)
{
    const struct {
        const char *name;
        void *place;
    } rows[] = {
        {"nc_create", &lib.create},
        {"nc_open", &lib.open},
        {"nc_close", &lib.close},
        {"nc_set_fill", &lib.set_fill},
        {"nc_enddef", &lib.enddef},
        {"nc_def_dim", &lib.def_dim},
        {"nc_def_var", &lib.def_var},
        {"nc_put_att_text", &lib.put_text},
        {"nc_put_att_double", &lib.put_number},
        {"nc_put_vara_double", &lib.put},
        {"nc_inq_att", &lib.inq_att},
        {"nc_get_att_text", &lib.get_text},
        {"nc_get_att_double", &lib.get_number},
        {"nc_inq_dimid", &lib.dimid},
        {"nc_inq_dimlen", &lib.dimlen},
        {"nc_inq_varid", &lib.varid},
        {"nc_get_vara_double", &lib.get},
        {"nc_strerror", &lib.strerror},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *symbol = dlsym(library, rows[i].name);

        if (symbol == NULL)
            return false;
        memcpy(rows[i].place, &symbol, sizeof symbol);
    }
    lib.library = library;
    return true;
}

static int need_library(const char *path)
{
    static const char *const names[] = {"libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so.18",
                                        "libnetcdf.so.15", "libnetcdf.so",    "libnetcdf.dylib"};

    for (size_t i = 0; lib.library == NULL && i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (library != NULL && !load(library))
            (void)dlclose(library);
    }
    if (lib.library != NULL)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_UNSUPPORTED,
                        "the restart file %s needs the library netCDF-C, which cannot be loaded "
                        "(libnetcdf.so; Debian: apt-get install libnetcdf19), or run without "
                        "restart files",
                        path);
}

static struct wio_cpl_nc *new_nc(const char *path, bool writes)
{
    struct wio_cpl_nc *nc = wio_cpl_new(1, sizeof *nc);
    size_t room = strlen(path) + 40;

    if (nc == NULL)
        return NULL;
    nc->writes = writes;
    nc->path = wio_cpl_copy(path);
    nc->part = wio_cpl_new(room, 1);
    if (nc->path != NULL && nc->part != NULL) {
        wio_cpl_text(nc->part, room, "%s.part%ld", path, (long)getpid());
        return nc;
    }
    free(nc->path);
    free(nc->part);
    free(nc);
    return NULL;
}

static void free_nc(struct wio_cpl_nc *nc)
{
    free(nc->path);
    free(nc->part);
    free(nc);
}

int wio_cpl_nc_create(const char *path, bool large, struct wio_cpl_nc **out)
{
    int rc = need_library(path), error, old;
    struct wio_cpl_nc *nc;

    *out = NULL;
    if (rc != 0)
        return rc;
    nc = new_nc(path, true);
    if (nc == NULL)
        return WAITIO_ERR_NOMEM;
    error = lib.create(nc->part, large ? LARGE_ARRAYS : LARGE_OFFSETS, &nc->file);
    if (error != 0) {
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM, "the restart file %s cannot be written: %s", path,
                          lib.strerror(error));
        free_nc(nc);
        return rc;
    }
    (void)lib.set_fill(nc->file, NO_FILL, &old); /* all of it is written */
    *out = nc;
    return 0;
}

int wio_cpl_nc_open(const char *path, struct wio_cpl_nc **out)
{
    int rc = need_library(path), error;
    struct wio_cpl_nc *nc;

    *out = NULL;
    if (rc != 0)
        return rc;
    nc = new_nc(path, false);
    if (nc == NULL)
        return WAITIO_ERR_NOMEM;
    error = lib.open(path, 0, &nc->file);
    if (error != 0) {
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM, "the restart file %s cannot be read: %s", path,
                          lib.strerror(error));
        free_nc(nc);
        return rc;
    }
    *out = nc;
    return 0;
}

void wio_cpl_nc_drop(struct wio_cpl_nc *nc)
{
    if (nc == NULL)
        return;
    (void)lib.close(nc->file);
    if (nc->writes)
        (void)unlink(nc->part);
    free_nc(nc);
}

/* A name and its file are both on the disk. @return 0 or errno */
static int sync_one(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC), error = 0;

    if (fd < 0)
        return errno;
    if (fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

/* Some file systems cannot sync a folder; the file is there all the same. */
static void sync_folder(const char *path)
{
    char *folder = wio_cpl_copy(path), *slash = folder != NULL ? strrchr(folder, '/') : NULL;

    if (folder == NULL)
        return;
    if (slash != NULL)
        slash[slash == folder] = '\0';
    (void)sync_one(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY);
    free(folder);
}

int wio_cpl_nc_finish(struct wio_cpl_nc *nc)
{
    int error = lib.close(nc->file), rc = 0;
    const char *why;

    error = nc->error != 0 ? nc->error : error;
    why = error != 0 ? lib.strerror(error) : NULL;
    if (error == 0 && (error = sync_one(nc->part, O_RDWR)) == 0)
        error = rename(nc->part, nc->path) != 0 ? errno : 0;
    if (error != 0) {
        rc = wio_cpl_fail(WAITIO_ERR_SYSTEM,
                          "the restart file %s cannot be written: %s; what was there before is as "
                          "it was",
                          nc->path, why != NULL ? why : strerror(error));
        (void)unlink(nc->part);
    } else
        sync_folder(nc->path);
    free_nc(nc);
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void keep(struct wio_cpl_nc *nc, int error)
{
    if (nc->error == 0)
        nc->error = error;
}

bool wio_cpl_nc_failed(const struct wio_cpl_nc *nc)
{
    return nc->error != 0;
}

int wio_cpl_nc_dim(struct wio_cpl_nc *nc, const char *name, size_t length)
{
    int dim = -1;

    keep(nc, lib.def_dim(nc->file, name, length > 0 ? length : 1, &dim)); /* 0: without limit */
    return dim;
}

int wio_cpl_nc_var(struct wio_cpl_nc *nc, const char *name, bool real, int rank, const int *dims)
{
    int var = -1;

    keep(nc, lib.def_var(nc->file, name, real ? TYPE_REAL : TYPE_INT, rank, dims, &var));
    return var;
}

void wio_cpl_nc_text(struct wio_cpl_nc *nc, int var, const char *name, const char *text)
{
    keep(nc, lib.put_text(nc->file, var, name, strlen(text), text));
}

void wio_cpl_nc_number(struct wio_cpl_nc *nc, int var, const char *name, double value)
{
    keep(nc, lib.put_number(nc->file, var, name, TYPE_REAL, 1, &value));
}

void wio_cpl_nc_begin(struct wio_cpl_nc *nc)
{
    keep(nc, lib.enddef(nc->file));
}

void wio_cpl_nc_put(struct wio_cpl_nc *nc, int var, int rank, size_t layer, size_t first, size_t n,
                    const double *from)
{
    size_t start[2] = {layer, first}, count[2] = {1, n};

    if (nc->error == 0 && n > 0)
        keep(nc, lib.put(nc->file, var, start + (rank == 1), count + (rank == 1), from));
}

/* ---- reading ------------------------------------------------------------------------------- */

static int lacks(const struct wio_cpl_nc *nc, const char *what, const char *why)
{
    return wio_cpl_fail(WAITIO_ERR_SYSTEM,
                        "the restart file %s is damaged, or of something else: its %s cannot be "
                        "read (%s)",
                        nc->path, what, why);
}

int wio_cpl_nc_get_text(struct wio_cpl_nc *nc, int var, const char *name, char *text, size_t room)
{
    int type = 0, error;
    size_t n = 0;

    error = lib.inq_att(nc->file, var, name, &type, &n);
    if (error == 0 && (type != TYPE_TEXT || n >= room))
        return lacks(nc, name, "it is no text of this length");
    if (error == 0)
        error = lib.get_text(nc->file, var, name, text);
    if (error != 0)
        return lacks(nc, name, lib.strerror(error));
    text[n] = '\0';
    return 0;
}

int wio_cpl_nc_get_number(struct wio_cpl_nc *nc, int var, const char *name, double *value)
{
    int type = 0, error;
    size_t n = 0;

    error = lib.inq_att(nc->file, var, name, &type, &n);
    if (error == 0 && (type == TYPE_TEXT || n != 1))
        return lacks(nc, name, "it is no number");
    if (error == 0)
        error = lib.get_number(nc->file, var, name, value);
    return error != 0 ? lacks(nc, name, lib.strerror(error)) : 0;
}

bool wio_cpl_nc_has(const struct wio_cpl_nc *nc, int var, const char *name)
{
    int type = 0;
    size_t n = 0;

    return lib.inq_att(nc->file, var, name, &type, &n) == 0;
}

int wio_cpl_nc_length(struct wio_cpl_nc *nc, const char *dim, size_t *length)
{
    int id = 0, error = lib.dimid(nc->file, dim, &id);

    if (error == 0)
        error = lib.dimlen(nc->file, id, length);
    return error != 0 ? lacks(nc, dim, lib.strerror(error)) : 0;
}

int wio_cpl_nc_find(struct wio_cpl_nc *nc, const char *name, int *var)
{
    int error = lib.varid(nc->file, name, var);

    return error != 0 ? lacks(nc, name, lib.strerror(error)) : 0;
}

int wio_cpl_nc_get(struct wio_cpl_nc *nc, int var, int rank, size_t layer, size_t first, size_t n,
                   double *to)
{
    size_t start[2] = {layer, first}, count[2] = {1, n};
    int error;

    if (n == 0)
        return 0;
    error = lib.get(nc->file, var, start + (rank == 1), count + (rank == 1), to);
    return error != 0 ? lacks(nc, "data", lib.strerror(error)) : 0;
}
