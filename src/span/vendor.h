/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file vendor.h
 * The functions of the vendor's MPI that this library wraps. The library itself defines their
 * names, MPI_ and PMPI_, so it finds the vendor's behind it in the search order of the loader. It
 * defines PMPI_ too because the vendor's Fortran and C++ libraries call those.
 */
#ifndef SPAN_VENDOR_H
#define SPAN_VENDOR_H

#include "span/vendor_gen.h"

typedef void (*span_function)(void);

struct span_vendor_name {
    const char *name; /**< without MPI_ */
    span_function *slot;
};

/** All members of span_vendor; the last name is NULL. */
extern const struct span_vendor_name span_vendor_names[];

/** A function of the vendor's libraries by its full name, or NULL. */
span_function span_vendor_function(const char *name);

#endif /* SPAN_VENDOR_H */
