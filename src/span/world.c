/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end: the vendor's MPI of this job, then the universe of all jobs. */
#include <stdio.h>
#include <stdlib.h>

#include "span/attributes.h"
#include "span/call.h"
#include "span/version.h"
#include "waitio_hybrid.h"
#include "waitio_inside.h"

struct span_table span_comms = SPAN_TABLE_INIT;
bool span_is_on;

static struct {
    WAITIO_MPI_Group universe;
    MPI_Group job;
    int first, n; /* universe rank of our process 0, processes of this job */
    int keyval;   /* hangs on MPI_COMM_SELF, so that its end comes first in MPI_Finalize */
    bool joined;
} world = {.keyval = MPI_KEYVAL_INVALID};

WAITIO_MPI_Group span_universe(void)
{
    return world.universe;
}

MPI_Group span_job(void)
{
    return world.job;
}

bool span_has_met(void)
{
    return world.joined;
}

int span_to_universe(int rank)
{
    return world.first + rank;
}

int span_from_universe(int universe_rank)
{
    int rank = universe_rank - world.first;

    return rank >= 0 && rank < world.n ? rank : -1;
}

/* A hybrid communicator: inside the job its collectives may use the vendor's MPI. Span is off
 * still, so that the calls of the provider, now for MPI_COMM_WORLD and later for communicators of
 * its own, go to the vendor. */
int span_world_create(WAITIO_MPI_Comm *out)
{
    return waitio_hybrid_create(MPI_COMM_WORLD, 0, out);
}

/* While a thread of the program blocks in the vendor's MPI, collectives that were started go on in
 * a thread of ours. It may call the vendor's only if any thread may, so else they go by messages.
 */
static int agree_on_threads(WAITIO_MPI_Comm all, bool *any_thread)
{
    *any_thread = span_any_thread();
    return *any_thread ? 0 : waitio_inside_blocking_only(all);
}

_Noreturn void span_end_all(int status)
{
    waitio_abort(status);
    abort(); /* not reached */
}

/* The job cannot take part: its processes would compute alone, and something wrong. */
static _Noreturn void give_up(const char *text)
{
    (void)fprintf(stderr, "waitio span: MPI_Init: %s\n", text);
    (void)fflush(stderr);
    (void)span_vendor.Abort(MPI_COMM_WORLD, 1);
    abort(); /* not reached */
}

static void need(int code)
{
    if (code != 0)
        give_up(*waitio_last_error() != '\0' ? waitio_last_error() : waitio_strerror(code));
}

/* WaitIO counts the processes of a job as the launcher does; the vendor's MPI must agree. */
static void check_job(int pb, int rank, int size)
{
    int mpi_rank = -1, mpi_size = -1;
    char text[256];

    (void)span_vendor.Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    (void)span_vendor.Comm_size(MPI_COMM_WORLD, &mpi_size);
    if (mpi_rank == rank && mpi_size == size)
        return;
    (void)snprintf(text, sizeof text,
                   "block %d: to WaitIO this process is %d of %d, to %s %d of %d. Is the program "
                   "built with the MPI whose launcher starts it, and the span library, too?",
                   pb, rank, size, SPAN_VENDOR_NAME, mpi_rank, mpi_size);
    give_up(text);
}

static void find_place(int *npb)
{
    int pb = 0, rank = 0, *sizes = NULL;

    need(waitio_pb_size(npb));
    need(waitio_pb_rank(&pb));
    need(waitio_universe_rank(&rank));
    need(waitio_get_nprocs_array(&sizes));
    world.first = 0;
    for (int i = 0; i < pb; i++)
        world.first += sizes[i];
    world.n = sizes[pb];
    check_job(pb, rank - world.first, world.n);
}

static void end(void)
{
    if (span_is_on) {
        span_leaving_wait();
        span_is_on = false;
        span_progress_end();
        span_requests_end();
        span_messages_end();
        span_types_end();
        span_ops_end();
        (void)span_vendor.Group_free(&world.job);
        (void)WAITIO_MPI_Group_free(&world.universe);
    }
    if (world.joined)
        (void)waitio_finalize();
    world.joined = false;
    span_table_clear(&span_comms);
}

/* The last attribute of MPI_COMM_SELF to go: what the program hung there may still communicate. */
static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    (void)comm, (void)keyval, (void)value, (void)extra_state;
    end();
    return MPI_SUCCESS;
}

static void end_at_finalize(void)
{
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &world.keyval, NULL) != 0 ||
        PMPI_Comm_set_attr(MPI_COMM_SELF, world.keyval, NULL) != 0)
        give_up("MPI_COMM_SELF takes no attribute");
}

/* After the vendor's MPI_Init: meet the other jobs. */
static void begin(void)
{
    WAITIO_MPI_Comm all = NULL;
    struct span_comm *c;
    int npb = 0;
    bool any_thread = false;

    (void)waitio_set_errors(WAITIO_ERRORS_RETURN);
    need(waitio_init(0));
    world.joined = true;
    need(WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN));
    end_at_finalize();
    find_place(&npb);
    if (npb == 1)
        return; /* nothing spans */
    need(span_world_create(&all));
    need(agree_on_threads(all, &any_thread));
    need(WAITIO_MPI_Comm_group(all, &world.universe));
    (void)span_vendor.Comm_group(MPI_COMM_WORLD, &world.job);
    need(span_types_begin());
    need(span_ops_begin());
    need(span_attributes_begin(all));
    need(span_progress_begin(any_thread));
    need(span_leaving_begin(all));
    span_is_on = true;
    need(span_comm_register(MPI_COMM_WORLD, all, &c));
}

int PMPI_Init(int *argc, char ***argv)
{
    int rc = span_vendor.Init(argc, argv);

    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}
SPAN_NAME(Init)

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = span_vendor.Init_thread(argc, argv, required, provided);

    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}
SPAN_NAME(Init_thread)

int PMPI_Finalize(void)
{
    return span_vendor.Finalize();
}
SPAN_NAME(Finalize)

int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    if (span_comm_of(comm) == NULL)
        return span_vendor.Abort(comm, errorcode);
    span_end_all(errorcode);
}
SPAN_NAME(Abort)
