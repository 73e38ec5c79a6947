/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_trace.c
 * What the library does with a stream of messages through files, followed by the rules that the
 * model explores (tests/model/file_rules.h). Before each call to the system the test looks at the
 * two files and at the reader: bytes of a record, its header, a record that was read, the cell.
 * Each is a step, in the order in which they show, and the rules must allow it: bytes before their
 * header, no record in the place of one whose reading was not told, nothing read that is not
 * there, no more told than was read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING 4
#define MESSAGES 40
#include "../model/file_rules.h"

#include "harness.h"
#include "transport/file/file.h"

static char scratch[64];
static void in_scratch(struct wio_config *cfg)
{
    wio_text(cfg->scratch_dir, sizeof cfg->scratch_dir, "%s", scratch);
    wio_text(cfg->job_id, sizeof cfg->job_id, "trace");
    cfg->maxfile_size = 5 * (FILE_RING_MIN + FILE_HEAD_BYTES); /* the smallest ring */
}
static const struct variant in_files_of_ours = {WIO_TR_FILE, "file", in_scratch, 0};

static int make_scratch(void **state)
{
    (void)state;
    conform_now = &in_files_of_ours;
    wio_text(scratch, sizeof scratch, "file_trace-XXXXXX");
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int nothing_left(void **state)
{
    (void)state;
    wio_os_fault = NULL;
    return rmdir(scratch);
}

/* The largest record of this ring: a long message is a row of them. */
#define PART (FILE_RING_MIN / RING - FILE_REC_BYTES - FILE_ALIGN)

/* ---- what shows ---- */

static const struct file_link *reader;
static uint64_t base;   /* position of the first record */
static int data, cells; /* the file that is read; the one whose cell tells of it */
static uint8_t expected[MESSAGES][PART];
static struct state now;
static int nsteps, torn; /* torn: a record whose header shows before its bytes, -1: none */

static void show(uint64_t pos, void *buf, size_t n)
{
    uint64_t at = pos % FILE_RING_MIN;
    size_t first = n < FILE_RING_MIN - at ? n : (size_t)(FILE_RING_MIN - at);
    memset(buf, 0, n);
    (void)!pread(data, buf, first, (off_t)(FILE_HEAD_BYTES + at));
    (void)!pread(data, (uint8_t *)buf + first, n - first, FILE_HEAD_BYTES);
}

static uint64_t record(uint32_t k)
{
    return base + k * file_rec_span(PART);
}

/* @param[out] sure  it has a checksum of its bytes */
static bool header_shows(uint32_t k, bool *sure)
{
    uint8_t head[FILE_REC_BYTES];
    struct file_rec r;
    show(record(k), head, sizeof head);
    bool there = wio_file_rec_decode(head, record(k), &r);
    *sure = there && (r.flags & FILE_REC_CRC) != 0;
    return there;
}

static bool bytes_show(uint32_t k)
{
    uint8_t bytes[PART];
    show(record(k) + FILE_REC_BYTES, bytes, sizeof bytes);
    return memcmp(bytes, expected[k], PART) == 0;
}

/* ---- steps of the rules ---- */

static void must(bool allowed, const char *what)
{
    nsteps++;
    if (!allowed || broken != NULL)
        fail_msg("record %d of the writer, %d of the reader, %d told: the rules do not allow "
                 "what the library did: %s%s%s",
                 now.out, now.in, now.acked, what, broken != NULL ? ": " : "",
                 broken != NULL ? broken : "");
}

/* A word that the writer has put shows in the file: where words leave each in its own time, now. */
static void leaves(int word)
{
    must(!fsw->late || fs_step(&now, word), "a word shows that nobody put");
}

static void put_next(void)
{
    must(writer_put(&now), now.step == 0 ? "bytes of a record" : "a header");
}

/* A write that goes round the end of the ring is two: between them a header may show without its
 * bytes, if it has their checksum. */
static void follow_writer(void)
{
    if (torn >= 0 && bytes_show((uint32_t)torn)) {
        leaves(torn % RING);
        torn = -1;
    }
    while (now.out < MESSAGES && torn < 0) {
        uint32_t k = now.out;
        bool sure, header = header_shows(k, &sure), bytes = now.step == 1 || bytes_show(k);
        if (!header && (!bytes || now.step == 1))
            return;
        if (now.step == 0) {
            must(bytes || (sure && fsw->checksum), "a header without its bytes");
            put_next();
            if (bytes)
                leaves((int)(k % RING));
            else
                torn = (int)k;
        }
        if (header) {
            put_next();
            leaves((int)HEADER(k % RING));
        }
    }
}

/* What the reader's client has kept grows old. */
static void look_anew(void)
{
    for (int word = 0; word < WORDS; word++)
        (void)fs_step(&now, WORDS + word);
}

static void follow_reader(uint32_t upto)
{
    while (now.in < upto) {
        uint8_t before = now.in;
        look_anew();
        must(reader_look(&now) && now.phase == 1, "a record was read");
        look_anew();
        must(reader_take(&now) && now.in == before + 1, "a record was read");
    }
}

static uint32_t nread(void)
{
    return (uint32_t)((reader->in_pos - base) / file_rec_span(PART));
}

/* The reader takes what it tells of, the writer hears of it. */
static void follow_cell(void)
{
    uint8_t bytes[FILE_CELL_BYTES];
    struct file_cell c;
    if (pread(cells, bytes, sizeof bytes, FILE_CELL_AT) != sizeof bytes ||
        !wio_file_cell_decode(bytes, &c) || c.consumed <= record(now.acked))
        return;
    uint32_t told = (uint32_t)((c.consumed - base) / file_rec_span(PART));
    must(c.consumed == record(told) && told <= nread(), "more told than read");
    follow_reader(told);
    if (fsw->late) { /* the cell goes, and what the writer has kept of it grows old */
        must(fs_step(&now, 2 * WORDS), "told how far is read");
        (void)fs_step(&now, 2 * WORDS + 1);
    }
    must(writer_ask(&now) && now.acked == told, "told how far is read");
}

static int follow(enum wio_os_call call, int fd, size_t bytes)
{
    (void)call;
    (void)fd;
    (void)bytes;
    follow_writer();
    follow_cell();
    follow_reader(nread());
    return 0;
}

/* ---- transfers ---- */

static int open_again(int fd)
{
    char path[64];
    wio_text(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(again >= 0);
    return again;
}

static const struct file_link *link_of(struct world *w, int node)
{
    return file_link_of(w->node[node].peer[1 - node].ep);
}

static struct world *watched(const struct fs_world *rules)
{
    struct world *w = pair_ready(wio_transport_get(WIO_TR_FILE));
    UNTIL(w, link_of(w, 1)->in_pos == link_of(w, 0)->out_pos);
    reader = link_of(w, 1);
    base = reader->in_pos;
    assert_int_equal(link_of(w, 0)->out.ring, FILE_RING_MIN);
    data = open_again(link_of(w, 0)->out.fd);
    cells = open_again(reader->out.fd);
    memset(&now, 0, sizeof now);
    now.left = 3;
    nsteps = 0;
    broken = NULL;
    memset(now.seen, UNKNOWN, sizeof now.seen);
    now.ack_seen = UNKNOWN;
    torn = -1;
    fsw = rules;
    return w;
}

static void all_followed(struct world *w)
{
    wio_os_fault = follow;
    UNTIL(w, all_arrived(w));
    (void)follow(WIO_OS_FILE, -1, 0);
    wio_os_fault = NULL;
    assert_int_equal(now.out, MESSAGES);
    assert_int_equal(now.in, MESSAGES);
    assert_true(now.acked > MESSAGES - 2 * RING);
    print_message("%d steps, all allowed\n", nsteps);
    close(data);
    close(cells);
    world_free(w);
}

static void test_a_long_message(void **state)
{
    (void)state;
    struct world *w = watched(&worlds[0]); /* one host, no checksums: the order alone counts */
    pattern_fill(expected[0], sizeof expected, 0, 1, 1);
    node_send(&w->node[0], 1, sizeof expected, 0, false);
    all_followed(w);
}

static void test_short_messages(void **state)
{
    (void)state;
    struct world *w = watched(&worlds[1]); /* words show late, checksums tell */
    for (uint32_t k = 0; k < MESSAGES; k++)
        pattern_fill(expected[k], PART, 0, 1, k + 1);
    wio_os_fault = follow;
    for (uint32_t k = 0; k < MESSAGES; k++)
        node_send(&w->node[0], 1, PART, k % 3 == 0 ? WIO_TX_BATCH : 0, false);
    all_followed(w);
}

#define TRACE(f) cmocka_unit_test_setup_teardown(f, make_scratch, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE(test_a_long_message),
        TRACE(test_short_messages),
    };
    return cmocka_run_group_tests_name("file trace", tests, NULL, NULL);
}
