#pragma optionNV(unroll all) // NVIDIA: arrays stay in registers; other compilers ignore it
// Moves elements to their places, one tile a group. Threads of a subgroup find equal digits by votes. The tile is
// ordered in shared memory, so that neighbours go to neighbouring places. Any subgroup size serves whose counters fit:
// SUBGROUPS x 256 counters share their memory with the elements of a later step. No group waits for another one. The
// last thread of a digit adds all of them to the subgroup's counter in one step and passes their start to the others.
// Defines: THREADS, ITEMS (a thread), SUBGROUPS, LANES (of a subgroup), WIDE: more than 32; PARTS: the elements
// go into more than one storage block. Reads and writes every element once; a barrier for each word of an element, twice,
// and five more; for keys alone twice as many of the former.
// variants: KEY_WORDS=1,2 VALUE_WORDS=0 IMPLICIT=0 KEYS_OUT=1 VOTES=1 WIDE=0,1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1,2 IMPLICIT=0 KEYS_OUT=1 VOTES=1 WIDE=0,1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=0 KEYS_OUT=0 VOTES=1 WIDE=0,1
// variants: KEY_WORDS=1,2 VALUE_WORDS=1 IMPLICIT=1 KEYS_OUT=0,1 VOTES=1 WIDE=0,1
// constants: THREADS ITEMS SUBGROUPS LANES PARTS FLOAT
layout(local_size_x = THREADS) in;
#include "key_order.glsl"
#include "radix_pass.glsl"
#include "radix_target.glsl"
#define TILE (THREADS * ITEMS)
// Keys alone go through shared memory in two halves: with less of it a device runs more groups at a time. Values have too
// much else to hold for that.
#define TURNS (VALUE_WORDS == 0 ? 2u : 1u)
#define PART (TILE / TURNS)
#define PART_ITEMS (ITEMS / TURNS)
shared uint exchange[PART > SUBGROUPS * 256 ? PART : SUBGROUPS * 256];
shared uint digit_shift[256]; // place in all minus place in the tile
shared uvec2 sums[SUBGROUPS];

// Threads of a subgroup as bits. Most devices have 32 at most: one word then.
#if !WIDE
#define LANE_SET uint
#define SET_OF(votes) (votes).x
#define SET_BELOW(set) uint(bitCount((set) & gl_SubgroupLtMask.x))
#define SET_LAST(set) uint(findMSB(set))
#else
#define LANE_SET uvec4
#define SET_OF(votes) (votes)
#define SET_BELOW(set) subgroupBallotExclusiveBitCount(set)
#define SET_LAST(set) subgroupBallotFindMSB(set)
#endif

LANE_SET same_digit(uint digit) {
    LANE_SET same = SET_OF(subgroupBallot(true));
    for (uint b = 0u; b < 8u; ++b) {
        uint bit = (digit >> b) & 1u;
        same &= SET_OF(subgroupBallot(bit != 0u)) ^ (bit - 1u);
    }
    return same;
}

// Sums of both numbers over the threads before this one. One barrier.
uvec2 sums_before(uvec2 own) {
    uvec2 before = subgroupExclusiveAdd(own);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u) sums[gl_SubgroupID] = before + own;
    barrier();
    for (uint s = 0u; s < gl_SubgroupID; ++s)
        before += sums[s];
    return before;
}

#define WRITES(i, to) ((full || (i) < items) && (PARTS == 0 || (to) < OUT_COUNT))

bool has_turn(uint rank, uint turn) { return TURNS == 1u || rank / PART == turn; }

// Turns the counts in `exchange`, 256 a subgroup, into each subgroup's first place by digit within the tile. digit_shift
// leads from a place in the tile to one in the output. table_place and all: of the thread's digit.
void place_digits(uint table_place, uint all) {
    uint thread = gl_LocalInvocationID.x;
    uint counts[SUBGROUPS], here = 0u;
    if (thread < 256u) {
        for (uint s = 0u; s < SUBGROUPS; ++s) {
            counts[s] = exchange[s * 256u + thread];
            here += counts[s];
        }
    }
    uvec2 before = sums_before(uvec2(here, all));
    if (thread < 256u) {
        digit_shift[thread] = table_place + before.y - before.x;
        for (uint s = 0u; s < SUBGROUPS; ++s) {
            exchange[s * 256u + thread] = before.x;
            before.x += counts[s];
        }
    }
}

// What no question is asked about costs nothing: `full` is known when this is compiled.
void move_tile(bool full, uint tile, uint first, uint items) {
    uint thread = gl_LocalInvocationID.x, table_place = 0u, all = 0u;
    uint row = gl_SubgroupID * 256u, own = gl_SubgroupID * LANES * ITEMS + gl_SubgroupInvocationID;
    KEY key[ITEMS];
    uint rank[ITEMS]; // digit above, rank below
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = own + k * LANES;
        key[k] = full || i < items ? LOAD_KEY(keys, base(3), first + i) : LAST_KEY;
    }
#if VALUE_WORDS == 1 && !IMPLICIT
    uint value[ITEMS]; // asked for early: they come while the keys are ranked
    for (uint k = 0u; k < ITEMS; ++k) {
        uint i = own + k * LANES;
        value[k] = full || i < items ? values[base(6) + first + i] : 0u;
    }
#endif
    for (uint i = thread; i < SUBGROUPS * 256u; i += THREADS)
        exchange[i] = 0u;
    if (thread < 256u) {
        table_place = table[base(1) + thread * ROW + tile];
        all = totals[base(2) + thread];
    }
    barrier();
    for (uint k = 0u; k < ITEMS; ++k) {
        // Places behind the elements count as the last digit and stay behind them.
        uint digit = full || own + k * LANES < items ? digit_of(key[k], SHIFT, MASK) : 255u;
        LANE_SET same = same_digit(digit);
        uint below = SET_BELOW(same), last = SET_LAST(same), before = 0u;
        if (gl_SubgroupInvocationID == last) before = atomicAdd(exchange[row + digit], below + 1u);
        rank[k] = digit << 16 | (subgroupShuffle(before, last) + below);
    }
    barrier();
    place_digits(table_place, all);
    barrier();
    for (uint k = 0u; k < ITEMS; ++k)
        rank[k] = (rank[k] & 0xffffu) + exchange[row + (rank[k] >> 16)];
    barrier();
    uint to[ITEMS];
    for (uint turn = 0u; turn < TURNS; ++turn) {
        if (turn != 0u) barrier();
#if KEY_WORDS == 2
        uint low[PART_ITEMS];
        for (uint k = 0u; k < ITEMS; ++k)
            if (has_turn(rank[k], turn)) exchange[rank[k] - turn * PART] = key[k].x;
        barrier();
        for (uint k = 0u; k < PART_ITEMS; ++k)
            low[k] = exchange[k * THREADS + thread];
        barrier();
        for (uint k = 0u; k < ITEMS; ++k)
            if (has_turn(rank[k], turn)) exchange[rank[k] - turn * PART] = key[k].y;
#else
        for (uint k = 0u; k < ITEMS; ++k)
            if (has_turn(rank[k], turn)) exchange[rank[k] - turn * PART] = key[k];
#endif
        barrier();
        for (uint k = 0u; k < PART_ITEMS; ++k) {
            uint j = turn * PART_ITEMS + k, i = j * THREADS + thread;
#if KEY_WORDS == 1
            KEY moved = exchange[k * THREADS + thread];
#else
            KEY moved = uvec2(low[k], exchange[k * THREADS + thread]);
#endif
            to[j] = digit_shift[digit_of(moved, SHIFT, MASK)] + i - OUT_FIRST;
#if KEYS_OUT
            if (WRITES(i, to[j])) STORE_KEY(keys_out, base(5), to[j], moved);
#endif
        }
    }
#if VALUE_WORDS > 0
    for (uint w = 0u; w < VALUE_WORDS; ++w) {
        barrier();
        for (uint k = 0u; k < ITEMS; ++k) {
            uint i = own + k * LANES;
#if IMPLICIT
            exchange[rank[k]] = tile * TILE + i;
#elif VALUE_WORDS == 1
            exchange[rank[k]] = value[k];
#else
            exchange[rank[k]] = full || i < items ? values[base(6) + VALUE_WORDS * (first + i) + w] : 0u;
#endif
        }
        barrier();
        for (uint k = 0u; k < ITEMS; ++k) {
            uint i = k * THREADS + thread;
            if (WRITES(i, to[k])) values_out[base(7) + VALUE_WORDS * to[k] + w] = exchange[i];
        }
    }
#endif
}

void main() {
    uint count = state[base(0) + COUNT], tile = TILE_FIRST + group_number();
    if (state[base(0) + UNSORTED] == 0u) return;
    if (tile > (count - 1u) / TILE) return;
    uint items = min(TILE, count - tile * TILE), first = tile * TILE - PART_FIRST;
    if (items == TILE)
        move_tile(true, tile, first, items);
    else
        move_tile(false, tile, first, items);
}
