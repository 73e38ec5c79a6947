/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the generated calls share: array descriptors become addresses, or, where one buffer goes
 * with one count and type and has holes, a datatype that describes the section. So a message may be
 * every second row of a matrix, also one that is still under way, and nothing is copied.
 */
#include "waitio_cfi.h"

#include <stdio.h>
#include <string.h>

/* Places that module `waitio` gives a meaning; module `waitio_mpif90` has common blocks of
 * libwaitio instead, which the external procedures know. */
extern int waitio_cfi_in_place, waitio_cfi_bottom;
extern int waitio_cfi_unweighted[], waitio_cfi_weights_empty[];

int *waitio_cfi_weights(const int *weights)
{
    if (weights == waitio_cfi_unweighted)
        return WAITIO_MPI_UNWEIGHTED;
    return weights == waitio_cfi_weights_empty ? WAITIO_MPI_WEIGHTS_EMPTY
                                               : (int *)(uintptr_t)weights;
}

static void *address_of(const CFI_cdesc_t *d)
{
    if (d->base_addr == &waitio_cfi_in_place)
        return WAITIO_MPI_IN_PLACE;
    return d->base_addr == &waitio_cfi_bottom ? WAITIO_MPI_BOTTOM : d->base_addr;
}

/* An assumed-size array ends with an extent of -1; it has no holes before. */
static int has_holes(const CFI_cdesc_t *d)
{
    CFI_index_t step = (CFI_index_t)d->elem_len;
    int holes = 0;

    for (int i = 0; i < d->rank; i++) {
        if (d->dim[i].extent == 0)
            return 0;
        holes |= d->dim[i].extent > 1 && d->dim[i].sm != step;
        step *= d->dim[i].extent;
    }
    return holes;
}

int waitio_cfi_place(const char *call, const CFI_cdesc_t *d, void **at)
{
    *at = address_of(d);
    return !has_holes(d)
               ? 0
               : waitio_cfi_refuse(call, "a buffer is an array section with gaps: copy it "
                                         "into an array of its own");
}

/* Elements of dimensions 0 to d of the section. */
static size_t elements(const CFI_cdesc_t *desc, int d)
{
    size_t n = 1;

    for (int i = 0; i <= d; i++)
        n *= (size_t)desc->dim[i].extent;
    return n;
}

/* The first @p n elements of dimensions 0 to d, in array element order, out of elements of type
 * @p one. *out is new. */
static int describe(const CFI_cdesc_t *desc, int d, size_t n, WAITIO_MPI_Datatype one,
                    WAITIO_MPI_Datatype *out)
{
    size_t below = elements(desc, d - 1), whole = n / below, rest = n % below;
    WAITIO_MPI_Datatype row = one, part[2] = {0, 0};
    WAITIO_MPI_Aint at[2] = {0, (WAITIO_MPI_Aint)whole * desc->dim[d].sm};
    int lengths[2] = {1, 1}, rc = 0;

    if (d > 0)
        rc = describe(desc, d - 1, below, one, &row);
    if (rc == 0)
        rc =
            WAITIO_MPI_Type_create_hvector_c((WAITIO_MPI_Count)whole, 1, desc->dim[d].sm, row, out);
    if (rc == 0 && rest > 0) {
        part[0] = *out;
        rc = describe(desc, d - 1, rest, one, &part[1]);
        if (rc == 0)
            rc = WAITIO_MPI_Type_create_struct(2, lengths, at, part, out);
        WAITIO_MPI_Type_free(&part[0]);
        if (part[1] != 0)
            WAITIO_MPI_Type_free(&part[1]);
    }
    if (d > 0 && row != one)
        WAITIO_MPI_Type_free(&row);
    return rc;
}

/* May `count` elements of `type` lie in the section, and how many make one array element? */
static int fits(const char *call, const CFI_cdesc_t *d, WAITIO_MPI_Count count, int type,
                size_t *each)
{
    WAITIO_MPI_Aint lb = 0, extent = 0;
    WAITIO_MPI_Count size = 0;
    int rc = WAITIO_MPI_Type_get_extent(type, &lb, &extent);

    if (rc == 0)
        rc = WAITIO_MPI_Type_size_c(type, &size);
    if (rc != 0)
        return rc;
    if (d->dim[d->rank - 1].extent < 0 || size <= 0 || lb != 0 || extent != size ||
        d->elem_len % (size_t)size != 0)
        return waitio_cfi_refuse(call, "the buffer is an array section with gaps, and the datatype "
                                       "is not that of its elements: copy it into an array of its "
                                       "own");
    *each = d->elem_len / (size_t)size;
    if (count < 0 || (size_t)count > *each * elements(d, d->rank - 1))
        return waitio_cfi_refuse(call, "the buffer is an array section with fewer elements than "
                                       "the count says");
    if ((size_t)count % *each != 0)
        return waitio_cfi_refuse(call, "the count ends within an element of the array section");
    return 0;
}

int waitio_cfi_section(const char *call, const CFI_cdesc_t *d, WAITIO_MPI_Count count, int type,
                       struct waitio_cfi_section *s)
{
    WAITIO_MPI_Datatype one = type;
    size_t each = 1;
    int rc;

    *s = (struct waitio_cfi_section){address_of(d), (int)count, type, 0, count};
    if (!has_holes(d))
        return 0;
    rc = fits(call, d, count, type, &each);
    if (rc == 0 && each != 1)
        rc = WAITIO_MPI_Type_contiguous_c((WAITIO_MPI_Count)each, type, &one);
    if (rc == 0)
        rc = describe(d, d->rank - 1, (size_t)count / each, one, &s->type);
    if (rc == 0)
        rc = WAITIO_MPI_Type_commit(&s->type);
    if (one != type)
        WAITIO_MPI_Type_free(&one);
    s->made = rc == 0;
    s->count = 1;
    s->wide = 1;
    return rc;
}

void waitio_cfi_section_end(struct waitio_cfi_section *s)
{
    if (s->made)
        WAITIO_MPI_Type_free(&s->type); /* what is under way keeps it */
}

/* The compiler must believe that this call looks at and changes the buffer. */
void waitio_cfi_sync(const CFI_cdesc_t *buf);
void waitio_cfi_sync(const CFI_cdesc_t *buf)
{
    (void)buf;
}

/* ---- texts, indices ---- */

int waitio_cfi_text_in(const char *call, const char *from, size_t length, char *text)
{
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length >= WAITIO_CFI_TEXT)
        return waitio_cfi_refuse(call, "a text is longer than 1023 characters");
    memcpy(text, from, length);
    text[length] = '\0';
    return 0;
}

void waitio_cfi_text_out(char *to, size_t length, const char *text)
{
    size_t n = strlen(text);

    memset(to, ' ', length);
    memcpy(to, text, n < length ? n : length);
}

int waitio_cfi_info_get_string(int info, const char *key, int *room, char *value, int *flag)
{
    int all = *room > 0 ? (*room < WAITIO_CFI_TEXT ? *room + 1 : WAITIO_CFI_TEXT) : 0;
    int rc = WAITIO_MPI_Info_get_string(info, key, &all, value, flag);

    if (rc == 0 && *flag)
        *room = all - 1;
    return rc;
}

void waitio_cfi_index(int *index, int n)
{
    for (int i = 0; i < n; i++)
        if (index[i] != WAITIO_MPI_UNDEFINED)
            index[i]++;
}

/* ---- module `waitio_mpif90`: the two published calls that are shorter than MPI's ---- */

void waitio_mpi_gather_(const void *sbuf, void *rbuf, const int *count, const void *type,
                        const int *root, const void *comm, int *ierr);
void waitio_cfi_f_gather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *count,
                         const void *type, const int *root, const void *comm, int *ierr);
void waitio_cfi_f_gather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *count,
                         const void *type, const int *root, const void *comm, int *ierr)
{
    void *from, *to;
    int rc = waitio_cfi_place("WAITIO_MPI_GATHER", sbuf, &from);

    if (rc == 0)
        rc = waitio_cfi_place("WAITIO_MPI_GATHER", rbuf, &to);
    if (rc == 0)
        waitio_mpi_gather_(from, to, count, type, root, comm, ierr);
    else
        waitio_cfi_finish("WAITIO_MPI_GATHER", rc, ierr);
}

void waitio_mpi_allgather_(const void *sbuf, void *rbuf, const int *count, const void *type,
                           const void *comm, int *ierr);
void waitio_cfi_f_allgather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *count,
                            const void *type, const void *comm, int *ierr);
void waitio_cfi_f_allgather(const CFI_cdesc_t *sbuf, const CFI_cdesc_t *rbuf, const int *count,
                            const void *type, const void *comm, int *ierr)
{
    void *from, *to;
    int rc = waitio_cfi_place("WAITIO_MPI_ALLGATHER", sbuf, &from);

    if (rc == 0)
        rc = waitio_cfi_place("WAITIO_MPI_ALLGATHER", rbuf, &to);
    if (rc == 0)
        waitio_mpi_allgather_(from, to, count, type, comm, ierr);
    else
        waitio_cfi_finish("WAITIO_MPI_ALLGATHER", rc, ierr);
}
