/* SPDX-License-Identifier: BSD-3-Clause */
/* Two components with very long names define a table from a weight file with a very long name:
 * long 0|1 CONF FILE. By waitio_cpl.h alone. */
#include <stdlib.h>
#include <string.h>

#include "waitio_cpl.h"

enum { LONG = 240 };

/* NAME, and many of its last letter. */
static const char *longer(char text[LONG + 1], const char *name)
{
    size_t n = strlen(name);

    memset(text, name[n - 1], LONG);
    memcpy(text, name, n);
    text[LONG] = '\0';
    return text;
}

int main(int argc, char **argv)
{
    char names[4][LONG + 1];
    const int index[1] = {1};
    waitio_cpl_t cpl;
    int mine;

    if (argc < 4)
        return 2;
    mine = argv[1][0] == '1';
    if (waitio_cpl_open(longer(names[mine], mine ? "oceanB" : "airA"), argv[2], &cpl) != 0)
        return 3;
    (void)longer(names[1 - mine], mine ? "airA" : "oceanB");
    (void)longer(names[2], "gridA");
    (void)longer(names[3], "gridB");
    waitio_cpl_grid(cpl, names[2 + mine], index, 1);
    waitio_cpl_grids_done(cpl);
    waitio_cpl_map_file(cpl, names[0], names[2], names[1], names[3], 1, argv[3]);
    waitio_cpl_close(&cpl);
    return waitio_finalize() != 0;
}
