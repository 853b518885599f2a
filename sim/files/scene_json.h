// Strict reading of a scene's JSON: every complaint names line and column.
#ifndef PAIRSIEVE_SCENE_JSON_H
#define PAIRSIEVE_SCENE_JSON_H

#include "../../core/context.h"

#include <jansson.h>

typedef struct psvi_document {
    psv_context *context;
    const char *name; // file or shipped scene, for sentences
    const char *text;
    size_t length;
    json_t *root;
} psvi_document;

// A value and how it was reached.
typedef struct psvi_node {
    const psvi_document *document;
    const struct psvi_node *parent; // NULL at the root
    const char *key;                // in an object, else NULL
    size_t index;                   // in an array
    json_t *value;                  // NULL: absent
} psvi_node;

// Parses text (kept by the caller). PSV_ERROR_FORMAT with line and column.
psv_status psvi_parse_document(psv_context *context, const char *name, const char *text, size_t length,
                               psvi_document *document);
void psvi_free_document(psvi_document *document);

psvi_node psvi_document_root(const psvi_document *document);
psvi_node psvi_member(const psvi_node *object, const char *key);
psvi_node psvi_element(const psvi_node *array, size_t index);

// PSV_ERROR_FORMAT: «name:line:column: sentence», at the node's value (of an absent node: at its parent).
psv_status psvi_node_fail(const psvi_node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The node is an object with no other keys than these (NULL-terminated); keys that begin with "//" are comments.
psv_status psvi_expect_object(const psvi_node *node, const char *const *keys);
psv_status psvi_expect_array(const psvi_node *node, size_t least, size_t most);

// Members by key. An absent one leaves *out as it is.
psv_status psvi_read_float(const psvi_node *object, const char *key, double least, double most, float *out);
psv_status psvi_read_count(const psvi_node *object, const char *key, uint64_t least, uint64_t most, uint64_t *out);
psv_status psvi_read_bool(const psvi_node *object, const char *key, bool *out);
psv_status psvi_read_floats(const psvi_node *object, const char *key, int count, float *out);
psv_status psvi_read_string(const psvi_node *object, const char *key, const char **out); // lives with the document

#endif
