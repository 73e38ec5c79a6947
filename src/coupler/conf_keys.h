/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file conf_keys.h
 * Keys of &h3ou_var beyond those of h3-Open-UTIL/MP: lag_seconds, type, fill, masked, remap,
 * bundle, vector_with.
 */
#ifndef WIO_CPL_CONF_KEYS_H
#define WIO_CPL_CONF_KEYS_H

#include "coupler/conf.h"
#include "coupler/namelist.h"

/** Set what it says in @p link. @param[out] what is wrong with it @return 0; CONFIG; NOMEM */
int wio_cpl_key_set(struct wio_cpl_link *link, const struct wio_cpl_item *item, char *what,
                    size_t room);
/** What flag = says. @return 0; CONFIG: none of them */
int wio_cpl_key_flag(const char *text, enum wio_cpl_reduce *reduce);

#endif
