/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The default universe of the process: init, finalize, exit, fork. The only mutable file-scope
 * state of the library lives here.
 */
#include "api/api.h"

#include <stdatomic.h>

#include "os/os.h"

enum phase { NOT_YET, JOINED, LEFT };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static struct wio_universe *_Atomic the_universe;
static _Atomic int phase = NOT_YET;
static _Atomic int forked;
static _Atomic int hooks_set;
static _Atomic int fork_cleaned;
static _Atomic int errors_mode = WIO_CFG_ERRORS_DEFAULT;
enum { NOT_CHOSEN = -1 };
static _Atomic int errors_chosen = NOT_CHOSEN; /* by the program */
static _Atomic int lines_printed;
struct wio_api_upper wio_api_upper;

/* Of the universes that were left. */
static struct wio_before before = {.groups = {&before.groups, &before.groups}};
static struct wio_universe *_Atomic behind; /* was left while threads waited in it: it lives on */
static _Atomic int rejoining;

/* Why joining failed last, 0 = it did not. Under the gate. */
static struct {
    int code;
    char text[1024];
} refusal;

enum { LINES_MAX = 50 };

/* Why a universe is left. */
enum parting { FINALLY, EXITING, TO_JOIN_AGAIN };

static int leave(enum parting why, double limit_s);
static void print_error(const char *call, int code);

/* Other threads may be inside the library: nothing is freed under them. */
static void at_exit(void)
{
    if (atomic_load(&forked) || atomic_load(&phase) != JOINED)
        return;
    int rc = leave(EXITING, 0);
    if (rc == WAITIO_ERR_BUSY)
        print_error("exit", rc); /* whatever WAITIO_ERRORS says: nobody else could tell */
    else
        wio_api_result("waitio_finalize", rc);
}

/* A child that never calls us must not hold our sockets: peers see by their end that we have died.
 * The lock is taken around the fork, so that the child finds lists in order; not when this very
 * thread is inside, which only a signal handler can be. Then its first call closes them. */
static _Thread_local struct wio_universe *fork_holds;

static void before_fork(void)
{
    struct wio_universe *u = wio_api_current();
    fork_holds = u != NULL && wio_universe_before_fork(u) ? u : NULL;
}

static void in_parent(void)
{
    if (fork_holds != NULL)
        wio_universe_forked(fork_holds);
    fork_holds = NULL;
}

/* Nothing of the universe is ours. */
static void in_child(void)
{
    if (atomic_load(&phase) != NOT_YET)
        atomic_store(&forked, 1);
    if (fork_holds != NULL && !atomic_exchange(&fork_cleaned, 1))
        wio_universe_after_fork(fork_holds);
    fork_holds = NULL;
}

static int forked_error(void)
{
    struct wio_universe *u = atomic_load(&the_universe);
    if (u != NULL && !atomic_exchange(&fork_cleaned, 1))
        wio_universe_after_fork(u);
    return wio_fail(WAITIO_ERR_FORK, "this process was forked from a member of the universe");
}

/* The universe was left, and the program does not ask for another one. */
static int left_error(void)
{
    if (refusal.code != 0)
        return wio_fail(refusal.code, "joining again failed: %s", refusal.text);
    return wio_fail(WAITIO_ERR_STATE,
                    "the universe was left already; waitio_rejoin() joins it again");
}

/* How a process comes to a universe. */
enum way { FIRST, IMPLIED, AGAIN };

static int join_locked(int timeout, enum way way)
{
    if (atomic_load(&phase) == JOINED)
        return 0;
    if (atomic_load(&phase) == LEFT && way != AGAIN)
        return left_error();
    /* Programs that ignore what waitio_init() returns go on calling: each call would try again. */
    if (way == IMPLIED && refusal.code != 0)
        return wio_fail(refusal.code, "joining failed before: %s", refusal.text);
    struct wio_universe *u = NULL;
    int rc = wio_universe_join(timeout, &u);
    refusal.code = rc;
    if (rc != 0) {
        wio_text(refusal.text, sizeof refusal.text, "%s", wio_last_detail());
        return rc;
    }
    errors_mode = wio_universe_config(u)->errors;
    if (!atomic_exchange(&hooks_set, 1)) {
        wio_os_at_fork(before_fork, in_parent, in_child);
        atexit(at_exit);
    }
    wio_universe_follow(u, &before);
    atomic_store(&the_universe, u);
    atomic_store(&phase, JOINED);
    return 0;
}

static int join(int timeout, enum way way)
{
    if (atomic_load(&forked))
        return forked_error();
    pthread_mutex_lock(&gate);
    int rc = join_locked(timeout, way);
    pthread_mutex_unlock(&gate);
    return rc;
}

struct wio_universe *wio_api_current(void)
{
    if (WIO_LIKELY(atomic_load_explicit(&phase, memory_order_acquire) == JOINED &&
                   !atomic_load_explicit(&forked, memory_order_relaxed)))
        return atomic_load_explicit(&the_universe, memory_order_acquire);
    return NULL;
}

struct wio_universe *wio_api_universe(void)
{
    struct wio_universe *u = wio_api_current();
    if (WIO_LIKELY(u != NULL))
        return u;
    return join(0, IMPLIED) == 0 ? atomic_load(&the_universe) : NULL;
}

/* One line per failure, but no flood: programs that ignore return codes may call in a loop. */
static void print_error(const char *call, int code)
{
    int n = atomic_fetch_add(&lines_printed, 1);
    if (n > LINES_MAX)
        return;
    struct wio_universe *u = wio_api_current();
    char me[64] = "";
    if (u != NULL) {
        me[0] = ' ';
        wio_universe_name(u, wio_universe_table(u)->me, me + 1, sizeof me - 1);
    }
    fprintf(stderr, "waitio%s: %s: %s: %s%s\n", me, call, wio_error_name(code), wio_last_error(),
            n == LINES_MAX ? " (further errors are not printed)" : "");
    wio_error_shown();
}

/* What the program has chosen goes first, then the environment. */
static int mode_now(void)
{
    int mode = atomic_load(&errors_chosen);
    if (mode != NOT_CHOSEN)
        return mode;
    if (wio_api_current() != NULL)
        return errors_mode;
    const char *text = wio_os_getenv("WAITIO_ERRORS"); /* no configuration was read yet */
    return text == NULL                  ? WIO_CFG_ERRORS_DEFAULT
           : strcmp(text, "return") == 0 ? WIO_CFG_ERRORS_RETURN
           : strcmp(text, "abort") == 0  ? WIO_CFG_ERRORS_ABORT
                                         : WIO_CFG_ERRORS_DEFAULT;
}

/* What no program foresees, and what most go on after with data that never came. */
static bool ends_program(int mode, int code)
{
    if (mode == WIO_CFG_ERRORS_ABORT)
        return code != WAITIO_ERR_FORK;
    return code == WAITIO_ERR_PEER || code == WAITIO_ERR_REVOKED || code == WAITIO_ERR_TRUNCATE ||
           code == WAITIO_ERR_PROTOCOL;
}

int wio_api_result(const char *call, int code)
{
    if (WIO_LIKELY(code == 0))
        return 0;
    int mode = mode_now();
    if (mode == WIO_CFG_ERRORS_RETURN || wio_errors_kept())
        return code;
    print_error(call, code);
    if (!ends_program(mode, code))
        return code;
    if (mode == WIO_CFG_ERRORS_DEFAULT)
        fprintf(stderr, "waitio: ending the program, as MPI does: a program that looks at codes "
                        "says waitio_set_errors(WAITIO_ERRORS_RETURN), or WAITIO_ERRORS=return\n");
    waitio_abort(1);
    return code;
}

int waitio_set_errors(int mode)
{
    static const int modes[] = {[WAITIO_ERRORS_DEFAULT] = WIO_CFG_ERRORS_DEFAULT,
                                [WAITIO_ERRORS_RETURN] = WIO_CFG_ERRORS_RETURN,
                                [WAITIO_ERRORS_ABORT] = WIO_CFG_ERRORS_ABORT};
    if (mode < 0 || mode >= (int)WIO_ARRAY_LEN(modes))
        return wio_api_result("waitio_set_errors",
                              wio_fail(WAITIO_ERR_ARG,
                                       "%d is none of WAITIO_ERRORS_DEFAULT, _RETURN and _ABORT",
                                       mode));
    atomic_store(&errors_chosen, modes[mode]);
    return 0;
}

int waitio_return_errors_here(int on)
{
    return wio_errors_keep(on != 0);
}

int waitio_init(int timeout)
{
    return wio_api_result("waitio_init", join(timeout, FIRST));
}

/* Without the gate: exit() may be called by a signal handler that interrupted who holds it. */
static int leave(enum parting why, double limit_s)
{
    int was = JOINED;
    if (!atomic_compare_exchange_strong(&phase, &was, LEFT))
        return wio_fail(WAITIO_ERR_STATE, "the universe was %s",
                        was == LEFT ? "left already" : "never joined");
    struct wio_universe *u = atomic_load(&the_universe);
    bool kept = false;
    int rc = why == TO_JOIN_AGAIN ? wio_universe_leave_within(u, limit_s, &kept)
                                  : wio_universe_leave(u, why == EXITING, &kept);
    if (why == EXITING)
        return rc;
    if (kept)
        atomic_store(&behind, u);
    atomic_store(&the_universe, NULL);
    return rc;
}

int waitio_finalize(void)
{
    int rc = atomic_load(&forked) ? forked_error() : leave(FINALLY, 0);
    return wio_api_result("waitio_finalize", rc);
}

/* ---- joining again ---- */

static int occupied(void)
{
    return wio_fail(WAITIO_ERR_BUSY,
                    "another thread waits in a WaitIO call: waitio_rejoin() ends the universe that "
                    "it waits in, so end that call first");
}

/* @return 0: nothing speaks against leaving for another universe */
static int may_rejoin(void)
{
    struct wio_universe *u = wio_api_current();
    if (atomic_load(&phase) == NOT_YET)
        return wio_fail(WAITIO_ERR_STATE,
                        "this process has not joined yet, so it cannot join again: waitio_init()");
    if (atomic_load(&phase) == LEFT && atomic_load(&the_universe) != NULL)
        return wio_fail(WAITIO_ERR_BUSY,
                        "another thread is in waitio_finalize(): join again when that has ended");
    if (before.by_mpi)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "messages go through the MPI of a job (WAITIO_COMM_TYPE=mpi or "
                        "WAITIO_INSIDE), whose processes cannot meet anew: run the blocks as jobs "
                        "of their own, with WAITIO_INSIDE=off");
    if (u != NULL && wio_universe_config(u)->file_resume)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "with WAITIO_FILE_RESUME=1 all programs are started again together; "
                        "waitio_rejoin() is for one that is started again alone");
    return u != NULL && wio_universe_occupied(u) ? occupied() : 0;
}

/* A thread may have begun to wait after we looked. */
static int clear_up(void)
{
    struct wio_universe *u = atomic_load(&behind);
    if (u != NULL && wio_universe_occupied(u))
        return occupied();
    if (u != NULL)
        wio_universe_destroy_kept(u);
    atomic_store(&behind, NULL);
    if (wio_api_upper.ended != NULL)
        wio_api_upper.ended();
    return 0;
}

/* Peers that do not answer (TIMEOUT) are why processes join again. */
static int leave_for_another(int timeout)
{
    if (wio_api_current() == NULL)
        return 0;
    if (wio_api_upper.ending != NULL)
        wio_api_upper.ending();
    int rc = leave(TO_JOIN_AGAIN, timeout);
    return rc == WAITIO_ERR_TIMEOUT ? 0 : rc;
}

static int rejoin(int timeout)
{
    if (atomic_load(&forked))
        return forked_error();
    if (atomic_exchange(&rejoining, 1))
        return wio_fail(WAITIO_ERR_BUSY, "another thread is in waitio_rejoin() already");
    int rc = may_rejoin();
    if (rc == 0)
        rc = leave_for_another(timeout);
    if (rc == 0)
        rc = clear_up();
    if (rc == 0)
        rc = join(timeout, AGAIN);
    atomic_store(&rejoining, 0);
    return rc;
}

int waitio_rejoin(int timeout)
{
    return wio_api_result("waitio_rejoin", rejoin(timeout));
}

bool wio_api_forget_idle(void)
{
    pthread_mutex_lock(&gate);
    bool between = atomic_load(&phase) == LEFT && atomic_load(&the_universe) == NULL;
    if (between)
        before.idle = NULL;
    pthread_mutex_unlock(&gate);
    return between;
}

int waitio_initialized(int *flag)
{
    if (flag == NULL)
        return wio_api_result("waitio_initialized", wio_fail(WAITIO_ERR_ARG, "flag is NULL"));
    *flag = wio_api_current() != NULL;
    return 0;
}

void waitio_abort(int code)
{
    struct wio_universe *u = wio_api_current();
    if (u != NULL) {
        fprintf(stderr, "waitio: this process calls waitio_abort(%d)\n", code);
        wio_universe_abort(u);
    }
    fflush(NULL);
    wio_os_exit_now(code);
}
