/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file type.h
 * Datatypes. A type is a list of runs: equal basic elements side by side, the whole repeated at a
 * stride. A matrix column is one run, a struct of three members three. A repeated type of several
 * runs is one run again, of elements of that type: the list never grows with a repeat count.
 * Packing walks the runs; most types are solid (no holes, in order) and need no packing at all.
 *
 * Basic types are a constant table; derived ones are reference-counted: an operation keeps its
 * type, also when the program frees it meanwhile.
 */
#ifndef WIO_TYPE_H
#define WIO_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "waitio_mpi.h"

/** How the bytes of a basic element are interpreted by operators. */
enum wio_mpi_kind {
    WIO_KIND_I8,
    WIO_KIND_I16,
    WIO_KIND_I32,
    WIO_KIND_I64,
    WIO_KIND_U8,
    WIO_KIND_U16,
    WIO_KIND_U32,
    WIO_KIND_U64,
    WIO_KIND_F32,
    WIO_KIND_F64,
    WIO_KIND_F128,    /**< REAL16 */
    WIO_KIND_FLONG,   /**< long double */
    WIO_KIND_C32,     /**< complex of two F32 */
    WIO_KIND_C64,     /**< complex of two F64 */
    WIO_KIND_C128,    /**< complex of two F128 */
    WIO_KIND_CLONG,   /**< complex of two FLONG */
    WIO_KIND_BOOL,    /**< C _Bool */
    WIO_KIND_LOGICAL, /**< Fortran logicals, 1 to 8 bytes */
    WIO_KIND_LOGICAL1,
    WIO_KIND_LOGICAL2,
    WIO_KIND_LOGICAL8,
    WIO_KIND_BYTE,    /**< uninterpreted: bitwise operators only */
    WIO_KIND_TEXT,    /**< characters of Fortran, packed data: no operators */
    WIO_KIND_F32_I32, /**< value and index, for MINLOC and MAXLOC */
    WIO_KIND_F64_I32,
    WIO_KIND_I64_I32,
    WIO_KIND_I32_I32,
    WIO_KIND_I16_I32,
    WIO_KIND_FLONG_I32,
    WIO_KIND_F32_F32,
    WIO_KIND_F64_F64,
    WIO_KIND_MARK, /**< MPI-1's LB and UB: an offset, no data */
    WIO_KIND_DERIVED,
    WIO_KIND_COUNT
};

/** How a number looks in the representation external32 (external.c). */
enum wio_form {
    WIO_FORM_SAME,  /**< as wide as ours, in big-endian order */
    WIO_FORM_LONG,  /**< 4 bytes instead of 8 */
    WIO_FORM_ULONG, /**< the same without a sign */
    WIO_FORM_WCHAR, /**< 2 bytes instead of 4 */
    WIO_FORM_FLONG, /**< 128 bits of IEEE 754 */
};

struct wio_mpi_type;
struct wio_attribute; /* mpi/attributes.h */
struct wio_recipe;    /* mpi/datatype/recipe.h */

/** `count` elements of `width` bytes at `at`, `repeat` times, `stride` bytes apart; or `repeat`
 *  elements of a type. A piece is what is repeated: count * width bytes of data in both cases. */
struct wio_run {
    int64_t at;
    size_t count;                  /**< the data of one element when there is a type */
    size_t repeat;                 /**< at least 1 */
    int64_t stride;                /**< read when repeat > 1 */
    const struct wio_mpi_type *of; /**< NULL, or a type: the run has a reference */
    size_t from;                   /**< its place in the packed form of one element */
    uint16_t width;                /**< bytes of one element; 1 when there is a type */
    uint16_t unit; /**< bytes that change places together between byte orders; divides width */
    uint8_t form;  /**< enum wio_form of each unit */
};

struct wio_mpi_type {
    WAITIO_MPI_Datatype id;
    const char *name; /**< without the WAITIO_MPI_ prefix; "derived type" */
    uint8_t kind;     /**< enum wio_mpi_kind */
    uint8_t align;    /**< of the strictest member */
    uint8_t depth;    /**< types within runs within types: below 100 (flatten.c) */
    bool committed;
    bool solid;               /**< any number of elements is one piece of bytes, beginning at lb */
    bool has_lb, has_ub;      /**< bounds were set explicitly and stay */
    bool long_double;         /**< holds numbers that have no common form */
    size_t size;              /**< bytes of data in one element */
    size_t nbasic;            /**< basic elements in one element */
    int64_t lb, ub;           /**< extent = ub - lb */
    int64_t true_lb, true_ub; /**< of the data alone */
    size_t nruns;
    const struct wio_run *run;
    int refs;                         /**< derived types only, changed atomically */
    char *label;                      /**< derived types: a name that the program gave, or NULL */
    struct wio_attribute *attributes; /**< derived types: what the program attached */
    struct wio_recipe *recipe;        /**< derived types: how the program made it, or NULL */
    struct wio_mpi_type *next_dead;   /**< read while it is being freed */
};

static inline int64_t wio_type_extent(const struct wio_mpi_type *t)
{
    return t->ub - t->lb;
}

/** No data lies below this address: 4096, or 2^31 once an address was cut to a Fortran integer. */
extern int64_t wio_type_first_address;
/** Does the data of an element at this displacement lie at an absolute address, so that its buffer
 * is BOTTOM, which is NULL? Otherwise a NULL buffer is refused: it is a mistake of the program. */
static inline bool wio_type_absolute_at(const struct wio_mpi_type *t, int64_t at)
{
    int64_t first = __atomic_load_n(&wio_type_first_address, __ATOMIC_RELAXED);
    int64_t low = (int64_t)((uint64_t)at + (uint64_t)t->true_lb);

    return low < -first || low >= first;
}
static inline bool wio_type_absolute(const struct wio_mpi_type *t)
{
    return wio_type_absolute_at(t, 0);
}

/* ---- names (basic.c, handles.c) ---- */

/** Type of a number, or NULL with the thread's error text set (ARG). The caller of a derived type
 *  relies on the program not freeing it during the call; what outlives the call takes a reference.
 */
const struct wio_mpi_type *wio_mpi_type(WAITIO_MPI_Datatype id);
/** Let this thread use the number of @p t while the program's operator runs, also when it was freed
 * meanwhile. @return the type before, to be set again afterwards */
const struct wio_mpi_type *wio_type_lend(const struct wio_mpi_type *t);
/** Row @p i of the basic types, NULL past the last. */
const struct wio_mpi_type *wio_mpi_type_row(int i);
/** The type of a communication call: committed, count not negative, together fewer than 2^63 bytes.
 *  @return 0; ARG, LIMIT naming what is wrong */
int wio_type_use(int64_t count, WAITIO_MPI_Datatype id, const struct wio_mpi_type **type);
/** The link to the first attribute of a type (more.c). @return 0; TYPE */
int wio_type_attributes(WAITIO_MPI_Datatype id, struct wio_attribute ***first);
/** Take and give back a reference; basic types have none. */
void wio_type_hold(const struct wio_mpi_type *t);
void wio_type_release(const struct wio_mpi_type *t);
/** Give a new type its number. @return 0; LIMIT, NOMEM (the type is freed) */
int wio_type_name(struct wio_mpi_type *t, WAITIO_MPI_Datatype *id);
/** The program's handle ends; operations under way keep the type. @return 0; ARG */
int wio_type_unname(WAITIO_MPI_Datatype id);
/** Derived types with a handle, for tests. */
size_t wio_type_named(void);

/* ---- making (flatten.c) ---- */

/** A type being put together, block by block. */
struct wio_type_maker {
    struct wio_run *run;
    size_t nruns, cap;
    size_t size, nbasic;
    int64_t lb, ub, true_lb, true_ub; /* of what was added */
    int64_t set_lb, set_ub;           /* explicit bounds of parts */
    bool any, any_data, has_lb, has_ub, long_double;
    uint8_t align;
    int error;
};
void wio_maker_init(struct wio_type_maker *m);
/** Add @p count elements of @p t, the first at byte @p at, each behind the other. */
void wio_maker_add(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t at,
                   size_t count);
/** The same, @p stride bytes apart. */
void wio_maker_repeat(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t at,
                      size_t count, int64_t stride);
/** Bytes from units. @return 0; LIMIT */
int wio_type_scale(int64_t units, int64_t bytes, int64_t *out);
/** Round the upper bound up to the strictest member's alignment, as C does for structures. */
void wio_maker_pad(struct wio_type_maker *m);
/** @param[out] out one reference. @return 0; NOMEM. The maker is empty afterwards. */
int wio_maker_finish(struct wio_type_maker *m, struct wio_mpi_type **out);

/* ---- packing (pack.c): the packed form is the data in type order without holes ---- */

/** Copy bytes [offset, offset + n) of the packed form of elements at @p user to @p packed. */
void wio_type_pack(const struct wio_mpi_type *t, const void *user, size_t offset, size_t n,
                   void *packed);
/** The reverse. */
void wio_type_unpack(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                     const void *packed);
/** The run that byte @p offset of an element is in. */
size_t wio_type_run_at(const struct wio_mpi_type *t, size_t offset);
/** Basic elements in the first @p bytes of the packed form, -1 when the last one is cut. */
int64_t wio_type_elements(const struct wio_mpi_type *t, size_t bytes);
/** The reverse: bytes of the first @p n basic elements, -1 when there are none or too many. */
int64_t wio_type_bytes(const struct wio_mpi_type *t, int64_t n);

/* ---- the other byte order (swap.c) ---- */

/** Change the byte order of the packed form's first @p n bytes, number by number; one that is cut
 * at the end stays as it is. */
void wio_type_swap(const struct wio_mpi_type *t, size_t n, void *packed);
/** wio_type_pack() and wio_type_unpack() where the packed form has the other byte order. Each part
 * of it can be packed and unpacked alone, also one that begins or ends within a number. */
void wio_type_pack_swapped(const struct wio_mpi_type *t, const void *user, size_t offset, size_t n,
                           void *packed);
void wio_type_unpack_swapped(const struct wio_mpi_type *t, void *user, size_t offset, size_t n,
                             const void *packed);

#endif /* WIO_TYPE_H */
