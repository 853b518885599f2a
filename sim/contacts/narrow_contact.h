// From the points of two bodies to a contact that is ready to be solved.
#ifndef PAIRSIEVE_NARROW_CONTACT_H
#define PAIRSIEVE_NARROW_CONTACT_H

#include "../solver/body_sleep.h"
#include "contact_anchor.h"
#include "contact_kept.h"
#include "narrow_solids.h"
#include "narrow_terrain.h"

PSVI_HD uint32_t psvi_part_count(const psvi_shape *shape) {
    return shape->type == PSV_SHAPE_COMPOUND ? shape->child_count : 1;
}

// Part `index` of a body where it is.
PSVI_HD psvi_solid psvi_part(const psvi_sim *s, const psvi_shape *shape, v3 position, quat rotation, uint32_t index) {
    psvi_solid solid;
    solid.hull = s->geometry.hulls;
    if (shape->type == PSV_SHAPE_COMPOUND) {
        const psvi_child *child = &s->geometry.children[shape->first_child + index];
        solid.type = child->type;
        solid.size = v3_of(child->size);
        solid.centre = v3_add(position, quat_rotate(rotation, v3_of(child->position)));
        solid.rotation = quat_mul(rotation, quat_of(child->rotation));
    } else {
        solid.type = shape->type;
        solid.size = v3_of(shape->size);
        if (shape->type == PSV_SHAPE_HULL) solid.hull += shape->hull;
        solid.centre = position;
        solid.rotation = rotation;
    }
    return solid;
}

// The width in which contacts are made ready before they touch: of the box of a body that moves, and of a pair. It goes
// by the pair's own size.
PSVI_HD float psvi_body_margin(const psvi_step *step, float radius, bool round) {
    return (round ? step->round_margin : 0.025f) * radius;
}
PSVI_HD float psvi_contact_margin(float margin_a, bool moves_a, float margin_b, bool moves_b) {
    return fminf(margin_a, margin_b) * (moves_a && moves_b ? 2.0f : 1.0f);
}

// How far from body b's middle another body may meet it. What is ground may be far wider than that.
PSVI_HD float psvi_turning_radius(const psvi_sim *s, uint32_t a, uint32_t b) {
    const float radius = s->position[b].w;
    if (!psvi_is_ground(s->geometry.shapes[s->shape[b]].type)) return radius;
    return fminf(v3_length(v3_sub(v3_of4(s->position[a]), v3_of4(s->position[b]))) + s->position[a].w, radius);
}

// The spin of a body that turns, else 0.
PSVI_HD v3 psvi_spin_of(const psvi_sim *s, uint32_t body) {
    return s->linear[body].moved.w != 0 ? v3_of4(s->angular[body].velocity) : v3_make(0, 0, 0);
}

// How fast two bodies' surfaces can come nearer by their spins, and what falls by its fall within the step, m/s. A
// point comes no further than across its body.
PSVI_HD float psvi_pair_turning(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b) {
    const float most = 2.0f / step->seconds;
    return fminf(v3_length(psvi_spin_of(s, a)), most) * s->position[a].w +
           fminf(v3_length(psvi_spin_of(s, b)), most) * psvi_turning_radius(s, a, b) + step->fall;
}

// The same along a unit vector: what turns about it does not come nearer.
PSVI_HD float psvi_turning_along(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, v3 n) {
    return v3_length(v3_cross(psvi_spin_of(s, a), n)) * s->position[a].w +
           v3_length(v3_cross(psvi_spin_of(s, b), n)) * psvi_turning_radius(s, a, b) + step->fall;
}

PSVI_HD v3 psvi_pair_velocity(const psvi_sim *s, uint32_t a, uint32_t b) {
    return v3_sub(v3_of4(s->linear[b].velocity), v3_of4(s->linear[a].velocity));
}

// How far a body's surface can come within the step.
PSVI_HD float psvi_pair_travel(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b) {
    return (v3_length(psvi_pair_velocity(s, a, b)) + psvi_pair_turning(s, step, a, b)) * step->seconds;
}

PSVI_HD float psvi_pair_margin(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, float travel) {
    float margin_a = psvi_body_margin(step, s->position[a].w, psvi_is_round(s->geometry.shapes[s->shape[a]].type));
    float margin_b = psvi_body_margin(step, s->position[b].w, psvi_is_round(s->geometry.shapes[s->shape[b]].type));
    return psvi_contact_margin(margin_a, s->linear[a].velocity.w > 0, margin_b, s->linear[b].velocity.w > 0) + travel;
}

// Two bodies at a moment of the step.
typedef struct psvi_poses {
    v3 position_a, position_b;
    quat rotation_a, rotation_b;
} psvi_poses;

#define PSVI_CAUGHT 0.5f // boxes deeper in each other than this share of the thinner one's half width may be caught
#define PSVI_CAUGHT_PARTS 8

// Two bodies of several boxes that lie deep in each other can hold each other: a box pushed past the middle of a thin
// one finds its shortest way out on the far side. If boxes are pushed in opposite directions, finds the one direction
// in which all are out soonest; else returns false.
PSVI_HD bool psvi_find_side(const psvi_sim *s, const psvi_shape *shape_a, quat rotation_a, const psvi_shape *shape_b,
                            quat rotation_b, const psvi_manifold *out, v3 *side) {
    uint32_t parts[PSVI_CAUGHT_PARTS], count = 0;
    v3 normal[PSVI_CAUGHT_PARTS];
    bool opposed = false;
    for (uint32_t i = 0; i < out->count && count < PSVI_CAUGHT_PARTS; ++i) {
        const psvi_found *f = &out->found[i];
        uint32_t pair = f->feature >> PSVI_FEATURE_SOLIDS;
        psvi_solid a = psvi_part(s, shape_a, out->centre_a, rotation_a, pair / 64);
        psvi_solid b = psvi_part(s, shape_b, out->centre_b, rotation_b, pair % 64);
        if (a.type != PSV_SHAPE_BOX || b.type != PSV_SHAPE_BOX) continue;
        if (!(f->separation < 0)) continue;
        bool known = false;
        for (uint32_t k = 0; k < count; ++k)
            known |= parts[k] == pair;
        if (known) continue;
        for (uint32_t k = 0; k < count; ++k)
            opposed |= v3_dot(normal[k], f->normal) < -0.3f;
        parts[count] = pair;
        normal[count++] = f->normal;
    }
    if (!opposed) return false;
    float least = 3.4e38f;
    for (uint32_t i = 0; i < 2 * count; ++i) {
        v3 way = i % 2 == 0 ? normal[i / 2] : v3_neg(normal[i / 2]);
        float most = 0;
        for (uint32_t k = 0; k < count && most < least; ++k) {
            psvi_solid a = psvi_part(s, shape_a, out->centre_a, rotation_a, parts[k] / 64);
            psvi_solid b = psvi_part(s, shape_b, out->centre_b, rotation_b, parts[k] % 64);
            most = fmaxf(most, psvi_way_out(&a, &b, way));
        }
        if (most < least) {
            least = most;
            *side = way;
        }
    }
    return true;
}

PSVI_HD void psvi_collide_bodies(const psvi_sim *s, uint32_t a, uint32_t b, const psvi_poses *at, float margin,
                                 bool hulls, psvi_manifold *out) {
    const psvi_shape *shape_a = &s->geometry.shapes[s->shape[a]], *shape_b = &s->geometry.shapes[s->shape[b]];
    v3 position_a = at->position_a, position_b = at->position_b;
    quat rotation_a = at->rotation_a, rotation_b = at->rotation_b;
    out->centre_a = position_a;
    out->centre_b = position_b;
    uint32_t parts_a = psvi_part_count(shape_a), parts_b = psvi_part_count(shape_b);
    for (;;) {
        for (uint32_t i = 0; i < parts_a; ++i) {
            psvi_solid solid_a = psvi_part(s, shape_a, position_a, rotation_a, i);
            float reach = psvi_solid_reach(&solid_a) + margin;
            for (uint32_t j = 0; j < parts_b; ++j) {
                psvi_solid solid_b = psvi_part(s, shape_b, position_b, rotation_b, j);
                v3 d = v3_sub(solid_b.centre, solid_a.centre);
                float most = reach + psvi_solid_reach(&solid_b);
                if (v3_dot(d, d) > most * most) continue;
                psvi_collide_solids(&solid_a, &solid_b, margin, (i * 64 + j) << PSVI_FEATURE_SOLIDS, hulls, out);
            }
        }
        if (PSVI_ONLY_HULLS || out->sided || !(out->depth > PSVI_CAUGHT) ||
            !psvi_find_side(s, shape_a, rotation_a, shape_b, rotation_b, out, &out->side))
            return;
        out->sided = true;
        out->count = 0;
    }
}

// A solid against a plane, height field or mesh.
PSVI_HD void psvi_collide_ground_part(const psvi_sim *s, const psvi_shape *terrain, v3 position, quat rotation,
                                      const psvi_solid *solid, float margin, uint32_t feature, bool hulls,
                                      psvi_manifold *out) {
    if (terrain->type == PSV_SHAPE_PLANE)
        psvi_collide_plane(solid, position, quat_rotate(rotation, v3_make(0, 1, 0)), margin, feature, hulls, out);
    else if (terrain->type == PSV_SHAPE_HEIGHT_FIELD)
        psvi_collide_field(s, terrain, position, rotation, solid, margin, feature, hulls, out);
    else
        psvi_collide_mesh(s, terrain, position, rotation, solid, margin, feature, hulls, out);
}

// Body a against the ground b.
PSVI_HD void psvi_collide_ground(const psvi_sim *s, uint32_t a, uint32_t ground, const psvi_poses *at, float margin,
                                 bool hulls, psvi_manifold *out) {
    const psvi_shape *shape = &s->geometry.shapes[s->shape[a]], *terrain = &s->geometry.shapes[s->shape[ground]];
    const uint32_t parts = psvi_part_count(shape);
    out->com_a = v3_add(at->position_a, quat_rotate(at->rotation_a, v3_of(shape->com)));
    for (uint32_t i = 0; i < parts; ++i) {
        const psvi_solid solid = psvi_part(s, shape, at->position_a, at->rotation_a, i);
        psvi_collide_ground_part(s, terrain, at->position_b, at->rotation_b, &solid, margin, i << PSVI_FEATURE_SOLIDS,
                                 hulls, out);
    }
    psvi_thin_out(out);
}

PSVI_HD v3 psvi_centre_of_mass(const psvi_sim *s, const psvi_shape *shape, uint32_t body) {
    v3 position = v3_of4(s->position[body]);
    if (shape->type != PSV_SHAPE_COMPOUND && shape->type != PSV_SHAPE_HULL) return position;
    return v3_add(position, quat_rotate(quat_of4(s->rotation[body]), v3_of(shape->com)));
}

// A contact's head, with the colour of the last step if it had one; marks the light one of unlike masses. Room was
// reserved for the contact and its points; false beyond the room there is, where everything is counted but nothing
// written.
PSVI_HD bool psvi_start_contact(const psvi_sim *s, uint32_t a, uint32_t b, const psvi_shape *shape_a,
                                const psvi_shape *shape_b, float inverse_a, float inverse_b, uint32_t turning,
                                bool flat, uint32_t count, uint64_t index, uint64_t first,
                                const psvi_kept_contact *kept) {
    if (index >= s->contact_capacity || first + count > s->point_capacity) return false;
    psvi_contact c;
    c.a = a;
    c.b = b;
    c.first = (uint32_t)first;
    c.count = (uint16_t)count;
    c.size = fminf(shape_a->thin, shape_b->thin);
    c.friction = sqrtf(shape_a->friction * shape_b->friction);
    c.restitution = fmaxf(shape_a->restitution, shape_b->restitution);
    c.turning = (uint8_t)turning;
    c.flat = flat;
    c.colour = kept ? kept->count_colour >> 8 & 0xffu : PSVI_COLOUR_NONE;
    if (c.colour >= PSVI_COLOURS) c.colour = PSVI_COLOUR_NONE;
    if (c.colour != PSVI_COLOUR_NONE) {
        const bool sleep = s->island != NULL;
        if (inverse_a > 0 || (sleep && psvi_may_move(s, a))) psvi_fetch_or(&s->colour_mask[a], 1u << c.colour);
        if (inverse_b > 0 || (sleep && psvi_may_move(s, b))) psvi_fetch_or(&s->colour_mask[b], 1u << c.colour);
    }
    if (psvi_is_uneven(inverse_a, inverse_b))
        psvi_fetch_or(&s->colour_mask[inverse_a > inverse_b ? a : b], PSVI_UNEVEN_BIT);
    s->contacts[index] = c;
    if (s->keys != NULL) { // of backends that sort the contacts
        s->keys[index] = psvi_contact_key(a, b);
        s->order[index] = (uint32_t)index;
    }
    return true;
}

// The least variance of points' places along a plane, by sums over them: of places along two tangents, and of products.
PSVI_HD float psvi_least_spread(float count, float x, float y, float xx, float xy, float yy) {
    const float share = 1.0f / count, u = x * share, v = y * share;
    const float a = xx * share - u * u, b = xy * share - u * v, c = yy * share - v * v;
    return 0.5f * (a + c - sqrtf((a - c) * (a - c) + 4 * b * b));
}

// On a base that is narrow for the body's height, friction tips the body, and the impulse that holds it upright makes
// it slip. So one fixed order of both feeds a sway: prisms of 12 to 32 sides never came below 5 to 17 mm/s. Such
// contacts are solved twice, like those of light bodies under heavy ones. Heights count by what the impulse turns: what
// is large hardly does.
#define PSVI_NARROW 9.0f // height^2 / half width^2

// In: the points of a contact, whose places are taken from the arms of b where `from_b`.
PSVI_HD void psvi_mark_narrow(const psvi_sim *s, uint32_t a, uint32_t b, float inverse_a, float inverse_b,
                              const psvi_point *points, uint32_t count, bool from_b) {
    if (count < 3) return; // rolls
    const v3 n = v3_of(points[0].normal);
    v3 t1, t2;
    float x = 0, y = 0, xx = 0, xy = 0, yy = 0, high_a = 0, high_b = 0;
    v3_tangents(n, &t1, &t2);
    for (uint32_t i = 0; i < count; ++i) {
        const v3 ra = v3_of(points[i].arm_a), rb = v3_of(points[i].arm_b), r = from_b ? rb : ra;
        if (!(v3_dot(v3_of(points[i].normal), n) > 0.99f)) return;
        const float u = v3_dot(r, t1), v = v3_dot(r, t2);
        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
        yy += v * v;
        high_a += v3_dot(ra, n);
        high_b += v3_dot(rb, n);
    }
    const float radius_a = s->position[a].w, radius_b = s->position[b].w, squared = (float)count * (float)count;
    const float light_a = inverse_a > 0 ? inverse_a / (radius_a * radius_a) : 0.0f;
    const float light_b = inverse_b > 0 ? inverse_b / (radius_b * radius_b) : 0.0f;
    const float tips_a = light_a > 0 ? light_a * high_a * high_a : 0.0f;
    const float tips_b = light_b > 0 ? light_b * high_b * high_b : 0.0f;
    const float base = psvi_least_spread((float)count, x, y, xx, xy, yy) * squared;
    if (tips_a + tips_b > PSVI_NARROW * base * (light_a + light_b))
        psvi_fetch_or(&s->colour_mask[tips_a > tips_b ? a : b], PSVI_UNEVEN_BIT);
}

PSVI_HD bool psvi_is_flat(const psvi_manifold *manifold) {
    bool flat = manifold->count <= 4;
    for (uint32_t i = 1; i < manifold->count && flat; ++i) {
        v3 n = manifold->found[0].normal, m = manifold->found[i].normal;
        flat = n.x == m.x && n.y == m.y && n.z == m.z;
    }
    return flat;
}

// Writes the contact of bodies a and b of any shape.
PSVI_HD void psvi_write_contact(const psvi_sim *s, uint32_t a, uint32_t b, const psvi_kept_contact *kept,
                                const psvi_manifold *manifold) {
    const psvi_found *found = manifold->found;
    uint32_t count = manifold->count;
    if (count == 0) return;
    const psvi_shape *shape_a = &s->geometry.shapes[s->shape[a]], *shape_b = &s->geometry.shapes[s->shape[b]];
    psvi_linear la = s->linear[a], lb = s->linear[b];
    if (!(la.velocity.w > 0 || lb.velocity.w > 0)) {
        psvi_wake_by_pair(s, a, b);
        return;
    }
    uint64_t index, first;
    psvi_reserve(&s->counts->contacts, &s->counts->points, count, &index, &first);
    const bool flat = psvi_is_flat(manifold);
    if (!psvi_start_contact(s, a, b, shape_a, shape_b, la.velocity.w, lb.velocity.w, PSVI_TURN_ANY, flat, count, index,
                            first, kept))
        return;
    // Arms are those of the moment at which the points were found.
    v3 com_a = v3_madd(psvi_centre_of_mass(s, shape_a, a), v3_of4(la.velocity), manifold->time);
    v3 com_b = v3_madd(psvi_centre_of_mass(s, shape_b, b), v3_of4(lb.velocity), manifold->time);
    const bool turn_a = la.moved.w != 0, turn_b = lb.moved.w != 0;
    // What is kinematic turns through the step whatever happens: its arms are those of the middle, or what rides on a
    // turntable would drift outward.
    const bool driven_a = turn_a && !(la.velocity.w > 0), driven_b = turn_b && !(lb.velocity.w > 0);
    const bool keeps = flat && manifold->time == 0 && !driven_a && !driven_b;
    psvi_f4 *anchors = 0;
    float rest = 0;
    if (psvi_may_keep(shape_a->type, shape_b->type)) {
        if (keeps && kept) rest = psvi_last_rest(s, kept->first);
        psvi_put_anchor_frame(s, first, quat_of4(s->rotation[a]), quat_of4(s->rotation[b]), v3_sub(com_b, com_a),
                              found[0].normal, rest,
                              !keeps   ? PSVI_ANCHOR_NONE
                              : turn_b ? PSVI_ANCHOR_B
                                       : PSVI_ANCHOR_A);
        if (keeps) anchors = s->anchors + psvi_anchor_base(s, false) + first;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_found *f = &found[i];
        v3 n = f->normal;
        // Static bodies turn about nothing: their arms do not matter and may be huge.
        v3 ra = v3_sub(f->point, com_a), rb = turn_b ? v3_sub(f->point, com_b) : v3_make(0, 0, 0);
        if (driven_a) ra = v3_madd(ra, v3_cross(manifold->spin_a, ra), 0.5f * manifold->seconds);
        if (driven_b) rb = v3_madd(rb, v3_cross(manifold->spin_b, rb), 0.5f * manifold->seconds);
        psvi_point p;
        p.normal[0] = n.x;
        p.normal[1] = n.y;
        p.normal[2] = n.z;
        p.separation = f->separation - rest;
        p.arm_a[0] = ra.x;
        p.arm_a[1] = ra.y;
        p.arm_a[2] = ra.z;
        p.arm_b[0] = rb.x;
        p.arm_b[1] = rb.y;
        p.arm_b[2] = rb.z;
        p.normal_mass = p.tangent_mass = 0; // the solver's work
        p.feature = f->feature;
        p.pending = 0;
        p.apart = 0;
        p.rest = rest;
        float impulse[3] = {0, 0, 0};
        if (kept && !psvi_kept_impulse(s, kept, f->feature, impulse))
            psvi_share_impulse(s, kept, found, count, f->feature, impulse);
        p.impulse = f4_make(v3_of(impulse), 0);
        s->points[first + i] = p;
        if (anchors != 0) anchors[i] = f4_make(turn_b ? rb : ra, f->separation);
    }
    psvi_mark_narrow(s, a, b, la.velocity.w, lb.velocity.w, s->points + first, count, turn_b);
}

// The contact of two bodies that have hardly moved since its points were found; false where they have to be found.
PSVI_HD bool psvi_keep_points(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b) {
    const psvi_shape *shape_a = &s->geometry.shapes[s->shape[a]], *shape_b = &s->geometry.shapes[s->shape[b]];
    if (!psvi_may_keep(shape_a->type, shape_b->type)) return false;
    const psvi_kept_contact *kept = psvi_find_kept(s, a, b);
    if (kept == 0) return false;
    const uint64_t last = psvi_anchor_base(s, true) + kept->first;
    psvi_anchor_frame f = s->anchor_frames[last];
    if (!(f.offset.w != PSVI_ANCHOR_NONE)) return false;
    const psvi_linear la = s->linear[a], lb = s->linear[b];
    const bool moves_a = la.velocity.w > 0, moves_b = lb.velocity.w > 0, arm_of_b = f.offset.w == PSVI_ANCHOR_B;
    // What turns must turn still, and nothing may have become kinematic.
    if (!(moves_a || moves_b) || arm_of_b != (lb.moved.w != 0) || (la.moved.w != 0) != moves_a || arm_of_b != moves_b)
        return false;
    const v3 d = v3_sub(psvi_centre_of_mass(s, shape_b, b), psvi_centre_of_mass(s, shape_a, a));
    const v3 none = v3_make(0, 0, 0), n = v3_of4(f.normal), offset = v3_of4(f.offset);
    psvi_anchored at;
    const float size = fminf(shape_a->thin, shape_b->thin), rest = step->rest_share > 0 ? f.normal.w : 0;
    if (!psvi_anchors_hold(s, step, &f, a, b, d, size, &at)) return false;
    const uint32_t count = kept->count_colour & 0xffu;
    uint64_t index, first;
    psvi_reserve(&s->counts->contacts, &s->counts->points, count, &index, &first);
    if (!psvi_start_contact(s, a, b, shape_a, shape_b, la.velocity.w, lb.velocity.w, PSVI_TURN_ANY, true, count, index,
                            first, kept))
        return true;
    const uint64_t base = psvi_anchor_base(s, false) + first;
    float overlap = 0; // of all points
    for (uint32_t i = 0; i < count; ++i) {
        const psvi_f4 anchor = s->anchors[last + i];
        const psvi_kept_point *before = &s->kept_points[kept->first + i];
        const v3 arm = v3_of4(anchor);
        const v3 ra = arm_of_b ? v3_add(arm, offset) : arm, rb = arm_of_b ? arm : none;
        psvi_point p;
        psvi_put(p.normal, n);
        psvi_put(p.arm_a, ra);
        psvi_put(p.arm_b, rb);
        const float separation = anchor.w + psvi_anchor_change(&at, moves_a ? ra : none, rb, n);
        overlap -= separation;
        p.separation = separation - rest;
        p.normal_mass = p.tangent_mass = 0; // the solver's work
        p.impulse = f4_make(v3_of(before->impulse), 0);
        p.feature = before->feature;
        p.pending = 0;
        p.apart = 0;
        p.rest = rest;
        s->points[first + i] = p;
        s->anchors[base + i] = anchor;
    }
    psvi_mark_narrow(s, a, b, la.velocity.w, lb.velocity.w, s->points + first, count, arm_of_b);
    f.normal.w = psvi_learn_rest(step, rest, overlap / (float)count, size);
    s->anchor_frames[base] = f;
    return true;
}

// Two bodies that are both particles or spheres: one point at most, and no list of points in memory.
PSVI_HD bool psvi_pair_is_round(const psvi_sim *s, uint32_t a, uint32_t b) {
    return psvi_is_round(s->geometry.shapes[s->shape[a]].type) && psvi_is_round(s->geometry.shapes[s->shape[b]].type);
}

PSVI_HD bool psvi_pair_has_hull(const psvi_sim *s, uint32_t a, uint32_t b) {
    return s->geometry.shapes[s->shape[a]].type == PSV_SHAPE_HULL ||
           s->geometry.shapes[s->shape[b]].type == PSV_SHAPE_HULL;
}

// For two bodies of which one is round and the other round, a plane or a field: the contact point lies on the normal
// through the centre, so spin brings nothing nearer. The velocity of b less that of a in the middle of the step;
// gravity counts only where one of them falls and the other does not.
PSVI_HD v3 psvi_closing_velocity(const psvi_step *step, psvi_linear a, psvi_linear b) {
    float falls = (b.velocity.w > 0 ? 0.5f : 0.0f) - (a.velocity.w > 0 ? 0.5f : 0.0f);
    return v3_madd(v3_sub(v3_of4(b.velocity), v3_of4(a.velocity)), v3_of(step->gravity), falls * step->seconds);
}

typedef struct psvi_round_pair {
    psvi_linear la, lb;
    psvi_f4 pa, pb; // w: the radius
} psvi_round_pair;

PSVI_HD psvi_round_pair psvi_load_round_pair(const psvi_sim *s, uint32_t a, uint32_t b) {
    psvi_round_pair p;
    p.pa = s->position[a];
    p.pb = s->position[b];
    p.la = s->linear[a];
    p.lb = s->linear[b];
    return p;
}

PSVI_HD float psvi_round_margin(const psvi_step *step, const psvi_round_pair *p) {
    v3 relative = v3_sub(v3_of4(p->lb.velocity), v3_of4(p->la.velocity));
    return psvi_contact_margin(psvi_body_margin(step, p->pa.w, true), p->la.velocity.w > 0,
                               psvi_body_margin(step, p->pb.w, true), p->lb.velocity.w > 0) +
           (v3_length(relative) + step->fall) * step->seconds;
}

// Writes the contact of a round body a with b, whose point has no feature, to the place that was reserved for it;
// `ball_b`: b is round too.
PSVI_HD void psvi_write_round_contact(const psvi_sim *s, uint32_t a, uint32_t b, const psvi_round_pair *pair,
                                      bool ball_b, const psvi_found *found, uint64_t index, uint64_t first) {
    const psvi_shape *shape_a = &s->geometry.shapes[s->shape[a]], *shape_b = &s->geometry.shapes[s->shape[b]];
    bool turn_a = pair->la.moved.w != 0, turn_b = pair->lb.moved.w != 0;
    const psvi_kept_contact *kept = psvi_find_kept(s, a, b);
    if (!psvi_start_contact(s, a, b, shape_a, shape_b, pair->la.velocity.w, pair->lb.velocity.w,
                            turn_a || turn_b ? PSVI_TURN_ROUND : PSVI_TURN_NONE, false, 1, index, first, kept))
        return;
    v3 n = found->normal;
    // What is apart now touches at the radii: so are the arms, and no spin is made or lost when it does.
    float inside = 0.5f * fminf(found->separation, 0.0f);
    float ra = pair->pa.w + inside, rb = ball_b ? pair->pb.w + inside : 0.0f;
    if (!(pair->lb.velocity.w > 0 || turn_b)) rb = 0; // turns about nothing
    float inverse_mass = pair->la.velocity.w + pair->lb.velocity.w;
    float sliding = inverse_mass + (turn_a && pair->la.velocity.w > 0 ? shape_a->inv_inertia.xx * ra * ra : 0.0f) +
                    (turn_b && pair->lb.velocity.w > 0 ? shape_b->inv_inertia.xx * rb * rb : 0.0f);
    psvi_point p;
    p.normal[0] = n.x;
    p.normal[1] = n.y;
    p.normal[2] = n.z;
    p.separation = found->separation;
    p.arm_a[0] = n.x * ra;
    p.arm_a[1] = n.y * ra;
    p.arm_a[2] = n.z * ra;
    p.arm_b[0] = -n.x * rb;
    p.arm_b[1] = -n.y * rb;
    p.arm_b[2] = -n.z * rb;
    p.normal_mass = inverse_mass > 0 ? 1.0f / inverse_mass : 0.0f;
    p.tangent_mass = sliding > 0 ? 1.0f / sliding : 0.0f;
    p.feature = 0;
    p.pending = 0;
    p.apart = 0;
    p.rest = 0;
    float impulse[3] = {0, 0, 0};
    if (kept) (void)psvi_kept_impulse(s, kept, 0, impulse);
    p.impulse = f4_make(v3_of(impulse), 0);
    s->points[first] = p;
}

// How far ahead contacts look, in seconds: the solver's last pass looks a substep beyond the step.
PSVI_HD float psvi_reached(const psvi_step *step) { return 1.01f * (step->seconds + step->substep); }

// Two spheres that are apart: takes normal and plane from the moment within the step in which they touch or are
// nearest. So a hit has its true direction, and what only passes by is not touched.
PSVI_HD void psvi_follow_spheres(const psvi_step *step, const psvi_round_pair *pair, psvi_found *found) {
    v3 d = v3_sub(v3_of4(pair->pb), v3_of4(pair->pa)), v = psvi_closing_velocity(step, pair->la, pair->lb);
    float reach = pair->pa.w + pair->pb.w, along = v3_dot(d, v);
    // What does not come to the plane between them is not stopped by it, whatever its direction.
    if (!(-along * psvi_reached(step) > found->separation * (reach + found->separation))) return;
    float squared = v3_dot(v, v), left = v3_dot(d, d) - reach * reach, root = along * along - squared * left;
    if (squared * step->seconds * step->seconds < 1e-6f * reach * reach) return;
    float time = root > 0 ? left / (sqrtf(root) - along) : -along / squared;
    v3 n = v3_unit_or(v3_madd(d, v, fminf(time, step->seconds)), found->normal);
    found->normal = n;
    found->separation = v3_dot(d, n) - reach;
    found->point = v3_madd(v3_of4(pair->pa), n, pair->pa.w);
}

PSVI_HD bool psvi_touch_round_pair(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b,
                                   psvi_round_pair *pair, psvi_found *found) {
    *pair = psvi_load_round_pair(s, a, b);
    psvi_f4 p = pair->pa, q = pair->pb;
    if (!psvi_touch_spheres(v3_of4(p), p.w, v3_of4(q), q.w, psvi_round_margin(step, pair), found)) return false;
    if (!(pair->la.velocity.w > 0 || pair->lb.velocity.w > 0)) {
        psvi_wake_by_pair(s, a, b);
        return false;
    }
    if (found->separation > 0) psvi_follow_spheres(step, pair, found);
    return true;
}

PSVI_HD void psvi_narrow_round_pair(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b) {
    psvi_round_pair pair;
    psvi_found found;
    if (!psvi_touch_round_pair(s, step, a, b, &pair, &found)) return;
    uint64_t index, first;
    psvi_reserve(&s->counts->contacts, &s->counts->points, 1, &index, &first);
    psvi_write_round_contact(s, a, b, &pair, true, &found, index, first);
}

// No points yet; what is known of the motion of the two.
PSVI_HD void psvi_start_manifold(const psvi_sim *s, const psvi_step *step, uint32_t a, uint32_t b, psvi_manifold *out) {
    const v3 none = v3_make(0, 0, 0);
    psvi_linear la = s->linear[a], lb = s->linear[b];
    out->count = 0;
    out->flip = false;
    out->depth = 0;
    out->sided = false;
    out->side = none;
    out->seconds = step->seconds;
    out->time = 0;
    out->velocity = psvi_closing_velocity(step, la, lb);
    out->drift = psvi_pair_velocity(s, a, b);
    out->still = la.velocity.w > 0 || la.moved.w != 0 ? (lb.velocity.w > 0 || lb.moved.w != 0 ? 0 : 2) : 1;
    out->spin_a = la.moved.w != 0 ? v3_of4(s->angular[a].velocity) : none;
    out->spin_b = lb.moved.w != 0 ? v3_of4(s->angular[b].velocity) : none;
    out->centre_a = v3_of4(s->position[a]);
    out->centre_b = v3_of4(s->position[b]);
}

// The point at which two bodies are nearest to each other; NULL where they are further apart than the margin.
PSVI_HD const psvi_found *psvi_nearest_point(const psvi_manifold *out) {
    const psvi_found *nearest = 0;
    for (uint32_t i = 0; i < out->count; ++i)
        if (nearest == 0 || out->found[i].separation < nearest->separation) nearest = &out->found[i];
    return nearest;
}

#endif
