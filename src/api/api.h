/* SPDX-License-Identifier: BSD-3-Clause */
/** @file api.h  Shared by the files of api/: the default universe, argument checks, error
 * reporting. */
#ifndef WIO_API_H
#define WIO_API_H

#include "p2p/p2p.h"
#include "waitio.h"

/** The default universe, joined on first use. @return NULL with the error set (FORK, STATE, or the
 * error of joining) */
struct wio_universe *wio_api_universe(void);
/** The same without joining: NULL when not joined. */
struct wio_universe *wio_api_current(void);
/** Set by an upper layer when it is loaded: what it has of a universe goes with it. Both are called
 * by waitio_rejoin() only, without locks. */
struct wio_api_upper {
    void (*ending)(void); /**< before leaving; it waits for no peer */
    void (*ended)(void);  /**< after it, also where the program has left by other calls */
};
extern struct wio_api_upper wio_api_upper;
/** After finalize: what the next universe's waits would call is forgotten. @return false: the
 * process has not left, or not yet */
bool wio_api_forget_idle(void);
/** End of every public call: clears or reports the error as WAITIO_ERRORS says, returns code. */
int wio_api_result(const char *call, int code);

/** waitio_isend() or, when @p persistent, waitio_send_init() in MPI's synchronous mode; pt2pt.c. */
int wio_api_issend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                   bool persistent, waitio_req_t *req);

/** waitio_irecv() or, when @p persistent, waitio_recv_init(); from any source it ends with a
 * failure that is not acknowledged (WIO_ANY_WARY), as a receive of a spread message does. */
int wio_api_recv_wary(waitio_group_t group, int src, void *buf, size_t bytes, waitio_tag_t tag,
                      bool persistent, waitio_req_t *req);
/** waitio_iprobe() or, without a @p flag, waitio_probe(), which end so, too. */
int wio_api_probe_wary(waitio_group_t group, int src, waitio_tag_t tag, int *flag,
                       waitio_status_t *status);

/** waitio_isend() and its kin for a message that is spread in memory. */
int wio_api_send_spread(waitio_group_t group, int dst, const struct wio_spread *s, size_t bytes,
                        waitio_tag_t tag, bool persistent, bool sync, waitio_req_t *req);
int wio_api_recv_spread(waitio_group_t group, int src, const struct wio_spread *s, size_t bytes,
                        waitio_tag_t tag, bool persistent, waitio_req_t *req);

/** Messages to the end, as by waitio_irecv(), waitio_isend() and waitio_wait(); sends first. Ranks
 * and tags are checked here; no wildcards. @param st of the receive, or NULL; pt2pt.c. @blocking */
int wio_api_exchange(waitio_group_t group, struct wio_leg *leg, int n, waitio_status_t *st);

/** A request variable of the user seen as handle. */
static inline struct wio_handle *wio_api_handle(waitio_req_t *req)
{
    return (struct wio_handle *)(void *)req->opaque;
}
_Static_assert(sizeof(struct wio_handle) <= sizeof(waitio_req_t),
               "the handle lives in the request");
_Static_assert(sizeof(waitio_req_t) == 88, "existing Fortran programs declare 22 integers");

#endif
