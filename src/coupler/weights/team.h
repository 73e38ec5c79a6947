/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop over many items, shared by threads that live as long as the loop. */
#ifndef WIO_WEIGHTS_TEAM_H
#define WIO_WEIGHTS_TEAM_H

#include <stddef.h>

/** A part of the loop: items begin .. end - 1, in thread number `thread`. 0, or an error that ends
 * the loop: the other threads finish the part they have and take no further one. */
typedef int (*wio_team_part)(void *arg, int thread, size_t begin, size_t end);

/** How many threads a team has.
 * @param wanted  0: as many as there are processors
 * @return 1 .. WIO_TEAM_MAX */
int wio_team_size(int wanted);
enum { WIO_TEAM_MAX = 256 };

/** Calls `part` for all items 0 .. n - 1 in parts of `grain`, in any order.
 * The caller is thread 0; where the system gives fewer threads than asked for, the rest do the
 * work.
 * @param threads  from wio_team_size()
 * @return 0, or the error of a part
 * @blocking until all parts are done */
int wio_team_run(int threads, size_t n, size_t grain, wio_team_part part, void *arg);

#endif /* WIO_WEIGHTS_TEAM_H */
