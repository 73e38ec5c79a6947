/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls about datatypes. */
#include <limits.h>

#include "mpi/attributes.h"
#include "mpi/datatype/derive.h"
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

static int blocks(const char *call, int combiner, struct wio_blocks b, WAITIO_MPI_Datatype *out)
{
    struct wio_called how = {
        combiner,
        {{&b.n, 1}, {b.lengths != NULL ? b.lengths : &b.length, b.lengths != NULL ? b.n : 1}},
        b.bytes,
        b.bytes != NULL ? b.n : 0,
        b.types != NULL ? b.types : &b.type,
        b.types != NULL ? b.n : 1};
    struct wio_mpi_type *t = NULL;
    const struct wio_mpi_type *old = b.types != NULL ? NULL : wio_mpi_type(b.type);
    int rc = b.types == NULL && old == NULL ? WAITIO_ERR_ARG : 0;

    if (b.places != NULL)
        how.numbers[2] = (struct wio_numbers){b.places, b.n};
    if (old != NULL)
        b.scale = wio_type_extent(old);
    if (rc == 0)
        rc = wio_derive_blocks(&b, combiner == WAITIO_MPI_COMBINER_STRUCT, &t);
    return wio_mpi_result(call, named(rc, t, &how, out));
}

/* @p stride: in bytes for COMBINER_HVECTOR, else in elements. */
static int vector(const char *call, int combiner, int n, int length, int64_t stride,
                  WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    struct wio_mpi_type *t = NULL;
    WAITIO_MPI_Aint address = stride;
    int elements = (int)stride, rc = old == NULL ? WAITIO_ERR_ARG : 0;
    struct wio_called how = {combiner, {{&n, 1}}, &address, 0, &type, 1};

    if (combiner != WAITIO_MPI_COMBINER_CONTIGUOUS)
        how.numbers[1] = (struct wio_numbers){&length, 1};
    if (combiner == WAITIO_MPI_COMBINER_VECTOR)
        how.numbers[2] = (struct wio_numbers){&elements, 1};
    if (combiner == WAITIO_MPI_COMBINER_HVECTOR)
        how.naddresses = 1;
    else if (rc == 0)
        rc = wio_type_scale(stride, wio_type_extent(old), &stride);
    if (rc == 0)
        rc = wio_derive_vector(n, length, stride, old, &t);
    return wio_mpi_result(call, named(rc, t, &how, out));
}

/* Blocks whose lengths the program lists. */
static int listed(const char *call, int combiner, struct wio_blocks b, WAITIO_MPI_Datatype *out)
{
    int rc = b.n > 0 ? wio_mpi_need("lengths", b.lengths) : 0;

    return rc != 0 ? wio_mpi_result(call, rc) : blocks(call, combiner, b, out);
}

int WAITIO_MPI_Type_contiguous(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_contiguous", WAITIO_MPI_COMBINER_CONTIGUOUS, count, 1, 1, type,
                  out);
}

int WAITIO_MPI_Type_vector(int count, int length, int stride, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_vector", WAITIO_MPI_COMBINER_VECTOR, count, length, stride, type,
                  out);
}

int WAITIO_MPI_Type_create_hvector(int count, int length, WAITIO_MPI_Aint stride,
                                   WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_create_hvector", WAITIO_MPI_COMBINER_HVECTOR, count, length,
                  stride, type, out);
}

int WAITIO_MPI_Type_hvector(int count, int length, WAITIO_MPI_Aint stride, WAITIO_MPI_Datatype type,
                            WAITIO_MPI_Datatype *out)
{
    return vector("WAITIO_MPI_Type_hvector", WAITIO_MPI_COMBINER_HVECTOR, count, length, stride,
                  type, out);
}

int WAITIO_MPI_Type_indexed(int count, const int lengths[], const int places[],
                            WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .lengths = lengths, .places = places, .type = type};

    return listed("WAITIO_MPI_Type_indexed", WAITIO_MPI_COMBINER_INDEXED, b, out);
}

int WAITIO_MPI_Type_create_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                    WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .lengths = lengths, .bytes = bytes, .type = type};

    return listed("WAITIO_MPI_Type_create_hindexed", WAITIO_MPI_COMBINER_HINDEXED, b, out);
}

int WAITIO_MPI_Type_hindexed(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                             WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    return WAITIO_MPI_Type_create_hindexed(count, lengths, bytes, type, out);
}

int WAITIO_MPI_Type_create_indexed_block(int count, int length, const int places[],
                                         WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .length = length, .places = places, .type = type};

    return blocks("WAITIO_MPI_Type_create_indexed_block", WAITIO_MPI_COMBINER_INDEXED_BLOCK, b,
                  out);
}

int WAITIO_MPI_Type_create_hindexed_block(int count, int length, const WAITIO_MPI_Aint bytes[],
                                          WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_blocks b = {.n = count, .length = length, .bytes = bytes, .type = type};

    return blocks("WAITIO_MPI_Type_create_hindexed_block", WAITIO_MPI_COMBINER_HINDEXED_BLOCK, b,
                  out);
}

int WAITIO_MPI_Type_create_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                                  const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out)
{
    static const WAITIO_MPI_Datatype none[1]; /* so that "no blocks" may come with NULL */
    struct wio_blocks b = {
        .n = count, .lengths = lengths, .bytes = bytes, .types = types != NULL ? types : none};

    return listed("WAITIO_MPI_Type_create_struct", WAITIO_MPI_COMBINER_STRUCT, b, out);
}

int WAITIO_MPI_Type_struct(int count, const int lengths[], const WAITIO_MPI_Aint bytes[],
                           const WAITIO_MPI_Datatype types[], WAITIO_MPI_Datatype *out)
{
    return WAITIO_MPI_Type_create_struct(count, lengths, bytes, types, out);
}

int WAITIO_MPI_Type_create_subarray(int dims, const int sizes[], const int parts[],
                                    const int starts[], int order, WAITIO_MPI_Datatype type,
                                    WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    struct wio_called how = {
        .combiner = WAITIO_MPI_COMBINER_SUBARRAY,
        .numbers = {{&dims, 1}, {sizes, dims}, {parts, dims}, {starts, dims}, {&order, 1}},
        .types = &type,
        .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG
                         : wio_derive_subarray(dims, sizes, parts, starts, order, old, &t);

    return wio_mpi_result("WAITIO_MPI_Type_create_subarray", named(rc, t, &how, out));
}

int WAITIO_MPI_Type_create_darray(int processes, int rank, int dims, const int sizes[],
                                  const int distribs[], const int dargs[], const int psizes[],
                                  int order, WAITIO_MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    struct wio_darray d = {processes, rank, dims, sizes, distribs, dargs, psizes, order};
    const struct wio_mpi_type *old = wio_mpi_type(type);
    const int head[] = {processes, rank, dims};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_DARRAY,
                             .numbers = {{head, 3},
                                         {sizes, dims},
                                         {distribs, dims},
                                         {dargs, dims},
                                         {psizes, dims},
                                         {&order, 1}},
                             .types = &type,
                             .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_darray(&d, old, &t);

    return wio_mpi_result("WAITIO_MPI_Type_create_darray", named(rc, t, &how, out));
}

int WAITIO_MPI_Type_create_resized(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint lb,
                                   WAITIO_MPI_Aint extent, WAITIO_MPI_Datatype *out)
{
    const struct wio_mpi_type *old = wio_mpi_type(type);
    const WAITIO_MPI_Aint pair[] = {lb, extent};
    struct wio_called how = {.combiner = WAITIO_MPI_COMBINER_RESIZED,
                             .addresses = pair,
                             .naddresses = 2,
                             .types = &type,
                             .ntypes = 1};
    struct wio_mpi_type *t = NULL;
    int rc = old == NULL ? WAITIO_ERR_ARG : wio_derive_resized(old, lb, extent, &t);

    return wio_mpi_result("WAITIO_MPI_Type_create_resized", named(rc, t, &how, out));
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

int WAITIO_MPI_Type_commit(WAITIO_MPI_Datatype *type)
{
    const struct wio_mpi_type *t = type == NULL ? NULL : wio_mpi_type(*type);
    int rc = type == NULL ? wio_fail(WAITIO_ERR_ARG, "the type argument is NULL")
             : t == NULL  ? WAITIO_ERR_ARG
                          : 0;

    if (rc == 0 && !t->committed)
        ((struct wio_mpi_type *)(uintptr_t)t)->committed = true;
    return wio_mpi_result("WAITIO_MPI_Type_commit", rc);
}

int WAITIO_MPI_Type_free(WAITIO_MPI_Datatype *type)
{
    const struct wio_mpi_type *t = type == NULL ? NULL : wio_mpi_type(*type);
    int rc = type == NULL ? wio_fail(WAITIO_ERR_ARG, "the type argument is NULL")
             : t == NULL  ? WAITIO_ERR_ARG
                          : 0;

    if (rc == 0 && t->kind == WIO_KIND_DERIVED)
        rc = wio_attributes_end(wio_on_type(*type));
    if (rc == 0)
        rc = wio_type_unname(*type);
    if (rc == 0)
        *type = WAITIO_MPI_DATATYPE_NULL;
    return wio_mpi_result("WAITIO_MPI_Type_free", rc);
}

/* ---- questions ---- */

int WAITIO_MPI_Type_size(WAITIO_MPI_Datatype type, int *size)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need("size", size);

    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Type_size", rc);
    *size = t->size > INT_MAX ? WAITIO_MPI_UNDEFINED : (int)t->size;
    return 0;
}

int waitio_mpi_type_size(WAITIO_MPI_Datatype type, int *size)
{
    return WAITIO_MPI_Type_size(type, size);
}

static int bounds(const char *call, WAITIO_MPI_Datatype type, bool of_data, WAITIO_MPI_Aint *lb,
                  WAITIO_MPI_Aint *extent)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);

    if (t == NULL)
        return wio_mpi_result(call, WAITIO_ERR_ARG);
    if (lb != NULL)
        *lb = of_data ? t->true_lb : t->lb;
    if (extent != NULL)
        *extent = of_data ? t->true_ub - t->true_lb : t->ub - t->lb;
    return 0;
}

int WAITIO_MPI_Type_get_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                               WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_get_extent", type, false, lb, extent);
}

int WAITIO_MPI_Type_get_true_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                                    WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_get_true_extent", type, true, lb, extent);
}

int WAITIO_MPI_Type_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_extent", type, false, NULL, extent);
}

int WAITIO_MPI_Type_lb(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb)
{
    return bounds("WAITIO_MPI_Type_lb", type, false, lb, NULL);
}

int WAITIO_MPI_Type_ub(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *ub)
{
    WAITIO_MPI_Aint lb = 0;
    int rc = wio_mpi_need("displacement", ub);

    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Type_ub", rc);
    rc = bounds("WAITIO_MPI_Type_ub", type, false, &lb, ub);
    if (rc == 0)
        *ub += lb;
    return rc;
}

int WAITIO_MPI_Get_address(const void *at, WAITIO_MPI_Aint *address)
{
    int rc = wio_mpi_need("address", address);

    if (rc == 0)
        *address = (WAITIO_MPI_Aint)at;
    return wio_mpi_result("WAITIO_MPI_Get_address", rc);
}

int WAITIO_MPI_Address(const void *at, WAITIO_MPI_Aint *address)
{
    return WAITIO_MPI_Get_address(at, address);
}

int wio_mpi_count_of(size_t bytes, const struct wio_mpi_type *t)
{
    if (t->size == 0)
        return bytes == 0 ? 0 : WAITIO_MPI_UNDEFINED;
    return bytes % t->size != 0 || bytes / t->size > INT_MAX ? WAITIO_MPI_UNDEFINED
                                                             : (int)(bytes / t->size);
}

int wio_mpi_elements_of(size_t bytes, const struct wio_mpi_type *t)
{
    int64_t n = wio_type_elements(t, bytes);

    return n < 0 || n > INT_MAX ? WAITIO_MPI_UNDEFINED : (int)n;
}

static int count_in(const char *call, const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                    int (*ask)(size_t, const struct wio_mpi_type *), int *count)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need("count", count);

    if (rc == 0)
        rc = wio_mpi_need_status(status);
    if (rc != 0)
        return wio_mpi_result(call, rc);
    *count = ask(status->waitio_bytes, t);
    return 0;
}

int WAITIO_MPI_Get_count(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count)
{
    return count_in("WAITIO_MPI_Get_count", status, type, wio_mpi_count_of, count);
}

int WAITIO_MPI_Get_elements(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count)
{
    return count_in("WAITIO_MPI_Get_elements", status, type, wio_mpi_elements_of, count);
}

/* ---- packing by hand ---- */

/* What both directions check: the packed bytes lie in the buffer from @p at on. *turn: their
 * numbers are in the common form of unlike machines, which is not ours. */
static int part(const void *data, int count, WAITIO_MPI_Datatype type, const void *packed, int room,
                const int *at, WAITIO_MPI_Comm comm, const struct wio_mpi_type **t, size_t *n,
                bool *turn)
{
    struct wio_comm *unlike = NULL;
    int rc = wio_type_use(count, type, t);

    if (rc == 0)
        rc = wio_comm_formats(comm, *t, &unlike);
    if (rc != 0)
        return rc;
    *turn = unlike != NULL;
    *n = (size_t)count * (*t)->size;
    if (data == NULL && *n > 0 && !wio_type_absolute(*t))
        return wio_fail(WAITIO_ERR_ARG, "the data is at NULL, but has %zu bytes", *n);
    if (at == NULL || *at < 0 || room < *at || *n > (size_t)(room - *at))
        return wio_fail(WAITIO_ERR_TRUNCATE, "%zu bytes at position %d of a buffer of %d bytes", *n,
                        at == NULL ? 0 : *at, room);
    return *n > 0 ? wio_mpi_need("packed buffer's", packed) : 0;
}

int WAITIO_MPI_Pack(const void *in, int count, WAITIO_MPI_Datatype type, void *out, int room,
                    int *position, WAITIO_MPI_Comm comm)
{
    const struct wio_mpi_type *t;
    size_t n;
    bool turn;
    int rc = part(in, count, type, out, room, position, comm, &t, &n, &turn);

    if (rc == 0) {
        wio_type_pack(t, in, 0, n, (char *)out + *position);
        if (turn)
            wio_type_swap(t, n, (char *)out + *position);
        *position += (int)n;
    }
    return wio_mpi_result("WAITIO_MPI_Pack", rc);
}

int WAITIO_MPI_Unpack(const void *in, int room, int *position, void *out, int count,
                      WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm)
{
    const struct wio_mpi_type *t;
    size_t n;
    bool turn;
    void *copy = NULL;
    int rc = part(out, count, type, in, room, position, comm, &t, &n, &turn);

    if (rc == 0 && turn && n > 0) {
        copy = wio_os_alloc(n);
        rc = copy != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory to turn %zu bytes", n);
    }
    if (rc == 0) {
        const void *from = (const char *)in + *position;
        if (copy != NULL) {
            memcpy(copy, from, n);
            wio_type_swap(t, n, copy);
            from = copy;
        }
        wio_type_unpack(t, out, 0, n, from);
        *position += (int)n;
    }
    wio_os_free(copy);
    return wio_mpi_result("WAITIO_MPI_Unpack", rc);
}

int WAITIO_MPI_Pack_size(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Comm comm, int *size)
{
    const struct wio_mpi_type *t;
    int rc = wio_type_use(count, type, &t);

    (void)comm;
    if (rc == 0 && t->size > 0 && (size_t)count > INT_MAX / t->size)
        rc = wio_fail(WAITIO_ERR_LIMIT, "%d elements of %zu bytes exceed an int", count, t->size);
    if (rc == 0)
        *size = count * (int)t->size;
    return wio_mpi_result("WAITIO_MPI_Pack_size", rc);
}
