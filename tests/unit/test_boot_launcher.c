/* SPDX-License-Identifier: BSD-3-Clause */
/* Who am I: the launcher table. Values of Open MPI 4.1 and MPICH 4.0 are as seen; the others are
 * simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "boot/boot.h"

static const char *const *env_now;

static const char *fake_getenv(const char *name)
{
    for (const char *const *e = env_now; *e != NULL; e += 2)
        if (strcmp(e[0], name) == 0)
            return e[1];
    return NULL;
}

static int ask(const char *const *env, struct wio_whoami *me)
{
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    env_now = env;
    return wio_whoami(me, &cfg, fake_getenv);
}

static void expect(const char *const *env, const char *launcher, int rank, int nprocs)
{
    struct wio_whoami me;
    int rc = ask(env, &me);
    if (rc != 0)
        print_error("%s\n", wio_last_error());
    assert_int_equal(rc, 0);
    assert_string_equal(me.launcher, launcher);
    assert_int_equal(me.rank, rank);
    assert_int_equal(me.nprocs, nprocs);
}

static void expect_refused(const char *const *env, const char *words)
{
    struct wio_whoami me;
    assert_int_equal(ask(env, &me), WAITIO_ERR_CONFIG);
    if (strstr(wio_last_error(), words) == NULL)
        print_error("'%s' is not in: %s\n", words, wio_last_error());
    assert_non_null(strstr(wio_last_error(), words));
}

#define ENV(...)                                                                                   \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void launchers(void **state)
{
    (void)state;
    expect(ENV(NULL), "alone", 0, 1);
    expect(ENV("PMIX_RANK", "2", "OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4"), "PMIx",
           2, 4); /* Open MPI */
    expect(ENV("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4"), "Open MPI", 2, 4);
    expect(ENV("PMI_RANK", "1", "PMI_SIZE", "3", "MPI_LOCALRANKID", "1"), "PMI", 1,
           3); /* MPICH, Intel */
    expect(ENV("MV2_COMM_WORLD_RANK", "1", "MV2_COMM_WORLD_SIZE", "3"), "MVAPICH", 1, 3);
    expect(ENV("PMI_RANK", "1", "PMI_SIZE", "3", "MV2_COMM_WORLD_RANK", "1", "MV2_COMM_WORLD_SIZE",
               "3"),
           "PMI", 1, 3);
    expect(ENV("PMIX_RANK", "5", "PJM_MPI_PROC", "48"), "Fujitsu", 5, 48);
    expect(ENV("PMIX_RANK", "5", "SLURM_PROCID", "5", "SLURM_NTASKS", "6", "SLURM_STEP_ID", "0"),
           "PMIx", 5, 6);
}

static void slurm_only_in_a_real_step(void **state)
{
    (void)state;
    expect(ENV("SLURM_PROCID", "1", "SLURM_NTASKS", "8", "SLURM_STEP_ID", "0"), "Slurm", 1, 8);
    expect(ENV("SLURM_PROCID", "1", "SLURM_NTASKS", "8", "SLURM_STEP_NUM_TASKS", "2",
               "SLURM_STEP_ID", "3"),
           "Slurm", 1, 2);
    expect(ENV("SLURM_PROCID", "0", "SLURM_NTASKS", "8"), "alone", 0,
           1); /* a batch script's child */
    expect(ENV("SLURM_PROCID", "0", "SLURM_NTASKS", "8", "SLURM_STEP_ID", "4294967291"), "alone", 0,
           1);
    expect(ENV("SLURM_PROCID", "0", "SLURM_NTASKS", "8", "SLURM_STEP_ID", "batch"), "alone", 0, 1);
    /* mpiexec of MPICH inside a step of one task per node */
    expect(ENV("PMI_RANK", "5", "PMI_SIZE", "8", "SLURM_PROCID", "1", "SLURM_NTASKS", "2",
               "SLURM_STEP_ID", "0"),
           "PMI", 5, 8);
}

static void halves_and_nonsense(void **state)
{
    (void)state;
    expect_refused(ENV("OMPI_COMM_WORLD_RANK", "2"),
                   "OMPI_COMM_WORLD_RANK is set but OMPI_COMM_WORLD_SIZE is not");
    expect_refused(ENV("PMI_SIZE", "2"), "PMI_SIZE is set but PMI_RANK is not");
    expect_refused(ENV("PMIX_RANK", "2"), "PMIX_RANK='2' is set, but no variable tells how many");
    expect_refused(ENV("PMI_RANK", "x1", "PMI_SIZE", "3"), "PMI_RANK='x1'");
    expect_refused(ENV("PMI_RANK", "3", "PMI_SIZE", "3"),
                   "PMI_RANK=3 must be less than PMI_SIZE=3");
    expect_refused(ENV("PMI_RANK", "0", "PMI_SIZE", "99999999999"), "PMI_SIZE='99999999999'");
}

/* One mpiexec inside another: the inner one counts where it can be told, otherwise nobody guesses.
 */
static void nested_launchers(void **state)
{
    (void)state;
    int ends[2];
    char fd[16];
    assert_int_equal(pipe(ends), 0);
    snprintf(fd, sizeof fd, "%d", ends[0]);
    const char *const *both = ENV("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1",
                                  "PMIX_RANK", "0", "PMI_RANK", "1", "PMI_SIZE", "2", "PMI_FD", fd);
    expect(both, "PMI", 1, 2);
    close(ends[0]);
    close(ends[1]);
    expect(both, "PMIx", 0, 1); /* the descriptor is gone: those of MPICH came down from outside */
    expect_refused(ENV("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", "PMI_RANK", "1",
                       "PMI_SIZE", "2"),
                   "two launchers disagree");
}

static void own_variables_win(void **state)
{
    (void)state;
    struct wio_config cfg;
    struct wio_whoami me;
    wio_config_defaults(&cfg);
    env_now = ENV("PMI_RANK", "1", "PMI_SIZE", "3");
    cfg.rank = 0;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_RANK=0 is set but WAITIO_NPROCS is not"));
    cfg.nprocs = 1;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), 0);
    assert_true(me.rank == 0 && me.nprocs == 1 && me.npb == 1 && me.pbid == 0);
    assert_string_equal(me.launcher, "WAITIO");
    cfg.rank = 1;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
    cfg.rank = 0;
    cfg.pbid = 2;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_NPB is not"));
    cfg.npb = 2;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "WAITIO_PBID=2 must be less than WAITIO_NPB=2"));
    cfg.pbid = -1;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
    cfg.pbid = 1;
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), 0);
    memset(cfg.job_id, 'x', 100);
    assert_int_equal(wio_whoami(&me, &cfg, fake_getenv), WAITIO_ERR_CONFIG);
}

static void jobs_alone_are_apart(void **state)
{
    (void)state;
    struct wio_whoami a, b, c;
#define OF(space) ENV("PMIX_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "PMIX_NAMESPACE", space)
    assert_int_equal(ask(OF("1270480897"), &a), 0);
    assert_int_equal(ask(OF("1270480897"), &b), 0);
    assert_int_equal(ask(OF("1270480961"), &c), 0);
    assert_true(a.solo && a.port >= 10000 && a.port < 32000);
    assert_true(a.port == b.port && strcmp(a.job_id, b.job_id) == 0);
    assert_true(strcmp(a.job_id, c.job_id) != 0 && a.port != c.port);
    /* Whoever says how to join, or cannot tell his job, joins as ever. */
    assert_int_equal(ask(ENV("PMIX_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "PMIX_NAMESPACE", "1",
                             "WAITIO_MASTER_PORT", "7100"),
                         &a),
                     0);
    assert_int_equal(ask(ENV("PMI_RANK", "1", "PMI_SIZE", "3"), &b), 0);
    assert_true(!a.solo && !b.solo);
    assert_string_equal(b.job_id, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers),           cmocka_unit_test(slurm_only_in_a_real_step),
        cmocka_unit_test(halves_and_nonsense), cmocka_unit_test(nested_launchers),
        cmocka_unit_test(own_variables_win),   cmocka_unit_test(jobs_alone_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
