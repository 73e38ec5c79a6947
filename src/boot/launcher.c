/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file launcher.c
 * Block of this process from WAITIO_PBID and WAITIO_NPB, rank and size in it from the launcher's
 * variables.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "os/os.h"

/** Conditions for using a row, or a size variable that other launchers set, too.
 */
enum guard {
    ALWAYS,
    REAL_STEP, /* a Slurm step started by srun: batch scripts and their children see SLURM_PROCID as
                  well */
    PMI_ALIVE, /* PMI_FD, where set, is an open descriptor: a stale one was inherited from an outer
                  mpiexec */
};

struct size_var {
    const char *name;
    enum guard guard;
};

/** One launcher. Rows are tried from the top; the first that applies decides. */
struct row {
    const char *launcher;
    const char *rank;
    struct size_var size[4]; /* first that is set counts */
    enum guard guard;
    bool
        whole; /* rank without any size is an error, and so is disagreement with another such row */
};

/* Checked with the real Open MPI 4.1 and MPICH 4.0; the other rows are simulated in tests. PMIx
 * itself has no variable for the size, so its row uses those of others. */
static const struct row rows[] = {
    {"PMIx",
     "PMIX_RANK",
     {{"OMPI_COMM_WORLD_SIZE", ALWAYS},
      {"SLURM_STEP_NUM_TASKS", REAL_STEP},
      {"SLURM_NTASKS", REAL_STEP}},
     ALWAYS,
     false},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {{"OMPI_COMM_WORLD_SIZE", ALWAYS}}, ALWAYS, true},
    {"PMI", "PMI_RANK", {{"PMI_SIZE", ALWAYS}}, PMI_ALIVE, true},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", {{"MV2_COMM_WORLD_SIZE", ALWAYS}}, ALWAYS, true},
    {"Fujitsu",
     "PMIX_RANK",
     {{"OMPI_MCA_orte_ess_num_procs", ALWAYS}, {"PJM_MPI_PROC", ALWAYS}},
     ALWAYS,
     false},
    {"Slurm",
     "SLURM_PROCID",
     {{"SLURM_STEP_NUM_TASKS", ALWAYS}, {"SLURM_NTASKS", ALWAYS}},
     REAL_STEP,
     false},
};

/** Steps that are no program started by srun: pending, extern, batch and interactive ones have
 * numbers up here. */
#define SLURM_SPECIAL_STEPS 4294967200LL

static const char *get(wio_getenv_fn getenv_fn, const char *name)
{
    const char *v = getenv_fn(name);
    return v != NULL && v[0] != '\0' ? v : NULL;
}

static bool to_number(const char *text, long long *v)
{
    char *end = NULL;
    errno = 0;
    *v = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *v >= 0;
}

static bool real_step(wio_getenv_fn getenv_fn)
{
    const char *id = get(getenv_fn, "SLURM_STEP_ID");
    if (id == NULL)
        id = get(getenv_fn, "SLURM_STEPID");
    long long v;
    return id != NULL && to_number(id, &v) && v < SLURM_SPECIAL_STEPS;
}

static bool pmi_alive(wio_getenv_fn getenv_fn)
{
    const char *text = get(getenv_fn, "PMI_FD");
    long long fd;
    struct wio_os_stat st;
    if (text == NULL)
        return true;
    return to_number(text, &fd) && fd <= INT_MAX && wio_os_fstat((int)fd, &st) == 0;
}

static bool holds(enum guard g, wio_getenv_fn getenv_fn)
{
    return g == REAL_STEP ? real_step(getenv_fn) : g == PMI_ALIVE ? pmi_alive(getenv_fn) : true;
}

static int number(const char *name, const char *text, int min, int *out)
{
    long long v;
    if (!to_number(text, &v) || v < min || v > INT_MAX)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "%s='%s' set by the launcher is not a number from %d to %d", name, text,
                        min, INT_MAX);
    *out = (int)v;
    return 0;
}

/* The first size variable of a row that is set and valid. @return its text or NULL */
static const char *find_size(const struct row *r, wio_getenv_fn getenv_fn, const char **name)
{
    *name = r->size[0].name;
    for (size_t i = 0; i < WIO_ARRAY_LEN(r->size) && r->size[i].name != NULL; i++) {
        const char *text =
            holds(r->size[i].guard, getenv_fn) ? get(getenv_fn, r->size[i].name) : NULL;
        if (text == NULL)
            continue;
        *name = r->size[i].name;
        return text;
    }
    return NULL;
}

/** @return 1 applied, 0 does not apply, < 0 error */
static int ask_row(const struct row *r, wio_getenv_fn getenv_fn, int *rank, int *size)
{
    const char *size_name, *rank_text = get(getenv_fn, r->rank);
    const char *size_text = find_size(r, getenv_fn, &size_name);
    if (!holds(r->guard, getenv_fn))
        return 0;
    if (rank_text == NULL || size_text == NULL) {
        if (r->whole && (rank_text != NULL || size_text != NULL))
            return wio_fail(
                WAITIO_ERR_CONFIG, "%s is set but %s is not: half of what %s gives its processes",
                rank_text ? r->rank : size_name, rank_text ? size_name : r->rank, r->launcher);
        return 0;
    }
    int rc = number(r->rank, rank_text, 0, rank);
    if (rc == 0)
        rc = number(size_name, size_text, 1, size);
    if (rc == 0 && *rank >= *size)
        rc = wio_fail(WAITIO_ERR_CONFIG, "%s=%d must be less than %s=%d", r->rank, *rank, size_name,
                      *size);
    return rc != 0 ? rc : 1;
}

/* An mpiexec started inside another one leaves its children with the variables of both. MPICH's own
 * are proven by an open descriptor and win; other disagreements cannot be decided here. */
static int check_agreement(const struct row *first, struct wio_whoami *me, wio_getenv_fn getenv_fn)
{
    for (const struct row *r = first + 1; r < rows + WIO_ARRAY_LEN(rows); r++) {
        int rank, size;
        if (!r->whole || ask_row(r, getenv_fn, &rank, &size) != 1 ||
            (rank == me->rank && size == me->nprocs))
            continue;
        if (r->guard == PMI_ALIVE && get(getenv_fn, "PMI_FD") != NULL) {
            me->rank = rank;
            me->nprocs = size;
            wio_text(me->launcher, sizeof me->launcher, "%s", r->launcher);
            return 0;
        }
        return wio_fail(
            WAITIO_ERR_CONFIG,
            "two launchers disagree: %s says rank %d of %d, %s says rank %d of %d (one mpiexec "
            "inside "
            "another?); set WAITIO_RANK and WAITIO_NPROCS, or unset %s or %s for this program",
            me->launcher, me->rank, me->nprocs, r->launcher, rank, size, first->rank, r->rank);
    }
    return 0;
}

static int ask_launchers(struct wio_whoami *me, wio_getenv_fn getenv_fn)
{
    for (const struct row *r = rows; r < rows + WIO_ARRAY_LEN(rows); r++) {
        int rc = ask_row(r, getenv_fn, &me->rank, &me->nprocs);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            wio_text(me->launcher, sizeof me->launcher, "%s", r->launcher);
            return check_agreement(r, me, getenv_fn);
        }
    }
    const char *rank = get(getenv_fn, "PMIX_RANK");
    if (rank != NULL)
        return wio_fail(
            WAITIO_ERR_CONFIG,
            "PMIX_RANK='%s' is set, but no variable tells how many processes there are: "
            "set WAITIO_RANK and WAITIO_NPROCS",
            rank);
    me->rank = 0;
    me->nprocs = 1;
    wio_text(me->launcher, sizeof me->launcher, "alone");
    return 0;
}

static int own_rank(struct wio_whoami *me, const struct wio_config *cfg, wio_getenv_fn getenv_fn)
{
    long long rank = (long long)cfg->rank, nprocs = (long long)cfg->nprocs;
    if (rank < 0 && nprocs < 0)
        return ask_launchers(me, getenv_fn);
    if (rank < 0 || nprocs < 0)
        return wio_fail(WAITIO_ERR_CONFIG, "%s=%lld is set but %s is not: set both or none",
                        rank < 0 ? "WAITIO_NPROCS" : "WAITIO_RANK", rank < 0 ? nprocs : rank,
                        rank < 0 ? "WAITIO_RANK" : "WAITIO_NPROCS");
    if (rank >= nprocs)
        return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_RANK=%lld must be less than WAITIO_NPROCS=%lld",
                        rank, nprocs);
    me->rank = (int)rank;
    me->nprocs = (int)nprocs;
    wio_text(me->launcher, sizeof me->launcher, "WAITIO");
    return 0;
}

/* Under the launcher of another MPI every process may find itself alone. */
static int check_run(const struct wio_whoami *me, const struct wio_config *cfg)
{
    if (cfg->run_nprocs < 0 || cfg->run_nprocs == me->nprocs)
        return 0;
    return wio_fail(
        WAITIO_ERR_CONFIG,
        "block '%s' (PB %d) was started by waitio run with -n %lld, but this process is rank %d "
        "of %d (by %s): give -n the number that the launcher starts, and use the launcher of the "
        "MPI that the program is built with",
        cfg->run_name, me->pbid, (long long)cfg->run_nprocs, me->rank, me->nprocs, me->launcher);
}

static int own_block(struct wio_whoami *me, const struct wio_config *cfg)
{
    long long pbid = (long long)cfg->pbid, npb = (long long)cfg->npb;
    if (pbid < 0 && npb < 0) {
        pbid = 0;
        npb = 1;
    }
    if (pbid < 0 && npb == 1)
        pbid = 0;
    if (pbid < 0)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "WAITIO_NPB=%lld is set but WAITIO_PBID is not: set it to 0 .. %lld, "
                        "another for each block",
                        npb, npb - 1);
    if (npb < 0)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "WAITIO_PBID=%lld is set but WAITIO_NPB is not: set it to the number of "
                        "blocks",
                        pbid);
    if (pbid >= npb)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "WAITIO_PBID=%lld must be less than WAITIO_NPB=%lld (block ids start at 0)",
                        pbid, npb);
    me->pbid = (int)pbid;
    me->npb = (int)npb;
    return 0;
}

/* ---- one job alone ---- */

enum { FIRST_PORT = 10000, PORTS = 22000 }; /* below those of outgoing connections */

/* What tells this job from every other one of this host: the launcher's name for it. MPICH's Hydra
 * gives none, so it is the proxy of this host, which all processes of the job descend from.
 * @return false: the launcher is none of these */
static bool job_key(const struct wio_whoami *me, wio_getenv_fn getenv_fn, uint64_t *key)
{
    static const struct {
        const char *launcher, *name[2];
    } known[] = {
        {"PMIx", {"PMIX_NAMESPACE"}},
        {"Open MPI", {"OMPI_MCA_ess_base_jobid"}},
        {"Fujitsu", {"PMIX_NAMESPACE"}},
        {"Slurm", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    };
    int64_t pid;
    uint64_t started;

    *key = (uint64_t)wio_os_uid();
    for (size_t i = 0; i < WIO_ARRAY_LEN(known); i++) {
        if (strcmp(known[i].launcher, me->launcher) != 0)
            continue;
        for (int k = 0; k < 2 && known[i].name[k] != NULL; k++) {
            const char *text = get(getenv_fn, known[i].name[k]);
            if (text == NULL)
                return false;
            *key = wio_hash_bytes(*key, text, strlen(text));
        }
        return true;
    }
    if (strcmp(me->launcher, "PMI") != 0 || get(getenv_fn, "HYDI_CONTROL_FD") == NULL ||
        !wio_os_ancestor("hydra_pmi_proxy", &pid, &started))
        return false;
    *key = wio_hash64(wio_hash64(*key, (uint64_t)pid), started);
    return true;
}

/* A job without any setting about joining is all there is. Two such jobs of one host must not meet:
 * each has an id and a port of its own, which all its processes find alike. */
static void be_alone(struct wio_whoami *me, wio_getenv_fn getenv_fn)
{
    static const char *const settings[] = {"WAITIO_NPB",         "WAITIO_PBID",
                                           "WAITIO_MASTER_HOST", "WAITIO_MASTER_PORT",
                                           "WAITIO_JOB_ID",      "COUPLER_JOB_ID"};
    uint64_t key;
    for (size_t i = 0; i < WIO_ARRAY_LEN(settings); i++)
        if (getenv_fn(settings[i]) != NULL)
            return;
    if (me->nprocs == 1 || !job_key(me, getenv_fn, &key))
        return;
    me->solo = true;
    me->port = (uint16_t)(FIRST_PORT + key % PORTS);
    wio_text(me->job_id, sizeof me->job_id, "job-%016llx", (unsigned long long)key);
}

int wio_whoami(struct wio_whoami *me, const struct wio_config *cfg, wio_getenv_fn getenv_fn)
{
    memset(me, 0, sizeof *me);
    int rc = own_block(me, cfg);
    if (rc != 0)
        return rc;
    size_t n = strlen(cfg->job_id);
    if (n == 0 || n >= sizeof me->job_id)
        return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_JOB_ID='%.80s' must have 1 to %zu characters",
                        cfg->job_id, sizeof me->job_id - 1);
    memcpy(me->job_id, cfg->job_id, n + 1);
    rc = own_rank(me, cfg, getenv_fn);
    if (rc != 0)
        return rc;
    be_alone(me, getenv_fn);
    return check_run(me, cfg);
}
