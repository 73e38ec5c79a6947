/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file resume_state.h
 * What a process keeps of a state from which its program can go on (WAITIO_FILE_RESUME): how many
 * messages it has sent to each process, and which it has received. A file holds one mark; the last
 * two are kept, in files whose names end in the lowest bit of their numbers. Private to p2p/.
 */
#ifndef WIO_RESUME_STATE_H
#define WIO_RESUME_STATE_H

#include "base/base.h"

struct wio_resume_row {
    uint32_t rank;     /**< universe rank of the other process */
    uint32_t nmissing; /**< messages that had arrived and were not received: their numbers */
    uint64_t sent, arrived;
    uint64_t *missing; /**< into the mark's memory */
};
struct wio_resume_state {
    uint64_t number; /**< 0: the beginning of the program, nothing sent or received */
    uint32_t n;
    struct wio_resume_row *row;
    uint64_t *words; /**< of all `missing` */
    size_t nwords;
};
/** Where the files are. */
struct wio_resume_files {
    int dir;
    const char *path;
    uint32_t rank; /**< whose marks */
    uint32_t size; /**< of the universe */
};

/** Read what is there, the older one first. @param[out] of  number 0 where there is none: with one
 * mark it is the second. Free both. @return 0; CONFIG: damaged; SYSTEM; NOMEM */
int wio_resume_states_read(const struct wio_resume_files *m, struct wio_resume_state of[2]);
/** Write one in place of that with the number before the last. @return 0; LIMIT, SYSTEM, NOMEM */
int wio_resume_states_write(const struct wio_resume_files *m, const struct wio_resume_state *mark);
void wio_resume_state_free(struct wio_resume_state *mark);
/** NULL: nothing was exchanged with that process. */
const struct wio_resume_row *wio_resume_row(const struct wio_resume_state *mark, uint32_t rank);
/** Had the program received that message? @param row  may be NULL */
bool wio_resume_row_has(const struct wio_resume_row *row, uint64_t number);
/** Number of the last message of which it and all before were received. */
uint64_t wio_resume_row_through(const struct wio_resume_row *row);

#endif
