/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader of namelists: one pass over the text, one item in memory. */
#include "coupler/namelist.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "waitio_errors.h"

enum { NAME = 64, MOST_REPEATS = 10000 };

struct reader {
    const char *at, *end, *file;
    int line;
    char group[NAME], key[NAME];
    int key_line;
    struct wio_cpl_list values; /* struct wio_cpl_value */
};

static int wrong(const struct reader *r, const char *what)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s:%d: %s%s%s%s", r->file, r->line, what,
                        r->group[0] != '\0' ? " (in group &" : "", r->group,
                        r->group[0] != '\0' ? ")" : "");
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static void next(struct reader *r)
{
    if (r->at < r->end && *r->at++ == '\n')
        r->line++;
}

static bool done(const struct reader *r)
{
    return r->at >= r->end;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Blanks, ends of lines and comments. */
static void skip(struct reader *r)
{
    while (!done(r) && (blank(peek(r)) || peek(r) == '!')) {
        if (peek(r) == '!') {
            while (!done(r) && peek(r) != '\n')
                next(r);
        } else {
            next(r);
        }
    }
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A name in lower case; "" if there is none. */
static int name(struct reader *r, char out[NAME])
{
    size_t n = 0;

    while (!done(r) && name_char(peek(r))) {
        if (n + 1 >= NAME)
            return wrong(r, "a name has more than 63 characters");
        out[n++] = (char)tolower((unsigned char)peek(r));
        next(r);
    }
    out[n] = '\0';
    return 0;
}

static void drop_values(struct reader *r)
{
    struct wio_cpl_value *v = r->values.at;

    for (size_t i = 0; i < r->values.n; i++)
        free(v[i].text);
    r->values.n = 0;
}

static int add(struct reader *r, const char *text, bool quoted, bool null)
{
    struct wio_cpl_value *v = wio_cpl_push(&r->values, sizeof *v);

    if (v == NULL)
        return WAITIO_ERR_NOMEM;
    v->quoted = quoted;
    v->null = null;
    v->text = wio_cpl_copy(text);
    return v->text == NULL ? WAITIO_ERR_NOMEM : 0;
}

/* A text in quotes, of any length, which may go over lines. */
static int quoted(struct reader *r, int times)
{
    char mark = peek(r), *text;
    size_t n = 0;
    int rc = 0, line = r->line;

    next(r);
    text = wio_cpl_new((size_t)(r->end - r->at) + 1, 1);
    if (text == NULL)
        return WAITIO_ERR_NOMEM;
    for (;;) {
        if (done(r)) {
            r->line = line;
            free(text);
            return wrong(r, "a text in quotes does not end");
        }
        if (peek(r) == mark) {
            next(r);
            if (peek(r) != mark)
                break;
        }
        text[n++] = peek(r);
        next(r);
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    if (strlen(text) != n)
        rc = wrong(r, "a text in quotes holds a zero byte");
    for (int i = 0; rc == 0 && i < times; i++)
        rc = add(r, text, true, false);
    free(text);
    return rc;
}

static bool ends_word(char c)
{
    return blank(c) || c == ',' || c == '/' || c == '!' || c == '=' || c == '&' || c == '$' ||
           c == '\'' || c == '"' || c == '\0';
}

static int value(struct reader *r, int times);

/* A number, a logical or a text without quotes; or how often the next value comes. */
static int word(struct reader *r, int times)
{
    char text[256];
    size_t n = 0;
    int rc = 0;

    while (!done(r) && !ends_word(peek(r)) && peek(r) != '*') {
        if (n + 1 >= sizeof text)
            return wrong(r, "a value has more than 255 characters");
        text[n++] = peek(r);
        next(r);
    }
    text[n] = '\0';
    if (n == 0)
        return wrong(r, "a value was expected");
    if (peek(r) == '*') {
        char *end;
        long many = strtol(text, &end, 10);

        if (*end != '\0' || many < 1 || many > MOST_REPEATS || times != 1)
            return wrong(r, "what stands before * is no number of repeats from 1 to 10000");
        next(r);
        return value(r, (int)many);
    }
    for (int i = 0; rc == 0 && i < times; i++)
        rc = add(r, text, false, false);
    return rc;
}

static int value(struct reader *r, int times)
{
    int rc = 0;

    if (peek(r) == '\'' || peek(r) == '"')
        return quoted(r, times);
    if (times > 1 && ends_word(peek(r))) { /* 3* alone: three null values */
        for (int i = 0; rc == 0 && i < times; i++)
            rc = add(r, "", false, true);
        return rc;
    }
    return word(r, times);
}

static bool at_end_of_group(const struct reader *r)
{
    return done(r) || peek(r) == '/' || peek(r) == '&' || peek(r) == '$';
}

/* Does a key and its = come next, and no value? */
static bool at_key(const struct reader *r)
{
    const char *c = r->at;

    if (c >= r->end || !isalpha((unsigned char)*c))
        return false;
    while (c < r->end && name_char(*c))
        c++;
    while (c < r->end && blank(*c))
        c++;
    return c < r->end && *c == '=';
}

static int values(struct reader *r)
{
    bool comma = true; /* a comma now would leave out a value */
    int rc = 0;

    for (skip(r); rc == 0 && !at_end_of_group(r) && !at_key(r); skip(r)) {
        if (peek(r) == ',') {
            if (comma)
                rc = add(r, "", false, true);
            comma = true;
            next(r);
        } else {
            comma = false;
            rc = value(r, 1);
        }
    }
    return rc;
}

static int item(struct reader *r, const struct wio_cpl_namelist_sink *sink, void *with)
{
    int rc = name(r, r->key);

    if (rc != 0)
        return rc;
    if (r->key[0] == '\0')
        return wrong(r, "a key was expected");
    r->key_line = r->line;
    skip(r);
    if (peek(r) != '=')
        return wrong(r, "= was expected after a key");
    next(r);
    rc = values(r);
    if (rc == 0) {
        struct wio_cpl_item found = {r->group, r->key, r->key_line, r->values.at, r->values.n};

        rc = sink->item(with, &found);
    }
    drop_values(r);
    return rc;
}

/* After the last item: / or &end. */
static int close_group(struct reader *r)
{
    char end[NAME];
    int rc;

    if (done(r))
        return wrong(r, "the file ends within a group: / or &end is missing");
    if (peek(r) == '/') {
        next(r);
        return 0;
    }
    next(r);
    rc = name(r, end);
    if (rc == 0 && strcmp(end, "end") != 0)
        rc = wrong(r, "a group begins within a group: / or &end is missing");
    return rc;
}

static int group(struct reader *r, const struct wio_cpl_namelist_sink *sink, void *with)
{
    int rc = name(r, r->group);

    if (rc != 0)
        return rc;
    if (r->group[0] == '\0')
        return 0; /* an & that begins no group */
    rc = sink->begin(with, r->group, r->line);
    for (skip(r); rc == 0 && !at_end_of_group(r); skip(r)) {
        if (peek(r) == ',')
            next(r);
        else
            rc = item(r, sink, with);
    }
    if (rc == 0)
        rc = close_group(r);
    if (rc == 0)
        rc = sink->end(with, r->group, r->line);
    r->group[0] = '\0';
    return rc;
}

int wio_cpl_namelist(const char *text, size_t bytes, const char *file,
                     const struct wio_cpl_namelist_sink *sink, void *with)
{
    struct reader r = {.at = text, .end = text + bytes, .file = file, .line = 1};
    int rc = 0;

    for (skip(&r); rc == 0 && !done(&r); skip(&r)) {
        char c = peek(&r);

        next(&r);
        if (c == '&' || c == '$')
            rc = group(&r, sink, with);
    }
    drop_values(&r);
    wio_cpl_list_free(&r.values);
    return rc;
}
