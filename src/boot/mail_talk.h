/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mail_talk.h
 * Inside of mail_dial.c and mail_serve.c: one conversation (bytes of a socket to letters and back),
 * the folders, the signs of life. Not thread safe: each belongs to one thread.
 *
 *   RUN/rendezvous/                    the run's directory is that of the messages through files
 *       here                           the service's sign of life
 *       SERVICE/                       everything of one service, by its nonce
 *           in/                        letters to it
 *           CALLER/                    everything for one caller, by its nonce
 *               alive                  the caller's sign of life
 *               CALLER-NUMBER          letters to it
 */
#ifndef WIO_BOOT_MAIL_TALK_H
#define WIO_BOOT_MAIL_TALK_H

#include "boot/mail.h"
#include "boot/mail_letter.h"

#define MAIL_ROOM "rendezvous"
#define MAIL_HERE "here"
#define MAIL_INBOX "in"
#define MAIL_ALIVE "alive"
#define MAIL_RETRY_NS INT64_C(20000000)      /* after a write that failed for now */
#define MAIL_LAST_NS INT64_C(2000000000)     /* for what is still to be written at the end */
#define MAIL_PATIENCE_NS INT64_C(5000000000) /* for the bytes of a letter whose name is there */

/* ---- mail_place.c ---- */

/** The folder of all, or the error of it: text names the path. @param make  make it if need be, a
 * few times if somebody who ends removes it. @return descriptor or code */
int wio_mail_room(const struct wio_mail_way *way, bool make, char *path, size_t n);
/** Does its file system show late, in any order, what others have done? */
bool wio_mail_weak(const struct wio_mail_way *way, int room);
void wio_mail_folder_name(char name[20], uint64_t nonce);
/** Remove the folder's files, then itself; @p at is its parent. @param patient  on a weak file
 * system: for up to 2 s, since its names may show late */
void wio_mail_empty(int at, const char *name, bool patient);
/** Remove an empty folder. @param patient  on a weak file system: for up to 2 s, since what others
 * have removed may show late. @return 0 or -errno */
int wio_mail_remove(int at, const char *name, bool patient);
/** A random number that is not 0. */
uint64_t wio_mail_nonce(void);

/** Our own sign of life. */
struct mail_sign {
    int fd;
    struct wio_mail_sign s;
    int64_t next_ns, every_ns;
    bool weak; /* others see what is synced */
};
/** Make it in this folder. @return 0 or -errno */
int wio_mail_sign_make(struct mail_sign *m, const struct wio_mail_way *way, int folder,
                       const char *name, uint64_t nonce, uint64_t *ops);
/** Show that we live, if it is time. @return whether it was time long ago: we were stopped, or the
 * machine was, and others perhaps, too */
bool wio_mail_beat(struct mail_sign *m, int64_t now);

/** What we know of another one's. */
struct mail_watch {
    int fd;
    struct wio_mail_sign s;
    int64_t grown_ns; /* when its counter was seen to grow; 0: never seen */
    bool lock_seen;
};
enum mail_life { MAIL_LIVES, MAIL_ENDED, MAIL_UNKNOWN, MAIL_OTHER_VERSION };
/** Look. @param silence_ns  it has ended when its counter has not grown for so long
 * @param[out] version  with OTHER_VERSION */
enum mail_life wio_mail_look(struct mail_watch *w, int folder, const char *name, int64_t now,
                             int64_t silence_ns, int *version, uint64_t *ops);
/** It may have been stopped as we were: its silence begins anew. */
void wio_mail_forgive(struct mail_watch *w, int64_t now);
/** It was never seen locked though it says that it is: is that one here who has died?
 * @param weak  of two clients on one host neither need see the locks of the other */
bool wio_mail_unlocked(const struct mail_watch *w, bool weak);

/* ---- mail_talk.c ---- */

struct mail_talk {
    const struct wio_mail_way *way;
    uint64_t service, caller;
    bool serving;
    int sock; /* our end; -1: closed */
    uint32_t next_out, next_in;
    uint8_t *out, *in; /* read from sock, not written yet; read from letters, not sent yet */
    size_t out_len, out_cap, in_len, in_off;
    bool data_out, data_in;
    bool out_end, end_sent; /* our side has closed; and the letter that says so is written */
    bool in_end, in_shut;   /* theirs; and our side knows */
    bool dead;              /* nobody reads what we write */
    int64_t retry_ns, bad_ns;
    uint64_t *ops; /* operations on names */
    char why[160]; /* dead: why */
};

void wio_mail_talk_init(struct mail_talk *t, const struct wio_mail_way *way, uint64_t service,
                        uint64_t caller, bool serving, int sock, uint64_t *ops);
void wio_mail_talk_free(struct mail_talk *t);
/** Take what our side has said. */
void wio_mail_hear(struct mail_talk *t);
/** Write it as letters in this folder of the other side. Sets retry_ns, or dead. */
void wio_mail_write(struct mail_talk *t, int folder, int64_t now);
/** May a letter be taken now? */
bool wio_mail_ready(const struct mail_talk *t);
/** Take the letter that comes next from this folder, and remove it there. @return 1; 0: not (yet)
 * readable; -1: dead now */
int wio_mail_take(struct mail_talk *t, int folder, int64_t now);
/** Pass what was taken on to our side. */
void wio_mail_say(struct mail_talk *t);
/** The other side is no more: our side sees an end of stream, after what came before. */
void wio_mail_lost(struct mail_talk *t, const char *why);
/** Nothing more will happen. */
bool wio_mail_over(const struct mail_talk *t);

/* How long until the next look, when nothing has come since then. */
int64_t wio_mail_gap(int64_t quiet_ns, bool events);

#endif
