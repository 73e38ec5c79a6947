/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file stream.h
 * A stream as a process has it open: what writers and readers share.
 */
#ifndef WIO_STG_STREAM_H
#define WIO_STG_STREAM_H

#include "stage/layout.h"
#include "stage/office.h"
#include "waitio_stage.h"

struct wio_stg_writer;
struct wio_stg_reader;

struct waitio_stage {
    char name[WIO_STG_NAME_MOST + 1];
    int mode;
    struct waitio_stage_settings set; /* without defaults: queue 0 is synchronous */
    waitio_group_t group;             /* the universe */
    int me;                           /* universe rank */
    int rank, n, *ranks;              /* the processes that opened it together: universe ranks */
    uint64_t incarnation;
    bool in_step;
    int64_t step;
    int code; /* the stream has failed: it can only be closed */
    char why[WIO_STG_WHY];
    struct wio_stg_writer *w;
    struct wio_stg_reader *r;
};

/** Numbers of steps, and strides, are below. */
#define WIO_STG_STEPS ((int64_t)1 << 60)

/** Fan of the trees of writers and of readers. */
enum { WIO_STG_FAN = 8 };
static inline int wio_stg_parent(int rank)
{
    return (rank - 1) / WIO_STG_FAN;
}
static inline int wio_stg_child(int rank, int i)
{
    return rank * WIO_STG_FAN + 1 + i;
}
static inline int wio_stg_children(int rank, int n)
{
    int first = wio_stg_child(rank, 0), left = n - first;

    return left < 0 ? 0 : left < WIO_STG_FAN ? left : WIO_STG_FAN;
}

/** The limit of a call. */
double wio_stg_limit(const struct waitio_stage *s, double limit);
/** The stream fails, by this error, whose text is set. @return @p code */
int wio_stg_break(struct waitio_stage *s, int code);
/** What a close returns: @p rc, whose text is @p why, or TIMEOUT when data is still under way.
 * @param lent the arrays of the program that it uses, or NULL */
int wio_stg_closed(int rc, const char *why, const char *lent);
/** Say where an error happened: stream and step before its text. @return @p rc */
int wio_stg_told(const struct waitio_stage *s, int rc);
/** Steps that a writer keeps at most. */
static inline int wio_stg_queue_of(const struct waitio_stage_settings *set)
{
    return set->queue + (set->queue > 0 && set->full == WAITIO_STAGE_DISCARD_OLDEST);
}
/** The first group of a stream has a number below the first one here, another one for each stream
 * of a name. Numbers that differ by the second one have the same tags. */
enum { WIO_STG_FIRST_GROUPS = 90000000, WIO_STG_GROUP_TAGS = 100000000 };
/** Tag of a message within a group of readers (WIO_STG_G_*). */
static inline int wio_stg_tag(int64_t group, int which)
{
    return WIO_STG_T_GROUPS + (int)(group % WIO_STG_GROUP_TAGS) * 16 + which;
}

/* writer.c; functions of the program's thread */
int wio_stg_writer_open(struct waitio_stage *s);
int wio_stg_writer_close(struct waitio_stage *s, double limit);
int wio_stg_writer_begin(struct waitio_stage *s);
int wio_stg_writer_end(struct waitio_stage *s, double limit);
int wio_stg_writer_count(struct waitio_stage *s, const char *name, uint64_t *value);

/* reader.c */
int wio_stg_reader_open(struct waitio_stage *s);
int wio_stg_reader_close(struct waitio_stage *s, double limit);
int wio_stg_reader_begin(struct waitio_stage *s, int which, double limit, int *status);
int wio_stg_reader_end(struct waitio_stage *s, double limit);
int wio_stg_reader_count(struct waitio_stage *s, const char *name, uint64_t *value);

#endif
