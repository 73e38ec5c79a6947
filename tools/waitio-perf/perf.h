/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file perf.h
 * waitio-perf: what its parts share. It uses nothing of the library but waitio.h, so that what it
 * measures is what a program gets.
 *
 * Every process runs the same list of cases. In a case the first `streams` pairs are busy,
 * everybody else waits in the barrier behind it; the process of a pair that comes first in the
 * universe measures and hands its values to universe rank 0, which prints them.
 */
#ifndef WAITIO_PERF_H
#define WAITIO_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <waitio.h>

enum perf_mode { PERF_LATENCY, PERF_BANDWIDTH, PERF_RATE, PERF_OVERLAP, PERF_LOAD, PERF_MODES };
enum perf_pairing { PERF_AUTO, PERF_WITHIN, PERF_ACROSS, PERF_NODES };
enum {
    PERF_LIST = 64,      /* sizes, numbers of streams */
    PERF_BATCHES = 20,   /* batches that the median is taken of */
    PERF_VALUES = 24,    /* doubles that a pair reports for a case */
    PERF_WINDOW = 64,    /* messages under way in the rate test */
    PERF_ALL_STREAMS = 0 /* in perf_options.stream: as many as there are pairs */
};

/* ---- options.c ---- */

struct perf_options {
    bool mode[PERF_MODES];
    size_t size[PERF_LIST];
    int nsize; /* 0: what suits the mode */
    int stream[PERF_LIST];
    int nstream;
    int rounds;
    enum perf_pairing pairing;
    const char *json, *transport;
    int timeout_s;
    bool quiet, check;
    char text[512]; /* what has to be equal in all processes */
};

extern const char *const perf_mode_names[PERF_MODES];

/** Read the command line. @return -1 to go on, else the exit status (said why) */
int perf_options_read(struct perf_options *o, int argc, char **argv);
/** Sizes of one mode: the user's, or what suits it. @return how many */
int perf_sizes(const struct perf_options *o, enum perf_mode mode, const size_t **sizes);
/** Parse "8,1K,64K-1M" (ranges double). @return how many, 0 = malformed (@p why says what) */
int perf_parse_sizes(const char *text, size_t *list, int room, char *why, size_t nwhy);
/** Parse "1,2,4-8" or "max" (ranges count up). @return how many, 0 = malformed */
int perf_parse_streams(const char *text, int *list, int room, char *why, size_t nwhy);

/* ---- team.c: who is there, who measures with whom ---- */

/** What a process tells about itself; text only, for byte orders may differ. */
struct perf_member {
    char name[64];   /* as the library calls it */
    char host[64];   /* host name, for people */
    char place[128]; /* equal for two processes that may share memory */
    char pb[12];     /* PB id */
    char options[512];
};

struct perf_pair {
    int rank[2]; /* universe ranks: who measures, who answers */
    char transport[16];
};

struct perf_team {
    waitio_group_t all;
    int me, size, npb, hosts;
    struct perf_member *member;
    struct perf_pair *pair;
    int npair, mine; /* mine: index of my pair, -1 = none */
    enum perf_pairing pairing;
};

/** Join, meet everybody, agree on the pairs. @return -1 to go on, else the exit status */
int perf_team_join(struct perf_team *t, const struct perf_options *o);
void perf_team_free(struct perf_team *t);
/** Nobody returns before everybody has come; log2(size) messages each. */
void perf_barrier(const struct perf_team *t);
/** Form the pairs of @p kind greedily in rank order. @return how many */
int perf_pairs(const struct perf_member *m, int n, enum perf_pairing kind, struct perf_pair *out);
/** How the library reaches @p peer_name, by the words of waitio_dump(): "tcp", "shm" ... */
void perf_transport_of(const char *dump, const char *peer_name, char *out, size_t n);

/* ---- wire.c: messages of the program itself ---- */

enum perf_tag {
    PERF_TAG_MEET = 1,
    PERF_TAG_BARRIER,
    PERF_TAG_VALUES,
    PERF_TAG_GO,
    PERF_TAG_DATA,
    PERF_TAG_PING,
    PERF_TAG_BULK
};

/** The call must succeed; the library has said why it did not. Ends this process and tells peers.
 */
void perf_must(int rc);
void perf_send(const struct perf_team *t, int to, const void *p, size_t n, int tag);
void perf_recv(const struct perf_team *t, int from, void *p, size_t n, int tag);
/** The same for doubles between machines of any byte order. */
void perf_send_values(const struct perf_team *t, int to, const double *v, int n);
void perf_recv_values(const struct perf_team *t, int from, double *v, int n);

/* ---- data.c: clock, buffers and what stands in them ---- */

double perf_now(void);
/** Page-aligned and touched memory; ends the program with a message when there is none. */
void *perf_buffer(size_t bytes);
/** Mark the first and the last bytes for a sender and a message size. */
void perf_mark(unsigned char *p, size_t bytes, int sender);
/** Overwrite what perf_mark() wrote. */
void perf_unmark(unsigned char *p, size_t bytes);
/** Check the marks. @return true when they are those of this sender and size */
bool perf_marked(const unsigned char *p, size_t bytes, int sender);
/** perf_marked(), or end the program with a message. */
void perf_verify(const struct perf_team *t, const unsigned char *p, size_t bytes, int sender);
double perf_median(double *v, int n);
/** Value below which the share @p q of the sorted values lies. */
double perf_quantile(const double *sorted, int n, double q);

/* ---- the measurements: one function per mode, called by both sides of every busy pair ---- */

struct perf_case {
    enum perf_mode mode;
    int streams;
    size_t bytes;
    int rounds; /* trips, windows or repetitions: see perf_plan_rounds() */
    int window;
};

/** Buffers of one side, big enough for every case. */
struct perf_work {
    unsigned char *out, *in;
    size_t out_room, in_room;
};

/** Trips of a case: as many as asked for, fewer for large messages. */
void perf_plan_rounds(struct perf_case *c, int rounds);
/** Room that a case needs on the measuring side (@p first) or the other. */
void perf_room(const struct perf_case *c, bool first, size_t *out, size_t *in);

/** One side of one pair during one case. @c value is filled where @c first is set. */
struct perf_side {
    const struct perf_team *team;
    const struct perf_case *c;
    const struct perf_work *work;
    int other;
    bool first;
    double *value;
};

void perf_latency(struct perf_side *s);
void perf_bandwidth(struct perf_side *s);
void perf_overlap(struct perf_side *s);
void perf_load(struct perf_side *s);

/* Values of perf_latency() (seconds per half round trip) and perf_bandwidth() (seconds per
 * message): the mean, the number of batches, the mean of each batch. */
enum { PERF_V_MEAN, PERF_V_BATCHES, PERF_V_BATCH };
/* perf_overlap(): transfer, computation, both at once (seconds), for sender and receiver. */
enum { PERF_V_TRANSFER, PERF_V_COMPUTE, PERF_V_BOTH, PERF_V_OVERLAP_SIDE };
/* perf_load(): half round trips idle and under load, how many of them, seconds of the transfer. */
enum {
    PERF_V_MEDIAN,
    PERF_V_P99,
    PERF_V_WORST,
    PERF_V_COUNT,
    PERF_V_LOAD_PHASE,
    PERF_V_ALONE = 2 * PERF_V_LOAD_PHASE,
    PERF_V_LOADED
};

/** Run fn n times in up to PERF_BATCHES batches; value[] gets seconds per run times @p scale. */
void perf_batches(void (*fn)(struct perf_side *), struct perf_side *s, int n, double scale);

/* ---- report.c ---- */

struct perf_report {
    const struct perf_options *options;
    const struct perf_team *team;
    char *json; /* the results so far */
    size_t json_len;
    FILE *json_out;
    int done, total;
    bool bar;
    enum perf_mode shown;
};

void perf_report_begin(struct perf_report *r, const struct perf_options *o,
                       const struct perf_team *t, int total);
/** A case begins: progress. */
void perf_report_case(struct perf_report *r, const struct perf_case *c);
/** Values of all busy pairs: a row of the table, an entry of the JSON file. */
void perf_report_row(struct perf_report *r, const struct perf_case *c, double (*v)[PERF_VALUES]);
/** @return exit status */
int perf_report_end(struct perf_report *r);

#endif
