/* SPDX-License-Identifier: BSD-3-Clause */
/* Files by netCDF-C; store_none.c stands in where it is missing. */
#ifdef WIO_HAVE_NETCDF

#include "coupler/weights/store.h"

#include <netcdf.h>
#include <stdio.h>
#include <string.h>

#include "coupler/weights/grid.h"
#include "os/os.h"
#include "waitio_errors.h"

enum { LONGEST = 4000 }; /* name of a file */

struct wio_store {
    int file;
    int error; /* the first one while writing */
    char what[NC_MAX_NAME + 1];
    char path[LONGEST + 1];
    char part[LONGEST + 32]; /* what is written, until it is whole; else empty */
};

static int new_store(const char *path, struct wio_store **store, struct wio_weights_error *why)
{
    if (strlen(path) > LONGEST)
        return wio_weights_fail(why, WAITIO_ERR_LIMIT, "the name '%.100s ...' is too long", path);
    *store = wio_os_alloc(sizeof **store);
    if (*store == NULL)
        return wio_weights_fail(why, WAITIO_ERR_NOMEM, "out of memory for '%s'", path);
    snprintf((*store)->path, sizeof(*store)->path, "%s", path);
    return 0;
}

int wio_store_open(const char *path, struct wio_store **store, struct wio_weights_error *why)
{
    struct wio_store *s;
    int code = new_store(path, &s, why);
    if (code != 0)
        return code;
    int error = nc_open(path, NC_NOWRITE, &s->file);
    if (error == NC_NOERR) {
        *store = s;
        return 0;
    }
    wio_os_free(s);
    return wio_weights_fail(why, WAITIO_ERR_SYSTEM, "cannot read '%s' as netCDF: %s", path,
                            nc_strerror(error));
}

int wio_store_create(const char *path, bool large, struct wio_store **store,
                     struct wio_weights_error *why)
{
    struct wio_store *s;
    struct wio_os_stat there;
    if (wio_os_stat(path, &there) == 0 && !there.is_file)
        return wio_weights_fail(why, WAITIO_ERR_SYSTEM,
                                "cannot write '%s': it is there and is no regular file", path);
    int code = new_store(path, &s, why);
    if (code != 0)
        return code;
    snprintf(s->part, sizeof s->part, "%s.part%lld", path, (long long)wio_os_pid());
    int kind = large ? NC_64BIT_DATA : NC_64BIT_OFFSET, old;
    int error = nc_create(s->part, NC_CLOBBER | kind, &s->file);
    if (error == NC_NOERR) {
        nc_set_fill(s->file, NC_NOFILL, &old); /* all of it is written */
        *store = s;
        return 0;
    }
    wio_os_free(s);
    return wio_weights_fail(why, WAITIO_ERR_SYSTEM, "cannot write '%s': %s", path,
                            nc_strerror(error));
}

static void keep(struct wio_store *s, int error, const char *what)
{
    if (s->error != NC_NOERR || error == NC_NOERR)
        return;
    s->error = error;
    snprintf(s->what, sizeof s->what, "%s", what);
}

int wio_store_close(struct wio_store *s, struct wio_weights_error *why)
{
    if (s == NULL)
        return 0;
    keep(s, nc_close(s->file), "its end");
    int code = 0, moved = 0;
    if (s->part[0] != '\0' && s->error == NC_NOERR)
        moved = wio_os_rename(s->part, s->path);
    if (s->error != NC_NOERR)
        code = wio_weights_fail(why, WAITIO_ERR_SYSTEM, "cannot write '%s' (%s): %s", s->path,
                                s->what, nc_strerror(s->error));
    else if (moved != 0)
        code = wio_weights_fail(why, WAITIO_ERR_SYSTEM, "cannot write '%s': %s", s->path,
                                strerror(-moved));
    if (code != 0 && s->part[0] != '\0')
        wio_os_unlink(s->part);
    wio_os_free(s);
    return code;
}

bool wio_store_dim(struct wio_store *s, const char *name, size_t *length)
{
    int dim;
    return nc_inq_dimid(s->file, name, &dim) == NC_NOERR &&
           nc_inq_dimlen(s->file, dim, length) == NC_NOERR;
}

bool wio_store_has(struct wio_store *s, const char *variable)
{
    int var;
    return nc_inq_varid(s->file, variable, &var) == NC_NOERR;
}

/** Dimensions of a variable; -1: there is no such variable. */
static int shape(struct wio_store *s, const char *variable, int *var, size_t *length)
{
    int rank, dims[NC_MAX_VAR_DIMS];
    if (nc_inq_varid(s->file, variable, var) != NC_NOERR ||
        nc_inq_varndims(s->file, *var, &rank) != NC_NOERR ||
        nc_inq_vardimid(s->file, *var, dims) != NC_NOERR)
        return -1;
    for (int d = 0; d < rank; d++)
        if (nc_inq_dimlen(s->file, dims[d], &length[d]) != NC_NOERR)
            return -1;
    return rank;
}

size_t wio_store_extent(struct wio_store *s, const char *variable, int d)
{
    size_t length[NC_MAX_VAR_DIMS];
    int var, rank = shape(s, variable, &var, length);
    return d < rank ? length[d] : 0;
}

int wio_store_rank(struct wio_store *s, const char *variable)
{
    size_t length[NC_MAX_VAR_DIMS];
    int var;
    return shape(s, variable, &var, length);
}

bool wio_store_text(struct wio_store *s, const char *variable, const char *name, char *text,
                    size_t room)
{
    int var = NC_GLOBAL;
    size_t length = 0;
    nc_type type;
    char buffer[1024];
    if ((variable != NULL && nc_inq_varid(s->file, variable, &var) != NC_NOERR) ||
        nc_inq_att(s->file, var, name, &type, &length) != NC_NOERR || type != NC_CHAR ||
        length >= sizeof buffer || nc_get_att_text(s->file, var, name, buffer) != NC_NOERR)
        return false;
    buffer[length] = '\0';
    snprintf(text, room, "%s", buffer);
    return true;
}

bool wio_store_number(struct wio_store *s, const char *variable, const char *name, double *value)
{
    int var;
    size_t length = 0;
    nc_type type;
    return nc_inq_varid(s->file, variable, &var) == NC_NOERR &&
           nc_inq_att(s->file, var, name, &type, &length) == NC_NOERR && type != NC_CHAR &&
           length == 1 && nc_get_att_double(s->file, var, name, value) == NC_NOERR;
}

static int get(struct wio_store *s, int var, enum wio_store_type type, const size_t *start,
               const size_t *count, void *to)
{
    switch (type) {
    case WIO_STORE_BYTE:
        return nc_get_vara_uchar(s->file, var, start, count, to);
    case WIO_STORE_INT:
        return nc_get_vara_int(s->file, var, start, count, to);
    case WIO_STORE_INT64: {
        return nc_get_vara_longlong(s->file, var, start, count, to);
    }
    default:
        return nc_get_vara_double(s->file, var, start, count, to);
    }
}

int wio_store_get(struct wio_store *s, const char *variable, enum wio_store_type type, size_t first,
                  size_t count, void *to, struct wio_weights_error *why)
{
    size_t start[NC_MAX_VAR_DIMS] = {first}, length[NC_MAX_VAR_DIMS], all = 1, inner = 1;
    int var, rank = shape(s, variable, &var, length);
    if (rank < 0)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "'%s' has no variable %s", s->path, variable);
    for (int d = 1; d < rank; d++)
        inner = length[d] != 0 && inner > SIZE_MAX / length[d] ? SIZE_MAX : inner * length[d];
    if (rank > 0 && inner == 1 && first <= length[0] && count <= length[0] - first)
        length[0] = all = count;
    else if (rank > 0)
        all = length[0] != 0 && inner > SIZE_MAX / length[0] ? SIZE_MAX : inner * length[0];
    if (all != count)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "'%s': variable %s has %zu numbers, not %zu",
                                s->path, variable, all, count);
    if (count == 0)
        return 0;
    int error = get(s, var, type, start, length, to);
    if (error != NC_NOERR)
        return wio_weights_fail(why, WAITIO_ERR_SYSTEM, "'%s': cannot read variable %s: %s",
                                s->path, variable, nc_strerror(error));
    return 0;
}

int wio_store_get_rows(struct wio_store *s, const char *variable, enum wio_store_type type,
                       size_t first, size_t rows, size_t width, void *to,
                       struct wio_weights_error *why)
{
    size_t length[NC_MAX_VAR_DIMS];
    int var, rank = shape(s, variable, &var, length);
    if (rank != 2 || length[1] != width || first > length[0] || rows > length[0] - first)
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "'%s': variable %s has no rows %zu to %zu of %zu numbers", s->path,
                                variable, first + 1, first + rows, width);
    const size_t start[2] = {first, 0}, count[2] = {rows, width};
    int error = get(s, var, type, start, count, to);
    if (error != NC_NOERR)
        return wio_weights_fail(why, WAITIO_ERR_SYSTEM, "'%s': cannot read variable %s: %s",
                                s->path, variable, nc_strerror(error));
    return 0;
}

int wio_store_add_dim(struct wio_store *s, const char *name, size_t length)
{
    int dim = -1;
    keep(s, nc_def_dim(s->file, name, length, &dim), name);
    return dim;
}

void wio_store_add_variable(struct wio_store *s, const char *name, enum wio_store_type type,
                            int rank, const int *dims, const char *units)
{
    static const nc_type types[] = {[WIO_STORE_BYTE] = NC_BYTE,
                                    [WIO_STORE_INT] = NC_INT,
                                    [WIO_STORE_INT64] = NC_INT64,
                                    [WIO_STORE_DOUBLE] = NC_DOUBLE};
    int var = -1;
    keep(s, nc_def_var(s->file, name, types[type], rank, dims, &var), name);
    if (units != NULL)
        wio_store_add_text(s, name, "units", units);
}

static int find(struct wio_store *s, const char *variable)
{
    int var = NC_GLOBAL;
    if (variable != NULL)
        keep(s, nc_inq_varid(s->file, variable, &var), variable);
    return var;
}

void wio_store_add_text(struct wio_store *s, const char *variable, const char *name,
                        const char *text)
{
    keep(s, nc_put_att_text(s->file, find(s, variable), name, strlen(text), text), name);
}

void wio_store_add_number(struct wio_store *s, const char *variable, const char *name, double value)
{
    keep(s, nc_put_att_double(s->file, find(s, variable), name, NC_DOUBLE, 1, &value), name);
}

void wio_store_begin(struct wio_store *s)
{
    keep(s, nc_enddef(s->file), "its head");
}

void wio_store_put(struct wio_store *s, const char *variable, enum wio_store_type type,
                   const void *from)
{
    int var = find(s, variable);
    if (s->error != NC_NOERR)
        return;
    if (type == WIO_STORE_BYTE)
        keep(s, nc_put_var_schar(s->file, var, from), variable);
    else if (type == WIO_STORE_INT)
        keep(s, nc_put_var_int(s->file, var, from), variable);
    else if (type == WIO_STORE_INT64)
        keep(s, nc_put_var_longlong(s->file, var, from), variable);
    else
        keep(s, nc_put_var_double(s->file, var, from), variable);
}

#endif /* WIO_HAVE_NETCDF */
