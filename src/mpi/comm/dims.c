/* SPDX-License-Identifier: BSD-3-Clause */
/* Balanced grids: so many processes in so many dimensions. */
#include "mpi/comm/split.h"
#include "mpi/mpi.h"

/* The greatest prime factor, 1 of 1. */
static int greatest_factor(int n)
{
    int greatest = 1;

    for (int f = 2; f <= n / f; f++)
        while (n % f == 0) {
            greatest = f;
            n /= f;
        }
    return n > greatest ? n : greatest;
}

/* Can @p count sizes of at most @p most have @p n as their product? */
static bool may_fit(int n, int count, int most)
{
    int64_t product = 1;

    for (int d = 0; d < count && product < n; d++)
        product *= most;
    return product >= n;
}

/*
 * Sizes that do not increase, the greatest as small as possible, then the second, and so on. Tries
 * divisors from small to great; that a size must hold the greatest prime factor and that the
 * rest must fit below it ends nearly all tries at once (1441440 in 2 dimensions: 133 divisors).
 */
static bool balance(int n, int count, int most, int sizes[])
{
    if (count == 1) {
        sizes[0] = n;
        return n <= most;
    }
    for (int f = greatest_factor(n); f <= most && f <= n; f++) { /* one of them has that factor */
        if (n % f != 0 || !may_fit(n, count, f))
            continue;
        sizes[0] = f;
        if (balance(n / f, count - 1, f, sizes + 1))
            return true;
    }
    return false;
}

/* The dimensions that the caller left open, and how many processes they have. @return 0, or ARG */
static int open_dims(int nodes, int n, const int dims[], int *open, int *left)
{
    *open = 0;
    if (nodes < 1 || n < 0 || n > WIO_MOST_DIMS)
        return wio_fail(WAITIO_MPI_ERR_DIMS, "%d processes in %d dimensions", nodes, n);
    if (n > 0 && dims == NULL)
        return wio_mpi_need("sizes", dims);
    for (int d = 0; d < n; d++) {
        *open += dims[d] == 0;
        if (dims[d] < 0 || (dims[d] > 0 && nodes % dims[d] != 0))
            return wio_fail(WAITIO_MPI_ERR_DIMS, "dimension %d of %d does not divide the processes",
                            d, dims[d]);
        nodes /= dims[d] > 0 ? dims[d] : 1;
    }
    *left = nodes;
    return *open > 0 || nodes == 1
               ? 0
               : wio_fail(WAITIO_MPI_ERR_DIMS, "%d processes are left over", nodes);
}

int WAITIO_MPI_Dims_create(int nodes, int n, int dims[])
{
    int sizes[WIO_MOST_DIMS], open = 0, left = 1, rc = open_dims(nodes, n, dims, &open, &left);

    if (rc == 0 && open > 0) {
        balance(left, open, left, sizes); /* the whole in one dimension fits always */
        for (int d = 0, k = 0; d < n; d++)
            dims[d] = dims[d] == 0 ? sizes[k++] : dims[d];
    }
    return wio_mpi_result("WAITIO_MPI_Dims_create", rc);
}
