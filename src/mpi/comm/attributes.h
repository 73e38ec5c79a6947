/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file attributes.h
 * Attributes: values that programs attach to communicators under their own keys, and the library's
 * predefined ones.
 */
#ifndef WIO_MPI_ATTRIBUTES_H
#define WIO_MPI_ATTRIBUTES_H

#include "mpi/comm.h"

/** The language of a key or value: pointers in C, address-kind integers in Fortran, default
 * integers in MPI-1's Fortran calls. */
enum wio_attribute_language { WIO_IN_C, WIO_IN_FORTRAN, WIO_IN_FORTRAN_1 };

typedef void wio_any_fn(void);

/** NULL functions mean: not copied; nothing to do. @return 0; LIMIT, NOMEM */
int wio_keyval_new(enum wio_attribute_language language, wio_any_fn *copy, wio_any_fn *gone,
                   intptr_t extra, int *keyval);
/** Values that are attached keep the key alive. *keyval becomes KEYVAL_INVALID. @return 0; ARG */
int wio_keyval_free(int *keyval);

int wio_attribute_set(WAITIO_MPI_Comm comm, int keyval, enum wio_attribute_language language,
                      intptr_t value);
/** @param[out] value C: the pointer that was set, or one to a number; Fortran: the number */
int wio_attribute_get(WAITIO_MPI_Comm comm, int keyval, enum wio_attribute_language language,
                      intptr_t *value, int *flag);
int wio_attribute_delete(WAITIO_MPI_Comm comm, int keyval);

/** For a duplicate: call every key's copy function. @return 0, or the first error */
int wio_attributes_copy(WAITIO_MPI_Comm from, WAITIO_MPI_Comm to);
/** Before a communicator is freed: call every key's delete function, the latest value first. */
int wio_attributes_end(WAITIO_MPI_Comm comm);
/** Free what is still attached, without delete callbacks. */
void wio_attributes_free(struct wio_attribute *first);

#endif /* WIO_MPI_ATTRIBUTES_H */
