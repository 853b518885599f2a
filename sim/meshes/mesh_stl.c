// STL, ascii and binary. Its triangles carry their own corners; corners with the same three floats become one vertex,
// so that neighbouring triangles share vertices and edges as in the other formats.
#include <stdlib.h>
#include <string.h>

#include "mesh_source.h"

#define STL_HEADER_BYTES 84u // 80 bytes of text and the triangle count
#define STL_TRIANGLE_BYTES 50u

// Open addressing over vertex numbers + 1; 0 is free. At most half full.
typedef struct vertex_table {
    uint32_t *slots;
    uint64_t room; // a power of two
} vertex_table;

static uint64_t hash_position(const float position[3]) {
    uint32_t bits[3];
    memcpy(bits, position, sizeof bits);
    uint64_t hash = bits[0] * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (hash >> 32) ^ bits[1]) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 32) ^ bits[2]) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 32);
}

static uint32_t *find_slot(const vertex_table *table, const psvi_mesh_builder *mesh, const float position[3]) {
    uint64_t at = hash_position(position) & (table->room - 1);
    while (table->slots[at] != 0 && memcmp(mesh->positions + 3 * (uint64_t)(table->slots[at] - 1), position, 12) != 0)
        at = (at + 1) & (table->room - 1);
    return &table->slots[at];
}

static psv_status grow_table(psvi_mesh_source *source, vertex_table *table, const psvi_mesh_builder *mesh) {
    if (2 * (mesh->vertex_count + 1) <= table->room) return PSV_OK;
    vertex_table larger = {NULL, 0};
    uint64_t room = table->room == 0 ? 1024 : 2 * table->room;
    psv_status status = psvi_grow_array(source, (void **)&larger.slots, &larger.room, room, 4);
    if (status != PSV_OK) return status;
    memset(larger.slots, 0, (size_t)(4 * larger.room));
    for (uint64_t v = 0; v < mesh->vertex_count; ++v)
        *find_slot(&larger, mesh, mesh->positions + 3 * v) = (uint32_t)(v + 1);
    free(table->slots);
    *table = larger;
    return PSV_OK;
}

static psv_status add_corner_at(psvi_mesh_source *source, psvi_mesh_builder *mesh, vertex_table *table,
                                const double position[3]) {
    psv_status status = grow_table(source, table, mesh);
    if (status != PSV_OK) return status;
    const float rounded[3] = {(float)position[0] + 0.0f, (float)position[1] + 0.0f, (float)position[2] + 0.0f};
    uint32_t *slot = find_slot(table, mesh, rounded);
    if (*slot == 0) {
        const double unsigned_zero[3] = {rounded[0], rounded[1], rounded[2]};
        status = psvi_add_vertex(source, mesh, unsigned_zero);
        if (status != PSV_OK) return status;
        *slot = (uint32_t)mesh->vertex_count;
    }
    return psvi_add_corner(source, mesh, *slot - 1);
}

static uint32_t little_endian(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static psv_status read_binary(psvi_mesh_source *source, psvi_mesh_builder *mesh, vertex_table *table) {
    uint64_t size = (uint64_t)(source->end - source->begin), count = little_endian(source->begin + 80);
    uint64_t needed = STL_HEADER_BYTES + STL_TRIANGLE_BYTES * count;
    source->at = source->begin + 80;
    if (size != needed)
        return psvi_fail_offset(source, "%llu triangles need a file of %llu bytes, this one has %llu",
                                (unsigned long long)count, (unsigned long long)needed, (unsigned long long)size);
    source->at = source->begin + STL_HEADER_BYTES;
    for (uint64_t i = 0; i < count; ++i, source->at += STL_TRIANGLE_BYTES) {
        for (int corner = 0; corner < 3; ++corner) {
            double position[3];
            for (int axis = 0; axis < 3; ++axis) {
                uint32_t bits = little_endian(source->at + 12 + 12 * corner + 4 * axis);
                float value;
                memcpy(&value, &bits, 4);
                position[axis] = value;
            }
            psv_status status = add_corner_at(source, mesh, table, position);
            if (status != PSV_OK) return status;
        }
        psv_status status = psvi_add_face(source, mesh);
        if (status != PSV_OK) return status;
    }
    return PSV_OK;
}

// Reads the given words, over line ends.
static psv_status expect(psvi_mesh_source *source, const char *first, const char *second) {
    const char *const words[2] = {first, second};
    for (int i = 0; i < 2 && words[i] != NULL; ++i) {
        if (!psvi_skip_blank_lines(source)) return psvi_fail_line(source, "the file ends where '%s' is due", words[i]);
        psvi_word word = psvi_next_word(source);
        if (!psvi_word_is(word, words[i]))
            return psvi_fail_line(source, "'%.*s' where '%s' is due", PSVI_WORD_ARGS(word), words[i]);
    }
    return PSV_OK;
}

static psv_status read_three(psvi_mesh_source *source, double values[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        psvi_word word = psvi_next_word(source);
        if (!psvi_parse_number(source, word, &values[axis]))
            return psvi_fail_line(source, "'%.*s' where a number is due", PSVI_WORD_ARGS(word));
    }
    return PSV_OK;
}

// After «facet».
static psv_status read_facet(psvi_mesh_source *source, psvi_mesh_builder *mesh, vertex_table *table) {
    double values[3];
    psv_status status = expect(source, "normal", NULL);
    if (status == PSV_OK) status = read_three(source, values);
    if (status == PSV_OK) status = expect(source, "outer", "loop");
    for (int corner = 0; corner < 3 && status == PSV_OK; ++corner) {
        status = expect(source, "vertex", NULL);
        if (status == PSV_OK) status = read_three(source, values);
        if (status == PSV_OK) status = add_corner_at(source, mesh, table, values);
    }
    if (status == PSV_OK) status = expect(source, "endloop", "endfacet");
    return status == PSV_OK ? psvi_add_face(source, mesh) : status;
}

static psv_status read_ascii(psvi_mesh_source *source, psvi_mesh_builder *mesh, vertex_table *table) {
    while (psvi_skip_blank_lines(source)) {
        psv_status status = expect(source, "solid", NULL);
        if (status != PSV_OK) return status;
        psvi_next_line(source); // the solid's name
        for (;;) {
            if (!psvi_skip_blank_lines(source))
                return psvi_fail_line(source, "the file ends where 'facet' or 'endsolid' is due");
            psvi_word word = psvi_next_word(source);
            if (psvi_word_is(word, "endsolid")) break;
            if (!psvi_word_is(word, "facet"))
                return psvi_fail_line(source, "'%.*s' where 'facet' or 'endsolid' is due", PSVI_WORD_ARGS(word));
            status = read_facet(source, mesh, table);
            if (status != PSV_OK) return status;
        }
        psvi_next_line(source);
    }
    return PSV_OK;
}

bool psvi_is_binary_stl(const psvi_mesh_source *source) {
    const uint64_t size = (uint64_t)(source->end - source->begin);
    return size >= STL_HEADER_BYTES &&
           size == STL_HEADER_BYTES + STL_TRIANGLE_BYTES * (uint64_t)little_endian(source->begin + 80);
}

psv_status psvi_read_stl(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    uint64_t size = (uint64_t)(source->end - source->begin);
    // Binary files may begin with 'solid' too; their size decides.
    bool ascii = !psvi_is_binary_stl(source) && size >= 5 && memcmp(source->begin, "solid", 5) == 0;
    if (!ascii && size < STL_HEADER_BYTES)
        return psvi_fail_offset(source, "an STL file begins with 'solid' or has at least 84 bytes, this one has %llu",
                                (unsigned long long)size);
    vertex_table table = {NULL, 0};
    psv_status status = ascii ? read_ascii(source, mesh, &table) : read_binary(source, mesh, &table);
    free(table.slots);
    return status;
}
