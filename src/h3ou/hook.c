/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's subroutine interpolate_data, if it has one; and the default for it to call. */
#include <stdlib.h>
#include <string.h>

#include "h3ou/face.h"

/* Columns of the arrays: so many at least, as published; only the first num_of_data are valid. */
enum { COLUMNS = 40 };

/* External Fortran: the lengths of the texts come last. */
extern void interpolate_data_(const char *recv_model, const char *send_model,
                              const int *mapping_tag, const int *sn1, const int *sn2,
                              double *send_data, const int *rn1, const int *rn2, double *recv_data,
                              const int *num_of_data, const int *tn, int *exchange_tag,
                              size_t recv_length, size_t send_length) __attribute__((weak));

static void call(void *with, const struct waitio_cpl_remapping *job)
{
    int columns = job->layers > COLUMNS ? (int)job->layers : COLUMNS, n = (int)job->layers;
    int sn1 = (int)job->sources, rn1 = (int)job->rows, tag = job->tag;
    double *send = calloc((size_t)columns * job->sources + 1, sizeof *send);
    double *receive = calloc((size_t)columns * job->rows + 1, sizeof *receive);
    int *tags = calloc((size_t)columns, sizeof *tags);

    (void)with;
    if (send == NULL || receive == NULL || tags == NULL)
        wio_h3ou_die("no memory for the arrays of interpolate_data");
    memcpy(send, job->from, job->layers * job->sources * sizeof *send);
    for (int i = 0; i < columns; i++)
        tags[i] = job->exchange_tag;
    interpolate_data_(job->recv_component, job->send_component, &tag, &sn1, &columns, send, &rn1,
                      &columns, receive, &n, &columns, tags, strlen(job->recv_component),
                      strlen(job->send_component));
    memcpy(job->to, receive, job->layers * job->rows * sizeof *receive);
    free(send);
    free(receive);
    free(tags);
}

void wio_h3ou_hook(waitio_cpl_t cpl)
{
    if (interpolate_data_ != NULL)
        (void)waitio_cpl_remap_by(cpl, call, NULL);
}

void wio_h3ou_interpolate(const char *recv_comp, const char *send_comp, int tag,
                          const double *send_data, int sn1, double *recv_data, int rn1, int n,
                          int exchange_tag)
{
    struct waitio_cpl_remapping job = {send_comp,   recv_comp,   tag,       exchange_tag, (size_t)n,
                                       (size_t)sn1, (size_t)rn1, send_data, recv_data};

    if (waitio_cpl_remap(wio_h3ou_cpl("h3ou_interpolation"), &job) != 0)
        wio_h3ou_die(waitio_cpl_last_error());
}
