/* SPDX-License-Identifier: BSD-3-Clause */
/* The C side of mpi_mixed.f90. */
#include <waitio_mpi_rename.h>

MPI_Fint begin_receive(int *in, int source, int tag);
int end_in_c(MPI_Fint number);
int same_types(MPI_Fint integer_type, MPI_Fint double_type);

/** @return Fortran's handle of the request */
MPI_Fint begin_receive(int *in, int source, int tag)
{
    static MPI_Request request = MPI_REQUEST_NULL;

    MPI_Irecv(in, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
    return MPI_Request_c2f(request);
}

/** Wait for a request of Fortran. @return 1: it is null afterwards */
int end_in_c(MPI_Fint number)
{
    MPI_Request request = MPI_Request_f2c(number);

    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return request == MPI_REQUEST_NULL;
}

/** @return 1: Fortran's types are those of the same names here */
int same_types(MPI_Fint integer_type, MPI_Fint double_type)
{
    return MPI_Type_f2c(integer_type) == MPI_INTEGER &&
           MPI_Type_c2f(MPI_DOUBLE_PRECISION) == double_type;
}
