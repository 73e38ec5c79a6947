/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <netcdf.h>
#include <stdlib.h>

#include "ocean.h"

static void must(int status, const char *path, const char *name)
{
    if (status != NC_NOERR)
        give_up("%s: %s: %s", path, name, nc_strerror(status));
}

void *room(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    if (memory == NULL)
        give_up("no memory for %zu values", n);
    return memory;
}

int file_open(const char *path)
{
    int file = -1;

    must(nc_open(path, NC_NOWRITE, &file), path, "cannot be opened");
    return file;
}

void file_close(int file)
{
    nc_close(file);
}

size_t file_length(int file, const char *path, const char *dimension)
{
    size_t length = 0;
    int id = -1;

    must(nc_inq_dimid(file, dimension, &id), path, dimension);
    must(nc_inq_dimlen(file, id, &length), path, dimension);
    return length;
}

int *file_ints(int file, const char *path, const char *name, size_t first, size_t n, size_t width)
{
    size_t start[] = {first, 0}, count[] = {n, width};
    int *values = room(n * width, sizeof *values), id = -1;

    must(nc_inq_varid(file, name, &id), path, name);
    must(nc_get_vara_int(file, id, start, count, values), path, name);
    return values;
}

double *file_doubles(int file, const char *path, const char *name, size_t first, size_t n,
                     size_t width)
{
    size_t start[] = {first, 0}, count[] = {n, width};
    double *values = room(n * width, sizeof *values);
    int id = -1;

    must(nc_inq_varid(file, name, &id), path, name);
    must(nc_get_vara_double(file, id, start, count, values), path, name);
    return values;
}
