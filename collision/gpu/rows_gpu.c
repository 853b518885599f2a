// `rows` in compute shaders, host side: cells of levels by size, boxes in the order of their cells, and looks of each
// box into the rows of cells around it. The plan is that of the CPU method in small (collision/cpu/rows_grid.c). No
// group waits for another one.
#include "gpu_frame.h"

#define SCAN_TILE 2048u
#define BOXES_A_WORLD_SLOT 32u

typedef struct rows_memory {
    psvi_gpu_frame frame;
    char *cells, *numbers, *starts, *boxes, *sums, *sorter;
    uint64_t sorter_bytes, room, cell_room;
} rows_memory;

// Two cells a box and some of each level and world slot (rows_plan.comp), and one more; whole tiles.
static uint64_t tiles_for(uint64_t room) { return (6 * room + 8192) / SCAN_TILE + 1; }
static uint64_t cells_for(uint64_t room) { return tiles_for(room) * SCAN_TILE; }

static uint64_t layout(const psv_pair_finder_def *def, char *scratch, rows_memory *memory) {
    psvi_carver carver = {scratch, 0};
    const uint64_t room = psvi_gpu_room(def);
    *memory = (rows_memory){.frame = psvi_gpu_carve_frame(&carver, def), .room = room, .cell_room = cells_for(room)};
    memory->cells = psvi_carve(&carver, 4 * room);
    memory->numbers = psvi_carve(&carver, 4 * room);
    memory->starts = psvi_carve(&carver, 4 * memory->cell_room);
    memory->boxes = psvi_carve(&carver, 32 * room);
    memory->sums = psvi_carve(&carver, 4 * memory->cell_room / SCAN_TILE);
    memory->sorter_bytes = psvi_names_sorter(def) ? psvi_gpu_sorter_bytes(def, room) : 0;
    memory->sorter = psvi_carve(&carver, memory->sorter_bytes);
    return carver.used;
}

static uint64_t rows_scratch_bytes(const psv_pair_finder_def *def) {
    rows_memory memory;
    return layout(def, NULL, &memory);
}

static psv_status rows_create(psvi_choice *choice) {
    rows_memory memory;
    psv_status status = psvi_gpu_check_room(choice, "rows", 32);
    choice->state = NULL;
    if (status != PSV_OK || !psvi_names_sorter(&choice->def)) return status;
    (void)layout(&choice->def, choice->scratch, &memory);
    return psvi_gpu_create_sorter(choice, memory.sorter, memory.sorter_bytes, memory.room);
}

static psv_status run_kernel(const psvi_choice *choice, const psvi_find_input *input, const rows_memory *memory,
                             const psvi_gpu_source *source, const char *defines, uint64_t groups) {
    psvi_gpu_call call = psvi_gpu_frame_call(input, &memory->frame, source, groups);
    const uint64_t room = memory->room, slots = psvi_gpu_slots(input) / BOXES_A_WORLD_SLOT + 1;
    call.blocks[5] = (psvi_gpu_block){memory->cells, 4 * room};
    call.blocks[7] = (psvi_gpu_block){memory->numbers, 4 * room};
    call.blocks[8] = (psvi_gpu_block){memory->starts, 4 * memory->cell_room};
    call.blocks[9] = (psvi_gpu_block){memory->boxes, 32 * room};
    call.blocks[10] = (psvi_gpu_block){memory->sums, 4 * memory->cell_room / SCAN_TILE};
    call.params[4] = (uint32_t)(input->world_count < slots ? input->world_count : slots);
    if (defines != NULL) call.defines = defines;
    return psvi_gpu_run(choice->context, &call);
}

static psv_status make_keys(const psvi_choice *choice, const psvi_find_input *input, const rows_memory *memory) {
    psv_context *context = choice->context;
    const uint64_t groups = (psvi_gpu_slots(input) + 127) / 128;
    psvi_phase_begin(context, PSV_PHASE_KEYS);
    psv_status status = psvi_gpu_load_boxes(context, input, &memory->frame);
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_rows_plan, NULL, 1);
    if (status == PSV_OK)
        status = run_kernel(choice, input, memory, &psvi_glsl_rows_scan, "#define STEP 3\n",
                            tiles_for(psvi_gpu_slots(input)));
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_rows_keys, NULL, groups);
    psvi_phase_end(context, PSV_PHASE_KEYS);
    return status;
}

// The first place of each cell.
static psv_status make_starts(const psvi_choice *choice, const psvi_find_input *input, const rows_memory *memory) {
    const uint64_t tiles = tiles_for(psvi_gpu_slots(input));
    static const char *const steps[] = {"#define STEP 0\n", "#define STEP 1\n", "#define STEP 2\n"};
    psv_status status = PSV_OK;
    psvi_phase_begin(choice->context, PSV_PHASE_SORT);
    for (int s = 0; s < 3 && status == PSV_OK; ++s)
        status = run_kernel(choice, input, memory, &psvi_glsl_rows_scan, steps[s], s == 1 ? 1 : tiles);
    psvi_phase_end(choice->context, PSV_PHASE_SORT);
    return status;
}

static psv_status gather_boxes(const psvi_choice *choice, const psvi_find_input *input, const rows_memory *memory) {
    const uint64_t slots = psvi_gpu_slots(input);
    psv_status status = PSV_OK;
    if (choice->state != NULL && slots >= 2) {
        status = psvi_gpu_sort_places(choice, memory->cells, memory->numbers, slots, NULL);
    }
    const char *form = choice->state != NULL && slots >= 2 ? "#define SORTED 1\n" : "#define SORTED 0\n";
    psvi_phase_begin(choice->context, PSV_PHASE_GATHER);
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_rows_gather, form, (slots + 127) / 128);
    psvi_phase_end(choice->context, PSV_PHASE_GATHER);
    return status;
}

static psv_status rows_find(const psvi_choice *choice, const psvi_find_input *input) {
    rows_memory memory;
    const uint64_t slots = psvi_gpu_slots(input);
    (void)layout(&choice->def, choice->scratch, &memory);
    if (slots == 0) return PSV_OK;
    psv_status status = make_keys(choice, input, &memory);
    if (status == PSV_OK) status = make_starts(choice, input, &memory);
    if (status == PSV_OK) status = gather_boxes(choice, input, &memory);
    if (status != PSV_OK) return status;
    psvi_phase_begin(choice->context, PSV_PHASE_SWEEP);
    status = run_kernel(choice, input, &memory, &psvi_glsl_rows_sweep, NULL, (slots + 127) / 128);
    psvi_phase_end(choice->context, PSV_PHASE_SWEEP);
    return status;
}

static psv_status rows_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    if (choice->state != NULL) return psvi_add_sort_statistics(choice->state, statistics);
    statistics->sort_method = PSVI_SORT_CELLS;
    return PSV_OK;
}

const psvi_broad_phase psvi_broad_phase_rows_gpu = {
    .name = "rows",
    .description = "boxes by cells in rows, levels by size; each box sweeps the rows around it",
    .scratch_bytes = rows_scratch_bytes,
    .create = rows_create,
    .destroy = psvi_gpu_destroy_sorter,
    .find = rows_find,
    .statistics = rows_statistics,
};
