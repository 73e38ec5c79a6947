/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fskind.h
 * What a file system promises to processes that exchange data through its files.
 */
#ifndef WIO_BASE_FSKIND_H
#define WIO_BASE_FSKIND_H

#include <stdbool.h>

struct wio_config;

/** Is the file system of this open folder weak: is only that sure to be read which was synced
 * before the reader opened the file? By WAITIO_FILE_SYSTEM, else by its kind; an unknown one is
 * weak.
 * @param[out] kind  its name in words, may be NULL */
bool wio_fs_is_weak(const struct wio_config *cfg, int folder, const char **kind);

#endif
