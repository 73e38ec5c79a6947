/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file logs.h
 * Files that users of h3-Open-UTIL/MP find in the folder of the run:
 *
 *   h3ou.COMP.log.PEnnnnn            calls of a process          log_level
 *   jcup.COMP.coupling.log.PEnnnnn   its messages                debug_mode
 *   jcup.coupling.conf.log           the configuration, as read  files = all
 *   jcup.COMP.conf.log               what of it is a component's files = all
 *   TM.COMP, TM.COMP.peNNNNN         times (timers.c)            files = all
 *
 * A file that cannot be written is said on standard error, and is no error of the run.
 */
#ifndef WIO_CPL_LOGS_H
#define WIO_CPL_LOGS_H

#include <stdio.h>

#include "coupler/conf.h"

struct waitio_cpl;
struct wio_cpl_bundle;

struct wio_cpl_logs {
    enum wio_cpl_files files; /**< what all processes together want */
    FILE *calls, *messages;   /**< NULL: not wanted */
    bool loud;                /**< puts and gets, too */
};

/** What this process wants: WAITIO_CPL_FILES, else the configuration. */
enum wio_cpl_files wio_cpl_files_wanted(const struct waitio_cpl *cpl);
/** Open the logs that are wanted. After the world and the configuration. Local. */
void wio_cpl_logs_open(struct waitio_cpl *cpl);
void wio_cpl_logs_close(struct waitio_cpl *cpl);
/** One line about a call, with the model time. For where wio_cpl_logs.calls is there. */
void wio_cpl_log(const struct waitio_cpl *cpl, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** A put or a get, if the log is loud. @param fresh -1: a put */
void wio_cpl_log_field(const struct waitio_cpl *cpl, const char *name, size_t points, size_t layers,
                       int fresh);
/** A message has been sent or taken. For where wio_cpl_logs.messages is there. */
void wio_cpl_log_message(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int peer,
                         size_t numbers, int64_t stamp);
/** The configuration, by the first process of all; a component's part, by its first. At the start.
 */
void wio_cpl_logs_conf(const struct waitio_cpl *cpl);
/** A file of the component: PREFIX, its name, SUFFIX, and with @p process its number. Its name
 * cannot lead out of the folder. @return NULL, said on standard error */
FILE *wio_cpl_logs_file(const struct waitio_cpl *cpl, const char *prefix, const char *suffix,
                        bool process);

/** Times of the run: a file for each process, and one for the component. Collective over it. */
int wio_cpl_timers_write(struct waitio_cpl *cpl);

#endif
