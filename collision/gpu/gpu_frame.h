// What the broad-phase methods in compute shaders share on the host: the frame's boxes as slots, and kernel calls over
// them.
#ifndef PAIRSIEVE_COLLISION_GPU_FRAME_H
#define PAIRSIEVE_COLLISION_GPU_FRAME_H

#include "../../core/carver.h"
#include "../../core/gpu/gpu_backend.h"
#include "../../sort/src/sort_method.h"
#include "../src/broad_phase.h"

extern const psvi_gpu_source psvi_glsl_load_boxes, psvi_glsl_brute_pairs, psvi_glsl_lbvh_plan, psvi_glsl_lbvh_keys,
    psvi_glsl_lbvh_build, psvi_glsl_lbvh_merge, psvi_glsl_lbvh_walk, psvi_glsl_pack_pairs, psvi_glsl_diff_mark,
    psvi_glsl_diff_move, psvi_glsl_keep_pairs, psvi_glsl_shape_bounds, psvi_glsl_load_rules, psvi_glsl_exclude_pairs,
    psvi_glsl_narrow_boxes, psvi_glsl_name_pairs, psvi_glsl_rows_plan, psvi_glsl_rows_keys, psvi_glsl_rows_scan,
    psvi_glsl_rows_gather, psvi_glsl_rows_sweep;

#define PSVI_GPU_PLAN_BYTES 4096u

// A block of `count` elements of the caller's; `last`: bytes of the last one that are read. NULL: none.
static inline psvi_gpu_block psvi_gpu_span(const void *address, uint64_t count, uint64_t stride, uint64_t last) {
    if (count == 0) return (psvi_gpu_block){0};
    return (psvi_gpu_block){address, address == NULL ? 0 : (count - 1) * stride + last};
}

// Bytes are read by words: their block begins with a whole one, so many bytes before the first.
static inline uint32_t psvi_gpu_byte_rest(const uint8_t *bytes) { return (uint32_t)((uintptr_t)bytes % 4); }

static inline psvi_gpu_block psvi_gpu_byte_span(const uint8_t *bytes, uint64_t count) {
    const uint32_t rest = psvi_gpu_byte_rest(bytes);
    return psvi_gpu_span(bytes == NULL ? NULL : bytes - rest, count + rest, 1, 1);
}

// Memory of every method, at the start of its scratch memory.
typedef struct psvi_gpu_frame {
    char *slots;  // 32 bytes a box
    char *traits; // filters and fields for rules, see pair_rules.glsl
    char *plan;   // PSVI_GPU_PLAN_BYTES; the first words are for all methods
} psvi_gpu_frame;

// Boxes that there can be, at least 2: a method without pairs then needs no case of its own.
static inline uint64_t psvi_gpu_room(const psv_pair_finder_def *def) { return def->max_boxes < 2 ? 2 : def->max_boxes; }

psvi_gpu_frame psvi_gpu_carve_frame(psvi_carver *carver, const psv_pair_finder_def *def);

// Reads the box sets into slots, and clears the plan. Counts and lists bad boxes.
psv_status psvi_gpu_load_boxes(psv_context *context, const psvi_find_input *input, const psvi_gpu_frame *frame);

// Slots of the frame: set b's follow all that set a has room for.
static inline uint32_t psvi_gpu_slots(const psvi_find_input *input) {
    return (uint32_t)(input->a.room + (input->between ? input->b.room : 0));
}

// A call over the frame's slots: blocks 0 to 4, 6 and 11 and parameters 0 to 3 and 32 to 35 as slots.glsl,
// pair_sink.glsl and pair_rules.glsl have them. A kernel that finds pairs has RULES among its defines; blocks 6 and 11
// are the method's in others.
psvi_gpu_call psvi_gpu_frame_call(const psvi_find_input *input, const psvi_gpu_frame *frame,
                                  const psvi_gpu_source *source, uint64_t groups);

// The sorter of a method, in choice->state: `most` 32-bit keys with their positions. Bytes: size of its scratch memory.
// count_device: NULL, or how many of `count` keys there are.
uint64_t psvi_gpu_sorter_bytes(const psv_pair_finder_def *def, uint64_t most);
psv_status psvi_gpu_create_sorter(psvi_choice *choice, const char *scratch, uint64_t bytes, uint64_t most);
void psvi_gpu_destroy_sorter(psvi_choice *choice);
psv_status psvi_gpu_sort_places(const psvi_choice *choice, char *keys, char *places, uint64_t count,
                                const uint64_t *count_device);

// Refuses boxes or pairs that do not fit into a storage block, when a finder is created.
psv_status psvi_gpu_check_room(const psvi_choice *choice, const char *method, uint64_t bytes_a_box);

#endif
