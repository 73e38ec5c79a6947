/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of all modes, with wildcards, probes and persistent requests; groups and communicators
 * that fall into one job or span several. Each process prints one line, which depends on the number
 * of processes only.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 100000 };

static int rank, size, failures;
static long checks;

static void expect(int good, const char *what)
{
    checks++;
    if (!good && failures++ < 10)
        fprintf(stderr, "p2p %d of %d: %s\n", rank, size, what);
}

typedef int send_fn(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                    MPI_Comm comm);
typedef int start_fn(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request);

/* Where a message goes, and what it is. */
struct ring {
    MPI_Comm comm;
    int me, left, right;
    int *out, *in;
};

static send_fn *const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static start_fn *const starts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static start_fn *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};

static void check_data(const struct ring *r, int count, int turn)
{
    for (int i = 0; i < count; i++)
        if (r->in[i] != r->left * 1000 + i + turn) {
            expect(0, "data");
            break;
        }
}

/* To the right with one kind of send, from the left with a receive that was started. */
static void one_turn(const struct ring *r, int how, int turn, MPI_Request *request)
{
    int count = how % 2 ? LONG : 3, got = 0;
    MPI_Request receive;
    MPI_Status status;

    for (int i = 0; i < count; i++)
        r->out[i] = r->me * 1000 + i + turn;
    memset(r->in, 0, LONG * sizeof *r->in);
    MPI_Irecv(r->in, LONG, MPI_INT, how % 3 ? r->left : MPI_ANY_SOURCE, how % 2 ? how : MPI_ANY_TAG,
              r->comm, &receive);
    MPI_Barrier(r->comm); /* ready sends need their receive */
    if (how < 4)
        sends[how](r->out, count, MPI_INT, r->right, how, r->comm);
    else if (how < 8)
        starts[how - 4](r->out, count, MPI_INT, r->right, how, r->comm, request);
    else
        MPI_Start(request);
    MPI_Wait(&receive, &status);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &got);
    expect(got == count && status.MPI_SOURCE == r->left && status.MPI_TAG == how, "a status");
    check_data(r, count, turn);
}

static void modes(MPI_Comm comm, int me, int n)
{
    struct ring r = {comm, me, (me + n - 1) % n, (me + 1) % n, NULL, NULL};
    int room = 2 * (LONG * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    char *buffer = malloc((size_t)room), *back = NULL;

    r.out = malloc(LONG * sizeof *r.out);
    r.in = malloc(LONG * sizeof *r.in);
    MPI_Buffer_attach(buffer, room);
    for (int how = 0; how < 12; how++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (how >= 8)
            inits[how - 8](r.out, how % 2 ? LONG : 3, MPI_INT, r.right, how, comm, &request);
        for (int turn = 0; turn < (how < 8 ? 1 : 3); turn++)
            one_turn(&r, how, turn, &request);
        expect((how >= 8) == (request != MPI_REQUEST_NULL), "a request that is over");
        if (how >= 8)
            MPI_Request_free(&request);
    }
    MPI_Buffer_detach(&back, &room);
    expect(back == buffer, "the buffer that was attached");
    free(buffer);
    free(r.in);
    free(r.out);
}

static void probes(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, x = rank, y = -1, flag = 0, n;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;

    MPI_Isend(&x, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &request);
    MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    expect(status.MPI_SOURCE == left && n == 1, "a probe");
    while (!flag)
        MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    expect(message != MPI_MESSAGE_NULL, "a message");
    MPI_Mrecv(&y, 1, MPI_INT, &message, &status);
    expect(y == left && message == MPI_MESSAGE_NULL && status.MPI_TAG == 3, "a matched receive");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "a probe for nothing");
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
    expect(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "no process");
    MPI_Mrecv(&y, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Recv(&y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "the source of nothing");
    MPI_Irecv(&y, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, "a receive that was cancelled");
    x = rank;
    MPI_Sendrecv_replace(&x, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, &status);
    expect(x == left, "replaced data");
}

static int block(void)
{
    int *number, flag;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    return flag ? *number : -1;
}

/* To another job: Open MPI withdraws no send. */
static void cancelled_send(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int mine = block(), theirs = -1, flag = 0;
    MPI_Request request;
    MPI_Status status;

    MPI_Sendrecv(&mine, 1, MPI_INT, left, 11, &theirs, 1, MPI_INT, right, 11, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (theirs != mine) {
        MPI_Issend(&mine, 1, MPI_INT, right, 12, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
    }
    expect(flag || theirs == mine, "a send that was cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(left, 12, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "a probe for a cancelled message");
}

/* Groups of every mixture, by calls that must agree. */
static void groups(void)
{
    MPI_Group world, even, odd, both, none, rest, part;
    MPI_Comm comm;
    int ranges[1][3] = {{0, 0, 2}}, n, result, at, zero = 0, back;

    ranges[0][1] = (size - 1) / 2 * 2;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, ranges, &even);
    MPI_Group_range_excl(world, 1, ranges, &odd);
    MPI_Group_union(odd, even, &both);
    MPI_Group_intersection(odd, even, &none);
    MPI_Group_difference(world, even, &rest);
    MPI_Group_size(even, &n);
    expect(n == (size + 1) / 2, "the even ones");
    MPI_Group_compare(rest, odd, &result);
    expect(result == MPI_IDENT, "the odd ones");
    MPI_Group_compare(both, world, &result);
    expect(result == (size > 1 ? MPI_SIMILAR : MPI_IDENT), "all");
    MPI_Group_size(none, &n);
    expect(n == 0, "none");
    MPI_Group_rank(even, &at);
    expect(at == (rank % 2 ? MPI_UNDEFINED : rank / 2), "the rank among the even ones");
    MPI_Group_translate_ranks(even, 1, &zero, both, &back);
    expect(back == size / 2, "a rank in another group");
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    expect((comm == MPI_COMM_NULL) == (rank % 2), "members");
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_group(comm, &part);
        MPI_Group_compare(part, even, &result);
        expect(result == MPI_IDENT, "the group of a communicator");
        MPI_Group_free(&part);
        MPI_Comm_free(&comm);
    } else {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &comm);
        MPI_Comm_size(comm, &n);
        expect(n == size / 2, "the size of a part");
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&even);
    MPI_Group_free(&odd);
    MPI_Group_free(&both);
    MPI_Group_free(&none);
    MPI_Group_free(&rest);
}

/* Libraries duplicate a communicator first and make theirs of that. */
static void made_of(MPI_Comm twin, int me, int n)
{
    MPI_Comm made[4];
    MPI_Group group;
    int no = 0, sum;

    MPI_Comm_group(twin, &group);
    MPI_Comm_split(twin, 0, me, &made[0]);
    MPI_Comm_create(twin, group, &made[1]);
    MPI_Comm_create_group(twin, group, 3, &made[2]);
    MPI_Cart_create(twin, 1, &n, &no, 0, &made[3]);
    MPI_Group_free(&group);
    for (int i = 0; i < 4; i++) {
        sum = -1;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, made[i]);
        expect(sum == n * (n - 1) / 2, "a communicator made of a duplicate");
        MPI_Comm_free(&made[i]);
    }
}

/* Halves of halves, until each is one process. On the way some fall into one job. */
static long tree(MPI_Comm comm, int depth)
{
    MPI_Comm half, twin;
    MPI_Request request;
    int me, n, result;
    long sum = 0, mine = rank + depth;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    modes(comm, me, n);
    MPI_Comm_idup(comm, &twin, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(comm, twin, &result);
    expect(result == MPI_CONGRUENT, "a duplicate");
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, twin);
    made_of(twin, me, n);
    MPI_Comm_free(&twin);
    MPI_Comm_dup(comm, &twin);
    made_of(twin, me, n);
    MPI_Comm_free(&twin);
    if (n == 1)
        return sum;
    MPI_Comm_split(comm, me < n / 2, -me, &half);
    sum += 7 * tree(half, depth + 1);
    MPI_Comm_free(&half);
    return sum;
}

int main(int argc, char **argv)
{
    int provided = 0;
    long sum;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    probes();
    cancelled_send();
    groups();
    sum = tree(MPI_COMM_WORLD, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("%d of %d: %ld checks, %ld\n", rank, size, checks, sum);
    return failures != 0;
}
