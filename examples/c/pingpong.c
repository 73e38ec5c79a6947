/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two separately started programs exchange messages and print how long one takes.
 *
 *   cc -O2 pingpong.c -o pingpong $(pkg-config --cflags --libs waitio)
 *   waitio run ./pingpong : ./pingpong
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <waitio.h>

enum { ROUNDS = 200, LARGEST = 1 << 20, TAG = 7 };

static double now(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The library prints what went wrong; a program only has to stop. */
static void must(int code)
{
    if (code != 0)
        exit(1);
}

static void send(waitio_group_t world, int to, const void *data, size_t bytes)
{
    waitio_req_t req;

    must(waitio_isend(world, to, data, bytes, TAG, &req));
    must(waitio_wait(&req)); /* the buffer may be used again */
}

static void receive(waitio_group_t world, int from, void *data, size_t bytes)
{
    waitio_req_t req;

    must(waitio_irecv(world, from, data, bytes, TAG, &req));
    must(waitio_wait(&req)); /* the message is here */
}

int main(void)
{
    waitio_group_t world;
    int me, size;
    char *data = malloc(LARGEST), *back = malloc(LARGEST);

    must(waitio_init(60)); /* waits up to a minute until all blocks are there */
    must(waitio_group_universe(0, &world));
    must(waitio_group_rank(world, &me));
    must(waitio_group_size(world, &size));
    if (size != 2 || data == NULL || back == NULL) {
        fprintf(stderr, "pingpong needs 2 processes; there are %d\n", size);
        return 1;
    }
    for (size_t bytes = 8; bytes <= LARGEST; bytes *= 16) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++) {
            if (me == 0) {
                memset(data, i, bytes);
                send(world, 1, data, bytes);
                receive(world, 1, back, bytes);
                if (memcmp(data, back, bytes) != 0)
                    return 1;
            } else {
                receive(world, 0, back, bytes);
                send(world, 0, back, bytes);
            }
        }
        if (me == 0)
            printf("%8zu bytes: %8.2f us one way\n", bytes, (now() - start) / ROUNDS / 2 * 1e6);
    }
    free(data);
    free(back);
    must(waitio_finalize());
    return 0;
}
