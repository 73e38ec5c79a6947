/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of the namelist that the old library did not have. */
#include "coupler/conf_keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_errors.h"

enum { WORDS = 3 };

/* Keys whose value is one of some words: their place in the list is the value. */
static const struct row {
    const char *key, *words[WORDS];
} rows[] = {
    {"type", {"real8", "real4", "int"}},
    {"masked", {"scale", "fill", "part"}},
    {"remap", {"auto", "send", "receive"}},
};

int wio_cpl_key_flag(const char *text, enum wio_cpl_reduce *reduce)
{
    static const char *const flags[] = {"SNP", "AVR", "ACC", "MIN", "MAX"};

    for (int i = 0; i < 5; i++)
        if (strcmp(text, flags[i]) == 0) {
            *reduce = (enum wio_cpl_reduce)i;
            return 0;
        }
    return WAITIO_ERR_CONFIG;
}

static int set_word(struct wio_cpl_link *link, const struct row *row, int i)
{
    if (row == &rows[0])
        link->type = (enum wio_cpl_type)i;
    else if (row == &rows[1])
        link->masked = (enum wio_cpl_masked)i;
    else
        link->side = (enum wio_cpl_side)i;
    return 0;
}

static int set_number(struct wio_cpl_link *link, const char *key, const char *text)
{
    char copy[64], *end = copy;
    double v;

    wio_cpl_text(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c != '\0'; c++) /* Fortran's exponents */
        if (*c == 'd' || *c == 'D')
            *c = 'e';
    errno = 0;
    v = strtod(copy, &end);
    if (errno != 0 || end == copy || *end != '\0' || !isfinite(v))
        return WAITIO_ERR_CONFIG;
    if (strcmp(key, "fill") == 0) {
        link->has_fill = true;
        link->fill = v;
        return 0;
    }
    if (v != floor(v) || fabs(v) > 1e12)
        return WAITIO_ERR_CONFIG;
    link->has_shift = true;
    link->shift = (int64_t)v;
    return 0;
}

static int set_text(char **to, const char *text)
{
    free(*to);
    *to = text[0] != '\0' ? wio_cpl_copy(text) : NULL;
    return text[0] != '\0' && *to == NULL ? WAITIO_ERR_NOMEM : 0;
}

/* Where the text of a key is kept; NULL: its value is no text. */
static char **text_of(struct wio_cpl_link *link, const char *key)
{
    if (strcmp(key, "bundle") == 0)
        return &link->bundle;
    return strcmp(key, "vector_with") == 0 ? &link->vector_with : NULL;
}

static int one_word(struct wio_cpl_link *link, const struct row *row, const char *text, bool quoted,
                    char *what, size_t room)
{
    for (int i = 0; i < WORDS && quoted; i++)
        if (strcmp(row->words[i], text) == 0)
            return set_word(link, row, i);
    wio_cpl_text(what, room, "= '%.30s' is none of '%s', '%s' and '%s'", text, row->words[0],
                 row->words[1], row->words[2]);
    return WAITIO_ERR_CONFIG;
}

int wio_cpl_key_set(struct wio_cpl_link *link, const struct wio_cpl_item *item, char *what,
                    size_t room)
{
    const char *text;
    char **to;
    bool quoted;

    if (item->n == 0 || (item->n == 1 && item->values[0].null))
        return 0;
    text = item->n == 1 ? item->values[0].text : "";
    quoted = item->n == 1 && item->values[0].quoted;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        if (strcmp(rows[r].key, item->key) == 0)
            return one_word(link, &rows[r], text, quoted, what, room);
    to = text_of(link, item->key);
    if (to != NULL) {
        wio_cpl_text(what, room, "must be one text in quotes");
        return quoted ? set_text(to, text) : WAITIO_ERR_CONFIG;
    }
    wio_cpl_text(what, room, "= %.30s is no %s", text,
                 strcmp(item->key, "fill") == 0 ? "number" : "whole number of seconds");
    return quoted ? WAITIO_ERR_CONFIG : set_number(link, item->key, text);
}
