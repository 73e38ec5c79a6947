/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of waitio-coupling: what it was asked for, the schedule, and what is shown of it. */
#ifndef WAITIO_COUPLING_H
#define WAITIO_COUPLING_H

#include <stdio.h>

#include "coupler/conf.h"

/** A step that the user gives: --step atmos=1800. */
struct given_step {
    char *component; /**< owned */
    int64_t seconds;
    bool used;
};

/** One component of the schedule. */
struct member {
    const char *name;                /**< of the configuration */
    const struct wio_cpl_part *part; /**< NULL: the file tells nothing of it */
    int64_t step;                    /**< seconds; 0: it exchanges nothing by time */
    bool assumed;                    /**< nobody gave it: the common divisor of its intervals */
    struct wio_cpl_list spans;       /**< struct span */
};

/** Steps of a component between two of its exchange times. */
struct span {
    int64_t begin, end;
    size_t level; /**< spans of one level run at the same time */
};

/** Who calls what when. */
struct schedule {
    const struct wio_cpl_conf *conf;
    struct wio_cpl_list members; /**< struct member, in the order of the file */
    int64_t horizon;             /**< what is shown begins before this time */
};

/** Find the components and their steps. @return 0; NOMEM */
int schedule_make(const struct wio_cpl_conf *conf, struct wio_cpl_list *given, struct schedule *s);
void schedule_free(struct schedule *s);
struct member *schedule_member(const struct schedule *s, size_t i);
/** Index of the component of that name. */
size_t schedule_find(const struct schedule *s, const char *name);
/** Seconds between two times at which the receiver asks for a link's data. */
int64_t schedule_period(const struct schedule *s, const struct wio_cpl_link *l);
/** Does the receiver of a link get something in its step that begins at @p at? */
bool schedule_gets(const struct schedule *s, const struct wio_cpl_link *l, int64_t at);
/** Is what the sender puts in its step that ends at @p end sent, or part of what is? */
bool schedule_puts(const struct schedule *s, const struct wio_cpl_link *l, int64_t end);
/** Divide the time of all components into spans, and find which run at the same time.
 * @return 0; NOMEM; STATE: some wait for each other for ever */
int schedule_spans(struct schedule *s);

/** What the file alone cannot say: steps and names that do not fit. Goes to conf->faults. */
int audit(struct wio_cpl_conf *conf, const struct schedule *s);

/** Look at the weight files that the configuration names: whether they can be read, agree in the
 * sizes of grids, have links within them and finite weights; sums far from 1 are doubtful. Goes to
 * conf->faults. @return 0; NOMEM */
int check_weight_files(struct wio_cpl_conf *conf);

/** The report, as text and as JSON. */
void print_text(FILE *to, const struct schedule *s);
void print_json(FILE *to, const struct schedule *s);
/** All keys of both formats, as the tables of the reference. */
void print_keys(FILE *to);

/** Pictures into a file. @return 0; an error with its text in wio_cpl_why() */
int draw_graph(const struct schedule *s, const char *file);
int draw_timeline(struct schedule *s, const char *file);

/** "1 h 30 min". @return @p out */
const char *time_text(int64_t seconds, char out[48]);
/** "snapshot" or what else is sent of an interval's puts. */
const char *reduction_text(const struct wio_cpl_link *l);
const char *lag_text(const struct wio_cpl_link *l);

#endif /* WAITIO_COUPLING_H */
