/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component that does what a file says, one scenario after another, by the published C calls.
 *
 *     puppet COMPONENT[*MEMBERS] FOLDER SCENARIO...
 *
 * FOLDER/SCENARIO.conf is the configuration, FOLDER/SCENARIO.COMPONENT says what this component is:
 *
 *     share HOW                       which process has which points: block, cyclic, reverse, last
 *     grid NAME INDEX...              all its points; each process takes its share
 *     table SC SG RC RG TAG [S R C [COS SIN] ;]...   entries, if this side gives the table
 *     put NAME BASE SIGN OPTION...    value SIGN * (BASE + 1000 step + index + layer / 10)
 *     get NAME
 *     steps SECONDS...
 *     hush                            no call of init_time
 *     wait                            for ever, after the first step
 *     again                           get everything twice; both must be the same
 *     skip N                          nothing is exchanged in the N-th step
 *     nap SECONDS                     compute so long in each step
 *     now sends|receives              from step 2 on, exchange immediately, compA with compB
 *     save N FILE, load FILE          restart files by name: after step N, before the start
 *     ranked                          100 * the rank in MPI_COMM_WORLD is added to puts
 *     speak                           a message of the program, from compA to all, before step 1
 *     trouble WHAT STEP WHERE [RANK]  WHAT: die (SIGKILL), fail (an error), late (1 s);
 *                                     WHERE: step, get, put (before it), close (STEP does not
 *                                     count), grid (before the end of the grids), table, start
 *
 * Options of put: noinit, even (in even steps only), twice (again with 500 more), once (in the
 * first step only), deep (as an array with layers though the configuration has one), thin
 * (with a layer less than the configuration has), masked (index
 * 1 is the fill value in odd steps). Prints each get: SCENARIO COMPONENT STEP NAME INDEX LAYER
 * VALUE, with F for a value that was not fresh.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h3ou/face.h"
#include "h3ou/h3ouc.h"

enum { MOST = 64, POINTS = 20000, LAYERS = 60, LINE = 1 << 20 };

struct put {
    char name[64], options[128];
    double base, sign;
};

struct grid {
    char name[64];
    int n, *index;
};

static struct puppet {
    const char *me, *full, *scenario; /* full: with the number of the member */
    char share[16];
    struct grid grids[MOST];
    struct put puts[MOST];
    char gets[MOST][64];
    int n_grids, n_puts, n_gets, steps[MOST], n_steps, hush, waits, again, skip, nap, sends_now,
        receives_now, speaks;
    double ranked;
    char trouble[16], where[16];
    int trouble_step, trouble_rank;
    int save_step;
    char save[500];
} it;

static char line[LINE];

/* What the file says shall happen here. */
static void maybe(const char *where, int step)
{
    if (strcmp(it.where, where) != 0 || step != it.trouble_step ||
        h3ouc_get_my_rank() != it.trouble_rank)
        return;
    (void)fflush(stdout);
    if (strcmp(it.trouble, "die") == 0)
        (void)raise(SIGKILL);
    else if (strcmp(it.trouble, "fail") == 0)
        h3ouc_put_data_1d("no such variable", NULL);
    else
        (void)sleep(1);
}

static int mine(int i, int n)
{
    int size = h3ouc_get_my_size(), rank = h3ouc_get_my_rank();

    if (strcmp(it.share, "cyclic") == 0 || strcmp(it.share, "reverse") == 0)
        return i % size == rank;
    if (strcmp(it.share, "last") == 0) /* the first process has nothing */
        return size == 1 || (rank > 0 && i % (size - 1) == rank - 1);
    return (int)((long)i * size / n) == rank;
}

static void read_grid(char *rest)
{
    struct grid *g = &it.grids[it.n_grids++];
    static int all[POINTS];
    int n = 0;
    char *at;

    (void)snprintf(g->name, sizeof g->name, "%s", strtok_r(rest, " \n", &at));
    for (char *word = strtok_r(NULL, " \n", &at); word != NULL; word = strtok_r(NULL, " \n", &at))
        all[n++] = (int)strtol(word, NULL, 10);
    g->index = malloc((size_t)n * sizeof *g->index + 1);
    g->n = 0;
    for (int i = 0; i < n; i++)
        if (mine(i, n))
            g->index[g->n++] = all[i];
    if (strcmp(it.share, "reverse") == 0)
        for (int i = 0; i < g->n / 2; i++) {
            int other = g->index[i];

            g->index[i] = g->index[g->n - 1 - i];
            g->index[g->n - 1 - i] = other;
        }
    h3ouc_def_grid(g->index, g->n, it.me, g->name, 20);
}

static void read_table(char *rest)
{
    static int send[POINTS], receive[POINTS];
    static double coef[POINTS], cosine[POINTS], sine[POINTS];
    char names[4][128], *entry, *at;
    int tag, used = 0, n = 0, words = 0;

    if (sscanf(rest, "%127s %127s %127s %127s %d%n", names[0], names[1], names[2], names[3], &tag,
               &used) < 5)
        exit(3);
    for (entry = strtok_r(rest + used, ";\n", &at); entry != NULL;
         entry = strtok_r(NULL, ";\n", &at)) {
        int found = sscanf(entry, "%d %d %lf %lf %lf", &send[n], &receive[n], &coef[n], &cosine[n],
                           &sine[n]);

        if (found >= 2) {
            words = found;
            n++;
        }
    }
    wio_h3ou_table(names[0], names[1], names[2], names[3], tag, send, receive,
                   words >= 3 ? coef : NULL, words >= 5 ? cosine : NULL, words >= 5 ? sine : NULL,
                   n > 0 ? n : -1);
}

static void read_put(const char *rest)
{
    struct put *p = &it.puts[it.n_puts++];

    p->options[0] = '\0';
    (void)sscanf(rest, "%63s %lf %lf %127[^\n]", p->name, &p->base, &p->sign, p->options);
}

/* What the run is like. */
static void do_run_line(const char *text, char *rest)
{
    char *at;
    int rank = 0;

    if (strncmp(text, "hush", 4) == 0)
        it.hush = 1;
    else if (strncmp(text, "ranked", 6) == 0) {
        (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        it.ranked = 100.0 * rank;
    } else if (strncmp(text, "trouble ", 8) == 0)
        (void)sscanf(rest, "%15s %d %15s %d", it.trouble, &it.trouble_step, it.where,
                     &it.trouble_rank);
    else if (strncmp(text, "wait", 4) == 0)
        it.waits = 1;
    else if (strncmp(text, "again", 5) == 0)
        it.again = 1;
    else if (strncmp(text, "skip ", 5) == 0)
        it.skip = (int)strtol(rest, NULL, 10);
    else if (strncmp(text, "now ", 4) == 0) {
        it.sends_now = strncmp(rest, "sends", 5) == 0;
        it.receives_now = !it.sends_now;
    } else if (strncmp(text, "speak", 5) == 0)
        it.speaks = 1;
    else if (strncmp(text, "nap ", 4) == 0)
        it.nap = (int)strtol(rest, NULL, 10);
    else if (strncmp(text, "steps ", 6) == 0)
        for (char *word = strtok_r(rest, " \n", &at); word != NULL;
             word = strtok_r(NULL, " \n", &at))
            it.steps[it.n_steps++] = (int)strtol(word, NULL, 10);
}

/* Restart files by name. */
static void do_restart_line(const char *text, char *rest)
{
    char path[500] = "";

    if (strncmp(text, "save ", 5) == 0)
        (void)sscanf(rest, "%d %499s", &it.save_step, it.save);
    else if (strncmp(text, "load ", 5) == 0 && sscanf(rest, "%499s", path) == 1 &&
             waitio_cpl_restart_read(wio_h3ou_cpl("load"), path) != 0)
        exit(8);
}

static void do_line(char *text)
{
    static int grids_over;
    char *rest = strchr(text, ' ');

    if (rest == NULL)
        rest = text + strlen(text);
    else
        rest++;
    if (strncmp(text, "grid ", 5) != 0 && it.n_grids > 0 && !grids_over) {
        maybe("grid", it.trouble_step);
        h3ouc_end_grid_def();
        grids_over = 1;
    }
    if (strncmp(text, "share ", 6) == 0)
        (void)sscanf(rest, "%15s", it.share);
    else if (strncmp(text, "grid ", 5) == 0) {
        grids_over = 0;
        read_grid(rest);
    } else if (strncmp(text, "table ", 6) == 0) {
        maybe("table", it.trouble_step);
        read_table(rest);
    } else if (strncmp(text, "put ", 4) == 0)
        read_put(rest);
    else if (strncmp(text, "get ", 4) == 0)
        (void)sscanf(rest, "%63s", it.gets[it.n_gets++]);
    else if (strncmp(text, "save ", 5) == 0 || strncmp(text, "load ", 5) == 0)
        do_restart_line(text, rest);
    else
        do_run_line(text, rest);
}

static const struct grid *grid_of(const char *name)
{
    size_t layers = 0, points = 0;

    (void)waitio_cpl_shape(wio_h3ou_cpl("shape"), name, &layers, &points);
    for (int i = 0; i < it.n_grids; i++) /* names tell the grid: xB is on gB if that exists */
        if (it.grids[i].name[1] == name[1])
            return &it.grids[i];
    return &it.grids[0];
}

static double data[POINTS * LAYERS];

static void put_values(const struct put *p, int step, double more)
{
    const struct grid *g = grid_of(p->name);
    int layers = h3ouc_get_vlayer(p->name);

    for (int k = 0; k < layers; k++)
        for (int i = 0; i < g->n; i++)
            data[k * g->n + i] =
                strstr(p->options, "masked") != NULL && g->index[i] == 1 && step % 2 != 0
                    ? 2147483647.0
                    : p->sign * (p->base + it.ranked + 1000.0 * step + g->index[i] + more +
                                 (layers > 1 ? (k + 1) / 10.0 : 0));
    if (strstr(p->options, "thin") != NULL)
        wio_h3ou_put(p->name, data, g->n, layers - 1, 0);
    else if (layers > 1 || strstr(p->options, "deep") != NULL)
        h3ouc_put_data_25d(p->name, data);
    else
        h3ouc_put_data_1d(p->name, data);
}

static void put_all(int step)
{
    for (int i = 0; i < it.n_puts; i++) {
        const char *o = it.puts[i].options;

        if ((step == 0 && strstr(o, "noinit") != NULL) ||
            (step % 2 != 0 && strstr(o, "even") != NULL) || (step > 1 && strstr(o, "once") != NULL))
            continue;
        put_values(&it.puts[i], step, 0);
        if (step > 0 && strstr(o, "twice") != NULL)
            put_values(&it.puts[i], step, 500);
    }
}

static double second[POINTS * LAYERS];

/* The same again: a second get in a step brings the same. */
static void get_again(const char *name, size_t n, int first_fresh)
{
    int fresh = -1;

    h3ouc_get_data_1d(name, second, &fresh);
    if (fresh != first_fresh || (fresh && memcmp(data, second, n * sizeof *data) != 0))
        exit(7);
}

static void get_one(const char *name, int step)
{
    const struct grid *g = grid_of(name);
    int layers = h3ouc_get_vlayer(name), fresh = -1;

    for (int i = 0; i < g->n * layers; i++)
        data[i] = -77;
    if (layers > 1)
        h3ouc_get_data_25d(name, data, &fresh);
    else
        h3ouc_get_data_1d(name, data, &fresh);
    if (it.again)
        get_again(name, (size_t)g->n, fresh);
    for (int k = 0; k < layers; k++)
        for (int i = 0; i < g->n; i++) {
            printf("GET %s %s %d %s %d %d ", it.scenario, it.full, step, name, g->index[i], k + 1);
            if (fresh)
                printf("%.17g\n", data[k * g->n + i]);
            else
                printf("%s\n", data[k * g->n + i] == -77 ? "F" : "TOUCHED");
        }
}

/* The step after those that a restart has behind it. */
static int first_step(void)
{
    int64_t resumed = -1, end = 0;
    int s = 1;

    if (waitio_cpl_resumed(wio_h3ou_cpl("resumed"), &resumed) != 0)
        exit(9);
    while (end < resumed)
        end += it.steps[s++ - 1];
    return s;
}

static void run_loop(void)
{
    int time[6] = {2000, 2, 28, 23, 0, 0}, word = 7;

    maybe("start", it.trouble_step);
    h3ouc_init_time(time);
    put_all(0);
    if (it.speaks)
        h3ouc_bcast_global_int("compA", &word, 1);
    for (int s = first_step(); s <= it.n_steps; s++) {
        maybe("step", s);
        if (s == it.skip)
            wio_h3ou_step(it.steps[s - 1], 0);
        else
            h3ouc_set_time(it.me, time, it.steps[s - 1]);
        if (s > 1 && it.receives_now)
            wio_h3ou_now("compA", "compB", 0);
        maybe("get", s);
        for (int i = 0; i < it.n_gets; i++)
            get_one(it.gets[i], s);
        (void)sleep((unsigned)it.nap);
        maybe("put", s);
        put_all(s);
        if (s > 1 && it.sends_now)
            wio_h3ou_now("compA", "compB", 1);
        if (s == it.save_step && waitio_cpl_restart_write(wio_h3ou_cpl("save"), it.save) != 0)
            exit(10);
        (void)fflush(stdout);
        while (it.waits)
            (void)pause();
        h3ouc_inc_calendar(time, it.steps[s - 1]);
    }
    maybe("close", it.trouble_step);
    h3ouc_coupling_end(time, 0);
}

static void play(const char *name, const char *folder, const char *scenario)
{
    char path[1000];
    static char me[200];
    const char *star = strchr(name, '*');
    FILE *in;

    (void)snprintf(me, sizeof me, "%.*s", star != NULL ? (int)(star - name) : 199, name);
    memset(&it, 0, sizeof it);
    it.me = me;
    it.scenario = scenario;
    (void)snprintf(path, sizeof path, "%s/%s.conf", folder, scenario);
    wio_h3ou_open(me, path, star != NULL ? (int)strtol(star + 1, NULL, 10) : 1);
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, scenario, me);
    it.full = waitio_cpl_component_name(wio_h3ou_cpl("name"), wio_h3ou_own_number() - 1);
    in = fopen(path, "r");
    if (in == NULL)
        exit(4);
    while (fgets(line, sizeof line, in) != NULL)
        do_line(line);
    (void)fclose(in);
    if (!it.hush)
        run_loop();
    else
        h3ouc_coupling_end(NULL, 0);
    for (int i = 0; i < it.n_grids; i++)
        free(it.grids[i].index);
}

/* Lines of several processes would mix in one pipe. */
static void own_output(const char *me)
{
    const char *folder = getenv("PUPPET_OUT");
    char path[1000];

    (void)snprintf(path, sizeof path, "%s/%s.%d", folder != NULL ? folder : ".", me, (int)getpid());
    if (folder != NULL && freopen(path, "w", stdout) == NULL)
        exit(5);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    own_output(argv[1]);
    for (int i = 3; i < argc; i++)
        play(argv[1], argv[2], argv[i]);
    MPI_Finalize();
    return 0;
}
