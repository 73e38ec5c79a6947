/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is there, groups, errors, counters. */
#include "api/api.h"

#include "os/os.h"

#pragma weak truef
int truef(int pbid, int n)
{
    (void)pbid;
    (void)n;
    return 1;
}

static int no_universe(const char *call)
{
    return wio_api_result(call, wio_last_code());
}

static int null_arg(const char *call, const char *name)
{
    return wio_api_result(call, wio_fail(WAITIO_ERR_ARG, "%s is NULL", name));
}

int waitio_pb_size(int *npb)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_pb_size");
    if (npb == NULL)
        return null_arg("waitio_pb_size", "npb");
    *npb = (int)wio_universe_table(u)->npb;
    return 0;
}

int waitio_pb_rank(int *pbid)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_pb_rank");
    if (pbid == NULL)
        return null_arg("waitio_pb_rank", "pbid");
    const struct wio_table *t = wio_universe_table(u);
    *pbid = (int)wio_table_pb_of(t, t->me);
    return 0;
}

int(waitio_get_nprocs)(int *nprocs)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_get_nprocs");
    if (nprocs == NULL)
        return null_arg("waitio_get_nprocs", "nprocs");
    const struct wio_table *t = wio_universe_table(u);
    for (uint32_t p = 0; p < t->npb; p++)
        nprocs[p] = (int)t->pb_size[p];
    return 0;
}

int waitio_get_nprocs_array(int **nprocs)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_get_nprocs");
    if (nprocs == NULL)
        return null_arg("waitio_get_nprocs", "nprocs");
    *nprocs = wio_universe_sizes(u);
    return *nprocs != NULL ? 0 : no_universe("waitio_get_nprocs");
}

int waitio_universe_rank(int *rank)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_universe_rank");
    if (rank == NULL)
        return null_arg("waitio_universe_rank", "rank");
    *rank = (int)wio_universe_table(u)->me;
    return 0;
}

int waitio_universe_size(int *size)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_universe_size");
    if (size == NULL)
        return null_arg("waitio_universe_size", "size");
    *size = (int)wio_universe_table(u)->size;
    return 0;
}

/* ---- groups ---- */

static waitio_group_t made(const char *call, struct wio_universe *u, int rc, struct waitio_group *g)
{
    if (rc != 0) {
        wio_api_result(call, rc);
        return NULL;
    }
    wio_group_register(u, g);
    return g;
}

waitio_group_t waitio_create_group_func(int gid, waitio_filter_func_t func[], int order[])
{
    struct wio_universe *u = wio_api_universe();
    struct waitio_group *g = NULL;
    int rc = u == NULL ? wio_last_code()
                       : wio_group_from_filters(wio_universe_table(u), gid, func, order, &g);
    return made("waitio_create_group", u, rc, g);
}

waitio_group_t(waitio_create_group)(int gid, waitio_filter_func_t func[], int order[])
{
    return waitio_create_group_func(gid, func, order);
}

waitio_group_t waitio_create_group_wranks(int gid, int *rank[], int order[])
{
    struct wio_universe *u = wio_api_universe();
    struct waitio_group *g = NULL;
    int rc = u == NULL ? wio_last_code()
                       : wio_group_from_lists(wio_universe_table(u), gid, rank, order, &g);
    return made("waitio_create_group_wranks", u, rc, g);
}

waitio_group_t waitio_create_group_wrank(int gid, int *rank[], int order[])
{
    return waitio_create_group_wranks(gid, rank, order);
}

static int range_group(const char *call, int gid, int pbid, waitio_group_t *group)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe(call);
    if (group == NULL)
        return null_arg(call, "group");
    *group = NULL;
    const struct wio_table *t = wio_universe_table(u);
    if (pbid >= 0 && (uint32_t)pbid >= t->npb)
        return wio_api_result(
            call, wio_fail(WAITIO_ERR_ARG, "PB %d does not exist: there are %u", pbid, t->npb));
    struct waitio_group *g = NULL;
    int rc = pbid < 0 ? wio_group_from_range(t, gid, 0, t->size, &g)
                      : wio_group_from_range(t, gid, t->pb_base[pbid], t->pb_size[pbid], &g);
    *group = made(call, u, rc, g);
    return rc;
}

int waitio_group_universe(int gid, waitio_group_t *group)
{
    return range_group("waitio_group_universe", gid, -1, group);
}

int waitio_group_pb(int gid, int pbid, waitio_group_t *group)
{
    if (pbid < 0)
        return wio_api_result("waitio_group_pb",
                              wio_fail(WAITIO_ERR_ARG, "PB %d does not exist", pbid));
    return range_group("waitio_group_pb", gid, pbid, group);
}

/* The universe and a live group, or an error already reported. */
static struct wio_universe *with_group(const char *call, waitio_group_t g, const void *out, int *rc)
{
    struct wio_universe *u = wio_api_universe();
    *rc = u == NULL ? wio_last_code() : wio_group_check(u, g);
    if (*rc == 0 && out == NULL)
        *rc = wio_fail(WAITIO_ERR_ARG, "the result argument is NULL");
    if (*rc == 0)
        return u;
    wio_api_result(call, *rc);
    return NULL;
}

int waitio_group_free(waitio_group_t *group)
{
    int rc;
    if (group != NULL && wio_api_current() != NULL && wio_group_forget(wio_api_current(), *group)) {
        *group = NULL;
        return wio_api_result("waitio_group_free", 0);
    }
    struct wio_universe *u =
        with_group("waitio_group_free", group == NULL ? NULL : *group, group, &rc);
    if (u == NULL)
        return rc;
    rc = wio_group_drop(u, *group);
    *group = NULL;
    return wio_api_result("waitio_group_free", rc);
}

int waitio_group_size(waitio_group_t group, int *size)
{
    int rc;
    if (with_group("waitio_group_size", group, size, &rc) != NULL)
        *size = (int)group->size;
    return rc;
}

int waitio_group_rank(waitio_group_t group, int *rank)
{
    int rc;
    if (with_group("waitio_group_rank", group, rank, &rc) != NULL)
        *rank = group->my_rank;
    return rc;
}

static int check_rank(const char *call, waitio_group_t g, int rank)
{
    if (rank >= 0 && (uint32_t)rank < g->size)
        return 0;
    return wio_api_result(call,
                          wio_fail(WAITIO_ERR_RANK, "rank %d in a group of %u", rank, g->size));
}

int waitio_group_to_universe(waitio_group_t group, int rank, int *universe_rank)
{
    int rc;
    if (with_group("waitio_group_to_universe", group, universe_rank, &rc) == NULL)
        return rc;
    rc = check_rank("waitio_group_to_universe", group, rank);
    if (rc == 0)
        *universe_rank = (int)wio_group_member(group, (uint32_t)rank);
    return rc;
}

int waitio_group_from_universe(waitio_group_t group, int universe_rank, int *rank)
{
    int rc;
    struct wio_universe *u = with_group("waitio_group_from_universe", group, rank, &rc);
    if (u == NULL)
        return rc;
    if (universe_rank < 0 || (uint32_t)universe_rank >= wio_universe_table(u)->size)
        return wio_api_result("waitio_group_from_universe",
                              wio_fail(WAITIO_ERR_RANK, "universe rank %d of %u", universe_rank,
                                       wio_universe_table(u)->size));
    *rank = (int)wio_group_rank_of(group, (uint32_t)universe_rank);
    return 0;
}

int waitio_group_locate(waitio_group_t group, int rank, int *pbid, int *pb_rank)
{
    int rc;
    struct wio_universe *u = with_group("waitio_group_locate", group, pbid, &rc);
    if (u == NULL)
        return rc;
    rc = check_rank("waitio_group_locate", group, rank);
    if (rc != 0)
        return rc;
    const struct wio_table *t = wio_universe_table(u);
    uint32_t at = wio_group_member(group, (uint32_t)rank), pb = wio_table_pb_of(t, at);
    *pbid = (int)pb;
    if (pb_rank != NULL)
        *pb_rank = (int)(at - t->pb_base[pb]);
    return 0;
}

int waitio_group_find(waitio_group_t group, int pbid, int pb_rank, int *rank)
{
    int rc;
    struct wio_universe *u = with_group("waitio_group_find", group, rank, &rc);
    if (u == NULL)
        return rc;
    const struct wio_table *t = wio_universe_table(u);
    if (pbid < 0 || (uint32_t)pbid >= t->npb || pb_rank < 0 ||
        (uint32_t)pb_rank >= t->pb_size[pbid])
        return wio_api_result(
            "waitio_group_find",
            wio_fail(WAITIO_ERR_RANK, "PB %d rank %d does not exist", pbid, pb_rank));
    *rank = (int)wio_group_rank_of(group, t->pb_base[pbid] + (uint32_t)pb_rank);
    return 0;
}

/* ---- errors, version, counters ---- */

const char *waitio_strerror(int code)
{
    return wio_error_message(code);
}

int waitio_last_error_shown(void)
{
    return wio_error_is_shown();
}

const char *waitio_last_error(void)
{
    return wio_last_error();
}

int waitio_get_version(int *major, int *minor, int *patch)
{
    if (major != NULL)
        *major = WAITIO_VERSION_MAJOR;
    if (minor != NULL)
        *minor = WAITIO_VERSION_MINOR;
    if (patch != NULL)
        *patch = WAITIO_VERSION_PATCH;
    return 0;
}

int waitio_counter(const char *name, uint64_t *value)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_counter");
    if (name == NULL || value == NULL)
        return null_arg("waitio_counter", name == NULL ? "name" : "value");
    const struct wio_counter_row *row;
    struct wio_counters now;
    wio_universe_counters(u, &now);
    for (int i = 0; (row = wio_counter_row(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0) {
            *value = wio_counter_value(&now, i);
            return 0;
        }
    return wio_api_result("waitio_counter",
                          wio_fail(WAITIO_ERR_ARG, "there is no counter \"%s\"", name));
}

const char *waitio_counter_name(int i)
{
    const struct wio_counter_row *row = i < 0 ? NULL : wio_counter_row(i);
    return row == NULL ? NULL : row->name;
}

int waitio_dump(FILE *out)
{
    struct wio_universe *u = wio_api_universe();
    if (u == NULL)
        return no_universe("waitio_dump");
    if (out == NULL)
        return null_arg("waitio_dump", "out");
    struct wio_strbuf sb = {0};
    wio_universe_dump(u, &sb);
    int rc = sb.failed ? wio_fail(WAITIO_ERR_NOMEM, "no memory for the dump") : 0;
    if (rc == 0)
        fputs(sb.text, out);
    wio_strbuf_free(&sb);
    return wio_api_result("waitio_dump", rc);
}
