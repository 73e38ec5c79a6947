/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file resume.h
 * Going on after a kill (WAITIO_FILE_RESUME): each process keeps what it sends in a journal, and
 * its program may mark states from which it can go on. In the next life the messages that the
 * marked state has not received are there before all others, and what the program sends once more
 * is compared with the journal instead of being sent. Private to p2p/; the lock is held.
 */
#ifndef WIO_RESUME_H
#define WIO_RESUME_H

#include "p2p/journal.h"
#include "p2p/resume_state.h"
#include "p2p/universe.h"

#define WIO_RESUME_VERSION 1u /* of what lies in the folder */

struct wio_resume_pair {
    uint64_t sent;     /* by the program, counted from its beginning */
    uint64_t out_last; /* last number in the journal to it */
    uint64_t in_base;  /* last number in the journal from it, of earlier lives */
    struct wio_stored *redo;
    size_t nredo, room; /* what earlier lives have sent after the older mark */
    struct wio_writer out;
};
struct wio_resume {
    int dir, lock; /* the folder; our file in it, locked while we live */
    char path[600];
    struct wio_journal journal;
    struct wio_resume_files marks;
    struct wio_resume_state kept[2];
    uint64_t number; /* of the last mark of this program */
    uint64_t limit;  /* for the journal */
    uint32_t nopen;  /* descriptors of journals */
    bool begun;      /* the program goes on from `number` */
    int code;        /* it cannot go on any more: why */
    char why[512];
    struct wio_resume_pair *pair; /* by universe rank */
};

/* ---- the folder (resume_place.c) ---- */
/** Open it, and check that the run in it is ours, and that none of it lives. With
 * WAITIO_FILE_RESUME=0: only refuse where there is one. @return 0; CONFIG, AUTH, SYSTEM, NOMEM */
int wio_resume_open(struct wio_universe *u, struct wio_resume *r);
/** This process has ended in order; the last one removes the folder. */
void wio_resume_end(struct wio_universe *u, struct wio_resume *r);

#endif
