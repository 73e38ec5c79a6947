/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file namelist.h
 * Reads Fortran namelists: pure. Knows groups, keys and values; not what they mean.
 *
 * Read are: &name key = value, value ... / (or &end; $ for &), text in ' or " (a doubled one stands
 * for itself), comments from ! to the end of the line, repeated values (3*1.0), null values. Names
 * of groups and keys come in lower case. Text outside groups is skipped, as Fortran does.
 */
#ifndef WIO_CPL_NAMELIST_H
#define WIO_CPL_NAMELIST_H

#include <stdbool.h>
#include <stddef.h>

/** One value. */
struct wio_cpl_value {
    char *text;  /**< without quotes; blanks at its end are gone, as they do not count in Fortran */
    bool quoted; /**< it stood in quotes */
    bool null;   /**< nothing stood between two commas: the key keeps its value */
};

/** One key = values. All memory belongs to the parser, and is gone after the call. */
struct wio_cpl_item {
    const char *group, *key;
    int line;
    const struct wio_cpl_value *values;
    size_t n;
};

/** What is done with the parts. Each returns 0, or a code with which parsing ends. */
struct wio_cpl_namelist_sink {
    int (*begin)(void *with, const char *group, int line);
    int (*item)(void *with, const struct wio_cpl_item *item);
    int (*end)(void *with, const char *group, int line);
};

/**
 * @param text need not end with a zero byte; any bytes
 * @param file its name, for errors
 * @return 0; CONFIG (with file and line); NOMEM; what a function of the sink returned
 */
int wio_cpl_namelist(const char *text, size_t bytes, const char *file,
                     const struct wio_cpl_namelist_sink *sink, void *with);

#endif
