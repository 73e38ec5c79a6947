/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between components, and inside the own one. */
#include <string.h>

#include "h3ou/face.h"

/* Messages of one process to another, and of first process to first process, do not mix. */
enum { TAG_PROCESS = 0, TAG_ARRAY = 1, TAG_LENGTH = 2, TAG_OWN = 3 };

static void must(int rc)
{
    if (rc != 0)
        wio_h3ou_die(waitio_cpl_last_error());
}

static WAITIO_MPI_Datatype type_of(int type)
{
    static const WAITIO_MPI_Datatype types[] = {WAITIO_MPI_INT, WAITIO_MPI_FLOAT, WAITIO_MPI_DOUBLE,
                                                WAITIO_MPI_CHAR};

    return types[type];
}

void wio_h3ou_send(const char *comp, int process, const void *data, int n, int type, int now)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("send_model");
    int to = wio_h3ou_component("send_model", comp);

    must((now ? waitio_cpl_send : waitio_cpl_isend)(cpl, to, process, TAG_PROCESS, data, n,
                                                    type_of(type)));
}

void wio_h3ou_recv(const char *comp, int process, void *data, int n, int type, int now)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("recv_model");
    int from = wio_h3ou_component("recv_model", comp);

    must((now ? waitio_cpl_recv : waitio_cpl_irecv)(cpl, from, process, TAG_PROCESS, data, n,
                                                    type_of(type)));
}

void wio_h3ou_wait(void)
{
    must(waitio_cpl_wait(wio_h3ou_cpl("waitall")));
}

static int own(waitio_cpl_t cpl, int *rank)
{
    int n = 0, mine = 0, size = 0;

    must(waitio_cpl_components(cpl, &n, &mine));
    must(waitio_cpl_component_size(cpl, mine, &size, rank));
    return mine;
}

void wio_h3ou_send_own(int process, const void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("send_local");
    int rank;

    must(waitio_cpl_send(cpl, own(cpl, &rank), process, TAG_OWN, data, n, type_of(type)));
}

void wio_h3ou_recv_own(int process, void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("recv_local");
    int rank;

    must(waitio_cpl_recv(cpl, own(cpl, &rank), process, TAG_OWN, data, n, type_of(type)));
}

void wio_h3ou_bcast_own(int root, void *data, int n, int type)
{
    must(waitio_cpl_bcast_own(wio_h3ou_cpl("bcast_local"), root, data, n, type_of(type)));
}

/* Texts of different lengths are told apart: Fortran's have blanks at their ends. */
static int text_length(const char *text, int n)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n;
}

void wio_h3ou_send_array(const char *comp, const void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("send_array");
    int to = wio_h3ou_component("send_array", comp), rank = 0;

    (void)own(cpl, &rank);
    if (rank != 0)
        return;
    if (type == WIO_H3OU_TEXT) {
        n = text_length(data, n);
        must(waitio_cpl_send(cpl, to, 0, TAG_LENGTH, &n, 1, WAITIO_MPI_INT));
    }
    must(waitio_cpl_send(cpl, to, 0, TAG_ARRAY, data, n, type_of(type)));
}

void wio_h3ou_recv_array(const char *comp, void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("recv_array");
    int from = wio_h3ou_component("recv_array", comp), rank = 0, length = n;

    (void)own(cpl, &rank);
    if (rank == 0 && type == WIO_H3OU_TEXT) {
        must(waitio_cpl_recv(cpl, from, 0, TAG_LENGTH, &length, 1, WAITIO_MPI_INT));
        if (length > n)
            wio_h3ou_die("recv_array: the text is longer than the variable that it goes into");
        memset(data, ' ', (size_t)n);
    }
    if (rank == 0)
        must(waitio_cpl_recv(cpl, from, 0, TAG_ARRAY, data, length, type_of(type)));
    must(waitio_cpl_bcast_own(cpl, 0, data, n, type_of(type)));
}

void wio_h3ou_bcast_global(const char *source, void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("bcast_global");
    int from = wio_h3ou_component("bcast_global", source), rank = 0, mine = own(cpl, &rank);
    int length = n;

    if (type == WIO_H3OU_TEXT) {
        if (mine == from && rank == 0)
            length = text_length(data, n);
        else
            memset(data, ' ', (size_t)n);
        must(waitio_cpl_bcast_all(cpl, from, &length, 1, WAITIO_MPI_INT));
        if (length > n)
            wio_h3ou_die("bcast_global: the text is longer than the variable that it goes into");
    }
    must(waitio_cpl_bcast_all(cpl, from, data, length, type_of(type)));
}

void wio_h3ou_bcast_model(const char *source, const char *target, void *data, int n, int type)
{
    waitio_cpl_t cpl = wio_h3ou_cpl("bcast_model");
    int from = wio_h3ou_component("bcast_model", source);
    int to = wio_h3ou_component("bcast_model", target), rank = 0, mine = own(cpl, &rank);

    if (mine != from && mine != to)
        return;
    if (mine == from && from != to)
        wio_h3ou_send_array(target, data, n, type);
    if (mine == to && from != to)
        wio_h3ou_recv_array(source, data, n, type);
    else
        must(waitio_cpl_bcast_own(cpl, 0, data, n, type_of(type)));
}
