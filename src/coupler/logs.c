/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs of calls and messages, and the configuration as it was read. */
#include "coupler/logs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

enum wio_cpl_files wio_cpl_files_wanted(const struct waitio_cpl *cpl)
{
    static const char *const words[] = {"none", "asked", "all"};
    const char *text = getenv("WAITIO_CPL_FILES"); /* joining has refused other words */

    for (int i = 0; text != NULL && i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            return (enum wio_cpl_files)(i - 1);
    return cpl->conf.files;
}

static FILE *open_file(const char *name)
{
    FILE *out = fopen(name, "w");

    if (out == NULL) {
        (void)fprintf(stderr, "waitio coupler: the file '%s' cannot be written: ", name);
        perror(NULL);
    } else
        (void)setvbuf(out, NULL, _IOLBF, 0); /* whole lines, however the run ends */
    return out;
}

FILE *wio_cpl_logs_file(const struct waitio_cpl *cpl, const char *prefix, const char *suffix,
                        bool process)
{
    char component[NAME_MAX], name[PATH_MAX], number[16] = "";

    wio_cpl_text(component, sizeof component, "%s", cpl->components[cpl->mine].name);
    for (char *c = component; *c != '\0'; c++)
        if (*c == '/')
            *c = '_';
    if (process)
        wio_cpl_text(number, sizeof number, "%05d", cpl->rank);
    wio_cpl_text(name, sizeof name, "%s%s%s%s", prefix, component, suffix, number);
    return open_file(name);
}

void wio_cpl_logs_open(struct waitio_cpl *cpl)
{
    struct wio_cpl_logs *l = &cpl->logs;

    if (l->files == WIO_CPL_FILES_NONE)
        return;
    l->loud = cpl->conf.log == WIO_CPL_LOUD;
    if (cpl->conf.log != WIO_CPL_SILENT)
        l->calls = wio_cpl_logs_file(cpl, "h3ou.", ".log.PE", true);
    if (cpl->conf.debug)
        l->messages = wio_cpl_logs_file(cpl, "jcup.", ".coupling.log.PE", true);
    if (l->calls == NULL)
        return;
    wio_cpl_log(cpl, "open: component '%s', process %d of %d; configuration %s",
                cpl->components[cpl->mine].name, cpl->rank, cpl->components[cpl->mine].n,
                cpl->conf.file);
    for (int c = 0; c < cpl->n_components; c++)
        wio_cpl_log(cpl, "open: component %d is '%s', processes: %d", c + 1,
                    cpl->components[c].name, cpl->components[c].n);
}

static void close_file(FILE **file, const char *what)
{
    if (*file != NULL && fclose(*file) != 0)
        (void)fprintf(stderr, "waitio coupler: %s cannot be written to the end\n", what);
    *file = NULL;
}

void wio_cpl_logs_close(struct waitio_cpl *cpl)
{
    close_file(&cpl->logs.calls, "the log of the calls");
    close_file(&cpl->logs.messages, "the log of the messages");
}

void wio_cpl_log(const struct waitio_cpl *cpl, const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(cpl->logs.calls, "%12lld s  %s\n", (long long)cpl->clock.now, text);
}

void wio_cpl_log_field(const struct waitio_cpl *cpl, const char *name, size_t points, size_t layers,
                       int fresh)
{
    if (cpl->logs.calls == NULL || !cpl->logs.loud)
        return;
    wio_cpl_log(cpl, "%s '%s': points: %zu, layers: %zu%s", fresh < 0 ? "put" : "get", name, points,
                layers, fresh == 0 ? ", nothing new" : "");
}

void wio_cpl_log_message(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int peer,
                         size_t numbers, int64_t stamp)
{
    struct wio_cpl_var *const *vars = b->vars.at;

    (void)fprintf(cpl->logs.messages, "%12lld s  %s '%s'", (long long)cpl->clock.now,
                  b->sends ? "sends" : "takes", vars[0]->name);
    if (b->vars.n > 1)
        (void)fprintf(cpl->logs.messages, " and %zu more", b->vars.n - 1);
    (void)fprintf(cpl->logs.messages, " of %lld s %s %s: %zu numbers\n", (long long)stamp,
                  b->sends ? "to" : "from", wio_cpl_who(cpl, peer), numbers);
}

/* ---- the configuration ------------------------------------------------------------------------
 */

static void write_all(const struct waitio_cpl *cpl)
{
    struct wio_cpl_list text = {NULL, 0, 0};
    FILE *out = open_file("jcup.coupling.conf.log");

    if (out == NULL)
        return;
    (void)fprintf(out, "# %s, as it was read\n", cpl->conf.file);
    if (wio_cpl_conf_write(&cpl->conf, &text) == 0)
        (void)fwrite(text.at, 1, text.n, out);
    wio_cpl_list_free(&text);
    close_file(&out, "jcup.coupling.conf.log");
}

static void write_var(FILE *out, const struct wio_cpl_var *v)
{
    static const char *const reductions[] = {"snapshot", "average", "accumulate", "min", "max"};
    static const char *const types[] = {"real8", "real4", "int"};
    const struct wio_cpl_link *l = v->link;

    if (v->bundle->sends)
        (void)fprintf(out, "puts '%s' on '%s' for component '%s', which gets it as '%s' on '%s'",
                      l->var_put, l->grid_put, l->comp_get, l->var_get, l->grid_get);
    else
        (void)fprintf(out, "gets '%s' on '%s' from component '%s', which puts it as '%s' on '%s'",
                      l->var_get, l->grid_get, l->comp_put, l->var_put, l->grid_put);
    if (wio_cpl_link_now(l))
        (void)fprintf(out, ": at once");
    else
        (void)fprintf(out, ": every %lld s, what was put up to %lld s after the receiver's step",
                      (long long)l->interval, (long long)wio_cpl_link_shift(l));
    (void)fprintf(out, "; %s, %s, layers: %d, table %d, remapped by the %s\n",
                  reductions[l->reduce], types[l->type], l->layers, v->bundle->table->tag,
                  v->bundle->ahead ? "sender" : "receiver");
}

static void write_own(const struct waitio_cpl *cpl)
{
    FILE *out = wio_cpl_logs_file(cpl, "jcup.", ".conf.log", false);

    if (out == NULL)
        return;
    (void)fprintf(out, "component '%s', processes: %d\n", cpl->components[cpl->mine].name,
                  cpl->components[cpl->mine].n);
    for (size_t i = 0; i < cpl->grids.n; i++)
        (void)fprintf(out, "grid '%s'\n", ((struct wio_cpl_grid **)cpl->grids.at)[i]->name);
    for (size_t i = 0; i < cpl->vars.n; i++)
        write_var(out, ((struct wio_cpl_var **)cpl->vars.at)[i]);
    close_file(&out, "the file of the component's configuration");
}

void wio_cpl_logs_conf(const struct waitio_cpl *cpl)
{
    if (cpl->logs.files != WIO_CPL_FILES_ALL)
        return;
    if (cpl->me == 0)
        write_all(cpl);
    if (cpl->rank == 0)
        write_own(cpl);
}
