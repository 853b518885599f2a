// Linear bounding volume hierarchy in compute shaders, host side. The tree is that of the CUDA method
// (collision/cuda/lbvh_*).
#include <stdlib.h>

#include "gpu_frame.h"

#define KEY_BITS 31u // of world and place; one more says that a box takes no part
#define LEAST_PLACE_BITS 9u
#define LEAST_PARTS 65536u
#define MOST_BOXES 0x7fffffffu

typedef struct lbvh_memory {
    psvi_gpu_frame frame;
    char *keys, *order, *leaves, *nodes, *links, *parts, *sorter;
    uint64_t sorter_bytes;
    uint32_t room, part_room;
} lbvh_memory;

static uint64_t layout(const psv_pair_finder_def *def, char *scratch, lbvh_memory *memory) {
    psvi_carver carver = {scratch, 0};
    const uint64_t room = psvi_gpu_room(def);
    memory->frame = psvi_gpu_carve_frame(&carver, def);
    memory->room = (uint32_t)room;
    memory->part_room = (uint32_t)(room / 4 > LEAST_PARTS ? room / 4 : LEAST_PARTS);
    memory->keys = psvi_carve(&carver, 4 * room);
    memory->order = psvi_carve(&carver, 4 * room);
    memory->leaves = psvi_carve(&carver, 32 * room);
    memory->nodes = psvi_carve(&carver, 32 * room);
    memory->links = psvi_carve(&carver, 16 * room);
    memory->parts = psvi_carve(&carver, (uint64_t)12 * memory->part_room);
    memory->sorter_bytes = psvi_gpu_sorter_bytes(def, psvi_gpu_room(def));
    memory->sorter = psvi_carve(&carver, memory->sorter_bytes);
    return carver.used;
}

static uint64_t lbvh_scratch_bytes(const psv_pair_finder_def *def) {
    lbvh_memory memory;
    return layout(def, NULL, &memory);
}

static psv_status lbvh_create(psvi_choice *choice) {
    lbvh_memory memory;
    psv_status status = psvi_gpu_check_room(choice, "lbvh", 32);
    if (status != PSV_OK) return status;
    if (choice->def.max_boxes > MOST_BOXES)
        return psvi_fail(choice->context, PSV_ERROR_UNSUPPORTED, "lbvh: def.max_boxes is %llu; %u are possible",
                         (unsigned long long)choice->def.max_boxes, MOST_BOXES);
    (void)layout(&choice->def, choice->scratch, &memory);
    return psvi_gpu_create_sorter(choice, memory.sorter, memory.sorter_bytes, psvi_gpu_room(&choice->def));
}

// Worlds take the high bits of the key; when there are too many for that, neighbours share a number.
static void tree_params(const psv_pair_finder_def *def, const lbvh_memory *memory, uint32_t params[5]) {
    const uint32_t most = KEY_BITS - LEAST_PLACE_BITS;
    uint32_t bits = 0;
    while (bits < 32 && def->world_count > 1 && (uint64_t)1 << bits < def->world_count)
        ++bits;
    params[2] = bits > most ? bits - most : 0;
    params[1] = bits > most ? most : bits;
    params[0] = KEY_BITS - params[1];
    params[3] = memory->room;
    params[4] = memory->part_room;
}

static psv_status run_kernel(const psvi_choice *choice, const psvi_find_input *input, const lbvh_memory *memory,
                             const psvi_gpu_source *source, const char *defines, uint64_t groups) {
    const uint64_t room = memory->room;
    psvi_gpu_call call = psvi_gpu_frame_call(input, &memory->frame, source, groups);
    const psvi_gpu_block tree[] = {{memory->keys, 4 * room},    {memory->order, 4 * room},
                                   {memory->leaves, 32 * room}, {memory->nodes, 32 * room},
                                   {memory->links, 16 * room},  {memory->parts, (uint64_t)12 * memory->part_room}};
    for (uint32_t b = 0; b < sizeof tree / sizeof *tree; ++b)
        if (5 + b != 6 || source != &psvi_glsl_lbvh_walk) call.blocks[5 + b] = tree[b]; // the walk needs no order
    call.defines = defines;
    tree_params(&choice->def, memory, call.params + 4);
    return psvi_gpu_run(choice->context, &call);
}

static psv_status make_keys(const psvi_choice *choice, const psvi_find_input *input, const lbvh_memory *memory) {
    const uint64_t slots = psvi_gpu_slots(input);
    psvi_phase_begin(choice->context, PSV_PHASE_KEYS);
    psv_status status = psvi_gpu_load_boxes(choice->context, input, &memory->frame);
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_lbvh_plan, NULL, 1);
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_lbvh_keys, NULL, (slots + 127) / 128);
    psvi_phase_end(choice->context, PSV_PHASE_KEYS);
    return status;
}

static psv_status build_tree(const psvi_choice *choice, const psvi_find_input *input, const lbvh_memory *memory) {
    const uint64_t groups = (psvi_gpu_slots(input) + 127) / 128;
    psvi_phase_begin(choice->context, PSV_PHASE_GATHER);
    psv_status status = run_kernel(choice, input, memory, &psvi_glsl_lbvh_build, NULL, groups);
    const char *where = psvi_gpu_of(choice->context)->software ? "#define SOFTWARE 1\n" : "#define SOFTWARE 0\n";
    if (status == PSV_OK) status = run_kernel(choice, input, memory, &psvi_glsl_lbvh_merge, where, groups);
    psvi_phase_end(choice->context, PSV_PHASE_GATHER);
    return status;
}

static psv_status walk_tree(const psvi_choice *choice, const psvi_find_input *input, const lbvh_memory *memory) {
    psvi_phase_begin(choice->context, PSV_PHASE_SWEEP);
    const char *walk = "#define RULES 0\n#define PARTS 0\n", *parts = "#define RULES 0\n#define PARTS 1\n";
    if (input->rules != NULL) walk = "#define RULES 1\n#define PARTS 0\n", parts = "#define RULES 1\n#define PARTS 1\n";
    psv_status status =
        run_kernel(choice, input, memory, &psvi_glsl_lbvh_walk, walk, (psvi_gpu_slots(input) + 63) / 64);
    if (status == PSV_OK)
        status = run_kernel(choice, input, memory, &psvi_glsl_lbvh_walk, parts, (memory->part_room + 63) / 64);
    psvi_phase_end(choice->context, PSV_PHASE_SWEEP);
    return status;
}

static psv_status lbvh_find(const psvi_choice *choice, const psvi_find_input *input) {
    lbvh_memory memory;
    (void)layout(&choice->def, choice->scratch, &memory);
    if (psvi_gpu_slots(input) == 0) return PSV_OK;
    psv_status status = make_keys(choice, input, &memory);
    if (psvi_gpu_slots(input) < 2 || status != PSV_OK) return status;
    status = psvi_gpu_sort_places(choice, memory.keys, memory.order, psvi_gpu_slots(input), NULL);
    if (status == PSV_OK) status = build_tree(choice, input, &memory);
    return status == PSV_OK ? walk_tree(choice, input, &memory) : status;
}

static psv_status lbvh_statistics(const psvi_choice *choice, psv_pair_statistics *statistics) {
    const psv_status status = psvi_add_sort_statistics(choice->state, statistics);
    statistics->key_bits = KEY_BITS + 1;
    statistics->levels = 1;
    return status;
}

const psvi_broad_phase psvi_broad_phase_lbvh_gpu = {
    .name = "lbvh",
    .description = "linear bounding volume hierarchy, rebuilt each frame (Karras 2012)",
    .scratch_bytes = lbvh_scratch_bytes,
    .create = lbvh_create,
    .destroy = psvi_gpu_destroy_sorter,
    .find = lbvh_find,
    .statistics = lbvh_statistics,
};
