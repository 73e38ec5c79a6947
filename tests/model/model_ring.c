/* SPDX-License-Identifier: BSD-3-Clause */
/** @file model_ring.c  The library's ring, tiny, one writer and one reader. */
#include "transport/shm/ring.h"

#undef SHM_PUBLISH /* several pieces in a tiny bulk ring */
#define SHM_PUBLISH 32u
#include "transport/shm/ring.c"

/* The explorer sees what is copied, not how. */
void wio_os_copy(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

int64_t wio_os_now_ns(void)
{
    return 0;
}

static struct shm_writer w;
static struct shm_reader r;
static int nmsgs;
static uint32_t len_of[8]; /* of message i */
static bool streamed[8], whole[8];
static unsigned marks[8]; /* where it begins */

/* The rings begin at a position whose sequence numbers pass 2^32 on the way. */
static void place(uint32_t slots, uint32_t mid, uint32_t bulk, uint64_t at)
{
    struct shm_ring_geo g = {slots, mid, bulk};
    memset(&w, 0, sizeof w);
    memset(&r, 0, sizeof r);
    wio_shm_ring_place(&w.ring, &g, mm_arena());
    r.ring = w.ring;
    w.slot_tail = w.slot_head = r.slot_head = r.slot_told = at;
    atomic_init(&w.ring.ctl->slot_head, at);
    for (uint64_t i = 0; i < slots; i++) { /* as the lap before left them */
        struct shm_slot *s = &w.ring.slot[(at + i) & (slots - 1)];
        atomic_init(&s->seq, (uint32_t)(at + i + 1 - slots));
        mm_name(&s->seq, "seq[%d]", (int)((at + i) & (slots - 1)));
    }
    mm_name(&w.ring.ctl->bulk_tail, "bulk_tail");
    mm_name(&w.ring.ctl->bulk_head, "bulk_head");
    mm_name(&w.ring.ctl->mid_head, "mid_head");
    mm_name(&w.ring.ctl->slot_head, "slot_head");
}

static uint32_t word_of(int i, uint32_t k)
{
    return 0x1000u * (uint32_t)(i + 1) + k;
}

static void make(int i, uint8_t msg[WIO_MSG_BYTES], uint32_t *payload)
{
    memset(msg, i + 1, WIO_MSG_BYTES);
    for (uint32_t k = 0; k < len_of[i] / 4; k++)
        payload[k] = word_of(i, k);
}

static void check(int i, const uint8_t *msg, const uint32_t *payload, uint32_t n)
{
    if (n != len_of[i])
        mm_fail("message %d has %u bytes", i, (unsigned)n);
    if (msg[0] != i + 1 || msg[WIO_MSG_BYTES - 1] != i + 1)
        mm_fail("message %d has the header of message %d", i, msg[0] - 1);
    for (uint32_t k = 0; k < n / 4; k++)
        if (payload[k] != word_of(i, k))
            mm_fail("word %u of message %d is %x", (unsigned)k, i, (unsigned)payload[k]);
}

static void writer(void)
{
    for (int i = 0; i < nmsgs; i++) {
        uint8_t msg[WIO_MSG_BYTES];
        uint32_t payload[64];
        make(i, msg, payload);
        while (marks[i] == SHM_BACK && !shm_ring_can_go_back(&w, len_of[i]))
            mm_spin(NULL);
        if (streamed[i]) {
            while (!shm_ring_begin(&w, msg, len_of[i], marks[i]))
                mm_spin(NULL);
            for (size_t done = 0; done < len_of[i];) {
                size_t n = wio_shm_ring_stream(&w, (uint8_t *)payload + done, len_of[i] - done);
                if (n == 0)
                    mm_spin(NULL);
                done += n;
            }
        } else if (whole[i]) {
            struct shm_slot *s;
            while ((s = wio_shm_ring_fill_bulk(&w, payload, len_of[i], marks[i])) == NULL)
                mm_spin(NULL);
            memcpy(s->msg, msg, WIO_MSG_BYTES);
            shm_slot_publish(&w, s);
        } else {
            while (!shm_ring_put(&w, SHM_MESSAGE, msg, payload, len_of[i]))
                mm_spin(NULL);
        }
    }
}

/* As drain() of rx.c, till the end of the message. */
static void drain(uint32_t *to, uint32_t len)
{
    uint32_t got = 0;
    while (got < len) {
        int64_t n = shm_ring_streamed(&r);
        if (n < 0)
            mm_fail("an impossible position of the stream");
        if (n == 0) {
            (void)shm_ring_tell(&r);
            mm_spin(NULL);
            continue;
        }
        if (n > (int64_t)(len - got))
            n = len - got;
        if (n > (int64_t)SHM_PUBLISH)
            n = SHM_PUBLISH;
        if (mm_mutated("drain: free before copy")) {
            uint64_t at = r.bulk_head;
            (void)wio_shm_ring_drain(&r, NULL, 0, (size_t)n, n == (int64_t)(len - got));
            wio_shm_copy_out(r.ring.bulk, r.ring.geo.bulk, at, (uint8_t *)to + got, (size_t)n);
        } else {
            (void)wio_shm_ring_drain(&r, (uint8_t *)to + got, (size_t)n, (size_t)n,
                                     n == (int64_t)(len - got));
        }
        got += (uint32_t)n;
    }
}

/* As one_slot() and wio_shm_rx_ring() of rx.c. */
static void take(int i, const struct shm_slot *s)
{
    uint8_t msg[WIO_MSG_BYTES];
    uint32_t payload[64];
    uint32_t info = s->info, n = shm_len(info);
    memcpy(msg, s->msg, WIO_MSG_BYTES);
    if (n > sizeof payload)
        mm_fail("message %d has %u bytes", i, (unsigned)n);
    if (shm_where(info) == SHM_STREAM) {
        shm_ring_take(&r, 0);
        shm_ring_follow(&r, s->data[0], payload);
        drain(payload, n);
    } else if (shm_where(info) == SHM_WHOLE) {
        uint64_t at = shm_bulk_at(&r.ring, r.bulk_head, s->data[0]);
        if (mm_mutated("take: bulk is free before its copy")) {
            r.bulk_head = at + n;
            shm_ring_take(&r, 0);
            (void)shm_ring_tell(&r);
        }
        wio_shm_copy_out(r.ring.bulk, r.ring.geo.bulk, at, payload, n);
        if (r.bulk_head != at + n) {
            shm_ring_take(&r, 0);
            r.bulk_head = at + n;
        }
    } else {
        bool mid = shm_where(info) == SHM_MID, early = mm_mutated("take: tell before copy");
        if (early) {
            shm_ring_take(&r, mid ? n : 0);
            (void)shm_ring_tell(&r);
        }
        if (mid)
            wio_shm_copy_out(r.ring.mid, r.ring.geo.mid, r.mid_head - (early ? SHM_ROUND(n) : 0),
                             payload, n);
        else
            shm_copy_small((uint8_t *)payload, s->data, n);
        if (!early)
            shm_ring_take(&r, mid ? n : 0);
    }
    check(i, msg, payload, n);
}

static void reader(void)
{
    for (int i = 0; i < nmsgs; i++) {
        const struct shm_slot *s;
        while ((s = shm_ring_peek(&r)) == NULL) {
            (void)shm_ring_tell(&r);
            if ((s = shm_ring_peek(&r)) != NULL)
                break;
            mm_spin(NULL);
        }
        take(i, s);
        if (r.slot_head - r.slot_told >= (r.ring.geo.slots + 3) / 4)
            (void)shm_ring_tell(&r);
    }
}

static void messages(int n, const uint32_t *len, unsigned stream)
{
    nmsgs = n;
    for (int i = 0; i < n; i++) {
        len_of[i] = len[i];
        streamed[i] = (stream >> i & 1u) != 0;
        whole[i] = false;
        marks[i] = 0;
    }
}

static void setup_slots(void)
{
    place(2, 64, 64, 0xfffffffeu);
    messages(5, (const uint32_t[]){8, 8, 16, 0, 8}, 0);
}
static void setup_mid(void)
{
    place(4, 128, 64, 0);
    messages(4, (const uint32_t[]){32, 20, 8, 32}, 0);
}
static void setup_stream(void)
{
    place(2, 64, 64, 0);
    messages(2, (const uint32_t[]){112, 8}, 1u);
}
static void setup_streams(void) /* the second begins on the next line */
{
    place(2, 64, 64, 0);
    messages(2, (const uint32_t[]){36, 64}, 1u | 2u);
}

static void setup_skips(void) /* past the end of a full ring, and back to its beginning */
{
    place(2, 64, 4 * SHM_LINE, 0);
    messages(2, (const uint32_t[]){20, 36}, 1u | 2u);
    marks[0] = 1;
    marks[1] = SHM_SKIP_MAX;
}

static void setup_wholes(void) /* behind a stream and before one; the second waits for room */
{
    place(2, 64, 2 * SHM_LINE, 0);
    messages(4, (const uint32_t[]){36, 40, 72, 20}, 1u | 8u);
    whole[1] = whole[2] = true;
}

static void setup_back(
    void) /* each begins where the ring does, while the stream before it is read */
{
    place(2, 64, 2 * SHM_LINE, 0);
    messages(3, (const uint32_t[]){44, 20, 20}, 1u | 2u);
    whole[2] = true;
    marks[1] = marks[2] = SHM_BACK;
}

static const struct mm_program programs[] = {
    {.name = "ring: five headers through two slots",
     .threads = 2,
     .setup = setup_slots,
     .body = {writer, reader}},
    {.name = "ring: payloads in a byte ring of two",
     .threads = 2,
     .setup = setup_mid,
     .body = {writer, reader}},
    {.name = "ring: a stream through half its room",
     .threads = 2,
     .setup = setup_stream,
     .body = {writer, reader}},
    {.name = "ring: two streams", .threads = 2, .setup = setup_streams, .body = {writer, reader}},
    {.name = "ring: streams behind lines that are left out",
     .threads = 2,
     .setup = setup_skips,
     .body = {writer, reader}},
    {.name = "ring: bulk that begins where the ring does",
     .threads = 2,
     .setup = setup_back,
     .body = {writer, reader}},
    {.name = "ring: complete bulk between streams",
     .threads = 2,
     .setup = setup_wholes,
     .body = {writer, reader}},
};
static const char *const mutants[] = {"drain: free before copy", "take: tell before copy",
                                      "take: bulk is free before its copy", NULL};
static const char *const needless[] = {NULL};

int main(int argc, char **argv)
{
    static const struct mm_suite s = {"ring",  programs, sizeof programs / sizeof programs[0],
                                      mutants, needless, NULL};
    return mm_main(&s, argc, argv);
}
