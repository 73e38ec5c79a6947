/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: attributes. Values are integers of kind WAITIO_MPI_ADDRESS_KIND, in MPI-1's procedures
 * default integers. */
#include "mpi/attributes.h"
#include "mpi/fortran/fortran.h"

typedef void any_procedure(void);

#define RESULT(CALL, EXPRESSION) wio_fortran_result(CALL, wio_mpi_result(CALL, (EXPRESSION)), ierr)

WIO_FORTRAN(waitio_mpi_comm_create_keyval_, (any_procedure * copy, any_procedure *gone,
                                             fint *keyval, const faint *extra, fint *ierr))
{
    RESULT("WAITIO_MPI_COMM_CREATE_KEYVAL",
           wio_keyval_new(WIO_ON_COMM, WIO_IN_FORTRAN, copy, gone, *extra, keyval));
}

WIO_FORTRAN(waitio_mpi_keyval_create_, (any_procedure * copy, any_procedure *gone, fint *keyval,
                                        const fint *extra, fint *ierr))
{
    RESULT("WAITIO_MPI_KEYVAL_CREATE",
           wio_keyval_new(WIO_ON_COMM, WIO_IN_FORTRAN_1, copy, gone, *extra, keyval));
}

WIO_FORTRAN(waitio_mpi_comm_free_keyval_, (fint * keyval, fint *ierr))
{
    RESULT("WAITIO_MPI_COMM_FREE_KEYVAL", wio_keyval_free(WIO_ON_COMM, keyval));
}
WIO_FORTRAN_ALSO(waitio_mpi_keyval_free_, waitio_mpi_comm_free_keyval_, (fint * keyval, fint *ierr))

WIO_FORTRAN(waitio_mpi_comm_set_attr_,
            (const void *comm, const fint *keyval, const faint *value, fint *ierr))
{
    WIO_WITH_COMM(
        "WAITIO_MPI_COMM_SET_ATTR",
        wio_mpi_result("WAITIO_MPI_COMM_SET_ATTR",
                       wio_attribute_set(wio_on_comm(c), *keyval, WIO_IN_FORTRAN, *value)));
}

WIO_FORTRAN(waitio_mpi_attr_put_,
            (const void *comm, const fint *keyval, const fint *value, fint *ierr))
{
    WIO_WITH_COMM(
        "WAITIO_MPI_ATTR_PUT",
        wio_mpi_result("WAITIO_MPI_ATTR_PUT",
                       wio_attribute_set(wio_on_comm(c), *keyval, WIO_IN_FORTRAN_1, *value)));
}

WIO_FORTRAN(waitio_mpi_comm_get_attr_,
            (const void *comm, const fint *keyval, faint *value, fint *flag, fint *ierr))
{
    int found = 0;

    WIO_WITH_COMM(
        "WAITIO_MPI_COMM_GET_ATTR",
        wio_mpi_result("WAITIO_MPI_COMM_GET_ATTR",
                       wio_attribute_get(wio_on_comm(c), *keyval, WIO_IN_FORTRAN, value, &found)));
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_attr_get_,
            (const void *comm, const fint *keyval, fint *value, fint *flag, fint *ierr))
{
    faint wide = *value;
    int found = 0;

    WIO_WITH_COMM(
        "WAITIO_MPI_ATTR_GET",
        wio_mpi_result("WAITIO_MPI_ATTR_GET", wio_attribute_get(wio_on_comm(c), *keyval,
                                                                WIO_IN_FORTRAN_1, &wide, &found)));
    if (found)
        *value = (fint)wide;
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_comm_delete_attr_, (const void *comm, const fint *keyval, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_DELETE_ATTR",
                  wio_mpi_result("WAITIO_MPI_COMM_DELETE_ATTR",
                                 wio_attribute_delete(wio_on_comm(c), *keyval)));
}
WIO_FORTRAN_ALSO(waitio_mpi_attr_delete_, waitio_mpi_comm_delete_attr_,
                 (const void *comm, const fint *keyval, fint *ierr))

/* ---- of datatypes ---- */

WIO_FORTRAN(waitio_mpi_type_create_keyval_, (any_procedure * copy, any_procedure *gone,
                                             fint *keyval, const faint *extra, fint *ierr))
{
    RESULT("WAITIO_MPI_TYPE_CREATE_KEYVAL",
           wio_keyval_new(WIO_ON_TYPE, WIO_IN_FORTRAN, copy, gone, *extra, keyval));
}

WIO_FORTRAN(waitio_mpi_type_free_keyval_, (fint * keyval, fint *ierr))
{
    RESULT("WAITIO_MPI_TYPE_FREE_KEYVAL", wio_keyval_free(WIO_ON_TYPE, keyval));
}

WIO_FORTRAN(waitio_mpi_type_set_attr_,
            (const fint *type, const fint *keyval, const faint *value, fint *ierr))
{
    RESULT("WAITIO_MPI_TYPE_SET_ATTR",
           wio_attribute_set(wio_on_type(*type), *keyval, WIO_IN_FORTRAN, *value));
}

WIO_FORTRAN(waitio_mpi_type_get_attr_,
            (const fint *type, const fint *keyval, faint *value, fint *flag, fint *ierr))
{
    int found = 0;

    RESULT("WAITIO_MPI_TYPE_GET_ATTR",
           wio_attribute_get(wio_on_type(*type), *keyval, WIO_IN_FORTRAN, value, &found));
    wio_fortran_logical(flag, found);
}

WIO_FORTRAN(waitio_mpi_type_delete_attr_, (const fint *type, const fint *keyval, fint *ierr))
{
    RESULT("WAITIO_MPI_TYPE_DELETE_ATTR", wio_attribute_delete(wio_on_type(*type), *keyval));
}

/* ---- functions for keys ---- */

#define COPY(VALUE)                                                                                \
    (const fint *comm, const fint *keyval, const VALUE *extra, const VALUE *in, VALUE *out,        \
     fint *flag, fint *ierr)
#define GONE(VALUE)                                                                                \
    (const fint *comm, const fint *keyval, const VALUE *value, const VALUE *extra, fint *ierr)
#define UNUSED                                                                                     \
    (void)comm;                                                                                    \
    (void)keyval;                                                                                  \
    (void)extra

WIO_FORTRAN(waitio_mpi_comm_null_copy_fn_, COPY(faint))
{
    UNUSED;
    (void)in;
    (void)out;
    wio_fortran_logical(flag, 0);
    *ierr = 0;
}
WIO_FORTRAN_ALSO(waitio_mpi_null_copy_fn_, waitio_mpi_comm_null_copy_fn_, COPY(faint))
WIO_FORTRAN_ALSO(waitio_mpi_type_null_copy_fn_, waitio_mpi_comm_null_copy_fn_, COPY(faint))

WIO_FORTRAN(waitio_mpi_comm_dup_fn_, COPY(faint))
{
    UNUSED;
    *out = *in;
    wio_fortran_logical(flag, 1);
    *ierr = 0;
}

WIO_FORTRAN_ALSO(waitio_mpi_type_dup_fn_, waitio_mpi_comm_dup_fn_, COPY(faint))

WIO_FORTRAN(waitio_mpi_dup_fn_, COPY(fint))
{
    UNUSED;
    *out = *in;
    wio_fortran_logical(flag, 1);
    *ierr = 0;
}

WIO_FORTRAN(waitio_mpi_comm_null_delete_fn_, GONE(faint))
{
    UNUSED;
    (void)value;
    *ierr = 0;
}
WIO_FORTRAN_ALSO(waitio_mpi_type_null_delete_fn_, waitio_mpi_comm_null_delete_fn_, GONE(faint))
WIO_FORTRAN_ALSO(waitio_mpi_null_delete_fn_, waitio_mpi_comm_null_delete_fn_, GONE(faint))
