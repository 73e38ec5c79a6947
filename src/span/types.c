/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes. The table has ours for each type of the vendor that a message has used; a derived type
 * is taken apart by MPI_Type_get_contents and made again with our constructors. Its entry goes when
 * the program frees the type, so a handle that the vendor uses again is never mistaken.
 */
#include "span/types.h"

#include "os/os.h"
#include "span/call.h"

struct span_table span_types = SPAN_TABLE_INIT;
static struct span_table back = SPAN_TABLE_INIT; /* from ours to the vendor's */

struct pair {
    MPI_Datatype vendors;
    WAITIO_MPI_Datatype ours;
};

static int keep(MPI_Datatype vendors, WAITIO_MPI_Datatype ours)
{
    struct pair *p = wio_os_alloc(sizeof *p);

    if (p == NULL)
        return WAITIO_ERR_NOMEM;
    *p = (struct pair){vendors, ours};
    if (span_table_put(&back, (uintptr_t)ours, p) != 0 ||
        span_table_put(&span_types, SPAN_KEY(vendors), (void *)(intptr_t)ours) != 0) {
        span_table_drop(&back, (uintptr_t)ours, p);
        wio_os_free(p);
        return WAITIO_ERR_NOMEM;
    }
    return 0;
}

MPI_Datatype span_type_back(WAITIO_MPI_Datatype type)
{
    const struct pair *p = span_table_find(&back, (uintptr_t)type);

    return p != NULL ? p->vendors : MPI_DATATYPE_NULL;
}

static bool has_size(WAITIO_MPI_Datatype ours, int bytes)
{
    int size = 0;

    return WAITIO_MPI_Type_size(ours, &size) == 0 && size == bytes;
}

/* Ours of a predefined type. How wide Fortran's are is a choice of who built the vendor's MPI.
 * @return DATATYPE_NULL: we have none of this width */
static WAITIO_MPI_Datatype of_its_width(const struct span_basic_type *b)
{
    static const struct {
        WAITIO_MPI_Datatype usual, wide;
    } pairs[] = {{WAITIO_MPI_INTEGER, WAITIO_MPI_INTEGER8},
                 {WAITIO_MPI_REAL, WAITIO_MPI_REAL8},
                 {WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_REAL16},
                 {WAITIO_MPI_COMPLEX, WAITIO_MPI_COMPLEX16},
                 {WAITIO_MPI_DOUBLE_COMPLEX, WAITIO_MPI_COMPLEX32},
                 {WAITIO_MPI_LOGICAL, WAITIO_MPI_LOGICAL8}};
    int bytes = 0;

    if (PMPI_Type_size(b->vendors, &bytes) != MPI_SUCCESS || has_size(b->ours, bytes))
        return b->ours;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].usual == b->ours && has_size(pairs[i].wide, bytes))
            return pairs[i].wide;
    return WAITIO_MPI_DATATYPE_NULL;
}

int span_types_begin(void)
{
    const struct span_basic_type *list;
    int n, rc = 0;

    list = span_basic_types(&n);
    for (int i = 0; rc == 0 && i < n; i++) {
        WAITIO_MPI_Datatype ours = WAITIO_MPI_DATATYPE_NULL;
        if (list[i].vendors != MPI_DATATYPE_NULL &&
            span_table_find(&span_types, SPAN_KEY(list[i].vendors)) == NULL)
            ours = of_its_width(&list[i]);
        if (ours != WAITIO_MPI_DATATYPE_NULL)
            rc = keep(list[i].vendors, ours);
    }
    return rc;
}

/* ---- derived types ---- */

struct contents {
    int combiner, ni, na, nd;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
    WAITIO_MPI_Datatype *ours; /* of types */
};

static int translate(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh);

static bool is_basic(MPI_Datatype type)
{
    int ni, na, nd, combiner = MPI_COMBINER_NAMED;

    return PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner) != MPI_SUCCESS ||
           combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static void contents_free(struct contents *c)
{
    for (int i = 0; i < c->nd && c->types != NULL; i++)
        if (!is_basic(c->types[i]))
            (void)span_vendor.Type_free(&c->types[i]);
    wio_os_free(c->integers);
    wio_os_free(c->addresses);
    wio_os_free(c->types);
    wio_os_free(c->ours);
}

static int contents_get(MPI_Datatype type, struct contents *c)
{
    *c = (struct contents){0};
    if (PMPI_Type_get_envelope(type, &c->ni, &c->na, &c->nd, &c->combiner) != MPI_SUCCESS)
        return WAITIO_MPI_ERR_TYPE;
    if (c->combiner == MPI_COMBINER_NAMED) /* one that we do not have */
        return WAITIO_MPI_ERR_TYPE;
    int nd = c->nd;
    c->nd = 0; /* until they are there */
    c->integers = wio_os_alloc(((size_t)c->ni + 1) * sizeof *c->integers);
    c->addresses = wio_os_alloc(((size_t)c->na + 1) * sizeof *c->addresses);
    c->types = wio_os_alloc(((size_t)nd + 1) * sizeof(MPI_Datatype));
    c->ours = wio_os_alloc(((size_t)nd + 1) * sizeof *c->ours);
    if (c->integers == NULL || c->addresses == NULL || c->types == NULL || c->ours == NULL)
        return WAITIO_ERR_NOMEM;
    if (PMPI_Type_get_contents(type, c->ni, c->na, nd, c->integers, c->addresses, c->types) !=
        MPI_SUCCESS)
        return WAITIO_MPI_ERR_TYPE;
    c->nd = nd;
    return 0;
}

static int order_of(int vendors)
{
    return vendors == MPI_ORDER_C ? WAITIO_MPI_ORDER_C : WAITIO_MPI_ORDER_FORTRAN;
}

static int distribution_of(int vendors)
{
    return vendors == MPI_DISTRIBUTE_BLOCK    ? WAITIO_MPI_DISTRIBUTE_BLOCK
           : vendors == MPI_DISTRIBUTE_CYCLIC ? WAITIO_MPI_DISTRIBUTE_CYCLIC
                                              : WAITIO_MPI_DISTRIBUTE_NONE;
}

static int make_darray(const struct contents *c, WAITIO_MPI_Datatype *out)
{
    int *i = c->integers, dims = i[2];
    int *sizes = i + 3, *distribs = sizes + dims, *dargs = distribs + dims;

    for (int d = 0; d < dims; d++) {
        distribs[d] = distribution_of(distribs[d]);
        if (dargs[d] == MPI_DISTRIBUTE_DFLT_DARG)
            dargs[d] = WAITIO_MPI_DISTRIBUTE_DFLT_DARG;
    }
    return WAITIO_MPI_Type_create_darray(i[0], i[1], dims, sizes, distribs, dargs, dargs + dims,
                                         order_of(dargs[2 * dims]), c->ours[0], out);
}

static int make_subarray(const struct contents *c, WAITIO_MPI_Datatype *out)
{
    const int *i = c->integers;
    int dims = i[0];

    return WAITIO_MPI_Type_create_subarray(dims, i + 1, i + 1 + dims, i + 1 + 2 * dims,
                                           order_of(i[1 + 3 * dims]), c->ours[0], out);
}

/* Lists of blocks. */
static int make_list(const struct contents *c, WAITIO_MPI_Datatype *out)
{
    const int *i = c->integers;
    int n = i[0];

    switch (c->combiner) {
    case MPI_COMBINER_INDEXED:
        return WAITIO_MPI_Type_indexed(n, i + 1, i + 1 + n, c->ours[0], out);
    case MPI_COMBINER_HINDEXED:
        return WAITIO_MPI_Type_create_hindexed(n, i + 1, c->addresses, c->ours[0], out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return WAITIO_MPI_Type_create_indexed_block(n, i[1], i + 2, c->ours[0], out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return WAITIO_MPI_Type_create_hindexed_block(n, i[1], c->addresses, c->ours[0], out);
    case MPI_COMBINER_STRUCT:
        return WAITIO_MPI_Type_create_struct(n, i + 1, c->addresses, c->ours, out);
    default:
        return WAITIO_MPI_ERR_TYPE;
    }
}

static int make(const struct contents *c, WAITIO_MPI_Datatype *out)
{
    const int *i = c->integers;

    switch (c->combiner) {
    case MPI_COMBINER_DUP:
        return WAITIO_MPI_Type_dup(c->ours[0], out);
    case MPI_COMBINER_CONTIGUOUS:
        return WAITIO_MPI_Type_contiguous(i[0], c->ours[0], out);
    case MPI_COMBINER_VECTOR:
        return WAITIO_MPI_Type_vector(i[0], i[1], i[2], c->ours[0], out);
    case MPI_COMBINER_HVECTOR:
        return WAITIO_MPI_Type_create_hvector(i[0], i[1], c->addresses[0], c->ours[0], out);
    case MPI_COMBINER_RESIZED:
        return WAITIO_MPI_Type_create_resized(c->ours[0], c->addresses[0], c->addresses[1], out);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(c, out);
    case MPI_COMBINER_DARRAY:
        return make_darray(c, out);
    case MPI_COMBINER_F90_REAL:
        return WAITIO_MPI_Type_create_f90_real(i[0], i[1], out);
    case MPI_COMBINER_F90_COMPLEX:
        return WAITIO_MPI_Type_create_f90_complex(i[0], i[1], out);
    case MPI_COMBINER_F90_INTEGER:
        return WAITIO_MPI_Type_create_f90_integer(i[0], out);
    default:
        return make_list(c, out);
    }
}

/* @param[out] fresh: *out is to be freed */
static int translate_derived(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh)
{
    struct contents c;
    int made = 0, rc = contents_get(type, &c);
    bool *inner = rc == 0 ? wio_os_alloc((size_t)c.nd + 1) : NULL;

    if (rc == 0 && inner == NULL)
        rc = WAITIO_ERR_NOMEM;
    for (; rc == 0 && made < c.nd; made++)
        rc = translate(c.types[made], &c.ours[made], &inner[made]);
    rc = rc != 0 ? rc : make(&c, out);
    *fresh = rc == 0 && c.combiner != MPI_COMBINER_F90_REAL &&
             c.combiner != MPI_COMBINER_F90_COMPLEX && c.combiner != MPI_COMBINER_F90_INTEGER;
    for (int i = 0; i < made; i++)
        if (inner[i])
            (void)WAITIO_MPI_Type_free(&c.ours[i]);
    wio_os_free(inner);
    contents_free(&c);
    return rc;
}

static int translate(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh)
{
    void *found = span_table_find(&span_types, SPAN_KEY(type));

    *fresh = false;
    if (found == NULL)
        return translate_derived(type, out, fresh);
    *out = (WAITIO_MPI_Datatype)(intptr_t)found;
    return 0;
}

WAITIO_MPI_Datatype span_type_make(struct span_call *call, MPI_Datatype type)
{
    WAITIO_MPI_Datatype made = WAITIO_MPI_DATATYPE_NULL;
    bool fresh = false;
    int rc;

    if (type == MPI_DATATYPE_NULL)
        return WAITIO_MPI_DATATYPE_NULL; /* our call says what it thinks of it */
    rc = translate(type, &made, &fresh);
    if (rc == 0 && fresh)
        rc = WAITIO_MPI_Type_commit(&made);
    if (rc == 0 && fresh) /* the others need no entry: they are found by their constructor */
        rc = keep(type, made);
    if (rc == 0 && !fresh)
        rc = span_table_put(&span_types, SPAN_KEY(type), (void *)(intptr_t)made);
    if (rc != 0) {
        call->code = WAITIO_MPI_ERR_TYPE;
        call->why = "the datatype has parts that WaitIO does not know";
    }
    return made;
}

/* ---- the end of types ---- */

/* Handles whose end was put off: a function of the program's operator may still ask for them. */
static struct span_late *late;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void forget(MPI_Datatype vendors, WAITIO_MPI_Datatype ours)
{
    struct pair *p = span_table_find(&back, (uintptr_t)ours);

    if (p != NULL && p->vendors == vendors) {
        span_table_drop(&back, (uintptr_t)ours, p);
        wio_os_free(p);
        (void)WAITIO_MPI_Type_free(&ours);
    }
}

static bool put_off(MPI_Datatype vendors, WAITIO_MPI_Datatype ours)
{
    struct span_late *l;

    if (atomic_load(&span_folding) == 0)
        return false;
    l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return false;
    pthread_mutex_lock(&mutex);
    *l = (struct span_late){late, vendors, ours};
    late = l;
    pthread_mutex_unlock(&mutex);
    return true;
}

void span_types_sweep(void)
{
    pthread_mutex_lock(&mutex);
    struct span_late *l = late;
    late = NULL;
    pthread_mutex_unlock(&mutex);
    while (l != NULL) {
        struct span_late *next = l->next;
        forget(l->vendors, l->ours);
        (void)span_vendor.Type_free(&l->vendors);
        wio_os_free(l);
        l = next;
    }
}

int PMPI_Type_free(MPI_Datatype *datatype)
{
    MPI_Datatype type = *datatype;
    void *found = span_table_find(&span_types, SPAN_KEY(type));
    WAITIO_MPI_Datatype ours = (WAITIO_MPI_Datatype)(intptr_t)found;

    if (found == NULL || is_basic(type))
        return span_vendor.Type_free(datatype);
    span_table_drop(&span_types, SPAN_KEY(type), found);
    if (put_off(type, ours)) {
        *datatype = MPI_DATATYPE_NULL;
        return MPI_SUCCESS;
    }
    forget(type, ours);
    return span_vendor.Type_free(datatype);
}
SPAN_NAME(Type_free)

static void pair_free(void *value)
{
    wio_os_free(value);
}

void span_types_end(void)
{
    span_types_sweep();
    span_table_each(&back, pair_free);
    span_table_clear(&back);
    span_table_clear(&span_types);
}
