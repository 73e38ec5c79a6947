/* SPDX-License-Identifier: BSD-3-Clause */
/** @file journal_file.h  What the two halves of the journal share: names and marks of its files. */
#ifndef WIO_JOURNAL_FILE_H
#define WIO_JOURNAL_FILE_H

#include "p2p/journal.h"

#define WIO_JOURNAL_MAGIC UINT32_C(0x524a4957) /* "WIJR" */
#define WIO_JOURNAL_VERSION 1u
enum { WIO_JOURNAL_NAME = 56 };

void wio_journal_name(const struct wio_segment *s, char name[WIO_JOURNAL_NAME]);
int wio_journal_add(struct wio_journal *j, const struct wio_segment *s);

#endif
