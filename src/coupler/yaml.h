/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file yaml.h
 * Reads YAML into a tree: pure. libyaml reads the bytes; what the keys mean is not known here.
 *
 * One document of maps, lists and scalars. Anchors, aliases, tags and further documents are refused
 * by name: nothing in a configuration needs them, and an alias can blow up a file.
 */
#ifndef WIO_CPL_YAML_H
#define WIO_CPL_YAML_H

#include <stdbool.h>
#include <stddef.h>

enum wio_cpl_node_kind { WIO_CPL_SCALAR, WIO_CPL_SEQUENCE, WIO_CPL_MAP };

/** A scalar, a list or a map. A map's children are its keys (scalars), each with its value. */
struct wio_cpl_node {
    enum wio_cpl_node_kind kind;
    char *text;  /**< scalar: no zero byte and no control character in it; else NULL */
    bool quoted; /**< scalar: it stood in quotes */
    int line, column;
    struct wio_cpl_node *child; /**< the first */
    struct wio_cpl_node *next;  /**< the next one of the same list or map */
    struct wio_cpl_node *value; /**< of a key */
};

/**
 * @param text any bytes @param file its name, for errors
 * @param[out] root NULL if the file is empty; freed by wio_cpl_yaml_free()
 * @return 0; CONFIG with file, line and column; NOMEM; UNSUPPORTED: built without libyaml
 */
int wio_cpl_yaml(const char *text, size_t bytes, const char *file, struct wio_cpl_node **root);
void wio_cpl_yaml_free(struct wio_cpl_node *root);

#endif
