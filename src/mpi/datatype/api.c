/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls about datatypes: life and questions, the latter with ints and with wide integers
 * (_c). */
#include <limits.h>

#include "mpi/attributes.h"
#include "mpi/mpi.h"
#include "os/os.h"

int WAITIO_MPI_Type_commit(WAITIO_MPI_Datatype *type)
{
    const struct wio_mpi_type *t = type == NULL ? NULL : wio_mpi_type(*type);
    int rc = type == NULL ? wio_fail(WAITIO_ERR_ARG, "the type argument is NULL")
             : t == NULL  ? WAITIO_ERR_ARG
                          : 0;

    if (rc == 0 && !t->committed)
        ((struct wio_mpi_type *)(uintptr_t)t)->committed = true;
    return wio_mpi_result("WAITIO_MPI_Type_commit", rc);
}

int WAITIO_MPI_Type_free(WAITIO_MPI_Datatype *type)
{
    const struct wio_mpi_type *t = type == NULL ? NULL : wio_mpi_type(*type);
    int rc = type == NULL ? wio_fail(WAITIO_ERR_ARG, "the type argument is NULL")
             : t == NULL  ? WAITIO_ERR_ARG
                          : 0;

    if (rc == 0 && t->kind == WIO_KIND_DERIVED)
        rc = wio_attributes_end(wio_on_type(*type));
    if (rc == 0)
        rc = wio_type_unname(*type);
    if (rc == 0)
        *type = WAITIO_MPI_DATATYPE_NULL;
    return wio_mpi_result("WAITIO_MPI_Type_free", rc);
}

/* ---- questions ---- */

int WAITIO_MPI_Type_size(WAITIO_MPI_Datatype type, int *size)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need("size", size);

    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Type_size", rc);
    *size = t->size > INT_MAX ? WAITIO_MPI_UNDEFINED : (int)t->size;
    return 0;
}

static int wide_size(const char *call, WAITIO_MPI_Datatype type, WAITIO_MPI_Count *size)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need("size", size);

    if (rc == 0)
        *size = (WAITIO_MPI_Count)t->size;
    return wio_mpi_result(call, rc);
}

int WAITIO_MPI_Type_size_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *size)
{
    return wide_size("WAITIO_MPI_Type_size_c", type, size);
}

int WAITIO_MPI_Type_size_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *size)
{
    return wide_size("WAITIO_MPI_Type_size_x", type, size);
}

int waitio_mpi_type_size(WAITIO_MPI_Datatype type, int *size)
{
    return WAITIO_MPI_Type_size(type, size);
}

static int bounds(const char *call, WAITIO_MPI_Datatype type, bool of_data, WAITIO_MPI_Aint *lb,
                  WAITIO_MPI_Aint *extent)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);

    if (t == NULL)
        return wio_mpi_result(call, WAITIO_ERR_ARG);
    if (lb != NULL)
        *lb = of_data ? t->true_lb : t->lb;
    if (extent != NULL)
        *extent = of_data ? t->true_ub - t->true_lb : t->ub - t->lb;
    return 0;
}

int WAITIO_MPI_Type_get_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                               WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_get_extent", type, false, lb, extent);
}

int WAITIO_MPI_Type_get_true_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb,
                                    WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_get_true_extent", type, true, lb, extent);
}

static int wide_bounds(const char *call, WAITIO_MPI_Datatype type, bool of_data,
                       WAITIO_MPI_Count *lb, WAITIO_MPI_Count *extent)
{
    WAITIO_MPI_Aint low = 0, length = 0;
    int rc = bounds(call, type, of_data, &low, &length);

    if (rc == 0 && lb != NULL)
        *lb = low;
    if (rc == 0 && extent != NULL)
        *extent = length;
    return rc;
}

int WAITIO_MPI_Type_get_extent_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                 WAITIO_MPI_Count *extent)
{
    return wide_bounds("WAITIO_MPI_Type_get_extent_c", type, false, lb, extent);
}

int WAITIO_MPI_Type_get_extent_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                 WAITIO_MPI_Count *extent)
{
    return wide_bounds("WAITIO_MPI_Type_get_extent_x", type, false, lb, extent);
}

int WAITIO_MPI_Type_get_true_extent_c(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                      WAITIO_MPI_Count *extent)
{
    return wide_bounds("WAITIO_MPI_Type_get_true_extent_c", type, true, lb, extent);
}

int WAITIO_MPI_Type_get_true_extent_x(WAITIO_MPI_Datatype type, WAITIO_MPI_Count *lb,
                                      WAITIO_MPI_Count *extent)
{
    return wide_bounds("WAITIO_MPI_Type_get_true_extent_x", type, true, lb, extent);
}

int WAITIO_MPI_Type_extent(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *extent)
{
    return bounds("WAITIO_MPI_Type_extent", type, false, NULL, extent);
}

int WAITIO_MPI_Type_lb(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *lb)
{
    return bounds("WAITIO_MPI_Type_lb", type, false, lb, NULL);
}

int WAITIO_MPI_Type_ub(WAITIO_MPI_Datatype type, WAITIO_MPI_Aint *ub)
{
    WAITIO_MPI_Aint lb = 0;
    int rc = wio_mpi_need("displacement", ub);

    if (rc != 0)
        return wio_mpi_result("WAITIO_MPI_Type_ub", rc);
    rc = bounds("WAITIO_MPI_Type_ub", type, false, &lb, ub);
    if (rc == 0)
        *ub += lb;
    return rc;
}

int WAITIO_MPI_Get_address(const void *at, WAITIO_MPI_Aint *address)
{
    int rc = wio_mpi_need("address", address);

    if (rc == 0)
        *address = (WAITIO_MPI_Aint)at;
    return wio_mpi_result("WAITIO_MPI_Get_address", rc);
}

int WAITIO_MPI_Address(const void *at, WAITIO_MPI_Aint *address)
{
    return WAITIO_MPI_Get_address(at, address);
}

int64_t wio_mpi_count_of(size_t bytes, const struct wio_mpi_type *t)
{
    if (t->size == 0)
        return bytes == 0 ? 0 : WAITIO_MPI_UNDEFINED;
    return bytes % t->size != 0 ? WAITIO_MPI_UNDEFINED : (int64_t)(bytes / t->size);
}

int64_t wio_mpi_elements_of(size_t bytes, const struct wio_mpi_type *t)
{
    int64_t n = wio_type_elements(t, bytes);

    return n < 0 ? WAITIO_MPI_UNDEFINED : n;
}

typedef int64_t question(size_t bytes, const struct wio_mpi_type *t);

static int count_in(const char *call, const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                    question *ask, WAITIO_MPI_Count *count)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    int rc = t == NULL ? WAITIO_ERR_ARG : wio_mpi_need("count", count);

    if (rc == 0)
        rc = wio_mpi_need_status(status);
    if (rc != 0)
        return wio_mpi_result(call, rc);
    *count = ask(status->waitio_bytes, t);
    return 0;
}

static int int_in(const char *call, const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                  question *ask, int *count)
{
    WAITIO_MPI_Count wide;
    int rc = count_in(call, status, type, ask, count == NULL ? NULL : &wide);

    if (rc == 0)
        *count = wide > INT_MAX ? WAITIO_MPI_UNDEFINED : (int)wide;
    return rc;
}

int WAITIO_MPI_Get_count(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count)
{
    return int_in("WAITIO_MPI_Get_count", status, type, wio_mpi_count_of, count);
}

int WAITIO_MPI_Get_count_c(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                           WAITIO_MPI_Count *count)
{
    return count_in("WAITIO_MPI_Get_count_c", status, type, wio_mpi_count_of, count);
}

int WAITIO_MPI_Get_elements(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type, int *count)
{
    return int_in("WAITIO_MPI_Get_elements", status, type, wio_mpi_elements_of, count);
}

int WAITIO_MPI_Get_elements_c(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                              WAITIO_MPI_Count *count)
{
    return count_in("WAITIO_MPI_Get_elements_c", status, type, wio_mpi_elements_of, count);
}

int WAITIO_MPI_Get_elements_x(const WAITIO_MPI_Status *status, WAITIO_MPI_Datatype type,
                              WAITIO_MPI_Count *count)
{
    return count_in("WAITIO_MPI_Get_elements_x", status, type, wio_mpi_elements_of, count);
}
