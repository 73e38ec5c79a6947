/* SPDX-License-Identifier: BSD-3-Clause */
/** @file config_text.h  Values of settings from text. Private to src/base and its tests. */
#ifndef WIO_CONFIG_TEXT_H
#define WIO_CONFIG_TEXT_H

#include "base/base.h"

/**
 * Store variable @p i from text.
 * @param name     how the user called it (main name or alias), for the error text
 * @param checked  hold it to its range; false for defaults, where -1 stands for "not set"
 * @return 0; CONFIG naming variable, value and range, with @p cfg unchanged
 */
int wio_config_parse(struct wio_config *cfg, int i, const char *name, const char *text,
                     bool checked);

#endif
