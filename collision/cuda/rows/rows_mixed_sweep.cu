// The sweep of `rows` over mixed scenes: every box looks at the boxes of its rows as rounded to 8 bytes, which tells
// nearly all pairs of a level; the others are tested exactly.
#include "../launch_cuda.h"
#include "rows_launch.cuh"
#include "rows_mixed_hits.cuh"
#include "rows_plan.cuh"

#define MOST_FIELDS 7u // of a run that a lane goes through with its neighbours; their places have 6 bits

// Looks put off, LATER_PARTS lanes each, which share its runs. All lanes together.
static __device__ __noinline__ void sweep_later(const psvi_find_input &input, const psvi_rows_plan *plan,
                                                const mixed_tables &tables, const uint32_t *items, uint32_t count,
                                                sweep_tally *tally) {
    const psvd_sink sink = rows_sink(input);
    const uint32_t lane = threadIdx.x & 31;
    uint32_t held = tally->pairs, tested = tally->tested, longest = tally->longest;
    __syncwarp();
#pragma unroll 1
    for (uint32_t first = 0; first < count; first += 32 / LATER_PARTS) {
        const uint32_t mine = first + lane / LATER_PARTS;
        const uint32_t item = items[min(mine, count - 1)], item_place = item & LATER_PLACE;
        const uint4 own_entry = tables.entries[item_place];
        const psvd_record own = load_exactly(input, *plan, own_entry.z & tables.slot_mask);
        const uint32_t own_level = rows_record_level(*plan, own);
        const uint32_t at = item >> LATER_LEVEL_SHIFT == OWN_LEVEL ? own_level : item >> LATER_LEVEL_SHIFT;
        const psvi_rows_level &level = plan->level[at];
        const rows_view view = rows_view_of(*plan, own, at, 0, at == own_level);
        const uint2 rounded = rows_rounded(rows_uniform_rounding(level), own);
        const uint32_t lower = rows_negated(rounded.y), upper = rows_negated(rounded.x);
        uint32_t run = lane % LATER_PARTS, place = 0, end = 0;
        bool more = mine < count;
        for (;;) {
            while (more && place >= end) {
                rows_walk cursor = rows_walk_from(level, view, (int32_t)run);
                more = cursor.row < view.rows;
                const rows_interval interval = rows_next_interval(level, 0, view, &cursor);
                if (more && interval.cells > 0) {
                    place = run == 0 && view.own_row ? item_place + 1 : tables.starts[interval.first];
                    end = tables.starts[interval.first + interval.cells];
                    tested += end - place;
                    longest = max(longest, end - place);
                }
                run += LATER_PARTS;
            }
            if (!__any_sync(PSVD_FULL, place < end)) break;
            bool hit = false;
            uint32_t slot = 0;
            if (place < end) {
                const uint4 entry = tables.entries[place];
                slot = entry.z & tables.slot_mask;
                if (rows_may_overlap(lower, upper, entry.x, entry.y) && (entry.y & own_entry.y & ROWS_STATIC) == 0) {
                    const psvd_record other = load_exactly(input, *plan, slot);
                    hit =
                        overlaps(own, other) && (!view.check_owner || rows_owns(level, own, item_place, other, place));
                }
                ++place;
            }
            sweep_memory().stage.emit_together(sink, hit, __float_as_uint(own.second.z), slot, &held);
        }
    }
    __syncwarp();
    tally->pairs = held;
    tally->tested = tested;
    tally->longest = longest;
}

// Puts off the looks of the lanes that say so, for the block to share when its chunks are done; does those for which
// there is no room. All lanes together.
static __device__ __noinline__ void put_off(const psvi_find_input &input, const psvi_rows_plan *plan,
                                            const mixed_tables &tables, unsigned lanes, uint32_t item,
                                            sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, count = __popc(lanes), rank = __popc(lanes & ((1u << lane) - 1));
    sweep_shared &shared = sweep_memory();
    uint32_t before = 0;
    if (lane == 0) before = atomicAdd(&shared.put_off, count);
    before = __shfl_sync(PSVD_FULL, before, 0);
    const uint32_t room = ROWS_MIXED_PUT_OFF - min(before, (uint32_t)ROWS_MIXED_PUT_OFF);
    uint32_t *const excess = own_work().run[0];
    if (lanes >> lane & 1) {
        if (rank < room)
            shared.later[before + rank] = item;
        else
            excess[rank - room] = item;
    }
    __syncwarp();
    if (count <= room) return;
    sweep_later(input, plan, tables, excess, count - room, tally);
    rows_make_room<sweep_held, ROWS_MIXED_HITS>(input, tally);
}

// The whole warp goes through the lanes' runs, one after the other. The own words lie in shared memory.
template <bool COARSER>
static __device__ __noinline__ void sweep_together(const psvi_find_input &input, const mixed_tables &tables,
                                                   uint32_t start, uint32_t count, uint32_t lower, uint32_t upper,
                                                   sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, below = (1u << lane) - 1;
    sweep_tally sum = *tally;
    uint32_t listed = 0;
#pragma unroll 1
    for (unsigned left = __ballot_sync(PSVD_FULL, count != 0); left != 0; left &= left - 1) {
        const uint32_t owner = __ffs(left) - 1;
        const uint32_t from = __shfl_sync(PSVD_FULL, start, owner), places = __shfl_sync(PSVD_FULL, count, owner);
        const uint32_t low = __shfl_sync(PSVD_FULL, lower, owner), high = __shfl_sync(PSVD_FULL, upper, owner);
#pragma unroll 1
        for (uint32_t n = lane; n - lane < places; n += 64) {
            uint2 one = make_uint2(0, 0), two = make_uint2(0, 0);
            const uint4 *const at = tables.entries + from + n;
            if (n < places) one = *reinterpret_cast<const uint2 *>(at);
            if (n + 32 < places) two = *reinterpret_cast<const uint2 *>(at + 32);
            const bool hit = n < places && rows_may_overlap(low, high, one.x, one.y);
            const bool second = n + 32 < places && rows_may_overlap(low, high, two.x, two.y);
            if (!__any_sync(PSVD_FULL, hit | second)) continue;
            const unsigned hits = __ballot_sync(PSVD_FULL, hit), seconds = __ballot_sync(PSVD_FULL, second);
            if (hit) own_work().hit[listed + __popc(hits & below)] = (from + n) << 5 | owner;
            listed += __popc(hits);
            if (second) own_work().hit[listed + __popc(seconds & below)] = (from + n + 32) << 5 | owner;
            listed += __popc(seconds);
            if (listed <= ROWS_MIXED_HITS - 64) continue;
            __syncwarp();
            take_listed<COARSER>(input, tables, listed, &sum);
            listed = 0;
        }
    }
    __syncwarp();
    if (listed != 0) take_listed<COARSER>(input, tables, listed, &sum);
    *tally = sum;
}

// Is it better that the warp goes through the lanes' runs one after the other than each lane through its own? So where
// these are long and their lengths differ. All lanes together; `most`: places of the longest.
__device__ __forceinline__ bool is_better_together(uint32_t count, uint32_t most) {
    const uint32_t runs = __popc(__ballot_sync(PSVD_FULL, count != 0));
    const uint32_t each = most < 1u << 26 ? psvd_reduce_add(count) / 32 : most; // of a lane
    return each * ROWS_MIXED_TOGETHER + runs * ROWS_MIXED_TOGETHER_RUN < most * ROWS_MIXED_APART;
}

// Candidates are counted in 32 bits; here that is far from overflow. All lanes together.
__device__ __forceinline__ void save_tested(const psvi_find_input &input, sweep_tally *tally) {
    if (!__any_sync(PSVD_FULL, tally->tested >> 31)) return;
    psvd_warp_add(&input.result->candidates, tally->tested);
    tally->tested = 0;
}

// From one row to the next one of z, to the one before, and to the next one of y.
struct row_offsets {
    uint32_t up, down, next;
};

// Of the finest level.
__device__ __forceinline__ row_offsets first_offsets(const psvi_rows_plan *plan) {
    const psvi_rows_level &level = plan->level[__ffs(plan->populated) - 1];
    const uint32_t row = (uint32_t)level.cells[0];
    return row_offsets{row, 0u - row, row * (uint32_t)level.cells[2]};
}

// The same where the cell is, in whichever level, and at the ends of y and z, which rows follow across.
__device__ __forceinline__ row_offsets offsets_at(const psvi_rows_plan *plan, uint32_t cell) {
    uint32_t levels = plan->populated, at = __ffs(levels) - 1;
#pragma unroll 1
    for (levels &= levels - 1; levels != 0; levels &= levels - 1)
        if (cell >= plan->level[__ffs(levels) - 1].base) at = __ffs(levels) - 1;
    const psvi_rows_level &level = plan->level[at];
    const uint32_t row = (uint32_t)level.cells[0], cells_y = (uint32_t)level.cells[1],
                   cells_z = (uint32_t)level.cells[2];
    const uint32_t number = (cell - level.base) / row, y = number / cells_z, z = number - y * cells_z;
    row_offsets offsets = {row, 0u - row, row * cells_z};
    if (z + 1 == cells_z) offsets.up -= row * cells_z;
    if (z == 0) offsets.down += row * cells_z;
    if (y + 1 == cells_y) offsets.next -= row * cells_z * cells_y;
    return offsets;
}

// What a chunk's look-up found: runs of places, the own row's first.
struct chunk_runs {
    uint32_t start[RANGES], count[RANGES];
};

__device__ __forceinline__ chunk_runs look_up(const mixed_tables &tables, uint32_t place, uint32_t look,
                                              const row_offsets &offsets) {
    const uint32_t cell = look & ROWS_LOOK_CELL, span = look >> ROWS_LOOK_SPAN_SHIFT & ROWS_LOOK_SPAN;
    const uint32_t *const starts = tables.starts;
    const uint32_t rows[RANGES] = {0, offsets.up, offsets.next + offsets.down, offsets.next, offsets.next + offsets.up};
    const uint32_t both = ROWS_LOOK_NEXT_Z | ROWS_LOOK_NEXT_Y;
    const uint32_t bits[RANGES] = {0, ROWS_LOOK_NEXT_Z, ROWS_LOOK_BACK_Y, ROWS_LOOK_NEXT_Y, both};
    chunk_runs runs = {};
    if (span != 0) runs.start[0] = place + 1, runs.count[0] = starts[cell + span];
#pragma unroll
    for (int i = 1; i < RANGES; ++i)
        if ((look & bits[i]) == bits[i])
            runs.start[i] = starts[cell + rows[i]], runs.count[i] = starts[cell + rows[i] + span];
#pragma unroll
    for (int i = 0; i < RANGES; ++i)
        runs.count[i] -= runs.start[i];
    return runs;
}

// More hits than are listed at once, in the bits of two words. All lanes together.
static __device__ __noinline__ void take_more(const psvi_find_input &input, const mixed_tables &tables, uint32_t word,
                                              uint32_t last, uint32_t before, uint32_t all, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t *const listed = own_work().hit;
#pragma unroll 1
    for (uint32_t taken = 0; taken < all; taken += ROWS_MIXED_HITS) {
        for (; word != 0 && before < taken + ROWS_MIXED_HITS; word &= word - 1, ++before)
            listed[before - taken] = (__ffs(word) - 1) << 5 | lane;
        for (; word == 0 && last != 0 && before < taken + ROWS_MIXED_HITS; last &= last - 1, ++before)
            listed[before - taken] = (__ffs(last) + 31) << 5 | lane;
        __syncwarp();
        take_hits<HIT_BIT>(tables, own_place(), min(all - taken, (uint32_t)ROWS_MIXED_HITS), tally);
        rows_make_room<sweep_held, ROWS_MIXED_HITS>(input, tally);
    }
}

// A chunk's boxes with those of their own level. For each of the rows that they look at a lane tests its run of places,
// side by side with its neighbours, whose runs are about the same: a field of each run at a time. Then what passed is
// looked at again, all lanes side by side whoever found it. Returns whether it did: not if a run is long.
template <bool LEVELS>
__device__ __forceinline__ bool sweep_chunk(const psvi_find_input &input, const psvi_rows_plan *plan,
                                            const mixed_tables &tables, const row_offsets &first, uint32_t boxes,
                                            uint32_t chunk, const warp_place &at, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = chunk * 32 + lane;
    const uint4 own = tables.entries[min(place, boxes - 1)];
    const uint32_t lower = rows_negated(own.y), upper = rows_negated(own.x), look = place < boxes ? own.w : 0;
    store_own(at, own, lower, upper);
    row_offsets offsets = first;
    if (__any_sync(PSVD_FULL, LEVELS || (own.x & ROWS_ACROSS) != 0)) offsets = offsets_at(plan, look & ROWS_LOOK_CELL);
    const unsigned others = __ballot_sync(PSVD_FULL, place < boxes && look == 0);
    if (others != 0) {
        sweep_tally sum = *tally;
        put_off(input, plan, tables, others, place | OWN_LEVEL << LATER_LEVEL_SHIFT, &sum);
        *tally = sum;
    }
    const uint32_t run_at = at.work + AT(run) + 4 * lane;
    uint32_t longest = 0, left = 0; // left: places of each run, 6 bits each
    {
        const chunk_runs runs = look_up(tables, place, look, offsets);
        uint32_t tested = 0;
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            store_shared(run_at + 128 * i, runs.start[i] - FIELD * (uint32_t)i);
            longest = max(longest, runs.count[i]);
            tested += runs.count[i];
            left |= runs.count[i] << 6 * i;
        }
        if (__any_sync(PSVD_FULL, longest > MOST_FIELDS * FIELD)) return false;
        tally->tested += tested;
    }
    tally->longest = max(tally->longest, longest);
#pragma unroll 1
    for (;;) {
        uint32_t word = 0, last = 0;
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            const uint4 *const from = tables.entries + (load_shared(run_at + 128 * i) + FIELD * (uint32_t)i);
            const uint32_t hits = test_field(from, left >> 6 * i & 63u, lower, upper, FIELD * (i % WORD_FIELDS));
            if (i < (int)WORD_FIELDS)
                word |= hits;
            else
                last = hits;
        }
        const uint32_t found = __popc(word) + __popc(last), up_to = sum_up_to(found);
        const uint32_t all = __shfl_sync(PSVD_FULL, up_to, 31);
        if (all <= ROWS_MIXED_HITS) {
            uint32_t to = at.work + AT(hit) + 4 * (up_to - found);
            for (; word != 0; word &= word - 1, to += 4)
                store_shared(to, (__ffs(word) - 1) << 5 | lane);
            for (; last != 0; last &= last - 1, to += 4)
                store_shared(to, (__ffs(last) + 31) << 5 | lane);
            __syncwarp();
            take_hits<HIT_BIT>(tables, at, all, tally);
            rows_make_room<sweep_held, ROWS_MIXED_HITS>(input, tally);
        } else {
            sweep_tally sum = *tally;
            take_more(input, tables, word, last, up_to - found, all, &sum);
            *tally = sum;
        }
        if (!__any_sync(PSVD_FULL, longest > FIELD)) return true;
        longest -= min(longest, FIELD);
        uint32_t more = 0;
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            const uint32_t count = left >> 6 * i & 63u;
            more |= (count - min(count, FIELD)) << 6 * i;
            store_shared(run_at + 128 * i, load_shared(run_at + 128 * i) + FIELD);
        }
        left = more;
    }
}

// A chunk's boxes with those of their own level, where some runs are long. Those that are other than usual are put off
// already.
static __device__ __noinline__ void sweep_wide(const psvi_find_input &input, const psvi_rows_plan *plan,
                                               const mixed_tables &tables, uint32_t chunk, uint32_t boxes,
                                               sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = chunk * 32 + lane;
    const uint4 own = tables.entries[min(place, boxes - 1)];
    const uint32_t lower = rows_negated(own.y), upper = rows_negated(own.x), look = place < boxes ? own.w : 0;
    const row_offsets offsets = offsets_at(plan, look & ROWS_LOOK_CELL);
    store_own(own_place(), own, lower, upper);
    __syncwarp();
    sweep_tally sum = *tally;
    warp_work &work = own_work();
    {
        const chunk_runs runs = look_up(tables, place, look, offsets);
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            work.run[i][lane] = runs.start[i];
            work.count[i][lane] = runs.count[i];
        }
    }
    uint32_t left = 0;
#pragma unroll 1
    for (int i = 0; i < RANGES; ++i) {
        const uint32_t count = work.count[i][lane], most = psvd_reduce_max(count);
        sum.tested += count;
        sum.longest = max(sum.longest, count);
        if (most >= ROWS_LONG_RANGE && is_better_together(count, most)) {
            work.count[i][lane] = 0;
            sweep_together<false>(input, tables, work.run[i][lane], count, lower, upper, &sum);
        } else {
            left = max(left, most);
        }
    }
    save_tested(input, &sum);
#pragma unroll 1
    for (uint32_t done = 0; done < left; done += 32) {
        uint32_t hits[RANGES], found = 0;
#pragma unroll
        for (int i = 0; i < RANGES; ++i) {
            const uint32_t count = work.count[i][lane];
            hits[i] =
                rows_test_places(tables.entries + (work.run[i][lane] + done), count - min(count, done), lower, upper);
            found += __popc(hits[i]);
        }
        const uint32_t up_to = sum_up_to(found), all = __shfl_sync(PSVD_FULL, up_to, 31);
        uint32_t n = up_to - found;
#pragma unroll 1
        for (uint32_t taken = 0; taken < all; taken += ROWS_MIXED_HITS) {
#pragma unroll
            for (int i = 0; i < RANGES; ++i)
                for (; hits[i] != 0 && n < taken + ROWS_MIXED_HITS; hits[i] &= hits[i] - 1, ++n)
                    work.hit[n - taken] = (work.run[i][lane] + done + (__ffs(hits[i]) - 1)) << 5 | lane;
            __syncwarp();
            take_listed<false>(input, tables, min(all - taken, (uint32_t)ROWS_MIXED_HITS), &sum);
        }
    }
    *tally = sum;
}

// A run of places in a coarser level where some are long. All lanes together.
static __device__ __noinline__ void sweep_coarse_long(const psvi_find_input &input, const mixed_tables &tables,
                                                      uint32_t start, uint32_t count, uint32_t lower, uint32_t upper,
                                                      sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, most = psvd_reduce_max(count);
    uint32_t *const hit_list = own_work().hit;
    if (most >= ROWS_LONG_RANGE && is_better_together(count, most)) {
        sweep_together<true>(input, tables, start, count, lower, upper, tally);
        return;
    }
#pragma unroll 1
    for (uint32_t done = 0; done < most; done += 32) {
        uint32_t hits = rows_test_places(tables.entries + (start + done), count - min(count, done), lower, upper);
        const uint32_t found = __popc(hits), up_to = sum_up_to(found), all = __shfl_sync(PSVD_FULL, up_to, 31);
        uint32_t n = up_to - found;
        for (uint32_t taken = 0; taken < all; taken += ROWS_MIXED_HITS) {
            for (; hits != 0 && n < taken + ROWS_MIXED_HITS; hits &= hits - 1, ++n)
                hit_list[n - taken] = (start + done + (__ffs(hits) - 1)) << 5 | lane;
            __syncwarp();
            take_listed<true>(input, tables, min(all - taken, (uint32_t)ROWS_MIXED_HITS), tally);
        }
    }
}

// Runs of places in a coarser level, one after the other in the warp's memory. Adds what may pair to its list of hits.
template <int RUNS>
__device__ __forceinline__ void
sweep_coarse_runs(const psvi_find_input &input, const mixed_tables &tables, const uint32_t (&start)[RUNS],
                  const uint32_t (&count)[RUNS], uint32_t lower, uint32_t upper, uint32_t *listed, sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31;
    warp_work &work = own_work();
    uint32_t longest = 0;
#pragma unroll
    for (int i = 0; i < RUNS; ++i) {
        work.run[i][lane] = start[i];
        tally->tested += count[i];
        longest = max(longest, count[i]);
    }
    tally->longest = max(tally->longest, longest);
    if (__any_sync(PSVD_FULL, longest > ROWS_LONG_RANGE)) {
        if (*listed != 0) take_listed<true>(input, tables, *listed, tally);
        *listed = 0;
        sweep_tally sum = *tally;
#pragma unroll
        for (int i = 0; i < RUNS; ++i)
            sweep_coarse_long(input, tables, start[i], count[i], lower, upper, &sum);
        *tally = sum;
        return;
    }
#pragma unroll 1
    for (uint32_t done = 0;; done += FIELD) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < RUNS; ++i)
            word |= test_field(tables.entries + (work.run[i][lane] + done), count[i] - min(count[i], done), lower,
                               upper, FIELD * i);
        if (__any_sync(PSVD_FULL, word != 0)) {
            const uint32_t found = __popc(word), up_to = sum_up_to(found), all = __shfl_sync(PSVD_FULL, up_to, 31);
            uint32_t n = up_to - found, taken = 0;
            for (;;) {
                const uint32_t end = taken + (ROWS_MIXED_HITS - *listed);
                for (; word != 0 && n < end; word &= word - 1, ++n) {
                    const uint32_t bit = __ffs(word) - 1;
                    work.hit[*listed + (n - taken)] = (work.run[bit / FIELD][lane] + done + bit % FIELD) << 5 | lane;
                }
                if (all <= end) break;
                __syncwarp();
                take_listed<true>(input, tables, ROWS_MIXED_HITS, tally);
                *listed = 0;
                taken = end;
            }
            *listed += all - taken;
        }
        if (!__any_sync(PSVD_FULL, longest > done + FIELD)) return;
    }
}

// A chunk's boxes with those of coarser levels. The own words lie in shared memory. Mostly a box meets two rows of y
// and of z, whose runs are taken together.
static __device__ __noinline__ void sweep_coarser(const psvi_find_input &input, const psvi_rows_plan *plan,
                                                  const mixed_tables &tables, uint32_t chunk, uint32_t boxes,
                                                  sweep_tally *tally) {
    const uint32_t lane = threadIdx.x & 31, place = min(chunk * 32 + lane, boxes - 1);
    const psvd_record own = load_exactly(input, *plan, own_work().own[lane].z & tables.slot_mask);
    const uint32_t own_level = chunk * 32 + lane < boxes ? rows_record_level(*plan, own) : ROWS_LEVELS + 1;
    sweep_tally sum = *tally;
    uint32_t levels = plan->populated & 0xffffu, listed = 0;
    const uint32_t least = __shfl_sync(PSVD_FULL, own_level, 0) + 1; // places go from fine to coarse
    levels = levels >> least << least;
#pragma unroll 1
    for (; levels != 0; levels &= levels - 1) {
        const uint32_t at = __ffs(levels) - 1;
        const psvi_rows_level &level = plan->level[at];
        const uint32_t cells_x = (uint32_t)level.cells[0];
        const int32_t cells_y = level.cells[1], cells_z = level.cells[2];
        const bool looks = own_level < at;
        const uint32_t begin = tables.starts[level.base], held = tables.starts[level.base + level.set_cells] - begin;
        const uint2 rounded = rows_rounded(rows_uniform_rounding(level), own);
        const uint32_t lower = rows_negated(rounded.y), upper = rows_negated(rounded.x);
        if (held <= ROWS_MIXED_FEW) {
            for (uint32_t done = 0; done < held; done += 32) {
                const uint32_t start[1] = {begin + done}, count[1] = {looks ? min(held - done, 32u) : 0u};
                sweep_coarse_runs<1>(input, tables, start, count, lower, upper, &listed, &sum);
            }
            continue;
        }
        rows_coarse_look look;
        bool usual = rows_look_coarser(level, __uint_as_float(plan->longest[at]), own, &look);
        const unsigned more = __ballot_sync(PSVD_FULL, looks && usual && (look.rows_y > 2 || look.rows_z > 2));
        const bool two = __popc(more) <= MORE_ROWS;
        if (two) usual = usual && look.rows_y <= 2 && look.rows_z <= 2;
        const unsigned others = __ballot_sync(PSVD_FULL, looks && !usual);
        if (others != 0) put_off(input, plan, tables, others, place | at << LATER_LEVEL_SHIFT, &sum);
        if (!looks || !usual) look.rows_y = look.rows_z = 0;
        const uint32_t *const first = tables.starts + level.base + look.run;
        if (two) {
            const int32_t y[2] = {look.y, look.y + 1 == cells_y ? 0 : look.y + 1};
            const int32_t z[2] = {look.z, look.z + 1 == cells_z ? 0 : look.z + 1};
            uint32_t start[4] = {}, count[4] = {};
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (i / 2 < look.rows_y && i % 2 < look.rows_z) {
                    const uint32_t *const row = first + (uint32_t)(y[i / 2] * cells_z + z[i % 2]) * cells_x;
                    start[i] = row[0];
                    count[i] = row[look.span];
                }
#pragma unroll
            for (int i = 0; i < 4; ++i)
                count[i] -= start[i];
            sweep_coarse_runs<4>(input, tables, start, count, lower, upper, &listed, &sum);
        } else {
            const uint32_t rows_y = psvd_reduce_max((uint32_t)look.rows_y);
            int32_t y = look.y;
#pragma unroll 1
            for (uint32_t of_y = 0; of_y < rows_y; ++of_y) {
                const uint32_t *const row = first + (uint32_t)(y * cells_z) * cells_x;
                uint32_t start[ROWS_COARSE] = {}, count[ROWS_COARSE] = {};
                int32_t z = look.z;
#pragma unroll
                for (int i = 0; i < ROWS_COARSE; ++i) {
                    if (of_y < (uint32_t)look.rows_y && i < look.rows_z) {
                        start[i] = row[(uint32_t)z * cells_x];
                        count[i] = row[(uint32_t)z * cells_x + look.span];
                    }
                    if (++z == cells_z) z = 0;
                }
                if (++y == cells_y) y = 0;
#pragma unroll
                for (int i = 0; i < ROWS_COARSE; ++i)
                    count[i] -= start[i];
                sweep_coarse_runs<ROWS_COARSE>(input, tables, start, count, lower, upper, &listed, &sum);
            }
        }
        save_tested(input, &sum);
    }
    __syncwarp();
    if (listed != 0) take_listed<true>(input, tables, listed, &sum);
    *tally = sum;
}

// The chunks of the block, which its warps take in turn.
template <bool LEVELS>
__device__ __forceinline__ void sweep_chunks(const psvi_find_input &input, const psvi_rows_plan *plan,
                                             const mixed_tables &tables, uint32_t boxes, sweep_tally *tally) {
    const row_offsets first = first_offsets(plan);
    const warp_place at = own_place();
    // Boxes before the coarsest level's look into coarser ones.
    const uint32_t looking = LEVELS ? tables.starts[plan->level[31 - __clz(plan->populated)].base] : 0;
    for (uint32_t turn = threadIdx.x >> 5;;) {
        const uint32_t chunk = (turn / WARPS * gridDim.x + blockIdx.x) * WARPS + turn % WARPS;
        if (chunk * 32 >= boxes) break;
        const bool done = sweep_chunk<LEVELS>(input, plan, tables, first, boxes, chunk, at, tally);
        if (!done || (LEVELS && chunk * 32 < looking)) {
            sweep_tally sum = *tally;
            if (!done) sweep_wide(input, plan, tables, chunk, boxes, &sum);
            if (LEVELS && chunk * 32 < looking) sweep_coarser(input, plan, tables, chunk, boxes, &sum);
            *tally = sum;
        }
        if ((threadIdx.x & 31) == 0) turn = atomicAdd(&sweep_memory().begun, 1u);
        turn = __shfl_sync(PSVD_FULL, turn, 0);
    }
}

// What the block has put off. All threads of the block together.
static __device__ __noinline__ void sweep_put_off(const psvi_find_input &input, const psvi_rows_plan *plan,
                                                  const mixed_tables &tables, sweep_tally *tally) {
    const uint32_t together = 32 / LATER_PARTS;
    const sweep_shared &shared = sweep_memory();
    const uint32_t count = min(shared.put_off, (uint32_t)ROWS_MIXED_PUT_OFF);
    for (uint32_t i = threadIdx.x / 32 * together; i < count; i += WARPS * together) {
        sweep_later(input, plan, tables, shared.later + i, min(together, count - i), tally);
        rows_make_room<sweep_held, ROWS_MIXED_HITS>(input, tally);
    }
}

// Ends the block's part of the sweep. All of its threads together.
__device__ __forceinline__ void finish_block(const psvi_find_input &input, psvi_rows_plan *plan,
                                             const sweep_tally &tally) {
    const rows_block_sum sum = rows_finish_block<sweep_held, WARPS>(input, tally);
    if (threadIdx.x != 0) return;
    if (rows_counts_tested(*plan)) atomicAdd(reinterpret_cast<unsigned long long *>(&plan->ratio.tested), sum.tested);
    // A doubt in a few places costs less than the exact sweep of all of them would.
    const unsigned long long forgiven = sum.tested / ROWS_MIXED_DOUBTED;
    if (sum.doubted > forgiven) atomicAdd(&plan->doubted, (uint32_t)(sum.doubted - forgiven));
}

// The pairs. A warp takes chunks of 32 boxes in sorted order. Reads 16 bytes of a box for itself and 8 about once per
// row that looks at it, and the box itself where there are coarser levels; writes the pairs.
__global__ void __launch_bounds__(ROWS_MIXED_THREADS, ROWS_CODE_POLICY.mixed_blocks)
    psvk_rows_mixed(const __grid_constant__ psvi_find_input input, psvi_rows_plan *plan,
                    const __grid_constant__ mixed_tables tables) {
    rows_wait_for_front();
    const uint32_t boxes = (uint32_t)input.result->boxes;
    if (!rows_is_mixed(plan, tables.starts, boxes)) return;
    sweep_shared &shared = sweep_memory();
    if (threadIdx.x == 0) shared.begun = WARPS, shared.put_off = 0;
    __syncthreads();
    sweep_tally tally = {0, 0, 0, 0, 0};
    const bool levels = rows_has_levels(plan->populated), down = levels && rows_looks_down(plan, boxes);
    if (levels && !down)
        sweep_chunks<true>(input, plan, tables, boxes, &tally);
    else
        sweep_chunks<false>(input, plan, tables, down ? rows_base_boxes(plan, tables.starts) : boxes, &tally);
    __syncthreads();
    if (shared.put_off != 0) {
        sweep_tally sum = tally;
        sweep_put_off(input, plan, tables, &sum);
        tally = sum;
    }
    tally.doubted += tally.doubts;
    tally.pairs = rows_settle_doubts<sweep_held>(input, tally.doubts, tally.pairs);
    finish_block(input, plan, tally);
    if (blockIdx.x == 0 && threadIdx.x == 0) rows_report_shape(input, *plan);
}

extern "C" cudaError_t psvi_launch_rows_mixed(const psvi_find_input *input, const psvi_rows_memory *memory,
                                              cudaStream_t stream) {
    const rows_mixed_arrays arrays = rows_mixed_arrays_of(memory);
    const mixed_tables tables = {arrays.entries, memory->starts, (uint32_t)(((uint64_t)1 << arrays.slot_bits) - 1)};
    const uint32_t wanted = psvi_block_count(psvi_most_boxes(input), WARPS * 32);
    const uint32_t most = memory->multiprocessors * memory->policy.mixed_blocks;
    const uint32_t blocks = wanted < most ? wanted : most;
    return rows_launch_early(memory, stream, psvk_rows_mixed, blocks, ROWS_MIXED_THREADS, sizeof(sweep_shared), *input,
                             memory->plan, tables);
}
