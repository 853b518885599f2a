// Which snapshots can be a world: a table of rules for each part of a file. A restored world has to be one that calls
// of sim.h could have made, for kernels trust what a world holds: an index out of range is read, a slot that is free
// twice becomes two bodies. A new field of a snapshot gets its rule here, or a word below why any value of it will do:
//   generation      a slot's number of uses; ids of other generations are refused
//   filter, user    any bits
//   broad_phase, sort_method   names that are not known give way to the default
//   numbers of contacts (impulses, kept points and frames)   nothing is looked up by them; what is not finite takes its
//   bodies out of the world, as in the world that was saved
#include "snapshot_parts.h"

#include "../contacts/contact_anchor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- numbers of the world; what psv_create_world checks is left to it
// --------------------------------------------------

typedef struct world_rule {
    bool (*holds)(const psvi_world_part *world);
    const char *rule;
} world_rule;

static bool parts_are_known(const psvi_world_part *w) {
    const uint32_t sleep = w->sleeping != 0 ? PSVI_SNAPSHOT_SLEEP : 0u;
    return (w->parts & ~(PSVI_SNAPSHOT_FORCES | PSVI_SNAPSHOT_USER)) == sleep;
}
static bool events_are_marked(const psvi_world_part *w) { return w->contact_events <= 1 && w->sleeping <= 1; }
static bool gravity_has_scale(const psvi_world_part *w) { return w->most_gravity >= 1 && w->most_gravity <= 100; }
static bool slots_fit(const psvi_world_part *w) { return w->slots <= w->max_bodies; }
static bool shapes_fit(const psvi_world_part *w) { return w->shape_count <= w->max_shapes; }
static bool slots_are_counted(const psvi_world_part *w) {
    return w->living <= w->slots && w->free_count <= w->slots && w->living + w->free_count == w->slots;
}
// Counters are added to each other; no world lives for 2^62 steps.
static bool steps_are_few(const psvi_world_part *w) { return w->steps >> 62 == 0 && w->idle_steps >> 62 == 0; }
static bool lost_had_steps(const psvi_world_part *w) { return w->lost == 0 || w->steps > 0; }
static bool contacts_had_bodies(const psvi_world_part *w) {
    return w->contacts == 0 || (w->slots >= 2 && w->steps > 0);
}
static bool contacts_are_few(const psvi_world_part *w) { return w->contacts <= UINT32_MAX / 2; }

static const world_rule world_rules[] = {
    {parts_are_known, "bodies have dampings and user data or not, and sleep where the world says so"},
    {events_are_marked, "there are contact events or there are none, and bodies sleep or do not"},
    {gravity_has_scale, "the largest scale of gravity is 1 to 100"},
    {slots_fit, "no more slots than max_bodies"},
    {shapes_fit, "no more shapes than max_shapes"},
    {slots_are_counted, "living and free slots are all slots"},
    {steps_are_few, "fewer than 2^62 steps"},
    {lost_had_steps, "bodies are lost in steps"},
    {contacts_had_bodies, "contacts are those of two bodies in a step"},
    {contacts_are_few, "no more contacts than a world can hold"},
};

// --- shapes; what psv_create_shape checks is left to it
// ----------------------------------------------------------------

typedef struct shape_rule {
    bool (*holds)(const psv_shape_def *shape);
    const char *rule;
} shape_rule;

static bool type_is_known(const psv_shape_def *s) { return (uint32_t)s->type <= PSV_SHAPE_HULL; }
static bool only_compounds_have_parts(const psv_shape_def *s) {
    return s->type == PSV_SHAPE_COMPOUND ? s->child_count <= PSVI_MAX_PARTS : s->child_count == 0;
}
static bool only_fields_have_heights(const psv_shape_def *s) {
    return s->type == PSV_SHAPE_HEIGHT_FIELD || (s->columns == 0 && s->rows == 0);
}
static bool only_meshes_have_triangles(const psv_shape_def *s) {
    return s->type == PSV_SHAPE_MESH || s->triangle_count == 0;
}
static bool only_meshes_and_hulls_have_vertices(const psv_shape_def *s) {
    return s->type == PSV_SHAPE_MESH || (s->type == PSV_SHAPE_HULL ? s->vertex_count >= 4 : s->vertex_count == 0);
}

static const shape_rule shape_rules[] = {
    {type_is_known, "its type is one of sim.h"},
    {only_compounds_have_parts, "only a compound has children, 64 at most"},
    {only_fields_have_heights, "only a height field has columns and rows"},
    {only_meshes_have_triangles, "only a mesh has triangles"},
    {only_meshes_and_hulls_have_vertices, "only a mesh or hull has vertices, a hull 4 or more"},
};

// --- bodies
// ------------------------------------------------------------------------------------------------------------

typedef struct body_rule {
    bool (*holds)(const psvi_snapshot *s, uint32_t slot);
    const char *rule;
} body_rule;

static bool is_ground(const psvi_snapshot *s, uint32_t i) { return psvi_is_ground(s->shapes[s->shape[i]].type); }
static bool is_static(const psvi_snapshot *s, uint32_t i) { return (s->flags[i] & PSV_BOX_STATIC) != 0; }
static bool is_kinematic(const psvi_snapshot *s, uint32_t i) {
    const uint32_t type = s->shapes[s->shape[i]].type;
    const uint8_t apart = psvi_is_ground(type) ? PSV_BOX_DISABLED : 0, flags = s->flags[i] ^ apart;
    if (!psvi_may_be_driven(type)) return false;
    if (s->island != NULL && flags == PSVI_FLAG_KINEMATIC) return true; // it moves
    return flags == (PSV_BOX_STATIC | PSVI_FLAG_KINEMATIC);
}
static bool is_asleep(const psvi_snapshot *s, uint32_t i) {
    return s->island != NULL && s->flags[i] == (PSV_BOX_STATIC | PSVI_FLAG_ASLEEP);
}
static bool finite3(psvi_f4 a) { return isfinite(a.x) && isfinite(a.y) && isfinite(a.z); }
static bool zero3(psvi_f4 a) { return a.x == 0 && a.y == 0 && a.z == 0; }

// Of every slot
static bool mark_is_known(const psvi_snapshot *s, uint32_t i) { return s->alive[i] <= 1; }
static bool shape_exists(const psvi_snapshot *s, uint32_t i) { return s->shape[i] < s->world.shape_count; }
static bool sub_world_exists(const psvi_snapshot *s, uint32_t i) { return s->sub_world[i] < s->world.sub_world_count; }

// Of living bodies
static bool pose_is_finite(const psvi_snapshot *s, uint32_t i) {
    const psvi_f4 q = s->rotation[i];
    return finite3(s->position[i]) && fabsf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-3f;
}
static bool velocity_is_finite(const psvi_snapshot *s, uint32_t i) {
    return finite3(s->velocity[i]) && finite3(s->angular_velocity[i]) && s->angular_velocity[i].w == 0;
}
static bool flags_fit_shape(const psvi_snapshot *s, uint32_t i) {
    if (is_ground(s, i)) return s->flags[i] == (PSV_BOX_STATIC | PSV_BOX_DISABLED) || is_kinematic(s, i);
    return s->flags[i] == PSV_BOX_STATIC || s->flags[i] == 0 || is_kinematic(s, i) || is_asleep(s, i);
}
static bool velocity_fits_kind(const psvi_snapshot *s, uint32_t i) {
    const float inverse_mass = s->velocity[i].w;
    const bool rests = zero3(s->velocity[i]) && zero3(s->angular_velocity[i]);
    if (is_kinematic(s, i)) return inverse_mass == 0;
    if (is_asleep(s, i)) return inverse_mass > 0 && (rests || s->wake[s->island[i]] != 0);
    return is_static(s, i) ? inverse_mass == 0 && rests : inverse_mass > 0;
}
// Of every slot: islands are looked up for sleepers only, but named by slots that may be empty by now.
static bool island_exists(const psvi_snapshot *s, uint32_t i) {
    return s->island == NULL || (s->island[i] < s->world.slots && s->wake[i] <= 1);
}
static bool still_for_a_time(const psvi_snapshot *s, uint32_t i) {
    return s->still == NULL || (s->still[i] >= 0 && isfinite(s->still[i]));
}
static bool forces_fit(const psvi_snapshot *s, uint32_t i) {
    if (s->forces == NULL) return true;
    const psvi_f4 f = s->forces[i];
    return psvi_forces_are_good(f.x, f.y, f.z) && fabsf(f.z) <= s->world.most_gravity && f.w == 0;
}
// A pose too large for its box gives one that is NaN, which the broad phase leaves out.
static bool box_is_good(const psvi_snapshot *s, uint32_t i) {
    const psv_aabb *b = &s->box[i];
    return !(b->min[0] > b->max[0] || b->min[1] > b->max[1] || b->min[2] > b->max[2]);
}

// Of free slots
static bool free_slot_is_empty(const psvi_snapshot *s, uint32_t i) {
    return zero3(s->position[i]) && s->position[i].w == 0 && zero3(s->velocity[i]) && s->velocity[i].w == 0 &&
           zero3(s->angular_velocity[i]) && s->angular_velocity[i].w == 0 && s->flags[i] == PSV_BOX_DISABLED;
}

static const body_rule slot_rules[] = {
    {mark_is_known, "it is marked as living or free"},
    {shape_exists, "its shape is one of the world's"},
    {sub_world_exists, "its sub-world is below sub_world_count"},
    {island_exists, "its island is a slot, and wakes or does not"},
};
static const body_rule living_rules[] = {
    {pose_is_finite, "its position is finite and its rotation a unit quaternion"},
    {velocity_is_finite, "its velocities are finite"},
    {flags_fit_shape, "ground is left out by the broad phase, planes and fields are static, others take part"},
    {velocity_fits_kind, "what is static has no velocity, nor has what sleeps on; static and kinematic ones have no "
                         "inverse mass, all else has"},
    {still_for_a_time, "the time for which it has been slow is finite and not negative"},
    {forces_fit, "its dampings are >= 0 and its scale of gravity no larger than the world's largest"},
    {box_is_good, "its box has no min > max"},
};
static const body_rule free_rules[] = {
    {free_slot_is_empty, "a free slot has no position, velocity or size and is left out by the broad phase"},
};

// --- contacts of the last step
// -----------------------------------------------------------------------------------------

typedef struct contact_rule {
    bool (*holds)(const psvi_snapshot *s, uint64_t contact);
    const char *rule;
} contact_rule;

static bool has_points(const psvi_snapshot *s, uint64_t i) {
    const uint32_t count = s->contacts[i].count_colour & 0xffu;
    return count >= 1 && count <= PSVI_MAX_POINTS;
}
static bool has_colour(const psvi_snapshot *s, uint64_t i) {
    const uint32_t marks = s->world.contact_events != 0 ? PSVI_KEPT_TOUCHING : 0;
    return (s->contacts[i].count_colour & ~marks) >> 8 <= PSVI_COLOUR_NONE;
}
// The bodies may be gone by now, but not their slots.
static bool has_bodies(const psvi_snapshot *s, uint64_t i) {
    const uint64_t pair = s->contacts[i].key - 1;
    const uint64_t a = pair >> 32, b = pair & UINT32_MAX;
    return s->contacts[i].key != 0 && a != b && a < s->world.slots && b < s->world.slots;
}
static bool follows(const psvi_snapshot *s, uint64_t i) {
    return i == 0 || s->contacts[i - 1].key < s->contacts[i].key;
}

static bool keeps_few(const psvi_snapshot *s, uint64_t i) {
    const float kind = s->frames != NULL ? s->frames[i].offset.w : PSVI_ANCHOR_NONE;
    if (kind == PSVI_ANCHOR_NONE) return true;
    return (kind == PSVI_ANCHOR_A || kind == PSVI_ANCHOR_B) && (s->contacts[i].count_colour & 0xffu) <= 4;
}
static const contact_rule contact_rules[] = {
    {has_points, "it has 1 to 16 points"},
    {has_colour, "its colour is below 256"},
    {has_bodies, "it is of two slots"},
    {follows, "contacts stand in the order of their bodies, none twice"},
    {keeps_few, "where it keeps its points they are at most four, with arms of one of its bodies"},
};

// --- checks
// ------------------------------------------------------------------------------------------------------------

#define COUNT_OF(rules) (sizeof(rules) / sizeof *(rules))

static psv_status broken(const psvi_snapshot *s, const char *what, uint64_t number, const char *rule) {
    return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: %s %" PRIu64 " of the snapshot cannot be, for: %s", s->path,
                     what, number, rule);
}

static psv_status check_slot(const psvi_snapshot *s, const body_rule *rules, uint64_t count, uint32_t slot) {
    for (uint64_t k = 0; k < count; ++k)
        if (!rules[k].holds(s, slot)) return broken(s, "slot", slot, rules[k].rule);
    return PSV_OK;
}

static psv_status check_bodies(const psvi_snapshot *s) {
    uint64_t living = 0;
    psv_status status = PSV_OK;
    for (uint32_t i = 0; i < s->world.slots && status == PSV_OK; ++i) {
        status = check_slot(s, slot_rules, COUNT_OF(slot_rules), i);
        if (status != PSV_OK) break;
        living += s->alive[i];
        status = s->alive[i] ? check_slot(s, living_rules, COUNT_OF(living_rules), i)
                             : check_slot(s, free_rules, COUNT_OF(free_rules), i);
    }
    if (status == PSV_OK && living != s->world.living)
        status = psvi_fail(s->context, PSV_ERROR_FORMAT,
                           "%s: %" PRIu64 " slots of the snapshot are marked as living; it counts %" PRIu64, s->path,
                           living, s->world.living);
    return status;
}

// As many as slots without a body, and each of them once: so all of them.
static psv_status check_free_slots(const psvi_snapshot *s) {
    uint8_t *seen = calloc((uint64_t)s->world.slots + 1, 1);
    if (seen == NULL)
        return psvi_fail(s->context, PSV_ERROR_MEMORY, "no host memory for %u marks of slots", s->world.slots);
    psv_status status = PSV_OK;
    for (uint64_t i = 0; i < s->world.free_count && status == PSV_OK; ++i) {
        const uint32_t slot = s->free_slots[i];
        if (slot >= s->world.slots || s->alive[slot] || seen[slot])
            status = broken(s, "entry of the free list", i, "a slot is listed once, and only without a body");
        else
            seen[slot] = 1;
    }
    free(seen);
    return status;
}

psv_status psvi_check_snapshot(const psvi_snapshot *s) {
    for (uint64_t k = 0; k < COUNT_OF(world_rules); ++k)
        if (!world_rules[k].holds(&s->world))
            return psvi_fail(s->context, PSV_ERROR_FORMAT, "%s: the world of the snapshot cannot be, for: %s", s->path,
                             world_rules[k].rule);
    for (uint32_t i = 0; i < s->world.shape_count; ++i)
        for (uint64_t k = 0; k < COUNT_OF(shape_rules); ++k)
            if (!shape_rules[k].holds(&s->shapes[i])) return broken(s, "shape", i, shape_rules[k].rule);
    psv_status status = check_bodies(s);
    if (status == PSV_OK) status = check_free_slots(s);
    for (uint64_t i = 0; i < s->world.contacts && status == PSV_OK; ++i)
        for (uint64_t k = 0; k < COUNT_OF(contact_rules) && status == PSV_OK; ++k)
            if (!contact_rules[k].holds(s, i)) status = broken(s, "contact", i, contact_rules[k].rule);
    return status;
}

// Equal but for the last digits: another compiler may round otherwise.
static bool nearly(float a, float b) { return a == b || (isfinite(b) && fabsf(a - b) <= 1e-5f * fabsf(b)); }

psv_status psvi_check_snapshot_masses(const psvi_snapshot *s, const psv_world *world) {
    for (uint32_t i = 0; i < s->world.slots; ++i) {
        if (!s->alive[i]) continue;
        const psvi_shape *shape = &world->shapes[s->shape[i]].data;
        if (!nearly(s->position[i].w, shape->radius)) return broken(s, "slot", i, "its radius is that of its shape");
        if (s->velocity[i].w > 0 && !nearly(s->velocity[i].w, shape->inv_mass))
            return broken(s, "slot", i, "its inverse mass is that of its shape");
    }
    return PSV_OK;
}
