/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI 4's communicators from groups alone: of several jobs, of one job, and between two groups. */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4

static int rank, size, failures;

static void expect(int good, const char *what)
{
    if (!good && failures++ < 10)
        fprintf(stderr, "from_groups %d of %d: %s\n", rank, size, what);
}

/* The processes @p first, @p first + @p step, ... of the world. */
static MPI_Group every(int first, int step)
{
    int range[1][3] = {{first, size - 1, step}};
    MPI_Group world, group;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_free(&world);
    return group;
}

static void has_handler(MPI_Comm comm)
{
    MPI_Errhandler handler;

    MPI_Comm_get_errhandler(comm, &handler);
    expect(handler == MPI_ERRORS_RETURN, "the error handler is not the one that was given");
    MPI_Errhandler_free(&handler);
}

static void within(MPI_Group group, const char *tag)
{
    int n, me, result, sum = 0, want = 0, place;
    MPI_Group made, world;
    MPI_Comm comm;

    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_group(comm, &made);
    MPI_Group_compare(group, made, &result);
    expect(result == MPI_IDENT, "another group");
    has_handler(comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_size(comm, &n);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (me = 0; me < n; me++) {
        MPI_Group_translate_ranks(group, 1, &me, world, &place);
        want += place;
    }
    expect(sum == want, "the sum");
    MPI_Group_free(&world);
    MPI_Group_free(&made);
    MPI_Comm_free(&comm);
}

/* The last of each group leads. Who does not lead knows its own group alone. */
static void between(MPI_Group own, MPI_Group other, const char *tag)
{
    int n, far, me, most = -1, want, last;
    MPI_Group world;
    MPI_Comm comm;

    MPI_Group_size(own, &n);
    MPI_Group_size(other, &far);
    MPI_Group_rank(own, &me);
    MPI_Intercomm_create_from_groups(own, n - 1, me == n - 1 ? other : MPI_GROUP_EMPTY, far - 1,
                                     tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_remote_size(comm, &n);
    expect(n == far, "size of the other group");
    has_handler(comm);
    MPI_Allreduce(&rank, &most, 1, MPI_INT, MPI_MAX, comm);
    last = far - 1;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(other, 1, &last, world, &want);
    expect(most == want, "the largest rank of the other group");
    MPI_Group_free(&world);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Group mine, others, alone, job;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = every(rank % 2, 2);
    others = every(1 - rank % 2, 2);
    within(mine, "waitio/every second one");
    between(mine, others, "waitio/even and odd");
    if (rank > 0) { /* the second job: its first process, and the others */
        job = every(1, 1);
        within(job, "waitio/one job");
        MPI_Group_incl(job, 1, (int[]){0}, &alone);
        MPI_Group_free(&mine);
        MPI_Group_difference(job, alone, &mine);
        between(rank == 1 ? alone : mine, rank == 1 ? mine : alone, "waitio/inside");
        MPI_Group_free(&alone);
        MPI_Group_free(&job);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&others);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}

#else

int main(void)
{
    puts("ok"); /* the MPI has no such calls */
    return 0;
}

#endif
