/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of the sea, who has them, and what their neighbours have. */
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "ocean.h"

/* Number `whole` of things in shares: the first of process `rank`. */
static int share(int whole, int rank, int processes)
{
    return (int)((int64_t)whole * rank / processes);
}

static int owner(int place, int whole, int processes)
{
    int rank = (int)((int64_t)place * processes / whole);

    while (place < share(whole, rank, processes))
        rank--;
    while (place >= share(whole, rank + 1, processes))
        rank++;
    return rank;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* The wet neighbours that others have, in ascending order, so grouped by who has them. */
static int *strangers(struct sea *sea, int first)
{
    int *found = room((size_t)sea->n * SIDES, sizeof *found), m = 0;

    for (int i = 0; i < sea->n; i++)
        for (int k = 0; k < SIDES; k++)
            if (sea->beside[i][k] >= 0 &&
                (sea->beside[i][k] < first || sea->beside[i][k] >= first + sea->n))
                found[m++] = sea->beside[i][k];
    qsort(found, (size_t)m, sizeof *found, by_number);
    for (int i = 0; i < m; i++)
        if (sea->halo == 0 || found[sea->halo - 1] != found[i])
            found[sea->halo++] = found[i];
    return found;
}

/* Places among all wet cells become positions in this process's arrays. */
static void localise(struct sea *sea, int first, const int *halo)
{
    for (int i = 0; i < sea->n; i++)
        for (int k = 0; k < SIDES; k++) {
            int *b = &sea->beside[i][k];

            if (*b >= first && *b < first + sea->n)
                *b -= first;
            else if (*b >= 0)
                *b = sea->n +
                     (int)((int *)bsearch(b, halo, (size_t)sea->halo, sizeof *halo, by_number) -
                           halo);
        }
}

static int add_up(const int *n, int *at, int processes)
{
    int sum = 0;

    for (int p = 0; p < processes; p++) {
        at[p] = sum;
        sum += n[p];
    }
    return sum;
}

/* Tell the others which of their cells are needed here. */
static void agree(struct sea *sea, int first, int whole, const int *halo)
{
    int p = sea->processes, all;

    sea->send_n = room((size_t)p, sizeof(int));
    sea->send_at = room((size_t)p, sizeof(int));
    sea->recv_n = room((size_t)p, sizeof(int));
    sea->recv_at = room((size_t)p, sizeof(int));
    for (int i = 0; i < sea->halo; i++)
        sea->recv_n[owner(halo[i], whole, p)]++;
    MPI_Alltoall(sea->recv_n, 1, MPI_INT, sea->send_n, 1, MPI_INT, sea->comm);
    (void)add_up(sea->recv_n, sea->recv_at, p);
    all = add_up(sea->send_n, sea->send_at, p);
    sea->send_cells = room((size_t)all, sizeof(int));
    sea->send_values = room((size_t)all, sizeof(double));
    MPI_Alltoallv(halo, sea->recv_n, sea->recv_at, MPI_INT, sea->send_cells, sea->send_n,
                  sea->send_at, MPI_INT, sea->comm);
    for (int i = 0; i < all; i++)
        sea->send_cells[i] -= first;
}

void sea_halo(const struct sea *sea, double *values)
{
    int all = sea->send_at[sea->processes - 1] + sea->send_n[sea->processes - 1];

    for (int i = 0; i < all; i++)
        sea->send_values[i] = values[sea->send_cells[i]];
    MPI_Alltoallv(sea->send_values, sea->send_n, sea->send_at, MPI_DOUBLE, values + sea->n,
                  sea->recv_n, sea->recv_at, MPI_DOUBLE, sea->comm);
}

/* Place of each cell among the wet ones, -1 on land. Returns how many are wet. */
static int number_wet(int *mask, int cells)
{
    int wet = 0;

    for (int i = 0; i < cells; i++)
        mask[i] = mask[i] != 0 ? wet++ : -1;
    return wet;
}

/* Fill the own cells; `place` is of all cells. */
static void take_own(struct sea *sea, const int *place, int cells, int first, int file,
                     const char *path)
{
    int n = 0;

    for (int c = 0; c < cells; c++) {
        int *beside;
        double *link, *lat;

        if (place[c] < first || place[c] >= first + sea->n)
            continue;
        beside = file_ints(file, path, "neighbour", (size_t)c, 1, SIDES);
        link = file_doubles(file, path, "link", (size_t)c, 1, SIDES);
        lat = file_doubles(file, path, "grid_center_lat", (size_t)c, 1, 1);
        sea->index[n] = c + 1;
        sea->lat[n] = lat[0] * (3.14159265358979323846 / 180);
        for (int k = 0; k < SIDES; k++)
            sea->beside[n][k] = place[beside[k] - 1];
        memcpy(sea->link[n++], link, SIDES * sizeof *link);
        free(beside);
        free(link);
        free(lat);
    }
}

void sea_read(struct sea *sea, const char *grid_path, const char *weights_path)
{
    int file = file_open(grid_path), weights = file_open(weights_path);
    int cells = (int)file_length(file, grid_path, "grid_size");
    int *place = file_ints(file, grid_path, "grid_imask", 0, (size_t)cells, 1);
    int whole = number_wet(place, cells), *halo;
    int first = share(whole, sea->rank, sea->processes);
    size_t n = (size_t)(share(whole, sea->rank + 1, sea->processes) - first);
    double *area = file_doubles(weights, weights_path, "dst_grid_area", 0, (size_t)cells, 1);

    sea->n = (int)n;
    sea->halo = 0;
    sea->index = room(n, sizeof *sea->index);
    sea->area = room(n, sizeof *sea->area);
    sea->lat = room(n, sizeof *sea->lat);
    sea->beside = room(n, sizeof *sea->beside);
    sea->link = room(n, sizeof *sea->link);
    take_own(sea, place, cells, first, file, grid_path);
    for (size_t i = 0; i < n; i++)
        sea->area[i] = area[sea->index[i] - 1];
    halo = strangers(sea, first);
    agree(sea, first, whole, halo);
    localise(sea, first, halo);
    free(halo);
    free(area);
    free(place);
    file_close(weights);
    file_close(file);
}
