/* SPDX-License-Identifier: BSD-3-Clause */
/* From libyaml's events to a tree. */
#include "coupler/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "waitio_errors.h"

void wio_cpl_yaml_free(struct wio_cpl_node *root)
{
    while (root != NULL) {
        struct wio_cpl_node *next = root->next;

        wio_cpl_yaml_free(root->child);
        wio_cpl_yaml_free(root->value);
        free(root->text);
        free(root);
        root = next;
    }
}

#ifdef WIO_HAVE_YAML
#include <yaml.h>

enum { DEEPEST = 12 };

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; of type YAML_NO_EVENT: none */
    const char *file;
};

static int wrong(const struct reader *r, yaml_mark_t at, const char *what, const char *more)
{
    return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s:%zu:%zu: %s%s%.100s", r->file, at.line + 1,
                        at.column + 1, what, more[0] != '\0' ? ": " : "", more);
}

static int next(struct reader *r)
{
    yaml_mark_t at;

    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return 0;
    if (r->parser.error == YAML_MEMORY_ERROR)
        return wio_cpl_fail(WAITIO_ERR_NOMEM, "no memory for %s", r->file);
    at = r->parser.problem_mark;
    if (r->parser.error == YAML_READER_ERROR)
        return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s: byte %zu is no YAML: %s", r->file,
                            r->parser.problem_offset,
                            r->parser.problem != NULL ? r->parser.problem : "unreadable");
    return wrong(r, at, "this is no YAML",
                 r->parser.problem != NULL ? r->parser.problem : "unreadable");
}

/* Characters that YAML cannot hold plainly, and that no name needs. */
static bool odd(const unsigned char *c)
{
    if (c[0] < 0x20 || c[0] == 0x7f)
        return true;
    if (c[0] == 0xc2)
        return c[1] < 0xa0;
    if (c[0] == 0xe2)
        return c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9);
    if (c[0] == 0xef)
        return (c[1] == 0xbb && c[2] == 0xbf) || (c[1] == 0xbf && c[2] >= 0xbe);
    return false;
}

static int scalar(struct reader *r, struct wio_cpl_node *node)
{
    const unsigned char *text = r->event.data.scalar.value;
    size_t length = r->event.data.scalar.length;

    for (size_t i = 0; i < length; i++)
        if (odd(text + i))
            return wrong(r, r->event.start_mark, "this value holds a control character", "");
    node->kind = WIO_CPL_SCALAR;
    node->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->text = wio_cpl_copy((const char *)text);
    return node->text == NULL ? WAITIO_ERR_NOMEM : 0;
}

/* What a node may not have. */
static int refuse(const struct reader *r)
{
    const yaml_event_t *e = &r->event;
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (e->type == YAML_ALIAS_EVENT)
        anchor = e->data.alias.anchor;
    if (e->type == YAML_SCALAR_EVENT) {
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
    } else if (e->type == YAML_SEQUENCE_START_EVENT) {
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
    } else if (e->type == YAML_MAPPING_START_EVENT) {
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
    }
    if (anchor != NULL)
        return wrong(r, e->start_mark,
                     "anchors (&) and aliases (*) are not read; write what is common to the fields "
                     "of a coupling beside its fields, or put the text in quotes",
                     (const char *)anchor);
    if (tag != NULL)
        return wrong(r, e->start_mark, "tags (!) are not read", (const char *)tag);
    return 0;
}

static int read_node(struct reader *r, int depth, struct wio_cpl_node **out);

/* The keys of a map, each with its value, or the entries of a list. */
static int children(struct reader *r, struct wio_cpl_node *node, int depth, yaml_event_type_t end)
{
    struct wio_cpl_node **place = &node->child;
    int rc = next(r);

    while (rc == 0 && r->event.type != end) {
        rc = read_node(r, depth + 1, place);
        if (rc == 0)
            rc = next(r);
        if (rc != 0 || node->kind == WIO_CPL_SEQUENCE) {
            place = *place != NULL ? &(*place)->next : place;
            continue;
        }
        if ((*place)->kind != WIO_CPL_SCALAR)
            return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s:%d:%d: a key must be one word", r->file,
                                (*place)->line, (*place)->column);
        rc = read_node(r, depth + 1, &(*place)->value);
        if (rc == 0)
            rc = next(r);
        place = &(*place)->next;
    }
    return rc;
}

static int read_node(struct reader *r, int depth, struct wio_cpl_node **out)
{
    struct wio_cpl_node *node;
    int rc = refuse(r);

    if (rc != 0)
        return rc;
    if (depth > DEEPEST)
        return wrong(r, r->event.start_mark, "lists and maps lie too deep in each other", "");
    node = *out = wio_cpl_new(1, sizeof *node);
    if (node == NULL)
        return WAITIO_ERR_NOMEM;
    node->line = (int)r->event.start_mark.line + 1;
    node->column = (int)r->event.start_mark.column + 1;
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return scalar(r, node);
    case YAML_SEQUENCE_START_EVENT:
        node->kind = WIO_CPL_SEQUENCE;
        return children(r, node, depth, YAML_SEQUENCE_END_EVENT);
    case YAML_MAPPING_START_EVENT:
        node->kind = WIO_CPL_MAP;
        return children(r, node, depth, YAML_MAPPING_END_EVENT);
    default:
        return wrong(r, r->event.start_mark, "this is no map, list or value", "");
    }
}

static int document(struct reader *r, struct wio_cpl_node **root)
{
    int rc = next(r); /* start of the stream */

    if (rc == 0)
        rc = next(r);
    if (rc != 0 || r->event.type == YAML_STREAM_END_EVENT)
        return rc;
    rc = next(r);
    if (rc == 0)
        rc = read_node(r, 0, root);
    if (rc == 0)
        rc = next(r); /* end of the document */
    if (rc == 0)
        rc = next(r);
    if (rc == 0 && r->event.type != YAML_STREAM_END_EVENT)
        rc = wrong(r, r->event.start_mark, "a second document begins; a file holds one", "");
    return rc;
}

int wio_cpl_yaml(const char *text, size_t bytes, const char *file, struct wio_cpl_node **root)
{
    struct reader r = {.file = file};
    int rc;

    *root = NULL;
    if (!yaml_parser_initialize(&r.parser))
        return wio_cpl_fail(WAITIO_ERR_NOMEM, "no memory for %s", file);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
    rc = document(&r, root);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return rc;
}

#else

int wio_cpl_yaml(const char *text, size_t bytes, const char *file, struct wio_cpl_node **root)
{
    (void)text;
    (void)bytes;
    *root = NULL;
    return wio_cpl_fail(
        WAITIO_ERR_UNSUPPORTED,
        "%s is YAML, and this WaitIO was built without libyaml: install it (Debian: "
        "apt-get install libyaml-dev) and build WaitIO again, or write the "
        "configuration as namelists",
        file);
}

#endif
