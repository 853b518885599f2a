// `brute`: every box against every later one, in tiles that stay in the cache. The oracle of the other methods.
#include "cpu_boxes.h"

#define TILE 2048 // 56 KiB of lanes

static uint64_t brute_scratch_bytes(const psv_pair_finder_def *def) {
    return psvi_align(def->max_boxes * sizeof(uint32_t)) + psvi_lanes_bytes(def->max_boxes);
}

// A range of boxes in lanes.
typedef struct range {
    uint64_t first, end;
} range;

static range tile_of(range all, uint64_t index) {
    range tile = {all.first + index * TILE, all.first + (index + 1) * TILE};
    if (tile.end > all.end) tile.end = all.end;
    return tile;
}

// Tests the boxes of one tile against later boxes of another tile, in lanes.
static void test_tiles(psvi_pair_sink *sink, const psvi_lanes *lanes, range own, range others, psvi_scan_lanes scan) {
    uint32_t hits[TILE + PSVI_LANES];
    for (uint64_t i = own.first; i < own.end; ++i) {
        uint64_t first = i < others.first ? others.first : i + 1;
        const float box[6] = {lanes->min[0][i], lanes->min[1][i], lanes->min[2][i],
                              lanes->max[0][i], lanes->max[1][i], lanes->max[2][i]};
        if (first >= others.end) continue;
        uint32_t found = scan(lanes, first, others.end, box, hits);
        sink->candidates += others.end - first;
        psvi_emit_hits(sink, lanes->id[i], hits, found);
    }
}

// How many of the living boxes, whose ids ascend, are of the first set.
static uint64_t count_first_set(const psvi_find_input *input, const uint32_t *ids, uint64_t count) {
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (ids[middle] < input->a.count)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct brute_job {
    const psvi_find_input *input;
    psvi_lanes lanes;
    range own, others; // each box of `own` is tested against later boxes of `others`
    uint64_t columns;  // tiles of `others`
    psvi_scan_lanes scan;
    psvi_loop loop; // over pairs of tiles, row by row
} brute_job;

static void test_some(void *data, uint32_t worker) {
    brute_job *job = data;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->input, true);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);) {
        const range own = tile_of(job->own, first / job->columns), others = tile_of(job->others, first % job->columns);
        if (own.first < others.end) test_tiles(&sink, &job->lanes, own, others, job->scan);
    }
    psvi_close_sink(&sink);
}

static psv_status brute_find(const psvi_choice *choice, const psvi_find_input *input) {
    psv_context *context = choice->context;
    char *scratch = choice->scratch;
    uint32_t *ids = psvi_next_part(&scratch, choice->def.max_boxes * sizeof *ids);
    brute_job job = {.input = input, .lanes = psvi_carve_lanes(&scratch, choice->def.max_boxes)};
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    const uint64_t count = psvi_collect_boxes(context, input, ids);
    psvi_gather_lanes(context, input, ids, count, &job.lanes);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    job.scan = psvi_best_scan();
    // Between two sets each box of the first is tested against all of the second, otherwise against later boxes.
    const uint64_t split = input->between ? count_first_set(input, ids, count) : count;
    job.own = (range){0, split};
    job.others = (range){input->between ? split : 0, count};
    job.columns = psvi_loop_pieces(job.others.end - job.others.first, TILE);
    const uint64_t rows = psvi_loop_pieces(split, TILE);
    job.loop = (psvi_loop){0, rows * job.columns, 1};
    psvi_run_tasks(context, psvi_workers_for(context, rows > job.columns ? rows : job.columns), test_some, &job);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    input->result->longest_range = count;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_brute_cpu = {
    .name = "brute",
    .description = "every box against every other: the oracle",
    .scratch_bytes = brute_scratch_bytes,
    .find = brute_find,
};
