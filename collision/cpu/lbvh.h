// The tree of `lbvh`: its memory and levels, and the blocks in which boxes are searched that the tree does not have.
#ifndef PAIRSIEVE_LBVH_H
#define PAIRSIEVE_LBVH_H

#include "../src/broad_phase.h"
#include "lbvh_halves.h"

#define LBVH_WIDE 16
#define LBVH_MAX_HEIGHT 8          // 16^8 boxes
#define LBVH_BLOCK (7 * LBVH_WIDE) // numbers of a node's lanes: six of each box, and its id

typedef struct lbvh_memory {
    uint32_t *ids, *order;
    void *keys;                        // u32, or u64 with the world in the upper half
    psvi_lanes lanes[LBVH_MAX_HEIGHT]; // lanes[0]: sorted boxes; lanes[h]: bounds of 16 of lanes[h - 1] each
    float *blocks[LBVH_MAX_HEIGHT];    // kept boxes: the lanes with those of a node side by side, see psvi_fill_blocks
    uint32_t *slots;                   // boxes that are followed: the place of each, see lbvh_follow.c
    lbvh_centre *centres[2];           // while boxes are ordered by halves
    psv_buffer sorter;
} lbvh_memory;

typedef struct lbvh_tree {
    const psvi_find_input *input;
    lbvh_memory memory;
    int height; // levels in use, boxes included; the top one has at most 16 nodes
    uint64_t count[LBVH_MAX_HEIGHT];
    bool wide;
    psvi_test_lanes test;
} lbvh_tree;

lbvh_tree psvi_lbvh_tree_of(const psvi_choice *choice, const psvi_find_input *input);

// Levels and their numbers of nodes.
void psvi_size_lbvh(lbvh_tree *tree, uint64_t count);

// Orders the living boxes and builds the tree over them; state->boxes is their number.
psv_status psvi_build_lbvh(const psvi_choice *choice, lbvh_tree *tree);

// With several worlds: first of the tree's `count` sorted boxes whose world is not below `world`.
uint64_t psvi_world_begin(const lbvh_tree *tree, uint64_t count, uint64_t world);

// Mask of the lanes [first, first + 16) that are in [begin, end).
static inline uint32_t psvi_clip_lanes(uint32_t hits, uint64_t first, uint64_t begin, uint64_t end) {
    if (end - first < LBVH_WIDE) hits &= (1u << (end - first)) - 1;
    if (begin > first) hits &= begin - first < LBVH_WIDE ? ~0u << (begin - first) : 0;
    return hits;
}

// --- blocks ----------------------------------------------------------------------------------------------------------

#define LBVH_QUERY_CHUNK 64 // boxes that a thread takes at a time

// A box that is searched for, and the places of the tree's boxes that it is tested against.
typedef struct lbvh_other {
    uint32_t id, order; // order: for who takes the hits
    float box[6];
    uint64_t begin, end;
} lbvh_other;

// Receives boxes of the tree that one of the others overlaps, at most 16 at a time.
typedef void lbvh_take_hits(void *data, const lbvh_other *other, const uint32_t *ids, uint32_t count);

typedef struct lbvh_search {
    const lbvh_tree *tree;
    lbvh_take_hits *take;
    void *data;
    uint64_t tests; // of a node's lanes
} lbvh_search;

// The block of a node as lanes.
static inline psvi_lanes psvi_block_lanes(const lbvh_tree *tree, int h, uint64_t node) {
    float *block = tree->memory.blocks[h] + node * LBVH_BLOCK;
    psvi_lanes lanes;
    for (int k = 0; k < 3; ++k) {
        lanes.min[k] = block + LBVH_WIDE * k;
        lanes.max[k] = block + LBVH_WIDE * (3 + k);
    }
    lanes.id = (uint32_t *)(void *)(block + LBVH_WIDE * 6);
    return lanes;
}

// In a tree that serves many frames the lanes of a node are adjacent: seven lines in a row, where the lanes of all
// boxes lie in seven arrays. A box among a million is then found in half of the time.
void psvi_fill_blocks(psv_context *context, const lbvh_tree *tree);

// Finds the tree's boxes that some boxes overlap, level by level, so that loads for one box overlap with tests of the
// others. At most LBVH_QUERY_CHUNK boxes.
void psvi_search_blocks(lbvh_search *search, const lbvh_other *others, uint32_t count);

// --- boxes that are followed (lbvh_follow.c) -------------------------------------------------------------------------

psv_status psvi_settle_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);
void psvi_move_in_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);
void psvi_reach_in_lbvh(const psvi_choice *choice, const psvi_find_input *input, psvi_follow *follow);

#endif
