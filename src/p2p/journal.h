/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file journal.h
 * The journal of messages in files (WAITIO_FILE_RESUME): each process appends what it sends to one
 * row of segments per receiver, before the message leaves. A segment is written in one life of its
 * writer only, and read in later ones. The rows are read by the receiver, which has lost what it
 * had not saved, and by the sender, which compares what it sends once more.
 *
 *   name      jSSSSSSSS-DDDDDDDD-NNNNNNNNNNNNNNNN-UUUUUUUUUUUUUUUU: sender, receiver (universe
 *             ranks), number of its first message, universe of its writer
 *   content   head of 64 bytes, then records: head of 48 bytes, data, tail of 8 bytes
 *
 * A process that is killed leaves a file that ends too early, so such an end is the end of a row.
 * Anything else that does not fit its checksum is damage. Private to p2p/.
 */
#ifndef WIO_JOURNAL_H
#define WIO_JOURNAL_H

#include "base/base.h"

struct wio_spread;

#define WIO_JOURNAL_HEAD 64u
#define WIO_JOURNAL_RECORD 48u
#define WIO_JOURNAL_TAIL 8u

/** A message of an earlier life. */
struct wio_stored {
    uint64_t number, space, bytes;
    uint64_t offset; /**< of its record, in ... */
    uint32_t src, dst;
    uint64_t first, universe; /**< ... this segment */
    int32_t tag;
};
struct wio_segment {
    uint32_t src, dst;
    uint64_t first, universe;
    uint64_t next;  /**< first number that is not in it; 0: not read yet */
    uint64_t bytes; /**< its size */
};
struct wio_journal {
    int dir;          /**< the folder, not owned */
    const char *path; /**< its name, for messages; not owned */
    uint32_t me;
    uint64_t universe; /**< of this life: its segments are not read */
    struct wio_segment *segment;
    size_t n, room;
    uint64_t bytes;  /**< of all that this process has written, in all lives */
    uint64_t passed; /**< what a walk has read */
};
/** The row that is being written, to one receiver. */
struct wio_writer {
    int fd;         /**< -1: closed */
    uint64_t first; /**< 0: no segment yet */
    uint64_t at;    /**< its size */
};

/** Find all segments from and to this process. @return 0; SYSTEM, NOMEM */
int wio_journal_list(struct wio_journal *j);
void wio_journal_free(struct wio_journal *j);
/**
 * Read the row from @p src to @p dst, without the data, and hand over each message with a number
 * above @p after.
 * @param[out] last  number of the last message; 0: none, ever
 * @return 0; CONFIG: something is missing or damaged; SYSTEM; what @p each returned
 */
int wio_journal_walk(struct wio_journal *j, uint32_t src, uint32_t dst, uint64_t after,
                     int (*each)(void *arg, const struct wio_stored *m), void *arg, uint64_t *last);
/** Read @p n bytes of a message from @p at on. @return 0; SYSTEM; CONFIG: it has no such bytes */
int wio_journal_data(const struct wio_journal *j, const struct wio_stored *m, uint64_t at, void *to,
                     size_t n);
/** The checksum that was written behind a message. @return 0; CONFIG, SYSTEM */
int wio_journal_sum(const struct wio_journal *j, const struct wio_stored *m, uint32_t *crc);
int wio_journal_damaged(const struct wio_journal *j, const struct wio_stored *m);

/** A message that is sent. */
struct wio_sent {
    uint64_t number, space;
    const uint8_t *buf; /**< NULL: spread */
    const struct wio_spread *spread;
    int32_t peer; /**< for spread: the receiver's rank in the group */
    int32_t tag;
    size_t bytes;
};
/** The checksum of its data. @return 0; NOMEM */
int wio_journal_sum_of(const struct wio_sent *m, uint32_t *crc);
/** Append a message; after an error nothing of it is left.
 * @param most  a segment that would be larger, or than files may be, is followed by another one
 * @return 0; SYSTEM, LIMIT: the disk is full, or no file may be so large; NOMEM */
int wio_journal_append(struct wio_journal *j, struct wio_writer *w, uint32_t dst, uint64_t most,
                       const struct wio_sent *m);
/** Remove own segments to @p dst that hold no message above @p number; the last one stays. */
void wio_journal_forget(struct wio_journal *j, uint32_t dst, uint64_t number);

#endif
