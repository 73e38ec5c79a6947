/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file own.h
 * Requests that the engine has not: copies that are sent, messages of matched probes, collectives,
 * operations of the program. request.c makes and starts them, request_wait.c completes them,
 * request_free.c keeps those whose requests the program has freed.
 */
#ifndef WIO_MPI_OWN_H
#define WIO_MPI_OWN_H

#include "mpi/grequest.h"
#include "mpi/mpi.h"
#include "mpi/request.h"
#include "mpi/status.h"
#include "mpi/waiting.h"

/* First word of our own requests; no slot of the engine has this number. */
enum { WIO_OWN_MARK = -1 };

/** An operation of ours. */
struct wio_own {
    struct wio_own *next;      /* among the orphans */
    waitio_req_t inner;        /* of the message, or of the collective */
    struct wio_running *run;   /* a collective, or NULL: a message */
    struct wio_grequest *greq; /* an operation of the program, or NULL; `inner` never changes */
    const struct wio_mpi_type *type;
    struct wio_message again; /* what a persistent send of copies does */
    void *user;
    size_t room; /* bytes that the program's buffer holds, where the engine does not know */
    char *packed;
    struct wio_comm *comm; /* held when members' byte orders differ, else NULL */
    int number;
    bool sending, persistent, active;
    bool nobody; /* no message: PROC_NULL, or the library keeps a copy */
    bool landed; /* complete when the request was made; the status is below */
    int code;
    waitio_status_t found;
};

extern const waitio_req_t wio_request_null;

bool wio_own_is_null(const waitio_req_t *req);
/** The operation of a request of ours, or NULL. */
struct wio_own *wio_own_find(const waitio_req_t *req);
/** The same with the error's text when there is none (REQUEST). */
struct wio_own *wio_own_of(const waitio_req_t *req);
/** A new one with its request. @return 0; NOMEM, LIMIT */
int wio_own_new(waitio_req_t *req, struct wio_own **out);
void wio_own_free(struct wio_own *o);
/** Forget those whose requests the program has freed: request.c frees them (request_free.c). */
void wio_own_forget_freed(void);

/** Send a packed copy, which the request owns. @param unlike the communicator whose members need
 * another byte order, or NULL. @return 0; ARG, NOMEM, or the engine's error */
int wio_own_start_copy(const struct wio_message *m, const struct wio_mpi_type *t, size_t bytes,
                       struct wio_comm *unlike, waitio_req_t *req);
/** Send a copy that nobody waits for. */
int wio_own_send_copy(const struct wio_message *m, const struct wio_mpi_type *t);

/** Wait for the engine's request inside, without the error policy: perhaps no call waits for the
 * operation any more. */
int wio_own_wait(waitio_req_t *req, waitio_status_t *st);
/** Wait for the message of an operation, and unpack it into the program's buffer. */
void wio_own_land(struct wio_own *o);

/** An operation of the program is complete, or freed (WIO_GREQUEST_...). @return what had happened
 * before */
int wio_own_end_user(struct wio_own *o, int what);
/** It is both. */
int wio_own_user_gone(struct wio_own *o);

#endif /* WIO_MPI_OWN_H */
