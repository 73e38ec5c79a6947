/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waitio-coupling: a coupler's configuration without its programs: is it right, what does it ask of
 * them, and the same as YAML. `waitio cpl check`, `convert` and `keys` start it. Exit status 0; 1:
 * the file has errors, or something could not be written; 2: wrong arguments.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/conf_values.h"
#include "coupling.h"
#include "waitio_errors.h"

static const char HELP[] =
    "usage: waitio cpl check FILE [OPTIONS]\n"
    "       waitio cpl convert FILE [-o FILE.yaml]\n"
    "       waitio cpl keys\n"
    "\n"
    "check validates a coupler's configuration (namelists or YAML) without running the models. It\n"
    "names all errors at once, and says what each component must call and when.\n"
    "\n"
    "  --step NAME=TIME   the time step of a component (1800, 30min), where the file says none;\n"
    "                     may be repeated\n"
    "  --graph FILE.svg   draws which component gives what to which\n"
    "  --timeline FILE.svg  draws the first intervals: which steps run at the same time, and what\n"
    "                     they wait for\n"
    "  --strict           warnings are errors, too\n"
    "  --json             the report as JSON\n"
    "  --quiet            errors and warnings only\n"
    "\n"
    "convert writes a configuration as YAML, on standard output or into a file.\n"
    "keys lists the keys of both formats.\n"
    "\n"
    "Exit status: 0; 1: the file has errors, or something could not be written; 2: wrong "
    "arguments.\n";

struct arguments {
    const char *command, *file, *out, *graph, *timeline;
    bool json, quiet, strict;
    struct wio_cpl_list steps; /* struct given_step */
};

enum { OPT_STEP = 256, OPT_GRAPH, OPT_TIMELINE, OPT_STRICT, OPT_JSON, OPT_QUIET };

static const struct option OPTIONS[] = {{"step", required_argument, NULL, OPT_STEP},
                                        {"graph", required_argument, NULL, OPT_GRAPH},
                                        {"timeline", required_argument, NULL, OPT_TIMELINE},
                                        {"strict", no_argument, NULL, OPT_STRICT},
                                        {"json", no_argument, NULL, OPT_JSON},
                                        {"quiet", no_argument, NULL, OPT_QUIET},
                                        {"output", required_argument, NULL, 'o'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "waitio cpl: %s '%s'; see waitio cpl check --help\n", what, value);
    return 2;
}

static int fail(void)
{
    fprintf(stderr, "waitio cpl: %s\n", wio_cpl_why());
    return 1;
}

/* NAME=TIME, with times as in the file. */
static int read_step(struct arguments *a, const char *text)
{
    const char *sign = strrchr(text, '=');
    struct wio_cpl_conf none = {.file = NULL};
    struct wio_cpl_yaml_reading r = {.conf = &none, .key = "--step"};
    struct wio_cpl_node node = {.kind = WIO_CPL_SCALAR};
    struct given_step *step;
    int rc = 0;

    if (sign == NULL || sign == text)
        return usage("--step needs NAME=TIME, not", text);
    step = wio_cpl_push(&a->steps, sizeof *step);
    none.file = wio_cpl_copy("--step");
    node.text = wio_cpl_copy(sign + 1);
    if (step != NULL)
        step->component = wio_cpl_copy(text);
    if (step == NULL || none.file == NULL || node.text == NULL || step->component == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0) {
        step->component[sign - text] = '\0';
        rc = wio_cpl_yaml_duration(&r, &node, &step->seconds);
    }
    free(node.text);
    wio_cpl_conf_free(&none);
    if (rc == 0 && r.bad)
        return usage("--step needs NAME=TIME with a time as 1800 or 30min, not", text);
    return rc == 0 ? 0 : fail();
}

static int read_option(struct arguments *a, int option)
{
    switch (option) {
    case OPT_STEP:
        return read_step(a, optarg);
    case OPT_GRAPH:
        a->graph = optarg;
        return 0;
    case OPT_TIMELINE:
        a->timeline = optarg;
        return 0;
    case OPT_STRICT:
        a->strict = true;
        return 0;
    case OPT_JSON:
        a->json = true;
        return 0;
    case OPT_QUIET:
        a->quiet = true;
        return 0;
    case 'o':
        a->out = optarg;
        return 0;
    case 'h':
        fputs(HELP, stdout);
        exit(0);
    default:
        return 2;
    }
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    int option, error = 0;
    bool keys;

    while (error == 0 && (option = getopt_long(argc, argv, "o:h", OPTIONS, NULL)) != -1)
        error = read_option(a, option);
    if (error != 0)
        return error;
    a->command = optind < argc ? argv[optind++] : "";
    keys = strcmp(a->command, "keys") == 0;
    if (!keys && strcmp(a->command, "check") != 0 && strcmp(a->command, "convert") != 0)
        return usage("check, convert or keys is needed, not", a->command);
    if (argc - optind != (keys ? 0 : 1))
        return usage(keys ? "keys needs nothing more than" : "one file is needed after",
                     a->command);
    a->file = keys ? NULL : argv[optind];
    return 0;
}

/* ---- convert ----------------------------------------------------------------------------------
 */

static int write_out(const char *out, const struct wio_cpl_list *text)
{
    FILE *to = out != NULL ? fopen(out, "w") : stdout;
    bool bad;

    if (to == NULL) {
        (void)wio_cpl_fail(WAITIO_ERR_SYSTEM, "cannot write '%s': %s", out, strerror(errno));
        return fail();
    }
    bad = fwrite(text->at, 1, text->n, to) != text->n;
    bad |= out != NULL ? fclose(to) != 0 : fflush(to) != 0;
    if (bad) {
        (void)wio_cpl_fail(WAITIO_ERR_SYSTEM, "cannot write '%s': %s",
                           out != NULL ? out : "standard output", strerror(errno));
        return fail();
    }
    return 0;
}

/* What namelists do not say, but anybody can see: components with their grids. */
static int tell_components(struct wio_cpl_conf *conf)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && !conf->yaml && i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        rc = wio_cpl_conf_tell(conf, l->comp_put, l->grid_put);
        if (rc == 0)
            rc = wio_cpl_conf_tell(conf, l->comp_get, l->grid_get);
    }
    return rc;
}

/* Bytes that are no UTF-8 would make a file that nobody reads: so it is read once here. */
static int convert(const struct arguments *a, struct wio_cpl_conf *conf)
{
    struct wio_cpl_list text = {NULL, 0, 0};
    struct wio_cpl_conf again = {.file = NULL};
    int rc = tell_components(conf);

    if (rc == 0)
        rc = wio_cpl_conf_write(conf, &text);
    if (rc == 0)
        rc = wio_cpl_conf_yaml(text.at, text.n, "the converted file", &again);
    rc = rc == 0 ? write_out(a->out, &text) : fail();
    wio_cpl_conf_free(&again);
    wio_cpl_list_free(&text);
    return rc;
}

/* ---- check ------------------------------------------------------------------------------------
 */

static int draw(const struct arguments *a, struct schedule *s)
{
    int rc = 0;

    if (a->graph != NULL)
        rc = draw_graph(s, a->graph);
    if (rc == 0 && a->timeline != NULL)
        rc = draw_timeline(s, a->timeline);
    return rc == 0 ? 0 : fail();
}

static void show(const struct arguments *a, const struct schedule *s)
{
    const struct wio_cpl_fault *all = s->conf->faults.at;

    if (a->json)
        print_json(stdout, s);
    else if (!a->quiet)
        print_text(stdout, s);
    for (size_t i = 0; !a->json && a->quiet && i < s->conf->faults.n; i++)
        fprintf(stderr, "%s: %s\n", all[i].warning ? "warning" : "error", all[i].text);
}

static int unused_steps(const struct arguments *a)
{
    const struct given_step *all = a->steps.at;

    for (size_t i = 0; i < a->steps.n; i++)
        if (!all[i].used)
            return usage("--step names a component that the file does not have:", all[i].component);
    return 0;
}

static int check(struct arguments *a, struct wio_cpl_conf *conf)
{
    struct schedule s;
    int rc = wio_cpl_conf_check(conf), status;

    if (rc == 0 || rc == WAITIO_ERR_CONFIG)
        rc = schedule_make(conf, &a->steps, &s);
    if (rc != 0)
        return fail();
    rc = audit(conf, &s);
    if (rc == 0)
        rc = check_weight_files(conf);
    if (rc != 0) {
        schedule_free(&s);
        return fail();
    }
    status = unused_steps(a);
    if (status == 0) {
        show(a, &s);
        status = wio_cpl_conf_verdict(conf) != 0 || (a->strict && conf->faults.n > 0);
    }
    if (status == 0)
        status = draw(a, &s);
    else if (a->graph != NULL || a->timeline != NULL)
        fprintf(stderr, "waitio cpl: nothing is drawn of a file with errors\n");
    schedule_free(&s);
    return status;
}

static int work(struct arguments *a)
{
    struct wio_cpl_conf conf;
    bool checks = strcmp(a->command, "check") == 0;
    int rc = wio_cpl_conf_read(a->file, &conf), status;

    if (rc != 0 && !(checks && rc == WAITIO_ERR_CONFIG))
        status = fail();
    else
        status = checks ? check(a, &conf) : convert(a, &conf);
    wio_cpl_conf_free(&conf);
    return status;
}

int main(int argc, char **argv)
{
    struct arguments a = {.json = false};
    int status = read_arguments(argc, argv, &a);

    if (status == 0 && strcmp(a.command, "keys") == 0)
        print_keys(stdout);
    else if (status == 0)
        status = work(&a);
    for (size_t i = 0; i < a.steps.n; i++)
        free(((struct given_step *)a.steps.at)[i].component);
    wio_cpl_list_free(&a.steps);
    return status;
}
