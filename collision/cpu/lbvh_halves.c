// See lbvh_halves.h.
#include "lbvh_halves.h"

#define WIDE 16
#define SAMPLE 63 // centres that a pivot is taken from
#define SIDE_SAMPLE 256
#define TASKS 256  // ranges that threads take, at most
#define LEAST 4096 // centres of a range that is not divided further between threads

typedef struct place_range {
    uint64_t begin, end;
} place_range;

static inline bool has_border(place_range r) { return (r.begin / WIDE + 1) * WIDE < r.end; }

static inline uint64_t group_of(const lbvh_halves *halves, uint64_t i) {
    return halves->wide ? ((const uint64_t *)halves->keys)[i] >> halves->shift
                        : ((const uint32_t *)halves->keys)[i] >> halves->shift;
}

// First place of the range whose group is not below `group`.
static uint64_t group_begin(const lbvh_halves *halves, place_range r, uint64_t group) {
    while (r.begin < r.end) {
        const uint64_t middle = r.begin + (r.end - r.begin) / 2;
        if (group_of(halves, middle) < group)
            r.begin = middle + 1;
        else
            r.end = middle;
    }
    return r.begin;
}

// Of up to SIDE_SAMPLE centres.
static int longest_side(const lbvh_centre *centres, place_range r) {
    const uint64_t step = (r.end - r.begin) / SIDE_SAMPLE + 1;
    float low[3], high[3];
    for (int k = 0; k < 3; ++k)
        low[k] = high[k] = centres[r.begin].at[k];
    for (uint64_t i = r.begin + step; i < r.end; i += step)
        for (int k = 0; k < 3; ++k) {
            low[k] = centres[i].at[k] < low[k] ? centres[i].at[k] : low[k];
            high[k] = centres[i].at[k] > high[k] ? centres[i].at[k] : high[k];
        }
    int axis = 0;
    for (int k = 1; k < 3; ++k)
        axis = high[k] - low[k] > high[axis] - low[axis] ? k : axis;
    return axis;
}

// The value that about as many of the range lie below as there are places before `at`.
static float pivot_of(const lbvh_centre *centres, place_range r, uint64_t at, int axis) {
    float sample[SAMPLE];
    const uint64_t size = r.end - r.begin, some = size / 32 + 3, most = size < SAMPLE ? size : SAMPLE;
    const uint64_t count = some < most ? some : most; // a small range is parted more often, not sampled more finely
    sample[0] = centres[r.begin].at[axis];
    for (uint64_t i = 1; i < count; ++i) {
        const float x = centres[r.begin + size * i / count].at[axis];
        uint64_t j = i;
        for (; j > 0 && sample[j - 1] > x; --j)
            sample[j] = sample[j - 1];
        sample[j] = x;
    }
    return sample[(at - r.begin) * count / size];
}

// Moves the centres below the pivot to the front; with `equal` also the centres at it. Returns the position behind
// them. The comparison cannot be predicted, so each centre is written to both sides.
static uint64_t part(const lbvh_halves *halves, place_range r, int axis, float pivot, bool equal) {
    lbvh_centre *centres = halves->centres, *others = halves->scratch + r.begin;
    uint64_t front = r.begin, other = 0;
    for (uint64_t i = r.begin; i < r.end; ++i) {
        const lbvh_centre one = centres[i];
        const bool below = equal ? one.at[axis] <= pivot : one.at[axis] < pivot;
        centres[front] = one;
        others[other] = one;
        front += below;
        other += !below;
    }
    memcpy(centres + front, others, other * sizeof *others);
    return front;
}

// Puts the smallest centres of the range before place `at`.
static void select_place(const lbvh_halves *halves, place_range r, uint64_t at, int axis) {
    while (r.begin < at && at < r.end) {
        const float pivot = pivot_of(halves->centres, r, at, axis);
        const uint64_t below = part(halves, r, axis, pivot, false);
        if (at < below)
            r.end = below;
        else
            r.begin = below > r.begin ? below : part(halves, r, axis, pivot, true);
    }
}

// The position of a cut. Groups are not divided.
static uint64_t cut(const lbvh_halves *halves, place_range r) {
    const uint64_t middle = r.begin + (r.end - r.begin) / 2;
    if (group_of(halves, r.begin) != group_of(halves, r.end - 1)) {
        const uint64_t group = group_of(halves, middle), at = group_begin(halves, r, group);
        return at > r.begin ? at : group_begin(halves, r, group + 1);
    }
    uint64_t step = WIDE;
    while ((r.begin / (WIDE * step) + 1) * (WIDE * step) < r.end)
        step *= WIDE;
    const uint64_t least = r.begin / step + 1, most = (r.end - 1) / step;
    uint64_t at = (middle + step / 2) / step;
    at = (at < least ? least : at > most ? most : at) * step;
    select_place(halves, r, at, longest_side(halves->centres, r));
    return at;
}

static void order_range(const lbvh_halves *halves, place_range r) {
    while (has_border(r)) {
        const uint64_t at = cut(halves, r);
        order_range(halves, (place_range){r.begin, at});
        r.begin = at;
    }
}

typedef struct halves_job {
    const lbvh_halves *halves;
    const place_range *tasks;
} halves_job;

static void order_some(void *data, uint64_t first, uint64_t end) {
    const halves_job *job = data;
    for (uint64_t i = first; i < end; ++i)
        order_range(job->halves, job->tasks[i]);
}

void psvi_order_by_halves(psv_context *context, const lbvh_halves *halves, uint64_t count) {
    place_range tasks[TASKS] = {{0, count}};
    uint32_t waiting = 1;
    while (waiting < TASKS) {
        uint32_t largest = 0;
        for (uint32_t i = 1; i < waiting; ++i)
            if (tasks[i].end - tasks[i].begin > tasks[largest].end - tasks[largest].begin) largest = i;
        const place_range whole = tasks[largest];
        if (whole.end - whole.begin <= LEAST) break;
        const uint64_t at = cut(halves, whole);
        tasks[largest] = (place_range){whole.begin, at};
        tasks[waiting++] = (place_range){at, whole.end};
    }
    halves_job job = {halves, tasks};
    psvi_run_ranges(context, waiting, 1, order_some, &job);
}
