// Bodies: creation, destruction, state, impulses.
#include "../../core/portable/aligned_memory.h"
#include "../queries/body_batch.h"
#include "../solver/body_motion.h"
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

psv_status psvi_find_body(psv_world *world, psv_body_id id, uint32_t *slot) {
    if (id.index1 == 0 || id.index1 > world->sim.slots || !world->alive[id.index1 - 1] ||
        world->generation[id.index1 - 1] != id.generation)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "id {%u, %u} is not a body of this world (any more)",
                         id.index1, id.generation);
    *slot = id.index1 - 1;
    return PSV_OK;
}

bool psv_body_is_valid(psv_world *world, psv_body_id id) {
    return psvi_check_world(world) == PSV_OK && psvi_settle_unless_captured(world) == PSV_OK && id.index1 > 0 &&
           id.index1 <= world->sim.slots && world->alive[id.index1 - 1] &&
           world->generation[id.index1 - 1] == id.generation;
}

static bool all_finite(const float *values, int count) {
    for (int i = 0; i < count; ++i)
        if (!isfinite(values[i])) return false;
    return true;
}

static psv_status check_body(psv_world *world, const psv_body_def *def, uint64_t index) {
    psv_context *context = world->context;
    psv_body_def fresh = psv_default_body_def();
    if (def->cookie != fresh.cookie)
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "defs[%" PRIu64 "] has no cookie: start from psv_default_body_def()", index);
    if (def->shape >= world->shape_count)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "defs[%" PRIu64 "].shape is %u; the world has %u shapes", index,
                         def->shape, world->shape_count);
    if (def->sub_world >= world->def.sub_world_count)
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "defs[%" PRIu64 "].sub_world is %u; the world has %u", index,
                         def->sub_world, world->def.sub_world_count);
    const float *q = def->pose.rotation;
    if (!all_finite(def->pose.position, 3) || !all_finite(q, 4) || !all_finite(def->velocity, 3) ||
        !all_finite(def->angular_velocity, 3))
        return psvi_fail(context, PSV_ERROR_ARGUMENT, "defs[%" PRIu64 "] has a pose or velocity that is not finite",
                         index);
    if (!psvi_is_rotation(q))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "defs[%" PRIu64 "].pose.rotation is zero or huge; a unit quaternion is needed", index);
    if (def->is_kinematic && (def->is_static || !psvi_may_be_driven(world->shapes[def->shape].data.type)))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "defs[%" PRIu64 "].is_kinematic is set for a body that is static too, a plane or a field",
                         index);
    if (!psvi_forces_are_good(def->linear_damping, def->angular_damping, def->gravity_scale))
        return psvi_fail(context, PSV_ERROR_ARGUMENT,
                         "defs[%" PRIu64 "] has linear_damping %g, angular_damping %g, gravity_scale %g; dampings must "
                         "be finite and >= 0, the scale -100 to 100",
                         index, (double)def->linear_damping, (double)def->angular_damping, (double)def->gravity_scale);
    return PSV_OK;
}

static bool has_forces(const psv_body_def *def) {
    return def->linear_damping != 0 || def->angular_damping != 0 || def->gravity_scale != 1;
}

// Box of ground, which never changes. A plane fills a half space; it is tight where the plane is level with an axis.
static psv_aabb ground_box(const psvi_world_shape *shape, v3 position, quat rotation) {
    const float far = PSVI_STATIC_RADIUS;
    psv_aabb box = {{-far, -far, -far}, {far, far, far}};
    if (shape->data.type == PSV_SHAPE_PLANE) {
        v3 up = quat_rotate(rotation, v3_make(0, 1, 0));
        float n[3] = {up.x, up.y, up.z}, p[3] = {position.x, position.y, position.z};
        for (int i = 0; i < 3; ++i) {
            if (fabsf(n[i]) <= 0.999999f) continue;
            (n[i] > 0 ? box.max : box.min)[i] = p[i];
            (n[i] > 0 ? box.min : box.max)[i] = n[i] > 0 ? fminf(-far, p[i]) : fmaxf(far, p[i]);
        }
        return box;
    }
    float r = shape->data.radius;
    for (int i = 0; i < 3; ++i) {
        float p = i == 0 ? position.x : i == 1 ? position.y : position.z;
        box.min[i] = p - r;
        box.max[i] = p + r;
    }
    return box;
}

typedef struct staged {
    psvi_f4 *position, *rotation, *velocity, *angular, *forces;
    uint32_t *shape, *sub_world;
    uint64_t *user;
    uint8_t *flags;
    psv_box_filter *filter;
    psv_aabb *box;
} staged;

static void *take(char **memory, uint64_t bytes) {
    void *here = *memory;
    *memory += psvi_align(bytes);
    return here;
}

static void stage_body(psv_world *world, const psv_body_def *def, const staged *t, uint64_t i) {
    const psvi_world_shape *shape = &world->shapes[def->shape];
    bool ground = psvi_is_ground(shape->data.type);
    bool driven = def->is_kinematic, is_static = def->is_static || (ground && !driven);
    v3 position = v3_of(def->pose.position);
    quat rotation = quat_unit(quat_of(def->pose.rotation));
    v3 zero = v3_make(0, 0, 0);
    t->position[i] = f4_make(position, shape->data.radius);
    t->rotation[i].x = rotation.x;
    t->rotation[i].y = rotation.y;
    t->rotation[i].z = rotation.z;
    t->rotation[i].w = rotation.w;
    t->velocity[i] = f4_make(is_static ? zero : v3_of(def->velocity), is_static || driven ? 0 : shape->data.inv_mass);
    t->angular[i] = f4_make(is_static ? zero : v3_of(def->angular_velocity), 0);
    t->forces[i] = f4_make(v3_make(def->linear_damping, def->angular_damping, def->gravity_scale), 0);
    t->user[i] = def->user_data;
    t->shape[i] = def->shape;
    t->sub_world[i] = def->sub_world;
    t->flags[i] = (uint8_t)((is_static || driven ? PSV_BOX_STATIC : 0u) | (ground ? PSV_BOX_DISABLED : 0u) |
                            (driven ? PSVI_FLAG_KINEMATIC : 0u));
    t->filter[i] = def->filter;
    t->box[i] = ground_box(shape, position, rotation);
}

void psvi_touch_bodies(psv_world *world, uint64_t first, uint64_t count) {
    if (world->ops->touch != NULL) world->ops->touch(world, first, count);
}

static psv_status write_bodies(psv_world *world, const staged *t, uint64_t from, uint64_t slot, uint64_t count) {
    psvi_sim *s = &world->sim;
    psvi_touch_bodies(world, slot, count);
    psv_status status = psvi_write_array(world, s->position, t->position + from, slot, count, sizeof(psvi_f4));
    if (status == PSV_OK)
        status = psvi_write_array(world, s->rotation, t->rotation + from, slot, count, sizeof(psvi_f4));
    if (status == PSV_OK)
        status = psvi_write_array(world, s->velocity, t->velocity + from, slot, count, sizeof(psvi_f4));
    if (status == PSV_OK)
        status = psvi_write_array(world, s->angular_velocity, t->angular + from, slot, count, sizeof(psvi_f4));
    if (status == PSV_OK && s->user != NULL)
        status = psvi_write_array(world, s->user, t->user + from, slot, count, sizeof(uint64_t));
    if (status == PSV_OK && s->forces != NULL)
        status = psvi_write_array(world, s->forces, t->forces + from, slot, count, sizeof(psvi_f4));
    if (status == PSV_OK && s->still != NULL) // the slot's last body may have been slow for long
        status = world->context->ops->fill(world->context, s->still + slot, 0, count * sizeof *s->still);
    if (status == PSV_OK) status = psvi_write_array(world, s->shape, t->shape + from, slot, count, 4);
    if (status == PSV_OK) status = psvi_write_array(world, s->sub_world, t->sub_world + from, slot, count, 4);
    if (status == PSV_OK) status = psvi_write_array(world, s->flags, t->flags + from, slot, count, 1);
    if (status == PSV_OK)
        status = psvi_write_array(world, s->filter, t->filter + from, slot, count, sizeof(psv_box_filter));
    if (status == PSV_OK) status = psvi_write_array(world, s->box, t->box + from, slot, count, sizeof(psv_aabb));
    return status;
}

static uint64_t count_ground(psv_world *world, const psv_body_def *defs, uint64_t count) {
    uint64_t ground = 0;
    for (uint64_t i = 0; i < count; ++i) {
        ground += psvi_is_ground(world->shapes[defs[i].shape].data.type);
        psvi_note_ground(world, defs[i].shape, defs[i].sub_world);
    }
    return ground;
}

static bool drives_ground(const psv_world *world, const psv_body_def *defs, uint64_t count) {
    bool drives = false;
    for (uint64_t i = 0; i < count; ++i)
        drives = drives || (defs[i].is_kinematic && psvi_is_ground(world->shapes[defs[i].shape].data.type));
    return drives;
}

static void claim_slot(psv_world *world, uint32_t slot, uint32_t shape, psv_body_id *id) {
    world->alive[slot] = 1;
    world->shape_of[slot] = shape;
    world->generation[slot] += 1;
    ++world->living;
    if (id != NULL) *id = (psv_body_id){slot + 1, world->generation[slot]};
}

// Up to `count` bodies into free slots, one by one; *done of them. What is known of the contacts of those that had the
// slots before is forgotten.
static psv_status fill_free_slots(psv_world *world, const psv_body_def *defs, uint64_t count, const staged *t,
                                  psv_body_id *ids, uint64_t *done) {
    if (world->free_count == 0) return PSV_OK;
    psvi_sim *s = &world->sim;
    const uint64_t taken = 1;
    psv_status status = world->context->ops->fill(world->context, s->claim, 0, s->slots * sizeof *s->claim);
    while (status == PSV_OK && *done < count && world->free_count > 0) {
        uint32_t slot = world->free_slots[world->free_count - 1];
        status = psvi_write_array(world, s->claim, &taken, slot, 1, sizeof taken);
        if (status == PSV_OK) status = write_bodies(world, t, *done, slot, 1);
        if (status != PSV_OK) break;
        --world->free_count;
        claim_slot(world, slot, defs[*done].shape, ids == NULL ? NULL : &ids[*done]);
        ++*done;
    }
    psv_status forgotten = world->ops->forget(world);
    return status == PSV_OK ? forgotten : status;
}

psv_status psv_create_bodies(psv_world *world, const psv_body_def *defs, uint64_t count, psv_body_id *ids) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    if (status != PSV_OK || count == 0) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (defs == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "defs is NULL");
    uint64_t room = world->def.max_bodies - world->living;
    if (count > room)
        return psvi_fail(world->context, PSV_ERROR_CAPACITY,
                         "%" PRIu64 " bodies do not fit: the world has room for %" PRIu64
                         " more of def.max_bodies %" PRIu64,
                         count, room, world->def.max_bodies);
    float most_gravity = world->most_gravity;
    for (uint64_t i = 0; i < count; ++i) {
        status = check_body(world, &defs[i], i);
        if (status == PSV_OK && has_forces(&defs[i])) status = psvi_need_forces(world);
        if (status == PSV_OK && defs[i].user_data != 0) status = psvi_need_user(world);
        if (status != PSV_OK) return status;
        most_gravity = fmaxf(most_gravity, fabsf(defs[i].gravity_scale));
    }
    uint64_t bytes = 5 * psvi_align(count * sizeof(psvi_f4)) + psvi_align(count * sizeof(uint64_t)) +
                     2 * psvi_align(count * 4) + psvi_align(count) + psvi_align(count * sizeof(psv_box_filter)) +
                     psvi_align(count * sizeof(psv_aabb));
    char *memory = psvi_alloc_aligned(256, bytes);
    if (memory == NULL)
        return psvi_fail(world->context, PSV_ERROR_MEMORY, "no host memory for %" PRIu64 " bytes of new bodies", bytes);
    const uint64_t ground = count_ground(world, defs, count);
    psvi_terrain_room terrain = {0};
    if (ground > 0) status = psvi_reserve_terrain(world, world->sim.slots + count, (int64_t)ground, &terrain);
    if (status != PSV_OK) {
        psvi_free_aligned(memory);
        return status;
    }
    char *rest = memory;
    staged t = {.position = take(&rest, count * sizeof(psvi_f4)),
                .rotation = take(&rest, count * sizeof(psvi_f4)),
                .velocity = take(&rest, count * sizeof(psvi_f4)),
                .angular = take(&rest, count * sizeof(psvi_f4)),
                .forces = take(&rest, count * sizeof(psvi_f4)),
                .user = take(&rest, count * sizeof(uint64_t)),
                .shape = take(&rest, count * 4),
                .sub_world = take(&rest, count * 4),
                .flags = take(&rest, count),
                .filter = take(&rest, count * sizeof(psv_box_filter)),
                .box = take(&rest, count * sizeof(psv_aabb))};
    for (uint64_t i = 0; i < count; ++i)
        stage_body(world, &defs[i], &t, i);
    ++world->body_serial;
    world->driven_ground = world->driven_ground || drives_ground(world, defs, count);
    // Free slots first; the rest in a row at the end.
    uint64_t done = 0;
    status = fill_free_slots(world, defs, count, &t, ids, &done);
    if (status == PSV_OK && done < count) status = write_bodies(world, &t, done, world->sim.slots, count - done);
    if (status == PSV_OK)
        for (; done < count; ++done)
            claim_slot(world, world->sim.slots++, defs[done].shape, ids == NULL ? NULL : &ids[done]);
    psvi_free_aligned(memory);
    if (status == PSV_OK) world->most_gravity = most_gravity;
    if (status == PSV_OK && ground > 0) return psvi_list_terrain(world, &terrain);
    psvi_release_terrain(world, &terrain);
    return status;
}

// A body is going to be elsewhere or gone: its island wakes, or everything where others may have slept on it.
static psv_status wake_before_change(psv_world *world, uint32_t slot) {
    psvi_f4 v = {0};
    ++world->body_serial;
    psvi_touch_bodies(world, slot, 1);
    if (world->sim.island == NULL) return PSV_OK;
    psv_status status = psvi_read_array(world, &v, world->sim.velocity, slot, 1, sizeof v);
    if (status != PSV_OK) return status;
    return v.w > 0 ? psvi_wake_body(world, slot) : psvi_wake_all(world);
}

// The slot of a body of a world whose steps have ended.
psv_status psvi_find_settled(psv_world *world, psv_body_id id, uint32_t *slot) {
    psv_status status = psvi_check_world(world);
    if (status == PSV_OK) status = psvi_settle(world);
    return status == PSV_OK ? psvi_find_body(world, id, slot) : status;
}

psv_status psv_destroy_body(psv_world *world, psv_body_id id) {
    uint32_t slot = 0;
    psv_status status = psvi_find_settled(world, id, &slot);
    if (status != PSV_OK) return status;
    psvi_f4 none = {0, 0, 0, 0};
    uint8_t flags = PSV_BOX_DISABLED;
    const bool ground = psvi_is_ground(world->shapes[world->shape_of[slot]].data.type);
    psvi_terrain_room terrain = {0};
    if (ground) status = psvi_reserve_terrain(world, world->sim.slots, -1, &terrain);
    if (status == PSV_OK) status = wake_before_change(world, slot);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.position, &none, slot, 1, sizeof none);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.velocity, &none, slot, 1, sizeof none);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.angular_velocity, &none, slot, 1, sizeof none);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.flags, &flags, slot, 1, 1);
    if (status != PSV_OK) {
        psvi_release_terrain(world, &terrain);
        return status;
    }
    world->alive[slot] = 0;
    --world->living;
    world->free_slots[world->free_count++] = slot;
    return ground ? psvi_list_terrain(world, &terrain) : PSV_OK;
}

psv_status psv_get_body_state(psv_world *world, psv_body_id id, psv_body_state *state) {
    uint32_t slot = 0;
    psv_status status = psvi_find_settled(world, id, &slot);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (state == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "state is NULL");
    psvi_f4 p = {0}, q = {0}, v = {0}, w = {0};
    status = psvi_read_array(world, &p, world->sim.position, slot, 1, sizeof p);
    if (status == PSV_OK) status = psvi_read_array(world, &q, world->sim.rotation, slot, 1, sizeof q);
    if (status == PSV_OK) status = psvi_read_array(world, &v, world->sim.velocity, slot, 1, sizeof v);
    if (status == PSV_OK) status = psvi_read_array(world, &w, world->sim.angular_velocity, slot, 1, sizeof w);
    *state = (psv_body_state){.pose = {{p.x, p.y, p.z}, {q.x, q.y, q.z, q.w}},
                              .velocity = {v.x, v.y, v.z},
                              .angular_velocity = {w.x, w.y, w.z}};
    return status;
}

static psv_status read_kinematic(psv_world *world, uint32_t slot, bool *driven) {
    uint8_t flags = 0;
    psv_status status = psvi_read_array(world, &flags, world->sim.flags + slot, 0, 1, 1);
    *driven = (flags & PSVI_FLAG_KINEMATIC) != 0;
    return status;
}

psv_status psv_set_body_state(psv_world *world, psv_body_id id, const psv_body_state *state) {
    uint32_t slot = 0;
    psv_status status = psvi_find_settled(world, id, &slot);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (state == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "state is NULL");
    if (!all_finite(state->pose.position, 3) || !all_finite(state->pose.rotation, 4) ||
        !all_finite(state->velocity, 3) || !all_finite(state->angular_velocity, 3))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "state has a value that is not finite");
    if (!psvi_is_rotation(state->pose.rotation))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "state.pose.rotation is zero or huge; a unit quaternion is needed");
    const psvi_world_shape *shape = &world->shapes[world->shape_of[slot]];
    psvi_f4 v = {0};
    bool driven = false;
    status = psvi_read_array(world, &v, world->sim.velocity, slot, 1, sizeof v);
    if (status == PSV_OK) status = read_kinematic(world, slot, &driven);
    if (status != PSV_OK) return status;
    status = wake_before_change(world, slot);
    if (status != PSV_OK) return status;
    const bool moves = v.w > 0 || driven;
    quat q = quat_unit(quat_of(state->pose.rotation));
    v3 zero = v3_make(0, 0, 0), position = v3_of(state->pose.position);
    psvi_f4 p4 = f4_make(position, shape->data.radius), q4 = {q.x, q.y, q.z, q.w};
    psvi_f4 v4 = f4_make(moves ? v3_of(state->velocity) : zero, v.w);
    psvi_f4 w4 = f4_make(moves ? v3_of(state->angular_velocity) : zero, 0);
    status = psvi_write_array(world, world->sim.position, &p4, slot, 1, sizeof p4);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.rotation, &q4, slot, 1, sizeof q4);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.velocity, &v4, slot, 1, sizeof v4);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.angular_velocity, &w4, slot, 1, sizeof w4);
    if (status == PSV_OK && psvi_is_ground(shape->data.type)) {
        psv_aabb box = ground_box(shape, position, q);
        status = psvi_write_array(world, world->sim.box, &box, slot, 1, sizeof box);
        ++world->ground_serial;
    }
    return status;
}

psv_status psv_apply_impulse(psv_world *world, psv_body_id id, const float impulse[3], const float point[3]) {
    psv_body_state state;
    psv_status status = psv_get_body_state(world, id, &state);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    if (impulse == NULL || point == NULL)
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "%s is NULL", impulse == NULL ? "impulse" : "point");
    if (!all_finite(impulse, 3) || !all_finite(point, 3))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "impulse or point is not finite");
    psvi_f4 v4 = {0};
    status = psvi_read_array(world, &v4, world->sim.velocity, id.index1 - 1, 1, sizeof v4);
    if (status != PSV_OK || !(v4.w > 0)) return status; // static bodies do not move
    const psvi_shape *shape = &world->shapes[world->shape_of[id.index1 - 1]].data;
    quat rotation = quat_of(state.pose.rotation);
    v3 v = v3_of(state.velocity), w = v3_of(state.angular_velocity);
    psvi_push_velocities(shape, v3_of(state.pose.position), rotation, v4.w, v3_of(impulse), v3_of(point), &v, &w);
    if (!psvi_finite(v) || !psvi_finite(w))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "the velocity after the impulse is not finite");
    status = psvi_wake_body(world, id.index1 - 1);
    if (status != PSV_OK) return status;
    psvi_f4 v_after = f4_make(v, v4.w), w_after = f4_make(w, 0);
    status = psvi_write_array(world, world->sim.velocity, &v_after, id.index1 - 1, 1, sizeof v_after);
    if (status != PSV_OK) return status;
    return psvi_write_array(world, world->sim.angular_velocity, &w_after, id.index1 - 1, 1, sizeof w_after);
}

// The spin that turns `from` to `to` within a second, by the shorter way.
static v3 spin_between(quat from, quat to) {
    quat d = quat_mul(to, quat_make(-from.x, -from.y, -from.z, from.w));
    v3 axis = v3_make(d.x, d.y, d.z);
    float length = v3_length(axis);
    if (d.w < 0) {
        axis = v3_neg(axis);
        d.w = -d.w;
    }
    return v3_scale(axis, length > 1e-6f ? 2 * atan2f(length, d.w) / length : 2.0f);
}

// A static body that is told to go somewhere is kinematic from then on.
static psv_status need_kinematic(psv_world *world, uint32_t slot, psv_body_id id) {
    const uint32_t type = world->shapes[world->shape_of[slot]].data.type;
    const uint8_t flags =
        (uint8_t)(PSV_BOX_STATIC | PSVI_FLAG_KINEMATIC | (psvi_is_ground(type) ? PSV_BOX_DISABLED : 0u));
    bool driven = false;
    psvi_f4 v = {0};
    psv_status status = read_kinematic(world, slot, &driven);
    if (status != PSV_OK || driven) return status;
    status = psvi_read_array(world, &v, world->sim.velocity, slot, 1, sizeof v);
    if (status != PSV_OK) return status;
    if (v.w > 0 || !psvi_may_be_driven(type))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT,
                         "id {%u, %u} is of a body that others push, a plane or a field; static and kinematic ones "
                         "have targets",
                         id.index1, id.generation);
    status = wake_before_change(world, slot);
    world->driven_ground = world->driven_ground || psvi_is_ground(type);
    return status == PSV_OK ? psvi_write_array(world, world->sim.flags, &flags, slot, 1, 1) : status;
}

psv_status psv_set_body_target(psv_world *world, psv_body_id id, const psv_pose *pose, float seconds) {
    psv_body_state state;
    psv_status status = psv_get_body_state(world, id, &state);
    if (status != PSV_OK) return status;
    PSVI_STANDARD_FLOATS(world->context);
    const uint32_t slot = id.index1 - 1;
    if (pose == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "pose is NULL");
    if (!all_finite(pose->position, 3) || !psvi_is_rotation(pose->rotation))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "pose has a position that is not finite, or no rotation");
    if (!(seconds > 0) || !isfinite(seconds))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "seconds is %g; it must be finite and > 0",
                         (double)seconds);
    const v3 com = v3_of(world->shapes[world->shape_of[slot]].data.com);
    const quat before = quat_of(state.pose.rotation), after = quat_unit(quat_of(pose->rotation));
    const v3 from = v3_add(v3_of(state.pose.position), quat_rotate(before, com));
    const v3 to = v3_add(v3_of(pose->position), quat_rotate(after, com));
    psvi_f4 v = f4_make(v3_scale(v3_sub(to, from), 1 / seconds), 0);
    psvi_f4 w = f4_make(v3_scale(spin_between(before, after), 1 / seconds), 0);
    if (!psvi_finite(v3_of4(v)) || !psvi_finite(v3_of4(w)))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "the velocity to get there in %g s is not finite",
                         (double)seconds);
    status = need_kinematic(world, slot, id);
    if (status == PSV_OK) status = psvi_write_array(world, world->sim.velocity, &v, slot, 1, sizeof v);
    return status == PSV_OK ? psvi_write_array(world, world->sim.angular_velocity, &w, slot, 1, sizeof w) : status;
}
