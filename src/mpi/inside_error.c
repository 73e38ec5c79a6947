/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of libraries beside this one, such as the providers, end as errors of the library do. */
#include "mpi/mpi.h"
#include "waitio_inside.h"

int waitio_inside_error(const char *call, int code, const char *text)
{
    return wio_mpi_result(call, wio_fail(code, "%s", text));
}
