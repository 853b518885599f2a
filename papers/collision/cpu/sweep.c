// `sweep`: one-axis sweep and prune. Boxes are sorted by their lower end on the axis of greatest variance (worlds
// apart), and each is tested against those that begin before it ends. The box that begins first owns the pair.
#include "../../../collision/cpu/cpu_boxes.h"
#include "../../../collision/cpu/keyed_method.h"
#include "../../../sort/src/key_order.h"

static psv_sorter_def sweep_sorter_def(const psv_pair_finder_def *def) {
    return psvi_keyed_sorter_def(def, def->max_boxes);
}

typedef struct sweep_memory {
    uint32_t *ids, *order;
    void *keys; // u32, or u64 with the world in the upper half
    psvi_lanes lanes;
    psv_buffer sorter;
} sweep_memory;

static uint64_t key_bytes(const psv_pair_finder_def *def) { return psvi_has_worlds(def) ? 8 : 4; }

static uint64_t sweep_scratch_bytes(const psv_pair_finder_def *def) {
    psv_sorter_def sorter = sweep_sorter_def(def);
    return 2 * psvi_align(def->max_boxes * 4) + psvi_align(def->max_boxes * key_bytes(def)) +
           psvi_lanes_bytes(def->max_boxes) + psvi_align(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &sorter));
}

static sweep_memory carve_sweep(const psvi_choice *choice) {
    const psv_pair_finder_def *def = &choice->def;
    char *scratch = choice->scratch;
    sweep_memory memory;
    memory.ids = psvi_next_part(&scratch, def->max_boxes * 4);
    memory.order = psvi_next_part(&scratch, def->max_boxes * 4);
    memory.keys = psvi_next_part(&scratch, def->max_boxes * key_bytes(def));
    memory.lanes = psvi_carve_lanes(&scratch, def->max_boxes);
    memory.sorter = psv_buffer_of(scratch, choice->scratch_bytes - (uint64_t)(scratch - (const char *)choice->scratch));
    return memory;
}

static psv_status sweep_create(psvi_choice *choice) {
    psv_sorter_def sorter = sweep_sorter_def(&choice->def);
    sorter.scratch = carve_sweep(choice).sorter;
    return psvi_create_keyed(choice, &sorter);
}

// The axis on which the lower ends vary most, from a sample; only speed depends on it.
static int choose_axis(const psvi_find_input *input, const uint32_t *ids, uint64_t count) {
    double sum[3] = {0}, square[3] = {0}, n[3] = {0};
    uint64_t step = count / 4096 + 1;
    for (uint64_t i = 0; i < count; i += step) {
        float box[6];
        psvi_read_box(input, ids[i], box);
        for (int axis = 0; axis < 3; ++axis) {
            double x = box[axis];
            if (!(x > -1e18 && x < 1e18)) continue;
            sum[axis] += x;
            square[axis] += x * x;
            n[axis] += 1;
        }
    }
    double best = -1;
    int best_axis = 0;
    for (int axis = 0; axis < 3; ++axis) {
        double variance = n[axis] > 0 ? square[axis] / n[axis] - (sum[axis] / n[axis]) * (sum[axis] / n[axis]) : 0;
        if (variance > best) {
            best = variance;
            best_axis = axis;
        }
    }
    return best_axis;
}

// What the loops over the living boxes know.
typedef struct sweep_job {
    const psvi_find_input *input;
    sweep_memory memory;
    uint64_t count;
    int axis;
    bool wide;
    psvi_scan_lanes scan;
    psvi_loop loop;
    uint64_t longest; // atomic
} sweep_job;

static void make_keys(void *data, uint64_t first, uint64_t end) {
    const sweep_job *job = data;
    const sweep_memory *memory = &job->memory;
    for (uint64_t i = first; i < end; ++i) {
        float box[6];
        psvi_read_box(job->input, memory->ids[i], box);
        uint32_t bits;
        memcpy(&bits, &box[job->axis], 4);
        uint32_t key = psvi_transform_f32(bits, 0, 1);
        if (job->wide)
            ((uint64_t *)memory->keys)[i] = (uint64_t)psvi_read_world(job->input, memory->ids[i]) << 32 | key;
        else
            ((uint32_t *)memory->keys)[i] = key;
    }
}

// First place after `i` whose key is above `key`, by doubling steps and then halving.
static uint64_t find_end(const void *keys, bool wide, uint64_t i, uint64_t count, uint64_t key) {
    uint64_t step = 1, low = i, high = count;
#define KEY_AT(p) (wide ? ((const uint64_t *)keys)[p] : ((const uint32_t *)keys)[p])
    while (low + step < count && KEY_AT(low + step) <= key) {
        low += step;
        step *= 2;
    }
    if (low + step < count) high = low + step;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (KEY_AT(middle) <= key)
            low = middle;
        else
            high = middle;
    }
#undef KEY_AT
    return high;
}

// Sweeps the boxes [first, end) and returns the longest range.
static uint64_t sweep_boxes(psvi_pair_sink *sink, const sweep_job *job, uint64_t first, uint64_t end) {
    const psvi_lanes *lanes = &job->memory.lanes;
    const void *keys = job->memory.keys;
    uint32_t hits[PSVI_SCAN_LIMIT + PSVI_LANES];
    uint64_t longest = 0;
    for (uint64_t i = first; i < end; ++i) {
        const float box[6] = {lanes->min[0][i], lanes->min[1][i], lanes->min[2][i],
                              lanes->max[0][i], lanes->max[1][i], lanes->max[2][i]};
        uint32_t bits;
        memcpy(&bits, &box[3 + job->axis], 4);
        uint64_t key = psvi_transform_f32(bits, 0, 1);
        if (job->wide) key |= ((const uint64_t *)keys)[i] >> 32 << 32;
        uint64_t stop = find_end(keys, job->wide, i, job->count, key);
        for (uint64_t at = i + 1; at < stop; at += PSVI_SCAN_LIMIT) {
            uint64_t part = stop - at < PSVI_SCAN_LIMIT ? stop : at + PSVI_SCAN_LIMIT;
            psvi_emit_hits(sink, lanes->id[i], hits, job->scan(lanes, at, part, box, hits));
        }
        sink->candidates += stop - i - 1;
        if (stop - i - 1 > longest) longest = stop - i - 1;
    }
    return longest;
}

static void sweep_some(void *data, uint32_t worker) {
    sweep_job *job = data;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->input, false);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        psvi_raise_count(&job->longest, sweep_boxes(&sink, job, first, end));
    psvi_close_sink(&sink);
}

static psv_status sweep_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    sweep_job job = {
        .input = input, .memory = carve_sweep(choice), .wide = choice->def.world_count > 1, .scan = psvi_best_scan()};
    const sweep_memory *memory = &job.memory;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    const uint64_t count = psvi_collect_boxes(context, input, memory->ids);
    job.count = count;
    job.axis = choose_axis(input, memory->ids, count);
    psvi_run_ranges(context, count, 4096, make_keys, &job);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    uint64_t order_bytes = choice->def.max_boxes * 4, keys_bytes = choice->def.max_boxes * key_bytes(&choice->def);
    psv_status status = PSV_OK;
    if (count > 0)
        status = psv_sort_index(choice->state, psv_buffer_of(memory->keys, keys_bytes),
                                psv_buffer_of(memory->order, order_bytes), count, PSV_INDEX_KEYS_SORTED);
    if (status != PSV_OK) return status;
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    psvi_follow_order(context, memory->order, memory->order, memory->ids, count);
    psvi_gather_lanes(context, input, memory->order, count, &memory->lanes);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    job.loop = (psvi_loop){0, count, 256};
    psvi_run_tasks(context, psvi_workers_for(context, count / 512), sweep_some, &job);
    input->result->longest_range = job.longest;
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    input->result->key_bits = job.wide ? sweep_sorter_def(&choice->def).end_bit : 32;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_sweep_cpu = {
    .name = "sweep",
    .description = "one-axis sweep and prune over sorted lower ends, axis by variance",
    .scratch_bytes = sweep_scratch_bytes,
    .create = sweep_create,
    .destroy = psvi_destroy_keyed,
    .find = sweep_find,
    .statistics = psvi_keyed_statistics,
};
