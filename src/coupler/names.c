/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in JSON. */
#include "coupler/names.h"

static void escape(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        if (*c == '"' || *c == '\\')
            (void)fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            (void)fprintf(out, "\\u%04x", *c);
        else
            (void)fputc(*c, out);
}

void wio_cpl_quote(FILE *out, const char *text)
{
    (void)fputc('"', out);
    escape(out, text);
    (void)fputc('"', out);
}

void wio_cpl_quote_fields(FILE *out, const struct wio_cpl_bundle *b)
{
    (void)fputc('"', out);
    for (size_t i = 0; i < b->vars.n; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        escape(out, ((struct wio_cpl_var **)b->vars.at)[i]->name);
    }
    (void)fputc('"', out);
}
