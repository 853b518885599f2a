// PLY: ascii and both binary byte orders. Of the elements, `vertex` (x, y, z) and `face` (vertex_indices) are kept;
// other elements and properties are read past, so that any well-formed file is accepted.
#include <stdio.h>
#include <string.h>

#include "mesh_ply.h"

// What is read for one item (a vertex, a face, something else).
typedef struct ply_item {
    const ply_header *header;
    const ply_element *element;
    uint64_t number;    // of the item, from 0
    uint64_t vertices;  // in the whole file
    int coordinates[3]; // property numbers of x, y, z; -1 elsewhere
    int corners;        // property number of the corner list; -1 elsewhere
    double position[3];
} ply_item;

// --- values ---------------------------------------------------------------------------------------------------------

static double scalar_value(const uint8_t bytes[8], ply_type type) {
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f32;
    double f64;
    switch (type) {
    case PLY_INT8: return (int8_t)bytes[0];
    case PLY_UINT8: return bytes[0];
    case PLY_INT16: memcpy(&i16, bytes, 2); return i16;
    case PLY_UINT16: memcpy(&u16, bytes, 2); return u16;
    case PLY_INT32: memcpy(&i32, bytes, 4); return i32;
    case PLY_UINT32: memcpy(&u32, bytes, 4); return u32;
    case PLY_FLOAT32: memcpy(&f32, bytes, 4); return f32;
    case PLY_FLOAT64: memcpy(&f64, bytes, 8); return f64;
    case PLY_NONE: break;
    }
    return 0;
}

static bool host_is_little_endian(void) {
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static psv_status fail_item(psvi_mesh_source *source, const ply_item *item, const char *what) {
    if (item->header->format == PLY_ASCII)
        return psvi_fail_line(source, "%.*s %llu of %llu: %s", PSVI_WORD_ARGS(item->element->name),
                              (unsigned long long)item->number, (unsigned long long)item->element->count, what);
    return psvi_fail_offset(source, "%.*s %llu of %llu: %s", PSVI_WORD_ARGS(item->element->name),
                            (unsigned long long)item->number, (unsigned long long)item->element->count, what);
}

// One value of either form. Every integer type fits in a double.
static psv_status read_value(psvi_mesh_source *source, const ply_item *item, ply_type type, double *value) {
    if (item->header->format == PLY_ASCII) {
        psvi_word word = psvi_next_word(source);
        if (word.length == 0) return fail_item(source, item, "the line ends before its last value");
        if (!psvi_parse_number(source, word, value))
            return psvi_fail_line(source, "'%.*s' is no number", PSVI_WORD_ARGS(word));
        if (ply_is_integer(type) &&
            !(*value >= -2147483648.0 && *value <= 4294967295.0 && *value == (double)(int64_t)*value))
            return psvi_fail_line(source, "'%.*s' is no whole number of 32 bits", PSVI_WORD_ARGS(word));
        return PSV_OK;
    }
    uint32_t bytes = ply_type_bytes(type);
    if ((uint64_t)(source->end - source->at) < bytes) return fail_item(source, item, "the file is cut off here");
    uint8_t ordered[8] = {0};
    if ((item->header->format == PLY_LITTLE_ENDIAN) == host_is_little_endian())
        memcpy(ordered, source->at, bytes);
    else
        for (uint32_t i = 0; i < bytes; ++i)
            ordered[i] = source->at[bytes - 1 - i];
    source->at += bytes;
    *value = scalar_value(ordered, type);
    return PSV_OK;
}

// --- items ----------------------------------------------------------------------------------------------------------

static psv_status read_corner(psvi_mesh_source *source, psvi_mesh_builder *mesh, const ply_item *item, double value) {
    char what[96];
    if (value >= 0 && value < (double)item->vertices) return psvi_add_corner(source, mesh, (uint32_t)value);
    (void)snprintf(what, sizeof what, "names vertex %.0f, the file has %llu (numbered from 0)", value,
                   (unsigned long long)item->vertices);
    return fail_item(source, item, what);
}

static psv_status read_list(psvi_mesh_source *source, psvi_mesh_builder *mesh, const ply_item *item,
                            const ply_property *property, bool corners) {
    double length = 0, value = 0;
    psv_status status = read_value(source, item, property->count_type, &length);
    if (status != PSV_OK) return status;
    if (length < 0 || (corners && length < 3)) {
        char what[96];
        (void)snprintf(what, sizeof what, corners ? "%.0f corners, at least 3 are needed" : "a list of length %.0f",
                       length);
        return fail_item(source, item, what);
    }
    for (uint64_t i = 0; i < (uint64_t)length; ++i) {
        status = read_value(source, item, property->type, &value);
        if (status == PSV_OK && corners) status = read_corner(source, mesh, item, value);
        if (status != PSV_OK) return status;
    }
    return corners ? psvi_add_face(source, mesh) : PSV_OK;
}

static psv_status read_item(psvi_mesh_source *source, psvi_mesh_builder *mesh, ply_item *item) {
    const ply_property *properties = item->header->properties + item->element->first_property;
    if (item->header->format == PLY_ASCII && !psvi_skip_blank_lines(source))
        return fail_item(source, item, "the file is cut off here");
    for (uint32_t p = 0; p < item->element->property_count; ++p) {
        double value = 0;
        psv_status status = properties[p].count_type == PLY_NONE
                                ? read_value(source, item, properties[p].type, &value)
                                : read_list(source, mesh, item, &properties[p], (int)p == item->corners);
        if (status != PSV_OK) return status;
        for (int axis = 0; axis < 3; ++axis)
            if ((int)p == item->coordinates[axis]) item->position[axis] = value;
    }
    if (item->header->format == PLY_ASCII) {
        psvi_word rest = psvi_next_word(source);
        if (rest.length > 0) return psvi_fail_line(source, "'%.*s' after the last value", PSVI_WORD_ARGS(rest));
        psvi_next_line(source);
    }
    return item->coordinates[0] >= 0 ? psvi_add_vertex(source, mesh, item->position) : PSV_OK;
}

// --- elements -------------------------------------------------------------------------------------------------------

static int find_property(const ply_header *header, const ply_element *element, const char *name, bool list) {
    for (uint32_t p = 0; p < element->property_count; ++p) {
        const ply_property *property = &header->properties[element->first_property + p];
        if (psvi_word_is(property->name, name) && (property->count_type != PLY_NONE) == list) return (int)p;
    }
    return -1;
}

// A damaged count must not make us work or allocate for items that cannot be there.
static psv_status check_size(psvi_mesh_source *source, const ply_header *header, const ply_element *element) {
    uint64_t least = 0, left = (uint64_t)(source->end - source->at);
    for (uint32_t p = 0; p < element->property_count; ++p) {
        const ply_property *property = &header->properties[element->first_property + p];
        // In text a value takes a digit and a separator; the last one of the file may lack the separator.
        least += header->format == PLY_ASCII
                     ? 2
                     : ply_type_bytes(property->count_type != PLY_NONE ? property->count_type : property->type);
    }
    if (element->count == 0) return PSV_OK;
    if (least == 0) return psvi_fail_offset(source, "element '%.*s' has no property", PSVI_WORD_ARGS(element->name));
    if (element->count <= (left + 1) / least) return PSV_OK;
    return psvi_fail_offset(source, "%llu of element '%.*s' need at least %llu bytes each, the file has %llu left",
                            (unsigned long long)element->count, PSVI_WORD_ARGS(element->name),
                            (unsigned long long)least, (unsigned long long)left);
}

static psv_status prepare_item(psvi_mesh_source *source, const ply_header *header, ply_item *item) {
    static const char *const axes[3] = {"x", "y", "z"};
    for (int axis = 0; axis < 3 && psvi_word_is(item->element->name, "vertex"); ++axis) {
        item->coordinates[axis] = find_property(header, item->element, axes[axis], false);
        if (item->coordinates[axis] < 0)
            return psvi_fail_offset(source, "element 'vertex' has no property '%s'", axes[axis]);
    }
    if (psvi_word_is(item->element->name, "face")) {
        item->corners = find_property(header, item->element, "vertex_indices", true);
        if (item->corners < 0) item->corners = find_property(header, item->element, "vertex_index", true);
        if (item->corners < 0)
            return psvi_fail_offset(source, "element 'face' has no list 'vertex_indices' or 'vertex_index'");
        if (!ply_is_integer(header->properties[item->element->first_property + (uint32_t)item->corners].type))
            return psvi_fail_offset(source, "the corners of 'face' must be of an integer type");
    }
    return PSV_OK;
}

static psv_status read_element(psvi_mesh_source *source, psvi_mesh_builder *mesh, const ply_header *header,
                               const ply_element *element, uint64_t vertices) {
    ply_item item = {
        .header = header, .element = element, .vertices = vertices, .coordinates = {-1, -1, -1}, .corners = -1};
    psv_status status = prepare_item(source, header, &item);
    if (status == PSV_OK) status = check_size(source, header, element);
    for (; status == PSV_OK && item.number < element->count; ++item.number)
        status = read_item(source, mesh, &item);
    return status;
}

static psv_status check_end(psvi_mesh_source *source, const ply_header *header) {
    // Some writers end a binary file with a line end too.
    if (!psvi_skip_blank_lines(source)) return PSV_OK;
    const char *what = "more data after the last element";
    return header->format == PLY_ASCII ? psvi_fail_line(source, "%s", what) : psvi_fail_offset(source, "%s", what);
}

psv_status psvi_read_ply(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    ply_header header;
    psv_status status = psvi_read_ply_header(source, &header);
    if (status != PSV_OK) return status;
    uint32_t vertex_elements = 0;
    uint64_t vertices = 0;
    for (uint32_t e = 0; e < header.element_count; ++e) {
        if (!psvi_word_is(header.elements[e].name, "vertex")) continue;
        vertices = header.elements[e].count;
        ++vertex_elements;
    }
    if (vertex_elements != 1)
        return psvi_fail_line(source, "the header names the element 'vertex' %u times, once is needed",
                              vertex_elements);
    for (uint32_t e = 0; e < header.element_count; ++e) {
        status = read_element(source, mesh, &header, &header.elements[e], vertices);
        if (status != PSV_OK) return status;
    }
    return check_end(source, &header);
}
