/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * left_behind WAY: what happens to those whom somebody leaves behind.
 *   finalize  threads wait while another one leaves the universe: each wait ends with an error
 *   fork, vfork, spawn, system, popen
 *             a child that never calls the library lives on when its parent is killed
 *   away      rank 1 has started a collective and computes: rank 2, which waits for it, learns
 *             of the death of rank 0 all the same
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>

#include "common.h"
#include "waitio_mpi.h"

static waitio_group_t world;
static int me, size;

/* ---- finalize ---- */

enum how { ANY, SELF, PEER, PROBE, BARRIER, REDUCTION, STARTED, HOWS };
static waitio_group_t
    own[HOWS]; /* collectives of several threads need communicators of their own */

static int receive_from(int src)
{
    int x;
    waitio_req_t r;
    int rc = waitio_irecv(world, src, &x, sizeof x, 77, &r);

    return rc == 0 ? waitio_wait(&r) : rc;
}

static int wait_in(enum how how)
{
    static double x[1000], y[1000];
    waitio_status_t status;
    WAITIO_MPI_Request q;
    int rc;

    switch (how) {
    case ANY:
        return receive_from(WAITIO_ANY_SOURCE);
    case SELF:
        return receive_from(me);
    case PEER:
        return receive_from(1 - me);
    case PROBE:
        return waitio_probe(world, 1 - me, 78, &status);
    case BARRIER:
        return WAITIO_MPI_Barrier(own[how]);
    case REDUCTION:
        return WAITIO_MPI_Allreduce(x, y, 1000, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, own[how]);
    default:
        rc = WAITIO_MPI_Iallreduce(x, y, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, own[how], &q);
        return rc == 0 ? WAITIO_MPI_Wait(&q, WAITIO_MPI_STATUS_IGNORE) : rc;
    }
}

static void *waits(void *how)
{
    int rc = wait_in((enum how)(intptr_t)how);

    CHECK(rc == WAITIO_ERR_STATE || rc == WAITIO_ERR_PEER || rc == WAITIO_ERR_REVOKED,
          "wait %d gave %d: %s", (int)(intptr_t)how, rc, waitio_last_error());
    return NULL;
}

static void finalize(void)
{
    pthread_t t[HOWS];

    OK(waitio_group_size(world, &size));
    for (int i = 0; i < HOWS; i++)
        OK(WAITIO_MPI_Comm_dup(world, &own[i]));
    for (intptr_t i = 0; i < HOWS && me == 0; i++)
        pthread_create(&t[i], NULL, waits, (void *)i);
    usleep(300000);
    OK(waitio_finalize());
    for (int i = 0; i < HOWS && me == 0; i++)
        pthread_join(t[i], NULL);
    printf("left\n");
}

/* ---- children ---- */

/* What a child that runs another program has from this process: no descriptor but 0, 1, 2. */
static void look_into(pid_t child)
{
    char path[64], to[256];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)child);
    folder = opendir(path);
    CHECK(folder != NULL, "no folder %s", path);
    while ((entry = readdir(folder)) != NULL) {
        ssize_t n = readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1);
        CHECK(n < 0 || atoi(entry->d_name) <= 2, "the child has descriptor %s: %.*s", entry->d_name,
              (int)n, to);
    }
    closedir(folder);
}

static void have_child(const char *how)
{
    /* Without our output: the test reads that to its end. */
    static char line[] = "exec sleep 20 >&- 2>&-", back[] = "exec sleep 20 >&- 2>&- &";
    static char *const words[] = {"sleep", "20", NULL};
    extern char **environ;
    pid_t child = -1;

    if (strcmp(how, "fork") == 0 && fork() == 0) {
        close(1);
        close(2);
        sleep(20); /* never calls the library */
        _exit(0);
    }
    if (strcmp(how, "vfork") == 0) {
        child = vfork();
        if (child == 0) {
            close(1);
            close(2);
            execvp(words[0], words);
            _exit(127);
        }
    }
    if (strcmp(how, "spawn") == 0) {
        posix_spawn_file_actions_t silent;
        posix_spawn_file_actions_init(&silent);
        posix_spawn_file_actions_addclose(&silent, 1);
        posix_spawn_file_actions_addclose(&silent, 2);
        CHECK(posix_spawnp(&child, words[0], &silent, NULL, words, environ) == 0, "posix_spawn");
        posix_spawn_file_actions_destroy(&silent);
    }
    if (strcmp(how, "system") == 0)
        CHECK(system(back) == 0, "system");
    if (strcmp(how, "popen") == 0)
        CHECK(popen(line, "r") != NULL, "popen");
    if (child > 0)
        look_into(child);
}

static void forks(const char *how)
{
    int x = 0;
    waitio_req_t r;

    OK(waitio_irecv(world, 1 - me, &x, sizeof x, 1, &r));
    waitio_req_t s;
    OK(waitio_isend(world, 1 - me, &me, sizeof me, 1, &s));
    OK(waitio_wait(&s));
    OK(waitio_wait(&r));
    if (me == 0) {
        have_child(how);
        usleep(200000);
    }
    /* The child disturbs nobody. */
    OK(waitio_isend(world, 1 - me, &me, sizeof me, 3, &s));
    OK(waitio_irecv(world, 1 - me, &x, sizeof x, 3, &r));
    OK(waitio_wait(&s));
    OK(waitio_wait(&r));
    if (me == 0)
        kill(getpid(), SIGKILL);
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
    else if (strcmp(argv[1], "away") == 0)
        away();
    else
        forks(argv[1]);
    return 0;
}
