// Boxes with margins on the CPU: widens them, compares them with their widened boxes, and tests kept pairs again.
#include <float.h>
#include <math.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "../../core/cpu/workers.h"
#include "cpu_boxes.h"

#define CHUNK 4096 // boxes, or pairs

static psvi_near_tag tag_of(const psvi_find_input *input, uint64_t id) {
    uint64_t place;
    const psvi_box_view *view = psvi_view_of(input, id, &place);
    return (psvi_near_tag){
        .flags = view->flags == NULL ? 0 : view->flags[place],
        .world = view->worlds == NULL ? 0 : view->worlds[place],
        .filter = view->filters == NULL ? (psv_box_filter){UINT32_MAX, UINT32_MAX} : view->filters[place],
    };
}

static bool is_same_tag(psvi_near_tag a, psvi_near_tag b) {
    return a.flags == b.flags && a.world == b.world && a.filter.group == b.filter.group &&
           a.filter.mask == b.filter.mask;
}

static float margin_of(const psvi_find_input *input, const psvi_near *near, uint64_t id) {
    uint64_t place;
    const psvi_margin *of = psvi_view_of(input, id, &place) == &input->b ? &near->b : &near->a;
    const float margin = of->each == NULL ? of->all : of->each[place];
    return margin > 0 && margin <= FLT_MAX ? margin : 0;
}

typedef struct near_job {
    const psvi_find_input *input;
    const psvi_near *near;
    uint64_t live; // atomic, as is `left`
    bool left;
} near_job;

static void widen_some(void *data, uint64_t first, uint64_t end) {
    const near_job *job = data;
    for (uint64_t id = first; id < end; ++id) {
        psv_aabb *wide = &job->near->boxes[id];
        float box[6];
        if (psvi_judge_box(job->input, id, box) != PSVI_BOX_LIVE) {
            for (int axis = 0; axis < 3; ++axis)
                wide->min[axis] = wide->max[axis] = NAN; // bad here too; nothing lies in it
            continue;
        }
        const float margin = margin_of(job->input, job->near, id);
        for (int axis = 0; axis < 3; ++axis) { // whatever the rounding, the box is not outside
            wide->min[axis] = box[axis] - margin;
            wide->max[axis] = box[3 + axis] + margin;
        }
        if (job->near->tagged) job->near->tags[id] = tag_of(job->input, id);
    }
}

void psvi_widen_boxes_cpu(psv_context *context, const psvi_find_input *input, psvi_near *near) {
    near_job job = {.input = input, .near = near};
    psvi_run_ranges(context, psvi_input_count(input), CHUNK, widen_some, &job);
}

static bool lies_in(const float box[6], const psv_aabb *wide) {
    return box[0] >= wide->min[0] && box[1] >= wide->min[1] && box[2] >= wide->min[2] && box[3] <= wide->max[0] &&
           box[4] <= wide->max[1] && box[5] <= wide->max[2];
}

// The box as the frame has it, at its place.
static void place_box(const psvi_near *near, uint64_t id, psvi_box_kind kind, const float box[6]) {
    const uint32_t place = near->places[id];
    if (place == PSVI_NO_PLACE) return;
    psvi_placed_box *to = &near->placed[place];
    for (int axis = 0; axis < 3; ++axis) {
        to->min[axis] = kind == PSVI_BOX_LIVE ? box[axis] : NAN; // that overlaps nothing
        to->max[axis] = box[3 + axis];
    }
    to->min[3] = to->max[3] = 0;
}

static void compare_some(void *data, uint64_t first, uint64_t end) {
    near_job *job = data;
    const uint64_t count = psvi_input_count(job->input);
    uint32_t bad_ids[CHUNK], bad = 0;
    uint64_t live = 0;
    if (__atomic_load_n(&job->left, __ATOMIC_RELAXED)) return;
    for (uint64_t id = first; id < end; ++id) {
        float box[6] = {0};
        const psvi_box_kind kind = id < count ? psvi_judge_box(job->input, id, box) : PSVI_BOX_DISABLED;
        if (kind == PSVI_BOX_BAD) bad_ids[bad++] = (uint32_t)id;
        place_box(job->near, id, kind, box);
        if (kind != PSVI_BOX_LIVE) continue;
        ++live;
        if (lies_in(box, &job->near->boxes[id]) &&
            (!job->near->tagged || is_same_tag(job->near->tags[id], tag_of(job->input, id))))
            continue;
        __atomic_store_n(&job->left, true, __ATOMIC_RELAXED);
        return;
    }
    psvi_add_bad_boxes(job->input, bad_ids, bad);
    __atomic_fetch_add(&job->live, live, __ATOMIC_RELAXED);
}

bool psvi_are_near_cpu(psv_context *context, const psvi_find_input *input, const psvi_near *near) {
    near_job job = {.input = input, .near = near};
    psvi_phase_begin(context, PSV_PHASE_BOUNDS);
    psvi_run_ranges(context, near->count, CHUNK, compare_some, &job);
    psvi_phase_end(context, PSV_PHASE_BOUNDS);
    input->result->boxes = job.live;
    return !job.left;
}

// --- places ----------------------------------------------------------------------------------------------------------

static uint32_t place_of(psvi_near *near, uint64_t id, uint32_t *taken) {
    if (near->places[id] == PSVI_NO_PLACE) near->places[id] = (*taken)++;
    return near->places[id];
}

static void fill_places(void *data, uint64_t first, uint64_t end) {
    const near_job *job = data;
    for (uint64_t id = first; id < end; ++id) {
        float box[6] = {0};
        if (job->near->places[id] != PSVI_NO_PLACE) place_box(job->near, id, psvi_judge_box(job->input, id, box), box);
    }
}

void psvi_place_boxes_cpu(psv_context *context, const psvi_find_input *input, psvi_near *near, const psv_pair *pairs,
                          uint64_t count) {
    const uint64_t boxes = psvi_input_count(input), second = input->between ? input->a.count : 0;
    near_job job = {.input = input, .near = near};
    uint32_t taken = 0;
    near->count = boxes;
    memset(near->places, 0xff, boxes * sizeof *near->places);
    for (uint64_t p = 0; p < count; ++p) { // one after the other: the order is that of the pairs
        near->placed_pairs[p].a = place_of(near, pairs[p].a, &taken);
        near->placed_pairs[p].b = place_of(near, second + pairs[p].b, &taken);
    }
    psvi_run_ranges(context, boxes, CHUNK, fill_places, &job);
}

// --- pairs -----------------------------------------------------------------------------------------------------------

typedef struct again_job {
    const psvi_find_input *input;
    const psvi_near *near;
    const psv_pair *pairs;
    psvi_loop loop; // over pairs
} again_job;

static bool overlap(const psvi_placed_box *a, const psvi_placed_box *b) {
#if defined(__SSE2__)
    const __m128 below = _mm_cmple_ps(_mm_loadu_ps(a->min), _mm_loadu_ps(b->max));
    return _mm_movemask_ps(_mm_and_ps(below, _mm_cmple_ps(_mm_loadu_ps(b->min), _mm_loadu_ps(a->max)))) == 15;
#else
    bool all = true;
    for (int axis = 0; axis < 4; ++axis)
        all = all & (a->min[axis] <= b->max[axis]) & (b->min[axis] <= a->max[axis]);
    return all;
#endif
}

static void test_range(const again_job *job, psvi_pair_sink *sink, uint64_t first, uint64_t end) {
    const psvi_placed_box *const placed = job->near->placed;
    for (uint64_t p = first; p < end; ++p) {
        const psv_pair places = job->near->placed_pairs[p];
        sink->pairs[sink->count] = job->pairs[p]; // written in any case: most are pairs, and a jump costs more
        sink->count += overlap(&placed[places.a], &placed[places.b]);
        if (sink->count == PSVI_SINK_PAIRS) psvi_flush_sink(sink);
    }
    sink->candidates += end - first;
}

static void test_some(void *data, uint32_t worker) {
    again_job *job = data;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->input, false);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        test_range(job, &sink, first, end);
    psvi_close_sink(&sink);
}

void psvi_test_again_cpu(psv_context *context, const psvi_find_input *input, const psvi_near *near,
                         const psv_pair *pairs, uint64_t count) {
    again_job job = {input, near, pairs, {0, count, CHUNK}};
    input->result->candidates = 0;
    psvi_run_tasks(context, psvi_workers_for(context, psvi_loop_pieces(count, CHUNK)), test_some, &job);
}
