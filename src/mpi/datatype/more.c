/* SPDX-License-Identifier: BSD-3-Clause */
/* Types found by what they hold, and their names. */
#include <limits.h>

#include "mpi/attributes.h"
#include "mpi/datatype/recipe.h"
#include "mpi/mpi.h"
#include "os/os.h"

/* ---- names ---- */

/* Basic types are constants, shared by all; names and attributes that programs give them are kept
 * here. */
enum { BASIC_MAX = 96 };
static char *basic_label[BASIC_MAX];
static struct wio_attribute *basic_attributes[BASIC_MAX];

/* Constants tell no constructor. Derived types do, and those of a precision. */
static bool is_constant(const struct wio_mpi_type *t)
{
    return t->kind != WIO_KIND_DERIVED && t->recipe == NULL;
}

/* Storage of the name that the program gave. */
static char **label_of(struct wio_mpi_type *t)
{
    int row = t->id - WAITIO_MPI_DEFTAG - 1;

    if (!is_constant(t))
        return &t->label;
    return row >= 0 && row < BASIC_MAX ? &basic_label[row] : NULL;
}

int WAITIO_MPI_Type_get_name(WAITIO_MPI_Datatype type, char *name, int *length)
{
    struct wio_mpi_type *t = (struct wio_mpi_type *)(uintptr_t)wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_MPI_ERR_TYPE : wio_mpi_need_both("name", name, "length", length);
    char **label = rc == 0 ? label_of(t) : NULL;

    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Type_get_name", rc);
    if (label != NULL && *label != NULL)
        *length = (int)wio_text(name, WAITIO_MPI_MAX_OBJECT_NAME, "%s", *label);
    else
        *length = (int)wio_text(name, WAITIO_MPI_MAX_OBJECT_NAME, "%s%s",
                                t->kind == WIO_KIND_DERIVED ? "" : "MPI_",
                                t->kind == WIO_KIND_DERIVED ? "" : t->name);
    return 0;
}

int WAITIO_MPI_Type_set_name(WAITIO_MPI_Datatype type, const char *name)
{
    struct wio_mpi_type *t = (struct wio_mpi_type *)(uintptr_t)wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_MPI_ERR_TYPE : wio_mpi_need("name", name);
    char **label = rc == 0 ? label_of(t) : NULL;

    if (label != NULL && *label == NULL) {
        *label = wio_os_alloc(WAITIO_MPI_MAX_OBJECT_NAME);
        rc = *label != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for a name");
    }
    if (label != NULL && rc == 0)
        wio_text(*label, WAITIO_MPI_MAX_OBJECT_NAME, "%s", name);
    return wio_mpi_result("WAITIO_MPI_Type_set_name", rc);
}

/* ---- attributes ---- */

int wio_type_attributes(WAITIO_MPI_Datatype id, struct wio_attribute ***first)
{
    struct wio_mpi_type *t = (struct wio_mpi_type *)(uintptr_t)wio_mpi_type(id);
    int row = id - WAITIO_MPI_DEFTAG - 1;

    if (t == NULL)
        return WAITIO_MPI_ERR_TYPE;
    if (is_constant(t) && (row < 0 || row >= BASIC_MAX))
        return wio_fail(WAITIO_MPI_ERR_TYPE, "%s takes no attributes", t->name);
    *first = is_constant(t) ? &basic_attributes[row] : &t->attributes;
    return 0;
}

int WAITIO_MPI_Type_create_keyval(WAITIO_MPI_Type_copy_attr_function *copy_function,
                                  WAITIO_MPI_Type_delete_attr_function *delete_function,
                                  int *keyval, void *extra_state)
{
    int rc = wio_mpi_need("keyval", keyval);

    if (rc == 0)
        rc = wio_keyval_new(WIO_ON_TYPE, WIO_IN_C, (wio_any_fn *)copy_function,
                            (wio_any_fn *)delete_function, (intptr_t)extra_state, keyval);
    return wio_mpi_result("WAITIO_MPI_Type_create_keyval", rc);
}

int WAITIO_MPI_Type_free_keyval(int *keyval)
{
    int rc = wio_mpi_need("keyval", keyval);

    if (rc == 0)
        rc = wio_keyval_free(WIO_ON_TYPE, keyval);
    return wio_mpi_result("WAITIO_MPI_Type_free_keyval", rc);
}

int WAITIO_MPI_Type_set_attr(WAITIO_MPI_Datatype type, int keyval, void *value)
{
    return wio_mpi_result("WAITIO_MPI_Type_set_attr",
                          wio_attribute_set(wio_on_type(type), keyval, WIO_IN_C, (intptr_t)value));
}

int WAITIO_MPI_Type_get_attr(WAITIO_MPI_Datatype type, int keyval, void *value, int *flag)
{
    intptr_t found = 0;
    int rc = wio_mpi_need_both("value", value, "flag", flag);

    if (rc == 0)
        rc = wio_attribute_get(wio_on_type(type), keyval, WIO_IN_C, &found, flag);
    if (rc == 0 && *flag)
        memcpy(value, &found, sizeof found);
    return wio_mpi_result("WAITIO_MPI_Type_get_attr", rc);
}

int WAITIO_MPI_Type_delete_attr(WAITIO_MPI_Datatype type, int keyval)
{
    return wio_mpi_result("WAITIO_MPI_Type_delete_attr",
                          wio_attribute_delete(wio_on_type(type), keyval));
}

int waitio_mpi_type_dup_fn(WAITIO_MPI_Datatype type, int keyval, void *extra_state, void *in,
                           void *out, int *flag)
{
    (void)type;
    return waitio_mpi_dup_fn(NULL, keyval, extra_state, in, out, flag);
}

/* ---- by size, by precision ---- */

int WAITIO_MPI_Type_match_size(int typeclass, int size, WAITIO_MPI_Datatype *out)
{
    static const struct {
        int typeclass, size;
        WAITIO_MPI_Datatype type;
    } rows[] = {
        {WAITIO_MPI_TYPECLASS_INTEGER, 1, WAITIO_MPI_INTEGER1},
        {WAITIO_MPI_TYPECLASS_INTEGER, 2, WAITIO_MPI_INTEGER2},
        {WAITIO_MPI_TYPECLASS_INTEGER, 4, WAITIO_MPI_INTEGER4},
        {WAITIO_MPI_TYPECLASS_INTEGER, 8, WAITIO_MPI_INTEGER8},
        {WAITIO_MPI_TYPECLASS_REAL, 4, WAITIO_MPI_REAL4},
        {WAITIO_MPI_TYPECLASS_REAL, 8, WAITIO_MPI_REAL8},
        {WAITIO_MPI_TYPECLASS_REAL, 16, WAITIO_MPI_REAL16},
        {WAITIO_MPI_TYPECLASS_COMPLEX, 8, WAITIO_MPI_COMPLEX8},
        {WAITIO_MPI_TYPECLASS_COMPLEX, 16, WAITIO_MPI_COMPLEX16},
        {WAITIO_MPI_TYPECLASS_COMPLEX, 32, WAITIO_MPI_COMPLEX32},
    };

    for (size_t i = 0; i < WIO_ARRAY_LEN(rows); i++)
        if (rows[i].typeclass == typeclass && rows[i].size == size) {
            *out = rows[i].type;
            return 0;
        }
    return wio_mpi_result(
        "WAITIO_MPI_Type_match_size",
        wio_fail(WAITIO_ERR_ARG, "no type of class %d has %d bytes", typeclass, size));
}

/* A type of a precision that the program asked for: a basic type that knows the arguments. */
struct selected {
    struct selected *next;
    int combiner, precision, range;
    struct wio_mpi_type type;
};

/* MPI wants the same handle for the same arguments, and that nobody frees it. */
static struct {
    pthread_mutex_t lock;
    struct selected *first;
} selected = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A new one. The lock is held. */
static int select_new(int combiner, int precision, int range, WAITIO_MPI_Datatype like,
                      WAITIO_MPI_Datatype *out)
{
    bool integer = combiner == WAITIO_MPI_COMBINER_F90_INTEGER;
    struct wio_called how = {
        .combiner = combiner,
        .numbers = {{WIO_INTS(&precision), integer ? 0 : 1}, {WIO_INTS(&range), 1}}};
    struct selected *s = wio_os_alloc(sizeof *s);
    int rc;

    if (s == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a type");
    *s = (struct selected){selected.first, combiner, precision, range, *wio_mpi_type(like)};
    rc = wio_recipe_keep(&s->type, &how);
    if (rc == 0)
        rc = wio_type_name(&s->type, out);
    if (rc == 0) {
        selected.first = s;
        return 0;
    }
    wio_os_free(s->type.recipe);
    wio_os_free(s);
    return rc;
}

static int select_type(int combiner, int precision, int range, WAITIO_MPI_Datatype like,
                       WAITIO_MPI_Datatype *out)
{
    struct selected *s;
    int rc = 0;

    pthread_mutex_lock(&selected.lock);
    s = selected.first;
    while (s != NULL && (s->combiner != combiner || s->precision != precision || s->range != range))
        s = s->next;
    if (s != NULL)
        *out = s->type.id;
    else
        rc = select_new(combiner, precision, range, like, out);
    pthread_mutex_unlock(&selected.lock);
    return rc;
}

/* The smallest type with at least these digits and this exponent; UNDEFINED means any. */
int WAITIO_MPI_Type_create_f90_integer(int range, WAITIO_MPI_Datatype *out)
{
    static const WAITIO_MPI_Datatype types[] = {WAITIO_MPI_INTEGER1, WAITIO_MPI_INTEGER2,
                                                WAITIO_MPI_INTEGER4, WAITIO_MPI_INTEGER8};
    static const int ranges[] = {2, 4, 9, 18};

    int rc;
    size_t i = 0;

    while (i < WIO_ARRAY_LEN(types) && range > ranges[i])
        i++;
    rc = i < WIO_ARRAY_LEN(types)
             ? select_type(WAITIO_MPI_COMBINER_F90_INTEGER, 0, range, types[i], out)
             : wio_fail(WAITIO_ERR_ARG, "no integer has %d decimal digits", range);
    return wio_mpi_result("WAITIO_MPI_Type_create_f90_integer", rc);
}

static int by_precision(const char *call, int combiner, int precision, int range,
                        const WAITIO_MPI_Datatype types[3], WAITIO_MPI_Datatype *out)
{
    static const int precisions[] = {6, 15, 33}, ranges[] = {37, 307, 4931};

    for (int i = 0; i < 3; i++)
        if (precision <= precisions[i] && range <= ranges[i])
            return wio_mpi_result(call, select_type(combiner, precision, range, types[i], out));
    return wio_mpi_result(call, wio_fail(WAITIO_ERR_ARG,
                                         "no number has %d digits and a decimal exponent of %d",
                                         precision, range));
}

int WAITIO_MPI_Type_create_f90_real(int precision, int range, WAITIO_MPI_Datatype *out)
{
    static const WAITIO_MPI_Datatype types[] = {WAITIO_MPI_REAL4, WAITIO_MPI_REAL8,
                                                WAITIO_MPI_REAL16};

    return by_precision("WAITIO_MPI_Type_create_f90_real", WAITIO_MPI_COMBINER_F90_REAL, precision,
                        range, types, out);
}

int WAITIO_MPI_Type_create_f90_complex(int precision, int range, WAITIO_MPI_Datatype *out)
{
    static const WAITIO_MPI_Datatype types[] = {WAITIO_MPI_COMPLEX8, WAITIO_MPI_COMPLEX16,
                                                WAITIO_MPI_COMPLEX32};

    return by_precision("WAITIO_MPI_Type_create_f90_complex", WAITIO_MPI_COMBINER_F90_COMPLEX,
                        precision, range, types, out);
}
