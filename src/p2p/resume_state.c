/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of marks:
 *   head of 32 bytes: magic, checksum of all behind these 8 bytes, number, rank, rows, words
 *   per row 32 bytes: rank, missing messages, sent, arrived, 0
 *   8 bytes per missing message, in the order of the rows
 */
#include "p2p/resume_state.h"

#include <errno.h>

#include "os/os.h"

#define MARK_MAGIC UINT32_C(0x4b4d4957) /* "WIMK" */
enum { HEAD = 32, ROW = 32, NAME = 16 };

static void name_of(const struct wio_resume_files *m, uint64_t number, const char *before,
                    char name[NAME])
{
    wio_text(name, NAME, "%sm%08x-%u", before, m->rank, (unsigned)(number & 1));
}

void wio_resume_state_free(struct wio_resume_state *mark)
{
    wio_os_free(mark->row);
    wio_os_free(mark->words);
    memset(mark, 0, sizeof *mark);
}

const struct wio_resume_row *wio_resume_row(const struct wio_resume_state *mark, uint32_t rank)
{
    for (uint32_t i = 0; i < mark->n; i++)
        if (mark->row[i].rank == rank)
            return &mark->row[i];
    return NULL;
}

bool wio_resume_row_has(const struct wio_resume_row *row, uint64_t number)
{
    if (row == NULL || number > row->arrived)
        return false;
    for (uint32_t i = 0; i < row->nmissing; i++)
        if (row->missing[i] == number)
            return false;
    return true;
}

uint64_t wio_resume_row_through(const struct wio_resume_row *row)
{
    if (row == NULL)
        return 0;
    uint64_t through = row->arrived;
    for (uint32_t i = 0; i < row->nmissing; i++)
        if (row->missing[i] <= through)
            through = row->missing[i] - 1;
    return through;
}

/* ---- reading ---- */

/* @return 0; NOMEM, CONFIG (-1: it does not fit) */
static int decode(const struct wio_resume_files *m, const uint8_t *raw, size_t bytes,
                  struct wio_resume_state *out)
{
    if (bytes < HEAD || wio_get32(raw) != MARK_MAGIC ||
        wio_get32(raw + 4) != wio_crc32c(0, raw + 8, bytes - 8) || wio_get32(raw + 16) != m->rank)
        return WAITIO_ERR_CONFIG;
    out->number = wio_get64(raw + 8);
    out->n = wio_get32(raw + 20);
    out->nwords = (size_t)wio_get64(raw + 24);
    if (out->number == 0 || out->n > m->size || out->nwords > bytes / 8 ||
        bytes != HEAD + (size_t)out->n * ROW + out->nwords * 8)
        return WAITIO_ERR_CONFIG;
    out->row = wio_os_alloc((out->n + 1) * sizeof *out->row);
    out->words = wio_os_alloc((out->nwords + 1) * sizeof *out->words);
    if (out->row == NULL || out->words == NULL)
        return WAITIO_ERR_NOMEM;
    const uint8_t *at = raw + HEAD + (size_t)out->n * ROW;
    size_t used = 0;
    for (size_t i = 0; i < out->nwords; i++)
        out->words[i] = wio_get64(at + 8 * i);
    for (uint32_t i = 0; i < out->n; i++) {
        const uint8_t *row = raw + HEAD + (size_t)i * ROW;
        out->row[i] = (struct wio_resume_row){.rank = wio_get32(row),
                                              .nmissing = wio_get32(row + 4),
                                              .sent = wio_get64(row + 8),
                                              .arrived = wio_get64(row + 16),
                                              .missing = out->words + used};
        if (out->row[i].rank >= m->size || out->row[i].nmissing > out->nwords - used)
            return WAITIO_ERR_CONFIG;
        used += out->row[i].nmissing;
    }
    return 0;
}

/* @return 0, -errno */
static int read_whole(int fd, uint8_t *to, size_t n)
{
    struct iovec iov = {to, n};
    ssize_t got = wio_os_preadv(fd, &iov, 1, 0);
    return got < 0 ? (int)got : (size_t)got == n ? 0 : -EIO;
}

static int read_one(const struct wio_resume_files *m, unsigned which, struct wio_resume_state *out)
{
    char name[NAME];
    struct wio_os_stat st = {0};
    name_of(m, which, "", name);
    int fd = wio_os_open_at(m->dir, name, false);
    if (fd == -ENOENT)
        return 0;
    int rc = fd < 0 ? fd : wio_os_fstat(fd, &st);
    uint8_t *raw = rc < 0 ? NULL : wio_os_realloc(NULL, (size_t)st.size + 1);
    if (raw != NULL)
        rc = read_whole(fd, raw, (size_t)st.size);
    wio_os_close(fd);
    if (rc < 0 || raw == NULL) {
        wio_os_free(raw);
        return rc < 0 ? wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot read %s/%s", m->path, name)
                      : wio_fail(WAITIO_ERR_NOMEM, "no memory for %s/%s", m->path, name);
    }
    rc = decode(m, raw, (size_t)st.size, out);
    wio_os_free(raw);
    if (rc == WAITIO_ERR_NOMEM)
        return wio_fail(rc, "no memory for %s/%s", m->path, name);
    return rc == 0 ? 0
                   : wio_fail(rc,
                              "%s/%s is damaged: this run cannot go on; remove its directory by "
                              "waitio clean --remove --resumable, and have the programs begin anew",
                              m->path, name);
}

int wio_resume_states_read(const struct wio_resume_files *m, struct wio_resume_state of[2])
{
    memset(of, 0, 2 * sizeof *of);
    int rc = read_one(m, 0, &of[0]);
    if (rc == 0)
        rc = read_one(m, 1, &of[1]);
    if (rc == 0 && of[0].number > of[1].number) {
        struct wio_resume_state newer = of[0];
        of[0] = of[1];
        of[1] = newer;
    }
    if (rc == 0 && of[1].number > of[0].number + 1)
        rc = wio_fail(WAITIO_ERR_CONFIG,
                      "%s has mark %llu of this process, and not the one before: a file is "
                      "missing; remove the directory by waitio clean --remove --resumable",
                      m->path, (unsigned long long)of[1].number);
    if (rc != 0) {
        wio_resume_state_free(&of[0]);
        wio_resume_state_free(&of[1]);
    }
    return rc;
}

/* ---- writing ---- */

static void encode(const struct wio_resume_files *m, const struct wio_resume_state *mark,
                   uint8_t *raw, size_t bytes)
{
    uint8_t *at = raw + HEAD + (size_t)mark->n * ROW;
    memset(raw, 0, bytes);
    wio_put32(raw, MARK_MAGIC);
    wio_put64(raw + 8, mark->number);
    wio_put32(raw + 16, m->rank);
    wio_put32(raw + 20, mark->n);
    wio_put64(raw + 24, mark->nwords);
    for (uint32_t i = 0; i < mark->n; i++) {
        uint8_t *row = raw + HEAD + (size_t)i * ROW;
        wio_put32(row, mark->row[i].rank);
        wio_put32(row + 4, mark->row[i].nmissing);
        wio_put64(row + 8, mark->row[i].sent);
        wio_put64(row + 16, mark->row[i].arrived);
        for (uint32_t k = 0; k < mark->row[i].nmissing; k++, at += 8)
            wio_put64(at, mark->row[i].missing[k]);
    }
    wio_put32(raw + 4, wio_crc32c(0, raw + 8, bytes - 8));
}

/* @return 0, -errno */
static int put_file(const struct wio_resume_files *m, const char *name, const uint8_t *raw,
                    size_t bytes)
{
    (void)wio_os_unlink_at(m->dir, name, false); /* of a process that was killed here */
    int fd = wio_os_create_at(m->dir, name, 0600);
    if (fd < 0)
        return fd;
    int rc = 0;
    for (size_t at = 0; at < bytes && rc == 0;) {
        struct iovec iov = {(uint8_t *)(uintptr_t)raw + at, bytes - at};
        ssize_t n = wio_os_pwritev(fd, &iov, 1, at);
        rc = n > 0 ? 0 : n < 0 ? (int)n : -EIO;
        at += n > 0 ? (size_t)n : 0;
    }
    wio_os_close(fd);
    return rc;
}

int wio_resume_states_write(const struct wio_resume_files *m, const struct wio_resume_state *mark)
{
    char name[NAME], made[NAME];
    size_t bytes = HEAD + (size_t)mark->n * ROW + mark->nwords * 8;
    uint8_t *raw = wio_os_realloc(NULL, bytes);
    if (raw == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a mark of %zu bytes", bytes);
    name_of(m, mark->number, ".", made);
    name_of(m, mark->number, "", name);
    encode(m, mark, raw, bytes);
    int rc = put_file(m, made, raw, bytes);
    wio_os_free(raw);
    if (rc == 0)
        rc = wio_os_rename_at(m->dir, made, name);
    return rc == 0
               ? 0
               : wio_fail_os(rc == -ENOSPC || rc == -EDQUOT ? WAITIO_ERR_LIMIT : WAITIO_ERR_SYSTEM,
                             rc, "cannot write %s/%s", m->path, name);
}
