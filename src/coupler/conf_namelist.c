/* SPDX-License-Identifier: BSD-3-Clause */
/* coupling.conf: what the keys of its namelists mean. Keys that the old library read and forgot are
 * refused where they would mean something. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coupler/conf.h"
#include "coupler/conf_keys.h"
#include "coupler/namelist.h"
#include "waitio_errors.h"

enum { MOST_KEYS = 48, MOST_LAG = 1000000 };
#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define FAR 1e37 /* a limit of data beyond this one is none */

/* One record &h3ou_var; NULL texts were not given. */
struct record {
    char *comp_put, *comp_get, *grid_put, *grid_get;
    char *var_put, *var_get;
    char *weight_file, *weight_method; /* of a pair */
    long long interval;
    bool has_interval, has_flag, var_keys;
    enum wio_cpl_reduce reduce;
    int lag, layers, tag, mapping_tag;
    int weight_line;          /* of the last key about weights; 0: none */
    struct wio_cpl_link more; /* what the keys of conf_keys.h say */
    struct wio_cpl_statistic statistic;
};

struct reading {
    struct wio_cpl_conf *conf;
    const char *file;
    struct record now;
    struct record pair;        /* the last pair record */
    struct wio_cpl_part about; /* &h3ou_component; its lists stay empty */
    bool bad, bad_pair;        /* there was a fault in this record, in the last pair record */
};

/* A key, and who reads its values. */
struct row {
    struct wio_cpl_key key;
    int (*read)(struct reading *r, const struct wio_cpl_item *item);
};

static int wrong(const struct reading *r, int line, const char *key, const char *what)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s:%d: %s %s", r->file, line, key, what);
}

/* The one value of a key; NULL when it was left out. */
static int single(const struct reading *r, const struct wio_cpl_item *item, const char **text)
{
    *text = NULL;
    if (item->n > 1)
        return wrong(r, item->line, item->key, "has more than one value");
    if (item->n == 1 && !item->values[0].null)
        *text = item->values[0].text;
    return 0;
}

static int read_text(const struct reading *r, const struct wio_cpl_item *item, char **out)
{
    const char *text;
    int rc = single(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    if (!item->values[0].quoted)
        return wrong(r, item->line, item->key, "must be a text in quotes");
    while (*text == ' ')
        text++;
    free(*out);
    *out = wio_cpl_copy(text);
    return *out == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int read_number(const struct reading *r, const struct wio_cpl_item *item, long long low,
                       long long high, long long *out)
{
    const char *text;
    char *end, what[96];
    long long v;
    int rc = single(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    errno = 0;
    v = strtoll(text, &end, 10);
    if (item->values[0].quoted || end == text || *end != '\0' || errno != 0 || v < low ||
        v > high) {
        wio_cpl_text(what, sizeof what, "= %.30s is no whole number from %lld to %lld", text, low,
                     high);
        return wrong(r, item->line, item->key, what);
    }
    *out = v;
    return 0;
}

static int read_int(const struct reading *r, const struct wio_cpl_item *item, int low, int high,
                    int *out)
{
    long long v = *out;
    int rc = read_number(r, item, low, high, &v);

    *out = (int)v;
    return rc;
}

static int read_logical(const struct reading *r, const struct wio_cpl_item *item, bool *out)
{
    const char *text, *c;
    int rc = single(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    c = text + (*text == '.');
    if (item->values[0].quoted || (*c != 't' && *c != 'T' && *c != 'f' && *c != 'F'))
        return wrong(r, item->line, item->key, "must be .true. or .false.");
    *out = *c == 't' || *c == 'T';
    return 0;
}

/* ---- &h3ou_coupling ------------------------------------------------------------------------ */

/* One of three words. @param list of them, for the error */
static int one_of(struct reading *r, const struct wio_cpl_item *item, const char *const words[3],
                  const char *list, int *found)
{
    char *text = NULL, what[120];
    int rc = read_text(r, item, &text), i = 0;

    if (rc != 0 || text == NULL)
        return rc;
    while (i < 3 && strcmp(text, words[i]) != 0)
        i++;
    wio_cpl_text(what, sizeof what, "= '%.30s' is none of %s", text, list);
    free(text);
    if (i == 3)
        return wrong(r, item->line, item->key, what);
    *found = i;
    return 0;
}

static int log_level(struct reading *r, const struct wio_cpl_item *item)
{
    static const char *const words[] = {"SILENT", "WHISPER", "LOUD"};
    int found = (int)r->conf->log, rc = one_of(r, item, words, "SILENT, WHISPER and LOUD", &found);

    r->conf->log = (enum wio_cpl_log)found;
    return rc;
}

static int files(struct reading *r, const struct wio_cpl_item *item)
{
    static const char *const words[] = {"none", "asked", "all"};
    int found = (int)r->conf->files + 1;
    int rc = one_of(r, item, words, "'none', 'asked' and 'all'", &found);

    r->conf->files = (enum wio_cpl_files)(found - 1);
    return rc;
}

static int report(struct reading *r, const struct wio_cpl_item *item)
{
    int rc = read_text(r, item, &r->conf->report);

    if (rc == 0 && (r->conf->report == NULL || r->conf->report[0] == '\0'))
        rc = wrong(r, item->line, item->key, "must be the name of a file, or '-'");
    return rc;
}

static int debug_mode(struct reading *r, const struct wio_cpl_item *item)
{
    return read_logical(r, item, &r->conf->debug);
}

static int stop_step(struct reading *r, const struct wio_cpl_item *item)
{
    return read_int(r, item, 0, 10, &r->conf->stop_step);
}

static int grid_checker(struct reading *r, const struct wio_cpl_item *item)
{
    bool checked = true; /* grids are always checked here */

    return read_logical(r, item, &checked);
}

static int restart_file(struct reading *r, const struct wio_cpl_item *item)
{
    struct wio_cpl_restart_conf *c = &r->conf->restart;
    int rc = read_text(r, item, &c->file);

    if (rc == 0 && (c->file == NULL || c->file[0] == '\0' || strlen(c->file) > 3000))
        rc = wrong(r, item->line, item->key, "must have 1 to 3000 characters");
    return rc;
}

static int restart_interval(struct reading *r, const struct wio_cpl_item *item)
{
    long long interval = 0;
    int rc = read_number(r, item, 1, INT_MAX, &interval);

    r->conf->restart.interval = interval;
    return rc;
}

static int restart_read(struct reading *r, const struct wio_cpl_item *item)
{
    return read_logical(r, item, &r->conf->restart.read);
}

static int end_coupling(const struct reading *r, int line)
{
    const struct wio_cpl_restart_conf *c = &r->conf->restart;

    if (c->file == NULL && (c->interval > 0 || c->read))
        return wrong(r, line, "the record &h3ou_coupling that ends here",
                     "has restart_intvl or restart_read, which need restart_file");
    return 0;
}

static const struct row COUPLING[] = {
    {{"&h3ou_coupling", "log_level", "'SILENT', 'WHISPER', 'LOUD'", "'SILENT'",
      "each process logs its calls in h3ou.COMP.log.PEnnnnn: those of the set-up, and steps; LOUD: "
      "puts and gets, too"},
     log_level},
    {{"&h3ou_coupling", "debug_mode", "logical", ".false.",
      "each process logs its messages in jcup.COMP.coupling.log.PEnnnnn"},
     debug_mode},
    {{"&h3ou_coupling", "files", "'none', 'asked', 'all'", "'asked'",
      "files of the old library: none; those that log_level and debug_mode ask for; also times "
      "(TM.COMP, TM.COMP.peNNNNN) and the configuration (jcup.coupling.conf.log, "
      "jcup.COMP.conf.log). WAITIO_CPL_FILES goes first"},
     files},
    {{"&h3ou_coupling", "report", "text", "none",
      "file for the report at the end of the run, and with .json behind it the same for programs; "
      "'-': on standard error. WAITIO_CPL_REPORT goes first"},
     report},
    {{"&h3ou_coupling", "stop_step", "0 to 10", "0",
      "stop before and after the opening (1, 2), the first grid (3, 4), the end of the grids (5, "
      "6), "
      "the start (7, 8), the first step (9, 10)"},
     stop_step},
    {{"&h3ou_coupling", "grid_checker", "logical", ".true.", "checked; grids always are"},
     grid_checker},
    {{"&h3ou_coupling", "restart_file", "text", "none",
      "what the names of restart files begin with"},
     restart_file},
    {{"&h3ou_coupling", "restart_intvl", "whole number", "none are written",
      "seconds between two restarts"},
     restart_interval},
    {{"&h3ou_coupling", "restart_read", "logical", ".false.",
      "go on from the latest restart for which all components have a file"},
     restart_read},
};

/* ---- &h3ou_var ----------------------------------------------------------------------------- */

static int flag(struct reading *r, const struct wio_cpl_item *item)
{
    char *text = NULL, what[120];
    int rc = read_text(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    r->now.has_flag = true;
    wio_cpl_text(what, sizeof what,
                 "= '%.30s' is neither 'SNP' nor 'AVR', 'ACC', 'MIN' or 'MAX' (upper case)", text);
    rc = wio_cpl_key_flag(text, &r->now.reduce) != 0 ? wrong(r, item->line, item->key, what) : 0;
    free(text);
    return rc;
}

/* A Fortran number, whose exponent may be a d. @return false when it is none */
static bool real_of(const struct wio_cpl_value *v, double *out)
{
    char text[64], *end;

    wio_cpl_text(text, sizeof text, "%s", v->text);
    for (char *c = text; *c != '\0'; c++)
        if (*c == 'd' || *c == 'D')
            *c = 'e';
    *out = strtod(text, &end);
    return !v->quoted && end != text && *end == '\0';
}

/* Keys that the old library read without effect: good only with their default, or so far away that
 * it limits nothing. */
static int without_effect(struct reading *r, const struct wio_cpl_item *item, double expected)
{
    for (size_t i = 0; i < item->n; i++) {
        double v;

        if (item->values[i].null)
            continue;
        if (!real_of(&item->values[i], &v) ||
            (expected < FAR ? v != expected : v < expected && v > -expected))
            return wrong(r, item->line, item->key,
                         "has never had an effect, so only its default is accepted: take it out, "
                         "and scale or limit in the table or in the program");
    }
    return 0;
}

static int vector_name(struct reading *r, const struct wio_cpl_item *item)
{
    char *text = NULL;
    int rc = read_text(r, item, &text);
    bool empty = text == NULL || text[0] == '\0';

    free(text);
    if (rc != 0 || empty)
        return rc;
    return wrong(r, item->line, item->key,
                 "has never had an effect: name the second component of a vector by vector_with, "
                 "or put vectors as one variable, layers 1..L and L+1..2L, with a grid_intpl_tag "
                 "above 10000");
}

static int statistic(struct reading *r, const struct wio_cpl_item *item)
{
    char *text = NULL, what[160];
    int rc = read_text(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    wio_cpl_text(what, sizeof what,
                 "= '%.30s' is none of 'mean', 'spread', 'min', 'max', 'median' and quantiles like "
                 "'q0.9'",
                 text);
    if (!wio_cpl_statistic_read(text, &r->now.statistic))
        rc = wrong(r, item->line, item->key, what);
    free(text);
    return rc;
}

/* Keys with a text of their own. @return their place, or NULL */
static char **text_of(struct record *v, const char *key)
{
    const struct {
        const char *key;
        char **at;
    } rows[] = {
        {"comp_put", &v->comp_put},       {"comp_get", &v->comp_get},
        {"grid_put", &v->grid_put},       {"grid_get", &v->grid_get},
        {"var_put", &v->var_put},         {"var_get", &v->var_get},
        {"weight_file", &v->weight_file}, {"weight_method", &v->weight_method},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].at;
    return NULL;
}

static int text_item(struct reading *r, const struct wio_cpl_item *item)
{
    return read_text(r, item, text_of(&r->now, item->key));
}

static int weights_item(struct reading *r, const struct wio_cpl_item *item)
{
    r->now.weight_line = item->line;
    return text_item(r, item);
}

static int interval(struct reading *r, const struct wio_cpl_item *item)
{
    r->now.has_interval = item->n > 0;
    return read_number(r, item, 0, INT_MAX, &r->now.interval);
}

static int lag(struct reading *r, const struct wio_cpl_item *item)
{
    return read_int(r, item, -MOST_LAG, MOST_LAG, &r->now.lag);
}

static int layer(struct reading *r, const struct wio_cpl_item *item)
{
    return read_int(r, item, 1, INT_MAX / 2, &r->now.layers);
}

static int grid_tag(struct reading *r, const struct wio_cpl_item *item)
{
    return read_int(r, item, INT_MIN, INT_MAX, &r->now.tag);
}

static int mapping_tag(struct reading *r, const struct wio_cpl_item *item)
{
    return read_int(r, item, 0, INT_MAX, &r->now.mapping_tag);
}

static int only_zero(struct reading *r, const struct wio_cpl_item *item)
{
    return without_effect(r, item, 0);
}

static int only_one(struct reading *r, const struct wio_cpl_item *item)
{
    return without_effect(r, item, 1);
}

static int no_limit(struct reading *r, const struct wio_cpl_item *item)
{
    return without_effect(r, item, FAR);
}

static int more_item(struct reading *r, const struct wio_cpl_item *item)
{
    char what[160];
    int rc = wio_cpl_key_set(&r->now.more, item, what, sizeof what);

    return rc == WAITIO_ERR_CONFIG ? wrong(r, item->line, item->key, what) : rc;
}

#define PAIR "&h3ou_var, pair"
#define VARIABLE "&h3ou_var, variable"
static const struct row VAR[] = {
    {{PAIR, "comp_put", "text", "needed", "the component that puts"}, text_item},
    {{PAIR, "comp_get", "text", "needed", "the component that gets"}, text_item},
    {{PAIR, "grid_put", "text", "needed", "the grid of the fields where they are put"}, text_item},
    {{PAIR, "grid_get", "text", "needed", "the grid of the fields where they are got"}, text_item},
    {{PAIR, "mapping_tag", "whole number", "the only one",
      "which of several tables between the two grids; a variable may have its own"},
     mapping_tag},
    {{PAIR, "weight_file", "text", "the programs give the table",
      "a netCDF file of ESMF or SCRIP weights that is the table"},
     weights_item},
    {{PAIR, "weight_method", "text", "the programs give the table",
      "how the coupler makes the table at the start, as `waitio cpl weights --method` has it"},
     weights_item},
    {{VARIABLE, "var_put", "text", "needed", "its name where it is put"}, text_item},
    {{VARIABLE, "var_get", "text", "needed", "its name where it is got"}, text_item},
    {{VARIABLE, "intvl", "whole number", "needed, unless lag = 0", "seconds between two exchanges"},
     interval},
    {{VARIABLE, "lag", "whole number", "-1",
      "-1: at the start of an interval the receiver gets what was put up to then. 1: it gets what "
      "is "
      "put at the interval's end, so it runs after the sender. 0: each put is sent at once. Others "
      "are as many intervals earlier or later"},
     lag},
    {{VARIABLE, "lag_seconds", "whole number", "as lag says",
      "instead of lag: the step that begins at T gets what was put up to T + lag_seconds"},
     more_item},
    {{VARIABLE, "flag", "'SNP', 'AVR', 'ACC', 'MIN', 'MAX'", "needed",
      "what of an interval's puts is sent: the last, their mean weighted by the steps, their sum, "
      "the "
      "least, the greatest"},
     flag},
    {{VARIABLE, "type", "'real8', 'real4', 'int'", "'real8'",
      "the numbers of the programs' arrays"},
     more_item},
    {{VARIABLE, "masked", "'scale', 'fill', 'part'", "'scale'",
      "a point some of whose sources are masked gets the sum of the others scaled as if all were "
      "there, the fill value, or the sum of the others as it is"},
     more_item},
    {{VARIABLE, "fill", "number", "2147483647",
      "the value of points without entries; puts of this value count nothing"},
     more_item},
    {{VARIABLE, "remap", "'auto', 'send', 'receive'", "'auto'",
      "which side remaps: that where less travels, the sender where it can, the receiver"},
     more_item},
    {{VARIABLE, "bundle", "text", "alone",
      "with lag = 0: fields of one name travel in one message"},
     more_item},
    {{VARIABLE, "vector_with", "text", "none",
      "it is the first component of a vector, whose second is the variable of this var_get: the "
      "table turns both together"},
     more_item},
    {{VARIABLE, "ensemble", "'mean', 'spread', 'min', 'max', 'median', 'q0.9'", "'mean', or none",
      "what a receiver makes of the members of an ensemble that puts: also any quantile from q0 to "
      "q1. Not needed from member to member, nor for the mean by a single receiver"},
     statistic},
    {{VARIABLE, "layer", "whole number", "1", "layers of the arrays"}, layer},
    {{VARIABLE, "grid_intpl_tag", "whole number", "0",
      "a number that the program's own interpolation hears of; above 10000 layers 1..L and L+1..2L "
      "are the two components of vectors"},
     grid_tag},
    {{VARIABLE, "var_put_vec", "text", "' '", "only the default is accepted"}, vector_name},
    {{VARIABLE, "var_get_vec", "text", "' '", "only the default is accepted"}, vector_name},
    {{VARIABLE, "time_intpl_tag", "whole number", "0", "only the default is accepted"}, only_zero},
    {{VARIABLE, "factor", "number", "1", "only the default is accepted"}, only_one},
    {{VARIABLE, "is_ok", "whole number", "1", "only the default is accepted"}, only_one},
    {{VARIABLE, "data_range", "two numbers", "no limits", "only what limits nothing is accepted"},
     no_limit},
};

/* ---- &h3ou_component ----------------------------------------------------------------------- */

static int component_name(struct reading *r, const struct wio_cpl_item *item)
{
    return read_text(r, item, &r->about.name);
}

static int on_failure(struct reading *r, const struct wio_cpl_item *item)
{
    char *text = NULL, what[120];
    int rc = read_text(r, item, &text);

    if (rc != 0 || text == NULL)
        return rc;
    wio_cpl_text(what, sizeof what, "= '%.30s' is neither 'end' nor 'go on'", text);
    r->about.may_fail = strcmp(text, "go on") == 0;
    if (!r->about.may_fail && strcmp(text, "end") != 0)
        rc = wrong(r, item->line, item->key, what);
    free(text);
    return rc;
}

static int rejoin(struct reading *r, const struct wio_cpl_item *item)
{
    return read_logical(r, item, &r->about.rejoin);
}

static const struct row COMPONENT[] = {
    {{"&h3ou_component", "name", "text", "needed",
      "a component, or an ensemble for all its members"},
     component_name},
    {{"&h3ou_component", "on_failure", "'end', 'go on'", "'end'",
      "when it fails: all end, or the others go on without it"},
     on_failure},
    {{"&h3ou_component", "rejoin", ".true., .false.", ".false.",
      "when it dies or fails: the others wait until it was started again, and go on with it. Needs "
      "restart_intvl; not for lag 0, nor together with on_failure = 'go on'"},
     rejoin},
};

/* ---- records ------------------------------------------------------------------------------- */

/* An item by its row. Keys of one group stand in one table. */
static int read_item(struct reading *r, const struct wio_cpl_item *item, const struct row *rows,
                     size_t n)
{
    const char *names[MOST_KEYS];
    char near[96], what[240];

    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].key.name;
        if (strcmp(names[i], item->key) != 0)
            continue;
        if (strcmp(rows[i].key.place, VARIABLE) == 0)
            r->now.var_keys = true;
        return rows[i].read(r, item);
    }
    wio_cpl_text(what, sizeof what, "is no key of &%s%s%s", item->group,
                 wio_cpl_near(item->key, names, n, near),
                 rows == COUPLING ? ", which has log_level, debug_mode, stop_step, grid_checker, "
                                    "files, report, restart_file, restart_intvl and restart_read"
                 : rows == COMPONENT ? ", which has name, on_failure and rejoin"
                                     : "");
    return wrong(r, item->line, item->key, what);
}

static void drop(struct record *v)
{
    free(v->comp_put);
    free(v->comp_get);
    free(v->grid_put);
    free(v->grid_get);
    free(v->var_put);
    free(v->var_get);
    free(v->weight_file);
    free(v->weight_method);
    free(v->more.bundle);
    free(v->more.vector_with);
    *v = (struct record){.lag = -1, .layers = 1};
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Where the table of a pair comes from, if not from a program. */
static int check_weights(const struct reading *r)
{
    const struct record *v = &r->now;
    char what[700], why[512];

    if (given(v->weight_file) && given(v->weight_method))
        return wrong(r, v->weight_line, "weight_method",
                     "says how to make the weights that weight_file holds: give one of the two");
    if (!given(v->weight_method) || wio_cpl_conf_is_method(v->weight_method, why, sizeof why))
        return 0;
    wio_cpl_text(what, sizeof what, "= '%.100s': %s", v->weight_method, why);
    return wrong(r, v->weight_line, "weight_method", what);
}

static int end_pair(struct reading *r, int line)
{
    struct record *v = &r->now;

    if (!given(v->comp_put) || !given(v->comp_get) || !given(v->grid_put) || !given(v->grid_get))
        return wrong(r, line, "the record &h3ou_var that ends here",
                     "needs comp_put, comp_get, grid_put and grid_get together");
    if (v->var_keys)
        return wrong(r, line, "the record &h3ou_var that ends here",
                     "names components and variables: write one record for the pair of grids, and "
                     "one for each of its variables after it");
    if (strcmp(v->comp_put, v->comp_get) == 0)
        return wrong(r, line, "the record &h3ou_var that ends here",
                     "couples a component with itself");
    if (check_weights(r) != 0)
        return WAITIO_ERR_CONFIG;
    drop(&r->pair);
    r->pair = *v;
    *v = (struct record){.lag = -1, .layers = 1};
    return 0;
}

/* What one key says against another. @return NULL: nothing */
static const char *clash(const struct record *v)
{
    bool later = v->lag != 0 || v->more.has_shift;

    if (v->reduce != WIO_CPL_LAST && !later)
        return "asks for a mean (AVR) of what is sent at once (lag = 0)";
    if (later && !v->has_interval)
        return "needs intvl, the seconds between two exchanges";
    if (later && v->interval < 1)
        return "has intvl = 0, which needs lag = 0 (exchange at once)";
    if (v->tag > WIO_CPL_VECTOR_TAG && v->layers % 2 != 0)
        return "is a vector (grid_intpl_tag above 10000) and so needs an even number of layers";
    return NULL;
}

static int check_variable(const struct reading *r, int line)
{
    const struct record *v = &r->now;
    const char *who = "the record &h3ou_var that ends here", *what;

    if (r->pair.comp_put == NULL)
        return wrong(r, line, who,
                     "has no record with comp_put, comp_get, grid_put and grid_get "
                     "before it");
    if (v->weight_line > 0)
        return wrong(r, v->weight_line, "weight_file and weight_method",
                     "belong to the record of the pair of grids, with comp_put and grid_put");
    if (!given(v->var_put) || !given(v->var_get))
        return wrong(r, line, who, "needs var_put and var_get");
    if (!v->has_flag)
        return wrong(r, line, who, "needs flag = 'SNP' or 'AVR'");
    what = clash(v);
    return what != NULL ? wrong(r, line, who, what) : 0;
}

static int end_variable(struct reading *r, int line)
{
    struct record *v = &r->now;
    struct wio_cpl_link *l;
    int rc = check_variable(r, line);

    if (rc != 0)
        return rc;
    l = wio_cpl_push(&r->conf->links, sizeof *l);
    if (l == NULL)
        return WAITIO_ERR_NOMEM;
    *l = v->more;
    v->more.bundle = v->more.vector_with = NULL;
    l->comp_put = wio_cpl_copy(r->pair.comp_put);
    l->comp_get = wio_cpl_copy(r->pair.comp_get);
    l->grid_put = wio_cpl_copy(r->pair.grid_put);
    l->grid_get = wio_cpl_copy(r->pair.grid_get);
    if (given(r->pair.weight_file) && (l->weight_file = wio_cpl_copy(r->pair.weight_file)) == NULL)
        return WAITIO_ERR_NOMEM;
    if (given(r->pair.weight_method) &&
        (l->weight_method = wio_cpl_copy(r->pair.weight_method)) == NULL)
        return WAITIO_ERR_NOMEM;
    l->var_put = v->var_put;
    l->var_get = v->var_get;
    v->var_put = v->var_get = NULL;
    l->interval = v->has_interval ? v->interval : 0;
    l->lag = v->lag;
    l->reduce = v->reduce;
    l->layers = v->layers;
    l->tag = v->tag;
    l->statistic = v->statistic;
    l->mapping_tag = v->mapping_tag != 0 ? v->mapping_tag : r->pair.mapping_tag;
    l->line = line;
    return l->comp_put == NULL || l->comp_get == NULL || l->grid_put == NULL || l->grid_get == NULL
               ? WAITIO_ERR_NOMEM
               : 0;
}

static int end_component(struct reading *r, int line)
{
    struct wio_cpl_part *c;

    if (!given(r->about.name))
        return wrong(r, line, "the record &h3ou_component that ends here", "needs a name");
    if (wio_cpl_conf_find(r->conf, r->about.name) != NULL)
        return wrong(r, line, "the record &h3ou_component that ends here",
                     "is the second one of this name");
    c = wio_cpl_push(&r->conf->parts, sizeof *c);
    if (c == NULL)
        return WAITIO_ERR_NOMEM;
    *c = r->about;
    c->line = line;
    r->about = (struct wio_cpl_part){.name = NULL};
    return 0;
}

/* ---- the groups ---------------------------------------------------------------------------- */

/* A fault is kept, and reading goes on behind it: people want to see all at once. */
static int go_on(struct reading *r, int rc, int line)
{
    if (rc != WAITIO_ERR_CONFIG)
        return rc;
    r->bad = r->conf->broken = true;
    return wio_cpl_conf_keep(r->conf, line);
}

static int begin(void *with, const char *group, int line)
{
    static const char *const groups[] = {"h3ou_coupling", "h3ou_var", "h3ou_component"};
    struct reading *r = with;
    char near[96], what[200];

    drop(&r->now);
    free(r->about.name);
    r->about = (struct wio_cpl_part){.name = NULL};
    r->bad = false;
    if (strncmp(group, "h3ou", 4) != 0 || strcmp(group, groups[0]) == 0 ||
        strcmp(group, groups[1]) == 0 || strcmp(group, groups[2]) == 0)
        return 0;
    wio_cpl_text(what, sizeof what, "is none of &h3ou_coupling, &h3ou_var and &h3ou_component%s",
                 wio_cpl_near(group, groups, COUNT(groups), near));
    return go_on(r, wrong(r, line, group, what), line);
}

static int item(void *with, const struct wio_cpl_item *item)
{
    int rc = 0;

    if (strcmp(item->group, "h3ou_coupling") == 0)
        rc = read_item(with, item, COUPLING, COUNT(COUPLING));
    else if (strcmp(item->group, "h3ou_var") == 0)
        rc = read_item(with, item, VAR, COUNT(VAR));
    else if (strcmp(item->group, "h3ou_component") == 0)
        rc = read_item(with, item, COMPONENT, COUNT(COMPONENT));
    return go_on(with, rc, item->line);
}

static bool is_pair(const struct record *v)
{
    return v->comp_put != NULL || v->comp_get != NULL || v->grid_put != NULL || v->grid_get != NULL;
}

/* Of a record with faults no more can be said, nor of variables after a pair with faults. */
static int end(void *with, const char *group, int line)
{
    struct reading *r = with;
    int rc = 0;

    if (strcmp(group, "h3ou_component") == 0)
        return r->bad ? 0 : go_on(r, end_component(r, line), line);
    if (strcmp(group, "h3ou_coupling") == 0)
        return r->bad ? 0 : go_on(r, end_coupling(r, line), line);
    if (strcmp(group, "h3ou_var") != 0)
        return 0;
    if (is_pair(&r->now)) {
        if (!r->bad)
            rc = go_on(r, end_pair(r, line), line);
        r->bad_pair = r->bad;
    } else if (!r->bad && !r->bad_pair) {
        rc = go_on(r, end_variable(r, line), line);
    }
    return rc;
}

int wio_cpl_conf_namelist(const char *text, size_t bytes, const char *file,
                          struct wio_cpl_conf *conf)
{
    static const struct wio_cpl_namelist_sink sink = {begin, item, end};
    struct reading r = {.conf = conf, .file = file};
    int rc;

    *conf = (struct wio_cpl_conf){.file = wio_cpl_copy(file)};
    if (conf->file == NULL)
        return WAITIO_ERR_NOMEM;
    drop(&r.now);
    rc = wio_cpl_namelist(text, bytes, file, &sink, &r);
    drop(&r.now);
    drop(&r.pair);
    free(r.about.name);
    if (rc == WAITIO_ERR_CONFIG) { /* no namelists: what follows cannot be read */
        conf->broken = true;
        rc = wio_cpl_conf_keep(conf, 0);
    }
    return rc == 0 ? wio_cpl_conf_verdict(conf) : rc;
}

const struct wio_cpl_key *wio_cpl_namelist_key(size_t i)
{
    if (i < COUNT(COUPLING))
        return &COUPLING[i].key;
    i -= COUNT(COUPLING);
    if (i < COUNT(VAR))
        return &VAR[i].key;
    i -= COUNT(VAR);
    return i < COUNT(COMPONENT) ? &COMPONENT[i].key : NULL;
}
