/* SPDX-License-Identifier: BSD-3-Clause */
/* Public constructors of datatypes, with counts in ints and in wide integers (_c). */
#include "mpi/attributes.h"
#include "mpi/datatype/recipe.h"
#include "mpi/mpi.h"
#include "os/os.h"

/* End of a constructor: the new type keeps what it was made of, and gets its number. */
static int named(int rc, struct wio_mpi_type *t, const struct wio_called *how,
                 WAITIO_MPI_Datatype *out)
{
    if (rc != 0)
        return rc;
    rc = out == NULL ? wio_fail(WAITIO_ERR_ARG, "the new type's argument is NULL")
                     : wio_recipe_keep(t, how);
    if (rc == 0)
        return wio_type_name(t, out);
    wio_type_release(t);
    return rc;
}

/* Displacements among the constructor's arguments: wide ones and those of elements are numbers,
 * others addresses. */
static void keep_places(struct wio_called *how, bool large, const struct wio_blocks *b)
{
    struct wio_ints places = b->places.at != NULL ? b->places : b->bytes;

    if (places.at == NULL) /* no blocks */
        return;
    if (large || places.of == WIO_OF_INT) {
        how->numbers[2] = (struct wio_numbers){places, b->n};
    } else {
        how->addresses = places.at;
        how->naddresses = b->n;
    }
}

/* @param large the counts are wide: they are given back as such, with what else is a distance */
static int blocks(const char *call, int combiner, bool large, struct wio_blocks b,
                  WAITIO_MPI_Datatype *out)
{
    const int small[] = {(int)b.n, (int)b.length};
    struct wio_ints n = large ? WIO_COUNTS(&b.n) : WIO_INTS(&small[0]);
    struct wio_numbers lengths = {large ? WIO_COUNTS(&b.length) : WIO_INTS(&small[1]), 1};
    struct wio_called how = {.combiner = combiner, .types = &b.type, .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    const struct wio_mpi_type *old = b.types != NULL ? NULL : wio_mpi_type(b.type);
    int rc = b.types == NULL && old == NULL ? WAITIO_ERR_ARG : 0;

    if (b.lengths.at != NULL)
        lengths = (struct wio_numbers){b.lengths, b.n};
    how.numbers[0] = (struct wio_numbers){n, 1};
    how.numbers[1] = lengths;
    keep_places(&how, large, &b);
    if (b.types != NULL) {
        how.types = b.types;
        how.ntypes = b.n;
    }
    if (old != NULL)
        b.scale = wio_type_extent(old);
    if (rc == 0)
        rc = wio_derive_blocks(&b, combiner == WAITIO_MPI_COMBINER_STRUCT, &t);
    return wio_mpi_result(call, named(rc, t, &how, out));
}

/* Blocks whose lengths the program lists. */
static int listed(const char *call, int combiner, bool large, struct wio_blocks b,
                  WAITIO_MPI_Datatype *out)
{
    int rc = b.n > 0 ? wio_mpi_need("lengths", b.lengths.at) : 0;

    return rc != 0 ? wio_mpi_result(call, rc) : blocks(call, combiner, large, b, out);
}

/* @p stride: in bytes for COMBINER_HVECTOR, else in elements. */
static int vector(const char *call, int combiner, bool large, int64_t n, int64_t length,
                  int64_t stride, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    struct wio_mpi_type *t = NULL;
    const int64_t wide[] = {n, length, stride};
    const int small[] = {(int)n, (int)length, (int)stride};
    const WAITIO_MPI_Aint address = (WAITIO_MPI_Aint)stride;
    struct wio_called how = {
        .combiner = combiner, .addresses = &address, .types = &type, .ntypes = 1};
    int given = combiner == WAITIO_MPI_COMBINER_CONTIGUOUS ? 1 : 3;
    int rc = old == NULL ? WAITIO_ERR_ARG : 0;

    if (combiner == WAITIO_MPI_COMBINER_HVECTOR && !large) {
        given = 2;
        how.naddresses = 1;
    }
    how.numbers[0].list = large ? WIO_COUNTS(wide) : WIO_INTS(small);
    how.numbers[0].n = given;
    if (rc == 0 && combiner != WAITIO_MPI_COMBINER_HVECTOR)
        rc = wio_type_scale(stride, wio_type_extent(old), &stride);
    if (rc == 0)
        rc = wio_derive_vector(n, length, stride, old, &t);
    return wio_mpi_result(call, named(rc, t, &how, out));
}

int WAITIO_MPI_Type_contiguous(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_contiguous", WAITIO_MPI_COMBINER_CONTIGUOUS, false, count, 1, 1,
                  type, out);
}

int WAITIO_MPI_Type_contiguous_c(WAITIO_MPI_Count count, WAITIO_MPI_Datatype type,
                                 WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_contiguous_c", WAITIO_MPI_COMBINER_CONTIGUOUS, true, count, 1, 1,
                  type, out);
}

int WAITIO_MPI_Type_vector(int count, int length, int stride, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_vector", WAITIO_MPI_COMBINER_VECTOR, false, count, length,
                  stride, type, out);
}

int WAITIO_MPI_Type_vector_c(WAITIO_MPI_Count count, WAITIO_MPI_Count length,
                             WAITIO_MPI_Count stride, WAITIO_MPI_Datatype type,
                             WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_vector_c", WAITIO_MPI_COMBINER_VECTOR, true, count, length,
                  stride, type, out);
}

int WAITIO_MPI_Type_create_hvector(int count, int length, WAITIO_MPI_Aint stride,
                                   WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_create_hvector", WAITIO_MPI_COMBINER_HVECTOR, false, count,
                  length, stride, type, out);
}

int WAITIO_MPI_Type_create_hvector_c(WAITIO_MPI_Count count, WAITIO_MPI_Count length,
                                     WAITIO_MPI_Count stride, WAITIO_MPI_Datatype type,
                                     WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_create_hvector_c", WAITIO_MPI_COMBINER_HVECTOR, true, count,
                  length, stride, type, out);
}

int WAITIO_MPI_Type_hvector(int count, int length, WAITIO_MPI_Aint stride, WAITIO_MPI_Datatype type,
                            WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_hvector", WAITIO_MPI_COMBINER_HVECTOR, false, count, length,
                  stride, type, out);
}

int WAITIO_MPI_Type_indexed(int count, const int lengths[], const int places[],
                            WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {
        .n = count, .lengths = WIO_INTS(lengths), .places = WIO_INTS(places), .type = type};

    return listed("WAITIO_MPI_Type_indexed", WAITIO_MPI_COMBINER_INDEXED, false, b, out);
}

int WAITIO_MPI_Type_indexed_c(WAITIO_MPI_Count count, const WAITIO_MPI_Count lengths[],
                              const WAITIO_MPI_Count places[], WAITIO_MPI_Datatype type,
                              WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {
        .n = count, .lengths = WIO_COUNTS(lengths), .places = WIO_COUNTS(places), .type = type};

    return listed("WAITIO_MPI_Type_indexed_c", WAITIO_MPI_COMBINER_INDEXED, true, b, out);
}

int WAITIO_MPI_Type_create_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {
        .n = count, .lengths = WIO_INTS(lengths), .bytes = WIO_AINTS(bytes), .type = type};

    return listed("WAITIO_MPI_Type_create_hindexed", WAITIO_MPI_COMBINER_HINDEXED, false, b, out);
}

int WAITIO_MPI_Type_create_hindexed_c(WAITIO_MPI_Count count, const WAITIO_MPI_Count lengths[],
                                      const WAITIO_MPI_Count bytes[], WAITIO_MPI_Datatype type,
                                      WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {
        .n = count, .lengths = WIO_COUNTS(lengths), .bytes = WIO_COUNTS(bytes), .type = type};

    return listed("WAITIO_MPI_Type_create_hindexed_c", WAITIO_MPI_COMBINER_HINDEXED, true, b, out);
}

int WAITIO_MPI_Type_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                             WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return WAITIO_MPI_Type_create_hindexed(count, lengths, bytes, type, out);
}

int WAITIO_MPI_Type_create_indexed_block(int count, int length, const int places[],
                                         WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .length = length, .places = WIO_INTS(places), .type = type};

    return blocks("WAITIO_MPI_Type_create_indexed_block", WAITIO_MPI_COMBINER_INDEXED_BLOCK, false,
                  b, out);
}

int WAITIO_MPI_Type_create_indexed_block_c(WAITIO_MPI_Count count, WAITIO_MPI_Count length,
                                           const WAITIO_MPI_Count places[],
                                           WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {
        .n = count, .length = length, .places = WIO_COUNTS(places), .type = type};

    return blocks("WAITIO_MPI_Type_create_indexed_block_c", WAITIO_MPI_COMBINER_INDEXED_BLOCK, true,
                  b, out);
}

int WAITIO_MPI_Type_create_hindexed_block(int count, int length, const WAITIO_MPI_Aint bytes[],
                                          WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .length = length, .bytes = WIO_AINTS(bytes), .type = type};

    return blocks("WAITIO_MPI_Type_create_hindexed_block", WAITIO_MPI_COMBINER_HINDEXED_BLOCK,
                  false, b, out);
}

int WAITIO_MPI_Type_create_hindexed_block_c(WAITIO_MPI_Count count, WAITIO_MPI_Count length,
                                            const WAITIO_MPI_Count bytes[],
                                            WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .length = length, .bytes = WIO_COUNTS(bytes), .type = type};

    return blocks("WAITIO_MPI_Type_create_hindexed_block_c", WAITIO_MPI_COMBINER_HINDEXED_BLOCK,
                  true, b, out);
}

static const WAITIO_MPI_Datatype no_types[1]; /* so that "no blocks" may come with NULL */

int WAITIO_MPI_Type_create_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                  const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count,
                           .lengths = WIO_INTS(lengths),
                           .bytes = WIO_AINTS(bytes),
                           .types = types != NULL ? types : no_types};

    return listed("WAITIO_MPI_Type_create_struct", WAITIO_MPI_COMBINER_STRUCT, false, b, out);
}

int WAITIO_MPI_Type_create_struct_c(WAITIO_MPI_Count count, const WAITIO_MPI_Count lengths[],
                                    const WAITIO_MPI_Count bytes[],
                                    const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count,
                           .lengths = WIO_COUNTS(lengths),
                           .bytes = WIO_COUNTS(bytes),
                           .types = types != NULL ? types : no_types};

    return listed("WAITIO_MPI_Type_create_struct_c", WAITIO_MPI_COMBINER_STRUCT, true, b, out);
}

int WAITIO_MPI_Type_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                           const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out)
{
    return WAITIO_MPI_Type_create_struct(count, lengths, bytes, types, out);
}

static int subarray(const char *call, const struct wio_subarray *a, const struct wio_called *how,
                    WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_subarray(a, old, &t);

    return wio_mpi_result(call, named(rc, t, how, out));
}

int WAITIO_MPI_Type_create_subarray(int dims, const int sizes[], const int parts[],
                                    const int starts[], int order, WAITIO_MPI_Datatype type,
                                    WAITIO_MPI_Datatype *out)
{
    struct wio_subarray a = {dims, WIO_INTS(sizes), WIO_INTS(parts), WIO_INTS(starts), order};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_SUBARRAY,
                             .numbers = {{WIO_INTS(&dims), 1},
                                         {a.sizes, dims},
                                         {a.parts, dims},
                                         {a.starts, dims},
                                         {WIO_INTS(&order), 1}},
                             .types = &type,
                             .ntypes = 1};

    return subarray("WAITIO_MPI_Type_create_subarray", &a, &how, type, out);
}

int WAITIO_MPI_Type_create_subarray_c(int dims, const WAITIO_MPI_Count sizes[],
                                      const WAITIO_MPI_Count parts[],
                                      const WAITIO_MPI_Count starts[], int order,
                                      WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_subarray a = {dims, WIO_COUNTS(sizes), WIO_COUNTS(parts), WIO_COUNTS(starts), order};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_SUBARRAY,
                             .numbers = {{WIO_INTS(&dims), 1},
                                         {WIO_INTS(&order), 1},
                                         {a.sizes, dims},
                                         {a.parts, dims},
                                         {a.starts, dims}},
                             .types = &type,
                             .ntypes = 1};

    return subarray("WAITIO_MPI_Type_create_subarray_c", &a, &how, type, out);
}

static int darray(const char *call, const struct wio_darray *d, WAITIO_MPI_Datatype type,
                  WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    const int head[] = {d->processes, d->rank, d->dims};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_DARRAY,
                             .numbers = {{WIO_INTS(head), 3},
                                         {d->sizes, d->dims}, /* wide ones stand apart */
                                         {WIO_INTS(d->how), d->dims},
                                         {WIO_INTS(d->blocks), d->dims},
                                         {WIO_INTS(d->parts), d->dims},
                                         {WIO_INTS(&d->order), 1}},
                             .types = &type,
                             .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_darray(d, old, &t);

    return wio_mpi_result(call, named(rc, t, &how, out));
}

int WAITIO_MPI_Type_create_darray(int processes, int rank, int dims, const int sizes[],
                                  const int distribs[], const int dargs[], const int psizes[],
                                  int order, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_darray d = {processes, rank, dims, WIO_INTS(sizes), distribs, dargs, psizes, order};

    return darray("WAITIO_MPI_Type_create_darray", &d, type, out);
}

int WAITIO_MPI_Type_create_darray_c(int processes, int rank, int dims,
                                    const WAITIO_MPI_Count sizes[], const int distribs[],
                                    const int dargs[], const int psizes[], int order,
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_darray d = {processes, rank,  dims,   WIO_COUNTS(sizes),
                           distribs,  dargs, psizes, order};

    return darray("WAITIO_MPI_Type_create_darray_c", &d, type, out);
}

static int resized(const char *call, const struct wio_called *how, int64_t lb, int64_t extent,
                   WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(how->types[0]);
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_resized(old, lb, extent, &t);

    return wio_mpi_result(call, named(rc, t, how, out));
}

int WAITIO_MPI_Type_create_resized(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint lb,
                                   WAITIO_MPI_Aint extent, WAITIO_MPI_Datatype *out)
{
    const WAITIO_MPI_Aint pair[] = {lb, extent};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_RESIZED,
                             .addresses = pair,
                             .naddresses = 2,
                             .types = &type,
                             .ntypes = 1};

    return resized("WAITIO_MPI_Type_create_resized", &how, lb, extent, out);
}

int WAITIO_MPI_Type_create_resized_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count lb,
                                     WAITIO_MPI_Count extent, WAITIO_MPI_Datatype *out)
{
    const WAITIO_MPI_Count pair[] = {lb, extent};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_RESIZED,
                             .numbers = {{WIO_COUNTS(pair), 2}},
                             .types = &type,
                             .ntypes = 1};

    return resized("WAITIO_MPI_Type_create_resized_c", &how, lb, extent, out);
}

int WAITIO_MPI_Type_dup(WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_DUP, .types = &type, .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_dup(old, &t);

    rc = named(rc, t, &how, out);
    if (rc == 0) {
        rc = wio_attributes_copy(wio_on_type(type), wio_on_type(*out));
        if (rc != 0) {
            (void)wio_type_unname(*out);
            *out = WAITIO_MPI_DATATYPE_NULL;
        }
    }
    return wio_mpi_result("WAITIO_MPI_Type_dup", rc);
}
