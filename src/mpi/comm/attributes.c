/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/comm/attributes.h"

#include <limits.h>

#include "api/api.h"
#include "mpi/comm/state.h"
#include "mpi/names.h"
#include "os/os.h"

struct keyval {
    enum wio_attribute_language language;
    wio_any_fn *copy, *gone;
    intptr_t extra;
    int number, refs; /* refs: the program's handle and every value */
};

struct wio_attribute {
    struct wio_attribute *next; /* set before this one */
    struct keyval *key;
    int keyval;
    enum wio_attribute_language language;
    intptr_t value;
    bool going; /* its delete function runs */
};

static struct wio_names names = WIO_NAMES_INIT;

static void release(struct keyval *k)
{
    if (__atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) == 0)
        wio_os_free(k);
}

int wio_keyval_new(enum wio_attribute_language language, wio_any_fn *copy, wio_any_fn *gone,
                   intptr_t extra, int *keyval)
{
    struct keyval *k = wio_os_alloc(sizeof *k);
    int rc = k == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for an attribute key")
                       : wio_names_add(&names, k, "attribute key", &k->number);

    if (rc != 0) {
        wio_os_free(k);
        return rc;
    }
    k->language = language;
    k->copy = copy;
    k->gone = gone;
    k->extra = extra;
    k->refs = 1;
    *keyval = k->number;
    return 0;
}

int wio_keyval_free(int *keyval)
{
    struct keyval *k = wio_names_drop(&names, *keyval);

    if (k == NULL)
        return wio_fail(WAITIO_MPI_ERR_KEYVAL,
                        "%d is not an attribute key of this program, or was freed", *keyval);
    release(k);
    *keyval = WAITIO_MPI_KEYVAL_INVALID;
    return 0;
}

/* ---- what the library says about itself ---- */

static int number_of(int keyval, int *number)
{
    static const int fixed[][2] = {{WAITIO_MPI_TAG_UB, INT_MAX},
                                   {WAITIO_MPI_HOST, WAITIO_MPI_PROC_NULL},
                                   {WAITIO_MPI_IO, WAITIO_MPI_ANY_SOURCE},
                                   {WAITIO_MPI_WTIME_IS_GLOBAL, 0}};

    for (size_t i = 0; i < WIO_ARRAY_LEN(fixed); i++)
        if (fixed[i][0] == keyval) {
            *number = fixed[i][1];
            return 0;
        }
    if (keyval == WAITIO_MPI_LASTUSEDCODE) {
        *number = wio_mpi_last_used_code();
        return 0;
    }
    return keyval == WAITIO_MPI_UNIVERSE_SIZE ? waitio_universe_size(number)
                                              : waitio_pb_rank(number);
}

static bool is_ours(int keyval)
{
    return keyval >= WAITIO_MPI_TAG_UB && keyval <= WAITIO_MPI_LASTUSEDCODE;
}

/* C gets the address of a number. It is the same for all communicators, so it is stored once. */
static int ask_library(int keyval, enum wio_attribute_language language, intptr_t *value)
{
    static int numbers[WAITIO_MPI_LASTUSEDCODE + 1];
    int number = 0, rc = number_of(keyval, &number);

    __atomic_store_n(&numbers[keyval], number, __ATOMIC_RELAXED);
    *value = language == WIO_IN_C ? (intptr_t)&numbers[keyval] : number;
    return rc;
}

/* ---- values ---- */

/* The link to the value of a key, or the end of the list. */
static struct wio_attribute **place_of(struct wio_comm *c, int keyval)
{
    struct wio_attribute **at = &c->attributes;

    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

typedef int c_delete_fn(WAITIO_MPI_Comm comm, int keyval, void *value, void *extra);
typedef void f_delete_fn(int32_t *comm, int32_t *keyval, intptr_t *value, intptr_t *extra,
                         int32_t *ierr);
typedef void f1_delete_fn(int32_t *comm, int32_t *keyval, int32_t *value, int32_t *extra,
                          int32_t *ierr);

/* What a function of the key's language gets for a value set in any language. */
static intptr_t seen_by(const struct wio_attribute *a, enum wio_attribute_language language)
{
    if (language == WIO_IN_C && a->language != WIO_IN_C)
        return (intptr_t)&a->value;
    return language == WIO_IN_FORTRAN_1 ? (int32_t)a->value : a->value;
}

static int ask_delete(WAITIO_MPI_Comm comm, const struct wio_attribute *a)
{
    const struct keyval *k = a->key;
    intptr_t value = seen_by(a, k->language), extra = k->extra;
    int32_t handle = 0, keyval = a->keyval, said = 0, small = (int32_t)value,
            extra_small = (int32_t)extra;

    if (k->gone == NULL)
        return 0;
    if (k->language == WIO_IN_C)
        return ((c_delete_fn *)k->gone)(comm, keyval, (void *)value, (void *)extra);
    (void)wio_mpi_handle_new(comm, &handle);
    if (k->language == WIO_IN_FORTRAN)
        ((f_delete_fn *)k->gone)(&handle, &keyval, &value, &extra, &said);
    else
        ((f1_delete_fn *)k->gone)(&handle, &keyval, &small, &extra_small, &said);
    return said;
}

static int said(const char *what, int keyval, int code)
{
    return code == 0 ? 0
                     : wio_fail(WAITIO_ERR_ARG, "the %s function of attribute key %d returned %d",
                                what, keyval, code);
}

/* Unlink one, unless its function objects. The function may set and delete other attributes of the
 * communicator, so the link is looked for after it. */
static int drop(WAITIO_MPI_Comm comm, struct wio_comm *c, struct wio_attribute *a)
{
    struct wio_attribute **at = &c->attributes;
    int rc;

    if (a->going)
        return wio_fail(WAITIO_ERR_ARG, "attribute %d is being deleted: its delete function runs",
                        a->keyval);
    a->going = true;
    rc = said("delete", a->keyval, ask_delete(comm, a));
    a->going = false;
    if (rc != 0)
        return rc;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    release(a->key);
    wio_os_free(a);
    return 0;
}

static int set(WAITIO_MPI_Comm comm, struct wio_comm *c, int keyval, struct keyval *k,
               enum wio_attribute_language language, intptr_t value)
{
    struct wio_attribute *a = *place_of(c, keyval);
    int rc = a == NULL ? 0 : drop(comm, c, a);

    if (rc != 0)
        return rc;
    a = wio_os_alloc(sizeof *a);
    if (a == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for an attribute");
    *a = (struct wio_attribute){c->attributes, k, keyval, language, value, false};
    __atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
    c->attributes = a;
    return 0;
}

int wio_attribute_set(WAITIO_MPI_Comm comm, int keyval, enum wio_attribute_language language,
                      intptr_t value)
{
    struct keyval *k = wio_names_find(&names, keyval);
    struct wio_comm *c;
    int rc = k == NULL ? wio_fail(WAITIO_MPI_ERR_KEYVAL,
                                  is_ours(keyval)
                                      ? "attribute %d is the library's and cannot be set"
                                      : "%d is not an attribute key of this program, or was freed",
                                  keyval)
                       : wio_comm_get(comm, &c);

    return rc != 0 ? rc : set(comm, c, keyval, k, language, value);
}

int wio_attribute_get(WAITIO_MPI_Comm comm, int keyval, enum wio_attribute_language language,
                      intptr_t *value, int *flag)
{
    struct wio_comm *c;
    const struct wio_attribute *a;
    int rc = wio_comm_get(comm, &c);

    *flag = rc == 0;
    if (rc != 0 || is_ours(keyval))
        return rc != 0 ? rc : ask_library(keyval, language, value);
    a = *place_of(c, keyval);
    *flag = a != NULL;
    if (a != NULL)
        *value = seen_by(a, language);
    else if (wio_names_find(&names, keyval) == NULL)
        return wio_fail(WAITIO_MPI_ERR_KEYVAL, "%d is not an attribute key", keyval);
    return 0;
}

int wio_attribute_delete(WAITIO_MPI_Comm comm, int keyval)
{
    struct wio_attribute *a = NULL;
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0)
        a = *place_of(c, keyval);
    if (rc == 0 && a == NULL)
        rc = wio_fail(WAITIO_MPI_ERR_KEYVAL, "the communicator has no attribute %d", keyval);
    return rc != 0 ? rc : drop(comm, c, a);
}

/* ---- duplicates and ends ---- */

typedef int c_copy_fn(WAITIO_MPI_Comm from, int keyval, void *extra, void *in, void *out,
                      int *flag);
typedef void f_copy_fn(int32_t *from, int32_t *keyval, intptr_t *extra, intptr_t *in, intptr_t *out,
                       int32_t *flag, int32_t *ierr);
typedef void f1_copy_fn(int32_t *from, int32_t *keyval, int32_t *extra, int32_t *in, int32_t *out,
                        int32_t *flag, int32_t *ierr);

/* *flag: the new communicator gets *out. */
static int ask_copy(WAITIO_MPI_Comm from, const struct wio_attribute *a, intptr_t *out, int *flag)
{
    const struct keyval *k = a->key;
    intptr_t in = seen_by(a, k->language), extra = k->extra;
    int32_t handle = 0, keyval = a->keyval, code = 0, small = (int32_t)in,
            extra_small = (int32_t)extra, out_small = 0;

    *flag = 0;
    if (k->copy == NULL)
        return 0;
    if (k->language == WIO_IN_C)
        return ((c_copy_fn *)k->copy)(from, keyval, (void *)extra, (void *)in, out, flag);
    (void)wio_mpi_handle_new(from, &handle);
    if (k->language == WIO_IN_FORTRAN) {
        ((f_copy_fn *)k->copy)(&handle, &keyval, &extra, &in, out, flag, &code);
    } else {
        ((f1_copy_fn *)k->copy)(&handle, &keyval, &extra_small, &small, &out_small, flag, &code);
        *out = out_small;
    }
    return code;
}

static int copy_one(WAITIO_MPI_Comm from, const struct wio_attribute *a, WAITIO_MPI_Comm to,
                    struct wio_comm *c)
{
    struct keyval *k = a->key;
    intptr_t value = 0;
    int flag = 0, keyval = a->keyval, rc;

    __atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED); /* the function may delete the attribute */
    rc = said("copy", keyval, ask_copy(from, a, &value, &flag));
    if (rc == 0 && flag)
        rc = set(to, c, keyval, k, k->language, value);
    release(k);
    return rc;
}

/* The keys of all values, noted first: their functions may set and delete others. In the order in
 * which they were set. */
static int copy_all(WAITIO_MPI_Comm from, struct wio_comm *old, WAITIO_MPI_Comm to,
                    struct wio_comm *c)
{
    size_t n = 0, i = 0;
    int *keys, rc = 0;

    for (const struct wio_attribute *a = old->attributes; a != NULL; a = a->next)
        n++;
    keys = wio_os_alloc((n + 1) * sizeof *keys);
    if (keys == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu attributes", n);
    for (const struct wio_attribute *a = old->attributes; a != NULL; a = a->next)
        keys[i++] = a->keyval;
    while (rc == 0 && i-- > 0) {
        const struct wio_attribute *a = *place_of(old, keys[i]);
        if (a != NULL)
            rc = copy_one(from, a, to, c);
    }
    wio_os_free(keys);
    return rc;
}

int wio_attributes_copy(WAITIO_MPI_Comm from, WAITIO_MPI_Comm to)
{
    struct wio_comm *old, *fresh;
    int rc = wio_comm_get(from, &old);

    if (rc != 0 || old->attributes == NULL)
        return rc;
    rc = wio_comm_get(to, &fresh);
    return rc != 0 ? rc : copy_all(from, old, to, fresh);
}

int wio_attributes_end(WAITIO_MPI_Comm comm)
{
    struct wio_comm *c = __atomic_load_n(&comm->upper, __ATOMIC_ACQUIRE);
    int rc = 0;

    while (c != NULL && rc == 0 && c->attributes != NULL)
        rc = drop(comm, c, c->attributes);
    return rc;
}

void wio_attributes_free(struct wio_attribute *first)
{
    while (first != NULL) {
        struct wio_attribute *next = first->next;
        release(first->key);
        wio_os_free(first);
        first = next;
    }
}
