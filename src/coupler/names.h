/* SPDX-License-Identifier: BSD-3-Clause */
/** @file names.h Names in JSON. */
#ifndef WIO_CPL_NAMES_H
#define WIO_CPL_NAMES_H

#include <stdio.h>

#include "coupler/cpl.h"

/** A text as a JSON string; bytes that are no plain ASCII go as they are (UTF-8). */
void wio_cpl_quote(FILE *out, const char *text);
/** The names of a bundle's variables, with commas, as one string. */
void wio_cpl_quote_fields(FILE *out, const struct wio_cpl_bundle *b);

#endif
