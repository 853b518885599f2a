// `sap3`: three-axis sweep and prune over sorted end points, as in Ha, Krueger & Silva 2009, section 6.1.
//
// Every box gives two records, its minimum and its maximum. The records are sorted on x and scanned in parallel for
// indices out of order: a minimum that is not followed by its own maximum overlaps something, and so does a minimum
// that lies between another box's two records. Only those boxes are candidates on y, where the same is done, and then
// on z. On the last axis the records between a candidate's minimum and maximum give the pairs: only the minima among
// them count, so every pair is found once, by the box that begins first; the other two axes are then tested exactly.
//
// All minima stand before all maxima when the sort begins, and the sort is stable: at equal coordinates a minimum comes
// first, so touching boxes overlap.
#include "../../../collision/cpu/cpu_boxes.h"
#include "../../../collision/cpu/keyed_method.h"
#include "../../../sort/src/key_order.h"

#define CHUNK 8192

typedef struct sap3_memory {
    uint32_t *list, *next; // candidates of this axis and of the next
    void *keys;            // of 2 records a box: u32, or u64 with the world in the upper half
    uint32_t *order;       // sorted record -> record
    uint32_t *rank, *stop; // minima before a candidate's minimum and before its maximum
    uint8_t *keep;
    uint32_t *minima; // minima before each chunk of records
    psvi_lanes lanes;
    psv_buffer sorter;
} sap3_memory;

static psv_sorter_def sap3_sorter_def(const psv_pair_finder_def *def) {
    return psvi_keyed_sorter_def(def, 2 * def->max_boxes);
}

static uint64_t carve_sap3(const psv_pair_finder_def *def, char *scratch, sap3_memory *memory) {
    char *at = scratch;
    uint64_t n = def->max_boxes;
    psv_sorter_def sorter = sap3_sorter_def(def);
    memory->list = psvi_next_part(&at, n * 4);
    memory->next = psvi_next_part(&at, n * 4);
    memory->keys = psvi_next_part(&at, 2 * n * (psvi_has_worlds(def) ? 8 : 4));
    memory->order = psvi_next_part(&at, 2 * n * 4);
    memory->rank = psvi_next_part(&at, n * 4);
    memory->stop = psvi_next_part(&at, n * 4);
    memory->keep = psvi_next_part(&at, n);
    memory->minima = psvi_next_part(&at, (2 * n / CHUNK + 2) * 4);
    // The sorter is done before the boxes are gathered: they share memory.
    uint64_t sorter_bytes = psvi_align(psv_sorter_scratch_bytes(PSV_BACKEND_CPU, &sorter));
    uint64_t lanes_bytes = psvi_lanes_bytes(n);
    memory->sorter = psv_buffer_of(at, sorter_bytes);
    char *lanes = at;
    memory->lanes = psvi_carve_lanes(&lanes, n);
    return (uint64_t)(at - scratch) + (sorter_bytes > lanes_bytes ? sorter_bytes : lanes_bytes);
}

static uint64_t sap3_scratch_bytes(const psv_pair_finder_def *def) {
    sap3_memory memory;
    return carve_sap3(def, (char *)256, &memory);
}

static psv_status sap3_create(psvi_choice *choice) {
    sap3_memory memory;
    (void)carve_sap3(&choice->def, choice->scratch, &memory);
    psv_sorter_def sorter = sap3_sorter_def(&choice->def);
    sorter.scratch = memory.sorter;
    return psvi_create_keyed(choice, &sorter);
}

static uint32_t coordinate_key(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return psvi_transform_f32(bits, 0, 1);
}

// What the loops over candidates and records know.
typedef struct sap3_job {
    const psvi_find_input *input;
    const sap3_memory *memory;
    uint64_t m; // candidates
    int axis;
    bool wide;
    psvi_scan_lanes scan;
    psvi_loop loop;
    uint64_t longest; // atomic
} sap3_job;

// Records of the candidates on one axis: minima first, then maxima.
static void make_records(void *data, uint64_t first, uint64_t end) {
    const sap3_job *job = data;
    const sap3_memory *memory = job->memory;
    const uint64_t m = job->m;
    for (uint64_t k = first; k < end; ++k) {
        float box[6];
        psvi_read_box(job->input, memory->list[k], box);
        uint32_t low = coordinate_key(box[job->axis]), high = coordinate_key(box[3 + job->axis]);
        if (job->wide) {
            uint64_t world = (uint64_t)psvi_read_world(job->input, memory->list[k]) << 32, *keys = memory->keys;
            keys[k] = world | low;
            keys[m + k] = world | high;
        } else {
            uint32_t *keys = memory->keys;
            keys[k] = low;
            keys[m + k] = high;
        }
    }
}

// Minima of one chunk of the sorted records.
static void count_minima(void *data, uint64_t first, uint64_t end) {
    const sap3_job *job = data;
    uint32_t minima = 0;
    for (uint64_t p = first; p < end; ++p)
        minima += job->memory->order[p] < job->m;
    job->memory->minima[first / CHUNK] = minima;
}

// Scans a chunk of the sorted records: ranks, and which candidates overlap another one on this axis. Before record p
// there are `minima` minima and p - minima maxima, so 2 minima - p boxes are open.
static void scan_chunk(void *data, uint64_t first, uint64_t end) {
    const sap3_job *job = data;
    const sap3_memory *memory = job->memory;
    const uint64_t m = job->m;
    uint64_t minima = memory->minima[first / CHUNK];
    for (uint64_t p = first; p < end; ++p) {
        uint64_t record = memory->order[p];
        if (record >= m) {
            memory->stop[record - m] = (uint32_t)minima;
            continue;
        }
        // A minimum is never the last record: its maximum comes after it.
        bool out_of_order = memory->order[p + 1] != record + m;
        memory->keep[record] = out_of_order || 2 * minima > p;
        memory->rank[record] = (uint32_t)minima++;
    }
}

// A parallel prefix sum over chunks.
static void scan_records(psv_context *context, sap3_job *job) {
    psvi_run_ranges(context, 2 * job->m, CHUNK, count_minima, job);
    uint32_t sum = 0;
    for (uint64_t c = 0; c < psvi_loop_pieces(2 * job->m, CHUNK); ++c) {
        uint32_t here = job->memory->minima[c];
        job->memory->minima[c] = sum;
        sum += here;
    }
    psvi_run_ranges(context, 2 * job->m, CHUNK, scan_chunk, job);
}

// Candidates that overlap another one, in their old order.
static uint64_t keep_candidates(sap3_memory *memory, uint64_t m) {
    uint64_t kept = 0;
    for (uint64_t k = 0; k < m; ++k) {
        memory->next[kept] = memory->list[k];
        kept += memory->keep[k];
    }
    uint32_t *swap = memory->list;
    memory->list = memory->next;
    memory->next = swap;
    return kept;
}

// The candidates in order of their minima on the last axis, as lanes; `next` gets the stops in that order.
static void gather_last_axis(psv_context *context, const psvi_find_input *input, const sap3_memory *memory,
                             uint64_t m) {
    uint32_t *ids = memory->order; // the records are done with
    for (uint64_t k = 0; k < m; ++k) {
        ids[memory->rank[k]] = memory->list[k];
        memory->next[memory->rank[k]] = memory->stop[k];
    }
    psvi_gather_lanes(context, input, ids, m, &memory->lanes);
}

static uint64_t find_in_range(psvi_pair_sink *sink, const sap3_memory *memory, uint64_t i, psvi_scan_lanes scan) {
    const psvi_lanes *lanes = &memory->lanes;
    uint32_t hits[PSVI_SCAN_LIMIT + PSVI_LANES];
    const float box[6] = {lanes->min[0][i], lanes->min[1][i], lanes->min[2][i],
                          lanes->max[0][i], lanes->max[1][i], lanes->max[2][i]};
    uint64_t stop = memory->next[i];
    for (uint64_t at = i + 1; at < stop; at += PSVI_SCAN_LIMIT) {
        uint64_t part = stop - at < PSVI_SCAN_LIMIT ? stop : at + PSVI_SCAN_LIMIT;
        psvi_emit_hits(sink, lanes->id[i], hits, scan(lanes, at, part, box, hits));
    }
    sink->candidates += stop - i - 1;
    return stop - i - 1;
}

static void find_some(void *data, uint32_t worker) {
    sap3_job *job = data;
    uint64_t longest = 0;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->input, false);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);)
        for (uint64_t i = first; i < end; ++i) {
            uint64_t range = find_in_range(&sink, job->memory, i, job->scan);
            if (range > longest) longest = range;
        }
    psvi_close_sink(&sink);
    psvi_raise_count(&job->longest, longest);
}

static void find_overlaps(psv_context *context, sap3_job *job) {
    job->loop = (psvi_loop){0, job->m, 256};
    psvi_run_tasks(context, psvi_workers_for(context, job->m / 256), find_some, job);
    job->input->result->longest_range = job->longest;
}

static psv_status sap3_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    sap3_memory memory;
    (void)carve_sap3(&choice->def, choice->scratch, &memory);
    bool wide = psvi_has_worlds(&choice->def);
    sap3_job job = {.input = input, .memory = &memory, .wide = wide, .scan = psvi_best_scan()};
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    uint64_t m = psvi_collect_boxes(context, input, memory.list);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    input->result->key_bits = wide ? sap3_sorter_def(&choice->def).end_bit : 32;
    for (int axis = 0; axis < 3; ++axis) {
        if (m < 2) return PSV_OK;
        psvi_phase_begin(context, PSV_PHASE_KEYS);
        job.m = m;
        job.axis = axis;
        psvi_run_ranges(context, m, CHUNK, make_records, &job);
        psvi_phase_end(context, PSV_PHASE_KEYS);
        psv_status status = psv_sort_index(choice->state, psv_buffer_of(memory.keys, 2 * m * (wide ? 8 : 4)),
                                           psv_buffer_of(memory.order, 2 * m * 4), 2 * m, PSV_INDEX_KEYS_UNDEFINED);
        if (status != PSV_OK) return status;
        psvi_phase_begin(context, PSV_PHASE_GATHER);
        scan_records(context, &job);
        if (axis < 2) m = keep_candidates(&memory, m);
        psvi_phase_end(context, PSV_PHASE_GATHER);
    }
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    gather_last_axis(context, input, &memory, m);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    job.m = m;
    find_overlaps(context, &job);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_sap3_cpu = {
    .name = "sap3",
    .description = "three-axis sweep and prune over sorted end points (Ha, Krueger & Silva 2009)",
    .scratch_bytes = sap3_scratch_bytes,
    .create = sap3_create,
    .destroy = psvi_destroy_keyed,
    .find = sap3_find,
    .statistics = psvi_keyed_statistics,
};
