/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading netCDF: what fails ends the program, with the file and the variable. */
#ifndef CLIMATE_FILES_H
#define CLIMATE_FILES_H

#include <stddef.h>

int file_open(const char *path);
void file_close(int file);
/** Length of a dimension. */
size_t file_length(int file, const char *path, const char *dimension);
/** Values first .. first + n - 1 of a variable's first dimension, each a row of `width`. Freed by
 * the caller. */
int *file_ints(int file, const char *path, const char *name, size_t first, size_t n, size_t width);
double *file_doubles(int file, const char *path, const char *name, size_t first, size_t n,
                     size_t width);
/** malloc that does not fail. */
void *room(size_t n, size_t size);

#endif /* CLIMATE_FILES_H */
