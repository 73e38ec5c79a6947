/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_threads LEVEL: what MPI_Init_thread() grants decides who may call. With SERIALIZED and
 * MULTIPLE two threads of each process use a part each, in opposite order on different processes,
 * which would never end if a thread that waits kept the other one out.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"
#include "provider_check.h"

enum { ROUNDS = 200 };
static const struct waitio_inside_ops *ops;
static void *parts[2];
static int size, me;

static void *refused(void *nothing)
{
    char why[256] = "";

    CHECK(ops->may_call(parts[0], why, sizeof why) == WAITIO_ERR_STATE, "another thread may");
    CHECK(strstr(why, "MPI_THREAD_MULTIPLE") != NULL, "%s", why);
    return nothing;
}

static void *sums(void *part)
{
    char why[256] = "";

    CHECK(ops->may_call(part, why, sizeof why) == 0, "%s", why);
    for (int i = 0; i < ROUNDS; i++) {
        int in = me + i, out = 0;
        struct waitio_inside_call c = {.kind = WAITIO_INSIDE_ALLREDUCE,
                                       .in = &in,
                                       .out = &out,
                                       .count = 1,
                                       .bytes = 4,
                                       .type = WAITIO_MPI_INT,
                                       .op = WAITIO_MPI_SUM};
        CHECK(ops->run(part, &c, why, sizeof why) == 0, "%s", why);
        CHECK(out == size * i + size * (size - 1) / 2, "sum %d is %d", i, out);
    }
    return part;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"funneled", MPI_THREAD_FUNNELED},
                  {"serialized", MPI_THREAD_SERIALIZED},
                  {"multiple", MPI_THREAD_MULTIPLE}};
    int wanted = MPI_THREAD_SINGLE, got;
    pthread_t other;
    char why[256] = "";
    struct wio_hybrid_why to = {why, sizeof why};

    for (int i = 0; i < 3; i++)
        if (argc > 1 && strcmp(argv[1], levels[i].name) == 0)
            wanted = levels[i].level;
    MPI_Init_thread(NULL, NULL, wanted, &got);
    ops = wio_hybrid_ops();
    CHECK(wio_hybrid_ready(&to) == 0, "%s", why);
    for (int i = 0; i < 2; i++) {
        struct wio_hybrid_part *part = NULL;
        CHECK(wio_hybrid_part_new(MPI_COMM_WORLD, &part, &to) == 0, "%s", why);
        parts[i] = part;
    }
    ops->members(parts[0], &size, &me);
    if (got < MPI_THREAD_SERIALIZED) {
        CHECK(pthread_create(&other, NULL, refused, NULL) == 0, "thread");
        pthread_join(other, NULL);
        sums(parts[0]);
    } else {
        CHECK(pthread_create(&other, NULL, sums, parts[me % 2]) == 0, "thread");
        sums(parts[(me + 1) % 2]);
        pthread_join(other, NULL);
    }
    ops->free(parts[0]);
    MPI_Finalize();
    ops->free(parts[1]);
    printf("ok %d\n", got);
    return 0;
}
