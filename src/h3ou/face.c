/* SPDX-License-Identifier: BSD-3-Clause */
/* The one coupler of a program, its MPI communicator, and its end. */
#include "h3ou/face.h"
#include "h3ou/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    waitio_cpl_t cpl;
    MPI_Comm comm;
    int size, rank, component; /* of the component; its index */
    int whole;                 /* comm has all processes of the component */
    int member;                /* of an ensemble: the component's name has its number */
} own = {NULL, MPI_COMM_NULL, 0, 0, 0, 0, 0};

/* Of the number of a member. */
enum { DIGITS = 4 };

/* Of all components: an error ends the MPI job with its status. */
static void end(int code)
{
    int is_there = 0, is_over = 0;

    (void)MPI_Initialized(&is_there);
    (void)MPI_Finalized(&is_over);
    if (is_there && !is_over && code != 0)
        (void)MPI_Abort(MPI_COMM_WORLD, code);
    if (is_there && !is_over)
        (void)MPI_Finalize();
    exit(code);
}

/* The coupler tells all components, and ends the program, unless errors are returned. */
void wio_h3ou_die(const char *why)
{
    if (own.cpl != NULL)
        (void)waitio_cpl_raise(own.cpl, why);
    (void)fprintf(stderr, "waitio coupler: %s\n", why);
    (void)fflush(NULL);
    end(1);
}

waitio_cpl_t wio_h3ou_cpl(const char *call)
{
    char text[200];

    if (own.cpl != NULL)
        return own.cpl;
    (void)snprintf(text, sizeof text,
                   "%s is called before the initialisation (h3ou_init), or "
                   "after the end of the coupling",
                   call);
    wio_h3ou_die(text);
    return NULL;
}

/* A component's processes in this MPI job. */
static void split(void)
{
    int n = 0, mine = 0, all = 0;
    const char *why = "MPI_Comm_split() of the component failed";

    (void)waitio_cpl_components(own.cpl, &n, &own.component);
    (void)waitio_cpl_component_size(own.cpl, own.component, &own.size, &own.rank);
    if (MPI_Comm_split(MPI_COMM_WORLD, own.component, own.rank, &own.comm) != MPI_SUCCESS)
        wio_h3ou_die(why);
    (void)MPI_Comm_size(own.comm, &all);
    (void)MPI_Comm_rank(own.comm, &mine);
    own.whole = all == own.size && mine == own.rank;
}

/* Where all processes of the job meet, as the first one says. */
struct meeting {
    char host[MPI_MAX_PROCESSOR_NAME], port[16], id[64];
};

static void arrange(struct meeting *m)
{
    MPI_Comm here = MPI_COMM_NULL;
    int n = 0, near = 0, size = 0, rank = 0, port;

    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    (void)MPI_Comm_size(here, &near);
    (void)MPI_Comm_free(&here);
    if (rank == 0) {
        port = wio_h3ou_free_port();
        if (near == size)
            (void)snprintf(m->host, sizeof m->host, "127.0.0.1");
        else
            (void)MPI_Get_processor_name(m->host, &n);
        (void)snprintf(m->port, sizeof m->port, "%d", port > 0 ? port : 7100);
        (void)snprintf(m->id, sizeof m->id, "h3ou-%ld-%lld", (long)getpid(), (long long)time(NULL));
    }
    (void)MPI_Bcast(m, (int)sizeof *m, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* One MPI job that nobody has told of others is all there is. Its processes know each other by
 * MPI, so they need no settings, and do not meet those of another such job. */
static void be_alone(void)
{
    static const char *const settings[] = {"WAITIO_NPB",         "WAITIO_PBID",
                                           "WAITIO_MASTER_HOST", "WAITIO_MASTER_PORT",
                                           "WAITIO_JOB_ID",      "COUPLER_JOB_ID"};
    struct meeting m = {"", "", ""};
    int joined = 0, set = 0, any = 0;

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        set |= getenv(settings[i]) != NULL;
    (void)waitio_initialized(&joined);
    set |= joined;
    (void)MPI_Allreduce(&set, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any)
        return;
    arrange(&m);
    (void)setenv("WAITIO_MASTER_HOST", m.host, 1);
    (void)setenv("WAITIO_MASTER_PORT", m.port, 1);
    (void)setenv("WAITIO_JOB_ID", m.id, 1);
}

void wio_h3ou_open(const char *name, const char *conf, int members)
{
    int is_there = 0;

    if (own.cpl != NULL)
        wio_h3ou_die("h3ou_init is called a second time");
    (void)MPI_Initialized(&is_there);
    if (!is_there && MPI_Init(NULL, NULL) != MPI_SUCCESS)
        wio_h3ou_die("MPI_Init() failed");
    waitio_cpl_at_end(end);
    be_alone();
    if (waitio_cpl_open_ensemble(
            name, members, conf != NULL && conf[0] != '\0' ? conf : "/dev/null", &own.cpl) != 0)
        wio_h3ou_die(waitio_cpl_last_error());
    wio_h3ou_hook(own.cpl);
    split();
    own.member = strcmp(waitio_cpl_component_name(own.cpl, own.component), name) != 0;
}

void wio_h3ou_close(int finalize)
{
    int is_there = 0, is_over = 0;

    (void)wio_h3ou_cpl("coupling_end");
    if (waitio_cpl_close(&own.cpl) != 0)
        wio_h3ou_die(waitio_cpl_last_error());
    (void)MPI_Comm_free(&own.comm);
    (void)MPI_Initialized(&is_there);
    (void)MPI_Finalized(&is_over);
    if (finalize && is_there && !is_over)
        (void)MPI_Finalize();
}

MPI_Comm wio_h3ou_comm(void)
{
    (void)wio_h3ou_cpl("get_my_comm");
    if (!own.whole)
        wio_h3ou_die("get_my_comm: the component's processes are in several MPI jobs, which no "
                     "MPI communicator holds; use the messages of the coupler, or start the "
                     "component as one job (waitio run --span makes one of several)");
    return own.comm;
}

void wio_h3ou_mpi(int *comm, int *group, int *size, int *rank)
{
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm c = wio_h3ou_comm();

    (void)MPI_Comm_group(c, &members);
    *comm = (int)MPI_Comm_c2f(c);
    *group = (int)MPI_Group_c2f(members);
    *size = own.size;
    *rank = own.rank;
}

/* Members are NAME0000, NAME0001, ... */
static int are_of_one(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && n > DIGITS && strncmp(a, b, n - DIGITS) == 0;
}

/* The component that a member exchanges with, where there is one other ensemble: of its own number,
 * or the first. */
static const char *target(void)
{
    const char *me = waitio_cpl_component_name(own.cpl, own.component), *found = NULL, *name;

    for (int i = 0; own.member && (name = waitio_cpl_component_name(own.cpl, i)) != NULL; i++) {
        if (are_of_one(name, me))
            continue;
        if (found != NULL && !are_of_one(name, found))
            return "";
        if (found == NULL || strcmp(name + strlen(name) - DIGITS, me + strlen(me) - DIGITS) == 0)
            found = name;
    }
    return found != NULL ? found : "";
}

void wio_h3ou_who(int other, char *out, int room)
{
    char text[500];
    const char *name;
    size_t n;

    (void)wio_h3ou_cpl("get_my_name");
    name = other ? target() : waitio_cpl_component_name(own.cpl, own.component);
    n = strlen(name);
    if (n > (size_t)room) {
        (void)snprintf(text, sizeof text,
                       "the name of component '%.300s' has %zu characters, and a Fortran program "
                       "has room for %d: choose a shorter one",
                       name, n, room);
        wio_h3ou_die(text);
    }
    memset(out, ' ', (size_t)room);
    memcpy(out, name, n);
}

int wio_h3ou_number(const char *name)
{
    int i = -1;

    (void)waitio_cpl_component_find(wio_h3ou_cpl("get_model_id"), name, &i);
    return i + 1;
}

int wio_h3ou_own_number(void)
{
    (void)wio_h3ou_cpl("is_my_component");
    return own.component + 1;
}

int wio_h3ou_component(const char *call, const char *name)
{
    char text[400];
    int i = wio_h3ou_number(name) - 1;

    if (i < 0) {
        (void)snprintf(text, sizeof text, "%s: no component '%.200s' runs", call, name);
        wio_h3ou_die(text);
    }
    return i;
}
