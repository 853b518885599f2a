#include "contact_row_lanes.h"

#include "sim/cpu/lanes.h"

#include "sim/solver/contact_row.h"

_Static_assert(ROW_LANES == LANES, "a case a lane");

// The lane of a member that is so many bytes into a case.
static lane gathered(const row_case *cases, size_t offset) {
    lane r = {0};
    for (int k = 0; k < LANES; ++k)
        memcpy((char *)&r + sizeof(float) * (size_t)k, (const char *)&cases[k] + offset, sizeof(float));
    return r;
}

static lane3 gathered3(const row_case *cases, size_t offset) {
    return (lane3){gathered(cases, offset), gathered(cases, offset + 4), gathered(cases, offset + 8)};
}

static void put3(row_case *cases, size_t offset, lane3 a) {
    for (int k = 0; k < LANES; ++k) {
        const float values[3] = {a.x[k], a.y[k], a.z[k]};
        memcpy((char *)&cases[k] + offset, values, sizeof values);
    }
}

#define OF(member) offsetof(row_case, member)

static row_root gathered_root(const row_case *cases, size_t offset) {
    return (row_root){gathered(cases, offset),      gathered(cases, offset + 4),  gathered(cases, offset + 8),
                      gathered(cases, offset + 12), gathered(cases, offset + 16), gathered(cases, offset + 20)};
}

void solve_row_lanes(const psvi_step *step, row_case cases[ROW_LANES]) {
    row_pair t = {gathered3(cases, OF(va)), gathered3(cases, OF(wa)), gathered3(cases, OF(vb)),
                  gathered3(cases, OF(wb)), gathered(cases, OF(ma)),  gathered(cases, OF(mb))};
    const row_root a = gathered_root(cases, OF(root_a)), b = gathered_root(cases, OF(root_b));
    const lane3 n = gathered3(cases, OF(n)), arm_a = gathered3(cases, OF(arm_a)), arm_b = gathered3(cases, OF(arm_b));
    const lane zero = lane_of(0), inverse_mass = t.ma + t.mb;
    lane3 impulse = gathered3(cases, OF(impulse)), roll_impulse = gathered3(cases, OF(roll)), t1, t2;
    lane3_tangents(n, &t1, &t2);
    const row_spins along = row_at_arms(a, b, arm_a, arm_b, n);
    const row_spins s1 = row_at_arms(a, b, arm_a, arm_b, t1), s2 = row_at_arms(a, b, arm_a, arm_b, t2);
    const row_springs springs =
        row_springs_of(step, (t.ma > zero) & (t.mb > zero), gathered(cases, OF(deep)), gathered(cases, OF(push_speed)));
    const row_soft soft = row_softness(step, &springs, gathered(cases, OF(separation)), cases[0].relax);
    const lane before = impulse.x;
    impulse.x = row_normal(before, row_mass(inverse_mass, along), row_speed(&t, n, along), soft);
    row_apply(&t, n, along, impulse.x - before);
    const row_grip grip = row_point_grip(lane_smaller(row_mass(inverse_mass, s1), row_mass(inverse_mass, s2)));
    const lane3 was = {impulse.y, impulse.z, zero};
    const lane3 speed = {row_speed(&t, t1, s1), row_speed(&t, t2, s2), zero};
    const lane3 now = row_friction(&grip, was, speed, gathered(cases, OF(friction)) * impulse.x, false);
    row_apply(&t, t1, s1, now.x - was.x);
    row_apply(&t, t2, s2, now.y - was.y);
    row_roll roll;
    row_make_roll(&roll, a, b, n);
    roll.rolling = gathered(cases, OF(rolling));
    roll.spinning = gathered(cases, OF(spinning));
    put3(cases, OF(roll), row_solve_roll(&t, &roll, roll_impulse, impulse.x));
    put3(cases, OF(impulse), (lane3){impulse.x, now.x, now.y});
    put3(cases, OF(va), t.va);
    put3(cases, OF(wa), t.wa);
    put3(cases, OF(vb), t.vb);
    put3(cases, OF(wb), t.wb);
}
