/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file request.h
 * Operations of the conversion library that are more than one message of the engine: messages of
 * types with holes (packed before, unpacked after) and non-blocking collectives. The program holds
 * them in the same WAITIO_MPI_Request as plain messages; a mark in it tells which is which.
 *
 * A thread that waits here also makes progress with the non-blocking collectives under way, as
 * MPI requires: a process may wait for something that depends on them.
 */
#ifndef WIO_MPI_REQUEST_H
#define WIO_MPI_REQUEST_H

#include "mpi/run.h"
#include "waitio.h"

/** A send or receive as the program gave it. */
struct wio_message {
    void *buf; /**< not written to by sends */
    int64_t count;
    WAITIO_MPI_Datatype type;
    int peer, tag;
    WAITIO_MPI_Comm comm;
    bool sending, persistent;
    bool sync;   /**< send: complete when a receive has taken the message */
    bool copied; /**< send: complete at once, the library keeps a copy */
};

/** Start a message, or make a persistent one. @return 0 or what is wrong with the arguments */
int wio_message_start(const struct wio_message *m, waitio_req_t *req);
/** Messages to the end at once, at most two, sends first. @param st of the receive. *did false:
 * they need requests, nothing was done */
int wio_message_now(const struct wio_message *m, int n, waitio_status_t *st, bool *did);
/** A request that is complete already, with status @p found. @return 0; NOMEM, LIMIT */
int wio_request_done(const waitio_status_t *found, waitio_req_t *req);
/** Wait until all sends of copies that the library keeps are complete. @return 0 or the first error
 */
int wio_buffered_wait(void);
/** Receives whose requests were freed before their data was unpacked; changed atomically. */
extern int wio_freed_receives;
/** Unpack messages of such receives. Every call does this before it returns, because the program
 * may conclude from its result that the data has arrived. */
void wio_request_deliver(void);
/** Before the universe is left: end buffered sends, cancel freed receives without a message.
 * @param wait for sends that no receive has taken; else leaving decides what becomes of them, and
 * wio_request_forget() frees them */
void wio_request_end(bool wait);
/** After the universe has ended: free all requests that are left, so that the program's copies of
 * them are stale. Free functions of generalized requests are called. */
void wio_request_forget(void);
/** The same for messages of matched probes (mprobe.c). */
void wio_matched_forget(void);

/** A message of a matched probe. A short one is received into a buffer of the library; the data of
 * others is still at its sender. */
struct wio_matched {
    waitio_req_t inner;
    char *bytes; /**< NULL: at its sender */
    size_t size;
    int source, tag;
    int number;            /**< that the program has */
    struct wio_comm *comm; /**< held when members' byte orders differ, else NULL */
};
/** A request that receives such a message to @p buf, @p room bytes of data. On success it owns what
 * belongs to the message. @return 0; ARG, NOMEM, LIMIT */
int wio_request_matched(const struct wio_matched *m, void *buf, const struct wio_mpi_type *t,
                        size_t room, waitio_req_t *req);
/** Make a request of a non-blocking collective that was started, or of a persistent one that was
 * not. @param run owned by the request afterwards, also on failure. @return 0; NOMEM, LIMIT or its
 * first error */
int wio_request_collective(struct wio_running *run, bool persistent, waitio_req_t *req);
struct wio_grequest;
/** Make a generalized request with these functions, which are copied. @return 0; NOMEM, LIMIT */
int wio_request_user(const struct wio_grequest *g, waitio_req_t *req);
/** Its operation has ended; from any thread. @return 0; REQUEST: it is none, or has ended before;
 * what its free function returned, when its request was freed before */
int wio_request_user_end(const waitio_req_t *req);
/** Its number, by which it can be found as long as it lives. @return 0: no generalized request */
int wio_request_user_number(const waitio_req_t *req);
waitio_req_t wio_request_user_numbered(int number);
/** It lives until it is complete and freed, or waited for. */
bool wio_request_user_lives(int number);

/** The status of a request without an operation. */
extern const waitio_status_t wio_request_empty;
/** Is there an array of so many requests? @return 0; ARG */
int wio_request_check(int n, const void *reqs);

/* As the functions of waitio.h, for both kinds of requests. Errors of the operation are returned.
 */
int wio_request_wait(waitio_req_t *req, waitio_status_t *st);
int wio_request_test(waitio_req_t *req, int *flag, waitio_status_t *st);
int wio_request_waitall(int n, waitio_req_t reqs[], waitio_status_t st[]);
int wio_request_testall(int n, waitio_req_t reqs[], int *flag, waitio_status_t st[]);
int wio_request_waitany(int n, waitio_req_t reqs[], int *index, waitio_status_t *st);
int wio_request_testany(int n, waitio_req_t reqs[], int *index, int *flag, waitio_status_t *st);
/** Wait for so long; *flag 0: none was done in time. */
int wio_request_waitany_for(int n, waitio_req_t reqs[], int64_t timeout_ns, int *index, int *flag,
                            waitio_status_t *st);
/** Complete all that are done; wait for the first when @p wait. *count: how many, or UNDEFINED when
 * all are null. @param indices,st @p n entries, filled from the beginning; st may be NULL */
int wio_request_some(bool wait, int n, waitio_req_t reqs[], int *count, int indices[],
                     waitio_status_t st[]);
/** Test without completing. @param[out] st when it is done */
int wio_request_look(const waitio_req_t *req, int *flag, waitio_status_t *st);
int wio_request_begin(waitio_req_t *req); /**< persistent ones */
int wio_request_cancel(waitio_req_t *req);
int wio_request_drop(waitio_req_t *req);
/** Requests alive, for tests. */
int wio_request_alive(void);

#endif /* WIO_MPI_REQUEST_H */
