/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as JSON. */
#include <string.h>

#include "coupling.h"

enum { MOST_STEPS = 100 };

static void put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(to, "\\u%04x", *c);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

/* @param key with all that stands before it */
static void put_key(FILE *to, const char *key, const char *text)
{
    fprintf(to, "%s\": ", key);
    put_text(to, text);
}

static void put_faults(FILE *to, const struct wio_cpl_conf *conf)
{
    const struct wio_cpl_fault *all = conf->faults.at;

    for (size_t i = 0; i < conf->faults.n; i++) {
        fprintf(to, "%s\n    {\"severity\": \"%s\", \"line\": %d, \"column\": %d, ",
                i > 0 ? "," : "", all[i].warning ? "warning" : "error", all[i].line, all[i].column);
        put_key(to, "\"text", all[i].text);
        fputc('}', to);
    }
}

static void put_fields(FILE *to, const struct schedule *s)
{
    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(s->conf, i);

        fprintf(to, "%s\n    {", i > 0 ? "," : "");
        put_key(to, "\"from", l->comp_put);
        put_key(to, ", \"to", l->comp_get);
        put_key(to, ", \"from_grid", l->grid_put);
        put_key(to, ", \"to_grid", l->grid_get);
        put_key(to, ", \"put", l->var_put);
        put_key(to, ", \"get", l->var_get);
        put_key(to, ", \"lag", lag_text(l));
        put_key(to, ", \"reduction", reduction_text(l));
        fprintf(to, ", \"interval\": %lld, \"layers\": %d, \"line\": %d}", (long long)l->interval,
                l->layers, l->line);
    }
}

/* The names that one call of a kind takes in a step, or before the first (at < 0). */
static void put_names(FILE *to, const struct schedule *s, const struct member *m, int64_t at,
                      bool gets)
{
    bool first = true;

    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(s->conf, i);
        bool due = gets     ? schedule_gets(s, l, at)
                   : at < 0 ? !wio_cpl_link_now(l) && wio_cpl_link_shift(l) <= 0
                            : schedule_puts(s, l, at + m->step);

        if (!due || strcmp(gets ? l->comp_get : l->comp_put, m->name) != 0)
            continue;
        fprintf(to, "%s", first ? "" : ", ");
        put_text(to, gets ? l->var_get : l->var_put);
        first = false;
    }
}

static void put_member(FILE *to, const struct schedule *s, const struct member *m)
{
    int64_t at = 0;

    fprintf(to, "\n    {");
    put_key(to, "\"name", m->name);
    fprintf(to, ", \"step\": %lld, \"step_assumed\": %s, \"put_before_first_step\": [",
            (long long)m->step, m->assumed ? "true" : "false");
    put_names(to, s, m, -1, false);
    fprintf(to, "],\n     \"steps\": [");
    for (int i = 0; m->step > 0 && at < s->horizon && i < MOST_STEPS; i++, at += m->step) {
        fprintf(to, "%s\n      {\"time\": %lld, \"get\": [", i > 0 ? "," : "", (long long)at);
        put_names(to, s, m, at, true);
        fprintf(to, "], \"put\": [");
        put_names(to, s, m, at, false);
        fprintf(to, "]}");
    }
    fprintf(to, "]}");
}

void print_json(FILE *to, const struct schedule *s)
{
    bool good = wio_cpl_conf_verdict(s->conf) == 0;

    fprintf(to, "{");
    put_key(to, "\"file", s->conf->file);
    fprintf(to, ", \"format\": \"%s\", \"ok\": %s,\n  \"faults\": [",
            s->conf->yaml ? "yaml" : "namelist", good ? "true" : "false");
    put_faults(to, s->conf);
    fprintf(to, "],\n  \"fields\": [");
    put_fields(to, s);
    fprintf(to, "],\n  \"components\": [");
    for (size_t i = 0; good && i < s->members.n; i++) {
        fprintf(to, "%s", i > 0 ? "," : "");
        put_member(to, s, schedule_member(s, i));
    }
    fprintf(to, "]}\n");
}
