// What the CPU's methods that sort boxes by one key share: the sorter of the keys, with the world above them where
// there are several worlds.
#ifndef PAIRSIEVE_KEYED_METHOD_H
#define PAIRSIEVE_KEYED_METHOD_H

#include "../src/broad_phase.h"
#include "pairsieve/sort.h"

// Keys are u64 then, with the world in the upper half.
static inline bool psvi_has_worlds(const psv_pair_finder_def *def) { return def->world_count > 1; }

// A sorter of `most_keys` u32 keys with their places, or of u64 keys as above.
psv_sorter_def psvi_keyed_sorter_def(const psv_pair_finder_def *def, uint64_t most_keys);

// A sorter as all of choice->state, its destruction and its counters.
psv_status psvi_create_keyed(psvi_choice *choice, const psv_sorter_def *sorter);
void psvi_destroy_keyed(psvi_choice *choice);
psv_status psvi_keyed_statistics(const psvi_choice *choice, psv_pair_statistics *statistics);

#endif
