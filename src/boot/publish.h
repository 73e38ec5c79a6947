/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file publish.h
 * The address of a job's rendezvous in a file that the user's hosts share: waitio-serv -d/-m writes
 * it, waitio-serv -c reads it. One file per job id in WAITIO_SERV_DIR (default $HOME/.waitio, mode
 * 0700), replaced atomically.
 */
#ifndef WIO_BOOT_PUBLISH_H
#define WIO_BOOT_PUBLISH_H

#include "boot/boot.h"

struct wio_publication {
    char host[256]; /* what clients put into WAITIO_MASTER_HOST */
    char where[64]; /* host name of the machine that wrote it */
    uint16_t port;
    int64_t pid;      /* of the daemon, 0 = none: published only */
    int64_t since_ns; /* wall clock */
};

/** Path of the job's file; makes the directory (mode 0700) when @p make.
 *  @return 0; CONFIG naming variable, owner or mode; SYSTEM */
int wio_publish_path(const struct wio_config *cfg, const char *job_id, bool make, char *path,
                     size_t n);
/** Write or replace. @return 0; SYSTEM, CONFIG (host name) */
int wio_publish_write(const char *path, const struct wio_publication *p);
/** @return 1 read, 0 there is none, < 0: AUTH (not ours, or writable by others), PROTOCOL
 * (malformed), SYSTEM */
int wio_publish_read(const char *path, struct wio_publication *p);
/** Remove the file if it still has the content @p p (another service may have replaced it). */
void wio_publish_remove(const char *path, const struct wio_publication *p);

#endif
