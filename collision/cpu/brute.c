// `brute`: every box against every later one, in tiles that stay in the cache. The oracle of the other methods.
#include "cpu_boxes.h"

#define TILE 2048 // 56 KiB of lanes

static uint64_t brute_scratch_bytes(const psv_pair_finder_def *def) {
    return psvi_align(def->max_boxes * sizeof(uint32_t)) + psvi_lanes_bytes(def->max_boxes);
}

// Boxes of tile `row` against the later boxes of tile `column` (row <= column).
static void test_tiles(psvi_pair_sink *sink, const psvi_lanes *lanes, uint64_t count, uint64_t row, uint64_t column,
                       psvi_scan_lanes scan) {
    uint32_t hits[TILE + PSVI_LANES];
    uint64_t row_end = (row + 1) * TILE < count ? (row + 1) * TILE : count;
    uint64_t end = (column + 1) * TILE < count ? (column + 1) * TILE : count;
    for (uint64_t i = row * TILE; i < row_end; ++i) {
        uint64_t first = row == column ? i + 1 : column * TILE;
        const float box[6] = {lanes->min[0][i], lanes->min[1][i], lanes->min[2][i],
                              lanes->max[0][i], lanes->max[1][i], lanes->max[2][i]};
        uint32_t found = scan(lanes, first, end, box, hits);
        sink->candidates += end - first;
        psvi_emit_hits(sink, lanes->id[i], hits, found);
    }
}

typedef struct brute_job {
    const psvi_find_input *input;
    psvi_lanes lanes;
    uint64_t count, tiles;
    psvi_scan_lanes scan;
    psvi_loop loop; // over pairs of tiles, row by row
} brute_job;

static void test_some(void *data, uint32_t worker) {
    brute_job *job = data;
    psvi_pair_sink sink;
    (void)worker;
    psvi_open_sink(&sink, job->input, true);
    for (uint64_t first, end; psvi_take_range(&job->loop, &first, &end);) {
        const uint64_t row = first / job->tiles, column = first % job->tiles;
        if (row <= column) test_tiles(&sink, &job->lanes, job->count, row, column, job->scan);
    }
    psvi_close_sink(&sink);
}

static psv_status brute_find(psv_pair_finder *finder, const psvi_find_input *input) {
    psv_context *context = finder->context;
    char *scratch = finder->scratch;
    uint32_t *ids = psvi_carve(&scratch, finder->def.max_boxes * sizeof *ids);
    brute_job job = {.input = input, .lanes = psvi_carve_lanes(&scratch, finder->def.max_boxes)};
    psvi_phase_begin(context, PSV_PHASE_GATHER);
    job.count = psvi_collect_boxes(context, input, ids);
    psvi_gather_lanes(context, input, ids, job.count, &job.lanes);
    psvi_phase_end(context, PSV_PHASE_GATHER);
    psvi_phase_begin(context, PSV_PHASE_SWEEP);
    job.scan = psvi_best_scan();
    job.tiles = psvi_loop_pieces(job.count, TILE);
    job.loop = (psvi_loop){0, job.tiles * job.tiles, 1};
    psvi_run_tasks(context, psvi_workers_for(context, job.tiles), test_some, &job);
    psvi_phase_end(context, PSV_PHASE_SWEEP);
    input->result->longest_range = job.count;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_brute_cpu = {
    .name = "brute",
    .description = "every box against every other: the oracle",
    .scratch_bytes = brute_scratch_bytes,
    .find = brute_find,
};
