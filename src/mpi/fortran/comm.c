/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: communicators from communicators, and groups. */
#include "mpi/fortran/fortran.h"

/* Hand a new communicator or group over. */
static void made(const char *call, int rc, WAITIO_MPI_Comm c, void *out, fint *ierr)
{
    if (rc == 0)
        rc = wio_fortran_put_comm(call, c, out);
    wio_fortran_result(call, rc, ierr);
}

/* A procedure that makes one from `c`, the handle at comm. */
#define MAKES(CALL, EXPRESSION)                                                                    \
    do {                                                                                           \
        WAITIO_MPI_Comm c = NULL, fresh = NULL;                                                    \
        int rc = wio_fortran_comm(CALL, comm, &c);                                                 \
        if (rc == 0)                                                                               \
            rc = (EXPRESSION);                                                                     \
        made(CALL, rc, fresh, out, ierr);                                                          \
    } while (0)

/* ... and from a second one, `d`, the handle at other. */
#define MAKES_OF_TWO(CALL, EXPRESSION)                                                             \
    do {                                                                                           \
        WAITIO_MPI_Comm c = NULL, d = NULL, fresh = NULL;                                          \
        int rc = wio_fortran_comm(CALL, comm, &c);                                                 \
        if (rc == 0)                                                                               \
            rc = wio_fortran_comm(CALL, other, &d);                                                \
        if (rc == 0)                                                                               \
            rc = (EXPRESSION);                                                                     \
        made(CALL, rc, fresh, out, ierr);                                                          \
    } while (0)

/* An answer about two. */
#define ASKS_TWO(CALL, EXPRESSION)                                                                 \
    do {                                                                                           \
        WAITIO_MPI_Comm c = NULL, d = NULL;                                                        \
        int rc = wio_fortran_comm(CALL, comm, &c);                                                 \
        if (rc == 0)                                                                               \
            rc = wio_fortran_comm(CALL, other, &d);                                                \
        if (rc == 0)                                                                               \
            rc = (EXPRESSION);                                                                     \
        wio_fortran_result(CALL, rc, ierr);                                                        \
    } while (0)

WIO_FORTRAN(waitio_mpi_comm_dup_, (const void *comm, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_DUP", WAITIO_MPI_Comm_dup(c, &fresh));
}

/* Complete at once. */
WIO_FORTRAN(waitio_mpi_comm_idup_, (const void *comm, void *out, void *req, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_IDUP", WAITIO_MPI_Comm_idup(c, &fresh, req));
}

WIO_FORTRAN(waitio_mpi_comm_idup_with_info_,
            (const void *comm, const fint *info, void *out, void *req, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_IDUP_WITH_INFO", WAITIO_MPI_Comm_idup_with_info(c, *info, &fresh, req));
}

WIO_FORTRAN(waitio_mpi_comm_dup_with_info_,
            (const void *comm, const fint *info, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_DUP_WITH_INFO", WAITIO_MPI_Comm_dup_with_info(c, *info, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_set_info_, (const void *comm, const fint *info, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_SET_INFO", WAITIO_MPI_Comm_set_info(c, *info));
}

WIO_FORTRAN(waitio_mpi_comm_get_info_, (const void *comm, fint *info, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_GET_INFO", WAITIO_MPI_Comm_get_info(c, info));
}

WIO_FORTRAN(waitio_mpi_comm_test_inter_, (const void *comm, fint *flag, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_TEST_INTER", WAITIO_MPI_Comm_test_inter(c, flag));
}

WIO_FORTRAN(waitio_mpi_intercomm_create_,
            (const void *comm, const fint *local_leader, const void *other,
             const fint *remote_leader, const fint *tag, void *out, fint *ierr))
{
    WAITIO_MPI_Comm local = NULL, peer = NULL, fresh = NULL;
    int32_t null = 0;
    int rc = wio_fortran_comm("WAITIO_MPI_INTERCOMM_CREATE", comm, &local);

    if (rc == 0 && memcmp(other, &null, sizeof null) != 0) /* read by the leaders only */
        (void)wio_mpi_handle_get(*(const int32_t *)other, &peer);
    if (rc == 0)
        rc = WAITIO_MPI_Intercomm_create(local, *local_leader, peer, *remote_leader, *tag, &fresh);
    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_MPI_INTERCOMM_CREATE", fresh, out);
    wio_fortran_result("WAITIO_MPI_INTERCOMM_CREATE", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_intercomm_merge_,
            (const void *comm, const fint *high, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_INTERCOMM_MERGE", WAITIO_MPI_Intercomm_merge(c, *high, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_remote_size_, (const void *comm, fint *size, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_COMM_REMOTE_SIZE", WAITIO_MPI_Comm_remote_size(c, size));
}

WIO_FORTRAN(waitio_mpi_comm_remote_group_, (const void *comm, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_REMOTE_GROUP", WAITIO_MPI_Comm_remote_group(c, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_split_,
            (const void *comm, const fint *color, const fint *key, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_SPLIT", WAITIO_MPI_Comm_split(c, *color, *key, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_split_type_, (const void *comm, const fint *type, const fint *key,
                                          const fint *info, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_SPLIT_TYPE", WAITIO_MPI_Comm_split_type(c, *type, *key, *info, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_create_, (const void *comm, const void *other, void *out, fint *ierr))
{
    MAKES_OF_TWO("WAITIO_MPI_COMM_CREATE", WAITIO_MPI_Comm_create(c, d, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_create_group_,
            (const void *comm, const void *other, const fint *tag, void *out, fint *ierr))
{
    MAKES_OF_TWO("WAITIO_MPI_COMM_CREATE_GROUP", WAITIO_MPI_Comm_create_group(c, d, *tag, &fresh));
}

WIO_FORTRAN(waitio_mpi_comm_compare_,
            (const void *comm, const void *other, fint *result, fint *ierr))
{
    ASKS_TWO("WAITIO_MPI_COMM_COMPARE", WAITIO_MPI_Comm_compare(c, d, result));
}

WIO_FORTRAN(waitio_mpi_comm_group_, (const void *comm, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_COMM_GROUP", WAITIO_MPI_Comm_group(c, &fresh));
}

WIO_FORTRAN(waitio_mpi_group_size_, (const void *comm, fint *size, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GROUP_SIZE", WAITIO_MPI_Group_size(c, size));
}

WIO_FORTRAN(waitio_mpi_group_rank_, (const void *comm, fint *rank, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GROUP_RANK", WAITIO_MPI_Group_rank(c, rank));
}

WIO_FORTRAN(waitio_mpi_group_compare_,
            (const void *comm, const void *other, fint *result, fint *ierr))
{
    ASKS_TWO("WAITIO_MPI_GROUP_COMPARE", WAITIO_MPI_Group_compare(c, d, result));
}

WIO_FORTRAN(waitio_mpi_group_translate_ranks_, (const void *comm, const fint *n, const fint *ranks,
                                                const void *other, fint *out, fint *ierr))
{
    ASKS_TWO("WAITIO_MPI_GROUP_TRANSLATE_RANKS",
             WAITIO_MPI_Group_translate_ranks(c, *n, ranks, d, out));
}

#define COMBINES(NAME, UPPER, FUNCTION)                                                            \
    WIO_FORTRAN(NAME, (const void *comm, const void *other, void *out, fint *ierr))                \
    {                                                                                              \
        MAKES_OF_TWO(UPPER, FUNCTION(c, d, &fresh));                                               \
    }
COMBINES(waitio_mpi_group_union_, "WAITIO_MPI_GROUP_UNION", WAITIO_MPI_Group_union)
COMBINES(waitio_mpi_group_intersection_, "WAITIO_MPI_GROUP_INTERSECTION",
         WAITIO_MPI_Group_intersection)
COMBINES(waitio_mpi_group_difference_, "WAITIO_MPI_GROUP_DIFFERENCE", WAITIO_MPI_Group_difference)

#define CHOOSES(NAME, UPPER, FUNCTION)                                                             \
    WIO_FORTRAN(NAME, (const void *comm, const fint *n, const fint *ranks, void *out, fint *ierr)) \
    {                                                                                              \
        MAKES(UPPER, FUNCTION(c, *n, ranks, &fresh));                                              \
    }
CHOOSES(waitio_mpi_group_incl_, "WAITIO_MPI_GROUP_INCL", WAITIO_MPI_Group_incl)
CHOOSES(waitio_mpi_group_excl_, "WAITIO_MPI_GROUP_EXCL", WAITIO_MPI_Group_excl)

#define CHOOSES_RANGES(NAME, UPPER, FUNCTION)                                                      \
    WIO_FORTRAN(NAME, (const void *comm, const fint *n, fint ranges[][3], void *out, fint *ierr))  \
    {                                                                                              \
        MAKES(UPPER, FUNCTION(c, *n, ranges, &fresh));                                             \
    }
CHOOSES_RANGES(waitio_mpi_group_range_incl_, "WAITIO_MPI_GROUP_RANGE_INCL",
               WAITIO_MPI_Group_range_incl)
CHOOSES_RANGES(waitio_mpi_group_range_excl_, "WAITIO_MPI_GROUP_RANGE_EXCL",
               WAITIO_MPI_Group_range_excl)

/* ---- grids: logicals are integers, not zero for .true. ---- */

WIO_FORTRAN(waitio_mpi_cart_create_,
            (const void *comm, const fint *n, const fint *dims, const fint *periods,
             const fint *reorder, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_CART_CREATE", WAITIO_MPI_Cart_create(c, *n, dims, periods, *reorder, &fresh));
}

WIO_FORTRAN(waitio_mpi_cart_map_, (const void *comm, const fint *n, const fint *dims,
                                   const fint *periods, fint *rank, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CART_MAP", WAITIO_MPI_Cart_map(c, *n, dims, periods, rank));
}

WIO_FORTRAN(waitio_mpi_cart_sub_, (const void *comm, const fint *remain, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_CART_SUB", WAITIO_MPI_Cart_sub(c, remain, &fresh));
}

WIO_FORTRAN(waitio_mpi_cartdim_get_, (const void *comm, fint *n, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CARTDIM_GET", WAITIO_MPI_Cartdim_get(c, n));
}

WIO_FORTRAN(waitio_mpi_cart_get_,
            (const void *comm, const fint *n, fint *dims, fint *periods, fint *coords, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CART_GET", WAITIO_MPI_Cart_get(c, *n, dims, periods, coords));
}

WIO_FORTRAN(waitio_mpi_cart_coords_,
            (const void *comm, const fint *rank, const fint *n, fint *coords, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CART_COORDS", WAITIO_MPI_Cart_coords(c, *rank, *n, coords));
}

WIO_FORTRAN(waitio_mpi_cart_rank_, (const void *comm, const fint *coords, fint *rank, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CART_RANK", WAITIO_MPI_Cart_rank(c, coords, rank));
}

WIO_FORTRAN(waitio_mpi_cart_shift_, (const void *comm, const fint *direction, const fint *by,
                                     fint *source, fint *dest, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_CART_SHIFT", WAITIO_MPI_Cart_shift(c, *direction, *by, source, dest));
}

WIO_FORTRAN(waitio_mpi_topo_test_, (const void *comm, fint *kind, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_TOPO_TEST", WAITIO_MPI_Topo_test(c, kind));
}

WIO_FORTRAN(waitio_mpi_dims_create_, (const fint *nodes, const fint *n, fint *dims, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_DIMS_CREATE", WAITIO_MPI_Dims_create(*nodes, *n, dims), ierr);
}
