/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as text: what each component must call, and when. */
#include <string.h>

#include "coupler/calendar.h"
#include "coupling.h"

enum { MOST_LINES = 10 }; /* of a component's calls */

/* A list of names that begins with a word. */
struct names {
    const char *word;
    char text[900];
    size_t used, n;
};

static void add(struct names *list, const char *format, const char *name)
{
    char one[160];

    wio_cpl_text(one, sizeof one, format, name);
    wio_cpl_text(list->text + list->used, sizeof list->text - list->used, "%s%s",
                 list->n++ > 0 ? ", " : list->word, one);
    list->used += strlen(list->text + list->used);
}

static bool is_listed(const struct schedule *s, const struct wio_cpl_link *l)
{
    for (size_t i = 0; wio_cpl_conf_link(s->conf, i) != l; i++) {
        const struct wio_cpl_link *o = wio_cpl_conf_link(s->conf, i);

        if (strcmp(o->comp_put, l->comp_put) == 0 && strcmp(o->var_put, l->var_put) == 0)
            return true;
    }
    return false;
}

/* Does an earlier link of the same put say the same for that step? Then it is listed once. */
static bool is_repeated(const struct schedule *s, const struct wio_cpl_link *l, int64_t end)
{
    for (size_t i = 0; wio_cpl_conf_link(s->conf, i) != l; i++) {
        const struct wio_cpl_link *o = wio_cpl_conf_link(s->conf, i);

        if (strcmp(o->comp_put, l->comp_put) == 0 && strcmp(o->var_put, l->var_put) == 0 &&
            schedule_puts(s, o, end))
            return true;
    }
    return false;
}

/* What is got and put in a step: the rest of its line. */
struct calls {
    struct names gets, puts, means;
    char text[2800];
};

static void find_calls(const struct schedule *s, const struct member *m, int64_t at,
                       struct calls *c)
{
    *c = (struct calls){
        {.word = "  get "}, {.word = "  put "}, {.word = "  put for the interval "}, ""};
    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(s->conf, i);

        if (strcmp(l->comp_get, m->name) == 0 && schedule_gets(s, l, at))
            add(&c->gets, "%s", l->var_get);
        if (strcmp(l->comp_put, m->name) == 0 && schedule_puts(s, l, at + m->step) &&
            !is_repeated(s, l, at + m->step))
            add(l->reduce != WIO_CPL_LAST ? &c->means : &c->puts, "%s", l->var_put);
    }
    wio_cpl_text(c->text, sizeof c->text, "%s%s%s", c->gets.text, c->puts.text, c->means.text);
}

static void print_time(FILE *to, const struct schedule *s, int64_t at)
{
    char text[48];
    int t[6];

    if (s->conf->has_start) {
        memcpy(t, s->conf->start, sizeof t);
        if (wio_cpl_calendar_add(t, at) == 0) {
            fprintf(to, "    %04d-%02d-%02d %02d:%02d:%02d", t[0], t[1], t[2], t[3], t[4], t[5]);
            return;
        }
    }
    fprintf(to, "    %-12s", time_text(at, text));
}

static void print_alike(FILE *to, int64_t n, const char *what)
{
    if (n > 0)
        fprintf(to, "    ... %lld step%s %s\n", (long long)n, n > 1 ? "s" : "",
                what[0] != '\0' ? "more with the same calls" : "more without an exchange");
}

/* Steps with the calls of the step before are told together. */
static void print_steps(FILE *to, const struct schedule *s, const struct member *m)
{
    struct calls before = {.text = "none"}, now;
    int64_t alike = 0, at = 0;
    int lines = 0;

    for (; at < s->horizon && lines < MOST_LINES; at += m->step) {
        find_calls(s, m, at, &now);
        if (strcmp(now.text, before.text) == 0) {
            alike++;
            continue;
        }
        print_alike(to, alike, before.text);
        print_time(to, s, at);
        fprintf(to, "  set_time%s\n", now.text);
        before = now;
        alike = 0;
        lines++;
    }
    if (at >= s->horizon)
        print_alike(to, alike, before.text);
    fprintf(to, "    and so on\n");
}

static void print_before(FILE *to, const struct schedule *s, const struct member *m)
{
    struct names first = {.word = "  before the first step: put "};

    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(s->conf, i);

        if (strcmp(l->comp_put, m->name) == 0 && !wio_cpl_link_now(l) &&
            wio_cpl_link_shift(l) <= 0 && !is_listed(s, l))
            add(&first, "%s", l->var_put);
    }
    if (first.n > 0)
        fprintf(to, "%s\n", first.text);
}

static void print_way(FILE *to, const struct wio_cpl_link *l, bool puts)
{
    char interval[48];

    fprintf(to, "  %s %s %s %s", puts ? "puts" : "gets", puts ? l->var_put : l->var_get,
            puts ? "->" : "<-", puts ? l->comp_get : l->comp_put);
    if (strcmp(l->var_put, l->var_get) != 0)
        fprintf(to, " (%s)", puts ? l->var_get : l->var_put);
    if (wio_cpl_link_now(l) && l->interval == 0)
        fprintf(to, ": each put at once");
    else
        fprintf(to, ": every %s, %s, %s", time_text(l->interval, interval), reduction_text(l),
                wio_cpl_link_now(l) ? "at once"
                : l->lag < 0
                    ? "put in the interval before"
                    : "put in the same interval or later: the receiver runs after the sender");
    if (l->layers > 1)
        fprintf(to, ", %d layers", l->layers);
    fprintf(to, ", grid %s\n", puts ? l->grid_put : l->grid_get);
}

static void print_member(FILE *to, const struct schedule *s, const struct member *m)
{
    char step[48];

    fprintf(to, "\n%s", m->name);
    if (m->step > 0)
        fprintf(to, ": step %s%s", time_text(m->step, step),
                m->assumed ? " (assumed: give --step or step:)" : "");
    fprintf(to, "\n");
    for (size_t i = 0; i < s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(s->conf, i);

        if (strcmp(l->comp_put, m->name) == 0)
            print_way(to, l, true);
        if (strcmp(l->comp_get, m->name) == 0)
            print_way(to, l, false);
    }
    print_before(to, s, m);
    if (m->step > 0 && s->horizon > 0)
        print_steps(to, s, m);
}

static void print_faults(FILE *to, const struct wio_cpl_conf *conf)
{
    const struct wio_cpl_fault *all = conf->faults.at;

    for (size_t i = 0; i < conf->faults.n; i++)
        fprintf(to, "%s: %s\n", all[i].warning ? "warning" : "error", all[i].text);
}

void print_text(FILE *to, const struct schedule *s)
{
    const struct wio_cpl_fault *all = s->conf->faults.at;
    size_t errors = 0;

    print_faults(to, s->conf);
    for (size_t i = 0; i < s->conf->faults.n; i++)
        errors += !all[i].warning;
    fprintf(to, "%s: %zu component%s, %zu field%s, %zu error%s, %zu warning%s\n", s->conf->file,
            s->members.n, s->members.n == 1 ? "" : "s", s->conf->links.n,
            s->conf->links.n == 1 ? "" : "s", errors, errors == 1 ? "" : "s",
            s->conf->faults.n - errors, s->conf->faults.n - errors == 1 ? "" : "s");
    if (errors == 0)
        for (size_t i = 0; i < s->members.n; i++)
            print_member(to, s, schedule_member(s, i));
}

void print_keys(FILE *to)
{
    const struct wio_cpl_key *(*const formats[])(size_t) = {wio_cpl_yaml_key, wio_cpl_namelist_key};
    const struct wio_cpl_key *k;

    for (size_t f = 0; f < 2; f++) {
        const char *place = "";

        fprintf(to, "%s## %s\n", f > 0 ? "\n" : "", f == 0 ? "YAML" : "Namelists");
        for (size_t i = 0; (k = formats[f](i)) != NULL; i++) {
            if (strcmp(k->place, place) != 0)
                fprintf(to, "\n### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
                        k->place);
            place = k->place;
            fprintf(to, "| `%s` | %s | %s | %s |\n", k->name, k->value, k->usual, k->means);
        }
    }
}
