/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages inside a job and between jobs that wait for each other. Processes 0 and 1 are of one
 * job, process 2 of another. Neither library may stand still while a call of the other one blocks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONG = 1000000, ROUNDS = 4 };

static int rank, size, here, local_size, failures;
static MPI_Comm local;

static void expect(int good, const char *what)
{
    if (!good && failures++ < 10)
        fprintf(stderr, "progress %d: %s\n", rank, what);
}

/* Process 0 waits for process 2, and that for process 1, and that for a message of 0 that may need
 * the help of 0 still. */
static void vendors_goes_on(int *data)
{
    MPI_Request request;
    int x = 0;

    if (rank == 0) {
        MPI_Isend(data, LONG, MPI_INT, 1, 0, local, &request);
        MPI_Recv(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(data, LONG, MPI_INT, 0, 0, local, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

/* In both jobs: process 1 has posted receives of two messages of process 0 and waits for process 0
 * of the other job. That one sends to it after both processes 0 have sent those messages. */
static void vendors_goes_on_in_both_jobs(char *data)
{
    enum { FIRST = 19666, SECOND = 67, TIMES = 20 };
    int other = rank < local_size ? local_size : 0, x = 0, theirs;
    MPI_Request requests[2];

    for (int i = 0; i < TIMES && here < 2; i++) {
        if (here == 0) {
            MPI_Issend(data, FIRST, MPI_CHAR, 1, 1, local, &requests[0]);
            MPI_Ssend(data, SECOND, MPI_CHAR, 1, 2, local);
            MPI_Sendrecv(&x, 1, MPI_INT, other, 4, &theirs, 1, MPI_INT, other, 4, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            MPI_Send(&x, 1, MPI_INT, other + 1, 3, MPI_COMM_WORLD);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(data, FIRST, MPI_CHAR, 0, 1, local, &requests[0]);
            MPI_Irecv(data + FIRST, SECOND, MPI_CHAR, 0, 2, local, &requests[1]);
            MPI_Recv(&x, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
    }
}

/* Process 0 has started a collective of all and waits for process 1, which first waits for that. */
static void ours_goes_on(void)
{
    MPI_Request request;
    int x = rank, y = 0, sum = -1;

    MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 0)
        MPI_Recv(&y, 1, MPI_INT, 1, 5, local, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&y, 1, MPI_INT, 0, 5, local);
    expect(sum == size * (size - 1) / 2, "a sum that was started");
}

static void tested(MPI_Request *request)
{
    for (int flag = 0; !flag;)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

/* The two above, where process 0 only tests. */
static void vendors_goes_on_in_tests(int *data)
{
    MPI_Request request, last;
    int x = 0;

    if (rank != 0) {
        vendors_goes_on(data);
        return;
    }
    MPI_Isend(data, LONG, MPI_INT, 1, 0, local, &request);
    MPI_Irecv(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &last);
    tested(&last);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ours_goes_on_in_tests(int probes)
{
    MPI_Request request, near;
    int x = rank, y = 0, sum = -1, flag = 0;

    MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 0 && probes)
        while (!flag)
            MPI_Iprobe(1, 6, local, &flag, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Irecv(&y, 1, MPI_INT, 1, 6, local, &near);
        tested(&near);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&y, 1, MPI_INT, 0, 6, local);
    expect(sum == size * (size - 1) / 2, "a sum, with tests");
}

/* A communicator of all, or (the last kinds) of the processes of this job. */
static void make_one(int kind, MPI_Comm *made)
{
    MPI_Group group;
    MPI_Comm self = MPI_COMM_NULL;
    int no = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    if (kind == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, made);
    else if (kind == 1)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, made);
    else if (kind == 2)
        MPI_Comm_create(MPI_COMM_WORLD, group, made);
    else if (kind == 3)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, made);
    else if (kind == 4)
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &no, 0, made);
    else if (kind == 5)
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made);
    else { /* two groups of one job */
        MPI_Comm_split(local, here, 0, &self);
        MPI_Intercomm_create(self, 0, local, here == 0 ? 1 : 0, 8, made);
        MPI_Comm_free(&self);
    }
    MPI_Group_free(&group);
}

enum { KINDS = 7 };

/* Half of the processes are in a call that makes a communicator, while the others wait for a sum
 * that these have started. */
static void ours_goes_on_while_one_is_made(int kind, int *data, int *sums)
{
    MPI_Request request;
    MPI_Comm made;

    data[LONG / 10 - 1] = 1;
    sums[LONG / 10 - 1] = -1;
    MPI_Iallreduce(data, sums, LONG / 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (here % 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    make_one(kind, &made);
    if (here % 2 == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&made);
    expect(sums[LONG / 10 - 1] == size, "a sum while a communicator is made");
}

/* The same in calls that make, use and free a window. */
static void ours_goes_on_in_windows(int *data, int *sums, int call)
{
    MPI_Request request;
    MPI_Win window;
    int *memory;

    for (int i = 0; i < 3; i++) {
        if (i == call)
            MPI_Iallreduce(data, sums, LONG / 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (i == call && here % 2)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i == 0)
            MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, local, &memory, &window);
        else if (i == 1)
            MPI_Win_fence(0, window);
        else
            MPI_Win_free(&window);
        if (i == call && here % 2 == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* One collective call on a file of the job; the last deletes it. */
static int use_file(int call, MPI_File *file, const char *name)
{
    int value = here, back = -1, rc = MPI_SUCCESS;

    if (call == 0)
        rc = MPI_File_open(local, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                           file);
    else if (call == 1)
        rc = MPI_File_set_view(*file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    else if (call == 2)
        rc = MPI_File_write_at_all(*file, here, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    else if (call == 3)
        rc = MPI_File_sync(*file);
    else if (call == 4)
        rc = MPI_File_read_at_all(*file, here, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    else if (call == 5)
        rc = MPI_File_set_size(*file, local_size * (MPI_Offset)sizeof value);
    else
        rc = MPI_File_close(file);
    expect(call != 4 || back == here, "what was written into a file");
    return rc;
}

enum { FILE_CALLS = 7 };

/* The same in collective calls on files. */
static void ours_goes_on_in_files(int *data, int *sums, int call)
{
    char name[] = "span-progress.XXXXXX"; /* in the folder of the test */
    int made = here == 0 ? mkstemp(name) : -1;
    MPI_Request request;
    MPI_File file = MPI_FILE_NULL;

    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, local);
    for (int i = 0; i < FILE_CALLS; i++) {
        if (i == call)
            MPI_Iallreduce(data, sums, LONG / 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (i == call && here % 2)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(use_file(i, &file, name) == MPI_SUCCESS, "a collective call on a file");
        if (i == call && here % 2 == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (made >= 0)
        close(made);
}

/* Neither call may wait for the one that comes second elsewhere. */
static void idups_in_any_order(void)
{
    MPI_Request requests[2];
    MPI_Comm from[2], made[2], another;
    MPI_Group group;
    int sum = -1;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_dup(MPI_COMM_WORLD, &from[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &from[1]);
    if (here % 2)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &another);
    for (int i = 0; i < 2; i++)
        MPI_Comm_idup(from[(i + rank) % 2], &made[(i + rank) % 2], &requests[(i + rank) % 2]);
    if (here % 2 == 0)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &another);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made[i]);
        expect(sum == size * (size - 1) / 2, "a sum of one of two started duplicates");
        MPI_Comm_free(&made[i]);
        MPI_Comm_free(&from[i]);
    }
    MPI_Comm_free(&another);
    MPI_Group_free(&group);
}

/* Process 1 comes to the duplicate only when 0 has left the call. */
static void idup_returns(void)
{
    MPI_Request request;
    MPI_Comm made;
    int x = 0, sum = -1;

    if (rank == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 7, local, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 7, local);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
    MPI_Comm_free(&made);
    expect(sum == size * (size - 1) / 2, "a sum of a started duplicate");
}

static void came(const MPI_Status *status, int before)
{
    int count = -1;

    MPI_Get_count(status, MPI_INT, &count);
    expect(status->MPI_SOURCE == before && status->MPI_TAG == 2 && count == 1,
           "the status of a persistent receive");
}

/* Requests that are used again, completed in every way; each time with their status. */
static void persistent(int how)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int far = -1, index = -1, flag = 0, indices[2], some = 0;
    int before = (rank + size - 1) % size, next = (rank + 1) % size;

    MPI_Recv_init(&far, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Testany(1, requests, &index, &flag, statuses);
        expect(flag && index == MPI_UNDEFINED, "a persistent request before it is started");
        far = -1;
        MPI_Startall(2, requests);
        if (how == 0)
            MPI_Waitall(2, requests, statuses);
        else if (how == 1)
            MPI_Waitany(1, requests, &index, statuses);
        else if (how == 2)
            for (flag = 0; !flag;)
                MPI_Testall(2, requests, &flag, statuses);
        else if (how == 3)
            MPI_Waitsome(1, requests, &some, indices, statuses);
        else
            for (flag = 0; !flag;)
                MPI_Testany(1, requests, &index, &flag, statuses);
        came(&statuses[0], before);
        if (how != 0 && how != 2)
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        expect(far == before, "what came to a persistent receive");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* One request of each kind in one array, completed in every way. */
static void mixed(int how)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int near = -1, far = -1, done = 0, index, flag = 0, indices[3], some;
    int left = (here + local_size - 1) % local_size, before = (rank + size - 1) % size;

    MPI_Irecv(&near, 1, MPI_INT, left, 1, local, &requests[0]);
    MPI_Irecv(&far, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(&here, 1, MPI_INT, (here + 1) % local_size, 1, local);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    if (how == 0) {
        MPI_Waitall(3, requests, statuses);
        expect(statuses[0].MPI_SOURCE == left && statuses[2].MPI_SOURCE == before, "sources");
    } else if (how == 1) {
        for (; done < 2; done++)
            MPI_Waitany(3, requests, &index, statuses);
    } else if (how == 2) {
        while (!flag)
            MPI_Testall(3, requests, &flag, statuses);
    } else {
        while (done < 2) {
            if (how == 3)
                MPI_Waitsome(3, requests, &some, indices, statuses);
            else
                MPI_Testsome(3, requests, &some, indices, statuses);
            done += some;
        }
    }
    MPI_Waitany(3, requests, &index, statuses);
    expect(index == MPI_UNDEFINED, "the index when nothing is left");
    MPI_Testany(3, requests, &index, &flag, statuses);
    expect(flag && index == MPI_UNDEFINED, "a test when nothing is left");
    expect(near == left && far == before, "what came");
}

int main(int argc, char **argv)
{
    int *data = calloc(LONG, sizeof *data), *sums = calloc(LONG / 10, sizeof *sums), provided = 0;

    if (getenv("MULTIPLE") != NULL)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &here);
    MPI_Comm_size(local, &local_size);
    for (int i = 0; i < ROUNDS; i++) {
        vendors_goes_on(data);
        vendors_goes_on_in_both_jobs((char *)data);
        ours_goes_on();
        vendors_goes_on_in_tests(data);
        ours_goes_on_in_tests(i % 2);
        ours_goes_on_while_one_is_made(0, data, sums);
        idup_returns();
        idups_in_any_order();
        for (int how = 0; how < 5; how++) {
            mixed(how);
            persistent(how);
        }
    }
    for (int kind = 1; kind < KINDS; kind++)
        ours_goes_on_while_one_is_made(kind, data, sums);
    for (int call = 0; call < 3; call++)
        ours_goes_on_in_windows(data, sums, call);
    for (int call = 0; call < FILE_CALLS; call++)
        ours_goes_on_in_files(data, sums, call);
    MPI_Comm_free(&local);
    MPI_Finalize();
    free(data);
    free(sums);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
