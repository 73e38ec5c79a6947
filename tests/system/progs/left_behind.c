/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * left_behind WAY: what happens to those whom somebody leaves behind.
 *   finalize  a thread waits while another one leaves the universe: the wait ends with an error
 *   fork      a child that never calls the library lives on when its parent is killed
 *   away      rank 1 has started a collective and computes: rank 2, which waits for it, learns
 *             of the death of rank 0 all the same
 */
#include <pthread.h>
#include <signal.h>

#include "common.h"
#include "waitio_mpi.h"

static waitio_group_t world;
static int me, size;

/* ---- finalize ---- */

static void *waits(void *how)
{
    int x;
    waitio_req_t r;
    int src = *(const char *)how == 'a'   ? WAITIO_ANY_SOURCE
              : *(const char *)how == 's' ? me
                                          : 1 - me;
    int rc = waitio_irecv(world, src, &x, sizeof x, 77, &r);

    if (rc == 0)
        rc = waitio_wait(&r);
    CHECK(rc == WAITIO_ERR_STATE || rc == WAITIO_ERR_PEER, "the wait gave %d: %s", rc,
          waitio_last_error());
    return NULL;
}

static void finalize(void)
{
    static const char *const hows[] = {"any", "self", "peer"};
    pthread_t t[3];

    OK(waitio_group_size(world, &size));
    for (int i = 0; i < 3 && me == 0; i++)
        pthread_create(&t[i], NULL, waits, (void *)(uintptr_t)hows[i]);
    usleep(300000);
    OK(waitio_finalize());
    for (int i = 0; i < 3 && me == 0; i++)
        pthread_join(t[i], NULL);
    printf("left\n");
}

/* ---- fork ---- */

static void forks(void)
{
    int x = 0;
    waitio_req_t r;

    OK(waitio_irecv(world, 1 - me, &x, sizeof x, 1, &r));
    waitio_req_t s;
    OK(waitio_isend(world, 1 - me, &me, sizeof me, 1, &s));
    OK(waitio_wait(&s));
    OK(waitio_wait(&r));
    if (me == 0) {
        if (fork() == 0) {
            sleep(20); /* never calls the library */
            _exit(0);
        }
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    OK(waitio_irecv(world, 0, &x, sizeof x, 2, &r));
    CHECK(waitio_wait(&r) == WAITIO_ERR_PEER, "the death was not told");
    printf("told\n");
    fflush(stdout);
    _exit(0);
}

/* ---- away ---- */

static void away(void)
{
    double x = 1, y = 0;
    WAITIO_MPI_Request q;
    int rc = 0;

    OK(WAITIO_MPI_Scan(&x, &y, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD));
    usleep(me == 0 ? 600000 : 100000);
    if (me == 0)
        kill(getpid(), SIGKILL);
    if (me == 1) {
        OK(WAITIO_MPI_Iscan(&x, &y, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD,
                            &q));
        sleep(20);
        _exit(0);
    }
    rc = WAITIO_MPI_Iscan(&x, &y, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, WAITIO_MPI_COMM_WORLD, &q);
    if (rc == 0)
        rc = WAITIO_MPI_Wait(&q, WAITIO_MPI_STATUS_IGNORE);
    CHECK(rc == WAITIO_ERR_PEER || rc == WAITIO_ERR_REVOKED, "the scan gave %d", rc);
    printf("told\n");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2, "left_behind WAY");
    OK(waitio_set_errors(WAITIO_ERRORS_RETURN));
    OK(waitio_init(60));
    OK(WAITIO_MPI_Comm_set_errhandler(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_ERRORS_RETURN));
    world = WAITIO_MPI_COMM_WORLD;
    OK(waitio_group_rank(world, &me));
    if (strcmp(argv[1], "finalize") == 0)
        finalize();
    else if (strcmp(argv[1], "fork") == 0)
        forks();
    else
        away();
    return 0;
}
