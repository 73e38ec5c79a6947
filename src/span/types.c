/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes. The table has ours for each type of the vendor that a message has used; a derived type
 * is taken apart by MPI_Type_get_contents, made again with our constructors (layouts.c), and gets
 * the vendor's bounds. Its entry goes when the program frees the type, so a handle that the vendor
 * uses again is never mistaken.
 */
#include "span/types.h"

#include "os/os.h"
#include "span/call.h"
#include "span/layouts.h"

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

/* How a type was made. The constructors with large counts (MPI 4) can be asked by calls of their
 * own only, which also tell of all others. */
struct contents {
    int combiner;
    MPI_Count ni, na, nc, nd; /* of integers, addresses, large counts, datatypes */
    MPI_Count *value;         /* the first three, one behind the other */
    MPI_Datatype *types;
    WAITIO_MPI_Datatype *ours; /* of types */
};

static int translate(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh);

static int envelope_get(MPI_Datatype type, struct contents *c)
{
#if MPI_VERSION >= 4
    return PMPI_Type_get_envelope_c(type, &c->ni, &c->na, &c->nc, &c->nd, &c->combiner);
#else
    int ni = 0, na = 0, nd = 0, rc = PMPI_Type_get_envelope(type, &ni, &na, &nd, &c->combiner);

    c->ni = ni;
    c->na = na;
    c->nc = 0;
    c->nd = nd;
    return rc;
#endif
}

/* Fortran's types of a precision are made by calls, but stay: nobody may free them. */
static bool is_f90(int combiner)
{
    return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
           combiner == MPI_COMBINER_F90_INTEGER;
}

static bool is_basic(MPI_Datatype type)
{
    struct contents c = {.combiner = MPI_COMBINER_NAMED};

    return envelope_get(type, &c) != MPI_SUCCESS || c.combiner == MPI_COMBINER_NAMED ||
           is_f90(c.combiner);
}

static void contents_free(struct contents *c)
{
    for (MPI_Count i = 0; i < c->nd && c->types != NULL; i++)
        if (!is_basic(c->types[i]))
            (void)span_vendor.Type_free(&c->types[i]);
    wio_os_free(c->value);
    wio_os_free(c->types);
    wio_os_free(c->ours);
}

/* The arguments, with the integers and addresses where the vendor writes them.
 * @return MPI's code */
static int arguments_get(MPI_Datatype type, struct contents *c, int *integers, MPI_Aint *addresses)
{
    int rc;

#if MPI_VERSION >= 4
    rc = PMPI_Type_get_contents_c(type, c->ni, c->na, c->nc, c->nd, integers, addresses,
                                  c->value + c->ni + c->na, c->types);
#else
    rc = PMPI_Type_get_contents(type, (int)c->ni, (int)c->na, (int)c->nd, integers, addresses,
                                c->types);
#endif
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < c->ni; i++)
        c->value[i] = integers[i];
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < c->na; i++)
        c->value[c->ni + i] = addresses[i];
    return rc;
}

static int contents_get(MPI_Datatype type, struct contents *c)
{
    int *integers, rc = 0;
    MPI_Aint *addresses;
    MPI_Count nd;

    *c = (struct contents){0};
    if (envelope_get(type, c) != MPI_SUCCESS)
        return WAITIO_MPI_ERR_TYPE;
    if (c->combiner == MPI_COMBINER_NAMED) { /* one that we do not have */
        c->nd = 0;
        return WAITIO_MPI_ERR_TYPE;
    }
    integers = wio_os_alloc(((size_t)c->ni + 1) * sizeof *integers);
    addresses = wio_os_alloc(((size_t)c->na + 1) * sizeof *addresses);
    c->value = wio_os_alloc((size_t)(c->ni + c->na + c->nc + 1) * sizeof *c->value);
    c->types = wio_os_alloc(((size_t)c->nd + 1) * sizeof(MPI_Datatype));
    c->ours = wio_os_alloc(((size_t)c->nd + 1) * sizeof *c->ours);
    nd = c->nd;
    if (integers == NULL || addresses == NULL || c->value == NULL || c->types == NULL ||
        c->ours == NULL)
        rc = WAITIO_ERR_NOMEM;
    else if (arguments_get(type, c, integers, addresses) != MPI_SUCCESS)
        rc = WAITIO_MPI_ERR_TYPE;
    c->nd = rc == 0 ? nd : 0; /* those that are to be freed */
    wio_os_free(integers);
    wio_os_free(addresses);
    return rc;
}

/* The bounds are the vendor's: MPIs differ in what they make of parts with bounds of their own and
 * of alignment, and the program's arrays are laid out by what its MPI says. */
static int take_bounds(MPI_Datatype type, WAITIO_MPI_Datatype *made)
{
    MPI_Aint lb = 0, extent = 0;
    MPI_Count size = 0;
    WAITIO_MPI_Count our_size = 0;
    WAITIO_MPI_Aint our_lb = 0, our_extent = 0;
    WAITIO_MPI_Datatype bounded;
    int rc;

    if (PMPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        WAITIO_MPI_Type_size_x(*made, &our_size) != 0 || our_size != size)
        return WAITIO_MPI_ERR_TYPE;
    rc = WAITIO_MPI_Type_get_extent(*made, &our_lb, &our_extent);
    if (rc != 0 || (our_lb == lb && our_extent == extent))
        return rc;
    rc = WAITIO_MPI_Type_create_resized(*made, lb, extent, &bounded);
    if (rc == 0) {
        (void)WAITIO_MPI_Type_free(made);
        *made = bounded;
    }
    return rc;
}

static int make(MPI_Datatype type, const struct contents *c, WAITIO_MPI_Datatype *out, bool *fresh)
{
    struct span_layout layout = {c->combiner, c->nc > 0, c->value, c->ours};
    const MPI_Count *v = c->value;
    int rc;

    switch (c->combiner) {
    case MPI_COMBINER_F90_REAL:
        return WAITIO_MPI_Type_create_f90_real((int)v[0], (int)v[1], out);
    case MPI_COMBINER_F90_COMPLEX:
        return WAITIO_MPI_Type_create_f90_complex((int)v[0], (int)v[1], out);
    case MPI_COMBINER_F90_INTEGER:
        return WAITIO_MPI_Type_create_f90_integer((int)v[0], out);
    default:
        rc = span_layout_make(&layout, out);
        *fresh = rc == 0;
        return rc != 0 ? rc : take_bounds(type, out);
    }
}

/* @param[out] fresh: *out is to be freed, even if the call fails */
static int translate_derived(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh)
{
    struct contents c;
    int rc = contents_get(type, &c);
    MPI_Count made = 0;
    bool *inner = rc == 0 ? wio_os_alloc((size_t)c.nd + 1) : NULL;

    if (rc == 0 && inner == NULL)
        rc = WAITIO_ERR_NOMEM;
    for (; rc == 0 && made < c.nd; made++)
        rc = translate(c.types[made], &c.ours[made], &inner[made]);
    rc = rc != 0 ? rc : make(type, &c, out, fresh);
    for (MPI_Count i = 0; i < made; i++)
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
    if (rc != 0 && fresh)
        (void)WAITIO_MPI_Type_free(&made);
    if (rc != 0) {
        call->code = rc == WAITIO_ERR_NOMEM ? rc : WAITIO_MPI_ERR_TYPE;
        call->why = rc == WAITIO_ERR_NOMEM ? "no memory for its datatype"
                    : rc == WAITIO_MPI_ERR_COUNT || rc == WAITIO_ERR_LIMIT
                        ? "the datatype spans more than 2^63 bytes"
                        : "the datatype is none, or has parts that WaitIO does not know: on a "
                          "communicator that spans jobs use types that MPI's constructors make of "
                          "C's and Fortran's basic types";
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
