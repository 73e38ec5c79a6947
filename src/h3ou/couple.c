/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids, tables, steps, puts and gets: the coupler's calls under the old meaning of arguments. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "h3ou/face.h"

/* Errors end the program in the coupler; under WAITIO_ERRORS=return here, for old programs do not
 * look at codes. */
static void must(int rc)
{
    if (rc != 0)
        wio_h3ou_die(waitio_cpl_last_error());
}

void wio_h3ou_grid(const int *index, int n, const char *comp, const char *grid)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("def_grid");
    char text[600];

    if (wio_h3ou_component("def_grid", comp) + 1 != wio_h3ou_own_number()) {
        (void)snprintf(text, sizeof text,
                       "def_grid: grid '%.200s' is of component '%.200s', not of the own", grid,
                       comp);
        wio_h3ou_die(text);
    }
    must(waitio_cpl_grid(cpl, grid, index, n > 0 ? (size_t)n : 0));
}

void wio_h3ou_grids_done(void)
{
    must(waitio_cpl_grids_done(wio_h3ou_cpl("end_grid_def")));
}

/* Only the first process's arrays count, as published: others pass dummies. */
void wio_h3ou_table(const char *send_comp, const char *send_grid, const char *recv_comp,
                    const char *recv_grid, int tag, const int *send_index, const int *recv_index,
                    const double *coef, const double *cos, const double *sin, int n)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("set_interpolation_table");
    struct waitio_cpl_entries mine = {
        n > 0 ? (size_t)n : 0, send_index, recv_index, coef, cos, sin};
    int size = 0, rank = 0;

    must(waitio_cpl_component_size(cpl, wio_h3ou_own_number() - 1, &size, &rank));
    must(waitio_cpl_map(cpl, send_comp, send_grid, recv_comp, recv_grid, tag,
                        n >= 0 && rank == 0 ? &mine : NULL));
}

void wio_h3ou_cells(const char *grid, const struct waitio_cpl_cells *cells)
{
    must(waitio_cpl_grid_cells(wio_h3ou_cpl("def_grid_cells"), grid, cells));
}

void wio_h3ou_weights(const char *send_comp, const char *send_grid, const char *recv_comp,
                      const char *recv_grid, int tag, const char *method, const char *file)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("set_interpolation_weights");
    bool made = method != NULL && method[0] != '\0', read = file != NULL && file[0] != '\0';

    if (made == read)
        wio_h3ou_die("set_interpolation_weights: give either method (how weights are made) or file "
                     "(a weight file)");
    must(made ? waitio_cpl_map_cells(cpl, send_comp, send_grid, recv_comp, recv_grid, tag, method)
              : waitio_cpl_map_file(cpl, send_comp, send_grid, recv_comp, recv_grid, tag, file));
}

int wio_h3ou_points(const char *send_comp, const char *recv_comp, int tag, int sends)
{
    size_t sent = 0, received = 0;

    must(waitio_cpl_map_points(wio_h3ou_cpl("get_num_of_grid"), send_comp, recv_comp, tag, &sent,
                               &received));
    return (int)(sends ? sent : received);
}

void wio_h3ou_start(void)
{
    must(waitio_cpl_start(wio_h3ou_cpl("init_time")));
}

void wio_h3ou_step(int seconds, int exchange)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("set_time");

    must(exchange ? waitio_cpl_step(cpl, seconds) : waitio_cpl_advance(cpl, seconds));
}

void wio_h3ou_now(const char *send_comp, const char *recv_comp, int sends)
{
    const char *call = sends ? "send_data_immediately" : "recv_data_immediately";
    const char *mine = sends ? send_comp : recv_comp;
    waitio_cpl_t cpl = wio_h3ou_cpl(call);
    char text[600];

    if (wio_h3ou_component(call, mine) + 1 != wio_h3ou_own_number()) {
        (void)snprintf(text, sizeof text, "%s: '%.200s' is not the own component", call, mine);
        wio_h3ou_die(text);
    }
    must(sends ? waitio_cpl_send_now(cpl, recv_comp) : waitio_cpl_recv_now(cpl, send_comp));
}

/* Without a number of points or layers: as many as the variable's grid has here, and as the
 * configuration says. What a program puts and what it gets under one name are two variables. The
 * error that there is none is that of the call. */
static void complete(waitio_cpl_t cpl, int gets, const char *name, int *points, int *layers)
{
    struct waitio_cpl_facts facts = {.layers = 1};

    if (*points >= 0 && *layers >= 0)
        return;
    (void)waitio_cpl_look_up(cpl, gets, name, &facts);
    *points = *points >= 0 ? *points : (int)facts.points;
    *layers = *layers >= 0 ? *layers : (int)facts.layers;
}

void wio_h3ou_put(const char *name, const double *data, int points, int layers, int flat)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("put_data");

    complete(cpl, 0, name, &points, &layers);
    must(waitio_cpl_put(cpl, name, data, (size_t)points, (size_t)layers, flat));
}

void wio_h3ou_get(const char *name, double *data, int points, int layers, int flat, int *fresh)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("get_data");

    complete(cpl, 1, name, &points, &layers);
    must(waitio_cpl_get(cpl, name, data, (size_t)points, (size_t)layers, flat, fresh));
}

int wio_h3ou_count(int gets)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("get_num_of_data");
    int n = 0;

    while (waitio_cpl_variable(cpl, gets, n) != NULL)
        n++;
    return n;
}

void wio_h3ou_name(int gets, int i, char *out, int room, char fill)
{
    const char *name = i >= 0 ? waitio_cpl_variable(wio_h3ou_cpl("get_data_name"), gets, i) : NULL;
    char text[200];
    size_t n;

    if (name == NULL) {
        (void)snprintf(text, sizeof text, "%s: there is no variable %d of %d",
                       gets ? "get_get_data_name" : "get_put_data_name", i, wio_h3ou_count(gets));
        wio_h3ou_die(text);
        return;
    }
    n = strlen(name);
    if (n > (size_t)room) {
        (void)snprintf(text, sizeof text, "the name '%.100s' needs %zu characters, more than %d",
                       name, n, room);
        wio_h3ou_die(text);
        return;
    }
    memset(out, fill, (size_t)room);
    memcpy(out, name, n);
}

int wio_h3ou_layers(const char *name)
{
    size_t layers = 0, points = 0;

    must(waitio_cpl_shape(wio_h3ou_cpl("get_vlayer"), name, &layers, &points));
    return (int)layers;
}

void wio_h3ou_calendar(int *time, int seconds)
{
    must(waitio_cpl_calendar_add(time, seconds));
}
