/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators: their texts. */
#include "stage/operator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_errors.h"

static const struct wio_stg_codec *const codecs[] = {&wio_stg_zstd, &wio_stg_blosc, &wio_stg_zfp};
enum { CODECS = sizeof codecs / sizeof codecs[0] };

bool wio_stg_operator_number(const char *text, double least, double most, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && *value >= least && *value <= most;
}

static int find_codec(struct wio_stg_operator *op, const char *name)
{
    char known[100] = "none";

    for (size_t i = 0; i < CODECS; i++) {
        size_t n = strlen(known);

        if (strcmp(name, codecs[i]->name) == 0) {
            op->codec = codecs[i];
            return 0;
        }
        wio_stg_text(known + n, sizeof known - n, ", %s", codecs[i]->name);
    }
    return wio_stg_fail(WAITIO_ERR_UNSUPPORTED, "there is no operator '%.40s'; this release has %s",
                        name, known);
}

static int read_parameter(struct wio_stg_operator *op, char *word)
{
    char *equals = strchr(word, '=');

    if (equals == NULL || equals == word || equals[1] == '\0')
        return wio_stg_fail(WAITIO_ERR_ARG, "the operator %s has a parameter '%s', not KEY=VALUE",
                            op->codec->name, word);
    *equals = '\0';
    return op->codec->parameter(op, word, equals + 1);
}

int wio_stg_operator_read(struct wio_stg_operator *op, const char *text)
{
    char copy[WIO_STG_OPERATOR], *next = NULL, *word;
    int rc = 0;

    *op = (struct wio_stg_operator){.codec = NULL};
    if (strlen(text) >= sizeof copy)
        return wio_stg_fail(WAITIO_ERR_ARG, "an operator is described by %d characters at most",
                            WIO_STG_OPERATOR - 1);
    wio_stg_text(copy, sizeof copy, "%s", text);
    word = strtok_r(copy, " ,", &next);
    if (word == NULL || strcmp(word, "none") == 0)
        return 0;
    rc = find_codec(op, word);
    while (rc == 0 && (word = strtok_r(NULL, " ,", &next)) != NULL)
        rc = read_parameter(op, word);
    return rc == 0 ? op->codec->complete(op) : rc;
}

int wio_stg_operator_text(char *out, const char *name, const char *parameters)
{
    const char *more = parameters != NULL ? parameters : "";
    size_t n = strlen(name), m = strlen(more);

    out[0] = '\0';
    if (n + m + 2 > WIO_STG_OPERATOR)
        return wio_stg_fail(WAITIO_ERR_ARG, "an operator is described by %d characters at most",
                            WIO_STG_OPERATOR - 1);
    for (size_t i = 0; i < n + m; i++) {
        char c = i < n ? name[i] : more[i - n];

        if (c < ' ' || c > '~')
            return wio_stg_fail(WAITIO_ERR_ARG, "an operator is described by printable ASCII");
    }
    if (strcmp(name, "none") != 0 && n > 0)
        wio_stg_text(out, WIO_STG_OPERATOR, "%s%s%s", name, m > 0 ? " " : "", more);
    return 0;
}

int wio_stg_operator_ready(const struct wio_stg_operator *op, int type)
{
    int rc = 0;

    if (op->codec == NULL)
        return 0;
    rc = op->codec->fits(type);
    return rc == 0 ? op->codec->load() : rc;
}
