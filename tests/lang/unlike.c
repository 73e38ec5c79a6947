/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed data between machines that may write numbers differently: every kind of basic type, a
 * struct with holes, packing by hand and collectives, all members to all.
 *
 *   unlike alike|order|format    what the members differ in: nothing; byte order (and so the
 *                                format of long double); the format of long double alone
 */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waitio.h>
#include <waitio_mpi_rename.h>

enum { SHORT = 5, LONG = 40000, TYPES = 24 };

static int me, n, failures;

#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        if (!(cond) && failures++ < 20) {                                                          \
            fprintf(stderr, "unlike: line %d, rank %d: ", __LINE__, me);                           \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
        }                                                                                          \
    } while (0)

/* No value reads the same backwards. */
static int64_t whole(int rank, int i)
{
    return (rank % 2 ? -1 : 1) * (int64_t)(0x0123456789abcdefLL + (int64_t)rank * 1000003 + i);
}

static double real(int rank, int i)
{
    return (rank + 1) * 3.25e-7 + i * 1.5 - 1e3;
}

/* One element of each type in this machine's own form. */
#define MAKER(name, type, value)                                                                   \
    static void name(void *p, int rank, int i)                                                     \
    {                                                                                              \
        type v = (type)(value);                                                                    \
        memcpy(p, &v, sizeof v);                                                                   \
    }
MAKER(make_i8, int8_t, whole(rank, i) % 100)
MAKER(make_i16, int16_t, whole(rank, i) % 30000)
MAKER(make_i32, int32_t, whole(rank, i) % 2000000000)
MAKER(make_i64, int64_t, whole(rank, i))
MAKER(make_u16, uint16_t, whole(rank, i))
MAKER(make_u32, uint32_t, whole(rank, i))
MAKER(make_u64, uint64_t, whole(rank, i))
MAKER(make_long, long, whole(rank, i))
MAKER(make_float, float, real(rank, i))
MAKER(make_double, double, real(rank, i))
MAKER(make_cfloat, float complex, (float)real(rank, i) + (float)(rank - i) * I)
MAKER(make_cdouble, double complex, real(rank, i) + real(i % 7, rank) * I)
MAKER(make_char, char, 'a' + (rank * 5 + i) % 26)
MAKER(make_logical4, int32_t, (rank + i) % 3 == 0)
MAKER(make_logical2, int16_t, (rank + i) % 3 == 0)
MAKER(make_logical8, int64_t, (rank + i) % 3 == 0)
MAKER(make_bool, bool, (rank + i) % 3 == 0)

struct mixed { /* holes between the members and at the end */
    char letter;
    double value;
    int16_t small;
    float complex z;
    int64_t large;
    char mark;
};

static void make_mixed(void *p, int rank, int i)
{
    struct mixed m;
    memset(&m, 0, sizeof m);
    make_char(&m.letter, rank, i);
    make_double(&m.value, rank, i);
    make_i16(&m.small, rank, i);
    make_cfloat(&m.z, rank, i);
    make_i64(&m.large, rank, i);
    make_char(&m.mark, rank, i + 1);
    memcpy(p, &m, sizeof m);
}

struct located {
    double value;
    int place;
};

static void make_located(void *p, int rank, int i)
{
    struct located l;
    memset(&l, 0, sizeof l);
    l.value = real(rank, i);
    l.place = rank * 1000 + i;
    memcpy(p, &l, sizeof l);
}

struct row {
    const char *name;
    MPI_Datatype type;
    size_t bytes;
    void (*make)(void *p, int rank, int i);
};
static struct row rows[TYPES];
static int nrows;

static void add(const char *name, MPI_Datatype type, size_t bytes,
                void (*make)(void *p, int rank, int i))
{
    rows[nrows++] = (struct row){name, type, bytes, make};
}

static MPI_Datatype mixed_type(void)
{
    struct mixed m;
    int lengths[6] = {1, 1, 1, 1, 1, 1};
    MPI_Datatype members[6] = {MPI_CHAR,    MPI_DOUBLE, MPI_INT16_T, MPI_C_FLOAT_COMPLEX,
                               MPI_INT64_T, MPI_CHAR},
                 loose, type;
    const void *at[6] = {&m.letter, &m.value, &m.small, &m.z, &m.large, &m.mark};
    MPI_Aint places[6];
    for (int i = 0; i < 6; i++)
        places[i] = (const char *)at[i] - (const char *)&m;
    MPI_Type_create_struct(6, lengths, places, members, &loose);
    MPI_Type_create_resized(loose, 0, sizeof m, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&loose);
    return type;
}

static void list_types(void)
{
    add("INT8_T", MPI_INT8_T, 1, make_i8);
    add("SHORT", MPI_SHORT, 2, make_i16);
    add("INT", MPI_INT, 4, make_i32);
    add("LONG", MPI_LONG, sizeof(long), make_long);
    add("INT64_T", MPI_INT64_T, 8, make_i64);
    add("UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, 2, make_u16);
    add("UINT32_T", MPI_UINT32_T, 4, make_u32);
    add("UINT64_T", MPI_UINT64_T, 8, make_u64);
    add("FLOAT", MPI_FLOAT, 4, make_float);
    add("DOUBLE", MPI_DOUBLE, 8, make_double);
    add("C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 8, make_cfloat);
    add("C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 16, make_cdouble);
    add("CHAR", MPI_CHAR, 1, make_char);
    add("CHARACTER", MPI_CHARACTER, 1, make_char);
    add("INTEGER", MPI_INTEGER, 4, make_i32);
    add("DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, 8, make_double);
    add("DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, 16, make_cdouble);
    add("LOGICAL", MPI_LOGICAL, 4, make_logical4);
    add("LOGICAL2", MPI_LOGICAL2, 2, make_logical2);
    add("LOGICAL8", MPI_LOGICAL8, 8, make_logical8);
    add("C_BOOL", MPI_C_BOOL, sizeof(bool), make_bool);
    add("DOUBLE_INT", MPI_DOUBLE_INT, sizeof(struct located), make_located);
    add("mixed", mixed_type(), sizeof(struct mixed), make_mixed);
}

static char *made(const struct row *r, int rank, int count)
{
    char *p = calloc((size_t)count * (size_t)(n + 1), r->bytes);
    if (p == NULL)
        abort();
    for (int i = 0; i < count; i++)
        r->make(p + (size_t)i * r->bytes, rank, i);
    return p;
}

/* Elements from one member; holes are zero because the buffers are. */
static void check(const char *what, const struct row *r, const char *got, int from, int count)
{
    char want[64];
    for (int i = 0; i < count; i++) {
        memset(want, 0, sizeof want);
        r->make(want, from, i);
        if (memcmp(want, got + (size_t)i * r->bytes, r->bytes) != 0) {
            EXPECT(false, "%s of %d %s from rank %d: element %d is wrong", what, count, r->name,
                   from, i);
            return;
        }
    }
}

static void messages(const struct row *r, int count)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, got = -1;
    char *out = made(r, me, count), *in = calloc((size_t)count, r->bytes);
    MPI_Status st;
    MPI_Sendrecv(out, count, r->type, to, 3, in, count, r->type, from, 3, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, r->type, &got);
    EXPECT(got == count, "%s: %d elements, not %d", r->name, got, count);
    check("message", r, in, from, count);
    free(in);
    free(out);
}

static void movements(const struct row *r, int count)
{
    char *out = made(r, me, count), *in = calloc((size_t)count * (size_t)n, r->bytes);
    size_t each = (size_t)count * r->bytes;
    MPI_Allgather(out, count, r->type, in, count, r->type, MPI_COMM_WORLD);
    for (int q = 0; q < n; q++)
        check("allgather", r, in + (size_t)q * each, q, count);
    for (int root = 0; root < n; root++) {
        char *b = made(r, me, count);
        MPI_Bcast(b, count, r->type, root, MPI_COMM_WORLD);
        check("bcast", r, b, root, count);
        memset(in, 0, each * (size_t)n);
        MPI_Gather(out, count, r->type, in, count, r->type, root, MPI_COMM_WORLD);
        for (int q = 0; me == root && q < n; q++)
            check("gather", r, in + (size_t)q * each, q, count);
        free(b);
    }
    for (int q = 1; q < n; q++)
        memcpy(out + (size_t)q * each, out, each);
    memset(in, 0, each * (size_t)n);
    MPI_Alltoall(out, count, r->type, in, count, r->type, MPI_COMM_WORLD);
    for (int q = 0; q < n; q++)
        check("alltoall", r, in + (size_t)q * each, q, count);
    free(in);
    free(out);
}

/* Packed by hand, sent as it is, with a text in front. */
static void packing(const struct row *r)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, size = 0, end = 0, at = 0;
    int32_t head = 0x01020304 + me, seen = 0;
    char *out = made(r, me, SHORT), *in = calloc(SHORT, r->bytes);
    char packed[1000], arrived[1000];
    MPI_Pack_size(SHORT, r->type, MPI_COMM_WORLD, &size);
    EXPECT(size + 4 <= (int)sizeof packed, "%s: Pack_size %d", r->name, size);
    MPI_Pack(&head, 1, MPI_INT, packed, sizeof packed, &end, MPI_COMM_WORLD);
    MPI_Pack(out, SHORT, r->type, packed, sizeof packed, &end, MPI_COMM_WORLD);
    MPI_Sendrecv(packed, end, MPI_PACKED, to, 4, arrived, end, MPI_PACKED, from, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Unpack(arrived, end, &at, &seen, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(arrived, end, &at, in, SHORT, r->type, MPI_COMM_WORLD);
    EXPECT(seen == 0x01020304 + from && at == end, "%s: unpacked %x, %d of %d bytes", r->name,
           (unsigned)seen, at, end);
    check("pack", r, in, from, SHORT);
    free(in);
    free(out);
}

/* Between the first and the last process, which differ in mode "order": numbers are little-endian
 * on the way, whoever sends; BYTE data is left alone. */
static void on_the_wire(bool order)
{
    static const unsigned char little[4] = {4, 3, 2, 1}, big[4] = {1, 2, 3, 4};
    int32_t v = 0x01020304, got = 0;
    unsigned char bytes[4] = {0};
    int other = n - 1 - me;
    if (me != 0 && me != n - 1)
        return;
    MPI_Sendrecv(big, 4, MPI_BYTE, other, 6, bytes, 4, MPI_BYTE, other, 6, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(memcmp(bytes, big, 4) == 0, "BYTE data was changed");
    if (!order)
        return;
    MPI_Sendrecv(&v, 1, MPI_INT, other, 5, bytes, 4, MPI_BYTE, other, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(memcmp(bytes, little, 4) == 0, "on the wire: %02x%02x%02x%02x", bytes[0], bytes[1],
           bytes[2], bytes[3]);
    MPI_Sendrecv(little, 4, MPI_BYTE, other, 7, &got, 1, MPI_INT, other, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(got == v, "little-endian bytes were read as %x", (unsigned)got);
}

/* The program's own function sees this machine's numbers: the last one that is not negative. */
static void last_natural(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int32_t *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        y[i] = y[i] >= 0 ? y[i] : x[i];
}

static void folds(int count)
{
    size_t k = (size_t)count;
    int64_t *a = calloc(k, 8), *sa = calloc(k, 8);
    double *d = calloc(k, 8), *sd = calloc(k, 8);
    double complex *z = calloc(k, 16), *sz = calloc(k, 16);
    int32_t *l = calloc(k, 4), *sl = calloc(k, 4), *f = calloc(k, 4);
    struct located *p = calloc(k, sizeof *p), *sp = calloc(k, sizeof *p);
    MPI_Op op;
    for (int i = 0; i < count; i++) {
        a[i] = whole(me, i);
        d[i] = me * 0.5 + i;
        z[i] = me + i * 0.25 * I;
        l[i] = me != i % (n + 1);
        f[i] = (me + i) % 3 ? me + i * 2 : -1 - me;
        p[i] = (struct located){(double)((me * 7 + i) % n), me};
    }
    MPI_Allreduce(a, sa, count, MPI_INT64_T, MPI_BXOR, MPI_COMM_WORLD);
    MPI_Allreduce(d, sd, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(z, sz, count, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(l, sl, count, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD);
    MPI_Allreduce(p, sp, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Op_create(last_natural, 0, &op);
    MPI_Scan(MPI_IN_PLACE, f, count, MPI_INT32_T, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    for (int i = 0; i < count; i++) {
        int64_t wa = 0;
        int32_t wf = -1 - me;
        int best = 0;
        for (int q = 0; q < n; q++) {
            wa ^= whole(q, i);
            wf = q <= me && (q + i) % 3 ? q + i * 2 : wf;
            best = (q * 7 + i) % n > (best * 7 + i) % n ? q : best;
        }
        EXPECT(sa[i] == wa, "BXOR of INT64_T at %d", i);
        EXPECT(sd[i] == n * (n - 1) * 0.25 + (double)n * i, "SUM of DOUBLE at %d: %g", i, sd[i]);
        EXPECT(sz[i] == n * (n - 1) / 2 + n * i * 0.25 * I, "SUM of C_DOUBLE_COMPLEX at %d", i);
        EXPECT(sl[i] == (i % (n + 1) == n), "LAND of LOGICAL at %d: %d", i, sl[i]);
        EXPECT(sp[i].place == best, "MAXLOC at %d: %d, not %d", i, sp[i].place, best);
        EXPECT(f[i] == wf, "scan by the program's own function at %d: %d, not %d", i, f[i], wf);
    }
    void *all[] = {a, sa, d, sd, z, sz, l, sl, f, p, sp};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Refused by name where members differ, and served among those that do not. */
static void long_doubles(bool alike)
{
    long double x = me + 1.0L / 3, sum = 0, want = 0;
    int pb = 0;
    MPI_Comm own;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rc = MPI_Allreduce(&x, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT((rc == 0) == alike, "allreduce of long double gave %d", rc);
    EXPECT(alike || strstr(waitio_last_error(), "long double") != NULL, "the text is: %s",
           waitio_last_error());
    if (!alike) {
        rc = MPI_Send(&x, 1, MPI_LONG_DOUBLE, (me + 1) % n, 8, MPI_COMM_WORLD);
        EXPECT(rc != 0 && strstr(waitio_last_error(), "long double") != NULL,
               "send of long double gave %d", rc);
    }
    waitio_pb_rank(&pb);
    MPI_Comm_split(MPI_COMM_WORLD, pb, me, &own);
    int members = 0, first;
    MPI_Comm_size(own, &members);
    first = me;
    MPI_Bcast(&first, 1, MPI_INT, 0, own);
    rc = MPI_Allreduce(&x, &sum, 1, MPI_LONG_DOUBLE, MPI_MAX, own);
    want = first + members - 1 + 1.0L / 3;
    EXPECT(rc == 0 && sum == want, "long double within a PB: %d, %Lg", rc, sum);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv)
{
    const char *differ = argc > 1 ? argv[1] : "alike";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    list_types();
    for (int i = 0; i < nrows; i++) {
        messages(&rows[i], SHORT);
        messages(&rows[i], LONG);
        movements(&rows[i], SHORT);
        packing(&rows[i]);
    }
    movements(&rows[nrows - 1], LONG / 4);
    on_the_wire(strcmp(differ, "order") == 0);
    folds(SHORT);
    folds(LONG);
    long_doubles(strcmp(differ, "alike") == 0);
    MPI_Type_free(&rows[nrows - 1].type);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
