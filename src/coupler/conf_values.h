/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file conf_values.h
 * What a value of a YAML configuration may be, and maps whose keys are a table: pure.
 *
 * A wrong value is a fault of the configuration (wio_cpl_conf_fault()) and sets `bad`; reading goes
 * on. Functions return 0 or NOMEM.
 */
#ifndef WIO_CPL_CONF_VALUES_H
#define WIO_CPL_CONF_VALUES_H

#include "coupler/conf.h"
#include "coupler/yaml.h"

struct wio_cpl_yaml_reading {
    struct wio_cpl_conf *conf;
    bool bad;        /**< there was a fault; who reads a record clears it before */
    const char *key; /**< whose value is read, for the text of a fault */
};

/** A key, and who reads its value into @p target. */
struct wio_cpl_row {
    struct wio_cpl_key key;
    int (*read)(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *value, void *target);
};

/** A fault at a node, which may be NULL (the whole file). */
int wio_cpl_yaml_wrong(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *at,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Read each key of a map by its row; unknown and doubled keys are faults. @param what "a field" */
int wio_cpl_yaml_map(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *map,
                     const struct wio_cpl_row *rows, size_t n, const char *what, void *target);

/** A text that is not empty. @param[in,out] out owned, replaced */
int wio_cpl_yaml_text(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, char **out);
int wio_cpl_yaml_int(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int low,
                     int high, int *out);
/** true, false, yes, no, on, off. */
int wio_cpl_yaml_bool(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, bool *out);
/** One of @p n words. @param[out] out its number */
int wio_cpl_yaml_word(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                      const char *const *words, size_t n, int *out);
/** 3600, '3h', '1d12h', '90min': whole seconds, 1 or more. */
int wio_cpl_yaml_duration(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                          int64_t *out);
/** The same, or 0, or with a minus before it. */
int wio_cpl_yaml_offset(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int64_t *out);
/** A finite number. */
int wio_cpl_yaml_number(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, double *out);
/** 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00:00 (or a blank instead of T). */
int wio_cpl_yaml_date(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int out[6]);
/** A list of texts, or one text. @param[out] out char *, owned */
int wio_cpl_yaml_texts(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                       struct wio_cpl_list *out);

#endif
