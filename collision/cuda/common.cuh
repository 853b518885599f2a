// What the broad-phase kernels share: the frame's boxes in one index space, the exact tests, and the collection of
// pairs. Host code never includes this file.
//
// Slots: both box sets of a frame live in one index space of «slots». Slot s < counts.a is box s of set a; the rest is
// set b (psv_find_pairs_between only). Counts are read on the device, so a captured graph follows a changing count.
#ifndef PAIRSIEVE_COLLISION_CUDA_COMMON_CUH
#define PAIRSIEVE_COLLISION_CUDA_COMMON_CUH

#include <stdint.h>

#include "../../core/cuda/warp_reduce.cuh"
#include "../src/box_test.h"
#include "../src/broad_phase.h"
#include "../src/pair_rules.h"

#define PSVD_FULL 0xffffffffu

// The sweeps of `rows` are compiled twice. With PSVD_RULED they serve frames that have rules of pairs (pair_rules.h):
// a warp asks the rules about the pairs that it has collected, side by side, right before it writes them. So the
// sweeps themselves know nothing of rules, and those without keep their code. Other kernels ask pair by pair.
#if !defined(PSVD_RULED)
#define PSVD_RULED 0
#endif

struct psvd_counts {
    uint64_t a, b;
    __device__ uint64_t all() const { return a + b; }
};

__device__ __forceinline__ uint64_t psvd_count_of(const psvi_box_view &view) {
    if (view.count_device == NULL) return view.count;
    const uint64_t count = *view.count_device;
    return count < view.count ? count : view.count;
}

__device__ __forceinline__ psvd_counts psvd_read_counts(const psvi_find_input &input) {
    psvd_counts counts;
    counts.a = psvd_count_of(input.a);
    counts.b = input.between ? psvd_count_of(input.b) : 0;
    return counts;
}

// One set in one world, without flags, filters and rules: boxes that overlap are a pair.
__host__ __device__ __forceinline__ bool psvd_overlap_decides(const psvi_find_input &input) {
    return !input.between && input.world_count <= 1 && input.a.flags == NULL && input.a.filters == NULL &&
           (PSVD_RULED || input.rules == NULL);
}

struct psvd_box {
    float min[3];
    float max[3];
};

// A box's flags, set and world in one word. Worlds from 2^29 on keep their low bits here and are compared in full where
// a pair is about to be reported.
#define PSVD_TAG_STATIC 1u
#define PSVD_TAG_SET_B 4u
#define PSVD_TAG_WORLD_SHIFT 3u

enum psvd_state { PSVD_BOX_GOOD, PSVD_BOX_OFF, PSVD_BOX_BAD };

// Of a box's six numbers in a row.
__device__ __forceinline__ void psvd_take_pieces(float2 first, float2 second, float2 third, psvd_box *box) {
    box->min[0] = first.x, box->min[1] = first.y, box->min[2] = second.x;
    box->max[0] = second.y, box->max[1] = third.x, box->max[2] = third.y;
}

// Interleaved boxes at addresses of 8 bytes (the usual psv_aabb array) take three 8-byte loads, others six of 4 bytes.
__device__ __forceinline__ psvd_box psvd_load_box(const psvi_box_view &view, uint64_t index) {
    const char *const at = view.min + index * view.min_stride;
    psvd_box box;
    if (view.max == view.min + 12 && ((reinterpret_cast<uintptr_t>(view.min) | view.min_stride) & 7) == 0) {
        const float2 *const words = reinterpret_cast<const float2 *>(at);
        psvd_take_pieces(__ldg(words), __ldg(words + 1), __ldg(words + 2), &box);
        return box;
    }
    const float *const low = reinterpret_cast<const float *>(at);
    const float *const high = reinterpret_cast<const float *>(view.max + index * view.max_stride);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        box.min[axis] = __ldg(low + axis);
        box.max[axis] = __ldg(high + axis);
    }
    return box;
}

__device__ __forceinline__ uint32_t psvd_world_of(const psvi_box_view &view, uint64_t index) {
    return view.worlds == NULL ? 0u : __ldg(view.worlds + index);
}

// Loads the box of a slot with its tag. Off: disabled, its coordinates are not looked at.
__device__ __forceinline__ psvd_state psvd_load_slot(const psvi_find_input &input, const psvd_counts &counts,
                                                     uint64_t slot, psvd_box *box, uint32_t *tag) {
    const bool second = slot >= counts.a;
    const psvi_box_view &view = second ? input.b : input.a;
    const uint64_t index = second ? slot - counts.a : slot;
    const uint32_t flags = view.flags == NULL ? 0u : __ldg(view.flags + index);
    if (flags & PSV_BOX_DISABLED) return PSVD_BOX_OFF;
    const uint32_t world = psvd_world_of(view, index);
    *box = psvd_load_box(view, index);
    *tag = (flags & PSV_BOX_STATIC ? PSVD_TAG_STATIC : 0u) | (second ? PSVD_TAG_SET_B : 0u) |
           (world << PSVD_TAG_WORLD_SHIFT);
    if (psvi_box_is_bad(box->min, box->max) || world >= input.world_count) return PSVD_BOX_BAD;
    return PSVD_BOX_GOOD;
}

// Lane after lane holds pieces 0, 1, 2, ... of a warp's boxes, then 32, 33, ...; it gets those of its own box.
__device__ __forceinline__ void psvd_share_pieces(const float2 (&piece)[3], float2 *pieces, psvd_box *box) {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < 3; ++i)
        pieces[lane + 32 * i] = piece[i];
    __syncwarp();
    psvd_take_pieces(pieces[3 * lane], pieces[3 * lane + 1], pieces[3 * lane + 2], box);
}

// Loads the boxes of a warp's slots, all lanes together; `here`: the lane has a slot. Usual boxes of 24 bytes come in
// pieces of 8 bytes, three lanes a box, through shared memory (`pieces`, 96 of the warp's own). A load then touches a
// third of the lines that it would touch if each lane fetched its own.
__device__ __forceinline__ psvd_state psvd_load_together(const psvi_find_input &input, const psvd_counts &counts,
                                                         bool here, uint64_t slot, psvd_box *box, uint32_t *tag,
                                                         float2 *pieces) {
    const psvi_box_view &view = input.a;
    *tag = 0;
    if (input.between || view.flags != NULL || view.worlds != NULL || view.max != view.min + 12 ||
        ((reinterpret_cast<uintptr_t>(view.min) | view.min_stride) & 7) != 0)
        return here ? psvd_load_slot(input, counts, slot, box, tag) : PSVD_BOX_OFF;
    const uint32_t lane = threadIdx.x & 31;
    float2 piece[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const uint32_t at = lane + 32 * i;
        const uint64_t from = __shfl_sync(PSVD_FULL, here ? slot : 0, at / 3);
        piece[i] = __ldg(reinterpret_cast<const float2 *>(view.min + from * view.min_stride) + at % 3);
    }
    __syncwarp();
    psvd_share_pieces(piece, pieces, box);
    if (!here) return PSVD_BOX_OFF;
    return psvi_box_is_bad(box->min, box->max) ? PSVD_BOX_BAD : PSVD_BOX_GOOD;
}

// The same where the lanes' slots follow each other: usual boxes without a gap are read as they lie.
__device__ __forceinline__ psvd_state psvd_load_following(const psvi_find_input &input, const psvd_counts &counts,
                                                          bool here, uint64_t slot, psvd_box *box, uint32_t *tag,
                                                          float2 *pieces) {
    const psvi_box_view &view = input.a;
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t first = slot - lane;
    if (input.between || view.flags != NULL || view.worlds != NULL || view.max != view.min + 12 ||
        view.min_stride != 24 || (reinterpret_cast<uintptr_t>(view.min) & 7) != 0 || first + 32 > counts.a)
        return psvd_load_together(input, counts, here, slot, box, tag, pieces);
    const float2 *const from = reinterpret_cast<const float2 *>(view.min) + (3 * first + lane);
    float2 piece[3];
#pragma unroll
    for (int i = 0; i < 3; ++i)
        piece[i] = __ldg(from + 32 * i);
    psvd_share_pieces(piece, pieces, box);
    *tag = 0;
    return psvi_box_is_bad(box->min, box->max) ? PSVD_BOX_BAD : PSVD_BOX_GOOD;
}

// Lists a bad box. Any lanes may call together: one atomic for those that do.
__device__ __forceinline__ void psvd_report_bad(const psvi_find_input &input, const psvd_counts &counts,
                                                uint64_t slot) {
    const unsigned mask = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
    unsigned long long base = 0;
    if (lane == leader)
        base = atomicAdd(reinterpret_cast<unsigned long long *>(&input.result->bad_count),
                         (unsigned long long)__popc(mask));
    base = __shfl_sync(mask, base, leader) + __popc(mask & ((1u << lane) - 1));
    input.bad_boxes[base] = (uint32_t)(slot < counts.a ? slot : input.a.count + (slot - counts.a));
}

// Flags, sets and worlds as far as the tags tell: cheap, before anything else is loaded.
__device__ __forceinline__ bool psvd_tags_pair(bool between, uint32_t a, uint32_t b) {
    if ((a >> PSVD_TAG_WORLD_SHIFT) != (b >> PSVD_TAG_WORLD_SHIFT) || (a & b & PSVD_TAG_STATIC)) return false;
    return !between || ((a ^ b) & PSVD_TAG_SET_B) != 0;
}

// A set without filters lets everything through.
__device__ __forceinline__ psv_box_filter psvd_filter_of(const psvi_find_input &input, const psvd_counts &counts,
                                                         uint64_t slot) {
    const bool second = slot >= counts.a;
    const psv_box_filter *const filters = second ? input.b.filters : input.a.filters;
    psv_box_filter all = {~0u, ~0u};
    return filters == NULL ? all : filters[second ? slot - counts.a : slot];
}

// Counts a pair for its world; false when the world's room is taken. Any lanes may call together: one atomic for those
// of one world.
__device__ __forceinline__ bool psvd_world_has_room(const psvi_pair_rules &rules, uint32_t world) {
    const unsigned same = __match_any_sync(__activemask(), world);
    const int lane = threadIdx.x & 31, leader = __ffs(same) - 1;
    const unsigned long long adds = __popc(same), room = rules.world_room;
    unsigned long long base = 0;
    if (lane == leader) {
        base = atomicAdd(reinterpret_cast<unsigned long long *>(&rules.world_pairs[world]), adds);
        if (base + adds > room)
            atomicAdd(reinterpret_cast<unsigned long long *>(rules.refused), min(adds, base + adds - room));
    }
    base = __shfl_sync(same, base, leader);
    return base + __popc(same & ((1u << lane) - 1)) < room;
}

// The frame's rules, for a pair that would be reported otherwise: the last question, asked once a pair. A function of
// its own, because it is rarely called, and callers need not keep registers for it.
[[maybe_unused]] static __device__ __noinline__ bool psvd_rules_pair(const psvi_pair_rules *rules, uint64_t a_count,
                                                                     uint64_t a, uint64_t b) {
    const bool turned = rules->between && a >= a_count;
    const uint64_t i = turned ? b : a, j = (turned ? a : b) - (rules->between ? a_count : 0);
    if (!psvi_rules_pair(rules, i, j)) return false;
    return rules->world_pairs == NULL || psvd_world_has_room(*rules, rules->a.worlds == NULL ? 0u : rules->a.worlds[i]);
}

// What only the arrays know: filters, and worlds beyond the tag's bits. Called for boxes that overlap. `rows` asks
// nothing else: its sweeps have a second form for rules.
__device__ __forceinline__ bool psvd_arrays_pair(const psvi_find_input &input, const psvd_counts &counts, uint64_t a,
                                                 uint64_t b) {
    if (input.a.filters != NULL || input.b.filters != NULL)
        if (!psvi_filters_pair(psvd_filter_of(input, counts, a), psvd_filter_of(input, counts, b))) return false;
    if (input.world_count <= 1u << (32 - PSVD_TAG_WORLD_SHIFT)) return true;
    const uint32_t world_a = a < counts.a ? psvd_world_of(input.a, a) : psvd_world_of(input.b, a - counts.a);
    const uint32_t world_b = b < counts.a ? psvd_world_of(input.a, b) : psvd_world_of(input.b, b - counts.a);
    return world_a == world_b;
}

// The same and the frame's rules.
__device__ __forceinline__ bool psvd_arrays_and_rules_pair(const psvi_find_input &input, const psvd_counts &counts,
                                                           uint64_t a, uint64_t b) {
    return psvd_arrays_pair(input, counts, a, b) &&
           (input.rules == NULL || psvd_rules_pair(input.rules, counts.a, a, b));
}

// The last question about two boxes that overlap. Kernels that ask pair by pair are compiled twice. Without ASKS they
// serve frames where the overlap decides: a call that could be made, even if it never is, costs them up to a third.
template <bool ASKS>
__device__ __forceinline__ bool psvd_slots_pair(const psvi_find_input &input, const psvd_counts &counts, uint32_t a,
                                                uint32_t tag_a, uint32_t b, uint32_t tag_b) {
    if constexpr (!ASKS) return true;
    return psvd_tags_pair(input.between, tag_a, tag_b) && psvd_arrays_and_rules_pair(input, counts, a, b);
}

// For a planning kernel, one of `samples` boxes at equal distances; whether it is good and of a size to reckon with.
__device__ __forceinline__ bool psvd_load_sample(const psvi_find_input &input, const psvd_counts &counts,
                                                 uint32_t sample, uint32_t samples, psvd_box *box) {
    const uint64_t slots = counts.all();
    uint32_t tag;
    bool good = slots > 0 && psvd_load_slot(input, counts, slots * sample / samples, box, &tag) == PSVD_BOX_GOOD;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        good = good && fabsf(box->min[axis]) < 1e18f && fabsf(box->max[axis]) < 1e18f;
    return good;
}

// --- pairs ----------------------------------------------------------------------------------------------------------

// Where pairs go. The counter is exact whatever the capacity; nothing is written past it.
struct psvd_sink {
    psv_pair *pairs;
    unsigned long long *counter;
    uint64_t capacity;
    uint64_t first_b; // slot of b's first box: subtracted from b's slots when between
    bool between;
#if PSVD_RULED
    const psvi_pair_rules *rules;
#endif
};

// Last in the braces of a sink.
#if PSVD_RULED
#define PSVD_RULES_OF(input) , (input).rules
#else
#define PSVD_RULES_OF(input)
#endif

__device__ __forceinline__ psvd_sink psvd_make_sink(const psvi_find_input &input, const psvd_counts &counts) {
    psvd_sink sink;
    sink.pairs = input.pairs;
    sink.counter = reinterpret_cast<unsigned long long *>(&input.result->pair_count);
    sink.capacity = input.capacity;
    sink.first_b = counts.a;
    sink.between = input.between;
#if PSVD_RULED
    sink.rules = input.rules;
#endif
    return sink;
}

__device__ __forceinline__ psv_pair psvd_make_pair(const psvd_sink &sink, uint32_t slot, uint32_t other) {
    psv_pair pair;
    pair.a = min(slot, other);
    pair.b = max(slot, other) - (sink.between ? (uint32_t)sink.first_b : 0u);
    return pair;
}

#if PSVD_RULED
#define PSVD_ASKED 4 // pairs that a lane asks the rules about at a time, so that their loads do not wait for each other

// Which of a lane's pairs are in the table of excluded ones; pairs with allowed[k] unset are not asked.
__device__ __forceinline__ void
psvd_leave_excluded_out(const psvi_pair_rules &rules, const psv_pair (&pair)[PSVD_ASKED], bool (&allowed)[PSVD_ASKED]) {
    const uint32_t *const filter = psvi_filter_of(rules.excluded, rules.last_bucket);
    uint64_t key[PSVD_ASKED];
    uint32_t word[PSVD_ASKED];
#pragma unroll
    for (int k = 0; k < PSVD_ASKED; ++k)
        key[k] = psvi_excluded_key(&rules, pair[k].a, pair[k].b);
#pragma unroll
    for (int k = 0; k < PSVD_ASKED; ++k)
        word[k] = allowed[k] ? __ldg(filter + psvi_pair_bucket(key[k], rules.last_bucket)) : 0;
#pragma unroll
    for (int k = 0; k < PSVD_ASKED; ++k)
        if ((word[k] & psvi_filter_bit(key[k])) != 0)
            allowed[k] = !psvi_is_in_table(rules.excluded, rules.last_bucket, key[k]);
}

// Leaves out those of a warp's `held` pairs that the rules forbid, and returns how many are left. All 32 lanes
// together; every pair is asked about once.
static __device__ __noinline__ uint32_t psvd_keep_allowed(const psvi_pair_rules &rules, psv_pair *pairs,
                                                          uint32_t held) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t kept = 0;
#pragma unroll 1
    for (uint32_t first = 0; first < held; first += 32 * PSVD_ASKED) {
        psv_pair pair[PSVD_ASKED];
        bool allowed[PSVD_ASKED];
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < PSVD_ASKED; ++k) {
            allowed[k] = first + 32 * k + lane < held;
            pair[k] = {0, 0};
            if (allowed[k]) pair[k] = pairs[first + 32 * k + lane];
        }
        if (rules.a.owners != NULL && rules.b.owners != NULL)
#pragma unroll
            for (int k = 0; k < PSVD_ASKED; ++k)
                allowed[k] = allowed[k] & psvi_owners_pair(&rules, pair[k].a, pair[k].b);
        if (rules.layer_matrix != NULL)
#pragma unroll
            for (int k = 0; k < PSVD_ASKED; ++k)
                allowed[k] = allowed[k] & psvi_layers_pair(&rules, pair[k].a, pair[k].b);
        if (rules.excluded != NULL) psvd_leave_excluded_out(rules, pair, allowed);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < PSVD_ASKED; ++k) {
            if (rules.exact && allowed[k]) allowed[k] = psvi_corners_overlap(&rules.a, pair[k].a, &rules.b, pair[k].b);
            if (rules.world_pairs != NULL && allowed[k])
                allowed[k] = psvd_world_has_room(rules, rules.a.worlds == NULL ? 0u : rules.a.worlds[pair[k].a]);
            const unsigned mask = __ballot_sync(PSVD_FULL, allowed[k]);
            if (allowed[k]) pairs[kept + __popc(mask & ((1u << lane) - 1))] = pair[k];
            kept += __popc(mask);
        }
    }
    __syncwarp();
    return kept;
}
#endif

// Pairs found by a block of WARPS warps, collected in shared memory per warp. Lanes emit whenever they like. The warp
// calls settle now and then with all its lanes, which moves a filling buffer out with one global atomic. The block
// calls finish at the end, which moves the rest of all its warps out with one. When a warp finds more than its buffer
// takes between two calls, the excess goes straight to global memory, one atomic for the lanes that emit together.
#define PSVD_WARP_PAIRS 192
#define PSVD_WARP_SETTLE 96

template <int WARPS> struct psvd_pair_stage {
    psv_pair pairs[WARPS][PSVD_WARP_PAIRS];
    uint32_t count[WARPS];
    unsigned long long base;

    __device__ void begin() { // the caller synchronizes the block before the first emit
        if (threadIdx.x < WARPS) count[threadIdx.x] = 0;
    }

    __device__ __forceinline__ void emit(const psvd_sink &sink, uint32_t slot, uint32_t other) {
        const int warp = threadIdx.x >> 5;
        const psv_pair pair = psvd_make_pair(sink, slot, other);
        const uint32_t place = atomicAdd(&count[warp], 1u);
        if (place < PSVD_WARP_PAIRS) {
            pairs[warp][place] = pair;
            return;
        }
        const unsigned mask = __activemask();
        const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
        unsigned long long at = 0;
        if (lane == leader) at = atomicAdd(sink.counter, (unsigned long long)__popc(mask));
        at = __shfl_sync(mask, at, leader) + __popc(mask & ((1u << lane) - 1));
        if (at < sink.capacity) sink.pairs[at] = pair;
    }

    __device__ __forceinline__ void write(const psvd_sink &sink, int warp, uint32_t found, unsigned long long at) {
#pragma unroll 1
        for (uint32_t i = threadIdx.x & 31; i < found; i += 32)
            if (at + i < sink.capacity) sink.pairs[at + i] = pairs[warp][i];
    }

    // All 32 lanes of the warp together.
    __device__ __forceinline__ void settle(const psvd_sink &sink) {
        const int warp = threadIdx.x >> 5;
        __syncwarp();
        uint32_t found = *(volatile uint32_t *)&count[warp];
        __syncwarp(); // all lanes decide by the same count: none emits before every one has read it
        if (found < PSVD_WARP_SETTLE) return;
        found = min(found, (uint32_t)PSVD_WARP_PAIRS);
        unsigned long long at = 0;
        if ((threadIdx.x & 31) == 0) at = atomicAdd(sink.counter, (unsigned long long)found);
        at = __shfl_sync(PSVD_FULL, at, 0);
        write(sink, warp, found, at);
        __syncwarp();
        if ((threadIdx.x & 31) == 0) count[warp] = 0;
        __syncwarp();
    }

    // The same with all lanes of the warp together, without an atomic. *held: pairs in the warp's buffer, the same in
    // all lanes, 0 at first; hand it over to count with hold before finish. Not to be mixed with emit.
    __device__ __forceinline__ void emit_together(const psvd_sink &sink, bool hit, uint32_t slot, uint32_t other,
                                                  uint32_t *held) {
        const unsigned mask = __ballot_sync(PSVD_FULL, hit);
        if (mask == 0) return;
        make_room(sink, __popc(mask), held);
        const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
        if (hit) pairs[warp][*held + __popc(mask & ((1u << lane) - 1))] = psvd_make_pair(sink, slot, other);
        *held += __popc(mask);
    }

    // Moves the warp's buffer out unless `needed` more pairs, at most PSVD_WARP_PAIRS, find room in it. All lanes
    // together.
    __device__ __forceinline__ void make_room(const psvd_sink &sink, uint32_t needed, uint32_t *held) {
        if (*held + needed <= PSVD_WARP_PAIRS) return;
        keep_allowed(sink, held);
        unsigned long long at = 0;
        if ((threadIdx.x & 31) == 0) at = atomicAdd(sink.counter, (unsigned long long)*held);
        at = __shfl_sync(PSVD_FULL, at, 0);
        __syncwarp();
        write(sink, threadIdx.x >> 5, *held, at);
        __syncwarp();
        *held = 0;
    }

    // The place of the warp's n-th held pair, to be filled by the caller.
    __device__ __forceinline__ psv_pair *room(uint32_t n) { return &pairs[threadIdx.x >> 5][n]; }

    // Leaves those out of the warp's held pairs that the rules forbid, right before they are written. All lanes
    // together.
    __device__ __forceinline__ void keep_allowed(const psvd_sink &sink, uint32_t *held) {
#if PSVD_RULED
        *held = psvd_keep_allowed(*sink.rules, room(0), *held);
#endif
    }

    __device__ __forceinline__ void hold(const psvd_sink &sink, uint32_t held) {
        keep_allowed(sink, &held);
        if ((threadIdx.x & 31) == 0) count[threadIdx.x >> 5] = held;
    }

    // All threads of the block together.
    __device__ __forceinline__ void finish(const psvd_sink &sink) {
        __syncthreads();
        const int warp = threadIdx.x >> 5;
        uint32_t before = 0, total = 0;
        for (int w = 0; w < WARPS; ++w) {
            const uint32_t found = min(count[w], (uint32_t)PSVD_WARP_PAIRS);
            if (w < warp) before += found;
            total += found;
        }
        if (threadIdx.x == 0 && total > 0) base = atomicAdd(sink.counter, (unsigned long long)total);
        __syncthreads();
        if (total > 0) write(sink, warp, min(count[warp], (uint32_t)PSVD_WARP_PAIRS), base + before);
    }
};

// --- small things ---------------------------------------------------------------------------------------------------

// Adds a per-thread number to a 64-bit counter: one atomic a warp that has anything. All lanes together.
__device__ __forceinline__ void psvd_warp_add(uint64_t *counter, uint32_t value) {
    const uint32_t low = psvd_reduce_add(value & 0xffffu), high = psvd_reduce_add(value >> 16);
    const unsigned long long sum = ((unsigned long long)high << 16) + low;
    if ((threadIdx.x & 31) == 0 && sum != 0) atomicAdd(reinterpret_cast<unsigned long long *>(counter), sum);
}

// Order-preserving unsigned form of a float (no NaN here), -0 just below +0.
__device__ __forceinline__ uint32_t psvd_ordered(float value) {
    const uint32_t bits = __float_as_uint(value);
    return bits ^ ((bits >> 31) ? 0xffffffffu : 0x80000000u);
}

// The sorted record of a box: what a sweep tests first, and the rest. `slot` and `tag` are bits of the second word.
struct psvd_record {
    float4 first;  // min x, max x, min y, max y
    float4 second; // min z, max z, slot, tag
};

__device__ __forceinline__ psvd_record psvd_make_record(const psvd_box &box, int x, int y, int z, uint32_t slot,
                                                        uint32_t tag) {
    psvd_record record;
    record.first = make_float4(box.min[x], box.max[x], box.min[y], box.max[y]);
    record.second = make_float4(box.min[z], box.max[z], __uint_as_float(slot), __uint_as_float(tag));
    return record;
}

#endif
