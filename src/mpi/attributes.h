/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file attributes.h
 * Attributes: values that programs attach to communicators and datatypes under their own keys, and
 * the predefined ones of communicators.
 */
#ifndef WIO_MPI_ATTRIBUTES_H
#define WIO_MPI_ATTRIBUTES_H

#include "mpi/comm.h"

/** The language of a key or value: pointers in C, address-kind integers in Fortran, default
 * integers in MPI-1's Fortran calls. */
enum wio_attribute_language { WIO_IN_C, WIO_IN_FORTRAN, WIO_IN_FORTRAN_1 };

/** What has attributes. Every key is for one of them. */
enum wio_owner_kind { WIO_ON_COMM, WIO_ON_TYPE };
struct wio_owner {
    enum wio_owner_kind kind;
    WAITIO_MPI_Comm comm;     /**< WIO_ON_COMM */
    WAITIO_MPI_Datatype type; /**< WIO_ON_TYPE */
};

static inline struct wio_owner wio_on_comm(WAITIO_MPI_Comm comm)
{
    return (struct wio_owner){WIO_ON_COMM, comm, WAITIO_MPI_DATATYPE_NULL};
}

static inline struct wio_owner wio_on_type(WAITIO_MPI_Datatype type)
{
    return (struct wio_owner){WIO_ON_TYPE, NULL, type};
}

typedef void wio_any_fn(void);

/** NULL functions mean: not copied; nothing to do. @return 0; LIMIT, NOMEM */
int wio_keyval_new(enum wio_owner_kind on, enum wio_attribute_language language, wio_any_fn *copy,
                   wio_any_fn *gone, intptr_t extra, int *keyval);
/** Values that are attached keep the key alive. *keyval becomes KEYVAL_INVALID. @return 0; ARG */
int wio_keyval_free(enum wio_owner_kind on, int *keyval);

int wio_attribute_set(struct wio_owner on, int keyval, enum wio_attribute_language language,
                      intptr_t value);
/** @param[out] value C: the pointer that was set, or one to a number; Fortran: the number */
int wio_attribute_get(struct wio_owner on, int keyval, enum wio_attribute_language language,
                      intptr_t *value, int *flag);
int wio_attribute_delete(struct wio_owner on, int keyval);

/** For a duplicate: call every key's copy function. @return 0, or the first error */
int wio_attributes_copy(struct wio_owner from, struct wio_owner to);
/** Before a communicator or a type is freed: call every key's delete function, the latest value
 * first. */
int wio_attributes_end(struct wio_owner on);
/** Free what is still attached, without delete callbacks. */
void wio_attributes_free(struct wio_attribute *first);

#endif /* WIO_MPI_ATTRIBUTES_H */
