/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing requests in every way that MPI has. */
#ifndef FINISH_H
#define FINISH_H

#include "step.h"

struct pending {
    MPI_Request *request;
    struct act *act;
    int index;
    bool keeps;
};

/** Complete all of them. */
void finish_all(struct pending *p, int n, struct dice *mine);

#endif
