// What a warp of the mixed sweep holds, and what becomes of the places that passed the first test: pairs, or pairs in
// doubt, which are tested exactly.
#ifndef PAIRSIEVE_COLLISION_ROWS_MIXED_HITS_CUH
#define PAIRSIEVE_COLLISION_ROWS_MIXED_HITS_CUH

#include <stddef.h>

#include "rows_held.cuh"
#include "rows_lane_ops.cuh"
#include "rows_mixed.cuh"

#define WARPS (ROWS_MIXED_THREADS / 32)
#define RANGES (ROWS_NEAR + 1)
#define FIELD 8u       // places of a run whose bits stand side by side with those of others
#define WORD_FIELDS 4u // of them in a word

#define LATER_PLACE (ROWS_UNIFORM_ROOM - 1)
#define LATER_LEVEL_SHIFT 27
#define OWN_LEVEL 15u
#define LATER_PARTS 8u // lanes that share a look put off
#define MORE_ROWS 4 // boxes of a chunk that look at more than two rows of y or z in a coarser level; these are put off

// A warp's own memory. A chunk begins with less than ROWS_MIXED_HITS pairs in its buffer and less than 32 in doubt.
struct warp_work {
    uint4 own[32];                 // lower, upper: negated words, less ROWS_SURE; slot with turns; VAGUE, STATIC bits
    uint32_t run[RANGES][32];      // of a run's field: the place that bit 0 of the word would stand for
    uint32_t count[RANGES][32];    // places of long runs
    uint32_t hit[ROWS_MIXED_HITS]; // bits, counted on over fields, times 32, with the lane whose box may pair
    uint2 doubt[ROWS_MIXED_HITS + 32]; // slots
};

struct sweep_shared {
    warp_work work[WARPS];
    psvd_pair_stage<WARPS> stage;
    unsigned long long tested[WARPS];
    uint32_t longest[WARPS], doubted[WARPS];
    uint32_t begun;                     // chunks of the block that its warps have begun
    uint32_t put_off;                   // looks put off, those that found no room too
    uint32_t later[ROWS_MIXED_PUT_OFF]; // places, with levels
};

static_assert(2 * ROWS_MIXED_HITS <= PSVD_WARP_PAIRS, "the pairs of a chunk fit the buffer");

using sweep_held = rows_held_memory<sweep_shared>;

__device__ __forceinline__ sweep_shared &sweep_memory() { return sweep_held::block(); }
__device__ __forceinline__ warp_work &own_work() { return sweep_held::own(); }

struct mixed_tables {
    const uint4 *entries; // see rows_mixed_arrays
    const uint32_t *starts;
    uint32_t slot_mask;
};

using sweep_tally = rows_held_tally;

__device__ __forceinline__ psvd_record load_exactly(const psvi_find_input &input, const psvi_rows_plan &plan,
                                                    uint32_t slot) {
    return rows_record(plan, psvd_load_box(input.a, slot), slot, 0);
}

// A bit for each of a field's places, `count` at most, that may overlap the lane's box, from bit `shift` on. Lanes read
// only what they need.
__device__ __forceinline__ uint32_t test_field(const uint4 *at, uint32_t count, uint32_t lower, uint32_t upper,
                                               uint32_t shift) {
    uint32_t hits = 0;
    if (count > 0) hits = rows_test_four(at, lower, upper, 1u << shift);
    if (count > 4) hits |= rows_test_four(at + 4, lower, upper, 16u << shift);
    return hits & bits_from(shift, count);
}

// Where a warp's memory lies.
struct warp_place {
    uint32_t work, pairs;
};

__device__ __forceinline__ warp_place own_place() {
    return warp_place{warp_address(&own_work()), warp_address(sweep_memory().stage.room(0))};
}

#define AT(member) ((uint32_t)offsetof(warp_work, member))

__device__ __forceinline__ uint32_t place_of_bit(uint32_t work_at, uint32_t hit) {
    return load_shared(work_at + AT(run) + (hit >> 1 & ~127u) + (hit & 31u) * 4) + (hit >> 5);
}

// The lane's own box for those who look at its hits.
__device__ __forceinline__ void store_own(const warp_place &at, const uint4 &own, uint32_t lower, uint32_t upper) {
    store_shared_four(at.work + AT(own) + 16 * (threadIdx.x & 31),
                      make_uint4((lower + ROWS_SURE) & ROWS_FIELD_BITS, (upper + ROWS_SURE) & ROWS_FIELD_BITS, own.z,
                                 (own.x & ROWS_VAGUE) | (own.y & ROWS_STATIC)));
}

// What a listed hit holds above the lane: bits counted on over fields, or the place itself.
enum hit_form { HIT_BIT, HIT_PLACE };

template <hit_form FORM> __device__ __forceinline__ uint32_t place_of_hit(uint32_t work_at, uint32_t hit) {
    return FORM == HIT_PLACE ? hit >> 5 : place_of_bit(work_at, hit);
}

// Looks at `count` listed hits again, side by side: sure ones become pairs, others are put aside. All lanes together.
// The lists are walked by their addresses, which saves a third of the instructions.
template <hit_form FORM>
__device__ __forceinline__ void take_hits(const mixed_tables &tables, const warp_place &at, uint32_t count,
                                          sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1, slots = tables.slot_mask;
    uint32_t pairs_at = at.pairs + 8 * tally->pairs, doubts_at = at.work + AT(doubt) + 8 * tally->doubts;
#pragma unroll 1
    for (uint32_t n = lane; n - lane < count; n += 32) {
        const bool listed = n < count;
        const uint32_t hit =
            load_shared(at.work + AT(hit) + 4 * n); // behind the list there is other memory of the warp
        const uint4 own = load_shared_four(at.work + AT(own) + (hit & 31u) * 16);
        uint4 other = make_uint4(0, 0, 0, 0);
        if (listed) other = tables.entries[place_of_hit<FORM>(at.work, hit)];
        const uint32_t differs = (other.x - own.x) | (other.y - own.y) | own.w;
        const bool vague = (int32_t)differs < 0, same = ((other.z ^ own.z) & ~slots) == 0;
        const bool there = listed && (vague || same) && (other.y & own.w & ROWS_STATIC) == 0;
        const bool sure = there && (differs & (ROWS_FIELD_SIGNS | ROWS_VAGUE)) == 0;
        const unsigned all = __ballot_sync(PSVD_FULL, there), sures = __ballot_sync(PSVD_FULL, sure);
        const unsigned doubts = all & ~sures;
        const uint32_t to = (sure ? pairs_at : doubts_at) + 8 * __popc((sure ? sures : doubts) & below);
        if (there) store_shared_two(to, min(own.z, other.z) & slots, max(own.z, other.z) & slots);
        pairs_at += 8 * __popc(sures);
        doubts_at += 8 * __popc(doubts);
    }
    tally->pairs = (pairs_at - at.pairs) / 8;
    tally->doubts = (doubts_at - at.work - AT(doubt)) / 8;
    __syncwarp();
}

// The same for hits in a coarser level: all are in doubt.
__device__ __forceinline__ void take_coarser(const mixed_tables &tables, uint32_t count, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1;
    warp_work &work = own_work();
#pragma unroll 1
    for (uint32_t n = lane; n - lane < count; n += 32) {
        const uint32_t hit = n < count ? work.hit[n] : lane;
        const uint4 own = work.own[hit & 31u];
        uint4 other = make_uint4(0, 0, 0, 0);
        if (n < count) other = tables.entries[hit >> 5];
        const bool there = n < count && (other.y & own.w & ROWS_STATIC) == 0;
        const unsigned all = __ballot_sync(PSVD_FULL, there);
        if (there)
            work.doubt[tally->doubts + __popc(all & below)] =
                make_uint2(own.z & tables.slot_mask, other.z & tables.slot_mask);
        tally->doubts += __popc(all);
    }
    __syncwarp();
}

template <bool COARSER>
__device__ __forceinline__ void take_listed(const psvi_find_input &input, const mixed_tables &tables, uint32_t count,
                                            sweep_tally *tally) {
    if (COARSER)
        take_coarser(tables, count, tally);
    else
        take_hits<HIT_PLACE>(tables, own_place(), count, tally);
    rows_make_room<sweep_held, ROWS_MIXED_HITS>(input, tally);
}

#endif
