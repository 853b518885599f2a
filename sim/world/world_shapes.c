// Shapes: checks, mass and inertia, and the copies in the backend's memory.
#include "../contacts/contact_anchor.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

// Mass properties in double: mass, centre, and the inertia tensor about the centre.
typedef struct mass_properties {
    double mass, centre[3], inertia[6]; // xx, yy, zz, xy, xz, yz
} mass_properties;

static mass_properties solid_mass(uint32_t type, const float *size, double density) {
    mass_properties m = {0};
    double a = size[0], b = size[1], c = size[2];
    if (type == PSV_SHAPE_BOX) {
        m.mass = density * 8 * a * b * c;
        m.inertia[0] = m.mass / 3 * (b * b + c * c);
        m.inertia[1] = m.mass / 3 * (a * a + c * c);
        m.inertia[2] = m.mass / 3 * (a * a + b * b);
    } else if (type == PSV_SHAPE_CAPSULE) {
        double cylinder = density * PI * a * a * 2 * b, ball = density * 4 / 3 * PI * a * a * a;
        m.mass = cylinder + ball;
        m.inertia[1] = 0.5 * cylinder * a * a + 0.4 * ball * a * a;
        // the half balls' own part, moved to the ends of the cylinder
        m.inertia[0] = m.inertia[2] = cylinder * (a * a / 4 + b * b / 3) + ball * (0.4 * a * a + b * b + 0.75 * a * b);
    } else {
        m.mass = density * 4 / 3 * PI * a * a * a;
        m.inertia[0] = m.inertia[1] = m.inertia[2] = 0.4 * m.mass * a * a;
    }
    return m;
}

// R I R^T for the six entries.
static void rotate_inertia(double i[6], const float q[4]) {
    axes3 r = quat_axes(quat_unit(quat_of(q)));
    double m[3][3], t[3][3], full[3][3] = {{i[0], i[3], i[4]}, {i[3], i[1], i[5]}, {i[4], i[5], i[2]}};
    for (int c = 0; c < 3; ++c) {
        m[0][c] = r.u[c].x;
        m[1][c] = r.u[c].y;
        m[2][c] = r.u[c].z;
    }
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            t[a][b] = m[a][0] * full[0][b] + m[a][1] * full[1][b] + m[a][2] * full[2][b];
    const int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; ++k) {
        const double *row = t[rows[k]], *column = m[columns[k]];
        i[k] = row[0] * column[0] + row[1] * column[1] + row[2] * column[2];
    }
}

// Adds a part's inertia at offset d from the common centre (parallel axes).
static void add_inertia(double sum[6], const double part[6], double mass, const double d[3]) {
    double squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    for (int k = 0; k < 3; ++k)
        sum[k] += part[k] + mass * (squared - d[k] * d[k]);
    sum[3] += part[3] - mass * d[0] * d[1];
    sum[4] += part[4] - mass * d[0] * d[2];
    sum[5] += part[5] - mass * d[1] * d[2];
}

static mass_properties compound_mass(const psv_shape_def *def) {
    mass_properties total = {0};
    for (uint32_t i = 0; i < def->child_count; ++i) {
        const psv_shape_child *c = &def->children[i];
        mass_properties m = solid_mass(c->type, c->size, def->density);
        total.mass += m.mass;
        for (int k = 0; k < 3; ++k)
            total.centre[k] += m.mass * (double)c->pose.position[k];
    }
    for (int k = 0; k < 3; ++k)
        total.centre[k] /= total.mass;
    for (uint32_t i = 0; i < def->child_count; ++i) {
        const psv_shape_child *c = &def->children[i];
        mass_properties m = solid_mass(c->type, c->size, def->density);
        rotate_inertia(m.inertia, c->pose.rotation);
        double d[3];
        for (int k = 0; k < 3; ++k)
            d[k] = (double)c->pose.position[k] - total.centre[k];
        add_inertia(total.inertia, m.inertia, m.mass, d);
    }
    return total;
}

static sym3 invert(const double i[6]) {
    double a = i[0], b = i[1], c = i[2], d = i[3], e = i[4], f = i[5];
    double det = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    if (!(det > 0)) return (sym3){0, 0, 0, 0, 0, 0};
    return (sym3){(float)((b * c - f * f) / det), (float)((a * c - e * e) / det), (float)((a * b - d * d) / det),
                  (float)((e * f - d * c) / det), (float)((d * f - b * e) / det), (float)((d * e - a * f) / det)};
}

static psv_status check_size(psv_world *world, const char *what, uint32_t type, const float *size) {
    int needed = type == PSV_SHAPE_BOX ? 3 : type == PSV_SHAPE_CAPSULE ? 2 : 1;
    for (int i = 0; i < needed; ++i)
        if (!(size[i] > 0) || !isfinite(size[i]))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s.size[%d] is %g; it must be finite and > 0", what,
                             i, (double)size[i]);
    return PSV_OK;
}

static psv_status check_compound(psv_world *world, const psv_shape_def *def) {
    if (def->children == NULL || def->child_count == 0 || def->child_count > PSVI_MAX_PARTS)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.child_count is %u; a compound has 1 to %u children",
                         def->children == NULL ? 0 : def->child_count, PSVI_MAX_PARTS);
    for (uint32_t i = 0; i < def->child_count; ++i) {
        const psv_shape_child *child = &def->children[i];
        if (child->type < PSV_SHAPE_SPHERE || child->type > PSV_SHAPE_CAPSULE)
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "def.children[%u].type is %d; spheres, boxes and capsules are possible", i,
                             (int)child->type);
        psv_status status = check_size(world, "def.children[]", child->type, child->size);
        if (status != PSV_OK) return status;
        for (int k = 0; k < 7; ++k)
            if (!isfinite(k < 3 ? child->pose.position[k] : child->pose.rotation[k - 3]))
                return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.children[%u].pose is not finite", i);
        if (!psvi_is_rotation(child->pose.rotation))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "def.children[%u].pose.rotation is zero or huge; a unit quaternion is needed", i);
    }
    return PSV_OK;
}

static psv_status check_field(psv_world *world, const psv_shape_def *def) {
    if (def->heights == NULL || def->columns < 2 || def->rows < 2)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "def has %u columns and %u rows of heights; 2 by 2 are needed at least", def->columns,
                         def->rows);
    if (!(def->size[0] > 0) || !(def->size[2] > 0) || !isfinite(def->size[0]) || !isfinite(def->size[2]))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.size is %g by %g; it must be finite and > 0",
                         (double)def->size[0], (double)def->size[2]);
    for (uint64_t i = 0; i < (uint64_t)def->columns * def->rows; ++i)
        if (!isfinite(def->heights[i]))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.heights[%" PRIu64 "] is not finite", i);
    return PSV_OK;
}

static psv_status check_mesh(psv_world *world, const psv_shape_def *def) {
    if (def->vertices == NULL || def->indices == NULL || def->triangle_count == 0)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def has no vertices, indices or triangles");
    if (!(def->weld_angle >= 0 && def->weld_angle <= 1.5f))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.weld_angle is %g rad; 0 to 1.5 are possible",
                         (double)def->weld_angle);
    if (def->triangle_count >= PSVI_NO_FACET)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.triangle_count is %u; a mesh has less than 2^30",
                         def->triangle_count);
    for (uint64_t i = 0; i < 3ull * def->triangle_count; ++i)
        if (def->indices[i] >= def->vertex_count)
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "def.indices[%" PRIu64 "] is %u; the mesh has %u vertices", i, def->indices[i],
                             def->vertex_count);
    for (uint64_t i = 0; i < 3ull * def->vertex_count; ++i)
        if (!isfinite(def->vertices[i]))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.vertices[%" PRIu64 "] is not finite", i);
    return PSV_OK;
}

static psv_status check_hull(psv_world *world, const psv_shape_def *def) {
    if (def->vertices == NULL || def->vertex_count < 4 || def->vertex_count > PSV_MAX_HULL_POINTS)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.vertex_count is %u; a hull is of 4 to %u points",
                         def->vertices == NULL ? 0 : def->vertex_count, PSV_MAX_HULL_POINTS);
    for (uint64_t i = 0; i < 3ull * def->vertex_count; ++i)
        if (!(fabsf(def->vertices[i]) <= 1e9f))
            return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                             "def.vertices[%" PRIu64 "] is %g; coordinates of hulls are finite, at most 1e9", i,
                             (double)def->vertices[i]);
    return PSV_OK;
}

static psv_status check_shape(psv_world *world, const psv_shape_def *def) {
    psv_shape_def fresh = psv_default_shape_def();
    if (def->cookie != fresh.cookie)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def has no cookie: start from psv_default_shape_def()");
    if (world->shape_count >= world->def.max_shapes)
        return psvi_fail(world->context, PSV_ERROR_CAPACITY, "the world's %u shapes (def.max_shapes) are taken",
                         world->def.max_shapes);
    if (!(def->density > 0) || !isfinite(def->density))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.density is %g; it must be finite and > 0",
                         (double)def->density);
    if (!(def->friction >= 0) || !isfinite(def->friction))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.friction is %g; it must be finite and >= 0",
                         (double)def->friction);
    if (!(def->restitution >= 0 && def->restitution <= 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.restitution is %g; 0 to 1 are possible",
                         (double)def->restitution);
    if (!(def->rolling_friction >= 0) || !isfinite(def->rolling_friction) || !(def->spinning_friction >= 0) ||
        !isfinite(def->spinning_friction))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "def.rolling_friction is %g and spinning_friction %g; both must be finite and >= 0",
                         (double)def->rolling_friction, (double)def->spinning_friction);
    if (def->colour != 0 && def->colour >> 24 == 0)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "def.colour is 0x%08x, which nobody sees: its highest byte is the opacity, 1 to 255",
                         def->colour);
    switch (def->type) {
    case PSV_SHAPE_PARTICLE:
    case PSV_SHAPE_SPHERE:
    case PSV_SHAPE_BOX:
    case PSV_SHAPE_CAPSULE: return check_size(world, "def", def->type, def->size);
    case PSV_SHAPE_COMPOUND: return check_compound(world, def);
    case PSV_SHAPE_PLANE: return PSV_OK;
    case PSV_SHAPE_HEIGHT_FIELD: return check_field(world, def);
    case PSV_SHAPE_MESH: return check_mesh(world, def);
    case PSV_SHAPE_HULL: return check_hull(world, def);
    }
    return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.type is %d; 0 to 8 are possible", (int)def->type);
}

static float solid_reach(uint32_t type, const float *size) {
    if (type == PSV_SHAPE_BOX) return sqrtf(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
    return type == PSV_SHAPE_CAPSULE ? size[0] + size[1] : size[0];
}

static void *copy_array(const void *source, uint64_t bytes, psv_status *status, psv_world *world) {
    if (source == NULL || bytes == 0 || *status != PSV_OK) return NULL;
    void *copy = malloc(bytes);
    if (copy == NULL)
        *status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of a shape", bytes);
    else
        memcpy(copy, source, bytes);
    return copy;
}

// Appends `count` records to a growing host array.
static psv_status append(psv_world *world, void *array, uint64_t *have, const void *records, uint64_t count,
                         uint64_t each) {
    if (count == 0) return PSV_OK;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, (*have + count) * each);
    if (grown == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of shapes",
                         (*have + count) * each);
    memcpy((char *)grown + *have * each, records, count * each);
    memcpy(array, &grown, sizeof grown);
    *have += count;
    return PSV_OK; // cppcheck-suppress memleak ; `array` holds it
}

static psv_status add_children(psv_world *world, const psv_shape_def *def, psvi_shape *data) {
    data->first_child = (uint32_t)world->child_count;
    data->child_count = def->child_count;
    psv_status status = PSV_OK;
    for (uint32_t i = 0; i < def->child_count && status == PSV_OK; ++i) {
        const psv_shape_child *c = &def->children[i];
        psvi_child child = {.type = (uint32_t)c->type};
        memcpy(child.size, c->size, sizeof child.size);
        memcpy(child.position, c->pose.position, sizeof child.position);
        quat q = quat_unit(quat_of(c->pose.rotation));
        memcpy(child.rotation, &q, sizeof q);
        float reach = v3_length(v3_of(child.position)) + solid_reach(child.type, child.size);
        data->radius = fmaxf(data->radius, reach);
        status = append(world, &world->children, &world->child_count, &child, 1, sizeof child);
    }
    return status;
}

static psv_status add_field(psv_world *world, const psv_shape_def *def, psvi_shape *data) {
    uint64_t count = (uint64_t)def->columns * def->rows;
    data->first_height = (uint32_t)world->height_count;
    data->columns = def->columns;
    data->rows = def->rows;
    data->height_min = data->height_max = def->heights[0];
    for (uint64_t i = 0; i < count; ++i) {
        data->height_min = fminf(data->height_min, def->heights[i]);
        data->height_max = fmaxf(data->height_max, def->heights[i]);
    }
    float tall = fmaxf(fabsf(data->height_min), fabsf(data->height_max));
    data->radius = sqrtf(0.25f * (def->size[0] * def->size[0] + def->size[2] * def->size[2]) + tall * tall);
    return append(world, &world->heights, &world->height_count, def->heights, count, sizeof(float));
}

static psv_status add_mesh(psv_world *world, const psv_shape_def *def, psvi_shape *data) {
    uint32_t count = def->triangle_count;
    psvi_triangle *triangles = malloc(count * sizeof *triangles);
    psvi_mesh_node *nodes = malloc(2ull * count * sizeof *nodes);
    psv_status status = PSV_OK;
    if (triangles == NULL || nodes == NULL)
        status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for the tree of %u triangles", count);
    if (status == PSV_OK) {
        for (uint32_t i = 0; i < count; ++i)
            for (int k = 0; k < 3; ++k) {
                const float *v = def->vertices + 3ull * def->indices[3ull * i + (uint64_t)k];
                memcpy(triangles[i].p[k], v, 3 * sizeof(float));
                data->radius = fmaxf(data->radius, v3_length(v3_of(v)));
            }
        data->first_node = (uint32_t)world->node_count;
        data->first_triangle = (uint32_t)world->triangle_count;
        data->triangle_count = count;
        data->node_count = psvi_build_mesh_tree(triangles, count, nodes);
        data->one_sided = def->one_sided;
        if (!psvi_link_mesh(triangles, count, def->weld_angle, def->one_sided))
            status = psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for the edges of %u triangles", count);
    }
    if (status == PSV_OK) {
        status = append(world, &world->nodes, &world->node_count, nodes, data->node_count, sizeof *nodes);
    }
    if (status == PSV_OK)
        status = append(world, &world->triangles, &world->triangle_count, triangles, count, sizeof *triangles);
    free(triangles);
    free(nodes);
    return status;
}

// The cube of half extents 1, as which the narrow phase takes boxes beside hulls.
static psv_status add_cube(psv_world *world) {
    float corners[24];
    uint32_t sources[PSVI_HULL_VERTICES];
    psvi_hull cube;
    psvi_hull_mass mass;
    for (uint32_t i = 0; i < 24; ++i)
        corners[i] = (i / 3) >> i % 3 & 1 ? 1.0f : -1.0f;
    const char *wrong = psvi_build_hull(corners, 8, &cube, sources, &mass);
    if (wrong != NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "the corners of a cube %s", wrong);
    return append(world, &world->hulls, &world->hull_count, &cube, 1, sizeof cube);
}

// The faces as triangles of the def's points.
static psv_status list_triangles(psv_world *world, const psvi_hull *hull, const uint32_t *sources,
                                 psv_shape_def *made) {
    uint32_t count = 0, *indices = malloc(3 * PSVI_HULL_FACES * sizeof *indices);
    if (indices == NULL) return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for the faces of a hull");
    for (uint32_t f = 0; f < hull->face_count; ++f) {
        const uint8_t *loop = hull->loop + hull->face_first[f];
        for (uint32_t i = 2; i + hull->face_first[f] < hull->face_first[f + 1]; ++i) {
            indices[count++] = sources[loop[0]];
            indices[count++] = sources[loop[i - 1]];
            indices[count++] = sources[loop[i]];
        }
    }
    made->indices = indices;
    made->triangle_count = count / 3;
    return PSV_OK;
}

static psv_status add_hull(psv_world *world, const psv_shape_def *def, psvi_shape *data, psv_shape_def *made,
                           mass_properties *m) {
    psvi_hull hull;
    psvi_hull_mass mass;
    uint32_t sources[PSVI_HULL_VERTICES];
    const char *wrong = psvi_build_hull(def->vertices, def->vertex_count, &hull, sources, &mass);
    if (wrong != NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def.vertices: the points %s", wrong);
    m->mass = mass.volume * (double)def->density;
    memcpy(m->centre, mass.centre, sizeof m->centre);
    for (int k = 0; k < 6; ++k)
        m->inertia[k] = mass.inertia[k] * (double)def->density;
    for (uint32_t i = 0; i < hull.vertex_count; ++i)
        data->radius = fmaxf(data->radius, v3_length(v3_of4(hull.vertices[i])));
    data->size[0] = data->radius;
    data->size[1] = data->thin = mass.thin;
    data->size[2] = 0;
    psv_status status = world->hull_count == 0 ? add_cube(world) : PSV_OK;
    data->hull = (uint32_t)world->hull_count;
    if (status == PSV_OK) status = append(world, &world->hulls, &world->hull_count, &hull, 1, sizeof hull);
    return status == PSV_OK ? list_triangles(world, &hull, sources, made) : status;
}

static float solid_half_width(psv_shape_type type, const float *size) {
    return type == PSV_SHAPE_BOX ? fminf(size[0], fminf(size[1], size[2])) : size[0];
}

// Half of the least width of a shape or of its parts; what is ground has none.
static float half_width(const psv_shape_def *def) {
    float least = PSVI_STATIC_RADIUS;
    if (def->type < PSV_SHAPE_COMPOUND) return solid_half_width(def->type, def->size);
    for (uint32_t i = 0; def->type == PSV_SHAPE_COMPOUND && i < def->child_count; ++i)
        least = fminf(least, solid_half_width(def->children[i].type, def->children[i].size));
    return least;
}

// Fills the kernels' record of a shape.
static psv_status make_data(psv_world *world, const psv_shape_def *def, psvi_world_shape *made) {
    psvi_shape *data = &made->data;
    *data = (psvi_shape){.type = (uint32_t)def->type,
                         .friction = def->friction,
                         .restitution = def->restitution,
                         .rolling_friction = def->rolling_friction,
                         .spinning_friction = def->spinning_friction,
                         .thin = half_width(def)};
    memcpy(data->size, def->size, sizeof data->size);
    const bool black = def->colour != 0 && (def->colour & 0xffffffu) == 0;
    for (int k = 0; k < 3; ++k)
        data->paint[k] = black ? 1 : (uint8_t)(def->colour >> 8 * k);
    if (def->type == PSV_SHAPE_PLANE) {
        data->radius = PSVI_STATIC_RADIUS;
        return PSV_OK;
    }
    if (def->type == PSV_SHAPE_HEIGHT_FIELD) return add_field(world, def, data);
    if (def->type == PSV_SHAPE_MESH) return add_mesh(world, def, data);
    const bool compound = def->type == PSV_SHAPE_COMPOUND, hull = def->type == PSV_SHAPE_HULL;
    mass_properties m = {0};
    if (hull) {
        psv_status status = add_hull(world, def, data, &made->def, &m);
        if (status != PSV_OK) return status;
    } else {
        m = compound ? compound_mass(def) : solid_mass((uint32_t)def->type, def->size, def->density);
    }
    data->inv_mass = (float)(1 / m.mass);
    for (int k = 0; k < 3; ++k)
        data->com[k] = (float)m.centre[k];
    if (def->type != PSV_SHAPE_PARTICLE) {
        const double *i = m.inertia;
        data->inv_inertia = invert(i);
        data->inertia = (sym3){(float)i[0], (float)i[1], (float)i[2], (float)i[3], (float)i[4], (float)i[5]};
    }
    if (!(data->inv_mass > 0) || !isfinite(data->inv_mass))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "def has a mass of %g kg, which single precision cannot "
                         "hold",
                         m.mass);
    if (compound) return add_children(world, def, data);
    if (!hull) data->radius = solid_reach((uint32_t)def->type, def->size);
    return PSV_OK;
}

static void free_shape(psvi_world_shape *shape) {
    free((void *)(uintptr_t)shape->def.children);
    free((void *)(uintptr_t)shape->def.heights);
    free((void *)(uintptr_t)shape->def.vertices);
    free((void *)(uintptr_t)shape->def.indices);
    *shape = (psvi_world_shape){0};
}

psv_status psv_create_shape(psv_world *world, const psv_shape_def *def, uint32_t *shape) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (def == NULL || shape == NULL)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s is NULL", def == NULL ? "def" : "shape");
    status = check_shape(world, def);
    if (status != PSV_OK) return status;
    psvi_world_shape *made = &world->shapes[world->shape_count];
    *made = (psvi_world_shape){.def = *def};
    psv_shape_type type = def->type;
    made->def.children = NULL;
    made->def.heights = made->def.vertices = NULL;
    made->def.indices = NULL;
    if (type == PSV_SHAPE_HULL) made->def.triangle_count = 0;
    if (type == PSV_SHAPE_COMPOUND)
        made->def.children = copy_array(def->children, def->child_count * sizeof *def->children, &status, world);
    if (type == PSV_SHAPE_HEIGHT_FIELD)
        made->def.heights = copy_array(def->heights, sizeof(float) * def->columns * def->rows, &status, world);
    if (type == PSV_SHAPE_MESH || type == PSV_SHAPE_HULL)
        made->def.vertices = copy_array(def->vertices, 12ull * def->vertex_count, &status, world);
    if (type == PSV_SHAPE_MESH)
        made->def.indices = copy_array(def->indices, 12ull * def->triangle_count, &status, world);
    if (status == PSV_OK) status = make_data(world, def, made);
    if (status == PSV_OK && !(made->data.radius > 0)) // a radius of 0 marks a slot without a body
        status = psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def has no extent that single precision can hold");
    if (status == PSV_OK && psvi_wants_anchors((uint32_t)def->type)) status = psvi_need_anchors(world);
    if (status == PSV_OK && (def->rolling_friction > 0 || def->spinning_friction > 0)) status = psvi_need_rolls(world);
    if (status == PSV_OK) {
        ++world->shape_count;
        status = psvi_upload_shapes(world);
        if (status != PSV_OK) --world->shape_count;
    }
    if (status != PSV_OK) {
        free_shape(made);
        return status;
    }
    world->bounces |= def->restitution > 0;
    *shape = world->shape_count - 1;
    return PSV_OK;
}

// One array of the backend, replaced by the host's; grows in steps so that many shapes do not copy again and again.
static psv_status upload(psv_world *world, const void *field, uint64_t *bytes, const void *source, uint64_t needed) {
    void *there;
    memcpy(&there, field, sizeof there);
    if (needed > *bytes) {
        uint64_t room = needed + needed / 2;
        void *grown = psvi_alloc(world->context, room);
        if (grown == NULL)
            return psvi_fail(world->context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of shapes", room);
        psvi_free(world->context, there, *bytes);
        memcpy((void *)(uintptr_t)field, &grown, sizeof grown);
        there = grown;
        *bytes = room;
    }
    return psvi_write_array(world, there, source, 0, needed > 0 ? 1 : 0, needed);
}

psv_status psvi_upload_shapes(psv_world *world) {
    psvi_sim *s = &world->sim;
    uint64_t count = world->shape_count;
    psvi_shape *data = malloc((count + 1) * sizeof *data);
    if (data == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " shapes", count);
    for (uint64_t i = 0; i < count; ++i)
        data[i] = world->shapes[i].data;
    psv_status status = upload(world, &s->geometry.shapes, &world->shapes_bytes, data, count * sizeof *data);
    free(data);
    if (status == PSV_OK)
        status = upload(world, &s->geometry.children, &world->children_bytes, world->children,
                        world->child_count * sizeof *world->children);
    if (status == PSV_OK)
        status = upload(world, &s->geometry.heights, &world->heights_bytes, world->heights,
                        world->height_count * sizeof(float));
    if (status == PSV_OK)
        status = upload(world, &s->geometry.nodes, &world->nodes_bytes, world->nodes,
                        world->node_count * sizeof *world->nodes);
    if (status == PSV_OK)
        status = upload(world, &s->geometry.triangles, &world->triangles_bytes, world->triangles,
                        world->triangle_count * sizeof *world->triangles);
    if (status == PSV_OK)
        status = upload(world, &s->geometry.hulls, &world->hulls_bytes, world->hulls,
                        world->hull_count * sizeof *world->hulls);
    return status;
}

void psvi_free_shapes(psv_world *world) {
    psvi_sim *s = &world->sim;
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.shapes, world->shapes_bytes);
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.children, world->children_bytes);
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.heights, world->heights_bytes);
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.nodes, world->nodes_bytes);
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.triangles, world->triangles_bytes);
    psvi_free(world->context, (void *)(uintptr_t)s->geometry.hulls, world->hulls_bytes);
    for (uint32_t i = 0; world->shapes != NULL && i < world->shape_count; ++i)
        free_shape(&world->shapes[i]);
    free(world->shapes);
    free(world->children);
    free(world->heights);
    free(world->nodes);
    free(world->triangles);
    free(world->hulls);
}

uint32_t psv_world_shape_count(const psv_world *world) {
    return psvi_check_world(world) == PSV_OK ? world->shape_count : 0;
}

psv_status psv_world_shape(const psv_world *world, uint32_t shape, psv_shape_def *def) {
    psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    if (def == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "def is NULL");
    if (shape >= world->shape_count)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "shape is %u; the world has %u shapes", shape,
                         world->shape_count);
    *def = world->shapes[shape].def;
    return PSV_OK;
}
