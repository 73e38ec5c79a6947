/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions of MPI 4: mpi://WORLD is all jobs, which meet in MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4

static int failures;

static void expect(int good, const char *what)
{
    if (!good && failures++ < 10)
        fprintf(stderr, "sessions: %s\n", what);
}

static void refuses(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, n;

    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &n);
    expect(class == MPI_ERR_UNSUPPORTED_OPERATION && strstr(text, "call MPI_Init") != NULL, text);
}

static int size_of_world(MPI_Session session)
{
    char value[16] = "";
    MPI_Info info;
    int flag = 0;

    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", sizeof value - 1, value, &flag);
    MPI_Info_free(&info);
    return flag ? atoi(value) : -1;
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group, world;
    MPI_Info info;
    MPI_Comm comm;
    int rank, size, result, one = 1, sum = 0;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN); /* MPICH 4.0 forgets it above */
    refuses(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    refuses(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Group_size(group, &size);
    expect(size == 1, "the size of mpi://SELF");
    MPI_Group_free(&group);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_from_session_pset(session, "MPI://world", &group);
    MPI_Group_compare(group, world, &result);
    expect(result == MPI_IDENT, "mpi://WORLD is not the group of MPI_COMM_WORLD");
    expect(size_of_world(session) == size, "the size of mpi://WORLD");
    MPI_Comm_create_from_group(group, "waitio/session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == size, "a sum over mpi://WORLD");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
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
