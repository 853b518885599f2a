// Strict reading of a scene's JSON. Jansson reads it but does not say where a value stood. So an error message that
// needs the place walks the text once more, by the path to the value.
#include "scene_json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 64u // of memory for a byte of text, at most: a list of single digits

static bool has_room_for_values(size_t length) {
    void *room = length < SIZE_MAX / VALUE_BYTES ? malloc(VALUE_BYTES * length + 1) : NULL;
    free(room);
    return room != NULL;
}

psv_status psvi_parse_document(psv_context *context, const char *name, const char *text, size_t length,
                               psvi_document *document) {
    *document = (psvi_document){.context = context, .name = name, .text = text, .length = length};
    json_error_t error;
    document->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    // Where memory runs out Jansson may complain of the text: it is asked once more, and so is the system.
    if (document->root == NULL) document->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (document->root != NULL) return PSV_OK;
    if (json_error_code(&error) == json_error_out_of_memory || error.text[0] == 0 || !has_room_for_values(length))
        return psvi_fail(context, PSV_ERROR_MEMORY, "%s: no host memory for the values of the scene", name);
    return psvi_fail(context, PSV_ERROR_FORMAT, "%s:%d:%d: %s", name, error.line, error.column, error.text);
}

void psvi_free_document(psvi_document *document) {
    json_decref(document->root);
    document->root = NULL;
}

psvi_node psvi_document_root(const psvi_document *document) {
    return (psvi_node){.document = document, .value = document->root};
}

psvi_node psvi_member(const psvi_node *object, const char *key) {
    return (psvi_node){.document = object->document,
                       .parent = object,
                       .key = key,
                       .value = json_is_object(object->value) ? json_object_get(object->value, key) : NULL};
}

psvi_node psvi_element(const psvi_node *array, size_t index) {
    return (psvi_node){
        .document = array->document, .parent = array, .index = index, .value = json_array_get(array->value, index)};
}

// --- places in the text ---------------------------------------------------------------------------------------------
// The text is valid JSON here, so the walk needs no checks beyond the end.

static const char *skip_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        ++p;
    return p;
}

static const char *skip_string(const char *p, const char *end) { // p at the opening quote
    for (++p; p < end && *p != '"'; ++p)
        if (*p == '\\') ++p;
    return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end) {
    if (p >= end) return end;
    if (*p == '"') return skip_string(p, end);
    if (*p != '{' && *p != '[') {
        while (p < end && strchr(",]} \t\r\n", *p) == NULL)
            ++p;
        return p;
    }
    int depth = 0;
    while (p < end) {
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (*p == '{' || *p == '[') ++depth;
        if (*p == '}' || *p == ']') --depth;
        ++p;
        if (depth == 0) break;
    }
    return p;
}

// The quoted key at p means `key`; escapes are left to Jansson.
static bool key_is(const char *p, const char *end, const char *key) {
    json_t *string = json_loadb(p, (size_t)(skip_string(p, end) - p), JSON_DECODE_ANY, NULL);
    bool same = string != NULL && strcmp(json_string_value(string), key) == 0;
    json_decref(string);
    return same;
}

// From the first character of an object or array to that of a member; NULL without such a member.
static const char *step_into(const char *p, const char *end, const psvi_node *node, bool at_key) {
    size_t index = 0;
    for (p = skip_space(p + 1, end); p < end && *p != '}' && *p != ']'; ++index) {
        const char *name = p;
        bool found = node->key == NULL ? index == node->index : key_is(p, end, node->key);
        if (node->key != NULL) {
            p = skip_space(skip_string(p, end), end); // at ':'
            p = skip_space(p + 1, end);
        }
        if (found) return at_key ? name : p;
        p = skip_space(skip_value(p, end), end);
        if (p < end && *p == ',') p = skip_space(p + 1, end);
    }
    return NULL;
}

static const char *place_of(const psvi_node *node, bool at_key) {
    const char *end = node->document->text + node->document->length;
    if (node->parent == NULL) return skip_space(node->document->text, end);
    const char *p = place_of(node->parent, false);
    const char *inside = p >= end ? NULL : step_into(p, end, node, at_key);
    return inside == NULL ? p : inside;
}

static psv_status fail_at(const psvi_node *node, bool at_key, const char *sentence) {
    const psvi_document *d = node->document;
    const char *place = place_of(node, at_key);
    int line = 1, column = 1;
    for (const char *p = d->text; p < place; ++p) {
        column = *p == '\n' ? 1 : column + ((*p & 0xc0) != 0x80); // characters, not bytes of UTF-8
        line += *p == '\n';
    }
    return psvi_fail(d->context, PSV_ERROR_FORMAT, "%s:%d:%d: %s", d->name, line, column, sentence);
}

psv_status psvi_node_fail(const psvi_node *node, const char *format, ...) {
    char sentence[320];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fail_at(node, false, sentence);
}

// --- typed reading --------------------------------------------------------------------------------------------------

psv_status psvi_expect_object(const psvi_node *node, const char *const *keys) {
    if (!json_is_object(node->value)) return psvi_node_fail(node, "an object is expected here");
    const char *key;
    json_t *value;
    json_object_foreach(node->value, key, value) {
        if (strncmp(key, "//", 2) == 0) continue;
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0)
            ++i;
        if (keys[i] != NULL) continue;
        char list[200] = "", sentence[300];
        for (i = 0; keys[i] != NULL; ++i)
            (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", keys[i]);
        (void)snprintf(sentence, sizeof sentence, "unknown key \"%.60s\"; known here: %s", key, list);
        psvi_node child = psvi_member(node, key);
        return fail_at(&child, true, sentence);
    }
    return PSV_OK;
}

psv_status psvi_expect_array(const psvi_node *node, size_t least, size_t most) {
    size_t count = json_array_size(node->value);
    if (json_is_array(node->value) && count >= least && count <= most) return PSV_OK;
    if (least == most) return psvi_node_fail(node, "an array of %zu values is expected here", least);
    return psvi_node_fail(node, "an array of %zu to %zu values is expected here", least, most);
}

psv_status psvi_read_float(const psvi_node *object, const char *key, double least, double most, float *out) {
    psvi_node node = psvi_member(object, key);
    if (node.value == NULL) return PSV_OK;
    double number = json_number_value(node.value);
    if (!json_is_number(node.value) || !(number >= least && number <= most) || !isfinite((float)number))
        return psvi_node_fail(&node, "\"%s\" must be a number from %g to %g", key, least, most);
    *out = (float)number;
    return PSV_OK;
}

psv_status psvi_read_count(const psvi_node *object, const char *key, uint64_t least, uint64_t most, uint64_t *out) {
    psvi_node node = psvi_member(object, key);
    if (node.value == NULL) return PSV_OK;
    json_int_t number = json_integer_value(node.value);
    if (!json_is_integer(node.value) || number < 0 || (uint64_t)number < least || (uint64_t)number > most)
        return psvi_node_fail(&node, "\"%s\" must be a whole number from %llu to %llu", key, (unsigned long long)least,
                              (unsigned long long)most);
    *out = (uint64_t)number;
    return PSV_OK;
}

psv_status psvi_read_bool(const psvi_node *object, const char *key, bool *out) {
    psvi_node node = psvi_member(object, key);
    if (node.value == NULL) return PSV_OK;
    if (!json_is_boolean(node.value)) return psvi_node_fail(&node, "\"%s\" must be true or false", key);
    *out = json_is_true(node.value);
    return PSV_OK;
}

psv_status psvi_read_floats(const psvi_node *object, const char *key, int count, float *out) {
    psvi_node node = psvi_member(object, key);
    if (node.value == NULL) return PSV_OK;
    if (!json_is_array(node.value) || json_array_size(node.value) != (size_t)count)
        return psvi_node_fail(&node, "\"%s\" must be an array of %d numbers", key, count);
    for (int i = 0; i < count; ++i) {
        psvi_node element = psvi_element(&node, (size_t)i);
        double number = json_number_value(element.value);
        if (!json_is_number(element.value) || !isfinite((float)number))
            return psvi_node_fail(&element, "\"%s\" must hold numbers that single precision can hold", key);
        out[i] = (float)number;
    }
    return PSV_OK;
}

psv_status psvi_read_string(const psvi_node *object, const char *key, const char **out) {
    psvi_node node = psvi_member(object, key);
    if (node.value == NULL) return PSV_OK;
    const char *string = json_string_value(node.value);
    if (string == NULL || strlen(string) != json_string_length(node.value))
        return psvi_node_fail(&node, "\"%s\" must be a string", key);
    *out = string;
    return PSV_OK;
}
