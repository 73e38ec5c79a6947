/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that make, free and compare communicators. */
#include "span/call.h"
#include "span/comms.h"

/* The end of a call that made @p made out of the communicator of @p call. */
static int give(struct span_call *call, WAITIO_MPI_Comm made, int tag, MPI_Comm *out)
{
    struct span_place place = {call->name, call->comm->handle, tag};

    *out = MPI_COMM_NULL;
    return call->code != 0 ? span_end(call) : span_comm_give(&place, made, out);
}

/* A duplicate spans, too. The vendor's duplicate has the attributes; its functions were called. */
static int name_duplicate(struct span_call *call, WAITIO_MPI_Comm made, MPI_Comm handle)
{
    struct span_comm *c;

    if (call->code == 0)
        call->code = span_comm_register(handle, made, &c);
    return span_end(call);
}

/* @param rc of the vendor's. If it has failed the others must hear of it. */
static int give_duplicate(struct span_call *call, int rc, MPI_Comm *newcomm)
{
    struct span_place place = {call->name, call->comm->handle, 0};
    WAITIO_MPI_Comm made = NULL;
    int all;

    call->code = WAITIO_MPI_Comm_dup(call->comm->comm, &made);
    if (call->code != 0) {
        if (rc == MPI_SUCCESS)
            (void)span_vendor.Comm_free(newcomm);
        return rc != MPI_SUCCESS ? rc : span_end(call);
    }
    all = span_comm_agree(&place, made, rc);
    if (all == MPI_SUCCESS)
        return name_duplicate(call, made, *newcomm);
    (void)WAITIO_MPI_Comm_free(&made);
    if (rc == MPI_SUCCESS)
        (void)span_vendor.Comm_free(newcomm);
    return all;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Comm_dup(comm, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Comm_dup"};
    return give_duplicate(&call, SPAN_PART(call.name, span_vendor.Comm_dup(comm, newcomm)),
                          newcomm);
}
SPAN_NAME(Comm_dup)

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Comm_dup_with_info(comm, info, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Comm_dup_with_info"};
    return give_duplicate(
        &call, SPAN_PART(call.name, span_vendor.Comm_dup_with_info(comm, info, newcomm)), newcomm);
}
SPAN_NAME(Comm_dup_with_info)

/* Ours is made at once, and needs no other process for it. The vendor's is ready when its request
 * is; its handle may come with it: then this call waits, as it must not otherwise. */
static int give_later(struct span_call *call, int rc, MPI_Comm *newcomm, MPI_Request *request)
{
    WAITIO_MPI_Comm made = NULL;
    WAITIO_MPI_Request done;

    if (rc == MPI_SUCCESS && *newcomm == MPI_COMM_NULL) {
        rc = SPAN_PART(call->name, span_vendor.Wait(request, MPI_STATUS_IGNORE));
        if (rc == MPI_SUCCESS) /* there must be a request to wait for */
            rc = span_vendor.Ibarrier(MPI_COMM_SELF, request);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    call->code = WAITIO_MPI_Comm_idup(call->comm->comm, &made, &done);
    if (call->code == 0)
        call->code = WAITIO_MPI_Wait(&done, WAITIO_MPI_STATUS_IGNORE);
    return name_duplicate(call, made, *newcomm);
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Comm_idup(comm, newcomm, request);
    struct span_call call = {.comm = c, .name = "MPI_Comm_idup"};
    *newcomm = MPI_COMM_NULL;
    return give_later(&call, span_vendor.Comm_idup(comm, newcomm, request), newcomm, request);
}
SPAN_NAME(Comm_idup)

#if MPI_VERSION >= 4
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Comm_idup_with_info(comm, info, newcomm, request);
    struct span_call call = {.comm = c, .name = "MPI_Comm_idup_with_info"};
    *newcomm = MPI_COMM_NULL;
    return give_later(&call, span_vendor.Comm_idup_with_info(comm, info, newcomm, request), newcomm,
                      request);
}
SPAN_NAME(Comm_idup_with_info)
#endif

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Comm_split(comm, color, key, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Comm_split"};
    WAITIO_MPI_Comm made = NULL;
    int ours = color == MPI_UNDEFINED ? WAITIO_MPI_UNDEFINED : color;
    call.code = WAITIO_MPI_Comm_split(c->comm, ours, key, &made);
    return give(&call, made, 0, newcomm);
}
SPAN_NAME(Comm_split)

/* What processes may share (memory, a socket of the machine) they share inside a job: the vendor
 * splits the members of this job. */
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (c != NULL && c->inter)
        return span_comm_split_both(c, split_type, key, info, newcomm);
    return SPAN_PART("MPI_Comm_split_type",
                     span_vendor.Comm_split_type(comm, split_type, key, info, newcomm));
}
SPAN_NAME(Comm_split_type)

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Comm_create(comm, group, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Comm_create"};
    WAITIO_MPI_Comm made = NULL;
    WAITIO_MPI_Group ours = NULL;
    bool mine = false;
    call.code = span_group_ours(group, &ours, &mine);
    if (call.code == 0)
        call.code = WAITIO_MPI_Comm_create(c->comm, ours, &made);
    if (mine)
        (void)WAITIO_MPI_Group_free(&ours);
    return give(&call, made, 0, newcomm);
}
SPAN_NAME(Comm_create)

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Comm_create_group(comm, group, tag, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Comm_create_group"};
    WAITIO_MPI_Comm made = NULL;
    WAITIO_MPI_Group ours = NULL;
    bool mine = false;
    call.code = span_group_ours(group, &ours, &mine);
    if (call.code == 0)
        call.code = WAITIO_MPI_Comm_create_group(c->comm, ours, tag, &made);
    if (mine)
        (void)WAITIO_MPI_Group_free(&ours);
    return give(&call, made, tag, newcomm);
}
SPAN_NAME(Comm_create_group)

static __thread struct span_comm *freed; /* by this thread, just now */

struct span_comm *span_comm_freed(void *entry)
{
    return entry == (char *)freed + SPAN_FREED ? freed : NULL;
}

/* The vendor frees first: functions of attributes may use the communicator once more. */
static int let_go(struct span_comm *c, const char *name, int (*vendors)(MPI_Comm *), MPI_Comm *comm)
{
    MPI_Comm handle = *comm;
    struct span_comm *before = freed; /* such a function may free another one */
    void *entry = (char *)c + SPAN_FREED;
    int rc;

    freed = c;
    (void)span_table_put(&span_comms, SPAN_KEY(handle), entry); /* in place: takes no memory */
    rc = SPAN_PART(name, vendors(comm));
    freed = before;
    if (rc != MPI_SUCCESS) {
        (void)span_table_put(&span_comms, SPAN_KEY(handle), c);
        return rc;
    }
    span_table_drop(&span_comms, SPAN_KEY(handle), entry);
    (void)WAITIO_MPI_Comm_free(&c->comm);
    c->handle = MPI_COMM_NULL;
    span_comm_release(c);
    return MPI_SUCCESS;
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    struct span_comm *c = span_comm_of(*comm);

    return c == NULL ? SPAN_BLOCKING(span_vendor.Comm_free(comm))
                     : let_go(c, "MPI_Comm_free", span_vendor.Comm_free, comm);
}
SPAN_NAME(Comm_free)

int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    struct span_comm *c = span_comm_of(*comm);

    return c == NULL ? SPAN_BLOCKING(span_vendor.Comm_disconnect(comm))
                     : let_go(c, "MPI_Comm_disconnect", span_vendor.Comm_disconnect, comm);
}
SPAN_NAME(Comm_disconnect)

static int comparison(int ours)
{
    return ours == WAITIO_MPI_IDENT       ? MPI_IDENT
           : ours == WAITIO_MPI_CONGRUENT ? MPI_CONGRUENT
           : ours == WAITIO_MPI_SIMILAR   ? MPI_SIMILAR
                                          : MPI_UNEQUAL;
}

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    struct span_comm *c = span_comm_of(comm1), *other = span_comm_of(comm2);
    int ours = WAITIO_MPI_UNEQUAL;

    if (c == NULL && other == NULL)
        return span_vendor.Comm_compare(comm1, comm2, result);
    struct span_call call = {.comm = c != NULL ? c : other, .name = "MPI_Comm_compare"};
    if (c != NULL && other != NULL)
        call.code = WAITIO_MPI_Comm_compare(c->comm, other->comm, &ours);
    else if (comm1 == MPI_COMM_NULL || comm2 == MPI_COMM_NULL) {
        call.code = WAITIO_MPI_ERR_COMM;
        call.why = comm1 == MPI_COMM_NULL ? "comm1 is MPI_COMM_NULL" : "comm2 is MPI_COMM_NULL";
    }
    *result = comparison(ours);
    return span_end(&call);
}
SPAN_NAME(Comm_compare)
