/* SPDX-License-Identifier: BSD-3-Clause */
/** @file registry.c  Which transports are built in. */
#include "transport/outside/outside.h"

const struct wio_transport *wio_transport_get(enum wio_transport_id id)
{
    switch (id) {
    case WIO_TR_SELF:
        return &wio_transport_self;
    case WIO_TR_TCP:
        return &wio_transport_tcp;
    case WIO_TR_SHM:
        return &wio_transport_shm;
    case WIO_TR_FILE:
        return &wio_transport_file;
    default:
        return wio_outside_transport(id);
    }
}
