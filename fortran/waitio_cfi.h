/* SPDX-License-Identifier: BSD-3-Clause */
/** @file waitio_cfi.h  Shared by the C files behind module `waitio`. */
#ifndef WAITIO_CFI_H
#define WAITIO_CFI_H

#include <ISO_Fortran_binding.h>

#include "waitio_mpi.h"

/** Hand @p code to *ierr; without ierr an error prints a message and ends the program. */
void waitio_cfi_finish(const char *call, int code, int *ierr);
/** Print why an argument is refused and return ARG; only the library can set waitio_last_error().
 */
int waitio_cfi_refuse(const char *call, const char *why);

/* ---- for the calls of MPI (waitio_cfi_mpi.c) ---- */

/** A buffer with its count and type. */
struct waitio_cfi_section {
    void *at;
    int count, type;
    int made;              /**< the type was made for this call */
    WAITIO_MPI_Count wide; /**< the count for calls with wide ones */
};
/** Turn a buffer into what C takes; one with gaps gets a type of its own. @return 0 or ARG */
int waitio_cfi_section(const char *call, const CFI_cdesc_t *d, WAITIO_MPI_Count count, int type,
                       struct waitio_cfi_section *s);
void waitio_cfi_section_end(struct waitio_cfi_section *s);
/** Address of a buffer without gaps. @return 0 or ARG */
int waitio_cfi_place(const char *call, const CFI_cdesc_t *d, void **at);

/** Room for a text on its way between the languages. */
enum { WAITIO_CFI_TEXT = WAITIO_MPI_MAX_ERROR_STRING };
/** Without trailing blanks. @return 0 or ARG */
int waitio_cfi_text_in(const char *call, const char *from, size_t length, char *text);
/** Filled with blanks. */
void waitio_cfi_text_out(char *to, size_t length, const char *text);
/** Room and length without the end that C's texts have. */
int waitio_cfi_info_get_string(int info, const char *key, int *room, char *value, int *flag);
/** Indices of C count from 1 in Fortran. */
void waitio_cfi_index(int *index, int n);
/** Weights of edges: those of module `waitio` that mean something are C's. */
int *waitio_cfi_weights(const int *weights);

#endif /* WAITIO_CFI_H */
