/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_wire.c
 * Frame headers: 64 bytes each, one after the other. What is accepted keeps its promises and
 * encodes to the same bytes; what is refused has a text.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_errors.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_message(const uint8_t *in, uint32_t payload)
{
    struct wio_msg m;
    uint8_t again[WIO_MSG_BYTES];
    const char *why = NULL;
    int rc = wio_msg_decode(in, payload, &m, &why);
    if (rc != 0) {
        must(rc == WAITIO_ERR_PROTOCOL && why != NULL);
        return;
    }
    wio_msg_encode(&m, again);
    must(memcmp(in, again, sizeof again) == 0);
    must(strcmp(wio_msg_op_name(m.op), "unknown") != 0);
    if (m.op == WIO_OP_EAGER || m.op == WIO_OP_RTS)
        must(m.tag >= 0 && m.envelope != 0 && m.a <= SSIZE_MAX && payload <= m.a);
    if (m.op == WIO_OP_MORE || m.op == WIO_OP_DATA)
        must(payload > 0 && m.a <= SSIZE_MAX && payload <= SSIZE_MAX - m.a);
    else
        must(m.op == WIO_OP_EAGER || payload == 0);
}

static void check_header(const uint8_t *in)
{
    struct wio_frame f;
    uint8_t again[WIO_LINK_BYTES];
    const char *why = NULL;
    int rc = wio_frame_decode(in, &f, &why);
    if (rc != 0) {
        must((rc == WAITIO_ERR_PROTOCOL || rc == WAITIO_ERR_VERSION) && why != NULL);
        return;
    }
    wio_frame_encode(&f, again);
    must(memcmp(in, again, sizeof again) == 0);
    must(f.payload <= WIO_PAYLOAD_MAX && f.lane == 0);
    must(strcmp(wio_frame_kind_name(f.kind), "unknown") != 0);
    must(strcmp(wio_bye_reason_name(f.reason), "unknown") != 0);
    if (f.kind == WIO_FRAME_MESSAGE)
        check_message(in + WIO_LINK_BYTES, f.payload);
    else
        must(f.payload == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (; size >= WIO_HDR_BYTES; data += WIO_HDR_BYTES, size -= WIO_HDR_BYTES) {
        check_header(data);
        /* the p2p part alone, whatever the link part says */
        check_message(data + WIO_LINK_BYTES, data[8]);
    }
    return 0;
}
