/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error of one process ends all.
 *
 * Every process has a receive from anybody on a communicator of its own, the alarm. Whoever waits
 * for a message waits for the alarm, too. Who finds an error sends its text to all, and waits until
 * all have answered (ANSWER), or 2 s: a process that computes hears the alarm in its next call.
 * Who hears one writes it, answers, and waits for the end of who raised it (3 s at most), so that
 * no launcher kills a job before its processes have said why. The same receive hears questions of
 * those who wait long (circle.c); a process that computes hears none, and owes no answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coupler/cpl.h"

enum { TEXT = 1400, ALARM = 1, ANSWER = 2, NEVER = 3 };
static const double HEAR = 2, OUTLIVE = 3, LATE_ALARM = 0.5;
/* Whoever waits asks after 1 s whether it is for ever, then after twice the time, up to 60 s. */
static const double FIRST_QUESTION = 1, RAREST_QUESTION = 60;
/* Most messages come at once: until then no alarm is looked for, as a wait for one message polls
 * its link alone. */
static const double BRIEF = 1e-4;
/* A launcher that ends a job throws away what its processes wrote just before. */
static const struct timespec GRACE = {0, 100000000};

static void (*at_end)(int code);

void waitio_cpl_at_end(void (*end)(int code))
{
    at_end = end;
}

const char *waitio_cpl_last_error(void)
{
    return wio_cpl_why();
}

int wio_cpl_failed(void)
{
    return wio_cpl_fail(WAITIO_ERR_SYSTEM, "%s", waitio_last_error());
}

/* WaitIO's own receive: it stays when a process dies, MPI's would end. */
static int post(struct waitio_cpl *cpl)
{
    return waitio_irecv(cpl->alarms, WAITIO_ANY_SOURCE, cpl->alarm_text, TEXT, ALARM, &cpl->alarm);
}

int wio_cpl_alarm_open(struct waitio_cpl *cpl)
{
    cpl->alarm_from = -1;
    cpl->alarm = WAITIO_MPI_REQUEST_NULL;
    cpl->alarm_text = wio_cpl_new(TEXT, 1);
    if (cpl->alarm_text == NULL)
        return WAITIO_ERR_NOMEM;
    if (WAITIO_MPI_Comm_dup(cpl->all, &cpl->alarms) != 0 || (cpl->size > 1 && post(cpl) != 0))
        return wio_cpl_failed();
    return 0;
}

void wio_cpl_alarm_close(struct waitio_cpl *cpl)
{
    WAITIO_MPI_Status status;

    if (cpl->alarm_text != NULL && cpl->size > 1 && cpl->alarm_from < 0 && !cpl->deaf) {
        (void)WAITIO_MPI_Cancel(&cpl->alarm);
        (void)WAITIO_MPI_Wait(&cpl->alarm, &status);
    }
    if (cpl->alarms != WAITIO_MPI_COMM_NULL)
        (void)WAITIO_MPI_Comm_free(&cpl->alarms);
    free(cpl->alarm_text);
    cpl->alarm_text = NULL;
}

static void answer(struct waitio_cpl *cpl, int to);

/* A component that may come back has died, or was told of. */
static bool of_return(struct waitio_cpl *cpl, int rc, int source)
{
    if (!cpl->back.any || (rc == 0 && wio_cpl_back_is_final(cpl->alarm_text)))
        return false;
    if (rc != 0) {
        cpl->deaf = wio_cpl_back_alone(cpl); /* until all meet anew */
        return cpl->deaf;
    }
    if (!wio_cpl_back_hears(cpl, cpl->alarm_text, source) && !wio_cpl_back_lost(cpl, source))
        return false;
    if (wio_cpl_may_return(cpl, source))
        answer(cpl, source);
    return true;
}

/* The alarm's receive is complete: with a text, or because nobody else lives.
 * @return 0 after a question, or when it comes from a component without which the others go on,
 * with the receive posted again; else the error */
static int heard(struct waitio_cpl *cpl, int rc, int source)
{
    cpl->alarm_text[TEXT - 1] = '\0';
    if (rc == 0 && wio_cpl_circle_is_question(cpl->alarm_text)) {
        rc = wio_cpl_circle_hear(cpl, cpl->alarm_text);
        return post(cpl) != 0 ? wio_cpl_failed() : rc;
    }
    if (of_return(cpl, rc, source))
        return !cpl->deaf && post(cpl) != 0 ? wio_cpl_failed() : 0;
    if (rc == 0 && wio_cpl_may_lose(cpl, source)) {
        answer(cpl, source);
        wio_cpl_lose(cpl, cpl->component_of[source], cpl->alarm_text);
        return post(cpl) != 0 ? wio_cpl_failed() : 0;
    }
    if (rc != 0 && wio_cpl_lose_all(cpl)) {
        cpl->deaf = true; /* nobody is left who could raise an alarm */
        return 0;
    }
    if (rc != 0)
        return wio_cpl_fail(WAITIO_ERR_PEER,
                            "all other processes have died or left while component '%s' went on",
                            cpl->components != NULL ? cpl->components[cpl->mine].name : "?");
    cpl->alarm_from = source;
    return wio_cpl_fail(WAITIO_ERR_STATE, "%s", cpl->alarm_text);
}

int wio_cpl_listen(struct waitio_cpl *cpl)
{
    int flag = cpl->size > 1, rc = 0;

    while (rc == 0 && flag && !cpl->deaf) {
        WAITIO_MPI_Status status = {.MPI_SOURCE = -1};

        rc = WAITIO_MPI_Test(&cpl->alarm, &flag, &status);
        if (flag || rc != 0)
            rc = heard(cpl, rc, status.MPI_SOURCE);
    }
    return rc;
}

static bool hears(const struct waitio_cpl *cpl)
{
    return cpl->size > 1 && !cpl->deaf;
}

/* A peer's death is often the end of somebody who has raised an alarm: the alarm says more. */
int wio_cpl_broken(struct waitio_cpl *cpl, int rc, int peer)
{
    char why[600];
    waitio_status_t status;
    int index = 0, flag = 0, late;

    wio_cpl_text(why, sizeof why, "%s", waitio_last_error());
    if (wio_cpl_may_lose(cpl, peer)) {
        wio_cpl_lose(cpl, cpl->component_of[peer], why);
        return 0;
    }
    late = wio_cpl_back_blame(cpl, peer >= 0 ? peer : wio_cpl_dead_in(why));
    if (late != 0)
        return late;
    flag = hears(cpl) && (rc == WAITIO_ERR_PEER || rc == WAITIO_ERR_REVOKED);
    while (flag && cpl->back.dead < 0) { /* until the alarm, or what is none */
        late = waitio_mpi_waitany_for(1, &cpl->alarm, LATE_ALARM, &index, &flag, &status);

        if (late != 0 || !flag)
            break;
        late = heard(cpl, 0, status.source);
        if (late != 0)
            return late;
    }
    if (cpl->back.dead >= 0 && !cpl->back.busy)
        return WIO_CPL_AGAIN; /* the peer has left to meet all anew */
    if (rc == WAITIO_ERR_PEER && peer >= 0)
        return wio_cpl_fail(rc, "%s has died or left while component '%s' waited for it (%s)",
                            wio_cpl_who(cpl, peer), cpl->components[cpl->mine].name, why);
    return wio_cpl_fail(rc, "%s", why);
}

/* The others go on without its peer: whatever has become of the message, nobody waits for it. */
static bool given_up(const struct waitio_cpl *cpl, const struct wio_cpl_op *op)
{
    return op->peer >= 0 && cpl->component_of != NULL &&
           cpl->components[cpl->component_of[op->peer]].gone;
}

static int interrupted(struct waitio_cpl *cpl, const struct wio_cpl_op *op)
{
    return wio_cpl_fail(WAITIO_ERR_CANCELLED, "component '%s' was interrupted while it waited%s%s",
                        cpl->components[cpl->mine].name, op->peer >= 0 ? " for " : "",
                        op->peer >= 0 ? wio_cpl_who(cpl, op->peer) : "");
}

bool wio_cpl_is_over(const struct wio_cpl_op *op)
{
    static const WAITIO_MPI_Request none;

    return memcmp(&op->req, &none, sizeof none) == 0;
}

/* A component has died and may come back. Messages of steps are begun anew when all have met. What
 * processes of one component do together, and what was sent, ends by itself. All else is broken
 * off: who is asked for it may wait for this process. */
static int meet_anew(struct waitio_cpl *cpl, struct wio_cpl_op *op, bool broken)
{
    bool inside = op->peer < 0 ? op->tag == 0 : cpl->component_of[op->peer] == cpl->mine;

    if (cpl->back.dead < 0 || cpl->back.busy)
        return broken ? WIO_CPL_AGAIN : 0;
    if (op->bundle != NULL) {
        if (broken) {
            op->req = WAITIO_MPI_REQUEST_NULL;
            wio_cpl_past_lose(op);
        }
        return wio_cpl_come_back(cpl);
    }
    return broken || !(inside || (op->sends && op->tag >= WIO_CPL_TAG_BUNDLE)) ? WIO_CPL_AGAIN : 0;
}

/* It has ended, or somebody has died. @return 0: @p over says whether the wait is */
static int look_at(struct waitio_cpl *cpl, struct wio_cpl_op *op, int rc, bool flag, bool *over)
{
    if (!flag && rc == 0)
        return 0;
    rc = rc != 0 ? wio_cpl_broken(cpl, rc, op->peer) : 0;
    *over = rc != WIO_CPL_AGAIN;
    if (!*over) {
        rc = meet_anew(cpl, op, true);
        *over = rc != 0 || wio_cpl_is_over(op);
    }
    return rc;
}

/* Somebody has died, as this process has heard. @return 0: @p over says whether the wait is */
static int mind(struct waitio_cpl *cpl, struct wio_cpl_op *op, bool *over)
{
    int rc;

    if (cpl->back.dead < 0)
        return 0;
    rc = meet_anew(cpl, op, false);
    *over = wio_cpl_is_over(op);
    return rc;
}

/* The alarm came first. */
static int hear(struct waitio_cpl *cpl, struct wio_cpl_op *op, int rc, int source, bool *over)
{
    rc = heard(cpl, rc, source);
    return rc == 0 ? mind(cpl, op, over) : rc;
}

static int wait_one(struct waitio_cpl *cpl, struct wio_cpl_op *op)
{
    double patience = FIRST_QUESTION;
    bool brief = true, over = false;
    int rc = mind(cpl, op, &over);

    cpl->waiting = op;
    cpl->waits++;
    while (rc == 0 && !over && !given_up(cpl, op)) {
        WAITIO_MPI_Request two[2] = {op->req, cpl->alarm};
        int index = 0, flag = 0, source = -1, n = !brief && hears(cpl) ? 2 : 1;

        rc = wio_cpl_any(n, two, brief ? BRIEF : patience, &index, &flag, &source);
        op->req = two[0];
        cpl->alarm = two[1];
        if (rc == WAITIO_ERR_CANCELLED && index < 0)
            rc = interrupted(cpl, op);
        else if (flag && index == 1)
            rc = hear(cpl, op, rc, source, &over);
        else if (flag || rc != 0)
            rc = look_at(cpl, op, rc, flag != 0, &over);
        else if (brief)
            brief = false;
        else {
            wio_cpl_circle_ask(cpl);
            patience = patience < RAREST_QUESTION ? patience * 2 : patience;
        }
    }
    cpl->waiting = NULL;
    return rc;
}

int wio_cpl_wait(struct waitio_cpl *cpl, struct wio_cpl_op *ops, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        double since = wio_cpl_sight_now(cpl);

        rc = wait_one(cpl, &ops[i]);
        wio_cpl_sight_waited(cpl, ops[i].peer, since);
    }
    return rc;
}

/* ---- raising ------------------------------------------------------------------------------- */

bool wio_cpl_alarm_send(struct waitio_cpl *cpl, int to, const char *text, size_t bytes)
{
    return wio_cpl_letter(cpl, cpl->alarms, to, ALARM, text, bytes) == 0;
}

static void answer(struct waitio_cpl *cpl, int to)
{
    (void)wio_cpl_letter(cpl, cpl->alarms, to, ANSWER, "", 1);
}

static double left(double since, double limit)
{
    double rest = since + limit - WAITIO_MPI_Wtime();

    return rest > 0 ? rest : 0;
}

/* Wait for an answer or another alarm, which is as good. @return false: the time is over */
static bool one_answer(struct waitio_cpl *cpl, WAITIO_MPI_Request *answers, double seconds)
{
    WAITIO_MPI_Request two[2] = {*answers, cpl->alarm};
    waitio_status_t status;
    int index = 0, flag = 0, rc = waitio_mpi_waitany_for(2, two, seconds, &index, &flag, &status);

    *answers = two[0];
    cpl->alarm = two[1];
    if (flag && index == 1 && rc == 0) {
        if (!wio_cpl_circle_is_question(cpl->alarm_text))
            answer(cpl, status.source);
        rc = post(cpl);
    }
    return flag && rc == 0;
}

void wio_cpl_raise(struct waitio_cpl *cpl)
{
    static char nothing; /* its receive may outlive this call */
    char text[TEXT] = "";
    double since = WAITIO_MPI_Wtime();
    int asked = 0, answered = 0;

    if (cpl->size < 2 || cpl->alarm_text == NULL || cpl->deaf)
        return;
    wio_cpl_text(text, sizeof text, "%s%s: %s", wio_cpl_back_final(cpl), wio_cpl_who(cpl, cpl->me),
                 wio_cpl_why());
    for (int to = 0; to < cpl->size; to++)
        if (to != cpl->me)
            asked += wio_cpl_alarm_send(cpl, to, text, TEXT);
    while (answered < asked) {
        WAITIO_MPI_Request answers;

        if (waitio_irecv(cpl->alarms, WAITIO_ANY_SOURCE, &nothing, 1, ANSWER, &answers) != 0 ||
            !one_answer(cpl, &answers, left(since, HEAR)))
            break;
        answered++;
    }
    (void)nanosleep(&GRACE, NULL);
}

/* Until who raised the alarm is gone, answering further alarms. */
static void outlive(struct waitio_cpl *cpl)
{
    static char nothing; /* its receive may outlive this call */
    WAITIO_MPI_Request gone;
    double since = WAITIO_MPI_Wtime();

    answer(cpl, cpl->alarm_from);
    if (post(cpl) != 0 || WAITIO_MPI_Irecv(&nothing, 1, WAITIO_MPI_CHAR, cpl->alarm_from, NEVER,
                                           cpl->alarms, &gone) != 0)
        return;
    while (left(since, OUTLIVE) > 0 && one_answer(cpl, &gone, left(since, OUTLIVE)))
        continue;
}

/* ---- calls --------------------------------------------------------------------------------- */

static bool returns(int handler)
{
    return handler == WAITIO_MPI_ERRORS_RETURN;
}

int wio_cpl_enter(struct waitio_cpl *cpl)
{
    int rc;

    if (cpl == NULL)
        return wio_cpl_fail(WAITIO_ERR_STATE, "the coupler is not open");
    if (cpl->phase == WIO_CPL_FAILED)
        return WAITIO_ERR_STATE; /* the first error's text stays */
    wio_cpl_sight_enter(cpl);
    (void)WAITIO_MPI_Comm_get_errhandler(cpl->all, &cpl->handler);
    (void)WAITIO_MPI_Comm_set_errhandler(cpl->all, WAITIO_MPI_ERRORS_RETURN);
    rc = cpl->alarm_text != NULL ? wio_cpl_listen(cpl) : 0;
    if (rc != 0 || cpl->back.dead < 0 || !cpl->back.any)
        return rc;
    return cpl->phase == WIO_CPL_RUNS ? wio_cpl_come_back(cpl) : WIO_CPL_AGAIN;
}

static void print(const struct waitio_cpl *cpl)
{
    const char *name = cpl->components != NULL ? cpl->components[cpl->mine].name : "?";

    (void)fprintf(stderr, "waitio coupler: component '%s', process %d: %s\n", name, cpl->rank,
                  wio_cpl_why());
    (void)fflush(NULL);
}

int wio_cpl_leave(struct waitio_cpl *cpl, int rc)
{
    char why[TEXT];

    if (rc == WIO_CPL_AGAIN)
        rc = wio_cpl_back_cannot(cpl);
    if (rc < 0 && cpl != NULL && cpl->phase != WIO_CPL_FAILED) {
        bool said = cpl->alarm_from >= 0;

        cpl->phase = WIO_CPL_FAILED;
        wio_cpl_timeline_write(cpl);
        if (!said)
            wio_cpl_name_dead(cpl, rc);
        wio_cpl_text(why, sizeof why, "%s", wio_cpl_why());
        if (cpl->logs.calls != NULL)
            wio_cpl_log(cpl, "error: %s", why);
        if (!returns(cpl->handler) && (!said || cpl->rank == 0))
            print(cpl);
        if (said)
            outlive(cpl);
        else
            wio_cpl_raise(cpl);
        (void)wio_cpl_fail(rc, "%s", why);
        if (!returns(cpl->handler))
            wio_cpl_end(1);
    }
    if (cpl != NULL) {
        (void)WAITIO_MPI_Comm_set_errhandler(cpl->all, cpl->handler);
        wio_cpl_sight_leave(cpl);
    }
    return rc;
}

void wio_cpl_end(int code)
{
    (void)fflush(NULL);
    if (at_end != NULL)
        at_end(code);
    if (code == 0)
        exit(0);
    waitio_abort(code);
}

void wio_cpl_stop(struct waitio_cpl *cpl, int place, const char *where)
{
    if (cpl->conf.stop_step != place)
        return;
    (void)fprintf(stderr, "waitio coupler: component '%s', process %d stops %s (stop_step = %d)\n",
                  cpl->components != NULL ? cpl->components[cpl->mine].name : "?", cpl->rank, where,
                  place);
    wio_cpl_end(0);
}
