/* SPDX-License-Identifier: BSD-3-Clause */
/** @file info.h  The parts of waitio-info. */
#ifndef WIO_TOOLS_INFO_H
#define WIO_TOOLS_INFO_H

#include "base/base.h"

/** files.c: the way of messages through files, and what is wrong with its directory. */
void info_files(const struct wio_config *cfg);

/** relays.c: how the relays of WAITIO_RELAY are, if any. @blocking up to 3 s each */
void info_relays(struct wio_config *cfg);

#endif
