/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Letters: short texts - greetings, alarms, questions - whose sender waits for nobody. Most are
 * gone when they are sent, as WaitIO keeps short messages itself. Where it does not
 * (WAITIO_LOCAL_COMPLETE_MAX), each stays here until it has been taken, which may be never.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

enum { FEW = 16 };

struct letter {
    WAITIO_MPI_Request req;
    char *text;
};

/* Its memory is free when it has been taken, or never will be. */
static bool is_gone(struct letter *it)
{
    int flag = 0;

    if (WAITIO_MPI_Test(&it->req, &flag, NULL) == 0 && !flag)
        return false;
    free(it->text);
    return true;
}

/* As many as were left the last time may come before all are looked at again. */
static void sweep(struct waitio_cpl *cpl)
{
    struct letter *all = cpl->letters.at;
    size_t kept = 0;

    if (cpl->letters.n < cpl->most_letters)
        return;
    for (size_t i = 0; i < cpl->letters.n; i++)
        if (!is_gone(&all[i]))
            all[kept++] = all[i];
    cpl->letters.n = kept;
    cpl->most_letters = 2 * kept + FEW;
}

int wio_cpl_letter(struct waitio_cpl *cpl, WAITIO_MPI_Comm comm, int to, int tag, const char *text,
                   size_t bytes)
{
    struct letter it = {.text = wio_cpl_new(bytes, 1)}, *place;

    sweep(cpl);
    if (it.text == NULL)
        return WAITIO_ERR_NOMEM;
    memcpy(it.text, text, bytes);
    if (WAITIO_MPI_Isend(it.text, (int)bytes, WAITIO_MPI_CHAR, to, tag, comm, &it.req) != 0) {
        free(it.text);
        return WAITIO_ERR_SYSTEM;
    }
    if (is_gone(&it))
        return 0;
    place = wio_cpl_push(&cpl->letters, sizeof *place);
    if (place == NULL)
        return WAITIO_ERR_NOMEM; /* it is under way: its memory stays */
    *place = it;
    return 0;
}

void wio_cpl_letters_forget(struct waitio_cpl *cpl, bool under_way)
{
    struct letter *all = cpl->letters.at;

    for (size_t i = 0; i < cpl->letters.n; i++)
        if (!under_way)
            free(all[i].text);
        else if (!is_gone(&all[i]))
            (void)WAITIO_MPI_Request_free(&all[i].req);
    wio_cpl_list_free(&cpl->letters);
}
