// Checks of a world's pairs while it runs: psv_check_pairs in some of its steps, as often as a share of the time
// allows.
#include "world.h"

#define SAMPLES 16u     // boxes of a check: a tenth of its time in a world of 100,000
#define MOST_PAUSE 1.0  // seconds between two steps that count as time of the world
#define MOST_CREDIT 2.0 // checks that may be made up for

psv_status psv_check_world_pairs(psv_world *world, float share) {
    const psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    if (!(share >= 0 && share <= 1))
        return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "share is %g; it must be 0 to 1", (double)share);
    world->check = (psvi_world_check){.share = share};
    return PSV_OK;
}

static void add_up(psv_world *world, const psv_pair_check *found) {
    psv_world_check *totals = &world->check.totals;
    if (totals->missing + totals->extra == 0 && found->missing + found->extra > 0) {
        totals->first_step = world->steps_asked + 1;
        totals->first_is_missing = found->missing > 0;
        totals->first = found->missing > 0 ? found->first_missing : found->first_extra;
    }
    ++totals->steps;
    totals->boxes += found->boxes;
    totals->pairs += found->pairs;
    totals->missing += found->missing;
    totals->extra += found->extra;
    totals->ms += found->ms;
}

psv_status psvi_check_step_pairs(psv_world *world, const psv_box_set *boxes) {
    psvi_world_check *check = &world->check;
    psv_pair_check found;
    if (check->share <= 0 || psvi_is_captured(world->context)) return PSV_OK;
    const double now = psvi_seconds_now(), passed = check->last == 0 ? 0 : fmin(now - check->last, MOST_PAUSE);
    check->last = now;
    check->credit = fmin(check->credit + (double)check->share * passed, MOST_CREDIT * check->cost);
    check->totals.elapsed_ms += 1e3 * passed;
    if (check->credit < check->cost) return PSV_OK;
    const psv_status status = psv_check_pairs(world->finder, boxes, NULL, SAMPLES, &found);
    if (status == PSV_ERROR_CAPACITY) return PSV_OK; // the step is repeated with more room
    if (status != PSV_OK) return psvi_pass_on(world, status);
    check->cost = 1e-3 * found.ms;
    check->credit -= check->cost;
    add_up(world, &found);
    return PSV_OK;
}

psv_status psv_read_world_check(const psv_world *world, psv_world_check *check) {
    const psv_status status = psvi_check_world(world);
    if (status != PSV_OK) return status;
    if (check == NULL) return psvi_fail(world->context, PSV_ERROR_ARGUMENT, "check is NULL");
    *check = world->check.totals;
    return PSV_OK;
}
