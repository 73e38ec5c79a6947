/* SPDX-License-Identifier: BSD-3-Clause */
/* What the makers of communicators share. */
#ifndef MAKE_H
#define MAKE_H

#include "step.h"

enum { MOST_MADE = 6 };

struct make {
    const struct maker *maker;
    int n;
    struct channel *out[MOST_MADE];
    int color[2][MOST_PROCESSES], key[2][MOST_PROCESSES]; /* by side and rank of the parent */
    int leader[2], tag, high, keep[3];
    MPI_Request request;
};

struct maker {
    const char *name;
    /** Choose, and describe the new channels. False: it cannot be done with this parent. */
    bool (*plan)(struct act *a, struct make *m, struct dice *d);
    void (*call)(struct act *a, struct make *m);
};

extern const struct maker maker_cart, maker_sub, maker_graph, maker_inter, maker_merge;

/** Another channel that the call makes, or NULL. */
struct channel *make_one(struct make *m);
/** That of this process, or NULL. */
struct channel *make_mine(struct make *m);
/** The neighbours of a grid, from its dimensions. */
void grid_edges(struct channel *c);

#endif
