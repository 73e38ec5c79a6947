/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file waitio.h
 * WaitIO basic interface: messages between separately launched parallel programs.
 *
 * Every launched program is a *parallel block* (PB, ids 0..NPB-1); the processes of all PBs form
 * one *universe*. Universe ranks count the processes of PB 0 first, then PB 1, and so on.
 *
 * All functions return 0 (WAITIO_SUCCESS) or a negative WAITIO_ERR_* code unless said otherwise;
 * waitio_strerror() and waitio_last_error() explain a code. All functions may be called from any
 * thread at any time between waitio_init() and waitio_finalize(), as under MPI_THREAD_MULTIPLE;
 * a request must be completed by one thread at a time. Calls that need the universe join it first
 * when waitio_init() was not called (with a timeout of 1000 s).
 */
#ifndef WAITIO_H
#define WAITIO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "waitio_errors.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* the library is built with hidden visibility */
#endif

/** Version of this header; waitio_get_version() tells that of the running library. */
#define WAITIO_VERSION_MAJOR 0
#define WAITIO_VERSION_MINOR 1        /**< see WAITIO_VERSION_MAJOR */
#define WAITIO_VERSION_PATCH 0        /**< see WAITIO_VERSION_MAJOR */
#define WAITIO_VERSION_STRING "0.1.0" /**< see WAITIO_VERSION_MAJOR */

/** Source wildcard for receives and probes. */
#define WAITIO_ANY_SOURCE (-1001)
/** Tag wildcard for receives and probes. */
#define WAITIO_ANY_TAG (-1002)
/** Ignored status argument. */
#define WAITIO_STATUS_IGNORE ((waitio_status_t *)0)
/** Index given by waitio_waitany() when no handle of the array is active. */
#define WAITIO_UNDEFINED (-1003)

/** Handle of a group: an ordered set of processes with its own message space. */
typedef struct waitio_group *waitio_group_t;

/** Membership test: non-zero = rank @p n of PB @p pbid is a member. */
typedef int (*waitio_filter_func_t)(int pbid, int n);

/**
 * Handle of a pending operation. A plain value that may be copied and stored anywhere (alignment
 * 4); all bytes zero = null handle. The copy that is waited on becomes null, others become stale:
 * waiting for them is an error, unless it was a short send that was over at once.
 */
typedef struct waitio_req {
    int32_t opaque[22]; /**< the library's own */
} waitio_req_t;

/** Null handle initialiser. */
#define WAITIO_REQ_NULL                                                                            \
    {                                                                                              \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** Message tag, 0 .. 2^31-1. */
typedef int32_t waitio_tag_t;

/** What a completed receive, a probe or a test found. */
typedef struct waitio_status {
    int source;    /**< rank of the sender in the group */
    int tag;       /**< tag of the message */
    int error;     /**< 0 or WAITIO_ERR_* of this operation */
    int cancelled; /**< non-zero: the operation was cancelled */
    size_t bytes;  /**< bytes delivered (probe: bytes of the message) */
} waitio_status_t;

/* ---- start and end ------------------------------------------------------------------------- */

/**
 * Join the universe: find block and rank of this process, and meet all processes of all PBs.
 * @param timeout  seconds to wait for every PB; <= 0 means 1000. WAITIO_INIT_TIMEOUT wins.
 * @return 0; CONFIG, TIMEOUT (the text lists the missing processes), JOIN, AUTH, VERSION, LIMIT,
 *         SYSTEM. A second call is harmless and returns 0. After a failure it tries again; calls
 *         that join implicitly do not, but return the error of the failed attempt at once.
 * @blocking until every process has joined, or the timeout
 */
int waitio_init(int timeout);

/**
 * Leave the universe: deliver what was sent, say goodbye to every peer, free everything.
 * Also done at exit when not called. Pending receives are cancelled.
 * @return 0; TIMEOUT when unresponsive peers were given up after WAITIO_LINGER; STATE when not
 * joined
 * A wait of another thread ends with STATE, or PEER.
 * @blocking while living peers still owe acknowledgements; unresponsive ones for WAITIO_LINGER
 */
int waitio_finalize(void);

/**
 * Leave the universe, and meet its processes anew under the same settings. For runs that go on when
 * a block has died: that block is started once more (it calls waitio_init()), and all others call
 * this. The blocks have the same ids and sizes as before, so all universe ranks are as before.
 *
 * Leaving is that of waitio_finalize(): what was sent is delivered, and receives are cancelled. But
 * it does not wait for ever for a living peer, which may itself wait for something that never
 * comes: sends that a peer does not receive are lost when nothing has moved for WAITIO_LINGER, or
 * when @p timeout is over. What a process has not received when it calls this is lost. Nothing of
 * the old universe is valid afterwards: calls refuse its groups, communicators and requests by an
 * error (GROUP, REQUEST) and do not follow them; waitio_group_free() and WAITIO_MPI_Comm_free()
 * still take them. Types, operators, info objects and attribute keys of the conversion interface
 * stay valid, because they belong to the process, and so do WAITIO_MPI_COMM_WORLD and other
 * constants, which mean the new universe then. The function of waitio_while_waiting() stays, too.
 * Descriptors of waitio_event_open() do not: waitio_event_close() them before, or close() them
 * afterwards, and open new ones. No other thread may enter a call of this library while this one
 * runs: its universe would end under it. Threads that are inside already, also in an operator of
 * the program, are noticed (BUSY). May be called as often as needed, also after waitio_finalize().
 * @param timeout seconds to wait for every process, and before that at most as many for what was
 *         sent to be received; <= 0 means 1000. WAITIO_INIT_TIMEOUT wins.
 * @return 0; STATE: never joined; BUSY: other threads are inside WaitIO calls, and nothing was
 *         changed unless one came in meanwhile; UNSUPPORTED: messages go through the MPI of a job;
 *         or as waitio_init(): TIMEOUT lists who is missing, PEER names who died while all met.
 * This process is in no universe then, and may call this again.
 * @blocking until the processes have met: twice @p timeout, and WAITIO_LINGER for peers that do not
 * respond
 */
int waitio_rejoin(int timeout);

/**
 * With WAITIO_FILE_RESUME=1 (messages through files): mark the present state of this process as one
 * from which it can go on after a kill. All that it has received before belongs to the state; what
 * it has not received yet is delivered again after waitio_resume_from() with this mark. The program
 * saves its own state together with the number, and calls this again only when that is saved: the
 * last two marks are kept, so that it can go on from the one or the other however it is killed.
 * Without WAITIO_FILE_RESUME=1 this does nothing.
 * @param[out] mark number of the mark, 1, 2, ...; 0 without WAITIO_FILE_RESUME=1
 * @return 0; BUSY: a receive or a non-blocking collective of this process is pending; PEER: a
 * process has died, the marks before stay; LIMIT, SYSTEM: it cannot be written; STATE
 * Thread-safe; no other thread may exchange messages meanwhile. Waits for nobody.
 */
int waitio_resume_mark(uint64_t *mark);

/**
 * Go on from a mark. To be called by a program that makes marks, between waitio_init() and its
 * first message or probe, at each start: with the number in its checkpoint, or 0 (its beginning) if
 * it has none. From there on the program must repeat itself: it makes the same groups and
 * communicators in the same order, and sends the same messages. Those that it had sent before the
 * kill are compared and not sent again, and what it had received is delivered once more. Not
 * calling it is mark 0.
 * @return 0; STATE: the mark is none of the last two, or this comes too late, or mark > 0 without
 * WAITIO_FILE_RESUME=1
 * Thread-safe. Waits for nobody.
 */
int waitio_resume_from(uint64_t mark);

/** @param[out] flag non-zero between a successful waitio_init() and waitio_finalize(). Never joins.
 */
int waitio_initialized(int *flag);

/**
 * What an error does. The default is MPI's: a peer failure (WAITIO_ERR_PEER, WAITIO_ERR_REVOKED), a
 * message longer than its receive (WAITIO_ERR_TRUNCATE) and a broken protocol (WAITIO_ERR_PROTOCOL)
 * end the program with a message and exit status 1, by waitio_abort(); other errors print one line
 * and are returned. For a program that checks all codes there is WAITIO_ERRORS_RETURN: nothing is
 * printed, and every code is returned.
 */
enum {
    WAITIO_ERRORS_DEFAULT = 0,
    WAITIO_ERRORS_RETURN = 1,
    WAITIO_ERRORS_ABORT = 2 /**< every error ends the program */
};
/**
 * Choose what errors do from now on, in this process; goes before WAITIO_ERRORS of the environment.
 * May be called at any time, also before waitio_init(), by any thread.
 * @param mode WAITIO_ERRORS_DEFAULT, _RETURN or _ABORT @return 0; ARG
 */
int waitio_set_errors(int mode);
/**
 * Errors of this thread's calls are returned and not printed, whatever the program has chosen: for
 * a library on top of this one that handles them itself, beside a program that does not know of it.
 * The calls of waitio_mpi.h are not meant. Sets one flag; may be called at any time.
 * @param on 1 or 0 (the default) @return what it was: to be set again before the library returns
 */
int waitio_return_errors_here(int on);

/**
 * End this process and notify all linked peers, whose operations with this process then fail.
 * @param code exit status of the process. Does not return.
 */
void waitio_abort(int code);

/* ---- who is there -------------------------------------------------------------------------- */

/** @param[out] npb number of PBs. */
int waitio_pb_size(int *npb);
/** @param[out] pbid id of my PB. */
int waitio_pb_rank(int *pbid);
/** @param[out] nprocs filled with NPB ints: processes of each PB. (Also takes int**, see below.) */
int waitio_get_nprocs(int *nprocs);
/** @param[out] nprocs set to an array of NPB ints owned by the library, valid until finalize. */
int waitio_get_nprocs_array(int **nprocs);
/** @param[out] rank my universe rank. */
int waitio_universe_rank(int *rank);
/** @param[out] size processes in the universe. */
int waitio_universe_size(int *size);

/* ---- groups: local, no communication ------------------------------------------------------- */

/**
 * Make a group by filter functions. (Also takes int*rank[], see below.)
 * @param gid    group id: part of the message space; callers may use 0 for everything
 * @param func   NPB entries by PB id; func[p](p, n) != 0 makes rank n of PB p a member; NULL = none
 * @param order  NPB entries by PB id: 1-based position of the PB's members in the rank order,
 *               0 = PB not in the group; positive positions must be distinct
 * @return group, or NULL (waitio_last_error() says why)
 */
waitio_group_t waitio_create_group(int gid, waitio_filter_func_t func[], int order[]);
/** Same as waitio_create_group() with filters, under its plain name. */
waitio_group_t waitio_create_group_func(int gid, waitio_filter_func_t func[], int order[]);
/**
 * Make a group by rank lists.
 * @param rank   NPB entries by PB id: list of ranks within the PB ended by a negative number; NULL
 * = none
 */
waitio_group_t waitio_create_group_wranks(int gid, int *rank[], int order[]);
/** Same as waitio_create_group_wranks(). */
waitio_group_t waitio_create_group_wrank(int gid, int *rank[], int order[]);
/** Make the group of all processes, in universe rank order. @param[out] group owned by the caller
 */
int waitio_group_universe(int gid, waitio_group_t *group);
/** Make the group of all processes of one PB. @param[out] group owned by the caller */
int waitio_group_pb(int gid, int pbid, waitio_group_t *group);
/** Free a group and set the handle to NULL. Pending operations on it complete normally. */
int waitio_group_free(waitio_group_t *group);
/** @param[out] size members of the group. */
int waitio_group_size(waitio_group_t group, int *size);
/** @param[out] rank my rank in the group, -1 when I am no member (not an error). */
int waitio_group_rank(waitio_group_t group, int *rank);
/** Group rank -> PB id and rank inside that PB. */
int waitio_group_locate(waitio_group_t group, int rank, int *pbid, int *pb_rank);
/** PB id and rank inside that PB -> group rank, -1 when no member. */
int waitio_group_find(waitio_group_t group, int pbid, int pb_rank, int *rank);
/** Group rank -> universe rank. */
int waitio_group_to_universe(waitio_group_t group, int rank, int *universe_rank);
/** Universe rank -> group rank, -1 when no member. */
int waitio_group_from_universe(waitio_group_t group, int universe_rank, int *rank);

/** Filter that admits everybody. Weak in the library: a program may define its own. */
int truef(int pbid, int n);

/* ---- point-to-point ------------------------------------------------------------------------ */

/**
 * Start a send. Messages of equal (group, source, destination, tag) arrive in the order sent.
 * @param dst    rank of the receiver in @p group
 * @param buf    @p bytes bytes; must stay unchanged until the request is complete. Up to 64 KiB the
 *               send completes locally (bytes are copied if need be), larger ones when the peer's
 *               library has acknowledged the data
 * @param[out] req  handle for wait/test; set to null on error
 * @return 0; GROUP, RANK, TAG, ARG, NOMEM, STATE, FORK. Errors of the peer (PEER, NOROUTE, LIMIT)
 * are the result of the operation: wait or test returns them
 * @blocking never
 */
int waitio_isend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                 waitio_req_t *req);
/**
 * Start a receive.
 * @param src    rank of the sender in @p group, or WAITIO_ANY_SOURCE
 * @param buf    room for @p bytes bytes; must not be touched until the request is complete
 * @param tag    tag, or WAITIO_ANY_TAG
 * A longer message delivers the bytes that fit and completes with WAITIO_ERR_TRUNCATE.
 */
int waitio_irecv(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                 waitio_req_t *req);
/** Wait for one operation; the handle becomes null. A null handle returns 0 at once. For a short
 * send to a slow receiver it may wait up to 2 ms, so that the receiver can catch up.
 *  @return result of the operation; REQUEST for a stale or foreign handle */
int waitio_wait(waitio_req_t *req);
/** waitio_wait() that also fills @p status (may be NULL). */
int waitio_wait_status(waitio_req_t *req, waitio_status_t *status);
/** waitio_wait_status() for at most @p seconds (<= 0: look once). @param[out] flag 1: complete, the
 * handle became null; 0: still under way, nothing changed (not an error). */
int waitio_wait_for(waitio_req_t *req, double seconds, int *flag, waitio_status_t *status);
/** Complete the operation if it is done: @p flag = 1 and the handle becomes null, else @p flag = 0.
 */
int waitio_test(waitio_req_t *req, int *flag, waitio_status_t *status);
/** Wait for all @p n operations. @param statuses NULL or @p n entries, each with its own error.
 *  @return 0 or the first error by index; every operation is completed either way */
int waitio_waitall(int n, waitio_req_t reqs[], waitio_status_t statuses[]);
/** Wait for any one. @param[out] index which, or WAITIO_UNDEFINED when all handles are null. */
int waitio_waitany(int n, waitio_req_t reqs[], int *index, waitio_status_t *status);
/** waitio_waitany() for at most @p seconds. @param[out] flag 0: none was done in time. */
int waitio_waitany_for(int n, waitio_req_t reqs[], double seconds, int *index, int *flag,
                       waitio_status_t *status);
/** If all are done complete them all and set @p flag = 1, else change nothing and set @p flag = 0.
 */
int waitio_testall(int n, waitio_req_t reqs[], int *flag, waitio_status_t statuses[]);
/** If one is done complete it: @p flag = 1 and @p index, else @p flag = 0. All null: flag 1,
 * UNDEFINED. */
int waitio_testany(int n, waitio_req_t reqs[], int *index, int *flag, waitio_status_t *status);
/** Wait until a matching message can be received; it stays to be received. */
int waitio_probe(waitio_group_t group, int src, waitio_tag_t tag, waitio_status_t *status);
/** waitio_probe() for at most @p seconds. @param[out] flag 0: none arrived in time. */
int waitio_probe_for(waitio_group_t group, int src, waitio_tag_t tag, double seconds, int *flag,
                     waitio_status_t *status);
/** Look for a matching message without waiting. @param[out] flag non-zero: found, @p status filled
 */
int waitio_iprobe(waitio_group_t group, int src, waitio_tag_t tag, int *flag,
                  waitio_status_t *status);
/** Withdraw a receive that has not matched yet, or a send that waits for its receive (a long one,
 * or a synchronous one of waitio_mpi.h); the request must still be waited for (status.cancelled
 * tells). All others complete normally. The wait for a send needs a call of WaitIO by the receiver.
 * @return 0; REQUEST; UNSUPPORTED: a send, with WAITIO_FILE_RESUME=1 */
int waitio_cancel(waitio_req_t *req);
/** Send and receive at once, without deadlock. */
int waitio_sendrecv(waitio_group_t group, int dst, const void *sbuf, size_t sbytes,
                    waitio_tag_t stag, int src, void *rbuf, size_t rbytes, waitio_tag_t rtag,
                    waitio_status_t *status);
/** Make an inactive persistent send; waitio_start() starts it, wait/test complete one round and
 * leave the handle inactive (not null); waitio_request_free() ends it. */
int waitio_send_init(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req);
/** Make an inactive persistent receive. */
int waitio_recv_init(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                     waitio_req_t *req);
/** Start a persistent operation. BUSY when it is active already. */
int waitio_start(waitio_req_t *req);
/** Start @p n persistent operations. */
int waitio_startall(int n, waitio_req_t reqs[]);
/** Free a persistent request (inactive), or let an active send complete by itself. Handle becomes
 * null. */
int waitio_request_free(waitio_req_t *req);

/* ---- event loops --------------------------------------------------------------------------- */

/**
 * Make a descriptor for poll, epoll or the event loop of a framework: it wakes a program that
 * sleeps there. While it is armed and no thread waits in this library, the library's service thread
 * makes progress with all operations. A loop does, each time before it sleeps: waitio_event_arm(),
 * then waitio_test() or waitio_iprobe() for what it is interested in, then sleep until the
 * descriptor is readable, a second at most (a test in every second notices the failure of a peer
 * that this process never had a connection to).
 * @param[out] fd belongs to the caller; one for each thread that sleeps
 * @return 0; UNSUPPORTED under WAITIO_PROGRESS=poll, SYSTEM, NOMEM
 */
int waitio_event_open(int *fd);
/** Make the descriptor unreadable, and readable once, as soon as any operation of this process is
 * complete or a message arrives from now on; also when the universe is left. @return 0; ARG */
int waitio_event_arm(int fd);
/** Close the descriptor; may be called after waitio_finalize(), too. @return 0; ARG */
int waitio_event_close(int fd);

/** What a program does while a call of this library waits. @return seconds until it wants to be
 * called again if the wait lasts; 0: as often as the wait looks, which then never sleeps */
typedef double waitio_idle_function(void);
/**
 * Call @p function now and then while a call waits and nothing arrives: for programs that must let
 * another communication library make progress meanwhile. It is called by a waiting thread, without
 * locks and by one thread at a time, not before the wait has lasted some microseconds. It must not
 * call this library. It is called in the universes of waitio_rejoin(), too; NULL may also be given
 * between waitio_finalize() and that.
 * @param function NULL: none from now on @return 0; the errors of joining
 */
int waitio_while_waiting(waitio_idle_function *function);

/* ---- errors, version, sight ---------------------------------------------------------------- */

/** Static text of a code; never NULL. May be called at any time. */
const char *waitio_strerror(int code);
/** The last error of this thread: cause, peer, remedy. Valid until the next call. */
const char *waitio_last_error(void);

/** Has the library written this thread's last error on standard error? For bindings and programs
 * that print errors themselves, so that each is printed once. @return 1 or 0. Any thread. */
int waitio_last_error_shown(void);
/** Version of the library that is running. Any pointer may be NULL. */
int waitio_get_version(int *major, int *minor, int *patch);
/** Read one counter by name (docs/reference/counters). @return 0; ARG when there is no such counter
 */
int waitio_counter(const char *name, uint64_t *value);
/** Name of the @p i-th counter, NULL past the last. */
const char *waitio_counter_name(int i);
/** Print state of the engine, peers and links for humans. @param out e.g. stderr */
int waitio_dump(FILE *out);

/**
 * A phase of the program begins (ends) in this thread: for the timeline of `waitio trace`. Phases
 * of a thread may lie within each other, the last one begun ends first. Nothing happens without
 * WAITIO_TRACE, or while this process is in no universe: neither call joins.
 * @param name copied; of more than 47 bytes the first 47 @return 0; ARG: NULL or empty. Any thread
 */
int waitio_trace_begin(const char *name);
int waitio_trace_end(const char *name); /**< see waitio_trace_begin() */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */

static inline int waitio_get_nprocs(int **nprocs)
{
    return waitio_get_nprocs_array(nprocs);
}
static inline waitio_group_t waitio_create_group(int gid, int *rank[], int order[])
{
    return waitio_create_group_wranks(gid, rank, order);
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(WAITIO_NO_GENERIC)
/* Two published forms of the same two calls: the argument's type chooses. The plain functions stay
 * reachable through pointers, dlsym and (name)(args). */
#define waitio_get_nprocs(nprocs)                                                                  \
    (_Generic((nprocs), int ** : waitio_get_nprocs_array, default : waitio_get_nprocs)(nprocs))
#define waitio_create_group(gid, members, order)                                                   \
    (_Generic((members), int **: waitio_create_group_wranks,                                       \
              default: waitio_create_group_func)(gid, members, order))
#endif

#endif /* WAITIO_H */
