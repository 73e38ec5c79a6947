/* SPDX-License-Identifier: BSD-3-Clause */
/* coupling.conf: what is read, and how each mistake is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coupler/conf.h"

#define PAIR "&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB' /\n"
#define BACK "&h3ou_var comp_put='B', comp_get='A', grid_put='gB', grid_get='gA' /\n"
#define VAR(name, rest) "&h3ou_var var_put='" name "', var_get='" name "', " rest " /\n"

static int read_conf(const char *text, struct wio_cpl_conf *conf)
{
    int rc = wio_cpl_conf_namelist(text, strlen(text), "c.conf", conf);

    return rc == 0 ? wio_cpl_conf_check(conf) : rc;
}

static void reads_all_forms(void **state)
{
    static const char text[] =
        "! a comment with &h3ou_var in it\n"
        "&H3OU_Coupling log_level = 'LOUD' debug_mode=.TRUE. ! why not\n stop_step = 0,\n"
        " grid_checker = T &end\n"
        "text between groups is skipped\n"
        "&nam_other key = 1, 2, 3 / \n"
        "$h3ou_var comp_put = \"A\", comp_get = 'it''s B'\n grid_put='gA' grid_get=\"gB\",\n"
        " mapping_tag = 1 $end\n"
        "&h3ou_var var_put='x  ', var_get = 'y', intvl = 3600, lag = 1, flag='AVR',\n"
        " layer = 3, grid_intpl_tag = 7, time_intpl_tag=0, factor = 1.0d0, is_ok = 1,\n"
        " data_range = 2*1.d300, var_put_vec = ' ' /\n"
        "&h3ou_var var_put='z', var_get='z2', flag = 'SNP', intvl=7200 /";
    struct wio_cpl_conf conf;
    const struct wio_cpl_link *l;

    (void)state;
    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_int_equal(conf.log, WIO_CPL_LOUD);
    assert_true(conf.debug);
    assert_int_equal(conf.links.n, 2);
    l = wio_cpl_conf_link(&conf, 0);
    assert_string_equal(l->comp_put, "A");
    assert_string_equal(l->comp_get, "it's B");
    assert_string_equal(l->var_put, "x");
    assert_true(l->interval == 3600 && l->lag == 1 && l->reduce == WIO_CPL_MEAN && l->layers == 3 &&
                l->tag == 7);
    assert_int_equal(l->mapping_tag, 1);
    l = wio_cpl_conf_link(&conf, 1);
    assert_true(l->interval == 7200 && l->lag == -1 && l->reduce == WIO_CPL_LAST && l->layers == 1);
    assert_string_equal(l->var_get, "z2");
    assert_int_equal(l->line, 13);
    wio_cpl_conf_free(&conf);
}

static void weights_belong_to_pairs(void **state)
{
    static const char text[] =
        "&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB',\n"
        " weight_file='a b.nc' /\n" VAR("x", "intvl=1 flag='SNP'")
            VAR("y",
                "intvl=1 flag='SNP'") "&h3ou_var comp_put='A', comp_get='B', grid_put='gA', "
                                      "grid_get='gC',\n"
                                      " weight_method='conservative,fixed:2 norm=destarea' /\n" VAR(
                                          "z", "intvl=1 flag='SNP'")
                                          PAIR VAR("u", "intvl=1 flag='SNP' mapping_tag=2");
    struct wio_cpl_conf conf, other;

    (void)state;
    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_string_equal(wio_cpl_conf_link(&conf, 1)->weight_file, "a b.nc");
    assert_null(wio_cpl_conf_link(&conf, 1)->weight_method);
    assert_string_equal(wio_cpl_conf_link(&conf, 2)->weight_method,
                        "conservative,fixed:2 norm=destarea");
    assert_null(wio_cpl_conf_link(&conf, 3)->weight_file);
    assert_int_equal(read_conf(PAIR VAR("x", "intvl=1 flag='SNP'"), &other), 0);
    assert_true(wio_cpl_conf_hash(&conf, "A", "B") != wio_cpl_conf_hash(&other, "A", "B"));
    wio_cpl_conf_free(&conf);
    wio_cpl_conf_free(&other);
}

static void reads_newer_keys(void **state)
{
    struct wio_cpl_conf conf;
    const struct wio_cpl_link *l;

    (void)state;
    if (read_conf(PAIR VAR("x", "flag='ACC', intvl=60, lag_seconds=-90, type='real4', fill=-1d30, "
                                "masked='fill', remap='receive'")
                      VAR("y", "flag='MAX', intvl=60, lag=-3") VAR("z", "flag='SNP', lag=0, "
                                                                        "bundle='b', type='int'"),
                  &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    l = wio_cpl_conf_link(&conf, 0);
    assert_true(l->reduce == WIO_CPL_SUM && wio_cpl_link_shift(l) == -90 && !wio_cpl_link_now(l));
    assert_true(l->type == WIO_CPL_REAL4 && wio_cpl_link_fill(l) == -1e30);
    assert_true(l->masked == WIO_CPL_MASKED_FILL && l->side == WIO_CPL_SIDE_RECEIVE);
    l = wio_cpl_conf_link(&conf, 1);
    assert_true(l->reduce == WIO_CPL_GREATEST && wio_cpl_link_shift(l) == -120);
    assert_true(wio_cpl_link_fill(l) == WIO_CPL_FILL && l->bundle == NULL);
    l = wio_cpl_conf_link(&conf, 2);
    assert_true(l->type == WIO_CPL_INT && wio_cpl_link_now(l));
    assert_string_equal(l->bundle, "b");
    wio_cpl_conf_free(&conf);
}

static void an_empty_file_is_simple_mode(void **state)
{
    struct wio_cpl_conf conf;

    (void)state;
    assert_int_equal(read_conf("", &conf), 0);
    assert_int_equal(conf.links.n, 0);
    assert_int_equal(conf.log, WIO_CPL_SILENT);
    wio_cpl_conf_free(&conf);
}

/* Each text, and what the error must say. */
static const struct {
    const char *text, *says;
} mistakes[] = {
    {"&h3ou_coupling\n log_level='loud' /", "c.conf:2: log_level = 'loud' is none of SILENT"},
    {"&h3ou_coupling\n log_levl='LOUD' /", "c.conf:2: log_levl is no key of &h3ou_coupling"},
    {"&h3ou_coupling stop_step=11 /", "c.conf:1: stop_step = 11 is no whole number from 0 to 10"},
    {"&h3ou_coupling debug_mode=1 /", "debug_mode must be .true. or .false."},
    {"&h3ou_coupling files='some' /", "= 'some' is none of 'none', 'asked' and 'all'"},
    {"&h3ou_coupling report='' /", "must be the name of a file, or '-'"},
    {"&h3ou_coupling restart_read=T /", "which need restart_file"},
    {"&h3ou_coupling restart_file='' /", "restart_file must have 1 to 3000 characters"},
    {"&h3ou_coupling restart_intvl=0 /", "restart_intvl = 0 is no whole number from 1"},
    {"&h3ou_component name='A', on_failure='rejoin' /", "is neither 'end' nor 'go on'"},
    {"&h3ou_component name='A', rejoin=1 /", "rejoin must be .true. or .false."},
    {"&h3ou_component name='A', rejoin=T /", "there is no restart with an interval"},
    {"&h3ou_vars /", "c.conf:1: h3ou_vars is none of"},
    {PAIR "&h3ou_var var_put='x' /", "needs var_put and var_get"},
    {PAIR "&h3ou_var var_put='x' weight_file='w.nc' /", "c.conf:2: weight_file and weight_method"},
    {"&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB', weight_file='w.nc'\n"
     "weight_method='nearest' /",
     "c.conf:2: weight_method says how to make the weights that weight_file holds"},
    {"&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB'\n"
     "weight_method='nearst' /",
     "c.conf:2: weight_method = 'nearst': 'nearst' is no method"},
    {"&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB'\n"
     "weight_method='nearest max-distance=far' /",
     "max-distance=far is no setting"},
    {"&h3ou_var comp_put='A', comp_get='B', grid_put='gA', grid_get='gB'\n"
     "weight_method='nearest, fixed:1' /",
     "c.conf:2: weight_method = 'nearest, fixed:1': 'nearest,' is no list"},
    {PAIR VAR("x", "intvl=1 flag='SNP'") "&h3ou_var comp_put='A', comp_get='B', grid_put='gA', "
                                         "grid_get='gB', weight_file='w.nc' /\n" VAR(
                                             "y", "intvl=1 flag='SNP'"),
     "c.conf:4: the table from grid 'gA' to grid 'gB' has other weights here than in line 2"},
    {"&h3ou_var var_put='x' var_get='x' flag='SNP' intvl=1 /", "has no record with comp_put"},
    {"&h3ou_var comp_put='A' /", "needs comp_put, comp_get, grid_put and grid_get together"},
    {"&h3ou_var comp_put='A' comp_get='A' grid_put='g' grid_get='g' /", "with itself"},
    {"&h3ou_var comp_put='A' comp_get='B' grid_put='g' grid_get='g' var_put='x' /",
     "one record for the pair"},
    {PAIR VAR("x", "flag='snp', intvl=3600"), "c.conf:2: flag = 'snp' is neither 'SNP' nor 'AVR'"},
    {PAIR VAR("x", "intvl=3600"), "c.conf:2: the record &h3ou_var that ends here needs flag"},
    {PAIR VAR("x", "flag='SNP'"), "needs intvl"},
    {PAIR VAR("x", "flag='SNP', intvl=0"), "has intvl = 0, which needs lag = 0"},
    {PAIR VAR("x", "flag='AVR', intvl=3600, lag=0"), "asks for a mean (AVR)"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, lag=2000000"),
     "lag = 2000000 is no whole number from -1000000 to 1000000"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, lag_seconds=1.5"),
     "c.conf:2: lag_seconds = 1.5 is no whole number of seconds"},
    {PAIR VAR("x", "flag='SNP', lag_seconds=0"), "needs intvl"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, type='real'"),
     "c.conf:2: type = 'real' is none of 'real8', 'real4' and 'int'"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, masked='no'"), "none of 'scale', 'fill' and 'part'"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, remap='left'"), "none of 'auto', 'send' and"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, fill=many"), "fill = many is no number"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, type='int', fill=1.5"), "which is none of its type"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, type='real4', fill=1d39"), "which is none of its type"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, bundle='b'"), "only variables with lag 0 need"},
    {PAIR VAR("x", "flag='MAX', lag=0"), "asks for a mean"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, type='int'") "&h3ou_var var_put='x', var_get='z', "
                                                         "flag='SNP', intvl=60 /",
     "of whole numbers either here or in line 2"},
    {PAIR VAR("x", "flag='SNP', intvl=1.5"), "intvl = 1.5 is no whole number"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, layer=0"), "layer = 0 is no whole number"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, layr=1"), "c.conf:2: layr is no key of &h3ou_var"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, factor=5"), "factor has never had an effect"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, is_ok=0"), "is_ok has never had an effect"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, data_range=0,1"), "data_range has never had an effect"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, time_intpl_tag=3"), "time_intpl_tag has never"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, var_put_vec='u'"), "var_put_vec has never"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, layer=3, grid_intpl_tag=10001"),
     "even number of layers"},
    /* vectors of two variables */
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='vnorth'")
         VAR("vnorht", "flag='SNP', intvl=60"),
     "c.conf:2: 'u' is the first component of a vector whose second is 'vnorth' (vector_with), but "
     "component 'B' gets nothing of that name from component 'A' (did you mean 'vnorht'?)"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='y'") BACK VAR("y", "flag='SNP', intvl=60"),
     "gets nothing of that name from component 'A'"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='u'"), "is no vector with itself"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, vector_with='u'"),
     "only the first component names the other one"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("w", "flag='SNP', intvl=60, vector_with='v'") VAR("v", "flag='SNP', intvl=60"),
     "c.conf:3: 'v' is the second component of 'w' (vector_with), but in line 2 of 'u', too"},
    {PAIR VAR("u", "flag='SNP', intvl=60, layer=2, grid_intpl_tag=10001, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, layer=2"),
     "one of them has both components in its layers"},
    {PAIR VAR("u", "flag='SNP', lag=0, vector_with='v'") VAR("v", "flag='SNP', lag=0"),
     "only if both have the same bundle"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'") VAR("v", "flag='SNP', intvl=120"),
     "c.conf:2: 'u' and 'v' (line 3) are the components of a vector (vector_with), but their "
     "intervals differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, lag=-2"),
     "their lags differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, layer=2"),
     "their layers differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, type='real4'"),
     "their types differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'") VAR("v", "flag='AVR', intvl=60"),
     "their reductions differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, remap='send'"),
     "their sides that remap differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, fill=0"),
     "their fill values differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, masked='part'"),
     "their ways to treat masked sources differ"},
    {PAIR VAR("u", "flag='SNP', lag=0, bundle='a', vector_with='v'")
         VAR("v", "flag='SNP', lag=0, bundle='b'"),
     "their bundles differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with='v'")
         VAR("v", "flag='SNP', intvl=60, mapping_tag=2"),
     "their tables differ"},
    {PAIR VAR("u", "flag='SNP', intvl=60, vector_with=v"),
     "vector_with must be one text in quotes"},
    {PAIR VAR("x", "flag='SNP', intvl=3600, intvl=1,2"), "intvl has more than one value"},
    {PAIR VAR("x", "flag=SNP, intvl=3600"), "flag must be a text in quotes"},
    {PAIR VAR("x", "flag='SNP', intvl=1") VAR("x", "flag='AVR', intvl=1"), "receives 'x' a second"},
    {PAIR VAR("x", "flag='SNP', intvl=1") "&h3ou_var var_put='x', var_get='x2', flag='SNP', "
                                          "intvl=1, layer=2 /",
     "has 2 layers here and 1 in line 2"},
    {"&h3ou_coupling log_level='LOUD'", "the file ends within a group"},
    {"&h3ou_coupling log_level='LOUD /", "a text in quotes does not end"},
    {"&h3ou_coupling log_level 'LOUD' /", "= was expected after a key"},
    {"&h3ou_coupling 7 /", "= was expected after a key"},
    {"&h3ou_coupling stop_step=1 &h3ou_var /", "a group begins within a group"},
    {"&h3ou_coupling stop_step=99999*1 /", "is no number of repeats"},
    /* e08, and what waits in a circle otherwise */
    {PAIR VAR("x", "flag='SNP', intvl=3600, lag=1") BACK VAR("y", "flag='SNP', intvl=3600, lag=1"),
     "would wait for each other for ever"},
    {PAIR VAR("x", "flag='SNP', intvl=60, lag=2") BACK VAR("y", "flag='SNP', intvl=60, lag=-1"),
     "for ever"},
    {PAIR VAR("x", "flag='SNP', intvl=60, lag_seconds=121")
         BACK VAR("y", "flag='SNP', intvl=60, lag=-2"),
     "for ever"},
    {PAIR VAR("x", "flag='SNP', intvl=7200, lag=1") BACK VAR("y", "flag='SNP', intvl=3600"),
     "c.conf:2: the components would wait for each other for ever: 'x' of 'A'"},
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

static const char *const good[] = {
    PAIR VAR("x", "flag='SNP', intvl=3600, lag=-1") BACK VAR("y", "flag='SNP', intvl=3600, lag=1"),
    PAIR VAR("x", "flag='SNP', intvl=7200, lag=1") BACK VAR("y", "flag='AVR', intvl=14400"),
    PAIR VAR("x", "flag='SNP', intvl=60, lag=1") BACK VAR("y", "flag='SNP', intvl=60, lag=-2"),
    PAIR VAR("x", "flag='SNP', intvl=60, lag=2") BACK VAR("y", "flag='SNP', intvl=60, lag=-2"),
    PAIR VAR("x", "flag='SNP', intvl=60, lag_seconds=120")
        BACK VAR("y", "flag='SNP', intvl=60, lag=-2"),
    PAIR VAR("u", "flag='AVR', intvl=60, vector_with='v'") VAR("v", "flag='AVR', intvl=60"),
    PAIR VAR("u", "flag='SNP', lag=0, bundle='b', vector_with='v'")
        VAR("v", "flag='SNP', lag=0, bundle='b'"),
    PAIR VAR("x", "flag='SNP', lag=0, bundle='b'") VAR("y", "flag='SNP', lag=0, bundle='b'"),
    PAIR VAR("x", "flag='SNP', intvl=7200, lag=1") VAR("w", "flag='SNP', intvl=3600, lag=1"),
    PAIR VAR("x", "flag='SNP', intvl=5400, lag=-1") VAR("w", "flag='SNP', intvl=3600, lag=1"),
    PAIR VAR("x", "flag='SNP', intvl=0, lag=0") VAR("w", "flag='SNP', lag=0"),
    PAIR VAR("x", "flag='SNP', intvl=86399, lag=1") BACK VAR("y", "flag='AVR', intvl=86399"),
};

static void accepts_what_works(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct wio_cpl_conf conf;

        if (read_conf(good[i], &conf) != 0)
            fail_msg("%s", wio_cpl_why());
        wio_cpl_conf_free(&conf);
    }
}

#define FROM_TO(a, b) "&h3ou_var comp_put='" a "' comp_get='" b "' grid_put='g' grid_get='g' /\n"
#define SERIAL VAR("x", "flag='SNP', intvl=60, lag=1")

/* Three components, each waiting for the end of the next one's interval. */
static void sees_longer_circles(void **state)
{
    static const char text[] =
        FROM_TO("A", "B") SERIAL FROM_TO("B", "C") SERIAL FROM_TO("C", "A") SERIAL;
    struct wio_cpl_conf conf;

    (void)state;
    assert_true(read_conf(text, &conf) < 0);
    assert_non_null(strstr(wio_cpl_why(), "for ever"));
    wio_cpl_conf_free(&conf);
}

static void tells_configurations_apart(void **state)
{
    struct wio_cpl_conf a, b;

    (void)state;
    assert_int_equal(read_conf(PAIR VAR("x", "flag='SNP', intvl=60"), &a), 0);
    assert_int_equal(read_conf("! other text\n" PAIR VAR("x", "flag='SNP', intvl=61"), &b), 0);
    assert_true(wio_cpl_conf_hash(&a, "A", "B") != wio_cpl_conf_hash(&b, "A", "B"));
    assert_true(wio_cpl_conf_hash(&a, "B", "A") == 0);
    wio_cpl_conf_free(&b);
    assert_int_equal(read_conf("! other text\n\n" PAIR VAR("x", "flag='SNP', intvl=60"), &b), 0);
    assert_true(wio_cpl_conf_hash(&a, "A", "B") == wio_cpl_conf_hash(&b, "A", "B"));
    wio_cpl_conf_free(&a);
    wio_cpl_conf_free(&b);
}

static int64_t lead(const char *text, const char *from, const char *to)
{
    struct wio_cpl_conf conf;
    int64_t seconds = -1;

    if (read_conf(text, &conf) != 0)
        fail_msg("%s", wio_cpl_why());
    assert_int_equal(wio_cpl_conf_lead(&conf, from, to, &seconds), 0);
    wio_cpl_conf_free(&conf);
    return seconds;
}

#define OTHER(a, b)                                                                                \
    "&h3ou_var comp_put='" a "', comp_get='" b "', grid_put='g" a "', grid_get='g" b "' /\n"

/* How far a sender must be able to go before what it has sent can be taken. */
static void senders_go_ahead_by_the_lags(void **state)
{
    static const char one[] = PAIR VAR("a", "intvl=3600, flag='SNP'")
        VAR("b", "intvl=7200, lag=1, flag='SNP'") VAR("c", "intvl=3600, lag=3, flag='SNP'");
    static const char back[] =
        PAIR VAR("a", "intvl=3600, flag='SNP'") BACK VAR("b", "intvl=3600, lag=1, flag='SNP'");
    /* A to D directly, and by way of B and C; D has something for A, and E for nobody there */
    static const char web[] = PAIR VAR("a", "intvl=60, lag=1, flag='SNP'") OTHER("B", "C")
        VAR("b", "intvl=60, lag=2, flag='SNP'") OTHER("C", "D")
            VAR("c", "intvl=60, lag=-3, flag='SNP'") OTHER("A", "D")
                VAR("d", "intvl=60, flag='SNP'") OTHER("D", "A")
                    VAR("e", "intvl=6000, lag=-1, flag='SNP'") OTHER("E", "A")
                        VAR("f", "intvl=6000, lag=1, flag='SNP'");

    (void)state;
    assert_int_equal(lead(one, "A", "B"), 10800);
    assert_int_equal(lead(one, "B", "A"), 0);
    assert_int_equal(lead(back, "A", "B"), 0);
    assert_int_equal(lead(back, "B", "A"), 3600);
    assert_int_equal(lead(web, "A", "D"), 180);
    assert_int_equal(lead(web, "A", "B"), 60);
    assert_int_equal(lead(web, "B", "C"), 120);
    assert_int_equal(lead(web, "D", "A"), 0);
    assert_int_equal(lead(web, "E", "A"), 6000);
    assert_int_equal(lead("", "A", "B"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_forms),
        cmocka_unit_test(weights_belong_to_pairs),
        cmocka_unit_test(reads_newer_keys),
        cmocka_unit_test(an_empty_file_is_simple_mode),
        cmocka_unit_test(names_mistakes),
        cmocka_unit_test(accepts_what_works),
        cmocka_unit_test(sees_longer_circles),
        cmocka_unit_test(tells_configurations_apart),
        cmocka_unit_test(senders_go_ahead_by_the_lags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
