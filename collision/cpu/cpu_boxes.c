// Reading, judging and gathering boxes, and appending pairs.
#include "cpu_boxes.h"

psvi_lanes psvi_carve_lanes(char **scratch, uint64_t count) {
    psvi_lanes lanes;
    uint64_t bytes = (count + PSVI_LANES) * sizeof(float);
    for (int axis = 0; axis < 3; ++axis) {
        lanes.min[axis] = psvi_next_part(scratch, bytes);
        lanes.max[axis] = psvi_next_part(scratch, bytes);
    }
    lanes.id = psvi_next_part(scratch, bytes);
    return lanes;
}

void psvi_add_bad_boxes(const psvi_find_input *input, const uint32_t *ids, uint64_t count) {
    if (count == 0) return;
    uint64_t first = __atomic_fetch_add(&input->result->bad_count, count, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < count; ++i)
        input->bad_boxes[first + i] =
            ids[i] + (ids[i] < input->a.count ? 0 : (uint32_t)(input->a.room - input->a.count));
}

#define COLLECT_CHUNK 4096

// Ids of the living boxes of one chunk; bad ones go to the result.
static uint32_t collect_chunk(const psvi_find_input *input, uint64_t first, uint64_t end, uint32_t *ids) {
    uint32_t live = 0, bad = 0, bad_ids[COLLECT_CHUNK];
    float box[6];
    for (uint64_t id = first; id < end; ++id) {
        psvi_box_kind kind = psvi_judge_box(input, id, box);
        ids[live] = (uint32_t)id;
        live += kind == PSVI_BOX_LIVE;
        if (kind == PSVI_BOX_BAD) bad_ids[bad++] = (uint32_t)id;
    }
    psvi_add_bad_boxes(input, bad_ids, bad);
    return live;
}

#define COLLECT_GROUP 64 // chunks that are judged before they are closed up

typedef struct collect_job {
    const psvi_find_input *input;
    uint32_t *ids;
    uint64_t base; // first chunk of the group
    uint32_t lives[COLLECT_GROUP];
} collect_job;

static void collect_some(void *data, uint64_t first_chunk, uint64_t end_chunk) {
    collect_job *job = data;
    const uint64_t count = psvi_input_count(job->input);
    for (uint64_t c = first_chunk; c < end_chunk; ++c) {
        uint64_t first = (job->base + c) * COLLECT_CHUNK;
        uint64_t end = first + COLLECT_CHUNK < count ? first + COLLECT_CHUNK : count;
        uint32_t chunk_ids[COLLECT_CHUNK];
        job->lives[c] = collect_chunk(job->input, first, end, chunk_ids);
        memcpy(job->ids + first, chunk_ids, job->lives[c] * sizeof *job->ids);
    }
}

uint64_t psvi_collect_boxes(psv_context *context, const psvi_find_input *input, uint32_t *ids) {
    // Chunks are judged side by side and closed up in order; a chunk's ids are never written past its own end, so the
    // closing up moves ids down only.
    const uint64_t chunks = psvi_loop_pieces(psvi_input_count(input), COLLECT_CHUNK);
    uint64_t live = 0;
    for (uint64_t base = 0; base < chunks; base += COLLECT_GROUP) {
        collect_job job = {.input = input, .ids = ids, .base = base};
        const uint64_t group = chunks - base < COLLECT_GROUP ? chunks - base : COLLECT_GROUP;
        psvi_run_ranges(context, group, 1, collect_some, &job);
        for (uint64_t c = 0; c < group; ++c) {
            memmove(ids + live, ids + (base + c) * COLLECT_CHUNK, job.lives[c] * sizeof *ids);
            live += job.lives[c];
        }
    }
    input->result->boxes = live;
    return live;
}

typedef struct follow_job {
    uint32_t *ids;
    const uint32_t *order, *from;
} follow_job;

static void follow_some(void *data, uint64_t first, uint64_t end) {
    const follow_job *job = data;
    for (uint64_t i = first; i < end; ++i)
        job->ids[i] = job->from[job->order[i]];
}

void psvi_follow_order(psv_context *context, uint32_t *ids, const uint32_t *order, const uint32_t *from,
                       uint64_t count) {
    follow_job job = {ids, order, from};
    psvi_run_ranges(context, count, 16384, follow_some, &job);
}

typedef struct gather_job {
    const psvi_find_input *input;
    const uint32_t *ids;
    uint64_t count;
    const psvi_lanes *lanes;
} gather_job;

static void gather_some(void *data, uint64_t first, uint64_t end) {
    const gather_job *job = data;
    const psvi_lanes *lanes = job->lanes;
    for (uint64_t i = first; i < end; ++i) {
        float box[6];
        if (i + PSVI_PREFETCH_AHEAD < job->count) psvi_prefetch_box(job->input, job->ids[i + PSVI_PREFETCH_AHEAD]);
        psvi_read_box(job->input, job->ids[i], box);
        for (int axis = 0; axis < 3; ++axis) {
            lanes->min[axis][i] = box[axis];
            lanes->max[axis][i] = box[3 + axis];
        }
        lanes->id[i] = job->ids[i];
    }
}

void psvi_pad_lanes(const psvi_lanes *lanes, uint64_t count) {
    for (int axis = 0; axis < 3; ++axis) {
        memset(lanes->min[axis] + count, 0, PSVI_LANES * sizeof(float));
        memset(lanes->max[axis] + count, 0, PSVI_LANES * sizeof(float));
    }
    memset(lanes->id + count, 0, PSVI_LANES * sizeof(uint32_t));
}

void psvi_gather_lanes(psv_context *context, const psvi_find_input *input, const uint32_t *ids, uint64_t count,
                       const psvi_lanes *lanes) {
    gather_job job = {input, ids, count, lanes};
    psvi_run_ranges(context, count, 4096, gather_some, &job);
    psvi_pad_lanes(lanes, count);
}

// --- output ----------------------------------------------------------------------------------------------------------

static bool has_filters(const psvi_box_view *view) { return view->flags != NULL || view->filters != NULL; }

void psvi_set_sink_worlds(psvi_pair_sink *sink, bool check_worlds) {
    const psvi_find_input *input = sink->input;
    sink->check_worlds = check_worlds && input->world_count > 1 && (input->a.worlds != NULL || input->b.worlds != NULL);
    sink->plain = !sink->check_worlds && !input->between && !has_filters(&input->a);
}

void psvi_open_sink(psvi_pair_sink *sink, const psvi_find_input *input, bool check_worlds) {
    sink->input = input;
    sink->rules = input->rules;
    psvi_set_sink_worlds(sink, check_worlds);
    sink->count = 0;
    sink->candidates = 0;
}

void psvi_flush_sink(psvi_pair_sink *sink) {
    const psvi_find_input *input = sink->input;
    if (sink->rules != NULL) sink->count = psvi_keep_ruled_pairs(sink->rules, sink->pairs, sink->count);
    if (sink->count == 0) return;
    uint64_t first = __atomic_fetch_add(&input->result->pair_count, sink->count, __ATOMIC_RELAXED);
    if (first < input->capacity) {
        uint64_t room = input->capacity - first;
        memcpy(input->pairs + first, sink->pairs, (sink->count < room ? sink->count : room) * sizeof(psv_pair));
    }
    sink->count = 0;
}

void psvi_close_sink(psvi_pair_sink *sink) {
    psvi_flush_sink(sink);
    __atomic_fetch_add(&sink->input->result->candidates, sink->candidates, __ATOMIC_RELAXED);
}

static const psv_box_filter pass_all = {UINT32_MAX, UINT32_MAX};

bool psvi_may_pair(const psvi_find_input *input, bool check_worlds, uint32_t a, uint32_t b) {
    uint64_t i, j;
    const psvi_box_view *left = psvi_view_of(input, a, &i), *right = psvi_view_of(input, b, &j);
    if (input->between && left == right) return false;
    if (check_worlds && (left->worlds == NULL ? 0 : left->worlds[i]) != (right->worlds == NULL ? 0 : right->worlds[j]))
        return false;
    uint32_t left_flags = left->flags == NULL ? 0 : left->flags[i];
    if (!psvi_flags_pair(left_flags, right->flags == NULL ? 0 : right->flags[j])) return false;
    psv_box_filter left_filter = left->filters == NULL ? pass_all : left->filters[i];
    return psvi_filters_pair(left_filter, right->filters == NULL ? pass_all : right->filters[j]);
}

static void add_pair(psvi_pair_sink *sink, uint32_t a, uint32_t b) {
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    // Ids of the second set lie above those of the first.
    if (sink->input->between) high -= (uint32_t)sink->input->a.count;
    sink->pairs[sink->count++] = (psv_pair){low, high};
    if (sink->count == PSVI_SINK_PAIRS) psvi_flush_sink(sink);
}

void psvi_emit_hits(psvi_pair_sink *sink, uint32_t id, const uint32_t *hits, uint32_t count) {
    for (uint32_t h = 0; h < count; ++h)
        if (sink->plain || psvi_may_pair(sink->input, sink->check_worlds, id, hits[h])) add_pair(sink, id, hits[h]);
}
