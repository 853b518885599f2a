// Tests of a tree's nodes and items against rays, boxes, spheres and points, for C and CUDA.
//
// Items are tested by arithmetic that rounds alike everywhere. Nodes are tested so that none is left out that has an
// item which would count: their boxes are widened by more than the tests of items can be off. So what a query finds
// depends neither on the tree nor on the order of the walk.
#ifndef PAIRSIEVE_TREE_TESTS_H
#define PAIRSIEVE_TREE_TESTS_H

// It is C, with the casts of C: no warnings about them in C++.
#if defined(__GNUC__) && defined(__cplusplus) && !defined(__CUDACC__)
#pragma GCC system_header
#endif

#include "pairsieve/tree_view.h"

// --- rays ------------------------------------------------------------------------------------------------------------

typedef struct psv_tree_ray {
    float origin[3];
    float inverse[3]; // 1 / direction; 0: the ray does not move along this axis
    float slab[3];    // the same for nodes: bounded, so that no product overflows
    float pad[3];     // added to where a node's box is left, for directions too small for `slab`
    float direction[3];
    float t_min, t_max;
    uint32_t octant; // of psv_push_slots
    int exponent;    // t of these is t of the caller's ray times 2^exponent
    float first;     // t_min of the caller's ray
} psv_tree_ray;

PSV_TREE_FN bool psv_is_finite(float a) { return (psv_float_bits(a) & 0x7f800000u) != 0x7f800000u; }

// t times 2^exponent, the next float above or below where that is none: limits of rays lose nothing by it.
PSV_TREE_FN float psv_scale_t(float t, int exponent, bool up) {
    const float scaled = ldexpf(t, exponent), back = ldexpf(scaled, -exponent);
    if (up ? !(back < t) : !(back > t)) return scaled;
    return psv_bits_float(psv_float_bits(scaled) + (up ? 1u : ~0u));
}

// Directions of about length 1 are taken as they are; others are scaled by a power of two, which is exact.
PSV_TREE_FN float psv_scale_ray(const psv_ray *ray, float longest, psv_tree_ray *made) {
    made->exponent = 0;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        made->direction[axis] = ray->direction[axis];
    if (longest >= 0x1p-20f && longest <= 0x1p20f) return longest;
    (void)frexpf(longest, &made->exponent);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        made->direction[axis] = ldexpf(made->direction[axis], -made->exponent);
    made->t_min = psv_scale_t(made->t_min, made->exponent, true);
    made->t_max = psv_scale_t(made->t_max, made->exponent, false);
    return ldexpf(longest, -made->exponent);
}

// t of the caller's ray, rounded up, so that what it is compared with as a limit of nodes is not below it.
PSV_TREE_FN float psv_unscale_t(const psv_tree_ray *ray, float t) {
    if (ray->exponent == 0) return t;
    return t > ray->t_min ? psv_max(psv_scale_t(t, -ray->exponent, true), ray->first) : ray->first;
}

// A limit on the caller's t as one on t of nodes.
PSV_TREE_FN float psv_limit_t(const psv_tree_ray *ray, float t) {
    return ray->exponent == 0 ? t : psv_scale_t(t, ray->exponent, true);
}

// 2 to the power of e.
PSV_TREE_FN float psv_power_of_two(int e) { return psv_bits_float((uint32_t)(e + 127) << 23); }

// The power of two that makes of a number one of about 1; products with it are exact.
PSV_TREE_FN float psv_unit_for(float a) {
    const int e = 127 - (int)(psv_float_bits(a) >> 23 & 255u);
    return psv_power_of_two(e < -126 ? -126 : e > 126 ? 126 : e);
}

// Whether a product of two lengths may be multiplied by a third: beyond, it is scaled first.
PSV_TREE_FN bool psv_is_usual(float a) { return fabsf(a) >= 0x1p-60f && fabsf(a) <= 0x1p60f; }

// The largest coordinate of a tree's root (NULL: none) and a ray's origin is below 2 to this power; -5 at least.
PSV_TREE_FN int psv_ray_scale(const float origin[3], const psv_tree_node *root) {
    float most = psv_max(psv_max(fabsf(origin[0]), fabsf(origin[1])), psv_max(fabsf(origin[2]), 0x1p-6f));
    if (root != NULL) {
        const psv_tree_grid grid = psv_load_grid(root);
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const float low = grid.origin[axis], high = low + 255.0f * psv_grid_step(grid.grid >> (8 * axis) & 255u);
            most = psv_max(most, psv_max(fabsf(low), fabsf(high)));
        }
    }
    return (int)(psv_float_bits(most) >> 23) - 126;
}

// Makes a ray ready for a tree, whose root may be NULL where there is none; false: it hits nothing.
PSV_TREE_FN bool psv_make_tree_ray(const psv_ray *ray, const psv_tree_node *root, psv_tree_ray *made) {
    const float *o = ray->origin, *d = ray->direction;
    const float longest = psv_max(fabsf(d[0]), psv_max(fabsf(d[1]), fabsf(d[2])));
    bool good = longest > 0 && psv_is_finite(d[0]) && psv_is_finite(d[1]) && psv_is_finite(d[2]);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        good = good && fabsf(o[axis]) <= 1e37f;
    made->t_min = made->first = ray->t_min > 0 ? ray->t_min : 0.0f;
    made->t_max = ray->t_max + 0.0f; // not -0
    if (!good || ray->t_min != ray->t_min || !(made->t_min <= made->t_max)) return false;
    const float reach = psv_scale_ray(ray, longest, made);
    // The bound times a coordinate stays below 2^116, so that slots times 2^15 do not overflow (psv_bias_grid); where
    // it is taken, nodes are padded by more than any t within the root, of directions that are not below 2^-20.
    const int scale = psv_ray_scale(o, root);
    const float bound = psv_power_of_two(114 - scale), pad = psv_power_of_two(scale < 101 ? scale + 25 : 126);
    made->octant = 7;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const float along = made->direction[axis], size = fabsf(along);
        const bool moves = size >= reach * 0x1p-80f, bounded = moves && size * bound >= 1.0f;
        made->origin[axis] = o[axis];
        made->inverse[axis] = moves ? psv_inverse(along) : 0.0f;
        made->slab[axis] = bounded ? made->inverse[axis] : along < 0 ? -bound : bound;
        made->pad[axis] = bounded ? 0.0f : pad;
        made->octant ^= (uint32_t)(along < 0) << axis;
    }
    return true;
}

// Terms of a ray's test of a node's slots on one axis: t of grid coordinate q is between q * step + low and q * step +
// high. The bounds cover all rounding here, in the test of the items, and in the positions of hits. The part of a step
// is for psv_bias_grid.
PSV_TREE_FN void psv_ray_slab(const psv_tree_ray *ray, const psv_tree_node *node, int axis, float *step, float *low,
                              float *high) {
    const float slab = ray->slab[axis], at = (node->origin[axis] - ray->origin[axis]) * slab;
    *step = psv_node_step(node, axis) * slab;
    const float error = fabsf(at) * 0x1p-19f + fabsf(*step) * 0x1.2p-8f;
    *low = at - error;
    *high = at + error + ray->pad[axis];
}

// Whether the ray is in a slot before t_most, from where it enters and leaves it on each axis. On CUDA by comparing
// numbers as integers, which tells as much of those that are not below 0, and three at once.
PSV_TREE_FN bool psv_ray_in_slot(const float enter[3], const float leave[3], float t_min, float t_most) {
#if defined(__CUDA_ARCH__)
    const int later = __vimax_s32_relu(__float_as_int(enter[0]), __float_as_int(t_min));
    const int near = __vimax3_s32(__float_as_int(enter[1]), __float_as_int(enter[2]), later);
    const int far = __vimin3_s32(__float_as_int(leave[0]), __float_as_int(leave[1]), __float_as_int(leave[2]));
    return near <= far && near <= __float_as_int(t_most);
#else
    const float near = fmaxf(fmaxf(t_min, enter[0]), fmaxf(enter[1], enter[2]));
    return near <= fminf(fminf(t_most, leave[0]), fminf(leave[1], leave[2]));
#endif
}

// Slots of a node that the ray may enter before t_most; of those in use.
PSV_TREE_FN uint32_t psv_ray_slots(const psv_tree_node *node, const psv_tree_ray *ray, float t_most) {
    uint32_t slots = 0, enter[3][2], leave[3][2];
    float step[3], low[3], high[3];
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        psv_ray_slab(ray, node, axis, &step[axis], &low[axis], &high[axis]);
        float other = step[axis];
        psv_bias_grid(&other, &high[axis]);
        psv_bias_grid(&step[axis], &low[axis]);
        const bool back = ray->slab[axis] < 0;
        PSV_UNROLL
        for (int half = 0; half < 2; ++half) {
            enter[axis][half] = back ? node->high[axis][half] : node->low[axis][half];
            leave[axis][half] = back ? node->low[axis][half] : node->high[axis][half];
        }
    }
    PSV_UNROLL
    for (uint32_t slot = 0; slot < 8; ++slot) {
        float from[3], to[3];
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            from[axis] = psv_slot_number(enter[axis], slot) * step[axis] + low[axis];
            to[axis] = psv_slot_number(leave[axis], slot) * step[axis] + high[axis];
        }
        slots |= (uint32_t)psv_ray_in_slot(from, to, ray->t_min, t_most) << slot;
    }
    return slots & psv_node_used(node);
}

// Where the line of the ray, both ways, is within a closed box; false: nowhere.
PSV_TREE_FN bool psv_line_in_box(const psv_tree_ray *ray, const float *min, const float *max, float *near, float *far) {
    *near = -INFINITY;
    *far = INFINITY;
    bool inside = true;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const float o = ray->origin[axis], inverse = ray->inverse[axis];
        if (inverse == 0) {
            inside = inside && min[axis] <= o && o <= max[axis];
            continue;
        }
        const float a = psv_mul(psv_sub(min[axis], o), inverse), b = psv_mul(psv_sub(max[axis], o), inverse);
        *near = psv_max(*near, psv_min(a, b));
        *far = psv_min(*far, psv_max(a, b));
    }
    // A little longer on both sides than it was rounded to, so that what touches counts (Ize 2013).
    return inside && psv_sub(*near, psv_mul(fabsf(*near), 0x1p-22f)) <= psv_add(*far, psv_mul(fabsf(*far), 0x1p-22f));
}

// hit: t is that of the caller's ray, as of all items; false when the ray misses the box.
PSV_TREE_FN bool psv_ray_meets_box(const psv_tree_ray *ray, const psv_tree_box *box, psv_ray_hit *hit) {
    float near, far;
    if (!psv_line_in_box(ray, box->min, box->max, &near, &far)) return false;
    if (far < ray->t_min) return false;
    const float t = psv_add(psv_max(near, ray->t_min), 0.0f);
    hit->t = psv_unscale_t(ray, t);
    hit->u = hit->v = 0;
    hit->item = box->item;
    return t <= ray->t_max;
}

// Watertight (Woop, Benthin, Wald 2013): in a space where the ray is the z axis, signs of three cross products that
// come out alike for both triangles of an edge; where one is 0, by double products, which are exact. t is taken to
// within the triangle's box, so that no node can be behind it that the triangle is in.
PSV_TREE_FN bool psv_ray_meets_triangle(const psv_tree_ray *ray, const psv_tree_triangle *triangle, psv_ray_hit *hit) {
    const float *d = ray->direction;
    const float sizes[3] = {fabsf(d[0]), fabsf(d[1]), fabsf(d[2])};
    const uint32_t kz = sizes[2] >= sizes[0] && sizes[2] >= sizes[1] ? 2 : sizes[1] >= sizes[0] ? 1 : 0;
    const uint32_t kx = kz == 2 ? 0 : kz + 1, ky = kx == 2 ? 0 : kx + 1;
    const float depth = psv_pick(d, kz);
    const float shear[3] = {psv_div(psv_pick(d, kx), depth), psv_div(psv_pick(d, ky), depth),
                            psv_pick(ray->inverse, kz)};
    const float *corners[3] = {triangle->a, triangle->b, triangle->c};
    float x[3], y[3], z[3];
    const float o[3] = {psv_pick(ray->origin, kx), psv_pick(ray->origin, ky), psv_pick(ray->origin, kz)};
    PSV_UNROLL
    for (int i = 0; i < 3; ++i) {
        z[i] = psv_sub(psv_pick(corners[i], kz), o[2]);
        x[i] = psv_sub(psv_sub(psv_pick(corners[i], kx), o[0]), psv_mul(shear[0], z[i]));
        y[i] = psv_sub(psv_sub(psv_pick(corners[i], ky), o[1]), psv_mul(shear[1], z[i]));
    }
    float u = psv_sub(psv_mul(x[2], y[1]), psv_mul(y[2], x[1]));
    float v = psv_sub(psv_mul(x[0], y[2]), psv_mul(y[0], x[2]));
    float w = psv_sub(psv_mul(x[1], y[0]), psv_mul(y[1], x[0]));
    if (u == 0 || v == 0 || w == 0) {
        u = (float)psv_cross_exact(x[2], y[1], y[2], x[1]);
        v = (float)psv_cross_exact(x[0], y[2], y[0], x[2]);
        w = (float)psv_cross_exact(x[1], y[0], y[1], x[0]);
    }
    if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return false;
    float sum = psv_add(psv_add(u, v), w);
    if (!(fabsf(sum) > 0)) return false;
    if (!psv_is_usual(sum)) {
        const float unit = psv_unit_for(sum);
        u = psv_mul(u, unit), v = psv_mul(v, unit), w = psv_mul(w, unit), sum = psv_mul(sum, unit);
    }
    const float inverse = psv_div(1.0f, sum);
    float t = psv_add(psv_add(psv_mul(u, z[0]), psv_mul(v, z[1])), psv_mul(w, z[2]));
    t = psv_mul(psv_mul(t, inverse), shear[2]);
    hit->u = psv_mul(v, inverse);
    hit->v = psv_mul(w, inverse);
    float min[3], max[3], near, far;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        min[axis] = psv_min(triangle->a[axis], psv_min(triangle->b[axis], triangle->c[axis]));
        max[axis] = psv_max(triangle->a[axis], psv_max(triangle->b[axis], triangle->c[axis]));
    }
    (void)psv_line_in_box(ray, min, max, &near, &far);
    t = psv_add(psv_max(psv_min(t, far), near), 0.0f);
    hit->t = psv_unscale_t(ray, t);
    hit->item = triangle->item;
    return t >= ray->t_min && t <= ray->t_max;
}

PSV_TREE_FN bool psv_ray_meets_item(const psv_tree_view *view, const psv_tree_ray *ray, uint32_t place,
                                    psv_ray_hit *hit) {
    if (view->triangles) {
        const psv_tree_triangle triangle = psv_load_triangle(view, place);
        return psv_ray_meets_triangle(ray, &triangle, hit);
    }
    const psv_tree_box box = psv_load_box(view, place);
    return psv_ray_meets_box(ray, &box, hit);
}

// --- boxes and spheres -----------------------------------------------------------------------------------------------

// The slots whose boxes touch a box. Its numbers may be infinite.
PSV_TREE_FN uint32_t psv_box_slots(const psv_tree_node *node, const float *min, const float *max) {
    uint32_t slots = psv_node_used(node);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        float step = psv_node_step(node, axis), origin = node->origin[axis];
        psv_bias_grid(&step, &origin);
        const float low = psv_tree_clamp(min[axis]), high = psv_tree_clamp(max[axis]);
        PSV_UNROLL
        for (uint32_t slot = 0; slot < 8; ++slot) {
            const bool apart = origin + psv_slot_number(node->low[axis], slot) * step > high ||
                               origin + psv_slot_number(node->high[axis], slot) * step < low;
            slots &= ~((uint32_t)apart << slot);
        }
    }
    return slots;
}

// How far a point is from an interval: 0 within it. Rounding keeps the order of intervals of which one holds the other.
PSV_TREE_FN float psv_away(float p, float low, float high) {
    return psv_max(psv_max(psv_sub(low, p), psv_sub(p, high)), 0.0f);
}

PSV_TREE_FN float psv_box_distance2(const float *point, const float *min, const float *max) {
    const float x = psv_away(point[0], min[0], max[0]), y = psv_away(point[1], min[1], max[1]);
    const float z = psv_away(point[2], min[2], max[2]);
    return psv_add(psv_add(psv_mul(x, x), psv_mul(y, y)), psv_mul(z, z));
}

// The slots that may be within a distance of a point; both squared. sum: the squared distance of each slot, or a little
// less: a slot is taken as larger on each side by more than what is rounded here and in an item's distance; the part of
// a step is for psv_bias_grid.
PSV_TREE_FN uint32_t psv_near_slots(const psv_tree_node *node, const float *point, float most2, float sum[8]) {
    uint32_t slots = psv_node_used(node);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        float step = psv_node_step(node, axis);
        const float from = node->origin[axis] - psv_tree_clamp(point[axis]);
        const float error = (fabsf(from) + 255.0f * step) * 0x1p-21f + step * 0x1p-8f;
        float below = from - error, above = -from - error, back = -step;
        psv_bias_grid(&step, &below);
        psv_bias_grid(&back, &above);
        PSV_UNROLL
        for (uint32_t slot = 0; slot < 8; ++slot) {
            const float low = psv_slot_number(node->low[axis], slot) * step + below;
            const float high = psv_slot_number(node->high[axis], slot) * back + above;
            const float away = psv_greatest(low, high);
            // cppcheck-suppress uninitvar ; written for axis 0
            sum[slot] = axis == 0 ? away * away : away * away + sum[slot];
        }
    }
    PSV_UNROLL
    for (uint32_t slot = 0; slot < 8; ++slot)
        slots &= ~((uint32_t)(sum[slot] > most2) << slot);
    return slots;
}

PSV_TREE_FN float psv_dot3(const float *a, const float *b) {
    return psv_add(psv_add(psv_mul(a[0], b[0]), psv_mul(a[1], b[1])), psv_mul(a[2], b[2]));
}

PSV_TREE_FN void psv_minus3(const float *a, const float *b, float *out) {
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        out[axis] = psv_sub(a[axis], b[axis]);
}

// Takes the point of a side that is nearest to p for the closest one, if it is nearer than `least`, its squared
// distance. `from`: from where the side begins to p. *share: of the side; `away`: from the point to p.
PSV_TREE_FN bool psv_closer_on_side(const float *from, const float *side, float *least, float *share, float *away) {
    float rest[3];
    const float length2 = psv_dot3(side, side), along = psv_dot3(from, side);
    const float at = along > 0 && length2 > 0 ? psv_min(psv_div(along, length2), 1.0f) : 0.0f;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        rest[axis] = psv_sub(from[axis], psv_mul(side[axis], at));
    const float distance2 = psv_dot3(rest, rest);
    if (!(distance2 < *least)) return false;
    *least = distance2;
    *share = at;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis)
        away[axis] = rest[axis];
    return true;
}

// Weights of b and c of the point of a triangle that is closest to p, and the way from there to p.
//
// The longer side at a is the base. p is split into its foot on the base's line and what is left, which the height on
// the base measures: what is left of a point near a sliver is as small as the sliver's width, so no digits are lost,
// whatever the aspect. The result is wrong by a few units in the last place of the triangle's size. All products are of
// two lengths. Where p is beyond a side the closest point is on such a side, the nearest of them.
PSV_TREE_FN void psv_closest_weights(const float *p, const psv_tree_triangle *t, float *u, float *v, float *away) {
    float ab[3], ac[3], ap[3], base[3], side[3], height[3];
    psv_minus3(t->b, t->a, ab);
    psv_minus3(t->c, t->a, ac);
    psv_minus3(p, t->a, ap);
    const float ab2 = psv_dot3(ab, ab), ac2 = psv_dot3(ac, ac);
    const bool turned = ac2 > ab2;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        base[axis] = turned ? ac[axis] : ab[axis];
        side[axis] = turned ? ab[axis] : ac[axis];
    }
    const float base2 = turned ? ac2 : ab2, inverse = base2 > 0 ? psv_div(1.0f, base2) : 0.0f;
    const float foot = psv_mul(psv_dot3(ap, base), inverse), lean = psv_mul(psv_dot3(side, base), inverse);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        away[axis] = psv_sub(ap[axis], psv_mul(base[axis], foot));
        height[axis] = psv_sub(side[axis], psv_mul(base[axis], lean));
    }
    const float height2 = psv_dot3(height, height);
    float second = height2 > 0 ? psv_div(psv_dot3(away, height), height2) : -1.0f;
    float first = psv_sub(foot, psv_mul(second, lean));
    const bool below = !(second >= 0), left = !(first >= 0), right = !(psv_add(first, second) <= 1); // NaN: all three
    if (below || left || right) {
        float least = INFINITY, share = 0;
        first = second = 0;
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis)
            away[axis] = ap[axis];
        if (below && psv_closer_on_side(ap, base, &least, &share, away)) first = share;
        if (left && psv_closer_on_side(ap, side, &least, &share, away)) {
            first = 0;
            second = share;
        }
        float from[3], last[3];
        psv_minus3(ap, base, from);
        psv_minus3(side, base, last);
        if (right && psv_closer_on_side(from, last, &least, &share, away)) {
            first = psv_sub(1.0f, share);
            second = share;
        }
    } else {
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis)
            away[axis] = psv_sub(away[axis], psv_mul(height[axis], second));
    }
    *u = turned ? second : first;
    *v = turned ? first : second;
}

// The squared distance of a point and an item's box: not more than that of the item.
PSV_TREE_FN float psv_item_box_distance2(const psv_tree_view *view, const float *p, uint32_t place) {
    if (!view->triangles) {
        const psv_tree_box box = psv_load_box(view, place);
        return psv_box_distance2(p, box.min, box.max);
    }
    const psv_tree_triangle t = psv_load_triangle(view, place);
    float min[3], max[3];
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        min[axis] = psv_min(t.a[axis], psv_min(t.b[axis], t.c[axis]));
        max[axis] = psv_max(t.a[axis], psv_max(t.b[axis], t.c[axis]));
    }
    return psv_box_distance2(p, min, max);
}

// The squared distance of a point and an item, and where that is. A triangle's is not below its box's, so that it is
// not below that of any node that it is in. NaN: too large to tell.
PSV_TREE_FN float psv_item_distance2(const psv_tree_view *view, const float *p, uint32_t place,
                                     psv_closest_point *closest) {
    closest->u = closest->v = 0;
    if (!view->triangles) {
        const psv_tree_box loaded = psv_load_box(view, place), *box = &loaded;
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis)
            closest->point[axis] = psv_clamp(p[axis], box->min[axis], box->max[axis]);
        closest->item = box->item;
        return psv_box_distance2(p, box->min, box->max);
    }
    const psv_tree_triangle loaded = psv_load_triangle(view, place), *t = &loaded;
    float min[3], max[3], away[3];
    psv_closest_weights(p, t, &closest->u, &closest->v, away);
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const float a = t->a[axis], b = t->b[axis], c = t->c[axis];
        min[axis] = psv_min(a, psv_min(b, c));
        max[axis] = psv_max(a, psv_max(b, c));
        const float at = psv_add(psv_add(a, psv_mul(psv_sub(b, a), closest->u)), psv_mul(psv_sub(c, a), closest->v));
        closest->point[axis] = psv_clamp(at, min[axis], max[axis]);
    }
    closest->item = t->item;
    return psv_max(psv_box_distance2(p, min, max), psv_dot3(away, away));
}

// Whether a triangle and a box of these half sizes at the origin are apart along the cross product of axis `i` and an
// edge (Akenine-Moeller 2001).
PSV_TREE_FN bool psv_edge_parts(float corners[3][3], const float *edge, const float *half, int i) {
    const int j = i == 2 ? 0 : i + 1, k = j == 2 ? 0 : j + 1;
    float low = INFINITY, high = -INFINITY;
    PSV_UNROLL
    for (int c = 0; c < 3; ++c) {
        const float at = psv_sub(psv_mul(corners[c][k], edge[j]), psv_mul(corners[c][j], edge[k]));
        low = psv_min(low, at);
        high = psv_max(high, at);
    }
    const float reach = psv_add(psv_mul(half[j], fabsf(edge[k])), psv_mul(half[k], fabsf(edge[j])));
    return low > reach || high < -reach;
}

// A triangle whose box touches the box.
PSV_TREE_FN bool psv_box_meets_triangle(const float *min, const float *max, const psv_tree_triangle *t) {
    float half[3], corners[3][3], edges[3][3];
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const float low = psv_clamp(min[axis], -1e15f, 1e15f), high = psv_clamp(max[axis], -1e15f, 1e15f);
        const float centre = psv_add(psv_mul(0.5f, low), psv_mul(0.5f, high));
        // Not below what reaches both sides, however the centre was rounded.
        half[axis] = psv_max(psv_sub(high, centre), psv_sub(centre, low));
        corners[0][axis] = psv_sub(t->a[axis], centre);
        corners[1][axis] = psv_sub(t->b[axis], centre);
        corners[2][axis] = psv_sub(t->c[axis], centre);
    }
    PSV_UNROLL
    for (int c = 0; c < 3; ++c)
        psv_minus3(corners[c == 2 ? 0 : c + 1], corners[c], edges[c]);
    PSV_UNROLL
    for (int c = 0; c < 3; ++c) {
        PSV_UNROLL
        for (int axis = 0; axis < 3; ++axis)
            if (psv_edge_parts(corners, edges[c], half, axis)) return false;
    }
    // All corners count: the normal of a triangle that is nearly a line is rounding alone, but still an axis.
    float normal[3], reach = 0;
    bool above = true, below = true;
    PSV_UNROLL
    for (int i = 0; i < 3; ++i) {
        const int j = i == 2 ? 0 : i + 1, k = j == 2 ? 0 : j + 1;
        normal[i] = psv_sub(psv_mul(edges[0][j], edges[1][k]), psv_mul(edges[0][k], edges[1][j]));
    }
    // Products of two lengths, to be multiplied by a third.
    const float unit = psv_unit_for(psv_max(psv_max(fabsf(normal[0]), fabsf(normal[1])), fabsf(normal[2])));
    PSV_UNROLL
    for (int i = 0; i < 3; ++i) {
        normal[i] = psv_mul(normal[i], unit);
        reach = psv_add(reach, psv_mul(half[i], fabsf(normal[i])));
    }
    PSV_UNROLL
    for (int c = 0; c < 3; ++c) {
        const float at = psv_dot3(normal, corners[c]);
        above = above && at > reach;
        below = below && at < -reach;
    }
    return !(above || below);
}

PSV_TREE_FN bool psv_box_meets_item(const psv_tree_view *view, const float *min, const float *max, uint32_t place,
                                    uint32_t *item) {
    if (!view->triangles) {
        const psv_tree_box loaded = psv_load_box(view, place), *box = &loaded;
        *item = box->item;
        return box->min[0] <= max[0] && min[0] <= box->max[0] && box->min[1] <= max[1] && min[1] <= box->max[1] &&
               box->min[2] <= max[2] && min[2] <= box->max[2];
    }
    const psv_tree_triangle loaded = psv_load_triangle(view, place), *t = &loaded;
    *item = t->item;
    PSV_UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const float low = psv_min(t->a[axis], psv_min(t->b[axis], t->c[axis]));
        const float high = psv_max(t->a[axis], psv_max(t->b[axis], t->c[axis]));
        if (low > max[axis] || high < min[axis]) return false;
    }
    return psv_box_meets_triangle(min, max, t);
}

#endif
