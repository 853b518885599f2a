// psv_load_mesh: the file's bytes, the choice of the reader, and the mesh that readers add to.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../core/context.h"
#include "../data/whole_file.h"
#include "mesh_source.h"

static psv_status fail_at(psvi_mesh_source *source, const char *unit, uint64_t place, const char *format,
                          va_list arguments) {
    char sentence[300];
    vsnprintf(sentence, sizeof sentence, format, arguments);
    return psvi_fail(source->context, PSV_ERROR_FORMAT, "%.150s: %s %llu: %s", source->name, unit,
                     (unsigned long long)place, sentence);
}

psv_status psvi_fail_line(psvi_mesh_source *source, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    psv_status status = fail_at(source, "line", source->line, format, arguments);
    va_end(arguments);
    return status;
}

psv_status psvi_fail_offset(psvi_mesh_source *source, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    psv_status status = fail_at(source, "offset", (uint64_t)(source->at - source->begin), format, arguments);
    va_end(arguments);
    return status;
}

psv_status psvi_grow_array(psvi_mesh_source *source, void **array, uint64_t *room, uint64_t count, uint64_t bytes) {
    if (count <= *room) return PSV_OK;
    uint64_t larger = *room + *room / 2;
    if (larger < count) larger = count;
    if (larger < 64) larger = 64;
    void *grown = larger > SIZE_MAX / bytes ? NULL : realloc(*array, (size_t)(larger * bytes));
    if (grown == NULL)
        return psvi_fail(source->context, PSV_ERROR_MEMORY, "%.150s: no memory for %llu bytes", source->name,
                         (unsigned long long)(larger * bytes));
    *array = grown;
    *room = larger;
    return PSV_OK;
}

psv_status psvi_add_vertex(psvi_mesh_source *source, psvi_mesh_builder *mesh, const double position[3]) {
    psv_status status =
        psvi_grow_array(source, (void **)&mesh->positions, &mesh->vertex_room, mesh->vertex_count + 1, 12);
    if (status != PSV_OK) return status;
    float *target = mesh->positions + 3 * mesh->vertex_count++;
    for (int axis = 0; axis < 3; ++axis)
        target[axis] = (float)position[axis];
    return PSV_OK;
}

psv_status psvi_add_corner(psvi_mesh_source *source, psvi_mesh_builder *mesh, uint32_t vertex) {
    psv_status status = psvi_grow_array(source, (void **)&mesh->face, &mesh->corner_room, mesh->corner_count + 1, 4);
    if (status == PSV_OK) mesh->face[mesh->corner_count++] = vertex;
    return status;
}

psv_status psvi_add_face(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    uint64_t triangles = mesh->corner_count - 2;
    psv_status status =
        psvi_grow_array(source, (void **)&mesh->triangles, &mesh->triangle_room, mesh->triangle_count + triangles, 12);
    if (status != PSV_OK) return status;
    for (uint64_t i = 0; i < triangles; ++i) {
        uint32_t *target = mesh->triangles + 3 * mesh->triangle_count++;
        target[0] = mesh->face[0];
        target[1] = mesh->face[i + 1];
        target[2] = mesh->face[i + 2];
    }
    mesh->corner_count = 0;
    return PSV_OK;
}

static bool name_ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcasecmp(name + length - tail, ending) == 0;
}

static bool begins_with(const psvi_mesh_source *source, const char *text) {
    size_t length = strlen(text);
    return (size_t)(source->end - source->begin) >= length && memcmp(source->begin, text, length) == 0;
}

static psv_status read_by_format(psvi_mesh_source *source, psvi_mesh_builder *mesh) {
    if (begins_with(source, "ply\n") || begins_with(source, "ply\r") || name_ends_with(source->name, ".ply"))
        return psvi_read_ply(source, mesh);
    if (name_ends_with(source->name, ".obj")) return psvi_read_obj(source, mesh);
    if (name_ends_with(source->name, ".stl") || begins_with(source, "solid")) return psvi_read_stl(source, mesh);
    return psvi_fail(source->context, PSV_ERROR_FORMAT,
                     "%.150s: not a mesh file: PLY, OBJ and STL are accepted, told apart by .ply, .obj or .stl",
                     source->name);
}

static psv_status check_counts(psvi_mesh_source *source, const psvi_mesh_builder *mesh) {
    const uint64_t most = UINT32_MAX;
    if (mesh->vertex_count <= most && mesh->triangle_count <= most) return PSV_OK;
    return psvi_fail(source->context, PSV_ERROR_FORMAT,
                     "%.150s: %llu vertices and %llu triangles; at most %llu of each are accepted", source->name,
                     (unsigned long long)mesh->vertex_count, (unsigned long long)mesh->triangle_count,
                     (unsigned long long)most);
}

// Text files of some programs begin with a byte-order mark, which is no part of the text. No binary file does: a binary
// STL whose header begins so keeps its length.
static void skip_byte_order_mark(psvi_mesh_source *source) {
    if (!begins_with(source, "\xef\xbb\xbf") || psvi_is_binary_stl(source)) return;
    source->begin += 3;
    source->at = source->begin;
}

psv_status psvi_parse_mesh(psv_context *context, const char *name, const uint8_t *data, uint64_t size, psv_mesh *mesh) {
    *mesh = (psv_mesh){0};
    psvi_mesh_source source = {
        .context = context, .name = name, .begin = data, .at = data, .end = data + size, .line = 1};
    source.number_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (source.number_locale == (locale_t)0)
        return psvi_fail(context, PSV_ERROR_MEMORY, "%.150s: no memory for the number locale", name);
    skip_byte_order_mark(&source);
    psvi_mesh_builder builder = {0};
    psv_status status = read_by_format(&source, &builder);
    if (status == PSV_OK) status = check_counts(&source, &builder);
    freelocale(source.number_locale);
    free(builder.face);
    if (status != PSV_OK) {
        free(builder.positions);
        free(builder.triangles);
        return status;
    }
    *mesh = (psv_mesh){builder.positions, builder.triangles, (uint32_t)builder.vertex_count,
                       (uint32_t)builder.triangle_count};
    return PSV_OK;
}

psv_status psv_load_mesh(psv_context *context, const char *path, psv_mesh *mesh) {
    PSVI_STANDARD_FLOATS(context);
    if (mesh == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "mesh is NULL");
    *mesh = (psv_mesh){0};
    if (path == NULL) return psvi_fail(context, PSV_ERROR_ARGUMENT, "path is NULL");
    char *data = NULL;
    uint64_t size = 0;
    psv_status status = psvi_read_whole_file(context, path, "a mesh", UINT64_MAX, &data, &size);
    if (status == PSV_OK) status = psvi_parse_mesh(context, path, (const uint8_t *)data, size, mesh);
    free(data);
    return status;
}

void psv_free_mesh(psv_mesh *mesh) {
    if (mesh == NULL) return;
    free(mesh->positions);
    free(mesh->triangles);
    *mesh = (psv_mesh){0};
}
