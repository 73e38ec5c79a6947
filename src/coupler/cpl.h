/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file cpl.h
 * The state of the coupler in one process, and what its rooms that communicate offer each other.
 *
 *   world      who is there: components, their processes     alarm   an error of one ends all
 *   team       processes that set something up together      grid    points and their directory
 *   table      who sends which points to whom (router)       remap   sums over what arrived
 *   bundle     variables that travel in one message          run     steps, puts and gets
 */
#ifndef WIO_CPL_CPL_H
#define WIO_CPL_CPL_H

#include "coupler/back.h"
#include "coupler/base.h"
#include "coupler/conf.h"
#include "coupler/flow.h"
#include "coupler/logs.h"
#include "coupler/remap.h"
#include "coupler/weights/weights.h"
#include "coupler/sight.h"
#include "waitio_cpl.h"

/** A component: its processes in the order of universe ranks. */
struct wio_cpl_component {
    char *name;
    int *ranks; /**< universe ranks */
    int n;
    char *base;    /**< name of the ensemble that it is a member of; NULL: of none */
    int member;    /**< its number there, from 0 */
    bool gone;     /**< it has failed or left, and the others go on without it */
    bool agreed;   /**< gone, as all processes of this component know (ensemble_fail.c) */
    bool returns;  /**< when it dies, the others wait until it was started again (back.h) */
    int64_t saved; /**< time of its latest restart file that this process has heard of */
};

struct wio_cpl_bundle;
struct wio_cpl_limit;
struct wio_cpl_sums;

/** One message under way, and with whom. */
struct wio_cpl_op {
    WAITIO_MPI_Request req;
    int peer;                            /**< universe rank, -1: a collective */
    int tag;                             /**< of its stream, 0: none (wio_cpl_trace) */
    bool sends;                          /**< else it receives */
    int64_t turn;                        /**< it is the stream's message of this number, from 1 */
    const struct wio_cpl_bundle *bundle; /**< whose it is, or NULL */
    int set;  /**< a collective: whose (wio_cpl_collective), and its number is turn; 0: not known */
    int root; /**< of a broadcast: universe rank + 1 of who sends; 0: all wait for all */
};

/** Messages of one tag with one peer: how many this process has begun to send, and to receive. */
struct wio_cpl_stream {
    int tag;
    int64_t sent, received;
};

/** Processes that set something up together. */
struct wio_cpl_team {
    WAITIO_MPI_Comm comm;
    int n, me;
    const int *ranks; /**< universe ranks by rank in comm; NULL: the same */
    int set;          /**< wio_cpl_collective's */
};

/** Where a point is. */
struct wio_cpl_place {
    int64_t index;
    int owner;  /**< rank in the component */
    int64_t at; /**< position in the owner's arrays */
    bool masked;
};

/** A grid of this component. */
struct wio_cpl_grid {
    char *name;
    size_t n;
    int64_t *index;          /**< in the program's order */
    struct wio_cells *cells; /**< where they are; NULL: the program has not said (cells.c) */
    char *open;              /**< by point: 0 masked; NULL: none is */
    /** This process's part of the directory: where the points are whose home it is, sorted. */
    struct wio_cpl_place *places;
    size_t known;
    /** Where to look: those whose index >> shift is k begin at places[bucket[k]]. */
    uint32_t *bucket;
    int shift;
};

/** What goes to one process of the other component. */
struct wio_cpl_peer {
    int rank;     /**< universe rank */
    size_t n;     /**< points */
    int64_t *at;  /**< sender: their positions in its arrays */
    size_t first; /**< receiver: where they go among its source points, behind room for a head */
    /** Sender: the positions as ranges, where they are long. NULL: they are not. */
    struct wio_cpl_span *spans;
    size_t n_spans;
};

/** Points side by side. */
struct wio_cpl_span {
    size_t at, n;
};

/** What this process gave for a table. Owned. */
struct wio_cpl_origin {
    bool given;
    struct waitio_cpl_entries entries;
    char *file, *method;
};

/** A table, as this process needs it. */
struct wio_cpl_table {
    int from, to; /**< components */
    char *grid_put, *grid_get;
    int tag;
    struct wio_cpl_list sends, receives; /**< struct wio_cpl_peer */
    struct wio_cpl_remap remap;          /**< receiver */
    struct wio_cpl_limit *limit; /**< receiver: sums with limited gradients (limit.h), or NULL */
    bool limited;                /**< there is one, on either side */
    size_t *by_index;            /**< receiver: rows by global index; NULL: not needed yet */
    size_t points_sent;          /**< sender: distinct points */
    bool vectors;                /**< it has cos and sin */
    struct wio_cpl_sums *sums; /**< the senders' part of remapping (sums.h); NULL: they have none */
    struct wio_cpl_origin *origin; /**< NULL: nobody wants it a second time */
    bool sums_pay; /**< less travels so: links that do not say which side go this way */
};

/** What the exchanges of a bundle have cost this process (statistics.c). */
struct wio_cpl_costs {
    int64_t exchanges, messages, bytes;
    double waited, worked; /**< seconds: for the other side; packing, unpacking and remapping */
    double longest;        /**< the longest wait for one message ... */
    int64_t longest_at;    /**< ... at this model time ... */
    int longest_for;       /**< ... and for this universe rank */
};

/** Variables of one table, interval, lag and type: one message to each peer. */
struct wio_cpl_bundle {
    struct wio_cpl_table *table;
    int64_t interval, shift; /**< seconds; conf.h says what a shift is */
    int64_t lead;            /**< sender: how far it may have to go on (wio_cpl_conf_lead()) */
    bool now;                /**< it travels at once, at puts and gets */
    enum wio_cpl_type type;
    const char *name; /**< now: of a bundle of several variables, or NULL */
    int tag;
    bool sends;                /**< else it receives */
    bool ahead;                /**< the sender remaps (sums.h) */
    size_t layers;             /**< of all its variables together */
    struct wio_cpl_list vars;  /**< struct wio_cpl_var *, in the order of the file */
    void **buffers;            /**< one for each peer: head, then numbers */
    struct wio_cpl_op *ops;    /**< one for each peer */
    bool told;                 /**< receiver: that its steps pass over the interval (rhythm.c) */
    bool busy;                 /**< sends may be under way */
    int64_t have;              /**< receiver: stamp of what its variables hold, -1 nothing yet */
    int64_t passed;            /**< receiver, nothing yet: stamp of what sources hold, -1 nothing */
    bool over;                 /**< receiver: the sender has ended; what it has, it keeps ... */
    int64_t end;               /**< ... up to this time */
    size_t puts;               /**< now: variables put in this call */
    int64_t call;              /**< now: the call that took it last */
    double *sources;           /**< receiver: [layer][source point] of all variables, or as sums.c
                                * says ... */
    size_t stride;             /**< ... whose layers are so many numbers apart */
    bool in_place;             /**< receiver: messages are received into sources, heads between */
    struct wio_cpl_past *past; /**< by peer; NULL: no component comes back */
    struct wio_cpl_costs costs;
    double waited; /**< as the report counts it: in the run, if somebody wants one (sight.c) */
};

/** A link of the configuration in one of its two components. */
struct wio_cpl_var {
    const struct wio_cpl_link *link;
    const char *name; /**< var_put or var_get */
    struct wio_cpl_grid *grid;
    struct wio_cpl_bundle *bundle;
    struct wio_cpl_flow flow; /**< sender */
    size_t first;             /**< layers of its bundle before its own */
    struct wio_cpl_var *with; /**< the other component of its vector, in its bundle; or NULL */
    bool second;              /**< with one: it is the second component */
    bool packed;              /**< sender: the last put is in the bundle's buffers alone (pack.c) */
    double *data;             /**< receiver: [layer][point], unless it is ... */
    bool unmade;              /**< ... still to be made of the bundle's sources, by the next get */
    bool fresh;               /**< receiver: due in this step */
    bool put;                 /**< sender, now: put in this call */
    double fill;              /**< what counts nothing, and what points without value get */
};

/** A send whose memory is freed when it is complete. */
struct wio_cpl_parked {
    struct wio_cpl_op op;
    void *buffer;
    /** Whose it is, if the sender waits for it from a model time on; NULL: at the end of the run.
     */
    struct wio_cpl_bundle *waits;
    int64_t from;
};

enum wio_cpl_phase { WIO_CPL_DEFINES, WIO_CPL_MAPS, WIO_CPL_RUNS, WIO_CPL_FAILED };

struct waitio_cpl {
    struct wio_cpl_conf conf;
    WAITIO_MPI_Comm all, own, alarms;
    WAITIO_MPI_Comm ends; /**< of all, for meeting: another call of the program cannot match it */
    int me, size;         /**< universe rank and size */
    struct wio_cpl_component *components;
    int n_components, mine, rank; /**< rank in the own component */
    int *component_of;            /**< by universe rank */
    enum wio_cpl_phase phase;
    bool closing; /**< the run has ended; all say goodbye */
    bool alone;   /**< at the end: not all are there who were at the start */
    struct wio_cpl_clock clock;
    struct wio_cpl_list grids;       /**< struct wio_cpl_grid * */
    struct wio_cpl_list tables;      /**< struct wio_cpl_table * */
    struct wio_cpl_list bundles;     /**< struct wio_cpl_bundle * */
    struct wio_cpl_list vars;        /**< struct wio_cpl_var *: puts and gets of this component */
    struct wio_cpl_list pending;     /**< struct wio_cpl_op of the program's own messages */
    struct wio_cpl_list parked;      /**< struct wio_cpl_parked: sends that nobody waits for yet */
    struct wio_cpl_list letters;     /**< letter.c: short texts that are still to be taken */
    size_t most_letters;             /**< with so many of them, look which are gone */
    unsigned char *greeted;          /**< by component: what it said at the start was heard */
    struct wio_cpl_list scratch;     /**< double: fields of other types on their way */
    int64_t calls;                   /**< of gets */
    waitio_cpl_remap_function *hook; /**< the program's own remapping, or NULL */
    void *hook_with;
    const struct wio_cpl_var *hooked; /**< the variable that it remaps now, or NULL */
    struct wio_cpl_sight sight;
    struct wio_cpl_logs logs;
    /* restart */
    char *resume_from; /**< the file that the program names */
    int64_t resumed;   /**< model time at which the run goes on; -1: it began at 0 */
    bool resuming;     /**< no step since then: puts are those of the restart */
    /* alarm */
    WAITIO_MPI_Request alarm;
    char *alarm_text;
    bool deaf; /**< no other process is left that could raise one */
    struct wio_cpl_back back;
    bool going_on;  /**< this process is no newcomer: it meets all anew */
    bool *lives;    /**< by universe rank: which of them are such */
    int alarm_from; /**< universe rank of who raised it, -1 none */
    /* circles of waits */
    struct wio_cpl_list *streams;    /**< struct wio_cpl_stream, by universe rank */
    struct wio_cpl_list collectives; /**< collective.c */
    int64_t *questions;              /**< by universe rank: the last one of it that was passed on */
    int64_t asked_in, asked;         /**< the wait in which this process asked last; how often */
    const struct wio_cpl_op *waiting; /**< what this process waits for now, or NULL */
    int64_t waits;                    /**< how many waits there were */
    bool leaving;                     /**< it will send nothing more */
    int handler; /**< the program's error handler, while a call of the coupler runs */
};

/** Tags of messages between processes. Tables have bundles numbered from WIO_CPL_TAG_BUNDLE. */
enum {
    WIO_CPL_TAG_GREET = 1,
    WIO_CPL_TAG_TRADE = 2,
    WIO_CPL_TAG_CLOCK = 3,
    WIO_CPL_TAG_LEAVE = 4,
    WIO_CPL_TAG_RESTART = 5,
    WIO_CPL_TAG_USER = 16,
    WIO_CPL_TAG_BUNDLE = 2000000,
    WIO_CPL_TAG_KNOWN = 4000000, /**< past.c: beside the tags of bundles */
};

/* ---- alarm.c ------------------------------------------------------------------------------- */

int wio_cpl_alarm_open(struct waitio_cpl *cpl);
void wio_cpl_alarm_close(struct waitio_cpl *cpl);
/** Wait for all. @return 0; the first error, with the dead peer or the alarm in the text. Then the
 * others may still be under way. */
int wio_cpl_wait(struct waitio_cpl *cpl, struct wio_cpl_op *ops, size_t n);
/** An operation has failed: why? @param peer whose it is, -1: a collective's @return 0: the others
 * go on without the peer; WIO_CPL_AGAIN: all meet anew; else the error */
int wio_cpl_broken(struct waitio_cpl *cpl, int rc, int peer);
/** Nothing of it is under way. */
bool wio_cpl_is_over(const struct wio_cpl_op *op);
/** Send a text to another process's alarm: a letter. */
bool wio_cpl_alarm_send(struct waitio_cpl *cpl, int to, const char *text, size_t bytes);
/** A call of WaitIO has failed: its text becomes the coupler's. @return SYSTEM */
int wio_cpl_failed(void);
/** Has another process raised an alarm? @return 0; STATE, with its text */
int wio_cpl_listen(struct waitio_cpl *cpl);
/** Tell all others of this thread's error, and wait (2 s at most) until they have heard it. */
void wio_cpl_raise(struct waitio_cpl *cpl);
/** Begin a call: errors are returned to the coupler. @return 0; STATE after an error */
int wio_cpl_enter(struct waitio_cpl *cpl);
/** End a call: with an error raise the alarm, write it, end the program. @return @p rc */
int wio_cpl_leave(struct waitio_cpl *cpl, int rc);
/** End the process as the program wants it. Returns only under WAITIO_ERRORS=return. */
void wio_cpl_end(int code);
/** The configuration says to stop at a place: does so. */
void wio_cpl_stop(struct waitio_cpl *cpl, int place, const char *where);

/* ---- letter.c ------------------------------------------------------------------------------ */

/** Send a short text, and do not wait until it is taken. Copied. @return 0; SYSTEM: it cannot be
 * sent, and waitio_last_error() says why, not yet wio_cpl_why(); NOMEM */
int wio_cpl_letter(struct waitio_cpl *cpl, WAITIO_MPI_Comm comm, int to, int tag, const char *text,
                   size_t bytes);
/** Nobody takes the rest of them. @param under_way they may be, so their memory stays; else their
 * universe has ended */
void wio_cpl_letters_forget(struct waitio_cpl *cpl, bool under_way);

/* ---- circle.c ------------------------------------------------------------------------------ */

/** Number a message of its stream. Before it is started. @return 0; NOMEM */
int wio_cpl_trace(struct waitio_cpl *cpl, struct wio_cpl_op *op, int tag, bool sends,
                  const struct wio_cpl_bundle *bundle);
/** This process has waited long: ask whether it waits for itself. */
void wio_cpl_circle_ask(struct waitio_cpl *cpl);
/** Is a text of the alarm such a question? */
bool wio_cpl_circle_is_question(const char *text);
/** Pass it on, or find that the circle is closed. @return 0; STATE, with the whole circle */
int wio_cpl_circle_hear(struct waitio_cpl *cpl, const char *text);

/* ---- collective.c -------------------------------------------------------------------------- */

/** Sets of processes that make calls together: all, and all in wio_cpl_meet(), whose calls have
 * their own order, for another call of the program may stand where one meets;
 * wio_cpl_set_own(); wio_cpl_set_pair(). */
enum { WIO_CPL_SET_ALL = 1, WIO_CPL_SET_MEET, WIO_CPL_SET_COMPONENTS };
/** The processes of the own component. */
int wio_cpl_set_own(const struct waitio_cpl *cpl);
/** Those of two components, of a first, as in wio_cpl_team_pair(). */
int wio_cpl_set_pair(const struct waitio_cpl *cpl, int a, int b);
bool wio_cpl_set_exists(const struct waitio_cpl *cpl, int set);
int wio_cpl_set_size(const struct waitio_cpl *cpl, int set);
/** Universe rank of the i-th member. */
int wio_cpl_set_member(const struct waitio_cpl *cpl, int set, int i);
/** "components 'ocean' and 'ice'" */
void wio_cpl_set_text(const struct waitio_cpl *cpl, int set, char *out, size_t room);
/** An operation for a collective call of a set, which this process enters now: all members must
 * make the same ones in the same order. @param root universe rank + 1 of who sends a broadcast; 0:
 * each member waits for all */
struct wio_cpl_op wio_cpl_collective(struct waitio_cpl *cpl, int set, int root);
/** How many calls of the set this process has entered. */
int64_t wio_cpl_collectives(struct waitio_cpl *cpl, int set);
/** The first member has heard that another one has entered its call of a number. @return false: no
 * memory */
bool wio_cpl_collective_told(struct waitio_cpl *cpl, int set, int by, int64_t turn);
/** The next member, from the i-th on, of which this process does not know that it has entered the
 * call: its index, -1: there is none. */
int wio_cpl_collective_lacks(struct waitio_cpl *cpl, int set, int64_t turn, int i);
void wio_cpl_collectives_free(struct waitio_cpl *cpl);

/* ---- rhythm.c ------------------------------------------------------------------------------ */

/** A step has begun: does it pass over the time of an exchange or a restart? @return 0; CONFIG: no
 * restart can be written */
int wio_cpl_rhythm(struct waitio_cpl *cpl);

/* ---- look.c -------------------------------------------------------------------------------- */

/** Wait for one of @p n requests, at most @p seconds, looking at the program's signals meanwhile.
 * @param[out] index of the request, -1 with CANCELLED: the program does not want to wait any more
 * @param[out] flag 0: none was done in time */
int wio_cpl_any(int n, WAITIO_MPI_Request *reqs, double seconds, int *index, int *flag,
                int *source);

/* ---- dead.c -------------------------------------------------------------------------------- */

/** @return the universe rank of who has failed, as a text of WaitIO says; -1: it says nothing of it
 */
int wio_cpl_dead_in(const char *why);
/** If this thread's error says that a process has failed, name its component in the text. */
void wio_cpl_name_dead(const struct waitio_cpl *cpl, int code);

/* ---- world.c ------------------------------------------------------------------------------- */

/** Meet all processes; find the components. Collective. */
int wio_cpl_world_open(struct waitio_cpl *cpl, const char *component, int members);
void wio_cpl_world_close(struct waitio_cpl *cpl);
/** Index of a component, -1 if it does not run. */
int wio_cpl_component(const struct waitio_cpl *cpl, const char *name);
/** "component 'ocean', process 3" of a universe rank; belongs to the thread. */
const char *wio_cpl_who(const struct waitio_cpl *cpl, int rank);
/** Say which call this component makes towards another, and hear that it makes the same. Done by
 * the first process of each; others return at once. @param call begins with the same word */
int wio_cpl_greet(struct waitio_cpl *cpl, int other, const char *call);
/** Say it without waiting for the other's. */
int wio_cpl_greet_only(struct waitio_cpl *cpl, int other, const char *call);
/** Hear what the first process of another component says. By that of this one. @param[out] text of
 * 1000 bytes */
int wio_cpl_hear_greeting(struct waitio_cpl *cpl, int other, char *text);
/** Hear what the other said. */
int wio_cpl_greeted(struct waitio_cpl *cpl, int other, const char *call);

/* ---- team.c -------------------------------------------------------------------------------- */

/** The processes of the caller's component. */
struct wio_cpl_team wio_cpl_team_own(const struct waitio_cpl *cpl);
/** The processes of two components, those of @p a first. Collective over both. Freed by
 * wio_cpl_team_free(). */
int wio_cpl_team_pair(struct waitio_cpl *cpl, int a, int b, struct wio_cpl_team *team);
void wio_cpl_team_free(struct wio_cpl_team *team);
/** Records of 64-bit words for other members. */
struct wio_cpl_cargo {
    size_t words;             /**< of a record */
    struct wio_cpl_list to;   /**< int: destination of each record */
    struct wio_cpl_list data; /**< int64_t: the records */
};
/** Room for so many more records at once. */
int wio_cpl_cargo_room(struct wio_cpl_cargo *cargo, size_t n);
/** One more record. */
int wio_cpl_load(struct wio_cpl_cargo *cargo, int to, const int64_t *record);
void wio_cpl_unload(struct wio_cpl_cargo *cargo);
/** Everybody gets the records for it, in the order of the senders and of loading. Collective over
 * the team. @param[out] in int64_t; counts[i]: records from member i (may be NULL) */
int wio_cpl_trade(struct waitio_cpl *cpl, const struct wio_cpl_team *team,
                  struct wio_cpl_cargo *cargo, struct wio_cpl_list *in, int64_t *counts);

/* ---- grid.c -------------------------------------------------------------------------------- */

struct wio_cpl_grid *wio_cpl_grid_find(const struct waitio_cpl *cpl, const char *name);
int wio_cpl_grid_new(struct waitio_cpl *cpl, const char *name, const int *index, size_t n);
/** Mask points of a grid: open[i] is 0. Before its directory. */
int wio_cpl_grid_mask(struct waitio_cpl *cpl, const char *name, const int *open, size_t n);
/** Build the directory of a grid. Collective over the component. */
int wio_cpl_directory(struct waitio_cpl *cpl, struct wio_cpl_grid *grid);
/** Which of @p n processes knows where a point is. */
int wio_cpl_home(int64_t index, int n);
/** Look a point up whose home this process is. @return NULL: nobody owns it */
const struct wio_cpl_place *wio_cpl_look_up(const struct wio_cpl_grid *grid, int64_t index);
void wio_cpl_grid_free(struct wio_cpl_grid *grid);

/* ---- cells.c ------------------------------------------------------------------------------- */

void wio_cpl_cells_free(struct wio_cells *cells);

/* ---- table.c, router.c ---------------------------------------------------------------------- */

/** What this process gives to a table. */
struct wio_cpl_given {
    struct waitio_cpl_entries entries;
    bool given;       /**< this process says what the table is, be it that it has no entries */
    const char *file; /**< where they were read, NULL: nowhere */
    size_t first;     /**< entries of the file before the first of these */
    const int *fixed; /**< receive points that get a value whatever the sources have */
    size_t n_fixed;
    double value;
    const struct wio_weights *limited; /**< receiver: with slopes, for a limiter; or NULL */
};
/** Build a table. Collective over both components. @param team of both, senders first */
int wio_cpl_table_new(struct waitio_cpl *cpl, struct wio_cpl_table *table,
                      const struct wio_cpl_team *team, const struct wio_cpl_given *mine);
void wio_cpl_table_free(struct wio_cpl_table *table);
/** The table that a link travels by: its mapping_tag, or the only one. @return NULL: none */
struct wio_cpl_table *wio_cpl_table_of(const struct waitio_cpl *cpl,
                                       const struct wio_cpl_link *link);

/** The weights of a table have a limiter, and the sender shall remap. @return CONFIG */
int wio_cpl_table_limiter_fault(const struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                                const struct wio_cpl_link *link);
/** May a link travel by a table? As far as is known when the table is made. */
bool wio_cpl_table_fits(const struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                        const struct wio_cpl_link *link);

/** "table 1 from grid 'g' of 'a' to grid 'h' of 'b'"; belongs to the thread. */
const char *wio_cpl_table_name(const struct waitio_cpl *cpl, const struct wio_cpl_table *table);
/** What the configuration says about where a table comes from. @return NULL: nothing */
const struct wio_cpl_link *wio_cpl_table_weights(const struct waitio_cpl *cpl,
                                                 const struct wio_cpl_table *table);
/** Make all tables with a component that has come back once more: it needs this side for its own.
 * Collective over both. */
int wio_cpl_tables_again(struct waitio_cpl *cpl, int other);
/** Make the tables that the configuration says how to make and no program has defined. Collective
 * over the components of each. */
int wio_cpl_tables_configured(struct waitio_cpl *cpl);

/* ---- weigh.c, vicinity.c ------------------------------------------------------------------------
 */

/** Arrays behind a struct wio_cpl_given. */
struct wio_cpl_weighed {
    struct wio_cpl_given given;
    int *send, *receive, *fixed;
    double *coef;
    struct wio_weights weights; /**< only for a limiter */
};
void wio_cpl_weighed_free(struct wio_cpl_weighed *w);
/** A share of a weight file, read by the receivers; both grids are checked against the file.
 * Collective over the team. */
int wio_cpl_weigh_file(struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                       const struct wio_cpl_team *team, const char *file,
                       struct wio_cpl_weighed *out);
/** Weights of this process's receive points, made of the cells of both grids. Collective over the
 * team. @param method as wio_weights_read_text() reads it */
int wio_cpl_weigh_cells(struct waitio_cpl *cpl, const struct wio_cpl_table *table,
                        const struct wio_cpl_team *team, const char *method,
                        struct wio_cpl_weighed *out);

/* ---- bundle.c, exchange.c ------------------------------------------------------------------- */

/** Make the variables and bundles of this component, when all tables are there. */
int wio_cpl_bundles_make(struct waitio_cpl *cpl);
void wio_cpl_bundles_free(struct waitio_cpl *cpl);
/** Its other side has failed or left, and this one goes on without it. */
bool wio_cpl_bundle_gone(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b);
/** Start sending what the bundle's variables hold in flow.last. */
int wio_cpl_bundle_send(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                        int64_t stamp);
/** Post the receive of the i-th peer's next message. */
int wio_cpl_bundle_post_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i);
/** Wait until these messages have left. */
int wio_cpl_bundle_sent(struct waitio_cpl *cpl, struct wio_cpl_bundle *b);
/** The same for messages that nobody waits for (lag 0, and those that are wanted later). */
int wio_cpl_bundle_park(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                        int64_t stamp);
/** The same for a message of a step, which may be taken only when the sender has gone on. */
int wio_cpl_bundle_send_ahead(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t stamp);
/** Is it to be sent so? */
bool wio_cpl_bundle_goes_ahead(const struct wio_cpl_bundle *b);
/** Wait for those that must have been taken when the sender is at @p now, lest it go on and on. */
int wio_cpl_parked_wait(struct waitio_cpl *cpl, int64_t now);
/** Free what has left of those; or wait for all. */
int wio_cpl_parked_sweep(struct waitio_cpl *cpl, bool all);
/** Post the receives of a bundle. */
int wio_cpl_bundle_post(struct waitio_cpl *cpl, struct wio_cpl_bundle *b);
/** Are there messages for a step that wants this stamp? Not when the receiver holds it. */
bool wio_cpl_bundle_expects(const struct wio_cpl_bundle *b, int64_t wanted);
/** Wait for what is wanted, skip what is older, and remap it into the variables' data.
 * @param any take whatever comes next (lag 0) */
int wio_cpl_bundle_take(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t wanted, bool any);
/** Give the program what a variable with `unmade` holds: remapped into its array.
 * @param to double precision, of all layers */
void wio_cpl_bundle_give(const struct wio_cpl_var *v, double *to);
/** The run ends: read what partners still sent, up to their goodbye. */
int wio_cpl_bundle_drain(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t end);

/* ---- pack.c -------------------------------------------------------------------------------- */

/** Find ranges of positions. @return 0; NOMEM */
int wio_cpl_spans_make(struct wio_cpl_peer *peer);
/** May a put go straight into the messages? Then nothing else keeps it. */
bool wio_cpl_packs_at_put(const struct wio_cpl_var *v);
/** A put: its numbers go into the buffers of the bundle. */
void wio_cpl_pack_put(struct wio_cpl_var *v, const double *data);
/** What was put so goes into flow.last, for others than the next message. Points that nobody asks
 * for get nothing. */
void wio_cpl_unpack_put(const struct wio_cpl_var *v);
/** The numbers of flow.last for one peer. @param buffer the message
 * @return 0; ARG: one is no whole number */
int wio_cpl_pack(const struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                 const struct wio_cpl_peer *peer, void *buffer);
/** The error that a number is no whole one of 32 bits. @return ARG */
int wio_cpl_too_great(const struct waitio_cpl *cpl, const struct wio_cpl_var *v, double value,
                      int64_t index);

/* ---- statistics.c -------------------------------------------------------------------------- */

/** This process has waited since a time (WAITIO_MPI_Wtime()) for a message of a peer. @return now
 */
double wio_cpl_waited(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int peer,
                      double since);
/** A message has been sent or has come. @param numbers with its head */
void wio_cpl_moved(struct wio_cpl_bundle *b, size_t numbers);
/** An exchange is done that began at a time. @param waited what costs.waited was then */
void wio_cpl_exchanged(struct wio_cpl_bundle *b, double since, double waited);

/* ---- hook.c -------------------------------------------------------------------------------- */

/** Remap one variable by the program's function. @param empty of points without entries */
int wio_cpl_hooked(struct waitio_cpl *cpl, struct wio_cpl_table *table, const struct wio_cpl_var *v,
                   double empty);

/* ---- fields.c ------------------------------------------------------------------------------ */

/** The values of a field in double precision: its own array, or a copy that lasts until the next
 * call. @return NULL without memory */
const double *wio_cpl_field_values(struct waitio_cpl *cpl, const struct waitio_cpl_field *field,
                                   double fill);
/** Give the program what a variable holds, in the points that are not masked. */
int wio_cpl_field_give(struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                       struct waitio_cpl_field *field);
/** May the program have it as an array of this type? @return 0; ARG */
int wio_cpl_field_check(const struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                        enum waitio_cpl_type type);

/* ---- settings.c ---------------------------------------------------------------------------- */

/** Do the configurations of all processes agree in what decides what they do together? Collective
 * over all. @return 0; CONFIG, in all of them */
int wio_cpl_settings_agree(struct waitio_cpl *cpl);

/* ---- ensemble.c ---------------------------------------------------------------------------- */

/** Divide components into their members. Collective, after all know each other.
 * @param members by universe rank: of the ensemble that the process says it is of; 1 none */
int wio_cpl_ensemble_split(struct waitio_cpl *cpl, const int *members);
/** Replace the links between ensembles by those between their members. */
int wio_cpl_ensemble_links(struct waitio_cpl *cpl);
/** The component of a name: itself, or of an ensemble the own member, that of the same number, or
 * the first. @return -1: none */
int wio_cpl_ensemble_find(const struct waitio_cpl *cpl, const char *name);
/** Components of which two may have a table, for names of components or ensembles.
 * @param[out] pairs struct wio_cpl_pair, those with the own component, in one order for all */
struct wio_cpl_pair {
    int from, to;
};
int wio_cpl_ensemble_pairs(const struct waitio_cpl *cpl, const char *send, const char *receive,
                           struct wio_cpl_list *pairs);
/** Give the program the statistic over the members that have sent. @param v one of the variables of
 * its name, which several members put */
int wio_cpl_ensemble_give(struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                          struct waitio_cpl_field *field);
/** Processes of a component, or of all members of an ensemble. @return 0: it does not run */
int wio_cpl_ensemble_processes(const struct waitio_cpl *cpl, const char *name);
/** What the file says of a component, or of its ensemble. @return NULL: nothing */
const struct wio_cpl_part *wio_cpl_ensemble_part(const struct waitio_cpl *cpl, int component);

/* ---- ensemble_fail.c ------------------------------------------------------------------------ */

/** May this process's component go on when that of a universe rank has failed? */
bool wio_cpl_may_lose(const struct waitio_cpl *cpl, int rank);
/** A component that may fail has done so, or has left. Says it once. */
void wio_cpl_lose(struct waitio_cpl *cpl, int component, const char *why);
/** All other processes have died or left. @return false: one of their components is needed */
bool wio_cpl_lose_all(struct waitio_cpl *cpl);
/** After an exchange: all processes of this component agree on who is gone. */
int wio_cpl_agree(struct waitio_cpl *cpl);
/** Nobody leaves before all that live have come here. Collective. */
int wio_cpl_meet(struct waitio_cpl *cpl);

/* ---- restart.c ------------------------------------------------------------------------------ */

/** Go on from a restart file, if the program or the configuration names one. */
int wio_cpl_restart_begin(struct waitio_cpl *cpl);
/** After it: send again what was sent before the restart, and is wanted after it. */
int wio_cpl_restart_resend(struct waitio_cpl *cpl);
/** Write one, if the configuration wants it at the end of this step. */
int wio_cpl_restart_due(struct waitio_cpl *cpl);

/* ---- run.c --------------------------------------------------------------------------------- */

/** What this component says to another at the start, or hears from it. @param resumed time of the
 * restart, -1: none @return 0: they have nothing to do with each other */
uint64_t wio_cpl_start_text(const struct waitio_cpl *cpl, int other, int64_t resumed,
                            char text[200]);
/** Hear that all partners have started, with the same configuration. */
int wio_cpl_hear_starts(struct waitio_cpl *cpl);
/** The error that nothing was put that could be sent at a time. @return its code */
int wio_cpl_no_put(const struct waitio_cpl *cpl, const struct wio_cpl_var *v, int64_t at);

#endif
