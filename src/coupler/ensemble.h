/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file ensemble.h
 * Statistics over the members of an ensemble: pure.
 */
#ifndef WIO_CPL_ENSEMBLE_H
#define WIO_CPL_ENSEMBLE_H

#include "coupler/base.h"
#include "coupler/conf.h"
#include "waitio_errors.h"

/** At each of @p n points: the statistic over the members' values, in their order. Members whose
 * value is @p fill do not count; where none counts the result is that. @return 0; NOMEM */
int wio_cpl_statistic_fields(const struct wio_cpl_statistic *s, double fill,
                             const double *const *members, size_t n_members, double *to, size_t n);

#endif
