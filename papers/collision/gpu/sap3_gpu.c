// `sap3` in compute shaders: sweep and prune over all three axes (Ha, Krueger, Silva 2009, section 6.1). The ends of
// the boxes are sorted on x; boxes without company there are left out; the same on y, and on z, where the pairs are
// found.
#include "../../../collision/gpu/gpu_frame.h"
#include "../../../sort/gpu/gpu_methods.h"

#define TILE 1024u      // sap3.glsl
#define STATE_BYTES 32u // of an axis
#define ENDS_BYTE 16u   // of an axis: the state of its endpoints
#define SLOTS_STATE 3u

extern const psvi_gpu_source psvi_glsl_sap3_count, psvi_glsl_sap3_move, psvi_glsl_sap3_boxes, psvi_glsl_sap3_pairs;

enum items { SLOTS, ENDPOINTS, BOXES }; // OVER in sap3.glsl

typedef struct sap3_memory {
    psvi_gpu_frame frame;
    char *lists, *states, *endpoints, *places, *boxes, *keys, *totals, *table, *sorter;
    uint64_t sorter_bytes, room;
} sap3_memory;

static uint64_t tiles_for(uint64_t items) { return (items + TILE - 1) / TILE; }

static uint64_t layout(const psv_pair_finder_def *def, char *scratch, sap3_memory *memory) {
    psvi_carver carver = {scratch, 0};
    const uint64_t room = psvi_gpu_room(def);
    *memory = (sap3_memory){.frame = psvi_gpu_carve_frame(&carver, def), .room = room};
    memory->lists = psvi_carve(&carver, 8 * room);
    memory->states = psvi_carve(&carver, (SLOTS_STATE + 1) * STATE_BYTES + PSVI_GPU_STATE_BYTES); // bound as states
    memory->endpoints = psvi_carve(&carver, 8 * room);
    memory->places = psvi_carve(&carver, 16 * room);
    memory->boxes = psvi_carve(&carver, 32 * room);
    memory->keys = psvi_carve(&carver, 8 * room);
    memory->totals = psvi_carve(&carver, 4);
    memory->table = psvi_carve(&carver, 4 * tiles_for(2 * room));
    memory->sorter_bytes = psvi_gpu_sorter_bytes(def, 2 * room);
    memory->sorter = psvi_carve(&carver, memory->sorter_bytes);
    return carver.used;
}

static uint64_t sap3_scratch_bytes(const psv_pair_finder_def *def) {
    sap3_memory memory;
    return layout(def, NULL, &memory);
}

static psv_status sap3_create(psvi_choice *choice) {
    sap3_memory memory;
    choice->state = NULL;
    const psv_status status = psvi_gpu_check_room(choice, "sap3", 32);
    if (status != PSV_OK) return status;
    (void)layout(&choice->def, choice->scratch, &memory);
    return psvi_gpu_create_sorter(choice, memory.sorter, memory.sorter_bytes, 2 * memory.room);
}

// Block 10 is the kernel's own.
static psv_status run_kernel(const psvi_choice *choice, const psvi_find_input *input, const sap3_memory *memory,
                             const psvi_gpu_source *source, const char *defines, uint32_t axis, psvi_gpu_block own,
                             uint64_t groups) {
    psvi_gpu_call call = psvi_gpu_frame_call(input, &memory->frame, source, groups);
    const uint64_t room = memory->room;
    call.blocks[5] = (psvi_gpu_block){memory->lists, 8 * room};
    call.blocks[7] = (psvi_gpu_block){memory->endpoints, 8 * room};
    call.blocks[8] = (psvi_gpu_block){memory->places, 16 * room};
    call.blocks[9] = (psvi_gpu_block){memory->boxes, 32 * room};
    call.blocks[10] = own;
    if (defines != NULL) { // no rules are asked
        call.defines = defines;
        call.blocks[6] = (psvi_gpu_block){memory->states, (SLOTS_STATE + 1) * STATE_BYTES};
        call.blocks[11] = (psvi_gpu_block){memory->table, 4 * tiles_for(2 * room)};
    }
    call.params[4] = (uint32_t)room;
    call.params[5] = axis;
    return psvi_gpu_run(choice->context, &call);
}

// Numbers the items that sap3.glsl counts, and does with them what sap3_move.comp says.
static psv_status number(const psvi_choice *choice, const psvi_find_input *input, const sap3_memory *memory,
                         enum items items, uint32_t axis) {
    static const char *const defines[] = {"#define OVER 0\n", "#define OVER 1\n", "#define OVER 2\n"};
    const uint64_t slots = psvi_gpu_slots(input), tiles = tiles_for(items == ENDPOINTS ? 2 * slots : slots);
    const char *state = memory->states + (size_t)STATE_BYTES * (items == SLOTS ? SLOTS_STATE : axis);
    const psvi_gpu_block totals = {memory->totals, 4};
    psvi_phase_begin(choice->context, PSV_PHASE_GATHER);
    psv_status status = run_kernel(choice, input, memory, &psvi_glsl_sap3_count, defines[items], axis, totals, tiles);
    if (status == PSV_OK)
        status = psvi_gpu_scan(choice->context, items == ENDPOINTS ? state + ENDS_BYTE : state, memory->table,
                               memory->totals, 1, (uint32_t)tiles, TILE);
    if (status == PSV_OK)
        status = run_kernel(choice, input, memory, &psvi_glsl_sap3_move, defines[items], axis, totals, tiles);
    psvi_phase_end(choice->context, PSV_PHASE_GATHER);
    return status;
}

// Sorts the endpoints of the list on an axis and finds where each box's are.
static psv_status sort_ends(const psvi_choice *choice, const psvi_find_input *input, const sap3_memory *memory,
                            uint32_t axis) {
    const uint64_t slots = psvi_gpu_slots(input);
    psvi_phase_begin(choice->context, PSV_PHASE_KEYS);
    psv_status status = run_kernel(choice, input, memory, &psvi_glsl_sap3_boxes, "#define RECORDS 0\n", axis,
                                   (psvi_gpu_block){memory->keys, 8 * memory->room}, (slots + 127) / 128);
    psvi_phase_end(choice->context, PSV_PHASE_KEYS);
    const char *count = memory->states + (size_t)STATE_BYTES * axis + ENDS_BYTE + 4;
    if (status == PSV_OK)
        status = psvi_gpu_sort_places(choice, memory->keys, memory->endpoints, 2 * slots, (const uint64_t *)count);
    return status == PSV_OK ? number(choice, input, memory, ENDPOINTS, axis) : status;
}

static psv_status find_partners(const psvi_choice *choice, const psvi_find_input *input, const sap3_memory *memory) {
    const uint64_t slots = psvi_gpu_slots(input);
    psvi_phase_begin(choice->context, PSV_PHASE_GATHER);
    psv_status status = run_kernel(choice, input, memory, &psvi_glsl_sap3_boxes, "#define RECORDS 1\n", 2,
                                   (psvi_gpu_block){memory->keys, 8 * memory->room}, (slots + 127) / 128);
    psvi_phase_end(choice->context, PSV_PHASE_GATHER);
    if (status != PSV_OK) return status;
    psvi_phase_begin(choice->context, PSV_PHASE_SWEEP);
    status = run_kernel(choice, input, memory, &psvi_glsl_sap3_pairs, NULL, 2,
                        (psvi_gpu_block){memory->states + 2 * STATE_BYTES, STATE_BYTES}, (slots + 63) / 64);
    psvi_phase_end(choice->context, PSV_PHASE_SWEEP);
    return status;
}

static psv_status sap3_find(const psvi_choice *choice, const psvi_find_input *input) {
    sap3_memory memory;
    (void)layout(&choice->def, choice->scratch, &memory);
    if (psvi_gpu_slots(input) == 0) return PSV_OK;
    psvi_phase_begin(choice->context, PSV_PHASE_KEYS);
    psv_status status = psvi_gpu_load_boxes(choice->context, input, &memory.frame);
    psvi_phase_end(choice->context, PSV_PHASE_KEYS);
    if (status == PSV_OK) status = number(choice, input, &memory, SLOTS, 0);
    for (uint32_t axis = 0; axis < 3 && status == PSV_OK; ++axis) {
        status = sort_ends(choice, input, &memory, axis);
        if (status == PSV_OK && axis < 2) status = number(choice, input, &memory, BOXES, axis);
    }
    return status == PSV_OK ? find_partners(choice, input, &memory) : status;
}

static psv_status sap3_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    // The sorts are three: the passes are those of the last.
    const psv_status status = psvi_add_sort_statistics(choice->state, statistics);
    statistics->key_bits = 32;
    return status;
}

const psvi_broad_phase psvi_broad_phase_sap3_gpu = {
    .name = "sap3",
    .description = "sweep and prune of endpoints on x, y and z (Ha, Krueger, Silva 2009)",
    .scratch_bytes = sap3_scratch_bytes,
    .create = sap3_create,
    .destroy = psvi_gpu_destroy_sorter,
    .find = sap3_find,
    .statistics = sap3_statistics,
};
