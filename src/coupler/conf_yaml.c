/* SPDX-License-Identifier: BSD-3-Clause */
/* The YAML format: what its keys mean. A key is a row of a table, from which the reference in
 * docs/guide/coupler-config.md is made, too. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/calendar.h"
#include "coupler/conf.h"
#include "coupler/conf_values.h"
#include "waitio_errors.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

typedef struct wio_cpl_yaml_reading Reading;
typedef struct wio_cpl_node Node;

/* What a coupling says for all its fields, and a field for itself. */
struct settings {
    int64_t interval;
    int lag, layers, tag, table;
    int reduction, type, masked, side; /* as in struct wio_cpl_link */
    bool vector, has_offset, has_fill;
    int64_t offset;
    double fill;
    const char *bundle; /* a part of the tree */
    struct wio_cpl_statistic statistic;
};
enum { MOST_LAG = 1000000 };

struct coupling {
    struct settings usual; /* first, so that rows of settings suit both */
    char *from, *to, *grid_put, *grid_get;
    char *weight_file, *weight_method; /* at most one, else NULL */
    const Node *fields;
    bool bad; /* it had faults */
};

struct field {
    struct settings own; /* first */
    char *name, *from, *to, *vector_with;
};

/* ---- settings of couplings and fields ---------------------------------------------------------
 */

static int read_interval(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_duration(r, v, &((struct settings *)target)->interval);
}

/* A word, or any whole number. */
static int read_lag(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"parallel", "now", "serial"};
    int *lag = &((struct settings *)target)->lag, found = 0, rc;
    bool number = v->kind == WIO_CPL_SCALAR && strspn(v->text, "+-0123456789") > 0;

    if (number)
        return wio_cpl_yaml_int(r, v, -MOST_LAG, MOST_LAG, lag);
    rc = wio_cpl_yaml_word(r, v, words, COUNT(words), &found);
    *lag = found - 1;
    return rc;
}

static int read_offset(Reading *r, const Node *v, void *target)
{
    struct settings *s = target;

    s->has_offset = true;
    return wio_cpl_yaml_offset(r, v, &s->offset);
}

static int read_reduction(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"snapshot", "average", "accumulate", "min", "max"};

    return wio_cpl_yaml_word(r, v, words, COUNT(words), &((struct settings *)target)->reduction);
}

static int read_type(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"real8", "real4", "int"};

    return wio_cpl_yaml_word(r, v, words, COUNT(words), &((struct settings *)target)->type);
}

static int read_masked(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"scale", "fill", "part"};

    return wio_cpl_yaml_word(r, v, words, COUNT(words), &((struct settings *)target)->masked);
}

static int read_remap(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"auto", "sender", "receiver"};

    return wio_cpl_yaml_word(r, v, words, COUNT(words), &((struct settings *)target)->side);
}

static int read_fill(Reading *r, const Node *v, void *target)
{
    struct settings *s = target;

    s->has_fill = true;
    return wio_cpl_yaml_number(r, v, &s->fill);
}

static int read_bundle(Reading *r, const Node *v, void *target)
{
    if (v->kind != WIO_CPL_SCALAR || v->text[0] == '\0')
        return wio_cpl_yaml_wrong(r, v, "bundle must be a name");
    ((struct settings *)target)->bundle = v->text;
    return 0;
}

static int read_ensemble(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_statistic *s = &((struct settings *)target)->statistic;

    if (v->kind == WIO_CPL_SCALAR && wio_cpl_statistic_read(v->text, s))
        return 0;
    return wio_cpl_yaml_wrong(r, v,
                              "ensemble must be mean, spread, min, max, median or a quantile like "
                              "q0.9");
}

static int read_layers(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_int(r, v, 1, INT_MAX / 2, &((struct settings *)target)->layers);
}

static int read_vector(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_bool(r, v, &((struct settings *)target)->vector);
}

static int read_tag(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_int(r, v, INT_MIN, INT_MAX - WIO_CPL_VECTOR_TAG - 1,
                            &((struct settings *)target)->tag);
}

static int read_table(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_int(r, v, 1, INT_MAX, &((struct settings *)target)->table);
}

#define SETTINGS(place)                                                                            \
    {{place, "interval", "time", "needed, unless lag is now",                                      \
      "time between two exchanges: whole seconds, or with units as 30min, 3h, 1d12h"},             \
     read_interval},                                                                               \
        {{place, "lag", "parallel, now, serial, whole number", "parallel",                         \
          "parallel (-1): at the start of an interval the receiver gets what was put up to then. " \
          "serial (1): it gets what is put at the interval's end, so it runs after the sender. "   \
          "now (0): each put is sent at once. Other numbers are as many intervals earlier or "     \
          "later"},                                                                                \
         read_lag},                                                                                \
        {{place, "offset", "time", "as lag says",                                                  \
          "instead of lag: the step that begins at T gets what was put up to T + offset; may be "  \
          "below 0"},                                                                              \
         read_offset},                                                                             \
        {{place, "reduction", "snapshot, average, accumulate, min, max", "snapshot",               \
          "what of an interval's puts is sent: the last, their mean weighted by the steps, their " \
          "sum, the least, the greatest"},                                                         \
         read_reduction},                                                                          \
        {{place, "layers", "whole number", "1", "layers of the arrays"}, read_layers},             \
        {{place, "type", "real8, real4, int", "real8", "the numbers of the programs' arrays"},     \
         read_type},                                                                               \
        {{place, "vector", "yes, no", "no",                                                        \
          "are layers 1..L and L+1..2L the two components of vectors, to be turned by the "        \
          "table?"},                                                                               \
         read_vector},                                                                             \
        {{place, "fill", "number", "2147483647",                                                   \
          "the value of points without entries; puts of this value count nothing"},                \
         read_fill},                                                                               \
        {{place, "masked", "scale, fill, part", "scale",                                           \
          "a point some of whose sources are masked gets the sum of the others scaled as if all "  \
          "were there, the fill value, or the sum of the others as it is"},                        \
         read_masked},                                                                             \
        {{place, "remap", "auto, sender, receiver", "auto",                                        \
          "which side remaps: that where less travels, the sender where it can, the receiver"},    \
         read_remap},                                                                              \
        {{place, "bundle", "name", "alone",                                                        \
          "with lag now: fields of one name travel in one message"},                               \
         read_bundle},                                                                             \
        {{place, "ensemble", "mean, spread, min, max, median, q0.9", "mean, or none",              \
          "what a receiver makes of the members of an ensemble that puts: also any quantile from " \
          "q0 to q1. Not needed from member to member, nor for the mean by a single receiver"},    \
         read_ensemble},                                                                           \
        {{place, "tag", "whole number", "0",                                                       \
          "a number that the program's own remapping function hears of"},                          \
         read_tag},                                                                                \
    {                                                                                              \
        {place, "table", "whole number", "the only one",                                           \
         "which of several tables between the two grids (the tag of its definition)"},             \
            read_table                                                                             \
    }

/* Keys whose meaning the coupler does not have yet: refused by name, so that nobody relies on them.
 */
static int not_yet(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_wrong(r, v, "%s: the coupler cannot do this yet; take the key out", r->key);
}

/* ---- fields -----------------------------------------------------------------------------------
 */

static int field_name(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct field *)target)->name);
}

static int field_from(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct field *)target)->from);
}

static int field_to(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct field *)target)->to);
}

static int field_vector_with(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct field *)target)->vector_with);
}

static const struct wio_cpl_row FIELD[] = {
    {{"a field", "name", "name", "needed, or from and to", "its name on both sides"}, field_name},
    {{"a field", "from", "name", "needed, or name", "its name where it is put"}, field_from},
    {{"a field", "to", "name", "needed, or name", "its name where it is got"}, field_to},
    {{"a field", "vector_with", "name", "none",
      "it is the first component of a vector, whose second is the field of this name (where it is "
      "got): the table turns both together"},
     field_vector_with},
    SETTINGS("a field"),
};

static int check_settings(Reading *r, const Node *at, const struct settings *s)
{
    bool now = s->lag == WIO_CPL_LAG_NOW && !s->has_offset;

    if (!now && s->interval == 0)
        return wio_cpl_yaml_wrong(r, at,
                                  "this field needs interval, the time between two "
                                  "exchanges, in itself or in its coupling");
    if (now && s->reduction != WIO_CPL_LAST)
        return wio_cpl_yaml_wrong(r, at,
                                  "this field asks for one of several puts, but each is sent at "
                                  "once (lag: now); take snapshot");
    if (s->vector && s->layers % 2 != 0)
        return wio_cpl_yaml_wrong(r, at,
                                  "this field is a vector and so needs an even number of layers, "
                                  "not %d",
                                  s->layers);
    if (!s->vector && s->tag > WIO_CPL_VECTOR_TAG)
        return wio_cpl_yaml_wrong(r, at,
                                  "tag: %d is above %d, which means vectors in namelists; here, "
                                  "write vector: yes",
                                  s->tag, WIO_CPL_VECTOR_TAG);
    if (s->vector && s->tag < 0)
        return wio_cpl_yaml_wrong(r, at, "tag: %d of a vector is below 0", s->tag);
    return 0;
}

static int copies(struct wio_cpl_link *l, const struct coupling *c, const struct field *f)
{
    l->comp_put = wio_cpl_copy(c->from);
    l->comp_get = wio_cpl_copy(c->to);
    l->grid_put = wio_cpl_copy(c->grid_put);
    l->grid_get = wio_cpl_copy(c->grid_get);
    l->var_put = wio_cpl_copy(f->from != NULL ? f->from : f->name);
    l->var_get = wio_cpl_copy(f->to != NULL ? f->to : f->name);
    if ((c->weight_file != NULL && (l->weight_file = wio_cpl_copy(c->weight_file)) == NULL) ||
        (c->weight_method != NULL && (l->weight_method = wio_cpl_copy(c->weight_method)) == NULL))
        return WAITIO_ERR_NOMEM;
    if (f->vector_with != NULL && (l->vector_with = wio_cpl_copy(f->vector_with)) == NULL)
        return WAITIO_ERR_NOMEM;
    return l->comp_put == NULL || l->comp_get == NULL || l->grid_put == NULL ||
                   l->grid_get == NULL || l->var_put == NULL || l->var_get == NULL
               ? WAITIO_ERR_NOMEM
               : 0;
}

static int add_link(Reading *r, const Node *at, const struct coupling *c, const struct field *f)
{
    const struct settings *s = &f->own;
    struct wio_cpl_link *l = wio_cpl_push(&r->conf->links, sizeof *l);

    if (l == NULL)
        return WAITIO_ERR_NOMEM;
    l->interval = s->interval;
    l->lag = s->lag;
    l->has_shift = s->has_offset;
    l->shift = s->offset;
    l->reduce = (enum wio_cpl_reduce)s->reduction;
    l->type = (enum wio_cpl_type)s->type;
    l->masked = (enum wio_cpl_masked)s->masked;
    l->side = (enum wio_cpl_side)s->side;
    l->has_fill = s->has_fill;
    l->fill = s->fill;
    if (s->bundle != NULL && (l->bundle = wio_cpl_copy(s->bundle)) == NULL)
        return WAITIO_ERR_NOMEM;
    l->layers = s->layers;
    l->tag = s->vector ? s->tag + WIO_CPL_VECTOR_TAG + 1 : s->tag;
    l->mapping_tag = s->table;
    l->statistic = s->statistic;
    l->line = at->line;
    return copies(l, c, f);
}

static int check_field(Reading *r, const Node *at, const struct field *f)
{
    if (f->name != NULL && (f->from != NULL || f->to != NULL))
        return wio_cpl_yaml_wrong(r, at,
                                  "this field has a name, which is for both sides, and from "
                                  "or to; give the name, or the two");
    if (f->name == NULL && (f->from == NULL || f->to == NULL))
        return wio_cpl_yaml_wrong(r, at, "this field needs a name, or from and to");
    return check_settings(r, at, &f->own);
}

/* A field: keys, or its name alone. */
static int read_field(Reading *r, const Node *at, const struct coupling *c)
{
    struct field f = {.own = c->usual};
    int rc;

    r->bad = false;
    r->key = "fields";
    rc = at->kind == WIO_CPL_SCALAR ? wio_cpl_yaml_text(r, at, &f.name)
                                    : wio_cpl_yaml_map(r, at, FIELD, COUNT(FIELD), "a field", &f);
    if (rc == 0 && !r->bad && !c->bad)
        rc = check_field(r, at, &f);
    if (rc == 0 && !r->bad && !c->bad)
        rc = add_link(r, at, c, &f);
    r->conf->broken |= r->bad;
    free(f.name);
    free(f.from);
    free(f.to);
    free(f.vector_with);
    return rc;
}

/* ---- couplings --------------------------------------------------------------------------------
 */

static int coupling_from(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct coupling *)target)->from);
}

static int coupling_to(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct coupling *)target)->to);
}

static int coupling_from_grid(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct coupling *)target)->grid_put);
}

static int coupling_to_grid(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_text(r, v, &((struct coupling *)target)->grid_get);
}

static const char two_weights[] =
    "weight_method says how to make the weights that weight_file holds: give one of the two";

static int coupling_weight_file(Reading *r, const Node *v, void *target)
{
    struct coupling *c = target;

    if (c->weight_method != NULL)
        return wio_cpl_yaml_wrong(r, v, "%s", two_weights);
    return wio_cpl_yaml_text(r, v, &c->weight_file);
}

static int coupling_weight_method(Reading *r, const Node *v, void *target)
{
    struct coupling *c = target;
    char why[512];
    int rc;

    if (c->weight_file != NULL)
        return wio_cpl_yaml_wrong(r, v, "%s", two_weights);
    rc = wio_cpl_yaml_text(r, v, &c->weight_method);
    if (rc != 0 || c->weight_method == NULL ||
        wio_cpl_conf_is_method(c->weight_method, why, sizeof why))
        return rc;
    return wio_cpl_yaml_wrong(r, v, "weight_method: %.100s: %s", c->weight_method, why);
}

static int coupling_fields(Reading *r, const Node *v, void *target)
{
    if (v->kind != WIO_CPL_SEQUENCE || v->child == NULL)
        return wio_cpl_yaml_wrong(r, v, "fields must be a list with one field or more");
    ((struct coupling *)target)->fields = v;
    return 0;
}

static const struct wio_cpl_row COUPLING[] = {
    {{"a coupling", "weight_file", "name", "the programs give the table",
      "a netCDF file of ESMF or SCRIP weights that is the table"},
     coupling_weight_file},
    {{"a coupling", "weight_method", "text", "the programs give the table",
      "how the coupler makes the table at the start, as `waitio cpl weights --method` has it"},
     coupling_weight_method},
    {{"a coupling", "from", "name", "needed", "the component that puts"}, coupling_from},
    {{"a coupling", "to", "name", "needed", "the component that gets"}, coupling_to},
    {{"a coupling", "from_grid", "name", "the only grid of from",
      "the grid of the fields where they are put"},
     coupling_from_grid},
    {{"a coupling", "to_grid", "name", "the only grid of to",
      "the grid of the fields where they are got"},
     coupling_to_grid},
    {{"a coupling", "fields", "list", "needed",
      "the fields that go this way: names, or maps with the keys below"},
     coupling_fields},
    SETTINGS("a coupling"),
};

/* A grid that is not named is the only one of its component. */
static int only_grid(Reading *r, const Node *at, const char *component, const char *key,
                     char **grid)
{
    const struct wio_cpl_part *part = wio_cpl_conf_find(r->conf, component);

    if (*grid != NULL)
        return 0;
    if (part == NULL || part->grids.n != 1)
        return wio_cpl_yaml_wrong(
            r, at, "this coupling needs %s: component '%s' %s in components", key, component,
            part != NULL && part->grids.n > 1 ? "has several grids" : "has no grid");
    *grid = wio_cpl_copy(((char **)part->grids.at)[0]);
    return *grid == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int complete(Reading *r, const Node *at, struct coupling *c, bool bad)
{
    int rc;

    if (c->from == NULL || c->to == NULL || c->fields == NULL)
        return bad ? 0 : wio_cpl_yaml_wrong(r, at, "this coupling needs from, to and fields");
    if (strcmp(c->from, c->to) == 0)
        return wio_cpl_yaml_wrong(r, at, "this coupling couples component '%s' with itself",
                                  c->from);
    rc = only_grid(r, at, c->from, "from_grid", &c->grid_put);
    return rc == 0 ? only_grid(r, at, c->to, "to_grid", &c->grid_get) : rc;
}

static int read_coupling(Reading *r, const Node *at)
{
    struct coupling c = {.usual = {.lag = WIO_CPL_LAG_PARALLEL, .layers = 1}};
    const Node *f;
    int rc;

    r->bad = false;
    rc = wio_cpl_yaml_map(r, at, COUPLING, COUNT(COUPLING), "a coupling", &c);
    if (rc == 0)
        rc = complete(r, at, &c, r->bad);
    r->conf->broken |= r->bad;
    /* With a wrong setting the fields are read for their own faults. */
    c.bad = r->bad;
    f = c.from != NULL && c.to != NULL && c.fields != NULL ? c.fields->child : NULL;
    for (; rc == 0 && f != NULL && c.grid_put != NULL && c.grid_get != NULL; f = f->next)
        rc = read_field(r, f, &c);
    free(c.from);
    free(c.to);
    free(c.grid_put);
    free(c.grid_get);
    free(c.weight_file);
    free(c.weight_method);
    return rc;
}

/* ---- components -------------------------------------------------------------------------------
 */

static int part_step(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_duration(r, v, &((struct wio_cpl_part *)target)->step);
}

static int part_processes(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_int(r, v, 1, INT_MAX, &((struct wio_cpl_part *)target)->processes);
}

static int part_on_failure(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"end", "go on"};
    int found = 0, rc = wio_cpl_yaml_word(r, v, words, COUNT(words), &found);

    ((struct wio_cpl_part *)target)->may_fail = found == 1;
    return rc;
}

static int part_rejoin(Reading *r, const Node *v, void *target)
{
    return wio_cpl_yaml_bool(r, v, &((struct wio_cpl_part *)target)->rejoin);
}

static int part_grids(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_part *part = target;

    part->has_grids = true;
    return wio_cpl_yaml_texts(r, v, &part->grids);
}

static int part_puts(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_part *part = target;

    part->has_puts = true;
    return wio_cpl_yaml_texts(r, v, &part->puts);
}

static int part_gets(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_part *part = target;

    part->has_gets = true;
    return wio_cpl_yaml_texts(r, v, &part->gets);
}

static const struct wio_cpl_row PART[] = {
    {{"a component", "rejoin", "yes, no", "no",
      "when it dies or fails: the others wait until it was started again, and go on with it. Needs "
      "restart.interval; not for couplings with lag 0, nor together with on_failure: go on"},
     part_rejoin},
    {{"a component", "step", "time", "any",
      "its time step: a step of another length is an error, and so is an interval that is no "
      "multiple of it"},
     part_step},
    {{"a component", "processes", "whole number", "any",
      "how many processes it has: another number is an error"},
     part_processes},
    {{"a component", "on_failure", "end, go on", "end",
      "when it fails: all end, or the others go on without it. What stands here of an ensemble "
      "holds for all its members"},
     part_on_failure},
    {{"a component", "grids", "list of names", "any",
      "its grids: a coupling that names another one is an error, and one that names none means "
      "the only one"},
     part_grids},
    {{"a component", "puts", "list of names", "any",
      "the fields that it can put: a coupling that takes another one from it is an error; `waitio "
      "cpl check` names those that nobody gets"},
     part_puts},
    {{"a component", "gets", "list of names", "any",
      "the fields that it needs: each must come from a coupling, and no other may"},
     part_gets},
};

/* A key without a value. */
static bool is_nothing(const Node *v)
{
    return v->kind == WIO_CPL_SCALAR && v->text[0] == '\0' && !v->quoted;
}

static int read_part(Reading *r, const Node *key)
{
    struct wio_cpl_part *part;

    if (key->text[0] == '\0')
        return wio_cpl_yaml_wrong(r, key, "a component needs a name");
    if (wio_cpl_conf_find(r->conf, key->text) != NULL)
        return wio_cpl_yaml_wrong(r, key, "component '%s' is defined twice", key->text);
    part = wio_cpl_push(&r->conf->parts, sizeof *part);
    if (part == NULL)
        return WAITIO_ERR_NOMEM;
    part->line = key->line;
    part->name = wio_cpl_copy(key->text);
    if (part->name == NULL) {
        r->conf->parts.n--;
        return WAITIO_ERR_NOMEM;
    }
    if (is_nothing(key->value))
        return 0; /* "ocean:" says that there is one */
    return wio_cpl_yaml_map(r, key->value, PART, COUNT(PART), "a component", part);
}

static int read_components(Reading *r, const Node *v, void *target)
{
    int rc = 0;

    (void)target;
    if (v->kind != WIO_CPL_MAP)
        return wio_cpl_yaml_wrong(r, v,
                                  "components must be names with what belongs to them: "
                                  "write {ocean: {step: 1h}}");
    for (const Node *k = v->child; rc == 0 && k != NULL; k = k->next)
        rc = read_part(r, k);
    return rc;
}

/* ---- the whole file ---------------------------------------------------------------------------
 */

static int calendar_start(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_conf *conf = r->conf;

    (void)target;
    conf->has_start = true;
    return wio_cpl_yaml_date(r, v, conf->start);
}

static int calendar_stop(Reading *r, const Node *v, void *target)
{
    (void)r;
    *(const Node **)target = v;
    return 0;
}

static int calendar_length(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_duration(r, v, &r->conf->length);
}

static const struct wio_cpl_row CALENDAR[] = {
    {{"calendar", "start", "date", "none", "the date of the first step's beginning"},
     calendar_start},
    {{"calendar", "stop", "date", "none",
      "the date of the run's end; a step beyond it is an error. Needs start"},
     calendar_stop},
    {{"calendar", "length", "time", "none", "the length of the run, instead of stop"},
     calendar_length},
};

static int read_calendar(Reading *r, const Node *v, void *target)
{
    struct wio_cpl_conf *conf = r->conf;
    const Node *stop = NULL;
    bool before = r->bad;
    int date[6], rc;

    (void)target;
    r->bad = false;
    rc = wio_cpl_yaml_map(r, v, CALENDAR, COUNT(CALENDAR), "calendar", &stop);
    if (rc == 0 && !r->bad && stop != NULL) {
        r->key = "stop";
        if (!conf->has_start || conf->length != 0)
            rc = wio_cpl_yaml_wrong(r, stop, "stop needs start beside it, and no length");
        else
            rc = wio_cpl_yaml_date(r, stop, date);
        if (rc == 0 && !r->bad) {
            conf->length = wio_cpl_calendar_between(conf->start, date);
            if (conf->length <= 0)
                rc = wio_cpl_yaml_wrong(r, stop, "stop: %s is not after start", stop->text);
        }
    }
    r->bad |= before;
    return rc;
}

static int restart_file(Reading *r, const Node *v, void *target)
{
    (void)target;
    if (v->kind == WIO_CPL_SCALAR && strlen(v->text) > 3000)
        return wio_cpl_yaml_wrong(r, v, "file must have 1 to 3000 characters");
    return wio_cpl_yaml_text(r, v, &r->conf->restart.file);
}

static int restart_interval(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_duration(r, v, &r->conf->restart.interval);
}

static int restart_read(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_bool(r, v, &r->conf->restart.read);
}

static const struct wio_cpl_row RESTART[] = {
    {{"restart", "file", "text", "needed", "what the names of restart files begin with"},
     restart_file},
    {{"restart", "interval", "time", "none are written", "time between two restarts"},
     restart_interval},
    {{"restart", "read", "yes, no", "no",
      "go on from the latest restart for which all components have a file"},
     restart_read},
};

static int read_restart(Reading *r, const Node *v, void *target)
{
    bool before = r->bad;
    int rc;

    (void)target;
    r->bad = false;
    rc = wio_cpl_yaml_map(r, v, RESTART, COUNT(RESTART), "restart", NULL);
    if (rc == 0 && !r->bad && r->conf->restart.file == NULL)
        rc = wio_cpl_yaml_wrong(r, v, "restart needs file, what the names of its files begin with");
    r->bad |= before;
    return rc;
}

static int read_log(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"silent", "whisper", "loud"};
    int found = 0, rc = wio_cpl_yaml_word(r, v, words, COUNT(words), &found);

    (void)target;
    r->conf->log = (enum wio_cpl_log)found;
    return rc;
}

static int read_debug(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_bool(r, v, &r->conf->debug);
}

static int read_files(Reading *r, const Node *v, void *target)
{
    static const char *const words[] = {"none", "asked", "all"};
    int found = WIO_CPL_FILES_ASKED + 1, rc = wio_cpl_yaml_word(r, v, words, COUNT(words), &found);

    (void)target;
    r->conf->files = (enum wio_cpl_files)(found - 1);
    return rc;
}

static int read_report(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_text(r, v, &r->conf->report);
}

static int read_stop_step(Reading *r, const Node *v, void *target)
{
    (void)target;
    return wio_cpl_yaml_int(r, v, 0, 10, &r->conf->stop_step);
}

static int read_couplings(Reading *r, const Node *v, void *target)
{
    if (is_nothing(v))
        return 0;
    if (v->kind != WIO_CPL_SEQUENCE)
        return wio_cpl_yaml_wrong(r, v, "couplings must be a list (lines that begin with -)");
    *(const Node **)target = v;
    return 0;
}

static const struct wio_cpl_row TOP[] = {
    {{"the file", "ensembles", "none", "-",
      "refused: an ensemble is a component whose members say so, or have numbers in their names"},
     not_yet},
    {{"the file", "calendar", "keys", "none", "when the run begins and ends"}, read_calendar},
    {{"the file", "components", "names with keys", "not checked",
      "the models. If they stand here, couplings may name no others"},
     read_components},
    {{"the file", "couplings", "list", "none",
      "what goes from where to where. Components take part without any, too: by messages only"},
     read_couplings},
    {{"the file", "restart", "keys", "none", "files of the coupler's state"}, read_restart},
    {{"the file", "log", "silent, whisper, loud", "silent", "as log_level of the namelists"},
     read_log},
    {{"the file", "debug", "yes, no", "no", "as debug_mode of the namelists"}, read_debug},
    {{"the file", "files", "none, asked, all", "asked", "as files of the namelists"}, read_files},
    {{"the file", "report", "text", "none",
      "file for the report at the end of the run, and with .json behind it the same for programs; "
      "\"-\": on standard error. WAITIO_CPL_REPORT goes first"},
     read_report},
    {{"the file", "stop_step", "0 to 10", "0", "as stop_step of the namelists: where to stop"},
     read_stop_step},
};

/* Couplings come last: they look at the components. */
static int read_file(Reading *r, const Node *root)
{
    const Node *couplings = NULL;
    int rc = wio_cpl_yaml_map(r, root, TOP, COUNT(TOP), "the file", &couplings);

    r->conf->broken |= r->bad;
    for (const Node *c = couplings != NULL ? couplings->child : NULL; rc == 0 && c != NULL;
         c = c->next)
        rc = read_coupling(r, c);
    return rc;
}

int wio_cpl_conf_yaml(const char *text, size_t bytes, const char *file, struct wio_cpl_conf *conf)
{
    Reading r = {.conf = conf, .key = ""};
    Node *root = NULL;
    int rc;

    *conf = (struct wio_cpl_conf){.file = wio_cpl_copy(file), .yaml = true};
    if (conf->file == NULL)
        return WAITIO_ERR_NOMEM;
    rc = wio_cpl_yaml(text, bytes, file, &root);
    if (rc == WAITIO_ERR_CONFIG) {
        conf->broken = true;
        rc = wio_cpl_conf_keep(conf, 0);
    } else if (rc == 0 && root != NULL && !is_nothing(root)) {
        rc = read_file(&r, root);
    }
    wio_cpl_yaml_free(root);
    return rc == 0 ? wio_cpl_conf_verdict(conf) : rc;
}

const struct wio_cpl_key *wio_cpl_yaml_key(size_t i)
{
    static const struct {
        const struct wio_cpl_row *rows;
        size_t n;
    } tables[] = {{TOP, COUNT(TOP)},   {CALENDAR, COUNT(CALENDAR)}, {RESTART, COUNT(RESTART)},
                  {PART, COUNT(PART)}, {COUPLING, COUNT(COUPLING)}, {FIELD, COUNT(FIELD)}};

    for (size_t t = 0; t < COUNT(tables); t++) {
        if (i < tables[t].n)
            return &tables[t].rows[i].key;
        i -= tables[t].n;
    }
    return NULL;
}
