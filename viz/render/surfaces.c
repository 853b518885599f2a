#include "surfaces.h"

#include "mesh_normals.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CORNERS 64

void view_upload_geometry(view_geometry *geometry, const float *vertices, uint32_t vertex_count,
                          const uint32_t *indices, uint32_t index_count) {
    geometry->index_count = (GLsizei)index_count;
    geometry->vertices = view_new_buffer((uint64_t)vertex_count * 24, vertices);
    geometry->indices = view_new_buffer((uint64_t)index_count * 4, indices);
    glCreateVertexArrays(1, &geometry->vertex_array);
    glVertexArrayVertexBuffer(geometry->vertex_array, 0, geometry->vertices, 0, 24);
    glVertexArrayElementBuffer(geometry->vertex_array, geometry->indices);
    for (GLuint i = 0; i < 2; ++i) {
        glEnableVertexArrayAttrib(geometry->vertex_array, i);
        glVertexArrayAttribFormat(geometry->vertex_array, i, 3, GL_FLOAT, GL_FALSE, 12 * i);
        glVertexArrayAttribBinding(geometry->vertex_array, i, 0);
    }
}

void view_free_geometry(view_geometry *geometry) {
    glDeleteVertexArrays(1, &geometry->vertex_array);
    glDeleteBuffers(1, &geometry->vertices);
    glDeleteBuffers(1, &geometry->indices);
    memset(geometry, 0, sizeof *geometry);
}

// Adds each triangle's area-weighted normal to its corners, then normalises.
static void fill_normals(float *vertices, uint32_t vertex_count, const uint32_t *indices, uint32_t index_count) {
    for (uint32_t i = 0; i + 2 < index_count; i += 3) {
        float *a = vertices + 6 * (size_t)indices[i];
        float *b = vertices + 6 * (size_t)indices[i + 1];
        float *c = vertices + 6 * (size_t)indices[i + 2];
        vec3 ab, ac, normal;
        glm_vec3_sub(b, a, ab);
        glm_vec3_sub(c, a, ac);
        glm_vec3_cross(ab, ac, normal);
        glm_vec3_add(a + 3, normal, a + 3);
        glm_vec3_add(b + 3, normal, b + 3);
        glm_vec3_add(c + 3, normal, c + 3);
    }
    for (uint32_t i = 0; i < vertex_count; ++i) {
        glm_vec3_normalize(vertices + 6 * (size_t)i + 3);
    }
}

bool view_build_height_field(view_geometry *geometry, const psv_shape_def *def) {
    if (def->columns < 2 || def->rows < 2 || def->heights == NULL) return true;
    uint32_t count = def->columns * def->rows;
    uint32_t index_count = 6 * (def->columns - 1) * (def->rows - 1);
    float *vertices = calloc(count, 24);
    uint32_t *indices = malloc((size_t)index_count * 4);
    if (vertices == NULL || indices == NULL) {
        free(vertices);
        free(indices);
        return false;
    }
    uint32_t *index = indices;
    for (uint32_t row = 0; row < def->rows; ++row) {
        for (uint32_t column = 0; column < def->columns; ++column) {
            uint32_t at = row * def->columns + column;
            float *vertex = vertices + 6 * (size_t)at;
            vertex[0] = ((float)column / (float)(def->columns - 1) - 0.5f) * def->size[0];
            vertex[1] = def->heights[at];
            vertex[2] = ((float)row / (float)(def->rows - 1) - 0.5f) * def->size[2];
            if (row + 1 == def->rows || column + 1 == def->columns) continue;
            const uint32_t quad[6] = {at, at + def->columns, at + 1, at + 1, at + def->columns, at + def->columns + 1};
            memcpy(index, quad, sizeof quad);
            index += 6;
        }
    }
    fill_normals(vertices, count, indices, index_count);
    view_upload_geometry(geometry, vertices, count, indices, index_count);
    free(vertices);
    free(indices);
    return true;
}

bool view_build_mesh(view_geometry *geometry, const psv_shape_def *def) {
    if (def->vertex_count == 0 || def->triangle_count == 0) return true;
    view_corners corners;
    if (!view_make_corners(&corners, def->vertices, def->vertex_count, def->indices, def->triangle_count)) return false;
    view_upload_geometry(geometry, corners.vertices, corners.vertex_count, corners.indices, 3 * def->triangle_count);
    free(corners.vertices);
    free(corners.indices);
    return true;
}

// Keeps the part of a convex polygon on the positive side of a plane (Sutherland and Hodgman 1974).
static uint32_t clip_polygon(vec3 *corners, uint32_t count, const float point[3], const float normal[3]) {
    vec3 kept[MAX_CORNERS] = {{0.0f}};
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count && kept_count + 2 < MAX_CORNERS; ++i) {
        vec3 a, b;
        glm_vec3_sub(corners[i], (float *)point, a);
        glm_vec3_sub(corners[(i + 1) % count], (float *)point, b);
        float da = glm_vec3_dot(a, (float *)normal), db = glm_vec3_dot(b, (float *)normal);
        if (da >= 0.0f) glm_vec3_copy(corners[i], kept[kept_count++]);
        if ((da >= 0.0f) != (db >= 0.0f)) {
            glm_vec3_lerp(corners[i], corners[(i + 1) % count], da / (da - db), kept[kept_count++]);
        }
    }
    memcpy(corners, kept, kept_count * sizeof(vec3));
    return kept_count;
}

void view_build_plane(view_geometry *geometry, const float (*points)[3], const float (*normals)[3], uint32_t count,
                      uint32_t which, const float centre[3], float reach) {
    vec3 normal, side, up, middle, corners[MAX_CORNERS];
    glm_vec3_copy((float *)normals[which], normal);
    glm_vec3_ortho(normal, side);
    glm_vec3_normalize(side);
    glm_vec3_cross(normal, side, up); // counterclockwise as seen from outside
    // The point of the plane nearest to the scene.
    glm_vec3_sub((float *)centre, (float *)points[which], middle);
    float away = glm_vec3_dot(middle, normal);
    glm_vec3_copy((float *)centre, middle);
    glm_vec3_muladds(normal, -away, middle);
    for (uint32_t i = 0; i < 4; ++i) {
        glm_vec3_copy(middle, corners[i]);
        glm_vec3_muladds(side, i == 0 || i == 3 ? -reach : reach, corners[i]);
        glm_vec3_muladds(up, i < 2 ? -reach : reach, corners[i]);
    }
    uint32_t corner_count = 4;
    for (uint32_t i = 0; i < count && corner_count >= 3; ++i) {
        bool parallel = fabsf(glm_vec3_dot((float *)normals[i], normal)) > 0.9999f;
        if (i != which && !parallel) corner_count = clip_polygon(corners, corner_count, points[i], normals[i]);
    }
    if (corner_count < 3) return;
    float vertices[MAX_CORNERS * 6];
    uint32_t indices[MAX_CORNERS * 3];
    for (uint32_t i = 0; i < corner_count; ++i) {
        memcpy(vertices + 6 * (size_t)i, corners[i], 12);
        memcpy(vertices + 6 * (size_t)i + 3, normal, 12);
    }
    for (uint32_t i = 0; i + 2 < corner_count; ++i) {
        memcpy(indices + 3 * (size_t)i, (const uint32_t[3]){0, i + 1, i + 2}, 12);
    }
    view_upload_geometry(geometry, vertices, corner_count, indices, 3 * (corner_count - 2));
}
