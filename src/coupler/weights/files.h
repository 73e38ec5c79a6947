/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of grids and weights, as SCRIP and ESMF have them. Whatever a file holds is checked before
 * use. One thread at a time: netCDF-C is not thread-safe.
 */
#ifndef WIO_WEIGHTS_FILES_H
#define WIO_WEIGHTS_FILES_H

#include "coupler/weights/shapes.h"

/** Reads the cells of a SCRIP grid file or of an unstructured mesh of ESMF (cells are elements).
 * SCRIP grids with two dimensions are logically rectangular; they are periodic where the first and
 * the last cell of a row share an edge.
 * @param cells  freed by wio_own_cells_free()
 * @return 0; WAITIO_ERR_SYSTEM: unreadable; WAITIO_ERR_ARG: none of these formats, or not sound;
 *         WAITIO_ERR_NOMEM; WAITIO_ERR_UNSUPPORTED: built without netCDF, with the package to
 * install */
int wio_cells_read(const char *path, struct wio_own_cells *cells, struct wio_weights_error *why);

/** The same without corners and areas, for methods that look at centres only: most of a file is not
 * read. What the corners tell of the grid as a whole, whether it is periodic and folded, is found
 * by those of its rim. */
int wio_cells_read_centres(const char *path, struct wio_own_cells *cells,
                           struct wio_weights_error *why);

/** Writes cells as a SCRIP grid file. Replaces the file when all is written, else leaves it. */
int wio_cells_write(const char *path, const struct wio_cells *cells, struct wio_weights_error *why);

enum wio_weights_format { WIO_FORMAT_SCRIP, WIO_FORMAT_ESMF };

/** What is written beside the numbers. */
struct wio_weights_label {
    const char *source, *target;               /* names of the grids */
    const struct wio_weights_options *options; /* how the weights were made */
    const struct wio_cells *cells[2]; /* source and target as given, whose centres are written;
                                         NULL: those of the grid */
};

/** Writes weights between two whole grids, whose global indices are 1 .. n in order. Areas are
 * written where a method looks at corners (wio_weights_need_corners()), as other programs do.
 * Replaces the file when all is written, else leaves it. */
int wio_weights_write(const char *path, enum wio_weights_format format,
                      const struct wio_grid *source, const struct wio_grid *target,
                      const struct wio_weights *weights, const struct wio_weights_label *label,
                      struct wio_weights_error *why);

/** A weight file that is open: SCRIP's (num_wgts = 1) or ESMF's. */
struct wio_table;
struct wio_weight_file_facts {
    size_t links, sources, targets;
    bool parts; /* cells covered in part get a part (destarea): rows may add up to less than 1 */
};

int wio_weight_file_open(const char *path, struct wio_table **table,
                         struct wio_weight_file_facts *facts, struct wio_weights_error *why);
/** Links first .. first + n - 1, checked: indices from 1 to what the grids have, weights finite. So
 * each process can read a part of its own. */
int wio_weight_file_read(struct wio_table *table, size_t first, size_t n, int64_t *target,
                         int64_t *source, double *weight, struct wio_weights_error *why);
/** Which of targets first + 1 .. first + n get a value of their own (WIO_METHOD_FIXED), as files of
 * WaitIO say. @param fixed  room for n; @param value  what they get */
int wio_weight_file_fixed(struct wio_table *table, size_t first, size_t n, bool *fixed,
                          double *value, struct wio_weights_error *why);
/** Where the targets are, in degrees, and which take part (1) or are masked (0).
 * @param lon, lat, mask  room for all targets */
int wio_weight_file_targets(struct wio_table *table, double *lon, double *lat, int *mask,
                            struct wio_weights_error *why);
void wio_weight_file_close(struct wio_table *table); /* NULL: nothing */

/** Reads a whole weight file into rows; methods are NONE for rows without links, else CONSERVATIVE
 * or what the file says. @param weights  freed by wio_weights_free() */
int wio_weights_read(const char *path, struct wio_weights *weights, size_t *n_sources,
                     struct wio_weights_error *why);

#endif /* WIO_WEIGHTS_FILES_H */
