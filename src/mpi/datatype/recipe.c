/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/datatype/recipe.h"

#include <limits.h>

#include "mpi/mpi.h"
#include "os/os.h"

struct wio_recipe {
    int refs, combiner;
    int64_t nnumbers, naddresses, ncounts, ntypes;
    const struct wio_mpi_type **types; /* with a reference each */
    WAITIO_MPI_Count *counts;          /* of constructors with large counts */
    WAITIO_MPI_Aint *addresses;
    int *numbers;
};

static struct wio_recipe *recipe_new(int64_t nnumbers, int64_t naddresses, int64_t ncounts,
                                     int64_t ntypes)
{
    size_t types = (size_t)ntypes * sizeof(struct wio_mpi_type *);
    size_t counts = (size_t)ncounts * sizeof(WAITIO_MPI_Count);
    size_t addresses = (size_t)naddresses * sizeof(WAITIO_MPI_Aint);
    struct wio_recipe *r =
        wio_os_alloc(sizeof *r + counts + types + addresses + (size_t)nnumbers * sizeof(int));

    if (r == NULL)
        return NULL;
    r->refs = 1;
    r->nnumbers = nnumbers;
    r->naddresses = naddresses;
    r->ncounts = ncounts;
    r->counts = (WAITIO_MPI_Count *)(void *)(r + 1);
    r->types = (const struct wio_mpi_type **)(void *)(r->counts + ncounts);
    r->addresses = (WAITIO_MPI_Aint *)(void *)(r->types + ntypes);
    r->numbers = (int *)(void *)(r->addresses + naddresses);
    return r;
}

static void copy_numbers(const struct wio_called *how, struct wio_recipe *r)
{
    int *number = r->numbers;
    WAITIO_MPI_Count *count = r->counts;

    for (size_t i = 0; i < WIO_ARRAY_LEN(how->numbers); i++) {
        const struct wio_numbers *part = &how->numbers[i];
        for (int64_t k = 0; k < part->n; k++) {
            if (part->list.of == WIO_OF_INT)
                *number++ = (int)wio_int(part->list, k);
            else
                *count++ = wio_int(part->list, k);
        }
    }
}

static void release_one(const struct wio_mpi_type *t, void *with)
{
    (void)with;
    wio_type_release(t);
}

int wio_recipe_keep(struct wio_mpi_type *t, const struct wio_called *how)
{
    struct wio_recipe *r;
    int64_t n[2] = {0, 0};

    for (size_t i = 0; i < WIO_ARRAY_LEN(how->numbers); i++)
        n[how->numbers[i].list.of != WIO_OF_INT] += how->numbers[i].n;
    r = recipe_new(n[0], how->naddresses, n[1], how->ntypes);
    if (r == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the arguments of a type");
    r->combiner = how->combiner;
    copy_numbers(how, r);
    if (r->naddresses > 0)
        memcpy(r->addresses, how->addresses, (size_t)r->naddresses * sizeof *r->addresses);
    for (; r->ntypes < how->ntypes; r->ntypes++) {
        const struct wio_mpi_type *part = wio_mpi_type(how->types[r->ntypes]);
        if (part == NULL) { /* freed by another thread meanwhile */
            wio_recipe_drop(r, release_one, NULL);
            return WAITIO_MPI_ERR_TYPE;
        }
        wio_type_hold(part);
        r->types[r->ntypes] = part;
    }
    t->recipe = r;
    return 0;
}

void wio_recipe_drop(struct wio_recipe *r,
                     void (*release)(const struct wio_mpi_type *t, void *with), void *with)
{
    if (r == NULL || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int64_t i = 0; i < r->ntypes; i++)
        release(r->types[i], with);
    wio_os_free(r);
}

/* ---- questions ---- */

static const struct wio_recipe basic = {.combiner = WAITIO_MPI_COMBINER_NAMED};

/* @param large the call can say what large counts are */
static int recipe_of(WAITIO_MPI_Datatype type, bool large, const struct wio_recipe **r)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);

    if (t == NULL)
        return WAITIO_MPI_ERR_TYPE;
    *r = t->recipe == NULL ? &basic : t->recipe;
    if (large || ((*r)->ncounts == 0 && (*r)->nnumbers <= INT_MAX && (*r)->ntypes <= INT_MAX))
        return 0;
    return wio_fail(WAITIO_MPI_ERR_TYPE,
                    "type %d was made by a constructor with large counts: ask "
                    "Type_get_envelope_c and Type_get_contents_c",
                    type);
}

int WAITIO_MPI_Type_get_envelope(WAITIO_MPI_Datatype type, int *num_integers, int *num_addresses,
                                 int *num_datatypes, int *combiner)
{
    const struct wio_recipe *r = NULL;
    int rc = recipe_of(type, false, &r);

    if (rc == 0)
        rc = wio_mpi_need_both("num_integers", num_integers, "num_addresses", num_addresses);
    if (rc == 0)
        rc = wio_mpi_need_both("num_datatypes", num_datatypes, "combiner", combiner);
    if (rc == 0) {
        *num_integers = (int)r->nnumbers;
        *num_addresses = (int)r->naddresses;
        *num_datatypes = (int)r->ntypes;
        *combiner = r->combiner;
    }
    return wio_mpi_result("WAITIO_MPI_Type_get_envelope", rc);
}

int WAITIO_MPI_Type_get_envelope_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *num_integers,
                                   WAITIO_MPI_Count *num_addresses,
                                   WAITIO_MPI_Count *num_large_counts,
                                   WAITIO_MPI_Count *num_datatypes, int *combiner)
{
    const struct wio_recipe *r = NULL;
    int rc = recipe_of(type, true, &r);

    if (rc == 0)
        rc = wio_mpi_need_both("num_integers", num_integers, "num_addresses", num_addresses);
    if (rc == 0)
        rc =
            wio_mpi_need_both("num_large_counts", num_large_counts, "num_datatypes", num_datatypes);
    if (rc == 0)
        rc = wio_mpi_need("combiner", combiner);
    if (rc == 0) {
        *num_integers = r->nnumbers;
        *num_addresses = r->naddresses;
        *num_large_counts = r->ncounts;
        *num_datatypes = r->ntypes;
        *combiner = r->combiner;
    }
    return wio_mpi_result("WAITIO_MPI_Type_get_envelope_c", rc);
}

/* A handle of its own, which the program frees: the one that it made the type from may be gone. */
static int handle_of(const struct wio_mpi_type *old, WAITIO_MPI_Datatype *out)
{
    struct wio_mpi_type *t = NULL;
    int rc;

    *out = old->id;
    if (old->kind != WIO_KIND_DERIVED)
        return 0;
    rc = wio_derive_dup(old, &t);
    if (rc != 0)
        return rc;
    t->recipe = old->recipe; /* made as the old one was */
    if (t->recipe != NULL)
        __atomic_add_fetch(&t->recipe->refs, 1, __ATOMIC_RELAXED);
    return wio_type_name(t, out);
}

static int handles_of(const struct wio_recipe *r, WAITIO_MPI_Datatype out[])
{
    int64_t done = 0;
    int rc = 0;

    while (rc == 0 && done < r->ntypes) {
        rc = handle_of(r->types[done], &out[done]);
        done += rc == 0;
    }
    while (rc != 0 && done-- > 0)
        if (r->types[done]->kind == WIO_KIND_DERIVED)
            (void)wio_type_unname(out[done]);
    return rc;
}

static int room_for(const char *what, int64_t there, int64_t room, const void *array)
{
    if (there > room)
        return wio_fail(WAITIO_ERR_ARG, "the type has %lld %s, but there is room for %lld",
                        (long long)there, what, (long long)room);
    return there > 0 ? wio_mpi_need(what, array) : 0;
}

/* Where the program wants the contents, and for how many there is room. */
struct contents {
    WAITIO_MPI_Count integers, addresses, counts, types;
    int *integer;
    WAITIO_MPI_Aint *address;
    WAITIO_MPI_Count *count;
    WAITIO_MPI_Datatype *type;
};

static int give(WAITIO_MPI_Datatype type, bool large, const struct contents *to)
{
    const struct wio_recipe *r = NULL;
    int rc = recipe_of(type, large, &r);

    if (rc == 0 && r == &basic)
        rc = wio_fail(WAITIO_MPI_ERR_TYPE, "%s is a basic type: it is made of nothing else",
                      wio_mpi_type(type)->name);
    if (rc == 0)
        rc = room_for("integers", r->nnumbers, to->integers, to->integer);
    if (rc == 0)
        rc = room_for("addresses", r->naddresses, to->addresses, to->address);
    if (rc == 0)
        rc = room_for("large counts", r->ncounts, to->counts, to->count);
    if (rc == 0)
        rc = room_for("datatypes", r->ntypes, to->types, to->type);
    if (rc == 0)
        rc = handles_of(r, to->type);
    if (rc != 0)
        return rc;
    if (r->nnumbers > 0)
        memcpy(to->integer, r->numbers, (size_t)r->nnumbers * sizeof *r->numbers);
    if (r->naddresses > 0)
        memcpy(to->address, r->addresses, (size_t)r->naddresses * sizeof *r->addresses);
    if (r->ncounts > 0)
        memcpy(to->count, r->counts, (size_t)r->ncounts * sizeof *r->counts);
    return 0;
}

int WAITIO_MPI_Type_get_contents(WAITIO_MPI_Datatype type, int max_integers, int max_addresses,
                                 int max_datatypes, int array_of_integers[],
                                 WAITIO_MPI_Aint array_of_addresses[],
                                 WAITIO_MPI_Datatype array_of_datatypes[])
{
    struct contents to = {.integers = max_integers,
                          .addresses = max_addresses,
                          .types = max_datatypes,
                          .integer = array_of_integers,
                          .address = array_of_addresses,
                          .type = array_of_datatypes};

    return wio_mpi_result("WAITIO_MPI_Type_get_contents", give(type, false, &to));
}

int WAITIO_MPI_Type_get_contents_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count max_integers,
                                   WAITIO_MPI_Count max_addresses,
                                   WAITIO_MPI_Count max_large_counts,
                                   WAITIO_MPI_Count max_datatypes, int array_of_integers[],
                                   WAITIO_MPI_Aint array_of_addresses[],
                                   WAITIO_MPI_Count array_of_large_counts[],
                                   WAITIO_MPI_Datatype array_of_datatypes[])
{
    struct contents to = {max_integers,          max_addresses,     max_large_counts,
                          max_datatypes,         array_of_integers, array_of_addresses,
                          array_of_large_counts, array_of_datatypes};

    return wio_mpi_result("WAITIO_MPI_Type_get_contents_c", give(type, true, &to));
}
