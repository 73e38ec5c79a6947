/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of a weight file. */
#include "plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupler/weights/picture.h"
#include "os/os.h"

struct targets {
    double *lon, *lat;
    int *mask;
};

/** Where the targets are: the file once more, for it is open by one reader at a time. */
static int read_targets(const char *file, struct targets *t, struct wio_weights_error *why)
{
    struct wio_table *table;
    struct wio_weight_file_facts facts;
    int error = wio_weight_file_open(file, &table, &facts, why);
    if (error != 0)
        return error;
    t->lon = wio_os_alloc(facts.targets * sizeof *t->lon);
    t->lat = wio_os_alloc(facts.targets * sizeof *t->lat);
    t->mask = wio_os_alloc(facts.targets * sizeof *t->mask);
    if (t->lon == NULL || t->lat == NULL || t->mask == NULL) {
        snprintf(why->text, sizeof why->text, "out of memory for '%s'", file);
        error = 1;
    }
    if (error == 0)
        error = wio_weight_file_targets(table, t->lon, t->lat, t->mask, why);
    wio_weight_file_close(table);
    return error;
}

static int write_picture(const char *out, const struct wio_picture *picture,
                         struct wio_weights_error *why)
{
    struct wio_os_stat there;
    if (wio_os_stat(out, &there) == 0 && !there.is_file) {
        snprintf(why->text, sizeof why->text, "'%s' is there and is no regular file", out);
        return 1;
    }
    FILE *to = fopen(out, "w");
    if (to == NULL) {
        snprintf(why->text, sizeof why->text, "cannot write '%s': %s", out, strerror(errno));
        return 1;
    }
    int error = wio_picture_write(to, picture, why);
    if (fclose(to) != 0 && error == 0) {
        snprintf(why->text, sizeof why->text, "cannot write '%s': %s", out, strerror(errno));
        error = 1;
    }
    if (error != 0)
        remove(out);
    return error;
}

int plot(const char *file, const char *out, struct wio_weights_error *why)
{
    struct wio_weights w;
    struct targets t = {NULL, NULL, NULL};
    size_t sources;
    int error = wio_weights_read(file, &w, &sources, why);
    if (error != 0)
        return error;
    error = read_targets(file, &t, why);
    if (error == 0) {
        const struct wio_picture picture = {.n = w.n_targets,
                                            .lon = t.lon,
                                            .lat = t.lat,
                                            .mask = t.mask,
                                            .method = w.method,
                                            .title = file};
        error = write_picture(out, &picture, why);
    }
    wio_os_free(t.lon);
    wio_os_free(t.lat);
    wio_os_free(t.mask);
    wio_weights_free(&w);
    return error;
}
