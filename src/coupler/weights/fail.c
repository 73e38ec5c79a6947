/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a call failed. */
#include <stdarg.h>
#include <stdio.h>

#include "coupler/weights/grid.h"

int wio_weights_fail(struct wio_weights_error *why, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (why != NULL)
        vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return code;
}
