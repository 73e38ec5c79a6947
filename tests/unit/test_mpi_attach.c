/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tables of providers are taken, and what a refused one is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unit/mpi_alone.h"
#include "waitio_inside.h"

static int freed;

static int members(void *part, int *size, int *rank)
{
    (void)part;
    *size = 1;
    *rank = 0;
    return 0;
}

static int may_call(void *part, char *why, size_t nwhy)
{
    (void)part, (void)why, (void)nwhy;
    return 0;
}

static void free_part(void *part)
{
    (void)part;
    freed++;
}

/* The shortest table, and more behind it. */
static struct {
    struct waitio_inside_ops ops;
    char later[64];
} table;

static int attach(uint32_t version, size_t size)
{
    static int part;
    WAITIO_MPI_Comm comm = WAITIO_MPI_COMM_NULL;
    int rc;

    table.ops = (struct waitio_inside_ops){.version = version,
                                           .size = (uint32_t)size,
                                           .name = "toy 1.0",
                                           .members = members,
                                           .may_call = may_call,
                                           .free = free_part};
    rc = waitio_inside_attach(&table.ops, &part, 1, 0, &comm);
    if (rc == 0)
        assert_int_equal(WAITIO_MPI_Comm_free(&comm), 0);
    else
        assert_null(comm);
    return rc;
}

/* Slots are added at the end: a provider may be older than this library, or newer. */
static void tables_of_all_sizes(void **state)
{
    (void)state;
    freed = 0;
    assert_int_equal(attach(WAITIO_INSIDE_VERSION, WAITIO_INSIDE_SIZE_LEAST), 0);
    assert_int_equal(attach(WAITIO_INSIDE_VERSION, sizeof table.ops), 0);
    assert_int_equal(attach(WAITIO_INSIDE_VERSION, sizeof table), 0);
    assert_int_equal(freed, 3);
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    freed = 0;
    assert_int_equal(attach(WAITIO_INSIDE_VERSION, WAITIO_INSIDE_SIZE_LEAST - 1), WAITIO_ERR_ARG);
    assert_non_null(strstr(waitio_last_error(), "toy 1.0"));
    assert_int_equal(attach(WAITIO_INSIDE_VERSION + 1, sizeof table.ops), WAITIO_ERR_ARG);
    assert_non_null(strstr(waitio_last_error(), "version 2"));
    assert_int_equal(freed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_all_sizes),
        cmocka_unit_test(others_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, alone_join, alone_leave);
}
