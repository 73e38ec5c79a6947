/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file comm.h
 * What the conversion library knows of a communicator beyond its group: the message space of its
 * collectives, its shape (which members belong to which PB), and how many communicators and
 * non-blocking collectives have been made from it. Kept with the group (upper), made on first use.
 */
#ifndef WIO_MPI_COMM_H
#define WIO_MPI_COMM_H

#include "group/group.h"
#include "mpi/datatype/type.h"
#include "mpi/tune.h"
#include "waitio_mpi.h"

struct wio_kings;

/** Which members belong to which PB. PBs are numbered in the order in which they first appear. */
struct wio_topology {
    int npb;
    const int *pb;    /**< by rank: number of its PB */
    const int *first; /**< by PB: its lowest rank */
    bool runs;        /**< the members of every PB have consecutive ranks */
    bool host;        /**< all share a host */
    uint8_t hybrid;   /**< classes of sizes in which some PBs use their providers (mpi/inside.h) */
    bool loans;       /**< ... that has more processes than processors, where large messages are
                         copied straight from the sender's memory */
    uint32_t share;   /**< members for each processor of the host, rounded down; 0 when they do not
                         share one, or the number of its processors is not known */
    const struct wio_kings *kings; /**< who carries long messages (mpi/kings.h), or NULL */
};

enum wio_comm_count { WIO_COUNT_MADE, WIO_COUNT_STARTED, WIO_COUNTS };

struct wio_cart;
struct wio_graph;
struct wio_universe;
struct wio_inter;
struct wio_attribute;
struct wio_plans;
struct wio_inside;

struct wio_comm {
    bool swap;                /**< members' byte orders differ, and mine is not the common form */
    bool no_long_double;      /**< members write long double differently */
    int refs;                 /**< the group and schedules under way; changed atomically */
    bool own;                 /**< made by this library: no other group has its space */
    struct waitio_group twin; /**< the same members in the collectives' message space */
    int rank, size;
    const struct wio_table *table; /**< the universe's */
    struct wio_topology topo;
    struct wio_cart *cart;            /**< a Cartesian grid (cart.c), or NULL */
    struct wio_inter *inter;          /**< an intercommunicator (inter.c), or NULL */
    struct wio_graph *graph;          /**< neighbours by a graph (graph.c), or NULL */
    struct wio_attribute *attributes; /**< what the program attached, the latest first */
    char *name;                       /**< that the program gave, or NULL */
    uint32_t count[WIO_COUNTS];       /**< read when own */
    struct wio_plans *plans;          /**< schedules that are kept (plans.h), or NULL */
    uint8_t hybrid;                   /**< as topo.hybrid, also where all members share a host */
    bool hybrid_always;               /**< ... and providers are used there, too */
    struct wio_inside *inside;        /**< the provider of my PB (mpi/inside.h), or NULL */
    struct wio_kings *kings;          /**< as topo.kings */
    struct wio_tune tune;             /**< results of trials with long broadcasts (tune.h) */
};

/** State of @p comm, of which this process must be a member.
 *  @return 0; GROUP, RANK when it is no member, NOMEM */
int wio_comm_get(WAITIO_MPI_Comm comm, struct wio_comm **out);
void wio_comm_hold(struct wio_comm *c);
void wio_comm_release(struct wio_comm *c);

/**
 * How often this was called before for the message space of @p comm. MPI requires collective calls
 * in the same order on all members, so they agree without communication.
 */
int wio_comm_next(struct wio_comm *c, WAITIO_MPI_Comm comm, enum wio_comm_count what,
                  uint32_t *number);
/** The same for any 64-bit key: kept until the universe ends. @return 0; NOMEM */
int wio_count_next(uint64_t key, uint32_t *number);

/**
 * A communicator of given members (universe ranks; this process is one of them) with a message
 * space that no other communicator has. @return 0; ARG, NOMEM
 */
int wio_comm_make(const uint32_t *members, uint32_t n, uint64_t space, WAITIO_MPI_Comm *out);
/** The same where this process has a rank that is given: in an intercommunicator. */
int wio_comm_make_as(const uint32_t *members, uint32_t n, uint64_t space, int32_t rank,
                     WAITIO_MPI_Comm *out);
/** Must this process convert messages to and from member @p peer? Takes no locks. The common form
 * is little-endian, so only big-endian machines convert. */
bool wio_comm_swaps(const struct wio_comm *c, int peer);
/** 0, or UNSUPPORTED naming a type that has no common form among the members of @p c. */
int wio_comm_takes(const struct wio_comm *c, const struct wio_mpi_type *type);
/** *unlike: the communicator's state when this process converts for some members, else NULL.
 * @return 0 or UNSUPPORTED as above; invalid groups are not checked here */
int wio_comm_formats(WAITIO_MPI_Comm comm, const struct wio_mpi_type *type,
                     struct wio_comm **unlike);
/** For tests: treat all members, this process too, as big-endian among little-endian ones. */
extern bool wio_comm_pretend_swap;
/** Universe ranks of all members, to be freed by the caller. NULL: no memory, text set. */
uint32_t *wio_comm_members(const struct waitio_group *g);
/** Turn a list of universe ranks into a group, and free the list. There is one empty group. @return
 * 0; ARG, NOMEM */
int wio_comm_group_of(struct wio_universe *u, uint32_t *members, uint32_t n, WAITIO_MPI_Group *out);
/** Free the plans of a communicator. */
void wio_plans_free(struct wio_plans *plans);
/** Communicators' states alive, for tests. */
int wio_comm_alive(void);

#endif /* WIO_MPI_COMM_H */
