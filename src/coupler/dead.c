/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has died, when a collective fails: the library names the process by its block, and a user
 * knows components. */
#include <stdio.h>
#include <string.h>

#include "coupler/cpl.h"

/* "PB 1 rank 0 failed in a collective ...", or "has finalized before" it, says another process; "PB
 * 1 rank 0: connection ... lost ...", of a message of this one, whose error ends as those of dead
 * peers do. */
static bool says_gone(const char *behind)
{
    static const char failed[] = " failed ", left[] = " has finalized ";
    static const char remedy[] = "operations with other peers go on";

    return strncmp(behind, failed, sizeof failed - 1) == 0 ||
           strncmp(behind, left, sizeof left - 1) == 0 ||
           (*behind == ':' && strstr(behind, remedy) != NULL);
}

/* @return the universe rank of who has failed, as the text says; -1: it says nothing of that */
int wio_cpl_dead_in(const char *why)
{
    waitio_group_t universe;
    int rank = -1;

    if (waitio_group_universe(0, &universe) != 0)
        return -1;
    for (const char *at = strstr(why, "PB "); at != NULL; at = strstr(at + 1, "PB ")) {
        int pb = 0, process = 0, used = 0;

        if (sscanf(at, "PB %d rank %d%n", &pb, &process, &used) == 2 && says_gone(at + used) &&
            waitio_group_find(universe, pb, process, &rank) == 0)
            break;
        rank = -1;
    }
    (void)waitio_group_free(&universe);
    return rank;
}

void wio_cpl_name_dead(const struct waitio_cpl *cpl, int code)
{
    char why[600];
    int rank;

    wio_cpl_text(why, sizeof why, "%s", wio_cpl_why());
    if (cpl->component_of == NULL || strstr(why, "has died or left") != NULL)
        return;
    rank = wio_cpl_dead_in(why);
    if (rank >= 0 && rank < cpl->size)
        (void)wio_cpl_fail(code, "%s has died or left while component '%s' worked with it (%s)",
                           wio_cpl_who(cpl, rank), cpl->components[cpl->mine].name, why);
}
