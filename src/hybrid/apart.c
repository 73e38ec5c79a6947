/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes of the MPI as datatypes of the conversion library: taken apart, and made anew from the
 * same parts. What was made hangs on the MPI's type as an attribute, and goes with it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"
#include "waitio_hybrid.h"

/* MPI_Type_free() of a type that was translated. */
static int forget(MPI_Datatype type, int keyval, void *value, void *extra)
{
    WAITIO_MPI_Datatype ours = (WAITIO_MPI_Datatype)(intptr_t)value;

    (void)type, (void)keyval, (void)extra;
    (void)WAITIO_MPI_Type_free(&ours);
    return MPI_SUCCESS;
}

/* Made once and kept: types that have it may outlive everything else. */
static int key(int *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int keyval;
    static bool made;
    int rc = MPI_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!made)
        rc = PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL);
    made = made || rc == MPI_SUCCESS;
    *out = keyval;
    pthread_mutex_unlock(&lock);
    return rc;
}

static int unknown_type(MPI_Datatype type, struct wio_hybrid_why *why)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int n = 0;

    (void)PMPI_Type_get_name(type, name, &n);
    return wio_hybrid_fail(why, WAITIO_ERR_UNSUPPORTED,
                           "the conversion library has no type like %s of %s: send its bytes "
                           "(MPI_BYTE) where both sides have the same machine",
                           name[0] != '\0' ? name : "a predefined one", wio_hybrid_loaded());
}

/* Types of Fortran's selected kinds, by class and size. */
static WAITIO_MPI_Datatype kind_type(const struct wio_hybrid_recipe *r, MPI_Datatype type)
{
    static const struct {
        int combiner, size;
        WAITIO_MPI_Datatype ours;
    } kinds[] = {{MPI_COMBINER_F90_REAL, 4, WAITIO_MPI_REAL4},
                 {MPI_COMBINER_F90_REAL, 8, WAITIO_MPI_REAL8},
                 {MPI_COMBINER_F90_REAL, 16, WAITIO_MPI_REAL16},
                 {MPI_COMBINER_F90_COMPLEX, 8, WAITIO_MPI_COMPLEX8},
                 {MPI_COMBINER_F90_COMPLEX, 16, WAITIO_MPI_COMPLEX16},
                 {MPI_COMBINER_F90_COMPLEX, 32, WAITIO_MPI_COMPLEX32},
                 {MPI_COMBINER_F90_INTEGER, 1, WAITIO_MPI_INTEGER1},
                 {MPI_COMBINER_F90_INTEGER, 2, WAITIO_MPI_INTEGER2},
                 {MPI_COMBINER_F90_INTEGER, 4, WAITIO_MPI_INTEGER4},
                 {MPI_COMBINER_F90_INTEGER, 8, WAITIO_MPI_INTEGER8}};
    int size = 0;

    (void)PMPI_Type_size(type, &size);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (kinds[k].combiner == r->combiner && kinds[k].size == size)
            return kinds[k].ours;
    return WAITIO_MPI_DATATYPE_NULL;
}

static int translate(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh,
                     struct wio_hybrid_why *why);

/* Parts first, then the whole, then the parts are given back: the whole keeps what it needs. */
static int make(const struct wio_hybrid_recipe *r, WAITIO_MPI_Datatype *out,
                struct wio_hybrid_why *why)
{
    WAITIO_MPI_Datatype *parts = calloc((size_t)r->nt + 1, sizeof *parts);
    bool *fresh = calloc((size_t)r->nt + 1, sizeof *fresh);
    int rc =
        parts == NULL || fresh == NULL
            ? wio_hybrid_fail(why, WAITIO_ERR_NOMEM, "no memory for a datatype of %d parts", r->nt)
            : 0;

    for (int k = 0; rc == 0 && k < r->nt; k++)
        rc = translate(r->t[k], &parts[k], &fresh[k], why);
    if (rc == 0)
        rc = wio_hybrid_rebuild(r, parts, out, why);
    for (int k = 0; parts != NULL && fresh != NULL && k < r->nt; k++)
        if (fresh[k])
            (void)WAITIO_MPI_Type_free(&parts[k]);
    free(parts);
    free(fresh);
    return rc;
}

/* MPIs differ in how they round up the extent of structures: take this one's. */
static int same_extent(MPI_Datatype type, WAITIO_MPI_Datatype *out, struct wio_hybrid_why *why)
{
    MPI_Aint lb = 0, extent = 0;
    WAITIO_MPI_Aint our_lb = 0, our_extent = 0;
    WAITIO_MPI_Datatype made = *out;
    int rc = PMPI_Type_get_extent(type, &lb, &extent);

    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(why, rc, "MPI_Type_get_extent()");
    rc = WAITIO_MPI_Type_get_extent(made, &our_lb, &our_extent);
    if (rc != 0 || (our_lb == lb && our_extent == extent))
        return rc;
    rc = WAITIO_MPI_Type_create_resized(made, lb, extent, out);
    (void)WAITIO_MPI_Type_free(&made);
    return rc;
}

static int translate(MPI_Datatype type, WAITIO_MPI_Datatype *out, bool *fresh,
                     struct wio_hybrid_why *why)
{
    struct wio_hybrid_recipe r;
    int rc;

    *fresh = false;
    *out = wio_hybrid_named_type(type);
    if (*out != WAITIO_MPI_DATATYPE_NULL)
        return 0;
    rc = wio_hybrid_recipe_get(type, &r, why);
    if (rc == 0 && !r.derived) {
        *out = kind_type(&r, type);
        rc = *out != WAITIO_MPI_DATATYPE_NULL ? 0 : unknown_type(type, why);
    } else if (rc == 0) {
        rc = make(&r, out, why);
        if (rc == 0)
            rc = same_extent(type, out, why);
        *fresh = rc == 0;
    }
    wio_hybrid_recipe_clear(&r);
    return rc;
}

static int translate_cached(MPI_Datatype type, WAITIO_MPI_Datatype *out, struct wio_hybrid_why *why)
{
    int keyval = MPI_KEYVAL_INVALID, found = 0, rc;
    bool fresh = false;
    void *value = NULL;

    *out = wio_hybrid_named_type(type);
    if (*out != WAITIO_MPI_DATATYPE_NULL)
        return 0;
    rc = key(&keyval);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Type_get_attr(type, keyval, &value, &found);
    if (rc != MPI_SUCCESS)
        return wio_hybrid_mpi_error(why, rc, "MPI_Type_get_attr()");
    *out = (WAITIO_MPI_Datatype)(intptr_t)value;
    if (found)
        return 0;
    rc = translate(type, out, &fresh, why);
    if (rc != 0 || !fresh)
        return rc;
    rc = WAITIO_MPI_Type_commit(out);
    if (rc == 0 && PMPI_Type_set_attr(type, keyval, (void *)(intptr_t)*out) != MPI_SUCCESS)
        rc = wio_hybrid_fail(why, WAITIO_ERR_SYSTEM, "MPI_Type_set_attr() of %s failed",
                             wio_hybrid_loaded());
    if (rc != 0)
        (void)WAITIO_MPI_Type_free(out);
    return rc;
}

int waitio_hybrid_type(MPI_Datatype type, WAITIO_MPI_Datatype *out)
{
    static const char call[] = "waitio_hybrid_type";
    char text[512] = "";
    struct wio_hybrid_why why = {text, sizeof text};
    int rc = wio_hybrid_ready(&why);

    if (rc == 0 && (out == NULL || type == MPI_DATATYPE_NULL))
        rc = wio_hybrid_fail(&why, WAITIO_ERR_ARG, "%s: give a datatype and a place for the result",
                             out == NULL ? "out is NULL" : "type is MPI_DATATYPE_NULL");
    if (rc == 0)
        rc = translate_cached(type, out, &why);
    /* Without a text a call of the conversion library failed and has said why. */
    return rc == 0 || text[0] == '\0' ? rc : waitio_inside_error(call, rc, text);
}
