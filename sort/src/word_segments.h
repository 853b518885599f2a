// Segmented sorts of keys of 8, 16 and 128 bits, through segmented sorts of the words that stand for them
// (word_keys.h).
#ifndef PAIRSIEVE_WORD_SEGMENTS_H
#define PAIRSIEVE_WORD_SEGMENTS_H

#include "segment_method.h"
#include "word_keys.h"

// Bytes of scratch for a def with end_bit set.
uint64_t psvi_word_segments_bytes(psv_backend backend, const psv_segment_sorter_def *def);

// Makes sorter->words; its scratch is there already. On failure there is nothing to destroy.
psv_status psvi_create_word_segments(psv_segment_sorter *sorter);
void psvi_destroy_word_segments(psv_segment_sorter *sorter);
psv_status psvi_run_word_segments(psv_segment_sorter *sorter, const psvi_segment_request *request);

// The sorter of words that knows whether the offsets of the last call were good.
psv_segment_sorter *psvi_checked_word_segments(const psv_segment_sorter *sorter);

#endif
