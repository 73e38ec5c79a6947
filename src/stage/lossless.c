/* SPDX-License-Identifier: BSD-3-Clause */
/* What lossless operators share. Bytes of one place together: those of neighbours in a field are
 * alike, which general compressors see only when they stand side by side. */
#include <string.h>

#include "stage/operator.h"
#include "waitio_errors.h"

int wio_stg_lossless_parameter(struct wio_stg_operator *op, int most, int standard, const char *key,
                               const char *value)
{
    bool level = strcmp(key, "level") == 0;
    double number;

    if (!level && strcmp(key, "shuffle") != 0)
        return wio_stg_fail(WAITIO_ERR_ARG, "%s has no parameter '%s'; it has level and shuffle",
                            op->codec->name, key);
    if (!wio_stg_operator_number(value, level ? 1 : 0, level ? most : 1, &number) ||
        number != (int)number)
        return wio_stg_fail(WAITIO_ERR_ARG, "%s: %s=%s; possible is %d to %d, the default is %d",
                            op->codec->name, key, value, level, level ? most : 1,
                            level ? standard : 1);
    if (level)
        op->level = (int)number;
    else
        op->plain = number == 0;
    return 0;
}

void wio_stg_shuffle(const void *from, void *to, size_t size, size_t n)
{
    const unsigned char *in = from;
    unsigned char *out = to;

    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < n; i++)
            *out++ = in[i * size + k];
}

void wio_stg_unshuffle(const void *from, void *to, size_t size, size_t n)
{
    const unsigned char *in = from;
    unsigned char *out = to;

    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < n; i++)
            out[i * size + k] = *in++;
}
