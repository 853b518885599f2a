#include "mesh_normals.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FACES 256u // of a vertex that are compared with each other; more are taken to bend

typedef struct mesh_faces {
    vec3 *areas;     // by triangle: its normal, as long as twice its area
    uint32_t *first; // by vertex, and one more: its part of `of_vertex`
    uint32_t *of_vertex;
} mesh_faces;

static void free_faces(mesh_faces *faces) {
    free(faces->areas);
    free(faces->first);
    free(faces->of_vertex);
}

static bool make_faces(mesh_faces *faces, const float *positions, uint32_t vertex_count, const uint32_t *indices,
                       uint32_t triangle_count) {
    faces->areas = malloc(((size_t)triangle_count + 1) * sizeof *faces->areas);
    faces->first = calloc((size_t)vertex_count + 2, sizeof *faces->first);
    faces->of_vertex = malloc((3 * (size_t)triangle_count + 1) * sizeof *faces->of_vertex);
    if (faces->areas == NULL || faces->first == NULL || faces->of_vertex == NULL) return false;
    for (uint32_t t = 0; t < triangle_count; ++t) {
        vec3 points[3], ab, ac;
        for (int k = 0; k < 3; ++k)
            memcpy(points[k], positions + 3 * (size_t)indices[3 * (size_t)t + k], sizeof points[k]);
        glm_vec3_sub(points[1], points[0], ab);
        glm_vec3_sub(points[2], points[0], ac);
        glm_vec3_cross(ab, ac, faces->areas[t]);
    }
    // Counted two places ahead, so that the list that is filled next leaves `first` where it belongs.
    for (size_t i = 0; i < 3 * (size_t)triangle_count; ++i)
        ++faces->first[indices[i] + 2];
    for (uint32_t v = 0; v < vertex_count; ++v)
        faces->first[v + 2] += faces->first[v + 1];
    for (size_t i = 0; i < 3 * (size_t)triangle_count; ++i)
        faces->of_vertex[faces->first[indices[i] + 1]++] = (uint32_t)(i / 3);
    return true;
}

static bool bends_little(const mesh_faces *faces, uint32_t a, uint32_t b) {
    const float product = glm_vec3_norm(faces->areas[a]) * glm_vec3_norm(faces->areas[b]);
    return glm_vec3_dot(faces->areas[a], faces->areas[b]) >= VIEW_CREASE_COSINE * product;
}

static bool is_smooth(const mesh_faces *faces, uint32_t vertex) {
    const uint32_t begin = faces->first[vertex], end = faces->first[vertex + 1];
    if (end - begin > MOST_FACES) return false;
    for (uint32_t i = begin; i < end; ++i)
        for (uint32_t k = i + 1; k < end; ++k)
            if (!bends_little(faces, faces->of_vertex[i], faces->of_vertex[k])) return false;
    return true;
}

// The mean over all triangles of the vertex, or over those that bend little against `face`.
static void mean_normal(const mesh_faces *faces, uint32_t vertex, const uint32_t *face, float normal[3]) {
    const uint32_t begin = faces->first[vertex], end = faces->first[vertex + 1];
    const bool alone = face != NULL && end - begin > MOST_FACES;
    vec3 sum = {0.0f, 0.0f, 0.0f};
    if (alone) glm_vec3_copy(faces->areas[*face], sum);
    for (uint32_t i = begin; i < end && !alone; ++i) {
        const uint32_t other = faces->of_vertex[i];
        if (face == NULL || bends_little(faces, *face, other)) glm_vec3_add(sum, faces->areas[other], sum);
    }
    glm_vec3_normalize(sum);
    memcpy(normal, sum, sizeof sum);
}

static uint32_t add_vertex(view_corners *corners, const float *position) {
    memcpy(corners->vertices + 6 * (size_t)corners->vertex_count, position, 12);
    return corners->vertex_count++;
}

static void fill(view_corners *corners, const mesh_faces *faces, const uint8_t *smooth, const float *positions,
                 uint32_t vertex_count, const uint32_t *indices) {
    for (uint32_t v = 0; v < vertex_count; ++v) {
        uint32_t at = 0;
        if (smooth[v]) at = add_vertex(corners, positions + 3 * (size_t)v);
        if (smooth[v]) mean_normal(faces, v, NULL, corners->vertices + 6 * (size_t)at + 3);
        for (uint32_t i = faces->first[v]; i < faces->first[v + 1]; ++i) {
            const uint32_t face = faces->of_vertex[i];
            if (!smooth[v]) at = add_vertex(corners, positions + 3 * (size_t)v);
            if (!smooth[v]) mean_normal(faces, v, &face, corners->vertices + 6 * (size_t)at + 3);
            for (size_t k = 3 * (size_t)face; k < 3 * (size_t)face + 3; ++k)
                if (indices[k] == v) corners->indices[k] = at;
        }
    }
}

bool view_make_corners(view_corners *corners, const float *positions, uint32_t vertex_count, const uint32_t *indices,
                       uint32_t triangle_count) {
    mesh_faces faces = {0};
    *corners = (view_corners){0};
    uint8_t *smooth = malloc((size_t)vertex_count + 1);
    bool good = smooth != NULL && make_faces(&faces, positions, vertex_count, indices, triangle_count);
    size_t room = 0;
    for (uint32_t v = 0; good && v < vertex_count; ++v) {
        smooth[v] = is_smooth(&faces, v);
        room += smooth[v] ? 1 : faces.first[v + 1] - faces.first[v];
    }
    if (good) {
        corners->vertices = calloc(room + 1, 6 * sizeof *corners->vertices);
        corners->indices = malloc((3 * (size_t)triangle_count + 1) * sizeof *corners->indices);
        good = corners->vertices != NULL && corners->indices != NULL;
    }
    if (good) fill(corners, &faces, smooth, positions, vertex_count, indices);
    if (!good) {
        free(corners->vertices);
        free(corners->indices);
        *corners = (view_corners){0};
    }
    free(smooth);
    free_faces(&faces);
    return good;
}
