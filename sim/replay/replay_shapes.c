#include "replay_shapes.h"

#include "replay_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RINGS 8 // from the pole of a ball to its equator

static const float pi = 3.14159265f;

static void cross(const float a[3], const float b[3], float c[3]) {
    for (int i = 0; i < 3; ++i)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static void make_unit(float v[3]) {
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; ++i)
        v[i] = length > 0 ? v[i] / length : i == 1;
}

static void rotate(const float q[4], const float v[3], float out[3]) {
    float t[3], u[3];
    cross(q, v, t);
    for (int i = 0; i < 3; ++i)
        t[i] += q[3] * v[i];
    cross(q, t, u);
    for (int i = 0; i < 3; ++i)
        out[i] = v[i] + 2 * u[i];
}

static void add_point(replay_triangles *to, const psv_pose *pose, const float point[3], const float normal[3]) {
    float placed[3], turned[3];
    rotate(pose->rotation, point, placed);
    rotate(pose->rotation, normal, turned);
    make_unit(turned);
    for (int i = 0; i < 3; ++i)
        placed[i] += pose->position[i];
    replay_put_floats(&to->points, placed, 3);
    replay_put_floats(&to->normals, turned, 3);
    to->point_count += 1;
}

static void add_triangle(replay_triangles *to, uint32_t a, uint32_t b, uint32_t c) {
    replay_put_u32(&to->indices, a);
    replay_put_u32(&to->indices, b);
    replay_put_u32(&to->indices, c);
}

static void add_box(replay_triangles *to, const psv_pose *pose, const float size[3]) {
    static const float signs[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int face = 0; face < 6; ++face) {
        const int axis = face / 2;
        const float side = face % 2 == 0 ? -1.0f : 1.0f;
        const uint32_t first = to->point_count;
        for (int corner = 0; corner < 4; ++corner) {
            float point[3], normal[3] = {0, 0, 0};
            normal[axis] = side;
            point[axis] = side * size[axis];
            point[(axis + 1) % 3] = signs[corner][0] * size[(axis + 1) % 3];
            point[(axis + 2) % 3] = side * signs[corner][1] * size[(axis + 2) % 3];
            add_point(to, pose, point, normal);
        }
        add_triangle(to, first, first + 1, first + 2);
        add_triangle(to, first, first + 2, first + 3);
    }
}

// A ball whose halves are apart by twice `half` along y; the middle ring is there twice. At the poles one of the two
// triangles of a cell is none.
static void add_capsule(replay_triangles *to, const psv_pose *pose, float radius, float half) {
    const uint32_t round = 4 * RINGS, first = to->point_count, rows = 2 * RINGS + 2;
    for (uint32_t row = 0; row < rows; ++row) {
        const float angle = pi * (float)(row <= RINGS ? row : row - 1) / (2 * RINGS);
        for (uint32_t k = 0; k <= round; ++k) {
            const float turn = 2 * pi * (float)k / (float)round;
            const float normal[3] = {sinf(angle) * sinf(turn), cosf(angle), sinf(angle) * cosf(turn)};
            const float point[3] = {radius * normal[0], radius * normal[1] + (row <= RINGS ? half : -half),
                                    radius * normal[2]};
            add_point(to, pose, point, normal);
        }
    }
    for (uint32_t row = 0; row + 1 < rows; ++row) {
        if (row == RINGS && half == 0) continue;
        for (uint32_t k = 0; k < round; ++k) {
            const uint32_t at = first + row * (round + 1) + k, below = at + round + 1;
            if (row + 2 < rows) add_triangle(to, at, below, below + 1);
            if (row > 0) add_triangle(to, at, below + 1, at + 1);
        }
    }
}

static void add_faces(replay_triangles *to, const psv_pose *pose, const psv_shape_def *shape) {
    for (uint32_t t = 0; t < shape->triangle_count; ++t) {
        const float *corners[3];
        float a[3], b[3], normal[3];
        for (int i = 0; i < 3; ++i)
            corners[i] = shape->vertices + 3 * (size_t)shape->indices[3 * (size_t)t + (size_t)i];
        for (int i = 0; i < 3; ++i) {
            a[i] = corners[1][i] - corners[0][i];
            b[i] = corners[2][i] - corners[0][i];
        }
        cross(a, b, normal);
        make_unit(normal);
        for (int i = 0; i < 3; ++i)
            add_point(to, pose, corners[i], normal);
        add_triangle(to, to->point_count - 3, to->point_count - 2, to->point_count - 1);
    }
}

static float height_at(const psv_shape_def *shape, int64_t column, int64_t row) {
    const int64_t c = column < 0 ? 0 : column >= shape->columns ? shape->columns - 1 : column;
    const int64_t r = row < 0 ? 0 : row >= shape->rows ? shape->rows - 1 : row;
    return shape->heights[r * shape->columns + c];
}

static void add_field(replay_triangles *to, const psv_pose *pose, const psv_shape_def *shape) {
    const float dx = shape->size[0] / (float)(shape->columns - 1), dz = shape->size[2] / (float)(shape->rows - 1);
    for (uint32_t r = 0; r < shape->rows; ++r) {
        for (uint32_t c = 0; c < shape->columns; ++c) {
            const float point[3] = {(float)c * dx - shape->size[0] / 2, height_at(shape, c, r),
                                    (float)r * dz - shape->size[2] / 2};
            const float normal[3] = {(height_at(shape, (int64_t)c - 1, r) - height_at(shape, (int64_t)c + 1, r)) / dx,
                                     2,
                                     (height_at(shape, c, (int64_t)r - 1) - height_at(shape, c, (int64_t)r + 1)) / dz};
            const uint32_t at = to->point_count;
            add_point(to, pose, point, normal);
            if (r + 1 == shape->rows || c + 1 == shape->columns) continue;
            add_triangle(to, at, at + shape->columns, at + 1);
            add_triangle(to, at + 1, at + shape->columns, at + shape->columns + 1);
        }
    }
}

static void add_part(replay_triangles *to, const psv_pose *pose, psv_shape_type type, const float size[3]) {
    if (type == PSV_SHAPE_BOX)
        add_box(to, pose, size);
    else
        add_capsule(to, pose, size[0], type == PSV_SHAPE_CAPSULE ? size[1] : 0);
}

bool replay_make_triangles(const psv_shape_def *shape, float reach, replay_triangles *triangles) {
    const psv_pose none = {{0, 0, 0}, {0, 0, 0, 1}};
    const float up[3] = {0, 1, 0};
    *triangles = (replay_triangles){.point_count = 0};
    switch (shape->type) {
    case PSV_SHAPE_COMPOUND:
        for (uint32_t i = 0; i < shape->child_count; ++i)
            add_part(triangles, &shape->children[i].pose, shape->children[i].type, shape->children[i].size);
        break;
    case PSV_SHAPE_PLANE:
        for (int i = 0; i < 4; ++i) // counter-clockwise from above
            add_point(triangles, &none, (const float[]){i < 2 ? -reach : reach, 0, i % 3 == 0 ? -reach : reach}, up);
        add_triangle(triangles, 0, 1, 2);
        add_triangle(triangles, 0, 2, 3);
        break;
    case PSV_SHAPE_HEIGHT_FIELD: add_field(triangles, &none, shape); break;
    case PSV_SHAPE_MESH:
    case PSV_SHAPE_HULL: add_faces(triangles, &none, shape); break;
    default: add_part(triangles, &none, shape->type, shape->size); break;
    }
    return !triangles->points.failed && !triangles->normals.failed && !triangles->indices.failed;
}

void replay_free_triangles(replay_triangles *triangles) {
    free(triangles->points.data);
    free(triangles->normals.data);
    free(triangles->indices.data);
}
