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

#endif /* WAITIO_CFI_H */
