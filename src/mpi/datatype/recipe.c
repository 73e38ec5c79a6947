/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/datatype/recipe.h"

#include "mpi/datatype/derive.h"
#include "mpi/mpi.h"
#include "os/os.h"

struct wio_recipe {
    int refs, combiner;
    int nnumbers, naddresses, ntypes;
    const struct wio_mpi_type **types; /* with a reference each */
    WAITIO_MPI_Aint *addresses;
    int *numbers;
};

static struct wio_recipe *recipe_new(int nnumbers, int naddresses, int ntypes)
{
    size_t types = (size_t)ntypes * sizeof(struct wio_mpi_type *);
    size_t addresses = (size_t)naddresses * sizeof(WAITIO_MPI_Aint);
    struct wio_recipe *r =
        wio_os_alloc(sizeof *r + types + addresses + (size_t)nnumbers * sizeof(int));

    if (r == NULL)
        return NULL;
    r->refs = 1;
    r->nnumbers = nnumbers;
    r->naddresses = naddresses;
    r->types = (const struct wio_mpi_type **)(void *)(r + 1);
    r->addresses = (WAITIO_MPI_Aint *)(void *)(r->types + ntypes);
    r->numbers = (int *)(void *)(r->addresses + naddresses);
    return r;
}

static void copy_numbers(const struct wio_called *how, int *to)
{
    for (size_t i = 0; i < WIO_ARRAY_LEN(how->numbers); i++) {
        const struct wio_numbers *part = &how->numbers[i];
        if (part->n > 0)
            memcpy(to, part->at, (size_t)part->n * sizeof *to);
        to += part->n;
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
    int n = 0;

    for (size_t i = 0; i < WIO_ARRAY_LEN(how->numbers); i++)
        n += how->numbers[i].n;
    r = recipe_new(n, how->naddresses, how->ntypes);
    if (r == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the arguments of a type");
    r->combiner = how->combiner;
    copy_numbers(how, r->numbers);
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
    for (int i = 0; i < r->ntypes; i++)
        release(r->types[i], with);
    wio_os_free(r);
}

/* ---- questions ---- */

int WAITIO_MPI_Type_get_envelope(WAITIO_MPI_Datatype type, int *num_integers, int *num_addresses,
                                 int *num_datatypes, int *combiner)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL
                 ? WAITIO_MPI_ERR_TYPE
                 : wio_mpi_need_both("num_integers", num_integers, "num_addresses", num_addresses);

    if (rc == 0)
        rc = wio_mpi_need_both("num_datatypes", num_datatypes, "combiner", combiner);
    if (rc == 0) {
        const struct wio_recipe *r = t->recipe;
        *num_integers = r == NULL ? 0 : r->nnumbers;
        *num_addresses = r == NULL ? 0 : r->naddresses;
        *num_datatypes = r == NULL ? 0 : r->ntypes;
        *combiner = r == NULL ? WAITIO_MPI_COMBINER_NAMED : r->combiner;
    }
    return wio_mpi_result("WAITIO_MPI_Type_get_envelope", rc);
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
    int rc = 0, done = 0;

    while (rc == 0 && done < r->ntypes) {
        rc = handle_of(r->types[done], &out[done]);
        done += rc == 0;
    }
    while (rc != 0 && done-- > 0)
        if (r->types[done]->kind == WIO_KIND_DERIVED)
            (void)wio_type_unname(out[done]);
    return rc;
}

static int room_for(const char *what, int there, int room, const void *array)
{
    if (there > room)
        return wio_fail(WAITIO_ERR_ARG, "the type has %d %s, but there is room for %d", there, what,
                        room);
    return there > 0 ? wio_mpi_need(what, array) : 0;
}

int WAITIO_MPI_Type_get_contents(WAITIO_MPI_Datatype type, int max_integers, int max_addresses,
                                 int max_datatypes, int array_of_integers[],
                                 WAITIO_MPI_Aint array_of_addresses[],
                                 WAITIO_MPI_Datatype array_of_datatypes[])
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    const struct wio_recipe *r = t == NULL ? NULL : t->recipe;
    int rc = t == NULL   ? WAITIO_MPI_ERR_TYPE
             : r == NULL ? wio_fail(WAITIO_MPI_ERR_TYPE,
                                    "%s is a basic type: it is made of nothing else", t->name)
                         : room_for("integers", r->nnumbers, max_integers, array_of_integers);

    if (rc == 0)
        rc = room_for("addresses", r->naddresses, max_addresses, array_of_addresses);
    if (rc == 0)
        rc = room_for("datatypes", r->ntypes, max_datatypes, array_of_datatypes);
    if (rc == 0)
        rc = handles_of(r, array_of_datatypes);
    if (rc == 0 && r->nnumbers > 0)
        memcpy(array_of_integers, r->numbers, (size_t)r->nnumbers * sizeof *r->numbers);
    if (rc == 0 && r->naddresses > 0)
        memcpy(array_of_addresses, r->addresses, (size_t)r->naddresses * sizeof *r->addresses);
    return wio_mpi_result("WAITIO_MPI_Type_get_contents", rc);
}
