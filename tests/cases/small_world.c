#include "small_world.h"

#define SHAPES (PSV_SHAPE_MESH + 1)

static bool add_shapes(psv_world *world) {
    static const psv_shape_child parts[2] = {
        {PSV_SHAPE_BOX, {0.5f, 0.2f, 0.5f}, {{0, 0, 0}, {0, 0, 0, 1}}},
        {PSV_SHAPE_SPHERE, {0.3f, 0, 0}, {{0.4f, 0.3f, 0}, {0, 0, 0, 1}}},
    };
    static const float heights[4] = {0, 0.1f, 0, 0.1f}, corners[9] = {-3, 0, -3, 3, 0, -3, 0, 0, 3};
    static const uint32_t indices[3] = {0, 1, 2};
    for (int type = 0; type < SHAPES; ++type) {
        psv_shape_def shape = psv_default_shape_def();
        uint32_t number;
        shape.type = (psv_shape_type)type;
        shape.children = parts;
        shape.child_count = type == PSV_SHAPE_COMPOUND ? 2 : 0;
        shape.heights = heights;
        shape.columns = shape.rows = type == PSV_SHAPE_HEIGHT_FIELD ? 2 : 0;
        shape.vertices = corners;
        shape.vertex_count = type == PSV_SHAPE_MESH ? 3 : 0;
        shape.indices = indices;
        shape.triangle_count = type == PSV_SHAPE_MESH ? 1 : 0;
        if (type == PSV_SHAPE_SPHERE) shape.rolling_friction = 0.1f;
        if (type == PSV_SHAPE_HEIGHT_FIELD) shape.size[0] = shape.size[2] = 4;
        if (psv_create_shape(world, &shape, &number) != PSV_OK) return false;
    }
    return true;
}

static bool add_bodies(psv_world *world) {
    psv_body_def defs[SHAPES + 1 + SMALL_WORLD_FREE_SLOTS];
    psv_body_id ids[SHAPES + 1 + SMALL_WORLD_FREE_SLOTS];
    for (uint32_t i = 0; i < SHAPES + 1 + SMALL_WORLD_FREE_SLOTS; ++i) {
        const bool ground = i >= PSV_SHAPE_PLANE;
        defs[i] = psv_default_body_def();
        defs[i].shape = i < SHAPES ? i : PSV_SHAPE_BOX;
        defs[i].is_static = i == SHAPES;
        defs[i].is_kinematic = i == PSV_SHAPE_CAPSULE;
        if (defs[i].is_kinematic) defs[i].velocity[2] = 0.1f;
        if (i == PSV_SHAPE_SPHERE) defs[i].linear_damping = 0.1f;
        defs[i].user_data = i;
        defs[i].pose.position[0] = i == SHAPES ? 1 : ground ? 2 : (float)i;
        defs[i].pose.position[1] = i > SHAPES ? 30 : i == SHAPES ? -0.3f : ground ? 0 : 0.45f;
    }
    bool good = psv_create_bodies(world, defs, SHAPES + 1 + SMALL_WORLD_FREE_SLOTS, ids) == PSV_OK;
    for (uint32_t i = 0; i < SMALL_WORLD_FREE_SLOTS; ++i)
        good = good && psv_destroy_body(world, ids[SHAPES + SMALL_WORLD_FREE_SLOTS - i]) == PSV_OK;
    return good;
}

psv_world *make_small_world(psv_context *context) {
    psv_world_def def = psv_default_world_def();
    psv_world *world = NULL;
    def.max_bodies = 16;
    def.max_shapes = 12;
    def.max_pairs = 32;
    def.max_contacts = 32;
    def.sub_world_count = 2;
    def.contact_events = true;
    def.sleeping = true;
    bool good = psv_create_world(context, &def, &world) == PSV_OK && add_shapes(world) && add_bodies(world);
    for (int i = 0; i < 4; ++i)
        good = good && psv_world_step(world, 1.0f / 60) == PSV_OK;
    if (good) return world;
    psv_destroy_world(world);
    return NULL;
}
