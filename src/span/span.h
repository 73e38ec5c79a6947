/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file span.h
 * What the parts of the span library share: communicators that span jobs, and how handles of the
 * vendor's MPI stand for ours.
 *
 * The program keeps the vendor's handles. A communicator that spans jobs is represented by a
 * communicator of the vendor that holds its members of this job (the *stand-in*); attributes,
 * names, hints and error handlers are the stand-in's. A handle that stands in no table here is the
 * vendor's own, and calls with it go to the vendor untouched.
 *
 * Functions return 0 or a negative code of waitio_errors.h, if they do not say otherwise.
 */
#ifndef SPAN_SPAN_H
#define SPAN_SPAN_H

#include <stdbool.h>

#include "span/table.h"
#include "span/vendor.h"
#include "waitio_mpi.h"

#define SPAN_LIKELY(x) __builtin_expect(!!(x), 1)
#define SPAN_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** A communicator that spans jobs. */
struct span_comm {
    WAITIO_MPI_Comm comm;
    MPI_Comm handle; /**< the stand-in */
    int size;        /**< members of the own group */
    int fan;         /**< partners of a collective: the other group's members, or all */
    int rank;        /**< of this process */
    bool inter;
    atomic_int refs; /**< the handle, and operations under way */
};

/** Memory that a call needs until it, or the operation that it starts, is over. */
struct span_scratch {
    struct span_scratch *next;
};

/** An operation that was started on a communicator that spans jobs (requests.c). */
struct span_request {
    WAITIO_MPI_Request ours, second; /**< second: of the two of MPI_Isendrecv */
    MPI_Request stand_in;
    struct span_comm *comm;
    const char *name; /**< of the call */
    struct span_scratch *scratch;
    struct span_request *next;
    bool persistent, pair, taken;
    bool folds;  /**< by an operator of the program */
    bool active; /**< persistent: it was started, and has not been completed since */
};

/** A call on a communicator that spans jobs. */
struct span_call {
    struct span_comm *comm;
    const char *name;
    int code;        /**< 0 or the error so far */
    const char *why; /**< text of a code that no call of ours has given, or NULL */
    struct span_request *request;
    struct span_scratch *scratch;
    bool folds; /**< by an operator of the program */
};

extern struct span_table span_comms, span_groups, span_types, span_ops, span_requests,
    span_messages;

/** What one thread frees (let_go in comm_calls.c): the vendor gives its handle out again before the
 * entry is taken away, so that a communicator of another thread may have it. An entry with this bit
 * is there for that one thread. */
enum { SPAN_FREED = 1 };
/** @return the communicator behind such an entry, or NULL: another thread frees it */
struct span_comm *span_comm_freed(void *entry);

static inline struct span_comm *span_comm_of(MPI_Comm comm)
{
    void *found = span_table_find(&span_comms, SPAN_KEY(comm));

    return SPAN_LIKELY(!((uintptr_t)found & SPAN_FREED)) ? found : span_comm_freed(found);
}
static inline void *span_group_of(MPI_Group group)
{
    return span_table_find(&span_groups, SPAN_KEY(group));
}

_Static_assert(sizeof(MPI_Count) == sizeof(WAITIO_MPI_Count), "both have 64 bits");
/** Large counts of the program, as ours: MPIs give the same integer other names. */
static inline const WAITIO_MPI_Count *span_counts(const MPI_Count *counts)
{
    return (const void *)counts;
}
static inline WAITIO_MPI_Count *span_count_out(MPI_Count *count)
{
    return (void *)count;
}

/* ---- world.c ---- */

/** Is this process one of several jobs, between MPI_Init and MPI_Finalize? */
extern bool span_is_on;
/** Has MPI_Init met the other jobs, if there are any? */
bool span_has_met(void);
/** Make the communicator of all processes of all jobs: the one place that decides its kind. */
int span_world_create(WAITIO_MPI_Comm *out);
/** The group of all processes of all jobs. Valid while span_is_on. */
WAITIO_MPI_Group span_universe(void);
/** The vendor's group of this job's processes. Valid while span_is_on. */
MPI_Group span_job(void);
/** Universe rank of process @p rank of this job, and the reverse (-1: of another job). */
int span_to_universe(int rank);
int span_from_universe(int universe_rank);
/** End all jobs. Does not return. */
_Noreturn void span_end_all(int status);

/* ---- leaving.c ---- */

/** @param all of all processes */
int span_leaving_begin(WAITIO_MPI_Comm all);
/** Wait until all living processes of all jobs are in MPI_Finalize. */
void span_leaving_wait(void);

/* ---- errors.c ---- */

/** The error of a call: hand it to the error handler of @p where. @return MPI's code, if the
 * handler returns */
int span_fail(MPI_Comm where, const char *name, int code);
/** The same where no call of ours has said why. */
int span_fail_why(MPI_Comm where, const char *name, int code, const char *why);
#if MPI_VERSION >= 4
/** The same through the error handler of a session. */
int span_fail_session(MPI_Session session, int code, const char *text);
#endif
/** MPI's code for one of ours, without the handler: for statuses. */
int span_mpi_code(const char *name, int code);
/** The call cannot work on this communicator or group, which is its argument @p argument. */
int span_refuse(MPI_Comm where, const char *name, const char *argument, const char *remedy);

/* ---- comms.c ---- */

/** Let @p handle stand for @p comm, which is owned from now on. */
int span_comm_register(MPI_Comm handle, WAITIO_MPI_Comm comm, struct span_comm **out);
void span_comm_release(struct span_comm *c);

/* ---- groups.c ---- */

/** Ours for any group of the program. @param[out] mine shall the caller free it? */
int span_group_ours(MPI_Group group, WAITIO_MPI_Group *out, bool *mine);
/** Give the program a group: the vendor's if all members are of this job. @param made owned from
 * now on */
int span_group_give(WAITIO_MPI_Group made, MPI_Group *out);

/* ---- types.c, ops.c ---- */

int span_types_begin(void);
int span_ops_begin(void);
/** A type that was not translated before. */
WAITIO_MPI_Datatype span_type_make(struct span_call *call, MPI_Datatype type);
WAITIO_MPI_Op span_op_make(struct span_call *call, MPI_Op op);
/** The vendor's type of one of ours, or MPI_DATATYPE_NULL. */
MPI_Datatype span_type_back(WAITIO_MPI_Datatype type);
/** Free handles whose end was put off because operations could still use them. */
void span_types_sweep(void);
void span_ops_sweep(void);
void span_types_end(void);
void span_ops_end(void);

/* ---- requests.c ---- */

/** Requests of the program that stand for ours, persistent ones among them. */
extern atomic_int span_live;
/** Those of them that fold by an operator of the program, which may ask for types. */
extern atomic_int span_folding;

struct span_request *span_request_take(const struct span_call *call, bool persistent);
/** It is over, or was freed: its stand-in may stand for another one. */
void span_request_drop(struct span_request *q);
void span_requests_end(void);
static inline struct span_request *span_request_of(MPI_Request request)
{
    return span_table_find(&span_requests, SPAN_KEY(request));
}

/* ---- messages.c ---- */

void span_messages_end(void);

/* ---- status.c ---- */

/** Write MPI's status of what @p from says. @param to or MPI_STATUS_IGNORE */
void span_status(const WAITIO_MPI_Status *from, MPI_Status *to);

/* ---- call.c ---- */

/** @return memory for @p n things of @p size bytes, or NULL with call->code set */
void *span_scratch(struct span_call *call, size_t n, size_t size);
void span_scratch_free(struct span_scratch *list);

/* ---- progress.c ---- */

/** May any thread call the vendor's MPI at any time, in all processes of this job? Before span is
 * on.
 */
bool span_any_thread(void);
/** A test of one of the libraries has found nothing: the other one goes on, too, because what is
 * tested may wait for it in another process. */
void span_vendor_goes_on(void);
void span_ours_go_on(void);
/** While this call of the vendor's blocks, operations of ours under way go on, and a long one is
 * reported under its name, which stays. Calls may lie in each other. */
void span_assist_begin(const char *call);
int span_assist_end(int code);
/** @param any_thread what span_any_thread() said */
int span_progress_begin(bool any_thread);
void span_progress_end(void);

/** A test of the vendor's has ended with @p flag. */
#define SPAN_TESTED(flag)                                                                          \
    do {                                                                                           \
        if (!(flag) && atomic_load_explicit(&span_live, memory_order_relaxed) > 0)                 \
            span_ours_go_on();                                                                     \
    } while (0)

/** A blocking call of the vendor's, reported under the name of the function that it stands in. */
#define SPAN_BLOCKING(call)                                                                        \
    (SPAN_LIKELY(atomic_load_explicit(&span_live, memory_order_relaxed) == 0)                      \
         ? (call)                                                                                  \
         : (span_assist_begin(__func__), span_assist_end(call)))
/** The vendor's part of a call that spans jobs: when it lasts long that is reported in any case. */
#define SPAN_PART(name, call) (span_assist_begin(name), span_assist_end(call))

#endif /* SPAN_SPAN_H */
