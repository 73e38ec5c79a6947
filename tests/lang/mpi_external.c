/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The representation external32: known bytes, round trips of basic and derived types, refusals. A
 * program of MPI; what an MPI does differently is behind FOR_WAITIO.
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static int failures;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        failures++;
    }
}

/* Is that what the elements look like, and do they come back? */
static void vector(const void *data, int count, MPI_Datatype type, const void *want, int n,
                   const char *what)
{
    char rep[] = "external32";
    unsigned char out[256];
    char back[256];
    MPI_Aint size = -1, at = 3, lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    memset(out, 0xee, sizeof out);
    memset(back, 0, sizeof back);
    MPI_Pack_external_size(rep, count, type, &size);
    expect(size == n, what);
    MPI_Pack_external(rep, data, count, type, out, 3 + n, &at);
    expect(at == 3 + n && out[2] == 0xee && out[3 + n] == 0xee, what);
    if (memcmp(out + 3, want, (size_t)n) != 0) {
        for (int i = 0; i < n; i++)
            fprintf(stderr, " %02x", out[3 + i]);
        expect(0, what);
    }
    at = 3;
    MPI_Unpack_external(rep, out, 3 + n, &at, back, count, type);
    expect(at == 3 + n, what);
    expect(memcmp(back, data, (size_t)(count * extent)) == 0, what);
}

#define VECTOR(C_TYPE, TYPE, WANT, ...)                                                            \
    do {                                                                                           \
        const C_TYPE data[] = {__VA_ARGS__};                                                       \
        vector(data, (int)(sizeof data / sizeof data[0]), TYPE, WANT, (int)sizeof WANT - 1,        \
               #TYPE);                                                                             \
    } while (0)

static void basic_types(void)
{
    VECTOR(char, MPI_CHAR, "a\200", 'a', (char)-128);
    VECTOR(signed char, MPI_BYTE, "\1\377", 1, -1);
    VECTOR(short, MPI_SHORT, "\1\2\377\376", 0x102, -2);
    VECTOR(unsigned short, MPI_UNSIGNED_SHORT, "\377\0", 0xff00);
    VECTOR(int, MPI_INT, "\1\2\3\4\377\377\377\377", 0x1020304, -1);
    VECTOR(int, MPI_INTEGER, "\200\0\0\0", INT_MIN);
    VECTOR(int, MPI_LOGICAL, "\0\0\0\1\0\0\0\0", 1, 0);
    VECTOR(unsigned, MPI_UNSIGNED, "\377\0\0\1", 0xff000001u);
    VECTOR(long long, MPI_LONG_LONG, "\1\2\3\4\5\6\7\10", 0x102030405060708);
    VECTOR(int64_t, MPI_INT64_T, "\377\377\377\377\377\377\377\375", -3);
    VECTOR(MPI_Aint, MPI_AINT, "\0\0\0\1\0\0\0\0", (MPI_Aint)1 << 32);
    VECTOR(float, MPI_FLOAT, "\77\200\0\0\300\40\0\0", 1.0f, -2.5f);
    VECTOR(double, MPI_DOUBLE, "\77\360\0\0\0\0\0\0\300\4\0\0\0\0\0\0", 1.0, -2.5);
    VECTOR(double, MPI_DOUBLE_PRECISION, "\100\0\0\0\0\0\0\0", 2.0);
    VECTOR(double complex, MPI_C_DOUBLE_COMPLEX,
           "\77\360\0\0\0\0\0\0\100\0\0\0\0\0\0\0" /* two doubles */
           "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
           1.0 + 2.0 * I, 0);
}

#ifdef FOR_WAITIO
/* Open MPI 4.1 has a size of 8 for LONG and 4 bytes for WCHAR; MPICH 4.0 fails on its own checks.
 */
static void narrow_types(void)
{
    VECTOR(long, MPI_LONG, "\1\2\3\4\377\377\377\376", 0x1020304, -2);
    VECTOR(unsigned long, MPI_UNSIGNED_LONG, "\377\0\0\0", 0xff000000u);
    VECTOR(wchar_t, MPI_WCHAR, "\0a\40\254", L'a', 0x20ac);
    VECTOR(_Bool, MPI_C_BOOL, "\1\0", 1, 0);
    VECTOR(_Bool, MPI_CXX_BOOL, "\0\1", 0, 1);
}

static int out_and_back(long double value, unsigned char bytes[16], long double *back)
{
    MPI_Aint at = 0;
    int rc = MPI_Pack_external("external32", &value, 1, MPI_LONG_DOUBLE, bytes, 16, &at);

    at = 0;
    return rc + MPI_Unpack_external("external32", bytes, 16, &at, back, 1, MPI_LONG_DOUBLE);
}

/* 128 bits: sign, 15 of exponent, 112 of the number without its first one. */
static void long_doubles(void)
{
    static const struct {
        long double value;
        const char *head;
    } rows[] = {
        {1.0L, "\77\377\0\0"},        {-2.5L, "\300\0\100\0"},        {0.0L, "\0\0\0\0"},
        {-0.0L, "\200\0\0\0"},        {LDBL_MAX, "\177\376\377\377"}, {LDBL_MIN, "\0\1\0\0"},
        {LDBL_MIN / 2, "\0\0\200\0"}, {INFINITY, "\177\377\0\0"}};
    unsigned char bytes[16];
    long double back;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&back, 0x55, sizeof back);
        expect(out_and_back(rows[i].value, bytes, &back) == 0, "a long double");
        expect(memcmp(bytes, rows[i].head, 4) == 0, "the first bytes of a long double");
        expect(back == rows[i].value && !signbit(back) == !signbit(rows[i].value),
               "a long double that came back");
    }
    expect(out_and_back(NAN, bytes, &back) == 0 && isnan(back), "no number");
    for (int i = 0; i < 1000; i++) { /* every bit that a long double has arrives */
        long double value = sqrtl(2 + i) * powl(10, i - 500);
        expect(out_and_back(value, bytes, &back) == 0 && back == value, "a root");
    }
#if LDBL_MANT_DIG == 64
    /* More bits than fit here: to the nearest, also up to the next power of two. */
    static const unsigned char
        fine[] = "\77\377\0\0\0\0\0\0\0\3\0\0\0\0\0\0",
        all[] = "\77\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377";
    MPI_Aint at = 0;
    MPI_Unpack_external("external32", fine, 16, &at, &back, 1, MPI_LONG_DOUBLE);
    expect(back == 1 + 2 * LDBL_EPSILON, "a tie goes to the even number");
    at = 0;
    MPI_Unpack_external("external32", all, 16, &at, &back, 1, MPI_LONG_DOUBLE);
    expect(back == 2, "just below two");
#endif
}

static int code_of(const char *rep, const void *data, MPI_Datatype type, MPI_Aint room, MPI_Aint at)
{
    char out[64];
    MPI_Aint before = at;
    int class = -1, rc = MPI_Pack_external(rep, data, 1, type, out, room, &at);

    MPI_Error_class(rc, &class);
    expect(at == before || rc == MPI_SUCCESS, "a failed pack does not move the position");
    return class;
}

static void refusals(void)
{
    long big = 1L << 40, low = -(1L << 31) - 1;
    unsigned long full = 1UL << 32, most = ULONG_MAX;
    MPI_Aint at = 0;
    wchar_t far = 0x1f600;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(code_of("external32", &big, MPI_LONG, 64, 0) == MPI_ERR_CONVERSION, "a long too big");
    expect(strstr(waitio_last_error(), "1099511627776") != NULL, "the error names the value");
    expect(code_of("external32", &low, MPI_LONG, 64, 0) == MPI_ERR_CONVERSION, "a long too small");
    expect(code_of("external32", &full, MPI_UNSIGNED_LONG, 64, 0) == MPI_ERR_CONVERSION, "2^32");
    expect(code_of("external32", &most, MPI_UNSIGNED_LONG, 64, 0) == MPI_ERR_CONVERSION, "2^64");
    expect(strstr(waitio_last_error(), "18446744073709551615 of") != NULL, "all of the value");
    expect(code_of("external32", &far, MPI_WCHAR, 64, 0) == MPI_ERR_CONVERSION, "a far character");
    expect(code_of("native", &big, MPI_INT, 64, 0) == MPI_ERR_UNSUPPORTED_DATAREP, "native");
    expect(code_of(NULL, &big, MPI_INT, 64, 0) == MPI_ERR_UNSUPPORTED_DATAREP, "no name");
    expect(code_of("external32", &big, MPI_INT, 3, 0) == MPI_ERR_ARG, "too little room");
    expect(code_of("external32", &big, MPI_INT, 64, 61) == MPI_ERR_ARG, "too far");
    expect(code_of("external32", &big, MPI_INT, 64, -1) == MPI_ERR_ARG, "before the buffer");
    expect(strstr(waitio_last_error(), "Pack_external_size") != NULL, "the error has a remedy");
    expect(code_of("external32", NULL, MPI_INT, 64, 0) == MPI_ERR_ARG, "no data");
    expect(MPI_Pack_external("external32", &big, 1, MPI_INT, &low, 8, NULL) != MPI_SUCCESS,
           "no position");
    expect(MPI_Pack_external("external32", &big, -1, MPI_INT, &low, 8, &at) != MPI_SUCCESS,
           "a negative count");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Types that differ only outside must not become one piece: in a structure, a long beside an
 * int64_t, a wchar_t beside an int32_t. */
static void neighbours(void)
{
    struct {
        long a;
        int64_t b;
        wchar_t c;
        int32_t d;
    } data[2] = {{1, 2, 3, 4}, {-5, 6, 7, -8}};
    static const char want[] = "\0\0\0\1\0\0\0\0\0\0\0\2\0\3\0\0\0\4"
                               "\377\377\377\373\0\0\0\0\0\0\0\6\0\7\377\377\377\370";
    int lengths[] = {1, 1, 1, 1}, size;
    MPI_Aint places[] = {0, 8, 16, 20}, first;
    MPI_Datatype types[] = {MPI_LONG, MPI_INT64_T, MPI_WCHAR, MPI_INT32_T}, type;

    MPI_Type_create_struct(4, lengths, places, types, &type);
    MPI_Type_commit(&type);
    vector(data, 2, type, want, sizeof want - 1, "neighbours of one width");
    MPI_Type_size(type, &size);
    expect(size == 24, "the size here");
    MPI_Type_free(&type);
    MPI_Pack_external_size("external32", 3, MPI_LONG_INT, &first);
    expect(first == 24, "a pair of a long and an int");
    MPI_Pack_external_size("external32", 1, MPI_LONG_DOUBLE_INT, &first);
    expect(first == 20, "a pair of a long double and an int");
    MPI_Pack_external_size("external32", 1, MPI_C_LONG_DOUBLE_COMPLEX, &first);
    expect(first == 32, "a complex long double");
}
#endif

/* Elements with holes, of several types, in types of types; more than any buffer inside. */
static void derived(void)
{
    enum { N = 3000, DOUBLES = 3 };
    struct one {
        int a;
        double b[DOUBLES];
        short c;
    } *in = calloc(N, sizeof *in), *back = calloc(N, sizeof *back);
    int lengths[] = {1, DOUBLES, 1}, good = 1;
    MPI_Aint places[] = {0, 8, 32}, size, at = 0;
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT}, part, type, other;
    unsigned char *out;
    char rep[] = "external32";

    for (int i = 0; i < N; i++)
        in[i] = (struct one){i, {i / 3.0, -i, 1.0 / (i + 1)}, (short)(i - 1500)};
    MPI_Type_create_struct(3, lengths, places, types, &part);
    MPI_Type_create_resized(part, 0, sizeof(struct one), &type);
    MPI_Type_vector(N / 2, 1, 2, type, &other); /* every second */
    MPI_Type_commit(&other);
    MPI_Type_commit(&type);
    MPI_Pack_external_size(rep, 1, other, &size);
    expect(size == N / 2 * 30, "the size of many structures");
    out = malloc((size_t)size);
    MPI_Pack_external(rep, in, 1, other, out, size, &at);
    expect(at == size && out[30 + 3] == 2 && out[30] == 0, "the second structure");
    expect(out[30 + 28] == 0xfa && out[30 + 29] == 0x26, "-1498");
    at = 0;
    MPI_Unpack_external(rep, out, size, &at, back, 1, other);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < DOUBLES; k++)
            good &= i % 2 == 0
                        ? back[i].a == in[i].a && back[i].b[k] == in[i].b[k] && back[i].c == in[i].c
                        : back[i].a == 0 && back[i].b[k] == 0 && back[i].c == 0;
    expect(good, "structures that came back");
    at = 0;
    MPI_Pack_external(rep, in, 0, type, out, size, &at);
    expect(at == 0, "no elements");
    MPI_Type_free(&part);
    MPI_Type_free(&type);
    MPI_Type_free(&other);
    free(in);
    free(back);
    free(out);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    basic_types();
    derived();
#ifdef FOR_WAITIO
    narrow_types();
    long_doubles();
    refusals();
    neighbours();
#endif
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
