/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The representation "external32" (MPI 4.0, 14.6.2): numbers in big-endian order, of sizes that do
 * not depend on the machine, without holes. Most are as wide as ours and only change their byte
 * order; a run says where more is to be done. Elements go through a small buffer in the packed form
 * of pack.c, so that no copy of all the data is needed.
 */
#include <float.h>
#include <string.h>

#include "mpi/datatype/type.h"
#include "mpi/mpi.h"

enum { BUFFER = 4096, LONGEST = 16 };
enum direction { PACK, UNPACK };

/* Between the user's elements and the external bytes. */
struct crossing {
    const struct wio_mpi_type *type;
    char *user;
    unsigned char *outside;
    size_t moved, total; /* bytes of the packed form: between user and buffer; all */
    size_t at, filled;   /* of the buffer */
    enum direction way;
    unsigned char buffer[BUFFER];
};

/* Bytes of one number in external32. */
static size_t width_of(const struct wio_run *r)
{
    static const uint8_t widths[] = {
        [WIO_FORM_LONG] = 4, [WIO_FORM_ULONG] = 4, [WIO_FORM_WCHAR] = 2, [WIO_FORM_FLONG] = 16};

    return r->form == WIO_FORM_SAME ? r->unit : widths[r->form];
}

static size_t size_of(const struct wio_mpi_type *t)
{
    size_t sum = 0;

    for (size_t i = 0; i < t->nruns; i++) {
        const struct wio_run *r = &t->run[i];
        size_t one = r->of != NULL ? size_of(r->of) : r->count * (r->width / r->unit) * width_of(r);
        sum += one * r->repeat;
    }
    return sum;
}

/* ---- one number ---- */

static void to_big_endian(unsigned char *to, uint64_t value, size_t width)
{
    for (size_t i = width; i > 0; i--, value >>= 8)
        to[i - 1] = (unsigned char)value;
}

static uint64_t from_big_endian(const unsigned char *from, size_t width)
{
    uint64_t value = 0;

    for (size_t i = 0; i < width; i++)
        value = value << 8 | from[i];
    return value;
}

/* The same bytes in big-endian order, or back. */
static void same(unsigned char *to, const unsigned char *from, size_t unit)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy(to, from, unit);
#else
    for (size_t i = 0; i < unit; i++)
        to[i] = from[unit - 1 - i];
#endif
}

#if LDBL_MANT_DIG == 64
/* The 80 bits of x86: a sign, 15 bits of exponent, 64 of the number, the first of which is left out
 * in 128 bits, where 112 follow. */
static void long_double_out(unsigned char *to, const unsigned char *from)
{
    uint64_t number;
    uint16_t head;

    memcpy(&number, from, 8);
    memcpy(&head, from + 8, 2);
    number &= ~(1ULL << 63);
    to_big_endian(to, (uint64_t)head << 48 | number >> 15, 8);
    to_big_endian(to + 8, number << 49, 8);
}

static void long_double_in(unsigned char *to, const unsigned char *from)
{
    uint64_t high = from_big_endian(from, 8), low = from_big_endian(from + 8, 8), number;
    uint16_t head = (uint16_t)(high >> 48);
    uint64_t rest = low & ((1ULL << 49) - 1), half = 1ULL << 48;
    bool finite = (head & 0x7fff) != 0x7fff;

    number = (high & ((1ULL << 48) - 1)) << 15 | low >> 49;
    if (!finite && rest != 0)
        number |= 1ULL << 62; /* not a number stays one */
    if (finite && (rest > half || (rest == half && (number & 1) != 0)))
        number++; /* to the nearest */
    if (number >> 63 != 0) {
        head++; /* rounded up to the next power of two */
        number = 0;
    }
    if ((head & 0x7fff) != 0)
        number |= 1ULL << 63;
    memset(to, 0, sizeof(long double));
    memcpy(to, &number, 8);
    memcpy(to + 8, &head, 2);
}
#else
static void long_double_out(unsigned char *to, const unsigned char *from)
{
    same(to, from, 16);
}

static void long_double_in(unsigned char *to, const unsigned char *from)
{
    same(to, from, 16);
}
#endif
#if LDBL_MANT_DIG != 64 && LDBL_MANT_DIG != 113
#error "long double has a form that external.c does not know"
#endif

/* @param wider the type to use instead */
static int too_big(const char *sign, uint64_t size, const char *type, int bytes, const char *wider)
{
    return wio_fail(WAITIO_MPI_ERR_CONVERSION,
                    "%s%llu of type %s does not fit into the %d bytes that external32 has for it: "
                    "use %s",
                    sign, (unsigned long long)size, type, bytes, wider);
}

static int too_big_signed(int64_t value, const char *type, int bytes, const char *wider)
{
    return too_big(value < 0 ? "-" : "", value < 0 ? -(uint64_t)value : (uint64_t)value, type,
                   bytes, wider);
}

/* @return 0; CONVERSION */
static int number_out(uint8_t form, size_t unit, unsigned char *to, const unsigned char *from)
{
    int64_t value;
    int32_t wide;

    switch (form) {
    case WIO_FORM_LONG:
        memcpy(&value, from, 8);
        to_big_endian(to, (uint64_t)value, 4);
        if (value < INT32_MIN || value > INT32_MAX)
            return too_big_signed(value, "LONG", 4, "INT64_T");
        return 0;
    case WIO_FORM_ULONG:
        memcpy(&value, from, 8);
        to_big_endian(to, (uint64_t)value, 4);
        if (value < 0 || value > UINT32_MAX)
            return too_big("", (uint64_t)value, "UNSIGNED_LONG", 4, "UINT64_T");
        return 0;
    case WIO_FORM_WCHAR:
        memcpy(&wide, from, 4);
        to_big_endian(to, (uint64_t)wide, 2);
        if (wide < 0 || wide > UINT16_MAX)
            return too_big_signed(wide, "WCHAR", 2, "INT32_T");
        return 0;
    case WIO_FORM_FLONG:
        long_double_out(to, from);
        return 0;
    default:
        same(to, from, unit);
        return 0;
    }
}

static void number_in(uint8_t form, size_t unit, unsigned char *to, const unsigned char *from)
{
    int64_t value;
    int32_t wide;

    switch (form) {
    case WIO_FORM_LONG:
        value = (int32_t)from_big_endian(from, 4);
        memcpy(to, &value, 8);
        return;
    case WIO_FORM_ULONG:
        value = (int64_t)from_big_endian(from, 4);
        memcpy(to, &value, 8);
        return;
    case WIO_FORM_WCHAR:
        wide = (int32_t)from_big_endian(from, 2);
        memcpy(to, &wide, 4);
        return;
    case WIO_FORM_FLONG:
        long_double_in(to, from);
        return;
    default:
        same(to, from, unit);
    }
}

/* ---- all of them ---- */

static void flush(struct crossing *c)
{
    wio_type_unpack(c->type, c->user, c->moved, c->at, c->buffer);
    c->moved += c->at;
    c->at = 0;
}

/* The place of the next @p unit bytes of the packed form. */
static unsigned char *next(struct crossing *c, size_t unit)
{
    unsigned char *place;

    if (c->way == UNPACK && BUFFER - c->at < unit)
        flush(c);
    if (c->way == PACK && c->filled - c->at < unit) {
        size_t rest = c->filled - c->at, more = BUFFER - rest;
        memmove(c->buffer, c->buffer + c->at, rest);
        if (more > c->total - c->moved)
            more = c->total - c->moved;
        wio_type_pack(c->type, c->user, c->moved, more, c->buffer + rest);
        c->moved += more;
        c->at = 0;
        c->filled = rest + more;
    }
    place = c->buffer + c->at;
    c->at += unit;
    return place;
}

static int numbers(struct crossing *c, const struct wio_run *r)
{
    size_t width = width_of(r), n = r->count * (r->width / r->unit) * r->repeat;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++, c->outside += width) {
        if (c->way == PACK)
            rc = number_out(r->form, r->unit, c->outside, next(c, r->unit));
        else
            number_in(r->form, r->unit, next(c, r->unit), c->outside);
    }
    return rc;
}

static int element(struct crossing *c, const struct wio_mpi_type *t)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < t->nruns; i++) {
        const struct wio_run *r = &t->run[i];
        if (r->of == NULL)
            rc = numbers(c, r);
        for (size_t k = 0; r->of != NULL && rc == 0 && k < r->repeat; k++)
            rc = element(c, r->of);
    }
    return rc;
}

static int cross(const struct wio_mpi_type *t, const void *user, int64_t count, const void *outside,
                 enum direction way)
{
    struct crossing c = {.type = t,
                         .user = (char *)(uintptr_t)user,
                         .outside = (unsigned char *)(uintptr_t)outside,
                         .total = (size_t)count * t->size,
                         .way = way};
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < count; i++)
        rc = element(&c, t);
    if (way == UNPACK)
        flush(&c);
    return rc;
}

/* ---- the calls ---- */

static int the_only_one(const char *datarep)
{
    if (datarep != NULL && strcmp(datarep, "external32") == 0)
        return 0;
    return wio_fail(WAITIO_MPI_ERR_UNSUPPORTED_DATAREP,
                    "the representation is '%s': the only one is 'external32'",
                    datarep == NULL ? "NULL" : datarep);
}

/* What both directions check. *n: external bytes */
static int part(const char *datarep, const void *data, int64_t count, WAITIO_MPI_Datatype type,
                const void *outside, int64_t room, const int64_t *at, const struct wio_mpi_type **t,
                size_t *n)
{
    int rc = the_only_one(datarep);

    if (rc == 0)
        rc = wio_type_use(count, type, t);
    if (rc != 0)
        return rc;
    *n = (size_t)count * size_of(*t);
    if (data == NULL && *n > 0 && !wio_type_absolute(*t))
        return wio_fail(WAITIO_ERR_ARG, "the data is at NULL, but has %zu bytes", *n);
    rc = wio_mpi_need("position", at);
    if (rc != 0)
        return rc;
    if (*at < 0 || room < *at || *n > (size_t)(room - *at))
        return wio_fail(WAITIO_ERR_ARG,
                        "%zu bytes of external32 at position %lld of a buffer of %lld bytes: "
                        "Pack_external_size tells how many it needs",
                        *n, (long long)*at, (long long)room);
    return *n > 0 ? wio_mpi_need("packed buffer's", outside) : 0;
}

/* @param at where the position is, and is left behind what was packed */
static int pack(const char *datarep, const void *in, int64_t count, WAITIO_MPI_Datatype type,
                void *out, int64_t room, int64_t *at)
{
    const struct wio_mpi_type *t;
    size_t n;
    int rc = part(datarep, in, count, type, out, room, at, &t, &n);

    if (rc == 0 && n > 0)
        rc = cross(t, in, count, (char *)out + *at, PACK);
    if (rc == 0)
        *at += (int64_t)n;
    return rc;
}

static int unpack(const char *datarep, const void *in, int64_t room, int64_t *at, void *out,
                  int64_t count, WAITIO_MPI_Datatype type)
{
    const struct wio_mpi_type *t;
    size_t n;
    int rc = part(datarep, out, count, type, in, room, at, &t, &n);

    if (rc == 0 && n > 0)
        rc = cross(t, out, count, (const char *)in + *at, UNPACK);
    if (rc == 0)
        *at += (int64_t)n;
    return rc;
}

static int external_size(const char *datarep, int64_t count, WAITIO_MPI_Datatype type,
                         int64_t *bytes)
{
    const struct wio_mpi_type *t;
    int rc = the_only_one(datarep);

    if (rc == 0)
        rc = wio_mpi_need("size", bytes);
    if (rc == 0)
        rc = wio_type_use(count, type, &t);
    if (rc == 0 && __builtin_mul_overflow(count, (int64_t)size_of(t), bytes))
        rc = wio_fail(WAITIO_ERR_LIMIT, "%lld elements of %zu bytes are more than there can be",
                      (long long)count, size_of(t));
    return rc;
}

int WAITIO_MPI_Pack_external(const char *datarep, const void *in, int count,
                             WAITIO_MPI_Datatype type, void *out, WAITIO_MPI_Aint room,
                             WAITIO_MPI_Aint *position)
{
    int64_t at = position != NULL ? *position : 0;
    int rc = pack(datarep, in, count, type, out, room, position != NULL ? &at : NULL);

    if (rc == 0)
        *position = (WAITIO_MPI_Aint)at;
    return wio_mpi_result("WAITIO_MPI_Pack_external", rc);
}

int WAITIO_MPI_Pack_external_c(const char *datarep, const void *in, WAITIO_MPI_Count count,
                               WAITIO_MPI_Datatype type, void *out, WAITIO_MPI_Count room,
                               WAITIO_MPI_Count *position)
{
    return wio_mpi_result("WAITIO_MPI_Pack_external_c",
                          pack(datarep, in, count, type, out, room, position));
}

int WAITIO_MPI_Unpack_external(const char *datarep, const void *in, WAITIO_MPI_Aint room,
                               WAITIO_MPI_Aint *position, void *out, int count,
                               WAITIO_MPI_Datatype type)
{
    int64_t at = position != NULL ? *position : 0;
    int rc = unpack(datarep, in, room, position != NULL ? &at : NULL, out, count, type);

    if (rc == 0)
        *position = (WAITIO_MPI_Aint)at;
    return wio_mpi_result("WAITIO_MPI_Unpack_external", rc);
}

int WAITIO_MPI_Unpack_external_c(const char *datarep, const void *in, WAITIO_MPI_Count room,
                                 WAITIO_MPI_Count *position, void *out, WAITIO_MPI_Count count,
                                 WAITIO_MPI_Datatype type)
{
    return wio_mpi_result("WAITIO_MPI_Unpack_external_c",
                          unpack(datarep, in, room, position, out, count, type));
}

int WAITIO_MPI_Pack_external_size(const char *datarep, int count, WAITIO_MPI_Datatype type,
                                  WAITIO_MPI_Aint *bytes)
{
    int64_t wide = 0;
    int rc = external_size(datarep, count, type, bytes != NULL ? &wide : NULL);

    if (rc == 0)
        *bytes = (WAITIO_MPI_Aint)wide;
    return wio_mpi_result("WAITIO_MPI_Pack_external_size", rc);
}

int WAITIO_MPI_Pack_external_size_c(const char *datarep, WAITIO_MPI_Count count,
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Count *bytes)
{
    return wio_mpi_result("WAITIO_MPI_Pack_external_size_c",
                          external_size(datarep, count, type, bytes));
}
