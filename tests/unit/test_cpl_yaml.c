/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations in YAML: what is read, how each mistake is named, and that what is written again
 * says the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

static void write_and_compare(const struct wio_cpl_conf *conf);

static int read_conf(const char *text, struct wio_cpl_conf *conf)
{
    int rc = wio_cpl_conf_yaml(text, strlen(text), "c.yaml", conf);

    return rc == 0 ? wio_cpl_conf_check(conf) : rc;
}

static const char whole[] =
    "log: whisper\n"
    "debug: yes\n"
    "stop_step: 10\n"
    "calendar: {start: 2026-01-01, stop: '2026-01-03 06:00'}\n"
    "components:\n"
    "  A: {step: 30min, processes: 4, grids: [gA], puts: [x, u], gets: sst}\n"
    "  \"it's B: 2\":\n"
    "    grids: [gB, gB2]\n"
    "couplings:\n"
    "  - from: A\n"
    "    to: \"it's B: 2\"\n"
    "    to_grid: gB\n"
    "    interval: 3h\n"
    "    fields:\n"
    "      - x\n"
    "      - {from: u, to: ub, interval: 1d12h, lag: serial, reduction: average, layers: 4,\n"
    "         vector: true, tag: 5}\n"
    "  - {from: \"it's B: 2\", to: A, from_grid: gB2, table: 2, lag: 0, fields: [name: sst]}\n";

static void reads_components(void **state)
{
    struct wio_cpl_conf conf;
    const struct wio_cpl_part *p;

    (void)state;
    if (read_conf(whole, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_true(conf.log == WIO_CPL_WHISPER && conf.debug && conf.stop_step == 10);
    assert_true(conf.has_start && conf.start[0] == 2026 && conf.length == 2 * 86400 + 6 * 3600);
    p = wio_cpl_conf_find(&conf, "A");
    assert_true(p->step == 1800 && p->processes == 4 && p->puts.n == 2 && p->line == 6);
    wio_cpl_conf_free(&conf);
}

static void reads_couplings(void **state)
{
    struct wio_cpl_conf conf;
    const struct wio_cpl_link *l;

    (void)state;
    assert_int_equal(read_conf(whole, &conf), 0);
    assert_int_equal(conf.links.n, 3);
    l = wio_cpl_conf_link(&conf, 0);
    assert_string_equal(l->comp_get, "it's B: 2");
    assert_string_equal(l->grid_put, "gA");
    assert_string_equal(l->var_put, "x");
    assert_string_equal(l->var_get, "x");
    assert_true(l->interval == 10800 && l->lag == -1 && l->reduce == WIO_CPL_LAST &&
                l->layers == 1);
    assert_true(l->tag == 0 && l->mapping_tag == 0 && l->line == 15);
    l = wio_cpl_conf_link(&conf, 1);
    assert_string_equal(l->var_get, "ub");
    assert_true(l->interval == 129600 && l->lag == 1 && l->reduce == WIO_CPL_MEAN &&
                l->layers == 4);
    assert_int_equal(l->tag, WIO_CPL_VECTOR_TAG + 6);
    l = wio_cpl_conf_link(&conf, 2);
    assert_true(l->interval == 0 && l->lag == 0 && l->mapping_tag == 2);
    assert_string_equal(l->grid_get, "gA");
    wio_cpl_conf_free(&conf);
}

static void reads_how_a_field_goes(void **state)
{
    static const char text[] =
        "couplings:\n- {from: A, to: B, from_grid: g, to_grid: h, interval: 1h, fill: -9e33,\n"
        "   remap: receiver, fields: [{name: x, offset: -90min, reduction: max, type: real4},\n"
        "   {name: y, lag: -3, reduction: accumulate, masked: part, fill: 0},\n"
        "   {name: z, lag: now, bundle: b 1, type: int, fill: -1, remap: auto}]}\n";
    struct wio_cpl_conf conf;
    const struct wio_cpl_link *l;

    (void)state;
    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    l = wio_cpl_conf_link(&conf, 0);
    assert_true(l->has_shift && l->shift == -5400 && l->reduce == WIO_CPL_GREATEST);
    assert_true(l->type == WIO_CPL_REAL4 && l->has_fill && l->fill == -9e33);
    assert_int_equal(l->side, WIO_CPL_SIDE_RECEIVE);
    l = wio_cpl_conf_link(&conf, 1);
    assert_true(l->lag == -3 && l->reduce == WIO_CPL_SUM && l->masked == WIO_CPL_MASKED_PART);
    l = wio_cpl_conf_link(&conf, 2);
    assert_string_equal(l->bundle, "b 1");
    assert_true(l->type == WIO_CPL_INT && l->side == WIO_CPL_SIDE_AUTO && l->fill == -1);
    write_and_compare(&conf);
    wio_cpl_conf_free(&conf);
}

static void reads_ensembles_and_restarts(void **state)
{
    static const char text[] =
        "restart: {file: 'a dir/run7', interval: 1d, read: yes}\n"
        "components: {A: {grids: g, on_failure: go on}, B: {grids: h, on_failure: end}}\n"
        "couplings:\n- {from: A, to: B, interval: 1h, ensemble: max,\n"
        "   fields: [x, {from: x, to: m, ensemble: median}, {from: x, to: q, ensemble: q0.1}]}\n";
    struct wio_cpl_conf conf;

    (void)state;
    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_string_equal(conf.restart.file, "a dir/run7");
    assert_true(conf.restart.interval == 86400 && conf.restart.read);
    assert_true(wio_cpl_conf_find(&conf, "A")->may_fail &&
                !wio_cpl_conf_find(&conf, "B")->may_fail);
    assert_int_equal(wio_cpl_conf_link(&conf, 0)->statistic.kind, WIO_CPL_STAT_MAX);
    assert_true(wio_cpl_conf_link(&conf, 1)->statistic.quantile == 0.5);
    assert_int_equal(wio_cpl_conf_link(&conf, 2)->statistic.kind, WIO_CPL_STAT_QUANTILE);
    write_and_compare(&conf);
    wio_cpl_conf_free(&conf);
}

static void reads_vectors_of_two_fields(void **state)
{
    static const char text[] =
        "components: {A: {grids: g}, B: {grids: h}}\n"
        "couplings:\n- {from: A, to: B, interval: 1h,\n"
        "   fields: [{from: u, to: 'u 10', vector_with: 'v 10'}, {from: v, to: 'v 10'}, x]}\n";
    struct wio_cpl_conf conf;
    bool second;

    (void)state;
    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_ptr_equal(wio_cpl_conf_partner(&conf, wio_cpl_conf_link(&conf, 0), &second),
                     wio_cpl_conf_link(&conf, 1));
    assert_false(second);
    assert_ptr_equal(wio_cpl_conf_partner(&conf, wio_cpl_conf_link(&conf, 1), &second),
                     wio_cpl_conf_link(&conf, 0));
    assert_true(second);
    assert_null(wio_cpl_conf_partner(&conf, wio_cpl_conf_link(&conf, 2), &second));
    write_and_compare(&conf);
    wio_cpl_conf_free(&conf);
}

/* Two components with a grid each, for couplings below. */
#define AB "components: {A: {grids: gA}, B: {grids: gB}}\ncouplings:\n"
#define X(rest) AB "- {from: A, to: B, fields: [{name: x, " rest "}]}\n"
#define Y(rest) "- {from: B, to: A, fields: [{name: y, " rest "}]}\n"

/* A component that comes back. */
#define DAILY "restart: {file: a, interval: 1d}\n"
#define AGAIN(rest)                                                                                \
    DAILY "components: {A: {grids: gA, rejoin: yes}, B: {grids: gB}}\ncouplings:\n"                \
          "- {from: A, to: B, fields: [{name: x, " rest "}]}\n"

/* Each text, and what the error must say. */
static const struct {
    const char *text, *says;
} mistakes[] = {
    {"ensembles: []", "c.yaml:1:12: ensembles: the coupler cannot do this yet"},
    {"components: {A: {rejoin: perhaps}}", "rejoin: perhaps is none of false, true"},
    {"components: {A: {rejoin: yes}}", "rejoin: yes, but there is no restart with an interval"},
    {"components: {A: {rejoin: yes}, B: {on_failure: go on}}\n" DAILY, "'B' on_failure: go on"},
    {AGAIN("lag: now"), "'x' has lag 0, but component 'A' has rejoin: yes (line 2)"},
    {AGAIN("interval: 3h, ensemble: mean"), "'x' is of an ensemble, but component 'A'"},
    {X("interval: 60, remap: target"), "remap: target is none of auto, sender, receiver"},
    {"components: {A: {on_failure: rejoin}}", "on_failure: rejoin is none of end, go on"},
    {DAILY "components: {A: {step: 7h}}",
     "c.yaml:2: the interval of restart, 86400 s, is no multiple of the step of component 'A'"},
    {"restart: {interval: 1d}", "c.yaml:1:10: restart needs file"},
    {"restart: {file: a, intvl: 1d}", "intvl is no key of restart"},
    {X("interval: 3h, ensemble: q2"), "ensemble must be mean, spread, min, max, median or a"},
    {"couplings: [{weight_method: neerest}]", "weight_method: neerest: "},
    {"couplings: [{weight_method: nearest, weight_file: w.nc}]", "give one of the two"},
    {"couplngs: []", "c.yaml:1:1: couplngs is no key of the file (did you mean 'couplings'?)"},
    {"- a", "c.yaml:1:1: the file must be keys with values, not (a list)"},
    {"log: lud", "c.yaml:1:6: log: lud is none of silent, whisper, loud (did you mean 'loud'?)"},
    {"log: [loud]", "log: (a list) is none of"},
    {"log:", "log: (nothing) is none of"},
    {"log: loud\nlog: loud", "c.yaml:2:1: log stands twice in the file"},
    {"debug: 1", "debug: 1 is none of false, true"},
    {"files: some", "files: some is none of none, asked, all"},
    {"stop_step: 11", "stop_step: 11 is not a whole number from 0 to 10"},
    {"stop_step: 1.0", "stop_step: 1.0 is not a whole number"},
    {"calendar: {start: 2026-02-30}", "c.yaml:1:19: start: 2026-02-30"},
    {"calendar: {start: tomorrow}", "start: tomorrow is not a date as 2026-01-31"},
    {"calendar: {stop: 2026-01-01}", "stop needs start beside it"},
    {"calendar: {start: 2026-01-02, stop: 2026-01-01}", "stop: 2026-01-01 is not after start"},
    {"calendar: {length: 0}", "length: 0 is not a time"},
    {"components: [A]", "components must be names with what belongs to them"},
    {"components: {A: {stp: 1h}}",
     "c.yaml:1:18: stp is no key of a component (did you mean 'step'?)"},
    {"components: {A: {step: 1.5h}}", "step: 1.5h is not a time"},
    {"components: {A: {step: 5m}}", "step: 5m is not a time"},
    {"components: {A: {step: -1}}", "step: -1 is not a time"},
    {"components: {A: {step: 9999999999}}", "step: 9999999999 is not a time"},
    {"components: {A: {processes: 0}}", "processes: 0 is not a whole number from 1"},
    {"components: {A: , A: }", "component 'A' is defined twice"},
    {"components: {A: 7}", "a component must be keys with values, not 7"},
    {"components: {A: {grids: [[a]]}}", "grids: (a list) is not a name"},
    {"couplings: {a: b}", "couplings must be a list"},
    {AB "- {from: A}", "c.yaml:3:3: this coupling needs from, to and fields"},
    {AB "- {from: A, to: A, fields: [x]}", "couples component 'A' with itself"},
    {AB "- {from: A, to: B, fields: []}", "fields must be a list with one field or more"},
    {AB "- {from: A, to: B, grid: g, fields: [x]}", "grid is no key of a coupling"},
    {"couplings:\n- {from: A, to: B, to_grid: g, interval: 1h, fields: [x]}",
     "c.yaml:2:3: this coupling needs from_grid: component 'A' has no grid in components"},
    {AB "- {from: A, to: C, to_grid: g, interval: 1h, fields: [x]}",
     "component 'C' is not one of components"},
    {AB "- {from: A, to: B, from_grid: ga, interval: 1h, fields: [x]}",
     "component 'A' has no grid 'ga' in components (line 1) (did you mean 'gA'?)"},
    {AB "- {from: A, to: B, interval: 1h, fields: [{layers: 1}]}",
     "c.yaml:3:43: this field needs a name, or from and to"},
    {AB "- {from: A, to: B, interval: 1h, fields: [{name: x, to: y}]}", "this field has a name"},
    {AB "- {from: A, to: B, interval: 1h, fields: [{from: x}]}", "needs a name, or from and to"},
    {AB "- {from: A, to: B, interval: 1h, fields: [~x, '']}", "fields:  is not a name"},
    {X("lag: parallel"), "this field needs interval"},
    {X("interval: hourly"), "interval: hourly is not a time"},
    {X("interval: 3h, lag: later"), "lag: later is none of parallel, now, serial"},
    {X("interval: 3h, reduction: avrage"), "(did you mean 'average'?)"},
    {X("lag: now, reduction: average"), "one of several puts, but each is sent at once"},
    {X("interval: 3h, layers: 0"), "layers: 0 is not a whole number from 1"},
    {X("interval: 3h, layers: 3, vector: yes"), "needs an even number of layers, not 3"},
    {X("interval: 3h, vector_with: y"), "c.yaml:3: 'x' is the first component of a vector whose"},
    {X("interval: 3h, vector_with: [y]"), "vector_with: (a list) is not a name"},
    {X("interval: 3h, tag: 10001"), "tag: 10001 is above 10000"},
    {X("interval: 3h, type: double"), "type: double is none of real8, real4, int"},
    {X("interval: 3h, fill: nan"), "fill: nan is not a number"},
    {X("interval: 3h, offset: soon"), "offset: soon is not a time, before which a minus may stand"},
    {X("interval: 3h, masked: all"), "masked: all is none of scale, fill, part"},
    {X("interval: 3h, remap: left"), "remap: left is none of auto, sender, receiver"},
    {X("interval: 3h, bundle: b"), "only variables with lag 0 need one"},
    {X("interval: 3h, type: int, fill: 0.5"), "'x' has the fill value 0.5, which is none of its"},
    {X("interval: 3h, table: 0"), "table: 0 is not a whole number from 1"},
    {X("interval: 3h, intervall: 3h"), "intervall is no key of a field (did you mean 'interval'?)"},
    {X("interval: 3h") "- {from: A, to: B, interval: 1h, fields: [x]}",
     "c.yaml:4: component 'B' receives 'x' a second time, as in line 3"},
    {X("interval: 3h") "- {from: A, to: B, interval: 1h, fields: [{from: x, to: x2, layers: 2}]}",
     "'x' of component 'A' has 2 layers here and 1 in line 3"},
    /* what components say */
    {"components: {A: {grids: g, puts: [wind]}, B: {grids: g}}\ncouplings:\n"
     "- {from: A, to: B, interval: 1h, fields: [wnd]}",
     "c.yaml:3: component 'A' puts no 'wnd', as components says (line 1) (did you mean 'wind'?)"},
    {"components: {A: {grids: g}, B: {grids: g, gets: [x, y]}}\ncouplings:\n"
     "- {from: A, to: B, interval: 1h, fields: [x]}",
     "c.yaml:1: component 'B' gets 'y', but no coupling brings it"},
    {"components: {A: {grids: g, step: 2h}, B: {grids: g}}\ncouplings:\n"
     "- {from: A, to: B, interval: 3h, fields: [x]}",
     "the interval of 'x', 10800 s, is no multiple of the step of component 'A', 7200 s"},
    /* circles */
    {X("interval: 1h, lag: 1") Y("interval: 1h, lag: 1"), "would wait for each other for ever"},
    {X("interval: 2h, lag: 1") Y("interval: 1h"), "c.yaml:3: the components would wait"},
    /* no YAML, or more than is read */
    {"a: [1, 2", "c.yaml:2:1: this is no YAML"},
    {"a:\n\tb: 1", "c.yaml:2:1: this is no YAML"},
    {"log: &a loud", "c.yaml:1:6: anchors (&) and aliases (*) are not read"},
    {"log: *a", "anchors (&) and aliases (*) are not read"},
    {"log: !!str loud", "tags (!) are not read"},
    {"log: loud\n---\nlog: loud", "a second document begins"},
    {"[1]: 2", "c.yaml:1:1: a key must be one word"},
    {"log: \"a\\x01\"", "holds a control character"},
    {"log: \"a\\0b\"", "holds a control character"},
    {"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", "lie too deep"},
    {"log: \xff", "is no YAML"},
};

static void names_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct wio_cpl_conf conf;

        if (read_conf(mistakes[i].text, &conf) == 0)
            fail_msg("accepted: %s", mistakes[i].text);
        if (strstr(wio_cpl_why(), mistakes[i].says) == NULL)
            fail_msg("'%s' instead of '%s'", wio_cpl_why(), mistakes[i].says);
        wio_cpl_conf_free(&conf);
    }
}

static void names_all_mistakes_at_once(void **state)
{
    static const char text[] =
        "components: {A: {grids: gA, stp: 1h}, B: {grids: gB}}\n"
        "couplings:\n"
        "- {from: A, to: B, interval: 1q, fields: [{name: x, layers: 0}, y]}\n"
        "- {from: B, to: A, interval: 1h, fields: [z, z]}\n";
    static const char *const says[] = {"stp is no key", "interval: 1q", "layers: 0",
                                       "receives 'z' a second"};
    struct wio_cpl_conf conf;

    (void)state;
    assert_true(read_conf(text, &conf) < 0);
    assert_non_null(strstr(wio_cpl_why(), "more errors"));
    (void)wio_cpl_conf_check(&conf);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        const struct wio_cpl_fault *all = conf.faults.at;
        size_t k = 0;

        while (k < conf.faults.n && strstr(all[k].text, says[i]) == NULL)
            k++;
        if (k == conf.faults.n)
            fail_msg("nothing says '%s'", says[i]);
    }
    wio_cpl_conf_free(&conf);
}

static void empty_files_are_good(void **state)
{
    static const char *const texts[] = {"", "# nothing\n", "couplings: []\n", "---\n...\n", "{}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct wio_cpl_conf conf;

        if (read_conf(texts[i], &conf) != 0)
            fail_msg("'%s': %s", texts[i], wio_cpl_why());
        assert_int_equal(conf.links.n, 0);
        wio_cpl_conf_free(&conf);
    }
}

/* ---- the formats say the same -------------------------------------------------------------- */

static void must_be_equal(const struct wio_cpl_conf *a, const struct wio_cpl_conf *b)
{
    assert_int_equal(a->links.n, b->links.n);
    assert_true(a->restart.interval == b->restart.interval && a->restart.read == b->restart.read);
    assert_true((a->restart.file == NULL) == (b->restart.file == NULL));
    if (a->restart.file != NULL)
        assert_string_equal(a->restart.file, b->restart.file);
    assert_true(a->log == b->log && a->debug == b->debug && a->stop_step == b->stop_step);
    assert_true(a->files == b->files && wio_cpl_same(a->report, b->report));
    for (size_t i = 0; i < a->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(a, i), *m = wio_cpl_conf_link(b, i);

        assert_string_equal(l->comp_put, m->comp_put);
        assert_string_equal(l->comp_get, m->comp_get);
        assert_string_equal(l->grid_put, m->grid_put);
        assert_string_equal(l->grid_get, m->grid_get);
        assert_string_equal(l->var_put, m->var_put);
        assert_string_equal(l->var_get, m->var_get);
        assert_true(l->interval == m->interval && l->lag == m->lag && l->reduce == m->reduce);
        assert_true(l->layers == m->layers && l->tag == m->tag);
        assert_int_equal(l->mapping_tag, m->mapping_tag);
        assert_true(l->has_shift == m->has_shift && l->shift == m->shift);
        assert_true(l->type == m->type && l->masked == m->masked && l->side == m->side);
        assert_true(l->has_fill == m->has_fill && l->fill == m->fill);
        assert_true((l->bundle == NULL) == (m->bundle == NULL));
        assert_true(l->statistic.kind == m->statistic.kind &&
                    l->statistic.quantile == m->statistic.quantile);
    }
}

static void write_and_compare(const struct wio_cpl_conf *conf)
{
    struct wio_cpl_list text = {NULL, 0, 0};
    struct wio_cpl_conf again;

    assert_int_equal(wio_cpl_conf_write(conf, &text), 0);
    if (wio_cpl_conf_yaml(text.at, text.n, "again", &again) != 0)
        fail_msg("%s in\n%.*s", wio_cpl_why(), (int)text.n, (char *)text.at);
    must_be_equal(conf, &again);
    assert_int_equal(conf->parts.n, again.parts.n);
    for (size_t i = 0; i < again.parts.n; i++)
        assert_int_equal(wio_cpl_conf_part(conf, i)->may_fail,
                         wio_cpl_conf_part(&again, i)->may_fail);
    assert_true(conf->length == again.length);
    wio_cpl_conf_free(&again);
    wio_cpl_list_free(&text);
}

static void writes_what_it_reads(void **state)
{
    struct wio_cpl_conf conf;

    (void)state;
    assert_int_equal(read_conf(whole, &conf), 0);
    write_and_compare(&conf);
    wio_cpl_conf_free(&conf);
}

static uint32_t dice(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* A namelist at random: one in four variables begins a new pair. */
static void random_namelist(uint32_t *seed, char *out, size_t room)
{
    /* with the quotes that suit them */
    static const char *const names[] = {"'A'",    "'no'",   "'1e3'", "'a b'", "\"it's\"",
                                        "'x\"y'", "'a: b'", "'#c'",  "'-'",   "'\\n'"};
    size_t used = 0;

    for (uint32_t i = 0, n = dice(seed, 6); i <= n; i++) {
        if (i == 0 || dice(seed, 4) == 0) {
            wio_cpl_text(out + used, room - used,
                         "&h3ou_var comp_put=\"p%u\" comp_get='%s' grid_put='g%u' grid_get='h' "
                         "mapping_tag=%u /\n",
                         dice(seed, 3), i % 2 == 0 ? "q" : "yes", dice(seed, 3), dice(seed, 3));
            used += strlen(out + used);
        }
        uint32_t lag = dice(seed, 3), vector = dice(seed, 2);

        wio_cpl_text(out + used, room - used,
                     "&h3ou_var var_put=%s var_get='y%u' intvl=%u lag=%d flag='%s' layer=%u "
                     "grid_intpl_tag=%u /\n",
                     names[dice(seed, sizeof names / sizeof names[0])], i, 1 + dice(seed, 90000),
                     (int)lag - 1, lag == 1 || dice(seed, 2) == 0 ? "SNP" : "AVR",
                     2 * (1 + dice(seed, 3)), vector * (WIO_CPL_VECTOR_TAG + 1) + dice(seed, 100));
        used += strlen(out + used);
    }
}

static void converts_namelists(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int i = 0; i < 500; i++) {
        char text[4000] = "&h3ou_coupling log_level='LOUD' stop_step=3 debug_mode=T files='all' "
                          "report='a b' /\n";
        struct wio_cpl_conf conf;

        random_namelist(&seed, text + strlen(text), sizeof text - strlen(text));
        if (wio_cpl_conf_namelist(text, strlen(text), "c.conf", &conf) != 0)
            fail_msg("%s in\n%s", wio_cpl_why(), text);
        write_and_compare(&conf);
        wio_cpl_conf_free(&conf);
    }
}

/* ---- which format --------------------------------------------------------------------------- */

static void read_as(const char *name, const char *text, bool yaml)
{
    struct wio_cpl_conf conf;
    FILE *to = fopen(name, "w");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
    if (wio_cpl_conf_read(name, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_true(conf.yaml == yaml);
    wio_cpl_conf_free(&conf);
    assert_int_equal(remove(name), 0);
}

static void tells_the_formats_apart(void **state)
{
    char folder[] = "/tmp/wio-yaml-XXXXXX", name[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    wio_cpl_text(name, sizeof name, "%s/c.yaml", folder);
    read_as(name, "log: loud\n", true);
    wio_cpl_text(name, sizeof name, "%s/c.yml", folder);
    read_as(name, "", true);
    wio_cpl_text(name, sizeof name, "%s/c.conf", folder);
    read_as(name, "", false);
    read_as(name, "couplings are here:\n&h3ou_coupling log_level='LOUD' /\n", false);
    read_as(name, "# YAML\ncouplings:\n", true);
    assert_int_equal(remove(folder), 0);
}

static void says_that_libyaml_is_missing(void **state)
{
    struct wio_cpl_conf conf;

    (void)state;
    assert_int_equal(read_conf("", &conf), WAITIO_ERR_UNSUPPORTED);
    assert_non_null(strstr(wio_cpl_why(), "libyaml-dev"));
    wio_cpl_conf_free(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_components),
        cmocka_unit_test(reads_couplings),
        cmocka_unit_test(reads_how_a_field_goes),
        cmocka_unit_test(reads_ensembles_and_restarts),
        cmocka_unit_test(reads_vectors_of_two_fields),
        cmocka_unit_test(names_mistakes),
        cmocka_unit_test(names_all_mistakes_at_once),
        cmocka_unit_test(empty_files_are_good),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(converts_namelists),
        cmocka_unit_test(tells_the_formats_apart),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(says_that_libyaml_is_missing)};
    struct wio_cpl_conf conf;
    bool there = wio_cpl_conf_yaml("", 0, "c.yaml", &conf) != WAITIO_ERR_UNSUPPORTED;

    wio_cpl_conf_free(&conf);
    return there ? cmocka_run_group_tests(tests, NULL, NULL)
                 : cmocka_run_group_tests(without, NULL, NULL);
}
