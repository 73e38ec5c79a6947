/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: datatypes and operators. Addresses are integers of kind WAITIO_MPI_ADDRESS_KIND, in
 * MPI-1's procedures default integers. */
#include "mpi/fortran/fortran.h"
#include "os/os.h"

#define BUF(p) wio_fortran_buffer(p)

#define DO(UPPER, EXPRESSION) wio_fortran_result("WAITIO_MPI_" UPPER, (EXPRESSION), ierr)

WIO_FORTRAN(waitio_mpi_type_contiguous_,
            (const fint *count, const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_CONTIGUOUS", WAITIO_MPI_Type_contiguous(*count, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_vector_, (const fint *count, const fint *length, const fint *stride,
                                      const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_VECTOR", WAITIO_MPI_Type_vector(*count, *length, *stride, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_hvector_,
            (const fint *count, const fint *length, const faint *stride, const fint *type,
             fint *out, fint *ierr))
{
    DO("TYPE_CREATE_HVECTOR", WAITIO_MPI_Type_create_hvector(*count, *length, *stride, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_hvector_, (const fint *count, const fint *length, const fint *stride,
                                       const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_HVECTOR", WAITIO_MPI_Type_hvector(*count, *length, *stride, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_indexed_, (const fint *count, const fint *lengths, const fint *places,
                                       const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_INDEXED", WAITIO_MPI_Type_indexed(*count, lengths, places, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_hindexed_,
            (const fint *count, const fint *lengths, const faint *bytes, const fint *type,
             fint *out, fint *ierr))
{
    DO("TYPE_CREATE_HINDEXED", WAITIO_MPI_Type_create_hindexed(*count, lengths, bytes, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_indexed_block_,
            (const fint *count, const fint *length, const fint *places, const fint *type, fint *out,
             fint *ierr))
{
    DO("TYPE_CREATE_INDEXED_BLOCK",
       WAITIO_MPI_Type_create_indexed_block(*count, *length, places, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_hindexed_block_,
            (const fint *count, const fint *length, const faint *bytes, const fint *type, fint *out,
             fint *ierr))
{
    DO("TYPE_CREATE_HINDEXED_BLOCK",
       WAITIO_MPI_Type_create_hindexed_block(*count, *length, bytes, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_struct_,
            (const fint *count, const fint *lengths, const faint *bytes, const fint *types,
             fint *out, fint *ierr))
{
    DO("TYPE_CREATE_STRUCT", WAITIO_MPI_Type_create_struct(*count, lengths, bytes, types, out));
}

/* MPI-1's places in default integers, widened. NULL: no memory, text set. */
static faint *widen(fint n, const fint *places)
{
    faint *wide = wio_os_alloc(((size_t)(n < 0 ? 0 : n) + 1) * sizeof *wide);

    if (wide == NULL)
        wio_fail(WAITIO_ERR_NOMEM, "no memory for %d places", n);
    for (fint i = 0; wide != NULL && i < n; i++)
        wide[i] = places[i];
    return wide;
}

WIO_FORTRAN(waitio_mpi_type_struct_, (const fint *count, const fint *lengths, const fint *places,
                                      const fint *types, fint *out, fint *ierr))
{
    faint *bytes = widen(*count, places);

    DO("TYPE_STRUCT", bytes == NULL ? WAITIO_ERR_NOMEM
                                    : WAITIO_MPI_Type_struct(*count, lengths, bytes, types, out));
    wio_os_free(bytes);
}

WIO_FORTRAN(waitio_mpi_type_hindexed_, (const fint *count, const fint *lengths, const fint *places,
                                        const fint *type, fint *out, fint *ierr))
{
    faint *bytes = widen(*count, places);

    DO("TYPE_HINDEXED", bytes == NULL
                            ? WAITIO_ERR_NOMEM
                            : WAITIO_MPI_Type_hindexed(*count, lengths, bytes, *type, out));
    wio_os_free(bytes);
}

WIO_FORTRAN(waitio_mpi_type_create_subarray_,
            (const fint *dims, const fint *sizes, const fint *parts, const fint *starts,
             const fint *order, const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_SUBARRAY",
       WAITIO_MPI_Type_create_subarray(*dims, sizes, parts, starts, *order, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_create_darray_,
            (const fint *processes, const fint *rank, const fint *dims, const fint *sizes,
             const fint *distribs, const fint *dargs, const fint *psizes, const fint *order,
             const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_DARRAY",
       WAITIO_MPI_Type_create_darray(*processes, *rank, *dims, sizes, distribs, dargs, psizes,
                                     *order, *type, out));
}

WIO_FORTRAN(waitio_mpi_type_match_size_,
            (const fint *typeclass, const fint *size, fint *out, fint *ierr))
{
    DO("TYPE_MATCH_SIZE", WAITIO_MPI_Type_match_size(*typeclass, *size, out));
}

WIO_FORTRAN(waitio_mpi_type_create_f90_integer_, (const fint *range, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_F90_INTEGER", WAITIO_MPI_Type_create_f90_integer(*range, out));
}

WIO_FORTRAN(waitio_mpi_type_create_f90_real_,
            (const fint *precision, const fint *range, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_F90_REAL", WAITIO_MPI_Type_create_f90_real(*precision, *range, out));
}

WIO_FORTRAN(waitio_mpi_type_create_f90_complex_,
            (const fint *precision, const fint *range, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_F90_COMPLEX", WAITIO_MPI_Type_create_f90_complex(*precision, *range, out));
}

WIO_FORTRAN(waitio_mpi_type_get_envelope_, (const fint *type, fint *integers, fint *addresses,
                                            fint *types, fint *combiner, fint *ierr))
{
    DO("TYPE_GET_ENVELOPE",
       WAITIO_MPI_Type_get_envelope(*type, integers, addresses, types, combiner));
}

WIO_FORTRAN(waitio_mpi_type_get_contents_,
            (const fint *type, const fint *most_integers, const fint *most_addresses,
             const fint *most_types, fint *integers, faint *addresses, fint *types, fint *ierr))
{
    DO("TYPE_GET_CONTENTS", WAITIO_MPI_Type_get_contents(*type, *most_integers, *most_addresses,
                                                         *most_types, integers, addresses, types));
}

WIO_FORTRAN(waitio_mpi_type_size_x_, (const fint *type, WAITIO_MPI_Count *size, fint *ierr))
{
    DO("TYPE_SIZE_X", WAITIO_MPI_Type_size_x(*type, size));
}

WIO_FORTRAN(waitio_mpi_type_get_extent_x_,
            (const fint *type, WAITIO_MPI_Count *lb, WAITIO_MPI_Count *extent, fint *ierr))
{
    DO("TYPE_GET_EXTENT_X", WAITIO_MPI_Type_get_extent_x(*type, lb, extent));
}

WIO_FORTRAN(waitio_mpi_type_get_true_extent_x_,
            (const fint *type, WAITIO_MPI_Count *lb, WAITIO_MPI_Count *extent, fint *ierr))
{
    DO("TYPE_GET_TRUE_EXTENT_X", WAITIO_MPI_Type_get_true_extent_x(*type, lb, extent));
}

WIO_FORTRAN(waitio_mpi_type_create_resized_,
            (const fint *type, const faint *lb, const faint *extent, fint *out, fint *ierr))
{
    DO("TYPE_CREATE_RESIZED", WAITIO_MPI_Type_create_resized(*type, *lb, *extent, out));
}

WIO_FORTRAN(waitio_mpi_type_dup_, (const fint *type, fint *out, fint *ierr))
{
    DO("TYPE_DUP", WAITIO_MPI_Type_dup(*type, out));
}

WIO_FORTRAN(waitio_mpi_type_commit_, (fint * type, fint *ierr))
{
    DO("TYPE_COMMIT", WAITIO_MPI_Type_commit(type));
}

WIO_FORTRAN(waitio_mpi_type_free_, (fint * type, fint *ierr))
{
    DO("TYPE_FREE", WAITIO_MPI_Type_free(type));
}

WIO_FORTRAN(waitio_mpi_type_get_extent_, (const fint *type, faint *lb, faint *extent, fint *ierr))
{
    DO("TYPE_GET_EXTENT", WAITIO_MPI_Type_get_extent(*type, lb, extent));
}

WIO_FORTRAN(waitio_mpi_type_get_true_extent_,
            (const fint *type, faint *lb, faint *extent, fint *ierr))
{
    DO("TYPE_GET_TRUE_EXTENT", WAITIO_MPI_Type_get_true_extent(*type, lb, extent));
}

/* A number of MPI-1's procedures as default integer. */
static int narrow(int rc, faint value, fint *out)
{
    if (rc == 0 && (value > INT32_MAX || value < INT32_MIN))
        return wio_fail(WAITIO_ERR_LIMIT,
                        "%lld does not fit into a default integer: use the call with "
                        "WAITIO_MPI_ADDRESS_KIND",
                        (long long)value);
    *out = (fint)value;
    return rc;
}

#define NARROW(NAME, UPPER, FUNCTION)                                                              \
    WIO_FORTRAN(NAME, (const fint *type, fint *out, fint *ierr))                                   \
    {                                                                                              \
        faint value = 0;                                                                           \
        int rc = FUNCTION(*type, &value);                                                          \
        DO(UPPER, wio_mpi_result("WAITIO_MPI_" UPPER, narrow(rc, value, out)));                    \
    }
NARROW(waitio_mpi_type_extent_, "TYPE_EXTENT", WAITIO_MPI_Type_extent)
NARROW(waitio_mpi_type_lb_, "TYPE_LB", WAITIO_MPI_Type_lb)
NARROW(waitio_mpi_type_ub_, "TYPE_UB", WAITIO_MPI_Type_ub)

WIO_FORTRAN(waitio_mpi_get_address_, (const void *at, faint *address, fint *ierr))
{
    DO("GET_ADDRESS", WAITIO_MPI_Get_address(at, address));
}

/* An address seldom fits into a default integer. Programs subtract two of them, and the difference
 * does. Together with BOTTOM a truncated address is refused, because it is invalid. */
WIO_FORTRAN(waitio_mpi_address_, (const void *at, fint *address, fint *ierr))
{
    *address = (fint)(uint32_t)(uintptr_t)at;
    if ((faint)at != *address)
        __atomic_store_n(&wio_type_first_address, (int64_t)INT32_MAX + 1, __ATOMIC_RELAXED);
    DO("ADDRESS", 0);
}

WIO_FORTRAN(waitio_mpi_pack_, (const void *in, const fint *count, const fint *type, void *out,
                               const fint *room, fint *position, const void *comm, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_PACK",
                  WAITIO_MPI_Pack(BUF(in), *count, *type, out, *room, position, c));
}

WIO_FORTRAN(waitio_mpi_unpack_, (const void *in, const fint *room, fint *position, void *out,
                                 const fint *count, const fint *type, const void *comm, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_UNPACK",
                  WAITIO_MPI_Unpack(in, *room, position, BUF(out), *count, *type, c));
}

WIO_FORTRAN(waitio_mpi_pack_size_,
            (const fint *count, const fint *type, const void *comm, fint *size, fint *ierr))
{
    (void)comm;
    DO("PACK_SIZE", WAITIO_MPI_Pack_size(*count, *type, NULL, size));
}

WIO_FORTRAN(waitio_mpi_op_create_,
            (WAITIO_MPI_User_function * function, const fint *commute, fint *op, fint *ierr))
{
    DO("OP_CREATE", WAITIO_MPI_Op_create(function, *commute != 0, op));
}

WIO_FORTRAN(waitio_mpi_op_free_, (fint * op, fint *ierr))
{
    DO("OP_FREE", WAITIO_MPI_Op_free(op));
}

WIO_FORTRAN(waitio_mpi_op_commutative_, (const fint *op, fint *commute, fint *ierr))
{
    int value = 0, rc = WAITIO_MPI_Op_commutative(*op, &value);

    wio_fortran_logical(commute, value);
    DO("OP_COMMUTATIVE", rc);
}

WIO_FORTRAN(waitio_mpi_reduce_local_, (const void *in, void *inout, const fint *count,
                                       const fint *type, const fint *op, fint *ierr))
{
    DO("REDUCE_LOCAL", WAITIO_MPI_Reduce_local(in, inout, *count, *type, *op));
}
