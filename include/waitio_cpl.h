/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio_cpl.h
 * The coupler: components (models) on different grids exchange fields at their own intervals.
 * Link libwaitio_cpl and libwaitio.
 *
 * A component is all processes that open the coupler under one name, in any order, in one parallel
 * block or in several. All processes of the universe open it. What is coupled with what stands in a
 * file that all components read (coupling.conf).
 *
 * Order of calls: open; grids; grids_done; map for each table; start; put what is sent before the
 * first step; then for each step: step, get ..., compute, put ...; close.
 *
 * Functions return 0 or a negative WAITIO_ERR_*. An error of one process ends all: the others learn
 * of it in their next call of the coupler, with the text of the first. By default the process then
 * writes the text on standard error and ends with status 1, as by waitio_abort(1) or as
 * waitio_cpl_at_end() says; under WAITIO_ERRORS=return (or waitio_set_errors()) the call returns
 * its code, and the coupler can only be closed.
 *
 * One thread at a time. "Collective" means: all processes of the named components call it, in the
 * same order; the call waits for them.
 */
#ifndef WAITIO_CPL_H
#define WAITIO_CPL_H

#include <stddef.h>
#include <stdint.h>

#include "waitio_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** The coupler as this process sees it. */
typedef struct waitio_cpl *waitio_cpl_t;

/** Value of receive points that no table entry reaches. */
#define WAITIO_CPL_FILL 2147483647.0

/**
 * Join the universe and meet all components. Collective over all processes.
 * @param component name of this process's component, any length; the same names make a component
 * @param conf path of the configuration @param[out] cpl NULL after an error
 * @return 0; ARG, CONFIG (file and line in the text), SYSTEM (unreadable), the errors of joining
 */
int waitio_cpl_open(const char *component, const char *conf, waitio_cpl_t *cpl);
/**
 * The same for an ensemble: the processes of this name, in the order of their ranks, are divided
 * evenly into members, components named NAME0000, NAME0001, ... Two ensembles of one size are
 * coupled member by member; a single component receives from all members and makes of them what the
 * configuration says (ensemble = 'mean', the default, 'spread', 'min', 'max', 'median', 'q0.9'), or
 * sends to all. A program that opens a component under such a name itself makes a member, too,
 * if the configuration has a group &h3ou_component for NAME.
 * @param members 1: none @return as waitio_cpl_open(); ARG: the processes cannot be divided
 */
int waitio_cpl_open_ensemble(const char *component, int members, const char *conf,
                             waitio_cpl_t *cpl);
/**
 * End the run: sends what an interval that ends now owes (lag 1), tells partners, and checks that
 * no partner expects or has sent more. Frees everything. Collective over all processes.
 * @param[in,out] cpl NULL afterwards @return 0; STATE: the components made different numbers of
 * steps
 */
int waitio_cpl_close(waitio_cpl_t *cpl);

/** What an error does at last, instead of waitio_abort(): e.g. MPI_Abort. It must not return.
 * Also called, with code 0, when the configuration says where to stop. NULL: the default. */
void waitio_cpl_at_end(void (*end)(int code));
/** The text of this thread's last error: component, field, file and line, remedy. Never NULL. */
const char *waitio_cpl_last_error(void);

/* ---- components ---------------------------------------------------------------------------- */

/** Components, ordered by name. @param[out] n how many @param[out] mine index of the caller's */
int waitio_cpl_components(waitio_cpl_t cpl, int *n, int *mine);
/** Name of the i-th component, NULL if there is none. Belongs to the coupler. */
const char *waitio_cpl_component_name(waitio_cpl_t cpl, int i);
/** @param[out] i index of the component of that name, -1 if it does not run (not an error) */
int waitio_cpl_component_find(waitio_cpl_t cpl, const char *name, int *i);
/** @param[out] n processes of the i-th component @param[out] rank the caller's in it, -1 if none */
int waitio_cpl_component_size(waitio_cpl_t cpl, int i, int *n, int *rank);
/** Members of the ensemble of that name. @param[out] n how many there are @param[out] living how
 * many have not failed or left, as the caller's process knows @return 0; ARG: no such ensemble */
int waitio_cpl_members(waitio_cpl_t cpl, const char *ensemble, int *n, int *living);
/** All processes of the caller's component; of all components. They belong to the coupler. */
int waitio_cpl_communicators(waitio_cpl_t cpl, WAITIO_MPI_Comm *component, WAITIO_MPI_Comm *all);

/* ---- messages between processes of components ----------------------------------------------- */

/**
 * Send to a process of a component, receive from one. As WAITIO_MPI_Send() and _Recv(), but an
 * error of any component ends the wait.
 * @param component index @param process rank in the component @param tag 0 .. 1000000
 * @return 0; ARG, TRUNCATE, PEER (the process has died or left), STATE (another component's error)
 */
int waitio_cpl_send(waitio_cpl_t cpl, int component, int process, int tag, const void *buf,
                    int count, WAITIO_MPI_Datatype type);
int waitio_cpl_recv(waitio_cpl_t cpl, int component, int process, int tag, void *buf, int count,
                    WAITIO_MPI_Datatype type);
/** Start them; waitio_cpl_wait() completes all that were started. */
int waitio_cpl_isend(waitio_cpl_t cpl, int component, int process, int tag, const void *buf,
                     int count, WAITIO_MPI_Datatype type);
int waitio_cpl_irecv(waitio_cpl_t cpl, int component, int process, int tag, void *buf, int count,
                     WAITIO_MPI_Datatype type);
int waitio_cpl_wait(waitio_cpl_t cpl);
/** From the first process of @p component to all processes of the universe. Collective over all. */
int waitio_cpl_bcast_all(waitio_cpl_t cpl, int component, void *buf, int count,
                         WAITIO_MPI_Datatype type);
/** From process @p root of the caller's component to all of it. Collective over it. */
int waitio_cpl_bcast_own(waitio_cpl_t cpl, int root, void *buf, int count,
                         WAITIO_MPI_Datatype type);

/* ---- grids and tables ------------------------------------------------------------------------ */

/**
 * A grid of this component: the points of this process. Collective over the component.
 * @param index global indices >= 1 in the order of the data arrays; gaps and any order are allowed,
 * no index twice, in this process or in two. Copied @param n may be 0
 */
int waitio_cpl_grid(waitio_cpl_t cpl, const char *grid, const int *index, size_t n);
/** Units of a grid's coordinates: longitude and latitude, or x and y of a plane (any unit, the same
 * in both grids of a table). */
enum { WAITIO_CPL_DEGREES, WAITIO_CPL_RADIANS, WAITIO_CPL_PLANE };

/** Where the points of a grid are, for weights that the coupler makes: cells, in the order of the
 * grid's indices. Edges are great circles, or straight lines in a plane. Set all bytes to zero
 * first (`= {0}`, memset()): members may be added at the end, and 0 means that one is not used. */
struct waitio_cpl_cells {
    int unit;
    const double *x, *y; /**< centres: longitudes (x), latitudes (y) */
    int corners;         /**< of each cell; 0: none, for methods that need centres only */
    /** Corner k of cell i at [corners * i + k], in order around the cell, either way. Cells with
     * fewer corners repeat one. */
    const double *corner_x, *corner_y;
    const int *mask;        /**< 0: the cell takes no part; NULL: all do */
    const double *fraction; /**< part of the cell that counts, 0 .. 1; NULL: 1 */
    const double *area;     /**< the model's own areas, for given-areas=yes; NULL: the polygons' */
    /** Logically rectangular, for bilinear: index = 1 + i + nx j; 0: it is not. The same in all
     * processes. */
    int64_t nx, ny;
    int periodic; /**< i = nx - 1 and i = 0 are neighbours */
    int fold;     /**< tripolar: cells i and nx - 1 - i of the last row share an edge; nx is even */
    /** How many cells the arrays have, to be compared with the grid; 0: not said. Who may have
     * empty arrays gives NULL for them: that they lack is then found. */
    size_t n;
};
/**
 * Where this process's points of a grid are. After waitio_cpl_grid(), before tables. Local.
 * @param cells copied @return 0; ARG: no such grid, another number of points, or arrays are
 * missing; LIMIT: more than 250 corners
 */
int waitio_cpl_grid_cells(waitio_cpl_t cpl, const char *grid, const struct waitio_cpl_cells *cells);

/**
 * Mask points of a grid: they give nothing to sums, whatever is put there, and get no value: the
 * program's array keeps theirs. What becomes of receive points that have lost a part of their
 * sources, the configuration says (masked). Before waitio_cpl_grids_done(). Local.
 * @param open by point of this process, 0: masked. Copied
 */
int waitio_cpl_grid_mask(waitio_cpl_t cpl, const char *grid, const int *open, size_t n);
/** All grids are there. Collective over the component.
 * @return 0; CONFIG: the configuration names a grid that this component lacks; ARG: two processes
 * own one index */
int waitio_cpl_grids_done(waitio_cpl_t cpl);

/** Entries of a table: recv[recv_index] += coef * send[send_index]. */
struct waitio_cpl_entries {
    size_t n;
    const int *send_index, *recv_index; /**< global */
    const double *coef;                 /**< NULL: all 1 */
    const double *cos, *sin;            /**< NULL: no vectors; else of the rotation */
};
/**
 * The table from a grid of one component to a grid of another. Collective over both, in the same
 * order. Entries are given by one of the two, by any of its processes in any split; several for one
 * pair of points add up.
 * @param tag number of the table, >= 1: 1 unless there are several between the same two grids
 * @param mine entries that this process gives; NULL for none. Not kept. Where nobody gives any and
 * the configuration says where weights come from, they are the table
 * @return 0; ARG: an entry names an index that nobody owns, or has a NaN; both components give
 * entries, or neither (a table without entries is an array of 0); STATE: the other component calls
 * something else; CONFIG: the configuration has weights for it, too
 */
int waitio_cpl_map(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                   const char *recv_component, const char *recv_grid, int tag,
                   const struct waitio_cpl_entries *mine);
/**
 * The same, from a weight file as ESMF or SCRIP have them (netCDF). The processes of the receiving
 * component read it, each a share; global indices are the cells' numbers in the file. Points that
 * the file lacks have no entries. Collective over both components.
 * @param file the same text on both sides; found from the folder of the receiving processes
 * @return 0; ARG: a link names an index that nobody owns, a weight is not finite, or the file
 * is for other grids, with the file's name and the number of the link; SYSTEM: it cannot be read;
 * UNSUPPORTED: WaitIO was built without netCDF
 */
int waitio_cpl_map_file(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                        const char *recv_component, const char *recv_grid, int tag,
                        const char *file);
/**
 * The same, with weights made here and now from the cells of both grids (waitio_cpl_grid_cells()).
 * Each process makes those of its receive points. Bit for bit what `waitio cpl weights` makes.
 * Collective over both components.
 * @param method methods, each for the points that those before leave without value, then settings:
 * "conservative,nearest norm=destarea max-distance=5". nearest, distance, bilinear, barycentric,
 * conservative, conservative2, fixed:VALUE; norm, min-coverage, given-areas, neighbours, power,
 * max-distance, threads, limiter (barth-jespersen: conservative2 without new extremes). The same
 * text on both sides
 * @return 0; ARG: an unknown method, a grid without cells or with cells that are none, a method
 * that the grids do not allow
 */
int waitio_cpl_map_cells(waitio_cpl_t cpl, const char *send_component, const char *send_grid,
                         const char *recv_component, const char *recv_grid, int tag,
                         const char *method);
/** Of the table's points: how many does this process send, how many does it receive? 0 if none. */
int waitio_cpl_map_points(waitio_cpl_t cpl, const char *send_component, const char *recv_component,
                          int tag, size_t *sends, size_t *receives);

/** A remapping to be done: what has come from the sources of a table, for one variable. */
struct waitio_cpl_remapping {
    const char *send_component, *recv_component;
    int tag; /**< of the table */
    /** grid_intpl_tag of the variable; above 10000 a vector: u in the first half of the layers, v
     * in the second. Two variables that vector_with joins are given so, too, with 10001 more than
     * their tag and the layers of both: once for each of the two, and only its half is then read.
     */
    int exchange_tag;
    size_t layers, sources, rows;
    const double *from; /**< [layer][source]: distinct points, by the rank of their owner */
    double *to;         /**< [layer][row]: points with entries, by global index; 0 before */
};
/** @param with what waitio_cpl_remap_by() was given */
typedef void waitio_cpl_remap_function(void *with, const struct waitio_cpl_remapping *job);
/**
 * Let a function of the program remap in place of the coupler; NULL: the coupler again. Before the
 * tables: the receiver then remaps, whatever is cheaper. Later only where the configuration says
 * remap = 'receive'; else the next exchange of what the sender remaps is an error. @return 0
 */
int waitio_cpl_remap_by(waitio_cpl_t cpl, waitio_cpl_remap_function *function, void *with);
/** What the coupler itself would do: fills job->to. In a function of waitio_cpl_remap_by() for the
 * variable that this is called for. @return 0; ARG: no such table */
int waitio_cpl_remap(waitio_cpl_t cpl, const struct waitio_cpl_remapping *job);

/* ---- the run -------------------------------------------------------------------------------- */

/** Everything is defined; the run may begin. Local, unless the configuration has weights for tables
 * that no program has defined: these are made here, in its order, collectively over the components
 * of each. @return 0; CONFIG: a table is missing; the errors of making tables */
int waitio_cpl_start(waitio_cpl_t cpl);
/** Begin the next time step of @p seconds, and exchange what is due. Collective over the components
 * that exchange something then. */
int waitio_cpl_step(waitio_cpl_t cpl, int64_t seconds);
/** Begin the next time step without any exchange, on all sides: nothing is sent or fresh in it. */
int waitio_cpl_advance(waitio_cpl_t cpl, int64_t seconds);
/**
 * Exchange outside the steps: send what has been put up to now, of all variables with lag -1 or
 * later (not 0) that go to a component; receive what it sends so, which gets then find fresh. One
 * receive for each send. What the steps exchange stays as it is. Sending does not wait.
 * @return 0; ARG: nothing goes that way; STATE: nothing was put, or the other side has ended
 */
int waitio_cpl_send_now(waitio_cpl_t cpl, const char *component);
int waitio_cpl_recv_now(waitio_cpl_t cpl, const char *component);
/**
 * Put a variable: [layer][point], in the order of the grid's indices. Copied.
 * @param points of the grid in this process @param layers as the configuration says
 * @param flat the caller has an array without layers: refused when the configuration has more
 */
int waitio_cpl_put(waitio_cpl_t cpl, const char *name, const double *data, size_t points,
                   size_t layers, int flat);
/** Get a variable. @param[out] fresh 0: nothing is due in this step, and @p data is untouched */
int waitio_cpl_get(waitio_cpl_t cpl, const char *name, double *data, size_t points, size_t layers,
                   int flat, int *fresh);
/** Types of fields. What travels is of the type that the configuration says (type = 'real8',
 * 'real4', 'int'); sums are made in double precision and rounded to it. */
enum waitio_cpl_type { WAITIO_CPL_REAL8, WAITIO_CPL_REAL4, WAITIO_CPL_INT };
/** The program's array of a variable: double, float or int32_t. A real variable may be put and got
 * as either real type, whole numbers only as such. The fill value of floats is the float nearest to
 * that of the variable. */
struct waitio_cpl_field {
    const char *name;
    enum waitio_cpl_type type;
    void *data;            /**< [layer][point]; only read by puts */
    size_t points, layers; /**< as in waitio_cpl_put() */
    int fresh;             /**< out, of gets: 0: nothing is due in this step, data is untouched */
};
/** Put, get several variables. Variables with lag 0 and one bundle name (bundle = '...' in the
 * configuration) travel in one message, and all of them are put, and got, in one call. */
int waitio_cpl_put_fields(waitio_cpl_t cpl, const struct waitio_cpl_field *fields, size_t n);
int waitio_cpl_get_fields(waitio_cpl_t cpl, struct waitio_cpl_field *fields, size_t n);
/** Variables that this component puts (@p gets 0) or gets (1), in the order of the configuration;
 * NULL past the last. Belongs to the coupler. */
const char *waitio_cpl_variable(waitio_cpl_t cpl, int gets, int i);
/** Layers of a variable of this component, and points of its grid in this process. Of the first one
 * of this name, be it put or got; waitio_cpl_look_up() tells the two apart. */
int waitio_cpl_shape(waitio_cpl_t cpl, const char *name, size_t *layers, size_t *points);
/** Seconds of model time at the start of the step. */
int waitio_cpl_time(waitio_cpl_t cpl, int64_t *now);
/** What exchanges have cost this process: of the variables that travel together between its
 * component and another. Times are in seconds of the wall clock. */
struct waitio_cpl_costs {
    const char *component;       /**< the other one; belongs to the coupler, as variable does */
    const char *variable;        /**< the first of them, by its name here */
    int variables;               /**< how many travel together */
    int gets;                    /**< 1: this component gets them, 0: it puts them */
    int64_t interval;            /**< of model time, seconds; 0: with each put and get */
    int64_t exchanges, messages; /**< so far */
    int64_t bytes;               /**< of these messages */
    double waited;               /**< until they came, or were taken by the other side */
    double worked;               /**< packing, unpacking, remapping */
    double longest;              /**< the longest wait for one message ... */
    int64_t longest_at;          /**< ... in the step of this model time ... */
    int longest_process;         /**< ... for this process of the other component; -1 none yet */
};
/** The i-th of them. Local, cheap; between start and close.
 * @return 0; ARG: there are not so many (not an error of the run; component is NULL) */
int waitio_cpl_statistics(waitio_cpl_t cpl, int i, struct waitio_cpl_costs *out);
/** How much to log, as the configuration says: 0 silent, 1, 2; 16 is added when debugging. */
int waitio_cpl_log_level(waitio_cpl_t cpl);

/* ---- restarts -------------------------------------------------------------------------------- */

/**
 * Write this component's state: what it has put and not sent yet, means in the making, and its
 * time. To be called when all puts of a step are done, before the next step, by all components at
 * one model time; they do not wait for each other. The file is replaced when all of it is on the
 * disk. Needs the library netCDF-C. Collective over the component.
 * @param path the component's own @return 0; SYSTEM: the file, which is as it was before;
 * UNSUPPORTED: no netCDF library; STATE
 */
int waitio_cpl_restart_write(waitio_cpl_t cpl, const char *path);
/**
 * Go on from a file of waitio_cpl_restart_write(): to be called before waitio_cpl_start(), which
 * reads it. Any number of processes may have written it, but the configuration and the grids
 * must be the same, and all components must go on at one time. Puts before the first step are
 * then taken from the file. Collective over the component.
 * @return 0; STATE. waitio_cpl_start() then: SYSTEM (missing, truncated, damaged), CONFIG (of
 * another configuration or grid), UNSUPPORTED
 */
int waitio_cpl_restart_read(waitio_cpl_t cpl, const char *path);
/** After the start: @param[out] time seconds of model time at which the run goes on, as a restart
 * file says that the program or the configuration has named; -1: it begins at 0 */
int waitio_cpl_resumed(waitio_cpl_t cpl, int64_t *time);
/* ---- for bindings of other languages --------------------------------------------------------- */

/** A variable of this component, as the configuration says. */
struct waitio_cpl_facts {
    const char *grid;      /**< its grid here; belongs to the coupler */
    size_t layers, points; /**< points of the grid in this process, 0 before it is defined */
    int64_t interval;      /**< seconds between exchanges */
    int lag;               /**< -1, 0, 1 */
    double fill;           /**< what counts nothing; NaN: receivers of a put disagree */
};
/** Look a variable up. Local; not knowing it is no error of the run, and ends nothing.
 * @param gets 0: one that this component puts @return 0; ARG: there is none */
int waitio_cpl_look_up(waitio_cpl_t cpl, int gets, const char *name,
                       struct waitio_cpl_facts *field);
/**
 * Look at something of the program's own (signals) while calls of the coupler wait: @p look is
 * called 20 times a second of waiting, by the waiting thread. If it returns a number that is not 0,
 * the call ends with WAITIO_ERR_CANCELLED, which ends all components as any error does.
 * Holds for all couplers of the process. waitio_cpl_open() looks only when all have met. NULL: not.
 */
void waitio_cpl_look_at(int (*look)(void *with), void *with);
/** The program itself has failed: end all components with this text, as an error of the coupler
 * does. @return STATE, where errors are returned */
int waitio_cpl_raise(waitio_cpl_t cpl, const char *text);

/** Add seconds to year (>= 1200), month, day, hour, minute, second: proleptic Gregorian calendar.
 * @return 0; ARG */
int waitio_cpl_calendar_add(int time[6], int64_t seconds);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif /* WAITIO_CPL_H */
