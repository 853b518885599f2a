// Friction of a contact of two to four points with one normal as a whole, in the middle of its points, as the CPU makes
// it (manifold_blocks.h): two rows along the tangents and one about the normal, whose impulses together are at most
// what friction allows. It lies where the frictions of the first two points would (psvi_solver.points):
//   first point: quad 3 impulses along the tangents (y, z) and their mass (w); quads 4 to 6 the rows of the tangents
//   second point: quad 3 the impulse about the normal (y); quads 4 and 5 its row, then twist_mass, slip, slip_twist,
//   per_lever
#ifndef PAIRSIEVE_SIM_SOLVE_SLIDE_CUH
#define PAIRSIEVE_SIM_SOLVE_SLIDE_CUH

#include "../solver/contact_rows.h"
#include "solver_data.h"

#define SLIDE_BIT 0x8000u // beside the count of points in psvi_solver.normal

typedef struct slide_masses {
    float slide, twist, slip, slip_twist, per_lever; // the second two while it slides; 1 / the points' mean distance
} slide_masses;

// Whether friction of a contact is that of the whole.
__device__ static bool slides_as_whole(const psvi_contact &c, bool loads, bool bounces) {
    return c.flat && c.count > 1 && loads && c.colour != PSVI_COLOUR_REST && !(c.restitution > 0 && bounces);
}

// Where a point is along the tangents, from the middle of all. The arm of what stands still may be huge, or 0.
__device__ static psvi_f2 slide_place(const psvi_point *p, v3 middle, bool from_b, v3 t1, v3 t2) {
    v3 out = v3_sub(v3_of(from_b ? p->arm_b : p->arm_a), middle);
    psvi_f2 place;
    place.x = v3_dot(out, t1);
    place.y = v3_dot(out, t2);
    return place;
}

__device__ static v3 slide_middle(const psvi_point *points, uint32_t count, bool of_b) {
    v3 sum = v3_make(0, 0, 0);
    for (uint32_t k = 0; k < count; ++k)
        sum = v3_add(sum, v3_of(of_b ? points[k].arm_b : points[k].arm_a));
    return v3_scale(sum, 1.0f / (float)count);
}

__device__ static float slide_response(v3 a, v3 b) { return v3_dot(a, a) + v3_dot(b, b); }
__device__ static float inverse_or_0(float a) { return a > 0 ? 1.0f / a : 0.0f; }

// Lays a contact's friction out: `at`, `next`: places of its first two points.
__device__ static void lay_out_slide(const psvi_solver &v, const psvi_point *points, uint32_t count, psvi_root root_a,
                                     psvi_root root_b, float mass_a, float mass_b, uint64_t at, uint64_t next) {
    v3 n = v3_of(points->normal), t1, t2;
    v3_tangents(n, &t1, &t2);
    v3 middle_a = slide_middle(points, count, false), middle_b = slide_middle(points, count, true);
    float x = 0, y = 0, z = 0, distance = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const psvi_point *p = points + k;
        psvi_f2 place = slide_place(p, mass_b > 0 ? middle_b : middle_a, mass_b > 0, t1, t2);
        x += p->impulse.y;
        y += p->impulse.z;
        z += place.x * p->impulse.z - place.y * p->impulse.y;
        distance += sqrtf(place.x * place.x + place.y * place.y);
    }
    v3 a1 = psvi_root_mul_transposed(root_a, v3_cross(middle_a, t1));
    v3 b1 = psvi_root_mul_transposed(root_b, v3_cross(middle_b, t1));
    v3 a2 = psvi_root_mul_transposed(root_a, v3_cross(middle_a, t2));
    v3 b2 = psvi_root_mul_transposed(root_b, v3_cross(middle_b, t2));
    v3 na = psvi_root_mul_transposed(root_a, n), nb = psvi_root_mul_transposed(root_b, n);
    // One mass for both tangents, or friction would not point against the sliding.
    float mass = inverse_or_0(mass_a + mass_b + fmaxf(slide_response(a1, b1), slide_response(a2, b2)));
    float lever = distance / (float)count, squared = lever * lever;
    bool wide = lever > 1e-6f;
    float twist = wide ? inverse_or_0(slide_response(na, nb)) : 0.0f;
    float slip = wide ? fminf(mass, twist / squared) : mass;
    v.points[3][at] = f4_make(v3_make(v.points[3][at].x, x, y), mass);
    v.points[4][at] = f4_make(a1, b1.x);
    v.points[5][at] = f4_make(v3_make(b1.y, b1.z, a2.x), a2.y);
    v.points[6][at] = f4_make(v3_make(a2.z, b2.x, b2.y), b2.z);
    v.points[3][next] = f4_make(v3_make(v.points[3][next].x, wide ? z : 0.0f, 0), 0);
    v.points[4][next] = f4_make(na, nb.x);
    v.points[5][next] = f4_make(v3_make(nb.y, nb.z, twist), slip);
    v.points[6][next] = f4_make(v3_make(wide ? slip * squared : 0.0f, wide ? 1.0f / lever : 0.0f, 0), 0);
}

// New impulses from those before, and the speeds along the tangents and about the normal.
__device__ static v3 slide_impulse(const slide_masses &m, v3 was, v3 speed, float limit) {
    v3 now = v3_make(was.x - m.slide * speed.x, was.y - m.slide * speed.y, was.z - m.twist * speed.z);
    float turning = now.z * m.per_lever, squared = now.x * now.x + now.y * now.y + turning * turning;
    if (squared <= limit * limit) return now;
    // What slides has one mass in all three directions.
    now = v3_make(was.x - m.slip * speed.x, was.y - m.slip * speed.y, was.z - m.slip_twist * speed.z);
    turning = now.z * m.per_lever;
    squared = now.x * now.x + now.y * now.y + turning * turning;
    return squared > limit * limit ? v3_scale(now, limit * psvi_inverse_root(squared)) : now;
}

// The tangents' share of point `k` of `count` in the impulses of a contact, as they are kept.
__device__ static psvi_f2 slide_share(const psvi_point *points, uint32_t count, uint32_t k, bool from_b, v3 impulse) {
    v3 t1, t2, middle = slide_middle(points, count, from_b);
    v3_tangents(v3_of(points->normal), &t1, &t2);
    float squared = 0, share = 1.0f / (float)count;
    for (uint32_t i = 0; i < count; ++i) {
        psvi_f2 place = slide_place(points + i, middle, from_b, t1, t2);
        squared += place.x * place.x + place.y * place.y;
    }
    float twist = squared > 0 ? impulse.z / squared : 0.0f;
    psvi_f2 place = slide_place(points + k, middle, from_b, t1, t2), part;
    part.x = impulse.x * share - twist * place.y;
    part.y = impulse.y * share + twist * place.x;
    return part;
}

#endif
