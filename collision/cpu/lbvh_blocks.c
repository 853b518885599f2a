// Boxes against the boxes of a tree of `lbvh`, in blocks of 16 lanes.
#include "lbvh.h"

#define QUERY_FRONTIER 2048 // nodes of one level that the boxes reach, beyond which a node is searched on the spot

typedef struct lbvh_reached {
    uint32_t other, node; // node: 16 lanes of the level
} lbvh_reached;

typedef struct block_job {
    const lbvh_tree *tree;
    int level;
} block_job;

static void fill_some(void *data, uint64_t first, uint64_t end) {
    const block_job *job = data;
    const psvi_lanes *from = &job->tree->memory.lanes[job->level];
    for (uint64_t node = first; node < end; ++node) {
        const psvi_lanes to = psvi_block_lanes(job->tree, job->level, node);
        for (int k = 0; k < 3; ++k) {
            memcpy(to.min[k], from->min[k] + node * LBVH_WIDE, LBVH_WIDE * sizeof(float));
            memcpy(to.max[k], from->max[k] + node * LBVH_WIDE, LBVH_WIDE * sizeof(float));
        }
        memcpy(to.id, from->id + node * LBVH_WIDE, LBVH_WIDE * sizeof *to.id);
    }
}

void psvi_fill_blocks(psv_context *context, const lbvh_tree *tree) {
    for (int h = 0; h < tree->height; ++h) {
        block_job job = {tree, h};
        psvi_run_ranges(context, (tree->count[h] + LBVH_WIDE - 1) / LBVH_WIDE, 1024, fill_some, &job);
    }
}

// The lanes of node `node` of level h that the box reaches.
static uint32_t test_other(lbvh_search *search, const lbvh_other *other, int h, uint64_t node) {
    const psvi_lanes lanes = psvi_block_lanes(search->tree, h, node);
    const uint64_t first = node * LBVH_WIDE, begin = other->begin >> 4 * h, end = ((other->end - 1) >> 4 * h) + 1;
    ++search->tests;
    return psvi_clip_lanes(search->tree->test(&lanes, 0, other->box), first, begin, end);
}

static void take_hits(const lbvh_search *search, const lbvh_other *other, uint64_t node, uint32_t hits) {
    const psvi_lanes lanes = psvi_block_lanes(search->tree, 0, node);
    uint32_t ids[LBVH_WIDE], count = 0;
    for (; hits != 0; hits &= hits - 1)
        ids[count++] = lanes.id[__builtin_ctz(hits)];
    search->take(search->data, other, ids, count);
}

// Everything under one node, depth first.
static void search_node(lbvh_search *search, const lbvh_other *other, int top, uint64_t node) {
    uint64_t nodes[LBVH_MAX_HEIGHT];
    uint32_t hits[LBVH_MAX_HEIGHT];
    int h = top;
    nodes[h] = node;
    hits[h] = test_other(search, other, h, node);
    while (h <= top) {
        if (h == 0 && hits[0] != 0) take_hits(search, other, nodes[0], hits[0]);
        if (h == 0 || hits[h] == 0) {
            ++h;
            continue;
        }
        nodes[h - 1] = nodes[h] * LBVH_WIDE + (uint32_t)__builtin_ctz(hits[h]);
        hits[h] &= hits[h] - 1;
        --h;
        hits[h] = test_other(search, other, h, nodes[h]);
    }
}

// All but the ids, which only hits need.
static void prefetch_node(const lbvh_tree *tree, int h, uint64_t node) {
    const float *block = tree->memory.blocks[h] + node * LBVH_BLOCK;
    for (int k = 0; k < 6 * LBVH_WIDE; k += 16)
        __builtin_prefetch(block + k);
}

void psvi_search_blocks(lbvh_search *search, const lbvh_other *others, uint32_t count) {
    const lbvh_tree *tree = search->tree;
    lbvh_reached lists[2][QUERY_FRONTIER];
    uint32_t reached = count;
    for (uint32_t i = 0; i < count; ++i)
        lists[0][i] = (lbvh_reached){i, 0};
    for (int h = tree->height - 1, side = 0; h >= 0; --h, side ^= 1) {
        uint32_t next = 0;
        for (uint32_t r = 0; r < reached; ++r) {
            const lbvh_reached at = lists[side][r];
            const lbvh_other *other = &others[at.other];
            uint32_t hits = test_other(search, other, h, at.node);
            if (h == 0) {
                if (hits != 0) take_hits(search, other, at.node, hits);
                continue;
            }
            for (; hits != 0; hits &= hits - 1) {
                const uint32_t node = at.node * LBVH_WIDE + (uint32_t)__builtin_ctz(hits);
                if (next == QUERY_FRONTIER) {
                    search_node(search, other, h - 1, node);
                    continue;
                }
                prefetch_node(tree, h - 1, node);
                lists[side ^ 1][next++] = (lbvh_reached){at.other, node};
            }
        }
        reached = next;
    }
}
