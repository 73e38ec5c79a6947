/* SPDX-License-Identifier: BSD-3-Clause */
/* Component `ocean`: gets heat from the atmosphere, and tells it how warm and bright the sea is. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ocean.h"

enum { DAY = 86400 };

_Noreturn void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("ocean: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

static int read_days(const char *text)
{
    char *end;
    long days = strtol(text, &end, 10);

    if (*end != '\0' || days < 1 || days > 1000000)
        give_up("'%s' is no number of days from 1 to 1000000", text);
    return (int)days;
}

/* A table that the other component brings, if that runs. */
static void map_to(waitio_cpl_t cpl, const char *other)
{
    int i = -1;

    (void)waitio_cpl_component_find(cpl, other, &i);
    if (i >= 0)
        (void)waitio_cpl_map(cpl, "ocean", "sea", other, "sea", 1, NULL);
}

/* Errors of the coupler end the program with a text, so no code is looked at. */
static void define(waitio_cpl_t cpl, const struct sea *sea)
{
    struct waitio_cpl_entries entries;

    (void)waitio_cpl_grid(cpl, "sea", sea->index, (size_t)sea->n);
    (void)waitio_cpl_grids_done(cpl);
    table_read(sea, "air_sea.nc", &entries);
    (void)waitio_cpl_map(cpl, "atmos", "air", "ocean", "sea", 1, &entries);
    table_free(&entries);
    table_read(sea, "sea_air.nc", &entries);
    (void)waitio_cpl_map(cpl, "ocean", "sea", "atmos", "air", 1, &entries);
    table_free(&entries);
    map_to(cpl, "learn");
    map_to(cpl, "output");
    (void)waitio_cpl_start(cpl);
}

static void put(waitio_cpl_t cpl, const struct slab *slab, const struct sea *sea)
{
    size_t n = (size_t)sea->n;

    (void)waitio_cpl_put(cpl, "sst", slab->temperature, n, 1, 1);
    (void)waitio_cpl_put(cpl, "albedo", slab->albedo, n, 1, 1);
    (void)waitio_cpl_put(cpl, "wet", slab->wet, n, 1, 1);
    (void)waitio_cpl_put(cpl, "ice", slab->ice, n, 1, 1);
    (void)waitio_cpl_put(cpl, "heat_in", slab->heat, n, 1, 1);
}

static double stored(const struct slab *slab, const struct sea *sea)
{
    double *terms = malloc(((size_t)sea->n + 1) * sizeof *terms), sum;

    if (terms == NULL)
        give_up("no memory for %d values", sea->n);
    for (int i = 0; i < sea->n; i++)
        terms[i] = sea->area[i] / (4 * 3.14159265358979323846) * slab->energy[i];
    sum = exact_sum(terms, sea->n, sea->comm);
    free(terms);
    return sum;
}

static FILE *open_record(const struct sea *sea, double at_start)
{
    FILE *file = sea->rank == 0 ? fopen("ocean.csv", "w") : NULL;

    if (sea->rank == 0 && file == NULL)
        give_up("ocean.csv cannot be written");
    if (file != NULL)
        fprintf(file,
                "day,sea_J_m2,received_J_m2,given_W_m2,got_W_m2,exchanged_W_m2,error\n"
                "0,%.17g,0,0,0,0,0\n",
                at_start);
    return file;
}

static void record(FILE *file, int day, int days, double energy, const struct budget *b)
{
    if (file == NULL)
        return;
    fprintf(file, "%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.3g\n", day, energy, b->received, b->given,
            b->got, b->gross, b->error);
    if (day % 90 == 0 || day == days) {
        printf(
            "day %d: heat to the ocean: given %.15f, got %.15f W/m2; largest relative difference "
            "of all exchanges so far %.1e\n",
            day, b->given, b->got, b->worst);
        fflush(stdout);
    }
}

static void run(waitio_cpl_t cpl, const struct sea *sea, int days, double *waited)
{
    struct slab slab;
    struct budget budget = {0};
    FILE *file;

    slab_start(&slab, sea);
    file = open_record(sea, stored(&slab, sea));
    put(cpl, &slab, sea);
    for (int day = 1; day <= days; day++) {
        double began = MPI_Wtime();
        int fresh = 0;

        (void)waitio_cpl_step(cpl, DAY);
        (void)waitio_cpl_get(cpl, "heat", slab.heat, (size_t)sea->n, 1, 1, &fresh);
        *waited += MPI_Wtime() - began;
        budget_check(&budget, cpl, sea, slab.heat, day);
        slab_day(&slab, sea);
        put(cpl, &slab, sea);
        record(file, day, days, stored(&slab, sea), &budget);
    }
    if (file != NULL && fclose(file) != 0)
        give_up("ocean.csv cannot be written");
}

static void write_times(const struct sea *sea, double seconds, double waited)
{
    char path[40];
    FILE *file;

    (void)snprintf(path, sizeof path, "time.ocean.%d", sea->rank);
    file = fopen(path, "w");
    if (file == NULL)
        give_up("%s cannot be written", path);
    fprintf(file, "%.4f %.4f\n", seconds, waited);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct sea sea = {.comm = MPI_COMM_WORLD};
    waitio_cpl_t cpl = NULL;
    double began, waited = 0;
    int days;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(sea.comm, &sea.rank);
    MPI_Comm_size(sea.comm, &sea.processes);
    if (argc != 2)
        give_up("usage: climate_ocean DAYS, in a folder with coupling.conf");
    days = read_days(argv[1]);
    (void)waitio_cpl_open("ocean", "coupling.conf", &cpl);
    began = MPI_Wtime();
    sea_read(&sea, "sea.nc", "air_sea.nc");
    define(cpl, &sea);
    run(cpl, &sea, days, &waited);
    write_times(&sea, MPI_Wtime() - began, waited);
    (void)waitio_cpl_close(&cpl);
    MPI_Finalize();
    return 0;
}
