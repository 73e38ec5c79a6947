/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls about attributes and names of communicators. */
#include "mpi/attributes.h"
#include "mpi/comm/state.h"
#include "os/os.h"

int WAITIO_MPI_Comm_create_keyval(WAITIO_MPI_Comm_copy_attr_function *copy_function,
                                  WAITIO_MPI_Comm_delete_attr_function *delete_function,
                                  int *keyval, void *extra_state)
{
    int rc = wio_mpi_need("keyval", keyval);

    if (rc == 0)
        rc = wio_keyval_new(WIO_ON_COMM, WIO_IN_C, (wio_any_fn *)copy_function,
                            (wio_any_fn *)delete_function, (intptr_t)extra_state, keyval);
    return wio_mpi_result("WAITIO_MPI_Comm_create_keyval", rc);
}

int WAITIO_MPI_Keyval_create(WAITIO_MPI_Comm_copy_attr_function *copy_function,
                             WAITIO_MPI_Comm_delete_attr_function *delete_function, int *keyval,
                             void *extra_state)
{
    return WAITIO_MPI_Comm_create_keyval(copy_function, delete_function, keyval, extra_state);
}

int WAITIO_MPI_Comm_free_keyval(int *keyval)
{
    int rc = wio_mpi_need("keyval", keyval);

    return wio_mpi_result("WAITIO_MPI_Comm_free_keyval",
                          rc != 0 ? rc : wio_keyval_free(WIO_ON_COMM, keyval));
}

int WAITIO_MPI_Keyval_free(int *keyval)
{
    return WAITIO_MPI_Comm_free_keyval(keyval);
}

int WAITIO_MPI_Comm_set_attr(WAITIO_MPI_Comm comm, int keyval, void *value)
{
    return wio_mpi_result("WAITIO_MPI_Comm_set_attr",
                          wio_attribute_set(wio_on_comm(comm), keyval, WIO_IN_C, (intptr_t)value));
}

int WAITIO_MPI_Attr_put(WAITIO_MPI_Comm comm, int keyval, void *value)
{
    return WAITIO_MPI_Comm_set_attr(comm, keyval, value);
}

int WAITIO_MPI_Comm_get_attr(WAITIO_MPI_Comm comm, int keyval, void *value, int *flag)
{
    intptr_t found = 0;
    int rc = wio_mpi_need_both("value", value, "flag", flag);

    if (rc == 0)
        rc = wio_attribute_get(wio_on_comm(comm), keyval, WIO_IN_C, &found, flag);
    if (rc == 0 && *flag)
        memcpy(value, &found, sizeof found);
    return wio_mpi_result("WAITIO_MPI_Comm_get_attr", rc);
}

int WAITIO_MPI_Attr_get(WAITIO_MPI_Comm comm, int keyval, void *value, int *flag)
{
    return WAITIO_MPI_Comm_get_attr(comm, keyval, value, flag);
}

int WAITIO_MPI_Comm_delete_attr(WAITIO_MPI_Comm comm, int keyval)
{
    return wio_mpi_result("WAITIO_MPI_Comm_delete_attr",
                          wio_attribute_delete(wio_on_comm(comm), keyval));
}

int WAITIO_MPI_Attr_delete(WAITIO_MPI_Comm comm, int keyval)
{
    return WAITIO_MPI_Comm_delete_attr(comm, keyval);
}

int waitio_mpi_dup_fn(WAITIO_MPI_Comm comm, int keyval, void *extra_state, void *in, void *out,
                      int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra_state;
    memcpy(out, &in, sizeof in);
    *flag = 1;
    return 0;
}

/* ---- names ---- */

int WAITIO_MPI_Comm_set_name(WAITIO_MPI_Comm comm, const char *name)
{
    struct wio_comm *c;
    int rc = wio_mpi_need("name", name);

    if (rc == 0)
        rc = wio_comm_get(comm, &c);
    if (rc == 0 && c->name == NULL) {
        c->name = wio_os_alloc(WAITIO_MPI_MAX_OBJECT_NAME);
        if (c->name == NULL)
            rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a name");
    }
    if (rc == 0)
        wio_text(c->name, WAITIO_MPI_MAX_OBJECT_NAME, "%s", name);
    return wio_mpi_result("WAITIO_MPI_Comm_set_name", rc);
}

static const char *natural_name(WAITIO_MPI_Comm comm)
{
    WAITIO_MPI_Comm known = NULL;

    if (wio_mpi_constant(WIO_WORLD, &known) == 0 && comm == known)
        return "MPI_COMM_WORLD";
    return wio_mpi_constant(WIO_SELF, &known) == 0 && comm == known ? "MPI_COMM_SELF" : "";
}

int WAITIO_MPI_Comm_get_name(WAITIO_MPI_Comm comm, char *name, int *length)
{
    struct wio_comm *c;
    int rc = wio_mpi_need_both("name", name, "length", length);

    if (rc == 0) {
        *length = 0;
        rc = wio_comm_get(comm, &c);
    }
    if (rc == 0)
        *length = (int)wio_text(name, WAITIO_MPI_MAX_OBJECT_NAME, "%s",
                                c->name != NULL ? c->name : natural_name(comm));
    return wio_mpi_result("WAITIO_MPI_Comm_get_name", rc);
}
