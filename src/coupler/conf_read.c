/* SPDX-License-Identifier: BSD-3-Clause */
/* A file: its bytes, and which format it is in. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

enum { MOST_BYTES = 64 << 20 };

static int read_all(FILE *in, const char *file, struct wio_cpl_list *text)
{
    char part[4096];
    size_t n;

    while ((n = fread(part, 1, sizeof part, in)) > 0) {
        if (text->n + n > MOST_BYTES)
            return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s has more than %d bytes", file, MOST_BYTES);
        for (size_t i = 0; i < n; i++) {
            char *c = wio_cpl_push(text, 1);

            if (c == NULL)
                return WAITIO_ERR_NOMEM;
            *c = part[i];
        }
    }
    return ferror(in)
               ? wio_cpl_fail(WAITIO_ERR_SYSTEM, "%s cannot be read: %s", file, strerror(errno))
               : 0;
}

static bool ends_with(const char *file, const char *end)
{
    size_t n = strlen(file), m = strlen(end);

    return n >= m && strcmp(file + n - m, end) == 0;
}

/* Does a line begin with a word that begins no line of namelists? */
static bool looks_like_yaml(const char *text, size_t bytes)
{
    static const char *const words[] = {"couplings:", "components:"};

    for (size_t at = 0; at < bytes;) {
        const char *line = text + at, *end = memchr(line, '\n', bytes - at);

        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (bytes - at >= strlen(words[i]) && memcmp(line, words[i], strlen(words[i])) == 0)
                return true;
        at = end != NULL ? (size_t)(end - text) + 1 : bytes;
    }
    return false;
}

static int read_text(const char *text, size_t bytes, const char *file, struct wio_cpl_conf *conf)
{
    if (ends_with(file, ".yaml") || ends_with(file, ".yml") || looks_like_yaml(text, bytes))
        return wio_cpl_conf_yaml(text, bytes, file, conf);
    return wio_cpl_conf_namelist(text, bytes, file, conf);
}

int wio_cpl_conf_read(const char *file, struct wio_cpl_conf *conf)
{
    struct wio_cpl_list text = {NULL, 0, 0};
    FILE *in = fopen(file, "r");
    int rc;

    *conf = (struct wio_cpl_conf){.file = NULL};
    if (in == NULL)
        return wio_cpl_fail(WAITIO_ERR_SYSTEM, "the configuration %s cannot be opened: %s", file,
                            strerror(errno));
    rc = read_all(in, file, &text);
    (void)fclose(in);
    if (rc == 0)
        rc = read_text(text.at != NULL ? text.at : "", text.n, file, conf);
    wio_cpl_list_free(&text);
    return rc;
}
