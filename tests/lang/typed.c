/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of random nested types with holes, of all sizes, sent and received in all ways, compared
 * with the same data packed whole: each process sends to its right neighbour. Then one long
 * message, for which the library must not need the memory of a packed copy. WAITIO_ERRORS=return:
 * messages that do not fit are among them.
 */
#include <waitio_mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_THREAD__
enum { ROUNDS = 8, LONG_MIB = 16, WATCHED = 0 };
#elif defined __SANITIZE_ADDRESS__
enum { ROUNDS = 20, LONG_MIB = 64, WATCHED = 0 };
#else
enum { ROUNDS = 80, LONG_MIB = 512, WATCHED = 1 };
#endif
enum { MEMORY = 6 << 20, MOST = 1536 << 10 };

static int me, left, right, failures;
static WAITIO_MPI_Comm world;
static char *from, *to, *want, *packed; /* the program's memory, and packed data */

static void expect(int good, const char *what, int round)
{
    if (!good && failures++ < 10)
        fprintf(stderr, "typed: rank %d, round %d: %s\n", me, round, what);
}

/* ---- random numbers and types, the same in all processes ---- */

static uint64_t state = 88172645463325252u;

static int draw(int below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 33) % (uint64_t)below);
}

static WAITIO_MPI_Datatype basic(void)
{
    static const WAITIO_MPI_Datatype some[] = {WAITIO_MPI_CHAR, WAITIO_MPI_SHORT, WAITIO_MPI_INT,
                                               WAITIO_MPI_DOUBLE, WAITIO_MPI_DOUBLE_COMPLEX};
    return some[draw(5)];
}

/* A type of a type; elements do not overlap, so that it can be received. */
static WAITIO_MPI_Datatype around(WAITIO_MPI_Datatype of)
{
    WAITIO_MPI_Aint lb, extent, at[3] = {0, 0, 0};
    WAITIO_MPI_Datatype t, parts[3] = {of, WAITIO_MPI_CHAR, of};
    int n = 1 + draw(6), gap = draw(4), lengths[3] = {1 + draw(2), 1 + draw(3), 1};
    int sizes[2], some[2], first[2], places[3] = {draw(2), 3, 4 + draw(3)};

    WAITIO_MPI_Type_get_extent(of, &lb, &extent);
    switch (draw(6)) {
    case 0:
        WAITIO_MPI_Type_vector(n, 1 + draw(3), 3 + gap, of, &t);
        break;
    case 1:
        WAITIO_MPI_Type_create_hvector(n, 1, extent + 8 * gap + 1, of, &t);
        break;
    case 2:
        places[1] = places[0] + 1 + draw(2);
        places[2] = places[1] + 1 + draw(3);
        WAITIO_MPI_Type_create_indexed_block(3, 1, places, of, &t);
        break;
    case 3:
        at[1] = extent * lengths[0] + gap;
        at[2] = at[1] + lengths[1] + gap;
        WAITIO_MPI_Type_create_struct(3, lengths, at, parts, &t);
        break;
    case 4:
        for (int i = 0; i < 2; i++) {
            sizes[i] = 2 + draw(4);
            some[i] = 1 + draw(sizes[i]);
            first[i] = draw(sizes[i] - some[i] + 1);
        }
        WAITIO_MPI_Type_create_subarray(
            2, sizes, some, first, draw(2) ? WAITIO_MPI_ORDER_C : WAITIO_MPI_ORDER_FORTRAN, of, &t);
        break;
    default:
        WAITIO_MPI_Type_create_resized(of, 0, lb + extent + 1 + draw(40), &t);
    }
    return t;
}

static WAITIO_MPI_Datatype nested(void)
{
    WAITIO_MPI_Datatype t = around(basic()), next;

    for (int depth = draw(4); depth > 0; depth--) {
        next = around(t);
        WAITIO_MPI_Type_free(&t);
        t = next;
    }
    WAITIO_MPI_Type_commit(&t);
    return t;
}

/* So many elements that they fit the memory, of all lengths. */
static int how_many(WAITIO_MPI_Datatype t)
{
    static const int sizes[] = {1, 100, 4096, 5000, 65536, 70000, 400000, MOST};
    WAITIO_MPI_Aint lb, extent;
    int size, want_bytes = sizes[draw(8)], n;

    WAITIO_MPI_Type_size(t, &size);
    WAITIO_MPI_Type_get_true_extent(t, &lb, &extent);
    if (lb + extent > MEMORY / 2)
        return 0;
    WAITIO_MPI_Type_get_extent(t, &lb, &extent);
    n = want_bytes / size + 1;
    if (extent > 0 && n > (MEMORY / 2) / extent)
        n = (int)((MEMORY / 2) / extent);
    return n;
}

/* ---- sending ---- */

/* Bits: short of a message mode. The buffer may be used again when this returns. */
static void start_send(int how, const void *buf, int n, WAITIO_MPI_Datatype t, int tag,
                       WAITIO_MPI_Request *req)
{
    *req = WAITIO_MPI_REQUEST_NULL;
    switch (how % 4) {
    case 0:
        WAITIO_MPI_Isend(buf, n, t, right, tag, world, req);
        break;
    case 1:
        WAITIO_MPI_Issend(buf, n, t, right, tag, world, req);
        break;
    case 2:
        WAITIO_MPI_Bsend(buf, n, t, right, tag, world);
        break;
    default:
        WAITIO_MPI_Send_init(buf, n, t, right, tag, world, req);
        WAITIO_MPI_Start(req);
    }
}

static void end_send(WAITIO_MPI_Request *req)
{
    WAITIO_MPI_Wait(req, WAITIO_MPI_STATUS_IGNORE);
    if (memcmp(req->opaque, waitio_mpi_request_null().opaque, sizeof req->opaque) != 0)
        WAITIO_MPI_Request_free(req); /* it was persistent */
}

/* A message of n elements at from to the right, one of m elements from the left. @return error */
static int round_trip(int round, int how, int n, WAITIO_MPI_Datatype out, void *in, int m,
                      WAITIO_MPI_Datatype type, WAITIO_MPI_Status *st)
{
    WAITIO_MPI_Request s, r;
    WAITIO_MPI_Message message;
    int rc = 0, source = draw(2) ? left : WAITIO_MPI_ANY_SOURCE, tag = 10 + round % 3;

    switch (how / 4) {
    case 0: /* the receive is there first */
        WAITIO_MPI_Irecv(in, m, type, source, tag, world, &r);
        WAITIO_MPI_Barrier(world);
        start_send(how, from, n, out, tag, &s);
        rc = WAITIO_MPI_Wait(&r, st);
        break;
    case 1: /* the message is */
        start_send(how, from, n, out, tag, &s);
        WAITIO_MPI_Probe(left, tag, world, WAITIO_MPI_STATUS_IGNORE);
        rc = WAITIO_MPI_Recv(in, m, type, source, tag, world, st);
        break;
    case 2:
        start_send(how, from, n, out, tag, &s);
        WAITIO_MPI_Mprobe(left, tag, world, &message, WAITIO_MPI_STATUS_IGNORE);
        rc = WAITIO_MPI_Mrecv(in, m, type, &message, st);
        break;
    case 3: /* a persistent one */
        WAITIO_MPI_Recv_init(in, m, type, left, tag, world, &r);
        WAITIO_MPI_Start(&r);
        start_send(how, from, n, out, tag, &s);
        rc = WAITIO_MPI_Wait(&r, st);
        WAITIO_MPI_Request_free(&r);
        break;
    default:
        return WAITIO_MPI_Sendrecv(from, n, out, right, tag, in, m, type, left, tag, world, st);
    }
    end_send(&s);
    return rc;
}

static void blank(void)
{
    memset(to, 0x5a, MEMORY);
    memset(want, 0x5a, MEMORY);
}

/* The data of the left neighbour: all fill their memory by the same rule. */
static void fill(char *at, int rank, int round)
{
    uint32_t x = (uint32_t)(rank * 2654435761u + (uint32_t)round * 40503u + 1);

    for (size_t i = 0; i < MEMORY; i++) {
        x = x * 1664525u + 1013904223u;
        at[i] = (char)(x >> 24);
    }
}

static void one_round(int round)
{
    WAITIO_MPI_Datatype t = nested();
    WAITIO_MPI_Status st;
    int n = how_many(t), how = draw(18), more = draw(3), size, bytes = 0, got, rc;
    char *theirs = want;

    WAITIO_MPI_Type_size(t, &size);
    size *= n;
    if (n > 0 && size <= 2 * MOST) {
        /* Typed to typed, with room for more. */
        fill(theirs, left, round);
        WAITIO_MPI_Pack(theirs, n, t, packed, 2 * MOST, &bytes, world);
        blank();
        fill(from, me, round);
        rc = round_trip(round, how, n, t, to, n + more, t, &st);
        WAITIO_MPI_Get_count(&st, t, &got);
        expect(rc == 0 && got == n, "a message of n elements", round);
        bytes = 0;
        WAITIO_MPI_Unpack(packed, size, &bytes, want, n, t, world);
        expect(memcmp(to, want, MEMORY) == 0, "typed to typed", round);
        /* Typed to packed: the bytes on their way are those of Pack. */
        memset(to, 0, (size_t)size + 1);
        rc = round_trip(round, draw(18), n, t, to, size, WAITIO_MPI_PACKED, &st);
        expect(rc == 0 && memcmp(to, packed, (size_t)size) == 0 && to[size] == 0, "typed to packed",
               round);
        /* Packed to typed. */
        bytes = 0;
        WAITIO_MPI_Pack(from, n, t, to, 2 * MOST, &bytes, world);
        memcpy(from, to, (size_t)size);
        blank();
        rc = round_trip(round, draw(18), size, WAITIO_MPI_PACKED, to, n, t, &st);
        bytes = 0;
        WAITIO_MPI_Unpack(packed, size, &bytes, want, n, t, world);
        expect(rc == 0 && memcmp(to, want, MEMORY) == 0, "packed to typed", round);
    }
    WAITIO_MPI_Type_free(&t);
}

/* One element does not fit: an error, and nothing beyond the receive is touched. */
static void cut_round(int round)
{
    WAITIO_MPI_Datatype t = nested();
    WAITIO_MPI_Status st;
    WAITIO_MPI_Aint lb, extent, end;
    int n = how_many(t), how = draw(18), rc, whole = 1;

    WAITIO_MPI_Type_get_extent(t, &lb, &extent);
    WAITIO_MPI_Type_get_true_extent(t, &lb, &end);
    if (n > 1 && extent > 0) {
        fill(from, me, round);
        blank();
        rc = round_trip(round, how, n, t, to, n - 1, t, &st);
        expect(rc == WAITIO_MPI_ERR_TRUNCATE, "a message that does not fit", round);
        end += lb + (n - 2) * extent;
        for (WAITIO_MPI_Aint i = end > 0 ? end : 0; i < MEMORY; i++)
            whole &= to[i] == 0x5a;
        expect(whole, "memory behind a receive", round);
    }
    WAITIO_MPI_Type_free(&t);
}

/* ---- the memory of a long message ---- */

/* The most memory that the process has used so far, in KiB; 0: this system does not say. */
static long peak(void)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return kib;
}

/* The sender's blocks overlap (a send may do that), the receiver's have holes. */
static void long_message(void)
{
    enum { BLOCK = 15, STRIDE = 16 };
    int n = (int)(((size_t)LONG_MIB << 20) / (BLOCK * sizeof(double))), bad = 0;
    WAITIO_MPI_Datatype overlapping, column;
    double out[BLOCK], *in = NULL;
    long before;

    WAITIO_MPI_Type_create_hvector(n, BLOCK, 0, WAITIO_MPI_DOUBLE, &overlapping);
    WAITIO_MPI_Type_vector(n, BLOCK, STRIDE, WAITIO_MPI_DOUBLE, &column);
    WAITIO_MPI_Type_commit(&overlapping);
    WAITIO_MPI_Type_commit(&column);
    for (int i = 0; i < BLOCK; i++)
        out[i] = i + 0.5;
    if (me == 1) {
        in = malloc((size_t)n * STRIDE * sizeof *in);
        for (size_t i = 0; i < (size_t)n * STRIDE; i++)
            in[i] = -1;
    }
    WAITIO_MPI_Barrier(world);
    before = peak();
    if (me == 0)
        WAITIO_MPI_Send(out, 1, overlapping, 1, 77, world);
    if (me == 1)
        WAITIO_MPI_Recv(in, 1, column, 0, 77, world, WAITIO_MPI_STATUS_IGNORE);
    expect(!WATCHED || before == 0 || peak() - before < 8 << 10,
           "a long message took the memory of a copy", -1);
    for (size_t i = 0; in != NULL && i < (size_t)n * STRIDE; i++)
        bad += in[i] != (i % STRIDE < BLOCK ? (double)(i % STRIDE) + 0.5 : -1);
    expect(bad == 0, "the data of a long message", -1);
    free(in);
    WAITIO_MPI_Type_free(&overlapping);
    WAITIO_MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    int size;

    WAITIO_MPI_Init(&argc, &argv);
    world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Comm_rank(world, &me);
    WAITIO_MPI_Comm_size(world, &size);
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    if (size > 1)
        long_message();
    from = malloc(MEMORY);
    to = malloc(MEMORY);
    want = malloc(MEMORY);
    packed = malloc(2 * MOST);
    for (int round = 0; round < ROUNDS; round++)
        (round % 5 == 4 ? cut_round : one_round)(round);
    free(from);
    free(to);
    free(want);
    free(packed);
    WAITIO_MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
