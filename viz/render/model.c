#include "model.h"

#include "hull_planes.h"
#include "surfaces.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

#define READ_BODIES (1u << 20) // read to the host at most
#define SAMPLE_BODIES 65536    // measured at most, evenly spread
#define PLANE_REACH 40.0f      // scene radii

void *view_read_array(psv_world *world, psv_buffer array, uint64_t first_byte, uint64_t bytes) {
    void *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL) return NULL;
    psv_buffer part = psv_sub_buffer(array, first_byte, bytes);
    if (bytes > 0 && (part.bytes < bytes || psv_download(psv_world_context(world), copy, part, bytes) != PSV_OK)) {
        free(copy);
        return NULL;
    }
    return copy;
}

static float part_radius(psv_shape_type type, const float size[3]) {
    if (type == PSV_SHAPE_BOX) return sqrtf(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
    if (type == PSV_SHAPE_CAPSULE) return size[0] + size[1];
    return size[0];
}

static view_kind kind_of(psv_shape_type type) {
    switch (type) {
    case PSV_SHAPE_PARTICLE:
    case PSV_SHAPE_SPHERE: return VIEW_KIND_SPHERE;
    case PSV_SHAPE_BOX: return VIEW_KIND_BOX;
    case PSV_SHAPE_CAPSULE: return VIEW_KIND_CAPSULE;
    case PSV_SHAPE_HULL: return VIEW_KIND_HULL;
    default: return VIEW_KIND_NONE;
    }
}

static view_part make_part(psv_shape_type type, const float size[3], const psv_pose *pose) {
    view_part part = {.radius = part_radius(type, size), .rotation = {0.0f, 0.0f, 0.0f, 1.0f}, .kind = kind_of(type)};
    memcpy(part.size, size, sizeof part.size);
    if (type != PSV_SHAPE_BOX && type != PSV_SHAPE_CAPSULE) part.size[1] = part.size[2] = size[0];
    if (pose != NULL) {
        memcpy(part.position, pose->position, sizeof part.position);
        memcpy(part.rotation, pose->rotation, sizeof part.rotation);
    }
    return part;
}

// The parts of one shape appended at *count; parts may be NULL to count alone.
static void append_parts(const psv_shape_def *def, view_part *parts, uint32_t *count) {
    if (def->type == PSV_SHAPE_COMPOUND) {
        for (uint32_t i = 0; i < def->child_count; ++i) {
            const psv_shape_child *child = &def->children[i];
            if (parts != NULL) parts[*count] = make_part(child->type, child->size, &child->pose);
            *count += 1;
        }
    } else if (kind_of(def->type) != VIEW_KIND_NONE) {
        if (parts != NULL) parts[*count] = make_part(def->type, def->size, NULL);
        *count += 1;
    }
}

typedef struct shape_table {
    psv_shape_def *defs;
    uint32_t (*rows)[4]; // as `shapes` of bodies.glsl
    view_part *parts;
    float (*planes)[4]; // of hulls, one after the other (hull_planes.h)
    uint32_t shape_count, part_count, plane_count;
} shape_table;

static void free_table(shape_table *table) {
    free(table->defs);
    free(table->rows);
    free(table->parts);
    free(table->planes);
}

static void add_hull(shape_table *table, const psv_shape_def *def, view_part *part) {
    float(*rows)[4] = table->planes + table->plane_count;
    const uint32_t count = view_hull_planes(def, rows, part->position);
    part->size[0] = (float)table->plane_count;
    part->radius = glm_vec3_norm(rows[0]);
    table->plane_count += count;
}

static bool read_table(psv_world *world, shape_table *table) {
    uint32_t n = psv_world_shape_count(world);
    *table = (shape_table){
        .shape_count = n, .defs = calloc(n + 1, sizeof *table->defs), .rows = calloc(n + 1, sizeof *table->rows)};
    if (table->defs == NULL || table->rows == NULL) return false;
    for (uint32_t i = 0; i < n; ++i) {
        table->defs[i] = psv_default_shape_def();
        if (psv_world_shape(world, i, &table->defs[i]) != PSV_OK) return false;
        append_parts(&table->defs[i], NULL, &table->part_count);
        if (table->defs[i].type == PSV_SHAPE_HULL) table->plane_count += table->defs[i].triangle_count + 1;
    }
    table->parts = calloc(table->part_count + 1, sizeof *table->parts);
    table->planes = calloc(table->plane_count + 1, sizeof *table->planes);
    if (table->parts == NULL || table->planes == NULL) return false;
    uint32_t count = 0;
    table->plane_count = 0;
    for (uint32_t i = 0; i < n; ++i) {
        table->rows[i][0] = count;
        append_parts(&table->defs[i], table->parts, &count);
        if (table->defs[i].type == PSV_SHAPE_HULL) add_hull(table, &table->defs[i], &table->parts[count - 1]);
        table->rows[i][1] = count - table->rows[i][0];
        table->rows[i][2] = n; // the shader reads shape 0's to know the length
        table->rows[i][3] = table->defs[i].colour;
    }
    return true;
}

static void count_rooms(view_model *model, const shape_table *table, const uint32_t *shape_of, uint64_t slots) {
    uint64_t *bodies_of = calloc(table->shape_count + 1, sizeof *bodies_of);
    memset(model->list_rooms, 0, sizeof model->list_rooms);
    model->max_parts = 1;
    model->has_clear = false;
    if (bodies_of == NULL) return; // rooms grow from the counters that the GPU reports
    for (uint64_t i = 0; i < slots; ++i) {
        if (shape_of[i] < table->shape_count) bodies_of[shape_of[i]] += 1;
    }
    for (uint32_t shape = 0; shape < table->shape_count; ++shape) {
        uint32_t first = table->rows[shape][0], count = table->rows[shape][1];
        if (bodies_of[shape] > 0 && count > model->max_parts) model->max_parts = count;
        if (bodies_of[shape] > 0 && count > 0 && view_is_clear(table->defs[shape].colour)) model->has_clear = true;
        for (uint32_t i = first; i < first + count; ++i) {
            view_kind kind = (view_kind)table->parts[i].kind;
            model->list_rooms[0] += bodies_of[shape];
            if (kind == VIEW_KIND_SPHERE) model->list_rooms[1] += bodies_of[shape];
            if (kind == VIEW_KIND_BOX || kind == VIEW_KIND_CAPSULE) model->list_rooms[2] += bodies_of[shape];
            if (kind == VIEW_KIND_CAPSULE || kind == VIEW_KIND_HULL) model->list_rooms[3] += bodies_of[shape];
        }
    }
    free(bodies_of);
}

static void free_surfaces(view_model *model) {
    for (uint32_t i = 0; i < model->geometry_count; ++i) {
        view_free_geometry(&model->geometries[i]);
    }
    free(model->geometries);
    free(model->surfaces);
    model->geometries = NULL;
    model->surfaces = NULL;
    model->geometry_count = model->surface_count = 0;
}

static bool is_surface(psv_shape_type type) { return type >= PSV_SHAPE_PLANE && type <= PSV_SHAPE_MESH; }

// Finds the bodies that are surfaces and reads where they are.
static bool find_surfaces(view_model *model, psv_world *world, const shape_table *table, const uint32_t *shape_of,
                          uint64_t slots) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < slots; ++i) {
        if (shape_of[i] < table->shape_count && is_surface(table->defs[shape_of[i]].type)) ++count;
    }
    model->surfaces = calloc(count + 1, sizeof *model->surfaces);
    model->geometries = calloc((size_t)count + table->shape_count + 1, sizeof *model->geometries);
    if (model->surfaces == NULL || model->geometries == NULL) return false;
    for (uint64_t i = 0; i < slots; ++i) {
        if (shape_of[i] >= table->shape_count || !is_surface(table->defs[shape_of[i]].type)) continue;
        float *position = view_read_array(world, psv_world_positions(world), 16 * i, 16);
        float *rotation = view_read_array(world, psv_world_rotations(world), 16 * i, 16);
        view_surface *surface = &model->surfaces[model->surface_count];
        bool there = position != NULL && rotation != NULL && !(position[3] == 0.0f);
        if (there) {
            memcpy(surface->position, position, 16);
            memcpy(surface->rotation, rotation, 16);
            surface->shape = shape_of[i];
            surface->colour = table->defs[shape_of[i]].colour;
            surface->kind = (view_surface_kind)(table->defs[shape_of[i]].type - PSV_SHAPE_PLANE);
            model->surface_count += 1;
        }
        free(position);
        free(rotation);
    }
    return true;
}

static void build_planes(view_model *model) {
    uint32_t count = 0;
    float(*points)[3] = calloc(model->surface_count + 1, sizeof *points);
    float(*normals)[3] = calloc(model->surface_count + 1, sizeof *normals);
    for (uint32_t i = 0; points != NULL && normals != NULL && i < model->surface_count; ++i) {
        if (model->surfaces[i].kind != VIEW_SURFACE_PLANE) continue;
        memcpy(points[count], model->surfaces[i].position, 12);
        versor rotation = {0.0f, 0.0f, 0.0f, 1.0f}; // aligned, as cglm wants it
        memcpy(rotation, model->surfaces[i].rotation, sizeof rotation);
        glm_quat_rotatev(rotation, (vec3){0.0f, 1.0f, 0.0f}, normals[count]);
        ++count;
    }
    uint32_t which = 0;
    for (uint32_t i = 0; count > 0 && i < model->surface_count; ++i) {
        if (model->surfaces[i].kind != VIEW_SURFACE_PLANE) continue;
        view_geometry *geometry = &model->geometries[model->geometry_count];
        view_build_plane(geometry, (const float(*)[3])points, (const float(*)[3])normals, count, which++, model->centre,
                         PLANE_REACH * model->radius);
        model->surfaces[i].geometry = model->geometry_count++;
        memset(model->surfaces[i].position, 0, 16); // its corners are in world coordinates
        memcpy(model->surfaces[i].rotation, (const float[4]){0.0f, 0.0f, 0.0f, 1.0f}, 16);
    }
    free(points);
    free(normals);
}

static bool build_surfaces(view_model *model, const shape_table *table) {
    build_planes(model);
    for (uint32_t i = 0; i < model->surface_count; ++i) {
        view_surface *surface = &model->surfaces[i];
        if (surface->kind == VIEW_SURFACE_PLANE) continue;
        uint32_t g = 0;
        while (g < model->geometry_count && model->geometries[g].shape != surface->shape + 1) {
            ++g;
        }
        surface->geometry = g;
        if (g < model->geometry_count) continue;
        model->geometry_count += 1;
        model->geometries[g].shape = surface->shape + 1;
        const psv_shape_def *def = &table->defs[surface->shape];
        bool good = surface->kind == VIEW_SURFACE_MESH ? view_build_mesh(&model->geometries[g], def)
                                                       : view_build_height_field(&model->geometries[g], def);
        if (!good) return false;
    }
    return true;
}

bool view_update_model(view_model *model, psv_world *world, view_message *message) {
    uint64_t slots = psv_world_slot_count(world);
    if (model->shapes != 0 && model->slots == slots && model->bodies == psv_world_body_count(world) &&
        model->shape_count == psv_world_shape_count(world)) {
        return true;
    }
    if (model->radius == 0.0f && !view_measure_model(model, world, message)) return false;
    shape_table table;
    uint32_t *shape_of = NULL;
    bool good = read_table(world, &table);
    if (good) {
        shape_of = view_read_array(world, psv_world_shape_indices(world), 0, 4 * slots);
        good = shape_of != NULL;
    }
    if (good) {
        glDeleteBuffers(1, &model->shapes);
        glDeleteBuffers(1, &model->parts);
        glDeleteBuffers(1, &model->planes);
        free_surfaces(model);
        model->shapes = view_new_buffer(sizeof *table.rows * (table.shape_count + 1), table.rows);
        model->parts = view_new_buffer(sizeof *table.parts * (table.part_count + 1), table.parts);
        model->planes = view_new_buffer(sizeof *table.planes * (table.plane_count + 1), table.planes);
        count_rooms(model, &table, shape_of, slots);
        good = find_surfaces(model, world, &table, shape_of, slots) && build_surfaces(model, &table);
        model->slots = slots;
        model->bodies = psv_world_body_count(world);
        model->shape_count = table.shape_count;
    }
    if (!good) view_say(message, "the world's shapes could not be read: %s", psv_last_error(psv_world_context(world)));
    free_table(&table);
    free(shape_of);
    return good;
}

void view_destroy_model(view_model *model) {
    free_surfaces(model);
    glDeleteBuffers(1, &model->shapes);
    glDeleteBuffers(1, &model->parts);
    glDeleteBuffers(1, &model->planes);
    memset(model, 0, sizeof *model);
}

typedef struct body_place {
    float position, weight; // along one axis; the square of its radius, its area in a picture
} body_place;

static int compare_places(const void *a, const void *b) {
    float x = ((const body_place *)a)->position, y = ((const body_place *)b)->position;
    return (x > y) - (x < y);
}

// Middle and half extent of the central 98% of the bodies on one axis, weighted by area. A few strays must not move the
// camera, and a few large bodies are no strays.
static void spread_of(body_place *places, uint64_t count, float *middle, float *half) {
    double whole = 0.0, below = 0.0, above = 0.0;
    uint64_t low = 0, high = count - 1;
    qsort(places, count, sizeof *places, compare_places);
    for (uint64_t i = 0; i < count; ++i) {
        whole += places[i].weight;
    }
    while (low < high && (below += places[low].weight) <= 0.01 * whole) {
        ++low;
    }
    while (high > low && (above += places[high].weight) <= 0.01 * whole) {
        --high;
    }
    *middle = 0.5f * (places[low].position + places[high].position);
    *half = 0.5f * (places[high].position - places[low].position);
}

static bool measure(view_model *model, const float (*positions)[4], const float (*velocities)[4], uint64_t count) {
    body_place *places = malloc((count + 1) * sizeof *places);
    if (places == NULL) return false;
    float half[3] = {0.0f, 0.0f, 0.0f};
    double radius_sum = 0.0, mass_sum = 0.0, area = 0.0, volume = 0.0;
    float speed = 0.0f;
    uint64_t used = 0, stride = (count + SAMPLE_BODIES - 1) / SAMPLE_BODIES;
    for (int axis = 0; axis < 3; ++axis) {
        used = 0;
        for (uint64_t i = 0; i < count; i += stride) {
            bool moving = positions[i][3] > 0.0f && velocities[i][3] > 0.0f && isfinite(positions[i][axis]);
            if (!moving) continue;
            float radius = positions[i][3];
            places[used++] = (body_place){positions[i][axis], radius * radius};
            if (axis != 0) continue;
            radius_sum += radius;
            mass_sum += 1.0 / (double)velocities[i][3];
            area += (double)radius * radius;
            volume += (double)radius * radius * radius;
            speed = fmaxf(speed, glm_vec3_norm((float *)velocities[i]));
        }
        if (used > 0) spread_of(places, used, &model->centre[axis], &half[axis]);
    }
    free(places);
    model->mean_radius = used > 0 ? (float)(radius_sum / (double)used) : 0.5f;
    model->mean_mass = used > 0 ? (float)(mass_sum / (double)used) : 1.0f;
    // Of the bodies that fill the picture; half of it, for the sphere around all centres has room at its sides.
    float seen_radius = area > 0.0 ? fmaxf((float)(0.5 * volume / area), model->mean_radius) : model->mean_radius;
    model->radius = fmaxf(glm_vec3_norm(half) + seen_radius, 2.0f * seen_radius);
    model->largest_speed = speed;
    return true;
}

bool view_measure_model(view_model *model, psv_world *world, view_message *message) {
    uint64_t slots = psv_world_slot_count(world);
    uint64_t count = slots < READ_BODIES ? slots : READ_BODIES;
    void *positions = view_read_array(world, psv_world_positions(world), 0, 16 * count);
    void *velocities = view_read_array(world, psv_world_velocities(world), 0, 16 * count);
    bool good = positions != NULL && velocities != NULL && measure(model, positions, velocities, count);
    if (!good) view_say(message, "bodies could not be read: %s", psv_last_error(psv_world_context(world)));
    free(positions);
    free(velocities);
    return good;
}
