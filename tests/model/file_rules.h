/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file file_rules.h
 * The rules of the stream of messages through files (docs/design/file-model.md), one step at a
 * time. model_file.c explores all that can happen by them; tests/conform/file_trace.c asks whether
 * what the library does is possible by them. Who includes it may define RING (records, at most 4)
 * and MESSAGES (less than 255).
 */
#ifndef MODEL_FILE_RULES_H
#define MODEL_FILE_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef RING
#define RING 2
#define MESSAGES 3
#endif
#define WORDS (2 * RING) /* bodies, then headers */
#define HEADER(slot) (RING + (slot))
#define UNKNOWN 0xff
#define NOT_SEEN 0
#define HELD 1

/* What the file system does, and what of the protocol answers it. */
struct fs_world {
    const char *name;
    bool late;     /* words leave, arrive and grow old each in its own time, but surely */
    bool reopen;   /* only surely when the writer syncs and the reader opens again */
    bool checksum; /* of the bytes: given where the world is not one host */
    bool locks;    /* are seen by the other client */
};
static const struct fs_world worlds[] = {
    {"one host", false, false, false, true},
    {"late visibility, locks", true, false, true, true},
    {"late visibility, no locks", true, false, true, false},
    {"close-to-open, sync and reopen", false, true, true, false},
    {"close-to-open, with locks that may be lost", false, true, true, true},
};
#define NWORLDS (sizeof worlds / sizeof worlds[0])

enum mutation {
    NONE,
    NO_CHECKSUM,
    HEADER_FIRST,
    NO_ROOM_CHECK,
    ACK_EARLY,
    NO_POSITION,
    NO_SYNC,
    NO_REOPEN,
    UNSURE,
    NO_ENTRY_IS_DEATH,
    NO_LOCK_IS_DEATH,
    LOST_LOCK_IS_DEATH,
    NO_DEATH,
    NOTHING_REMOVED,
    MUTATIONS
};
struct state {
    uint8_t out, step, acked;                        /* writer: next message, word of it, room */
    uint8_t in, phase;                               /* reader: next message; header accepted */
    uint8_t mine[WORDS], dirty;                      /* the writer's client */
    uint8_t file[WORDS];                             /* the server */
    uint8_t seen[WORDS];                             /* the reader's client; UNKNOWN: not cached */
    uint8_t ack_mine, ack_dirty, ack_file, ack_seen; /* the cell, the other way */
    uint8_t wdead, rdead;                            /* killed */
    uint8_t wgone, rgone;                            /* the other side has found that */
    uint8_t entry, lock;                             /* the writer's sign of life, at the reader */
    uint8_t lost;                                    /* the writer's client has lost its locks */
    uint8_t left;                                    /* mask: files that are there */
};

static const struct fs_world *fsw;
static enum mutation mut;
static const char *broken; /* what the last step did wrong */

static bool coherent(void)
{
    return !fsw->late && !fsw->reopen;
}

/* ---- the file system ---- */

static void put_word(struct state *s, int word, uint8_t value)
{
    s->mine[word] = value;
    s->dirty |= (uint8_t)(1u << word);
    if (coherent()) {
        s->file[word] = value;
        s->dirty = 0;
    }
}

static uint8_t get_word(struct state *s, int word)
{
    if (coherent())
        return s->file[word];
    if (s->seen[word] == UNKNOWN)
        s->seen[word] = s->file[word];
    return s->seen[word];
}

static void flush(struct state *s, unsigned mask)
{
    for (int i = 0; i < WORDS; i++)
        if (s->dirty & mask & 1u << i)
            s->file[i] = s->mine[i];
    s->dirty &= (uint8_t)~mask;
}

static void say_read(struct state *s, uint8_t n)
{
    s->ack_mine = n;
    s->ack_dirty = 1;
    if (coherent() || (fsw->reopen && mut != NO_SYNC)) {
        s->ack_file = n;
        s->ack_dirty = 0;
    }
}

/* Actions of the file system; in a late world they come surely. @return possible */
static bool fs_step(struct state *s, int a)
{
    if (a < WORDS) { /* a page goes to the server */
        bool can = s->dirty & 1u << a;
        flush(s, 1u << a);
        return can;
    }
    a -= WORDS;
    if (a < WORDS) { /* a copy grows old; not in a close-to-open world */
        bool can = fsw->late && s->seen[a] != UNKNOWN;
        s->seen[a] = UNKNOWN;
        return can;
    }
    switch (a - WORDS) {
    case 0: {
        bool can = s->ack_dirty;
        s->ack_file = s->ack_mine;
        s->ack_dirty = 0;
        return can;
    }
    case 1: {
        bool can = fsw->late && s->ack_seen != UNKNOWN;
        s->ack_seen = UNKNOWN;
        return can;
    }
    case 2: {
        bool can = fsw->reopen && fsw->locks && !s->lost;
        s->lost = 1;
        return can;
    }
    case 3: { /* the name of the sign of life shows */
        bool can = !s->entry;
        s->entry = 1;
        return can;
    }
    default:
        return false;
    }
}
#define FS_STEPS (2 * WORDS + 4)

/* ---- the protocol ---- */

static void writer_put_word(struct state *s)
{
    int slot = s->out % RING;
    bool body = (s->step == 0) != (mut == HEADER_FIRST);
    put_word(s, body ? slot : HEADER(slot), (uint8_t)(s->out + 1));
}

static bool writer_put(struct state *s)
{
    if (s->wdead || s->rgone || s->out == MESSAGES)
        return false;
    if (s->step == 0 && s->out - s->acked >= RING && mut != NO_ROOM_CHECK)
        return false;
    writer_put_word(s);
    s->step++;
    if (s->step == 2) {
        if (fsw->reopen && mut != NO_SYNC)
            flush(s, ~0u);
        s->step = 0;
        s->out++;
    }
    return true;
}

/* The second word is written, but cannot be synced: what has not gone out by itself is lost. */
static bool writer_fails(struct state *s)
{
    if (s->step != 1 || !fsw->reopen || mut == NO_SYNC || s->wdead || s->rgone)
        return false;
    writer_put_word(s);
    s->dirty = 0;
    s->step = 0; /* both are written again */
    s->out += mut == UNSURE;
    return true;
}

static bool writer_ask(struct state *s)
{
    if (s->wdead || s->rgone || s->out == MESSAGES)
        return false;
    if (s->ack_seen == UNKNOWN || coherent() || (fsw->reopen && mut != NO_REOPEN))
        s->ack_seen = s->ack_file;
    bool news = s->ack_seen > s->acked && s->ack_seen <= s->out;
    if (news)
        s->acked = s->ack_seen;
    return news;
}

static bool reader_look(struct state *s)
{
    if (s->rdead || s->wgone || s->in == MESSAGES || s->phase != 0)
        return false;
    uint8_t h = get_word(s, HEADER(s->in % RING));
    if (mut == NO_POSITION ? h == 0 : h != s->in + 1)
        return true; /* a look in vain: it may have cached something */
    s->phase = 1;
    if (mut == ACK_EARLY)
        say_read(s, (uint8_t)(s->in + 1));
    return true;
}

static bool reader_take(struct state *s)
{
    if (s->rdead || s->wgone || s->phase != 1)
        return false;
    uint8_t b = get_word(s, s->in % RING), h = get_word(s, HEADER(s->in % RING));
    s->phase = 0;
    if (fsw->checksum && mut != NO_CHECKSUM && b != h)
        return true; /* not all there yet */
    if (b != s->in + 1)
        broken = "a message was read half, or is another one";
    s->in++;
    if (s->in > s->out + (s->step > 0))
        broken = "a message was read that nobody wrote";
    say_read(s, s->in);
    return true;
}

static bool reader_reopen(struct state *s)
{
    if (!fsw->reopen || mut == NO_REOPEN || s->rdead || s->phase != 0)
        return false;
    memset(s->seen, UNKNOWN, sizeof s->seen);
    return true;
}

static bool die(uint8_t *dead, const uint8_t *other)
{
    bool can = !*dead && !*other; /* one of the two: else nobody is left to see anything */
    *dead = 1;
    return can;
}

/* What the writer's sign of life says to the reader: a lock, or a counter that stands still. Who
 * goes on counting without its lock has lost it. @param held  its lock is seen */
static bool looks_dead(const struct state *s, bool held)
{
    if (!s->entry)
        return mut == NO_ENTRY_IS_DEATH;
    return s->wdead || (!held && s->lock == NOT_SEEN && mut == NO_LOCK_IS_DEATH) ||
           (!held && s->lock == HELD && mut == LOST_LOCK_IS_DEATH);
}

static void reader_mourns(struct state *s)
{
    s->wgone = 1;
    if (!s->wdead)
        broken = "a living process was taken for dead";
    else if (coherent() && s->in < s->out)
        broken = "a whole message of a dead process was lost";
    if (mut != NOTHING_REMOVED)
        s->left = 0;
}

/* What a dead writer has written is read first. */
static bool reader_check(struct state *s)
{
    if (s->rdead || s->wgone || mut == NO_DEATH || s->in == MESSAGES || s->phase != 0)
        return false;
    bool held = fsw->locks && s->entry && !s->wdead && !s->lost;
    bool dead = looks_dead(s, held);
    if (held)
        s->lock = HELD;
    if (!dead || get_word(s, HEADER(s->in % RING)) == s->in + 1)
        return held;
    reader_mourns(s);
    return true;
}

static bool writer_check(struct state *s)
{
    if (s->wdead || s->rgone || mut == NO_DEATH || !s->rdead)
        return false;
    s->rgone = 1;
    if (mut != NOTHING_REMOVED)
        s->left = 0;
    return true;
}

static bool leave(struct state *s)
{
    bool can = s->in == MESSAGES && s->left != 0 && !s->rdead && mut != NOTHING_REMOVED;
    s->left = 0;
    return can;
}

#define ACTS 9
#define STEPS (FS_STEPS + ACTS + 2)
/* @return whether the step is possible; @param[out] sure  it comes if nothing else does */
static inline bool step(struct state *s, int a, bool *sure)
{
    static bool (*const acts[ACTS])(struct state *) = {writer_put,   writer_ask,    reader_look,
                                                       reader_take,  reader_reopen, reader_check,
                                                       writer_check, leave,         writer_fails};
    *sure = a < FS_STEPS ? fsw->late || a == FS_STEPS - 1 : a < FS_STEPS + ACTS - 1;
    if (a < FS_STEPS)
        return fs_step(s, a);
    if (a < FS_STEPS + ACTS)
        return acts[a - FS_STEPS](s);
    return a == FS_STEPS + ACTS ? die(&s->wdead, &s->rdead) : die(&s->rdead, &s->wdead);
}

static inline const char *step_name(int a)
{
    static const char *const fs[] = {"the cell goes to the server", "the cell grows old",
                                     "the locks are lost", "the sign of life shows"};
    static const char *const acts[] = {
        "writer: puts a word", "writer: asks for room", "reader: looks",       "reader: takes",
        "reader: opens again", "reader: checks life",   "writer: checks life", "reader: leaves",
        "writer: cannot sync", "writer: KILLED",        "reader: KILLED"};
    return a < WORDS       ? "a page goes to the server"
           : a < 2 * WORDS ? "a copy grows old"
           : a < FS_STEPS  ? fs[a - 2 * WORDS]
                           : acts[a - FS_STEPS];
}

#endif
