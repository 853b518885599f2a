// Ground of a renderer: planes as they are; height fields and meshes as trees of their triangles, one for each shape.
#include "renderer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- trees of shapes -------------------------------------------------------------------------------------------------

// Vertices and triangles of a shape on the host; a height field's cells are split as the narrow phase splits them.
typedef struct shape_faces {
    float *vertices;
    uint32_t *indices;
    uint64_t vertex_count, triangle_count;
} shape_faces;

static bool copy_faces(const psv_shape_def *def, shape_faces *faces) {
    const bool field = def->type == PSV_SHAPE_HEIGHT_FIELD;
    faces->vertex_count = field ? (uint64_t)def->columns * def->rows : def->vertex_count;
    faces->triangle_count = field ? 2 * (uint64_t)(def->columns - 1) * (def->rows - 1) : def->triangle_count;
    faces->vertices = malloc(faces->vertex_count * 12);
    faces->indices = malloc(faces->triangle_count * 12);
    if (faces->vertices == NULL || faces->indices == NULL) return false;
    if (field) return true;
    memcpy(faces->vertices, def->vertices, faces->vertex_count * 12);
    memcpy(faces->indices, def->indices, faces->triangle_count * 12);
    return true;
}

static void fill_field(const psv_shape_def *def, shape_faces *faces) {
    const float cell_x = def->size[0] / (float)(def->columns - 1), cell_z = def->size[2] / (float)(def->rows - 1);
    uint32_t *index = faces->indices;
    for (uint32_t row = 0; row < def->rows; ++row)
        for (uint32_t column = 0; column < def->columns; ++column) {
            const uint32_t at = row * def->columns + column, down = at + def->columns;
            float *v = faces->vertices + 3 * (size_t)at;
            v[0] = (float)column * cell_x - 0.5f * def->size[0];
            v[1] = def->heights[at];
            v[2] = (float)row * cell_z - 0.5f * def->size[2];
            if (row + 1 == def->rows || column + 1 == def->columns) continue;
            const uint32_t two[6] = {at, at + 1, down + 1, at, down + 1, down};
            memcpy(index, two, sizeof two);
            index += 6;
        }
}

static psv_status build_faces(psv_context *context, const shape_faces *faces, psv_tree **tree) {
    psv_tree_def def = psv_default_tree_def();
    def.max_items = faces->triangle_count;
    def.triangles = true;
    def.quality = PSV_TREE_FINE; // made once
    psv_buffer vertices = {0}, indices = {0};
    psv_status status = psv_create_tree(context, &def, tree);
    if (status == PSV_OK) status = psv_alloc_buffer(context, faces->vertex_count * 12, &vertices);
    if (status == PSV_OK) status = psv_alloc_buffer(context, faces->triangle_count * 12, &indices);
    if (status == PSV_OK) status = psv_upload(context, vertices, faces->vertices, faces->vertex_count * 12);
    if (status == PSV_OK) status = psv_upload(context, indices, faces->indices, faces->triangle_count * 12);
    const psv_triangle_set set = psv_triangles_of(vertices, faces->vertex_count, indices, faces->triangle_count);
    if (status == PSV_OK) status = psv_build_triangle_tree(*tree, &set);
    if (status == PSV_OK) status = psv_synchronize(context); // the buffers go
    psv_free_buffer(context, &vertices);
    psv_free_buffer(context, &indices);
    if (status == PSV_OK) return PSV_OK;
    psv_destroy_tree(*tree);
    *tree = NULL;
    return status;
}

static psv_status make_shape_tree(psv_renderer *renderer, uint32_t shape) {
    const psv_shape_def *def = &renderer->def.world->shapes[shape].def;
    if (renderer->shape_trees[shape] != NULL || def->type == PSV_SHAPE_PLANE) return PSV_OK;
    shape_faces faces = {0};
    psv_status status = PSV_OK;
    if (!copy_faces(def, &faces))
        status = psvi_fail(renderer->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " triangles of ground",
                           faces.triangle_count);
    if (status == PSV_OK && def->type == PSV_SHAPE_HEIGHT_FIELD) fill_field(def, &faces);
    if (status == PSV_OK) status = build_faces(renderer->context, &faces, &renderer->shape_trees[shape]);
    free(faces.vertices);
    free(faces.indices);
    return status;
}

static psv_status grow_shape_trees(psv_renderer *renderer) {
    const uint32_t count = renderer->def.world->shape_count;
    if (count <= renderer->shape_tree_count) return PSV_OK;
    psv_tree **grown = realloc(renderer->shape_trees, count * sizeof *grown);
    if (grown == NULL) return psvi_fail(renderer->context, PSV_ERROR_MEMORY, "no host memory for the trees of ground");
    for (uint32_t i = renderer->shape_tree_count; i < count; ++i)
        grown[i] = NULL;
    renderer->shape_trees = grown;
    renderer->shape_tree_count = count;
    return PSV_OK;
}

// --- the list --------------------------------------------------------------------------------------------------------

// A plane is listed once, however many sub-worlds have it.
static bool is_known_plane(const psvi_render_ground *list, uint32_t count, const psvi_render_ground *plane) {
    for (uint32_t i = 0; i < count && plane->type == PSV_SHAPE_PLANE; ++i) {
        if (list[i].type != PSV_SHAPE_PLANE) continue;
        const v3 up = list[i].up;
        if (up.x == plane->up.x && up.y == plane->up.y && up.z == plane->up.z &&
            v3_dot(up, list[i].position) == v3_dot(up, plane->position))
            return true;
    }
    return false;
}

static psv_status fill_list(psv_renderer *renderer, const psvi_f4 *position, const psvi_f4 *rotation,
                            psvi_render_ground *list, uint32_t *count) {
    const psv_world *world = renderer->def.world;
    *count = 0;
    for (uint32_t i = 0; i < world->sim.slots; ++i) {
        const uint32_t shape = world->shape_of[i];
        if (!world->alive[i] || !psvi_is_ground(world->shapes[shape].data.type)) continue;
        psvi_render_ground *ground = &list[*count];
        *ground = (psvi_render_ground){
            .slot = i,
            .type = world->shapes[shape].data.type,
            .position = v3_of4(position[i]),
            .rotation = quat_of4(rotation[i]),
            .up = quat_rotate(quat_of4(rotation[i]), v3_make(0, 1, 0)),
        };
        if (is_known_plane(list, *count, ground)) continue;
        if (renderer->ops->load != NULL && ground->type != PSV_SHAPE_PLANE)
            return psvi_fail(renderer->context, PSV_ERROR_UNSUPPORTED,
                             "the %s backend renders ground of planes; cpu and cuda render height fields and meshes",
                             renderer->context->ops->name);
        psv_status status = make_shape_tree(renderer, shape);
        if (status == PSV_OK && ground->type != PSV_SHAPE_PLANE)
            status = psv_view_tree(renderer->shape_trees[shape], &ground->tree);
        if (status != PSV_OK) return status;
        ++*count;
    }
    return PSV_OK;
}

psv_status psvi_give_ground_room(psv_renderer *renderer, uint64_t bytes) {
    psv_context *context = renderer->context;
    if (bytes <= renderer->ground_bytes) return PSV_OK;
    psvi_render_ground *room = psvi_alloc(context, bytes);
    if (room == NULL)
        return psvi_fail(context, PSV_ERROR_MEMORY, "no memory for %" PRIu64 " bytes of ground bodies", bytes);
    psvi_free(context, renderer->ground, renderer->ground_bytes);
    renderer->ground = room;
    renderer->ground_bytes = bytes;
    return PSV_OK;
}

// The list in the backend's memory.
static psv_status put_list(psv_renderer *renderer, const psvi_render_ground *list, uint32_t count) {
    psv_context *context = renderer->context;
    const uint64_t bytes = count * sizeof *list;
    if (renderer->ops->load != NULL) { // it takes them along
        free(renderer->host_ground);
        renderer->host_ground = malloc(bytes + 1);
        if (renderer->host_ground == NULL)
            return psvi_fail(context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of ground bodies", bytes);
        memcpy(renderer->host_ground, list, bytes);
        renderer->scene.ground_count = count;
        return PSV_OK;
    }
    psv_status status = psvi_give_ground_room(renderer, bytes);
    if (status != PSV_OK) return status;
    status = psv_upload(context, psv_buffer_of(renderer->ground, bytes), list, bytes);
    if (status != PSV_OK) return status;
    renderer->scene.ground = renderer->ground;
    renderer->scene.ground_count = count;
    return PSV_OK;
}

static uint64_t count_ground(const psv_world *world) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < world->sim.slots; ++i)
        count += world->alive[i] && psvi_is_ground(world->shapes[world->shape_of[i]].data.type);
    return count;
}

psv_status psvi_update_render_ground(psv_renderer *renderer) {
    psv_world *world = renderer->def.world;
    if (renderer->ground_serial == world->ground_serial) return PSV_OK;
    const uint64_t slots = world->sim.slots, most = count_ground(world);
    uint32_t count = 0;
    psv_status status = grow_shape_trees(renderer);
    if (status != PSV_OK) return status;
    psvi_f4 *poses = malloc((2 * slots + 1) * sizeof *poses);
    psvi_render_ground *list = malloc((most + 1) * sizeof *list);
    if (poses == NULL || list == NULL)
        status = psvi_fail(renderer->context, PSV_ERROR_MEMORY, "no host memory for the ground of a picture");
    if (status == PSV_OK && most > 0)
        status = psvi_read_array(world, poses, world->sim.position, 0, slots, sizeof *poses);
    if (status == PSV_OK && most > 0)
        status = psvi_read_array(world, poses + slots, world->sim.rotation, 0, slots, sizeof *poses);
    if (status == PSV_OK) status = fill_list(renderer, poses, poses + slots, list, &count);
    if (status == PSV_OK) status = put_list(renderer, list, count);
    if (status == PSV_OK) renderer->ground_serial = world->ground_serial;
    free(poses);
    free(list);
    return status;
}

void psvi_free_render_ground(psv_renderer *renderer) {
    for (uint32_t i = 0; i < renderer->shape_tree_count; ++i)
        psv_destroy_tree(renderer->shape_trees[i]);
    free(renderer->shape_trees);
    free(renderer->host_ground);
    free(renderer->host_bodies);
    psvi_free(renderer->context, renderer->ground, renderer->ground_bytes);
}
