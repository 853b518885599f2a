// The fine tree on CUDA. Bottom up: items in the order of their keys are clusters. Each looks a few places to both
// sides for the one with which its box would stay smallest. Two that choose each other become one (Meister, Bittner,
// «Parallel locally-ordered clustering for BVH construction», 2018). A block does this to 512 clusters in shared memory
// until 32 are left. The next launch continues with those of sixteen blocks, until one cluster is left (as H-PLOC does
// in warps: Benthin, Meister, Barczak, Mehalwal, Tsakok, Kensler, 2024). Then from the top down, a launch a level: a
// node takes the children of the binary tree with the largest surfaces until it has eight.
//
// Rays test an item's own box in any case, so the cost of a tree is the surface of its nodes. A subtree of up to eight
// items fits into one node: it is only split where that makes the surface less, and absorbed where it fits whole. Rays
// through a sheet of triangles then visit 6% more nodes than in the best choice of all (Ylitie 2017), 10% more where
// sizes differ a lot, for a seventh of its memory.
#include "broad_phase_tuning.h"
#include "launch_cuda.h"
#include "tree_kernels.h"
#include "tree_team.cuh"

#define FINE_CHUNK 512u // clusters of a block
#define FINE_KEPT 32u   // that it leaves
#define FINE_RADIUS 4   // places that a cluster looks to each side
#define FINE_TURNS 8u   // after which neighbours are joined, two by two: so the tree is never deeper than walks can go
#define FINE_BY_SURFACE 10u // levels whose nodes are filled by surface; those below by height, for the same reason
#define FINE_THREADS 256
#define FINE_BLOCKS 1056u // of a level: two rounds on a large device; levels without nodes then cost nearly nothing
#define FINE_REST_THREADS 512
#define FINE_NONE 0xffffffffu
#define FINE_ITEM 0x80000000u // a reference to an item, not to a node
#define FINE_SMALL ((uint32_t)PSVI_SMALL_ITEMS)

// Node of the binary tree. A reference is a node's number or, with FINE_ITEM, an item's.
struct fine_node {
    float min[3];
    uint32_t left;
    float max[3];
    uint32_t right;
};

// What filling a node needs to know of a subtree: items, 9 for more than 8, in bits 0 to 3; height in bits 4 to 15;
// above them the upper half of a float, the weight with which it asks to be taken apart.
typedef uint32_t fine_shape;
#define FINE_SHAPE 0xffffu // without the weight

struct fine_cluster {
    uint32_t reference, shape;
};

struct fine_counts {
    uint32_t nodes[PSV_TREE_STACK + 2]; // of each level but the uppermost
    uint32_t begin[PSV_TREE_STACK + 2]; // number of its first node
    uint32_t items;                     // that have a place
};

struct fine_scratch {
    fine_node *nodes;
    fine_shape *shapes;
    fine_cluster *clusters[2];
    fine_counts *counts;
};

// --- memory ---------------------------------------------------------------------------------------------------------

static uint64_t chunks_of(uint64_t slots) { return (slots + FINE_CHUNK - 1) / FINE_CHUNK; }

// Numbers of nodes that all launches together hand out: each block has as many as it has clusters.
static uint64_t numbers_of(uint64_t items) {
    uint64_t numbers = 0, slots = items;
    for (;; slots = chunks_of(slots) * FINE_KEPT) {
        numbers += chunks_of(slots) * FINE_CHUNK;
        if (slots <= FINE_CHUNK) return numbers;
    }
}

static uint64_t lay_out_fine(void *base, uint64_t items, fine_scratch *scratch) {
    psvi_carver carver = {(char *)base, 0};
    const uint64_t numbers = numbers_of(items), slots = chunks_of(items) * FINE_KEPT;
    scratch->nodes = (fine_node *)psvi_carve(&carver, numbers * sizeof(fine_node));
    scratch->shapes = (fine_shape *)psvi_carve(&carver, numbers * sizeof(fine_shape));
    scratch->clusters[0] = (fine_cluster *)psvi_carve(&carver, slots * sizeof(fine_cluster));
    scratch->clusters[1] = (fine_cluster *)psvi_carve(&carver, slots * sizeof(fine_cluster));
    scratch->counts = (fine_counts *)psvi_carve(&carver, sizeof(fine_counts));
    return carver.used;
}

extern "C" uint64_t psvi_fine_tree_bytes(uint64_t items) {
    fine_scratch scratch;
    return lay_out_fine(NULL, items, &scratch);
}

// --- the binary tree ------------------------------------------------------------------------------------------------

__device__ __forceinline__ float fine_side(float low, float high) {
    return psv_max(psv_min(psv_sub(high, low), 1e18f), 0.0f);
}

// Half of a box's surface; what is infinite counts as large.
__device__ __forceinline__ float fine_surface(const float min[3], const float max[3]) {
    const float x = fine_side(min[0], max[0]), y = fine_side(min[1], max[1]), z = fine_side(min[2], max[2]);
    return psv_add(psv_add(psv_mul(x, y), psv_mul(y, z)), psv_mul(z, x));
}

__device__ __forceinline__ void load_item_box(const psvi_item_view &view, uint32_t id, float min[3], float max[3]) {
    psvi_item item;
    if (psvi_load_item(&view, id, &item) != PSVI_ITEM_GOOD) psvi_mark_off(&item);
    for (int k = 0; k < 3; ++k) {
        min[k] = item.min[k];
        max[k] = item.max[k];
    }
}

// Clusters of a block, side by side.
struct fine_chunk {
    float min[3][FINE_CHUNK], max[3][FINE_CHUNK];
    uint32_t reference[FINE_CHUNK];
    uint16_t shape[FINE_CHUNK], nearest[FINE_CHUNK];
    uint32_t sums[FINE_CHUNK / 32];
};

struct fine_own {
    float min[3], max[3];
    uint32_t reference, shape;
};

__device__ __forceinline__ fine_own read_cluster(const fine_chunk &chunk, uint32_t i) {
    fine_own own;
    for (int k = 0; k < 3; ++k) {
        own.min[k] = chunk.min[k][i];
        own.max[k] = chunk.max[k][i];
    }
    own.reference = chunk.reference[i];
    own.shape = chunk.shape[i];
    return own;
}

__device__ __forceinline__ void write_cluster(fine_chunk &chunk, uint32_t i, const fine_own &own) {
    for (int k = 0; k < 3; ++k) {
        chunk.min[k][i] = own.min[k];
        chunk.max[k][i] = own.max[k];
    }
    chunk.reference[i] = own.reference;
    chunk.shape[i] = (uint16_t)own.shape;
}

// Sum of `value` over the threads before this one; *total: over all. Two barriers.
__device__ __forceinline__ uint32_t sum_before(fine_chunk &chunk, uint32_t value, uint32_t *total) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= (uint32_t)step) sum += other;
    }
    __syncthreads(); // sums of a call before are read, and so are the clusters that are to be written over
    if (lane == 31) chunk.sums[warp] = sum;
    __syncthreads();
    uint32_t before = 0, all = 0;
    for (uint32_t w = 0; w < FINE_CHUNK / 32; ++w) {
        before += w < warp ? chunk.sums[w] : 0;
        all += chunk.sums[w];
    }
    *total = all;
    return before + sum - value;
}

// The cluster that joined with cluster i has the smallest surface; i itself: none. Equal ones: those two by two that
// stand so, that the same choice is made on both sides.
__device__ __forceinline__ uint32_t nearest_cluster(const fine_chunk &chunk, uint32_t i, uint32_t count, bool by_two) {
    uint32_t best = i ^ 1u;
    if (best >= count) best = i;
    if (by_two) return best;
    const fine_own own = read_cluster(chunk, i);
    float least = INFINITY;
    for (int d = 0; d <= 2 * FINE_RADIUS; ++d) {
        // The partner first, then one place to the left, one to the right, and so on.
        const uint32_t away = (uint32_t)(d + 1) / 2;
        const uint32_t other = d == 0 ? best : d % 2 != 0 ? i - away : i + away;
        if (other >= count || other == i) continue; // to the left of 0 are large numbers
        float min[3], max[3];
        for (int k = 0; k < 3; ++k) {
            min[k] = psv_min(own.min[k], chunk.min[k][other]);
            max[k] = psv_max(own.max[k], chunk.max[k][other]);
        }
        const float surface = fine_surface(min, max);
        if (!(surface < least)) continue;
        least = surface;
        best = other;
    }
    return best;
}

// Joins two clusters under a new node; *own becomes that node.
__device__ __forceinline__ void join_clusters(const fine_scratch &scratch, uint32_t number, fine_own *own,
                                              const fine_own &other) {
    const uint32_t items = min((own->shape & 15u) + (other.shape & 15u), FINE_SMALL + 1);
    const float parts = psv_add((own->reference & FINE_ITEM) != 0 ? 0.0f : fine_surface(own->min, own->max),
                                (other.reference & FINE_ITEM) != 0 ? 0.0f : fine_surface(other.min, other.max));
    fine_node node;
    for (int k = 0; k < 3; ++k) {
        own->min[k] = node.min[k] = psv_min(own->min[k], other.min[k]);
        own->max[k] = node.max[k] = psv_max(own->max[k], other.max[k]);
    }
    node.left = own->reference;
    node.right = other.reference;
    own->reference = number;
    own->shape = items | (max(own->shape >> 4, other.shape >> 4) + 1) << 4;
    // Taken apart, a node for all gives way to one for each side that is not an item of its own.
    const float surface = fine_surface(own->min, own->max);
    const float weight = items > FINE_SMALL ? surface : psv_max(psv_sub(surface, parts), 0.0f);
    float4 *to = reinterpret_cast<float4 *>(scratch.nodes + number);
    to[0] = make_float4(node.min[0], node.min[1], node.min[2], __uint_as_float(node.left));
    to[1] = make_float4(node.max[0], node.max[1], node.max[2], __uint_as_float(node.right));
    scratch.shapes[number] = own->shape | (__float_as_uint(weight) & ~FINE_SHAPE);
}

__device__ __forceinline__ void load_reference_box(const psvi_item_view &view, const fine_scratch &scratch,
                                                   uint32_t reference, float min[3], float max[3]) {
    if (reference & FINE_ITEM) {
        load_item_box(view, reference & ~FINE_ITEM, min, max);
        return;
    }
    const float4 *from = reinterpret_cast<const float4 *>(scratch.nodes + reference);
    const float4 a = from[0], b = from[1];
    min[0] = a.x, min[1] = a.y, min[2] = a.z;
    max[0] = b.x, max[1] = b.y, max[2] = b.z;
}

// One block: 512 slots, of `from` or (NULL) items in the order of their keys, become 32, or 1 where `left` says so.
// Slots without a cluster are FINE_NONE. Nodes get the numbers from first + 512 block on. Reads a cluster and its box
// once; a turn has five barriers.
__global__ void __launch_bounds__(FINE_CHUNK)
    psvk_fine_merge(const psvi_item_view view, const psvi_tree_memory memory, const fine_scratch scratch,
                    const fine_cluster *from, fine_cluster *to, uint32_t slots, uint32_t first, uint32_t left) {
    __shared__ fine_chunk chunk;
    const uint32_t i = threadIdx.x, slot = blockIdx.x * FINE_CHUNK + i;
    fine_cluster loaded = {FINE_NONE, 1};
    if (from == NULL && slot < memory.head->item_count) loaded.reference = memory.order[slot] | FINE_ITEM;
    if (from != NULL && slot < slots) loaded = from[slot];
    uint32_t count;
    const uint32_t place = sum_before(chunk, loaded.reference != FINE_NONE, &count);
    if (loaded.reference != FINE_NONE) {
        fine_own own;
        load_reference_box(view, scratch, loaded.reference, own.min, own.max);
        own.reference = loaded.reference;
        own.shape = loaded.shape;
        write_cluster(chunk, place, own);
    }
    uint32_t number = first + blockIdx.x * FINE_CHUNK;
    for (uint32_t turn = 0; count > left; ++turn) {
        __syncthreads();
        if (i < count) chunk.nearest[i] = (uint16_t)nearest_cluster(chunk, i, count, turn >= FINE_TURNS);
        __syncthreads();
        bool stays = i < count, joins = false;
        fine_own own, other;
        if (i < count) {
            const uint32_t partner = chunk.nearest[i];
            const bool both = partner != i && chunk.nearest[partner] == i;
            joins = both && i < partner;
            stays = !both || joins;
            own = read_cluster(chunk, i);
            if (joins) other = read_cluster(chunk, partner);
        }
        uint32_t sums;
        const uint32_t before = sum_before(chunk, (uint32_t)stays | (uint32_t)joins << 16, &sums);
        if (joins) join_clusters(scratch, number + (before >> 16), &own, other);
        if (stays) write_cluster(chunk, before & 0xffffu, own);
        number += sums >> 16;
        count = sums & 0xffffu;
    }
    __syncthreads();
    if (i >= FINE_KEPT) return;
    const fine_cluster none = {FINE_NONE, 0}, kept = {chunk.reference[i], chunk.shape[i]};
    to[blockIdx.x * FINE_KEPT + i] = i < count ? kept : none;
}

// --- nodes ----------------------------------------------------------------------------------------------------------

// Eight lanes that fill a node, a child each.
struct fine_team {
    unsigned mask;
    uint32_t lane, count;
    uint32_t reference, shape, left, right; // of the lane's child
    float min[3], max[3];
    bool absorbed; // it is to be taken apart whole
    uint32_t free; // of lane i: the binary node that was taken apart for its i-th child
};

__device__ __forceinline__ bool is_inner(const fine_team &team) {
    return team.lane < team.count && (team.reference & FINE_ITEM) == 0;
}

__device__ __forceinline__ uint32_t team_ballot(const fine_team &team, bool vote) {
    return __ballot_sync(team.mask, vote) >> (threadIdx.x & 24) & 0xffu;
}

// The lane's child is `reference` now. Boxes of items come later.
__device__ __forceinline__ void take_reference(const fine_scratch &scratch, fine_team &team, uint32_t reference) {
    team.reference = reference;
    team.shape = 1;
    if (reference & FINE_ITEM) return;
    const float4 *from = reinterpret_cast<const float4 *>(scratch.nodes + reference);
    const float4 a = from[0], b = from[1];
    team.min[0] = a.x, team.min[1] = a.y, team.min[2] = a.z;
    team.max[0] = b.x, team.max[1] = b.y, team.max[2] = b.z;
    team.left = __float_as_uint(a.w);
    team.right = __float_as_uint(b.w);
    team.shape = scratch.shapes[reference];
}

// The child of lane `opened` gives way to its two children.
__device__ __forceinline__ void open_child(const fine_scratch &scratch, fine_team &team, uint32_t opened) {
    const uint32_t left = __shfl_sync(team.mask, team.left, (int)opened, 8);
    const uint32_t right = __shfl_sync(team.mask, team.right, (int)opened, 8);
    const bool absorbed = __shfl_sync(team.mask, (int)team.absorbed, (int)opened, 8) != 0;
    const uint32_t freed = __shfl_sync(team.mask, team.reference, (int)opened, 8);
    if (team.lane == opened) take_reference(scratch, team, left);
    if (team.lane == team.count) {
        team.free = freed;
        take_reference(scratch, team, right);
        team.absorbed = absorbed;
    }
    ++team.count;
}

// The lane with the greatest weight of those that may be chosen; 8: none.
__device__ __forceinline__ uint32_t heaviest_child(const fine_team &team, bool may, uint32_t weight) {
    uint32_t own = may ? weight + 1 : 0, most = own;
    for (int step = 1; step < 8; step *= 2)
        most = max(most, __shfl_xor_sync(team.mask, most, step));
    if (most == 0) return 8;
    return psv_low_bit(team_ballot(team, own == most));
}

// Subtrees of up to 8 items give way to these as long as there is room, those with the largest surface first.
__device__ __forceinline__ void absorb_children(const fine_scratch &scratch, fine_team &team) {
    for (uint32_t room = 8 - team.count;;) {
        const uint32_t waiting = team_ballot(team, is_inner(team) && team.absorbed);
        if (waiting != 0) {
            open_child(scratch, team, psv_low_bit(waiting));
            continue;
        }
        const uint32_t more = (team.shape & 15u) - 1;
        const bool may = is_inner(team) && more < FINE_SMALL && more <= room;
        const uint32_t chosen = heaviest_child(team, may, may ? __float_as_uint(fine_surface(team.min, team.max)) : 0);
        if (chosen == 8) break;
        if (team.lane == chosen) team.absorbed = true;
        room -= __shfl_sync(team.mask, more, (int)chosen, 8);
    }
}

// The two small children that are best joined: the lane of the first in bits 3 to 5, that of the second in bits 0 to 2.
// 64: there are none that together fit into one node.
__device__ __forceinline__ uint32_t closest_children(const fine_team &team, uint32_t items) {
    uint32_t best = 0xffffffffu;
    for (uint32_t j = 1; j < 8; ++j) {
        const uint32_t others = __shfl_sync(team.mask, items, (int)j, 8);
        float min[3], max[3];
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            min[axis] = psv_min(team.min[axis], __shfl_sync(team.mask, team.min[axis], (int)j, 8));
            max[axis] = psv_max(team.max[axis], __shfl_sync(team.mask, team.max[axis], (int)j, 8));
        }
        if (team.lane < j && items != 0 && others != 0 && items + others <= FINE_SMALL)
            best = ::min(best, (__float_as_uint(fine_surface(min, max)) & ~63u) | team.lane << 3 | j);
    }
    for (int step = 1; step < 8; step *= 2)
        best = ::min(best, __shfl_xor_sync(team.mask, best, step));
    return best == 0xffffffffu ? 64 : best & 63u;
}

// Joins two small children where the node would fall short of PSVI_LEAST_FILL, under a binary node that was taken apart
// before; false: it does not, or there are none. `joined`: how many times that was done.
__device__ __forceinline__ bool join_children(const fine_scratch &scratch, fine_team &team, uint32_t joined) {
    const uint32_t items = is_inner(team) && (team.shape & 15u) <= FINE_SMALL ? team.shape & 15u : 0;
    int filled = team.lane >= team.count ? 0 : items != 0 ? (int)items - 4 : 1;
    for (int step = 1; step < 8; step *= 2)
        filled += __shfl_xor_sync(team.mask, filled, step);
    if (filled >= PSVI_LEAST_FILL) return false;
    const uint32_t pair = closest_children(team, items), first = pair >> 3, second = pair & 7u;
    if (pair == 64) return false;
    const uint32_t number = __shfl_sync(team.mask, team.free, (int)joined + 1, 8);
    const uint32_t other = __shfl_sync(team.mask, team.reference, (int)second, 8);
    const uint32_t other_shape = __shfl_sync(team.mask, team.shape, (int)second, 8);
    const uint32_t last = team.count - 1;
    // The lane of the first gets both, that of the second the last child.
    const int from = team.lane == first ? (int)second : team.lane == second ? (int)last : (int)team.lane;
    float min[3], max[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        min[axis] = __shfl_sync(team.mask, team.min[axis], from, 8);
        max[axis] = __shfl_sync(team.mask, team.max[axis], from, 8);
    }
    const uint32_t reference = __shfl_sync(team.mask, team.reference, from, 8);
    const uint32_t shape = __shfl_sync(team.mask, team.shape, from, 8);
    const uint32_t left = __shfl_sync(team.mask, team.left, from, 8);
    const uint32_t right = __shfl_sync(team.mask, team.right, from, 8);
    if (team.lane == first) {
        team.left = team.reference;
        team.right = other;
        team.reference = number;
        team.shape = ((team.shape & 15u) + (other_shape & 15u)) |
                     (::max(team.shape & FINE_SHAPE, other_shape & FINE_SHAPE) >> 4) + 1 << 4;
        for (int axis = 0; axis < 3; ++axis) {
            team.min[axis] = psv_min(team.min[axis], min[axis]);
            team.max[axis] = psv_max(team.max[axis], max[axis]);
        }
        float4 *to = reinterpret_cast<float4 *>(scratch.nodes + number);
        to[0] = make_float4(team.min[0], team.min[1], team.min[2], __uint_as_float(team.left));
        to[1] = make_float4(team.max[0], team.max[1], team.max[2], __uint_as_float(team.right));
        scratch.shapes[number] = team.shape;
    } else if (team.lane == second) {
        team.reference = reference;
        team.shape = shape;
        team.left = left;
        team.right = right;
        for (int axis = 0; axis < 3; ++axis) {
            team.min[axis] = min[axis];
            team.max[axis] = max[axis];
        }
    }
    --team.count;
    return true;
}

// Takes the tree apart under the root reference until there are eight children, or none is left that should be.
__device__ __forceinline__ void fill_node(const fine_scratch &scratch, fine_team &team, bool by_surface) {
    if (team_ballot(team, team.lane == 0 && is_inner(team)) != 0) open_child(scratch, team, 0);
    while (team.count < 8) {
        const bool large = (team.shape & 15u) > FINE_SMALL;
        const uint32_t weight = by_surface ? team.shape & ~FINE_SHAPE : team.shape & FINE_SHAPE;
        const uint32_t opened = heaviest_child(team, is_inner(team) && (large || (by_surface && weight != 0)), weight);
        if (opened == 8) break;
        open_child(scratch, team, opened);
    }
    absorb_children(scratch, team);
    for (uint32_t joined = 0; join_children(scratch, team, joined); ++joined)
        absorb_children(scratch, team);
}

// Makes node `number` of level h, whose root reference and parent were left in it. Its inner children are the next
// level's nodes, from `below` on.
__device__ __forceinline__ void make_fine_node(const psvi_item_view &view, const psvi_tree_memory &memory,
                                               const fine_scratch &scratch, uint32_t root, uint32_t number, uint32_t h,
                                               uint32_t below, psv_tree_node *node) {
    fine_team team;
    team.mask = 0xffu << (threadIdx.x & 24);
    team.lane = threadIdx.x & 7;
    team.count = 1;
    team.reference = FINE_ITEM;
    team.left = team.right = team.shape = team.free = 0;
    for (int axis = 0; axis < 3; ++axis)
        team.min[axis] = team.max[axis] = 0;
    team.absorbed = false;
    uint32_t parent = 0;
    if (team.lane == 0) {
        take_reference(scratch, team, number == 0 ? root : __ldcg(&memory.nodes[number].first_child));
        if (number != 0) parent = __ldcg(&memory.nodes[number].parent);
    }
    fill_node(scratch, team, h < FINE_BY_SURFACE);
    const bool inner = is_inner(team), item = team.lane < team.count && !inner;
    const uint32_t inners = team_ballot(team, inner), items = team_ballot(team, item);
    const uint32_t before = (1u << team.lane) - 1;
    uint32_t first_child = 0, first_item = 0;
    if (team.lane == 0) {
        if (inners != 0) first_child = below + atomicAdd(&scratch.counts->nodes[h + 1], (uint32_t)__popc(inners));
        if (items != 0) first_item = atomicAdd(&scratch.counts->items, (uint32_t)__popc(items));
    }
    first_child = __shfl_sync(team.mask, first_child, 0, 8);
    first_item = __shfl_sync(team.mask, first_item, 0, 8);
    psvi_lane_child child = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0, inner};
    if (inner) {
        child.offset = (uint32_t)__popc(inners & before);
        for (int k = 0; k < 3; ++k) {
            child.min[k] = team.min[k];
            child.max[k] = team.max[k];
        }
        memory.nodes[first_child + child.offset].first_child = team.reference;
        memory.nodes[first_child + child.offset].parent = number;
    }
    if (item) {
        child.offset = (uint32_t)__popc(items & before);
        memory.order[first_item + child.offset] = team.reference & ~FINE_ITEM;
        load_item_box(view, team.reference & ~FINE_ITEM, child.min, child.max);
    }
    psvi_make_team_node<false>(team.mask, child, team.count, node);
    if (team.lane == 0) {
        node->first_child = first_child;
        node->first_item = first_item;
        node->parent = parent | (team.count - 1) << 29;
    }
    psvi_store_team_node(team.mask, memory, number, node);
    __syncwarp(team.mask); // the next node is made in the same place
}

__device__ __forceinline__ uint32_t nodes_of_level(const psvi_tree_memory &memory, const fine_scratch &scratch,
                                                   uint32_t h) {
    return h == 0 ? memory.head->item_count > 0 : __ldcg(&scratch.counts->nodes[h]);
}

// Eight lanes a node of level h. Reads about 40 bytes for each child of the binary tree that it looks at, writes 104.
__global__ void __launch_bounds__(FINE_THREADS)
    psvk_fine_level(const psvi_item_view view, const psvi_tree_memory memory, const fine_scratch scratch,
                    const fine_cluster *root, uint32_t h) {
    __shared__ __align__(16) psv_tree_node made[FINE_THREADS / 8];
    const uint32_t count = nodes_of_level(memory, scratch, h), begin = __ldcg(&scratch.counts->begin[h]);
    if (blockIdx.x == 0 && threadIdx.x == 0) scratch.counts->begin[h + 1] = begin + count;
    for (uint32_t i = (blockIdx.x * FINE_THREADS + threadIdx.x) / 8; i < count; i += gridDim.x * (FINE_THREADS / 8))
        make_fine_node(view, memory, scratch, root->reference, begin + i, h, begin + count, &made[threadIdx.x / 8]);
}

// One block: the levels from h on, of which there are none in most trees; and the head.
__global__ void __launch_bounds__(FINE_REST_THREADS)
    psvk_fine_rest(const psvi_item_view view, const psvi_tree_memory memory, const fine_scratch scratch,
                   const fine_cluster *root, uint32_t h) {
    __shared__ __align__(16) psv_tree_node made[FINE_REST_THREADS / 8];
    uint32_t begin = __ldcg(&scratch.counts->begin[h]), levels = 0;
    while (levels < h && nodes_of_level(memory, scratch, levels) > 0)
        ++levels;
    for (; h < PSV_TREE_STACK; ++h) {
        const uint32_t count = nodes_of_level(memory, scratch, h);
        if (count == 0) break;
        for (uint32_t i = threadIdx.x / 8; i < count; i += FINE_REST_THREADS / 8)
            make_fine_node(view, memory, scratch, root->reference, begin + i, h, begin + count, &made[threadIdx.x / 8]);
        begin += count;
        ++levels;
        __threadfence();
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    memory.head->linear = 0;
    memory.head->node_count = begin;
    memory.head->level_count = levels;
}

extern "C" cudaError_t psvi_launch_fine_tree(const psvi_item_view *view, const psvi_tree_memory *memory,
                                             uint64_t max_items, cudaStream_t stream) {
    fine_scratch scratch;
    (void)lay_out_fine(memory->fine, max_items, &scratch);
    cudaError_t error = cudaMemsetAsync(scratch.counts, 0, sizeof *scratch.counts, stream);
    if (error != cudaSuccess) return error;
    const fine_cluster *from = NULL;
    uint32_t turn = 0, first = 0;
    for (uint64_t slots = view->boxes.count;; turn ^= 1u) {
        const uint32_t blocks = (uint32_t)chunks_of(slots);
        psvk_fine_merge<<<blocks, FINE_CHUNK, 0, stream>>>(*view, *memory, scratch, from, scratch.clusters[turn],
                                                           (uint32_t)slots, first, blocks == 1 ? 1 : FINE_KEPT);
        from = scratch.clusters[turn];
        first += blocks * FINE_CHUNK;
        if (blocks == 1) break;
        slots = (uint64_t)blocks * FINE_KEPT;
    }
    // Levels have mostly five times the nodes of the one above.
    const uint64_t most = psvi_fine_tree_nodes(view->boxes.count);
    uint32_t h = 0;
    for (uint64_t reached = 1; reached < 32 * most && h < PSV_TREE_STACK / 2; ++h, reached *= 4) {
        const uint64_t widest = h < 10 ? (uint64_t)1 << (3 * h) : most, teams = widest < most ? widest : most;
        const uint32_t needed = psvi_block_count(teams, FINE_THREADS / 8);
        const uint32_t blocks = needed > FINE_BLOCKS ? FINE_BLOCKS : needed;
        psvk_fine_level<<<blocks, FINE_THREADS, 0, stream>>>(*view, *memory, scratch, from, h);
    }
    psvk_fine_rest<<<1, FINE_REST_THREADS, 0, stream>>>(*view, *memory, scratch, from, h);
    return cudaGetLastError();
}

// --- refit ----------------------------------------------------------------------------------------------------------

// A node's own box in steps of its grid, which is never looser than by a 256th of one of them.
__device__ __forceinline__ float small_step(const psv_tree_node &node, int axis) {
    const uint32_t exponent = node.grid >> (8 * axis) & 255u;
    return psv_grid_step(exponent > 8 ? exponent - 8 : exponent);
}

__device__ __forceinline__ void store_small_box(const psvi_tree_memory &memory, uint32_t number,
                                                const psv_tree_node &node, const psvi_lane_child &box) {
    const uint32_t lane = threadIdx.x & 7;
    if (lane >= 3) return;
    const float min = psv_tree_clamp(psv_pick(box.min, lane)), max = psv_tree_clamp(psv_pick(box.max, lane));
    const float origin = node.origin[lane], inverse = 1.0f / small_step(node, (int)lane); // a power of two
    uint32_t low = 0xffffu, high = 0;
    if (box.min[0] <= box.max[0]) {
        low = (uint32_t)fmaxf(floorf(__fsub_rd(min, origin) * inverse), 0.0f);
        high = (uint32_t)fminf(ceilf(__fsub_ru(max, origin) * inverse), 65535.0f);
    }
    __stcg(&memory.small_boxes[number].axis[lane], low | high << 16);
}

// The box of a node that another block may have written behind a fence.
__device__ __forceinline__ void load_small_box(const psvi_tree_memory &memory, uint32_t number,
                                               psvi_lane_child &child) {
    psv_tree_node grid;
    const float4 from = __ldcg(reinterpret_cast<const float4 *>(memory.nodes + number));
    grid.origin[0] = from.x, grid.origin[1] = from.y, grid.origin[2] = from.z;
    grid.grid = __float_as_uint(from.w);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        const uint32_t interval = __ldcg(&memory.small_boxes[number].axis[axis]);
        const uint32_t low = interval & 0xffffu, high = interval >> 16;
        if (low > high) return; // the child has been set to an empty one
        const float step = small_step(grid, axis);
        child.min[axis] = __fadd_rd(grid.origin[axis], (float)low * step);
        child.max[axis] = __fadd_ru(grid.origin[axis], (float)high * step);
    }
}

// Eight lanes a node, beginning with those without inner children; the last child of a node to be done has its lanes
// make that node. Reads an item and writes a node and its box once.
__global__ void __launch_bounds__(FINE_THREADS) psvk_fine_refit(const psvi_tree_memory memory, bool triangles) {
    __shared__ __align__(16) psv_tree_node made[FINE_THREADS / 8];
    const uint32_t lane = threadIdx.x & 7;
    const unsigned mask = 0xffu << (threadIdx.x & 24);
    uint32_t number = (uint32_t)(((uint64_t)blockIdx.x * FINE_THREADS + threadIdx.x) / 8);
    psv_tree_node *const node = &made[threadIdx.x / 8];
    const psvi_stored_items stored = psvi_items_of(&memory, triangles);
    if (number >= memory.head->node_count || psv_node_inner(memory.nodes + number) != 0) return;
    for (;;) {
        const psv_tree_node *old = memory.nodes + number;
        const uint32_t parent = old->parent, first_child = old->first_child, first_item = old->first_item;
        const uint32_t inners = (uint32_t)__popc(psv_node_inner(old)), count = (parent >> 29) + 1;
        psvi_lane_child child = {
            {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, lane, lane < inners};
        if (lane < inners) {
            load_small_box(memory, first_child + lane, child);
        } else if (lane < count) {
            child.offset = lane - inners;
            psvi_stored_box(&stored, first_item + child.offset, child.min, child.max);
        }
        psvi_make_team_node<false>(mask, child, count, node);
        if (lane == 0) {
            node->first_child = first_child;
            node->first_item = first_item;
            node->parent = parent;
        }
        psvi_store_team_node(mask, memory, number, node);
        store_small_box(memory, number, *node, child);
        if (number == 0) return;
        number = parent & (PSV_TREE_NODE_LIMIT - 1);
        const uint32_t siblings = (uint32_t)__popc(psv_node_inner(memory.nodes + number));
        if (!psvi_last_of_team(mask, memory.arrivals + number, siblings)) return;
    }
}

extern "C" cudaError_t psvi_launch_fine_refit(const psvi_item_view *view, const psvi_tree_memory *memory,
                                              cudaStream_t stream) {
    const uint64_t most = psvi_fine_tree_nodes(view->boxes.count);
    psvk_fine_refit<<<psvi_block_count(most, FINE_THREADS / 8), FINE_THREADS, 0, stream>>>(*memory, view->triangles);
    return cudaGetLastError();
}
