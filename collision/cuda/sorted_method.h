// What the CUDA broad-phase methods that sort share on the host: their scratch memory, creation and destruction.
#ifndef PAIRSIEVE_COLLISION_SORTED_METHOD_H
#define PAIRSIEVE_COLLISION_SORTED_METHOD_H

#include "../../sort/src/sort_method.h"
#include "launch_cuda.h"

// A method's state begins with this.
typedef struct psvi_sorted_state {
    psv_sorter *sorter;
} psvi_sorted_state;

typedef struct psvi_sorted_method {
    const char *name;
    uint64_t most_boxes; // that can be named
    size_t state_bytes;  // at most PSVI_SORTED_STATE_MOST
    psv_sorter_def (*sorter_def)(const psv_pair_finder_def *def);
    // Sets the state's addresses; the sorter's own memory is carved after them.
    void (*layout)(psvi_carver *carver, const psv_pair_finder_def *def, void *state);
} psvi_sorted_method;

#define PSVI_SORTED_STATE_MOST 512

// At least 2, so that a method without pairs needs no case of its own.
static inline uint64_t psvi_room_of(const psv_pair_finder_def *def) { return def->max_boxes < 2 ? 2 : def->max_boxes; }

// 32-bit keys with 32-bit values, by the finder's sorting method: a key a box, or so many keys.
psv_sorter_def psvi_box_sorter_def(const psv_pair_finder_def *def);
psv_sorter_def psvi_key_sorter_def(const psv_pair_finder_def *def, uint64_t most_keys);
// Sorts the keys of a frame's boxes, with their places as values; `slots`: how many, where the device has the count.
psv_status psvi_sort_box_keys(psv_sorter *sorter, const psvi_find_input *input, uint32_t *keys, uint32_t *keys_out,
                              uint32_t *order, const uint64_t *slots);

uint64_t psvi_sorted_scratch_bytes(const psvi_sorted_method *method, const psv_pair_finder_def *def);
psv_status psvi_create_sorted(psvi_choice *choice, const psvi_sorted_method *method);
void psvi_destroy_sorted(psvi_choice *choice);
psv_status psvi_sorted_statistics(const psvi_choice *choice, uint32_t key_bits, psv_pair_statistics *statistics);

#endif
