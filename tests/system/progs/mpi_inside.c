/* SPDX-License-Identifier: BSD-3-Clause */
/* inside.h in a program that uses MPI; MPI_LEVEL is what it asks MPI_Init_thread for, "none": it
 * does not call it. */
#include <mpi.h>

#include "inside.h"

static void end(void)
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *level = getenv("MPI_LEVEL");
    int want = level == NULL                      ? MPI_THREAD_SINGLE
               : strcmp(level, "multiple") == 0   ? MPI_THREAD_MULTIPLE
               : strcmp(level, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                                  : MPI_THREAD_FUNNELED;
    int got;
    if (level != NULL && strcmp(level, "none") == 0)
        return run(argc, argv, NULL);
    MPI_Init_thread(&argc, &argv, want, &got);
    CHECK(got >= want, "no thread level %s", level);
    return run(argc, argv, end);
}
