/* SPDX-License-Identifier: BSD-3-Clause */
/* Components that leave the universe as soon as the coupler is closed, all at once: the last one to
 * close sees nobody else. By waitio_cpl.h alone, without MPI. */
#include <stdio.h>
#include <string.h>

#include "waitio_cpl.h"

int main(int argc, char **argv)
{
    waitio_cpl_t cpl;
    int n = 0, mine = 0, size = 0, rank = 0, index[1], fresh = 0;
    struct waitio_cpl_entries entry = {1, index, index, NULL, NULL, NULL};
    double data = 0;

    if (argc < 3 || waitio_cpl_open(argv[1], argv[2], &cpl) != 0)
        return 2;
    waitio_cpl_components(cpl, &n, &mine);
    waitio_cpl_component_size(cpl, mine, &size, &rank);
    index[0] = rank + 1;
    waitio_cpl_grid(cpl, mine == 0 ? "gA" : "gB", index, 1);
    waitio_cpl_grids_done(cpl);
    /* each process gives the entry of its point */
    waitio_cpl_map(cpl, "compA", "gA", "compB", "gB", 1, mine == 1 ? &entry : NULL);
    waitio_cpl_start(cpl);
    data = rank + 1;
    if (mine == 0)
        waitio_cpl_put(cpl, "vA", &data, 1, 1, 1);
    waitio_cpl_step(cpl, 10);
    if (mine == 1)
        waitio_cpl_get(cpl, "yA", &data, 1, 1, 1, &fresh);
    if (mine == 1 && (!fresh || data != rank + 1))
        return 3;
    if (waitio_cpl_close(&cpl) != 0 || cpl != NULL)
        return 4;
    if (waitio_cpl_close(&cpl) == 0) /* a second time: an error, no crash */
        return 5;
    printf("ok\n");
    return waitio_finalize() != 0;
}
