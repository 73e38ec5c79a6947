/* SPDX-License-Identifier: BSD-3-Clause */
/* ring STEPS: the plain process's part of mpi_ring.c. */
#include "common.h"

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 50, me, size;
    OK(waitio_init(60));
    waitio_group_t g = everybody(0, &me, &size);
    for (int i = 0; i < steps; i++) {
        size_t bytes = (size_t)(i % 10 == 9 ? 300000 : 10 * i);
        char *out = must_alloc(bytes), *in = must_alloc(bytes);
        fill(out, bytes, (uint64_t)(i * 1000 + me));
        OK(waitio_sendrecv(g, (me + 1) % size, out, bytes, i, (me - 1 + size) % size, in, bytes, i,
                           NULL));
        CHECK(wrong_at(in, bytes, (uint64_t)(i * 1000 + (me - 1 + size) % size)) < 0, "step %d", i);
        free(out);
        free(in);
    }
    if (argc < 3)
        OK(waitio_finalize());
    printf("ring ok: rank %d of %d\n", me, size);
    return 0;
}
