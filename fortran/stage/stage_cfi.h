/* SPDX-License-Identifier: BSD-3-Clause */
/** @file stage_cfi.h  Shared by the C files behind module `waitio_stage`. */
#ifndef WAITIO_STAGE_CFI_H
#define WAITIO_STAGE_CFI_H

#include <ISO_Fortran_binding.h>

#include "waitio_stage.h"

/* A procedure that Fortran calls: it has no header. */
#define FORTRAN(name, arguments)                                                                   \
    void name arguments;                                                                           \
    void name arguments

enum { STAGE_CFI_NAME = 204 };

/** A variable as Fortran has it: dimensions in Fortran's order. */
struct waitio_cfi_stage_variable {
    int number; /**< of writers, or -1 */
    int type, kind, ndims;
    int64_t shape[WAITIO_STAGE_DIMS_MAX];
    int64_t blocks;
    char name[STAGE_CFI_NAME];
};

/** Hand @p code to *ierr; without ierr an error prints its text and ends the program. */
void waitio_cfi_stage_finish(const char *call, int code, int *ierr);
/** Remember why an argument is refused. @return ARG */
int waitio_cfi_stage_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Copy @p n numbers in the other order. */
void waitio_cfi_stage_turn(int n, const int64_t *from, uint64_t *to);
/** What C has found, for Fortran. */
void waitio_cfi_stage_tell(const struct waitio_stage_variable *v,
                           struct waitio_cfi_stage_variable *out);

#endif
