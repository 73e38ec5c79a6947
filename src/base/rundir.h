/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file rundir.h
 * The directory of a run below WAITIO_SCRATCH_DIR, in which its processes meet and exchange
 * messages. It and all folders in it must be ours and closed to others; symbolic links in it are
 * not followed.
 */
#ifndef WIO_BASE_RUNDIR_H
#define WIO_BASE_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

struct wio_os_stat;

/** Its path: SCRATCH/.waitio-file-JOB. @param scratch  "" is the working directory */
void wio_rundir_path(const char *scratch, const char *job, char *path, size_t n);
/** Open it. @param make  make it if need be. @param[out] path  as above, for messages.
 * @return descriptor; CONFIG, SYSTEM naming the path and the remedy; without make PEER: it is not
 * there */
int wio_rundir_open(const char *scratch, const char *job, bool make, char *path, size_t n);
/** Open a folder in it, made if need be. @param[out] st  what is there, also with -EACCES
 * @return descriptor or -errno; -EACCES: it is another user's or open to others */
int wio_rundir_folder(int at, const char *name, bool make, struct wio_os_stat *st);
/** Too few descriptors? Then fail with LIMIT, naming the limit, the path and the remedy.
 * @return whether @p oserr says so */
bool wio_rundir_no_descriptor(int oserr, const char *path);
/** Remove it if it is empty. */
void wio_rundir_remove(const char *scratch, const char *job);

#endif
