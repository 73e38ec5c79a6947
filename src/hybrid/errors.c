/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of errors, MPI's among them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hybrid/hybrid.h"

int wio_hybrid_fail(struct wio_hybrid_why *why, int code, const char *fmt, ...)
{
    va_list args;

    if (why->text == NULL || why->room == 0)
        return code;
    va_start(args, fmt);
    (void)vsnprintf(why->text, why->room, fmt, args);
    va_end(args);
    return code;
}

/* Of the classes only those have a code of ours that a program can do something about. */
static int code_of(int rc)
{
    int class_ = MPI_ERR_OTHER;

    (void)PMPI_Error_class(rc, &class_);
    if (class_ == MPI_ERR_NO_MEM)
        return WAITIO_ERR_NOMEM;
    if (class_ == MPI_ERR_TRUNCATE)
        return WAITIO_ERR_TRUNCATE;
#ifdef MPIX_ERR_PROC_FAILED
    if (class_ == MPIX_ERR_PROC_FAILED || class_ == MPIX_ERR_REVOKED)
        return WAITIO_ERR_PEER;
#endif
    return WAITIO_ERR_SYSTEM;
}

int wio_hybrid_mpi_error(struct wio_hybrid_why *why, int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    if (PMPI_Error_string(rc, text, &length) != MPI_SUCCESS)
        (void)snprintf(text, sizeof text, "error %d", rc);
    for (char *p = text; *p != '\0'; p++) /* some have several lines */
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    return wio_hybrid_fail(why, code_of(rc), "%s failed: %s", what, text);
}
