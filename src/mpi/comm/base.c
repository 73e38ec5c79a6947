/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, start and end, and the small calls. */
#include <stdio.h>

#include "api/api.h"
#include "mpi/mpi.h"
#include "mpi/comm.h"
#include "mpi/attributes.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/state.h"
#include "mpi/request.h"
#include "os/os.h"

int waitio_create_universe(WAITIO_MPI_Comm *comm)
{
    int rc = comm == NULL ? wio_fail(WAITIO_ERR_ARG, "the communicator argument is NULL")
                          : waitio_group_universe(0, comm);

    return wio_mpi_result("waitio_create_universe", rc);
}

int waitio_create_pbgroup(WAITIO_MPI_Comm *comm, int pbid)
{
    int rc = comm == NULL ? wio_fail(WAITIO_ERR_ARG, "the communicator argument is NULL")
                          : waitio_group_pb(0, pbid, comm);

    return wio_mpi_result("waitio_create_pbgroup", rc);
}

static int pbheads(WAITIO_MPI_Comm *comm)
{
    int head[2] = {0, -1}, npb, *order, **lists, rc;

    if (comm == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the communicator argument is NULL");
    rc = waitio_pb_size(&npb);
    if (rc != 0)
        return rc;
    order = wio_os_alloc((size_t)npb * sizeof *order);
    lists = wio_os_alloc((size_t)npb * sizeof *lists);
    if (order == NULL || lists == NULL) {
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a group over %d PBs", npb);
    } else {
        for (int p = 0; p < npb; p++) {
            order[p] = p + 1;
            lists[p] = head;
        }
        *comm = waitio_create_group_wranks(0, lists, order);
        rc = *comm != NULL ? 0 : wio_last_code();
    }
    wio_os_free(order);
    wio_os_free(lists);
    return rc;
}

int waitio_create_universe_pbhead(WAITIO_MPI_Comm *comm)
{
    return wio_mpi_result("waitio_create_universe_pbhead", pbheads(comm));
}

WAITIO_MPI_Comm waitio_mpi_comm_world(void)
{
    WAITIO_MPI_Comm world = NULL;
    int rc = wio_mpi_constant(WIO_WORLD, &world);

    wio_mpi_result("WAITIO_MPI_COMM_WORLD", rc);
    return world;
}

WAITIO_MPI_Comm waitio_mpi_comm_self(void)
{
    WAITIO_MPI_Comm self = NULL;
    int rc = wio_mpi_constant(WIO_SELF, &self);

    wio_mpi_result("WAITIO_MPI_COMM_SELF", rc);
    return self;
}

WAITIO_MPI_Request waitio_mpi_request_null(void)
{
    return (WAITIO_MPI_Request)WAITIO_REQ_NULL;
}

int waitio_mpi_comm_rank(WAITIO_MPI_Comm comm, int *rank)
{
    return wio_mpi_result("waitio_mpi_comm_rank", waitio_group_rank(comm, rank));
}

/* The handle of an intercommunicator has the far members; asked for are the near ones. */
static int local_size(WAITIO_MPI_Comm comm, int *size)
{
    int rc = waitio_group_size(comm, size);
    const struct wio_inter *inter = rc == 0 ? wio_inter_of(comm) : NULL;

    if (inter != NULL)
        *size = inter->size;
    return rc;
}

int waitio_mpi_comm_size(WAITIO_MPI_Comm comm, int *size)
{
    return wio_mpi_result("waitio_mpi_comm_size", local_size(comm, size));
}

int WAITIO_MPI_Comm_rank(WAITIO_MPI_Comm comm, int *rank)
{
    return wio_mpi_result("WAITIO_MPI_Comm_rank", waitio_group_rank(comm, rank));
}

int WAITIO_MPI_Comm_size(WAITIO_MPI_Comm comm, int *size)
{
    return wio_mpi_result("WAITIO_MPI_Comm_size", local_size(comm, size));
}

int wio_mpi_comm_free(WAITIO_MPI_Comm *comm)
{
    WAITIO_MPI_Comm both = NULL; /* behind an intercommunicator */
    int size, rc;

    if (comm == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the communicator argument is NULL");
    if (wio_mpi_which_constant(*comm) >= 0)
        return wio_fail(WAITIO_ERR_GROUP,
                        "WAITIO_MPI_COMM_WORLD, COMM_SELF and GROUP_EMPTY cannot be freed");
    if (wio_api_current() != NULL && wio_group_forget(wio_api_current(), *comm)) {
        *comm = NULL; /* nothing is left of it: it was of a universe that was left */
        return 0;
    }
    rc = waitio_group_size(*comm, &size); /* is it one at all? */
    if (rc != 0)
        return rc;
    rc = wio_attributes_end(wio_on_comm(*comm));
    if (rc != 0)
        return rc;
    if (wio_inter_of(*comm) != NULL)
        both = wio_inter_of(*comm)->both;
    /* First the handle: once freed, the address may be another thread's new group. */
    wio_mpi_handle_drop(*comm);
    rc = waitio_group_free(comm);
    if (both != NULL)
        (void)waitio_group_free(&both);
    return rc;
}

int WAITIO_MPI_Comm_free(WAITIO_MPI_Comm *comm)
{
    return wio_mpi_result("WAITIO_MPI_Comm_free", wio_mpi_comm_free(comm));
}

int WAITIO_MPI_Comm_disconnect(WAITIO_MPI_Comm *comm)
{
    return wio_mpi_result("WAITIO_MPI_Comm_disconnect", wio_mpi_comm_free(comm));
}

int WAITIO_MPI_Comm_set_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info)
{
    int size;

    (void)info;
    return wio_mpi_result("WAITIO_MPI_Comm_set_info", waitio_group_size(comm, &size));
}

int WAITIO_MPI_Comm_get_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info *out)
{
    int size, rc = wio_mpi_result("WAITIO_MPI_Comm_get_info", waitio_group_size(comm, &size));

    return rc != 0 ? rc : WAITIO_MPI_Info_create(out);
}

int WAITIO_MPI_Comm_c2f(WAITIO_MPI_Comm comm)
{
    int32_t handle = 0;

    wio_mpi_result("WAITIO_MPI_Comm_c2f", wio_mpi_handle_new(comm, &handle));
    return handle;
}

WAITIO_MPI_Comm WAITIO_MPI_Comm_f2c(int handle)
{
    WAITIO_MPI_Comm comm = NULL;

    wio_mpi_result("WAITIO_MPI_Comm_f2c", wio_mpi_handle_get(handle, &comm));
    return comm;
}

static pthread_t initial; /* the thread that called Init first */
static int initial_known;

int WAITIO_MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!__atomic_load_n(&initial_known, __ATOMIC_ACQUIRE)) {
        initial = pthread_self();
        __atomic_store_n(&initial_known, 1, __ATOMIC_RELEASE);
    }
    return wio_mpi_result("WAITIO_MPI_Init", waitio_init(0));
}

int WAITIO_MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = wio_mpi_need("provided", provided);

    (void)required;
    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Init_thread", rc);
    *provided = WAITIO_MPI_THREAD_MULTIPLE;
    return WAITIO_MPI_Init(argc, argv);
}

int WAITIO_MPI_Query_thread(int *provided)
{
    int rc = wio_mpi_need("provided", provided);

    if (rc == 0)
        *provided = WAITIO_MPI_THREAD_MULTIPLE;
    return wio_mpi_result("WAITIO_MPI_Query_thread", rc);
}

int WAITIO_MPI_Initialized(int *flag)
{
    return wio_mpi_result("WAITIO_MPI_Initialized", waitio_initialized(flag));
}

int WAITIO_MPI_Is_thread_main(int *flag)
{
    int rc = wio_mpi_need("flag", flag);

    if (rc == 0)
        *flag = !__atomic_load_n(&initial_known, __ATOMIC_ACQUIRE) ||
                pthread_equal(initial, pthread_self());
    return wio_mpi_result("WAITIO_MPI_Is_thread_main", rc);
}

static int finalized;

int WAITIO_MPI_Finalized(int *flag)
{
    int rc = wio_mpi_need("flag", flag);

    if (rc == 0)
        *flag = __atomic_load_n(&finalized, __ATOMIC_ACQUIRE);
    return wio_mpi_result("WAITIO_MPI_Finalized", rc);
}

void wio_mpi_finalized(bool is)
{
    __atomic_store_n(&finalized, is, __ATOMIC_RELEASE);
}

/* No call is left to report a failure. Programs attach functions to COMM_SELF that are to be called
 * at the end. */
static void end(bool wait)
{
    WAITIO_MPI_Comm self;

    wio_request_end(wait);
    pthread_mutex_lock(&wio_mpi_state.lock);
    self = wio_mpi_state.constant[WIO_SELF];
    pthread_mutex_unlock(&wio_mpi_state.lock);
    if (self != NULL)
        (void)wio_attributes_end(wio_on_comm(self));
}

void wio_mpi_ending(void)
{
    end(true);
}

void wio_mpi_moving(void)
{
    end(false);
}

int WAITIO_MPI_Finalize(void)
{
    wio_mpi_ending();
    wio_mpi_finalized(true); /* after the delete functions */
    wio_mpi_state_reset();
    return wio_mpi_result("WAITIO_MPI_Finalize", waitio_finalize());
}

int WAITIO_MPI_Abort(WAITIO_MPI_Comm comm, int code)
{
    (void)comm;
    fflush(NULL);
    waitio_abort(code);
    return code;
}

double WAITIO_MPI_Wtime(void)
{
    return (double)wio_os_now_ns() * 1e-9;
}

double WAITIO_MPI_Wtick(void)
{
    return 1e-9;
}

int WAITIO_MPI_Get_version(int *version, int *subversion)
{
    int rc = wio_mpi_need_both("version", version, "subversion", subversion);

    if (rc == 0) {
        *version = 3; /* the version of MPI's standard; not all of its calls exist here */
        *subversion = 1;
    }
    return wio_mpi_result("WAITIO_MPI_Get_version", rc);
}

int WAITIO_MPI_Get_processor_name(char *name, int *length)
{
    int n, rc = wio_mpi_need_both("name", name, "length", length);

    if (rc == 0) {
        n = wio_os_hostname(name, WAITIO_MPI_MAX_PROCESSOR_NAME);
        *length = n > 0 ? n : 0;
        rc = n < 0 ? WAITIO_ERR_SYSTEM : 0;
    }
    return wio_mpi_result("WAITIO_MPI_Get_processor_name", rc);
}
