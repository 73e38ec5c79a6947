/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mail.h
 * The rendezvous without any connection: a directory that both sides see carries the bytes that a
 * TCP connection would carry. Each side holds one end of a pair of sockets and speaks the protocol
 * of boot_conn.h over it; a thread (mail_dial.c, mail_serve.c) makes letters of the bytes - files,
 * each written once under a passing name, synced, then named - and bytes of letters. An end of
 * stream says that the other side has closed, left or died. docs/design/joining.md tells the
 * protocol.
 */
#ifndef WIO_BOOT_MAIL_H
#define WIO_BOOT_MAIL_H

#include "auth/auth.h"

/** What both sides need; all borrowed, until hang up or close. */
struct wio_mail_way {
    const struct wio_config *cfg; /* scratch_dir, file_heartbeat, file_silence */
    const struct wio_secret *secret;
    struct wio_log *log;
    const char *job;
};

/** Do the processes of this run meet in a directory? */
bool wio_mail_wanted(const struct wio_config *cfg, bool solo);

struct wio_mail_line;
/**
 * Call the rendezvous of this job.
 * @param[out] line  owned by the caller, who closes *fd first and then hangs up
 * @param[out] fd  non-blocking stream to the service
 * @return 0; 1: nobody serves there (now); CONFIG, SYSTEM, LIMIT, VERSION */
int wio_mail_dial(const struct wio_mail_way *way, struct wio_mail_line **line, int *fd);
/** End: what was written to the stream goes out first. NULL is fine.
 * @blocking up to 2 s on a file system that takes nothing @return operations on names it took */
uint64_t wio_mail_hang_up(struct wio_mail_line *line);

struct wio_mail_desk;
/**
 * Serve the rendezvous of this job.
 * @param[out] fd  a descriptor for each caller arrives here (wio_os_recv_fd); end of stream:
 * somebody else has taken the rendezvous. Owned by the desk
 * @return 0; JOIN: somebody serves already; CONFIG, SYSTEM, LIMIT, VERSION */
int wio_mail_serve(const struct wio_mail_way *way, struct wio_mail_desk **desk, int *fd);
/** End. All descriptors of callers must be closed; what was written to them goes out first. NULL
 * is fine. @blocking up to 2 s on a file system that takes nothing */
void wio_mail_close(struct wio_mail_desk *desk);

#endif
