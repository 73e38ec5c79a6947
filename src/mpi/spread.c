/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of types with holes, and messages between unlike machines. The engine asks for the
 * packed form piece by piece while the message is on its way, and hands over pieces of it that have
 * come.
 */
#include "mpi/spread.h"

#include "mpi/comm.h"

static bool swaps(const struct wio_spread *s, int32_t peer)
{
    return s->context != NULL && wio_comm_swaps(s->context, peer);
}

static void read_part(const struct wio_spread *s, int32_t peer, size_t at, size_t n, void *to)
{
    if (swaps(s, peer))
        wio_type_pack_swapped(s->type, s->user, at, n, to);
    else
        wio_type_pack(s->type, s->user, at, n, to);
}

static void write_part(const struct wio_spread *s, int32_t peer, size_t at, size_t n,
                       const void *from)
{
    if (swaps(s, peer))
        wio_type_unpack_swapped(s->type, s->user, at, n, from);
    else
        wio_type_unpack(s->type, s->user, at, n, from);
}

static void hold(const struct wio_spread *s)
{
    wio_type_hold(s->type);
    if (s->context != NULL)
        wio_comm_hold(s->context);
}

static void release(const struct wio_spread *s)
{
    wio_type_release(s->type);
    wio_comm_release(s->context);
}

static const struct wio_spread_calls calls = {read_part, write_part, hold, release};

struct wio_spread wio_spread_typed(void *buf, const struct wio_mpi_type *t, struct wio_comm *unlike)
{
    return (struct wio_spread){.calls = &calls, .user = buf, .type = t, .context = unlike};
}
