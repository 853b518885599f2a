#include "render_oracle.h"

#include <math.h>
#include <string.h>

// --- vectors ---------------------------------------------------------------------------------------------------------

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void normalize(double v[3]) {
    const double length = sqrt(dot(v, v));
    for (int k = 0; k < 3; ++k)
        v[k] /= length;
}

// Columns of the rotation: axis j of the turned frame in m[j].
static void matrix_of(const float rotation[4], double m[3][3]) {
    double q[4], length = 0;
    for (int k = 0; k < 4; ++k)
        length += (double)rotation[k] * (double)rotation[k];
    for (int k = 0; k < 4; ++k)
        q[k] = (double)rotation[k] / sqrt(length);
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const double rows[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                               {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                               {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(m, rows, sizeof rows);
}

typedef struct ray {
    double o[3], d[3];
} ray;

static ray into_frame(const ray *r, const psv_pose *pose) {
    double m[3][3];
    ray local;
    matrix_of(pose->rotation, m);
    for (int j = 0; j < 3; ++j) {
        double away[3];
        for (int k = 0; k < 3; ++k)
            away[k] = r->o[k] - (double)pose->position[k];
        local.o[j] = dot(m[j], away);
        local.d[j] = dot(m[j], r->d);
    }
    return local;
}

// --- shapes: each takes what it meets before hit->t
// -------------------------------------------------------------------

static void take(oracle_hit *hit, double t, const double normal[3]) {
    if (!(t >= 0) || !(t < hit->t)) return;
    hit->t = t;
    memcpy(hit->normal, normal, sizeof hit->normal);
}

static void meet_ball(const ray *r, const double centre[3], double radius, oracle_hit *hit) {
    double m[3], normal[3];
    for (int k = 0; k < 3; ++k)
        m[k] = r->o[k] - centre[k];
    const double b = dot(m, r->d), c = dot(m, m) - radius * radius, root = b * b - c;
    if (c <= 0) {
        for (int k = 0; k < 3; ++k)
            normal[k] = -r->d[k];
        take(hit, 0, normal);
    }
    if (root < 0 || c <= 0) return;
    const double t = -b - sqrt(root);
    for (int k = 0; k < 3; ++k)
        normal[k] = (m[k] + t * r->d[k]) / radius;
    take(hit, t, normal);
}

static void meet_block(const ray *r, const float size[3], oracle_hit *hit) {
    double near = -INFINITY, far = INFINITY, normal[3] = {0, 0, 0};
    int axis = 0;
    for (int k = 0; k < 3; ++k) {
        const double h = (double)size[k], a = (-h - r->o[k]) / r->d[k], b = (h - r->o[k]) / r->d[k];
        if (fmin(a, b) > near) {
            near = fmin(a, b);
            axis = k;
        }
        far = fmin(far, fmax(a, b));
    }
    if (near > far || far < 0) return;
    normal[axis] = r->d[axis] > 0 ? -1 : 1;
    if (near < 0)
        for (int k = 0; k < 3; ++k)
            normal[k] = -r->d[k];
    take(hit, fmax(near, 0), normal);
}

// Along y.
static void meet_capsule(const ray *r, double radius, double half, oracle_hit *hit) {
    const double a = r->d[0] * r->d[0] + r->d[2] * r->d[2], b = r->o[0] * r->d[0] + r->o[2] * r->d[2];
    const double c = r->o[0] * r->o[0] + r->o[2] * r->o[2] - radius * radius, root = b * b - a * c;
    const double t = root >= 0 ? (-b - sqrt(root)) / a : -1, y = r->o[1] + t * r->d[1];
    if (t >= 0 && fabs(y) <= half)
        take(hit, t, (double[3]){(r->o[0] + t * r->d[0]) / radius, 0, (r->o[2] + t * r->d[2]) / radius});
    if (c <= 0 && fabs(r->o[1]) <= half) take(hit, 0, (double[3]){-r->d[0], -r->d[1], -r->d[2]});
    meet_ball(r, (double[3]){0, half, 0}, radius, hit);
    meet_ball(r, (double[3]){0, -half, 0}, radius, hit);
}

static void meet_face(const ray *r, const double a[3], const double b[3], const double c[3], oracle_hit *hit) {
    double e1[3], e2[3], s[3], p[3], q[3], normal[3];
    for (int k = 0; k < 3; ++k) {
        e1[k] = b[k] - a[k];
        e2[k] = c[k] - a[k];
        s[k] = r->o[k] - a[k];
    }
    cross(r->d, e2, p);
    cross(s, e1, q);
    const double det = dot(e1, p), u = dot(s, p) / det, v = dot(r->d, q) / det, t = dot(e2, q) / det;
    if (!(u >= 0 && v >= 0 && u + v <= 1)) return;
    cross(e1, e2, normal);
    normalize(normal);
    const double side = dot(normal, r->d) > 0 ? -1 : 1;
    for (int k = 0; k < 3; ++k)
        normal[k] *= side;
    take(hit, t, normal);
}

static void meet_field(const ray *r, const psv_shape_def *def, oracle_hit *hit) {
    for (uint32_t row = 0; row + 1 < def->rows; ++row)
        for (uint32_t column = 0; column + 1 < def->columns; ++column) {
            double corner[2][2][3];
            for (uint32_t i = 0; i < 4; ++i) {
                double *v = corner[i / 2][i % 2];
                v[0] = ((double)(column + i % 2) / (def->columns - 1) - 0.5) * (double)def->size[0];
                v[1] = (double)def->heights[(row + i / 2) * def->columns + column + i % 2];
                v[2] = ((double)(row + i / 2) / (def->rows - 1) - 0.5) * (double)def->size[2];
            }
            meet_face(r, corner[0][0], corner[0][1], corner[1][1], hit);
            meet_face(r, corner[0][0], corner[1][1], corner[1][0], hit);
        }
}

static void meet_mesh(const ray *r, const psv_shape_def *def, oracle_hit *hit) {
    for (uint32_t t = 0; t < def->triangle_count; ++t) {
        double corner[3][3];
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k)
                corner[i][k] = (double)def->vertices[3 * def->indices[3 * t + (uint32_t)i] + (uint32_t)k];
        meet_face(r, corner[0], corner[1], corner[2], hit);
    }
}

static void meet_shape(const ray *r, const psv_shape_def *def, oracle_hit *hit);

static void meet_posed(const ray *r, const psv_shape_def *def, const psv_pose *pose, oracle_hit *hit) {
    const ray local = into_frame(r, pose);
    oracle_hit found = *hit;
    meet_shape(&local, def, &found);
    if (!(found.t < hit->t)) return;
    double m[3][3];
    matrix_of(pose->rotation, m);
    hit->t = found.t;
    for (int k = 0; k < 3; ++k)
        hit->normal[k] = found.normal[0] * m[0][k] + found.normal[1] * m[1][k] + found.normal[2] * m[2][k];
}

static void meet_shape(const ray *r, const psv_shape_def *def, oracle_hit *hit) {
    if (def->type <= PSV_SHAPE_SPHERE) meet_ball(r, (double[3]){0, 0, 0}, (double)def->size[0], hit);
    if (def->type == PSV_SHAPE_BOX) meet_block(r, def->size, hit);
    if (def->type == PSV_SHAPE_CAPSULE) meet_capsule(r, (double)def->size[0], (double)def->size[1], hit);
    if (def->type == PSV_SHAPE_PLANE && r->o[1] * r->d[1] < 0)
        take(hit, -r->o[1] / r->d[1], (double[3]){0, r->d[1] > 0 ? -1 : 1, 0});
    if (def->type == PSV_SHAPE_HEIGHT_FIELD) meet_field(r, def, hit);
    if (def->type == PSV_SHAPE_MESH) meet_mesh(r, def, hit);
    for (uint32_t c = 0; def->type == PSV_SHAPE_COMPOUND && c < def->child_count; ++c) {
        psv_shape_def part = *def;
        part.type = def->children[c].type;
        memcpy(part.size, def->children[c].size, sizeof part.size);
        meet_posed(r, &part, &def->children[c].pose, hit);
    }
}

oracle_hit oracle_trace(const oracle_scene *scene, const double origin[3], const double direction[3]) {
    oracle_hit hit = {INFINITY, PSV_NO_ITEM, {0, 0, 0}};
    ray r;
    memcpy(r.o, origin, sizeof r.o);
    memcpy(r.d, direction, sizeof r.d);
    for (uint32_t i = 0; i < scene->count; ++i) {
        const double before = hit.t;
        meet_posed(&r, scene->bodies[i].shape, &scene->bodies[i].pose, &hit);
        if (hit.t < before) hit.slot = i;
    }
    return hit;
}

// --- a picture's rays ------------------------------------------------------------------------------------------------

void oracle_eye_ray(const psv_picture_def *picture, uint32_t pixel, double x, double y, double direction[3]) {
    const psv_camera *camera = &picture->camera;
    double forward[3], up[3], right[3];
    for (int k = 0; k < 3; ++k) {
        forward[k] = (double)camera->target[k] - (double)camera->eye[k];
        up[k] = (double)camera->up[k];
    }
    normalize(forward);
    cross(forward, up, right);
    normalize(right);
    cross(right, forward, up);
    const double high = tan(0.5 * (double)camera->field), wide = high * picture->width / picture->height;
    const double across = wide * (2 * ((double)(pixel % picture->width) + x) / picture->width - 1);
    const double upward = high * (1 - 2 * ((double)(pixel / picture->width) + y) / picture->height);
    for (int k = 0; k < 3; ++k)
        direction[k] = forward[k] + across * right[k] + upward * up[k];
    normalize(direction);
}

static uint32_t mixed(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

double oracle_random(uint32_t seed, uint32_t frame, uint32_t pixel, uint32_t channel) {
    const uint32_t step = channel % 2 == 1 ? 0x91e10da5u : 0xc13fa9a9u;
    const uint32_t bits = mixed(pixel ^ mixed(channel ^ mixed(seed))) + step * frame;
    return (double)(bits / 256) / 16777216.0;
}

void oracle_sky_ray(const psv_picture_def *picture, uint32_t pixel, const double normal[3], double direction[3]) {
    const double z = 2 * oracle_random(picture->seed, picture->frame, pixel, 4) - 1;
    const double turn = 6.283185307179586 * oracle_random(picture->seed, picture->frame, pixel, 5);
    const double flat = sqrt(fmax(1 - z * z, 0));
    direction[0] = normal[0] + flat * cos(turn);
    direction[1] = normal[1] + z;
    direction[2] = normal[2] + flat * sin(turn);
    normalize(direction);
}
