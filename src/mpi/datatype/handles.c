/* SPDX-License-Identifier: BSD-3-Clause */
/* Which type a number names, and how long a derived type lives. */
#include "mpi/attributes.h"
#include "mpi/datatype/recipe.h"
#include "mpi/names.h"
#include "os/os.h"

/* Types belong to the process, not to a universe: they may be made before joining. */
static struct wio_names names = WIO_NAMES_INIT;

int64_t wio_type_first_address = 4096;

/* The type whose elements an operator of the program is working on. The program may have freed it
 * since it started the reduction, but its operator gets it as an argument and may ask about it. */
static _Thread_local const struct wio_mpi_type *lent;

const struct wio_mpi_type *wio_type_lend(const struct wio_mpi_type *t)
{
    const struct wio_mpi_type *before = lent;

    lent = t;
    return before;
}

const struct wio_mpi_type *wio_mpi_type(WAITIO_MPI_Datatype id)
{
    const struct wio_mpi_type *type = NULL;

    if (WIO_LIKELY(id > WAITIO_MPI_DEFTAG))
        type = wio_mpi_type_row(id - WAITIO_MPI_DEFTAG - 1);
    if (WIO_UNLIKELY(type == NULL))
        type = wio_names_find(&names, id);
    if (WIO_UNLIKELY(type == NULL) && lent != NULL && lent->id == id)
        type = lent;
    if (WIO_UNLIKELY(type == NULL && id == WAITIO_MPI_DATATYPE_NULL))
        wio_fail(WAITIO_MPI_ERR_TYPE,
                 "the datatype is WAITIO_MPI_DATATYPE_NULL: give one, such as WAITIO_MPI_INT");
    else if (WIO_UNLIKELY(type == NULL))
        wio_fail(WAITIO_MPI_ERR_TYPE,
                 "%d is not a datatype of the conversion library, or was freed (WAITIO_MPI_INT is "
                 "%d; a constant of another MPI library does not work here)",
                 id, WAITIO_MPI_INT);
    return type;
}

int wio_type_use(int64_t count, WAITIO_MPI_Datatype id, const struct wio_mpi_type **type)
{
    const struct wio_mpi_type *t = wio_mpi_type(id);
    int64_t bytes;

    if (WIO_UNLIKELY(t == NULL))
        return WAITIO_MPI_ERR_TYPE;
    if (WIO_UNLIKELY(count < 0))
        return wio_fail(WAITIO_MPI_ERR_COUNT, "count %lld of %s is negative", (long long)count,
                        t->name);
    if (WIO_UNLIKELY(!t->committed))
        return wio_fail(WAITIO_MPI_ERR_TYPE,
                        "derived type %d is not committed: call Type_commit first", id);
    if (WIO_UNLIKELY(__builtin_mul_overflow(count, (int64_t)t->size, &bytes)))
        return wio_fail(WAITIO_ERR_LIMIT, "%lld elements of %zu bytes are more than there can be",
                        (long long)count, t->size);
    *type = t;
    return 0;
}

void wio_type_hold(const struct wio_mpi_type *t)
{
    if (t->kind == WIO_KIND_DERIVED)
        __atomic_add_fetch(&((struct wio_mpi_type *)(uintptr_t)t)->refs, 1, __ATOMIC_RELAXED);
}

/* Give back a reference; who gave the last one back is put on the list *dead. */
static void release_to(const struct wio_mpi_type *t, void *dead)
{
    struct wio_mpi_type *mine = (struct wio_mpi_type *)(uintptr_t)t, **list = dead;

    if (t != NULL && t->kind == WIO_KIND_DERIVED &&
        __atomic_sub_fetch(&mine->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        mine->next_dead = *list;
        *list = mine;
    }
}

/* Types made of types may be a long chain, so this is a loop and no recursion. */
void wio_type_release(const struct wio_mpi_type *t)
{
    struct wio_mpi_type *dead = NULL;

    release_to(t, &dead);
    while (dead != NULL) {
        struct wio_mpi_type *one = dead;
        dead = one->next_dead;
        for (size_t i = 0; i < one->nruns; i++)
            release_to(one->run[i].of, &dead);
        wio_recipe_drop(one->recipe, release_to, &dead);
        wio_attributes_free(one->attributes);
        wio_os_free(one->label);
        wio_os_free(one);
    }
}

int wio_type_name(struct wio_mpi_type *t, WAITIO_MPI_Datatype *id)
{
    int rc = wio_names_add(&names, t, "derived type", &t->id);

    if (rc == 0)
        *id = t->id;
    else
        wio_type_release(t);
    return rc;
}

int wio_type_unname(WAITIO_MPI_Datatype id)
{
    struct wio_mpi_type *t = wio_names_find(&names, id);

    if (t != NULL && t->kind == WIO_KIND_DERIVED && wio_names_drop(&names, id) == t) {
        wio_type_release(t);
        return 0;
    }
    return wio_mpi_type(id) == NULL
               ? WAITIO_ERR_ARG
               : wio_fail(WAITIO_ERR_ARG, "%s is a basic type and cannot be freed",
                          wio_mpi_type(id)->name);
}

size_t wio_type_named(void)
{
    return names.used;
}
