/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/attributes.h"

#include <limits.h>

#include "api/api.h"
#include "mpi/comm/state.h"
#include "mpi/names.h"
#include "os/os.h"

struct keyval {
    enum wio_owner_kind on;
    enum wio_attribute_language language;
    wio_any_fn *copy, *gone;
    intptr_t extra;
    int number, refs; /* refs: the program's handle and every value */
    bool freed;       /* by the program; its number stays known while values have it */
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

static bool is_ours(int keyval)
{
    return keyval >= WAITIO_MPI_TAG_UB && keyval <= WAITIO_MPI_LASTUSEDCODE;
}

static void release(struct keyval *k)
{
    if (__atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    wio_names_drop(&names, k->number);
    wio_os_free(k);
}

int wio_keyval_new(enum wio_owner_kind on, enum wio_attribute_language language, wio_any_fn *copy,
                   wio_any_fn *gone, intptr_t extra, int *keyval)
{
    struct keyval *k = wio_os_alloc(sizeof *k);
    int rc = k == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for an attribute key")
                       : wio_names_add(&names, k, "attribute key", &k->number);

    if (rc != 0) {
        wio_os_free(k);
        return rc;
    }
    k->on = on;
    k->language = language;
    k->copy = copy;
    k->gone = gone;
    k->extra = extra;
    k->refs = 1;
    *keyval = k->number;
    return 0;
}

/* The key of a number, or NULL with the text set.
 * @param freed  also one that was freed while values have it */
static struct keyval *key_of(enum wio_owner_kind on, int keyval, bool freed)
{
    struct keyval *k = wio_names_find(&names, keyval);

    if (k != NULL && k->on == on && (freed || !__atomic_load_n(&k->freed, __ATOMIC_ACQUIRE)))
        return k;
    if (k != NULL && k->on != on)
        wio_fail(WAITIO_MPI_ERR_KEYVAL, "attribute key %d is for %s, not for %s", keyval,
                 k->on == WIO_ON_TYPE ? "datatypes" : "communicators",
                 on == WIO_ON_TYPE ? "datatypes" : "communicators");
    else
        wio_fail(WAITIO_MPI_ERR_KEYVAL,
                 on == WIO_ON_COMM && is_ours(keyval)
                     ? "attribute %d is the library's and cannot be set"
                     : "%d is not an attribute key of this program, or was freed",
                 keyval);
    return NULL;
}

int wio_keyval_free(enum wio_owner_kind on, int *keyval)
{
    struct keyval *k = key_of(on, *keyval, true);

    if (k == NULL)
        return WAITIO_MPI_ERR_KEYVAL;
    /* Copies of the handle may be freed again while values have the key, as in MPI. */
    if (!__atomic_exchange_n(&k->freed, true, __ATOMIC_ACQ_REL))
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

/* Where the values of a communicator or type begin. @return 0; GROUP, TYPE, NOMEM */
static int list_of(struct wio_owner on, struct wio_attribute ***first)
{
    struct wio_comm *c = NULL;
    int rc;

    if (on.kind == WIO_ON_TYPE)
        return wio_type_attributes(on.type, first);
    rc = wio_comm_get(on.comm, &c);
    if (rc == 0)
        *first = &c->attributes;
    return rc;
}

/* Where the value of a key is linked, or the end of the list. */
static struct wio_attribute **place_of(struct wio_attribute **at, int keyval)
{
    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* What Fortran's functions get for a communicator or type. */
static int32_t number_for(struct wio_owner on)
{
    int32_t handle = on.type;

    if (on.kind == WIO_ON_COMM)
        (void)wio_mpi_handle_new(on.comm, &handle);
    return handle;
}

typedef int c_delete_fn(WAITIO_MPI_Comm comm, int keyval, void *value, void *extra);
typedef int c_delete_type_fn(WAITIO_MPI_Datatype type, int keyval, void *value, void *extra);
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

static int ask_delete(struct wio_owner on, const struct wio_attribute *a)
{
    const struct keyval *k = a->key;
    intptr_t value = seen_by(a, k->language), extra = k->extra;
    int32_t handle, keyval = a->keyval, said = 0, small = (int32_t)value,
                    extra_small = (int32_t)extra;

    if (k->gone == NULL)
        return 0;
    if (k->language == WIO_IN_C && on.kind == WIO_ON_TYPE)
        return ((c_delete_type_fn *)k->gone)(on.type, keyval, (void *)value, (void *)extra);
    if (k->language == WIO_IN_C)
        return ((c_delete_fn *)k->gone)(on.comm, keyval, (void *)value, (void *)extra);
    handle = number_for(on);
    if (k->language == WIO_IN_FORTRAN)
        ((f_delete_fn *)k->gone)(&handle, &keyval, &value, &extra, &said);
    else
        ((f1_delete_fn *)k->gone)(&handle, &keyval, &small, &extra_small, &said);
    return said;
}

/* The program's own code or class, which its call gives back. */
static int said(const char *what, int keyval, int code)
{
    return code == 0 ? 0
                     : wio_fail(code, "the %s function of attribute key %d returned %d", what,
                                keyval, code);
}

/* Unlink one, unless its function objects. The function may set and delete other attributes of the
 * communicator or type, so the link is looked for after it. */
static int drop(struct wio_owner on, struct wio_attribute **at, struct wio_attribute *a)
{
    int rc;

    if (a->going)
        return wio_fail(WAITIO_ERR_ARG, "attribute %d is being deleted: its delete function runs",
                        a->keyval);
    a->going = true;
    rc = said("delete", a->keyval, ask_delete(on, a));
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

static int set(struct wio_owner on, struct wio_attribute **first, struct keyval *k,
               enum wio_attribute_language language, intptr_t value)
{
    struct wio_attribute *a = *place_of(first, k->number);
    int rc = a == NULL ? 0 : drop(on, first, a);

    if (rc != 0)
        return rc;
    a = wio_os_alloc(sizeof *a);
    if (a == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for an attribute");
    *a = (struct wio_attribute){*first, k, k->number, language, value, false};
    __atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
    *first = a;
    return 0;
}

int wio_attribute_set(struct wio_owner on, int keyval, enum wio_attribute_language language,
                      intptr_t value)
{
    struct keyval *k = key_of(on.kind, keyval, false);
    struct wio_attribute **first;
    int rc = k == NULL ? WAITIO_MPI_ERR_KEYVAL : list_of(on, &first);

    return rc != 0 ? rc : set(on, first, k, language, value);
}

int wio_attribute_get(struct wio_owner on, int keyval, enum wio_attribute_language language,
                      intptr_t *value, int *flag)
{
    struct wio_attribute **first;
    const struct wio_attribute *a;
    int rc = list_of(on, &first);

    *flag = rc == 0;
    if (rc != 0)
        return rc;
    if (on.kind == WIO_ON_COMM && is_ours(keyval))
        return ask_library(keyval, language, value);
    a = *place_of(first, keyval);
    *flag = a != NULL;
    if (a != NULL)
        *value = seen_by(a, language);
    return a != NULL || key_of(on.kind, keyval, false) != NULL ? 0 : WAITIO_MPI_ERR_KEYVAL;
}

int wio_attribute_delete(struct wio_owner on, int keyval)
{
    struct wio_attribute **first, *a = NULL;
    int rc = list_of(on, &first);

    if (rc == 0)
        a = *place_of(first, keyval);
    if (rc == 0 && a == NULL)
        rc = wio_fail(WAITIO_MPI_ERR_KEYVAL, "the %s has no attribute %d",
                      on.kind == WIO_ON_TYPE ? "datatype" : "communicator", keyval);
    return rc != 0 ? rc : drop(on, first, a);
}

/* ---- duplicates and ends ---- */

typedef int c_copy_fn(WAITIO_MPI_Comm from, int keyval, void *extra, void *in, void *out,
                      int *flag);
typedef int c_copy_type_fn(WAITIO_MPI_Datatype from, int keyval, void *extra, void *in, void *out,
                           int *flag);
typedef void f_copy_fn(int32_t *from, int32_t *keyval, intptr_t *extra, intptr_t *in, intptr_t *out,
                       int32_t *flag, int32_t *ierr);
typedef void f1_copy_fn(int32_t *from, int32_t *keyval, int32_t *extra, int32_t *in, int32_t *out,
                        int32_t *flag, int32_t *ierr);

/* *flag: the duplicate gets *out. */
static int ask_copy(struct wio_owner from, const struct wio_attribute *a, intptr_t *out, int *flag)
{
    const struct keyval *k = a->key;
    intptr_t in = seen_by(a, k->language), extra = k->extra;
    int32_t handle, keyval = a->keyval, code = 0, small = (int32_t)in, extra_small = (int32_t)extra,
                    out_small = 0;

    *flag = 0;
    if (k->copy == NULL)
        return 0;
    if (k->language == WIO_IN_C && from.kind == WIO_ON_TYPE)
        return ((c_copy_type_fn *)k->copy)(from.type, keyval, (void *)extra, (void *)in, out, flag);
    if (k->language == WIO_IN_C)
        return ((c_copy_fn *)k->copy)(from.comm, keyval, (void *)extra, (void *)in, out, flag);
    handle = number_for(from);
    if (k->language == WIO_IN_FORTRAN) {
        ((f_copy_fn *)k->copy)(&handle, &keyval, &extra, &in, out, flag, &code);
    } else {
        ((f1_copy_fn *)k->copy)(&handle, &keyval, &extra_small, &small, &out_small, flag, &code);
        *out = out_small;
    }
    return code;
}

static int copy_one(struct wio_owner from, const struct wio_attribute *a, struct wio_owner to,
                    struct wio_attribute **first)
{
    struct keyval *k = a->key;
    intptr_t value = 0;
    int flag = 0, keyval = a->keyval, rc;

    __atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED); /* the function may delete the attribute */
    rc = said("copy", keyval, ask_copy(from, a, &value, &flag));
    if (rc == 0 && flag)
        rc = set(to, first, k, k->language, value);
    release(k);
    return rc;
}

/* The keys of all values, noted first: their functions may set and delete others. In the order in
 * which they were set. */
static int copy_all(struct wio_owner from, struct wio_attribute **old, struct wio_owner to,
                    struct wio_attribute **first)
{
    size_t n = 0, i = 0;
    int *keys, rc = 0;

    for (const struct wio_attribute *a = *old; a != NULL; a = a->next)
        n++;
    keys = wio_os_alloc((n + 1) * sizeof *keys);
    if (keys == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu attributes", n);
    for (const struct wio_attribute *a = *old; a != NULL; a = a->next)
        keys[i++] = a->keyval;
    while (rc == 0 && i-- > 0) {
        const struct wio_attribute *a = *place_of(old, keys[i]);
        if (a != NULL)
            rc = copy_one(from, a, to, first);
    }
    wio_os_free(keys);
    return rc;
}

int wio_attributes_copy(struct wio_owner from, struct wio_owner to)
{
    struct wio_attribute **old, **fresh;
    int rc = list_of(from, &old);

    if (rc != 0 || *old == NULL)
        return rc;
    rc = list_of(to, &fresh);
    return rc != 0 ? rc : copy_all(from, old, to, fresh);
}

int wio_attributes_end(struct wio_owner on)
{
    struct wio_attribute **first = NULL;
    int rc = 0;

    /* A communicator that was never used has nothing, and gets nothing now. */
    if (on.kind == WIO_ON_TYPE || __atomic_load_n(&on.comm->upper, __ATOMIC_ACQUIRE) != NULL)
        rc = list_of(on, &first);
    while (first != NULL && rc == 0 && *first != NULL)
        rc = drop(on, first, *first);
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
