/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waitio-weights: weights between two grids into a file, and how good they are. `waitio cpl
 * weights` starts it. Exit status 0; 1 with the reason on stderr; 2 for wrong arguments.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupler/weights/grid.h"
#include "coupler/weights/options.h"
#include "os/os.h"
#include "plot.h"

static const char HELP[] =
    "usage: waitio cpl weights SOURCE TARGET [-m METHODS] [-o FILE] [OPTIONS]\n"
    "\n"
    "Makes the weights by which fields go from the grid SOURCE to the grid TARGET, and says how "
    "good\n"
    "they are. A grid is a netCDF file (SCRIP grid, ESMF mesh) or a name: r360x180 (longitudes x\n"
    "latitudes), cs90 (cubed sphere), ico32 (icosahedral triangles). With --grid NAME -o FILE "
    "instead\n"
    "of the two, such a grid is written as a SCRIP grid file. With --compare the two are weight "
    "files\n"
    "(SCRIP, ESMF) between the same grids, and how far they are apart is said. With --plot FILE\n"
    "-o PICTURE.svg a weight file is drawn: which method gave a target its value, which have "
    "none.\n"
    "\n"
    "  -m METHODS          one or more, separated by commas; each takes the targets that those "
    "before\n"
    "                      it leave without value. Default: conservative\n"
    "      conservative    by shared areas; conservative2 has gradients in the source cells\n"
    "      bilinear        for logically rectangular sources; barycentric for any with corners\n"
    "      nearest         the nearest centre; distance: the nearest few, by their distances\n"
    "      fixed:VALUE     a value of its own\n"
    "  -o FILE             writes the weights\n"
    "  --format FORMAT     scrip (default) or esmf\n"
    "  --norm NORM         fracarea (default): a constant stays constant in cells covered in "
    "part;\n"
    "                      destarea: integrals stay the same\n"
    "  --given-areas       conservative in terms of the areas in the grid files\n"
    "  --min-coverage PART conservative: a target covered less (0 .. 1) is left to the next "
    "method\n"
    "  --neighbours N      of distance; default 4\n"
    "  --power P           of distance: weights are 1 / distance^P; default 1\n"
    "  --max-distance D    of nearest and distance, in degrees (or the plane's unit)\n"
    "  --threads N         default: as many as there are processors\n"
    "  --json              the report as JSON\n"
    "  --quiet             no report\n";

struct arguments {
    const char *grid[2], *out, *write, *plot;
    enum wio_weights_format format;
    struct wio_weights_options options;
    bool json, quiet, compare;
};

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "waitio cpl weights: %s '%s'; see waitio cpl weights --help\n", what, value);
    return 2;
}

static int fail(const struct wio_weights_error *why)
{
    fprintf(stderr, "waitio cpl weights: %s\n", why->text);
    return 1;
}

static int bad_option(const struct wio_weights_error *why)
{
    fprintf(stderr, "waitio cpl weights: %s; see waitio cpl weights --help\n", why->text);
    return 2;
}

enum {
    OPT_FORMAT = 256,
    OPT_NORM,
    OPT_GIVEN,
    OPT_COVERAGE,
    OPT_NEIGHBOURS,
    OPT_POWER,
    OPT_DISTANCE,
    OPT_THREADS,
    OPT_JSON,
    OPT_QUIET,
    OPT_COMPARE,
    OPT_GRID,
    OPT_PLOT,
};

static const struct option OPTIONS[] = {{"methods", required_argument, NULL, 'm'},
                                        {"method", required_argument, NULL, 'm'},
                                        {"output", required_argument, NULL, 'o'},
                                        {"format", required_argument, NULL, OPT_FORMAT},
                                        {"norm", required_argument, NULL, OPT_NORM},
                                        {"given-areas", no_argument, NULL, OPT_GIVEN},
                                        {"min-coverage", required_argument, NULL, OPT_COVERAGE},
                                        {"neighbours", required_argument, NULL, OPT_NEIGHBOURS},
                                        {"power", required_argument, NULL, OPT_POWER},
                                        {"max-distance", required_argument, NULL, OPT_DISTANCE},
                                        {"threads", required_argument, NULL, OPT_THREADS},
                                        {"grid", required_argument, NULL, OPT_GRID},
                                        {"plot", required_argument, NULL, OPT_PLOT},
                                        {"compare", no_argument, NULL, OPT_COMPARE},
                                        {"json", no_argument, NULL, OPT_JSON},
                                        {"quiet", no_argument, NULL, OPT_QUIET},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

static int read_format(struct arguments *a)
{
    if (strcmp(optarg, "scrip") != 0 && strcmp(optarg, "esmf") != 0)
        return usage("format", optarg);
    a->format = optarg[0] == 's' ? WIO_FORMAT_SCRIP : WIO_FORMAT_ESMF;
    return 0;
}

/** What configurations of the coupler can say, too. */
static int read_setting(struct arguments *a, int option)
{
    static const char *const names[] = {[OPT_NORM - OPT_NORM] = "norm",
                                        [OPT_GIVEN - OPT_NORM] = "given-areas",
                                        [OPT_COVERAGE - OPT_NORM] = "min-coverage",
                                        [OPT_NEIGHBOURS - OPT_NORM] = "neighbours",
                                        [OPT_POWER - OPT_NORM] = "power",
                                        [OPT_DISTANCE - OPT_NORM] = "max-distance",
                                        [OPT_THREADS - OPT_NORM] = "threads"};
    struct wio_weights_error why;
    int error = option == 'm' ? wio_weights_read_methods(optarg, &a->options, &why)
                              : wio_weights_read_option(names[option - OPT_NORM],
                                                        option == OPT_GIVEN ? "yes" : optarg,
                                                        &a->options, &why);
    return error == 0 ? 0 : bad_option(&why);
}

static int read_option(struct arguments *a, int option)
{
    switch (option) {
    case 'o':
        a->out = optarg;
        return 0;
    case OPT_FORMAT:
        return read_format(a);
    case OPT_GRID:
        a->write = optarg;
        return 0;
    case OPT_PLOT:
        a->plot = optarg;
        return 0;
    case OPT_COMPARE:
        a->compare = true;
        return 0;
    case OPT_JSON:
        a->json = true;
        return 0;
    case OPT_QUIET:
        a->quiet = true;
        return 0;
    case 'h':
        fputs(HELP, stdout);
        exit(0);
    default:
        return option == 'm' || (option >= OPT_NORM && option <= OPT_THREADS)
                   ? read_setting(a, option)
                   : 2;
    }
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    int option, error = 0;
    *a = (struct arguments){.options = {.n_stack = 1, .norm = WIO_NORM_FRACAREA}};
    a->options.stack[0] = WIO_METHOD_CONSERVATIVE;
    while (error == 0 && (option = getopt_long(argc, argv, "m:o:h", OPTIONS, NULL)) != -1)
        error = read_option(a, option);
    if (error == 0 && (a->write != NULL || a->plot != NULL))
        return a->out != NULL && optind == argc
                   ? 0
                   : usage("one thing and -o FILE are needed, not", "");
    if (error == 0 && argc - optind != 2)
        return usage("two grids are needed, not", optind < argc ? argv[optind] : "none");
    a->grid[0] = argv[optind];
    a->grid[1] = error == 0 ? argv[optind + 1] : NULL;
    return error;
}

static int write_grid(const char *name, const char *path, struct wio_weights_error *why)
{
    struct wio_own_cells cells;
    int error = wio_shape_make(name, &cells, why);
    if (error == 0)
        error = wio_cells_write(path, &cells.cells, why);
    wio_own_cells_free(&cells);
    return error;
}

static void print_difference(const struct arguments *a, const struct wio_weights *first,
                             const struct wio_weights *second,
                             const struct wio_weights_difference *d)
{
    const char *format =
        a->json
            ? "{\"links\": [%zu, %zu], \"only\": [%zu, %zu], \"largest\": %.3e, \"source\": %lld, "
              "\"target\": %lld, \"beyond\": %zu}\n"
            : "links %zu and %zu, of which only in the first %zu, in the second %zu\n"
              "largest difference of a weight %.3e, from source %lld to target %lld\n"
              "weights that differ by more than 1e-10: %zu\n";
    printf(format, first->n_links, second->n_links, d->only_first, d->only_second, d->largest,
           (long long)d->source, (long long)d->target, d->beyond);
}

static int compare(const struct arguments *a, struct wio_weights_error *why)
{
    struct wio_weights w[2] = {{0}, {0}};
    struct wio_weights_difference d;
    size_t sources[2] = {0, 0};
    int error = wio_weights_read(a->grid[0], &w[0], &sources[0], why);
    if (error == 0)
        error = wio_weights_read(a->grid[1], &w[1], &sources[1], why);
    if (error == 0 && (sources[0] != sources[1] || wio_weights_compare(&w[0], &w[1], &d) != 0)) {
        error = 1;
        snprintf(why->text, sizeof why->text,
                 "the files are for different grids: %zu to %zu and %zu to %zu cells", sources[0],
                 w[0].n_targets, sources[1], w[1].n_targets);
    }
    if (error == 0)
        print_difference(a, &w[0], &w[1], &d);
    wio_weights_free(&w[0]);
    wio_weights_free(&w[1]);
    return error;
}

/** Cells by name or from a file. @param corners  false: centres are enough */
static int read_cells(const char *from, bool corners, struct wio_own_cells *cells,
                      struct wio_weights_error *why)
{
    if (!wio_shape_is_name(from))
        return (corners ? wio_cells_read : wio_cells_read_centres)(from, cells, why);
    int error = wio_shape_make(from, cells, why);
    if (!corners)
        cells->cells.corners = 0;
    return error;
}

static int make_grid(const char *from, int threads, const struct wio_cells *cells,
                     struct wio_grid **grid, struct wio_weights_error *why)
{
    int error = wio_grid_make(cells, threads, grid, why);
    if (error != 0) { /* name the grid */
        struct wio_weights_error inner = *why;
        snprintf(why->text, sizeof why->text, "%.120s: %.380s", from, inner.text);
    }
    return error;
}

struct result {
    const struct arguments *a;
    struct wio_own_cells cells[2];
    struct wio_grid *grid[2];
    struct wio_weights weights;
    double seconds[3]; /* grids, weights, file */
};

static void print_grid(const char *what, const char *name, const struct wio_grid *g)
{
    struct wio_grid_facts f;
    wio_grid_facts(g, &f);
    printf("%s %s: %zu cells, %zu masked", what, name, f.cells, f.masked);
    if (f.concave > 0)
        printf(", %zu concave (cut into convex pieces)", f.concave);
    if (f.without_area > 0)
        printf(", %zu without area (taken as masked by conservative methods)", f.without_area);
    printf("\n");
}

static void print_text(const struct result *r, const struct wio_weights_report *p)
{
    print_grid("source", r->a->grid[0], r->grid[0]);
    print_grid("target", r->a->grid[1], r->grid[1]);
    printf("links %zu, weights %.6g to %.6g\n", r->weights.n_links, p->weight_min, p->weight_max);
    printf("targets by method:");
    for (int m = 1; m < WIO_METHODS; m++)
        if (p->by_method[m] > 0)
            printf(" %s %zu,", wio_method_name((enum wio_method)m), p->by_method[m]);
    printf(" without value %zu, masked %zu\n", p->by_method[WIO_METHOD_NONE], p->masked);
    printf("row sums %.15g to %.15g; of cells wholly covered 1 to %.1e\n", p->row_sum_min,
           p->row_sum_max, p->unity);
    printf("source cells that no target uses: %zu\n", p->unused);
    printf("conservation: largest error of a source cell %.1e, of a constant %.1e, of a harmonic "
           "%.1e\n",
           p->column, p->constant, p->harmonic);
    printf("interpolation of a smooth field: mean error %.2e, largest %.2e\n", p->mean_error,
           p->max_error);
    printf("seconds: grids %.2f, weights %.2f, file %.2f\n", r->seconds[0], r->seconds[1],
           r->seconds[2]);
}

static void print_json(const struct result *r, const struct wio_weights_report *p)
{
    printf("{\"links\": %zu, \"sources\": %zu, \"targets\": %zu, \"by_method\": {",
           r->weights.n_links, wio_grid_size(r->grid[0]), wio_grid_size(r->grid[1]));
    for (int m = 0; m < WIO_METHODS; m++)
        printf("%s\"%s\": %zu", m > 0 ? ", " : "", wio_method_name((enum wio_method)m),
               p->by_method[m]);
    printf("}, \"masked\": %zu, \"unused\": %zu", p->masked, p->unused);
    if (r->weights.n_links > 0)
        printf(", \"row_sum\": [%.17g, %.17g], \"weight\": [%.17g, %.17g]", p->row_sum_min,
               p->row_sum_max, p->weight_min, p->weight_max);
    printf(", \"unity\": %.3e, \"column\": %.3e, \"constant\": %.3e, \"harmonic\": %.3e, "
           "\"mean_error\": %.3e, \"max_error\": %.3e, \"seconds\": [%.4f, %.4f, %.4f]}\n",
           p->unity, p->column, p->constant, p->harmonic, p->mean_error, p->max_error,
           r->seconds[0], r->seconds[1], r->seconds[2]);
}

static int report(const struct result *r, struct wio_weights_error *why)
{
    struct wio_weights_report p;
    if (r->a->quiet)
        return 0;
    int error = wio_weights_report(r->grid[0], r->grid[1], &r->weights, &p);
    if (error != 0)
        snprintf(why->text, sizeof why->text, "out of memory for the report");
    else if (r->a->json)
        print_json(r, &p);
    else
        print_text(r, &p);
    return error;
}

static double now(void)
{
    return 1e-9 * (double)wio_os_now_ns();
}

static int work(struct arguments *a, struct result *r, struct wio_weights_error *why)
{
    double t = now();
    int error = 0;
    /* The report speaks of areas, whatever the method. */
    bool corners = !a->quiet || wio_weights_need_corners(&a->options);
    for (int k = 0; k < 2 && error == 0; k++) {
        error = read_cells(a->grid[k], corners, &r->cells[k], why);
        if (error == 0)
            error = make_grid(a->grid[k], a->options.threads, &r->cells[k].cells, &r->grid[k], why);
    }
    double grids = now();
    r->seconds[0] = grids - t;
    if (error == 0)
        wio_weights_settle(&a->options, r->grid[0]->plane);
    if (error == 0)
        error = wio_weights_make(r->grid[0], r->grid[1], &a->options, &r->weights, why);
    double made = now();
    r->seconds[1] = made - grids;
    struct wio_weights_label label = {.source = a->grid[0],
                                      .target = a->grid[1],
                                      .options = &a->options,
                                      .cells = {&r->cells[0].cells, &r->cells[1].cells}};
    if (error == 0 && a->out != NULL)
        error =
            wio_weights_write(a->out, a->format, r->grid[0], r->grid[1], &r->weights, &label, why);
    r->seconds[2] = now() - made;
    return error == 0 ? report(r, why) : error;
}

int main(int argc, char **argv)
{
    struct arguments a;
    int error = read_arguments(argc, argv, &a);
    if (error != 0)
        return error;
    struct wio_weights_error why = {""};
    struct result r = {.a = &a};
    error = a.write != NULL  ? write_grid(a.write, a.out, &why)
            : a.plot != NULL ? plot(a.plot, a.out, &why)
            : a.compare      ? compare(&a, &why)
                             : work(&a, &r, &why);
    wio_weights_free(&r.weights);
    for (int k = 0; k < 2; k++) {
        wio_grid_free(r.grid[k]);
        wio_own_cells_free(&r.cells[k]);
    }
    return error == 0 ? 0 : fail(&why);
}
